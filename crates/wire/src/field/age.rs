//! Parses Age (RFC 9111 section 5.1): only the first member counts, and an invalid one is ignored.
//!
//! The RFC recommends both. Without a valid Age, the cache computes the age from Date, so an upstream cache that sends nonsense
//! does not prevent reuse.

use super::cache_control::delta_seconds;
use super::list;
use crate::Fields;

/// The value of Age in seconds; `None` if Age is absent or invalid.
pub fn parse(fields: &Fields) -> Option<u64> {
    //= RFC 9111 section 5.1
    //# Although it is defined as a singleton header field, a cache encountering a message with a list-based Age field
    //# value SHOULD use the first member of the field value, discarding subsequent ones.
    //= RFC 9111 section 5.1
    //# If the field value (after discarding additional members, as per above) is invalid (e.g., it contains something other than
    //# a non-negative integer), a cache SHOULD ignore the field.
    list::members(fields, "age").next().and_then(delta_seconds)
}

#[cfg(test)]
mod tests {
    use super::super::cache_control::DELTA_SECONDS_MAX;
    use super::*;

    fn age(lines: &[&str]) -> Option<u64> {
        parse(&lines.iter().map(|line| ("Age", line)).collect())
    }

    #[test]
    fn one_number_is_the_age() {
        assert_eq!(age(&[]), None);
        assert_eq!(age(&["30"]), Some(30));
        assert_eq!(age(&["99999999999999999999"]), Some(DELTA_SECONDS_MAX));
    }

    #[test]
    fn of_a_list_the_first_member_counts() {
        //= RFC 9111 section 5.1
        //# Although it is defined as a singleton header field, a cache encountering a message with a list-based Age field
        //# value SHOULD use the first member of the field value, discarding subsequent ones.
        for lines in [&["7200,0"][..], &["7200, 0"], &["7200", "0"], &["7200, x"], &[", 7200,", "0"]] {
            assert_eq!(age(lines), Some(7200), "{lines:?}");
        }
        assert_eq!(age(&["0", "7200"]), Some(0));
    }

    #[test]
    fn what_is_no_number_is_ignored() {
        //= RFC 9111 section 5.1
        //# If the field value (after discarding additional members, as per above) is invalid (e.g., it contains something other than
        //# a non-negative integer), a cache SHOULD ignore the field.
        for value in ["abc", "-7200", "7200.0", "7200;foo=bar", "7200;foo=111", "", "+1", "\"1\"", "x, 7200"] {
            assert_eq!(age(&[value]), None, "{value}");
        }
    }
}
