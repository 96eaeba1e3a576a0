//! What ends a stored decision (an answer that names a file): changes of the file, purges, reloads, and later answers of the
//! application.

use crate::sendfile::allow;
use kasoku_cache::Purge;
use kasoku_options::Options;
use kasoku_testkit::{Exchange, Folder, Gate, Response, Scenario, Setup, get, head, ok, on, reply};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

const FRESH: &str = "Cache-Control: max-age=60";
const NAMED: &str = "X-Sendfile: a.txt";

fn serve(folder: &Folder, script: impl IntoIterator<Item = Exchange>) -> Scenario {
    Setup::safe().route(|route| allow(folder, route)).run(script)
}

type Change<'c> = &'c dyn Fn(&Folder);

/// A decision is stored, then `happens` runs. Returns the answer to the next request, for which the application would send
/// `answer`.
fn then(folder: &Folder, answer: Vec<u8>, happens: impl FnOnce(&mut Scenario)) -> Response {
    folder.write("a.txt", "the file");
    let mut scene = serve(folder, [get("/").answers(ok(&[NAMED, FRESH], ""))]);
    let mut client = scene.client();
    client.get("/");
    assert_eq!((client.get("/").text().as_str(), client.get("/").is_hit()), ("the file", true));
    happens(&mut scene);
    scene.origin.then(get("/").answers(answer));
    let response = client.get("/");
    assert!(!response.is_hit(), "{response:?}");
    response
}

/// Writes other bytes of the same length into a file, and restores its modification time.
fn change_in_place(path: &Path) {
    let before = fs::metadata(path).unwrap();
    // Older kernels write the same time for two changes within a tick of their clock.
    while fs::metadata(path).unwrap().ctime_nsec() == before.ctime_nsec() {
        fs::write(path, "not this").unwrap();
        fs::File::options().write(true).open(path).unwrap().set_modified(before.modified().unwrap()).unwrap();
    }
    let after = fs::metadata(path).unwrap();
    assert_eq!((after.len(), after.modified().unwrap()), (before.len(), before.modified().unwrap()));
}

#[test]
fn a_file_that_is_another_one_is_another_question() {
    let folder = Folder::new();
    let replaced = |folder: &Folder| {
        folder.write("new.txt", "new file");
        fs::rename(folder.join("new.txt"), folder.join("a.txt")).unwrap();
    };
    let grown = |folder: &Folder| drop(folder.write("a.txt", "the file and more"));
    let in_place = |folder: &Folder| change_in_place(&folder.join("a.txt"));
    let changes: [(Change<'_>, &str); 3] =
        [(&replaced, "new file"), (&grown, "the file and more"), (&in_place, "not this")];
    for (change, text) in changes {
        // The application must decide whether all clients may have the new file as well.
        let refused = then(&folder, reply("403 Forbidden", &[], "not this one"), |_| change(&folder));
        assert_eq!(
            (refused.short(), refused.cache_status("fwd").as_deref()),
            ((403, "not this one".to_owned()), Some("uri-miss"))
        );
        let allowed = then(&folder, ok(&[NAMED, FRESH], ""), |_| change(&folder));
        assert_eq!((allowed.text().as_str(), allowed.detail().as_str()), (text, "sendfile-changed"));
        assert_eq!(allowed.cache_status("stored").as_deref(), Some(""));
    }
}

#[test]
fn a_file_that_is_gone_or_may_not_be_sent_any_more_is_the_application_s_matter() {
    let folder = Folder::new();
    let page = || ok(&["Cache-Control: private"], "it is gone");
    let gone = || fs::remove_file(folder.join("a.txt")).unwrap();
    assert_eq!(then(&folder, page(), |_| gone()).text(), "it is gone");
    let directory = || {
        gone();
        fs::create_dir(folder.join("a.txt")).unwrap();
    };
    assert_eq!(then(&folder, page(), |_| directory()).text(), "it is gone");
    fs::remove_dir(folder.join("a.txt")).unwrap();
    // If the application still names the file, the client gets the usual 404.
    let missing = then(&folder, ok(&[NAMED, FRESH], ""), |_| gone());
    assert_eq!((missing.status, missing.detail().as_str()), (404, "sendfile-missing"));
}

#[test]
fn who_asks_at_once_when_a_file_has_changed_asks_once() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    let gate = Gate::new();
    let named = ok(&[NAMED, FRESH], "");
    let scene = serve(&folder, [get("/").answers(&named), get("/").answers("").waits(&gate).sends(&named)]);
    scene.client().get("/");
    folder.write("a.txt", "the other file");
    let mut clients: Vec<_> = (0..3).map(|_| scene.client()).collect();
    for client in &mut clients {
        client.ask("GET", "/", &[]);
        scene.origin.arrived(2);
    }
    scene.settled();
    gate.open();
    for client in &mut clients {
        assert_eq!(client.response().text(), "the other file");
    }
}

#[test]
fn a_purge_and_a_change_by_the_application_end_it() {
    let folder = Folder::new();
    let page = || ok(&["Cache-Control: private"], "asked");
    let purged = |scene: &mut Scenario| assert_eq!(scene.client().ask("PURGE", "/", &[]).response().status, 200);
    assert_eq!(then(&folder, page(), purged).text(), "asked");
    let all = |scene: &mut Scenario| {
        let handle = scene.engine.handle();
        handle
            .purge(&kasoku_engine::purge::PurgeTarget::Prefix("http://example.org/".to_owned()), Purge::Hard)
            .unwrap();
    };
    let response = then(&folder, page(), all);
    assert_eq!(response.text(), "asked");
    let posted = |scene: &mut Scenario| {
        scene.origin.then(on("POST", "/").answers(ok(&[], "done")));
        assert_eq!(scene.client().send_body("POST", "/", &[], "a=b").text(), "done");
    };
    assert_eq!(then(&folder, page(), posted).text(), "asked");
}

#[test]
fn what_is_purged_while_it_is_asked_for_is_sent_and_not_stored() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    let gate = Gate::new();
    let named = ok(&[NAMED, FRESH], "");
    let page = ok(&["Cache-Control: private"], "asked");
    let scene = serve(&folder, [get("/").answers("").waits(&gate).sends(named), get("/").answers(page)]);
    let (mut first, mut second) = (scene.client(), scene.client());
    first.ask("GET", "/", &[]);
    scene.origin.arrived(1);
    second.ask("GET", "/", &[]);
    scene.settled();
    scene.client().ask("PURGE", "/", &[]).response();
    gate.open();
    let sent = first.response();
    assert_eq!((sent.text().as_str(), sent.cache_status("stored")), ("the file", None));
    assert_eq!(second.response().text(), "the file");
    assert_eq!(scene.client().get("/").text(), "asked");
}

#[test]
fn what_is_set_up_now_counts_not_what_was_set_up_then() {
    let folder = Folder::new();
    let other = Folder::new();
    other.write("a.txt", "the file");
    let reload = |scene: &mut Scenario, roots: Vec<std::path::PathBuf>| {
        let mut options = Options::clone(&scene.engine.handle().options());
        let route = Arc::make_mut(&mut options.sites[0].route);
        Arc::make_mut(&mut route.sendfile).roots = roots;
        scene.engine.reload(options).unwrap();
    };
    let off = then(&folder, ok(&[NAMED, FRESH], ""), |scene| reload(scene, Vec::new()));
    assert_eq!((off.status, off.detail().as_str()), (502, "sendfile-off"));
    let page = || ok(&["Cache-Control: private"], "asked");
    let elsewhere = then(&folder, page(), |scene| reload(scene, vec![other.path().to_owned()]));
    assert_eq!(elsewhere.text(), "asked");
}

#[test]
fn a_decision_is_confirmed_by_the_application_s_own_validators() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    let own = "ETag: \"own\"";
    let confirmed = |fields: &[&str]| get("/").answers(reply("304 Not Modified", fields, ""));
    let scene = serve(
        &folder,
        [
            get("/").answers(ok(&[NAMED, FRESH, own], "")),
            confirmed(&["Cache-Control: max-age=100"]),
            confirmed(&["X-Accel-Expires: 200", "X-Sendfile: a.txt"]),
            confirmed(&["Cache-Control: public", "X-Accel-Expires: x"]),
            get("/").answers(ok(&["Cache-Control: private"], "asked")),
        ],
    );
    let mut client = scene.client();
    client.get("/");
    for (number, lifetime) in [(1, 100), (2, 200)] {
        scene.advance(250);
        let confirmed = client.get_with("/", &["If-None-Match: \"client's\""]);
        assert_eq!((confirmed.text().as_str(), confirmed.detail().as_str()), ("the file", "revalidated"));
        assert_eq!(scene.origin.request(number).field("if-none-match").as_deref(), Some("\"own\""));
        assert!(!confirmed.has("x-accel-expires") && !confirmed.has("age"), "{confirmed:?}");
        scene.advance(lifetime - 1);
        assert!(client.get("/").is_hit(), "{lifetime}");
    }
    // A 304 that states no lifetime holds for its own request only.
    scene.advance(250);
    let once = client.get("/");
    assert_eq!((once.text().as_str(), once.detail().as_str()), ("the file", "sendfile"));
    assert_eq!(client.get("/").text(), "asked");
}

#[test]
fn a_file_s_validators_are_none_of_the_decision() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    let named = ok(&[NAMED, FRESH], "");
    let scene = serve(&folder, [get("/").answers(&named), get("/").answers(&named)]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(60);
    assert_eq!(client.get("/").detail(), "stale");
    let asked = scene.origin.request(1);
    assert_eq!((asked.field("if-none-match"), asked.field("if-modified-since")), (None, None));
    assert!(client.get("/").is_hit());
}

#[test]
fn what_is_confirmed_while_the_file_has_changed_is_asked_for_anew() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    let own = "ETag: \"own\"";
    let script = [
        get("/").answers(ok(&[NAMED, FRESH, own], "")),
        get("/").answers(reply("304 Not Modified", &[own], "")),
        get("/").answers(ok(&[NAMED, FRESH, own], "")),
    ];
    let scene = serve(&folder, script);
    let mut client = scene.client();
    client.get("/");
    scene.advance(60);
    folder.write("a.txt", "the other file");
    let response = client.get("/");
    assert_eq!((response.text().as_str(), response.detail().as_str()), ("the other file", "sendfile-changed"));
    assert_eq!(scene.origin.request(2).field("if-none-match"), None);
}

#[test]
fn a_stale_decision_holds_where_it_may_and_the_file_is_the_same() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    let fields = [NAMED, "Cache-Control: max-age=10, stale-while-revalidate=20, stale-if-error=600"];
    let failing = || get("/").answers(reply("503 Service Unavailable", &[], "down"));
    let gate = Gate::new();
    let refreshed = get("/").answers("").waits(&gate).sends(ok(&fields, ""));
    let scene = serve(&folder, [get("/").answers(ok(&fields, "")), refreshed, failing()]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(15);
    // The application does not answer the refresh before this request.
    let stale = client.get("/");
    assert_eq!((stale.text().as_str(), stale.detail().as_str()), ("the file", "hit-stale-while-revalidate"));
    gate.open();
    scene.eventually(|| client.get("/").detail() == "hit");
    scene.advance(100);
    let stale = client.get("/");
    assert_eq!((stale.text().as_str(), stale.detail().as_str()), ("the file", "hit-stale-error"));
    // A stale decision does not stand in for a file that has changed.
    folder.write("a.txt", "the other file");
    scene.advance(100);
    scene.origin.then(failing());
    scene.origin.then(failing());
    assert_eq!(client.get("/").short(), (503, "down".to_owned()));
}

#[test]
fn a_file_that_has_changed_is_not_sent_stale_while_its_decision_is_refreshed() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    let fields = [NAMED, "Cache-Control: max-age=10, stale-while-revalidate=20", "ETag: \"own\""];
    let named = ok(&fields, "");
    // The refresh validates the decision, which does not say whether the new file may be sent. So the cache asks once more,
    // without a condition.
    let script =
        [get("/").answers(&named), get("/").answers(reply("304 Not Modified", &[], "")), get("/").answers(&named)];
    let scene = serve(&folder, script);
    let mut client = scene.client();
    client.get("/");
    scene.advance(15);
    folder.write("a.txt", "the other file");
    let response = client.get("/");
    assert_eq!((response.text().as_str(), response.detail().as_str()), ("the other file", "sendfile-changed"));
    assert_eq!(scene.origin.request(2).field("if-none-match"), None);
    assert!(client.get("/").is_hit());
}

#[test]
fn to_head_as_well_only_the_same_file_is_a_hit() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    let to_head = format!("HTTP/1.1 200 OK\r\n{NAMED}\r\n{FRESH}\r\n\r\n");
    let scene = serve(&folder, [get("/").answers(ok(&[NAMED, FRESH], "")), head("/").answers(to_head)]);
    let mut client = scene.client();
    client.get("/");
    folder.write("a.txt", "the other file");
    let response = client.head("/", &[]);
    assert_eq!((response.field("content-length").as_str(), response.is_hit()), ("14", false));
}

#[test]
fn an_answer_to_head_that_names_no_file_changes_nothing() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    let script = [
        get("/").answers(ok(&[NAMED, FRESH], "")),
        head("/").answers("HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n\r\n"),
        get("/").answers(ok(&["Cache-Control: private"], "asked")),
    ];
    let scene = serve(&folder, script);
    let mut client = scene.client();
    client.get("/");
    scene.advance(60);
    client.head("/", &[]);
    assert_eq!(client.get("/").text(), "asked");
}

#[test]
fn a_page_takes_the_place_of_a_file_and_a_file_that_of_a_page() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    let (named, page) = (ok(&[NAMED, FRESH], ""), ok(&[FRESH], "page"));
    let script = [&named, &page, &named].map(|answer| get("/").answers(answer));
    let scene = serve(&folder, script);
    for text in ["the file", "page", "the file"] {
        for is_hit in [false, true] {
            let response = scene.client().get("/");
            assert_eq!((response.text().as_str(), response.is_hit()), (text, is_hit));
        }
        scene.advance(60);
    }
}
