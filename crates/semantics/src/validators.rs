//! Chooses the validators that a client gets (the application's or the cache's), and which of its conditions count.
//!
//! A validator names a representation. Where the operator grants a lifetime, a URL has one shared representation, which the cache
//! keeps, and others for visitors whom the application knows. The application's validators may not tell them apart: Last-Modified
//! is often the time of rendering, and an entity tag may be a constant. A browser that has kept a member's page would hear from the
//! cache that its page is current, and would show it to the next person who uses that browser.
//!
//! So a client gets neither validator of the application where the policy grants a lifetime ([`withhold`]). It gets a strong entity
//! tag that the cache makes from the stored bytes, and that tag is the only condition that counts ([`Validators::OwnTag`]). The
//! application's validators stay with the stored response, and are sent when it is validated ([`restore`]).
//!
//! One validator of the application stays visible: the Last-Modified of a response that is named like a file and is one (a style
//! sheet, an image), if it is at least a minute older than the response. Browsers keep such files by heuristics (RFC 9111 section
//! 4.2.2) and would otherwise request all of them with each page. A condition on this date does not count either.

use crate::deception::is_named_file;
use crate::{Now, Policy};
use kasoku_wire::field::date;
use kasoku_wire::{Fields, RequestHead, ResponseHead};

/// Which validators decide whether a client has a response already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Validators {
    /// The validators of the response, by the rules of RFC 9110 section 13.2.2.
    #[default]
    Any,
    /// Only the strong entity tag of the response, which the cache made of its bytes: no date, and not `*`.
    OwnTag,
}

impl Validators {
    /// The validators that count in conditions on a response that is shared under `policy`. `is_file`: Kasoku has read the response
    /// from a file itself, so its validators describe its bytes.
    pub fn of(policy: &Policy, is_file: bool) -> Self {
        if policy.grant.is_granting() && !is_file { Self::OwnTag } else { Self::Any }
    }
}

/// How much older than its response a Last-Modified must be so that it can't be the time of rendering, in seconds.
const MODIFIED_BEFORE_SECONDS: i64 = 60;

/// Removes the application's validators from a head that goes to clients, and returns them for [`restore`].
pub fn withhold(request: &RequestHead, head: &mut ResponseHead, response_time: Now) -> Fields {
    let keeps_date = is_named_file(&request.target, head) && is_modified_before(head, response_time);
    let mut withheld = Fields::new();
    for (name, value) in head.fields.iter().filter(|(name, _)| is_validator(name)) {
        withheld.push(name, value);
    }
    head.fields.retain(|name, _| !is_validator(name) || keeps_date && name.eq_ignore_ascii_case(LAST_MODIFIED));
    withheld
}

/// Puts the application's validators back in place of those that clients get.
pub fn restore(head: &mut ResponseHead, withheld: &Fields) {
    head.fields.retain(|name, _| !is_validator(name));
    head.fields.extend(withheld);
}

const LAST_MODIFIED: &[u8] = b"last-modified";

/// Whether a field of that name is a validator: ETag or Last-Modified.
pub fn is_validator(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"etag") || name.eq_ignore_ascii_case(LAST_MODIFIED)
}

fn is_modified_before(head: &ResponseHead, response_time: Now) -> bool {
    let now = response_time.unix_seconds();
    let modified = head.fields.only("last-modified").and_then(|value| date::parse(value, now));
    modified.is_some_and(|modified| modified.saturating_add(MODIFIED_BEFORE_SECONDS) <= now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{NOW, at, get, ok};

    fn shown(target: &str, head: &ResponseHead) -> (ResponseHead, Fields) {
        let request = RequestHead { target: target.to_owned(), ..get() };
        let mut shown = head.clone();
        let withheld = withhold(&request, &mut shown, NOW);
        (shown, withheld)
    }

    #[test]
    fn a_page_goes_out_without_the_applications_validators_and_gets_them_back() {
        let page = ok().with("Content-Type", "text/html").with("ETag", "\"a\"").with("Last-Modified", at(-3600));
        let (mut head, withheld) = shown("/", &page);
        assert!(!head.fields.contains("etag") && !head.fields.contains("last-modified"));
        head.fields.push("ETag", "\"ours\"");
        restore(&mut head, &withheld);
        assert_eq!(head.fields.only("etag"), Some(&b"\"a\""[..]));
        assert_eq!(head.fields.only("last-modified"), Some(at(-3600).as_bytes()));
    }

    #[test]
    fn a_file_keeps_its_date_unless_that_is_when_it_was_rendered() {
        let style = |seconds| ok().with("Content-Type", "text/css").with("Last-Modified", at(seconds));
        assert!(shown("/x.css", &style(-60)).0.fields.contains("last-modified"));
        assert!(!shown("/x.css", &style(-59)).0.fields.contains("last-modified"));
        let page = style(-3600).with("Content-Type", "text/html");
        assert!(!shown("/x.css", &page).0.fields.contains("last-modified"), "it is no style sheet");
    }
}
