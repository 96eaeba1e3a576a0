//! Splits a cookie's value into the parts that an application may write into a page.
//!
//! Frameworks put more into a cookie than the session's id: they sign it (`s:ID.SIGNATURE`), name the server that has the session
//! (`ID!SERVER!NONE`), or encode all of it in base64. The page contains the id alone. A value does not tell where its id ends, so
//! the search covers each part that is too long and too mixed to stand in a page by chance. Words, dates and version numbers are no
//! such parts.

use super::base64;

/// The length of the shortest part that is searched for by itself, in letters and digits.
const PART_BYTES_MIN: usize = 16;

/// The same length for the cookie of a session, if the part mixes letters and digits.
const SESSION_PART_BYTES_MIN: usize = 12;

/// The most beginnings of a value that are searched for, and the most pieces of it that are decoded as base64.
const PIECES_MAX: usize = 4;

/// The most parts of a text that was decoded from base64. The text may hold kilobytes of ciphertext (Laravel's), which has many
/// runs and no id.
const CODED_PARTS_MAX: usize = 16;

/// Calls `add` with each part of the percent-decoded `value` that is searched for by itself. `is_sessions`: the cookie is a
/// session's.
pub(super) fn each(value: &[u8], is_sessions: bool, mut add: impl FnMut(&[u8])) {
    written(value, is_sessions).for_each(&mut add);
    let pieces = value.split(|byte| is_end(*byte)).take(PIECES_MAX);
    let coded = std::iter::once(value).chain(pieces.filter(|piece| piece.len() < value.len()));
    for text in coded.filter_map(base64::text) {
        // A decoded text without an id may be a visitor's choice: `{"lang":"ko"}`.
        if is_mixed(&text) && (is_sessions || !super::may_be_known(&text)) {
            add(&text);
        }
        written(&text, is_sessions).take(CODED_PARTS_MAX).for_each(&mut add);
    }
}

/// The parts of a value that are searched for as they are, without decoding base64.
fn written(value: &[u8], is_sessions: bool) -> impl Iterator<Item = &[u8]> {
    let least = if is_sessions { SESSION_PART_BYTES_MIN } else { PART_BYTES_MIN };
    let is_long = move |run: &&[u8]| run.len() >= PART_BYTES_MIN || (run.len() >= least && is_mixed(run));
    let runs = value.split(|byte| !byte.is_ascii_alphanumeric()).filter(is_long);
    // A UUID, or random text in the URL-safe alphabet, often has no run that is long enough by itself.
    let joined = value.split(|byte| !byte.is_ascii_alphanumeric() && !is_joint(*byte)).map(trimmed);
    let joined = joined.filter(|run| count(run) >= PART_BYTES_MIN && is_mixed(run));
    // Express puts `s:` before a value that it signs.
    let signed = value.strip_prefix(b"s:").unwrap_or(value);
    let ends = signed.iter().enumerate().filter(|(_, byte)| is_end(**byte)).take(PIECES_MAX);
    let beginnings = ends.filter_map(|(end, _)| signed.get(..end));
    let beginnings = beginnings.filter(move |text| count(text) >= least && is_mixed(text));
    let parts = runs.chain(joined).chain(beginnings);
    parts.filter(move |part| is_sessions || !super::may_be_known(part))
}

/// Whether an id may end before this byte: it begins a signature or a server's name.
fn is_end(byte: u8) -> bool {
    matches!(byte, b'.' | b'!')
}

/// Whether this byte may stand within an id, but also between an id and other text.
fn is_joint(byte: u8) -> bool {
    matches!(byte, b'-' | b'_')
}

fn trimmed(mut run: &[u8]) -> &[u8] {
    while let [rest @ .., b'-' | b'_'] | [b'-' | b'_', rest @ ..] = run {
        run = rest;
    }
    run
}

fn count(text: &[u8]) -> usize {
    text.iter().filter(|byte| byte.is_ascii_alphanumeric()).count()
}

/// Whether a run of letters and digits in the text is neither a word nor a number: it has both letters and digits, or a lower-case
/// letter before a capital.
pub(super) fn is_mixed(text: &[u8]) -> bool {
    text.split(|byte| !byte.is_ascii_alphanumeric()).any(|run| {
        let has_both = run.iter().any(u8::is_ascii_digit) && run.iter().any(u8::is_ascii_alphabetic);
        has_both || run.windows(2).any(|pair| matches!(pair, [b'a'..=b'z', b'A'..=b'Z']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(value: &str, is_sessions: bool) -> Vec<String> {
        let mut parts = Vec::new();
        each(value.as_bytes(), is_sessions, |part| parts.push(String::from_utf8_lossy(part).into_owned()));
        parts.sort();
        parts.dedup();
        parts
    }

    #[test]
    fn the_id_of_a_value_is_a_part_of_it() {
        for (value, id) in [
            ("s:3f2504e0-4f89-11d3-9a0c-0305e82c3301.SIG", "3f2504e0-4f89-11d3-9a0c-0305e82c3301"),
            ("s:abcdefghij-klmnopqrst_uvwxyzABCD.Q2/b+aB", "abcdefghij-klmnopqrst_uvwxyzABCD"),
            ("s:_a1-b2c3d4-e5f6g7-h8i9_.sig", "a1-b2c3d4-e5f6g7-h8i9"),
            ("s:ab12/cd34+ef56/gh78=.sig", "ab12/cd34+ef56/gh78="),
            ("AbCd-EfGhIjKl_MnOp!1234567890!NONE", "AbCd-EfGhIjKl_MnOp"),
            ("AbCd/EfGh+IjKl/MnOp!1234567890!NONE", "AbCd/EfGh+IjKl/MnOp"),
            ("M2YyNTA0ZTAtNGY4OS0xMWQzLTlhMGMtMDMwNWU4MmMzMzAx", "3f2504e0-4f89-11d3-9a0c-0305e82c3301"),
            ("eyJpZCI6IjNmMjUwNGUwLTRmODktMTFkMyJ9.aBcD1.x", "3f2504e0-4f89-11d3"),
        ] {
            for is_sessions in [true, false] {
                assert!(parts(value, is_sessions).contains(&id.to_owned()), "{value}: {:?}", parts(value, is_sessions));
            }
        }
        assert_eq!(parts("u1:aB3dE6gH9jK2", true), ["aB3dE6gH9jK2"]);
        assert!(parts("u1:aB3dE6gH9jK2", false).is_empty());
    }

    #[test]
    fn words_dates_and_names_are_no_parts() {
        for value in [
            "",
            "2026-11-22",
            "2026-11-22T10:00:00.000Z",
            "2026-11-22 10:00:00.123456",
            "zh-Hant-TW",
            "/board/how-to-paint-a-house-in-winter",
            "/board/windows-11-and-2026-and-so-on",
            "a.b-c.d.e.f.g",
            "1.2.3.4.5.6.7.8",
            "en_US.UTF-8",
            "www.example.com|2026",
        ] {
            assert_eq!(parts(value, false), [""; 0], "{value}");
        }
        // In a session's cookie these are no parts either; only a longer date would be one.
        for value in
            ["application-server-prod", "deleted", "2026-11-22", "www.example.com|guest", "user_preferences_of_all"]
        {
            assert_eq!(parts(value, true), [""; 0], "{value}");
        }
    }

    #[test]
    fn what_base64_says_is_a_part_where_it_is_an_id() {
        let [choice, date, id] = ["eyJsYW5nIjoia28ifQ==", "MjAyNi0xMS0yMlQxMDowMDowMFo=", "dTE6YUIzZEU2Z0g5aks="];
        for (coded, is_sessions, text) in [
            (choice, true, None),
            (choice, false, None),
            (date, true, Some("2026-11-22T10:00:00Z")),
            (date, false, None),
            (id, true, Some("u1:aB3dE6gH9jK")),
            (id, false, Some("u1:aB3dE6gH9jK")),
        ] {
            let of_it: Vec<String> =
                parts(coded, is_sessions).into_iter().filter(|part| !coded.contains(part)).collect();
            assert_eq!(of_it, text.into_iter().collect::<Vec<_>>(), "{coded} {is_sessions}");
        }
    }

    #[test]
    fn what_is_long_gives_few_beginnings_and_few_parts_of_what_was_coded() {
        let dotted = "a1.".repeat(200);
        assert!(parts(&dotted, true).len() <= PIECES_MAX);
        let text = "0123456789abcdef+".repeat(100);
        let coded: String = text.as_bytes().chunks(3).map(base64_of).collect();
        assert!(parts(&coded, true).len() <= 1 + 1 + CODED_PARTS_MAX, "{:?}", parts(&coded, true));
    }

    fn base64_of(bytes: &[u8]) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let bits = bytes.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte)) << (8 * (3 - bytes.len()));
        (0..=bytes.len()).map(|place| char::from(LETTERS[bits >> (18 - 6 * place) & 63])).collect()
    }
}
