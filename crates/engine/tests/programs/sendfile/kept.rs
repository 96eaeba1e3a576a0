//! Without a stated lifetime, the application decides anew at each request; and the application is free while the file is sent.

use crate::sendfile::{allow, with_large_file};
use kasoku_metrics::Counter;
use kasoku_testkit::{BOTH, Client, Ending, Folder, Gate, Scenario, Setup, get, ok, on};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

#[test]
fn each_request_asks_the_application_where_it_does_not_say_for_how_long() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    for profile in BOTH {
        let named = ok(&["X-Sendfile: a.txt", "Cache-Control: public"], "");
        let script = [
            get("/").answers(&named),
            get("/").answers(ok(&["Cache-Control: private"], "not for you")),
            get("/").answers(&named),
        ];
        let scene = Setup::new(profile).route(|route| allow(&folder, route)).run(script);
        for text in ["the file", "not for you", "the file"] {
            let response = scene.client().get("/");
            assert_eq!((response.text().as_str(), response.is_hit()), (text, false));
        }
    }
}

#[test]
fn who_waited_for_the_same_answer_asks_for_himself() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    let gate = Gate::new();
    let script = [
        get("/").waits(&gate).answers(ok(&["X-Sendfile: a.txt"], "")),
        get("/").answers(ok(&["Cache-Control: private"], "log in first")),
    ];
    let scene = Setup::safe().route(|route| allow(&folder, route)).run(script);
    let (mut first, mut second) = (scene.client(), scene.client());
    first.ask("GET", "/", &[]);
    scene.origin.arrived(1);
    second.ask("GET", "/", &[]);
    scene.settled();
    gate.open();
    assert_eq!((first.response().text(), second.response().text()), ("the file".to_owned(), "log in first".to_owned()));
}

#[test]
fn a_stored_page_gives_way_to_the_file_that_is_there_now() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    let script = [
        get("/").answers(ok(&["Cache-Control: max-age=10", "ETag: \"page\""], "page")),
        get("/").answers(ok(&["X-Sendfile: a.txt"], "")),
        get("/").answers(ok(&["X-Sendfile: a.txt"], "")),
    ];
    let scene = Setup::safe().route(|route| allow(&folder, route)).run(script);
    assert_eq!(scene.client().get("/").text(), "page");
    scene.advance(100);
    assert_eq!(scene.client().get("/").text(), "the file");
    assert_eq!(scene.client().get("/").text(), "the file");
}

#[test]
fn what_an_application_has_changed_is_no_longer_served_whatever_becomes_of_the_file() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    for (line, status) in [("X-Sendfile: a.txt", 200), ("X-Sendfile: none.txt", 404), ("X-Sendfile: 100%", 502)] {
        let script = [
            get("/").answers(ok(&["Cache-Control: max-age=600"], "before")),
            on("POST", "/").answers(ok(&[line], "")),
            get("/").answers(ok(&["Cache-Control: max-age=600"], "behind")),
        ];
        let scene = Setup::safe().route(|route| allow(&folder, route)).run(script);
        let mut client = scene.client();
        assert_eq!(client.get("/").text(), "before");
        assert_eq!(client.send_body("POST", "/", &[], "a=b").status, status);
        assert_eq!(client.get("/").text(), "behind", "{line}");
    }
}

#[test]
fn what_one_client_asks_of_the_file_does_not_keep_the_page_that_was_there_before() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    let stored = ok(&["Cache-Control: max-age=10, stale-while-revalidate=9999"], "page");
    let named = || get("/").answers(ok(&["X-Sendfile: a.txt"], ""));
    let setup = Setup::safe().route(|route| allow(&folder, route));
    let scene = setup.run([get("/").answers(stored), named(), named()]);
    assert_eq!(scene.client().get("/").text(), "page");
    scene.advance(100);
    // The range is beyond the end of the stored page, which is refreshed in the background. It is beyond the end of the file as
    // well.
    assert_eq!(scene.client().get_with("/", &["Range: bytes=99-"]).status, 416);
    scene.origin.done(2);
    scene.settled();
    assert_eq!(scene.client().get("/").text(), "the file");
}

/// Waits until no request uses the origin or waits for it.
pub(crate) fn is_free(scene: &Scenario) {
    scene.eventually(|| {
        let origins = scene.engine.handle().origins().numbers();
        origins.iter().all(|origin| (origin.connections, origin.queue) == (0, 0))
    });
}

#[test]
fn the_connection_serves_the_next_request_while_the_file_is_on_its_way() {
    let (folder, line) = with_large_file();
    let setup = Setup::safe().route(|route| {
        allow(&folder, route);
        route.origin.connections_max = 1;
    });
    // The application's own body is short, and the engine reads it in the background.
    let scene = setup.run([
        get("/large").answers(ok(&[&line], "short")),
        get("/page").answers(ok(&["Cache-Control: private"], "page")),
    ]);
    let mut slow = Client::connect_slow(scene.engine.addresses()[0]);
    let head = slow.ask("GET", "/large", &[]).next_head();
    assert_eq!(head.word(1), "200");
    is_free(&scene);
    assert_eq!(scene.client().get("/page").text(), "page");
    assert_eq!(scene.origin.connections(), 1, "the connection was kept");
    let rest = slow.rest_of(head);
    assert!(rest.body.len() == 32 << 20 && rest.body.iter().all(|byte| *byte == b'x'));
}

#[test]
fn an_application_that_sends_the_file_as_well_is_not_listened_to() {
    let (folder, line) = with_large_file();
    let head = format!("HTTP/1.1 200 OK\r\n{line}\r\nContent-Length: 100000000\r\n\r\n");
    let scene = Setup::safe()
        .route(|route| allow(&folder, route))
        .run([get("/large").answers(head).sends_held_up(vec![b'y'; 50 << 20]).awaits_end()]);
    let mut slow = Client::connect_slow(scene.engine.addresses()[0]);
    let head = slow.ask("GET", "/large", &[]).next_head();
    // The origin's script ends when its connection ends.
    scene.origin.done(1);
    is_free(&scene);
    assert_eq!(slow.rest_of(head).body.len(), 32 << 20);
}

/// How often this process has that file open.
fn times_open(path: &Path) -> usize {
    let open = fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    open.filter(|target| target == path).count()
}

#[test]
fn a_client_that_leaves_leaves_nothing_open_and_the_worker_to_others() {
    let (folder, line) = with_large_file();
    let path = folder.join("large.bin");
    let script = (0..3).map(|_| get("/large").answers(ok(&[&line], "")));
    let setup = Setup::safe().route(|route| allow(&folder, route));
    let setup = setup.options(|options| options.limits.open_files_max = 0);
    let scene = setup.run(script.chain([get("/page").answers(ok(&["Cache-Control: private"], "page"))]));
    let several = "Range: bytes=0-0, 2-";
    let leave = ["A: b", several, "Range: bytes=9-"].map(|range| {
        let mut slow = Client::connect_slow(scene.engine.addresses()[0]);
        slow.ask("GET", "/large", &[range]).next_head();
        slow
    });
    assert_eq!(times_open(&path), leave.len());
    leave.into_iter().for_each(Client::reset);
    scene.counted(Counter::Aborted, 3);
    assert_eq!(times_open(&path), 0);
    is_free(&scene);
    assert_eq!(scene.client().get("/page").text(), "page");
}

/// The number of bytes sent of a range, or of several, of a file that changes meanwhile; the announced number; and how the answer
/// ends.
fn changed_on_its_way(range: &str, change: impl FnOnce(&Folder)) -> (usize, usize, Ending) {
    let (folder, line) = with_large_file();
    let scene = Setup::safe().route(|route| allow(&folder, route)).run([get("/").answers(ok(&[&line], ""))]);
    let mut slow = Client::connect_slow(scene.engine.addresses()[0]);
    let head = slow.ask("GET", "/", &[range]).next_head();
    let announced = head.field("content-length").unwrap().parse().unwrap();
    change(&folder);
    let response = slow.rest_of(head);
    (response.body.len(), announced, response.ending)
}

#[test]
fn a_file_that_changes_on_its_way_is_a_cut_and_no_other_file_in_several_ranges_as_well() {
    let open = |folder: &Folder| File::options().write(true).open(folder.join("large.bin")).unwrap();
    let shrinks = |folder: &Folder| open(folder).set_len(1 << 20).unwrap();
    let grows = |folder: &Folder| open(folder).set_len(33 << 20).unwrap();
    let is_written = |folder: &Folder| open(folder).write_all(b"y").unwrap();
    let is_replaced = |folder: &Folder| fs::rename(folder.write("new", "new"), folder.join("large.bin")).unwrap();
    for range in ["A: b", "Range: bytes=5-", "Range: bytes=0-0, 2-", "Range: bytes=0-16777215, 16777217-, 3-3"] {
        for change in [&shrinks as &dyn Fn(&Folder), &grows, &is_written] {
            let (sent, announced, ending) = changed_on_its_way(range, change);
            assert!(ending == Ending::Cut && sent < announced, "{range}: {sent} of {announced}");
        }
        // The engine has the old file open, and sends that.
        let (sent, announced, ending) = changed_on_its_way(range, is_replaced);
        assert_eq!((sent, ending), (announced, Ending::Whole), "{range}");
    }
}
