//! Stores header and trailer fields as one block of `Name: value` lines and a table of offsets.
//!
//! The HTTP/1 encoder writes [`Fields::block`] as it is; all other code walks the table. The block is owned, so fields borrow
//! nothing from the parser's buffer, and a clone copies two allocations instead of one for each field. Names keep their case and
//! are compared without it (RFC 9110 section 5.1). Values are bytes: obs-text (0x80 to 0xFF) passes through unchanged.
//!
//! This type does not validate. Parsers pass it names that are tokens and values without CR, LF and NUL; other code passes names
//! and values that it wrote itself. Debug builds assert this.

use std::fmt;

/// Fields in the order in which they were sent. See the [module](self).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Fields {
    block: Vec<u8>,
    lines: Vec<FieldLine>,
    /// The set of the kinds ([`kind`]) of all names, one bit for each of 64 kinds. Most look-ups are for absent names; this set
    /// answers them without a scan.
    kinds: u64,
}

/// The kind of a name, one of 64, as a mask of one bit: a hash of the name's length and of its first and last letter. Names that
/// differ only in case have the same kind.
fn kind(name: &[u8]) -> u64 {
    let (Some(first), Some(last)) = (name.first(), name.last()) else { return 1 };
    // Upper and lower case letters differ only in bit 5, which the hash leaves out.
    let mixed = (first & 0x1f).wrapping_add((last & 0x1f) << 2).wrapping_add((name.len() as u8).wrapping_mul(5));
    1 << (mixed & 63)
}

/// The position of one line in the block: `start..start + name_len` is the name, the value follows `": "`.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FieldLine {
    start: u32,
    name_len: u32,
    value_len: u32,
}

impl FieldLine {
    fn value_start(self) -> usize {
        self.start as usize + self.name_len as usize + 2
    }

    fn end(self) -> usize {
        self.value_start() + self.value_len as usize + 2
    }
}

impl Fields {
    /// No fields; allocates no memory.
    pub const fn new() -> Self {
        Self { block: Vec::new(), lines: Vec::new(), kinds: 0 }
    }

    /// No fields yet, with room for `bytes` of block and `lines` lines.
    pub fn with_capacity(bytes: usize, lines: usize) -> Self {
        Self { block: Vec::with_capacity(bytes), lines: Vec::with_capacity(lines), kinds: 0 }
    }

    /// The lines as HTTP/1 writes them: `Name: value CRLF` each, without the empty line that ends a head.
    pub fn block(&self) -> &[u8] {
        &self.block
    }

    /// The number of lines.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is no line at all.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The heap memory of this value, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.block.capacity() + self.lines.capacity() * size_of::<FieldLine>()
    }

    /// Appends a line.
    //= RFC 9112 section 5.2
    //# A sender MUST NOT generate a message that includes line folding
    pub fn push(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        let (name, value) = (name.as_ref(), value.as_ref());
        debug_assert!(!name.is_empty() && name.iter().all(|b| b.is_ascii_graphic() && *b != b':'));
        debug_assert!(!value.iter().any(|b| matches!(b, b'\r' | b'\n' | 0)));
        let start = self.block.len() as u32;
        self.block.reserve(name.len() + value.len() + 4);
        self.block.extend_from_slice(name);
        self.block.extend_from_slice(b": ");
        self.block.extend_from_slice(value);
        self.block.extend_from_slice(b"\r\n");
        self.kinds |= kind(name);
        self.lines.push(FieldLine { start, name_len: name.len() as u32, value_len: value.len() as u32 });
    }

    /// Removes all lines and keeps their memory for the next ones.
    pub fn clear(&mut self) {
        self.block.clear();
        self.lines.clear();
        self.kinds = 0;
    }

    /// Removes every line of that name, then appends one.
    pub fn set(&mut self, name: &str, value: impl AsRef<[u8]>) {
        self.remove(name);
        self.push(name, value);
    }

    /// Removes every line of that name; returns how many there were.
    pub fn remove(&mut self, name: &str) -> usize {
        if !self.contains(name) {
            return 0;
        }
        let before = self.len();
        self.retain(|n, _| !n.eq_ignore_ascii_case(name.as_bytes()));
        before - self.len()
    }

    /// Keeps the lines for which `keep(name, value)` is true, in their order. The capacity stays the same.
    pub fn retain(&mut self, mut keep: impl FnMut(&[u8], &[u8]) -> bool) {
        let mut kept = Self::with_capacity(self.block.capacity(), self.lines.capacity());
        for (name, value) in self.iter() {
            if keep(name, value) {
                kept.push(name, value);
            }
        }
        *self = kept;
    }

    /// Appends all lines of `other`.
    pub fn extend(&mut self, other: &Fields) {
        for (name, value) in other.iter() {
            self.push(name, value);
        }
    }

    /// `(name, value)` of each line, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&[u8], &[u8])> + ExactSizeIterator {
        self.lines.iter().map(|line| self.line(*line))
    }

    /// The values of every line of that name, in order.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        let lines = if self.may_have(name) { self.lines.as_slice() } else { &[] };
        let lines = lines.iter().map(|line| self.line(*line));
        lines.filter(move |(n, _)| n.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| value)
    }

    /// The value of the first line of that name.
    pub fn first(&self, name: &str) -> Option<&[u8]> {
        self.all(name).next()
    }

    /// The value of the only line of that name: `None` when there is no such line, or more than one.
    pub fn only(&self, name: &str) -> Option<&[u8]> {
        let mut same = self.all(name);
        let value = same.next()?;
        same.next().is_none().then_some(value)
    }

    /// How many lines have that name.
    pub fn count(&self, name: &str) -> usize {
        self.all(name).count()
    }

    /// Whether a line of that name is there.
    pub fn contains(&self, name: &str) -> bool {
        self.first(name).is_some()
    }

    /// All lines of that name combined into one value, with `", "` between them (RFC 9110 section 5.3).
    pub fn combined(&self, name: &str) -> Option<Vec<u8>> {
        let mut all = self.all(name);
        let mut value = all.next()?.to_vec();
        for more in all {
            value.extend_from_slice(b", ");
            value.extend_from_slice(more);
        }
        Some(value)
    }

    /// `false`: no line has that name. `true` proves nothing.
    fn may_have(&self, name: &str) -> bool {
        self.kinds & kind(name.as_bytes()) != 0
    }

    fn line(&self, line: FieldLine) -> (&[u8], &[u8]) {
        let name_start = line.start as usize;
        let name = self.block.get(name_start..name_start + line.name_len as usize).unwrap_or_default();
        let value = self.block.get(line.value_start()..line.end() - 2).unwrap_or_default();
        (name, value)
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        f.debug_list().entries(self.iter().map(|(n, v)| (text(n), text(v)))).finish()
    }
}

impl<N: AsRef<[u8]>, V: AsRef<[u8]>> FromIterator<(N, V)> for Fields {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(lines: I) -> Self {
        let mut fields = Self::new();
        for (name, value) in lines {
            fields.push(name, value);
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Fields {
        [("Host", "a"), ("X-One", "1"), ("x-one", "2"), ("Empty", "")].into_iter().collect()
    }

    #[test]
    fn the_block_is_what_http1_writes() {
        assert_eq!(sample().block(), b"Host: a\r\nX-One: 1\r\nx-one: 2\r\nEmpty: \r\n");
    }

    #[test]
    fn a_name_is_found_in_whatever_case_and_length() {
        for name in ["A", "x-y", "Accept-Encoding", "Z_9~", "sec-ch-ua-platform-version"] {
            let fields: Fields = [(name, "1")].into_iter().collect();
            assert!(
                fields.contains(&name.to_ascii_uppercase()) && fields.contains(&name.to_ascii_lowercase()),
                "{name}"
            );
            assert!(!fields.contains("cache-control"));
        }
        let mut fields: Fields = [("A", "1"), ("B", "2")].into_iter().collect();
        fields.remove("a");
        assert!(!fields.contains("A") && fields.contains("b"));
        fields.clear();
        assert!(!fields.contains("b"));
    }

    #[test]
    fn names_are_compared_without_case() {
        let fields = sample();
        assert_eq!(fields.all("X-ONE").collect::<Vec<_>>(), [b"1", b"2"]);
        assert_eq!(fields.combined("x-One").as_deref(), Some(&b"1, 2"[..]));
        assert_eq!(fields.only("X-One"), None);
        assert_eq!(fields.only("host"), Some(&b"a"[..]));
        assert_eq!(fields.first("empty"), Some(&b""[..]));
    }

    #[test]
    fn removing_keeps_the_order_of_the_rest() {
        let mut fields = sample();
        assert_eq!(fields.remove("X-one"), 2);
        assert_eq!(fields.block(), b"Host: a\r\nEmpty: \r\n");
        fields.set("host", "b");
        assert_eq!(fields.block(), b"Empty: \r\nhost: b\r\n");
    }
}
