//! Stored decisions (answers that name a file): which ones are stored, which clients then get the file, and that only the
//! decision is stored.

use crate::sendfile::{NEVER, allow};
use kasoku_metrics::Counter;
use kasoku_semantics::grant::Ignored;
use kasoku_testkit::{BOTH, Exchange, Folder, Gate, Response, Scenario, Setup, get, head, ok, on, reply};

const FRESH: &str = "Cache-Control: max-age=60";

fn serve(folder: &Folder, script: impl IntoIterator<Item = Exchange>) -> Scenario {
    Setup::safe().route(|route| allow(folder, route)).run(script)
}

/// The answers to two requests, the first with the fields `request`. The application names a file with these fields.
fn asked_twice(setup: Setup, folder: &Folder, request: &[&str], fields: &[&str]) -> (Response, Response) {
    let named = ok(&[&["X-Sendfile: a.txt"], fields].concat(), "");
    let setup = setup.route(|route| allow(folder, route));
    let scene = setup.run((0..2).map(|_| get("/").answers(&named)));
    let mut client = scene.client();
    let answers = (client.get_with("/", request), client.get("/"));
    if answers.1.is_hit() {
        // The script must be played to its end.
        client.ask("PURGE", "/", &[]).response();
        client.get("/");
    }
    answers
}

#[test]
fn a_decision_that_may_be_stored_is_asked_for_once() {
    let folder = Folder::new();
    let path = folder.write("a b.txt", "the file").display().to_string();
    for profile in BOTH {
        for line in [
            format!("X-Sendfile: {path}"),
            "X-LIGHTTPD-send-file: a%20b.txt".to_owned(),
            "X-Accel-Redirect: /protected/a%20b.txt?x=y".to_owned(),
        ] {
            let fields = [&line, FRESH, "Content-Disposition: attachment", "X-Accel-Charset: koi8-r"];
            let fields = [&fields[..], &["Content-Type: text/x", "Content-Encoding: gzip"]].concat();
            let setup = Setup::new(profile).route(|route| allow(&folder, route));
            let scene = setup.run([get("/").answers(ok(&fields, "the application's"))]);
            let mut client = scene.client();
            let first = client.get("/");
            assert_eq!((first.text().as_str(), first.cache_status("stored").as_deref()), ("the file", Some("")));
            assert!(!first.is_hit() && !first.has("age"), "{first:?}");
            scene.advance(7);
            for _ in 0..2 {
                let hit = client.get("/");
                assert_eq!(
                    (hit.text().as_str(), hit.detail().as_str(), hit.field("age").as_str()),
                    ("the file", "hit", "7")
                );
                assert_eq!(hit.cache_status("ttl").as_deref(), Some("53"));
                for name in ["etag", "last-modified", "content-type", "content-disposition", "cache-control", "date"] {
                    assert_eq!(hit.field(name), first.field(name), "{name}");
                }
                assert_eq!(hit.field("content-type"), "text/x; charset=koi8-r");
                assert!(!hit.has("content-encoding") && NEVER.iter().all(|name| !hit.has(name)), "{hit:?}");
            }
            scene.counted(Counter::Stored, 1);
            scene.counted(Counter::Hits, 2);
        }
    }
}

#[test]
fn conditions_and_ranges_are_those_of_each_client() {
    let folder = Folder::new();
    folder.write("a.txt", "0123456789");
    let scene = serve(&folder, [get("/").answers(ok(&["X-Sendfile: a.txt", FRESH], ""))]);
    let mut client = scene.client();
    // The first client asks for a part; the stored decision is about the whole file.
    let part = client.get_with("/", &["Range: bytes=2-4"]);
    assert_eq!((part.short(), part.cache_status("stored").as_deref()), ((206, "234".to_owned()), Some("")));
    let whole = client.get("/");
    assert_eq!((whole.short(), whole.is_hit()), ((200, "0123456789".to_owned()), true));
    let tag = whole.field("etag");
    scene.advance(5);
    let known = client.get_with("/", &[&format!("If-None-Match: {tag}")]);
    assert_eq!((known.status, known.field("etag"), known.field("age").as_str()), (304, tag.clone(), "5"));
    let since = format!("If-Modified-Since: {}", whole.field("last-modified"));
    assert_eq!(client.get_with("/", &[&since]).status, 304);
    let part = client.get_with("/", &["Range: bytes=-1", &format!("If-Range: {tag}")]);
    assert_eq!((part.short(), part.field("content-range").as_str()), ((206, "9".to_owned()), "bytes 9-9/10"));
    assert_eq!((part.field("age").as_str(), part.is_hit()), ("5", true));
    let several = client.get_with("/", &["Range: bytes=0-0, 9-9"]);
    assert!(several.status == 206 && several.field("content-type").starts_with("multipart/byteranges"), "{several:?}");
    let beyond = client.get_with("/", &["Range: bytes=10-"]);
    assert_eq!((beyond.status, beyond.field("content-range").as_str()), (416, "bytes */10"));
    let head = client.head("/", &[]);
    assert_eq!((head.status, head.field("content-length").as_str(), head.is_hit()), (200, "10", true));
}

#[test]
fn a_head_is_answered_by_what_is_stored_and_stores_nothing() {
    let folder = Folder::new();
    folder.write("a.txt", "0123456789");
    let named = "X-Sendfile: a.txt";
    let to_head = format!("HTTP/1.1 200 OK\r\n{named}\r\n{FRESH}\r\n\r\n");
    let script = [head("/").answers(&to_head), get("/").answers(ok(&[named, FRESH], ""))];
    let scene = serve(&folder, script);
    let mut client = scene.client();
    assert_eq!(client.head("/", &[]).field("content-length"), "10");
    assert_eq!(client.get("/").cache_status("stored").as_deref(), Some(""));
    assert!(client.head("/", &[]).is_hit());
}

#[test]
fn what_does_not_say_for_how_long_is_asked_each_time() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    let modified = "Last-Modified: Tue, 15 Nov 1994 12:45:26 GMT";
    for profile in BOTH {
        for fields in [&[][..], &["Cache-Control: public"], &["Cache-Control: public", modified, "ETag: \"a\""]] {
            let (first, second) = asked_twice(Setup::new(profile), &folder, &[], fields);
            assert_eq!((first.text().as_str(), first.detail().as_str()), ("the file", "sendfile"));
            assert!(!second.is_hit(), "{fields:?}");
        }
    }
    // A lifetime that the operator grants does not apply either.
    let granting = Setup::safe().policy(|policy| {
        policy.grant.ttl_seconds = 600;
        policy.grant.ttl_override_seconds = 600;
    });
    let (first, second) = asked_twice(granting, &folder, &[], &[]);
    assert_eq!((first.detail().as_str(), second.is_hit()), ("sendfile", false));
}

#[test]
fn what_may_not_be_shared_is_asked_each_time() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    for (request, fields, reason) in [
        (&[][..], &["Cache-Control: private, max-age=60"][..], "private"),
        (&[], &["Cache-Control: no-store, max-age=60"], "no-store"),
        (&[], &[FRESH, "Set-Cookie: a=b"], "set-cookie"),
        (&[], &[FRESH, "Vary: *"], "vary-star"),
        (&["Cookie: a=b"], &[FRESH], "cookie"),
        (&["Authorization: Basic eDp5"], &[FRESH], "authorization"),
    ] {
        let (first, second) = asked_twice(Setup::safe(), &folder, request, fields);
        assert_eq!((first.text().as_str(), first.detail().as_str()), ("the file", reason));
        assert!(!second.is_hit(), "{fields:?}");
    }
    // A decision that may be shared says so, even in an answer to a known visitor.
    let (_, second) = asked_twice(Setup::safe(), &folder, &["Cookie: a=b"], &["Cache-Control: public, max-age=60"]);
    assert!(second.is_hit());
}

#[test]
fn a_cookie_that_the_operator_ignores_reaches_no_client() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    let setup = Setup::safe().policy(|policy| {
        policy.grant.ttl_seconds = 600;
        policy.grant.ignore = vec![Ignored::SetCookie];
    });
    let (first, second) = asked_twice(setup, &folder, &[], &[FRESH, "Set-Cookie: a=b"]);
    assert_eq!((first.text().as_str(), second.is_hit()), ("the file", true));
    assert!(!first.has("set-cookie") && !second.has("set-cookie"), "{first:?}");
}

#[test]
fn only_a_file_that_is_sent_as_a_200_is_stored() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    for (status, line, code) in [
        ("404 Not Found", "X-Sendfile: a.txt", 404),
        ("203 Non-Authoritative Information", "X-Sendfile: a.txt", 203),
        ("200 OK", "X-Sendfile: none.txt", 404),
        ("200 OK", "X-Sendfile: ../none.txt", 403),
        ("200 OK", "X-Sendfile: 100%", 502),
    ] {
        let named = reply(status, &[line, "Cache-Control: public, max-age=60"], "");
        let scene = serve(&folder, (0..2).map(|_| get("/").answers(&named)));
        for _ in 0..2 {
            assert_eq!(scene.client().get("/").status, code, "{status} {line}");
        }
    }
    let scene = serve(
        &folder,
        [
            on("POST", "/").answers(ok(&["X-Sendfile: a.txt", FRESH, "Content-Location: /"], "")),
            get("/").answers(ok(&["Cache-Control: private"], "asked")),
        ],
    );
    assert_eq!(scene.client().send_body("POST", "/", &[], "a=b").text(), "the file");
    assert_eq!(scene.client().get("/").text(), "asked");
}

#[test]
fn each_variant_has_its_file() {
    let folder = Folder::new();
    folder.write("de.txt", "Datei");
    folder.write("fr.txt", "fichier");
    let named = |name: &str| ok(&[&format!("X-Sendfile: {name}"), FRESH, "Vary: Accept-Language"], "");
    let scene = serve(&folder, [get("/").answers(named("de.txt")), get("/").answers(named("fr.txt"))]);
    let mut client = scene.client();
    for is_hit in [false, true] {
        for (language, text) in [("de", "Datei"), ("fr", "fichier")] {
            let response = client.get_with("/", &[&format!("Accept-Language: {language}")]);
            assert_eq!((response.text().as_str(), response.is_hit()), (text, is_hit));
        }
    }
}

#[test]
fn who_waits_gets_the_file_without_a_question_of_his_own() {
    let folder = Folder::new();
    folder.write("a.txt", "0123456789");
    let gate = Gate::new();
    let script = [get("/").answers("").waits(&gate).sends(ok(&["X-Sendfile: a.txt", FRESH], ""))];
    let scene = serve(&folder, script);
    let (mut first, mut second, mut third) = (scene.client(), scene.client(), scene.client());
    first.ask("GET", "/", &[]);
    scene.origin.arrived(1);
    second.ask("GET", "/", &[]);
    third.ask("GET", "/", &["Range: bytes=0-1"]);
    scene.settled();
    gate.open();
    assert_eq!(first.response().text(), "0123456789");
    let waited = second.response();
    assert_eq!((waited.text().as_str(), waited.detail().as_str()), ("0123456789", "collapsed"));
    assert_eq!(third.response().short(), (206, "01".to_owned()));
}

#[test]
fn who_waited_for_another_variant_gets_his_own() {
    let folder = Folder::new();
    folder.write("de.txt", "Datei");
    folder.write("fr.txt", "fichier");
    let gate = Gate::new();
    let named = |name: &str| ok(&[&format!("X-Sendfile: {name}"), FRESH, "Vary: Accept-Language"], "");
    let script = [get("/").answers("").waits(&gate).sends(named("de.txt")), get("/").answers(named("fr.txt"))];
    let scene = serve(&folder, script);
    let mut clients = [("de", "Datei"), ("fr", "fichier"), ("fr", "fichier")].map(|(language, text)| {
        let mut client = scene.client();
        client.ask("GET", "/", &[&format!("Accept-Language: {language}")]);
        scene.origin.arrived(1);
        (client, text)
    });
    scene.settled();
    gate.open();
    for (client, text) in &mut clients {
        assert_eq!(client.response().text(), *text);
    }
}

#[test]
fn what_is_stored_is_not_the_file() {
    let folder = Folder::new();
    let named = || ok(&["X-Sendfile: a.bin", FRESH], "");
    let held = |bytes: usize| {
        folder.write("a.bin", vec![b'x'; bytes]);
        let scene = Setup::safe()
            .route(|route| allow(&folder, route))
            .options(|options| options.object_bytes_max = 1 << 20)
            .run([get("/").answers(named())]);
        assert_eq!(scene.client().get("/").body.len(), bytes);
        let hit = scene.client().get("/");
        assert_eq!((hit.body.len(), hit.is_hit()), (bytes, true));
        scene.engine.cache().held_bytes()
    };
    let (small, large) = (held(1), held(8 << 20));
    assert!(small > 0 && small < 4096, "{small}");
    // Of the length, only the file's identity is stored.
    assert_eq!(large, small);
}

#[test]
fn no_coding_is_made_of_a_file_that_is_named() {
    let folder = Folder::new();
    folder.write("a.txt", "text ".repeat(10_000));
    let scene = serve(&folder, [get("/").answers(ok(&["X-Sendfile: a.txt", FRESH], ""))]);
    for _ in 0..3 {
        let response = scene.client().get_with("/", &["Accept-Encoding: gzip, br"]);
        assert_eq!(
            (response.body.len(), response.has("content-encoding"), response.has("vary")),
            (50_000, false, false)
        );
    }
}

#[test]
fn x_accel_expires_says_for_how_long_and_only_to_kasoku() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    for (expires, cache_control) in [("60", "private, no-store"), ("@", "max-age=1"), ("60", "no-cache")] {
        let setup = Setup::safe().route(|route| allow(&folder, route));
        let scene = setup.run([]);
        let until = kasoku_engine::clock::Clock::now(&*scene.clock).unix_seconds() + 60;
        let expires = if expires == "@" { format!("@{until}") } else { expires.to_owned() };
        let fields = [
            "X-Accel-Redirect: /protected/a.txt",
            &format!("X-Accel-Expires: {expires}"),
            &format!("Cache-Control: {cache_control}"),
            "Expires: Thu, 01 Jan 1970 00:00:00 GMT",
        ];
        scene.origin.then(get("/").answers(ok(&fields, "")));
        scene.origin.then(get("/").answers(ok(&["Cache-Control: private"], "asked again")));
        let mut client = scene.client();
        client.get("/");
        scene.advance(59);
        let hit = client.get("/");
        assert_eq!((hit.text().as_str(), hit.is_hit(), hit.field("age").as_str()), ("the file", true, "59"));
        assert_eq!(hit.field("cache-control"), cache_control);
        assert!(NEVER.iter().all(|name| !hit.has(name)), "{hit:?}");
        scene.advance(1);
        assert_eq!(client.get("/").text(), "asked again", "{expires}");
    }
}

#[test]
fn x_accel_expires_may_say_that_nothing_is_to_be_kept() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    for expires in ["0", "@1000000000"] {
        let fields = [FRESH, &format!("X-Accel-Expires: {expires}")];
        let (first, second) = asked_twice(Setup::safe(), &folder, &[], &fields);
        assert_eq!((first.detail().as_str(), second.is_hit()), ("no-store", false), "{expires}");
    }
    // In an answer that names no file, the field has no effect.
    let page = ok(&["X-Accel-Expires: 0", FRESH], "page");
    let scene = serve(&folder, [get("/").answers(page)]);
    scene.client().get("/");
    assert!(scene.client().get("/").is_hit());
}

#[test]
fn what_x_accel_expires_lifts_is_no_permission_to_share_a_page_behind_a_login() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    for control in ["no-store, no-cache, must-revalidate", "private, s-maxage=60", "max-age=0, must-revalidate"] {
        let fields = [&format!("Cache-Control: {control}"), "X-Accel-Expires: 60"];
        for profile in BOTH {
            let known = ["Authorization: Basic eDp5"];
            let (first, second) = asked_twice(Setup::new(profile), &folder, &known, &fields);
            assert_eq!((first.text().as_str(), first.detail().as_str()), ("the file", "authorization"), "{control}");
            assert!(!second.is_hit(), "{control}");
        }
    }
    // A decision that may be shared says so.
    let fields = ["Cache-Control: public, no-cache", "X-Accel-Expires: 60"];
    assert!(asked_twice(Setup::safe(), &folder, &["Authorization: Basic eDp5"], &fields).1.is_hit());
}

#[test]
fn what_x_accel_expires_lifts_of_the_answer_it_does_not_lift_of_single_fields() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    for profile in BOTH {
        let fields = [
            "Cache-Control: private=\"X-User\", no-cache=\"X-Once\"",
            "X-Accel-Expires: 60",
            "X-User: anna",
            "X-Once: 1",
        ];
        let (first, second) = asked_twice(Setup::new(profile), &folder, &[], &fields);
        assert_eq!((first.field("x-user").as_str(), second.is_hit()), ("anna", true));
        assert!(!second.has("x-user") && !second.has("x-once"), "{second:?}");
    }
}

#[test]
fn a_decision_is_not_renewed_by_a_tag_of_the_empty_body() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    folder.write("b.txt", "its new release");
    // Rack::ETag makes a tag of the body, which is empty here. Rack::ConditionalGet then answers 304, whichever file the
    // application names.
    let tag = "ETag: W/\"e3b0c44298fc1c149afbf4c8996fb924\"";
    let named = |name: &str| ok(&[&format!("X-Sendfile: {name}"), FRESH, tag], "");
    let scene = serve(&folder, [get("/").answers(named("a.txt")), get("/").answers(named("b.txt"))]);
    assert_eq!(scene.client().get("/").text(), "the file");
    scene.advance(61);
    assert_eq!(scene.client().get("/").text(), "its new release");
    assert_eq!(scene.origin.request(1).field("if-none-match"), None);
}
