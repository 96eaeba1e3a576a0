//! Parses targeted cache control (RFC 9213): CDN-Cache-Control, and other fields with the same rules that the operator names.
//!
//! The value is a Structured Fields dictionary. A field that is empty or does not parse is ignored, and the next field in the
//! operator's list counts. A directive of the wrong type is ignored, as section 2.1 demands.

use super::cache_control::{CacheControl, DELTA_SECONDS_MAX, DirectiveScope};
use crate::Fields;
use sfv::{BareItem, Dictionary, ListEntry, Parser};

/// The directives of the first of `names` that is present, valid and not empty.
pub fn parse(fields: &Fields, names: &[String]) -> Option<CacheControl> {
    names.iter().find_map(|name| parse_one(fields, name))
}

fn parse_one(fields: &Fields, name: &str) -> Option<CacheControl> {
    let value = fields.combined(name)?;
    //= RFC 9213 section 2.1
    //# If a targeted field in a given response is empty, or a parsing error is encountered, that field MUST be ignored by
    //# the cache (i.e., it behaves as if the field were not present, likely falling back to other cache-control mechanisms
    //# present).
    let members = Parser::new(&value).parse::<Dictionary>().ok().filter(|members| !members.is_empty())?;
    let mut all = CacheControl::default();
    for (key, member) in &members {
        if let ListEntry::Item(item) = member {
            add(&mut all, key.as_str(), &item.bare_item);
        }
    }
    Some(all)
}

fn add(all: &mut CacheControl, key: &str, value: &BareItem) {
    let flag = value.as_boolean();
    match key {
        "no-store" => all.no_store |= flag == Some(true),
        "public" => all.public |= flag == Some(true),
        "must-revalidate" => all.must_revalidate |= flag == Some(true),
        "proxy-revalidate" => all.proxy_revalidate |= flag == Some(true),
        "must-understand" => all.must_understand |= flag == Some(true),
        "no-transform" => all.no_transform |= flag == Some(true),
        "immutable" => all.immutable |= flag == Some(true),
        "no-cache" => all.no_cache = scope(value),
        "private" => all.private = scope(value),
        "max-age" => all.max_age = seconds(value),
        "s-maxage" => all.s_maxage = seconds(value),
        "stale-while-revalidate" => all.stale_while_revalidate = seconds(value),
        "stale-if-error" => all.stale_if_error = seconds(value),
        _ => {}
    }
}

/// Reads a Boolean, or a String that lists field names. The cache does not leave out single fields because of a targeted field, so
/// the String (the qualified form) counts as the unqualified form.
fn scope(value: &BareItem) -> DirectiveScope {
    if value.as_boolean() == Some(true) || value.as_string().is_some() {
        DirectiveScope::All
    } else {
        DirectiveScope::None
    }
}

/// Reads a non-negative Integer; any other value is ignored like a wrong type.
fn seconds(value: &BareItem) -> Option<u64> {
    let seconds = i64::from(value.as_integer()?);
    u64::try_from(seconds).ok().map(|seconds| seconds.min(DELTA_SECONDS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targeted(value: &str) -> Option<CacheControl> {
        let fields = [("CDN-Cache-Control", value), ("Other", "max-age=7")].into_iter().collect();
        parse(&fields, &["cdn-cache-control".to_owned(), "other".to_owned()])
    }

    #[test]
    fn the_first_valid_field_wins() {
        assert_eq!(targeted("max-age=60, no-store").map(|all| (all.max_age, all.no_store)), Some((Some(60), true)));
    }

    #[test]
    fn an_invalid_or_empty_field_is_ignored() {
        //= RFC 9213 section 2.1
        //# If a targeted field in a given response is empty, or a parsing error is encountered, that field MUST be ignored by
        //# the cache (i.e., it behaves as if the field were not present, likely falling back to other cache-control mechanisms
        //# present).
        for value in ["", "max-age=, no-store", "MAX-AGE=1", "max-age=1 no-store", "\u{ff}"] {
            assert_eq!(targeted(value).and_then(|all| all.max_age), Some(7), "{value}");
        }
    }

    #[test]
    fn a_directive_of_the_wrong_type_is_ignored() {
        let all = targeted("max-age=1.5, s-maxage=\"3\", no-store=1, private, stale-if-error=(1 2)").unwrap();
        assert_eq!(all, CacheControl { private: DirectiveScope::All, ..CacheControl::default() });
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(value in "[\t -~\u{80}-\u{ff}]*") {
            let _ = targeted(&value);
        }
    }
}
