//! Fuzz target for the comparison of two pages in the leak guard. Input: lines of `guard-noise`, an empty line, one page, a line
//! `====`, the other page.

use kasoku_semantics::difference::{DIFFERENCES_MAX, LINE_BYTES_MAX, Markup, NOISE_MAX, Noise, differences};

/// The line between the two pages.
const BETWEEN: &[u8] = b"\n====\n";

/// Two values that a pattern takes for the same only by a placeholder.
const VALUES: [&str; 2] = ["0a1b", "9f8e77"];

const MARKUPS: [Markup; 4] = [Markup::Html, Markup::Xml, Markup::Script, Markup::Text];

pub(crate) fn run(data: &[u8]) {
    let (noise, pages) = split(data, b"\n\n");
    let (one, other) = split(pages, BETWEEN);
    let lines = noise.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
    let noise: Vec<Noise> = lines.filter_map(pattern).take(NOISE_MAX).collect();
    for markup in MARKUPS {
        two(one, other, markup, &noise);
    }
    fields_differ(one, &noise);
    let plain: Vec<u8> = one.iter().copied().filter(|byte| !b"<>&\"'".contains(byte)).collect();
    no_text_ends_a_form(&plain, &noise);
}

fn split<'d>(data: &'d [u8], at: &[u8]) -> (&'d [u8], &'d [u8]) {
    match data.windows(at.len()).position(|window| window == at) {
        Some(place) => (&data[..place], &data[place + at.len()..]),
        None => (data, b""),
    }
}

fn pattern(text: &str) -> Option<Noise> {
    let noise = Noise::parse(text).ok()?;
    assert_eq!(noise.to_string(), text);
    Some(noise)
}

fn two(one: &[u8], other: &[u8], markup: Markup, noise: &[Noise]) {
    let found = differences(one, other, markup, noise);
    assert!(differences(one, one, markup, noise).is_empty(), "a page differs from itself");
    let back = differences(other, one, markup, noise);
    assert_eq!(found.is_empty(), back.is_empty(), "it matters which page comes first");
    assert!(found.len() <= DIFFERENCES_MAX);
    for one in &found {
        // Each byte that is not UTF-8 is written as U+FFFD, which has three bytes.
        assert!([&one.anonymous, &one.visitors].iter().all(|line| line.len() <= 3 * LINE_BYTES_MAX + 6), "{one:?}");
    }
    if found.is_empty() {
        let strict = differences(one, other, markup, &[]);
        assert!(strict.is_empty() == (one == other), "bytes that differ are told without noise");
        assert!(one == other || !noise.is_empty());
    }
}

/// A value in a form or in a `<meta>` is never noise, whatever page follows.
fn fields_differ(page: &[u8], noise: &[Noise]) {
    for tag in ["<input value=VALUE>", "<meta content='VALUE'>", "<form><b>VALUE</b></form>", "<form a=VALUE>"] {
        let with = |value| [tag.replace("VALUE", value).as_bytes(), page].concat();
        let [one, other] = VALUES.map(with);
        assert!(!differences(&one, &other, Markup::Html, noise).is_empty(), "{tag}");
    }
}

/// A visitor's text without markup characters, which a page contains as applications write it, hides no form from the comparison.
fn no_text_ends_a_form(text: &[u8], noise: &[Noise]) {
    let page = |value: &str| {
        let [before, behind] = [format!("<b>a</b><form a='{value}'>"), format!("<b>{value}</b></form>")];
        [b"<p title=\"", text, b"\">", text, before.as_bytes(), text, behind.as_bytes()].concat()
    };
    let [one, other] = VALUES.map(page);
    assert!(!differences(&one, &other, Markup::Html, noise).is_empty());
}
