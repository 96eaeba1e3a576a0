//! Age (RFC 9111 section 5.1).
//!
//! The rule, stricter than the RFC in one point: one line of digits is the age. One line with a bare-comma list
//! (`0,7200`) is its first member, as the RFC asks. Two or more lines, a list with white space after the comma (which is
//! what a hop makes of two lines, RFC 9110 section 5.3) and anything that is no number mean that two hops claim
//! different ages, or that one talks nonsense: nobody can then say how old the response is, and it counts as stale.

use super::cache_control::{DELTA_SECONDS_MAX, delta_seconds};
use super::list;
use crate::Fields;

/// What the Age field says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Age {
    /// There is none.
    Absent,
    /// So many seconds.
    Seconds(u64),
    /// It cannot be trusted: the response counts as stale.
    Unknown,
}

impl Age {
    /// The age in seconds: 0 when absent, very large when unknown.
    pub fn seconds(self) -> u64 {
        match self {
            Self::Absent => 0,
            Self::Seconds(seconds) => seconds,
            Self::Unknown => 2 * DELTA_SECONDS_MAX,
        }
    }
}

/// Reads the Age field.
pub fn parse(fields: &Fields) -> Age {
    let mut lines = fields.all("age");
    let Some(line) = lines.next() else { return Age::Absent };
    if lines.next().is_some() {
        return Age::Unknown;
    }
    let members: Option<Vec<u64>> = list::trim(line).split(|b| *b == b',').map(delta_seconds).collect();
    //= RFC 9111 section 5.1
    //# Although it is defined as a singleton header field, a cache encountering a message with a list-based Age field
    //# value SHOULD use the first member of the field value, discarding subsequent ones.
    members.and_then(|members| members.first().copied()).map_or(Age::Unknown, Age::Seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn age(lines: &[&str]) -> Age {
        parse(&lines.iter().map(|line| ("Age", line)).collect())
    }

    #[test]
    fn one_number_is_the_age() {
        assert_eq!(age(&[]), Age::Absent);
        assert_eq!(age(&["30"]), Age::Seconds(30));
        assert_eq!(age(&["99999999999999999999"]), Age::Seconds(DELTA_SECONDS_MAX));
    }

    #[test]
    fn of_a_bare_list_the_first_member_counts() {
        //= RFC 9111 section 5.1
        //# Although it is defined as a singleton header field, a cache encountering a message with a list-based Age field
        //# value SHOULD use the first member of the field value, discarding subsequent ones.
        assert_eq!(age(&["0,7200"]), Age::Seconds(0));
        assert_eq!(age(&["7200,0"]), Age::Seconds(7200));
    }

    #[test]
    fn two_lines_or_what_a_hop_makes_of_them_are_not_trusted() {
        for lines in [&["0", "0"][..], &["0, 0"], &["7200", "0"], &["3600, 3600"]] {
            assert_eq!(age(lines), Age::Unknown, "{lines:?}");
        }
    }

    #[test]
    fn what_is_no_number_is_not_trusted() {
        for value in ["abc", "-7200", "7200.0", "7200;foo=bar", "7200;foo=111", "", "+1", "1,", "1,x"] {
            assert_eq!(age(&[value]), Age::Unknown, "{value}");
        }
        assert!(Age::Unknown.seconds() > DELTA_SECONDS_MAX);
    }
}
