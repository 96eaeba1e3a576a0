//! What a client gets when the application names a file.

use crate::sendfile::{NEVER, allow};
use kasoku_testkit::{BOTH, Exchange, Folder, Response, Scenario, Setup, get, head, ok, on, reply};
use std::time::{Duration, Instant};

fn serve(folder: &Folder, script: impl IntoIterator<Item = Exchange>) -> Scenario {
    Setup::safe().route(|route| allow(folder, route)).run(script)
}

/// The answer to a GET when the application answers with these fields.
fn answered(folder: &Folder, fields: &[&str]) -> Response {
    serve(folder, [get("/").answers(ok(fields, "the application's body"))]).client().get("/")
}

#[test]
fn the_file_comes_in_the_place_of_the_body_whichever_field_names_it() {
    let folder = Folder::new();
    let path = folder.write("a b/\u{52a0}.pdf", "the file").display().to_string();
    let encoded = path.replace(' ', "%20").replace('\u{52a0}', "%E5%8A%A0");
    for line in [
        format!("X-Sendfile: {path}"),
        format!("x-sendfile: {encoded}"),
        "X-Sendfile: a%20b/\u{52a0}.pdf".to_owned(),
        format!("X-LIGHTTPD-send-file: {encoded}"),
        "X-Accel-Redirect: /protected/a%20b/%E5%8A%A0.pdf?x=y".to_owned(),
    ] {
        let response = answered(&folder, &[&line]);
        assert_eq!(response.short(), (200, "the file".to_owned()), "{line}");
        assert_eq!(
            (response.field("content-type"), response.field("content-length").as_str()),
            ("application/pdf".to_owned(), "8")
        );
        assert!(response.has("etag") && response.has("last-modified") && response.has("date"));
        assert_eq!((response.field("accept-ranges"), response.detail()), ("bytes".to_owned(), "sendfile".to_owned()));
        for name in NEVER {
            assert!(!response.has(name), "{name} reached the client");
        }
    }
}

#[test]
fn the_application_s_own_fields_win() {
    let folder = Folder::new();
    folder.write("a.pdf", "the file");
    let fields = [
        "X-Sendfile: a.pdf",
        "Content-Type: application/x-own",
        "Content-Disposition: attachment; filename=\"b.pdf\"",
        "Content-Encoding: gzip",
        "Cache-Control: private, max-age=60",
        "ETag: \"own\"",
        "Last-Modified: Tue, 15 Nov 1994 12:45:26 GMT",
        "Set-Cookie: a=b",
        "X-Powered-By: PHP",
    ];
    let response = answered(&folder, &fields);
    assert_eq!(response.text(), "the file");
    for line in fields.iter().skip(1).filter(|line| !line.starts_with("Content-Encoding")) {
        let (name, value) = line.split_once(": ").unwrap();
        assert_eq!(response.field(name), value);
    }
    assert!(!response.has("content-encoding"), "it spoke of the body that was dropped");
    // If the application states no Cache-Control, the answer gets `private`, so that no cache on the way guesses a lifetime for
    // it.
    assert_eq!(answered(&folder, &["X-Sendfile: a.pdf"]).field("cache-control"), "private");
}

#[test]
fn what_goes_with_x_accel_redirect_is_heard_or_dropped() {
    let folder = Folder::new();
    folder.write("a.txt", "the file");
    let with = |fields: &[&str]| answered(&folder, &[&["X-Accel-Redirect: /protected/a.txt"], fields].concat());
    let response = with(&[
        "Content-Type: text/plain; charset=utf-8",
        "X-Accel-Charset: koi8-r",
        "X-Accel-Buffering: no",
        "X-Accel-Expires: 3600",
        "X-Accel-Limit-Rate: 1000",
    ]);
    assert_eq!(
        (response.text().as_str(), response.field("content-type").as_str()),
        ("the file", "text/plain; charset=koi8-r")
    );
    assert!(NEVER.iter().all(|name| !response.has(name)), "{response:?}");
    for (charset, content_type) in [("off", "text/html"), ("a b", "text/html"), ("utf-8", "text/html; charset=utf-8")] {
        let charset = format!("X-Accel-Charset: {charset}");
        assert_eq!(with(&["Content-Type: text/html", &charset]).field("content-type"), content_type);
    }
}

#[test]
fn fields_that_go_with_it_are_kept_back_from_other_answers_as_well() {
    let fields = ["X-Accel-Buffering: no", "X-Accel-Expires: 60", "Cache-Control: max-age=60"];
    let scene = Scenario::safe([get("/").answers(ok(&fields, "page"))]);
    for _ in 0..2 {
        let response = scene.client().get("/");
        assert_eq!(response.text(), "page");
        assert!(NEVER.iter().all(|name| !response.has(name)), "{response:?}");
    }
}

#[test]
fn conditions_and_ranges_are_the_client_s_whether_the_application_has_seen_them_or_not() {
    let folder = Folder::new();
    folder.write("a.txt", "0123456789");
    let named = || ok(&["X-Sendfile: a.txt", "Content-Type: text/x"], "");
    for pass in [false, true] {
        let setup = Setup::safe().route(|route| (allow(&folder, route), route.pass = pass).0);
        let scene = setup.run((0..8).map(|_| get("/").answers(named())));
        let mut client = scene.client();
        let whole = client.get("/");
        let (tag, modified) = (whole.field("etag"), whole.field("last-modified"));
        let has_tag = client.get_with("/", &[&format!("If-None-Match: {tag}")]);
        assert_eq!((has_tag.status, has_tag.field("etag")), (304, tag.clone()));
        assert_eq!(client.get_with("/", &[&format!("If-Modified-Since: {modified}")]).status, 304);
        let part = client.get_with("/", &["Range: bytes=2-4"]);
        assert_eq!((part.short(), part.field("content-range").as_str()), ((206, "234".to_owned()), "bytes 2-4/10"));
        assert_eq!((part.field("content-type"), part.field("content-length").as_str()), ("text/x".to_owned(), "3"));
        let part = client.get_with("/", &["Range: bytes=-1", &format!("If-Range: {tag}")]);
        assert_eq!(part.short(), (206, "9".to_owned()));
        let other = client.get_with("/", &["Range: bytes=2-4", "If-Range: \"x\""]);
        assert_eq!(other.short(), (200, "0123456789".to_owned()));
        let beyond = client.get_with("/", &["Range: bytes=10-"]);
        assert_eq!((beyond.status, beyond.field("content-range").as_str()), (416, "bytes */10"));
        assert_eq!(client.get_with("/", &["If-Match: \"x\""]).status, 412);
    }
}

#[test]
fn several_ranges_come_in_one_body() {
    let folder = Folder::new();
    folder.write("a.txt", "0123456789");
    let named = ok(&["X-Sendfile: a.txt", "Content-Type: text/x", "Content-Disposition: attachment"], "");
    let scene = serve(&folder, (0..2).map(|_| get("/").answers(&named)));
    for range in ["bytes=0-1, 4-4, -1", "bytes=-1, 0-0"] {
        let response = scene.client().get_with("/", &[&format!("Range: {range}")]);
        assert_eq!((response.status, response.field("content-disposition").as_str()), (206, "attachment"));
        assert_eq!(response.field("content-length"), response.body.len().to_string());
        let content_type = response.field("content-type");
        let boundary = content_type.strip_prefix("multipart/byteranges; boundary=").unwrap();
        let part = |first, last, text: &str| {
            format!("\r\n--{boundary}\r\nContent-Type: text/x\r\nContent-Range: bytes {first}-{last}/10\r\n\r\n{text}")
        };
        let parts = match range {
            "bytes=-1, 0-0" => vec![part(9, 9, "9"), part(0, 0, "0")],
            _ => vec![part(0, 1, "01"), part(4, 4, "4"), part(9, 9, "9")],
        };
        assert_eq!(response.text(), format!("{}\r\n--{boundary}--\r\n", parts.concat()));
        assert!(!response.has("content-range"));
    }
}

#[test]
fn several_ranges_are_no_faster_than_the_rate_that_is_set() {
    const RATE: usize = 2 << 20;
    let folder = Folder::new();
    let content = vec![b'x'; RATE + RATE / 2];
    folder.write("a.bin", &content);
    let setup = Setup::safe().route(|route| (allow(&folder, route), route.file_rate_max = RATE as u64).0);
    let scene = setup.run([get("/").answers(ok(&["X-Sendfile: a.bin"], ""))]);
    let begun = Instant::now();
    let response = scene.client().get_with("/", &["Range: bytes=0-0, 2-"]);
    assert_eq!((response.status, response.field("content-length")), (206, response.body.len().to_string()));
    assert!(response.body.len() > content.len());
    // The bytes of the first second go at once. The others take at least this time, and may take longer.
    assert!(begun.elapsed() >= Duration::from_millis(250), "{:?}", begun.elapsed());
}

#[test]
fn to_head_the_head_of_the_file_is_the_answer() {
    let folder = Folder::new();
    folder.write("a.txt", "0123456789");
    let named = b"HTTP/1.1 200 OK\r\nX-Sendfile: a.txt\r\nContent-Length: 0\r\n\r\n";
    let scene = serve(&folder, [head("/").answers(named)]);
    let response = scene.client().head("/", &[]);
    assert_eq!((response.status, response.field("content-length").as_str()), (200, "10"));
    assert_eq!(response.field("content-type"), "text/plain; charset=utf-8");
}

#[test]
fn the_answer_to_a_post_is_the_whole_file() {
    let folder = Folder::new();
    folder.write("a.txt", "0123456789");
    let scene = serve(&folder, [on("POST", "/").answers(ok(&["X-Sendfile: a.txt"], ""))]);
    let response = scene.client().send_body("POST", "/", &["Range: bytes=0-0", "If-None-Match: *"], "a=b");
    assert_eq!(response.short(), (200, "0123456789".to_owned()));
}

#[test]
fn a_file_may_be_the_page_of_another_status() {
    let folder = Folder::new();
    folder.write("gone.html", "<h1>gone");
    for status in ["404 Not Found", "410 Gone", "503 Service Unavailable", "201 Created"] {
        let scene = serve(&folder, [get("/").answers(reply(status, &["X-Sendfile: gone.html"], "plain"))]);
        let response = scene.client().get_with("/", &["Range: bytes=0-0"]);
        assert_eq!(response.short(), (status[..3].parse().unwrap(), "<h1>gone".to_owned()));
        assert_eq!(response.field("content-type"), "text/html; charset=utf-8");
    }
}

#[test]
fn an_answer_without_a_body_goes_through_as_it_is_and_a_part_is_taken_anew() {
    let folder = Folder::new();
    folder.write("a.txt", "0123456789");
    // Werkzeug does this: it evaluates the range, states the length of the part, and sends no body.
    let part =
        "HTTP/1.1 206 PARTIAL CONTENT\r\nX-Sendfile: a.txt\r\nContent-Range: bytes 2-4/9\r\nContent-Length: 3\r\n\r\n";
    let parts = [
        "X-Sendfile: a.txt",
        "Content-Type: Multipart/Byteranges; boundary=x",
        "Digest: sha-256=eA==",
        "Repr-Digest: sha-256=:eA==:",
    ];
    let script = [
        get("/part").answers(part).closes(),
        get("/parts").answers(reply("206 Partial Content", &parts, "")),
        get("/known").answers(reply("304 Not Modified", &["X-Sendfile: a.txt", "ETag: \"x\""], "")),
        get("/none").answers(reply("204 No Content", &["X-Accel-Redirect: /protected/a.txt"], "")),
    ];
    let scene = Setup::safe().route(|route| (allow(&folder, route), route.pass = true).0).run(script);
    let mut client = scene.client();
    let response = client.get_with("/part", &["Range: bytes=2-4"]);
    assert_eq!((response.short(), response.field("content-range").as_str()), ((206, "234".to_owned()), "bytes 2-4/10"));
    // The content type of a multipart body is not that of the file.
    let response = client.get_with("/parts", &["Range: bytes=2-4"]);
    assert_eq!(response.short(), (206, "234".to_owned()));
    assert!(response.field("content-type").starts_with("text/plain"), "{response:?}");
    assert!(["digest", "repr-digest"].iter().all(|name| !response.has(name)), "{response:?}");
    let response = client.get_with("/known", &["If-None-Match: \"x\""]);
    assert_eq!((response.status, response.has("x-sendfile")), (304, false));
    let response = client.get("/none");
    assert_eq!((response.status, response.has("x-accel-redirect")), (204, false));
}

#[test]
fn what_rack_is_told_by_a_proxy_no_client_tells_it() {
    for profile in BOTH {
        for pass in [false, true] {
            let setup = Setup::new(profile).route(|route| route.pass = pass);
            let scene = setup.run([get("/").answers(ok(&[], ""))]);
            scene.client().get_with("/", &["X-Sendfile-Type: X-Accel-Redirect", "X-Accel-Mapping: /srv=/protected"]);
            let received = scene.origin.only_request();
            assert_eq!((received.field("x-sendfile-type"), received.field("x-accel-mapping")), (None, None));
        }
    }
}
