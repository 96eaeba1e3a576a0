//! Renders a page for one request, as a program would. `corpus/pages/README.md` lists what a page may say.

use crate::corpus::memory::Memory;
use crate::corpus::pages::Page;
use crate::corpus::template::{is_block, split, until_end};
use crate::corpus::traits::Traits;
use crate::corpus::values::{clock, random, seeded, sentences};
use fastrand::Rng;
use std::collections::HashMap;
use std::hash::Hash;

/// How the values that belong to one visitor are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// As the page says: random letters.
    AsWritten,
    /// As numbers that count up: 100017, 100018 …
    Sequential,
    /// The same for all requests of a minute, and other ones in the next.
    OfAMinute,
}

/// The places whose values belong to one visitor.
pub(crate) const OF_ONE_VISITOR: [&str; 5] = ["token", "session", "sid", "by-address", "session-pick"];

/// A page for one request.
pub(crate) struct Rendering<'a> {
    memory: &'a mut Memory,
    traits: &'a Traits,
    values: Values,
    is_harmless: bool,
    /// The session that the request brought.
    brought: Option<String>,
    /// The values of places with a label, and the new session.
    made: HashMap<String, String>,
    /// The alternatives that depended on who asks, and what was chosen.
    pub(crate) chosen: Vec<(String, String, String)>,
    /// Whether a value of one visitor was written.
    pub(crate) has_token: bool,
}

impl<'a> Rendering<'a> {
    pub(crate) fn new(
        memory: &'a mut Memory,
        traits: &'a Traits,
        values: Values,
        is_harmless: bool,
        brought: Option<String>,
    ) -> Self {
        Self {
            memory,
            traits,
            values,
            is_harmless,
            brought,
            made: HashMap::new(),
            chosen: Vec::new(),
            has_token: false,
        }
    }

    /// The field lines. A page of which the session is known does not set its cookie again; a harmless page sets none.
    pub(crate) fn fields(&mut self, page: &Page) -> Vec<String> {
        let is_sent = |line: &&String| {
            !(line.starts_with("Set-Cookie") && self.is_harmless || line.contains("@{sid ") && self.brought.is_some())
        };
        let sent: Vec<&String> = page.fields.iter().filter(is_sent).collect();
        let values = std::mem::replace(&mut self.values, Values::AsWritten);
        // A cookie is the session's own, whatever is written of it in the page.
        self.values = if values == Values::OfAMinute { Values::AsWritten } else { values };
        let lines = sent.into_iter().map(|line| self.text(line)).collect();
        self.values = values;
        lines
    }

    /// The session of the page, if its values have one.
    pub(crate) fn new_session(&self) -> Option<&str> {
        self.made.get("sid").map(String::as_str)
    }

    pub(crate) fn text(&mut self, mut rest: &str) -> String {
        let mut text = String::new();
        while let Some((before, tag)) = rest.split_once("@{") {
            text += before;
            let (tag, after) = tag.split_once('}').unwrap();
            if is_block(tag) {
                let inner = until_end(after);
                text += &self.block(tag, inner);
                rest = &after[inner.len() + "@{end}".len()..];
            } else {
                text += &self.labelled(tag);
                rest = after;
            }
        }
        text + rest
    }

    fn block(&mut self, tag: &str, inner: &str) -> String {
        let (kind, argument) = tag.split_once(' ').unwrap_or((tag, ""));
        match kind {
            "item" => {
                let parts = split(inner, "@{else}");
                let part = if self.is_harmless { parts.get(1).copied().unwrap_or_default() } else { parts[0] };
                self.text(part)
            }
            "when" => {
                let (class, value) = argument.split_once(' ').unwrap();
                if self.choose(class, &format!("{value}=yes|*=no")) == "yes" { self.text(inner) } else { String::new() }
            }
            "maybe" => {
                let is_there = self.memory.rng.u32(..100) < number(argument) as u32;
                if is_there { self.text(inner) } else { String::new() }
            }
            "repeat" => (1..=number(argument)).map(|n| self.text(&inner.replace("@{n}", &n.to_string()))).collect(),
            _ => {
                let separator = if inner.contains("@{,}") { "@{,}" } else { "\n" };
                let mut parts = split(inner, separator);
                self.memory.rng.shuffle(&mut parts);
                parts.truncate(if kind == "some" { number(argument) as usize } else { usize::MAX });
                self.text(&parts.join(if separator == "\n" { "\n" } else { "" }))
            }
        }
    }

    /// A place with a label has one value in the whole answer.
    fn labelled(&mut self, tag: &str) -> String {
        let Some((plain, _)) = tag.split_once(" #") else { return self.place(tag, tag) };
        if let Some(value) = self.made.get(tag) {
            return value.clone();
        }
        let value = self.place(plain, tag);
        self.made.insert(tag.to_owned(), value.clone());
        value
    }

    fn place(&mut self, tag: &str, whole: &str) -> String {
        let (kind, argument) = tag.split_once(' ').unwrap_or((tag, ""));
        let arguments: Vec<&str> = argument.split(' ').collect();
        let seconds = self.memory.now_ms / 1000;
        let since = (self.memory.now_ms - self.memory.begun_ms) / 1000;
        self.has_token |= OF_ONE_VISITOR.contains(&kind);
        let random_number = |rng: &mut Rng| rng.u64(number(arguments[0])..=number(arguments[1]));
        match kind {
            "clock" => match argument.split_once(' ') {
                Some((language, format)) if language.len() == 2 && !language.contains('%') => {
                    clock(seconds, language, format)
                }
                _ => clock(seconds, "en", argument),
            },
            "unix" => seconds.to_string(),
            "millis" => self.memory.now_ms.to_string(),
            "seconds" => (number(argument) as i64 + since).to_string(),
            "minutes" => (number(argument) as i64 + since / 60).to_string(),
            "number" => random_number(&mut self.memory.rng).to_string(),
            "decimal" => {
                let [low, high] = [0, 1].map(|at: usize| arguments[at].parse::<f64>().unwrap());
                let places = number(arguments[2]) as usize;
                format!("{:.places$}", low + (high - low) * self.memory.rng.f64())
            }
            "count" => (number(argument) + self.memory.requests).to_string(),
            "visitors" => (number(argument) + self.memory.addresses.len() as u64).to_string(),
            "random" => random(&mut self.memory.rng, arguments[0], length(&arguments)),
            "pick" => pick(&mut self.memory.rng, argument),
            "lorem" => {
                sentences(number(arguments[0]) as usize, arguments.get(1).map_or(0, |first| number(first) as usize))
            }
            "by" => {
                let (class, alternatives) = argument.split_once(' ').unwrap();
                self.choose(class, alternatives)
            }
            "searched" => self.own("words"),
            "address" => self.own("address"),
            "by-address" => {
                let address = self.own("address");
                self.belonging(&address, whole, &arguments)
            }
            "token" => self.token(whole, &arguments),
            "sid" => self.session_id(whole, &arguments),
            "session" => {
                let session = self.session(&["hex", "32"]);
                self.belonging(&session, whole, &arguments)
            }
            "session-pick" => {
                let session = self.session(&["hex", "32"]);
                pick(&mut self.source(&session, whole), argument)
            }
            other => panic!("no such place: {other}"),
        }
    }

    /// A value that each answer has anew.
    fn token(&mut self, whole: &str, arguments: &[&str]) -> String {
        match self.values {
            Values::AsWritten => random(&mut self.memory.rng, arguments[0], length(arguments)),
            Values::Sequential => self.memory.next_number().to_string(),
            Values::OfAMinute => random(&mut self.of_the_minute(whole), arguments[0], length(arguments)),
        }
    }

    /// A value that belongs to a session or an address: the same in each of its answers.
    fn belonging(&mut self, owner: &str, whole: &str, arguments: &[&str]) -> String {
        if self.values == Values::Sequential {
            let key = (owner.to_owned(), whole.to_owned());
            if let Some(number) = self.memory.numbers.get(&key) {
                return number.to_string();
            }
            let number = self.memory.next_number();
            self.memory.numbers.insert(key, number);
            return number.to_string();
        }
        random(&mut self.source(owner, whole), arguments[0], length(arguments))
    }

    fn source(&self, owner: &str, whole: &str) -> Rng {
        if self.values == Values::OfAMinute { self.of_the_minute(whole) } else { seeded((owner, whole)) }
    }

    fn of_the_minute(&self, what: impl Hash) -> Rng {
        seeded(((self.memory.now_ms - self.memory.begun_ms) / 60_000, what))
    }

    /// What is written of the session's id.
    fn session_id(&mut self, whole: &str, arguments: &[&str]) -> String {
        let own = self.session(arguments);
        if self.values == Values::OfAMinute {
            return random(&mut self.of_the_minute(whole), arguments[0], length(arguments));
        }
        own
    }

    /// The session: the one that the request brought, or a new one.
    fn session(&mut self, arguments: &[&str]) -> String {
        if let Some(session) = self.brought.as_ref().or(self.made.get("sid")) {
            return session.clone();
        }
        let is_number = self.values == Values::Sequential;
        let session = if is_number {
            self.memory.next_number().to_string()
        } else {
            random(&mut self.memory.rng, arguments[0], length(arguments))
        };
        self.made.insert("sid".to_owned(), session.clone());
        session
    }

    fn own(&mut self, class: &str) -> String {
        let value = self.traits.value(class).to_owned();
        self.chosen.push((class.to_owned(), String::new(), value.clone()));
        value
    }

    fn choose(&mut self, class: &str, alternatives: &str) -> String {
        let text = self.traits.choose(class, alternatives).to_owned();
        self.chosen.push((class.to_owned(), alternatives.to_owned(), text.clone()));
        text
    }
}

fn pick(rng: &mut Rng, alternatives: &str) -> String {
    let all: Vec<&str> = alternatives.split('|').collect();
    all[rng.usize(..all.len())].to_owned()
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("no number: {text}"))
}

fn length(arguments: &[&str]) -> usize {
    arguments.get(1).map_or(1, |text| number(text) as usize)
}
