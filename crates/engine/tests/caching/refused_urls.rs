//! URLs that the configuration refuses: the cache answers 403 and never asks the origin, even if a response is stored and in any
//! spelling of the URL.

use kasoku_engine::explain::{Explanation, Question, Side, Tips};
use kasoku_metrics::Counter;
use kasoku_options::{Options, Route, SettingLocations, UrlPattern};
use kasoku_testkit::application::prints;
use kasoku_testkit::{Application, Folder, Scenario, Setup, get, head, ok, post};
use std::sync::Arc;

const FRESH: &[&str] = &["Cache-Control: max-age=60"];

fn urls(patterns: &[&str]) -> Vec<UrlPattern> {
    patterns.iter().map(|text| UrlPattern::parse(text).unwrap()).collect()
}

/// A route that refuses these URLs, as if the setting stood in line 7 of a file.
fn refusing(route: &mut Route, patterns: &[&str]) {
    route.refuse_urls = urls(patterns);
    route.places =
        SettingLocations { settings: [("refuse-urls", "kasoku.toml:7".into())].into(), ..SettingLocations::default() };
}

/// The header that says which line refused the request.
const TOLD: &str = "kasoku; detail=refused-url; rule=\"kasoku.toml:7\"";

#[test]
fn a_refused_url_is_403_for_each_method_and_spelling_and_no_origin_is_asked() {
    let scene = Setup::safe()
        .route(|route| refusing(route, &["/data/*.php*", "*?cmd"]))
        .run([get("/data/a.jpg").answers(ok(FRESH, "a picture"))]);
    let mut client = scene.client();
    for target in [
        "/data/x.php",
        "/data/file/x.php/y",
        "/%64ata/x.php",
        "/data/x.%70hp",
        "//data/./x.php",
        "/a/..%2fdata/x.php",
        "/?cmd=id",
        "/?a&%63md=id",
        "http://example.org/data/x.php",
    ] {
        let refused = client.get(target);
        assert_eq!((refused.status, refused.field("cache-status").as_str()), (403, TOLD), "{target}");
    }
    for method in ["HEAD", "OPTIONS", "DELETE", "PROPFIND"] {
        client.ask(method, "/data/x.php", &[]);
        let refused = if method == "HEAD" { client.response_to_head() } else { client.response() };
        assert_eq!(refused.status, 403, "{method}");
    }
    // The connection stays open, and URLs that are not refused are served.
    assert_eq!(client.get("/data/a.jpg").short(), (200, "a picture".to_owned()));
    assert_eq!(scene.origin.count(), 1);
}

#[test]
fn the_body_of_a_refused_request_is_not_waited_for() {
    let scene = Setup::safe().route(|route| refusing(route, &["/upload"])).run([]);
    let mut client = scene.client();
    client.ask("POST", "/upload", &["Content-Length: 1000000"]);
    let refused = client.response();
    assert_eq!((refused.status, refused.field("connection").as_str()), (403, "close"));
    assert_eq!(scene.client().send_body("POST", "/upload", &[], "x").status, 403);
}

#[test]
fn what_is_stored_of_a_url_is_not_served_once_that_is_refused_and_can_still_be_purged() {
    let mut scene = Scenario::safe([get("/a").answers(ok(FRESH, "old")), get("/a").answers(ok(FRESH, "new"))]);
    let mut client = scene.client();
    client.get("/a");
    let change = |options: &mut Options, patterns: &[&str]| {
        options.sites.iter_mut().for_each(|site| refusing(Arc::make_mut(&mut site.route), patterns));
    };
    let mut options = Options::clone(&scene.engine.handle().options());
    change(&mut options, &["/a"]);
    scene.engine.reload(options.clone()).unwrap();
    assert_eq!(client.get("/a").status, 403);
    assert_eq!(client.ask("PURGE", "/a", &[]).response().status, 200);
    change(&mut options, &[]);
    scene.engine.reload(options).unwrap();
    assert_eq!(client.get("/a").text(), "new");
}

#[test]
fn a_refusal_is_counted_as_an_error_of_our_own() {
    let scene = Setup::safe().route(|route| refusing(route, &["/a"])).run([head("/b").answers(ok(&[], ""))]);
    let mut client = scene.client();
    client.get("/a");
    client.head("/b", &[]);
    scene.counted(Counter::Requests, 2);
    assert_eq!(scene.engine.metrics().total(Counter::Errors), 1);
}

#[test]
fn a_rule_has_a_list_of_its_own() {
    let scene = Setup::safe()
        .route(|route| refusing(route, &["*.sql"]))
        .rule("/dumps/*", |route| route.refuse_urls.clear())
        .rule("/form/*", |route| route.refuse_urls = urls(&["*?debug"]))
        .run([get("/dumps/a.sql").answers(ok(&[], "dump")), post("/form/a").answers(ok(&[], "sent"))]);
    let mut client = scene.client();
    assert_eq!(client.get("/a.sql").status, 403);
    assert_eq!(client.get("/dumps/a.sql").text(), "dump");
    assert_eq!(client.get("/dumps/../a.sql").status, 403, "applications read it as /a.sql");
    assert_eq!(client.send_body("POST", "/form/a", &[], "x").text(), "sent");
    assert_eq!(client.send_body("POST", "/form/a?debug=1", &[], "x").status, 403);
}

#[test]
fn files_and_scripts_are_refused_as_well_and_no_program_leads_there() {
    let folder = Folder::new();
    folder.write("a.php", "");
    folder.write("secret.txt", "secret");
    let application = Application::fastcgi([prints("Location: /s%65cret.txt\n\n"), prints("Location: /b.txt\n\n")]);
    let scene = Setup::safe()
        .site(&[], |route| {
            route.origins = vec![application.address()];
            route.gateway.root = Some(folder.path().to_owned());
            refusing(route, &["/secret*"]);
        })
        .run_with_own_origins();
    let mut client = scene.client();
    assert_eq!(client.get("/secret.txt").status, 403);
    assert_eq!(client.get("/a.php").status, 403, "the program has led to it");
    folder.write("b.txt", "open to all");
    assert_eq!(client.get("/a.php").text(), "open to all");
}

fn explain(scene: &Scenario, target: &str) -> Explanation {
    scene.engine.handle().explain(&Question::get(format!("http://example.org{target}"))).unwrap()
}

#[test]
fn explain_says_what_happens_and_names_the_line() {
    let scene = Setup::safe().route(|route| refusing(route, &["*?key=*"])).run([]);
    let explained = explain(&scene, "/a?key=hunter2");
    assert_eq!(explained.cache_status(), TOLD);
    assert_eq!(scene.client().get("/a?key=hunter2").field("cache-status"), TOLD);
    assert_eq!(explained.outcome.kind(), "refused");
    let [point] = &explained.points[..] else { unreachable!("{:?}", explained.points) };
    let told = (point.part, point.line.as_str(), point.side, point.source.as_str(), point.reason);
    let expected = ("configuration", "/a?key=***", Side::Against, "refuse-urls (kasoku.toml:7)", Some("refused-url"));
    assert_eq!(told, expected);
    assert_eq!(explained.tips, Tips::Nothing("the configuration refuses this URL"));
    assert_ne!(explain(&scene, "/a").outcome.kind(), "refused");
}
