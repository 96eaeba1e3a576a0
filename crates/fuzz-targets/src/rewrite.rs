//! Fuzz target for short addresses (`rewrite`) and the targets that they stand for. Input: path and query of a request in the first
//! line, a rewrite in each other line.

use crate::input::lines;
use kasoku_options::{Rewrite, Rewriter, rewritten};
use kasoku_semantics::url_path::UrlPath;
use std::slice;

/// Bytes at which some parser splits a query, or ends it.
const SEPARATORS: &[u8] = b"&=;+#";

pub(crate) fn run(data: &[u8]) {
    let lines = lines(data);
    let texts: Vec<&str> = lines.iter().filter_map(|line| std::str::from_utf8(line).ok()).collect();
    let Some((sent, texts)) = texts.split_first() else { return };
    let rules: Vec<Rewrite> = texts.iter().filter_map(|text| parsed(text)).collect();
    let is_target = sent.starts_with('/') && sent.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
    // The result of a longer target could exceed the limit on its length.
    if !is_target || sent.len() > 2048 {
        return;
    }
    let mut rewriter = Rewriter::default();
    let each = rules.iter().map(|rule| {
        let alone = rewritten(slice::from_ref(rule), sent);
        let mut again = String::new();
        let is_again = rewriter.write(slice::from_ref(rule), sent, &mut again);
        assert_eq!(is_again.then_some(again), alone, "what was in its memory before counts");
        alone
    });
    assert_eq!(rewritten(&rules, sent), each.flatten().next(), "the first that fits does not win");
    for rule in &rules {
        if let Some(target) = rewritten(slice::from_ref(rule), sent) {
            one(rule, sent, &target);
        }
    }
}

fn parsed(text: &str) -> Option<Rewrite> {
    let rule = Rewrite::parse(text).ok()?;
    assert_eq!(Rewrite::parse(&rule.to_string()).as_ref(), Ok(&rule), "written again, it reads otherwise");
    Some(rule)
}

/// Checks the target to which a rule rewrites `sent`.
fn one(rule: &Rewrite, sent: &str, target: &str) {
    assert!(target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'), "{target} is no request-target");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (sent_path, sent_query) = sent.split_once('?').unwrap_or((sent, ""));
    let read = UrlPath::read(path).expect("a path");
    assert!(!read.is_ambiguous(), "{path} can be read in two ways");
    assert!(!path.contains("//") && path.split('/').count() == read.text().split(|byte| *byte == b'/').count());

    // A captured value adds no separator to the query and does not end it.
    let line = rule.to_string();
    let right = line.split_once(" => ").expect("an arrow").1;
    let written = literals(right.split_once('?').map_or("", |(_, query)| query));
    let joint = usize::from(!right.split_once('?').map_or("", |(_, query)| query).is_empty() && !sent_query.is_empty());
    for separator in SEPARATORS {
        let count = |text: &str| text.bytes().filter(|byte| byte == separator).count();
        let expected = count(&written) + count(sent_query) + if *separator == b'&' { joint } else { 0 };
        assert_eq!(count(query), expected, "{}: {sent} to {target} by {line}", char::from(*separator));
    }
    assert!(query.ends_with(sent_query));
    spelled_otherwise(rule, (sent_path, sent_query), target);
}

/// A path with each byte percent-encoded is rewritten to the same target.
fn spelled_otherwise(rule: &Rewrite, (path, query): (&str, &str), target: &str) {
    let read = UrlPath::read(path).expect("a path that fits");
    let encode = |byte: &u8| if *byte == b'/' { "/".to_owned() } else { format!("%{byte:02x}") };
    let path: String = read.text().iter().map(encode).collect();
    let other = rewritten(slice::from_ref(rule), &format!("{path}?{query}")).expect("another spelling fits as well");
    assert_eq!(decoded(&other), decoded(target));
}

/// A text without its placeholders.
fn literals(text: &str) -> String {
    text.split('{').enumerate().map(|(number, piece)| if number == 0 { piece } else { behind(piece) }).collect()
}

fn behind(piece: &str) -> &str {
    piece.split_once('}').map_or("", |(_, behind)| behind)
}

fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    bytes
}
