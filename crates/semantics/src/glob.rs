//! Globs over bytes: `*` stands for any run of bytes, and nothing else is special.

/// Whether `text` fits `glob`, in which `*` stands for any run of bytes.
pub fn is_match(glob: &[u8], text: &[u8]) -> bool {
    let mut pieces = glob.split(|byte| *byte == b'*');
    let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        if piece.is_empty() {
            continue;
        }
        match rest.windows(piece.len()).position(|window| window == piece) {
            Some(at) => rest = rest.get(at + piece.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_run() {
        for (glob, text) in [("_ga_*", "_ga_X1"), ("*", ""), ("__utm*", "__utma"), ("a*b*c", "abxbc"), ("a**", "a")] {
            assert!(is_match(glob.as_bytes(), text.as_bytes()), "{glob} {text}");
        }
        for (glob, text) in [("_ga", "_ga_X"), ("a*b*c", "acb"), ("*x", "xy"), ("a*a", "a"), ("", "a")] {
            assert!(!is_match(glob.as_bytes(), text.as_bytes()), "{glob} {text}");
        }
    }
}
