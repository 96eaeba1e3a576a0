//! Makes tags (surrogate keys): names by which stored responses are dropped together, whatever their URLs.
//!
//! A [`TagTemplate`] makes tags from the parameters of a URL: `post-{bo_table}-{wr_id:digits}` makes the tag `post-free-5` for
//! `/board.php?bo_table=free&wr_id=5`. Templates also name what a write changes, from the parameters of its URL, its form and its
//! redirection. A missing or empty parameter makes no tag; a repeated one makes a tag for each of its values. `{?name}` requires
//! that the parameter is present and `{!name}` that it is absent, whatever its value: `list-{bo_table}{!wr_id}` is a tag of lists
//! alone.
//!
//! A tag works only if page and write spell it alike. Applications read `FREE` as `free` and `05` as `5`, each in its own way; so a
//! value counts only if it is **plain**: letters, digits, `-` and `_`, compared without case; with `:digits` a decimal number
//! without leading zeros; with `:word` at most 20 letters, digits and `_`, for programs that strip other characters before they use
//! the value (gnuboard5 reads `fr-ee` as `free`). A page whose URL has another value is not shared ([`TagRules::are_plain`]). A
//! write with another value has changed pages that its tags do not name ([`Tagged::is_all_known`]).
//!
//! A page may depend on others although its URL does not show it: the newest post of a board has no link to the next one until
//! there is one. The template `newest-{bo_table} unless TEXT` tags a page that does not contain the text, or that was not searched
//! for it.

use crate::query::{decoded, name_and_value, pairs, read_name};
use memchr::memmem;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

/// The most tags of one response or one change. If there are more, its tags are not all known ([`Tagged::is_all_known`]).
pub const TAGS_MAX: usize = 64;

/// The most templates of one list.
pub const TEMPLATES_MAX: usize = 64;

/// The longest text of a template, in bytes.
pub const TEMPLATE_BYTES_MAX: usize = 256;

/// The most placeholders of one template.
pub const PLACEHOLDERS_MAX: usize = 4;

/// The longest value that is plain, in bytes.
const VALUE_BYTES_MAX: usize = 64;

/// The longest value of the kind `word`, in bytes: gnuboard5 cuts the name of a board at that length.
const WORD_BYTES_MAX: usize = 20;

/// The most parameters that are read from one request: as many as PHP reads (`max_input_vars`).
const PARAMETERS_MAX: usize = 1_000;

/// The tags that responses get.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TagRules {
    /// The site that owns the tags: the same tag of another site is a different one. Empty: responses get no tags.
    pub site: String,
    /// The templates that make the tags.
    pub templates: Vec<TagTemplate>,
}

impl TagRules {
    /// Whether some tags depend on a text in the page.
    pub fn need_the_page(&self) -> bool {
        self.needing_the_page().next().is_some()
    }

    /// The templates whose tags depend on a text in the page, with their positions in the list.
    pub fn needing_the_page(&self) -> impl Iterator<Item = (usize, &TagTemplate)> {
        self.templates.iter().enumerate().filter(|(_, template)| template.needs_the_page())
    }

    /// The templates whose text stands in that page.
    pub fn excepted_by(&self, page: &[u8]) -> Excepted {
        let mut excepted = Excepted::default();
        for (place, template) in self.needing_the_page() {
            if template.unless.as_ref().is_some_and(|text| memmem::find(page, text.as_bytes()).is_some()) {
                excepted.add(place);
            }
        }
        excepted
    }

    /// Whether one of the templates can make `tag`, which is in lower case.
    pub fn can_make(&self, tag: &str) -> bool {
        self.templates.iter().any(|template| template.can_make(tag))
    }

    /// Whether all parameters of the query that tags are made from have plain values.
    pub fn are_plain(&self, query: &str) -> bool {
        let values = self.templates.iter().flat_map(TagTemplate::values);
        let is_plain = |name: &str, sent: &str| {
            let name = ParameterName::of(name);
            let mut of_name = values.clone().filter(|value| name.is(&value.name)).peekable();
            if of_name.peek().is_none() {
                // Most parameters make no tag. Decoding a percent-encoded value allocates, and each hit comes here.
                return true;
            }
            let text = decoded(sent);
            text.is_empty() || of_name.all(|value| value.is_plain(&text))
        };
        pairs(query).map(name_and_value).all(|(name, value)| is_plain(&read_name(name), value))
    }
}

/// A template of tags: text with the placeholders `{name}`, `{name:digits}`, `{?name}`, `{!name}`. Pages that contain the text
/// after ` unless ` do not get its tags.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TagTemplate {
    parts: Vec<TagPart>,
    unless: Option<String>,
}

/// Separates a template from the text whose pages do not get its tags.
const UNLESS: &str = " unless ";

/// The templates of a list whose text stands in a page, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Excepted(u64);

impl Excepted {
    fn add(&mut self, place: usize) {
        self.0 |= u32::try_from(place).ok().and_then(|place| 1_u64.checked_shl(place)).unwrap_or(0);
    }

    /// Whether the template at this position of the list is one of them.
    pub fn has(self, place: usize) -> bool {
        u32::try_from(place).ok().and_then(|place| self.0.checked_shr(place)).is_some_and(|bits| bits & 1 == 1)
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum TagPart {
    Literal(String),
    Value(ParameterValue),
    /// Writes nothing, but requires that the parameter is present or absent.
    Condition {
        name: String,
        is_there: bool,
    },
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ParameterValue {
    name: String,
    kind: ValueKind,
}

/// Which values of a parameter are plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ValueKind {
    Any,
    Digits,
    Word,
}

impl ValueKind {
    /// The kinds as placeholders write them, after the parameter's name and a colon.
    const NAMED: [(&str, Self); 2] = [("digits", Self::Digits), ("word", Self::Word)];
}

/// Why a text is no template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// It is empty or too long.
    #[error("a tag has 1 to {} bytes", TEMPLATE_BYTES_MAX)]
    Length,
    /// It contains a character other than letters, digits, `-`, `_`, `.`, `:` and placeholders.
    #[error("{0:?} can't stand in a tag")]
    Character(char),
    /// A brace without its partner, or a placeholder without a name.
    #[error("a placeholder is the name of a parameter in braces")]
    Placeholder,
    /// A kind that is neither `digits` nor `word`.
    #[error("the kind of a placeholder is `digits` or `word`")]
    Kind,
    /// Too many placeholders.
    #[error("a tag has at most {} placeholders", PLACEHOLDERS_MAX)]
    TooMany,
    /// The text behind ` unless ` is empty or too long.
    #[error("the text behind `unless` has 1 to {} bytes", TEMPLATE_BYTES_MAX)]
    Text,
}

impl TagTemplate {
    /// Parses a template.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let (text, unless) = match text.split_once(UNLESS) {
            Some((text, unless)) => (text.trim_end(), Some(unless.trim())),
            None => (text, None),
        };
        if unless.is_some_and(|unless| unless.is_empty() || unless.len() > TEMPLATE_BYTES_MAX) {
            return Err(TemplateError::Text);
        }
        if text.is_empty() || text.len() > TEMPLATE_BYTES_MAX {
            return Err(TemplateError::Length);
        }
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, behind)) = rest.split_once('{') {
            let (value, behind) = behind.split_once('}').ok_or(TemplateError::Placeholder)?;
            push_literal(&mut parts, literal)?;
            parts.push(placeholder(value)?);
            rest = behind;
        }
        push_literal(&mut parts, rest)?;
        let template = Self { parts, unless: unless.map(str::to_owned) };
        if template.placeholders().count() > PLACEHOLDERS_MAX { Err(TemplateError::TooMany) } else { Ok(template) }
    }

    /// Whether a page gets its tags only if a text does not stand in it.
    pub fn needs_the_page(&self) -> bool {
        self.unless.is_some()
    }

    /// Whether its tags depend on parameters.
    pub fn has_placeholders(&self) -> bool {
        self.placeholders().next().is_some()
    }

    /// Whether some parameters make `tag`.
    fn can_make(&self, tag: &str) -> bool {
        // The offsets in the tag at which the parts so far may end.
        let mut ends = BTreeSet::from([0]);
        for part in &self.parts {
            let mut next = BTreeSet::new();
            for at in ends {
                let rest = tag.get(at..).unwrap_or_default();
                match part {
                    TagPart::Literal(text) if rest.starts_with(text.as_str()) => drop(next.insert(at + text.len())),
                    TagPart::Literal(_) => {}
                    TagPart::Condition { .. } => drop(next.insert(at)),
                    TagPart::Value(value) => {
                        let lengths = 1..=rest.len().min(VALUE_BYTES_MAX);
                        let is_value =
                            |length: &usize| rest.get(..*length).and_then(|text| value.plain(text)).is_some();
                        next.extend(lengths.filter(is_value).map(|length| at + length));
                    }
                }
            }
            ends = next;
        }
        ends.contains(&tag.len())
    }

    fn placeholders(&self) -> impl Iterator<Item = &TagPart> {
        self.parts.iter().filter(|part| !matches!(part, TagPart::Literal(_)))
    }

    fn values(&self) -> impl Iterator<Item = &ParameterValue> + Clone {
        self.parts.iter().filter_map(|part| match part {
            TagPart::Value(value) => Some(value),
            TagPart::Literal(_) | TagPart::Condition { .. } => None,
        })
    }

    /// Adds the tags that the template makes from these parameters.
    /// Whether a parameter that it names has several values: then nothing tells which one the application has read.
    pub fn reads_several(&self, of: &Parameters) -> bool {
        let names = self.parts.iter().filter_map(|part| match part {
            TagPart::Literal(_) => None,
            TagPart::Value(ParameterValue { name, .. }) | TagPart::Condition { name, .. } => Some(name),
        });
        let values = |meant: &str| {
            let mut values =
                of.pairs.iter().filter(move |(name, _)| ParameterName::of(name).is(meant)).map(|(_, value)| value);
            values.next().is_some_and(|first| values.any(|other| other != first))
        };
        names.into_iter().any(|name| values(name))
    }

    fn fill(&self, of: &Parameters, tagged: &mut Tagged) {
        let mut made = vec![String::new()];
        for part in &self.parts {
            let texts: Vec<Cow<'_, str>> = match part {
                TagPart::Literal(text) => vec![Cow::Borrowed(text)],
                TagPart::Value(value) => of.plain(value, tagged),
                TagPart::Condition { name, is_there } => {
                    let has_it = of.has(name);
                    // The parameter may be among those that were not read.
                    tagged.is_all_known &= has_it || !of.is_cut;
                    if has_it == *is_there { continue } else { return }
                }
            };
            if made.len().saturating_mul(texts.len()) > TAGS_MAX {
                tagged.is_all_known = false;
                return;
            }
            made = made.iter().flat_map(|begun| texts.iter().map(move |text| format!("{begun}{text}"))).collect();
        }
        made.into_iter().for_each(|tag| tagged.push(tag));
    }
}

fn push_literal(parts: &mut Vec<TagPart>, text: &str) -> Result<(), TemplateError> {
    let is_one = |letter: &char| letter.is_ascii_alphanumeric() || "-_.:".contains(*letter);
    match text.chars().find(|letter| !is_one(letter)) {
        Some('}') => Err(TemplateError::Placeholder),
        Some(other) => Err(TemplateError::Character(other)),
        None if text.is_empty() => Ok(()),
        None => {
            parts.push(TagPart::Literal(text.to_ascii_lowercase()));
            Ok(())
        }
    }
}

/// Parses the text between braces.
fn placeholder(text: &str) -> Result<TagPart, TemplateError> {
    for (mark, is_there) in [("?", true), ("!", false)] {
        if let Some(name) = text.strip_prefix(mark) {
            return Ok(TagPart::Condition { name: parameter(name)?, is_there });
        }
    }
    let (name, kind) = match text.split_once(':') {
        None => (text, ValueKind::Any),
        Some((name, kind)) => {
            let named = ValueKind::NAMED.iter().find(|(known, _)| *known == kind);
            (name, named.ok_or(TemplateError::Kind)?.1)
        }
    };
    Ok(TagPart::Value(ParameterValue { name: parameter(name)?, kind }))
}

fn parameter(name: &str) -> Result<String, TemplateError> {
    let is_one = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let is_name = !name.is_empty() && name.chars().all(is_one);
    is_name.then(|| name.to_owned()).ok_or(TemplateError::Placeholder)
}

/// The name of a parameter, for comparison with the names in templates.
struct ParameterName<'n> {
    name: &'n str,
    /// The name as PHP reads it, with an underscore for each dot and space; `None`: the same.
    mangled: Option<String>,
}

impl<'n> ParameterName<'n> {
    /// The name of a parameter without an index (`id[]`, `id[3]`).
    fn of(read_name: &'n str) -> Self {
        // A plain loop, as for the other parts of URLs: names are too short for a search to be faster.
        let end = read_name.bytes().position(|byte| matches!(byte, b'[' | 0));
        // PHP leaves out blanks before a name, and ends it at a NUL.
        let name = end.and_then(|end| read_name.get(..end)).unwrap_or(read_name).trim_start_matches(' ');
        let is_mangled = name.bytes().any(|byte| matches!(byte, b'.' | b' '));
        Self { name, mangled: is_mangled.then(|| name.replace(['.', ' '], "_")) }
    }

    fn is(&self, meant: &str) -> bool {
        self.name == meant || self.mangled.as_deref() == Some(meant)
    }
}

impl ParameterValue {
    fn is_plain(&self, text: &str) -> bool {
        if text.is_empty() || text.len() > VALUE_BYTES_MAX {
            return false;
        }
        let has_only = |others: &[u8]| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || others.contains(&byte));
        match self.kind {
            ValueKind::Any => has_only(b"-_"),
            ValueKind::Word => has_only(b"_") && text.len() <= WORD_BYTES_MAX,
            ValueKind::Digits => {
                text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'))
            }
        }
    }

    /// A value as tags spell it (in lower case), if it is plain.
    fn plain<'v>(&self, text: &'v str) -> Option<Cow<'v, str>> {
        let has_capitals = text.bytes().any(|byte| byte.is_ascii_uppercase());
        let spelled = || if has_capitals { Cow::Owned(text.to_ascii_lowercase()) } else { Cow::Borrowed(text) };
        self.is_plain(text).then(spelled)
    }
}

impl fmt::Display for TagTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            TagPart::Literal(text) => f.write_str(text),
            TagPart::Value(ParameterValue { name, kind }) => match ValueKind::NAMED.iter().find(|(_, one)| one == kind)
            {
                Some((kind, _)) => write!(f, "{{{name}:{kind}}}"),
                None => write!(f, "{{{name}}}"),
            },
            TagPart::Condition { name, is_there: true } => write!(f, "{{?{name}}}"),
            TagPart::Condition { name, is_there: false } => write!(f, "{{!{name}}}"),
        })?;
        self.unless.as_ref().map_or(Ok(()), |text| write!(f, "{UNLESS}{text}"))
    }
}

/// The parameters of a request as applications read them, from a URL, a form or a redirection.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    pairs: Vec<(String, String)>,
    is_cut: bool,
}

impl Parameters {
    /// Adds the parameters of a query, or of a form in the same format.
    pub fn read(&mut self, query: &str) {
        // Take one more than are read, so that `push` notices the excess.
        for (name, value) in pairs(query).map(name_and_value).take(PARAMETERS_MAX + 1) {
            self.push(read_name(name).into_owned(), decoded(value).into_owned());
        }
    }

    /// Adds a parameter, or notes that it was not read if there are too many.
    pub fn push(&mut self, name: String, value: String) {
        if self.pairs.len() < PARAMETERS_MAX {
            self.pairs.push((name, value));
        } else {
            self.is_cut = true;
        }
    }

    /// Notes that the request has more parameters that were not read.
    pub fn are_cut(&mut self) {
        self.is_cut = true;
    }

    fn has(&self, meant: &str) -> bool {
        self.pairs.iter().any(|(name, text)| !text.is_empty() && ParameterName::of(name).is(meant))
    }

    fn plain(&self, value: &ParameterValue, tagged: &mut Tagged) -> Vec<Cow<'_, str>> {
        let mut plain: Vec<Cow<'_, str>> = Vec::new();
        for (_, text) in
            self.pairs.iter().filter(|(name, text)| !text.is_empty() && ParameterName::of(name).is(&value.name))
        {
            match value.plain(text) {
                Some(text) if plain.contains(&text) => {}
                Some(text) if plain.len() < TAGS_MAX => plain.push(text),
                Some(_) => {
                    tagged.is_all_known = false;
                    return Vec::new();
                }
                None => tagged.is_all_known = false,
            }
        }
        tagged.is_all_known &= !self.is_cut;
        plain
    }
}

/// The tags that templates make from parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tagged {
    /// In no order, each once.
    pub tags: Vec<String>,
    /// `false`: further tags apply that are not in the list.
    pub is_all_known: bool,
}

impl Tagged {
    /// The tags that these templates make from these parameters.
    pub fn of<'t>(templates: impl IntoIterator<Item = &'t TagTemplate>, parameters: &Parameters) -> Self {
        let mut tagged = Self { tags: Vec::new(), is_all_known: true };
        templates.into_iter().for_each(|template| template.fill(parameters, &mut tagged));
        tagged
    }

    /// The tags of a page: those of all templates but the ones in `excepted`.
    pub fn of_page(templates: &[TagTemplate], parameters: &Parameters, excepted: Excepted) -> Self {
        let rest = templates.iter().enumerate().filter(|(place, _)| !excepted.has(*place));
        Self::of(rest.map(|(_, template)| template), parameters)
    }

    fn push(&mut self, tag: String) {
        if self.tags.contains(&tag) {
            return;
        }
        if self.tags.len() == TAGS_MAX {
            self.is_all_known = false;
            return;
        }
        self.tags.push(tag);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tagged(templates: &[&str], query: &str) -> Tagged {
        let templates: Vec<TagTemplate> = templates.iter().map(|text| TagTemplate::parse(text).unwrap()).collect();
        let mut parameters = Parameters::default();
        parameters.read(query);
        Tagged::of(&templates, &parameters)
    }

    #[test]
    fn tags_are_made_of_parameters() {
        for (template, query, tags) in [
            ("front", "", &["front"][..]),
            ("board-{bo_table}", "bo_table=free&page=2", &["board-free"]),
            ("board-{bo_table}", "bo_table=Free", &["board-free"]),
            ("Post-{b}-{id:digits}", "b=free&id=5", &["post-free-5"]),
            ("post-{b}-{id:digits}", "b=free", &[]),
            ("post-{b}-{id:digits}", "b=free&id=", &[]),
            ("board-{b}", "b=free&b=qa&b=free", &["board-free", "board-qa"]),
            ("post-{b}-{id}", "b=free&id%5B%5D=1&id[3]=2", &["post-free-1", "post-free-2"]),
            ("board-{bo_table}", "bo.table=free&bo%20table=qa", &["board-free", "board-qa"]),
            ("list-{b}{!id}{!title}", "b=free&page=2&id=", &["list-free"]),
            ("list-{b}{!id}{!title}", "b=free&id=5", &[]),
            ("list-{b}{!id}{!title}", "b=free&title=caf%C3%A9", &[]),
            ("titled-{b}{?title}", "b=free&title=caf%C3%A9", &["titled-free"]),
            ("titled-{b}{?title}", "b=free", &[]),
        ] {
            let found = tagged(&[template], query);
            assert_eq!(
                (found.tags.as_slice(), found.is_all_known),
                (&*tags.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>(), true),
                "{template} {query}"
            );
        }
    }

    #[test]
    fn what_is_not_plain_is_no_tag_and_known_to_be_missing() {
        let rules = |templates: &[&str]| TagRules {
            site: "any".to_owned(),
            templates: templates.iter().map(|text| TagTemplate::parse(text).unwrap()).collect(),
        };
        let long = format!("id={}", "a".repeat(65));
        for (template, query) in [
            ("post-{id:digits}", "id=05"),
            ("post-{id:digits}", "id=5a"),
            ("post-{id:digits}", "id=%205"),
            ("post-{id:digits}", "id=+5"),
            ("post-{id:digits}", "a=1&id=-5"),
            ("post-{id}", "id=fr.ee"),
            ("post-{id}", "id=caf%C3%A9"),
            ("post-{id}", "id=5%00"),
            ("post-{id:word}", "id=fr-ee"),
            ("post-{id:word}", "id=abcdefghijklmnopqrstu"),
            ("post-{id}", "id[]=a/b"),
            ("post-{id}", &long),
        ] {
            let found = tagged(&[template], query);
            assert_eq!((found.tags.len(), found.is_all_known), (0, false), "{template} {query}");
            assert!(!rules(&[template]).are_plain(query), "{template} {query}");
        }
        assert!(rules(&["titled-{b}{?id}{!x}"]).are_plain("b=free&id=caf%C3%A9&x=%20"), "no tag has that value");
        for query in ["", "id=5", "id=0", "id=", "other=%20", "id=5&id=6"] {
            assert!(rules(&["post-{id:digits}", "x"]).are_plain(query), "{query}");
        }
    }

    #[test]
    fn tags_are_bounded_and_what_was_not_read_may_hold_others() {
        let many: Vec<String> = (0..=TAGS_MAX).map(|number| format!("id={number}")).collect();
        let found = tagged(&["post-{id}", "front"], &many.join("&"));
        assert_eq!((found.tags.as_slice(), found.is_all_known), (&["front".to_owned()][..], false));
        let literals: Vec<String> = (0..=TAGS_MAX).map(|number| format!("t{number}")).collect();
        let literals: Vec<&str> = literals.iter().map(String::as_str).collect();
        let found = tagged(&literals, "");
        assert_eq!((found.tags.len(), found.is_all_known), (TAGS_MAX, false));
        let mut cut = Parameters::default();
        cut.are_cut();
        let of = |text: &str| Tagged::of(&[TagTemplate::parse(text).unwrap()], &cut);
        assert!(!of("post-{id}").is_all_known && of("front").is_all_known, "a text needs no parameter");
        assert!(
            !of("front{?id}").is_all_known && !of("front{!id}").is_all_known,
            "it may stand in the part that was not read"
        );
        cut.read("id=5");
        let known = Tagged::of(&[TagTemplate::parse("front{?id}").unwrap()], &cut);
        assert_eq!((known.tags.as_slice(), known.is_all_known), (&["front".to_owned()][..], true));
    }

    #[test]
    fn many_values_are_not_multiplied_and_what_php_does_not_read_is_not_read() {
        let many = |name: &str, count: usize| -> String {
            (0..count).map(|number| format!("{name}={number}&")).collect::<String>()
        };
        let found = tagged(&["post-{b}-{id}"], &format!("{}{}", many("b", 8), many("id", 9)));
        assert_eq!((found.tags.len(), found.is_all_known), (0, false), "72 tags");
        let found = tagged(&["post-{b}-{id}"], &format!("{}{}", many("b", 8), many("id", 8)));
        assert_eq!((found.tags.len(), found.is_all_known), (64, true));
        let mut parameters = Parameters::default();
        parameters.read(&many("id", 60_000));
        assert_eq!((parameters.pairs.len(), parameters.is_cut), (PARAMETERS_MAX, true));
        parameters.push("b".to_owned(), "free".to_owned());
        assert_eq!(parameters.pairs.len(), PARAMETERS_MAX);
        let mut all = Parameters::default();
        all.read(many("id", PARAMETERS_MAX).trim_end_matches('&'));
        assert!(!all.is_cut);
    }

    #[test]
    fn a_page_that_has_the_text_does_not_get_the_tag() {
        let templates = ["board-{b}", "newest-{b} unless class=\"next\"", "board-{b} unless <p>"];
        let rules = TagRules {
            site: "any".to_owned(),
            templates: templates.iter().map(|text| TagTemplate::parse(text).unwrap()).collect(),
        };
        assert!(rules.need_the_page());
        let mut parameters = Parameters::default();
        parameters.read("b=free");
        for (page, tags) in [
            ("<a class=\"next\" href=\"/6\">", &["board-free"][..]),
            ("<a class=\"nex\" href=\"/6\">", &["board-free", "newest-free"]),
            ("<p>", &["board-free", "newest-free"]),
        ] {
            let excepted = rules.excepted_by(page.as_bytes());
            assert_eq!(Tagged::of_page(&rules.templates, &parameters, excepted).tags, tags, "{page}");
        }
    }

    #[test]
    fn what_is_no_template_is_refused_and_says_why() {
        use TemplateError::{Character, Kind, Length, Placeholder, Text, TooMany};
        let long = "a".repeat(TEMPLATE_BYTES_MAX + 1);
        for (text, error) in [
            ("", Length),
            (&*long, Length),
            ("a b", Character(' ')),
            ("*", Character('*')),
            ("a,b", Character(',')),
            ("{}", Placeholder),
            ("a{b", Placeholder),
            ("a}b", Placeholder),
            ("{a b}", Placeholder),
            ("{a[]}", Placeholder),
            ("{?}", Placeholder),
            ("{!a:digits}", Placeholder),
            ("{a:number}", Kind),
            ("{a}{b}{c}{d}{e}", TooMany),
            ("a unless  ", Text),
            (" unless b", Length),
        ] {
            assert_eq!(TagTemplate::parse(text), Err(error), "{text}");
        }
        for text in [
            "a",
            "post-{b}-{id:digits}",
            "{a}{b}",
            "x.y:z_1",
            "list-{b}{!id}{?a}",
            "newest-{b} unless <i class=\"next\">",
        ] {
            assert_eq!(TagTemplate::parse(text).unwrap().to_string(), text);
        }
    }
}
