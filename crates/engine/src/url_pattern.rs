//! URLs by pattern: `/bbs/login*.php`, `/index.php?action=edit`, `*?preview`.
//!
//! A glob over the path, as a rule has it; behind `?` one parameter that the query must have, by its name or by name and value, both
//! globs. Names and values are compared as they were sent and decoded, so nobody gets around a pattern by writing it otherwise.

use crate::route::matches;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::fmt;

/// See the [module](self).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UrlPattern {
    path: String,
    parameter: Option<Parameter>,
}

/// A parameter of a query.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Parameter {
    name: String,
    /// None: with any value, or without.
    value: Option<String>,
}

impl UrlPattern {
    /// Reads a pattern; `None` where the path begins neither with `/` nor with `*`, or the parameter has no name.
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
        is_path.then(|| Self { path: path.to_owned(), parameter })
    }

    /// Whether a URL fits: `fits_path` says whether a glob fits its path.
    pub(crate) fn fits(&self, mut fits_path: impl FnMut(&str) -> bool, query: Option<&str>) -> bool {
        let has = |parameter: &Parameter| query.is_some_and(|query| parameter.is_in(query));
        self.parameter.as_ref().is_none_or(has) && fits_path(&self.path)
    }
}

impl Parameter {
    /// Whether a query has it, whether or not its application reads `;` as `&`.
    fn is_in(&self, query: &str) -> bool {
        let mut by_either = query.split(['&', ';']);
        query.split('&').any(|pair| self.fits(pair)) || (query.contains(';') && by_either.any(|pair| self.fits(pair)))
    }

    fn fits(&self, pair: &str) -> bool {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let fits = |glob: &str, text: &str| matches(glob, text) || matches(glob, &decoded(text));
        fits(&self.name, name) && self.value.as_ref().is_none_or(|glob| fits(glob, value))
    }
}

impl fmt::Display for UrlPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if let Some(parameter) = &self.parameter {
            write!(f, "?{}", parameter.name)?;
        }
        match self.parameter.as_ref().and_then(|parameter| parameter.value.as_ref()) {
            Some(value) => write!(f, "={value}"),
            None => Ok(()),
        }
    }
}

/// A name or a value of a query as applications read it: without percent-encoding, and `+` for a space.
pub(crate) fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains(['%', '+']) {
        return Cow::Borrowed(text);
    }
    let text = text.replace('+', " ");
    Cow::Owned(percent_decode_str(&text).decode_utf8_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, target: &str) -> bool {
        let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        UrlPattern::parse(pattern).unwrap().fits(|glob| matches(glob, path), query)
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
