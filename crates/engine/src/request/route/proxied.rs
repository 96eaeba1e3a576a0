//! What a proxy in front of us says about the client's request.

use kasoku_wire::Fields;
use kasoku_wire::field::list;

/// What a proxy in front of us says about the client's request; empty unless the peer is trusted.
#[derive(Default)]
pub(super) struct Proxied<'r> {
    pub(super) is_https: bool,
    pub(super) host: Option<&'r [u8]>,
}

impl<'r> Proxied<'r> {
    pub(super) fn of(fields: &'r Fields, is_trusted: bool) -> Self {
        if !is_trusted {
            return Self::default();
        }
        // The last member is what the peer itself has written; earlier members are what the peer was told.
        let last = |name| list::members(fields, name).last();
        let forwarded = last("forwarded").unwrap_or_default();
        let proto = last("x-forwarded-proto").or_else(|| forwarded_parameter(forwarded, b"proto"));
        let host = last("x-forwarded-host").or_else(|| forwarded_parameter(forwarded, b"host"));
        Self { is_https: proto.is_some_and(|proto| proto.eq_ignore_ascii_case(b"https")), host }
    }
}

/// One parameter of a member of Forwarded (RFC 7239 section 4).
fn forwarded_parameter<'m>(member: &'m [u8], name: &[u8]) -> Option<&'m [u8]> {
    member.split(|byte| *byte == b';').find_map(|pair| {
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        let (found, value) = pair.split_at(equals);
        let value = value.get(1..)?.trim_ascii();
        let value = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value);
        found.trim_ascii().eq_ignore_ascii_case(name).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwarded_parameters_may_be_quoted() {
        let member = b"for=1.2.3.4; Proto=https;host=\"a.org:8443\"";
        assert_eq!(forwarded_parameter(member, b"proto"), Some(&b"https"[..]));
        assert_eq!(forwarded_parameter(member, b"host"), Some(&b"a.org:8443"[..]));
        assert_eq!(forwarded_parameter(member, b"by"), None);
    }
}
