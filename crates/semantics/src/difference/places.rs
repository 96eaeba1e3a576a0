//! Finds the places of an answer whose values a browser may send back: fields of forms, `<meta>`, `data-*`, scripts, JSON, parameters of links.
//!
//! A token stands in such a place. So the guard knows of each place of a URL pattern whether its value changes, and a page with an
//! unknown place is looked at once more. Only values that could be a token are places: a name speaks of one, or the value looks as if
//! it was drawn at random, or a form sends it where a change is made. Everything else is text ([`Outline`](super::Outline)).
//!
//! The readers of scripts and URLs are lenient: they look for names and values, and what they misread is compared as text.

use super::AnswerFacts;
use super::hashing::{hash, hash_of};
use super::names::{NameMeaning, is_harmless, meaning};
use super::nested::{unescaped, with_entities};
use super::page_parts::{PieceParts, Place};
use super::regions::{FormMethod, PagePart, Piece, PieceKind, Pieces, attributes, read};
use super::value_form::{ValueForm, depends_on_time, form, is_public};
use super::{DifferencePlace, Markup};
use crate::query::decoded;
use memchr::{memchr, memchr2, memmem};
use std::ops::Range;

/// How deep texts within texts are read: JSON in an attribute, HTML in a string of JSON, JSON in a string there.
const DEPTH_MAX: u8 = 2;

/// The most values in one text within a text that are kept apart from it, and the most places where one of them stands. What is beyond
/// is compared as text.
const VALUES_WITHIN_MAX: usize = 64;

/// How many objects around a value are known by name.
const PARENTS_MAX: usize = 16;

/// The shortest picture that is written into a page as a `data:` URL and counts as a place, in bytes: a CAPTCHA, but no icon.
const DATA_URL_BYTES_MIN: usize = 256;

/// The fewest digits of a number that may be a token although no name says so.
const TOKEN_DIGITS_MIN: usize = 12;

/// The fewest digits of a token that may hold for a minute, and its fewest characters otherwise.
const HELD_DIGITS_MIN: usize = 6;

/// The kinds of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum PlaceKind {
    /// A field of a form that makes a change, or of no form. The flag: no visitor sees it.
    Field { is_hidden: bool },
    /// A field of a form that asks for a page.
    GetField,
    /// A `<meta>`, an attribute, a field of the answer's head.
    Named,
    /// A value in a script or in JSON.
    Script,
    /// A parameter of a link.
    Parameter,
    /// A segment of a link's path.
    Segment,
    /// A segment of the path to which the page sends its browser after a while: a download that is made for one visitor.
    Refresh,
}

/// Collects the places of one answer.
pub(super) struct PlaceFinder<'f> {
    facts: &'f AnswerFacts,
    /// What has been read: places, the ids of elements (a value that refers to one is no token), and the units and values of
    /// the [`Outline`](super::Outline).
    pub(super) read: PieceParts,
    /// Whether the present piece would be read the same in any answer.
    pub(super) is_by_bytes_alone: bool,
    /// Which bytes of the present piece are values of places: they are not compared as text.
    pub(super) masked: Vec<Range<usize>>,
    /// The kinds of elements: their names and classes.
    kinds: Vec<u64>,
    /// Elements and names that were read before: their kinds are known.
    seen: Seen,
    meanings: Meanings,
    /// The part of the page that is being read.
    part: DifferencePlace,
    /// Where the text within a text begins that is being read.
    within: Option<usize>,
    /// The name of the last field whose value is the text behind its tag.
    text_field: Vec<u8>,
    /// The values of places in it.
    values_within: Vec<Vec<u8>>,
    depth: u8,
}

impl<'f> PlaceFinder<'f> {
    pub(super) fn new(facts: &'f AnswerFacts) -> Self {
        Self {
            facts,
            read: PieceParts::default(),
            is_by_bytes_alone: true,
            masked: Vec::new(),
            kinds: Vec::new(),
            seen: Seen::default(),
            meanings: Meanings::default(),
            part: DifferencePlace::Head,
            within: None,
            text_field: Vec::new(),
            values_within: Vec::new(),
            depth: 0,
        }
    }

    /// Reads a field of the head whose name says that it holds a token, or that says where a redirect leads. `at`: where its value stands.
    pub(super) fn head(&mut self, name: &[u8], value: &[u8], at: usize) {
        self.masked.clear();
        self.part = DifferencePlace::Head;
        match name.eq_ignore_ascii_case(b"location") {
            true => self.url(value, at),
            false => self.value(PlaceKind::Named, name, value, at),
        }
    }

    /// Reads a piece of a body.
    pub(super) fn piece(&mut self, body: &[u8], piece: Piece) {
        self.masked.clear();
        self.part = DifferencePlace::Body(piece.part);
        let text = body.get(piece.start..piece.end).unwrap_or_default();
        match piece.kind {
            _ if piece.part == PagePart::Sealed => self.sealed(text, piece.start),
            PieceKind::Tag => self.tag(body, piece),
            PieceKind::Script => self.script(text, piece.start, b""),
            PieceKind::FieldText => {
                let name = std::mem::take(&mut self.text_field);
                self.value(PlaceKind::Field { is_hidden: false }, &name, text, piece.start);
            }
            PieceKind::Text | PieceKind::Comment => {}
        }
        self.masked.sort_unstable_by_key(|range| range.start);
    }

    /// The places, without those that refer to an element of the page, and the kinds of elements, each once.
    pub(super) fn end(mut self) -> (PieceParts, Vec<u64>) {
        let PieceParts { places, ids, .. } = &mut self.read;
        ids.sort_unstable();
        places.retain(|place| ids.binary_search(&place.value).is_err());
        self.kinds.sort_unstable();
        self.kinds.dedup();
        (self.read, self.kinds)
    }

    /// The rest of a page that browsers may read in several ways: all of it may be a token.
    fn sealed(&mut self, text: &[u8], at: usize) {
        self.masked.push(at..at + text.len());
        self.add(hash(b"sealed"), text, at, false);
    }

    fn tag(&mut self, body: &[u8], piece: Piece) {
        if body.get(piece.start + 1) == Some(&b'/') {
            return;
        }
        let (name, all) = attributes(body, piece.start);
        let text = |place: &Range<usize>| body.get(place.clone()).unwrap_or_default();
        let is = |one: &[u8]| name.eq_ignore_ascii_case(one);
        let is_field = [&b"input"[..], b"button", b"option", b"output", b"param"].iter().any(|one| is(one));
        let is_meta = is(b"meta");
        let (mut own_name, mut own_value, mut is_hidden): (&[u8], _, _) = (b"", None, false);
        let mut class: &[u8] = b"";
        for one in all {
            let (key, value) = (text(&one.name), text(&one.value));
            let is_key = |name: &[u8]| key.eq_ignore_ascii_case(name);
            if is_field && is_key(b"value") || is_meta && is_key(b"content") {
                own_value = Some(one.value);
            } else if is_key(b"name") && is(b"textarea") {
                self.text_field = value.to_vec();
                self.is_by_bytes_alone = false;
            } else if is_field && is_key(b"name")
                || is_meta && [&b"name"[..], b"property", b"itemprop", b"http-equiv"].iter().any(|one| is_key(one))
            {
                own_name = value;
            } else if is_key(b"class") {
                class = value;
                self.names_of_elements(value);
            } else if is_key(b"id") {
                self.read.ids.push(hash(value));
            } else if is_key(b"nonce") {
                // Another answer may have it in its policy, and this one not.
                self.is_by_bytes_alone = false;
                self.value(PlaceKind::Named, b"nonce", value, one.value.start);
            } else {
                is_hidden |= is_key(b"type") && value.eq_ignore_ascii_case(b"hidden");
                self.attribute(key, value, one.value.start);
            }
        }
        if self.seen.is_new(hash_of(&(name, class))) {
            self.kinds.push(hash_of(&(name.to_ascii_lowercase(), spelled(class))));
        }
        let Some(place) = own_value else { return };
        let kind = match piece.form {
            _ if is_meta => PlaceKind::Named,
            Some(FormMethod::Get) => PlaceKind::GetField,
            _ => PlaceKind::Field { is_hidden },
        };
        // HTML, section 4.2.5.3: `5; url=/get/…`.
        if is_meta && own_name.eq_ignore_ascii_case(b"refresh") {
            let start = text(&place).iter().position(|byte| *byte == b'=').map_or(0, |equals| equals + 1);
            return self.url_of(PlaceKind::Refresh, text(&place).get(start..).unwrap_or_default(), place.start + start);
        }
        // The policy of a `<meta>` names the nonces of the page.
        if !own_name.eq_ignore_ascii_case(b"content-security-policy") {
            self.text_value(kind, own_name, text(&place), place.start);
        }
    }

    /// Notes the classes of an element that were drawn at random: scripts find the element by them.
    fn names_of_elements(&mut self, classes: &[u8]) {
        for one in classes.split(u8::is_ascii_whitespace).filter(|one| form(one, 0) == ValueForm::Random) {
            let last = memchr::memrchr(b'-', one).and_then(|dash| one.get(dash + 1..));
            self.read.ids.extend([Some(one), last].into_iter().flatten().map(hash));
        }
    }

    /// Reads an attribute: as a script where it is one, as a URL where it leads somewhere, and its value where its name says `data`.
    fn attribute(&mut self, name: &[u8], value: &[u8], at: usize) {
        const PLAIN: [&[u8]; 7] = [b"style", b"title", b"alt", b"for", b"name", b"type", b"value"];
        let is_aria = name.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"aria-"));
        if value.len() < 4 || is_aria || PLAIN.iter().any(|plain| name.eq_ignore_ascii_case(plain)) {
            return;
        }
        self.text_value(PlaceKind::Named, name, value, at);
    }

    /// Reads a value that may be a URL, or hold JSON, HTML or a script.
    fn text_value(&mut self, kind: PlaceKind, name: &[u8], value: &[u8], at: usize) {
        let begin = value.trim_ascii_start();
        let is_code = memchr2(b'{', b'[', value).is_some() || memchr(b'(', value).is_some();
        if is_url(begin) {
            self.url(begin, at + value.len() - begin.len());
        } else if memchr(b'<', value).is_some() || memmem::find(value, b"&lt;").is_some() {
            self.html_within(value, at);
        } else if is_code {
            self.within(value, at, |finder, text| finder.script(text, 0, name));
        } else {
            self.value(kind, name, value, at);
        }
    }

    /// Reads a text within a text, with its references to characters and its escapes resolved.
    fn within(&mut self, value: &[u8], at: usize, read: impl FnOnce(&mut Self, &[u8])) {
        if self.depth >= DEPTH_MAX {
            return;
        }
        let before = self.within;
        self.within = before.or(Some(at));
        self.depth += 1;
        read(self, &with_entities(value));
        self.depth -= 1;
        self.end_within(before, value);
    }

    /// Ends a text within a text, whose bytes in the page are `value`. The values of its places are no text, where they stand there as
    /// they are.
    fn end_within(&mut self, before: Option<usize>, value: &[u8]) {
        let began = std::mem::replace(&mut self.within, before);
        let (None, Some(at)) = (before, began) else { return };
        for one in std::mem::take(&mut self.values_within) {
            let found = memmem::find_iter(value, &one).take(VALUES_WITHIN_MAX);
            self.masked.extend(found.map(|start| at + start..at + start + one.len()));
        }
    }

    fn html_within(&mut self, value: &[u8], at: usize) {
        /// The pieces of the text, of which only the places count.
        struct Within<'p, 'f, 'b>(&'p mut PlaceFinder<'f>, &'b [u8]);
        impl Pieces for Within<'_, '_, '_> {
            fn take(&mut self, piece: Piece) {
                if piece.kind == PieceKind::Tag {
                    self.0.tag(self.1, piece);
                } else if piece.kind == PieceKind::Script {
                    let text = self.1.get(piece.start..piece.end).unwrap_or_default();
                    self.0.script(text, piece.start, b"");
                }
            }
        }
        self.within(value, at, |finder, text| read(text, Markup::Xml, &mut Within(finder, text)));
    }

    /// Reads a script or JSON. `name`: what its first value is called.
    fn script(&mut self, text: &[u8], at: usize, name: &[u8]) {
        let (mut i, mut name) = (0, name);
        // The names of the objects around a value: `csrf: {value: "…"}`.
        let mut parents: Vec<&[u8]> = Vec::new();
        while let Some(byte) = text.get(i) {
            match byte {
                b'"' | b'\'' | b'`' => {
                    let end = end_of_string(text, i + 1, *byte);
                    let content = text.get(i + 1..end).unwrap_or_default();
                    let start = i + 1;
                    i = (end + 1).min(text.len());
                    match text.get(i..).unwrap_or_default().trim_ascii_start().first() {
                        Some(b':') => {
                            name = content;
                            if self.seen.is_new(hash(name)) {
                                self.kinds.push(hash_of(&spelled(name)));
                            }
                        }
                        next => {
                            let called = self.called(name, &parents);
                            self.string(called, content, at + start);
                            // `set('csrf', '…')`: what stands before a value may name it.
                            if next == Some(&b',')
                                && content.len() <= 32
                                && self.meanings.of(content) >= NameMeaning::Token
                            {
                                name = content;
                            }
                        }
                    }
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => {
                    let end = end_of(text, i, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'));
                    let next = text.get(end..).unwrap_or_default().trim_ascii_start();
                    let is_name = match next {
                        [b'=', b'=', ..] => false,
                        [b':' | b'=' | b'(' | b'[', ..] => true,
                        _ => false,
                    };
                    if is_name {
                        name = text.get(i..end).unwrap_or_default();
                    }
                    i = end;
                }
                b'0'..=b'9' => {
                    let end = end_of(text, i, |byte| byte.is_ascii_alphanumeric() || byte == b'.');
                    let value = text.get(i..end).unwrap_or_default();
                    let called = self.called(name, &parents);
                    self.value(PlaceKind::Script, called, value, at + i);
                    i = end;
                }
                b'/' if text.get(i + 1) == Some(&b'*') => {
                    let rest = text.get(i + 2..).unwrap_or_default();
                    i += memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2) + 2;
                }
                b'/' if text.get(i + 1) == Some(&b'/') => {
                    let rest = text.get(i..).unwrap_or_default();
                    i += memchr(b'\n', rest).unwrap_or(rest.len());
                }
                b'{' => {
                    if parents.len() < PARENTS_MAX {
                        parents.push(name);
                    }
                    i += 1;
                }
                b';' | b'}' => {
                    if *byte == b'}' {
                        parents.pop();
                    }
                    (i, name) = (i + 1, b"");
                }
                _ => i += 1,
            }
        }
    }

    /// The name of a value, or that of an object around it if that one speaks of a token.
    fn called<'n>(&mut self, name: &'n [u8], parents: &[&'n [u8]]) -> &'n [u8] {
        if self.meanings.of(name) != NameMeaning::Plain {
            return name;
        }
        let is_of_token = |parent: &&&[u8]| self.meanings.of(parent) >= NameMeaning::Token;
        parents.iter().rev().take(2).find(is_of_token).copied().unwrap_or(name)
    }

    /// Reads a string of a script.
    fn string(&mut self, name: &[u8], raw: &[u8], at: usize) {
        let has_escapes = memchr(b'\\', raw).is_some();
        let content = if has_escapes { unescaped(raw) } else { raw.into() };
        if has_escapes && memchr2(b'{', b'<', &content).is_some() {
            let before = self.within;
            self.within = before.or(Some(at));
            self.text_value(PlaceKind::Script, name, &content, at);
            self.end_within(before, raw);
        } else if memchr(b'<', &content).is_some() {
            self.html_within(&content, at);
        } else if is_url(&content) {
            self.url(&content, at);
        } else {
            self.value(PlaceKind::Script, name, &content, at);
        }
    }

    /// Reads the parameters of a link, and the segments of its path.
    fn url(&mut self, url: &[u8], at: usize) {
        self.url_of(PlaceKind::Segment, url, at);
    }

    fn url_of(&mut self, of_segments: PlaceKind, url: &[u8], at: usize) {
        if url.starts_with(b"data:") {
            if url.len() >= DATA_URL_BYTES_MIN {
                self.mask(url, at);
                self.add(hash(b"data url"), url, at, false);
            }
            return;
        }
        let end = memchr(b'#', url).unwrap_or(url.len());
        let url = url.get(..end).unwrap_or(url);
        let (path, query) = match memchr(b'?', url) {
            Some(mark) => (url.get(..mark).unwrap_or_default(), url.get(mark + 1..).unwrap_or_default()),
            None => (url, &b""[..]),
        };
        let is_static = is_static(path);
        let mut start = 0;
        for segment in path.split(|byte| *byte == b'/') {
            match memchr(b';', segment) {
                Some(mark) => self.parameter(segment.get(mark + 1..).unwrap_or_default(), at + start + mark + 1, false),
                None if !is_static && form(segment, 0) == ValueForm::Random => {
                    self.value(of_segments, b"", segment, at + start);
                }
                None => {}
            }
            start += segment.len() + 1;
        }
        start = path.len() + 1;
        for pair in query.split(|byte| matches!(byte, b'&' | b';')) {
            self.parameter(pair, at + start, is_static);
            start += pair.len() + 1;
        }
    }

    /// Reads a parameter. `is_static`: unless its name says that it is a token, it is the version of a file.
    fn parameter(&mut self, pair: &[u8], at: usize, is_static: bool) {
        let pair_start = pair.strip_prefix(b"amp;").map_or(0, |_| 4);
        let pair = pair.get(pair_start..).unwrap_or_default();
        let Some(equals) = memchr(b'=', pair) else { return };
        let (name, value) = (pair.get(..equals).unwrap_or_default(), pair.get(equals + 1..).unwrap_or_default());
        if !is_static || self.meanings.of(name) >= NameMeaning::Token {
            self.value(PlaceKind::Parameter, name, value, at + pair_start + equals + 1);
        }
    }

    /// Adds a value if it may be a token.
    fn value(&mut self, kind: PlaceKind, name: &[u8], value: &[u8], at: usize) {
        // The nonce of the answer's own policy is checked by browsers alone.
        if self.facts.nonces.iter().any(|nonce| nonce == value) {
            self.is_by_bytes_alone = false;
            return self.mask(value, at);
        }
        let form = form(value, self.facts.now_s);
        let is_number = matches!(form, ValueForm::Clock | ValueForm::Digits(_));
        self.is_by_bytes_alone &= !(is_number && depends_on_time(value, self.facts.now_s));
        let is_text = value.len() < 4 || value.iter().any(u8::is_ascii_whitespace) || is_url(value);
        // Most values are no tokens, whatever they are called.
        let is_hidden = matches!(kind, PlaceKind::Field { is_hidden: true });
        let is_plain = form == ValueForm::Other && (is_text || !is_hidden && is_literal(value));
        if is_plain || form == ValueForm::Empty || is_public(value) {
            return;
        }
        let meaning = self.meanings.of(name);
        // A number may be in the URL by chance.
        let is_of_url = !matches!(form, ValueForm::Digits(_) | ValueForm::Clock);
        if is_of_url && self.is_asked(value) {
            return;
        }
        let is_named = meaning >= NameMeaning::Token;
        // A hidden field is sent back, whatever time its name speaks of.
        let is_time = if is_hidden { is_harmless(name) } else { meaning == NameMeaning::Time };
        let is_it = match form {
            ValueForm::Empty => false,
            _ if is_time => false,
            ValueForm::Clock => meaning == NameMeaning::SentBack,
            ValueForm::Digits(digits) => match kind {
                _ if is_hidden => true,
                PlaceKind::GetField => is_named,
                _ => is_named && digits > 1 || digits >= TOKEN_DIGITS_MIN,
            },
            ValueForm::Random => is_named || kind != PlaceKind::GetField,
            ValueForm::Other if is_hidden && is_odd(value) => true,
            ValueForm::Other => is_named && !is_literal(value),
        };
        if !is_it {
            return;
        }
        let is_held = match form {
            ValueForm::Digits(digits) => digits >= HELD_DIGITS_MIN,
            ValueForm::Random => true,
            _ => value.len() >= HELD_DIGITS_MIN && value.iter().any(u8::is_ascii_digit),
        };
        let is_sent_back = is_held
            && (meaning == NameMeaning::SentBack
                || matches!(kind, PlaceKind::Field { is_hidden: true } | PlaceKind::Refresh)
                    && form == ValueForm::Random);
        let class: u8 = match form {
            ValueForm::Digits(_) | ValueForm::Clock => 1,
            ValueForm::Random => 2,
            ValueForm::Empty | ValueForm::Other => 3,
        };
        self.mask(value, at);
        self.add(hash_of(&(kind, class, spelled(name))), value, at, is_sent_back);
    }

    /// Whether the client has sent a value, in the URL that it asked for.
    fn is_asked(&self, value: &[u8]) -> bool {
        let text = std::str::from_utf8(value).map(decoded).unwrap_or_default();
        !text.is_empty() && self.facts.asked.iter().any(|asked| asked == text.as_bytes())
    }

    /// Notes that a value, which begins at `at`, is no text.
    fn mask(&mut self, value: &[u8], at: usize) {
        if self.within.is_none() {
            self.masked.push(at..at + value.len());
        } else if self.values_within.len() < VALUES_WITHIN_MAX {
            self.values_within.push(value.to_vec());
        }
    }

    fn add(&mut self, key: u64, value: &[u8], at: usize, is_sent_back: bool) {
        let at = self.within.unwrap_or(at);
        self.read.places.push(Place {
            key,
            value: hash(value.strip_prefix(b"#").unwrap_or(value)),
            is_sent_back,
            place: self.part,
            at,
        });
    }
}

/// How many names are remembered, of elements and of values: pages repeat them.
const SEEN_MAX: usize = 1024;

/// Hashes of what was read lately.
struct Seen(Vec<u64>);

impl Default for Seen {
    fn default() -> Self {
        Self(vec![0; SEEN_MAX])
    }
}

/// What the names of values mean that were read lately, by their hashes.
struct Meanings(Vec<(u64, NameMeaning)>);

impl Default for Meanings {
    fn default() -> Self {
        Self(vec![(0, NameMeaning::Plain); SEEN_MAX])
    }
}

impl Meanings {
    fn of(&mut self, name: &[u8]) -> NameMeaning {
        if name.is_empty() {
            return NameMeaning::Plain;
        }
        let own = hash(name);
        let Some(known) = self.0.get_mut(own as usize % SEEN_MAX) else { return meaning(name) };
        if known.0 != own {
            *known = (own, meaning(name));
        }
        known.1
    }
}

impl Seen {
    /// Whether it was not read lately.
    fn is_new(&mut self, one: u64) -> bool {
        let Some(place) = self.0.get_mut(one as usize % SEEN_MAX) else { return true };
        std::mem::replace(place, one) != one
    }
}

/// Names whose digits number an item are one name, and a name that was drawn at random is any name.
fn spelled(name: &[u8]) -> Vec<u8> {
    if form(name, 0) == ValueForm::Random {
        return b"*".to_vec();
    }
    let mut spelled: Vec<u8> =
        name.iter().map(|byte| if byte.is_ascii_digit() { b'#' } else { byte.to_ascii_lowercase() }).collect();
    spelled.dedup_by(|one, before| *one == b'#' && *before == b'#');
    spelled
}

/// Whether a value of a hidden field is more than a word: it has a digit, or is long.
fn is_odd(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit) || value.len() >= LETTERS_MIN && value.iter().all(u8::is_ascii_alphabetic)
}

/// The shortest row of letters that may be a token, in bytes.
const LETTERS_MIN: usize = 16;

/// Words that no token is.
fn is_literal(value: &[u8]) -> bool {
    const WORDS: [&[u8]; 10] =
        [b"true", b"false", b"null", b"none", b"undefined", b"auto", b"default", b"same-origin", b"include", b"omit"];
    WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// Whether a value leads somewhere.
fn is_url(value: &[u8]) -> bool {
    let begins = |prefix: &[u8]| value.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    let has_scheme = [&b"https:"[..], b"http:", b"data:", b"ws:", b"wss:"].iter().any(|scheme| begins(scheme));
    let is_relative = value.first().is_some_and(|byte| matches!(byte, b'/' | b'?' | b'.'));
    let has_query = || {
        memmem::find(value, b".php?").is_some()
            || memchr(b'?', value).is_some_and(|mark| memchr(b'=', value.get(mark..).unwrap_or_default()).is_some())
    };
    has_scheme
        || is_relative && !value.iter().any(u8::is_ascii_whitespace)
        || !value.iter().any(u8::is_ascii_whitespace) && has_query()
}

/// Whether a path names a file whose parameters say its version.
fn is_static(path: &[u8]) -> bool {
    const EXTENSIONS: [&[u8]; 16] = [
        b"js",
        b"mjs",
        b"css",
        b"png",
        b"jpg",
        b"jpeg",
        b"gif",
        b"svg",
        b"webp",
        b"avif",
        b"ico",
        b"woff",
        b"woff2",
        b"ttf",
        b"map",
        b"webmanifest",
    ];
    let dot = path.iter().rposition(|byte| *byte == b'.');
    let extension = dot.and_then(|dot| path.get(dot + 1..)).unwrap_or_default();
    EXTENSIONS.iter().any(|one| extension.eq_ignore_ascii_case(one))
}

fn end_of(text: &[u8], from: usize, is_in: impl Fn(u8) -> bool) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest.iter().position(|byte| !is_in(*byte)).unwrap_or(rest.len())
}

/// Where the string ends whose first byte is at `from`: at its quote, or at the end of its line, which no string but a template contains.
fn end_of_string(text: &[u8], from: usize, quote: u8) -> usize {
    let mut at = from;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        match memchr::memchr3(quote, b'\\', b'\n', rest) {
            None => return text.len(),
            Some(offset) => match rest.get(offset) {
                Some(b'\\') => at += offset + 2,
                Some(b'\n') if quote == b'`' => at += offset + 1,
                _ => return at + offset,
            },
        }
    }
}
