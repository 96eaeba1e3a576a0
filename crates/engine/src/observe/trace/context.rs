//! Reads and writes `traceparent` (W3C Trace Context, version 00): which trace a request belongs to, and whether that trace is
//! recorded.

/// The field's name.
pub(crate) const FIELD: &str = "traceparent";

/// The field beside it, in which tracing systems keep values of their own.
pub(crate) const STATE: &str = "tracestate";

/// A position in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceContext {
    pub(crate) trace_id: u128,
    pub(crate) span_id: u64,
    pub(crate) is_sampled: bool,
}

/// The length of version 00, in bytes. A later version may append more.
const LENGTH: usize = 55;

impl TraceContext {
    /// Reads a field's value; `None`: it is not valid, and a new trace begins.
    pub(crate) fn parse(value: &[u8]) -> Option<Self> {
        let (known, rest) = value.split_at_checked(LENGTH)?;
        let mut parts = known.split(|byte| *byte == b'-');
        let mut part = |digits: usize| hexadecimal(parts.next()?, digits);
        let version = part(2)?;
        let (trace_id, span_id, flags) = (part(32)?, part(16)?, part(2)?);
        let is_version = match version {
            0 => rest.is_empty(),
            0xff => false,
            _ => rest.first().is_none_or(|byte| *byte == b'-'),
        };
        let is_valid = is_version && trace_id != 0 && span_id != 0;
        is_valid.then_some(Self { trace_id, span_id: span_id as u64, is_sampled: flags & 1 == 1 })
    }

    /// The field's value, as it is sent.
    pub(crate) fn write(&self) -> String {
        format!("00-{:032x}-{:016x}-{:02x}", self.trace_id, self.span_id, u8::from(self.is_sampled))
    }
}

/// A number of exactly `digits` hexadecimal digits, in lower case.
fn hexadecimal(text: &[u8], digits: usize) -> Option<u128> {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let text = Some(text).filter(|text| text.len() == digits && text.iter().all(is_digit))?;
    u128::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    #[test]
    fn what_is_written_is_read() {
        let text = format!("00-{TRACE}-b7ad6b7169203331-01");
        let context = TraceContext::parse(text.as_bytes()).unwrap();
        assert_eq!((context.span_id, context.is_sampled), (0xb7ad_6b71_6920_3331, true));
        assert_eq!(context.write(), text);
        let unsampled = TraceContext { is_sampled: false, ..context };
        assert_eq!(TraceContext::parse(unsampled.write().as_bytes()), Some(unsampled));
    }

    #[test]
    fn a_later_version_may_say_more_and_this_one_may_not() {
        assert!(TraceContext::parse(format!("01-{TRACE}-b7ad6b7169203331-03").as_bytes()).is_some());
        assert!(TraceContext::parse(format!("01-{TRACE}-b7ad6b7169203331-01-more").as_bytes()).is_some());
        for wrong in [
            format!("01-{TRACE}-b7ad6b7169203331-01more"),
            format!("00-{TRACE}-b7ad6b7169203331-01-more"),
            format!("ff-{TRACE}-b7ad6b7169203331-01"),
            format!("00-{}-b7ad6b7169203331-01", "0".repeat(32)),
            format!("00-{TRACE}-0000000000000000-01"),
            format!("00-{}-b7ad6b7169203331-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-b7ad6b7169203331-1"),
            format!("00-{TRACE}-b7ad6b716920333-001"),
            format!("+0-{TRACE}-b7ad6b7169203331-01"),
            String::new(),
        ] {
            assert_eq!(TraceContext::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
