//! Computes the age of a response (RFC 9111 section 4.2.3).
//!
//! All in whole seconds, rounded down, which is the resolution of Date and Age. The formula is the conservative one: the larger of
//! the age by Date and the age that caches on the way report. Resident time runs on the monotonic clock, so a jump of the wall
//! clock makes no stored response fresh or stale.

use crate::Now;
use kasoku_wire::ResponseHead;
use kasoku_wire::field::{age, date};

/// The response's age in seconds when it reached us.
pub fn corrected_initial_age(response: &ResponseHead, request_time: Now, response_time: Now) -> u64 {
    let apparent_age = apparent_age(response, response_time);
    //= RFC 9111 section 4.2.3
    //# A cache MUST interpret this value relative to the time the request was initiated, not the time that the response
    //# was received.
    let response_delay = response_time.seconds_since(request_time);
    let corrected_age_value = age::parse(&response.fields).unwrap_or(0).saturating_add(response_delay);
    apparent_age.max(corrected_age_value)
}

/// How old the response was by its own fields when it reached us, in seconds: its sender's clock is behind, or a cache answered.
pub fn stated_age(response: &ResponseHead, response_time: Now) -> u64 {
    apparent_age(response, response_time).max(age::parse(&response.fields).unwrap_or(0))
}

fn apparent_age(response: &ResponseHead, response_time: Now) -> u64 {
    let received = response_time.unix_seconds();
    u64::try_from(received.saturating_sub(date_value(response, response_time))).unwrap_or(0)
}

/// The response's age in seconds at `now`. `initial_age` is its age when it reached us.
pub fn current_age(initial_age: u64, response_time: Now, now: Now) -> u64 {
    initial_age.saturating_add(now.seconds_since(response_time))
}

/// When the origin made the response, in Unix seconds: its Date, or when it reached us.
//= RFC 9110 section 6.6.1
//# A recipient with a clock that receives a response message without a Date header field MUST record the time it was
//# received and append a corresponding Date header field to the message's header section if it is cached or forwarded
//# downstream.
pub fn date_value(response: &ResponseHead, response_time: Now) -> i64 {
    let received = response_time.unix_seconds();
    response.fields.only("date").and_then(|value| date::parse(value, received)).unwrap_or(received)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{NOW, at, cached, fresh, later, ok, rfc};

    #[test]
    fn age_counts_from_the_request_not_from_the_response() {
        //= RFC 9111 section 4.2.3
        //# A cache MUST interpret this value relative to the time the request was initiated, not the time that the response
        //# was received.
        let response = ok().with("Age", "30");
        assert_eq!(corrected_initial_age(&response, NOW, NOW), 30);
        assert_eq!(corrected_initial_age(&response, NOW, later(4)), 34);
    }

    #[test]
    fn the_larger_of_date_and_age_counts() {
        let mut response = ok().with("Age", "30");
        response.fields.set("Date", at(-100));
        assert_eq!(corrected_initial_age(&response, NOW, NOW), 100);
        response.fields.set("Date", at(100));
        assert_eq!(corrected_initial_age(&response, NOW, NOW), 30);
    }

    #[test]
    fn without_a_date_the_time_of_receipt_counts() {
        let mut response = ok();
        response.fields.remove("date");
        assert_eq!(corrected_initial_age(&response, NOW, NOW), 0);
    }

    #[test]
    fn age_grows_while_the_response_resides_here() {
        let freshness = fresh(&cached("max-age=600").with("Age", "30"), &rfc());
        assert_eq!(freshness.age(later(3)), 33);
        // A clock that was set back changes nothing.
        let set_back = Now { unix_ms: 0, ..later(3) };
        assert_eq!(freshness.age(set_back), 33);
    }

    #[test]
    fn an_invalid_age_is_ignored_and_of_two_the_first_counts() {
        for (values, expected) in [
            (&["abc"][..], 100),
            (&["-7200"], 100),
            (&["7200;a=1"], 100),
            (&["0, 7200"], 100),
            (&["7200, 0"], 7200),
            (&["7200", "0"], 7200),
        ] {
            let mut response = cached("max-age=600");
            response.fields.set("Date", at(-100));
            values.iter().for_each(|value| response.fields.push("Age", value));
            let freshness = fresh(&response, &rfc());
            assert_eq!(freshness.initial_age, expected, "{values:?}");
            assert_eq!(freshness.is_fresh(NOW), expected < 600, "{values:?}");
        }
    }
}
