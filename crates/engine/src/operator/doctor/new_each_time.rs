//! Recognises cases whose requests bring a new value each time, so that nothing stored ever answers: a parameter that counts or dates the
//! request, or a field of `key-fields` with a value for each visitor.
//!
//! Of parameters only those are named that change no page by their nature. A search has a new value of `q` each time as well, and there a
//! line that leaves the parameter out would show all visitors one result.

use kasoku_semantics::reason::Reason;

/// The fewest requests that show something.
const REQUESTS_MIN: u64 = 10;

/// Misses of one URL by which a field has many values.
const MISSES_OF_A_URL_MIN: u64 = 4;

macro_rules! lines {
    ($($name:literal)*) => {
        /// Parameters that other sites and scripts add, as globs, and what to write.
        const PARAMETERS: &[(&str, &str)] = &[$((
            $name,
            concat!(
                "nearly each request has another value of `", $name, "`, so nothing that is stored ever answers: write `query.ignore = [\"",
                $name, "\"]` (beside what it lists), if the parameter changes no page"
            ),
        )),*];
    };
}

lines! {
    "utm_*" "fbclid" "gclid" "msclkid" "mc_cid" "mc_eid" "_" "_t" "cb" "cachebuster" "nocache" "rand" "random" "rnd" "timestamp" "ts"
}

const FIELD: &str = "the requests for a URL have nearly as many values of the fields in `key-fields`: take out of `key-fields` what each client writes in its own way; `key-languages` and `key-device` reduce languages and devices to a few classes";

/// The parameter of the pattern that is new each time, and what to write.
pub(super) fn parameter(pattern: &str, requests: u64, urls: u64) -> Option<&'static str> {
    let is_new_each_time = requests >= REQUESTS_MIN && urls.saturating_mul(10) >= requests.saturating_mul(9);
    let (_, names) = pattern.split_once('?').filter(|_| is_new_each_time)?;
    let has = |glob: &str| match glob.strip_suffix('*') {
        Some(beginning) => names.split('&').any(|name| name.starts_with(beginning)),
        None => names.split('&').any(|name| name == glob),
    };
    PARAMETERS.iter().find(|(glob, _)| has(glob)).map(|(_, line)| *line)
}

/// What to do about fields of the key, where they have many values.
pub(super) fn field(reason: Reason, has_key_fields: bool, requests: u64, urls: u64) -> Option<&'static str> {
    let has_many = requests >= REQUESTS_MIN && requests >= urls.saturating_mul(MISSES_OF_A_URL_MIN);
    (reason == Reason::VaryMiss && has_key_fields && has_many).then_some(FIELD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_that_dates_each_request_is_named_with_its_line() {
        for (pattern, requests, urls, expected) in [
            ("a.org/search?_&q", 100, 97, Some("query.ignore = [\"_\"]")),
            ("a.org/post?id&utm_source", 100, 95, Some("query.ignore = [\"utm_*\"]")),
            ("a.org/post?id&utm_source", 100, 20, None),
            ("a.org/post?utm_source", 9, 9, None),
            ("a.org/search?q", 100, 100, None),
            ("a.org/_", 100, 100, None),
        ] {
            let found = parameter(pattern, requests, urls);
            assert_eq!(found.is_some(), expected.is_some(), "{pattern}");
            assert!(found.unwrap_or_default().contains(expected.unwrap_or_default()), "{pattern}: {found:?}");
        }
    }

    #[test]
    fn a_field_of_the_key_with_a_value_for_each_visitor_is_named() {
        assert!(field(Reason::VaryMiss, true, 40, 10).is_some());
        assert!(field(Reason::VaryMiss, true, 39, 10).is_none() && field(Reason::VaryMiss, false, 40, 10).is_none());
        assert!(field(Reason::UriMiss, true, 40, 10).is_none());
    }
}
