//! Rewrites Cache-Control and Vary for clients and downstream caches: for a lifetime that the operator grants ([`announce_lifetime`]), and
//! for responses to a logged-in visitor ([`confine`]).
//!
//! A granted lifetime holds in this cache, where it can be purged, and for anonymous requests. A browser must not show the page
//! once its visitor has logged in, and a downstream cache must not show it to logged-in visitors. So the response gets `no-cache`
//! and a `Vary` with Cookie and what is in the key, in lines of their own, unless the operator wants the lifetime announced.
//! Without that Vary, a downstream cache would validate its page with a request of one class of visitors, and show it to the
//! others. A response that is named like a file, and is one (a style sheet, an image), gets no such lines: it is the same for all
//! clients, and a browser would validate all files with each page. Stored heads hold these lines too; [`without_announcement`]
//! removes them.
//!
//! A page that answers a request with a session is for that visitor at that time, whatever the application says: a browser outlives
//! a session, and its next user must neither see the page nor be able to revalidate it. So it goes out as `private, no-store`. A
//! response that is no page (JSON, an image that a script makes) may be kept, and used after the application has been asked:
//! `private, no-cache`. Files by their name keep their own Cache-Control here as well, and so does a response that the application
//! calls public, with a lifetime.

use crate::coding::media_type;
use crate::deception::is_named_file;
use crate::effective::{directive_name, is_ignored};
use crate::{Freshness, Policy};
use http::StatusCode;
use kasoku_wire::field::cache_control::CacheControl;
use kasoku_wire::field::list;
use kasoku_wire::{Fields, RequestHead, ResponseHead};
use std::borrow::Cow;
use std::iter;

/// The directive that is added where the lifetime is not announced.
const NO_CACHE: &str = "no-cache";

/// Cache-Control of a page for one visitor, and of any other response for one visitor.
const PAGE_OF_A_SESSION: &str = "private, no-store";
const OF_A_SESSION: &str = "private, no-cache";

/// The value of Cache-Control with which a response goes to a visitor with a session; `None`: the response keeps its own.
pub fn confinement(target: &str, head: &ResponseHead) -> Option<&'static str> {
    let is_page = is_page(head);
    if !is_page && (is_named_file(target, head) || is_public(head)) {
        return None;
    }
    let says_no_store =
        || list::members(&head.fields, "cache-control").any(|one| one.eq_ignore_ascii_case(b"no-store"));
    Some(if is_page || says_no_store() { PAGE_OF_A_SESSION } else { OF_A_SESSION })
}

/// Sets the [`confinement`] of a response to a visitor with a session, and removes the fields that tell caches otherwise.
pub fn confine(target: &str, head: &mut ResponseHead) {
    let Some(value) = confinement(target, head) else { return };
    let says_otherwise = |name: &[u8]| {
        let is = |one: &str| name.eq_ignore_ascii_case(one.as_bytes());
        // Targeted fields like CDN-Cache-Control (RFC 9213), and Surrogate-Control, which came before them.
        let is_targeted = name.len().checked_sub(TARGETED.len()).and_then(|at| name.get(at..));
        is("expires") || is("surrogate-control") || is_targeted.is_some_and(|end| end.eq_ignore_ascii_case(TARGETED))
    };
    head.fields.retain(|name, _| !says_otherwise(name));
    head.fields.set("Cache-Control", value);
}

/// How names of targeted fields end.
const TARGETED: &[u8] = b"-cache-control";

/// Whether a browser shows the response as a page, as far as the head tells. Without a type, a browser may guess that it is a page.
/// A 304 has no type because it has no content.
fn is_page(head: &ResponseHead) -> bool {
    let Some(value) = head.fields.first("content-type") else { return head.status != StatusCode::NOT_MODIFIED };
    let media_type = media_type(value);
    ["text/html", "application/xhtml+xml"].iter().any(|page| media_type.eq_ignore_ascii_case(page.as_bytes()))
}

/// Whether the application says that any cache may keep the response, and for how long.
fn is_public(head: &ResponseHead) -> bool {
    let control = CacheControl::parse(&head.fields);
    let seconds = control.s_maxage.or(control.max_age).unwrap_or(0);
    control.public && seconds > 0 && !control.no_store && !control.private.is_all()
}

/// Tells clients how they may keep the answer to `request` whose lifetime was granted: not without validating each time; or, where
/// the policy announces granted lifetimes, for that lifetime, in the place of what the origin says. Does nothing where none was
/// granted.
pub fn announce_lifetime(request: &RequestHead, head: &mut ResponseHead, freshness: &Freshness, policy: &Policy) {
    if !freshness.is_granted() {
        return;
    }
    if policy.grant.announce_ttl {
        announce(&mut head.fields, freshness, policy);
    } else if !is_named_file(&request.target, head) {
        withhold(&mut head.fields, policy);
    }
}

/// Whether these fields forbid all caches, a browser's included, to use the response again without validation.
pub fn requires_validation(fields: &Fields) -> bool {
    let forbids = |one: &[u8]| ["no-cache", "no-store"].iter().any(|word| one.eq_ignore_ascii_case(word.as_bytes()));
    list::members(fields, "cache-control").any(forbids)
}

fn withhold(fields: &mut Fields, policy: &Policy) {
    if !requires_validation(fields) {
        fields.push("Cache-Control", NO_CACHE);
    }
    for name in withheld_vary(policy) {
        let is_said = |one: &[u8]| one == b"*" || one.eq_ignore_ascii_case(name.as_bytes());
        if !list::members(fields, "vary").any(is_said) {
            fields.push("Vary", name);
        }
    }
}

/// The names that go into Vary where the lifetime is not announced: Cookie, because a login sets one, and what is in the key.
fn withheld_vary(policy: &Policy) -> impl Iterator<Item = String> {
    iter::once("Cookie".to_owned()).chain(policy.grant.key().into_iter().filter(|name| name != "cookie"))
}

fn announce(fields: &mut Fields, freshness: &Freshness, policy: &Policy) {
    let mut members = directives_but_lifetimes(fields, policy);
    members.push(format!("max-age={}", freshness.lifetime).into_bytes());
    fields.set("Cache-Control", members.join(&b", "[..]));
    fields.remove("expires");
    fields.remove("pragma");
    for name in policy.grant.key() {
        if !list::members(fields, "vary").any(|one| one.eq_ignore_ascii_case(name.as_bytes())) {
            fields.push("Vary", name);
        }
    }
}

/// A stored head without what [`announce_lifetime`] has put there, so that an update is compared with the origin's own words.
pub fn without_announcement<'h>(
    head: &'h ResponseHead,
    freshness: &Freshness,
    policy: &Policy,
) -> Cow<'h, ResponseHead> {
    if !freshness.is_granted() {
        return Cow::Borrowed(head);
    }
    let mut own = head.clone();
    if policy.grant.announce_ttl {
        let members = directives_but_lifetimes(&own.fields, policy);
        match members.is_empty() {
            true => drop(own.fields.remove("cache-control")),
            false => own.fields.set("Cache-Control", members.join(&b", "[..])),
        }
    } else {
        // The origin's own `no-cache` makes the freshness say so, and nothing was added then. The origin's own `Vary` may look like one that was
        // added, and selects nothing: the origin does not get that field, or it is in the key anyway.
        let vary: Vec<String> = withheld_vary(policy).collect();
        let is_added = |name: &[u8], value: &[u8]| {
            (!freshness.no_cache && name.eq_ignore_ascii_case(b"cache-control") && value == NO_CACHE.as_bytes())
                || (name.eq_ignore_ascii_case(b"vary") && vary.iter().any(|one| one.as_bytes() == value))
        };
        own.fields.retain(|name, value| !is_added(name, value));
    }
    Cow::Owned(own)
}

/// The directives of Cache-Control that count, except those that state a lifetime.
fn directives_but_lifetimes(fields: &Fields, policy: &Policy) -> Vec<Vec<u8>> {
    let is_kept = |one: &&[u8]| {
        let name = directive_name(one);
        let says_how_long = ["max-age", "s-maxage"].iter().any(|word| name.eq_ignore_ascii_case(word.as_bytes()));
        !says_how_long && !is_ignored(one, &policy.grant.ignore)
    };
    list::members(fields, "cache-control").filter(is_kept).map(<[u8]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::Ignored;
    use crate::testing::{NOW, cached, get, ok, safe};
    use crate::{LifetimeSource, freshness};

    fn told(target: &str, mut head: ResponseHead, change: impl FnOnce(&mut Policy)) -> ResponseHead {
        let mut policy = safe();
        policy.grant.ttl_seconds = 60;
        change(&mut policy);
        let request = RequestHead { target: target.to_owned(), ..get() };
        let freshness = freshness(&request, &head, NOW, NOW, &policy);
        let before = head.clone();
        announce_lifetime(&request, &mut head, &freshness, &policy);
        if freshness.source != LifetimeSource::None {
            assert_eq!(without_announcement(&head, &freshness, &policy).fields, before.fields, "{target}");
        }
        head
    }

    fn says(head: &ResponseHead, name: &str) -> String {
        String::from_utf8(head.fields.combined(name).unwrap_or_default()).unwrap()
    }

    #[test]
    fn what_a_client_may_keep_without_asking() {
        let of = |value: &str| [("Cache-Control", value)].into_iter().collect::<Fields>();
        assert!(requires_validation(&of("public, No-Cache")) && requires_validation(&of("no-store")));
        assert!(!requires_validation(&of("max-age=5")) && !requires_validation(&Fields::new()));
        assert!(!requires_validation(&of("no-cache=\"set-cookie\"")));
    }

    #[test]
    fn no_client_keeps_a_page_for_a_granted_lifetime() {
        let page = told("/", ok().with("Content-Type", "text/html"), |_| {});
        assert_eq!((says(&page, "cache-control"), says(&page, "vary")), ("no-cache".to_owned(), "Cookie".to_owned()));
        let page = told("/", cached("public").with("Vary", "Accept"), |_| {});
        assert_eq!(says(&page, "cache-control"), "public, no-cache");
        assert_eq!(says(&page, "vary"), "Accept, Cookie");
    }

    #[test]
    fn who_asks_again_is_told_by_what_it_differs() {
        let page = told("/", ok().with("Content-Type", "text/html"), |policy| {
            policy.grant.key_device = true;
            policy.grant.key_cookies = vec!["lang".to_owned()];
            policy.grant.key_fields = vec!["x-currency".to_owned()];
        });
        assert_eq!(says(&page, "vary"), "Cookie, user-agent, x-currency");
    }

    #[test]
    fn what_an_application_says_itself_stays_as_it_is() {
        let page = told("/", cached("max-age=9"), |_| {});
        assert_eq!((says(&page, "cache-control"), page.fields.contains("vary")), ("max-age=9".to_owned(), false));
        let overruled = |policy: &mut Policy| {
            policy.grant.ttl_override_seconds = 60;
            policy.grant.ignore = vec![Ignored::NoStore];
        };
        let page = told("/", cached("no-store").with("Vary", "cookie"), overruled);
        assert_eq!((says(&page, "cache-control"), says(&page, "vary")), ("no-store".to_owned(), "cookie".to_owned()));
    }

    #[test]
    fn no_cache_keeps_a_page_for_a_session() {
        let confined = |target: &str, mut head: ResponseHead| {
            confine(target, &mut head);
            says(&head, "cache-control")
        };
        let page = || cached("public, max-age=600").with("Content-Type", "Text/HTML; charset=utf-8");
        for head in [page(), ok(), page().with("Expires", "0").with("CDN-Cache-Control", "max-age=9")] {
            assert_eq!(confined("/", head), "private, no-store");
        }
        let data = |control: &str| cached(control).with("Content-Type", "application/json");
        assert_eq!(confined("/", data("max-age=9")), "private, no-cache");
        assert_eq!(confined("/", data("no-store, max-age=9")), "private, no-store");
        assert_eq!(confined("/", crate::testing::status(304)), "private, no-cache");
        let mut told = data("max-age=9")
            .with("Expires", "0")
            .with("CDN-Cache-Control", "max-age=9")
            .with("Surrogate-Control", "x");
        confine("/", &mut told);
        assert_eq!(
            told.fields.iter().map(|(name, _)| name.to_vec()).collect::<Vec<_>>(),
            ["Date", "Content-Type", "Cache-Control"].map(|name| name.as_bytes().to_vec())
        );
    }

    #[test]
    fn what_is_public_and_no_page_is_not_confined() {
        let of = |target: &str, control: &str, kind: &str| {
            let head = cached(control).with("Content-Type", kind);
            confinement(target, &head)
        };
        assert_eq!(of("/feed", "public, max-age=9", "application/rss+xml"), None);
        assert_eq!(of("/x.css", "max-age=9", "text/css"), None);
        assert_eq!(of("/x.css", "max-age=9", "text/html"), Some("private, no-store"));
        for control in ["public", "public, max-age=0", "public, max-age=9, no-store", "public, max-age=9, private"] {
            assert!(of("/feed", control, "application/rss+xml").is_some(), "{control}");
        }
    }

    #[test]
    fn files_by_their_name_are_left_alone() {
        let style = told("/x.css", ok().with("Content-Type", "text/css"), |_| {});
        assert!(!style.fields.contains("cache-control") && !style.fields.contains("vary"));
        let page = told("/x.html", ok().with("Content-Type", "text/html"), |_| {});
        assert_eq!(says(&page, "vary"), "Cookie");
    }
}
