//! Reads nginx's X-Accel-Expires: a freshness lifetime for the proxy in front only.
//!
//! ```text
//! X-Accel-Expires: 600            that many seconds
//! X-Accel-Expires: @1795000000    until then, in seconds since 1970
//! X-Accel-Expires: 0              not at all; so is a time in the past
//! ```
//!
//! As in nginx, its lifetime replaces those of Cache-Control and Expires, and it lifts `no-store`, `no-cache` and `private`. All
//! other directives of Cache-Control still count: `public`, `must-revalidate`, those about stale responses, and those about single
//! fields (`private="X-User"`). Where it lifts a prohibition, it gives no permission to share the answer to a request with
//! Authorization or a cookie. A targeted field (RFC 9213) counts before it.
//!
//! These functions obey the field in every response. The engine keeps the field only in responses that name a file.

use kasoku_wire::ResponseHead;
use kasoku_wire::field::cache_control::{CacheControl, DirectiveScope, delta_seconds};
use kasoku_wire::field::{date, list};

/// The field's name, in lower case.
pub const NAME: &str = "x-accel-expires";

/// The lifetime that the field gives, in seconds from Date on; 0: the response must not be stored; `None`: the field is missing, or
/// one of its lines is invalid. Of several lines the shortest lifetime counts.
pub(crate) fn lifetime(response: &ResponseHead) -> Option<u64> {
    let lifetimes: Option<Vec<u64>> = response.fields.all(NAME).map(|value| one(list::trim(value), response)).collect();
    lifetimes?.into_iter().min()
}

fn one(value: &[u8], response: &ResponseHead) -> Option<u64> {
    let Some(until) = value.strip_prefix(b"@") else { return delta_seconds(value) };
    let until: u64 =
        std::str::from_utf8(until).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()?;
    // The engine has added a missing Date by then. Where Date is invalid, the lifetime is unknown and counts as 0.
    let date = response.fields.only("date").and_then(|value| date::parse(value, 0));
    let made = u64::try_from(date.unwrap_or(i64::MAX)).unwrap_or(0);
    Some(until.saturating_sub(made))
}

/// The directives of Cache-Control that are left beside an X-Accel-Expires of `lifetime` seconds.
pub(crate) fn over(control: CacheControl, lifetime: u64) -> CacheControl {
    // A directive about single fields says nothing about the lifetime, so it stays.
    let of_fields = |scope: DirectiveScope| if scope.is_all() { DirectiveScope::None } else { scope };
    let forbids_sharing = control.no_store || control.private.is_all();
    CacheControl {
        no_store: lifetime == 0,
        // must-understand would lift the no-store of a lifetime of 0.
        must_understand: control.must_understand && lifetime > 0,
        max_age: Some(lifetime),
        // `public` and s-maxage also permit the cache to share answers to requests with credentials; X-Accel-Expires sets for how
        // long. Beside a directive that forbids sharing they permit nothing. Nor does must-revalidate beside a lifetime that is not
        // its own: frameworks send it together with no-store. It still forbids stale responses, and so does proxy-revalidate, which
        // never permits sharing.
        public: control.public && !forbids_sharing,
        s_maxage: control.s_maxage.filter(|_| !forbids_sharing).map(|_| lifetime),
        must_revalidate: false,
        proxy_revalidate: control.proxy_revalidate || control.must_revalidate || control.s_maxage.is_some(),
        no_cache: of_fields(control.no_cache),
        private: of_fields(control.private),
        ..control
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storable::storable;
    use crate::testing::{NOW, at, cached, fresh, get, ok, safe};
    use crate::{LifetimeSource, Reason};

    fn lifetime_of(response: &ResponseHead) -> (LifetimeSource, u64) {
        let freshness = fresh(response, &safe());
        (freshness.source, freshness.lifetime)
    }

    fn is_kept(response: &ResponseHead) -> Result<(), Reason> {
        storable(&get(), response, &fresh(response, &safe()), &safe())
    }

    #[test]
    fn it_counts_in_the_place_of_cache_control_and_expires() {
        for value in ["60".to_owned(), format!("@{}", NOW.unix_seconds() + 60)] {
            let response = cached("private, no-store, no-cache, max-age=1").with("Expires", at(-9)).with(NAME, &value);
            assert_eq!(lifetime_of(&response), (LifetimeSource::AccelExpires, 60), "{value}");
            assert_eq!(is_kept(&response), Ok(()), "{value}");
        }
    }

    #[test]
    fn a_targeted_field_counts_before_it() {
        let response = ok().with("CDN-Cache-Control", "max-age=5").with(NAME, "60");
        assert_eq!(lifetime_of(&response), (LifetimeSource::Targeted, 5));
    }

    #[test]
    fn nothing_is_kept_for_no_time() {
        for value in ["0", "@0", "@1700000000"] {
            let response = cached("public, max-age=60, must-understand").with("ETag", "\"a\"").with(NAME, value);
            assert_eq!(is_kept(&response), Err(Reason::NoStore), "{value}");
        }
    }

    #[test]
    fn what_can_t_be_understood_says_nothing_and_of_several_the_shortest_counts() {
        for value in ["", "-1", "off", "@", "@-1", "@+1", "1m", "60, 60"] {
            let response = cached("max-age=5").with(NAME, value);
            assert_eq!(lifetime_of(&response), (LifetimeSource::MaxAge, 5), "{value}");
        }
        assert_eq!(lifetime_of(&ok().with(NAME, "60").with(NAME, "30")), (LifetimeSource::AccelExpires, 30));
        assert_eq!(lifetime_of(&ok().with(NAME, "60").with(NAME, "x")).0, LifetimeSource::None);
    }

    #[test]
    fn what_cache_control_says_besides_still_counts() {
        let visitor = get().with("Cookie", "a=b");
        let kept = |response: &ResponseHead| storable(&visitor, response, &fresh(response, &safe()), &safe());
        assert_eq!(kept(&ok().with(NAME, "60")), Err(Reason::Cookie));
        assert_eq!(kept(&cached("public").with(NAME, "60")), Ok(()));
        assert_eq!(kept(&cached("s-maxage=1").with(NAME, "60")), Ok(()));
        let freshness = fresh(&cached("must-revalidate, stale-if-error=9, s-maxage=1").with(NAME, "60"), &safe());
        assert_eq!((freshness.must_revalidate, freshness.stale_if_error, freshness.lifetime), (true, 9, 60));
        let freshness = fresh(&cached("must-revalidate").with(NAME, "60"), &safe());
        assert!(freshness.must_revalidate && !freshness.no_cache);
    }

    #[test]
    fn what_it_lifts_is_no_permission_to_share() {
        for (name, refused) in [("Authorization", Reason::Authorization), ("Cookie", Reason::Cookie)] {
            let visitor = get().with(name, "x");
            for control in
                ["no-store, no-cache, must-revalidate", "private, s-maxage=9", "private, public", "must-revalidate"]
            {
                let response = cached(control).with(NAME, "60");
                let kept = storable(&visitor, &response, &fresh(&response, &safe()), &safe());
                assert_eq!(kept, Err(refused), "{name} {control}");
                assert_eq!(is_kept(&response), Ok(()), "{control}");
            }
        }
    }
}
