//! Which sessions are one and which are two, at several hosts and rules; which site is asked about a session; and what is told of
//! it.

use crate::anonymous::board::Board;
use crate::anonymous::{guarded, is_found_anonymous, names, of_a_board, session, told, urls, with_probe};
use kasoku_options::{HostPattern, Route, SessionRules};
use kasoku_semantics::policy::Profile;
use kasoku_testkit::{Folder, Response, Scenario, Setup, get, ok};
use std::sync::Arc;
use std::time::Duration;

fn asks(scene: &Scenario, host: &str, cookies: &str) -> Response {
    scene.client().get_with("/", &[&format!("Host: {host}"), &format!("Cookie: {cookies}")])
}

fn is_for(response: &Response, who: &str) -> bool {
    response.text().starts_with(&format!("This is for {who}."))
}

/// Asks until the session is known to be anonymous at that host.
fn becomes_anonymous(scene: &Scenario, host: &str, cookies: &str) {
    scene.eventually(|| asks(scene, host, cookies).cache_status("session").as_deref() == Some("anonymous"));
}

#[test]
fn who_logs_in_at_one_host_is_known_at_the_other() {
    let board = Board::start();
    let scene = board.behind(Setup::safe().route(with_probe));
    let cookies = format!("PHPSESSID={}", board.session(None));
    for host in ["board.example", "www.board.example"] {
        becomes_anonymous(&scene, host, &cookies);
    }
    let count = board.count();
    assert_eq!(asks(&scene, "board.example", &cookies).cache_status("session").as_deref(), Some("anonymous"));
    assert!(board.count() <= count + 1, "it is known at both");
    let fields = ["Host: www.board.example", &*format!("Cookie: {cookies}")];
    scene.client().send_body("POST", "/login_check.php", &fields, "user=tom");
    for host in ["board.example", "www.board.example"] {
        assert!(is_for(&asks(&scene, host, &cookies), "tom"), "{host}");
    }
}

#[test]
fn who_logs_in_by_one_rule_is_known_by_the_others() {
    let board = Board::start();
    let asked_otherwise = |route: &mut Route| session(route).probe.as_mut().unwrap().target = "/login.php?x".to_owned();
    let setup = Setup::safe().route(with_probe).rule("/shop/*", asked_otherwise);
    let scene = board.behind(setup);
    let cookies = format!("Cookie: PHPSESSID={}", board.session(None));
    let page = |target: &str| scene.client().get_with(target, &[&cookies]);
    scene.eventually(|| page("/shop/").cache_status("session").as_deref() == Some("anonymous"));
    scene.client().send_body("POST", "/login_check.php", &[&cookies], "user=tom");
    assert!(is_for(&page("/shop/"), "tom") && is_for(&page("/"), "tom"));
}

#[test]
fn who_logs_in_where_no_session_is_known_is_known_where_one_is() {
    fn nothing(route: &mut Route) {
        with_probe(route);
        *session(route) = SessionRules::default();
    }
    fn by_pass_rule(route: &mut Route) {
        nothing(route);
        route.pass = true;
    }
    fn strict(route: &mut Route) {
        *route = Route { origins: route.origins.clone(), ..Route::new(Profile::Safe, Vec::new()) };
    }
    type Change = fn(&mut Route);
    for (name, change) in [("granting", nothing as Change), ("passing", by_pass_rule), ("by the RFCs", strict)] {
        for method in ["POST", "GET"] {
            let board = Board::start();
            let setup = Setup::safe().route(with_probe).rule("/sso.php", change).rule("/login_check.php", change);
            let scene = board.behind(setup);
            let id = board.session(None);
            let cookies = format!("Cookie: PHPSESSID={id}");
            let page = || scene.client().get_with("/", &[&cookies]);
            scene.eventually(|| page().cache_status("session").as_deref() == Some("anonymous"));
            match method {
                "POST" => scene.client().send_body("POST", "/login_check.php", &[&cookies], "user=tom"),
                _ => scene.client().get_with("/sso.php?user=tom", &[&cookies]),
            };
            assert!(is_for(&page(), "tom"), "{name}, {method}: {:?}", page());
        }
    }
}

#[test]
fn who_logs_in_with_one_more_cookie_is_known_without_it() {
    let board = Board::start();
    let with_two = |route: &mut Route| {
        with_probe(route);
        session(route).cookies = names(&["PHPSESSID", "MEMBERSESS"]);
    };
    let scene = board.behind(Setup::safe().route(with_two));
    let cookies = format!("PHPSESSID={}", board.session(None));
    becomes_anonymous(&scene, "board.example", &cookies);
    let both = ["Host: board.example", &*format!("Cookie: MEMBERSESS=b; {cookies}")];
    scene.client().send_body("POST", "/login_check.php", &both, "user=tom");
    assert!(is_for(&asks(&scene, "board.example", &cookies), "tom"));
}

#[test]
fn another_application_is_not_asked_about_a_session() {
    let (board, shop) = (Board::start(), Board::start());
    let shops = shop.address();
    let of_the_shop = move |route: &mut Route| route.origins = vec![shops.clone().into()];
    let scene = board.behind(Setup::safe().route(with_probe).rule("/shop/*", of_the_shop));
    let id = board.session(None);
    let cookies = format!("PHPSESSID={id}");
    becomes_anonymous(&scene, "board.example", &cookies);
    let asked = board.count();
    shop.log_in(&id, Some("tom"));
    let fields = ["Host: board.example", &*format!("Cookie: {cookies}; shop_auth=1")];
    for _ in 0..3 {
        assert!(is_for(&scene.client().get_with("/shop/", &fields), "tom"));
    }
    scene.settled();
    assert_eq!((board.count(), shop.count()), (asked, 3), "no other origin gets the shop's cookies");
    assert!(board.last("/login.php").field("cookie").unwrap() == cookies);
}

#[test]
fn a_site_whose_keys_have_another_host_is_asked_about_its_own_sessions() {
    let (own, other) = (Board::start(), Board::start());
    let of = |address, keys: Option<&str>| {
        let keys = keys.map(str::to_owned);
        move |route: &mut Route| {
            with_probe(route);
            route.key.host = keys;
            route.origins = vec![address];
        }
    };
    let host = |name: &str| [HostPattern::Exact(name.into())];
    let setup = Setup::safe()
        .site(&host("board.example"), of(own.address().into(), Some("keys.example")))
        .site(&host("keys.example"), of(other.address().into(), None));
    let scene = setup.run_with_own_origins();
    let cookies = format!("PHPSESSID={}", own.session(Some("tom")));
    assert!(is_for(&asks(&scene, "board.example", &cookies), "tom"));
    scene.eventually(|| own.count_of("/login.php") == 1);
    assert_eq!(other.count(), 0, "no other origin gets the cookies");
    assert!(is_for(&asks(&scene, "board.example", &cookies), "tom"));
}

#[test]
fn a_script_of_the_page_asks_otherwise_than_its_visitor() {
    let board = Board::start();
    let scene = board.behind(Setup::safe().route(with_probe));
    let cookies = format!("PHPSESSID={}", board.session(None));
    let fields = [
        &*format!("Cookie: {cookies}"),
        "X-Requested-With: XMLHttpRequest",
        "Accept: application/json",
        "X-HTTP-Method-Override: DELETE",
        "X_Http_Method: DELETE",
        "X-Original-URL: /write.php",
        "Sec-Fetch-Mode: navigate",
        "HX-Request: true",
        "Faces-Request: partial/ajax",
        "X-MicrosoftAjax: Delta=true",
        "Wicket-Ajax: true",
        "Sec-Fetch-Dest: document",
        "X-Theirs: 1",
    ];
    scene.client().get_with("/", &fields);
    is_found_anonymous(&scene, &cookies);
    let asked = board.last("/login.php");
    for name in [
        "x-requested-with",
        "x-http-method-override",
        "x_http_method",
        "x-original-url",
        "sec-fetch-dest",
        "hx-request",
        "faces-request",
        "x-microsoftajax",
        "wicket-ajax",
    ] {
        assert_eq!(asked.field(name), None, "{asked:?}");
    }
    assert_eq!((asked.field("accept"), asked.field("x-theirs")), (Some("*/*"), Some("1")), "{asked:?}");
}

#[test]
fn the_cookie_that_made_it_pass_is_named_though_another_is_an_anonymous_session() {
    let board = Board::start();
    let scene = board.behind(Setup::safe().route(with_probe));
    let cookies = format!("PHPSESSID={}", board.session(None));
    becomes_anonymous(&scene, "example.org", &cookies);
    let own = asks(&scene, "example.org", &format!("{cookies}; cart=5"));
    assert_eq!((own.detail().as_str(), told(&own, "cookie").as_deref()), ("pass-cookie", Some("cart")), "{own:?}");
    assert_eq!(told(&own, "rule").as_deref(), Some("board.toml:2"));
}

#[test]
fn a_url_that_ends_a_session_is_told_by_its_own_line() {
    let board = Board::start();
    let scene = board.behind(guarded());
    for (target, line) in [("/logout.php", "board.toml:7"), ("/login.php", "board.toml:3")] {
        let own = scene.client().get(target);
        assert_eq!((own.detail().as_str(), told(&own, "rule").as_deref()), ("pass-url", Some(line)), "{own:?}");
        let question = kasoku_engine::explain::Question::get(format!("http://example.org{target}"));
        let told = scene.engine.handle().explain(&question).unwrap();
        assert!(told.cache_status().contains(line), "{}", told.cache_status());
        assert!(told.points.iter().any(|point| point.source.contains(line)), "{target}");
    }
}

#[test]
fn a_page_whose_session_took_the_place_of_another_names_the_cookie() {
    let board = Board::start();
    let scene = board.behind(Setup::safe().route(with_probe));
    let cookies = format!("PHPSESSID={}", board.session(None));
    becomes_anonymous(&scene, "example.org", &cookies);
    // The links of the page contain the session that it opened. So the page is not stored, and Kasoku asks again with the
    // visitor's own session.
    let own = scene.client().get_with("/links.php", &[&format!("Cookie: {cookies}")]);
    assert_eq!(
        (own.detail().as_str(), told(&own, "cookie").as_deref()),
        ("pass-session", Some("PHPSESSID")),
        "{own:?}"
    );
    assert!(own.text().contains(cookies.as_str()));
}

#[test]
fn a_login_that_overlaps_with_a_logout_is_not_taken_for_anonymous() {
    let board = Board::start();
    let scene = board.behind(guarded());
    let cookies = format!("Cookie: PHPSESSID={}", board.session(Some("tom")));
    // The board has ended the session and its answer is held. Meanwhile a visitor logs in on the same session.
    let gate = kasoku_testkit::Gate::new();
    board.holds_next(&gate);
    let mut out = scene.client();
    out.ask("GET", "/logout.php", &[&cookies]);
    board.arrived(1);
    scene.client().send_body("POST", "/login_check.php", &[&cookies], "user=ann");
    gate.open();
    out.response();
    board.log_in(cookies.trim_start_matches("Cookie: PHPSESSID="), Some("ann"));
    assert!(is_for(&scene.client().get_with("/", &[&cookies]), "ann"));
    // A log-out without an overlap is believed.
    scene.client().get_with("/logout.php", &[&cookies]);
    assert!(is_for(&scene.client().get_with("/", &[&cookies]), "a guest"));
}

#[test]
fn an_answer_that_ends_a_session_is_kept_by_no_cache() {
    let board = Board::start();
    let scene = board.behind(guarded().route(|route| session(route).expire_after = Duration::from_secs(60)));
    let cookies = format!("PHPSESSID={}", board.session(None));
    assert!(!asks(&scene, "example.org", &cookies).has("set-cookie"));
    scene.advance(61);
    let ended = asks(&scene, "example.org", &cookies);
    assert!(ended.has("set-cookie") && ended.field("cache-control") == "private, no-store", "{ended:?}");
}

#[test]
fn the_version_that_a_visitor_has_chosen_is_the_one_from_memory() {
    let board = Board::start();
    let scene = board.behind(guarded().route(|route| {
        crate::anonymous::grant(route).key_device = true;
        route.device_urls.mobile = urls(&["*?device=mobile"]);
        route.device_urls.desktop = urls(&["*?device=pc"]);
    }));
    let desktop = "User-Agent: Firefox";
    let own = |fields: &[&str]| scene.client().get_with("/seen.php", fields).text();
    let for_desktop = own(&[desktop]);
    let chosen = scene.client().get_with("/?device=mobile", &[desktop]);
    assert_eq!(chosen.detail(), "pass-url", "{chosen:?}");
    let cookies: Vec<&str> = chosen.head.all("set-cookie").collect();
    assert!(cookies.contains(&"kasoku-device=mobile; Path=/; SameSite=Lax"), "{cookies:?}");
    for _ in 0..2 {
        let page = own(&[desktop, "Cookie: kasoku-device=mobile; _ga=1"]);
        assert!(page.contains("Mobile") && page != for_desktop, "{page}");
    }
    assert_eq!(board.count_of("/seen.php"), 2, "one for each version");
    let back = scene.client().get_with("/?device=pc", &[desktop, "Cookie: kasoku-device=mobile"]);
    assert!(back.head.all("set-cookie").any(|line| line.starts_with("kasoku-device=desktop")), "{back:?}");
    assert!(!scene.client().get("/?device=other").head.all("set-cookie").any(|line| line.starts_with("kasoku-device")));
}

#[test]
fn what_differs_by_a_class_of_devices_says_so() {
    let board = Board::start();
    let scene = board.behind(guarded().route(|route| crate::anonymous::grant(route).key_device = true));
    for _ in 0..2 {
        let page = scene.client().get("/");
        let vary: Vec<&str> = page.head.all("vary").collect();
        assert_eq!(vary, ["Cookie", "user-agent"], "{page:?}");
    }
}

#[test]
fn the_head_of_a_named_file_is_looked_through_as_well() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    let allow = |route: &mut Route| {
        of_a_board(route);
        crate::anonymous::grant(route).ignore.clear();
        Arc::make_mut(&mut route.sendfile).roots = vec![folder.path().to_owned()];
    };
    let id = "0123456789abcdef";
    let link = |of: &str| format!("Link: </next?PHPSESSID={of}>");
    let named = |link: &str| {
        let cookie = format!("Set-Cookie: PHPSESSID={id}");
        ok(&["X-Sendfile: a.txt", &cookie, link, "Cache-Control: max-age=60"], "")
    };
    let (leaks, harmless) = (named(&link(id)), named(&link("none")));
    let scene = Setup::safe().route(allow).run([
        get("/a").answers(&leaks),
        get("/a").answers(&leaks),
        get("/b").answers(&harmless),
    ]);
    for _ in 0..2 {
        let own = scene.client().get("/a");
        assert_eq!((own.text().as_str(), own.is_hit()), ("the file", false), "{own:?}");
        assert_eq!(own.field("set-cookie"), format!("PHPSESSID={id}"), "its link leads to its own session: {own:?}");
    }
    assert!(!scene.client().get("/b").has("set-cookie") && scene.client().get("/b").is_hit());
}

#[test]
fn what_is_held_has_a_place_in_memory_or_is_not_held() {
    let page = format!("{:x}\r\n{}\r\n0\r\n\r\n", 900_000, "x".repeat(900_000));
    let cookie = "Set-Cookie: PHPSESSID=0123456789abcdef\r\n";
    let chunked = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{cookie}\r\n{page}");
    let scene = guarded().options(|options| options.memory_bytes_max = 512 << 10).run([get("/").answers(chunked)]);
    let own = scene.client().get("/");
    assert_eq!((own.detail().as_str(), own.body.len()), ("cookie-value-unchecked", 900_000));
    assert!(own.has("set-cookie"));
    assert_eq!(scene.engine.cache().held_bytes(), 0, "given back");
}

#[test]
fn a_page_that_could_not_be_held_leaves_the_one_before_it_in_use() {
    let cookie = "Set-Cookie: PHPSESSID=0123456789abcdef\r\n";
    let body = |length: usize| format!("{length:x}\r\n{}\r\n0\r\n\r\n", "x".repeat(length));
    let page = |length| format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{cookie}\r\n{}", body(length));
    let setup = guarded().policy(|policy| policy.grace_seconds = 600);
    let setup = setup.options(|options| options.memory_bytes_max = 512 << 10);
    let scene = setup.run([get("/").answers(page(5)), get("/").answers(page(900_000)), get("/").answers(page(7))]);
    scene.client().get("/");
    scene.advance(61);
    assert!(scene.client().get("/").is_hit(), "stale, while the next one is fetched");
    scene.origin.done(2);
    scene.settled();
    let still = scene.client().get("/");
    assert_eq!((still.is_hit(), still.body.len()), (true, 5), "{still:?}");
    scene.advance(60);
    scene.client().get("/");
    scene.origin.done(3);
    scene.settled();
    assert_eq!(scene.client().get("/").body.len(), 7, "there is room again");
}

#[test]
fn parameters_that_programs_read_otherwise_pass_as_well() {
    let board = Board::start();
    let pass = |route: &mut Route| route.pass_urls = urls(&["*?act=dispMemberLoginForm", "*?rest_route"]);
    let scene = board.behind(guarded().route(pass));
    for (target, detail) in [
        ("/?+act=dispMemberLoginForm", "pass-url"),
        ("/?a=1;act=dispMemberLoginForm", "pass-url"),
        ("/?rest.route=/me", "pass-url"),
        ("/?+PHPSESSID=0123456789abcdef", "pass-credential-in-url"),
        ("/?a=1;sid=5", "pass-credential-in-url"),
        ("/?act=other", "uri-miss"),
    ] {
        assert_eq!(scene.client().get(target).detail(), detail, "{target}");
    }
}
