//! Explanations agree with the real answers, byte for byte of Cache-Status: over methods, requests and responses, with nothing
//! stored, with a stored response, with a stale one, and after purges.

use super::explain;
use kasoku_cache::{Purge, PurgeScope};
use kasoku_options::SendfileRules;
use kasoku_semantics::grant::{Grant, Ignored};
use kasoku_semantics::policy::Profile;
use kasoku_testkit::{BOTH, Folder, Scenario, Setup, on, reply};
use std::sync::Arc;

const REQUESTS: [&[&str]; 12] = [
    &[],
    &["Cookie: a=b"],
    &["Authorization: Basic eDp5"],
    &["Cache-Control: no-cache"],
    &["Cache-Control: max-age=0"],
    &["Cache-Control: no-store"],
    &["Cache-Control: max-stale=100"],
    &["If-Match: \"a\""],
    &["If-None-Match: \"a\"", "Accept-Language: de"],
    &["User-Agent: other"],
    &["Range: bytes=0-1"],
    &["Range: bytes=0-1", "If-Range: \"a\""],
];

const RESPONSES: [(&str, &[&str]); 22] = [
    ("200 OK", &[]),
    ("200 OK", &["Cache-Control: max-age=60"]),
    ("200 OK", &["Cache-Control: max-age=60, must-revalidate", "ETag: \"a\""]),
    ("200 OK", &["Cache-Control: s-maxage=60"]),
    ("200 OK", &["Cache-Control: public, max-age=60"]),
    ("200 OK", &["Cache-Control: max-age=60, stale-while-revalidate=60"]),
    ("200 OK", &["Cache-Control: no-store"]),
    ("200 OK", &["Cache-Control: private, max-age=60"]),
    ("200 OK", &["Cache-Control: no-cache", "ETag: \"a\""]),
    ("200 OK", &["Cache-Control: no-store", "CDN-Cache-Control: max-age=60"]),
    ("200 OK", &["Expires: Thu, 01 Jan 1970 00:00:00 GMT"]),
    ("200 OK", &["Expires: 0", "ETag: \"a\""]),
    ("200 OK", &["Last-Modified: Mon, 02 Jan 2006 15:04:05 GMT"]),
    ("200 OK", &["Cache-Control: max-age=60", "Set-Cookie: a=b"]),
    ("200 OK", &["Cache-Control: max-age=60", "Vary: *"]),
    ("200 OK", &["Cache-Control: max-age=60", "Vary: User-Agent, Accept-Language"]),
    ("200 OK", &["Cache-Control: max-age=60", "Age: 60"]),
    ("404 Not Found", &[]),
    ("404 Not Found", &["Cache-Control: max-age=60"]),
    ("302 Found", &["Location: /"]),
    ("301 Moved Permanently", &["Location: /", "Cache-Control: max-age=60"]),
    ("500 Internal Server Error", &[]),
];

/// Asks for an explanation and then sends the request: both must say the same. If the cache has to ask the origin, for either of
/// them, the origin sends `answer`.
fn agrees(scenario: &Scenario, method: &str, target: &str, fields: &[&str], answer: &[u8], when: &str) {
    let before = scenario.origin.count();
    let guess = explain(scenario, method, target, fields, false);
    assert_eq!(scenario.origin.count(), before, "it asks no origin");
    let asks = !guess.cache_status().contains("; hit") && !guess.cache_status().contains("only-if-cached");
    let is_plain = method == "GET" && guess.answer.is_none();
    let wants_live = asks && is_plain && guess.status.fwd.is_some();
    let mut expected = guess;
    if wants_live {
        scenario.origin.then(on("GET", target).answers(answer));
        expected = explain(scenario, method, target, fields, true);
        if expected.answer.is_none() {
            // For a pass, the explanation asks no origin: the answer is there for the request itself.
            assert_eq!(scenario.origin.count(), before);
        } else {
            assert_eq!(scenario.origin.count(), before + 1);
            scenario.origin.then(on(method, target).answers(answer));
        }
    } else if asks {
        scenario.origin.then(on(method, target).answers(answer));
    }
    let refreshes = expected.cache_status().contains("hit-stale-while-revalidate");
    if refreshes {
        scenario.origin.then(on(method, target).answers(answer));
    }
    let mut client = scenario.client();
    let response = match method {
        "HEAD" => client.head(target, fields),
        "POST" => client.send_body("POST", target, fields, "x=1"),
        _ => client.get_with(target, fields),
    };
    let context = format!("{when}: {method} {target} {fields:?} -> {}", String::from_utf8_lossy(answer));
    assert_eq!(expected.cache_status(), response.field("cache-status"), "{context}");
    let asked = scenario.origin.count();
    scenario.origin.done(asked);
    if refreshes {
        scenario.origin.done(before + 1);
    }
    // The cache stores a response a moment after it has sent the last byte.
    scenario.eventually(|| scenario.engine.cache().fills_running() == 0);
}

/// Where a lifetime is granted, the first request for a page that varies by what is not sent makes two (see
/// `granted/request_fields.rs`).
const ASKED_FOR_TWICE: &str = "Vary: User-Agent, Accept-Language";

fn all(setup: Setup) {
    let mut is_granting = false;
    let scenario = setup.policy(|policy| is_granting = policy.grant.is_granting()).run([]);
    let mut number = 0;
    for (status, lines) in RESPONSES {
        for fields in REQUESTS {
            if is_granting && lines.contains(&ASKED_FOR_TWICE) {
                continue;
            }
            number += 1;
            let target = format!("/{number}");
            let lines: Vec<String> =
                lines.iter().map(|line| (*line).to_owned()).chain([format!("Date: {}", scenario.date(0))]).collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let answer = reply(status, &lines, "page");
            agrees(&scenario, "GET", &target, fields, &answer, "nothing is stored");
            agrees(&scenario, "GET", &target, fields, &answer, "asked again");
            agrees(&scenario, "GET", &target, &[], &answer, "asked by another visitor");
        }
    }
}

#[test]
fn what_is_explained_is_what_happens_in_profile_safe() {
    all(Setup::safe());
}

#[test]
fn what_is_explained_is_what_happens_in_profile_rfc() {
    all(Setup::rfc());
}

#[test]
fn what_is_explained_is_what_happens_where_a_lifetime_is_granted() {
    for profile in BOTH {
        all(granting(profile, |_| {}));
        all(granting(profile, |grant| {
            grant.ttl_override_seconds = 60;
            grant.ignore = Ignored::ALL.to_vec();
            grant.key_cookies = vec!["a".to_owned()];
            grant.key_fields = vec!["accept-language".to_owned()];
        }));
    }
}

fn granting(profile: Profile, change: impl FnOnce(&mut Grant)) -> Setup {
    Setup::new(profile).policy(|policy| {
        policy.grant.ttl_seconds = 60;
        change(&mut policy.grant);
    })
}

#[test]
fn what_has_become_stale_is_explained_as_it_is_served() {
    for profile in BOTH {
        for (number, (status, lines)) in RESPONSES.iter().enumerate() {
            let scenario = Setup::new(profile).run([]);
            let target = format!("/{number}");
            let answer = reply(status, lines, "page");
            agrees(&scenario, "GET", &target, &[], &answer, "nothing is stored");
            scenario.advance(90);
            for fields in [&[][..], &["Cache-Control: max-stale=100"][..]] {
                agrees(&scenario, "GET", &target, fields, &answer, "a minute and a half later");
            }
        }
    }
}

#[test]
fn what_is_purged_or_passes_is_explained() {
    let page = reply("200 OK", &["Cache-Control: max-age=60"], "page");
    let scenario = Setup::safe().rule("/pass/*", |route| route.pass = true).run([]);
    agrees(&scenario, "GET", "/pass/x", &[], &page, "a rule");
    agrees(&scenario, "GET", "/pass/../x", &[], &page, "two readings");
    agrees(&scenario, "GET", "/x", &[], &page, "nothing is stored");
    agrees(&scenario, "HEAD", "/x", &[], &page, "stored");
    agrees(&scenario, "HEAD", "/y", &[], b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", "not stored");
    agrees(&scenario, "GET", "/y", &["Cache-Control: only-if-cached"], &page, "not stored");
    let now = scenario.engine.handle().now();
    let _ = scenario.engine.cache().purge_all_of(PurgeScope::Site("example.org"), Purge::Soft, now).unwrap();
    agrees(&scenario, "GET", "/x", &[], &page, "made stale");
    let now = scenario.engine.handle().now();
    let _ = scenario.engine.cache().purge_all_of(PurgeScope::Site("example.org"), Purge::Hard, now).unwrap();
    agrees(&scenario, "GET", "/x", &[], &page, "purged");
}

#[test]
fn a_method_that_does_something_is_explained() {
    let scenario = Setup::safe().run([on("POST", "/form").reads_body().sends(reply("200 OK", &[], "done"))]);
    let explained = explain(&scenario, "POST", "/form", &["Content-Length: 3"], true);
    assert!(explained.answer.is_none(), "it is not sent to find out");
    let response = scenario.client().send_body("POST", "/form", &[], "x=1");
    assert_eq!(explained.cache_status(), response.field("cache-status"));
}

#[test]
fn what_has_just_failed_is_explained() {
    let scenario = Setup::safe().run([on("GET", "/").closes(), on("GET", "/").closes()]);
    // The second request makes an anonymous one. Since that fails as well, the third request is told the failure.
    assert_eq!((scenario.client().get("/").status, scenario.client().get("/").status), (502, 502));
    let explained = explain(&scenario, "GET", "/", &[], false);
    assert_eq!(explained.cache_status(), "kasoku; detail=origin-closed-early");
    assert_eq!(scenario.client().get("/").field("cache-status"), explained.cache_status());

    let page = reply("200 OK", &["Cache-Control: max-age=60"], "page");
    // The first fetch fails on the kept connection, and its retry on a new one.
    let closing = on("GET", "/").closes();
    let scenario = Setup::safe().run([on("GET", "/").answers(page), closing.clone(), closing]);
    scenario.client().get("/");
    scenario.advance(90);
    assert_eq!(explain(&scenario, "GET", "/", &[], false).cache_status(), "kasoku; fwd=stale; detail=stale");
    scenario.client().get("/");
    let explained = explain(&scenario, "GET", "/", &[], false);
    assert!(explained.cache_status().starts_with("kasoku; hit; ttl=-30; detail="), "{}", explained.cache_status());
    assert_eq!(scenario.client().get("/").field("cache-status"), explained.cache_status());
}

/// The same for an application that names a file: one line of the answers at a time, and changes of the file.
#[test]
fn what_is_explained_of_a_file_that_is_named_is_what_happens() {
    for profile in BOTH {
        let folder = Folder::new();
        let rules = SendfileRules { roots: vec![folder.path().to_owned()], ..SendfileRules::default() };
        let scenario = Setup::new(profile).route(|route| route.sendfile = Arc::new(rules)).run([]);
        let lines = [
            "X-Nothing: 1",
            "Cache-Control: max-age=60",
            "Cache-Control: public, s-maxage=60",
            "Cache-Control: private, max-age=60",
            "X-Accel-Expires: 60",
            "X-Accel-Expires: 0",
        ];
        let mut number = 0;
        for line in lines {
            for fields in REQUESTS.iter().filter(|fields| !passes(fields)) {
                number += 1;
                let target = format!("/{number}");
                folder.write("a.txt", "the file");
                let answer = reply("200 OK", &["X-Sendfile: a.txt", line, &format!("Date: {}", scenario.date(0))], "");
                agrees(&scenario, "GET", &target, fields, &answer, "nothing is stored");
                agrees(&scenario, "GET", &target, &[], &answer, "asked by another visitor");
                folder.write("a.txt", "the other file");
                agrees(&scenario, "GET", &target, fields, &answer, "the file has changed");
            }
        }
    }
}

/// Whether a request with these fields passes. The detail of such a pass says that a file was sent, which an explanation can't
/// know.
fn passes(fields: &[&str]) -> bool {
    fields.iter().any(|line| line.contains("no-store") || line.starts_with("If-Match") || line.starts_with("If-Range"))
}
