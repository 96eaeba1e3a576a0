//! A write drops the pages with the tags that it changes, if the answer says that it was done. If it may have been done, they become stale.

use crate::anonymous::application::{Application, Asked, Does};
use crate::anonymous::{grant, names, policy, urls};
use kasoku_cache::Purge;
use kasoku_engine::explain::Question;
use kasoku_engine::purge::{PurgeError, PurgeTarget};
use kasoku_metrics::Counter;
use kasoku_options::{
    AnswerStatus, ChangeProof, ChangeRule, ChangeRules, Credentials, Rewrite, Route, TagTemplate, UrlPattern,
};
use kasoku_testkit::{Gate, Response, Scenario, Setup, reply};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const FORM: &str = "Content-Type: application/x-www-form-urlencoded";

/// A board that numbers its answers, and does what the query says.
fn board() -> Application {
    let mut number = 0;
    let number = std::sync::Mutex::new(move || {
        number += 1;
        number
    });
    Application::start(move |asked: &Asked| {
        let number = number.lock().unwrap()();
        let (path, query) = asked.target().split_once('?').unwrap_or((asked.target(), ""));
        let to = |location: &str| Does::Answer(reply("302 Found", &[&format!("Location: {location}")], ""));
        match (path, query.split('&').find_map(|pair| pair.strip_prefix("does="))) {
            (_, Some("resets")) => Does::Reset,
            (_, Some("refuses")) => Does::Answer(reply("403 Forbidden", &[], "no")),
            (_, Some("fails")) => Does::Answer(reply("500 Internal Server Error", &[], "broken")),
            (_, Some("alerts")) => Does::Answer(reply("200 OK", &[], "alert")),
            (_, Some("login")) => to("/login.php?url=x"),
            (_, Some("moved")) => {
                let location = format!("Location: {path}/");
                Does::Answer(reply("301 Moved Permanently", &[&location], ""))
            }
            ("/comment.php" | "/delete.php", _) => to("http://elsewhere.example/board.php?b=free&id=5&&#c_6"),
            ("/write.php" | "/admin.php" | "/sure.php", _) => to("./board.php"),
            _ => Does::Answer(reply("200 OK", &["Content-Type: text/html"], format!("page {number}"))),
        }
    })
}

fn change(text: &str) -> ChangeRule {
    let (request, tags) = text.split_once(" => ").unwrap();
    let (request, answer) =
        request.strip_suffix(" 3xx").map_or((request, None), |rest| (rest, Some(AnswerStatus::Class(3))));
    let (method, url) = request.split_once(' ').map_or((None, request), |(method, url)| (Some(method), url));
    let tags: Vec<&str> = tags.split(' ').collect();
    ChangeRule {
        method: method.map(|method| method.parse().unwrap()),
        url: UrlPattern::parse(url).unwrap(),
        answer,
        proof: ChangeProof::default(),
        is_all: tags.contains(&"*"),
        tags: tags
            .iter()
            .filter(|tag| !["*", "-"].contains(*tag))
            .map(|tag| TagTemplate::parse(tag).unwrap())
            .collect(),
    }
}

fn rules(route: &mut Route) {
    grant(route).ttl_seconds = 60;
    policy(route).grace_seconds = 600;
    policy(route).tags.templates =
        ["board-{b}", "post-{b}-{id:digits}"].map(|text| TagTemplate::parse(text).unwrap()).to_vec();
    let list = [
        "POST /comment.php => post-{b}-{id:digits} front",
        "POST /write.php => board-{b}",
        "GET /delete.php => board-{b}",
        "/admin.php => *",
        "POST /sure.php 3xx => board-{b}",
    ];
    let list = list.map(change).to_vec();
    route.changes =
        Arc::new(ChangeRules { list, no_change_redirects: urls(&["*/login.php"]), ..ChangeRules::default() });
    route.gateway.rewrites = vec![Rewrite::parse("/{b:word}/{id:digits} => /board.php?b={b}&id={id}").unwrap()];
}

fn scene(board: &Application) -> Scenario {
    Setup::safe().route(rules).run_before(&board.address())
}

const LIST: &str = "/board.php?b=free";
const POST: &str = "/board.php?page=1&b=free&id=5";
const SHORT: &str = "/free/5";
const OTHER_POST: &str = "/board.php?b=free&id=6";
const OTHER_BOARD: &str = "/board.php?b=qa";
const PAGES: [&str; 5] = [LIST, POST, SHORT, OTHER_POST, OTHER_BOARD];

/// Stores all pages.
fn warm(scene: &Scenario) {
    for target in PAGES {
        scene.client().get(target);
        assert!(scene.client().get(target).is_hit(), "{target}");
    }
}

/// The pages that are still stored.
fn stored(scene: &Scenario) -> Vec<&'static str> {
    PAGES.into_iter().filter(|target| status(scene, target).contains("; hit")).collect()
}

/// Those that are not stale.
fn fresh(scene: &Scenario) -> Vec<&'static str> {
    PAGES.into_iter().filter(|target| status(scene, target).ends_with("; detail=hit")).collect()
}

/// What a request for that page would get.
fn status(scene: &Scenario, target: &str) -> String {
    let question = Question::get(format!("http://example.org{target}"));
    scene.engine.handle().explain(&question).unwrap().cache_status()
}

fn posts(scene: &Scenario, target: &str, form: &str) -> Response {
    scene.client().send_body("POST", target, &[FORM], form)
}

#[test]
fn what_was_changed_is_dropped_before_the_answer_goes_out() {
    let board = board();
    for (target, form, left) in [
        ("/comment.php", "b=free&id=5", &[LIST, OTHER_POST, OTHER_BOARD][..]),
        ("/comment.php?b=free", "id=5", &[LIST, OTHER_POST, OTHER_BOARD]),
        // The redirection names the page.
        ("/comment.php", "", &[LIST, OTHER_POST, OTHER_BOARD]),
        ("/write.php", "b=free", &[OTHER_BOARD]),
        ("/write.php", "b=FREE&b=qa", &[]),
        ("/admin.php?anything", "", &[]),
        // No tag is known that these requests change.
        ("/write.php", "", &PAGES),
        ("/other.php", "b=free&id=5", &PAGES),
    ] {
        let scene = scene(&board);
        warm(&scene);
        posts(&scene, target, form);
        assert_eq!(stored(&scene), left, "{target} {form}");
        for target in PAGES {
            let answer = scene.client().get(target);
            assert_eq!(answer.is_hit(), left.contains(&target), "{target}: {answer:?}");
            assert!(answer.is_hit() || answer.cache_status("fwd").as_deref() == Some("uri-miss"), "{answer:?}");
        }
    }
}

#[test]
fn a_tag_may_be_that_of_pages_without_a_text() {
    let board = Application::start(|asked: &Asked| {
        let is_last = asked.target().contains("id=6");
        let next = if is_last { "" } else { "<a class=\"next\" href=\"/next\">" };
        let coding: &[&str] = if asked.target().contains("id=7") { &["Content-Encoding: br"] } else { &[] };
        match asked.target().starts_with("/write.php") {
            true => Does::Answer(reply("302 Found", &["Location: /"], "")),
            false => Does::Answer(reply("200 OK", &[&["Content-Type: text/html"], coding].concat(), next)),
        }
    });
    let scene = Setup::safe()
        .route(|route| {
            rules(route);
            policy(route).tags.templates = ["board-{b}", "last-{b}{?id} unless class=\"next\""]
                .map(|text| TagTemplate::parse(text).unwrap())
                .to_vec();
            route.changes =
                Arc::new(ChangeRules { list: vec![change("/write.php => last-{b}")], ..ChangeRules::default() });
        })
        .run_before(&board.address());
    // The cache can't read a page in a content coding, so it may be the last one.
    let unread = "/board.php?b=free&id=7";
    for target in [LIST, POST, OTHER_POST, OTHER_BOARD, unread] {
        scene.client().get(target);
        assert!(scene.client().get(target).is_hit(), "{target}");
    }
    posts(&scene, "/write.php", "b=free");
    for (target, is_kept) in [(LIST, true), (POST, true), (OTHER_POST, false), (OTHER_BOARD, true), (unread, false)] {
        assert_eq!(scene.client().get(target).is_hit(), is_kept, "{target}");
    }
}

#[test]
fn the_page_to_which_a_log_in_redirects_is_kept() {
    let board = board();
    for (changes, is_kept) in [
        (&["POST /write.php => -"][..], true),
        (&[], false),
        (&["POST /write.php => -", "POST /write.php => x"], false),
    ] {
        let scene = Setup::safe()
            .route(|route| {
                rules(route);
                let list = changes.iter().map(|text| change(text)).collect();
                route.changes = Arc::new(ChangeRules { list, ..ChangeRules::default() });
            })
            .run_before(&board.address());
        scene.client().get("/board.php");
        posts(&scene, "/write.php", "user=tom");
        assert_eq!(scene.client().get("/board.php").is_hit(), is_kept, "{changes:?}");
    }
}

#[test]
fn a_get_that_changes_something_passes_and_drops() {
    let board = board();
    for method in ["GET", "HEAD"] {
        let scene = scene(&board);
        warm(&scene);
        let mut client = scene.client();
        client.ask(method, "/delete.php?b=free&id=5&token=x", &[]);
        let head = client.next_head();
        assert!(head.line.contains(" 302 "), "{head:?}");
        assert_eq!(stored(&scene), [OTHER_BOARD], "{method}");
        scene.counted(Counter::Changes, 1);
    }
    // A GET for a URL whose rule is for POST alone is looked up as usual.
    let scene = scene(&board);
    warm(&scene);
    assert_eq!(scene.client().get("/comment.php?b=free&id=5").detail(), "not-cacheable");
    assert_eq!(stored(&scene), PAGES);
}

/// Movable Type keeps results itself, and no write drops them: what is fetched just after a write is the old result.
#[test]
fn what_an_application_still_shows_after_a_change_is_dropped_again() {
    let board = board();
    let again = |route: &mut Route| {
        rules(route);
        Arc::make_mut(&mut route.changes).again = Duration::from_millis(100);
    };
    let scene = Setup::safe().route(again).run_before(&board.address());
    warm(&scene);
    posts(&scene, "/write.php", "b=free");
    assert_eq!(stored(&scene), [OTHER_BOARD]);
    warm(&scene);
    scene.eventually(|| stored(&scene) == [OTHER_BOARD]);
    // A request that is refused drops nothing, now or later.
    posts(&scene, "/write.php?does=refuses", "b=free");
    warm(&scene);
    assert_eq!(stored(&scene), PAGES);
}

#[test]
fn what_may_have_been_changed_is_stale_and_nobody_waits_for_it() {
    let board = board();
    for does in ["alerts", "fails", "resets"] {
        let scene = scene(&board);
        warm(&scene);
        let target = format!("/write.php?does={does}");
        posts(&scene, &target, "b=free");
        assert_eq!((stored(&scene), fresh(&scene)), (PAGES.to_vec(), vec![OTHER_BOARD]), "{does}");
        let refreshed = || {
            warm(&scene);
            fresh(&scene) == PAGES
        };
        scene.eventually(refreshed);
        // A tag is marked at most once a second, so these wait for the end of the second. The tags of the first change were marked once more
        // behind its answer, which counts as well.
        for _ in 0..5 {
            posts(&scene, &target, "b=free");
        }
        scene.eventually(|| fresh(&scene) == [OTHER_BOARD]);
        scene.eventually(refreshed);
        scene.counted(Counter::PossibleChanges, 6);
        scene.counted(Counter::Changes, 0);
    }
}

#[test]
fn a_flood_of_requests_that_prove_nothing_costs_no_hit() {
    let board = board();
    let scene = scene(&board);
    warm(&scene);
    for number in 0..40 {
        for does in ["alerts", "fails"] {
            posts(&scene, &format!("/write.php?does={does}"), "b=free");
            posts(&scene, &format!("/admin.php?does={does}"), "");
        }
        let target = PAGES[number % PAGES.len()];
        assert!(scene.client().get(target).is_hit(), "{target}");
    }
}

/// What a log-in cookie and an answer's field prove: the REST interface of WordPress names in `Allow` what its client may do.
#[test]
fn a_change_with_its_proof_drops_at_once_and_one_without_it_changes_nothing() {
    let application = Application::start(|asked| {
        if let Some(error) = asked.target().strip_prefix("/by-script?error=") {
            return Does::Answer(reply(
                "200 OK",
                &["Content-Type: application/json"],
                format!("{{\"error\":{error}}}"),
            ));
        }
        let allows = if asked.field("cookie") == Some("login=true") { "GET, POST, PUT" } else { "GET" };
        let status = if asked.target().contains("refused") { "401 Unauthorized" } else { "200 OK" };
        Does::Answer(reply(status, &[&format!("Allow: {allows}"), "Content-Type: text/html"], "page"))
    });
    let scene = Setup::safe()
        .route(|route| {
            rules(route);
            let proof = ChangeProof {
                from: Some(Credentials::Cookie("log*".to_owned())),
                with: Some(("allow".to_owned(), "*PUT*".to_owned())),
                saying: None,
            };
            let of = |credentials| ChangeProof { from: Some(credentials), ..ChangeProof::default() };
            let says = |text: &str| ChangeProof { saying: Some(text.to_owned()), ..ChangeProof::default() };
            let list = vec![
                ChangeRule { proof, ..change("/api => *") },
                ChangeRule { proof: of(Credentials::Authorization), ..change("/by-password => *") },
                ChangeRule { proof: says("\"error\":0"), ..change("/by-script => *") },
            ];
            route.changes = Arc::new(ChangeRules { list, ..ChangeRules::default() });
        })
        .run_before(&application.address());
    let sends = |target: &str, field: &str| {
        scene.client().send_body("PUT", target, &[field], "x");
        (stored(&scene).len(), fresh(&scene).len())
    };
    warm(&scene);
    for field in ["X-None: 1", "Cookie: login=forged", "Cookie: other=true", "Authorization: Basic eDp5"] {
        assert_eq!(sends("/api", field), (5, 5), "{field}");
    }
    assert_eq!(sends("/by-password?refused", "Authorization: Basic eDp5"), (5, 5));
    assert_eq!(sends("/by-password", "Cookie: login=true"), (5, 5));
    let refused = scene.client().send_body("PUT", "/by-script?error=-1", &[], "x");
    assert_eq!((refused.text().as_str(), fresh(&scene).len()), ("{\"error\":-1}", 5));
    scene.counted(Counter::PossibleChanges, 0);
    // Each one drops at once, however many there are in a second.
    let by_password = ("/by-password", "Authorization: Basic eDp5");
    for (target, field) in
        [("/api", "Cookie: login=true"); 3].into_iter().chain([by_password, ("/by-script?error=0", "X-None: 1")])
    {
        warm(&scene);
        assert_eq!(sends(target, field), (0, 0), "{target}");
    }
    scene.counted(Counter::Changes, 5);
}

/// PHP takes the last value, leaves out blanks before a name and ends it at a NUL; another program takes the first one.
#[test]
fn a_proof_with_a_parameter_of_several_values_drops_nothing() {
    let board = Application::start(|asked| match asked.target() {
        "/api" => Does::Answer(reply("200 OK", &["Content-Type: application/json"], "{\"error\":0}")),
        _ => Does::Answer(reply("200 OK", &["Content-Type: text/html"], "page")),
    });
    for (form, is_stored, is_fresh) in [
        ("b=free", false, false),
        ("b=free&b=free", false, false),
        ("b=qa&b=free", true, false),
        ("b=free&b=", true, false),
        ("b=free&+b=qa", true, false),
        ("b=free&b%00x=qa", true, false),
        ("b=free&%20b=", true, false),
        ("c=free", true, true),
    ] {
        let scene = Setup::safe()
            .route(|route| {
                rules(route);
                let proof = ChangeProof { saying: Some("\"error\":0".to_owned()), ..ChangeProof::default() };
                let list = vec![ChangeRule { proof, ..change("/api => board-{b}") }];
                route.changes = Arc::new(ChangeRules { list, ..ChangeRules::default() });
            })
            .run_before(&board.address());
        warm(&scene);
        assert_eq!(posts(&scene, "/api", form).text(), "{\"error\":0}");
        let is_there = |pages: Vec<&str>| pages.contains(&LIST);
        assert_eq!((is_there(stored(&scene)), is_there(fresh(&scene))), (is_stored, is_fresh), "{form}");
    }
}

#[test]
fn what_was_refused_has_changed_nothing() {
    let board = board();
    let scene = scene(&board);
    warm(&scene);
    for does in ["refuses", "login", "moved"] {
        posts(&scene, &format!("/write.php?does={does}"), "b=free");
        posts(&scene, &format!("/admin.php?does={does}"), "");
    }
    // A rule that takes only a redirection as a sign of success.
    for does in ["alerts", "fails", "resets", "login", "moved"] {
        posts(&scene, &format!("/sure.php?does={does}"), "b=free");
    }
    assert_eq!(stored(&scene), PAGES);
    scene.counted(Counter::PossibleChanges, 0);
    posts(&scene, "/sure.php", "b=free");
    assert_eq!(stored(&scene), [OTHER_BOARD]);
}

#[test]
fn what_was_asked_for_before_a_change_is_not_stored() {
    let board = board();
    let scene = scene(&board);
    let gate = Gate::new();
    board.holds_next(&gate);
    let (mut early, mut waiting) = (scene.client(), scene.client());
    early.ask("GET", POST, &[]);
    board.arrived(1);
    waiting.ask("GET", POST, &[]);
    posts(&scene, "/comment.php", "b=free&id=5");
    // This request does not join the fill that began before the write.
    let late = scene.client().get(POST).text();
    gate.open();
    let before = early.response().text();
    assert_eq!((waiting.response().text(), before != late), (before, true));
    assert_eq!(scene.client().get(POST).text(), late);
}

/// A board whose pages are all equal, and which can be made to fail.
fn board_that_goes_away() -> (Application, Arc<AtomicBool>) {
    let is_away = Arc::new(AtomicBool::new(false));
    let own = is_away.clone();
    let board = Application::start(move |asked: &Asked| match asked.target() {
        "/write.php" => Does::Answer(reply("302 Found", &["Location: ./board.php"], "")),
        _ if own.load(Ordering::SeqCst) => Does::Reset,
        _ => Does::Answer(reply("200 OK", &["Content-Type: text/html"], "page")),
    });
    (board, is_away)
}

#[test]
fn a_deleted_page_is_not_shown_even_while_the_application_is_away() {
    for is_written in [false, true] {
        let (board, is_away) = board_that_goes_away();
        let scene = scene(&board);
        scene.client().get(LIST);
        if is_written {
            posts(&scene, "/write.php", "b=free");
        }
        is_away.store(true, Ordering::SeqCst);
        scene.advance(601 + 61);
        let answer = scene.client().get(LIST);
        assert_eq!(answer.status, if is_written { 502 } else { 200 }, "{answer:?}");
    }
}

#[test]
fn what_is_deleted_while_it_is_validated_is_not_shown_when_that_fails() {
    for target in [Some("/write.php"), Some("soft"), None] {
        let (board, is_away) = board_that_goes_away();
        let scene = scene(&board);
        scene.client().get(LIST);
        scene.advance(601 + 61);
        let gate = Gate::new();
        board.holds_next(&gate);
        let mut waiting = scene.client();
        waiting.ask("GET", LIST, &[]);
        board.arrived(2);
        match target {
            Some("soft") => drop(scene.engine.handle().purge(&PurgeTarget::All, Purge::Soft).unwrap()),
            Some(target) => drop(posts(&scene, target, "b=free")),
            None => {}
        }
        is_away.store(true, Ordering::SeqCst);
        gate.open();
        let answer = waiting.response();
        assert_eq!(answer.status, if target == Some("/write.php") { 502 } else { 200 }, "{target:?} {answer:?}");
    }
}

fn multipart(fields: &[(&str, &str)], file_bytes: usize) -> String {
    let field = |(name, value): &(&str, &str)| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let fields: String = fields.iter().map(field).collect();
    let file = "x".repeat(file_bytes);
    format!("{fields}--b\r\nContent-Disposition: form-data; name=f; filename=a\r\n\r\n{file}\r\n--b--\r\n")
}

#[test]
fn forms_with_files_are_read_and_what_is_not_read_may_have_changed_anything() {
    let board = board();
    let sends = |media_type: &str, body: &str| {
        let scene = scene(&board);
        warm(&scene);
        scene.client().send_body("POST", "/write.php", &[&format!("Content-Type: {media_type}")], body);
        fresh(&scene)
    };
    let form = "multipart/form-data; boundary=b";
    assert_eq!(sends(form, &multipart(&[("b", "free")], 100)), [OTHER_BOARD]);
    assert_eq!(
        sends(form, &multipart(&[("b", "free")], 100_000)),
        [""; 0],
        "there may be another field behind the file"
    );
    assert_eq!(sends(form, "b=free"), [""; 0]);
    assert_eq!(sends("application/json", "{\"b\":\"free\"}"), [""; 0]);
    assert_eq!(sends("application/x-www-form-urlencoded; charset=utf-8", "b=free"), [OTHER_BOARD]);
    assert_eq!(sends("application/x-www-form-urlencoded", "b=fr.ee"), [""; 0], "the board is unknown");
    let long = format!("text={}&b=free", "x".repeat(70_000));
    assert_eq!(sends("application/x-www-form-urlencoded", &long), [""; 0]);
}

#[test]
fn a_page_whose_tags_are_unknown_passes() {
    let board = board();
    let scene = scene(&board);
    for target in ["/board.php?b=free&id=05", "/board.php?b=free&id=5%20", "/board.php?b=fr.ee", "/free/05"] {
        for _ in 0..2 {
            assert_eq!(scene.client().get(target).detail(), "pass-tag-value", "{target}");
        }
    }
}

#[test]
fn explain_says_which_tags_a_page_has_and_what_a_request_changes() {
    let board = board();
    let scene = scene(&board);
    let explained = |method: &str, target: &str| {
        let question = Question { method: method.to_owned(), ..Question::get(format!("http://example.org{target}")) };
        scene.engine.handle().explain(&question).unwrap()
    };
    let page = explained("GET", "/free/5");
    assert_eq!(page.stands_for.as_deref(), Some("/board.php?b=free&id=5"));
    assert_eq!((page.tags, page.changes), (names(&["board-free", "post-free-5"]), None));
    let question = |method: &str| Question {
        method: method.to_owned(),
        fields: vec!["Cookie: session=a".to_owned()],
        ..Question::get("http://example.org/free/5")
    };
    let of_somebody = |method: &str| scene.engine.handle().explain(&question(method)).unwrap().tags;
    let tags = names(&["board-free", "post-free-5"]);
    assert_eq!((of_somebody("GET"), of_somebody("POST")), (tags, vec![]), "what others get is stored under them");
    let delete = explained("GET", "/delete.php?b=free");
    assert_eq!((delete.tags, delete.changes), (vec![], Some(names(&["board-free"]))));
    assert!(delete.points.iter().any(|point| point.source.starts_with("changes")), "{:?}", delete.points);
    assert_eq!(explained("POST", "/write.php").changes, Some(vec![]));
    assert_eq!(explained("POST", "/admin.php").changes, Some(names(&["*"])));
}

#[test]
fn an_operator_purges_by_tag_and_a_plugin_too() {
    let board = board();
    let scene = scene(&board);
    let purge = |tags: &[&str], host: Option<&str>, purge| {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        scene.engine.handle().purge(&PurgeTarget::Tags(tags, host.map(str::to_owned)), purge)
    };
    warm(&scene);
    purge(&["Post-free-5"], None, Purge::Hard).unwrap();
    assert_eq!(stored(&scene), [LIST, OTHER_POST, OTHER_BOARD]);
    assert_eq!(scene.client().get(POST).detail(), "purged");
    warm(&scene);
    purge(&["board-free"], Some("example.org"), Purge::Soft).unwrap();
    let stale = scene.client().get(LIST);
    assert_eq!(stale.detail(), "hit-stale-while-revalidate", "{stale:?}");
    warm(&scene);
    let own = scene.client().get_with("/", &[]);
    assert_eq!(own.status, 200);
    let mut client = scene.client();
    client.ask("PURGE", "/", &["Surrogate-Key: board-qa post-free-6"]);
    assert_eq!(client.response().text().trim(), "Purged all responses with one of the tags board-qa post-free-6");
    assert_eq!(stored(&scene), [LIST, POST, SHORT]);
    warm(&scene);
    // A plugin must not believe that pages are purged that are not.
    for (method, field) in [
        ("PURGE", "Surrogate-Key: board-qa node-7"),
        ("PURGE", "Xkey-Purge: cat_p_5"),
        ("PURGE", "X-Magento-Tags-Pattern: ((^|,)board-qa(,|$))"),
        ("PURGE", "Cache-Tags: post-free-06"),
        ("PURGE", "Cache-Tags: ,"),
        ("PURGE", "X-Ban-Url: .*"),
        ("BAN", "X-Cache-Tags: (^|,)(board-qa)(,|$)"),
        ("BAN", "X-Url: .*"),
    ] {
        let refused = client.ask(method, "/", &[field]).response();
        assert_eq!(refused.status, 501, "{field}");
        assert!(refused.text().starts_with("Nothing was purged: "), "{}", refused.text());
    }
    assert!(stored(&scene).contains(&OTHER_BOARD));
    for (method, field, tag, gone) in [
        ("BAN", "Cache-Tags: board-qa", "board-qa", OTHER_BOARD),
        ("PURGE", "Xkey-Purge: post-free-6", "post-free-6", OTHER_POST),
    ] {
        let purged = client.ask(method, "/", &[field]).response();
        assert_eq!(purged.short(), (200, format!("Purged all responses with one of the tags {tag}\n")), "{field}");
        assert!(!stored(&scene).contains(&gone), "{field}");
    }
    assert!(matches!(purge(&["node-7"], None, Purge::Hard), Err(PurgeError::UnknownTag(_))));
    assert!(matches!(purge(&[""], None, Purge::Hard), Err(PurgeError::Scope(_))));
    let untagged = Setup::safe().run_before(&board.address());
    let tags = PurgeTarget::Tags(vec!["a".to_owned()], None);
    assert_eq!(untagged.engine.handle().purge(&tags, Purge::Hard), Err(PurgeError::NoTags));
}
