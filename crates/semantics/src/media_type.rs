//! What the media type of a response says about how it is made: whether it has an end, and whether it is a file or a page.
//!
//! The type is the application's word, and it is believed only where that makes the cache more careful.

use crate::coding::media_type;
use kasoku_wire::ResponseHead;

/// Streams that go on for as long as the client stays: server-sent events, and pictures that replace one another.
const ENDLESS: [&str; 2] = ["text/event-stream", "multipart/x-mixed-replace"];

/// Whether a response is a stream without an end. Each client needs one of its own, from the moment at which it asks.
pub fn is_endless(head: &ResponseHead) -> bool {
    head.fields.all("content-type").any(|value| is_any(media_type(value), &ENDLESS))
}

fn is_any(media_type: &[u8], types: &[&str]) -> bool {
    types.iter().any(|one| media_type.eq_ignore_ascii_case(one.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ok;

    #[test]
    fn streams_of_events_and_of_pictures_have_no_end() {
        for value in [
            "text/event-stream",
            "Text/Event-Stream; charset=utf-8",
            "multipart/x-mixed-replace;boundary=frame",
            " text/event-stream ",
        ] {
            assert!(is_endless(&ok().with("Content-Type", value)), "{value}");
        }
        assert!(is_endless(&ok().with("Content-Type", "text/html").with("Content-Type", "text/event-stream")));
        for value in ["text/html", "text/event-streams", "multipart/mixed", ""] {
            assert!(!is_endless(&ok().with("Content-Type", value)), "{value}");
        }
        assert!(!is_endless(&ok()));
    }
}
