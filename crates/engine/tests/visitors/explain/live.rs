//! A live explanation asks the origin and has no other effects.

use super::explain;
use kasoku_engine::explain::{Question, Side, SuggestedChange, Tips};
use kasoku_metrics::Counter;
use kasoku_options::{OriginAddress, Route};
use kasoku_semantics::reason::Reason;
use kasoku_testkit::{Folder, Scenario, Setup, get, ok};
use std::sync::Arc;

#[test]
fn it_stores_nothing_and_counts_nothing() {
    let scenario = Scenario::safe([get("/").answers(ok(&["Cache-Control: max-age=60"], "page"))]);
    let explained = explain(&scenario, "GET", "/", &["Cookie: id=1", "If-None-Match: \"a\"", "Range: bytes=0-1"], true);
    let answer = explained.answer.unwrap().unwrap();
    assert_eq!((answer.status, answer.lifetime, answer.refusal), (200, 60, Some(Reason::Cookie)));
    let asked = scenario.origin.request(0);
    assert_eq!(asked.field("cookie").as_deref(), Some("id=1"), "as a visitor with these fields");
    assert_eq!((asked.field("if-none-match"), asked.field("range")), (None, None));
    assert!(asked.field("x-forwarded-for").is_none() && asked.field("via").is_some());
    assert!(scenario.engine.cache().is_empty());
    for counter in Counter::ALL {
        assert_eq!(scenario.engine.metrics().total(*counter), 0, "{}", counter.name());
    }
    assert!(explain(&scenario, "GET", "/", &[], false).stored.last_refusal.is_none(), "nor is it remembered");
}

#[test]
fn an_answer_that_is_old_when_it_comes_is_a_hit_for_what_is_left_of_its_lifetime() {
    let setup = Setup::safe();
    let date = format!("Date: {}", setup.date(-50));
    let scenario = setup.run([get("/").answers(ok(&["Cache-Control: max-age=60", &date], "page"))]);
    let answer = explain(&scenario, "GET", "/", &[], true).answer.unwrap().unwrap();
    assert_eq!((answer.lifetime, answer.stated_age, answer.refusal), (10, 50, None));
}

#[test]
fn a_page_that_is_a_hit_can_be_asked_for_anew() {
    let scenario = Scenario::safe([
        get("/").answers(ok(&["Cache-Control: max-age=60"], "page")),
        get("/").answers(ok(&["Cache-Control: no-store"], "page")),
    ]);
    scenario.client().get("/");
    let explained = explain(&scenario, "GET", "/", &[], true);
    assert_eq!(explained.cache_status(), "kasoku; hit; ttl=60; detail=hit");
    assert_eq!(explained.answer.unwrap().unwrap().refusal, Some(Reason::NoStore), "what it says by now");
    assert!(matches!(explained.tips, Tips::Either(..)));
    assert!(scenario.client().get("/").is_hit(), "what is stored stays");
}

#[test]
fn a_page_that_the_application_shares_with_every_session_is_warned_of() {
    let shown = |change: &SuggestedChange| match change {
        SuggestedChange::Send(name, value) => format!("{name}: {value}"),
        SuggestedChange::Set(key, value) => format!("{key} = {value}"),
        SuggestedChange::Omit(name) => format!("no {name}"),
    };
    let explained = |fields: &[&str], cookie: &str, is_live: bool| {
        let scenario = Scenario::safe([get("/").answers(ok(fields, "Hello, Ann"))]);
        if !is_live {
            scenario.client().get("/");
        }
        let warned = explain(&scenario, "GET", "/", &[cookie], is_live).shared_with_sessions;
        warned.map(|it| (it.cookie, it.line, it.changes.iter().map(|one| shown(&one.change)).collect::<Vec<_>>()))
    };
    let session = "Cookie: theme=dark; sessionid=hunter2";
    for is_live in [true, false] {
        for line in ["Cache-Control: public, max-age=60", "Cache-Control: s-maxage=60"] {
            let (cookie, said, changes) = explained(&[line], session, is_live).unwrap();
            assert_eq!((cookie.as_str(), said.as_str()), ("sessionid", line));
            assert_eq!(changes, ["cookies.session = [\"sessionid\"]", "Cache-Control: private"]);
        }
        let targeted = ["Cache-Control: no-store", "CDN-Cache-Control: public, max-age=60"];
        let (_, said, changes) = explained(&targeted, session, is_live).unwrap();
        assert_eq!((said.as_str(), changes[1].as_str()), (targeted[1], "CDN-Cache-Control: private"));
        let vary = ["Cache-Control: s-maxage=60", "Vary: Cookie"];
        for (fields, cookie) in [
            (&vary[..1], "Cookie: theme=dark"),
            (&vary[..1], "Cookie: csrftoken=a"),
            (&vary, session),
            (&["Cache-Control: private"], session),
        ] {
            assert_eq!(explained(fields, cookie, is_live), None, "{fields:?} {cookie}");
        }
    }
}

#[test]
fn of_a_session_that_the_configuration_knows_nothing_is_warned() {
    let known = |route: &mut Route| Arc::make_mut(&mut route.session).cookies.push("sessionid".to_owned());
    let scenario = Setup::safe().route(known).run([get("/").answers(ok(&["Cache-Control: public, max-age=60"], ""))]);
    scenario.client().get("/");
    let told = |cookie: &str| explain(&scenario, "GET", "/", &[cookie], false).shared_with_sessions;
    assert_eq!(told("Cookie: sessionid=a"), None, "it passes");
    let changes = told("Cookie: connect.sid=a").unwrap().changes;
    let both = SuggestedChange::Set("cookies.session", "[\"sessionid\", \"connect.sid\"]".to_owned());
    assert_eq!(changes[0].change, both);
}

#[test]
fn what_the_configuration_could_do_is_proposed_only_by_a_live_question() {
    let page = || get("/").answers(ok(&["Cache-Control: max-age=0", "ETag: \"a\""], "page"));
    let scenario = Scenario::safe([page(), page()]);
    scenario.client().get("/");
    let stored = explain(&scenario, "GET", "/", &[], false);
    assert!(stored.points.iter().any(|point| point.text.contains("states a lifetime of 0")), "{:?}", stored.points);
    let Tips::Changes(all) = &stored.tips else { panic!("{:?}", stored.tips) };
    assert!(matches!(&all[0].change, SuggestedChange::Send(name, _) if name == "CDN-Cache-Control"), "{all:?}");
    let asked = explain(&scenario, "GET", "/", &[], true).tips;
    assert!(matches!(asked, Tips::Either(..)), "{asked:?}");
}

#[test]
fn an_origin_that_is_away_is_said_to_be() {
    let scenario = Scenario::safe([get("/").closes()]);
    let explained = explain(&scenario, "GET", "/", &[], true);
    assert_eq!(explained.answer.unwrap().unwrap_err(), Reason::OriginClosedEarly);
}

#[test]
fn an_answer_that_names_a_file_says_for_how_long_or_is_for_one_client_or_a_failure() {
    let named = ["X-Sendfile: /srv/a", "Cache-Control: max-age=60", "Set-Cookie: a=b"];
    let scenario = Scenario::safe([get("/").answers(ok(&named, ""))]);
    assert_eq!(explain(&scenario, "GET", "/", &[], true).answer.unwrap().unwrap_err(), Reason::SendfileOff);
    let allow = |route: &mut Route| Arc::make_mut(&mut route.sendfile).roots.push("/srv".into());
    let explained = |fields: &[&str]| {
        let scenario = Setup::safe().route(allow).run([get("/").answers(ok(fields, ""))]);
        explain(&scenario, "GET", "/", &[], true)
    };
    let silent = explained(&named[..1]);
    assert!(matches!(silent.tips, Tips::Nothing(why) if why.contains("the file")), "{:?}", silent.tips);
    assert_eq!(silent.answer.unwrap().unwrap().refusal, Some(Reason::Sendfile));
    assert_eq!(explained(&named).answer.unwrap().unwrap().refusal, Some(Reason::SetCookie));
    let kept = explained(&[named[0], "X-Accel-Expires: 60"]);
    assert!(kept.points.iter().any(|point| point.line == "X-Accel-Expires: 60" && point.side == Side::For));
    let answer = kept.answer.unwrap().unwrap();
    assert_eq!((answer.lifetime, answer.refusal), (60, None));
}

#[test]
fn of_a_decision_that_is_stored_it_is_said_which_file_it_is_about() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    let allow = |route: &mut Route| Arc::make_mut(&mut route.sendfile).roots.push(folder.path().to_owned());
    let named = ok(&["X-Sendfile: a.txt", "Cache-Control: max-age=60"], "");
    let scenario = Setup::safe().route(allow).run([get("/").answers(named)]);
    scenario.client().get("/");
    let explained = explain(&scenario, "GET", "/", &[], false);
    assert_eq!(explained.cache_status(), "kasoku; hit; ttl=60; detail=hit");
    assert!(explained.points.iter().any(|point| point.line == "X-Sendfile: a.txt"), "{:?}", explained.points);
    folder.write("a.txt", "the other file");
    let explained = explain(&scenario, "GET", "/", &[], false);
    assert_eq!(explained.cache_status(), "kasoku; fwd=uri-miss; detail=sendfile-changed");
    assert!(explained.points.iter().any(|point| point.reason == Some("sendfile-changed")), "{:?}", explained.points);
}

#[test]
fn a_body_of_unknown_length_is_measured() {
    let chunked = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n";
    let body = "10000\r\n".to_owned() + &"x".repeat(0x10000) + "\r\n0\r\n\r\n";
    let small = |options: &mut kasoku_options::Options| options.object_bytes_max = 0x8000;
    let scenario = Setup::safe().options(small).run([get("/").answers(format!("{chunked}{body}"))]);
    let explained = explain(&scenario, "GET", "/", &[], true);
    assert_eq!(explained.answer.unwrap().unwrap().refusal, Some(Reason::ObjectTooLarge));
}

#[test]
fn what_was_decided_last_is_remembered() {
    let scenario = Scenario::safe([get("/").answers(ok(&["Cache-Control: no-store"], "page"))]);
    scenario.client().get("/");
    scenario.advance(7);
    let explained = explain(&scenario, "GET", "/", &[], false);
    let (refusal, seconds) = explained.stored.last_refusal.unwrap();
    assert_eq!((refusal.reason, refusal.status, seconds), (Reason::NoStore, 200, 7));
    assert_eq!(explained.tips, Tips::AskLive, "the lines that would have to change are not known");
}

#[test]
fn nothing_secret_is_in_an_explanation() {
    let lines = ["Set-Cookie: PHPSESSID=hunter2; Path=/", "Vary: X-Api-Key"];
    let scenario = Scenario::safe([get("/").answers(ok(&lines, "page"))]);
    let secrets = ["Cookie: PHPSESSID=hunter2", "Authorization: Bearer hunter2", "X-Api-Key: hunter2"];
    let explained = format!("{:?}", explain(&scenario, "GET", "/", &secrets, true));
    assert!(explained.contains("PHPSESSID=***") && explained.contains("Bearer ***"), "{explained}");
    assert!(!explained.contains("hunter2"), "{explained}");
}

#[test]
fn what_no_site_serves_is_told_so() {
    use kasoku_options::HostPattern;
    let scenario = Setup::safe().site(&[HostPattern::Exact("other.org".to_owned())], |_| {}).run([]);
    let why = scenario.engine.handle().explain(&Question::get("http://example.org/")).unwrap_err();
    assert_eq!(why.to_string(), "No site is configured for this host (421)");
}

#[test]
fn of_a_long_file_it_is_said_that_it_is_not_stored() {
    let folder = Folder::new();
    for (name, length) in [("short.zip", 1000), ("long.zip", 1001), ("long.txt", 1001)] {
        folder.write(name, vec![b'x'; length]);
    }
    let scenario = Setup::safe()
        .site(&[], |route| {
            route.origins = vec![OriginAddress::Files(folder.path().to_owned()).into()];
            route.file_stored_bytes_max = 1000;
        })
        .run_with_own_origins();
    for (url, refusal) in [("/short.zip", None), ("/long.zip", Some(Reason::ObjectTooLarge)), ("/long.txt", None)] {
        let explained = explain(&scenario, "GET", url, &["Accept-Encoding: gzip"], true);
        assert_eq!(explained.answer.unwrap().unwrap().refusal, refusal, "{url}");
        assert_eq!(scenario.client().get(url).cache_status("stored").is_some(), refusal.is_none(), "{url}");
    }
}

#[test]
fn a_page_that_is_one_visitors_for_a_cookies_value_names_that_cookie() {
    let page = |session: &str, board: &str| {
        ok(
            &[&format!("Set-Cookie: PHPSESSID={session}"), &format!("Set-Cookie: last_board={board}")],
            "<p>b2026k11test",
        )
    };
    let granting = |route: &mut Route| {
        Arc::make_mut(&mut route.policy).grant.ttl_seconds = 60;
        Arc::make_mut(&mut route.session).cookies.push("PHPSESSID".to_owned());
        route.cookies.noise.push("last_board".to_owned());
    };
    let told = |target: &str, page| {
        let scenario = Setup::safe().route(granting).run([get(target).answers(page)]);
        let explained = explain(&scenario, "GET", target, &[], true);
        let against = explained.points.iter().filter(|point| point.side == Side::Against);
        (explained.answer.unwrap().unwrap().refusal, against.map(|point| point.line.clone()).collect::<Vec<_>>())
    };
    // A cookie of gnuboard5: the last board in base64.
    let (refusal, against) = told("/", page("0a1b2c3d4e5f", "YjIwMjZrMTF0ZXN0"));
    assert_eq!(refusal, Some(Reason::CookieValueInResponse));
    assert!(matches!(&against[..], [line] if line.contains("last_board")), "{against:?}");
    assert_eq!(told("/board?name=b2026k11test", page("0a1b2c3d4e5f", "YjIwMjZrMTF0ZXN0")), (None, vec![]));
    let (_, against) = told("/board?name=b2026k11test", page("b2026k11test", "x"));
    assert!(matches!(&against[..], [line] if line.contains("PHPSESSID")), "{against:?}");
}

#[test]
fn a_page_with_a_token_against_forgery_or_a_form_is_not_shared_by_the_configuration() {
    let live = |page: &str, fields: &[&str]| {
        let fields: Vec<&str> = fields.iter().copied().chain(["Content-Type: text/html"]).collect();
        // The explanation asks twice for a page with a form, and compares the answers.
        let scenario = Scenario::safe((0..2).map(|_| get("/page").answers(ok(&fields, page))));
        let tips = explain(&scenario, "GET", "/page", &[], true).tips;
        (scenario.origin.count()..2).for_each(|_| drop(scenario.client().get("/page")));
        tips
    };
    for (page, fields) in [
        ("<form method=post><input name=csrfmiddlewaretoken value=same></form>", &[][..]),
        ("<meta name=\"X-CSRF-Token\" content=same>", &["Cache-Control: no-store"]),
        ("<p>News</p>", &["Set-Cookie: csrftoken=a1b2c3d4e5"]),
    ] {
        let tips = live(page, fields);
        assert!(matches!(tips, Tips::Nothing(why) if why.contains("csrf")), "{page}: {tips:?}");
    }
    let sends = |tips: &Tips| matches!(tips, Tips::Changes(all) if matches!(all[0].change, SuggestedChange::Send(..)));
    let tips = live("<form method=\"post\"><input name=vote></form>", &[]);
    assert!(sends(&tips), "{tips:?}");
    let tips = live("<p>News</p>", &[]);
    assert!(matches!(tips, Tips::Either(..)), "{tips:?}");
}
