//! Checks the properties of each accepted head, request or response, and of the bytes from which it was read.

use http::Version;
use kasoku_semantics::strip_hop_by_hop;
use kasoku_wire::Fields;
use kasoku_wire::field::list;
use kasoku_wire::http1::{HeadLimits, connection_options, keeps_alive};

/// Limits that are small enough for a fuzzer to exceed.
pub(crate) const SMALL: HeadLimits = HeadLimits { head_bytes_max: 120, target_bytes_max: 24, fields_max: 4 };

/// Checks an accepted head. `raw` is the bytes of the head, without the empty lines before it.
///
/// # Panics
/// When `raw` contains a byte that no head may contain, when lines and fields do not match, or when a limit is exceeded.
pub(crate) fn accepted(raw: &[u8], fields: &Fields, limits: &HeadLimits) {
    assert!(raw.len() <= limits.head_bytes_max && fields.len() <= limits.fields_max);
    assert!(raw.ends_with(b"\r\n\r\n"));
    for (at, byte) in raw.iter().enumerate() {
        match byte {
            0 => panic!("a NUL was accepted"),
            b'\r' => assert_eq!(raw.get(at + 1), Some(&b'\n'), "a bare CR was accepted"),
            b'\n' => assert_eq!(raw.get(at.wrapping_sub(1)), Some(&b'\r'), "a bare LF was accepted"),
            _ => {}
        }
    }
    let lines: Vec<&[u8]> = raw.split(|byte| *byte == b'\n').map(|line| line.trim_ascii_end()).collect();
    // Before the fields: the first line. Behind them: the empty line, and the empty text after the last LF.
    assert_eq!(lines.len(), fields.len() + 3);
    for ((name, value), line) in fields.iter().zip(lines.iter().skip(1)) {
        assert!(list::is_token(name), "the name of a field is no token");
        assert_eq!(list::trim(value), value);
        assert!(value.iter().all(|byte| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f)));
        let (before, after) = line.split_at(name.len());
        assert_eq!(before, name);
        assert_eq!(list::trim(after.strip_prefix(b":").expect("a colon after the name")), value);
    }
    assert_eq!(fields.block().len(), fields.iter().map(|(name, value)| name.len() + value.len() + 4).sum::<usize>());
}

/// Checks which fields go on to the next hop.
///
/// # Panics
/// When a field of this connection is among them.
pub(crate) fn forwarded(version: Version, fields: &Fields) {
    let listed: Vec<Vec<u8>> = list::members(fields, "connection").map(<[u8]>::to_vec).collect();
    let has_close = connection_options(fields).any(|option| option.eq_ignore_ascii_case(b"close"));
    assert!(!(has_close && keeps_alive(version, fields)));
    let mut stripped = fields.clone();
    strip_hop_by_hop(&mut stripped);
    for name in ["connection", "transfer-encoding", "keep-alive", "te", "upgrade"] {
        assert!(!stripped.contains(name));
    }
    assert!(!stripped.iter().any(|(name, _)| listed.iter().any(|one| one.eq_ignore_ascii_case(name))));
    let mut again = stripped.clone();
    strip_hop_by_hop(&mut again);
    assert_eq!(again, stripped);
}
