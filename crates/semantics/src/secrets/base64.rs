//! Decodes base64 (RFC 4648 sections 4 and 5) in cookies that hold a text in it.

/// The fewest characters that are decoded: too many shorter words and numbers are valid base64 by chance.
const CODED_BYTES_MIN: usize = 16;

/// The text that `coded` encodes in either alphabet, padded or not. `None`: `coded` is no base64, or its bytes are not printable
/// ASCII. Random bytes are not: only one byte in three is printable.
pub(super) fn text(coded: &[u8]) -> Option<Vec<u8>> {
    let padding = coded.iter().rev().take_while(|byte| **byte == b'=').count();
    let coded = coded.get(..coded.len() - padding)?;
    if coded.len() < CODED_BYTES_MIN || coded.len() % 4 == 1 || padding > 2 {
        return None;
    }
    let mut text = Vec::with_capacity(coded.len() / 4 * 3 + 2);
    for group in coded.chunks(4) {
        let bits = group.iter().try_fold(0, |bits, byte| Some(bits << 6 | sextet(*byte)?))?;
        let whole = bits << (6 * (4 - group.len()));
        let [_, bytes @ ..] = u32::to_be_bytes(whole);
        text.extend(bytes.iter().take(group.len() - 1));
    }
    text.iter().all(|byte| matches!(byte, b' '..=b'~')).then_some(text)
}

fn sextet(byte: u8) -> Option<u32> {
    let sextet = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    };
    Some(sextet.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_in_either_alphabet_padded_or_not() {
        for (coded, read) in [
            ("M2YyNTA0ZTAtNGY4OS0xMWQz", "3f2504e0-4f89-11d3"),
            ("M2YyNTA0ZTAtNGY4OS0xMWQ=", "3f2504e0-4f89-11d"),
            ("M2YyNTA0ZTAtNGY4OS0xMQ==", "3f2504e0-4f89-11"),
            ("M2YyNTA0ZTAtNGY4OS0xMQ", "3f2504e0-4f89-11"),
            ("Pz8/Pz8/Pz8/Pz8/", "????????????"),
            ("Pz8_Pz8_Pz8_Pz8_", "????????????"),
            ("Pn5+fn5+fn5+fn5+", ">~~~~~~~~~~~"),
        ] {
            assert_eq!(text(coded.as_bytes()).as_deref(), Some(read.as_bytes()), "{coded}");
        }
    }

    #[test]
    fn what_is_no_text_in_base64_is_not_read() {
        for coded in [
            "",
            "====",
            "M2YyNTA0ZTAt",
            "M2YyNTA0ZTAtNGY4OS0xMQ===",
            "M2YyNTA0ZTAtNGY4OS0xMW=Q",
            "M2YyNTA0ZTAtNGY4OS0xMWQzM",
            "0a1b2c3d4e5f60718293a4b5c6d7e8f9",
            "M2YyNTA0 ZTAtNGY4OS0xMWQz",
            "AAAAAAAAAAAAAAAA",
        ] {
            assert_eq!(text(coded.as_bytes()), None, "{coded}");
        }
    }
}
