//! Tests of requests for files, each in a directory of its own.

use super::*;
use crate::Limits;
use crate::OpenFiles;
use crate::document_root::tests::Scratch;
use crate::request::ConnectionFacts;
use kasoku_options::Gateway;
use kasoku_origin::BodyPiece;
use kasoku_wire::{Fields, RequestHead};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::time::{Duration, UNIX_EPOCH};

/// A moment long before any test: Tue, 15 Nov 1994 12:45:26 GMT.
const LONG_AGO: u64 = 784_903_526;

const LAST_MODIFIED: &str = "Tue, 15 Nov 1994 12:45:26 GMT";

/// Fields of a request, the status that it gets, and the content.
type Row<'a> = (&'a [(&'a str, &'a str)], u16, &'a str);

struct Site {
    scratch: Scratch,
    gateway: Gateway,
}

impl Site {
    /// Files that were written long ago.
    fn new(files: &[&str]) -> Self {
        let scratch = Scratch::new(files);
        let site = Self { scratch, gateway: Gateway { index: vec!["index.html".to_owned()], ..Gateway::default() } };
        for file in files {
            site.touch(file, LONG_AGO);
        }
        site
    }

    fn open(&self, file: &str) -> File {
        File::options().write(true).open(self.scratch.root().join(file)).unwrap()
    }

    fn touch(&self, file: &str, seconds: u64) {
        self.open(file).set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
    }

    fn put(&self, file: &str, content: &[u8]) {
        fs::write(self.scratch.root().join(file), content).unwrap();
        self.touch(file, LONG_AGO);
    }

    async fn respond(&self, method: Method, target: &str, fields: &[(&str, &str)]) -> Response {
        let mut head = RequestHead::new(method, target);
        head.fields = fields.iter().copied().collect();
        let (connection, limits) = (ConnectionFacts::default(), Limits::default());
        let request = Request {
            head: &head,
            connection: &connection,
            gateway: &self.gateway,
            limits: &limits,
            open_files: &OpenFiles::default(),
        };
        send(&self.scratch.root(), &request, None).await.unwrap()
    }

    async fn ask(&self, method: Method, target: &str, fields: &[(&str, &str)]) -> (u16, Fields, String) {
        let mut response = self.respond(method, target, fields).await;
        let body = read(&mut response).await.unwrap();
        (response.head.status.as_u16(), response.head.fields, String::from_utf8_lossy(&body).into_owned())
    }

    async fn get(&self, target: &str, fields: &[(&str, &str)]) -> (u16, Fields, String) {
        self.ask(Method::GET, target, fields).await
    }
}

async fn read(response: &mut Response) -> Result<Vec<u8>, Error> {
    let mut body = Vec::new();
    loop {
        match response.body.next().await? {
            BodyPiece::Data(data) => body.extend_from_slice(&data),
            BodyPiece::End(_) => return Ok(body),
        }
    }
}

fn text(fields: &Fields, name: &str) -> String {
    fields.combined(name).map_or_else(|| "none".to_owned(), |value| String::from_utf8(value).unwrap())
}

#[tokio::test]
async fn a_file_that_the_disk_does_not_give_is_its_own_failure_and_not_the_directorys() {
    let site = Site::new(&["a.html"]);
    let head = RequestHead::new(Method::GET, "/a.html");
    let (connection, limits) = (ConnectionFacts::default(), Limits::default());
    let request = Request {
        head: &head,
        connection: &connection,
        gateway: &site.gateway,
        limits: &limits,
        open_files: &OpenFiles::default(),
    };
    let response = answer(&site.scratch.root(), &request, ResolvedPath::Broken, None).await.unwrap();
    assert_eq!(response.head.status, StatusCode::INTERNAL_SERVER_ERROR);
}

#[tokio::test(flavor = "current_thread")]
async fn a_file_comes_with_its_type_its_length_and_its_validators() {
    let site = Site::new(&["index.html", "a.css"]);
    let (status, fields, body) = site.get("/?x", &[]).await;
    assert_eq!((status, body.as_str()), (200, "index.html"));
    assert_eq!(text(&fields, "content-type"), "text/html; charset=utf-8");
    assert_eq!(text(&fields, "content-length"), "10");
    assert_eq!(text(&fields, "last-modified"), LAST_MODIFIED);
    assert!(text(&fields, "etag").starts_with('"'));
    assert_eq!(text(&fields, "accept-ranges"), "bytes");
    assert!(!fields.contains("vary") && !fields.contains("date"));
    let (status, head, body) = site.ask(Method::HEAD, "/", &[]).await;
    assert_eq!((status, body.as_str()), (200, ""));
    assert_eq!(head.block(), fields.block());
}

#[tokio::test(flavor = "current_thread")]
async fn types_are_those_that_browsers_expect() {
    let rows = [
        ("a.css", "text/css; charset=utf-8"),
        ("a.js", "text/javascript; charset=utf-8"),
        ("a.mjs", "text/javascript; charset=utf-8"),
        ("a.json", "application/json"),
        ("a.xml", "text/xml"),
        ("a.svg", "image/svg+xml"),
        ("a.woff2", "font/woff2"),
        ("a.wasm", "application/wasm"),
        ("A.JPG", "image/jpeg"),
        ("a.webp", "image/webp"),
        ("a.avif", "image/avif"),
        ("a.ico", "image/x-icon"),
        ("a.pdf", "application/pdf"),
        ("a.mp4", "video/mp4"),
        ("a.webmanifest", "application/manifest+json"),
        ("a.unheard-of", "application/octet-stream"),
        ("LICENSE", "application/octet-stream"),
    ];
    let mut site = Site::new(&rows.map(|(name, _)| name));
    for (name, expected) in rows {
        assert_eq!(text(&site.get(&format!("/{name}"), &[]).await.1, "content-type"), expected, "{name}");
    }
    site.gateway.files.charset = String::new();
    assert_eq!(text(&site.get("/a.css", &[]).await.1, "content-type"), "text/css");
}

#[tokio::test(flavor = "current_thread")]
async fn a_page_that_declares_another_charset_gets_none_that_would_garble_it() {
    let mut site = Site::new(&["euc.html", "euc.html.gz", "utf.htm", "late.html", "empty.html", "euc.txt"]);
    let euc = b"<html><head><meta http-equiv=\"Content-Type\" content=\"text/html; charset=EUC-JP\"><title>\xc6\xfc\xcb\xdc</title>";
    for name in ["euc.html", "euc.txt"] {
        site.put(name, euc);
    }
    site.put("utf.htm", b"<!DOCTYPE html><meta charset=\"UTF-8\">");
    site.put("late.html", &[&b" ".repeat(1024)[..], euc].concat());
    site.put("empty.html", b"");
    for (target, expected) in [
        ("/euc.html", "text/html"),
        ("/utf.htm", "text/html; charset=utf-8"),
        ("/late.html", "text/html; charset=utf-8"),
        ("/empty.html", "text/html; charset=utf-8"),
        ("/euc.txt", "text/plain; charset=utf-8"),
    ] {
        for method in [Method::GET, Method::HEAD] {
            assert_eq!(text(&site.ask(method, target, &[]).await.1, "content-type"), expected, "{target}");
        }
        let part = site.get(target, &[("Range", "bytes=0-3")]).await.1;
        assert!(target == "/empty.html" || text(&part, "content-type") == expected, "{target}");
    }
    let compressed = site.get("/euc.html", &[("Accept-Encoding", "gzip")]).await.1;
    let [coding, media_type] = ["content-encoding", "content-type"].map(|name| text(&compressed, name));
    assert_eq!((coding.as_str(), media_type.as_str()), ("gzip", "text/html"));
    site.gateway.files.charset = "euc-jp".to_owned();
    assert_eq!(text(&site.get("/euc.html", &[]).await.1, "content-type"), "text/html; charset=euc-jp");
    assert_eq!(text(&site.get("/utf.htm", &[]).await.1, "content-type"), "text/html");
}

#[tokio::test(flavor = "current_thread")]
async fn what_is_not_there_or_not_for_clients_says_no_more_than_that() {
    let site = Site::new(&["a.php", "d/x.html", ".env"]);
    for (target, expected) in [("/none", 404), ("/.env", 404), ("/a.php", 403), ("/d/", 403), ("/d", 403), ("*", 404)] {
        let (status, fields, body) = site.get(target, &[]).await;
        assert_eq!(status, expected, "{target}");
        assert!(body.starts_with(&expected.to_string()) && !body.contains("a.php"), "{body}");
        assert_eq!(text(&fields, "content-length"), body.len().to_string());
        assert!(!fields.contains("etag"));
        assert_eq!(site.ask(Method::HEAD, target, &[]).await.2, "");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn other_methods_are_refused_with_what_is_allowed() {
    //= RFC 9110 section 15.5.6
    //# The origin server MUST generate an Allow header field in a 405 response containing a list of the target
    //# resource's currently supported methods.
    let site = Site::new(&["a.html"]);
    for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
        let (status, fields, body) = site.ask(method, "/a.html", &[]).await;
        assert_eq!((status, text(&fields, "allow")), (405, "GET, HEAD".to_owned()));
        assert!(!body.contains("a.html"));
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_redirect_to_a_directory_keeps_the_query() {
    let site = Site::new(&["d e/index.html"]);
    let (status, fields, _) = site.get("//d%20e?a=b", &[]).await;
    assert_eq!((status, text(&fields, "location")), (301, "/d%20e/?a=b".to_owned()));
}

#[tokio::test(flavor = "current_thread")]
async fn conditions_are_evaluated_in_their_order() {
    let site = Site::new(&["a.html"]);
    let tag = text(&site.get("/a.html", &[]).await.1, "etag");
    let later = "Tue, 15 Nov 1994 12:45:27 GMT";
    let earlier = "Tue, 15 Nov 1994 12:45:25 GMT";
    let rows: [(&[(&str, &str)], u16); 13] = [
        (&[("If-None-Match", &tag)], 304),
        (&[("If-None-Match", "\"x\"")], 200),
        (&[("If-None-Match", "*")], 304),
        (&[("If-Modified-Since", LAST_MODIFIED)], 304),
        (&[("If-Modified-Since", earlier)], 200),
        (&[("If-None-Match", "\"x\""), ("If-Modified-Since", later)], 200),
        (&[("If-Match", &tag)], 200),
        (&[("If-Match", "*")], 200),
        (&[("If-Match", "\"x\"")], 412),
        (&[("If-Unmodified-Since", LAST_MODIFIED)], 200),
        (&[("If-Unmodified-Since", earlier)], 412),
        (&[("If-Match", &tag), ("If-Unmodified-Since", earlier)], 200),
        (&[("If-Match", "\"x\""), ("If-None-Match", &tag)], 412),
    ];
    for (fields, expected) in rows {
        let (status, answer, body) = site.get("/a.html", fields).await;
        assert_eq!(status, expected, "{fields:?}");
        assert_eq!(body, if expected == 200 { "a.html" } else { "" });
        if expected == 304 {
            assert_eq!((text(&answer, "etag"), text(&answer, "content-type")), (tag.clone(), "none".to_owned()));
        }
    }
    //= RFC 9110 section 13.1.1
    //# An origin server MUST use the strong comparison function when comparing entity tags for If-Match
    assert_eq!(site.get("/a.html", &[("If-Match", &format!("W/{tag}"))]).await.0, 412);
}

#[tokio::test(flavor = "current_thread")]
async fn ranges_are_parts() {
    let site = Site::new(&["a.txt"]);
    site.put("a.txt", b"0123456789");
    let (status, fields, body) = site.get("/a.txt", &[("Range", "bytes=2-4")]).await;
    assert_eq!((status, body.as_str()), (206, "234"));
    assert_eq!(
        (text(&fields, "content-range"), text(&fields, "content-length")),
        ("bytes 2-4/10".to_owned(), "3".to_owned())
    );
    let tag = text(&fields, "etag");
    let rows: [Row<'_>; 7] = [
        (&[("Range", "bytes=-3")], 206, "789"),
        (&[("Range", "bytes=7-99")], 206, "789"),
        (&[("Range", "bytes=10-")], 416, ""),
        (&[("Range", "bytes=0-0"), ("If-Range", &tag)], 206, "0"),
        (&[("Range", "bytes=0-0"), ("If-Range", LAST_MODIFIED)], 206, "0"),
        (&[("Range", "bytes=0-0"), ("If-Range", "\"x\"")], 200, "0123456789"),
        (&[("Range", "bytes=0-0"), ("If-None-Match", &tag)], 304, ""),
    ];
    for (fields, status, body) in rows {
        let (got, answer, content) = site.get("/a.txt", fields).await;
        assert_eq!((got, content.as_str()), (status, body), "{fields:?}");
        let range = if status == 416 { "bytes */10" } else { "none" };
        assert!(status == 206 || text(&answer, "content-range") == range, "{answer:?}");
    }
    assert_eq!(site.ask(Method::HEAD, "/a.txt", &[("Range", "bytes=2-4")]).await.0, 200);
    let (status, fields, body) = site.get("/a.txt", &[("Range", "bytes=0-1,5-6")]).await;
    let boundary = text(&fields, "content-type").replace("multipart/byteranges; boundary=", "");
    let part = |range: &str, content: &str| {
        let head = "Content-Type: text/plain; charset=utf-8";
        format!("\r\n--{boundary}\r\n{head}\r\nContent-Range: bytes {range}/10\r\n\r\n{content}")
    };
    assert_eq!((status, body), (206, part("0-1", "01") + &part("5-6", "56") + &format!("\r\n--{boundary}--\r\n")));
}

#[tokio::test(flavor = "current_thread")]
async fn another_version_has_another_tag() {
    let site = Site::new(&["a.html"]);
    let tag = async || text(&site.get("/a.html", &[]).await.1, "etag");
    let first = tag().await;
    assert_eq!(first, tag().await);
    site.touch("a.html", LONG_AGO + 1);
    let touched = tag().await;
    // The same size and time, but another file in its place.
    site.put("new", b"b.html");
    site.touch("new", LONG_AGO + 1);
    fs::rename(site.scratch.root().join("new"), site.scratch.root().join("a.html")).unwrap();
    let replaced = tag().await;
    assert!(first != touched && touched != replaced && first != replaced);
}

/// The status and the fields for a file, so many seconds after its last modification.
fn head_at(site: &Site, seconds: f64, fields: &[(&str, &str)]) -> (u16, Fields) {
    let (root, rules) = (
        site.scratch.root(),
        Rules { gateway: &site.gateway, scripts: Scripts::None, open_files: &OpenFiles::default() },
    );
    let found = DocumentRoot::waiting(&root).find("/a.html", &rules).unwrap();
    let ResolvedPath::File(file) = found else { panic!("{found:?}") };
    let (name, modified) = (&file.name, file.modified_seconds());
    let representation = FileRepresentation { file: &file, name, modified, coding: None, varies: false, charset: "" };
    let mut request = RequestHead::new(Method::GET, "/a.html");
    request.fields = fields.iter().copied().collect();
    let now = UNIX_EPOCH + Duration::from_secs(LONG_AGO) + Duration::from_secs_f64(seconds);
    let (head, _) = head::respond(&request, &representation, now);
    (head.status.as_u16(), head.fields)
}

#[test]
fn what_was_written_a_moment_ago_has_a_weak_tag_that_the_strong_one_does_not_match() {
    let site = Site::new(&["a.html"]);
    let weak = text(&head_at(&site, 0.9, &[]).1, "etag");
    assert!(weak.starts_with("W/\""), "{weak}");
    assert_eq!(head_at(&site, 0.9, &[("If-None-Match", &weak)]).0, 304);
    let strong = text(&head_at(&site, 1.1, &[]).1, "etag");
    assert!(strong.starts_with('"'), "{strong}");
    assert_eq!(head_at(&site, 1.1, &[("If-None-Match", &weak)]).0, 200);
    assert_eq!(head_at(&site, 1.1, &[("If-None-Match", &strong)]).0, 304);
}

#[tokio::test(flavor = "current_thread")]
async fn no_file_was_modified_in_the_future() {
    //= RFC 9110 section 8.8.2.1
    //# An origin server with a clock (as defined in Section 5.6.7) MUST NOT generate a Last-Modified date that is later than
    //# the server's time of message origination (Date, Section 6.6.1).
    let site = Site::new(&["a.html"]);
    site.open("a.html").set_modified(SystemTime::now() + Duration::from_secs(3600)).unwrap();
    let modified = httpdate_seconds(&text(&site.get("/a.html", &[]).await.1, "last-modified"));
    assert!(UNIX_EPOCH + Duration::from_secs(modified) <= SystemTime::now());
}

fn httpdate_seconds(text: &str) -> u64 {
    kasoku_wire::field::date::parse(text.as_bytes(), 0).unwrap().try_into().unwrap()
}

#[tokio::test(flavor = "current_thread")]
async fn who_accepts_a_coding_gets_the_file_that_lies_there_in_it() {
    let site = Site::new(&["a.js", "a.js.br", "a.js.gz", "b.js"]);
    let rows = [
        ("", "a.js", "none"),
        ("identity", "a.js", "none"),
        ("gzip, deflate, br, zstd", "a.js.br", "br"),
        ("gzip, deflate", "a.js.gz", "gzip"),
        ("zstd", "a.js", "none"),
        ("br;q=0.5, gzip", "a.js.gz", "gzip"),
        ("br;q=0, gzip;q=0", "a.js", "none"),
        ("*", "a.js.br", "br"),
        ("identity, br;q=0.5", "a.js", "none"),
    ];
    let mut tags = std::collections::HashSet::new();
    for (accept, content, coding) in rows {
        let (status, fields, body) = site.get("/a.js", &[("Accept-Encoding", accept)]).await;
        assert_eq!(
            (status, body.as_str(), text(&fields, "content-encoding").as_str()),
            (200, content, coding),
            "{accept}"
        );
        assert_eq!(text(&fields, "vary"), "Accept-Encoding", "{accept}");
        assert_eq!(text(&fields, "content-type"), "text/javascript; charset=utf-8");
        assert_eq!(text(&fields, "content-length"), content.len().to_string());
        tags.insert(text(&fields, "etag"));
    }
    assert_eq!(tags.len(), 3, "each representation has its own: {tags:?}");
    // Without compressed copies there is no Vary.
    assert!(!site.get("/b.js", &[("Accept-Encoding", "br")]).await.1.contains("vary"));
    // Requested by its own name, the copy is an archive.
    let (_, fields, _) = site.get("/a.js.gz", &[("Accept-Encoding", "gzip")]).await;
    assert_eq!(
        (text(&fields, "content-type"), text(&fields, "content-encoding")),
        ("application/gzip".to_owned(), "none".to_owned())
    );
}

#[tokio::test(flavor = "current_thread")]
async fn a_compressed_file_that_is_older_than_its_source_is_a_leftover() {
    let mut site = Site::new(&["a.js", "a.js.gz"]);
    site.touch("a.js", LONG_AGO + 1);
    let (_, fields, body) = site.get("/a.js", &[("Accept-Encoding", "gzip")]).await;
    assert_eq!((body.as_str(), fields.contains("vary")), ("a.js", false));
    site.touch("a.js.gz", LONG_AGO + 1);
    assert_eq!(site.get("/a.js", &[("Accept-Encoding", "gzip")]).await.2, "a.js.gz");
    site.gateway.files.precompressed = false;
    assert_eq!(site.get("/a.js", &[("Accept-Encoding", "gzip")]).await.2, "a.js");
}

#[tokio::test(flavor = "current_thread")]
async fn a_long_file_comes_in_bounded_pieces() {
    let content: Vec<u8> = (0..1_000_000_u32).map(|number| (number % 251) as u8).collect();
    let site = Site::new(&["a.bin"]);
    site.put("a.bin", &content);
    let mut response = site.respond(Method::GET, "/a.bin", &[]).await;
    let mut body = Vec::new();
    while let BodyPiece::Data(data) = response.body.next().await.unwrap() {
        assert!(!data.is_empty() && data.len() <= 65_536);
        body.extend_from_slice(&data);
    }
    assert!(body == content);
    assert_eq!(site.get("/a.bin", &[("Range", "bytes=999999-")]).await.2.as_bytes(), &content[999_999..]);
}

/// Bytes that the kernel has dropped from its memory are read all the same.
#[tokio::test(flavor = "current_thread")]
async fn what_is_only_on_the_disk_is_read() {
    let content: Vec<u8> = (0..300_000_u32).map(|number| (number % 241) as u8).collect();
    let site = Site::new(&["a.bin"]);
    site.put("a.bin", &content);
    let file = site.open("a.bin");
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let mut response = site.respond(Method::GET, "/a.bin", &[]).await;
    assert!(read(&mut response).await.unwrap() == content);
}

#[tokio::test(flavor = "current_thread")]
async fn a_file_that_changes_while_it_is_read_has_no_end() {
    let site = Site::new(&["a.bin"]);
    let content = vec![b'a'; 200_000];
    let begun = async || {
        site.put("a.bin", &content);
        let mut response = site.respond(Method::GET, "/a.bin", &[]).await;
        assert!(matches!(response.body.next().await.unwrap(), BodyPiece::Data(_)));
        response
    };
    let mut shrinks = begun().await;
    site.open("a.bin").set_len(100_000).unwrap();
    assert!(matches!(read(&mut shrinks).await, Err(Error::FileChanged)));
    let mut is_emptied = begun().await;
    site.open("a.bin").set_len(0).unwrap();
    assert!(matches!(read(&mut is_emptied).await, Err(Error::FileChanged)));
    let mut is_overwritten = begun().await;
    site.open("a.bin").write_all_at(b"b", 150_000).unwrap();
    assert!(matches!(read(&mut is_overwritten).await, Err(Error::FileChanged)));
    let mut grows = begun().await;
    File::options().append(true).open(site.scratch.root().join("a.bin")).unwrap().write_all(b"more").unwrap();
    assert!(matches!(read(&mut grows).await, Err(Error::FileChanged)));
    // A file that replaces it (rename) is another file: a body that has begun reads the old one to its end.
    let mut is_replaced = begun().await;
    site.put("new", b"new");
    fs::rename(site.scratch.root().join("new"), site.scratch.root().join("a.bin")).unwrap();
    assert!(read(&mut is_replaced).await.unwrap() == content[65_536..]);
    assert_eq!(site.get("/a.bin", &[]).await.2, "new");
}

#[tokio::test(flavor = "current_thread")]
async fn an_empty_file_is_an_empty_body() {
    let site = Site::new(&["a.txt"]);
    site.put("a.txt", b"");
    let (status, fields, body) = site.get("/a.txt", &[]).await;
    assert_eq!((status, text(&fields, "content-length").as_str(), body.as_str()), (200, "0", ""));
}

#[tokio::test(flavor = "current_thread")]
async fn a_root_that_is_gone_is_an_origin_that_cannot_be_reached() {
    let site = Site::new(&[]);
    let head = RequestHead::new(Method::GET, "/");
    let (connection, limits) = (ConnectionFacts::default(), Limits::default());
    let request = Request {
        head: &head,
        connection: &connection,
        gateway: &site.gateway,
        limits: &limits,
        open_files: &OpenFiles::default(),
    };
    let sent = send(&site.scratch.root().join("gone"), &request, None).await;
    assert!(matches!(sent, Err(Error::Unreachable(_))));
}
