//! Content codings of stored responses: which client gets which coding, what the head says, and which responses are never coded.

use kasoku_engine::explain::Question;
use kasoku_metrics::Counter;
use kasoku_options::{Coding, CodingRules};
use kasoku_testkit::{BOTH, Client, Response, Scenario, Setup, get, ok, on, reply};
use std::io::Read;
use std::sync::Arc;

const FRESH: &str = "Cache-Control: max-age=60";
const HTML: &str = "Content-Type: text/html; charset=utf-8";
const TAG: &str = "ETag: \"abc\"";

const GZIP: &str = "Accept-Encoding: gzip";
const BR: &str = "Accept-Encoding: br";
const ZSTD: &str = "Accept-Encoding: zstd";
const ALL: &str = "Accept-Encoding: gzip, deflate, br, zstd";

/// A page that is worth compressing.
fn page() -> String {
    (0..400).map(|line| format!("<p>Line {line} of a page.</p>\n")).collect()
}

fn html(fields: &[&str]) -> Vec<u8> {
    ok(&[&[FRESH, HTML, TAG], fields].concat(), page())
}

/// As many bytes in random order: no coding makes them shorter.
fn noise() -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    (0..10_000).map(|_| next()).collect()
}

fn decoded(response: &Response) -> String {
    let bytes = response.body.as_slice();
    let mut text = String::new();
    match response.field("content-encoding").as_str() {
        "gzip" => flate2::read::GzDecoder::new(bytes).read_to_string(&mut text),
        "br" => brotli::Decompressor::new(bytes, 4096).read_to_string(&mut text),
        "zstd" => zstd::stream::read::Decoder::new(bytes).unwrap().read_to_string(&mut text),
        "" => return response.text(),
        other => panic!("{other}"),
    }
    .unwrap();
    text
}

/// Stores `/`, and has the cache make a coding for this Accept-Encoding. It is the `made`th coding of the scene.
fn have_made(scene: &Scenario, client: &mut Client, accepts: &str, made: u64) {
    let response = client.get_with("/", &[accepts]);
    assert_eq!(response.status, 200);
    if !response.is_hit() {
        assert!(client.get_with("/", &[accepts]).is_hit());
    }
    scene.counted(Counter::Compressions, made);
}

fn set(setup: Setup, change: impl FnOnce(&mut CodingRules)) -> Setup {
    setup.route(|route| change(Arc::make_mut(&mut route.compression)))
}

#[test]
fn a_coding_is_made_on_the_first_hit_that_accepts_it_and_served_from_then_on() {
    for profile in BOTH {
        let scene = Setup::new(profile).run([get("/").answers(html(&[]))]);
        let mut client = scene.client();
        for is_hit in [false, true] {
            let response = client.get_with("/", &[GZIP]);
            assert_eq!(response.is_hit(), is_hit);
            assert_eq!((response.text(), response.has("content-encoding")), (page(), false), "no client waits for it");
            assert_eq!(response.field("vary"), "Accept-Encoding");
            assert_eq!(response.field("etag"), "\"abc\"");
        }
        scene.counted(Counter::Compressions, 1);
        for _ in 0..2 {
            let coded = client.get_with("/", &[GZIP]);
            assert!(coded.is_hit());
            assert_eq!(coded.field("content-encoding"), "gzip");
            assert_eq!(coded.field("vary"), "Accept-Encoding");
            assert_eq!(coded.field("etag"), "\"abc-gzip\"");
            assert_eq!(coded.field("content-type"), "text/html; charset=utf-8");
            assert!(coded.body.len() < page().len() / 2);
            assert_eq!(coded.field("content-length"), coded.body.len().to_string());
            assert_eq!(decoded(&coded), page());
        }
        let total = |counter| scene.engine.metrics().total(counter);
        scene.settled();
        assert_eq!((total(Counter::Compressions), total(Counter::CompressedResponses)), (1, 2), "once for all");
        let coded_bytes = client.get_with("/", &[GZIP]).body.len();
        scene.counted(Counter::CompressedResponses, 3);
        assert_eq!(total(Counter::CompressionBytesSaved), 3 * (page().len() - coded_bytes) as u64);
    }
}

#[test]
fn each_client_gets_what_it_likes_best_and_else_what_is_there() {
    let scene = Scenario::safe([get("/").answers(html(&[]))]);
    let mut client = scene.client();
    have_made(&scene, &mut client, GZIP, 1);
    // The cache makes br for this client, which gets gzip meanwhile.
    let meanwhile = client.get_with("/", &[ALL]);
    assert_eq!((meanwhile.field("content-encoding").as_str(), decoded(&meanwhile)), ("gzip", page()));
    scene.counted(Counter::Compressions, 2);
    have_made(&scene, &mut client, ZSTD, 3);
    for (accepts, coding, tag) in [
        (ALL, "br", "\"abc-br\""),
        ("Accept-Encoding: gzip, deflate", "gzip", "\"abc-gzip\""),
        ("Accept-Encoding: gzip, zstd", "zstd", "\"abc-zstd\""),
        ("Accept-Encoding: br;q=0.5, gzip;q=0.8, zstd;q=0.5", "gzip", "\"abc-gzip\""),
        ("Accept-Encoding: *", "br", "\"abc-br\""),
        ("Accept-Encoding: *;q=0.1, br;q=0", "zstd", "\"abc-zstd\""),
        ("Accept-Encoding: gzip;q=0", "", "\"abc\""),
        ("Accept-Encoding: deflate", "", "\"abc\""),
        ("Accept-Encoding: identity, gzip;q=0.9", "", "\"abc\""),
        ("Accept-Encoding:", "", "\"abc\""),
        ("X-None: at all", "", "\"abc\""),
        ("Cache-Control: no-transform\r\nAccept-Encoding: gzip", "", "\"abc\""),
    ] {
        let response = client.get_with("/", &[accepts]);
        assert_eq!(
            (response.field("content-encoding").as_str(), response.field("etag").as_str()),
            (coding, tag),
            "{accepts}"
        );
        assert_eq!((response.is_hit(), decoded(&response)), (true, page()), "{accepts}");
        assert_eq!(response.field("vary"), "Accept-Encoding", "{accepts}");
    }
}

#[test]
fn the_order_of_codings_is_a_setting() {
    let setup = set(Setup::safe(), |compression| compression.codings = vec![Coding::Gzip, Coding::Br]);
    let scene = setup.run([get("/").answers(html(&[]))]);
    let mut client = scene.client();
    have_made(&scene, &mut client, ALL, 1);
    assert_eq!(client.get_with("/", &[ALL]).field("content-encoding"), "gzip");
    assert!(!client.get_with("/", &[ZSTD]).has("content-encoding"));
}

/// Stores `/other` with this answer, requests it so often that the cache would have made codings, and returns its last answer.
fn never_coded(setup: Setup, other: Vec<u8>) -> Response {
    let scene = setup.run([get("/other").answers(other), get("/").answers(html(&[]))]);
    let mut client = scene.client();
    client.get_with("/other", &[ALL]);
    for _ in 0..2 {
        assert!(client.get_with("/other", &[ALL]).is_hit());
    }
    // The cache makes codings in the order of the requests. So once this later coding is made, `/other` has had its turn.
    have_made(&scene, &mut client, ALL, 1);
    let response = client.get_with("/other", &[ALL]);
    assert!(response.is_hit());
    assert_eq!(scene.engine.metrics().total(Counter::Compressions), 1);
    response
}

#[test]
fn what_is_compressed_already_or_short_or_no_text_is_sent_as_it_is() {
    for (what, other) in [
        ("an image", ok(&[FRESH, TAG, "Content-Type: image/png"], page())),
        ("no type", ok(&[FRESH, TAG], page())),
        ("a short page", ok(&[FRESH, TAG, HTML], &page()[..1023])),
        ("a coding of the origin's", html(&["Content-Encoding: made-up"])),
        ("no-transform", ok(&["Cache-Control: max-age=60, no-transform", HTML, TAG], page())),
        ("another status", reply("404 Not Found", &[FRESH, HTML, TAG], page())),
    ] {
        let response = never_coded(Setup::safe(), other);
        let own = response.field("content-encoding");
        assert!(own.is_empty() || own == "made-up", "{what}");
        assert!(!response.has("vary"), "{what}: there is nothing else");
        assert_eq!(response.field("etag"), "\"abc\"", "{what}");
        assert!(page().starts_with(&response.text()), "{what}");
    }
}

#[test]
fn what_is_kept_apart_by_cookie_is_not_coded() {
    let response = never_coded(Setup::rfc(), html(&["Vary: Cookie"]));
    assert_eq!((response.text(), response.field("vary").as_str()), (page(), "Cookie"));
}

#[test]
fn what_gets_no_smaller_is_sent_as_it_is_and_tried_once() {
    let scene = Scenario::safe([get("/").answers(ok(&[FRESH, HTML], noise()))]);
    let mut client = scene.client();
    for _ in 0..2 {
        client.get_with("/", &[GZIP]);
    }
    scene.counted(Counter::CompressionsDiscarded, 1);
    for _ in 0..3 {
        let response = client.get_with("/", &[GZIP]);
        assert_eq!((response.is_hit(), response.body), (true, noise()));
    }
    client.get_with("/", &[BR]);
    scene.counted(Counter::CompressionsDiscarded, 2);
    assert_eq!(scene.engine.metrics().total(Counter::CompressionsDiscarded), 2);
}

#[test]
fn types_and_length_are_settings() {
    let setup = set(Setup::safe(), |compression| {
        compression.types = vec!["image/*".to_owned()];
        compression.bytes_min = 100;
    });
    let scene = setup.run([get("/").answers(ok(&[FRESH, "Content-Type: IMAGE/x-made-up;a=b"], &page()[..200]))]);
    let mut client = scene.client();
    have_made(&scene, &mut client, GZIP, 1);
    assert_eq!(decoded(&client.get_with("/", &[GZIP])), page()[..200]);
}

#[test]
fn where_it_is_switched_off_all_is_as_it_came() {
    let scene = set(Setup::safe(), |compression| compression.is_enabled = false).run([get("/").answers(html(&[]))]);
    let mut client = scene.client();
    for _ in 0..3 {
        let response = client.get_with("/", &[ALL]);
        assert_eq!((response.text(), response.has("vary")), (page(), false));
    }
}

#[test]
fn vary_of_the_origin_stays_and_is_completed() {
    for (sent, told) in [
        ("Vary: X-Theme", "X-Theme, Accept-Encoding"),
        ("Vary: accept-encoding", "accept-encoding"),
        ("Vary: X-A, Accept-Encoding", "X-A, Accept-Encoding"),
    ] {
        let scene = Scenario::safe([get("/").answers(html(&[sent]))]);
        let mut client = scene.client();
        assert_eq!(client.get_with("/", &[GZIP]).field("vary"), told);
        have_made(&scene, &mut client, GZIP, 1);
        let coded = client.get_with("/", &[GZIP]);
        assert_eq!((coded.field("content-encoding").as_str(), coded.field("vary").as_str()), ("gzip", told));
    }
}

#[test]
fn each_variant_has_its_own_codings() {
    let scene = Scenario::safe([
        get("/").answers(html(&["Vary: X-Theme"])),
        get("/").answers(ok(&[FRESH, HTML, "ETag: \"dark\"", "Vary: X-Theme"], page().to_uppercase())),
    ]);
    let mut client = scene.client();
    have_made(&scene, &mut client, GZIP, 1);
    for _ in 0..2 {
        client.get_with("/", &[GZIP, "X-Theme: dark"]);
    }
    scene.counted(Counter::Compressions, 2);
    let (plain, dark) = (client.get_with("/", &[GZIP]), client.get_with("/", &[GZIP, "X-Theme: dark"]));
    assert_eq!((decoded(&plain), plain.field("etag").as_str()), (page(), "\"abc-gzip\""));
    assert_eq!((decoded(&dark), dark.field("etag").as_str()), (page().to_uppercase(), "\"dark-gzip\""));
}

#[test]
fn an_origin_that_compresses_itself_keeps_doing_so() {
    let gzip: Vec<u8> = [b"\x1f\x8b made up".to_vec(), noise()].concat();
    let vary = "Vary: Accept-Encoding";
    let scene = Scenario::safe([
        get("/").answers(ok(&[FRESH, HTML, vary, "ETag: \"abc;gzip\"", "Content-Encoding: gzip"], &gzip)),
        get("/").answers(html(&[vary])),
    ]);
    let mut client = scene.client();
    for _ in 0..2 {
        let own = client.get_with("/", &[GZIP]);
        assert_eq!((own.field("content-encoding").as_str(), own.field("etag").as_str()), ("gzip", "\"abc;gzip\""));
        assert_eq!((own.body, own.head.field("vary").as_deref()), (gzip.clone(), Some("Accept-Encoding")));
    }
    assert_eq!(client.get_with("/", &[BR]).text(), page());
    have_made(&scene, &mut client, BR, 1);
    assert_eq!(decoded(&client.get_with("/", &[BR])), page());
    assert_eq!(client.get_with("/", &[GZIP]).body, gzip);
    let asked: Vec<_> = scene.origin.requests().iter().map(|one| one.field("accept-encoding")).collect();
    assert_eq!(asked, [Some("gzip".to_owned()), Some("br".to_owned())], "as the clients sent it");
}

#[test]
fn a_client_that_has_it_is_told_so_in_each_coding_that_it_accepts() {
    let scene = Scenario::safe([get("/").answers(html(&["Last-Modified: Sat, 01 Aug 2026 10:00:00 GMT"]))]);
    let mut client = scene.client();
    client.get("/");
    let known = |client: &mut Client, accepts: &str, tag: &str| {
        let response = client.get_with("/", &[accepts, &format!("If-None-Match: {tag}")]);
        let whole = !response.body.is_empty();
        assert_eq!(response.field("vary"), "Accept-Encoding", "{accepts} {tag}");
        assert_eq!(response.status == 304, !whole);
        (response.status, response.field("etag"))
    };
    let not_modified = |tag: &str| (304, tag.to_owned());
    // No coding is made yet, but the client may have got this one before the response was stored anew.
    assert_eq!(known(&mut client, GZIP, "\"abc-gzip\""), not_modified("\"abc-gzip\""));
    have_made(&scene, &mut client, GZIP, 1);
    assert_eq!(known(&mut client, GZIP, "\"abc-gzip\""), not_modified("\"abc-gzip\""));
    assert_eq!(known(&mut client, GZIP, "\"x\", W/\"abc-gzip\""), not_modified("\"abc-gzip\""));
    assert_eq!(known(&mut client, GZIP, "\"abc\""), not_modified("\"abc\""));
    assert_eq!(known(&mut client, GZIP, "*"), not_modified("\"abc-gzip\""));
    assert_eq!(known(&mut client, "X-None: at all", "\"abc\""), not_modified("\"abc\""));
    // A cache between Kasoku and its clients may hold a coded response for others. A client that can't read it must not be told
    // to use it.
    assert_eq!(known(&mut client, "X-None: at all", "\"abc-gzip\"").0, 200);
    assert_eq!(known(&mut client, BR, "\"abc-gzip\"").0, 200);
    assert_eq!(known(&mut client, GZIP, "\"abd-gzip\"").0, 200);
    let since = "If-Modified-Since: Sat, 01 Aug 2026 10:00:00 GMT";
    let response = client.get_with("/", &[GZIP, since]);
    assert_eq!((response.status, response.field("etag").as_str()), (304, "\"abc-gzip\""));
}

#[test]
fn parts_are_parts_of_what_is_stored() {
    let scene = Scenario::safe([get("/").answers(html(&["Accept-Ranges: bytes"]))]);
    let mut client = scene.client();
    have_made(&scene, &mut client, GZIP, 1);
    let part = client.get_with("/", &[GZIP, "Range: bytes=0-9"]);
    assert_eq!((part.status, part.text().as_str()), (206, &page()[..10]));
    assert_eq!((part.field("etag").as_str(), part.has("content-encoding")), ("\"abc\"", false));
    assert_eq!(part.field("vary"), "Accept-Encoding");
    let same = client.get_with("/", &[GZIP, "Range: bytes=0-9", "If-Range: \"abc\""]);
    assert_eq!((same.status, same.text().as_str()), (206, &page()[..10]));
    // A client whose part is one of the coded bytes gets all of them: coded responses are not served in parts.
    let coded = client.get_with("/", &[GZIP, "Range: bytes=100-", "If-Range: \"abc-gzip\""]);
    assert_eq!((coded.status, coded.field("content-encoding").as_str()), (200, "gzip"));
    assert_eq!((decoded(&coded), coded.has("accept-ranges")), (page(), false));
    assert_eq!(client.get_with("/", &[GZIP, "Range: bytes=999999-"]).status, 416);
}

/// A Last-Modified date is the same for all codings, so it can't say whether the client has a part of the coded bytes.
#[test]
fn a_date_in_if_range_gets_the_whole_where_the_client_may_have_coded_bytes() {
    let setup = Setup::safe();
    let modified = format!("Last-Modified: {}", setup.date(-3600));
    let scene = setup.run([get("/").answers(ok(&[FRESH, HTML, &modified], page()))]);
    let mut client = scene.client();
    have_made(&scene, &mut client, GZIP, 1);
    let if_range = modified.replace("Last-Modified", "If-Range");
    let coded = client.get_with("/", &[GZIP, "Range: bytes=100-", &if_range]);
    assert_eq!((coded.status, coded.field("content-encoding").as_str()), (200, "gzip"));
    let plain = client.get_with("/", &["Range: bytes=100-", &if_range]);
    assert_eq!((plain.status, plain.text().as_str()), (206, &page()[100..]));
}

#[test]
fn the_origin_is_asked_about_its_own_tag_and_a_304_keeps_what_was_made() {
    let fields = ["Cache-Control: max-age=60", TAG];
    let scene = Scenario::safe([get("/").answers(html(&[])), get("/").answers(reply("304 Not Modified", &fields, ""))]);
    let mut client = scene.client();
    have_made(&scene, &mut client, GZIP, 1);
    scene.advance(61);
    let response = client.get_with("/", &[GZIP, "If-None-Match: \"old\", \"other-gzip\""]);
    assert_eq!((response.detail().as_str(), response.field("content-encoding").as_str()), ("revalidated", "gzip"));
    assert_eq!(decoded(&response), page());
    let asked = scene.origin.requests()[1].field("if-none-match");
    assert_eq!(asked.as_deref(), Some("\"abc\""));
    assert_eq!(client.get_with("/", &[GZIP, "If-None-Match: \"abc-gzip\""]).status, 304);
    assert_eq!(scene.engine.metrics().total(Counter::Compressions), 1, "once for these bytes");
}

#[test]
fn a_304_that_forbids_it_ends_it() {
    let fields = ["Cache-Control: max-age=60, no-transform", TAG];
    let scene = Scenario::safe([get("/").answers(html(&[])), get("/").answers(reply("304 Not Modified", &fields, ""))]);
    let mut client = scene.client();
    have_made(&scene, &mut client, GZIP, 1);
    scene.advance(61);
    for _ in 0..2 {
        let response = client.get_with("/", &[GZIP]);
        assert_eq!((response.text(), response.has("content-encoding")), (page(), false));
    }
}

#[test]
fn a_purge_takes_the_codings_with_it() {
    let scene = Scenario::safe([
        get("/").answers(html(&[])),
        get("/").answers(ok(&[FRESH, HTML, "ETag: \"2\""], page().to_uppercase())),
    ]);
    let mut client = scene.client();
    have_made(&scene, &mut client, GZIP, 1);
    assert_eq!(client.ask("PURGE", "/", &[]).response().status, 200);
    let anew = client.get_with("/", &[GZIP]);
    assert_eq!((anew.is_hit(), anew.text()), (false, page().to_uppercase()));
    have_made(&scene, &mut client, GZIP, 2);
    let coded = client.get_with("/", &[GZIP]);
    assert_eq!((decoded(&coded), coded.field("etag").as_str()), (page().to_uppercase(), "\"2-gzip\""));
}

#[test]
fn a_weak_tag_stays_weak_and_a_digest_of_other_bytes_stays_behind() {
    let fields = ["Content-MD5: x", "Digest: y", "Content-Digest: z", "Repr-Digest: v", "Content-Language: en"];
    let answer = ok(&[&[FRESH, HTML, "ETag: W/\"abc\""][..], &fields].concat(), page());
    let scene = Scenario::safe([get("/").answers(answer)]);
    let mut client = scene.client();
    have_made(&scene, &mut client, GZIP, 1);
    let coded = client.get_with("/", &[GZIP]);
    assert_eq!((coded.field("etag").as_str(), coded.field("content-language").as_str()), ("W/\"abc-gzip\"", "en"));
    for name in ["content-md5", "digest", "content-digest", "repr-digest"] {
        assert!(!coded.has(name) && client.get("/").has(name), "{name}");
    }
}

#[test]
fn head_says_what_get_would() {
    let scene = Scenario::safe([get("/").answers(html(&[]))]);
    let mut client = scene.client();
    have_made(&scene, &mut client, GZIP, 1);
    for accepts in [GZIP, "X-None: at all"] {
        let (head, get) = (client.head("/", &[accepts]), client.get_with("/", &[accepts]));
        for name in ["content-length", "content-encoding", "etag", "vary"] {
            assert_eq!(head.field(name), get.field(name), "{name}");
        }
    }
    assert_eq!(client.head("/", &[GZIP]).field("content-encoding"), "gzip");
}

#[test]
fn what_passes_is_sent_as_it_came() {
    let private = || ok(&["Cache-Control: private", HTML, TAG], page());
    let setup = Setup::safe().rule("/pass", |route| route.pass = true);
    let scene = setup.run([
        get("/pass").answers(html(&[])),
        get("/private").answers(private()),
        get("/private").answers(private()),
    ]);
    let mut client = scene.client();
    for target in ["/pass", "/private", "/private"] {
        let response = client.get_with(target, &[ALL]);
        assert_eq!((response.text(), response.has("content-encoding"), response.has("vary")), (page(), false, false));
    }
}

#[test]
fn who_edits_what_a_hit_has_shown_names_the_origin_s_tag_as_well() {
    let scene = Scenario::safe([
        get("/").answers(html(&[])),
        on("PUT", "/").answers(reply("204 No Content", &[], "")),
        on("PUT", "/").answers(reply("412 Precondition Failed", &[], "")),
    ]);
    let mut client = scene.client();
    have_made(&scene, &mut client, GZIP, 1);
    let tag = client.get_with("/", &[GZIP]).field("etag");
    assert_eq!(client.send_body("PUT", "/", &[&format!("If-Match: {tag}")], "new").status, 204);
    assert_eq!(client.send_body("PUT", "/", &["If-Match: \"old\""], "new").status, 412);
    let requests = scene.origin.requests();
    assert_eq!(requests[1].field("if-match").as_deref(), Some("\"abc-gzip\", \"abc\""));
    assert_eq!(requests[2].field("if-match").as_deref(), Some("\"old\""));
}

#[test]
fn a_reload_changes_what_is_coded_and_drops_nothing() {
    let mut scene = Scenario::safe([get("/").answers(html(&[]))]);
    have_made(&scene, &mut scene.client(), GZIP, 1);
    let with = |scene: &mut Scenario, change: &dyn Fn(&mut CodingRules)| {
        let mut options = (*scene.engine.handle().options()).clone();
        for site in &mut options.sites {
            change(Arc::make_mut(&mut Arc::make_mut(&mut site.route).compression));
        }
        scene.engine.reload(options).unwrap();
        let response = scene.client().get_with("/", &[GZIP]);
        assert_eq!((response.is_hit(), decoded(&response)), (true, page()));
        (response.field("content-encoding"), response.field("vary"))
    };
    let coded = ("gzip".to_owned(), "Accept-Encoding".to_owned());
    let plain = (String::new(), String::new());
    assert_eq!(with(&mut scene, &|it| it.types = vec!["text/css".to_owned()]), plain);
    assert_eq!(with(&mut scene, &|it| it.types = vec!["text/*".to_owned()]), coded);
    assert_eq!(with(&mut scene, &|it| it.bytes_min = 1 << 20), plain);
    assert_eq!(with(&mut scene, &|it| it.bytes_min = 0), coded);
    assert_eq!(with(&mut scene, &|it| it.is_enabled = false), plain);
}

#[test]
fn explain_tells_which_codings_there_are() {
    let scene = Scenario::safe([get("/").answers(html(&[]))]);
    let mut client = scene.client();
    have_made(&scene, &mut client, GZIP, 1);
    have_made(&scene, &mut client, BR, 2);
    let lengths = [GZIP, BR].map(|accepts| client.get_with("/", &[accepts]).body.len() as u64);
    let question = Question::get("http://example.org/");
    let entry = scene.engine.handle().explain(&question).unwrap().stored.entry.unwrap();
    assert_eq!(entry.body_bytes, page().len() as u64);
    assert_eq!(entry.codings, [("gzip", lengths[0]), ("br", lengths[1])]);
}
