//! Fuzz target for targeted cache control (RFC 9213). Input: the lines of CDN-Cache-Control.

use crate::input::{field, lines};
use kasoku_wire::Fields;
use kasoku_wire::field::cache_control::{CacheControl, DELTA_SECONDS_MAX, DirectiveScope};
use kasoku_wire::field::targeted::parse;
use sfv::{Dictionary, Parser};

pub(crate) fn run(data: &[u8]) {
    let lines = lines(data);
    let names = ["cdn-cache-control".to_owned(), "other".to_owned()];
    let fields = field("CDN-Cache-Control", &lines);
    let own = parse(&fields, &names);
    let combined = fields.combined("cdn-cache-control").unwrap_or_default();
    let is_valid = Parser::new(&combined).parse::<Dictionary>().is_ok_and(|members| !members.is_empty());
    assert_eq!(own.is_some(), is_valid, "a field counts unless it is empty or does not parse");
    assert_eq!(parse(&fields, &names), own);
    let joined = field("CDN-Cache-Control", [lines.join(&b", "[..])]);
    assert_eq!(parse(&joined, &names), own, "a hop that combines lines changes their meaning");
    let mut both = fields.clone();
    both.push("Other", "max-age=7");
    let other = CacheControl { max_age: Some(7), ..CacheControl::default() };
    assert_eq!(parse(&both, &names), Some(own.clone().unwrap_or(other)), "an invalid field is no field");
    assert_eq!(parse(&Fields::new(), &names), None);
    if let Some(all) = own {
        let durations = [all.max_age, all.s_maxage, all.stale_while_revalidate, all.stale_if_error];
        assert!(durations.into_iter().flatten().all(|seconds| seconds <= DELTA_SECONDS_MAX));
        sent_again(&all, &names);
    }
}

/// The same directives, written as a dictionary, are parsed to the same values.
fn sent_again(all: &CacheControl, names: &[String]) {
    let flags = [
        ("no-store", all.no_store),
        ("public", all.public),
        ("must-revalidate", all.must_revalidate),
        ("proxy-revalidate", all.proxy_revalidate),
        ("must-understand", all.must_understand),
        ("no-transform", all.no_transform),
        ("immutable", all.immutable),
        ("no-cache", all.no_cache != DirectiveScope::None),
        ("private", all.private != DirectiveScope::None),
    ];
    let durations = [
        ("max-age", all.max_age),
        ("s-maxage", all.s_maxage),
        ("stale-while-revalidate", all.stale_while_revalidate),
        ("stale-if-error", all.stale_if_error),
    ];
    let flags = flags.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name.to_owned());
    let durations = durations.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value?)));
    // The further member keeps the dictionary from being empty: an empty one is ignored.
    let members: Vec<String> = flags.chain(durations).chain(["x".to_owned()]).collect();
    assert_eq!(parse(&field("cdn-cache-control", [members.join(", ")]), names).as_ref(), Some(all));
}
