//! URLs by pattern: `/bbs/login*.php`, `/index.php?action=edit`, `*?preview`.
//!
//! A pattern is a glob over the path, as a rule has it. Behind `?`, it may name one parameter that the query must have, by name or
//! by name and value, which are globs. Names and values are compared both as they were sent and decoded, so no spelling gets around
//! a pattern.

use crate::glob::{Glob, Path, matches};
use kasoku_semantics::query::{any_pair, decoded, name_and_value, read_name};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;

/// The most patterns with a parameter that are compared without a heap allocation.
const PARAMETERS_ON_STACK: usize = 32;

/// A pattern of URLs: a glob over the path, and behind `?` one parameter that the query must have, by name or as `name=value`, globs both.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UrlPattern {
    path: Glob,
    parameter: Option<Parameter>,
}

/// A parameter of a query.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Parameter {
    name: String,
    /// None: any value, or none.
    value: Option<String>,
}

impl UrlPattern {
    /// Reads a pattern; `None`: the path begins neither with `/` nor with `*`, or the parameter has no name.
    pub fn parse(text: &str) -> Option<Self> {
        let (path, parameter) = text.split_once('?').map_or((text, None), |(path, query)| (path, Some(query)));
        let parameter = match parameter {
            None => None,
            Some(text) => {
                let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
                let is_one = !name.is_empty() && !text.contains('&');
                Some(is_one.then(|| Parameter { name: name.to_owned(), value: value.map(str::to_owned) })?)
            }
        };
        let is_path = path.starts_with(['/', '*']) && !path.contains('#');
        is_path.then(|| Self { path: path.into(), parameter })
    }

    /// The glob over paths.
    pub fn path(&self) -> &Glob {
        &self.path
    }

    /// Whether the pattern fits a URL as it was sent.
    pub fn fits(&self, path: &str, query: Option<&str>) -> bool {
        let mut fitting = Fitting::new(query);
        Path::new(path).fits(&self.path) && (fitting.takes(self) || fitting.is_any())
    }
}

/// The patterns whose paths fit a URL. The query may have thousands of parameters, so each is read once for all patterns.
pub struct Fitting<'p, 'q> {
    query: Option<&'q str>,
    parameters: SmallVec<[&'p Parameter; PARAMETERS_ON_STACK]>,
}

impl<'p, 'q> Fitting<'p, 'q> {
    /// For a URL with that query.
    pub fn new(query: Option<&'q str>) -> Self {
        Self { query, parameters: SmallVec::new() }
    }

    /// Adds a pattern whose path fits. Returns whether the pattern asks for nothing else.
    pub fn takes(&mut self, pattern: &'p UrlPattern) -> bool {
        // Without a query there are no parameters.
        let parameter = pattern.parameter.as_ref().filter(|_| self.query.is_some());
        self.parameters.extend(parameter);
        pattern.parameter.is_none()
    }

    /// Whether the query has the parameter of one of the patterns.
    pub fn is_any(&self) -> bool {
        let Some(query) = self.query.filter(|_| !self.parameters.is_empty()) else { return false };
        any_pair(query, |pair| {
            let pair = QueryPair::read(pair);
            self.parameters.iter().any(|parameter| parameter.fits(&pair))
        })
    }
}

/// A parameter as it was sent, and as programs read it.
struct QueryPair<'q> {
    name: &'q str,
    value: &'q str,
    read_name: Cow<'q, str>,
    /// Decoded only on demand: most patterns do not look at the value.
    read_value: OnceCell<Cow<'q, str>>,
}

impl<'q> QueryPair<'q> {
    fn read(pair: &'q str) -> Self {
        let (name, value) = name_and_value(pair);
        Self { name, value, read_name: read_name(name), read_value: OnceCell::new() }
    }

    fn read_value(&self) -> &str {
        self.read_value.get_or_init(|| decoded(self.value))
    }
}

impl Parameter {
    fn fits(&self, pair: &QueryPair<'_>) -> bool {
        let is_named = matches(&self.name, pair.name)
            || matches(&self.name, &pair.read_name)
            || self.is_mangled_to(&pair.read_name);
        let has_value = |glob: &String| matches(glob, pair.value) || matches(glob, pair.read_value());
        is_named && self.value.as_ref().is_none_or(has_value)
    }

    /// PHP reads a dot or a space in a name as an underscore.
    fn is_mangled_to(&self, read: &str) -> bool {
        self.name.contains('_') && read.contains(['.', ' ']) && matches(&self.name, &read.replace(['.', ' '], "_"))
    }
}

impl fmt::Display for UrlPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path.as_str())?;
        if let Some(parameter) = &self.parameter {
            write!(f, "?{}", parameter.name)?;
        }
        match self.parameter.as_ref().and_then(|parameter| parameter.value.as_ref()) {
            Some(value) => write!(f, "={value}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, target: &str) -> bool {
        let (path, query) = kasoku_semantics::query::path_and_query(target);
        UrlPattern::parse(pattern).unwrap().fits(path, query)
    }

    #[test]
    fn a_url_fits_by_path_and_by_one_parameter() {
        for (pattern, target) in [
            ("/bbs/login*.php", "/bbs/login_check.php?url=x"),
            ("*?preview", "/p?preview"),
            ("*?preview", "/p?a=1&preview=true"),
            ("/index.php?action=edit", "/index.php?title=X&action=edit"),
            ("*?act=disp*Form", "/?act=dispMemberLoginForm"),
            ("*?act=disp*Form", "/?%61ct=disp%4DemberLoginForm"),
            ("*?act=", "/?act"),
            ("*?preview", "/p?a=1;preview=true"),
            ("*?a=1;b", "/p?a=1;b"),
            ("*?act=edit", "/?+act=edit"),
            ("*?act=edit", "/?%20act%00x=edit"),
            ("*?rest_route", "/?rest.route=/"),
            ("*?rest_route", "/?rest+route=/"),
            ("*?mode=logout", "/?a=1;mode=logout"),
            ("*?mode=a;b", "/?mode=a;b"),
        ] {
            assert!(fits(pattern, target), "{pattern} {target}");
        }
        for (pattern, target) in [
            ("/bbs/login*.php", "/bbs/board.php"),
            ("*?preview", "/p"),
            ("*?preview", "/p?previews=1"),
            ("/index.php?action=edit", "/index.php?action=view"),
            ("/index.php?action=edit", "/other.php?action=edit"),
        ] {
            assert!(!fits(pattern, target), "{pattern} {target}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in ["", "login", "?a", "/x?", "/x?=1", "/x?a&b", "/x#y"] {
            assert!(UrlPattern::parse(text).is_none(), "{text}");
        }
        for text in ["/", "*", "/x?a=b*", "*?a"] {
            assert_eq!(UrlPattern::parse(text).unwrap().to_string(), text);
        }
    }
}
