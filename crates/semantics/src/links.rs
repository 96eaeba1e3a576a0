//! Finds the links of a page (the URLs in its `href` attributes), and removes the values of some of their parameters.
//!
//! The search looks for the attribute only and parses no other HTML, so an `href` in a comment or in a script counts as well. Only
//! quoted values count (single or double quotes). The only character reference that is decoded is the ampersand, in its four usual
//! spellings. The number of links and their length are bounded.

use std::borrow::Cow;
use url::{Position, Url};

/// The most `href` attributes that are looked at.
pub const LINKS_MAX: usize = 2048;

/// The length of the longest link, in bytes as written in the page.
pub const LINK_BYTES_MAX: usize = 2048;

/// How HTML spells an ampersand.
const AMPERSANDS: [&str; 4] = ["&amp;", "&#38;", "&#038;", "&#x26;"];

const NAME: &[u8] = b"href";

/// The path and query of each link whose host `is_ours` accepts. `page_uri` is the absolute URI of the page: relative links are
/// resolved against it. `is_ours` gets the host and port in lower case, without a port that is the scheme's default.
pub fn targets<'h>(
    page_uri: &str,
    html: &'h [u8],
    is_ours: impl Fn(&str) -> bool + 'h,
) -> impl Iterator<Item = String> + 'h {
    let page = Url::parse(page_uri).ok();
    values(html).take(LINKS_MAX).filter_map(move |(value, _)| {
        let text = std::str::from_utf8(value).ok().filter(|text| text.len() <= LINK_BYTES_MAX)?;
        let link = page.as_ref()?.join(&read(text)).ok()?;
        let is_http = matches!(link.scheme(), "http" | "https");
        let is_one = is_http && is_ours(&link[Position::BeforeHost..Position::AfterPort]);
        is_one.then(|| link[Position::BeforePath..Position::AfterQuery].to_owned())
    })
}

/// The page without the values of some parameters in its links. `named` returns the names of these parameters for the path and
/// query of a link.
pub fn without_values<'h, 'n>(page_uri: &str, html: &'h [u8], named: impl Fn(&str) -> &'n [String]) -> Cow<'h, [u8]> {
    let page = Url::parse(page_uri).ok();
    let mut kept = Vec::new();
    let mut copied = 0;
    for (value, ends) in values(html).take(LINKS_MAX) {
        let text = std::str::from_utf8(value).ok().filter(|text| text.len() <= LINK_BYTES_MAX);
        let link = text.and_then(|text| page.as_ref()?.join(&read(text)).ok());
        let (Some(text), Some(link)) = (text, link) else { continue };
        let names = named(&link[Position::BeforePath..Position::AfterQuery]);
        if names.is_empty() {
            continue;
        }
        kept.extend_from_slice(html.get(copied..ends - value.len()).unwrap_or_default());
        kept.extend_from_slice(masked(text, names).as_bytes());
        copied = ends;
    }
    if copied == 0 {
        return Cow::Borrowed(html);
    }
    kept.extend_from_slice(html.get(copied..).unwrap_or_default());
    Cow::Owned(kept)
}

/// A link without the values of these parameters.
fn masked(text: &str, names: &[String]) -> String {
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    let pairs = query.split('&').map(|pair| {
        // Splitting `&amp;` at its `&` leaves `amp;` before the name.
        let (name, rest) = pair.split_once('=').unwrap_or((pair, ""));
        let bare = name.rsplit(';').next().unwrap_or_default();
        let fragment = rest.find('#').and_then(|at| rest.get(at..)).unwrap_or_default();
        if names.iter().any(|one| one == bare) { format!("{name}={fragment}") } else { pair.to_owned() }
    });
    format!("{path}?{}", pairs.collect::<Vec<_>>().join("&"))
}

/// A value of an attribute with its references to the ampersand decoded.
fn read(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, reference)) = rest.find('&').and_then(|at| rest.split_at_checked(at)) {
        let written =
            AMPERSANDS.iter().find(|written| reference.starts_with(**written)).map_or(1, |written| written.len());
        text.push_str(before);
        text.push('&');
        rest = reference.get(written..).unwrap_or_default();
    }
    text.push_str(rest);
    text
}

/// The values of `href` attributes, as written in the page, and the offset at which each ends.
fn values(html: &[u8]) -> impl Iterator<Item = (&[u8], usize)> {
    let mut after = 0;
    memchr::memchr2_iter(b'h', b'H', html).filter_map(move |begins| {
        // An `href` inside the previous value is not an attribute.
        let is_outside = begins >= after;
        let (value, ends) = attribute(html, begins).filter(|_| is_outside)?;
        after = ends;
        Some((value, ends))
    })
}

/// The value of the `href` attribute that begins at the offset `begins`, and the offset at which the value ends. `None`: no such
/// attribute begins there, or its value is not quoted.
fn attribute(html: &[u8], begins: usize) -> Option<(&[u8], usize)> {
    let before = begins.checked_sub(1).and_then(|at| html.get(at))?;
    // Excludes names such as `data-href`.
    let is_whole = before.is_ascii_whitespace() || b"\"'/".contains(before);
    let (name, rest) = html.get(begins..)?.split_at_checked(NAME.len())?;
    if !is_whole || !name.eq_ignore_ascii_case(NAME) {
        return None;
    }
    let rest = rest.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let (quote, rest) = rest.split_first().filter(|(quote, _)| b"\"'".contains(quote))?;
    let value = rest.get(..memchr::memchr(*quote, rest)?)?;
    Some((value, html.len() - rest.len() + value.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(html: &str) -> Vec<String> {
        targets("http://a.example:8080/bbs/board.php?id=1", html.as_bytes(), |host| host == "a.example:8080").collect()
    }

    #[test]
    fn links_are_resolved_against_the_page() {
        for (html, target) in [
            ("<a href=\"/x?y\">", "/x?y"),
            ("<a href='/x?y'>", "/x?y"),
            ("<a HREF = \n '/x'>", "/x"),
            ("<a class=\"b\"href=\"/x\">", "/x"),
            ("<a href=\"x.php?a=1&amp;b=2&#38;c&#038;d&#x26;e&f#g\">", "/bbs/x.php?a=1&b=2&c&d&e&f"),
            ("<a href=\"/x?a&amp;#38;b\">", "/x?a&"),
            ("<a href=\"/x?a&amp;amp;b\">", "/x?a&amp;b"),
            ("<a href=\"?a\">", "/bbs/board.php?a"),
            ("<a href=\"\">", "/bbs/board.php?id=1"),
            ("<a href=\"http://A.Example:8080/x\">", "/x"),
            ("<a href=\"https://a.example:8080/x\">", "/x"),
            ("<a href=\"//a.example:8080/x\">", "/x"),
            ("<a href=\"/x?a=s|1|2 \u{e9}&quot;\">", "/x?a=s|1|2%20%C3%A9&quot;"),
            ("<a href=\"/a/../x\">", "/x"),
        ] {
            assert_eq!(links(html), [target], "{html}");
        }
        assert_eq!(links("<a href=\"/1\"></a><a title='a href=/2' href='/3'>"), ["/1", "/3"]);
    }

    #[test]
    fn values_of_named_parameters_are_left_out() {
        let names = ["nonce".to_owned()];
        let named = |target: &str| if target.starts_with("/bbs/get") { &names[..] } else { &[] };
        let left = |html: &str| {
            let kept = without_values("http://a.example/bbs/board.php?id=1", html.as_bytes(), named).into_owned();
            String::from_utf8(kept).unwrap()
        };
        for (html, kept) in [
            ("<a href=\"get?id=1&amp;nonce=9f&amp;no=0\">", "<a href=\"get?id=1&amp;nonce=&amp;no=0\">"),
            ("<a href='/bbs/get?nonce=9f#top'>nonce=9f</a>", "<a href='/bbs/get?nonce=#top'>nonce=9f</a>"),
            ("<a href='get?a=1'><a href='get?nonce=1'> ", "<a href='get?a=1'><a href='get?nonce='> "),
            ("<a href='/other?nonce=9f'>", "<a href='/other?nonce=9f'>"),
            ("<a href='get?nonces=9f&amp;x=nonce=1'>", "<a href='get?nonces=9f&amp;x=nonce=1'>"),
            ("<input name=\"get?nonce=9f\">", "<input name=\"get?nonce=9f\">"),
        ] {
            assert_eq!(left(html), kept, "{html}");
        }
    }

    #[test]
    fn what_leads_elsewhere_or_is_no_attribute_is_no_link() {
        for html in [
            "",
            "href",
            "<a href",
            "<a href=",
            "<a href=\"/x",
            "<a href=/x>",
            "<a data-href=\"/x\">",
            "<a hrefs=\"/x\">",
            "<a href=\"http://b.example:8080/x\">",
            "<a href=\"http://a.example/x\">",
            "<a href=\"http://user@b.example:8080/x\">",
            "<a href=\"javascript:x\">",
            "<a href=\"mailto:a@a.example\">",
            "<a href=\"http://[\">",
        ] {
            assert_eq!(links(html), [""; 0], "{html}");
        }
        let bytes = b"<a href='/\xff'><a href='/x'>";
        assert_eq!(targets("http://a/", bytes, |_| true).collect::<Vec<_>>(), ["/x"]);
        assert_eq!(targets("nonsense", b"<a href='/x'>", |_| true).count(), 0);
    }

    #[test]
    fn an_attribute_within_a_value_is_not_looked_at() {
        assert_eq!(links("<a title=\"\" href=\"/1?' href='/2\">"), ["/1?%27%20href=%27/2"]);
    }

    #[test]
    fn number_and_length_are_bounded() {
        assert_eq!(links(&"<a href='/x'>".repeat(LINKS_MAX + 10)).len(), LINKS_MAX);
        let long = |bytes: usize| format!("<a href='/{}'>", "x".repeat(bytes));
        assert_eq!(links(&long(LINK_BYTES_MAX - 1)).len(), 1);
        assert_eq!(links(&long(LINK_BYTES_MAX)).len(), 0);
    }
}
