use super::*;
use crate::freshness::freshness;
use crate::storable::storable;
use crate::testing::{NOW, at, cached, get, ok, rfc, safe, status};

fn points<'m>(request: &'m RequestHead, response: &'m ResponseHead, policy: &Policy) -> Vec<Evidence<'m>> {
    let freshness = freshness(request, response, NOW, NOW, policy);
    let reasons = obstacles(request, response, &freshness, policy);
    of_response(request, response, &freshness, &reasons, policy, NOW)
}

fn sides(response: &ResponseHead) -> Vec<(Side, String)> {
    let shown = |one: &Evidence<'_>| match one.line {
        EvidenceLine::Response(name, value) => {
            format!("{}: {}", String::from_utf8_lossy(name), String::from_utf8_lossy(value))
        }
        _ => one.because.text().to_owned(),
    };
    points(&get(), response, &safe()).iter().map(|one| (one.side, shown(one))).collect()
}

#[test]
fn each_line_stands_on_its_side() {
    let response = cached("max-age=60, stale-if-error=9").with("Set-Cookie", "a=b").with("Vary", "Accept");
    let expected = [
        (Side::Against, "Set-Cookie: a=b"),
        (Side::For, "Cache-Control: max-age=60, stale-if-error=9"),
        (Side::For, "Cache-Control: max-age=60, stale-if-error=9"),
        (Side::Neither, "Vary: Accept"),
    ];
    assert_eq!(sides(&response), expected.map(|(side, line)| (side, line.to_owned())));
}

#[test]
fn what_does_not_count_is_said_not_to_count() {
    let overruled = cached("max-age=9").with("Expires", at(99));
    assert!(sides(&overruled).contains(&(Side::Neither, format!("Expires: {}", at(99)))));
    let targeted = cached("no-store").with("CDN-Cache-Control", "max-age=9");
    let expected = [(Side::For, "CDN-Cache-Control: max-age=9"), (Side::Neither, "Cache-Control: no-store")];
    assert_eq!(sides(&targeted), expected.map(|(side, line)| (side, line.to_owned())));
}

#[test]
fn an_expiry_in_the_past_is_against_and_a_validator_for_it() {
    let expired = ok().with("Expires", "0").with("ETag", "\"a\"");
    let expected = [(Side::Against, "Expires: 0"), (Side::For, "ETag: \"a\"")];
    assert_eq!(sides(&expired), expected.map(|(side, line)| (side, line.to_owned())));
}

#[test]
fn a_client_that_is_not_heeded_is_told_so() {
    let request = get().with("Cache-Control", "no-cache");
    let of = |policy: &Policy| of_request(&request, None, &[], policy).first().map(|one| one.because);
    assert_eq!(of(&safe()), Some(Because::Ground(Ground::ClientIgnored)));
    assert_eq!(of(&rfc()), None, "the refusal says it");
    let refused = of_request(&request, Some(Reason::ClientNoCache), &[], &rfc());
    assert_eq!(refused.first().map(|one| one.because), Some(Because::Reason(Reason::ClientNoCache)));
}

/// Without the lines that are named against it, a response is no longer refused for that reason.
#[test]
fn a_reason_goes_with_the_lines_that_are_named_for_it() {
    let requests =
        [get(), get().with("Cookie", "a=b").with("Authorization", "x"), get().with("Cache-Control", "no-store")];
    let controls =
        ["", "no-store", "private", "no-cache, no-store", "max-age=0", "max-age=9", "public, max-age=0, private"];
    let more: [(&str, &str); 7] = [
        ("X", "1"),
        ("Set-Cookie", "a=b"),
        ("Vary", "*, A"),
        ("Expires", "0"),
        ("ETag", "\"a\""),
        ("CDN-Cache-Control", "private, no-store"),
        ("Cache-Control", "no-store"),
    ];
    let mut gone = 0;
    for (request, policy) in requests.iter().flat_map(|request| [safe(), rfc()].map(|policy| (request, policy))) {
        for (control, (name, value)) in controls.iter().flat_map(|control| more.map(|more| (control, more))) {
            let response = status(200).with(name, value).with("Cache-Control", control);
            let all = points(request, &response, &policy);
            let fresh = freshness(request, &response, NOW, NOW, &policy);
            let first = storable(request, &response, &fresh, &policy).err();
            let reasons: Vec<_> = all.iter().filter(|one| one.side == Side::Against).map(|one| one.because).collect();
            if let Some(first) = first {
                assert!(reasons.contains(&Because::Reason(first)), "{first:?} is not told: {response:?}");
            }
            for because in reasons {
                let Because::Reason(reason) = because else { continue };
                let lines: Vec<_> = all.iter().filter(|one| one.because == because).map(|one| &one.line).collect();
                if lines.iter().any(|line| matches!(line, EvidenceLine::Absent | EvidenceLine::Status(_))) {
                    continue;
                }
                let is_named = |line: &EvidenceLine<'_>, name: &[u8], value: &[u8]| match line {
                    EvidenceLine::Request(n, v) | EvidenceLine::Response(n, v) => (*n, *v) == (name, value),
                    _ => false,
                };
                let kept = |name: &[u8], value: &[u8]| !lines.iter().any(|line| is_named(line, name, value));
                let (mut request, mut response) = (request.clone(), response.clone());
                request.fields.retain(kept);
                response.fields.retain(kept);
                if !response.fields.contains("cdn-cache-control") && name.starts_with("CDN") {
                    // The Cache-Control that the targeted field had overruled would count again, and is not tested here.
                    response.fields.remove("cache-control");
                }
                let fresh = freshness(&request, &response, NOW, NOW, &policy);
                let left = obstacles(&request, &response, &fresh, &policy);
                // Without any expiry, the response is useless for another reason of the same name; and an overruled line may state
                // an expiry in the past.
                let is_useless = matches!(reason, Reason::NoExpiryNoValidator | Reason::Expired);
                assert!(is_useless || !left.contains(&reason), "{reason:?} stays without {lines:?}");
                gone += 1;
            }
        }
    }
    assert!(gone > 200, "{gone}");
}

/// The grounds that are given for the lines of a response.
fn grounds(response: &ResponseHead, policy: &Policy) -> Vec<(Side, Ground)> {
    let of = |one: &Evidence<'_>| match one.because {
        Because::Ground(ground) => Some((one.side, ground)),
        Because::Reason(_) => None,
    };
    points(&get(), response, policy).iter().filter_map(of).collect()
}

#[test]
fn it_is_said_which_directive_gives_the_lifetime_and_which_does_not_count() {
    let browsers = cached("max-age=0, s-maxage=60");
    let (counts, overruled) = ((Side::For, Ground::SMaxage), (Side::Neither, Ground::MaxAgeOverruled));
    assert_eq!(grounds(&browsers, &safe()), [counts, overruled]);
    assert_eq!(grounds(&cached("max-age=60"), &safe()), [(Side::For, Ground::MaxAge)]);
    let targeted = cached("s-maxage=9").with("CDN-Cache-Control", "max-age=5, s-maxage=60");
    let expected = [(Side::For, Ground::Targeted), overruled, (Side::Neither, Ground::Overruled)];
    assert_eq!(grounds(&targeted, &safe()), expected);
}

#[test]
fn what_may_not_be_served_stale_is_not_said_to_be() {
    let stale = "stale-while-revalidate=600, stale-if-error=900";
    let said = |control: &str| {
        let all = grounds(&cached(&format!("{control}, {stale}")), &safe());
        let is_of_staleness = |ground: &Ground| ground.text().contains("served stale");
        all.into_iter().filter(|(_, ground)| is_of_staleness(ground)).collect::<Vec<_>>()
    };
    let expected = [(Side::For, Ground::StaleWhileRevalidate), (Side::For, Ground::StaleIfError)];
    assert_eq!(said("max-age=60"), expected);
    assert_eq!(said("s-maxage=60")[0], (Side::Neither, Ground::SMaxageForbidsStale));
    for control in ["max-age=60, must-revalidate", "max-age=60, proxy-revalidate", "max-age=60, no-cache"] {
        assert_eq!(said(control)[0], (Side::Neither, Ground::StaleForbidden), "{control}");
    }
    let none = cached("max-age=60, stale-while-revalidate=0");
    assert_eq!(grounds(&none, &safe()), [(Side::For, Ground::MaxAge)]);
}

#[test]
fn how_long_the_configuration_lets_it_be_served_stale_is_said() {
    let policy = Policy { grace_seconds: 60, ..safe() };
    let set = (Side::For, Ground::Grace);
    assert_eq!(grounds(&cached("max-age=60"), &policy)[1..], [set]);
    assert_eq!(grounds(&cached("max-age=60, must-revalidate"), &policy), [(Side::For, Ground::MaxAge)]);
    let own = grounds(&cached("max-age=60, stale-if-error=9"), &policy);
    assert_eq!(own[1..], [set, (Side::For, Ground::StaleIfError)]);
}

#[test]
fn what_says_that_it_is_expired_at_once_is_said_to_say_so_and_by_which_field() {
    let zero = cached("max-age=0");
    for (response, ground) in [
        (ok().with("Expires", at(-9)), Ground::ExpiresPast),
        (ok().with("Expires", at(0)), Ground::ExpiresPast),
        (ok().with("Expires", "0"), Ground::ExpiresPast),
        (zero.clone(), Ground::MaxAgeZero),
        (cached("s-maxage=0"), Ground::SMaxageZero),
        (cached("max-age=9").with("CDN-Cache-Control", "max-age=0"), Ground::TargetedZero),
    ] {
        for response in [response.clone(), response.with("ETag", "\"a\"")] {
            let (request, policy) = (get(), safe());
            let all = points(&request, &response, &policy);
            let said = all.iter().find(|one| one.because == Because::Ground(ground));
            assert_eq!(said.map(|one| one.side), Some(Side::Against), "{response:?}");
            let is_stored = response.fields.contains("etag");
            let because = Because::Reason(Reason::Expired);
            assert_eq!(all.iter().any(|one| one.because == because), !is_stored, "{response:?}");
            assert!(!all.iter().any(|one| one.because == Because::Reason(Reason::Stale)), "{response:?}");
        }
    }
    let line = |response: &ResponseHead| sides(response).into_iter().map(|(_, line)| line).next();
    assert_eq!(line(&zero.with("Expires", at(99))).as_deref(), Some("Cache-Control: max-age=0"));
}
