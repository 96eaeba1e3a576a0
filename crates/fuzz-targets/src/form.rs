//! Fuzz target for multipart/form-data forms. Input: a Content-Type in the first line, then a body.

use kasoku_wire::form::{FIELDS_MAX, boundary, read};

pub(crate) fn run(data: &[u8]) {
    let (content_type, body) = data.split_at(data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len()));
    let body = body.strip_prefix(b"\n").unwrap_or(body);
    let Some(boundary) = boundary(content_type) else { return };
    assert!(!boundary.is_empty() && boundary.len() <= 70);
    let form = read(body, &boundary);
    assert!(form.fields.len() <= FIELDS_MAX);
    // The fields of a body's first half are the first fields of the whole body.
    let beginning = read(&body[..body.len() / 2], &boundary);
    assert!(form.fields.starts_with(&beginning.fields));
    assert!(!beginning.is_whole || form == beginning, "nothing follows the end");
    // The parser reads the same fields back from what a browser would send.
    let is_plain = |text: &String| !text.contains(['\r', '\n', '"', '\\', '\u{FFFD}']);
    let plain: Vec<_> = form.fields.into_iter().filter(|(name, value)| is_plain(name) && is_plain(value)).collect();
    let sent: String = plain
        .iter()
        .map(|(name, value)| format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"))
        .collect();
    let again = read(format!("{sent}--x--\r\n").as_bytes(), b"x");
    assert!(again.is_whole && again.fields == plain);
}
