//! Fuzz target for lists, quoted strings, parameters and quality values. Input: lines of one field.

use crate::input::{field, lines};
use kasoku_wire::field::list::{is_token, members, parameters, pieces, split, trim, unquote};
use kasoku_wire::field::quality_list::{QUALITY_ONE, preferences};

pub(crate) fn run(data: &[u8]) {
    let lines = lines(data);
    for line in &lines {
        one_line(line);
        weighed(line);
        quoted(line);
    }
    let fields = field("A", &lines);
    let each: Vec<&[u8]> = lines.iter().flat_map(|line| split(line)).collect();
    assert_eq!(members(&fields, "a").collect::<Vec<_>>(), each);
}

/// Members are pieces of the line, in its order; only separators and white space are lost between them.
fn one_line(line: &[u8]) {
    let all: Vec<&[u8]> = split(line).collect();
    let with_empty: Vec<&[u8]> = pieces(line).collect();
    assert!(!with_empty.is_empty() && with_empty.len() <= line.len() + 1);
    assert_eq!(with_empty.iter().copied().filter(|piece| !piece.is_empty()).collect::<Vec<_>>(), all);
    let visible = |bytes: &[u8]| bytes.iter().filter(|byte| !b", \t".contains(byte)).count();
    assert_eq!(all.iter().map(|member| visible(member)).sum::<usize>(), visible(line));
    for member in &all {
        assert!(!member.is_empty() && trim(member) == *member);
        assert!(member.contains(&b'"') || !member.contains(&b','), "a comma outside a string separates nothing");
        assert_eq!(parameters(member).next().map(trim), parameters(member).next());
        assert!(parameters(member).all(|part| part.len() <= member.len()));
    }
    // A lone `"` opens no string: an unfinished string must not hide the rest of the line.
    if line.iter().filter(|byte| **byte == b'"').count() < 2 {
        let naive: Vec<&[u8]> = line.split(|byte| *byte == b',').map(trim).filter(|one| !one.is_empty()).collect();
        assert_eq!(all, naive);
    }
}

/// Qualities lie between 0 and 1, and a list that is written with them is parsed to the same members.
fn weighed(line: &[u8]) {
    let all: Vec<_> = preferences(line).collect();
    let mut written = Vec::new();
    for one in &all {
        assert!(one.quality <= QUALITY_ONE && trim(one.value) == one.value);
        written.extend_from_slice(one.value);
        let (whole, thousandths) = (one.quality / QUALITY_ONE, one.quality % QUALITY_ONE);
        written.extend_from_slice(format!(";q={whole}.{thousandths:03}, ").as_bytes());
    }
    if !line.contains(&b'"') && all.iter().all(|one| !one.value.is_empty()) {
        assert_eq!(preferences(&written).collect::<Vec<_>>(), all);
    }
}

/// A text that is quoted is unquoted to the same text.
fn quoted(line: &[u8]) {
    let escaped = line.iter().flat_map(|byte| if b"\"\\".contains(byte) { vec![b'\\', *byte] } else { vec![*byte] });
    let string: Vec<u8> = [b'"'].into_iter().chain(escaped).chain([b'"']).collect();
    assert_eq!(unquote(&string).as_deref(), Some(line));
    assert_eq!(split(&string).collect::<Vec<_>>(), [&string[..]], "a quoted string is one member");
    if let Some(text) = unquote(line) {
        assert!(text.len() + 2 <= line.len() && !is_token(line));
    }
}
