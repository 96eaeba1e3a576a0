//! Answers for named files that are not sent: they never have the application's half answer, and never the name.

use crate::sendfile::{NEVER, allow};
use http::StatusCode;
use kasoku_options::Route;
use kasoku_testkit::{BOTH, Folder, Response, Scenario, Setup, get, ok, on, reply};
use std::sync::Arc;

/// Checks what a GET gets when the application answers with these fields: as a miss, and as a pass.
fn each_way(setup: impl Fn() -> Setup, fields: &[&str], check: impl Fn(&Response)) {
    for pass in [false, true] {
        let fields: Vec<&str> =
            fields.iter().copied().chain(["Cache-Control: max-age=60", "Set-Cookie: a=b"]).collect();
        let script = (0..2).map(|_| get("/").answers(ok(&fields, "the application's half answer")));
        let scene =
            setup().policy(|policy| policy.back_off_max_seconds = 0).route(|route| route.pass = pass).run(script);
        // Twice, since the answer must not be stored.
        for _ in 0..2 {
            let response = scene.client().get("/");
            assert!(!response.text().contains("half"), "{response:?}");
            assert!(NEVER.iter().all(|name| !response.has(name)), "{response:?}");
            check(&response);
        }
    }
}

#[test]
fn where_it_is_not_set_up_the_answer_is_502_and_the_name_stays_here() {
    for profile in BOTH {
        for line in [
            "X-Sendfile: /etc/hostname",
            "X-LIGHTTPD-send-file: /etc/hostname",
            "X-Accel-Redirect: /x/y",
            "X-Sendfile-Temporary: /etc/hostname",
            "X-Sendfile2: /etc/hostname 0-",
        ] {
            each_way(
                || Setup::new(profile),
                &[line],
                |response| {
                    assert_eq!((response.status, response.detail().as_str()), (502, "sendfile-off"), "{line}");
                    assert!(!response.text().contains("hostname"), "{response:?}");
                },
            );
        }
    }
}

#[test]
fn paths_and_uris_are_set_up_each_by_itself() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    let only = |change: fn(&mut kasoku_options::SendfileRules)| {
        let setup = Setup::safe().route(|route| allow(&folder, route));
        setup.route(|route| change(Arc::make_mut(&mut route.sendfile)))
    };
    let status = |setup: Setup, line: &str| setup.run([get("/").answers(ok(&[line], ""))]).client().get("/").status;
    assert_eq!(status(only(|rules| rules.roots.clear()), "X-Accel-Redirect: /protected/a.txt"), 200);
    assert_eq!(status(only(|rules| rules.roots.clear()), "X-Sendfile: a.txt"), 502);
    assert_eq!(status(only(|rules| rules.internal.clear()), "X-Accel-Redirect: /protected/a.txt"), 502);
    assert_eq!(status(only(|rules| rules.internal.clear()), "X-Sendfile: a.txt"), 200);
}

#[test]
fn several_names_and_names_that_are_none_are_502() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    let rows: [&[&str]; 7] = [
        &["X-Sendfile: a.txt", "X-Sendfile: a.txt"],
        &["X-Sendfile: a.txt", "X-Accel-Redirect: /protected/a.txt"],
        &["X-Sendfile: a.txt", "X-LIGHTTPD-send-file: a.txt"],
        &["X-Sendfile:"],
        &["X-Sendfile: 100%"],
        &["X-Sendfile: a.txt%00"],
        &["X-Accel-Redirect: @fallback"],
    ];
    for fields in rows {
        let setup = || Setup::safe().route(|route| allow(&folder, route));
        each_way(setup, fields, |response| {
            assert_eq!((response.status, response.detail().as_str()), (502, "sendfile-malformed"), "{fields:?}");
        });
    }
}

#[test]
fn no_older_page_stands_in_for_a_name_that_can_not_be_served() {
    for line in ["X-Sendfile: 100%", "X-Accel-Redirect: /protected/a.txt"] {
        let scene = Setup::safe()
            .route(|route| Arc::make_mut(&mut route.sendfile).roots = vec!["/srv".into()])
            .run([get("/").answers(ok(&["Cache-Control: max-age=10"], "page")), get("/").answers(ok(&[line], "half"))]);
        assert_eq!(scene.client().get("/").text(), "page");
        scene.advance(100);
        assert_eq!(scene.client().get("/").status, 502, "{line}");
    }
}

#[test]
fn what_is_missing_or_not_to_be_sent_gets_the_status_that_is_set_for_it() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    std::fs::create_dir(folder.join("directory")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.join("out")).unwrap();
    let default: fn(&mut Route) = |_| ();
    let set: fn(&mut Route) = |route| {
        let rules = Arc::make_mut(&mut route.sendfile);
        (rules.missing, rules.denied) = (StatusCode::GONE, StatusCode::NOT_FOUND);
    };
    for (line, missing) in [
        ("X-Sendfile: none.txt", true),
        ("X-Accel-Redirect: /protected/none.txt", true),
        ("X-Sendfile: directory", false),
        ("X-Sendfile: out", false),
        ("X-Sendfile: /etc/passwd", false),
        ("X-Sendfile: ../../../../etc/passwd", false),
        ("X-Accel-Redirect: /other/a.txt", false),
        ("X-Accel-Redirect: /protected/..%2f..%2fetc/passwd", false),
        ("X-LIGHTTPD-send-file: /proc/self/environ", false),
    ] {
        for (change, of_missing, of_denied) in [(default, 404, 403), (set, 410, 404)] {
            let setup = || Setup::safe().route(|route| (allow(&folder, route), change(route)).0);
            let expected = if missing { (of_missing, "sendfile-missing") } else { (of_denied, "sendfile-denied") };
            each_way(setup, &[line], |response| {
                assert_eq!((response.status, response.detail().as_str()), expected, "{line}");
                assert_eq!((response.field("cache-control").as_str(), response.has("set-cookie")), ("no-store", false));
            });
        }
    }
}

#[test]
fn a_directory_that_is_gone_is_500() {
    let folder = Folder::new();
    let setup = || {
        Setup::safe().route(|route| {
            allow(&folder, route);
            Arc::make_mut(&mut route.sendfile).roots = vec![folder.join("gone")];
        })
    };
    each_way(setup, &["X-Sendfile: a.txt"], |response| {
        assert_eq!((response.status, response.detail().as_str()), (500, "sendfile-failed"));
    });
}

#[test]
fn nothing_names_a_file_but_the_head_of_the_final_answer() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    let early =
        "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nX-Sendfile: a.txt\r\nX-Accel-Redirect: /protected/a.txt\r\n\r\n";
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sendfile, X-T\r\n\r\n4\r\nbody\r\n0\r\nX-Sendfile: a.txt\r\nX-T: 1\r\n\r\n";
    let scene = Setup::safe().route(|route| allow(&folder, route)).run([get("/").answers([early, chunked].concat())]);
    let mut client = scene.client();
    let hints = client.ask("GET", "/", &["TE: trailers"]).next_head();
    assert_eq!((hints.word(1), hints.has("link"), hints.has("x-sendfile")), ("103", true, false));
    assert!(!hints.has("x-accel-redirect"));
    let response = client.response();
    assert_eq!(response.text(), "body");
    assert!(response.trailers.iter().any(|(name, _)| name.eq_ignore_ascii_case("x-t")), "{response:?}");
    assert!(response.trailers.iter().all(|(name, _)| !name.eq_ignore_ascii_case("x-sendfile")), "{response:?}");
}

#[test]
fn a_switch_of_protocols_tells_no_names_either() {
    let switch = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nX-Sendfile: /etc/passwd\r\n\r\n";
    let scene = Scenario::safe([get("/").sends(switch).closes()]);
    let head = scene.client().ask("GET", "/", &["Connection: upgrade", "Upgrade: websocket"]).next_head();
    assert_eq!((head.word(1), head.has("x-sendfile")), ("101", false));
}

#[test]
fn an_application_that_fails_names_nothing_by_accident() {
    let fields = ["X-Sendfile: /etc/passwd"];
    let scene = Scenario::safe([on("POST", "/").answers(reply("500 Internal Server Error", &fields, "half"))]);
    let response = scene.client().send_body("POST", "/", &[], "");
    assert_eq!((response.status, response.detail().as_str()), (502, "sendfile-off"));
}
