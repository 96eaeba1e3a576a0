//! Globs over bytes: `*` stands for any run of bytes, and nothing else is special.

use memchr::{memchr, memmem};

/// Whether `text` fits `glob`, in which `*` stands for any run of bytes.
pub fn is_match(mut glob: &[u8], mut text: &[u8]) -> bool {
    loop {
        match (glob, text) {
            ([b'*', rest @ ..], _) => return is_match_behind_star(rest, text),
            ([a, rest_of_glob @ ..], [b, rest_of_text @ ..]) if a == b => (glob, text) = (rest_of_glob, rest_of_text),
            (glob, text) => return glob.is_empty() && text.is_empty(),
        }
    }
}

fn is_match_behind_star(mut glob: &[u8], mut text: &[u8]) -> bool {
    while let Some(star) = memchr(b'*', glob) {
        let (piece, rest) = glob.split_at_checked(star).unwrap_or((glob, &[]));
        let Some(at) = memmem::find(text, piece) else { return false };
        text = text.get(at + piece.len()..).unwrap_or_default();
        glob = rest.get(1..).unwrap_or_default();
    }
    text.ends_with(glob)
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
