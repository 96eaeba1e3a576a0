//! Fuzz target for URL paths that name files below a directory. Input: the path of a request-target.

use kasoku_semantics::url_path::UrlPath;
use url::Url;

pub(crate) fn run(data: &[u8]) {
    let is_path = data.iter().all(|byte| byte.is_ascii_graphic() && !b"?#".contains(byte));
    let (true, Ok(path)) = (is_path, std::str::from_utf8(data)) else { return };
    let Some(read) = UrlPath::read(path) else { return };
    let text = read.text();
    assert!(text.starts_with(b"/") && text.len() <= path.len() + 1);
    assert!(!text.iter().any(u8::is_ascii_control), "what ends a name or a line got through");
    assert_eq!(read.below(""), Some(text));
    if read.is_ambiguous() {
        return;
    }
    assert!(!text.contains(&b'\\'));
    let name = text.strip_suffix(b"/").unwrap_or(text);
    let segments: Vec<&[u8]> = name.split(|byte| *byte == b'/').skip(1).collect();
    let is_name = |segment: &&[u8]| !matches!(*segment, b"" | b"." | b"..");
    assert!(segments.iter().all(is_name), "{segments:?} leads elsewhere");
    assert_eq!(UrlPath::read(&encoded(text)).as_ref(), Some(&read), "written again, it reads otherwise");
    read_by_another(path, &segments);
}

/// Percent-encodes every byte that is not a slash.
fn encoded(text: &[u8]) -> String {
    text.iter().map(|byte| if *byte == b'/' { "/".to_owned() } else { format!("%{byte:02x}") }).collect()
}

/// A browser's URL parser resolves the path to the same segments. It keeps empty segments, which [`UrlPath`] drops, so paths with
/// empty segments are left out. So are paths with bytes that it may take for a drive letter (it leaves `/a:/..` as it is).
fn read_by_another(path: &str, segments: &[&[u8]]) {
    let Ok(other) = Url::parse(&format!("http://host{path}")) else { return };
    if path.contains("//") || path.contains([':', '|']) || other.host_str() != Some("host") {
        return;
    }
    let theirs: Vec<Vec<u8>> = other.path().split('/').skip(1).map(decoded).collect();
    let theirs = theirs.strip_suffix(&[Vec::new()]).unwrap_or(&theirs);
    assert_eq!(theirs, segments);
}

fn decoded(segment: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = segment.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = if *first == b'%' { 2 } else { 0 };
        let code = std::str::from_utf8(&after[..digits]).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = &after[digits..];
    }
    bytes
}
