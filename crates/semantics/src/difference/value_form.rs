//! What the form of a value says of it: that it was drawn at random, that it is a number, or the time at which the answer was made.

/// The form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueForm {
    Empty,
    /// So many digits.
    Digits(usize),
    /// A word that looks as if it was drawn at random: a hash, a UUID, Base64.
    Random,
    /// The time of the answer, in seconds or milliseconds since 1970.
    Clock,
    /// Anything else.
    Other,
}

/// The longest value that may have been drawn at random, in bytes: an encrypted state is longer than a hash.
const RANDOM_BYTES_MAX: usize = 16 << 10;

/// The shortest hexadecimal number, and the shortest other word, that look random, in bytes.
const HEX_BYTES_MIN: usize = 16;
const WORD_BYTES_MIN: usize = 10;

/// How often the kind of characters (small, capital, digit) changes at least in a word that looks random.
const CHANGES_MIN: usize = 3;

/// How far a clock may be from the answer's, in seconds.
const CLOCK_SECONDS_MAX: u64 = 5;

/// The form of a value in an answer that was made at `now_s`, in seconds since 1970.
pub(super) fn form(value: &[u8], now_s: u64) -> ValueForm {
    let value = value.trim_ascii();
    if value.is_empty() {
        return ValueForm::Empty;
    }
    if value.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.') {
        return match is_clock(value, now_s, CLOCK_SECONDS_MAX) {
            true => ValueForm::Clock,
            // What stands behind a dot makes a measured value longer, and no token.
            false => ValueForm::Digits(value.iter().take_while(|byte| byte.is_ascii_digit()).count()),
        };
    }
    if is_random(value) { ValueForm::Random } else { ValueForm::Other }
}

/// Whether a value has another form in an answer that is made some hours before or after `now_s`.
pub(super) fn depends_on_time(value: &[u8], now_s: u64) -> bool {
    is_clock(value.trim_ascii(), now_s, 24 * 60 * 60)
}

/// Whether a number is the answer's own time, or at most so far from it: `1764278400`, `1764278400.123`, `1764278400123`.
fn is_clock(digits: &[u8], now_s: u64, seconds_max: u64) -> bool {
    let whole = digits.split(|byte| *byte == b'.').next().unwrap_or_default();
    let number = std::str::from_utf8(whole).ok().and_then(|text| text.parse::<u64>().ok());
    let is_near = |seconds: u64| seconds.abs_diff(now_s) <= seconds_max;
    match (number, whole.len()) {
        (Some(seconds), 10) => is_near(seconds),
        (Some(millis), 13) => is_near(millis / 1000),
        (Some(micros), 16) => is_near(micros / 1_000_000),
        _ => false,
    }
}

/// Whether a value looks as if it was drawn at random: one of its words is a long hexadecimal number, or mixes digits, small and
/// capital letters. What is longer than a name, and without spaces, counts as well where most of it is such words.
fn is_random(value: &[u8]) -> bool {
    let has_room = (WORD_BYTES_MIN..=RANDOM_BYTES_MAX).contains(&value.len());
    has_room
        && value.iter().all(|byte| !matches!(kind(*byte), ByteKind::Other))
        && (is_uuid(value) || value.split(|byte| matches!(kind(*byte), ByteKind::Divider)).any(is_random_word))
}

/// What a byte is in a value.
#[derive(Clone, Copy)]
enum ByteKind {
    Word,
    /// Divides the words of a value.
    Divider,
    /// Stands in no value that was drawn at random.
    Other,
}

fn kind(byte: u8) -> ByteKind {
    #[allow(clippy::indexing_slicing, reason = "computed by the compiler")]
    static KINDS: [ByteKind; 256] = {
        let mut kinds = [ByteKind::Other; 256];
        let mut byte = 0;
        while byte < 256 {
            kinds[byte] = match byte as u8 {
                b'<' | b'>' | b'"' | b'\'' | b'(' | b')' | b'{' | b'}' | b'[' | b']' | b',' | b';' => ByteKind::Other,
                b'-' | b'_' | b'.' | b':' | b'/' | b'|' | b'~' | b'+' | b'=' | b'%' | b'$' | b'@' | b'!' | b'*' => {
                    ByteKind::Divider
                }
                byte if byte.is_ascii_graphic() => ByteKind::Word,
                _ => ByteKind::Other,
            };
            byte += 1;
        }
        kinds
    };
    KINDS.get(usize::from(byte)).copied().unwrap_or(ByteKind::Other)
}

/// Whether a value is a hexadecimal number in groups (RFC 9562 section 4).
fn is_uuid(value: &[u8]) -> bool {
    let digits = value.iter().filter(|byte| byte.is_ascii_hexdigit()).count();
    let is_grouped = value.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    is_grouped
        && digits >= HEX_BYTES_MIN
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
}

fn is_random_word(word: &[u8]) -> bool {
    if word.len() < WORD_BYTES_MIN {
        return false;
    }
    let case = |byte: &u8| match byte {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        _ => 2,
    };
    let is_hex = word.iter().all(u8::is_ascii_hexdigit) && word.iter().any(u8::is_ascii_digit);
    if is_hex && word.len() >= HEX_BYTES_MIN {
        return true;
    }
    let changes = word.windows(2).filter(|pair| matches!(pair, [one, other] if case(one) != case(other))).count();
    match word.iter().any(u8::is_ascii_digit) {
        true => changes >= CHANGES_MIN.max(word.len() / 6),
        // Names such as `getElementsByClassName` have a capital letter here and there, Base64 has one as often as not.
        false => word.len() >= HEX_BYTES_MIN && changes * 5 >= word.len() * 2,
    }
}

/// Values that vendors publish in pages by design: site keys of reCAPTCHA and Turnstile, publishable keys of Stripe and Mapbox, keys of
/// Google's browser APIs, ids of Google's measurement.
const PUBLIC_PREFIXES: [&str; 10] =
    ["6L", "0x4AAAA", "pk_live_", "pk_test_", "pk.eyJ", "AIza", "G-", "UA-", "GTM-", "ca-pub-"];

/// Whether a value is a vendor's public key.
pub(super) fn is_public(value: &[u8]) -> bool {
    PUBLIC_PREFIXES.iter().any(|prefix| value.starts_with(prefix.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_drawn_at_random_looks_so_and_names_do_not() {
        for random in [
            "9f86d081884c7d659a2feaa0c55ad015",
            "0f8fad5b-d9cb-469f-a165-70867728950e",
            "aG93dHk4Mmtza2xq",
            "a1b2c3d4e5",
            "eyJpdiI6Ik1qRXhNVEV4TVRFeE1R==",
            "form-qK3x9Zp0Lw7Tt2",
        ] {
            assert_eq!(form(random.as_bytes(), 0), ValueForm::Random, "{random}");
        }
        for other in [
            "comment_post_ID",
            "wp-block-group-is-layout-flow",
            "jquery-3.6.0.min",
            "onAfterRender",
            "en-US",
            "Helvetica Neue",
            "https",
            "getElementsByClassName",
            "internationalization",
            "bg-gray-100",
            "2026-11-27",
            "a day out",
        ] {
            assert_eq!(form(other.as_bytes(), 0), ValueForm::Other, "{other}");
        }
    }

    #[test]
    fn the_clock_of_the_answer_is_told_from_other_numbers() {
        for clock in ["1764278400", "1764278403.25", "1764278399123"] {
            assert_eq!(form(clock.as_bytes(), 1_764_278_400), ValueForm::Clock, "{clock}");
        }
        assert_eq!(form(b"1764278410", 1_764_278_400), ValueForm::Digits(10));
        assert_eq!(form(b"17", 1_764_278_400), ValueForm::Digits(2));
        assert_eq!(form(b" ", 0), ValueForm::Empty);
    }
}
