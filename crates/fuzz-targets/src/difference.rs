//! Fuzz target for the comparison of looks at a page in the leak guard. Input: lines of `guard-noise`, an empty line, one page, a line
//! `====`, the other page.

use http::StatusCode;
use kasoku_semantics::difference::{
    AnswerFacts, DIFFERENCES_MAX, Difference, KnownPieces, LINE_BYTES_MAX, LooksVerdict, NOISE_MAX, Noise, Outline,
    compare, compare_places,
};
use kasoku_wire::ResponseHead;

/// The line between the two pages.
const BETWEEN: &[u8] = b"\n====\n";

/// Two tokens of one form.
const TOKENS: [&str; 2] = ["0a1b9f8e77c2d4e6f80a1b2c", "9f8e770a1b6d5c4b3a291807"];

const TYPES: [&str; 5] = ["text/html", "application/xml", "application/json", "text/plain", "image/png"];

pub(crate) fn run(data: &[u8]) {
    let (noise, pages) = split(data, b"\n\n");
    let (one, other) = split(pages, BETWEEN);
    let lines = noise.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
    let noise: Vec<Noise> = lines.filter_map(pattern).take(NOISE_MAX).collect();
    for media_type in TYPES {
        two(&head(media_type), one, other, &noise);
    }
    tokens_are_found(one, &noise);
    let plain: Vec<u8> = one.iter().copied().filter(|byte| !b"<>&\"'".contains(byte)).collect();
    no_text_hides_a_form(&plain, &noise);
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

fn head(media_type: &str) -> ResponseHead {
    let mut head = ResponseHead::new(StatusCode::OK);
    head.fields.push("Content-Type", media_type);
    head
}

/// What looks at these pages say, each as often as it is named.
fn looks(head: &ResponseHead, bodies: &[&[u8]], noise: &[Noise]) -> LooksVerdict {
    let mut known = KnownPieces::default();
    let outline = |body: &&'_ [u8]| {
        let read = |known: &mut KnownPieces| Outline::of(head, body.to_vec(), &AnswerFacts::default(), noise, known);
        let (outline, afresh) = (read(&mut known), read(&mut KnownPieces::default()));
        assert!(outline.is_same_as(&afresh), "what is known of pieces changes nothing");
        outline
    };
    let all: Vec<Outline<'_>> = bodies.iter().map(outline).collect();
    let verdict = compare(&all, false);
    let tokens = verdict.places.iter().filter_map(|place| place.difference.as_ref());
    verdict.differences.iter().chain(tokens).for_each(is_short);
    assert!(verdict.differences.len() <= DIFFERENCES_MAX);
    verdict
}

/// Each byte that is not UTF-8 is written as U+FFFD, which has three bytes.
fn is_short(one: &Difference) {
    assert!([&one.anonymous, &one.visitors].iter().all(|line| line.len() <= 3 * LINE_BYTES_MAX + 6), "{one:?}");
}

fn two(head: &ResponseHead, one: &[u8], other: &[u8], noise: &[Noise]) {
    for same in [&[one, one, one][..], &[one, one, one, one]] {
        let verdict = looks(head, same, noise);
        assert!(verdict.differences.is_empty() && !verdict.is_undecided, "a page differs from itself");
        assert!(verdict.places.iter().all(|place| place.difference.is_none()), "a token where nothing changes");
    }
    let visitors = looks(head, &[one, other, one, other], noise);
    assert!(!visitors.is_undecided, "four looks decide");
    looks(head, &[one, one, other, other], noise);
    looks(head, &[one, other, one], noise);
}

/// A token that changes is found, whatever page follows.
fn tokens_are_found(page: &[u8], noise: &[Noise]) {
    let tags = [
        "<input type=hidden name=csrf value=VALUE>",
        "<meta name=csrf-token content='VALUE'>",
        "<form action='/a?token=VALUE'>",
    ];
    for tag in tags {
        let with = |value| [tag.replace("VALUE", value).as_bytes(), page].concat();
        assert!(has_token(&TOKENS.map(with), noise), "{tag}");
    }
}

/// A visitor's text without markup characters, which a page contains as applications write it, hides no form from the comparison.
fn no_text_hides_a_form(text: &[u8], noise: &[Noise]) {
    let page = |value: &str| {
        let field = format!("<b>a</b><form><input type=hidden name=csrf value='{value}'>");
        [b"<p title=\"", text, b"\">", text, field.as_bytes(), text, b"</form>"].concat()
    };
    assert!(has_token(&TOKENS.map(page), noise));
}

fn has_token([one, other]: &[Vec<u8>; 2], noise: &[Noise]) -> bool {
    let (head, facts) = (head("text/html"), AnswerFacts::default());
    let [one, other] =
        [one, other].map(|body| Outline::of(&head, &body[..], &facts, noise, &mut KnownPieces::default()));
    compare_places(&one, &other, |_| true).iter().any(|place| place.difference.is_some())
}
