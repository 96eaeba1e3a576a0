//! Finds the charset that an HTML page declares in a `<meta>`, as browsers find it: by the prescan of WHATWG's HTML standard (section
//! 13.2.3.2) of the first 1,024 bytes.
//!
//! A charset in Content-Type overrules the page's own declaration, so a server that adds one to all pages garbles the pages that were
//! written in another. Such a page is better sent without any: its browser does what this file does.

use memchr::memchr;

/// How many bytes of a page may declare its charset.
pub const PRESCANNED_BYTES: usize = 1024;

/// The longest label that is read, in bytes.
const LABEL_BYTES_MAX: usize = 40;

/// The beginnings of the labels of Unicode. A page that declares one in ASCII letters is in UTF-8, whichever it says: browsers read it so.
const UNICODE: [&str; 3] = ["utf", "unicode", "x-unicode"];

/// The beginnings of the other labels that browsers know (WHATWG's Encoding Standard, section 4.2). A browser takes a declaration with any
/// other label for none.
const KNOWN: [&str; 37] = [
    "euc-",
    "x-euc-",
    "shift",
    "sjis",
    "x-sjis",
    "ms_kanji",
    "ms932",
    "windows-",
    "x-cp",
    "cp",
    "iso",
    "csiso",
    "latin",
    "l1",
    "ascii",
    "us-ascii",
    "ansi_x3",
    "gb",
    "x-gbk",
    "chinese",
    "big5",
    "x-x-big5",
    "cn-big5",
    "koi",
    "ks_c",
    "ksc",
    "korean",
    "ibm866",
    "dos-874",
    "tis-620",
    "macintosh",
    "mac",
    "x-mac-",
    "hebrew",
    "arabic",
    "cyrillic",
    "greek",
];

/// Whether the beginning of a page declares another charset than `charset`.
pub fn contradicts(page: &[u8], charset: &str) -> bool {
    // Browsers believe a byte order mark before all else.
    let is_marked = page.starts_with(b"\xef\xbb\xbf");
    let is_other = |label: String| plain(&label) != plain(charset);
    !is_marked && declared(page.get(..PRESCANNED_BYTES).unwrap_or(page)).is_some_and(is_other)
}

/// A label without what its spellings differ in: `utf8` and `UTF-8`, `x-sjis` and `sjis`.
fn plain(label: &str) -> String {
    let label = label.trim().to_ascii_lowercase();
    let label = label.strip_prefix("x-").unwrap_or(&label);
    label.chars().filter(|c| c.is_ascii_alphanumeric()).collect()
}

/// The label that a page declares, in lower case.
fn declared(page: &[u8]) -> Option<String> {
    let mut rest = page;
    loop {
        let at = memchr(b'<', rest)?;
        rest = rest.get(at + 1..)?;
        let after_name =
            |rest: &[u8], length: usize| rest.get(length).is_some_and(|byte| is_space(*byte) || *byte == b'/');
        rest = match rest {
            [b'!', b'-', b'-', ..] => {
                // `<!-->` is a whole comment.
                let end = rest.windows(3).position(|three| three == b"-->")?;
                rest.get(end + 3..)?
            }
            _ if starts_with(rest, b"meta") && after_name(rest, 4) => {
                let (label, behind) = of_meta(rest.get(4..)?);
                if label.is_some() {
                    return label;
                }
                behind
            }
            [b'/', letter, ..] if letter.is_ascii_alphabetic() => behind_tag(rest.get(1..)?),
            [letter, ..] if letter.is_ascii_alphabetic() => behind_tag(rest),
            [b'!' | b'/' | b'?', ..] => rest.get(memchr(b'>', rest)? + 1..)?,
            _ => rest,
        };
    }
}

/// What follows a tag whose name begins here: its attributes may hold any `<` and `>` in quotes.
fn behind_tag(tag: &[u8]) -> &[u8] {
    let end = tag.iter().position(|byte| is_space(*byte) || *byte == b'>').unwrap_or(tag.len());
    let mut rest = tag.get(end..).unwrap_or_default();
    while let Some((_, _, behind)) = attribute(rest) {
        rest = behind;
    }
    rest
}

/// The label that the attributes of a `<meta>` declare, and what follows them.
fn of_meta(mut rest: &[u8]) -> (Option<String>, &[u8]) {
    let (mut is_pragma, mut charset, mut content) = (false, None, None);
    while let Some((name, value, behind)) = attribute(rest) {
        rest = behind;
        // Of two attributes of one name the first counts.
        match () {
            () if name.eq_ignore_ascii_case(b"http-equiv") => is_pragma |= value.eq_ignore_ascii_case(b"content-type"),
            () if name.eq_ignore_ascii_case(b"charset") => charset = charset.or(Some(value)),
            () if name.eq_ignore_ascii_case(b"content") => content = content.or_else(|| of_content(value)),
            () => {}
        }
    }
    let label = charset.or(content.filter(|_| is_pragma)).and_then(known);
    (label, rest)
}

/// The next attribute of a tag: its name, its value, and what follows; `None` at the tag's end.
fn attribute(tag: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let begin = tag.iter().position(|byte| !is_space(*byte) && *byte != b'/')?;
    let rest = tag.get(begin..)?;
    if rest.first() == Some(&b'>') {
        return None;
    }
    let ends_name =
        |(at, byte): (usize, &u8)| is_space(*byte) || matches!(*byte, b'/' | b'>') || (*byte == b'=' && at > 0);
    let end = rest.iter().enumerate().position(ends_name).unwrap_or(rest.len());
    let (name, rest) = rest.split_at(end);
    let value = rest.trim_ascii_start().strip_prefix(b"=").map(<[u8]>::trim_ascii_start);
    let Some(value) = value else { return Some((name, b"", rest)) };
    match value.first() {
        Some(quote @ (b'"' | b'\'')) => {
            let value = value.get(1..)?;
            let end = memchr(*quote, value)?;
            Some((name, value.get(..end)?, value.get(end + 1..)?))
        }
        _ => {
            let end = value.iter().position(|byte| is_space(*byte) || *byte == b'>').unwrap_or(value.len());
            Some((name, value.get(..end)?, value.get(end..)?))
        }
    }
}

/// The charset in the content of a `<meta http-equiv=content-type>`: `text/html; charset=euc-jp`.
fn of_content(content: &[u8]) -> Option<&[u8]> {
    const NAME: &[u8] = b"charset";
    let mut rest = content;
    loop {
        let at = rest.windows(NAME.len()).position(|text| text.eq_ignore_ascii_case(NAME))?;
        rest = rest.get(at + NAME.len()..)?;
        let Some(value) = rest.trim_ascii_start().strip_prefix(b"=") else { continue };
        let value = value.trim_ascii_start();
        return match value.first()? {
            quote @ (b'"' | b'\'') => {
                let value = value.get(1..)?;
                value.get(..memchr(*quote, value)?)
            }
            _ => value.split(|byte| is_space(*byte) || *byte == b';').next(),
        };
    }
}

/// A label in lower case, if browsers know it.
fn known(label: &[u8]) -> Option<String> {
    let label = label.trim_ascii();
    let text = std::str::from_utf8(label).ok().filter(|text| text.len() <= LABEL_BYTES_MAX)?.to_ascii_lowercase();
    let is_any = |beginnings: &[&str]| beginnings.iter().any(|beginning| text.starts_with(beginning));
    match () {
        () if is_any(&UNICODE) => Some("utf-8".to_owned()),
        () if is_any(&KNOWN) => Some(text),
        () => None,
    }
}

fn starts_with(text: &[u8], name: &[u8]) -> bool {
    text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_declares_its_charset_as_browsers_read_it() {
        for (page, expected) in [
            ("<!DOCTYPE html><html><head><meta charset=EUC-JP>", Some("euc-jp")),
            ("<META HTTP-EQUIV=\"Content-Type\" CONTENT=\"text/html; charset=EUC-JP\">", Some("euc-jp")),
            ("<meta content='text/html; charset=shift_jis' http-equiv=content-type />", Some("shift_jis")),
            ("<meta name=a content=b><meta\ncharset = \"iso-8859-1\">", Some("iso-8859-1")),
            ("<meta charset=utf-8>", Some("utf-8")),
            ("<!-- <meta charset=euc-jp> --><meta charset=big5>", Some("big5")),
            ("<!--><meta charset=big5>", Some("big5")),
            ("<a title='<meta charset=euc-jp>'>", None),
            ("<?xml version='1.0' encoding='euc-jp'?><p>", None),
            ("<meta content='text/html; charset=euc-jp'>", None),
            ("<meta http-equiv=refresh content='5; charset=euc-jp'>", None),
            ("<metadata charset=euc-jp>", None),
            ("<meta charset=utf-16>", Some("utf-8")),
            ("<meta charset=EUC-KR", Some("euc-kr")),
            ("<meta charset=klingon><meta charset=koi8-r>", Some("koi8-r")),
            ("<meta charset='euc-jp", None),
            ("plain text", None),
            ("", None),
        ] {
            assert_eq!(declared(page.as_bytes()).as_deref(), expected, "{page}");
        }
    }

    #[test]
    fn only_another_charset_contradicts() {
        let page = |charset: &str| format!("<html><head><meta charset=\"{charset}\">");
        for (charset, expected) in
            [("euc-jp", true), ("Shift_JIS", true), ("UTF-8", false), ("utf8", false), ("klingon", false)]
        {
            assert_eq!(contradicts(page(charset).as_bytes(), "utf-8"), expected, "{charset}");
        }
        assert!(contradicts(page("utf-8").as_bytes(), "euc-jp") && !contradicts(page("x-euc-jp").as_bytes(), "EUC-JP"));
        assert!(!contradicts(format!("\u{feff}{}", page("euc-jp")).as_bytes(), "utf-8"), "the mark counts");
        let late = format!("{}{}", " ".repeat(PRESCANNED_BYTES), page("euc-jp"));
        assert!(!contradicts(late.as_bytes(), "utf-8"));
    }

    proptest::proptest! {
        #[test]
        fn any_page_is_read_to_an_end(page in "[<>!/?a=\"' -]{0,40}(meta|charset|content)?[<>!/?a=\"' -]{0,40}") {
            let _ = contradicts(page.as_bytes(), "utf-8");
        }
    }
}
