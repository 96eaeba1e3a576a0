//! Reads the fields of a multipart/form-data form (RFC 7578), as far as its body is there.
//!
//! The tags that a write purges depend on its parameters, and the cache holds only the beginning of the body. The application reads
//! the form itself, so the parser refuses nothing: it leaves out parts that it cannot read, and [`FormParameters::is_whole`] tells
//! whether it reached the form's end. Files are left out too.

use memchr::memmem;

/// The most fields that are read.
pub const FIELDS_MAX: usize = 1024;

/// The longest boundary, in bytes (RFC 2046 section 5.1.1).
const BOUNDARY_BYTES_MAX: usize = 70;

/// The fields that were read of a form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormParameters {
    /// Names and values, in their order. Invalid UTF-8 becomes U+FFFD.
    pub fields: Vec<(String, String)>,
    /// Whether the form was read to its end.
    pub is_whole: bool,
}

/// The boundary that a Content-Type of multipart/form-data names; `None` if there is no valid one.
pub fn boundary(content_type: &[u8]) -> Option<Vec<u8>> {
    let (media_type, rest) = split(content_type, b';');
    if !media_type.trim_ascii().eq_ignore_ascii_case(b"multipart/form-data") {
        return None;
    }
    let boundary = parameter(rest?, b"boundary")?;
    let is_one = !boundary.is_empty() && boundary.len() <= BOUNDARY_BYTES_MAX;
    is_one.then_some(boundary)
}

/// Reads a body of multipart/form-data, or the beginning of one.
pub fn read(body: &[u8], boundary: &[u8]) -> FormParameters {
    let mut form = FormParameters::default();
    let delimiter = [b"--", boundary].concat();
    let within = [b"\r\n", &*delimiter].concat();
    // Text before the first delimiter belongs to no part.
    let mut rest = match body.strip_prefix(&*delimiter).or_else(|| after(body, &within)) {
        Some(rest) => rest,
        None => return form,
    };
    loop {
        if rest.starts_with(b"--") {
            form.is_whole = true;
            return form;
        }
        let Some(part) = after(rest, b"\r\n") else { return form };
        let Some(end) = memmem::find(part, &within) else { return form };
        let (this, behind) = part.split_at_checked(end).unwrap_or((part, b""));
        if let Some(field) = field(this) {
            if form.fields.len() == FIELDS_MAX {
                return form;
            }
            form.fields.push(field);
        }
        rest = behind.get(within.len()..).unwrap_or_default();
    }
}

/// Name and value of a part, unless it is a file.
fn field(part: &[u8]) -> Option<(String, String)> {
    let (head, value) = match part.strip_prefix(b"\r\n") {
        Some(value) => (&b""[..], value),
        None => {
            let end = memmem::find(part, b"\r\n\r\n")?;
            (part.get(..end)?, part.get(end + 4..)?)
        }
    };
    let mut lines = head.split(|byte| *byte == b'\n').map(|line| split(line, b':'));
    let (_, disposition) = lines.find(|(name, _)| name.eq_ignore_ascii_case(b"content-disposition"))?;
    let (_, parameters) = split(disposition?, b';');
    let name = parameter(parameters?, b"name")?;
    let is_file = parameter(parameters?, b"filename").is_some() || parameter(parameters?, b"filename*").is_some();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (!is_file).then(|| (text(&name), text(value)))
}

/// The value of a parameter: a token, or a quoted string.
fn parameter(text: &[u8], wanted: &[u8]) -> Option<Vec<u8>> {
    let mut rest = text;
    while !rest.is_empty() {
        let (name, behind) = split(rest, b'=');
        // Parameters without a value may stand before this one (`x; name=…`): they are cut off.
        let name = name.rsplit(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let (value, behind) = value(behind?.trim_ascii_start());
        if name.eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        rest = split(behind, b';').1.unwrap_or_default();
    }
    None
}

/// The value at the front of `text`, and the text behind it.
fn value(text: &[u8]) -> (Vec<u8>, &[u8]) {
    let Some(quoted) = text.strip_prefix(b"\"") else {
        let end = text.iter().position(|byte| *byte == b';').unwrap_or(text.len());
        let (value, behind) = text.split_at_checked(end).unwrap_or((text, b""));
        return (value.trim_ascii().to_vec(), behind);
    };
    let mut value = Vec::new();
    let mut bytes = quoted.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return (value, quoted.get(at + 1..).unwrap_or_default()),
            // A backslash escapes only a quote or a backslash: browsers send Windows paths unescaped.
            b'\\' if matches!(quoted.get(at + 1), Some(b'"' | b'\\')) => {
                value.extend(bytes.next().map(|(_, byte)| *byte));
            }
            byte => value.push(*byte),
        }
    }
    (value, b"")
}

fn split(text: &[u8], at: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|byte| *byte == at) {
        Some(at) => (text.get(..at).unwrap_or_default(), text.get(at + 1..)),
        None => (text, None),
    }
}

/// The text after the first occurrence of `what`.
fn after<'t>(text: &'t [u8], what: &[u8]) -> Option<&'t [u8]> {
    text.get(memmem::find(text, what)? + what.len()..)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "--b\r\nContent-Disposition: form-data; name=\"bo_table\"\r\n\r\nfree\r\n\
        --b\r\ncontent-disposition: form-data; name=wr_id\r\nContent-Type: text/plain\r\n\r\n5\r\n\
        --b\r\nContent-Disposition: form-data; name=\"bf_file[]\"; filename=\"a;b.txt\"\r\n\r\nbytes\r\n\
        --b \r\nContent-Disposition: form-data; x; name=\"a \\\"b\\\"\"\r\n\r\nline\r\nline\r\n--b--\r\n";

    fn fields(body: &str) -> (Vec<(String, String)>, bool) {
        let form = read(body.as_bytes(), b"b");
        (form.fields, form.is_whole)
    }

    #[test]
    fn fields_are_read_and_files_left_out() {
        let (fields, is_whole) = fields(BODY);
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(fields, [("bo_table", "free"), ("wr_id", "5"), ("a \"b\"", "line\r\nline")]);
        assert!(is_whole);
    }

    #[test]
    fn of_what_is_cut_the_whole_fields_are_read() {
        for end in 0..BODY.len() - 4 {
            let (found, is_whole) = fields(&BODY[..end]);
            assert!(!is_whole && found.len() <= 3, "{end}");
            assert!(fields(BODY).0.starts_with(&found), "{end}");
        }
        assert_eq!(fields("preamble\r\n--b\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--b").0.len(), 1);
        for body in ["", "--c\r\n", "--b", "--b\r\n\r\nno head\r\n--b\r\nX: y\r\n\r\n1\r\n--b", "a=1&b=2"] {
            assert_eq!(fields(body), (Vec::new(), false), "{body}");
        }
        let many = "--b\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n".repeat(FIELDS_MAX + 1) + "--b--";
        assert_eq!((fields(&many).0.len(), fields(&many).1), (FIELDS_MAX, false));
    }

    #[test]
    fn a_boundary_is_named_by_the_media_type() {
        for (value, expected) in [
            ("multipart/form-data; boundary=abc", Some("abc")),
            ("Multipart/Form-Data;charset=utf-8; BOUNDARY=\"a;b\"", Some("a;b")),
            ("multipart/form-data", None),
            ("multipart/form-data; boundary=", None),
            ("multipart/mixed; boundary=abc", None),
            ("application/x-www-form-urlencoded", None),
        ] {
            assert_eq!(boundary(value.as_bytes()).as_deref(), expected.map(str::as_bytes), "{value}");
        }
        assert_eq!(boundary(format!("multipart/form-data; boundary={}", "a".repeat(71)).as_bytes()), None);
    }
}
