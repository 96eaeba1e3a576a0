//! A target as it stands in the key, and as the origin is asked: without what the configuration leaves out of path and query.

use kasoku_options::QueryKey;
use kasoku_options::glob::matches;
use smallvec::SmallVec;
use std::borrow::Cow;

/// A target without those parameters of its path's segments: `/a;jsessionid=1/b` is `/a/b`.
pub(super) fn without_path_parameters<'t>(target: &'t str, names: &[String]) -> Cow<'t, str> {
    if names.is_empty() {
        return Cow::Borrowed(target);
    }
    let path_end = target.find('?').unwrap_or(target.len());
    let (path, query) = target.split_at_checked(path_end).unwrap_or((target, ""));
    if !path.contains(';') {
        return Cow::Borrowed(target);
    }
    let is_kept = |parameter: &&str| !names.iter().any(|glob| matches(glob, name(parameter)));
    let mut kept = String::with_capacity(target.len());
    for (number, segment) in path.split('/').enumerate() {
        if number > 0 {
            kept.push('/');
        }
        let mut parameters = segment.split(';');
        kept.push_str(parameters.next().unwrap_or_default());
        for parameter in parameters.filter(is_kept) {
            kept.push(';');
            kept.push_str(parameter);
        }
    }
    kept.push_str(query);
    Cow::Owned(kept)
}

/// Parameters of a query that are sorted without memory of their own.
const PARAMETERS_ON_STACK: usize = 32;

/// Appends the target with the query as the rule wants it.
pub(super) fn write_normalised(target: &str, rule: &QueryKey, out: &mut String) {
    let parts = if rule.sort || !rule.ignore.is_empty() { target.split_once('?') } else { None };
    let Some((path, query)) = parts else { return out.push_str(target) };
    let is_kept = |pair: &&str| !rule.ignore.iter().any(|glob| matches(glob, name(pair)));
    let mut pairs: SmallVec<[&str; PARAMETERS_ON_STACK]> = query.split('&').filter(is_kept).collect();
    if rule.sort {
        pairs.sort_by_key(|pair| name(pair));
    }
    out.push_str(path);
    for (separator, pair) in std::iter::once('?').chain(std::iter::repeat('&')).zip(pairs) {
        out.push(separator);
        out.push_str(pair);
    }
}

/// A parameter's name.
fn name(pair: &str) -> &str {
    pair.split_once('=').map_or(pair, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_sorted_and_stripped_only_by_rule() {
        let ignore = vec!["utm_*".to_owned(), "fbclid".to_owned()];
        let rule = QueryKey { sort: true, ignore, ..QueryKey::default() };
        let normalised = |target: &str, rule: &QueryKey| {
            let mut out = String::new();
            write_normalised(target, rule, &mut out);
            out
        };
        assert_eq!(normalised("/p?b=2&a=1&b=1", &QueryKey::default()), "/p?b=2&a=1&b=1");
        assert_eq!(normalised("/p?b=2&utm_x=1&a=1&fbclid=9&b=1", &rule), "/p?a=1&b=2&b=1");
        assert_eq!(normalised("/p?utm_x=1", &rule), "/p");
        assert_eq!(normalised("/p", &rule), "/p");
    }

    #[test]
    fn parameters_of_the_path_are_stripped_by_name_alone() {
        let names = ["jsessionid".to_owned(), "sid*".to_owned()];
        for (target, kept) in [
            ("/a;jsessionid=1", "/a"),
            ("/a;jsessionid=1/b;v=2;sid3=4?x;jsessionid=5", "/a/b;v=2?x;jsessionid=5"),
            ("/;jsessionid", "/"),
            ("/a;v=1", "/a;v=1"),
            ("*", "*"),
        ] {
            assert_eq!(without_path_parameters(target, &names), kept);
        }
    }
}
