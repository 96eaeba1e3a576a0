//! Parses Cache-Control (RFC 9111 section 5.2) of responses and of requests.
//!
//! Where the field contradicts itself or a value is invalid, the most restrictive reading wins: the shorter of two durations
//! counts, and a duration that is not a number counts as 0, which is what RFC 9111 section 4.2.1 encourages ("considered stale").
//! Directive names are compared without case. An argument may be a token or a quoted string. White space next to `=` makes the
//! argument invalid; the directive still counts.

use super::list;
use crate::Fields;
use std::borrow::Cow;

/// The largest duration that the cache represents, in seconds: about 68 years. RFC 9111 section 1.2.2 asks for at least this.
pub const DELTA_SECONDS_MAX: u64 = 2_147_483_648;

/// One directive of a list, as sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directive<'a> {
    /// The name, in the case in which it was sent, without white space.
    pub name: &'a [u8],
    /// The text after `=`, quotes included.
    pub argument: Option<&'a [u8]>,
    /// Whether white space stands next to `=`, or the name is not a token.
    pub is_malformed: bool,
}

impl<'a> Directive<'a> {
    fn parse(member: &'a [u8]) -> Self {
        let (name, argument) = match member.iter().position(|b| *b == b'=') {
            Some(at) => (member.get(..at).unwrap_or_default(), member.get(at + 1..)),
            None => (member, None),
        };
        let trimmed = list::trim(name);
        let is_spaced = argument.is_some_and(|argument| list::trim(argument).len() != argument.len());
        Self {
            name: trimmed,
            argument: argument.map(list::trim),
            is_malformed: is_spaced || trimmed.len() != name.len() || !list::is_token(trimmed),
        }
    }

    /// Whether this is the directive `name`.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    /// The argument's text, without quotes.
    pub fn text(&self) -> Option<Cow<'a, [u8]>> {
        let argument = self.argument?;
        list::unquote(argument).or(Some(Cow::Borrowed(argument)))
    }

    /// The argument as a duration in seconds; `None` when it is missing or invalid.
    pub fn seconds(&self) -> Option<u64> {
        if self.is_malformed {
            return None;
        }
        delta_seconds(&self.text()?)
    }

    /// The argument as a list of field names, lower case; [`DirectiveScope::All`] if the argument is missing or invalid.
    pub fn scope(&self) -> DirectiveScope {
        let Some(text) = self.text() else { return DirectiveScope::All };
        let names: Vec<&[u8]> = list::split(&text).collect();
        if names.is_empty() || self.is_malformed || !names.iter().all(|name| list::is_token(name)) {
            return DirectiveScope::All;
        }
        DirectiveScope::Fields(names.iter().map(|name| String::from_utf8_lossy(name).to_ascii_lowercase()).collect())
    }
}

/// Parses a duration in seconds (RFC 9111 section 1.2.2): digits only. A larger number becomes [`DELTA_SECONDS_MAX`].
//= RFC 9111 section 1.2.2
//# If a cache receives a delta-seconds value greater than the greatest integer it can represent, or if any of its
//# subsequent calculations overflows, the cache MUST consider the value to be 2147483648 (2^31) or the greatest
//# positive integer it can conveniently represent.
pub fn delta_seconds(value: &[u8]) -> Option<u64> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let add = |sum: u64, digit: &u8| (sum * 10 + u64::from(digit - b'0')).min(DELTA_SECONDS_MAX);
    Some(value.iter().fold(0, add))
}

/// The directives in all lines named `name` (usually `Cache-Control`), in order.
pub fn directives<'a>(fields: &'a Fields, name: &'a str) -> impl Iterator<Item = Directive<'a>> {
    list::members(fields, name).map(Directive::parse)
}

/// The part of a response to which `no-cache` or `private` applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DirectiveScope {
    /// The directive is absent.
    #[default]
    None,
    /// The whole response: the unqualified form.
    All,
    /// The named fields only, lower case: the qualified form.
    Fields(Vec<String>),
}

impl DirectiveScope {
    /// Whether the directive applies to the whole response.
    pub fn is_all(&self) -> bool {
        *self == Self::All
    }

    /// The named fields, lower case; empty for the other forms.
    pub fn fields(&self) -> &[String] {
        match self {
            Self::Fields(names) => names,
            Self::None | Self::All => &[],
        }
    }

    fn join(&mut self, other: DirectiveScope) {
        *self = match (std::mem::take(self), other) {
            (Self::None, scope) | (scope, Self::None) => scope,
            (Self::Fields(mut names), Self::Fields(more)) => {
                names.extend(more);
                Self::Fields(names)
            }
            _ => Self::All,
        }
    }
}

/// The directives of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheControl {
    /// Section 5.2.2.5.
    pub no_store: bool,
    /// Section 5.2.2.4.
    pub no_cache: DirectiveScope,
    /// Section 5.2.2.7.
    pub private: DirectiveScope,
    /// Section 5.2.2.9.
    pub public: bool,
    /// Section 5.2.2.2.
    pub must_revalidate: bool,
    /// Section 5.2.2.8.
    pub proxy_revalidate: bool,
    /// Section 5.2.2.3.
    pub must_understand: bool,
    /// Section 5.2.2.6.
    pub no_transform: bool,
    /// RFC 8246.
    pub immutable: bool,
    /// Section 5.2.2.1, in seconds; invalid ones are 0.
    pub max_age: Option<u64>,
    /// Section 5.2.2.10, in seconds; invalid ones are 0.
    pub s_maxage: Option<u64>,
    /// RFC 5861 section 3, in seconds; invalid ones are 0.
    pub stale_while_revalidate: Option<u64>,
    /// RFC 5861 section 4, in seconds; invalid ones are 0.
    pub stale_if_error: Option<u64>,
}

impl CacheControl {
    /// The directives in all Cache-Control lines.
    pub fn parse(fields: &Fields) -> Self {
        let mut all = Self::default();
        for directive in directives(fields, "cache-control") {
            all.add(&directive);
        }
        all
    }

    fn add(&mut self, directive: &Directive<'_>) {
        //= RFC 9111 section 5.2.2
        //# A cache MUST obey the Cache-Control directives defined in this section.
        // Arguments of directives that take none are ignored: `no-store=1` still forbids storing.
        match directive.name.to_ascii_lowercase().as_slice() {
            b"no-store" => self.no_store = true,
            b"no-cache" => self.no_cache.join(directive.scope()),
            b"private" => self.private.join(directive.scope()),
            b"public" => self.public = true,
            b"must-revalidate" => self.must_revalidate = true,
            b"proxy-revalidate" => self.proxy_revalidate = true,
            b"must-understand" => self.must_understand = true,
            b"no-transform" => self.no_transform = true,
            b"immutable" => self.immutable = true,
            b"max-age" => shorter(&mut self.max_age, directive),
            b"s-maxage" => shorter(&mut self.s_maxage, directive),
            b"stale-while-revalidate" => shorter(&mut self.stale_while_revalidate, directive),
            b"stale-if-error" => shorter(&mut self.stale_if_error, directive),
            //= RFC 9111 section 5.2.3
            //# A cache MUST ignore unrecognized cache directives.
            _ => {}
        }
    }
}

fn shorter(value: &mut Option<u64>, directive: &Directive<'_>) {
    let new = directive.seconds().unwrap_or(0);
    *value = Some(value.map_or(new, |old| old.min(new)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(lines: &[&str]) -> CacheControl {
        CacheControl::parse(&lines.iter().map(|line| ("Cache-Control", line)).collect())
    }

    #[test]
    fn names_have_no_case_and_values_may_be_quoted() {
        //= RFC 9111 section 5.2.2
        //# A cache MUST obey the Cache-Control directives defined in this section.
        let all = parse(&["No-StOrE, MaX-aGe=\"3600\"", "S-MaxAge=007, public"]);
        assert!(all.no_store && all.public);
        assert_eq!((all.max_age, all.s_maxage), (Some(3600), Some(7)));
    }

    #[test]
    fn an_invalid_duration_is_zero() {
        for value in ["-3600", "'3600'", "3600.0", "3600.5", "a3600", "3600a", "", "\"\"", "\"1", "+1", " 3600"] {
            assert_eq!(parse(&[&format!("max-age={value}")]).max_age, Some(0), "{value}");
        }
        assert_eq!(parse(&["max-age =3600"]).max_age, Some(0));
        assert_eq!(parse(&["max-age"]).max_age, Some(0));
    }

    #[test]
    fn a_duration_too_large_saturates() {
        //= RFC 9111 section 1.2.2
        //# If a cache receives a delta-seconds value greater than the greatest integer it can represent, or if any of its
        //# subsequent calculations overflows, the cache MUST consider the value to be 2147483648 (2^31) or the greatest
        //# positive integer it can conveniently represent.
        for value in ["2147483648", "2147483649", "99999999999999999999999999999999"] {
            assert_eq!(parse(&[&format!("max-age={value}")]).max_age, Some(2_147_483_648));
        }
    }

    #[test]
    fn the_most_restrictive_of_duplicates_wins() {
        assert_eq!(parse(&["max-age=1800, max-age=1"]).max_age, Some(1));
        assert_eq!(parse(&["max-age=1", "max-age=1800"]).max_age, Some(1));
        assert!(parse(&["no-cache=\"a\", no-cache"]).no_cache.is_all());
    }

    #[test]
    fn what_looks_like_a_directive_inside_a_string_is_none() {
        let all = parse(&["extension=\"max-age=3600, no-store\", max-age=1"]);
        assert_eq!((all.max_age, all.no_store), (Some(1), false));
    }

    #[test]
    fn unknown_directives_are_ignored() {
        //= RFC 9111 section 5.2.3
        //# A cache MUST ignore unrecognized cache directives.
        assert_eq!(parse(&["foobar, x=y, max-age=3"]), parse(&["max-age=3"]));
    }

    #[test]
    fn qualified_forms_name_fields() {
        let all = parse(&["no-cache=\"A, b\", private=c", "no-cache=D"]);
        assert_eq!(all.no_cache.fields(), ["a", "b", "d"]);
        assert_eq!(all.private.fields(), ["c"]);
        for invalid in ["private=", "private=\"\"", "private=\"a b\"", "private=\"a"] {
            assert!(parse(&[invalid]).private.is_all(), "{invalid}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(value in "[ -~\u{80}-\u{ff}]*") {
            let _ = parse(&[&value]);
        }
    }
}
