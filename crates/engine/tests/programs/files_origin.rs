//! A directory of files as an origin, behind the cache.

use kasoku_options::{OriginAddress, Route};
use kasoku_testkit::{Client, Ending, Folder, Scenario, Setup, get, ok};
use std::fs;
use std::sync::Arc;

/// In seconds: long enough that a file of [`Folder::write`] is stale (its lifetime is a tenth of its age, which is an hour), and
/// short enough that the stale response may still be served when the directory is away.
const STALE: i64 = 370;

/// In seconds: longer than the longest heuristic lifetime.
const DAYS: i64 = 10 * 86_400;

fn files_of(folder: &Folder, route: &mut Route) {
    route.origins = vec![OriginAddress::Files(folder.path().to_owned()).into()];
    Arc::make_mut(&mut route.policy).is_of_files = true;
}

/// The files of a folder as a site.
fn serve(folder: &Folder) -> Scenario {
    Setup::safe().site(&[], |route| files_of(folder, route)).run_with_own_origins()
}

#[test]
fn a_file_is_stored_and_asked_for_again_only_by_its_tag() {
    let folder = Folder::new();
    folder.write("index.html", "one");
    let scene = serve(&folder);
    let mut client = scene.client();
    let first = client.get("/");
    assert_eq!((first.short(), first.is_hit()), ((200, "one".to_owned()), false));
    assert_eq!(first.field("content-type"), "text/html; charset=utf-8");
    assert!(first.has("date") && first.has("etag") && first.has("last-modified"));
    assert!(client.get("/").is_hit());
    scene.advance(DAYS);
    let again = client.get("/");
    assert_eq!((again.short(), again.detail().as_str()), ((200, "one".to_owned()), "revalidated"));
    scene.advance(DAYS);
    folder.write("index.html", "two");
    assert_eq!(client.get("/").short(), (200, "two".to_owned()));
}

#[test]
fn a_client_that_has_the_file_is_told_so_and_a_range_is_a_part_of_it() {
    let folder = Folder::new();
    folder.write("a.txt", "0123456789");
    let scene = serve(&folder);
    let mut client = scene.client();
    // The first time the origin answers, the second time the cache.
    for _ in 0..2 {
        let part = client.get_with("/a.txt", &["Range: bytes=2-4"]);
        assert_eq!((part.short(), part.field("content-range").as_str()), ((206, "234".to_owned()), "bytes 2-4/10"));
        let tag = format!("If-None-Match: {}", part.field("etag"));
        assert_eq!(client.get_with("/a.txt", &[&tag]).status, 304);
        assert_eq!(client.head("/a.txt", &[]).field("content-length"), "10");
        assert_eq!(client.get("/a.txt").text(), "0123456789");
    }
    // Requests that the cache forwards to its origin.
    assert_eq!(client.get_with("/a.txt", &["If-Match: \"x\""]).status, 412);
    assert_eq!(client.get_with("/a.txt", &["Cache-Control: no-cache", "Range: bytes=20-"]).status, 416);
}

#[test]
fn what_is_not_there_or_not_for_clients_is_refused() {
    let folder = Folder::new();
    for file in ["a.php", ".git/config", "d/a.html", "a.php~", "b/index.html"] {
        folder.write(file, "SOURCE");
    }
    std::os::unix::fs::symlink("/etc/passwd", folder.join("passwd")).unwrap();
    let scene = serve(&folder);
    let mut client = scene.client();
    for (target, status) in [
        ("/none", 404),
        ("/a.php", 403),
        ("/a.php/x", 404),
        ("/.git/config", 404),
        ("/%2egit/config", 404),
        ("/a.php~", 404),
        ("/d", 403),
        ("/passwd", 403),
        ("/../../../../etc/passwd", 404),
        ("/%2e%2e/%2e%2e/etc/passwd", 404),
        ("/..%2f..%2fetc%2fpasswd", 404),
        ("/d/..%5c..%5ca.php", 404),
        ("/d/a.html%00.php", 404),
        ("http://example.org/../a.php", 404),
    ] {
        let response = client.ask("GET", target, &[]).response();
        assert_eq!(response.status, status, "{target}");
        assert!(!response.text().contains("SOURCE") && !response.text().contains("root:"), "{target}");
    }
    let redirect = client.get("//b?q");
    assert_eq!((redirect.status, redirect.field("location").as_str()), (301, "/b/?q"));
    let refused = client.send_body("POST", "/d/a.html", &[], "x=y");
    assert_eq!((refused.status, refused.field("allow").as_str()), (405, "GET, HEAD"));
    // The connection goes on behind the unread body.
    assert_eq!(client.get("/d/a.html").status, 200);
}

#[test]
fn files_that_lie_there_compressed_are_stored_apart() {
    let folder = Folder::new();
    folder.write("a.js", "plain");
    folder.write("a.js.br", "BROTLI");
    let scene = serve(&folder);
    let mut client = scene.client();
    for is_hit in [false, true] {
        let coded = client.get_with("/a.js", &["Accept-Encoding: gzip, br"]);
        assert_eq!((coded.text().as_str(), coded.field("content-encoding").as_str()), ("BROTLI", "br"));
        let plain = client.get_with("/a.js", &["Accept-Encoding: gzip"]);
        assert_eq!((plain.text().as_str(), plain.has("content-encoding")), ("plain", false));
        assert!(coded.field("vary").contains("Accept-Encoding") && plain.field("vary").contains("Accept-Encoding"));
        assert_ne!(coded.field("etag"), plain.field("etag"));
        assert_eq!((coded.is_hit(), plain.is_hit()), (is_hit, is_hit));
    }
}

#[test]
fn a_file_too_large_to_be_stored_is_sent_whole_and_in_part() {
    let folder = Folder::new();
    let content: Vec<u8> = (0..20_000_000_u32).map(|number| (number % 253) as u8).collect();
    folder.write("a.bin", &content);
    let scene = serve(&folder);
    let mut client = scene.client();
    let whole = client.get("/a.bin");
    assert!(whole.body == content);
    assert!(!client.get("/a.bin").is_hit());
    let part = client.get_with("/a.bin", &["Range: bytes=19999990-"]);
    assert_eq!(part.status, 206);
    assert!(part.body == content[19_999_990..]);
}

#[test]
fn a_file_that_shrinks_while_it_is_sent_is_cut_and_never_stored() {
    let folder = Folder::new();
    let path = folder.write("a.bin", vec![b'a'; 64 << 20]);
    let scene = serve(&folder);
    let mut client = Client::connect_slow(scene.engine.addresses()[0]);
    let head = client.ask("GET", "/a.bin", &[]).next_head();
    assert_eq!(head.field("content-length").as_deref(), Some("67108864"));
    // More than fits into all buffers is still unread.
    fs::File::options().write(true).open(&path).unwrap().set_len(32 << 20).unwrap();
    let response = client.rest_of(head);
    assert!(response.ending == Ending::Cut && response.body.len() <= 32 << 20, "{}", response.body.len());
    folder.write("a.bin", "new");
    let mut client = scene.client();
    let fresh = client.get("/a.bin");
    assert_eq!((fresh.short(), fresh.is_hit()), ((200, "new".to_owned()), false));
}

#[test]
fn a_root_that_is_gone_is_502_and_what_is_stored_helps_out() {
    let folder = Folder::new();
    folder.write("www/a.html", "a");
    let scene = Setup::safe()
        .site(&[], |route| {
            files_of(&folder, route);
            route.origins = vec![OriginAddress::Files(folder.join("www")).into()];
        })
        .run_with_own_origins();
    let mut client = scene.client();
    assert_eq!(client.get("/a.html").status, 200);
    fs::rename(folder.join("www"), folder.join("gone")).unwrap();
    let failed = client.get("/b.html");
    assert_eq!((failed.status, failed.detail().as_str()), (502, "origin-unreachable"));
    scene.advance(STALE);
    assert_eq!(client.get("/a.html").short(), (200, "a".to_owned()));
    fs::rename(folder.join("gone"), folder.join("www")).unwrap();
    assert_eq!(client.get("/c.html").status, 404);
}

#[test]
fn assets_lie_beside_an_application() {
    let folder = Folder::new();
    folder.write("style.css", "body {}");
    let site = Setup::safe().rule("/assets/*", |route| {
        files_of(&folder, route);
        "/assets".clone_into(&mut route.gateway.url_prefix);
    });
    let scene = site.run([get("/style.css").answers(ok(&[], "of the application"))]);
    let mut client = scene.client();
    assert_eq!(client.get("/assets/style.css").text(), "body {}");
    assert_eq!(client.get("/style.css").text(), "of the application");
    assert_eq!(client.get("/assets/none.css").status, 404);
}

#[test]
fn a_long_file_is_sent_from_where_it_lies_and_only_what_can_be_compressed_is_stored_for_that() {
    let folder = Folder::new();
    for name in ["short.zip", "long.zip", "long.txt"] {
        folder.write(name, vec![b'x'; if name == "short.zip" { 1000 } else { 1001 }]);
    }
    let scene = Setup::safe()
        .site(&[], |route| {
            files_of(&folder, route);
            route.file_stored_bytes_max = 1000;
        })
        .run_with_own_origins();
    let mut client = scene.client();
    for (path, length, is_stored) in [("/short.zip", 1000, true), ("/long.zip", 1001, false), ("/long.txt", 1001, true)]
    {
        let first = client.get(path);
        assert_eq!((first.status, first.body.len()), (200, length), "{path}");
        let again = client.get(path);
        assert_eq!((again.status, again.body.len(), again.is_hit()), (200, length, is_stored), "{path}");
        assert_eq!(again.detail(), if is_stored { "hit" } else { "object-too-large" });
        let part = client.get_with(path, &["Range: bytes=1-2"]);
        assert_eq!(part.is_hit(), is_stored);
        assert_eq!(
            (part.short(), part.field("content-range")),
            ((206, "xx".to_owned()), format!("bytes 1-2/{length}"))
        );
        // Twice, since the origin answers each request for a long file.
        for _ in 0..2 {
            let parts = client.get_with(path, &["Range: bytes=0-0, 5-6"]);
            let kind = parts.field("content-type");
            assert!(parts.status == 206 && kind.starts_with("multipart/byteranges"), "{path} {kind}");
            assert!(parts.text().contains(&format!("Content-Range: bytes 5-6/{length}\r\n\r\nxx\r\n")), "{path}");
        }
        let tag = format!("If-None-Match: {}", again.field("etag"));
        assert_eq!(client.get_with(path, &[&tag]).status, 304);
        // A file that is newer than the one that was sent before is sent anew.
        if !is_stored {
            folder.write(&path[1..], "new");
            assert_eq!(client.get(path).text(), "new");
        }
    }
}

#[test]
fn who_has_a_long_file_already_is_told_so_also_when_asking_for_a_part() {
    let folder = Folder::new();
    folder.write("long.zip", vec![b'x'; 1001]);
    let scene = Setup::safe()
        .site(&[], |route| {
            files_of(&folder, route);
            route.file_stored_bytes_max = 1000;
        })
        .run_with_own_origins();
    let mut client = scene.client();
    let first = client.get("/long.zip");
    let (tag, date) = (first.field("etag"), first.field("last-modified"));
    for known in [format!("If-None-Match: {tag}"), format!("If-Modified-Since: {date}")] {
        assert_eq!(client.get_with("/long.zip", &["Range: bytes=1-2", &known]).status, 304, "{known}");
    }
    let other = client.get_with("/long.zip", &["Range: bytes=1-2", "If-None-Match: \"other\""]);
    assert_eq!(other.short(), (206, "xx".to_owned()));
}

#[test]
fn a_granted_lifetime_is_told_of_long_files_as_of_short_ones() {
    let folder = Folder::new();
    for (name, length) in [("short.zip", 1000), ("long.zip", 1001)] {
        folder.write(name, vec![b'x'; length]);
    }
    let scene = Setup::safe()
        .site(&[], |route| {
            files_of(&folder, route);
            route.file_stored_bytes_max = 1000;
            let grant = &mut Arc::make_mut(&mut route.policy).grant;
            grant.ttl_seconds = 600;
            grant.announce_ttl = true;
        })
        .run_with_own_origins();
    let mut client = scene.client();
    for path in ["/short.zip", "/long.zip"] {
        for _ in 0..2 {
            let whole = client.get(path);
            assert_eq!((whole.status, whole.field("cache-control").as_str()), (200, "max-age=600"), "{path}");
            let known = client.get_with(path, &[&format!("If-None-Match: {}", whole.field("etag"))]);
            assert_eq!((known.status, known.field("cache-control").as_str()), (304, "max-age=600"), "{path}");
        }
    }
}

#[test]
fn a_part_of_a_long_file_is_a_part_also_for_the_first_who_asks_where_a_lifetime_is_granted() {
    let folder = Folder::new();
    folder.write("film.mp4", "0123456789");
    let scene = Setup::safe()
        .site(&[], |route| {
            files_of(&folder, route);
            route.file_stored_bytes_max = 9;
            // With a granted lifetime, the cache does not forward ranges to the origin.
            Arc::make_mut(&mut route.policy).grant.ttl_seconds = 600;
        })
        .run_with_own_origins();
    for _ in 0..2 {
        let part = scene.client().get_with("/film.mp4", &["Range: bytes=2-4"]);
        assert_eq!((part.short(), part.field("content-range").as_str()), ((206, "234".to_owned()), "bytes 2-4/10"));
        assert_eq!(part.detail(), "object-too-large");
    }
}
