//! Requests with fields by which an application answers otherwise: they pass where a lifetime is granted. Requests as browsers,
//! robots, feed readers and programs send them are hits.

use super::{grant, names, ttl};
use crate::granted::application::{Application, Asked, Does};
use kasoku_engine::explain::{Explanation, Question, SuggestedChange, Tips};
use kasoku_testkit::{BOTH, Scenario, Setup, ok};

/// Fields by which some program answers otherwise.
const WISHES: [&str; 52] = [
    "Accept-Datetime: Thu, 31 May 2007 20:35:00 GMT",
    "Accept-Version: 2",
    "Accept: application/activity+json",
    "Accept: application/json",
    "Accept: application/json, text/plain, */*",
    "Accept: text/event-stream",
    "Accept: text/turtle, */*;q=0.1",
    "Accept: text/vnd.turbo-stream.html, text/html, application/xhtml+xml",
    "Api-Version: 2026-01-01",
    "Content-Type: application/json",
    "Depth: 1",
    "Destination: http://example.org/other",
    "Faces-Request: partial/ajax",
    "Git-Protocol: version=2",
    "HX-Boosted: true",
    "HX-Request: true",
    "If: (<opaquelocktoken:1>)",
    "Last-Event-ID: 7",
    "Next-Router-Prefetch: 1",
    "Next-Router-State-Tree: %5B%22%22%5D",
    "Origin: https://other.example",
    "PRIVATE-TOKEN: secret",
    "Prefer: return=minimal",
    "RSC: 1",
    "SOAPAction: urn:get",
    "Sm-User: ann",
    "Translate: f",
    "Turbo-Frame: list",
    "Turbolinks-Referrer: http://example.org/",
    "Want-Content-Digest: sha-256=1",
    "X-ACCESS-TOKEN: secret",
    "X-Api-Key: secret",
    "X-App-Version: 5.1",
    "X-Auth-Token: secret",
    "X-CSRF-Token: secret",
    "X-Device: mobile",
    "X-Fragment: sidebar",
    "X-HgArg-1: cmds=branchmap",
    "X-HgProto-1: 0.1 0.2",
    "X-Inertia: true",
    "X-Livewire: true",
    "X-Nextjs-Data: 1",
    "X-PJAX: true",
    "X-Redmine-API-Key: secret",
    "X-Remote-User: ann",
    "X-Requested-With: XMLHttpRequest",
    "X-SSL-Client-S-DN: CN=ann",
    "X-Tenant: one",
    "X-Theme: dark",
    "X-Up-Target: main",
    "X-WP-Nonce: secret",
    "X_Api_Key: secret",
];

/// The fields of usual requests, as their programs send them.
const USUAL: [(&str, &[&str]); 20] = [
    (
        "Chrome opens a page",
        &[
            "Connection: keep-alive",
            "Cache-Control: max-age=0",
            "sec-ch-ua: \"Chromium\";v=\"130\"",
            "sec-ch-ua-mobile: ?0",
            "sec-ch-ua-platform: \"Linux\"",
            "DNT: 1",
            "Upgrade-Insecure-Requests: 1",
            "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
            "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7",
            "Sec-Fetch-Site: none",
            "Sec-Fetch-Mode: navigate",
            "Sec-Fetch-User: ?1",
            "Sec-Fetch-Dest: document",
            "Accept-Encoding: gzip, deflate, br, zstd",
            "Accept-Language: de-DE,de;q=0.9,en;q=0.8",
        ],
    ),
    (
        "Chrome prefetches, from a search, with client hints",
        &[
            "Purpose: prefetch",
            "Sec-Purpose: prefetch",
            "Referer: https://www.google.com/",
            "Save-Data: on",
            "RTT: 50",
            "ECT: 4g",
            "Device-Memory: 8",
        ],
    ),
    (
        "Chrome loads an image",
        &[
            "Accept: image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8",
            "Sec-Fetch-Dest: image",
            "Priority: i",
        ],
    ),
    ("Chrome loads a style", &["Accept: text/css,*/*;q=0.1", "Sec-Fetch-Dest: style"]),
    ("Chrome loads its own site's font", &["Accept: */*", "Origin: http://example.org", "Sec-Fetch-Dest: font"]),
    (
        "Firefox opens a page",
        &[
            "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0",
            "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "Accept-Language: en-US,en;q=0.5",
            "Accept-Encoding: gzip, deflate, br, zstd",
            "Sec-GPC: 1",
            "Upgrade-Insecure-Requests: 1",
            "Sec-Fetch-Dest: document",
            "Priority: u=0, i",
            "TE: trailers",
        ],
    ),
    (
        "Firefox loads an image",
        &["Accept: image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5", "Priority: u=5, i"],
    ),
    (
        "Safari opens a page",
        &[
            "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "User-Agent: Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Version/17.0 Mobile/15E148 Safari/604.1",
            "Accept-Language: de-DE,de;q=0.9",
            "Priority: u=0, i",
        ],
    ),
    ("Safari plays a film", &["Accept: */*", "X-Playback-Session-Id: 5E0F", "Accept-Encoding: identity"]),
    (
        "an Android WebView",
        &[
            "X-Requested-With: com.example.app",
            "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
            "User-Agent: Mozilla/5.0 (Linux; Android 14; wv) Version/4.0 Chrome/130.0.0.0 Mobile Safari/537.36",
        ],
    ),
    ("curl", &["User-Agent: curl/8.5.0", "Accept: */*"]),
    ("curl offers HTTP/2", &["Connection: HTTP2-Settings", "HTTP2-Settings: AAMAAABkAAQAAP__"]),
    ("wget", &["User-Agent: Wget/1.21", "Accept: */*", "Accept-Encoding: identity", "Connection: Keep-Alive"]),
    (
        "lynx",
        &[
            "Accept: text/html, text/plain, text/sgml, text/css, application/xhtml+xml, */*;q=0.01",
            "Accept-Language: en",
        ],
    ),
    (
        "Googlebot",
        &[
            "From: googlebot(at)googlebot.com",
            "Accept: text/html,application/xhtml+xml,application/signed-exchange;v=b3,application/xml;q=0.9,*/*;q=0.8",
            "User-Agent: Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            "AMP-Cache-Transform: google;v=\"1..8\"",
            "Accept-Encoding: gzip, deflate, br",
        ],
    ),
    (
        "FreshRSS",
        &[
            "A-IM: feed",
            "Accept: application/atom+xml, application/rss+xml, application/rdf+xml;q=0.9, application/xml;q=0.8, text/xml;q=0.8, text/html;q=0.7, unknown/unknown;q=0.1, application/unknown;q=0.1, */*;q=0.1",
            "User-Agent: FreshRSS/1.24",
        ],
    ),
    (
        "Miniflux",
        &[
            "Accept: application/xml, application/atom+xml, application/rss+xml, application/rdf+xml, application/feed+json, text/html, */*;q=0.9",
        ],
    ),
    (
        "behind Cloudflare, traced",
        &[
            "CF-Ray: 8f",
            "CF-IPCountry: DE",
            "CF-Connecting-IP: 192.0.2.1",
            "CDN-Loop: cloudflare; loops=1",
            "X-Forwarded-For: 192.0.2.1",
            "X-Forwarded-Proto: https",
            "Via: 1.1 front",
            "True-Client-IP: 192.0.2.1",
            "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "tracestate: a=b",
            "baggage: a=b",
            "X-B3-TraceId: 1",
            "X-Request-ID: 1",
            "X-Correlation-ID: 1",
            "X-Amzn-Trace-Id: Root=1",
            "X-Acme-Request-Id: 1",
            "x-datadog-trace-id: 1",
            "sentry-trace: 1",
            "newrelic: x",
        ],
    ),
    (
        "through a filter and a telephone's proxy",
        &[
            "X-ATT-DeviceId: x",
            "X-Wap-Profile: x",
            "X-OperaMini-Features: x",
            "X-Kl-Ajax-Request: Ajax_Request",
            "X-BlueCoat-Via: 1",
            "Proxy-Connection: keep-alive",
            "Keep-Alive: 300",
            "Pragma: no-cache",
            "Max-Forwards: 10",
        ],
    ),
    (
        "a service worker's script",
        &["Service-Worker: script", "Sec-Fetch-Dest: serviceworker", "Cache-Control: max-age=0"],
    ),
];

/// Answers by each field that is no usual one.
fn application() -> Application {
    Application::start(|asked| Does::Answer(ok(&["Content-Type: text/html"], wished(asked).join("; "))))
}

fn wished(asked: &Asked) -> Vec<String> {
    let lines = asked.lines.iter().skip(1);
    let wished = lines.filter(|line| WISHES.contains(&line.as_str())).cloned();
    wished.chain(["the page".to_owned()]).collect()
}

fn before(setup: Setup, application: &Application) -> Scenario {
    setup.site(&[], |route| route.origins = vec![application.address().into()]).run_with_own_origins()
}

#[test]
fn a_request_with_a_field_by_which_a_program_answers_otherwise_gets_that_answer_and_nobody_else_does() {
    for profile in BOTH {
        let application = application();
        let scene = before(ttl(Setup::new(profile)), &application);
        for (number, wish) in WISHES.iter().enumerate() {
            let field = wish.split(':').next().unwrap().to_ascii_lowercase();
            for is_first in [true, false] {
                let target = format!("/{number}/{is_first}");
                if !is_first {
                    scene.client().get(&target);
                }
                for _ in 0..2 {
                    let own = scene.client().get_with(&target, &[wish]);
                    assert_eq!((own.text(), own.detail().as_str()), (format!("{wish}; the page"), "pass-field"));
                    let told = own.cache_status("field").unwrap_or_default();
                    assert!(told.contains(&field), "{wish}: {own:?}");
                }
                let page = scene.client().get(&target);
                assert!(page.text() == "the page" && page.is_hit() != is_first, "{wish}: {page:?}");
                assert!(scene.client().get(&target).is_hit());
            }
        }
    }
}

#[test]
fn requests_as_browsers_robots_and_feed_readers_send_them_are_hits() {
    for profile in BOTH {
        let application = application();
        // In profile rfc, a client may ask the application for a younger page.
        let setup = ttl(Setup::new(profile)).policy(|policy| policy.client_may_revalidate = false);
        let scene = before(setup, &application);
        scene.client().get("/");
        for (number, (program, fields)) in USUAL.iter().enumerate() {
            let hit = scene.client().get_with("/", fields);
            assert!(hit.is_hit(), "{program}: {hit:?}");
            let target = format!("/{number}");
            scene.client().get_with(&target, fields);
            for target in [&target, "/"] {
                assert!(scene.client().get_with(target, fields).is_hit(), "{program} {target}");
            }
            assert!(scene.client().get(&target).is_hit(), "what {program} has fetched is for all");
        }
        assert_eq!(application.count(), 1 + USUAL.len());
    }
}

#[test]
fn a_field_in_the_key_makes_a_variant_and_another_one_still_passes() {
    let application = application();
    let setup = grant(ttl(Setup::safe()), |grant| grant.key_fields = names(&["hx-request", "accept"]));
    let scene = before(setup, &application);
    for fields in [&[][..], &["HX-Request: true"], &["Accept: application/json"]] {
        let first = scene.client().get_with("/", fields);
        let again = scene.client().get_with("/", fields);
        assert!(!first.is_hit() && again.is_hit() && again.text() == first.text(), "{fields:?}: {again:?}");
    }
    let own = scene.client().get_with("/", &["HX-Request: true", "HX-Boosted: true"]);
    assert_eq!(own.detail(), "pass-field");
}

#[test]
fn without_a_granted_lifetime_the_application_gets_the_field_and_names_it_in_vary() {
    let application = Application::start(|asked| {
        Does::Answer(ok(&["Cache-Control: max-age=60", "Vary: HX-Request"], wished(asked).join("; ")))
    });
    let scene = before(Setup::safe(), &application);
    for fields in [&[][..], &["HX-Request: true"]] {
        let first = scene.client().get_with("/", fields);
        let again = scene.client().get_with("/", fields);
        assert!(!first.is_hit() && again.is_hit() && again.text() == first.text(), "{fields:?}: {again:?}");
    }
}

/// As Django REST does: JSON, unless the client prefers HTML.
fn negotiates(asked: &Asked) -> &'static str {
    if asked.field("accept").is_some_and(|accept| accept.starts_with("text/html")) { "html" } else { "json" }
}

#[test]
fn where_vary_names_accept_browsers_and_programs_have_an_answer_each_and_both_are_hits() {
    for profile in BOTH {
        let application = Application::start(|asked| Does::Answer(ok(&["Vary: Accept, Cookie"], negotiates(asked))));
        let scene = before(ttl(Setup::new(profile)), &application);
        let chrome = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";
        let cases = [
            (&["Accept: text/html"][..], "html"),
            (&[], "json"),
            (&[chrome, "Accept-Language: de"], "html"),
            (&["Accept: */*"], "json"),
            (&["Accept: image/webp,*/*"], "json"),
        ];
        for (fields, expected) in cases {
            assert_eq!(scene.client().get_with("/", fields).text(), expected, "{fields:?}");
            assert!(scene.client().get_with("/", fields).is_hit(), "{fields:?}");
        }
        assert_eq!(application.count(), 2);
        assert_eq!(scene.client().get_with("/", &["Accept: application/json"]).detail(), "pass-field");
    }
}

/// A page in the language that a visitor likes, which says so.
fn speaks() -> Application {
    Application::start(|asked| {
        Does::Answer(ok(&["Vary: Accept-Language"], asked.field("accept-language").unwrap_or("none")))
    })
}

#[test]
fn a_page_that_varies_by_what_was_not_sent_is_for_one_visitor_until_the_field_is_in_the_key() {
    for profile in BOTH {
        let application = speaks();
        let scene = before(ttl(Setup::new(profile)), &application);
        for language in ["de", "fr", "de"] {
            let own = scene.client().get_with("/", &[&format!("Accept-Language: {language}")]);
            assert_eq!((own.text().as_str(), own.detail().as_str()), (language, "vary-unseen"));
        }
        assert_eq!(scene.client().get("/").text(), "none");
        assert!(scene.engine.cache().is_empty());

        let application = speaks();
        let setup = grant(ttl(Setup::new(profile)), |grant| grant.key_fields = names(&["accept-language"]));
        let scene = before(setup, &application);
        for language in ["de", "fr"] {
            let fields = [&*format!("Accept-Language: {language}")];
            assert_eq!(scene.client().get_with("/", &fields).text(), language);
            let hit = scene.client().get_with("/", &fields);
            assert!(hit.is_hit() && hit.text() == language, "{hit:?}");
        }
    }
}

fn explain(scene: &Scenario, fields: &[&str], live: bool) -> Explanation {
    let question = Question { fields: names(fields), is_live: live, ..Question::get("http://example.org/") };
    scene.engine.handle().explain(&question).unwrap()
}

/// The lines that an explanation proposes.
fn lines(explained: &Explanation) -> Vec<String> {
    let (Tips::Changes(all) | Tips::Either(_, all)) = &explained.tips else { return Vec::new() };
    let line = |change: &SuggestedChange| match change {
        SuggestedChange::Set(key, value) => format!("{key} = {value}"),
        other => format!("{other:?}"),
    };
    all.iter().map(|one| line(&one.change)).collect()
}

#[test]
fn the_field_is_named_with_the_line_that_makes_such_requests_hits() {
    let application = application();
    let scene = before(grant(ttl(Setup::safe()), |grant| grant.key_fields = names(&["rsc"])), &application);
    let explained = explain(&scene, &["HX-Request: true", "HX-Target: list", "RSC: 1"], false);
    assert_eq!(explained.cache_status(), "kasoku; fwd=bypass; detail=pass-field; field=\"hx-request\"");
    assert_eq!(lines(&explained), ["key-fields = [\"rsc\", \"hx-request\", \"hx-target\"]"]);
    let named = explained.points.iter().find(|point| point.line == "HX-Request: true").unwrap();
    assert_eq!((named.reason, named.source.as_str()), (Some("pass-field"), "key-fields (default)"));
    let explained = explain(&scene, &["Accept: application/json"], false);
    assert_eq!(lines(&explained), ["key-fields = [\"rsc\", \"accept\"]"]);
}

#[test]
fn a_credential_is_never_proposed_for_the_key() {
    let application = application();
    let scene = before(ttl(Setup::safe()), &application);
    for name in ["X-Api-Key", "X-Auth-Token", "PRIVATE-TOKEN", "X-Remote-User"] {
        let explained = explain(&scene, &[&format!("{name}: hunter2")], false);
        assert!(matches!(explained.tips, Tips::Nothing(why) if why.contains("identifies")), "{:?}", explained.tips);
    }
}

#[test]
fn the_lines_that_make_a_page_a_hit_which_varies_by_what_was_not_sent_are_proposed() {
    let application = speaks();
    let scene = before(ttl(Setup::safe()), &application);
    assert_eq!(lines(&explain(&scene, &[], true)), ["key-fields = [\"accept-language\"]"]);
    let application = Application::start(|_| Does::Answer(ok(&["Vary: Accept-Encoding, User-Agent"], "page")));
    let scene = before(ttl(Setup::safe()), &application);
    assert_eq!(lines(&explain(&scene, &[], true)), ["key-device = true"]);
    let scene = before(Setup::safe(), &application);
    assert_eq!(lines(&explain(&scene, &[], true)), ["ttl = \"1m\"", "key-device = true"]);
}
