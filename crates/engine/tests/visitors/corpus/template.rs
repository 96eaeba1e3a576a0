//! Finds the blocks of a page: `@{repeat 3}…@{end}`, which may hold others.

/// Whether a tag begins a block.
pub(crate) fn is_block(tag: &str) -> bool {
    let kind = tag.split(' ').next().unwrap_or_default();
    ["item", "when", "maybe", "repeat", "shuffle", "some"].contains(&kind)
}

/// What stands before the block's own end.
pub(crate) fn until_end(text: &str) -> &str {
    let mut depth = 0;
    for (at, _) in text.match_indices("@{") {
        let tag = text[at + 2..].split('}').next().unwrap_or_default();
        if tag == "end" && depth == 0 {
            return &text[..at];
        }
        depth += i32::from(is_block(tag)) - i32::from(tag == "end");
    }
    panic!("a block without an end: {text}")
}

/// Splits at separators that are in no inner block.
pub(crate) fn split<'t>(text: &'t str, separator: &str) -> Vec<&'t str> {
    let mut parts = Vec::new();
    let (mut begin, mut depth) = (0, 0);
    for at in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
        let rest = &text[at..];
        if depth == 0 && at >= begin && rest.starts_with(separator) {
            parts.push(&text[begin..at]);
            begin = at + separator.len();
        } else if let Some(tag) = rest.strip_prefix("@{").and_then(|rest| rest.split('}').next()) {
            depth += i32::from(is_block(tag)) - i32::from(tag == "end");
        }
    }
    parts.push(&text[begin..]);
    parts
}
