use super::*;
use crate::downstream::{announce_lifetime, without_announcement};
use crate::grant::{GrantRefusal, StatusTtl};
use crate::testing::{NOW, at, cached, fresh, get, later, ok, rfc, safe, status};
use crate::validation::Freshened;
use crate::vary::variant_key;
use crate::{LifetimeSource, Profile, Reason, Reuse, fields_to_store, freshen, request_directives, reuse, storable};
use http::Method;

/// A policy that grants an hour to responses that state no lifetime.
fn granting(change: impl FnOnce(&mut Policy)) -> Policy {
    let mut policy = safe();
    policy.grant.ttl_seconds = 3600;
    change(&mut policy);
    policy
}

fn lifetime(response: &ResponseHead, policy: &Policy) -> (LifetimeSource, u64) {
    let freshness = fresh(response, policy);
    (freshness.source, freshness.lifetime)
}

fn stored(request: &RequestHead, response: &ResponseHead, policy: &Policy) -> Result<(), Reason> {
    let freshness = crate::freshness(request, response, NOW, NOW, policy);
    storable(request, response, &freshness, policy)
}

fn overriding(ignore: &[Ignored]) -> Policy {
    granting(|policy| {
        policy.grant.ttl_seconds = 0;
        policy.grant.ttl_override_seconds = 60;
        policy.grant.ignore = ignore.to_vec();
    })
}

#[test]
fn a_lifetime_is_granted_to_what_states_none() {
    let hour = (LifetimeSource::Ttl, 3600);
    let old = ok().with("Last-Modified", at(-864_000));
    for response in [ok(), old, cached("public"), cached("must-revalidate"), status(301), status(204)] {
        assert_eq!(lifetime(&response, &granting(|_| {})), hour, "{response:?}");
        assert_eq!(stored(&get(), &response, &granting(|_| {})), Ok(()), "{response:?}");
    }
    for (response, source) in [
        (cached("max-age=5"), LifetimeSource::MaxAge),
        (cached("s-maxage=5"), LifetimeSource::SMaxage),
        (ok().with("Expires", at(5)), LifetimeSource::Expires),
        (ok().with("CDN-Cache-Control", "max-age=5"), LifetimeSource::Targeted),
    ] {
        assert_eq!(lifetime(&response, &granting(|_| {})), (source, 5), "{response:?}");
    }
    assert_eq!(lifetime(&ok().with("Expires", "0"), &granting(|_| {})), (LifetimeSource::Expires, 0));
}

#[test]
fn what_forbids_still_forbids() {
    let policy = granting(|_| {});
    for (response, reason) in [
        (cached("no-store"), Reason::NoStore),
        (cached("private"), Reason::Private),
        (cached("max-age=0"), Reason::Expired),
        (cached("no-cache"), Reason::NoCacheNoValidator),
        (ok().with("Set-Cookie", "a=b"), Reason::SetCookie),
        (ok().with("Vary", "*"), Reason::VaryStar),
        (status(302), Reason::NotCacheable),
        (status(404), Reason::NotCacheable),
        (status(500), Reason::NotCacheable),
    ] {
        assert_eq!(stored(&get(), &response, &policy), Err(reason), "{response:?}");
    }
}

#[test]
fn nothing_is_granted_to_who_says_who_they_are_nor_to_a_post() {
    for policy in [granting(|_| {}), granting(|policy| policy.profile = Profile::Rfc)] {
        for (name, value) in [("Cookie", "sid=1"), ("Authorization", "Basic x")] {
            let request = get().with(name, value);
            assert_eq!(crate::freshness(&request, &ok(), NOW, NOW, &policy).source, LifetimeSource::None, "{name}");
            assert!(stored(&request, &ok(), &policy).is_err(), "{name}");
        }
        let post = RequestHead { method: Method::POST, ..get() };
        assert_eq!(crate::freshness(&post, &ok(), NOW, NOW, &policy).source, LifetimeSource::None);
    }
}

#[test]
fn a_cookie_in_the_key_is_no_credential_and_any_other_is() {
    let policy = granting(|policy| policy.grant.key_cookies = vec!["lang".to_owned()]);
    assert_eq!(stored(&get().with("Cookie", "lang=de"), &ok(), &policy), Ok(()));
    assert!(stored(&get().with("Cookie", "lang=de; sid=1"), &ok(), &policy).is_err());
    let key = |cookie: &str| {
        let request = get().with("Cookie", cookie);
        let mut key = Vec::new();
        variant_key(&nominated(&request, &ok(), &policy), &request.fields, &policy, &mut key);
        key
    };
    assert_eq!(key("lang=de; sid=1"), key("_ga=2;lang=de"));
    assert_ne!(key("lang=de"), key("lang=en"));
    assert_ne!(key("lang=de"), key("sid=1"));
}

#[test]
fn what_does_not_reach_the_origin_selects_no_variant() {
    let policy = granting(|policy| policy.grant.key_fields = vec!["accept-language".to_owned()]);
    let response = ok().with("Vary", "User-Agent, Accept-Encoding");
    let names = nominated(&get(), &response, &policy);
    assert_eq!(names, ["accept-encoding", "accept-language", "user-agent"]);
    let key = |name: &str, value: &str| {
        let mut key = Vec::new();
        variant_key(&names, &get().with(name, value).fields, &policy, &mut key);
        key
    };
    assert_eq!(key("User-Agent", "a"), key("Accept-Encoding", "gzip"));
    assert_ne!(key("Accept-Language", "de"), key("Accept-Language", "en"));
}

#[test]
fn only_what_is_listed_is_overruled() {
    let php = cached("no-store, no-cache, must-revalidate").with("Expires", at(-999)).with("Pragma", "no-cache");
    let php = php.with("Set-Cookie", "PHPSESSID=1");
    let all = [Ignored::NoStore, Ignored::NoCache, Ignored::MustRevalidate, Ignored::Expires, Ignored::SetCookie];
    assert_eq!(lifetime(&php, &overriding(&all)), (LifetimeSource::Override, 60));
    assert_eq!(stored(&get(), &php, &overriding(&all)), Ok(()));
    for missing in [Ignored::NoStore, Ignored::NoCache, Ignored::SetCookie] {
        let rest: Vec<Ignored> = all.iter().copied().filter(|one| *one != missing).collect();
        assert!(stored(&get(), &php, &overriding(&rest)).is_err(), "{missing:?}");
    }
    let policy = overriding(&[Ignored::MaxAge]);
    assert_eq!(lifetime(&cached("max-age=5"), &policy), (LifetimeSource::Override, 60));
    assert_eq!(lifetime(&cached("s-maxage=5, max-age=9"), &policy), (LifetimeSource::SMaxage, 5));
    assert_eq!(lifetime(&ok(), &policy), (LifetimeSource::Override, 60));
}

#[test]
fn each_word_takes_away_what_it_names() {
    let says = [
        "no-store",
        "private",
        "no-cache",
        "max-age=0",
        "s-maxage=0",
        "must-revalidate",
        "proxy-revalidate",
        "private=\"a\"",
    ];
    for directive in says {
        let policy = overriding(Ignored::ALL);
        for response in [cached(directive), ok().with("CDN-Cache-Control", directive)] {
            assert_eq!(lifetime(&response, &policy), (LifetimeSource::Override, 60), "{response:?}");
            assert!(
                reuse(&fresh(&response, &policy), &request_directives(&Fields::new()), &policy, NOW) == Reuse::Fresh
            );
            assert_eq!(stored(&get(), &response, &policy), Ok(()), "{response:?}");
        }
    }
    for (name, value) in [("Expires", "0"), ("Set-Cookie", "a=b"), ("Vary", "*")] {
        assert_eq!(stored(&get(), &ok().with(name, value), &overriding(Ignored::ALL)), Ok(()), "{name}");
    }
}

#[test]
fn what_is_overruled_is_stored_as_it_was_said_but_for_cookies() {
    let policy = overriding(Ignored::ALL);
    let response = cached("no-store").with("Set-Cookie", "a=b").with("Vary", "Cookie");
    let fields = fields_to_store(&response, NOW, &policy);
    assert_eq!(fields.only("cache-control"), Some(&b"no-store"[..]));
    assert_eq!(fields.only("vary"), Some(&b"Cookie"[..]));
    assert!(!fields.contains("set-cookie"));
}

#[test]
fn a_status_may_have_a_lifetime_of_its_own() {
    let of = |first, last, seconds| StatusTtl { first, last, seconds };
    let policy = granting(|policy| {
        policy.grant.ttl_status = vec![of(100, 599, 5), of(300, 399, 10), of(404, 404, 60), of(301, 301, 0)];
    });
    for (code, seconds) in [(200, 5), (302, 10), (404, 60), (500, 5), (503, 5)] {
        assert_eq!(lifetime(&status(code), &policy), (LifetimeSource::Status, seconds), "{code}");
        assert_eq!(stored(&get(), &status(code), &policy), Ok(()), "{code}");
    }
    assert_eq!(lifetime(&status(301), &policy), (LifetimeSource::None, 0));
    assert_eq!(stored(&get(), &status(412), &policy), Err(Reason::RequestSpecificStatus));
}

#[test]
fn lifetimes_have_a_bound() {
    let policy = Policy { ttl_max_seconds: 100, ..safe() };
    assert_eq!(lifetime(&cached("max-age=500"), &policy), (LifetimeSource::MaxAge, 100));
    assert_eq!(lifetime(&cached("max-age=50"), &policy), (LifetimeSource::MaxAge, 50));
}

#[test]
fn grace_is_for_what_says_nothing_itself() {
    let policy = granting(|policy| policy.grace_seconds = 100);
    let windows = |response: &ResponseHead| {
        let freshness = fresh(response, &policy);
        (freshness.stale_while_revalidate, freshness.stale_if_error)
    };
    assert_eq!(windows(&ok()), (100, 100));
    assert_eq!(windows(&cached("max-age=1, stale-while-revalidate=5")), (5, 100));
    let forbids = fresh(&cached("max-age=1, must-revalidate"), &policy);
    let asked = request_directives(&Fields::new());
    assert_eq!(reuse(&forbids, &asked, &policy, later(2)), Reuse::Validate(Reason::StaleMustRevalidate));
}

#[test]
fn what_is_kept_is_kept_for_so_long_past_grace() {
    let policy = granting(|policy| (policy.grace_seconds, policy.keep_seconds) = (100, Some(50)));
    let freshness = fresh(&ok(), &policy);
    assert!(!freshness.is_past_keeping(&policy, later(3600 + 149)));
    assert!(freshness.is_past_keeping(&policy, later(3600 + 150)));
    assert!(!freshness.is_past_keeping(&safe(), later(1_000_000)));
}

#[test]
fn a_granted_lifetime_is_told_to_clients_only_where_that_is_wanted() {
    let policy = granting(|policy| policy.grant.announce_ttl = true);
    let told = |response: &ResponseHead, policy: &Policy| {
        let mut head = response.clone();
        announce_lifetime(&get(), &mut head, &fresh(response, policy), policy);
        head
    };
    assert_eq!(told(&ok(), &granting(|_| {})), ok().with("Cache-Control", "no-cache").with("Vary", "Cookie"));
    assert_eq!(told(&cached("max-age=5"), &policy), cached("max-age=5"));
    let public = cached("public");
    let announced = told(&public, &policy);
    assert_eq!(announced.fields.only("cache-control"), Some(&b"public, max-age=3600"[..]));
    assert_eq!(*without_announcement(&announced, &fresh(&public, &policy), &policy), public);
    assert_eq!(*without_announcement(&told(&ok(), &policy), &fresh(&ok(), &policy), &policy), ok());

    let mut of_key = policy.clone();
    of_key.grant.key_cookies = vec!["lang".to_owned()];
    let announced = told(&ok().with("Vary", "Accept"), &of_key);
    assert_eq!(announced.fields.combined("vary").as_deref(), Some(&b"Accept, cookie"[..]));
    let update = status(304).with("Vary", "Accept");
    assert!(matches!(freshen(&announced, &update, NOW, &of_key), Freshened::Updated(_)));
}

#[test]
fn an_update_is_heard_like_a_response() {
    let update = status(304).with("Cache-Control", "no-store").with("Set-Cookie", "a=b");
    let policy = overriding(&[Ignored::NoStore, Ignored::SetCookie]);
    let Freshened::Updated(head) = freshen(&ok(), &update, NOW, &policy) else { panic!("dropped") };
    assert!(!head.fields.contains("set-cookie"));
    let policy = granting(|policy| policy.profile = Profile::Rfc);
    assert_eq!(freshen(&ok(), &update, NOW, &policy), Freshened::Drop(Reason::NoStore));
    let sets = status(304).with("Set-Cookie", "a=b");
    assert_eq!(freshen(&ok(), &sets, NOW, &policy), Freshened::Drop(Reason::SetCookie));
}

#[test]
fn in_profile_rfc_a_granted_lifetime_shares_no_visitors_cookie_either() {
    let policy = granting(|policy| policy.profile = Profile::Rfc);
    assert_eq!(stored(&get(), &ok().with("Set-Cookie", "a=b"), &policy), Err(Reason::SetCookie));
    assert_eq!(stored(&get(), &cached("max-age=9").with("Set-Cookie", "a=b"), &rfc()), Ok(()));
}

#[test]
fn who_is_refused_and_for_which_cookie() {
    let policy = granting(|policy| policy.grant.key_cookies = vec!["lang".to_owned()]);
    let refusal = |name: &str, value: &str| {
        let request = get().with(name, value);
        let refusal = policy.grant.refuses(&request.fields, |cookie| cookie == b"_ga");
        refusal.map(|refusal| match refusal {
            GrantRefusal::Authorization => "authorization".to_owned(),
            GrantRefusal::Cookie(name) | GrantRefusal::Session(name) | GrantRefusal::Field(name) => {
                String::from_utf8_lossy(name).into_owned()
            }
        })
    };
    assert_eq!(refusal("Authorization", "Basic x").as_deref(), Some("authorization"));
    assert_eq!(refusal("Cookie", "lang=de; _ga=1; sid=2; x=3").as_deref(), Some("sid"));
    assert_eq!(refusal("Cookie", "lang=de; _ga=1"), None);
}
