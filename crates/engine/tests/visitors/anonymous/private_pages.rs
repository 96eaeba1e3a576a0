//! The ways in which a private page could be shared, and what stops each: private pages are not shared, and shareable pages are
//! hits.

use crate::anonymous::board::Board;
use crate::anonymous::{
    cookie, grant, guarded, is_anonymous, is_found_anonymous, names, of_a_board, policy, session, told, with_probe,
};
use kasoku_options::{Options, OtherCookies, Route};
use kasoku_semantics::grant::Ignored;
use kasoku_testkit::{Client, Gate, Response, Scenario, Setup, get, ok};
use std::net::IpAddr;
use std::sync::Arc;

/// The line that says for whom a page was made.
fn whose(response: &Response) -> String {
    response.text().lines().next().unwrap_or_default().to_owned()
}

const GUESTS: &str = "This is for a guest.";
const TOMS: &str = "This is for tom.";

fn asks(scene: &Scenario, target: &str, cookies: &str) -> Response {
    scene.client().get_with(target, &[&format!("Cookie: {cookies}")])
}

/// Checks that the page is shared: it is stored, a hit, and has nothing of a visitor.
fn is_shared(scene: &Scenario, target: &str) {
    scene.client().get(target);
    let hit = scene.client().get(target);
    assert!(hit.is_hit() && !hit.has("set-cookie") && whose(&hit) == GUESTS, "{target}: {hit:?}");
}

#[test]
fn a_page_that_passes_since_it_forbids_caching_is_shared_after_a_reload_with_the_line_that_allows_it() {
    let board = Board::start();
    let mut scene = board.behind(guarded().route(|route| grant(route).ignore.clear()));
    for _ in 0..2 {
        assert_eq!(scene.client().get("/").detail(), "no-store");
    }
    let mut allowed = Options::clone(&scene.engine.handle().options());
    for site in &mut allowed.sites {
        let ignored = vec![Ignored::NoStore, Ignored::NoCache, Ignored::MustRevalidate, Ignored::Expires];
        grant(Arc::make_mut(&mut site.route)).ignore = ignored;
    }
    scene.engine.reload(allowed).unwrap();
    is_shared(&scene, "/");
}

#[test]
fn a_session_for_everybody_spoils_no_page() {
    let board = Board::start();
    let scene = board.behind(guarded());
    let first = scene.client().get("/");
    assert!(!first.has("set-cookie"), "{first:?}");
    assert_eq!(told(&first, "dropped").as_deref(), Some("PHPSESSID"));
    assert_eq!(told(&first, "rule").as_deref(), Some("board.toml:1"));
    let hit = scene.client().get("/");
    assert!(hit.is_hit() && !hit.has("set-cookie") && hit.text() == first.text(), "{hit:?}");
    assert!(scene.client().head("/", &[]).is_hit());
    assert_eq!(board.count(), 1);
}

#[test]
fn an_unknown_login_cookie_passes_and_is_named() {
    let board = Board::start();
    let scene = board.behind(guarded());
    for _ in 0..2 {
        let tom = asks(&scene, "/", "_ga=1; sso=tom");
        assert_eq!((whose(&tom).as_str(), tom.detail().as_str()), (TOMS, "pass-cookie"), "{tom:?}");
        assert_eq!(told(&tom, "cookie").as_deref(), Some("sso"));
        assert_eq!(told(&tom, "rule").as_deref(), Some("board.toml:2"));
        assert!(tom.has("set-cookie"), "it opens a session as ever");
    }
    is_shared(&scene, "/");
    assert!(asks(&scene, "/", "_ga=1; _gid=2").is_hit());
    assert_eq!(whose(&asks(&scene, "/", "sso=tom")), TOMS);
}

#[test]
fn an_unknown_login_cookie_passes_where_nothing_is_said_of_cookies_at_all() {
    let board = Board::start();
    let scene = board.behind(Setup::safe().route(|route| {
        grant(route).ttl_override_seconds = 60;
        grant(route).ignore = vec![Ignored::NoStore, Ignored::NoCache, Ignored::MustRevalidate, Ignored::Expires];
    }));
    let tom = asks(&scene, "/", "sso=tom");
    assert_eq!((whose(&tom).as_str(), tom.detail().as_str()), (TOMS, "pass-cookie"));
    let guest = scene.client().get("/");
    assert_eq!(
        (whose(&guest).as_str(), guest.detail().as_str()),
        (GUESTS, "set-cookie"),
        "the configuration does not name its session"
    );
    assert_eq!(told(&guest, "cookie").as_deref(), Some("PHPSESSID"));
    assert!(guest.has("set-cookie") && scene.engine.cache().is_empty());
}

#[test]
fn only_who_says_that_the_rest_is_noise_has_it_taken_away() {
    let board = Board::start();
    let scene = board.behind(guarded().route(|route| {
        route.cookies.others = Some(OtherCookies::Remove);
        route.cookies.pass = names(&["member_*"]);
    }));
    assert_eq!(whose(&asks(&scene, "/", "sso=tom")), GUESTS, "it never reaches the board");
    assert!(asks(&scene, "/", "sso=ann").is_hit());
    assert_eq!(asks(&scene, "/", "sso=tom; member_1=x").detail(), "pass-cookie");
    assert_eq!(asks(&scene, "/", "sso=tom; PHPSESSID=1").detail(), "pass-session");
}

#[test]
fn what_tells_visitors_apart_without_a_cookie_does_not_reach_a_page_for_all() {
    let board = Board::start();
    let scene = board.behind(guarded());
    let fields = [
        "User-Agent: Evil/1.0",
        "Accept-Language: xx",
        "Referer: http://secret.example/",
        "X-Forwarded-For: 192.0.2.7",
        "Via: 1.1 secret",
        "From: tom@example.org",
    ];
    let own: IpAddr = "127.0.0.77".parse().unwrap();
    let mut visitor = Client::connect_from(own, scene.engine.addresses()[0]);
    let page = visitor.get_with("/seen.php", &fields);
    let sent = board.last("/seen.php");
    for secret in ["Evil", "xx |", "secret", "192.0.2.7", "127.0.0.77", "tom@"] {
        assert!(!page.text().contains(secret) && !sent.all().contains(secret), "{secret}: {sent:?}");
    }
    assert!(scene.client().get("/seen.php").is_hit());
    // The board sees a visitor whose request passes.
    let own = visitor.get_with("/seen.php", &[&fields[..], &["X-Theme: dark"]].concat()).text();
    for seen in ["Evil/1.0", "xx", "http://secret.example/", "127.0.0.77", "dark"] {
        assert!(own.contains(seen), "{seen}: {own}");
    }
}

#[test]
fn classes_of_devices_and_languages_have_a_page_each_and_the_board_sees_the_class_alone() {
    let board = Board::start();
    let scene = board.behind(guarded().route(|route| {
        grant(route).key_device = true;
        grant(route).key_languages = names(&["ko", "en"]);
    }));
    let phone = ["User-Agent: Mozilla/5.0 (iPhone; like tom's) Mobile/15E148", "Accept-Language: en-GB, en;q=0.9"];
    let desk = ["User-Agent: Mozilla/5.0 (X11; tom's)", "Accept-Language: de-AT, de"];
    let [mobile, desktop] = [phone, desk].map(|fields| scene.client().get_with("/seen.php", &fields).text());
    assert!(mobile.contains("Mobile Safari") && mobile.contains("| en |"), "{mobile}");
    assert!(!desktop.contains("Mobile") && desktop.contains("| ko |"), "{desktop}");
    assert!(!mobile.contains("tom's") && !desktop.contains("tom's"));
    let other = ["User-Agent: Opera Mini/9", "Accept-Language: en"];
    let hit = scene.client().get_with("/seen.php", &other);
    assert!(hit.is_hit() && hit.text() == mobile, "{hit:?}");
    let hit = scene.client().get("/seen.php");
    assert!(hit.is_hit() && hit.text() == desktop, "{hit:?}");
    assert_eq!(board.count(), 2);
}

#[test]
fn a_session_in_the_url_passes_and_its_page_is_for_who_asked() {
    let board = Board::start();
    let scene = board.behind(guarded());
    for target in
        ["/?PHPSESSID=1", "/?a=1&sid=2", "/x;jsessionid=3", "/?token=4", "/?access_token=5", "/?G5PHPSESSID=6"]
    {
        for _ in 0..2 {
            let response = scene.client().get(target);
            assert_eq!(response.detail(), "pass-credential-in-url", "{target}: {response:?}");
        }
        assert_eq!(board.count_of(target), 2, "{target}");
    }
    assert!(scene.engine.cache().is_empty());
}

#[test]
fn a_credential_in_the_url_that_is_taken_from_key_and_request_identifies_no_visitor() {
    let board = Board::start();
    let scene = board.behind(guarded().route(|route| {
        route.query.ignore = names(&["sid", "PHPSESSID"]);
        route.key.path_parameters = names(&["jsessionid"]);
    }));
    scene.client().get("/list.php?page=2&sid=tom");
    for target in ["/list.php?page=2&sid=ann", "/list.php?PHPSESSID=x&page=2", "/list.php;jsessionid=1?page=2"] {
        assert!(scene.client().get(target).is_hit(), "{target}");
    }
    assert_eq!((board.count(), board.count_of("/list.php?page=2")), (1, 1));
}

#[test]
fn a_page_that_holds_the_session_that_it_opens_is_for_who_asked() {
    let board = Board::start();
    let scene = board.behind(guarded());
    let mut ids = Vec::new();
    for _ in 0..2 {
        let page = scene.client().get("/links.php");
        assert_eq!(page.detail(), "cookie-value-in-response", "{page:?}");
        let own = page.field("set-cookie");
        let id = own.strip_prefix("PHPSESSID=").and_then(|rest| rest.split(';').next()).unwrap().to_owned();
        assert!(page.text().contains(&format!("PHPSESSID={id}")), "cookie and link are of one session: {page:?}");
        ids.push(id);
    }
    assert_ne!(ids[0], ids[1]);
    assert!(scene.engine.cache().is_empty());
}

#[test]
fn who_waits_for_a_page_that_turns_out_to_hold_a_session_gets_one_of_their_own() {
    let board = Board::start();
    let scene = board.behind(guarded());
    let gate = Gate::new();
    board.holds_next(&gate);
    let mut clients = [(); 4].map(|()| scene.client());
    for (number, client) in clients.iter_mut().enumerate() {
        client.ask("GET", "/links.php", &[]);
        if number == 0 {
            board.arrived(1);
        }
    }
    scene.settled();
    gate.open();
    let mut cookies: Vec<String> = clients.iter_mut().map(|client| client.response().field("set-cookie")).collect();
    cookies.sort();
    cookies.dedup();
    assert_eq!(cookies.len(), 4, "{cookies:?}");
}

#[test]
fn a_member_neither_starts_nor_joins_what_others_wait_for() {
    let board = Board::start();
    let scene = board.behind(guarded());
    let toms = format!("Cookie: PHPSESSID={}", board.session(Some("tom")));
    let [mut tom, mut guest, mut other] = [(); 3].map(|()| scene.client());
    // The member asks first, and the answer is held; a guest does not wait for it.
    let gate = Gate::new();
    board.holds_next(&gate);
    tom.ask("GET", "/", &[&toms]);
    board.arrived(1);
    let page = guest.get("/");
    assert_eq!((whose(&page).as_str(), page.cache_status("collapsed")), (GUESTS, None), "{page:?}");
    gate.open();
    let own = tom.response();
    assert_eq!((whose(&own).as_str(), own.detail().as_str()), (TOMS, "pass-session"));
    assert!(other.get("/").is_hit());
    // A guest asks first, and the answer is held; the member does not wait for it.
    let gate = Gate::new();
    board.holds_next(&gate);
    guest.ask("GET", "/other", &[]);
    board.arrived(3);
    assert_eq!(whose(&tom.get_with("/other", &[&toms])), TOMS);
    other.ask("GET", "/other", &[]);
    scene.settled();
    gate.open();
    assert_eq!([guest, other].map(|mut client| whose(&client.response())), [GUESTS, GUESTS]);
    assert_eq!(board.count_of("/other"), 2);
}

#[test]
fn a_session_once_anonymous_that_logs_in_by_a_url_that_passes_is_known_again() {
    let board = Board::start();
    let scene = board.behind(Setup::safe().route(with_probe).route(|route| {
        route.pass_urls.extend(crate::anonymous::urls(&["/sso.php"]));
    }));
    let cookies = format!("PHPSESSID={}", board.session(None));
    asks(&scene, "/", &cookies);
    is_found_anonymous(&scene, &cookies);
    assert_eq!(whose(&asks(&scene, "/", &cookies)), GUESTS);
    let hit = asks(&scene, "/", &cookies);
    assert!(hit.is_hit() && hit.cache_status("session").as_deref() == Some("anonymous"), "{hit:?}");
    assert_eq!(asks(&scene, "/sso.php?user=tom", &cookies).detail(), "pass-url");
    assert!(!is_anonymous(&scene, &cookies));
    for _ in 0..3 {
        let own = asks(&scene, "/", &cookies);
        assert_eq!((whose(&own).as_str(), own.detail().as_str()), (TOMS, "pass-session"));
    }
    assert_eq!(whose(&scene.client().get("/")), GUESTS);
}

#[test]
fn a_session_once_anonymous_is_asked_for_without_its_cookies_whatever_the_url_does() {
    let board = Board::start();
    let scene = board.behind(Setup::safe().route(with_probe));
    let cookies = format!("PHPSESSID={}; _ga=1", board.session(None));
    asks(&scene, "/", &cookies);
    is_found_anonymous(&scene, &cookies);
    // A log-in by GET that no setting names: the request is anonymous, so it never logs in the session of the visitor.
    let page = asks(&scene, "/sso.php?user=tom", &cookies);
    assert!(!page.has("set-cookie"), "{page:?}");
    assert_eq!(board.last("/sso.php?user=tom").field("cookie"), None);
    assert_eq!(whose(&asks(&scene, "/", &cookies)), GUESTS);
}

#[test]
fn a_session_once_anonymous_that_brings_an_unknown_cookie_is_known_again() {
    let board = Board::start();
    let scene = board.behind(Setup::safe().route(with_probe));
    let cookies = format!("PHPSESSID={}", board.session(None));
    asks(&scene, "/", &cookies);
    is_found_anonymous(&scene, &cookies);
    let own = asks(&scene, "/", &format!("{cookies}; sso=tom"));
    assert_eq!((whose(&own).as_str(), own.detail().as_str()), (TOMS, "pass-cookie"));
    assert!(!is_anonymous(&scene, &cookies));
    assert_eq!(whose(&asks(&scene, "/", &cookies)), TOMS, "the session is tom's by now");
}

#[test]
fn what_is_granted_is_no_browsers_and_no_networks_to_keep() {
    let board = Board::start();
    board.state().adds = vec!["Vary: Accept-Encoding"];
    let scene = board.behind(guarded());
    for _ in 0..2 {
        let page = scene.client().get("/");
        assert!(page.field("cache-control").contains("no-store"), "{page:?}");
        assert_eq!(page.field("vary"), "Accept-Encoding, Cookie");
    }
    let silent = Setup::safe().route(|route| {
        grant(route).ttl_seconds = 60;
        session(route).cookies = names(&["PHPSESSID"]);
    });
    let scene = silent
        .run([get("/").answers(ok(&["Vary: Accept-Encoding", "Set-Cookie: PHPSESSID=0123456789abcdef"], "page"))]);
    for is_hit in [false, true] {
        let page = scene.client().get("/");
        assert_eq!((page.is_hit(), page.field("cache-control").as_str()), (is_hit, "no-cache"), "{page:?}");
        assert_eq!(page.field("vary"), "Accept-Encoding, Cookie");
        assert!(!page.has("expires") && !page.has("set-cookie"), "{page:?}");
    }
}

#[test]
fn private_holds_unless_it_is_overruled_and_then_not_where_there_were_cookies() {
    let board = Board::start();
    let scene = board.behind(guarded());
    for _ in 0..2 {
        let page = scene.client().get("/private.php");
        assert_eq!(page.detail(), "private");
        assert!(page.has("set-cookie"), "{page:?}");
    }
    let overruled = |route: &mut Route| grant(route).ignore.push(Ignored::Private);
    let scene = board.behind(guarded().route(overruled));
    is_shared(&scene, "/private.php");
    let toms = format!("PHPSESSID={}", board.session(Some("tom")));
    assert_eq!(whose(&asks(&scene, "/private.php", &toms)), TOMS);
    is_shared(&scene, "/private.php");
}

#[test]
fn no_store_holds_where_it_is_not_overruled() {
    let board = Board::start();
    let scene = board.behind(guarded().route(|route| grant(route).ignore = vec![Ignored::NoCache]));
    for _ in 0..2 {
        assert_eq!(scene.client().get("/").detail(), "no-store");
    }
    assert!(scene.engine.cache().is_empty());
}

#[test]
fn a_cookie_of_an_unknown_name_keeps_a_page_from_being_stored_and_is_named() {
    let board = Board::start();
    board.state().adds = vec!["Set-Cookie: 2a0d2363701f23f8a75028924a3af643=1", "Set-Cookie: remember=tom; HttpOnly"];
    let scene = board.behind(guarded());
    for _ in 0..2 {
        let page = scene.client().get("/");
        assert_eq!((page.detail().as_str(), told(&page, "cookie").as_deref()), ("set-cookie", Some("remember")));
        assert_eq!(page.head.all("set-cookie").count(), 3, "it is its visitor's, with all its cookies: {page:?}");
    }
    board.state().adds.pop();
    is_shared(&scene, "/");
}

#[test]
fn vary_by_cookie_is_by_those_that_the_rules_name() {
    let board = Board::start();
    board.state().adds = vec!["Vary: Cookie"];
    let scene = board.behind(guarded().route(|route| grant(route).key_cookies = names(&["theme"])));
    let dark = asks(&scene, "/", "theme=dark");
    assert_eq!(board.last("/").field("cookie"), Some("theme=dark"));
    let hit = asks(&scene, "/", "_ga=5; theme=dark");
    assert!(hit.is_hit() && hit.text() == dark.text(), "{hit:?}");
    let light = asks(&scene, "/", "theme=light");
    assert!(!light.is_hit() && light.text() != dark.text());
    is_shared(&scene, "/");
    assert!(asks(&scene, "/", "theme=light").is_hit());
    assert_eq!(asks(&scene, "/", "theme=light; PHPSESSID=1").detail(), "pass-session");
}

#[test]
fn a_page_under_the_name_of_a_file_is_not_kept() {
    let board = Board::start();
    let scene = board.behind(guarded());
    for target in ["/account.php/x.css", "/account.php/x%2ejs", "/account/me.png"] {
        for _ in 0..2 {
            let page = scene.client().get(target);
            assert_eq!((page.detail().as_str(), page.is_hit()), ("content-type-mismatch", false), "{target}: {page:?}");
        }
    }
    is_shared(&scene, "/account.php/x");
}

#[test]
fn a_page_under_the_name_of_a_download_is_the_anonymous_one_and_is_checked() {
    let board = Board::start();
    let scene = board.behind(guarded());
    let toms = format!("PHPSESSID={}", board.session(Some("tom")));
    assert_eq!(asks(&scene, "/account;x.pdf", &toms).detail(), "pass-session", "nothing of a visitor is kept");
    is_shared(&scene, "/account;x.pdf");
    assert_eq!(asks(&scene, "/account;x.pdf", &toms).detail(), "pass-session");
}

#[test]
fn once_the_rule_is_mended_what_it_let_through_is_gone() {
    let board = Board::start();
    let leaky = |route: &mut Route| route.cookies.others = Some(OtherCookies::Remove);
    let mut scene = board.behind(guarded().route(leaky));
    asks(&scene, "/", "sso=tom");
    assert!(scene.client().get("/").is_hit());
    let changes: [fn(&mut Route); 5] = [
        |route| route.cookies.others = Some(OtherCookies::Pass),
        |route| session(route).cookies.push("sso".to_owned()),
        |route| route.cookies.noise.clear(),
        |route| grant(route).key_device = true,
        |route| policy(route).grant.ignore.clear(),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut options = Options::clone(&scene.engine.handle().options());
        options.sites.iter_mut().for_each(|site| change(Arc::make_mut(&mut site.route)));
        scene.engine.reload(options).unwrap();
        let made_anew = scene.client().get("/");
        assert!(!made_anew.is_hit() && made_anew.cache_status("fwd").is_some(), "change {number}: {made_anew:?}");
    }
}

#[test]
fn a_session_that_a_cookie_says_is_anonymous_gets_shared_pages() {
    let board = Board::start();
    let scene = board.behind(guarded().route(|route| {
        session(route).anonymous_cookies = vec![cookie("rx_login_status", "none")];
    }));
    asks(&scene, "/", "PHPSESSID=1; rx_login_status=none");
    assert_eq!(board.last("/").field("cookie"), None);
    let hit = asks(&scene, "/", "rx_login_status=none; PHPSESSID=2");
    assert!(hit.is_hit() && hit.cache_status("session").as_deref() == Some("anonymous"), "{hit:?}");
    for cookies in [
        "PHPSESSID=1; rx_login_status=5e1f",
        "PHPSESSID=1; rx_login_status=none; rx_login_status=5e1f",
        "PHPSESSID=1; xrx_login_status=none",
        "PHPSESSID=1",
    ] {
        assert!(["pass-session", "pass-cookie"].contains(&asks(&scene, "/", cookies).detail().as_str()), "{cookies}");
    }
}

#[test]
fn in_profile_rfc_a_granted_lifetime_is_guarded_all_the_same() {
    let board = Board::start();
    let scene = board.behind(Setup::rfc().route(of_a_board));
    let toms = format!("PHPSESSID={}", board.session(Some("tom")));
    assert_eq!(whose(&asks(&scene, "/", &toms)), TOMS);
    is_shared(&scene, "/");
    assert_eq!(asks(&scene, "/", &toms).detail(), "pass-session");
    assert_eq!(scene.client().get("/links.php").detail(), "cookie-value-in-response");
    assert_eq!(scene.client().get("/?sid=1").detail(), "pass-credential-in-url");
    assert_eq!(scene.client().get("/account.php/x.css").detail(), "content-type-mismatch");
}
