//! Finds the link that the application makes for one visitor, where that visitor has followed a link of a shared page.
//!
//! An application may write something into a link that holds for one session, or for a while: gnuboard5 does so in the links to
//! attachments, and gives these only to sessions that have opened the post. On a page that all visitors share, such a link belongs
//! to an anonymous session that no visitor has, so it works for none of them. The configuration names these URLs (`fresh-links`),
//! the page on which each link stands, and the parameters that are made anew for each visitor. When a client requests such a URL:
//!
//! 1. Kasoku asks the application for the page, as this visitor would ask for it.
//! 2. The page has a link to the requested URL. The named parameters are taken from that link.
//! 3. The client's request goes on with these parameters, and with the session that the page has opened, if it has opened one. Its
//!    answer also sets the cookies that the page's answer has set.
//!
//! If any of this fails, the client's request goes on as it came. The page is requested once, and its answer never leads to another
//! request of this kind. Nothing is done where the link must be the visitor's own: where the page is not shared, or where the
//! session is known to be a member's, since members get no shared pages. The session of a guest need not be known yet, so where
//! nothing is known of it, the page is requested.

use crate::exchange::Exchange;
use crate::observe::timing::OriginTime;
use crate::origin::fetch_context::FetchContext;
use crate::origin::send;
use crate::origin_client::Response;
use crate::request::forward::{Audience, forward};
use crate::request::path::as_read;
use crate::request::route::{Routed, read_beside, route_beside};
use crate::visitors::session::probe::as_visitor;
use bytes::BytesMut;
use http::{Method, StatusCode};
use kasoku_options::FreshLink;
use kasoku_options::url_template::is_called;
use kasoku_origin::{BodyPiece, NoInterim, NoUpload};
use kasoku_semantics::query::{decoded, name_and_value, pairs, path_and_query, read_name};
use kasoku_semantics::set_cookies::cookies_after;
use kasoku_semantics::{cookies, links, set_cookies};
use kasoku_visitors::session::harmless::names_a_session_at_most;
use kasoku_wire::http1::BodyLength;
use kasoku_wire::{Fields, RequestHead, ResponseHead};
use std::rc::Rc;

/// The longest page in which a link is looked for, in bytes.
const PAGE_BYTES_MAX: usize = 1 << 20;

/// The longest URL that may be made with the visitor's parameters, in bytes.
const TARGET_BYTES_MAX: usize = 8 << 10;

/// The most parameters of a URL or of a link, besides those that are made for one visitor: each link's are compared with the URL's.
const PARAMETERS_MAX: usize = 64;

/// A page that may have the visitor's own link.
pub(super) struct LinkPage<'r> {
    asked: RequestedUrl<'r>,
    page: Routed,
}

/// What the application has made for the visitor.
pub(super) struct VisitorLink {
    /// Path and query, with the visitor's own parameters.
    target: String,
    /// The Set-Cookie lines of the page's answer.
    set: Vec<Vec<u8>>,
}

/// The page that has the visitor's own link; `None`: the request goes on as it came.
pub(super) fn wanted<'r>(exchange: &Exchange, routed: &'r Routed) -> Option<LinkPage<'r>> {
    let (request, route) = (&exchange.request, &*routed.route);
    if route.fresh_links.is_empty() {
        return None;
    }
    let is_read = matches!(request.head.method, Method::GET | Method::HEAD) && matches!(request.body, BodyLength::None);
    let is_identified = exchange.identity.get().session.is_some_and(|session| session.is_identified);
    if !is_read || is_identified || !names_a_session_at_most(&request.head.fields, route.visitor_rules()) {
        return None;
    }
    let is_it = |one: &&FreshLink| routed.is_any(|| std::iter::once(&one.url));
    let rule = route.fresh_links.iter().find(is_it)?;
    let asked = RequestedUrl::new(rule, routed.read_target())?;
    let page = route_beside(
        &exchange.settings.sites,
        exchange.scratch(),
        &routed.base(),
        &rule.page.fill(routed.read_target())?,
    )?;
    let is_shared = page.route.policy.grant.is_granting() && page.passes.is_none();
    // Another application does not know this session, and must not get its cookies.
    let is_answered = page.refused_by.is_none() && page.route.origins == route.origins;
    (is_shared && is_answered).then_some(LinkPage { asked, page })
}

impl LinkPage<'_> {
    /// Asks the application for the page as this visitor, and finds the link; `None`: there is none.
    pub(super) async fn find(&self, exchange: &Exchange, routed: &Routed) -> Option<VisitorLink> {
        let Self { asked, page } = self;
        let worker = &exchange.worker;
        // While memory is short, no page is read.
        let _charge = worker.cache.try_charge(PAGE_BYTES_MAX as u64)?;
        let request = as_visitor(&exchange.request, page.target());
        let outgoing = forward(&request, page, &exchange.peer, Audience::OneClient, None);
        let time = Rc::new(OriginTime::begin(worker.moment().mono_us));
        let mut fetch_context = FetchContext::new(exchange, page, Audience::OneClient, time);
        fetch_context.asked = RequestHead::new(Method::GET, String::new());
        let (mut no_upload, mut no_interim) = (Some(NoUpload), NoInterim);
        let sent = send::send(worker, &page.route, &fetch_context, &outgoing, &mut no_upload, &mut no_interim).await;
        let response = sent.response.inspect_err(|error| tracing::debug!(%error, "fresh link")).ok()?;
        if response.head.status != StatusCode::OK || !is_html(&response.head) {
            return None;
        }
        let set = response.head.fields.all("set-cookie").map(<[u8]>::to_vec).collect();
        let html = read(response).await?;
        let own_host = routed.route.origin_host.clone().map(|host| host.to_ascii_lowercase());
        let authority = routed.authority().to_owned();
        let is_ours = move |host: &str| host == authority || own_host.as_deref() == Some(host);
        let mut best: Option<(usize, String)> = None;
        for link in links::targets(page.key.uri(), &html, is_ours) {
            let Some(agreeing) = asked.agreeing(&read_beside(&exchange.settings.sites, routed, &link)) else {
                continue;
            };
            // Of links that agree as well, the first.
            if best.as_ref().is_none_or(|(most, _)| agreeing > *most) {
                best = Some((agreeing, link));
            }
        }
        let (_, link) = best?;
        let target = with_parameters_of(asked.rule, routed.target(), &link)?;
        Some(VisitorLink { target, set })
    }
}

impl VisitorLink {
    /// Makes the client's request one for the visitor's own link.
    pub(super) fn write(&self, routed: &Routed, outgoing: &mut RequestHead) {
        outgoing.target.clone_from(&self.target);
        let set: Fields = self.lines().filter(|(_, line)| is_of_a_session(routed, line)).collect();
        if !set.is_empty() {
            let cookies = cookies_after(&outgoing.fields, &set);
            outgoing.fields.remove("cookie");
            cookies.iter().for_each(|(name, value)| outgoing.fields.push(name, value));
        }
    }

    /// Adds the cookies that the page's answer has set. Those of the client's own answer come after them, so they count.
    pub(super) fn add_to(&self, response: &mut ResponseHead) {
        let own: Vec<Vec<u8>> = response.fields.all("set-cookie").map(<[u8]>::to_vec).collect();
        response.fields.remove("set-cookie");
        for line in self.set.iter().chain(&own) {
            response.fields.push("Set-Cookie", line);
        }
    }

    fn lines(&self) -> impl Iterator<Item = (&'static str, &[u8])> {
        self.set.iter().map(|line| ("Set-Cookie", line.as_slice()))
    }
}

fn is_of_a_session(routed: &Routed, line: &[u8]) -> bool {
    cookies::is_any(&routed.route.session.cookies, set_cookies::pair(line).0)
}

fn is_html(head: &ResponseHead) -> bool {
    let media_type = |value: &[u8]| {
        let media_type = value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        [&b"text/html"[..], b"application/xhtml+xml"].iter().any(|one| media_type.eq_ignore_ascii_case(one))
    };
    head.fields.only("content-type").is_some_and(media_type)
}

/// The whole page; `None`: it is too long, or has broken off.
async fn read(mut response: Response) -> Option<BytesMut> {
    let mut html = BytesMut::new();
    loop {
        match response.body.next().await {
            Ok(BodyPiece::Data(data)) if html.len() + data.len() <= PAGE_BYTES_MAX => html.extend_from_slice(&data),
            Ok(BodyPiece::End(_)) => return Some(html),
            Ok(BodyPiece::Data(_)) | Err(_) => return None,
        }
    }
}

/// A URL that was requested, to be compared with links.
struct RequestedUrl<'r> {
    rule: &'r FreshLink,
    path: String,
    parameters: Vec<(String, String)>,
}

impl<'r> RequestedUrl<'r> {
    /// `None`: it has too many parameters.
    fn new(rule: &'r FreshLink, target: &str) -> Option<Self> {
        Some(Self { rule, path: path_of(target), parameters: parameters_of(rule, target)? })
    }

    /// In how many parameters a link agrees; `None`: it leads elsewhere. The URL may have more parameters than the link: a post
    /// that was opened from the second page of a list has links with `page=2`, and the page that is requested here has not.
    fn agreeing(&self, link: &str) -> Option<usize> {
        let has_own = query_pairs(link).any(|pair| is_own(self.rule, pair));
        if !has_own || path_of(link) != self.path {
            return None;
        }
        let parameters = parameters_of(self.rule, link)?;
        let fits = parameters.iter().all(|one| self.parameters.contains(one));
        fits.then(|| self.parameters.iter().filter(|one| parameters.contains(one)).count())
    }
}

fn path_of(target: &str) -> String {
    as_read(path_and_query(target).0).into_owned()
}

fn query_pairs(target: &str) -> impl Iterator<Item = &str> {
    pairs(path_and_query(target).1.unwrap_or_default()).filter(|pair| !pair.is_empty())
}

/// Whether a parameter is made for one visitor.
fn is_own(rule: &FreshLink, pair: &str) -> bool {
    let (name, _) = name_and_value(pair);
    rule.parameters.iter().any(|one| is_called(name, one))
}

/// The other parameters, as the application reads them; `None`: there are too many.
fn parameters_of(rule: &FreshLink, target: &str) -> Option<Vec<(String, String)>> {
    let read = |pair| {
        let (name, value) = name_and_value(pair);
        (read_name(name).into_owned(), decoded(value).into_owned())
    };
    let parameters: Vec<_> =
        query_pairs(target).filter(|pair| !is_own(rule, pair)).map(read).take(PARAMETERS_MAX + 1).collect();
    (parameters.len() <= PARAMETERS_MAX).then_some(parameters)
}

/// The target with the link's own parameters in the place of the target's; `None`: it became too long.
fn with_parameters_of(rule: &FreshLink, target: &str, link: &str) -> Option<String> {
    let kept = query_pairs(target).filter(|pair| !is_own(rule, pair));
    let own = query_pairs(link).filter(|pair| is_own(rule, pair));
    let query: Vec<&str> = kept.chain(own).collect();
    let target = format!("{}?{}", path_and_query(target).0, query.join("&"));
    (target.len() <= TARGET_BYTES_MAX).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kasoku_options::{UrlPattern, UrlTemplate};

    fn rule() -> FreshLink {
        FreshLink {
            url: UrlPattern::parse("*/download.php").unwrap(),
            page: UrlTemplate::parse("/board.php?id={id}").unwrap(),
            parameters: vec!["nonce".to_owned(), "t_1".to_owned()],
        }
    }

    #[test]
    fn a_link_fits_by_path_and_by_all_parameters_that_are_not_made_for_one_visitor() {
        let rule = rule();
        let agreeing = |asked: &str, link: &str| RequestedUrl::new(&rule, asked)?.agreeing(link);
        let asked = "/download.php?id=5&no=0&nonce=old";
        for (link, expected) in [
            ("/download.php?id=5&no=0&nonce=new", Some(2)),
            ("/download.php?no=%30&&nonce=new&id=5", Some(2)),
            ("/x/..//down%6Coad.php?id=5&no=0&nonce=new", Some(2)),
            ("/download.php?id=5&no=0&t.1=new", Some(2)),
            ("/download.php?id=5&id=5&id=5&nonce=new", Some(1)),
            ("/download.php?nonce=new", Some(0)),
            ("/download.php?id=5&no=0", None),
            ("/download.php?id=5&no=1&nonce=new", None),
            ("/download.php?id=5&no=0&nonce=new&js=on", None),
            ("/other.php?id=5&no=0&nonce=new", None),
            ("/download.php", None),
        ] {
            assert_eq!(agreeing(asked, link), expected, "{link}");
        }
        assert_eq!(agreeing("/download.php?id=5&no=0&page=2", "/download.php?id=5&no=0&nonce=new"), Some(2));
        assert_eq!(agreeing("/download.php?nonce=1", "/download.php?nonce=2"), Some(0));
        let many = |count: usize| format!("/download.php?nonce=1{}", "&id=5".repeat(count));
        assert_eq!(agreeing(&many(PARAMETERS_MAX), &many(PARAMETERS_MAX)), Some(PARAMETERS_MAX));
        assert_eq!(agreeing(&many(PARAMETERS_MAX + 1), &many(1)), None);
        assert_eq!(agreeing(&many(1), &many(PARAMETERS_MAX + 1)), None);
    }

    #[test]
    fn the_visitors_own_parameters_take_the_place_of_those_that_were_asked() {
        let made = |target: &str, link: &str| with_parameters_of(&rule(), target, link);
        for (target, link, expected) in [
            ("/d?id=5&nonce=old&no=0", "/d?id=5&no=0&nonce=a|1|b", "/d?id=5&no=0&nonce=a|1|b"),
            ("/d?nonce=1&nonce=2&non%63e=3", "/d?nonce=4", "/d?nonce=4"),
            ("/d?id=5", "/d?nonce=4&t_1=5&id=6", "/d?id=5&nonce=4&t_1=5"),
            ("/d", "/d?nonce=4", "/d?nonce=4"),
        ] {
            assert_eq!(made(target, link).as_deref(), Some(expected));
        }
        assert_eq!(made("/d", &format!("/d?nonce={}", "x".repeat(TARGET_BYTES_MAX))), None);
    }
}
