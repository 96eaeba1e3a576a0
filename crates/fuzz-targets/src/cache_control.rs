//! Fuzz target for Cache-Control of responses and of requests. Input: its lines.

use crate::input::{field, lines};
use kasoku_semantics::request_directives;
use kasoku_wire::field::cache_control::{CacheControl, DELTA_SECONDS_MAX, DirectiveScope, directives};

pub(crate) fn run(data: &[u8]) {
    let lines = lines(data);
    let parse = |lines: &[Vec<u8>]| CacheControl::parse(&field("Cache-Control", lines));
    let all = parse(&lines);
    assert_eq!(parse(&lines), all);
    bounded(&all);
    if let Some((_, fewer)) = lines.split_last() {
        restricts(&parse(fewer), &all);
    }
    let mut reversed = lines.clone();
    reversed.reverse();
    assert_eq!(unordered(parse(&reversed)), unordered(all.clone()), "the order of lines matters");
    let upper: Vec<_> = lines.iter().map(|line| line.to_ascii_uppercase()).collect();
    assert_eq!(parse(&upper), all, "case matters");
    // An unfinished quoted string ends with its line, so joining lines with quotes may change their meaning.
    if !lines.iter().any(|line| line.contains(&b'"')) {
        assert_eq!(parse(&[lines.join(&b", "[..])]), all, "a hop that combines lines changes their meaning");
        names_are_found(&lines, &all);
    }
    asked(&lines);
}

fn bounded(all: &CacheControl) {
    let durations = [all.max_age, all.s_maxage, all.stale_while_revalidate, all.stale_if_error];
    assert!(durations.into_iter().flatten().all(|seconds| seconds <= DELTA_SECONDS_MAX));
    for name in all.no_cache.fields().iter().chain(all.private.fields()) {
        assert!(!name.is_empty() && !name.bytes().any(|byte| byte.is_ascii_uppercase()));
    }
}

/// A further line never permits what the lines before it forbade.
fn restricts(fewer: &CacheControl, all: &CacheControl) {
    assert!(all.no_store >= fewer.no_store && all.must_revalidate >= fewer.must_revalidate);
    assert!(all.proxy_revalidate >= fewer.proxy_revalidate && all.no_transform >= fewer.no_transform);
    for (one, more) in [(&fewer.no_cache, &all.no_cache), (&fewer.private, &all.private)] {
        assert!(!one.is_all() || more.is_all());
        assert!(more.is_all() || one.fields().iter().all(|name| more.fields().contains(name)));
    }
    let pairs = [
        (fewer.max_age, all.max_age),
        (fewer.s_maxage, all.s_maxage),
        (fewer.stale_while_revalidate, all.stale_while_revalidate),
        (fewer.stale_if_error, all.stale_if_error),
    ];
    for (one, more) in pairs {
        assert!(one.is_none_or(|seconds| more.is_some_and(|fewer| fewer <= seconds)));
    }
}

fn unordered(mut all: CacheControl) -> CacheControl {
    for scope in [&mut all.no_cache, &mut all.private] {
        if let DirectiveScope::Fields(names) = scope {
            names.sort_unstable();
        }
    }
    all
}

/// A plain search for the names finds the same directives as the parser.
fn names_are_found(lines: &[Vec<u8>], all: &CacheControl) {
    let has = |name: &[u8]| {
        let mut members = lines.iter().flat_map(|line| line.split(|byte| *byte == b','));
        members.any(|member| {
            let word = member.split(|byte| *byte == b'=').next().unwrap_or_default();
            word.trim_ascii().eq_ignore_ascii_case(name)
        })
    };
    assert_eq!(has(b"no-store"), all.no_store);
    assert_eq!(has(b"private"), all.private != DirectiveScope::None);
    assert_eq!(has(b"no-cache"), all.no_cache != DirectiveScope::None);
    assert_eq!(has(b"public"), all.public);
    assert_eq!(has(b"max-age"), all.max_age.is_some());
    assert_eq!(has(b"s-maxage"), all.s_maxage.is_some());
}

/// The same lines in a request.
fn asked(lines: &[Vec<u8>]) {
    let fields = field("Cache-Control", lines);
    let asked = request_directives(&fields);
    assert_eq!(request_directives(&fields), asked);
    assert_eq!(asked.no_store, CacheControl::parse(&fields).no_store);
    assert!([asked.max_age, asked.min_fresh].into_iter().flatten().all(|seconds| seconds <= DELTA_SECONDS_MAX));
    for directive in directives(&fields, "cache-control") {
        assert!(directive.is(&String::from_utf8_lossy(directive.name)) || !directive.name.is_ascii());
        assert!(directive.seconds().is_none_or(|seconds| seconds <= DELTA_SECONDS_MAX));
        assert!(!directive.is_malformed || directive.seconds().is_none());
    }
    let pragma = request_directives(&field("Pragma", lines));
    assert_eq!((pragma.max_age, pragma.no_store), (None, false));
}
