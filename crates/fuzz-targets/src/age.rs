//! Fuzz target for Age and the age that is computed from it. Input: the lines of Age.

use crate::input::{field, lines};
use http::StatusCode;
use kasoku_semantics::{Now, corrected_initial_age};
use kasoku_wire::ResponseHead;
use kasoku_wire::field::age::parse;
use kasoku_wire::field::cache_control::DELTA_SECONDS_MAX;
use kasoku_wire::field::list;

const ASKED: Now = Now { unix_ms: 1_795_000_000_000, mono_ms: 5_000_000 };

pub(crate) fn run(data: &[u8]) {
    let lines = lines(data);
    let fields = field("Age", &lines);
    let age = parse(&fields);
    if let Some(seconds) = age {
        assert!(seconds <= DELTA_SECONDS_MAX);
        assert_eq!(parse(&field("age", [seconds.to_string()])), age);
        let digits = list::members(&fields, "age").next().unwrap_or_default();
        assert!(!digits.is_empty() && digits.iter().all(u8::is_ascii_digit));
    }
    // The response has no Date, so its age is Age plus the seven seconds that the request took.
    let answered = ASKED.after(7_000);
    let response = ResponseHead { fields, ..ResponseHead::new(StatusCode::OK) };
    assert_eq!(corrected_initial_age(&response, ASKED, answered), age.unwrap_or(0) + 7);
}
