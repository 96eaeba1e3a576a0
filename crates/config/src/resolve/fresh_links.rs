//! Resolves the links that an application makes for one visitor each.

use super::visitors::{after, check_lengths, own, url_pattern};
use crate::issue::{Issue, quoted};
use crate::raw::RawVisitors;
use kasoku_options::{FreshLink, Route, UrlTemplate, UrlTemplateError};

/// The most entries: each is compared with each request.
const LINKS_MAX: usize = 64;

/// The most parameters of one entry.
const PARAMETERS_MAX: usize = 8;

/// Lays written keys over a route.
pub(super) fn set_route(route: &mut Route, raw: &RawVisitors) {
    if let Some(list) = &raw.fresh_links {
        route.fresh_links = after(list, &route.fresh_links, |text| fresh_link(text).ok());
    }
}

/// Why a text is no such link.
enum FreshLinkError<'t> {
    NoArrow,
    Url(&'t str),
    Page(&'t str, UrlTemplateError),
    NoParameters,
    Parameter(&'t str),
    TooMany,
}

/// `/download.php => /post.php?id={id} nonce`
fn fresh_link(text: &str) -> Result<FreshLink, FreshLinkError<'_>> {
    let (url, made) = text.split_once("=>").ok_or(FreshLinkError::NoArrow)?;
    let url = url_pattern(url.trim()).ok_or(FreshLinkError::Url(url.trim()))?;
    let mut words = made.split_ascii_whitespace();
    let page = words.next().unwrap_or_default();
    let page = UrlTemplate::parse(page).map_err(|error| FreshLinkError::Page(page, error))?;
    let parameters: Vec<String> = words.map(str::to_owned).collect();
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_graphic() && !b"&=;+#%{}".contains(&byte));
    match parameters.len() {
        0 => Err(FreshLinkError::NoParameters),
        1..=PARAMETERS_MAX => match made.split_ascii_whitespace().skip(1).find(|name| !is_name(name)) {
            Some(name) => Err(FreshLinkError::Parameter(name)),
            None => Ok(FreshLink { url, page, parameters }),
        },
        _ => Err(FreshLinkError::TooMany),
    }
}

/// Reports the faults of this key, once for each place where it is written.
pub(super) fn check(raw: &RawVisitors, issues: &mut Vec<Issue>) {
    for text in own(&raw.fresh_links) {
        let Err(fault) = fresh_link(&text.value) else { continue };
        let (why, help) = match fault {
            FreshLinkError::NoArrow => ("has no `=>`".to_owned(), "write \"/download.php => /post.php?id={id} token\""),
            FreshLinkError::Url(url) => (
                format!("names {}, which is not a URL pattern", quoted(url)),
                "write a path, and after `?` one parameter: \"/download*\", \"*?act=download\"",
            ),
            FreshLinkError::Page(page, error) => (
                format!("has {} after `=>`, which is not a page: {error}", quoted(page)),
                "write path and query, with parameters of the link's query in braces: \"/post.php?id={id}\"",
            ),
            FreshLinkError::NoParameters => (
                "does not say which parameters are made for one visitor".to_owned(),
                "write their names after the page: \"/download.php => /post.php?id={id} token\"",
            ),
            FreshLinkError::Parameter(name) => (
                format!("names {}, which is not the name of a parameter", quoted(name)),
                "write names, with spaces between them",
            ),
            FreshLinkError::TooMany => (
                format!("names more than {PARAMETERS_MAX} parameters"),
                "name only those that are made for one visitor",
            ),
        };
        issues.push(Issue::error(format!("{} {why}", quoted(&text.value))).at(&text.place).help(help));
    }
    check_lengths(&[(&raw.fresh_links, LINKS_MAX)], issues);
}
