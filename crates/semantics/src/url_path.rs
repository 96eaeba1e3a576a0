//! Reads the path of a URL as the name of a file: decoded once, without empty segments and dot segments.
//!
//! A path that Kasoku reads differently from the kernel could lead out of a directory, so an ambiguous path names no file:
//!
//! | in the path | what it is |
//! |---|---|
//! | `%41` | `A`, decoded once: `%252e` is the name `%2e` |
//! | `%zz`, `%4` | no path |
//! | NUL, line ends and other control characters, encoded | no path |
//! | `.`, `..`, encoded or not | resolved here, so no `..` ever reaches the kernel; a `..` that leads above the root: no path |
//! | `//` | `/`, as nginx and Apache have it |
//! | `%2f`, `\`, `%5c` | a separator to some programs, part of a name to others: a path, but the name of no file ([`UrlPath::is_ambiguous`]) |
//!
//! Bytes above 0x7F stay as they are: a name is bytes to the kernel, and an overlong UTF-8 form of `/` or `.` is neither of them.

/// A decoded path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlPath {
    text: Vec<u8>,
    is_ambiguous: bool,
}

impl UrlPath {
    /// Reads the path of a request-target, without its query. `None`: it is no path.
    pub fn read(path: &str) -> Option<Self> {
        let mut plain = PlainPath::with_capacity(path.len());
        let mut is_ambiguous = false;
        let mut segment = Vec::new();
        for raw in path.strip_prefix('/')?.split('/') {
            segment.clear();
            percent_decode(raw.as_bytes(), &mut segment)?;
            if segment.iter().any(u8::is_ascii_control) {
                return None;
            }
            is_ambiguous |= segment.iter().any(|byte| matches!(byte, b'/' | b'\\'));
            plain.push(&segment)?;
        }
        Some(Self { text: plain.into_text(), is_ambiguous })
    }

    /// The decoded path: it begins with `/`, and ends with `/` where it names a directory. No segment is empty or a dot segment.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Whether a segment contains a byte that some programs read as a separator and others as part of a name.
    pub fn is_ambiguous(&self) -> bool {
        self.is_ambiguous
    }

    /// The rest of the path after `prefix`, which has to end at the end of a segment. The rest is empty, or begins with `/`.
    pub fn below(&self, prefix: &str) -> Option<&[u8]> {
        let rest = self.text.strip_prefix(prefix.trim_end_matches('/').as_bytes())?;
        (rest.is_empty() || rest.starts_with(b"/")).then_some(rest)
    }
}

/// Builds a path from segments, and resolves empty and dot segments.
pub struct PlainPath {
    text: Vec<u8>,
    is_directory: bool,
}

impl PlainPath {
    /// The root, with capacity for `bytes` bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { text: Vec::with_capacity(bytes + 1), is_directory: true }
    }

    /// Appends a segment. `None`: it leads above the root.
    pub fn push(&mut self, segment: &[u8]) -> Option<()> {
        self.is_directory = matches!(segment, b"" | b"." | b"..");
        match segment {
            b"" | b"." => {}
            b".." => self.text.truncate(self.text.iter().rposition(|byte| *byte == b'/')?),
            name => {
                self.text.push(b'/');
                self.text.extend_from_slice(name);
            }
        }
        Some(())
    }

    /// The path: it begins with `/`, and ends with `/` where it names a directory.
    pub fn into_text(mut self) -> Vec<u8> {
        if self.is_directory {
            self.text.push(b'/');
        }
        self.text
    }
}

/// Appends `raw`, percent-decoded. `None`: an escape is malformed.
pub fn percent_decode(raw: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut rest = raw;
    while let Some((first, mut after)) = rest.split_first() {
        let mut byte = *first;
        if byte == b'%' {
            let (digits, behind) = after.split_at_checked(2)?;
            // from_str_radix alone would accept a sign.
            let digits = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
            byte = u8::from_str_radix(digits, 16).ok()?;
            after = behind;
        }
        out.push(byte);
        rest = after;
    }
    Some(())
}

/// Encodes a decoded path as the path of a URL.
pub fn encode(text: &[u8]) -> String {
    let mut path = String::with_capacity(text.len());
    for byte in text {
        // The characters of pchar (RFC 3986 section 3.3) that need no encoding, and the separator.
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(byte) {
            path.push(char::from(*byte));
        } else {
            push_encoded(*byte, &mut path);
        }
    }
    path
}

/// Appends `byte` percent-encoded.
pub fn push_encoded(byte: u8, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    out.push('%');
    for digit in [byte >> 4, byte & 15] {
        out.push(HEX.get(usize::from(digit)).copied().map_or('0', char::from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str) -> Option<String> {
        UrlPath::read(path).map(|path| String::from_utf8_lossy(path.text()).into_owned())
    }

    #[test]
    fn a_path_is_decoded_once_and_its_dots_are_resolved() {
        for (path, expected) in [
            ("/", "/"),
            ("/a/b.html", "/a/b.html"),
            ("/%61%2Ehtml", "/a.html"),
            ("/a%20b;c=d", "/a b;c=d"),
            ("/%252e%252e/a", "/%2e%2e/a"),
            ("//a///b//", "/a/b/"),
            ("/a/./b/../c", "/a/c"),
            ("/a/%2e%2e/b", "/b"),
            ("/a/..", "/"),
            ("/a/.", "/a/"),
            ("/a/b/..", "/a/"),
            ("/...", "/..."),
            ("/%E5%8A%A0", "/加"),
        ] {
            assert_eq!(text(path).as_deref(), Some(expected), "{path}");
        }
    }

    #[test]
    fn what_is_malformed_or_leads_above_the_root_is_no_path() {
        for path in [
            "",
            "*",
            "a",
            "/%",
            "/%4",
            "/%zz",
            "/%+1",
            "/%00",
            "/a%00.html",
            "/%0a",
            "/a%0d%0a",
            "/%7f",
            "/..",
            "/../a",
            "/a/../../b",
            "/%2e%2e/a",
            "/.%2e/a",
            "/%u002e",
        ] {
            assert_eq!(text(path), None, "{path}");
        }
    }

    #[test]
    fn separators_of_other_systems_and_encoded_ones_are_odd() {
        for path in ["/a%2fb", "/..%2F..%2fetc", "/a\\b", "/%5c..%5c", "/%2f"] {
            assert!(UrlPath::read(path).is_some_and(|path| path.is_ambiguous()), "{path}");
        }
        assert!(!UrlPath::read("/a%25/b").unwrap().is_ambiguous());
    }

    #[test]
    fn a_prefix_ends_where_a_segment_ends() {
        let path = UrlPath::read("/mt/search.cgi").unwrap();
        assert_eq!(path.below("/mt"), Some(&b"/search.cgi"[..]));
        assert_eq!(path.below("/mt/"), Some(&b"/search.cgi"[..]));
        assert_eq!(path.below(""), Some(path.text()));
        assert_eq!(path.below("/m"), None);
        assert_eq!(UrlPath::read("/mt").unwrap().below("/mt"), Some(&b""[..]));
    }

    proptest::proptest! {
        #[test]
        fn what_is_read_has_no_dot_segment_and_reads_the_same_again(path in "/([a-z%0-9A-F./\\\\;]|%2e|%2f|/\\.\\./){0,40}") {
            if let Some(read) = UrlPath::read(&path).filter(|path| !path.is_ambiguous()) {
                let text = read.text();
                proptest::prop_assert!(text.starts_with(b"/") && !text.contains(&0));
                let mut segments = text.split(|byte| *byte == b'/').skip(1).peekable();
                while let Some(segment) = segments.next() {
                    let is_last = segments.peek().is_none();
                    proptest::prop_assert!(!matches!(segment, b"." | b"..") && (is_last || !segment.is_empty()));
                }
                proptest::prop_assert_eq!(UrlPath::read(&encode(text)), Some(read.clone()));
            }
        }
    }
}
