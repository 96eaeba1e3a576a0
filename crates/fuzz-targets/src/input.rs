//! Reads the input of the targets for field values, as lines of text.
//!
//! A line is the text between two LFs, without its trailing CR. Bytes that the parsers of heads refuse (control characters other
//! than the tab) are left out of values, since the parsers of values never see them.

use kasoku_wire::Fields;

/// The most lines that a target reads: more lines cost time and add no cases.
const LINES_MAX: usize = 64;

/// The lines of `data`, at most [`LINES_MAX`], as values of fields.
pub(crate) fn lines(data: &[u8]) -> Vec<Vec<u8>> {
    data.split(|byte| *byte == b'\n').take(LINES_MAX).map(value).collect()
}

/// The first line as a number, or 0 if it is not a number; and the lines after it.
pub(crate) fn number_and_lines(data: &[u8]) -> (u64, Vec<Vec<u8>>) {
    let mut lines = lines(data);
    let first = if lines.is_empty() { Vec::new() } else { lines.remove(0) };
    (String::from_utf8_lossy(&first).trim().parse().unwrap_or(0), lines)
}

/// The first `count` blocks of `data`, which are divided by empty lines; a missing block is empty.
pub(crate) fn blocks(data: &[u8], count: usize) -> Vec<Vec<Vec<u8>>> {
    let mut blocks = vec![Vec::new(); count];
    let mut at = 0;
    for line in lines(data) {
        if line.is_empty() {
            at += 1;
        } else if let Some(block) = blocks.get_mut(at) {
            block.push(line);
        }
    }
    blocks
}

/// All lines as lines of one field.
pub(crate) fn field<V: AsRef<[u8]>>(name: &str, lines: impl IntoIterator<Item = V>) -> Fields {
    lines.into_iter().map(|line| (name, line)).collect()
}

/// `Name: value` lines as fields; other lines are left out.
pub(crate) fn fields(lines: &[Vec<u8>]) -> Fields {
    let named = lines.iter().filter_map(|line| {
        let at = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = (&line[..at], &line[at + 1..]);
        let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
        (!name.is_empty() && name.iter().all(is_token)).then(|| (name.to_vec(), value.trim_ascii().to_vec()))
    });
    named.collect()
}

/// The bytes of `line` that may stand in a field's value, without white space at its ends.
fn value(line: &[u8]) -> Vec<u8> {
    let is_text = |byte: &u8| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f);
    let kept: Vec<u8> = line.iter().copied().filter(is_text).collect();
    kept.trim_ascii().to_vec()
}
