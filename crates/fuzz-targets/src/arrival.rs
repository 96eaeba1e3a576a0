//! Checks that the verdict on a message does not depend on how its bytes arrived: compares each prefix with the whole.

use std::fmt::Debug;

/// Inputs up to this length are cut at each byte; longer ones at line ends, where parsers change state, and at regular distances.
const CUT_EVERYWHERE_BYTES_MAX: usize = 160;
/// The most line ends, and the most regular distances, at which a longer input is cut.
const CUTS_MAX: usize = 64;

/// Each prefix of `data` must ask for more, or give the same result as the whole. After the first prefix that gives a result, no
/// longer prefix may ask for more.
///
/// # Panics
/// When a prefix does otherwise.
pub(crate) fn prefixes_agree<T: PartialEq + Debug>(data: &[u8], need_more: &T, parse: impl Fn(&[u8]) -> T) {
    let whole = parse(data);
    let mut is_decided = false;
    for end in cuts(data) {
        let prefix = parse(&data[..end]);
        if prefix == *need_more {
            assert!(!is_decided, "{end} bytes ask for more than a shorter prefix did");
        } else {
            assert_eq!(prefix, whole, "{end} of {} bytes are judged differently", data.len());
            is_decided = true;
        }
    }
}

/// Where `data` is cut, in ascending order.
fn cuts(data: &[u8]) -> Vec<usize> {
    if data.len() <= CUT_EVERYWHERE_BYTES_MAX {
        return (0..=data.len()).collect();
    }
    let step = data.len() / CUTS_MAX + 1;
    let is_end_of_line = |at: &usize| matches!(data[*at], b'\r' | b'\n');
    let ends = (0..data.len()).filter(is_end_of_line).take(CUTS_MAX).flat_map(|at| [at, at + 1]);
    let mut cuts: Vec<usize> = (0..data.len()).step_by(step).chain(ends).chain([data.len()]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}
