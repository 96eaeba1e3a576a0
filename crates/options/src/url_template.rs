//! URLs made of the parameters of another URL: `/count.php?id={wr_id}`.
//!
//! A placeholder is the name of a parameter of the other URL's query, in braces, and stands for the value as it was sent. So a
//! value stays one value: characters that would end it are percent-encoded already. Placeholders are allowed only behind `?`, since
//! in a path a value could lead elsewhere. If a parameter is missing, is empty or comes twice (programs differ on which of them
//! counts), the template makes no URL.

use kasoku_semantics::query::{name_and_value, pairs, path_and_query, read_name};
use std::fmt;

/// The longest text of a template, in bytes.
const TEXT_BYTES_MAX: usize = 1024;

/// The most placeholders of one template.
const PLACEHOLDERS_MAX: usize = 8;

/// The longest URL that a template makes, in bytes.
const URL_BYTES_MAX: usize = 2048;

/// Path and query, with parameters of another URL's query in braces: `/count.php?id={wr_id}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UrlTemplate(Vec<TemplatePart>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum TemplatePart {
    Literal(String),
    /// The value of the parameter of that name.
    Value(String),
}

/// Why a text is no template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlTemplateError {
    /// It does not begin with one `/`.
    #[error("a path begins with one `/`")]
    Path,
    /// It has a character that can't stand in a URL, or a `#`.
    #[error("{0:?} can't stand in it")]
    Character(char),
    /// A brace has no partner, or the text between braces is no name of a parameter.
    #[error("a placeholder is the name of a parameter in braces")]
    Placeholder,
    /// A placeholder stands in the path.
    #[error("placeholders may stand only after `?`")]
    InPath,
    /// There are too many placeholders.
    #[error("it has more than {} placeholders", PLACEHOLDERS_MAX)]
    TooMany,
    /// The text is too long.
    #[error("it is longer than {} bytes", TEXT_BYTES_MAX)]
    Length,
}

impl UrlTemplate {
    /// Reads a template.
    ///
    /// # Errors
    /// The reason why it is none.
    pub fn parse(text: &str) -> Result<Self, UrlTemplateError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(UrlTemplateError::Length);
        }
        if !text.starts_with('/') || text.starts_with("//") {
            return Err(UrlTemplateError::Path);
        }
        if let Some(found) = text.chars().find(|letter| !letter.is_ascii_graphic() || *letter == '#') {
            return Err(UrlTemplateError::Character(found));
        }
        if path_and_query(text).0.contains(['{', '}']) {
            return Err(UrlTemplateError::InPath);
        }
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, behind)) = rest.split_once('{') {
            let (name, behind) = behind.split_once('}').ok_or(UrlTemplateError::Placeholder)?;
            push_literal(&mut parts, literal)?;
            let is_name =
                !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.[]".contains(&byte));
            if !is_name {
                return Err(UrlTemplateError::Placeholder);
            }
            parts.push(TemplatePart::Value(name.to_owned()));
            rest = behind;
        }
        push_literal(&mut parts, rest)?;
        let placeholders = parts.iter().filter(|part| matches!(part, TemplatePart::Value(_))).count();
        if placeholders > PLACEHOLDERS_MAX { Err(UrlTemplateError::TooMany) } else { Ok(Self(parts)) }
    }

    /// The URL that the template makes of the parameters of `target`; `None`: it makes none.
    pub fn fill(&self, target: &str) -> Option<String> {
        let query = path_and_query(target).1.unwrap_or_default();
        let Self(parts) = self;
        let mut url = String::new();
        for part in parts {
            match part {
                TemplatePart::Literal(text) => url.push_str(text),
                TemplatePart::Value(name) => url.push_str(only_value(query, name)?),
            }
            if url.len() > URL_BYTES_MAX {
                return None;
            }
        }
        Some(url)
    }
}

impl fmt::Display for UrlTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(parts) = self;
        parts.iter().try_for_each(|part| match part {
            TemplatePart::Literal(text) => f.write_str(text),
            TemplatePart::Value(name) => write!(f, "{{{name}}}"),
        })
    }
}

fn push_literal(parts: &mut Vec<TemplatePart>, text: &str) -> Result<(), UrlTemplateError> {
    if text.contains('}') {
        return Err(UrlTemplateError::Placeholder);
    }
    if !text.is_empty() {
        parts.push(TemplatePart::Literal(text.to_owned()));
    }
    Ok(())
}

/// The value of the only parameter of that name, as it was sent.
fn only_value<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    let mut values = pairs(query).map(name_and_value).filter(|(sent, _)| is_called(sent, name)).map(|(_, value)| value);
    let value = values.next().filter(|value| !value.is_empty())?;
    let is_sound = value.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
    (is_sound && values.next().is_none()).then_some(value)
}

/// Whether a parameter with the sent name is called `name`. PHP reads a dot or a space in a name as an underscore.
pub fn is_called(sent: &str, name: &str) -> bool {
    let read = read_name(sent);
    read == name || (read.contains(['.', ' ']) && read.replace(['.', ' '], "_") == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_as_they_were_sent() {
        let template = UrlTemplate::parse("/count.php?b={bo_table}&id={wr_id}&x").unwrap();
        for (target, url) in [
            ("/b?bo_table=free&wr_id=5", Some("/count.php?b=free&id=5&x")),
            ("/b?wr%5fid=%ED%95%9C+%26&x=1&bo_table=a/b", Some("/count.php?b=a/b&id=%ED%95%9C+%26&x")),
            ("/b?bo_table=free", None),
            ("/b?bo_table=free&wr_id=", None),
            ("/b?bo_table=free&wr_id", None),
            ("/b?bo_table=free&wr_id=5&wr_id=6", None),
            ("/b?bo_table=free&wr_id=5&wr.id=6", None),
            ("/b?bo_table=free&wr_id=5&wr_id=", None),
            ("/b", None),
        ] {
            assert_eq!(template.fill(target).as_deref(), url, "{target}");
        }
        assert_eq!(UrlTemplate::parse("/").unwrap().fill("/b?c").as_deref(), Some("/"));
    }

    #[test]
    fn the_url_that_is_made_has_a_bound() {
        let template = UrlTemplate::parse("/?a={a}").unwrap();
        assert!(template.fill(&format!("/?a={}", "x".repeat(2000))).is_some());
        assert_eq!(template.fill(&format!("/?a={}", "x".repeat(2048))), None);
    }

    #[test]
    fn what_is_no_template_is_refused() {
        use UrlTemplateError::{Character, InPath, Length, Path, Placeholder, TooMany};
        for (text, error) in [
            ("", Path),
            ("count.php", Path),
            ("//other.example/", Path),
            ("http://other.example/", Path),
            ("/a b", Character(' ')),
            ("/a#b", Character('#')),
            ("/é", Character('é')),
            ("/{id}", InPath),
            ("/{id}?a={a}", InPath),
            ("/?a={", Placeholder),
            ("/?a=}", Placeholder),
            ("/?a={}", Placeholder),
            ("/?a={{b}}", Placeholder),
            ("/?a={b&c}", Placeholder),
            (&format!("/?{}", "{a}".repeat(9)), TooMany),
            (&format!("/{}", "a".repeat(1024)), Length),
        ] {
            assert_eq!(UrlTemplate::parse(text), Err(error), "{text}");
        }
        for text in ["/", "/a?b", "/a?b={c}&d={e[0]}", "/a?{b}{c}"] {
            assert_eq!(UrlTemplate::parse(text).unwrap().to_string(), text);
        }
    }
}
