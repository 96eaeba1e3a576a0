//! Compares the examples of docs/shared-format.md with the code: their bytes were made by other programs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

use bytes::Bytes;
use kasoku_shared::names::Namespace;
use kasoku_shared::sealed::{ITEM_OVERHEAD_BYTES, Opened, Sealer};

const PAGE: &str = include_str!("../../../docs/shared-format.md");
const URI: &str = "https://example.org/news";
const VARIANT: &[u8] = b"accept-language\x01\0\0\0\x02ja";

/// The block of that name, with the line ends that an item has, and without the last one.
fn example(name: &str) -> String {
    let (_, rest) = PAGE.split_once(&format!("<!-- example: {name} -->\n```text\n")).expect("an example of that name");
    let (block, _) = rest.split_once("\n```").unwrap();
    block.replace('\n', "\r\n")
}

fn content(sealer: &Sealer, item: String) -> Bytes {
    match sealer.open(item.clone().into()) {
        Ok(Opened::Whole(content)) => content,
        other => panic!("{item:?} is no item: {other:?}"),
    }
}

#[test]
fn names_are_those_of_the_page() {
    let names = Namespace::default();
    assert_eq!(names.response(URI).as_str(), example("name"));
    assert_eq!(names.variant(URI, VARIANT).as_str(), example("variant-name"));
    assert_eq!(names.variant("data://cache/posts/post/7", b"2").as_str(), example("value-name"));
    let hex: String = VARIANT.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, example("variant"));
}

#[test]
fn items_are_those_of_the_page() {
    let sealer = Sealer::new(None).unwrap();
    let secret = Sealer::new(Some(b"0123456789abcdef")).unwrap();
    let response = content(&sealer, example("whole"));
    assert_eq!(content(&secret, format!("{}\r\n{}", example("hmac"), String::from_utf8_lossy(&response))), response);
    content(&sealer, example("value"));
    // These end with an empty line.
    for name in ["fields", "purge"] {
        content(&sealer, example(name) + "\r\n");
    }
}

#[test]
fn a_manifest_is_that_of_the_page() {
    let sealer = Sealer::new(None).unwrap();
    let letters = vec![Bytes::from(vec![b'a'; 2500])];
    let sealed = sealer.seal(letters, 1000 + ITEM_OVERHEAD_BYTES, || 0xc0ffee).unwrap();
    assert_eq!(String::from_utf8(sealed.first.concat()).unwrap(), example("manifest") + "\r\n");
}
