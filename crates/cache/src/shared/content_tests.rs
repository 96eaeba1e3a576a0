//! Scenarios of contents: what is written is read, and what a forger or a careless program writes is refused.

use super::super::lines::NOMINATED_MAX;
use super::*;
use crate::tags::{of_site, of_tag};
use crate::{Cache, CacheLimits};
use http::StatusCode;
use kasoku_semantics::policy::{Policy, Profile};
use kasoku_shared::purge_log::Generation;
use kasoku_wire::http1::{HeadError, ResponseError};

const SEVEN: Generation = Generation { log: 0xab, number: 7 };

/// Some day in November 2026.
const NOW: Now = Now { unix_ms: 1_795_000_000_000, mono_ms: 5_000_000_000 };

fn key(uri: &str) -> Key {
    Cache::new(CacheLimits { memory_bytes_max: 1 << 20, object_bytes_max: 1 << 16 }).key(uri)
}

fn meta() -> Meta {
    let head = ResponseHead::new(StatusCode::OK)
        .with("Date", "Wed, 18 Nov 2026 08:00:00 GMT")
        .with("Content-Type", "text/html")
        .with("Content-Length", "4");
    let freshness = Freshness {
        response_time: NOW.when(NOW.unix_ms - 60_000),
        initial_age: 2,
        lifetime: 600,
        source: LifetimeSource::MaxAge,
        stale_while_revalidate: 5,
        stale_if_error: 7,
        has_stale_if_error: false,
        no_cache: false,
        must_revalidate: false,
    };
    let (nominated, variant) = (Vec::new(), Vec::new());
    Meta { head, freshness, nominated, variant, withheld: None, tags: None, epoch: 9, rules: 0xab }
}

/// A response that has all that one can have.
fn full() -> Meta {
    let own = meta();
    let freshness = Freshness {
        source: LifetimeSource::Ttl,
        has_stale_if_error: true,
        no_cache: true,
        must_revalidate: true,
        ..own.freshness
    };
    let withheld: Fields = [("ETag", "\"a, b\""), ("Last-Modified", "yesterday")].into_iter().collect();
    Meta {
        freshness,
        nominated: vec!["accept".to_owned(), "x-device".to_owned()],
        variant: b"accept\x01\0\0\0\x03*/*x-device\0".to_vec(),
        withheld: Some(Box::new(withheld)),
        tags: Some(Arc::new(Tags::of_hashes(1, [2, u64::MAX].into(), true))),
        ..own
    }
}

fn written(meta: &Meta) -> Vec<u8> {
    write(meta, SEVEN, &key("http://a.test/?q=1"), 4).unwrap()
}

fn read_response(content: &[u8]) -> Result<ReadResponse, Refused> {
    read(content, NOW).map(|read| match read {
        Read::Response(response) => Arc::unwrap_or_clone(response),
        Read::Nominated(other) => panic!("no response: {other:?}"),
    })
}

/// The content with one line replaced, or without it where there is nothing in its place.
fn with_line(content: &[u8], name: &str, line: &str) -> Vec<u8> {
    let text = String::from_utf8(content.to_vec()).unwrap();
    let old = text.lines().find(|line| line.starts_with(&format!("{name}: "))).unwrap();
    text.replacen(&format!("{old}\r\n"), line, 1).into_bytes()
}

#[test]
fn a_response_comes_back_as_it_was() {
    for meta in [meta(), full()] {
        let mut content = written(&meta);
        let head_ends = content.len();
        content.extend_from_slice(b"body");
        let read = read_response(&content).unwrap();
        assert_eq!((&*read.key, read.generation), ("http://a.test/?q=1", SEVEN));
        assert_eq!((read.body_begins, read.body_length), (head_ends, 4));
        // The epoch is this process's own.
        assert_eq!(format!("{:?}", read.meta), format!("{:?}", Meta { epoch: 0, ..meta }));
    }
}

#[test]
fn an_item_is_text() {
    let text = String::from_utf8(written(&full())).unwrap();
    let expected = "Kind: response\r\nKey: http://a.test/?q=1\r\nGeneration: 000000000000000000000000000000ab 7\r\nReceived: 1794999940000\r\nInitial-Age: 2\r\n\
        Lifetime: 600\r\nLifetime-Source: ttl\r\nStale-While-Revalidate: 5\r\nStale-If-Error: 7\r\nMust-Revalidate: yes\r\n\
        No-Cache: yes\r\nRules: 00000000000000ab\r\nVary-On: accept,x-device\r\n\
        Variant: 61636365707401000000032a2f2a782d64657669636500\r\nTag-Site: 0000000000000001\r\n\
        Tags: 0000000000000002,ffffffffffffffff\r\nTags-Unknown: yes\r\nOwn-Tag: yes\r\nWithheld: ETag: \"a, b\"\r\n\
        Withheld: Last-Modified: yesterday\r\nBody-Length: 4\r\n\r\nHTTP/1.1 200 OK\r\nDate: Wed, 18 Nov 2026 08:00:00 GMT\r\n\
        Content-Type: text/html\r\nContent-Length: 4\r\n\r\n";
    assert_eq!(text, expected);
}

#[test]
fn every_source_of_a_lifetime_has_a_word_of_its_own() {
    for (source, word) in SOURCES {
        let freshness = Freshness { source, ..meta().freshness };
        let content = written(&Meta { freshness, ..meta() });
        assert!(String::from_utf8_lossy(&content).contains(&format!("Lifetime-Source: {word}\r\n")));
        assert_eq!(read_response(&content).unwrap().meta.freshness.source, source);
    }
}

#[test]
fn a_time_beyond_the_bound_is_written_as_the_bound() {
    let freshness = Freshness { lifetime: u64::MAX, initial_age: u64::MAX, ..meta().freshness };
    let read = read_response(&written(&Meta { freshness, ..meta() })).unwrap().meta.freshness;
    assert_eq!((read.lifetime, read.initial_age), (DELTA_SECONDS_MAX, DELTA_SECONDS_MAX));
    assert!(!read.is_fresh(NOW), "what was too old stays so");
}

#[test]
fn the_fields_of_a_uri_come_back() {
    let names = || ["accept", "x-device"].map(str::to_owned).to_vec();
    let content = write_nominated(&names(), 0xab, SEVEN, &key("http://a.test/")).unwrap();
    let Read::Nominated(fields) = read(&content, NOW).unwrap() else { panic!("no fields") };
    let expected =
        ReadNominated { key: "http://a.test/".to_owned(), generation: SEVEN, rules: 0xab, nominated: names() };
    assert_eq!(fields, expected);
    let more = [&content[..], b"HTTP/1.1 200 OK\r\n\r\n"].concat();
    assert_eq!(read(&more, NOW).unwrap_err(), Refused::Length);
    assert_eq!(read(&with_line(&content, "Vary-On", ""), NOW).unwrap_err(), Refused::Missing("Vary-On"));
    for names in [&[][..], &["B"], &["b", "a"], &["a", "a"], &["*"], &["a b"], &["a,b"], &["a\r\nRules"]] {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(write_nominated(&names, 0, SEVEN, &key("http://a.test/")), None, "{names:?}");
    }
}

#[test]
fn unknown_lines_are_ignored() {
    let content = [b"Later-Version: x\r\nX: \xff\r\n", &written(&meta())[..]].concat();
    assert!(read_response(&content).is_ok());
}

#[test]
fn a_necessary_line_is_there_once_and_can_be_read() {
    let content = written(&full());
    let necessary = [
        "Kind",
        "Key",
        "Generation",
        "Received",
        "Initial-Age",
        "Lifetime",
        "Lifetime-Source",
        "Rules",
        "Variant",
        "Vary-On",
        "Tag-Site",
        "Own-Tag",
        "Body-Length",
    ];
    for name in necessary {
        assert_eq!(read(&with_line(&content, name, ""), NOW).unwrap_err(), Refused::Missing(name), "without {name}");
    }
    let single = ["Stale-While-Revalidate", "Stale-If-Error", "Must-Revalidate", "No-Cache", "Tags", "Tags-Unknown"];
    for name in necessary.into_iter().chain(single) {
        let text = String::from_utf8(content.clone()).unwrap();
        let line = text.lines().find(|line| line.starts_with(&format!("{name}: "))).unwrap();
        let twice = with_line(&content, name, &format!("{line}\r\n{}\r\n", line.to_ascii_lowercase()));
        assert_eq!(read(&twice, NOW).unwrap_err(), Refused::Twice(name), "{name} twice");
        for value in ["", "x,", "-1", "+1", "1.5", "\u{e9}", "99999999999999999999", "YES"] {
            let refused = read(&with_line(&content, name, &format!("{name}: {value}\r\n")), NOW);
            if name == "Key" && !matches!(value, "" | "\u{e9}") {
                assert!(refused.is_ok(), "any word may be a key: {value:?}");
            } else if name == "Variant" && value == "99999999999999999999" {
                assert!(refused.is_ok(), "a variant is any bytes");
            } else if name == "Vary-On" && matches!(value, "-1" | "+1" | "1.5" | "99999999999999999999") {
                assert!(refused.is_ok(), "a token may be a name: {value:?}");
            } else {
                assert_eq!(refused.unwrap_err(), Refused::Value(name), "{name}: {value:?}");
            }
        }
    }
}

#[test]
fn numbers_are_bounded() {
    let content = written(&full());
    let beyond = (DELTA_SECONDS_MAX + 1).to_string();
    for (name, number) in [
        ("Lifetime", &*beyond),
        ("Initial-Age", &beyond),
        ("Stale-While-Revalidate", &beyond),
        ("Stale-If-Error", &beyond),
        ("Received", "9223372036854775808"),
        ("Body-Length", "1073741825"),
    ] {
        let changed = with_line(&content, name, &format!("{name}: {number}\r\n"));
        assert_eq!(read(&changed, NOW).unwrap_err(), Refused::Value(name), "{name}");
    }
    let tags = vec!["0000000000000001"; TAGS_MAX + 1].join(",");
    let many = with_line(&content, "Tags", &format!("Tags: {tags}\r\n"));
    assert_eq!(read(&many, NOW).unwrap_err(), Refused::Value("Tags"));
    let names = (1000..=1000 + NOMINATED_MAX).map(|n| format!("n{n}")).collect::<Vec<_>>().join(",");
    let many = with_line(&content, "Vary-On", &format!("Vary-On: {names}\r\n"));
    assert_eq!(read(&many, NOW).unwrap_err(), Refused::Value("Vary-On"));
}

#[test]
fn a_clock_may_be_ahead_by_a_minute() {
    let at = |ms: i64| with_line(&written(&meta()), "Received", &format!("Received: {}\r\n", NOW.unix_ms + ms));
    let ahead = read_response(&at(AHEAD_MS_MAX)).unwrap().meta.freshness;
    assert_eq!(ahead.age(NOW), ahead.initial_age);
    assert_eq!(read_response(&at(AHEAD_MS_MAX + 1)).unwrap_err(), Refused::Future);
    let old = read_response(&at(-3_600_000)).unwrap().meta.freshness;
    assert_eq!(old.age(NOW), 3602);
}

#[test]
fn what_belongs_together_is_there_together() {
    let content = written(&full());
    assert_eq!(
        read(&with_line(&content, "Stale-If-Error", "Stale-If-Error: 1\r\nGrace: 1\r\n"), NOW).unwrap_err(),
        Refused::Value("Grace")
    );
    for withheld in ["Set-Cookie: a=b", "X-Accel-Redirect: /a", "ETag", "ETag : x", ""] {
        let text = String::from_utf8(content.clone()).unwrap();
        let changed = text.replace("Withheld: Last-Modified: yesterday", &format!("Withheld: {withheld}"));
        assert_eq!(read(changed.as_bytes(), NOW).unwrap_err(), Refused::Value("Withheld"), "{withheld}");
    }
}

#[test]
fn a_content_that_is_cut_before_its_body_is_refused() {
    let content = written(&full());
    for end in 0..content.len() {
        assert!(read(&content[..end], NOW).is_err(), "{end}");
    }
    assert!(read(&content, NOW).is_ok());
}

#[test]
fn a_head_is_read_as_strictly_as_an_origin_s() {
    let text = String::from_utf8(written(&meta())).unwrap();
    let changed = |from: &str, to: &str| read(text.replacen(from, to, 1).as_bytes(), NOW).unwrap_err();
    assert!(matches!(changed("HTTP/1.1 200", "HTTP/2 200"), Refused::Head(ResponseError::Version)));
    assert!(matches!(changed("Content-Type: ", "Content-Type : "), Refused::Head(_)));
    assert!(matches!(changed("Content-Type: text", "A: b\nContent-Type: text"), Refused::Head(_)));
    assert!(matches!(
        changed(
            "Generation: 000000000000000000000000000000ab 7\r\n",
            "Generation: 000000000000000000000000000000ab 7\n"
        ),
        Refused::Lines(HeadError::BareLf)
    ));
    assert!(matches!(
        changed("Generation: 000000000000000000000000000000ab 7\r\n", " x\r\n"),
        Refused::Lines(HeadError::ObsFold)
    ));
    // The body's length is stated once.
    assert_eq!(changed("Content-Length: 4", "Content-Length: 5"), Refused::Length);
    assert_eq!(changed("Content-Length: 4", "Content-Length: 4\r\nContent-Length: 5"), Refused::Length);
    assert_eq!(changed("Content-Length: 4", "X: 4"), Refused::Length);
    assert_eq!(changed("Content-Length: 4", "Transfer-Encoding: chunked"), Refused::Length);
    assert_eq!(changed("Body-Length: 4", "Body-Length: 3"), Refused::Length);
    for line in
        ["X: y", "Date: yesterday", "Date: Wed, 18 Nov 2026 08:00:00 GMT\r\nDate: Wed, 18 Nov 2026 08:00:01 GMT"]
    {
        assert_eq!(changed("Date: Wed, 18 Nov 2026 08:00:00 GMT", line), Refused::Date, "{line}");
    }
    assert_eq!(changed("200 OK", "204 No Content"), Refused::Length);
    assert_eq!(changed("Kind: response", "Kind: purge"), Refused::Value("Kind"));
}

#[test]
fn what_would_be_read_otherwise_is_not_written() {
    let write = |change: &dyn Fn(&mut Meta)| {
        let mut meta = full();
        change(&mut meta);
        super::write(&meta, SEVEN, &key("http://a.test/"), 4)
    };
    assert!(write(&|_| {}).is_some());
    assert_eq!(write(&|meta| meta.nominated = vec!["b".to_owned(), "a".to_owned()]), None);
    assert_eq!(write(&|meta| meta.nominated.clear()), None, "a variant by no field");
    assert_eq!(write(&|meta| meta.variant.clear()), None);
    assert_eq!(write(&|meta| meta.head.reason = b"OK\r\nSet-Cookie: a=b".to_vec()), None);
    assert_eq!(write(&|meta| meta.head.fields.set("Content-Length", "5")), None);
    assert_eq!(write(&|meta| assert_eq!(meta.head.fields.remove("date"), 1)), None);
    assert_eq!(write(&|meta| meta.head.fields.push("X", "a".repeat(64 * 1024))), None, "longer than is read");
    let withheld = |value: &[u8]| Some(Box::new([("ETag", value)].into_iter().collect::<Fields>()));
    assert!(write(&|meta| meta.withheld = withheld(b"\"\xff\"")).is_some());
    assert_eq!(write(&|meta| meta.withheld = withheld(b"\x7f")), None);
    assert_eq!(write(&|meta| meta.variant = vec![0; 128 * 1024]), None, "longer than is read");
    let tags = Tags::of_hashes(1, vec![2; TAGS_MAX + 1].into(), false);
    assert_eq!(write(&|meta| meta.tags = Some(Arc::new(tags.clone()))), None);
    for uri in ["", "http://a.test/ b", "http://a.test/\r\nKind: fields", "http://\u{e9}.test/"] {
        assert_eq!(super::write(&meta(), SEVEN, &key(uri), 4), None, "{uri:?}");
    }
    let large = |length: u64| {
        let mut meta = meta();
        meta.head.fields.set("Content-Length", length.to_string());
        super::write(&meta, SEVEN, &key("http://a.test/"), length)
    };
    assert!(large(BODY_BYTES_MAX).is_some() && large(BODY_BYTES_MAX + 1).is_none());
}

#[test]
fn no_bytes_make_it_panic() {
    let content = written(&full());
    for at in 0..content.len() {
        for byte in [0, b'\r', b'\n', b' ', b':', b',', b'9', b'g', 0xff] {
            let mut changed = content.clone();
            changed[at] = byte;
            if let Ok(Read::Response(read)) = read(&changed, NOW) {
                // What is read can be written, and is read alike.
                let again = super::write(&read.meta, read.generation, &key(&read.key), read.body_length);
                let Some(again) = again else { panic!("{:?}", String::from_utf8_lossy(&changed)) };
                assert_eq!(format!("{:?}", read_response(&again).unwrap().meta), format!("{:?}", read.meta));
            }
        }
    }
}

/// The page for programs that read and write items.
const PAGE: &str = include_str!("../../../../docs/shared-format.md");

/// The content of an example of the page. `kasoku-shared` compares its digest.
fn example(name: &str) -> String {
    let (_, rest) = PAGE.split_once(&format!("<!-- example: {name} -->\n```text\n")).expect("an example of that name");
    let (_, content) = rest.split_once('\n').unwrap();
    content.split_once("\n```").unwrap().0.replace('\n', "\r\n")
}

#[test]
fn the_response_on_the_page_is_what_is_written() {
    let (content, at) = (example("whole"), Now { unix_ms: 1_795_000_060_000, ..NOW });
    let Ok(Read::Response(read)) = super::read(content.as_bytes(), at) else { panic!("no response") };
    let written = write(&read.meta, read.generation, &key(&read.key), read.body_length).unwrap();
    assert_eq!(String::from_utf8(written).unwrap() + "<p>Hello</p>", content);
    assert_eq!((read.body_begins as u64 + read.body_length) as usize, content.len());
    // Its variant and its tags are what another front end computes.
    let policy = Policy::new(Profile::Safe);
    assert!(read.meta.is_selected_by(&[("Accept-Language", "JA")].into_iter().collect(), &policy));
    assert!(!read.meta.is_selected_by(&Fields::new(), &policy));
    let tags = read.meta.tags.clone().unwrap();
    assert_eq!((tags.site, &*tags.each), (of_site("shop"), &[of_tag("shop", "item-7")][..]));
    assert!(PAGE.contains(&format!("| `shop` | `item-7` | `{:016x}` |", of_tag("shop", "item-7"))));
}

#[test]
fn the_fields_on_the_page_are_what_is_written() {
    let content = example("fields") + "\r\n";
    let Ok(Read::Nominated(read)) = super::read(content.as_bytes(), NOW) else { panic!("no fields") };
    let written = write_nominated(&read.nominated, read.rules, read.generation, &key(&read.key)).unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), content);
}

#[test]
fn the_page_explains_each_line_and_each_word() {
    let written = String::from_utf8([written(&full()), written(&meta())].concat()).unwrap();
    let names = written.lines().filter_map(|line| Some(line.split_once(": ")?.0));
    let of_the_head = ["Date", "Content-Type", "Content-Length"];
    let mut explained = 0;
    for name in names.filter(|name| !of_the_head.contains(name)) {
        assert!(PAGE.contains(&format!("\n| `{name}` | ")), "{name}");
        explained += 1;
    }
    assert!(explained > 20);
    for (_, word) in SOURCES {
        assert!(PAGE.contains(&format!("`{word}`")), "{word}");
    }
}
