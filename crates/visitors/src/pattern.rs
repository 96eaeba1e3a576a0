//! Groups URLs into URL patterns: the URLs whose pages one part of an application seems to make.
//!
//! A pattern is a host as the configuration names it ([`GuardedHosts`]), the shape of a path, the names of the query's parameters,
//! and the class of visitors. `/bbs/board.php?bo_table=free&wr_id=5` has the shape `/bbs/board.php?bo_table&wr_id`, and
//! `/2026/11/a-day-out` has `/{n}/{n}/*`. Segments that name a script, or a place near the root, stay in the shape; segments that
//! name one item of many do not. The target is the one that the application reads, so a short address has the pattern of the script
//! that it stands for.
//!
//! A shape is bounded in length. Clients choose URLs, so the table of patterns bounds the number of shapes
//! ([`leak_guard`](crate::leak_guard)).

mod hosts;

use crate::RouteRules;
pub use hosts::GuardedHosts;
use kasoku_semantics::classes;
use kasoku_semantics::query::{name_and_value, pairs, path_and_query, read_name};
use kasoku_wire::Fields;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;

/// Segments of a path that the shape shows.
const SEGMENTS_MAX: usize = 12;

/// Parameters that the shape shows.
const PARAMETERS_MAX: usize = 24;

/// The longest parameter name that the shape shows, in bytes.
const NAME_BYTES_MAX: usize = 32;

/// The longest name of a script, in bytes.
const SCRIPT_BYTES_MAX: usize = 48;

/// The longest first segment that names a place with other segments below it, in bytes.
const PLACE_BYTES_MAX: usize = 32;

/// The longest word that is the whole path, in bytes: `/about`, but not the title of a post.
const WORD_BYTES_MAX: usize = 16;

/// Stand in a shape for a number, and for any other text.
const NUMBER: &str = "{n}";
const ANYTHING: &str = "*";

/// The parts of a pattern's name that do not come from the request's target.
pub struct PatternNames<'r> {
    /// The mark of the rules that hold for the route: the same URL under other rules is another pattern.
    pub rules: &'r str,
    /// The host, as [`GuardedHosts::name`] returns it.
    pub host: Cow<'r, str>,
}

/// See the [module](self).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// For people, and unique under the same rules: `a.org/bbs/board.php?bo_table&wr_id (mobile)`.
    pub shown: String,
    /// The tags of its responses: the pattern's own, and the one of all patterns of its rule.
    pub tags: [String; 2],
}

impl Pattern {
    /// The pattern of a request; `None`: its pages are not guarded. `target`: as the application reads it.
    pub fn of(route: RouteRules<'_>, named: PatternNames<'_>, target: &str, request: &Fields) -> Option<Self> {
        if !is_guarded(route) {
            return None;
        }
        let shown = shown(route, &named.host, target, request);
        let (own, all) = (format!("guarded {} {shown}", named.rules), format!("guarded {}", named.rules));
        Some(Self { shown, tags: [own, all] })
    }

    /// The key of the pattern in the guard's table.
    pub fn key(&self) -> &str {
        let [own, _] = &self.tags;
        own
    }

    /// The key that all patterns of the same rule share.
    pub fn key_of_rule(&self) -> &str {
        let [_, all] = &self.tags;
        all
    }

    /// The key of the rule ([`Self::key_of_rule`]) that is part of a pattern's key.
    pub fn rule_of(key: &str) -> &str {
        key.match_indices(' ').nth(1).and_then(|(end, _)| key.get(..end)).unwrap_or(key)
    }
}

/// The name of a request's pattern for people, on any route. `target`: as the application reads it.
pub fn shown(route: RouteRules<'_>, host: &str, target: &str, request: &Fields) -> String {
    format!("{host}{}{}", shape(target), class(route, request))
}

/// Whether the guard compares pages of a route before they are shared.
pub fn is_guarded(route: RouteRules<'_>) -> bool {
    route.declared.guard.is_enabled && route.policy.grant.is_granting()
}

/// The class of visitors in the key, in parentheses; empty: the key has none.
fn class(route: RouteRules<'_>, request: &Fields) -> String {
    let grant = &route.policy.grant;
    let device = grant.key_device.then(|| classes::device_name(request));
    let language =
        (!grant.key_languages.is_empty()).then(|| classes::language(request, &grant.key_languages).to_owned());
    let all: Vec<String> = device.map(str::to_owned).into_iter().chain(language).collect();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join(", ")) }
}

/// Path and query, reduced to what URLs of the same kind share.
fn shape(target: &str) -> String {
    let (path, query) = path_and_query(target);
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    let mut shape = String::new();
    let last = segments.iter().rposition(|segment| !segment.is_empty()).unwrap_or(0);
    for (number, segment) in segments.iter().take(SEGMENTS_MAX).enumerate() {
        shape.push('/');
        shape.push_str(&kind(segment, number == 0, number == last));
    }
    if segments.len() > SEGMENTS_MAX {
        shape.push_str("/**");
    }
    let names = query.map(names).unwrap_or_default();
    if !names.is_empty() {
        shape.push('?');
        shape.push_str(&names.join("&"));
    }
    shape
}

fn kind(segment: &str, is_first: bool, is_last: bool) -> Cow<'_, str> {
    let text = percent_decode_str(segment).decode_utf8_lossy();
    let is_plain = |max: usize, others: &[u8]| {
        text.len() <= max && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || others.contains(&byte))
    };
    if text.is_empty() {
        return Cow::Borrowed("");
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Cow::Borrowed(NUMBER);
    }
    let is_script = text.contains('.') && is_plain(SCRIPT_BYTES_MAX, b"-_.~") && !has_long_number(&text);
    let is_word = is_plain(WORD_BYTES_MAX, b"_") && !text.bytes().any(|byte| byte.is_ascii_digit());
    let is_place = is_first && if is_last { is_word } else { is_plain(PLACE_BYTES_MAX, b"-_~") };
    if is_script || is_place { text } else { Cow::Borrowed(ANYTHING) }
}

/// Whether a text has three digits in a row, which number an item: `post-1234.html`.
fn has_long_number(text: &str) -> bool {
    text.as_bytes().windows(3).any(|three| three.iter().all(u8::is_ascii_digit))
}

/// The names of parameters, sorted, each once.
fn names(query: &str) -> Vec<String> {
    // Some programs, such as gitweb, write `;` between parameters.
    let all = pairs(query).flat_map(|pair| pair.split(';'));
    let mut names: Vec<String> = all.filter(|pair| !pair.is_empty()).map(name).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() > PARAMETERS_MAX {
        names.truncate(PARAMETERS_MAX);
        names.push(ANYTHING.to_owned());
    }
    names
}

fn name(pair: &str) -> String {
    let name = read_name(name_and_value(pair).0);
    let name = name.split('[').next().unwrap_or_default();
    let is_plain = name.len() <= NAME_BYTES_MAX
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:~".contains(&byte));
    match is_plain {
        true if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) => NUMBER.to_owned(),
        true => name.to_owned(),
        false => ANYTHING.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_one_part_of_an_application_have_one_shape() {
        for (targets, expected) in [
            (&["/"][..], "/"),
            (
                &["/bbs/board.php?bo_table=free&wr_id=5", "/bbs/board.php?wr_id=6&bo_table=q%26a&&"],
                "/bbs/board.php?bo_table&wr_id",
            ),
            (&["/bbs/board.php?bo_table=free"], "/bbs/board.php?bo_table"),
            (&["/2026/11/a-day-out", "/2025/1/x"], "/{n}/{n}/*"),
            (&["/2026/11/a-day-out/"], "/{n}/{n}/*/"),
            (&["/a-day-out/", "/%EA%B0%80/", "/hello-world/", "/ein-sehr-langer-titel-eines-beitrags/"], "/*/"),
            (&["/about"], "/about"),
            (&["/cart/"], "/cart/"),
            (&["/blog/x", "/blog/hello-world", "/blog/About"], "/blog/*"),
            (&["/category/news/page/2/"], "/category/*/*/{n}/"),
            (&["/index.php/Main_Page", "/index.php/Help:Contents"], "/index.php/*"),
            (&["/index.php?title=Main"], "/index.php?title"),
            (&["/wiki/Main_Page"], "/wiki/*"),
            (&["/post-1234.html", "/post-999.html", "/%ff.php"], "/*"),
            (&["/?p=1&p=2", "/?p=5", "/?%70=5"], "/?p"),
            (&["/?a[]=1", "/?a%5b3%5d=1"], "/?a"),
            (&["/?12", "/?34=5"], "/?{n}"),
            (&["/?<b>", "/?%3d=2", "/?aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"], "/?*"),
            (&["/free/5"], "/free/{n}"),
            (&["*"], ""),
        ] {
            for target in targets {
                assert_eq!(shape(target), expected, "{target}");
            }
        }
    }

    #[test]
    fn shapes_are_bounded() {
        let deep = shape(&"/a".repeat(5000));
        assert!(deep.len() < 100 && deep.ends_with("/**"), "{deep}");
        let query: Vec<String> = (0..5000).map(|number| format!("a{number}=1")).collect();
        let wide = shape(&format!("/?{}", query.join("&")));
        assert!(wide.len() < PARAMETERS_MAX * (NAME_BYTES_MAX + 1) && wide.ends_with("&*"), "{wide}");
    }
}
