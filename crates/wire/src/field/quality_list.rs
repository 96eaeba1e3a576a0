//! Parses lists with quality values (RFC 9110 section 12.4.2): Accept, Accept-Encoding, Accept-Language.
//!
//! Qualities are integers in thousandths, so that comparisons are exact.

use super::list;

/// A quality of 1, in thousandths.
pub const QUALITY_ONE: u16 = 1000;

/// One member of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preference<'a> {
    /// The member as sent, without its quality and the parameters after it.
    pub value: &'a [u8],
    /// The quality in thousandths, 0 to 1000: 1000 if none was sent, 0 if it is invalid.
    pub quality: u16,
}

/// The members of one value, in order.
pub fn preferences(value: &[u8]) -> impl Iterator<Item = Preference<'_>> {
    list::split(value).map(preference)
}

fn preference(member: &[u8]) -> Preference<'_> {
    let mut end = 0;
    for (index, part) in list::parameters(member).enumerate() {
        if index > 0
            && let Some(weight) = weight(part)
        {
            let value = list::trim(member.get(..end).unwrap_or_default());
            return Preference { value, quality: quality(weight).unwrap_or(0) };
        }
        // The offset in the member at which this part ends: the parts are slices of the member.
        end = (part.as_ptr() as usize + part.len()).saturating_sub(member.as_ptr() as usize);
    }
    Preference { value: member, quality: QUALITY_ONE }
}

fn weight(part: &[u8]) -> Option<&[u8]> {
    match part {
        [b'q' | b'Q', b'=', weight @ ..] => Some(weight),
        _ => None,
    }
}

/// `0`, `1`, `0.5`, `0.125`, `1.000`: at most three decimals.
fn quality(text: &[u8]) -> Option<u16> {
    let (whole, decimals) = match text {
        [whole @ (b'0' | b'1')] => (whole, &b""[..]),
        [whole @ (b'0' | b'1'), b'.', decimals @ ..] => (whole, decimals),
        _ => return None,
    };
    if decimals.len() > 3 || !decimals.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut value = u16::from(whole - b'0');
    for place in 0..3 {
        value = value * 10 + decimals.get(place).map_or(0, |digit| u16::from(digit - b'0'));
    }
    (value <= QUALITY_ONE).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(value: &str) -> Vec<(String, u16)> {
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        preferences(value.as_bytes()).map(|one| (text(one.value), one.quality)).collect()
    }

    #[test]
    fn qualities_are_thousandths() {
        let expected = [("fr", 500), ("de", 1000), ("en", 1000), ("x", 125), ("y", 0)];
        let expected: Vec<_> = expected.iter().map(|(name, q)| ((*name).to_owned(), *q)).collect();
        assert_eq!(all("fr;q=0.5, de; q=1.0, en,x;Q=0.125, y;q=0"), expected);
    }

    #[test]
    fn an_invalid_quality_is_zero() {
        for value in ["a;q=", "a;q=2", "a;q=1.5", "a;q=.5", "a;q=0.1234", "a;q=x"] {
            assert_eq!(all(value), [("a".to_owned(), 0)], "{value}");
        }
    }

    #[test]
    fn parameters_before_the_quality_belong_to_the_value() {
        assert_eq!(all("text/html;level=1;q=0.3;x=y"), [("text/html;level=1".to_owned(), 300)]);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(value: Vec<u8>) {
            let _ = preferences(&value).count();
        }
    }
}
