//! The states of a session: unknown, anonymous, a known visitor's, and unknown again. `probing.rs` is about how a state is found
//! out, `ending.rs` about how a session ends.

use crate::anonymous::board::Board;
use crate::anonymous::{is_anonymous, is_found_anonymous, session, stateful, told, with_probe};
use kasoku_testkit::{Client, Gate, Response, Scenario, Setup};

pub(super) fn asks(scene: &Scenario, cookies: &str) -> Response {
    scene.client().get_with("/", &[&format!("Cookie: {cookies}")])
}

pub(super) fn is_for(response: &Response, who: &str) -> bool {
    response.text().starts_with(&format!("This is for {who}."))
}

pub(super) fn probing() -> Setup {
    Setup::safe().route(with_probe)
}

/// A session that is known to be anonymous.
pub(super) fn anonymous(board: &Board, scene: &Scenario) -> String {
    let cookies = format!("PHPSESSID={}", board.session(None));
    asks(scene, &cookies);
    is_found_anonymous(scene, &cookies);
    cookies
}

/// Checks that the request passes, and that the board takes its session for `who`.
#[track_caller]
pub(super) fn is_known_as(scene: &Scenario, cookies: &str, who: &str) {
    let own = asks(scene, cookies);
    assert!(is_for(&own, who) && own.detail() == "pass-session", "{own:?}");
    assert_eq!(
        (told(&own, "cookie").as_deref(), told(&own, "rule").as_deref()),
        (Some("PHPSESSID"), Some("board.toml:4"))
    );
}

#[test]
fn a_session_passes_is_asked_about_and_gets_what_everybody_gets() {
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = format!("PHPSESSID={}", board.session(None));
    is_known_as(&scene, &cookies, "a guest");
    is_found_anonymous(&scene, &cookies);
    let page = asks(&scene, &cookies);
    assert_eq!((page.detail().as_str(), page.cache_status("session").as_deref()), ("uri-miss", Some("anonymous")));
    assert_eq!(board.last("/").field("cookie"), None, "anonymously");
    assert!(asks(&scene, &cookies).is_hit() && scene.client().get("/").is_hit());
    assert_eq!(board.count_of("/login.php"), 1);
}

#[test]
fn what_was_found_is_void_after_its_time() {
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = anonymous(&board, &scene);
    board.log_in(cookies.trim_start_matches("PHPSESSID="), Some("tom"));
    scene.advance(299);
    assert!(is_anonymous(&scene, &cookies));
    scene.advance(1);
    assert!(!is_anonymous(&scene, &cookies));
    is_known_as(&scene, &cookies, "tom");
}

#[test]
fn a_login_by_post_is_known_at_once() {
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = anonymous(&board, &scene);
    assert!(is_for(&asks(&scene, &cookies), "a guest"));
    let posted = scene.client().send_body("POST", "/login_check.php", &[&format!("Cookie: {cookies}")], "user=tom");
    assert_eq!((posted.status, posted.detail().as_str()), (302, "method"));
    for _ in 0..3 {
        is_known_as(&scene, &cookies, "tom");
    }
    assert!(is_for(&scene.client().get("/"), "a guest"));
}

#[test]
fn any_unsafe_method_and_any_body_makes_a_session_unknown() {
    for method in ["POST", "PUT", "PATCH", "DELETE", "FROBNICATE", "OPTIONS"] {
        let board = Board::start();
        let scene = board.behind(probing());
        let cookies = anonymous(&board, &scene);
        board.log_in(cookies.trim_start_matches("PHPSESSID="), Some("tom"));
        scene.client().send_body(method, "/other.php", &[&format!("Cookie: {cookies}")], "x");
        is_known_as(&scene, &cookies, "tom");
    }
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = anonymous(&board, &scene);
    board.log_in(cookies.trim_start_matches("PHPSESSID="), Some("tom"));
    scene.client().send_body("GET", "/other.php", &[&format!("Cookie: {cookies}")], "x");
    is_known_as(&scene, &cookies, "tom");
}

#[test]
fn authorization_beside_an_anonymous_session_passes_and_makes_it_unknown() {
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = anonymous(&board, &scene);
    // The header alone may have logged the session in.
    board.log_in(cookies.trim_start_matches("PHPSESSID="), Some("tom"));
    let fields = [&*format!("Cookie: {cookies}"), "Authorization: Basic dG9tOng="];
    assert_eq!(scene.client().get_with("/", &fields).detail(), "pass-authorization");
    is_known_as(&scene, &cookies, "tom");
}

#[test]
fn while_a_login_is_on_its_way_its_session_is_not_anonymous() {
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = anonymous(&board, &scene);
    let field = format!("Cookie: {cookies}");
    assert!(is_for(&asks(&scene, &cookies), "a guest") && asks(&scene, &cookies).is_hit());
    let gate = Gate::new();
    board.holds_next(&gate);
    let mut visitor = scene.client();
    let count = board.count();
    visitor.ask("POST", "/login_check.php", &[&field, "Content-Length: 8"]).send("user=tom");
    board.arrived(count + 1);
    is_known_as(&scene, &cookies, "a guest");
    gate.open();
    visitor.response();
    is_known_as(&scene, &cookies, "tom");
}

#[test]
fn two_sessions_are_two_visitors() {
    let board = Board::start();
    let scene = board.behind(probing());
    let nobodys = anonymous(&board, &scene);
    let toms = format!("PHPSESSID={}", board.session(Some("tom")));
    let anns = format!("PHPSESSID={}", board.session(Some("ann")));
    for _ in 0..3 {
        is_known_as(&scene, &toms, "tom");
        assert!(is_for(&asks(&scene, &nobodys), "a guest"));
        is_known_as(&scene, &anns, "ann");
    }
    // Both cookies in one request are a third session.
    let id = nobodys.trim_start_matches("PHPSESSID=");
    let both = asks(&scene, &format!("{nobodys}; G5PHPSESSID={id}"));
    assert_eq!(both.detail(), "pass-session");
    // A write of one session changes nothing for the others.
    scene.client().send_body("POST", "/write.php", &[&format!("Cookie: {toms}")], "x");
    assert!(is_anonymous(&scene, &nobodys));
}

#[test]
fn visitors_who_share_a_connection_share_nothing_else() {
    let board = Board::start();
    let scene = board.behind(probing());
    let nobodys = anonymous(&board, &scene);
    let members = [Some("tom"), Some("ann")].map(|who| format!("PHPSESSID={}", board.session(who)));
    let expected =
        [("a guest", ""), ("tom", &members[0]), ("ann", &members[1]), ("a guest", &nobodys), ("tom", &members[0])];
    // A proxy in front of Kasoku sends all of them over one connection: one after the other, and all at once.
    let mut proxy = scene.client();
    for is_pipelined in [false, true, false] {
        if is_pipelined {
            for (_, cookies) in expected {
                proxy.ask("GET", "/", &[&format!("Cookie: {cookies}")]);
            }
        }
        for (who, cookies) in expected {
            if !is_pipelined {
                proxy.ask("GET", "/", &[&format!("Cookie: {cookies}")]);
            }
            let page = proxy.response();
            assert!(is_for(&page, who) && !page.has("set-cookie"), "{who}: {page:?}");
            assert_eq!(page.cache_status("session").is_some(), cookies == nobodys, "{page:?}");
        }
    }
}

#[test]
fn what_is_found_of_a_session_holds_at_its_host_and_what_it_does_at_all() {
    use kasoku_options::HostPattern;
    let board = Board::start();
    let address = board.address();
    let host = |name: &str| [HostPattern::Exact(name.to_owned())];
    let setup = probing().route(|route| route.origins = vec![address.into()]);
    let scene = setup.site(&host("example.org"), |_| {}).site(&host("other.org"), |_| {}).run_with_own_origins();
    let cookies = anonymous(&board, &scene);
    let field = format!("Cookie: {cookies}");
    let there = [&*field, "Host: other.org"];
    assert_eq!(scene.client().get_with("/", &there).detail(), "pass-session");
    scene.eventually(|| asks(&scene, &cookies).cache_status("session").is_some());
    // But it may be the same session, so a log-in at either host counts.
    scene.client().send_body("POST", "/login_check.php", &there, "user=tom");
    is_known_as(&scene, &cookies, "tom");
}

#[test]
fn a_page_that_holds_a_session_is_made_for_the_one_that_its_visitor_has() {
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = anonymous(&board, &scene);
    for _ in 0..2 {
        let page = scene.client().get_with("/links.php", &[&format!("Cookie: {cookies}")]);
        assert!(
            page.text().contains(&cookies) && !page.has("set-cookie"),
            "it keeps the session that it has: {page:?}"
        );
    }
    assert!(scene.client().get("/links.php").has("set-cookie"));
}

#[test]
fn what_a_guest_has_done_shows_for_a_while() {
    let board = Board::start();
    let scene = board
        .behind(probing().route(|route| session(route).stateful_urls = stateful(&[("/password_check.php", None)])));
    let cookies = anonymous(&board, &scene);
    scene.client().send_body("POST", "/password_check.php", &[&format!("Cookie: {cookies}")], "x");
    for _ in 0..3 {
        is_known_as(&scene, &cookies, "a guest");
        scene.settled();
        scene.advance(199);
    }
    assert_eq!(board.count_of("/login.php"), 1, "no probe asks about it meanwhile");
    scene.advance(3);
    is_known_as(&scene, &cookies, "a guest");
    is_found_anonymous(&scene, &cookies);
}

#[test]
fn what_one_worker_has_found_all_know() {
    let board = Board::start();
    let scene = board.behind(probing().options(|options| options.workers = 2));
    let cookies = format!("PHPSESSID={}", board.session(None));
    asks(&scene, &cookies);
    is_found_anonymous(&scene, &cookies);
    let count = board.count_of("/");
    // Connections of both workers: none of the requests passes.
    let mut clients: Vec<Client> = (0..8).map(|_| scene.client()).collect();
    for client in &mut clients {
        let page = client.get_with("/", &[&format!("Cookie: {cookies}")]);
        assert_eq!(page.cache_status("session").as_deref(), Some("anonymous"), "{page:?}");
    }
    assert_eq!(board.count_of("/"), count + 1);
    clients[0].send_body("POST", "/login_check.php", &[&format!("Cookie: {cookies}")], "user=tom");
    for client in &mut clients {
        assert!(is_for(&client.get_with("/", &[&format!("Cookie: {cookies}")]), "tom"));
    }
}
