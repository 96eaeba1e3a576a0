use super::*;
use crate::grant::{Ignored, StatusTtl};
use crate::testing::{cached, fresh, get, ok, rfc, safe, status};

fn advice_for(request: &RequestHead, response: &ResponseHead, policy: &Policy) -> Advice {
    let time = crate::testing::NOW;
    let freshness = crate::freshness(request, response, time, time, policy);
    advice(request, response, &freshness, policy, &|_| CookieMeaning::Noise)
}

fn changes(request: &RequestHead, response: &ResponseHead) -> Vec<SuggestedChange> {
    match advice_for(request, response, &safe()) {
        Advice::Changes(all) | Advice::Either(all, _) => all.into_iter().map(|one| one.change).collect(),
        other => panic!("{other:?}"),
    }
}

fn send(name: &str, value: &str) -> SuggestedChange {
    SuggestedChange::Send(name.to_owned(), value.to_owned())
}

#[test]
fn what_browsers_are_told_stays_as_it_is() {
    for said in ["no-store", "private", "no-cache", "max-age=0"] {
        assert_eq!(changes(&get(), &cached(said)), [send("CDN-Cache-Control", "max-age=60")], "{said}");
    }
}

#[test]
fn where_the_application_says_nothing_it_should_first_and_the_configuration_can_instead() {
    let silent = advice_for(&get(), &ok(), &safe());
    let Advice::Either(first, instead) = silent else { panic!("{silent:?}") };
    let kept_here = [send("Cache-Control", "max-age=0"), send("CDN-Cache-Control", "max-age=60")];
    assert_eq!(first.iter().map(|one| one.change.clone()).collect::<Vec<_>>(), kept_here, "and by no browser");
    assert_eq!(instead[0].change, SuggestedChange::Set("ttl", "\"1m\"".to_owned()));
    let session = ok().with("Set-Cookie", "PHPSESSID=x");
    let omitted = [SuggestedChange::Omit("Set-Cookie".to_owned())];
    assert_eq!(changes(&get(), &session), [&omitted[..], &kept_here].concat());
    for code in [301, 302, 308, 404, 410] {
        assert_eq!(changes(&get(), &status(code)), kept_here, "{code}");
    }
    // Without a targeted field, s-maxage is the lifetime that browsers ignore.
    let policy = Policy { targeted_fields: Vec::new(), ..safe() };
    let Advice::Either(first, _) = advice_for(&get(), &ok(), &policy) else { panic!("no choice") };
    assert_eq!(first[0].change, send("Cache-Control", "max-age=0, s-maxage=60"));
}

#[test]
fn a_token_against_forgery_is_neither_a_session_nor_noise() {
    for name in ["csrftoken", "XSRF-TOKEN", "_csrf", "site_csrf"] {
        for page in [ok(), cached("private, no-store"), cached("max-age=60")] {
            let page = page.with("Set-Cookie", format!("{name}=x")).with("Vary", "Cookie");
            assert_eq!(advice_for(&get(), &page, &safe()), Advice::Nothing(HAS_FORGERY_TOKEN), "{name}");
        }
    }
}

#[test]
fn who_asked_with_a_cookie_gets_a_page_that_says_it_may_be_shared() {
    let visitor = get().with("Cookie", "a=b");
    let stale = "max-age=5, stale-if-error=9";
    assert_eq!(changes(&visitor, &cached(stale)), [send("Cache-Control", &format!("public, {stale}"))]);
    let for_all = send("CDN-Cache-Control", "public, max-age=60");
    assert_eq!(changes(&visitor, &ok()), [send("Cache-Control", "max-age=0"), for_all.clone()]);
    assert_eq!(changes(&visitor, &cached("no-store")), [for_all]);
    let somebody = get().with("Authorization", "Basic x");
    assert_eq!(changes(&somebody, &cached("max-age=5")), [send("Cache-Control", "public, max-age=5")]);
}

#[test]
fn all_that_is_in_the_way_is_named_at_once() {
    let session = cached("no-store").with("Set-Cookie", "PHPSESSID=x");
    let expected = [SuggestedChange::Omit("Set-Cookie".to_owned()), send("CDN-Cache-Control", "max-age=60")];
    assert_eq!(changes(&get(), &session), expected);
}

#[test]
fn no_vary_is_proposed_away() {
    for names in ["User-Agent, Accept-Language", "User-Agent", "Cookie", "*"] {
        let page = |control| cached(control).with("Vary", names);
        let is_about_vary = |change: &SuggestedChange| match change {
            SuggestedChange::Send(name, _) | SuggestedChange::Omit(name) => name == "Vary",
            SuggestedChange::Set(_, value) => value.contains("vary"),
        };
        for control in ["max-age=9", "no-store", "private"] {
            match advice_for(&get(), &page(control), &safe()) {
                Advice::Changes(all) => assert!(!all.iter().any(|one| is_about_vary(&one.change)), "{all:?}"),
                Advice::Either(one, other) => {
                    assert!(!one.iter().chain(&other).any(|one| is_about_vary(&one.change)), "{one:?} {other:?}");
                }
                Advice::Needless | Advice::Nothing(_) => {}
            }
        }
        let stored = advice_on_variants(&page("max-age=9"), &safe());
        assert!(matches!(stored, Advice::Nothing(_)) || names == "*", "{stored:?}");
    }
}

#[test]
fn a_missing_page_has_a_setting_and_a_failure_has_none() {
    for code in [404, 410] {
        let advice = advice_for(&get(), &status(code), &safe());
        let Advice::Either(_, instead) = advice else { panic!("{advice:?}") };
        assert_eq!(instead[0].change, SuggestedChange::Set("cache.negative-ttl", "\"1m\"".to_owned()));
        assert!(instead[0].text.starts_with("if the page is the same"), "{instead:?}");
    }
    for control in ["no-cache", "no-store", "max-age=0", "private"] {
        let missing = status(404).with("Cache-Control", control);
        assert_eq!(changes(&get(), &missing), [send("CDN-Cache-Control", "max-age=60")], "{control}");
    }
    for code in [403, 500, 503] {
        assert!(matches!(advice_for(&get(), &status(code), &safe()), Advice::Nothing(_)), "{code}");
    }
}

#[test]
fn what_is_a_hit_needs_nothing() {
    assert_eq!(advice_for(&get(), &cached("max-age=9"), &safe()), Advice::Needless);
    assert_eq!(advice_for(&get(), &cached("max-age=9").with("Set-Cookie", "a=b"), &rfc()), Advice::Needless);
}

#[test]
fn a_request_that_does_something_is_left_alone() {
    let post = RequestHead { method: http::Method::POST, ..get() };
    assert!(matches!(advice_for(&post, &cached("max-age=9"), &safe()), Advice::Nothing(_)));
    assert!(matches!(advice_without_messages(Reason::Method), Advice::Nothing(_)));
    assert_eq!(advice_without_messages(Reason::NoStore), Advice::Needless);
}

#[test]
fn what_the_configuration_can_do_instead_is_beside_it_with_its_dangers() {
    let Advice::Either(all, instead) = advice_for(&get(), &cached("no-store"), &safe()) else { panic!("no choice") };
    assert_eq!(all.first().map(|one| &one.change), Some(&send("CDN-Cache-Control", "max-age=60")));
    assert_eq!(instead.len(), 2);
    assert!(instead[1].dangers[0].contains("shown to all visitors"), "{instead:?}");
    // Without a targeted field, the configuration is still an alternative.
    let policy = Policy { targeted_fields: Vec::new(), ..safe() };
    let forbidden = cached("no-store").with("Set-Cookie", "a=b");
    assert!(matches!(advice_for(&get(), &forbidden, &policy), Advice::Either(..)));
    let missing = status(404).with("Cache-Control", "no-store");
    let Advice::Either(_, all) = advice_for(&get(), &missing, &safe()) else { panic!("no choice") };
    assert_eq!(all[0].change, SuggestedChange::Set("ttl-status", "{ 404 = \"1m\" }".to_owned()));
    let visitor = get().with("Cookie", "a=b");
    assert!(matches!(advice_for(&visitor, &cached("no-store"), &safe()), Advice::Changes(_)), "nothing is granted");
}

/// Applies a suggested setting to a policy.
fn configure(change: &SuggestedChange, policy: &mut Policy) {
    let SuggestedChange::Set(key, value) = change else { return };
    let grant = &mut policy.grant;
    match *key {
        "cache.negative-ttl" => policy.negative_ttl_seconds = SECONDS,
        "ttl" => grant.ttl_seconds = SECONDS,
        "ttl-override" => grant.ttl_override_seconds = SECONDS,
        "ignore" => {
            let is_listed = |one: &&Ignored| value.contains(&format!("\"{}\"", one.word()));
            grant.ignore = Ignored::ALL.iter().filter(is_listed).copied().collect();
        }
        "cookies.session" | "cookies.noise" => {
            let names = value.trim_matches(['[', ']']).split(", ").map(|name| name.trim_matches('"').to_owned());
            grant.dropped_cookies.extend(names);
        }
        "ttl-status" => {
            let status = value.trim_start_matches("{ ").split(' ').next().unwrap().parse().unwrap();
            grant.ttl_status = vec![StatusTtl { first: status, last: status, seconds: SECONDS }];
        }
        _ => {}
    }
}

#[test]
fn whatever_is_suggested_makes_the_next_request_a_hit() {
    let requests =
        [get(), get().with("Cookie", "a=b"), get().with("Authorization", "x"), get().with("Cache-Control", "no-store")];
    let controls =
        ["", "no-store", "private", "no-cache", "max-age=0", "max-age=9, must-revalidate", "public", "private=\"a\""];
    let more: [(&str, &str); 6] =
        [("X", "1"), ("Set-Cookie", "a=b"), ("Vary", "*"), ("Vary", "Cookie"), ("Expires", "0"), ("ETag", "\"a\"")];
    let mut suggested = 0;
    for (request, policy) in requests.iter().flat_map(|request| [safe(), rfc()].map(|policy| (request, policy))) {
        for (control, code) in controls.iter().flat_map(|control| [200, 302, 404, 500].map(|code| (control, code))) {
            for (name, value) in more {
                let mut response = status(code).with(name, value);
                if !control.is_empty() {
                    response.fields.push("Cache-Control", control);
                }
                let either = match advice_for(request, &response, &policy) {
                    Advice::Changes(all) => vec![all],
                    Advice::Either(all, instead) => vec![all, instead],
                    Advice::Needless | Advice::Nothing(_) => continue,
                };
                for all in either {
                    let (mut changed, mut policy) = (response.clone(), policy.clone());
                    all.iter().for_each(|one| apply(&one.change, &mut changed.fields, &mut policy));
                    all.iter().for_each(|one| configure(&one.change, &mut policy));
                    let freshness =
                        crate::freshness(request, &changed, crate::testing::NOW, crate::testing::NOW, &policy);
                    assert_eq!(crate::storable(request, &changed, &freshness, &policy), Ok(()), "{response:?} {all:?}");
                    assert!(freshness.is_fresh(crate::testing::NOW) && !freshness.no_cache, "{response:?} {all:?}");
                    suggested += 1;
                }
            }
        }
    }
    assert!(suggested > 500, "{suggested}");
    assert!(fresh(&ok(), &safe()).lifetime == 0);
}
