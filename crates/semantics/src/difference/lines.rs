//! Shows lines of a page to people, each cut around the place that differs.

/// How many differences of one page are shown.
pub const DIFFERENCES_MAX: usize = 6;

/// How much of a line is shown, in bytes.
pub const LINE_BYTES_MAX: usize = 200;

/// How much of a line is shown before the place that differs, in bytes.
const BEFORE_BYTES: usize = 80;

/// The line of a text at the place `at`.
pub(super) fn line_at(text: &[u8], at: usize) -> String {
    let at = at.min(text.len());
    let (before, behind) = text.split_at_checked(at).unwrap_or((text, b""));
    let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    let end = memchr::memchr(b'\n', behind).map_or(text.len(), |end| at + end);
    near(text.get(start..end).unwrap_or_default(), at - start)
}

/// A line for people, cut behind its beginning.
pub fn line(text: &[u8]) -> String {
    near(text, 0)
}

/// A line for people, cut around the place `at`.
fn near(line: &[u8], at: usize) -> String {
    let is_inside = |at: usize| line.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let mut start = at.saturating_sub(BEFORE_BYTES).min(line.len());
    if line.len() <= LINE_BYTES_MAX {
        start = 0;
    }
    while is_inside(start) {
        start += 1;
    }
    let mut end = (start + LINE_BYTES_MAX).min(line.len());
    while is_inside(end) {
        end -= 1;
    }
    let text = String::from_utf8_lossy(line.get(start..end).unwrap_or_default()).trim().to_owned();
    let (before, behind) = (if start > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
    format!("{before}{text}{behind}")
}
