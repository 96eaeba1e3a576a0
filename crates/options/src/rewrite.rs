//! Short addresses: `/free/12` is `/bbs/board.php?bo_table=free&wr_id=12`, as an application's .htaccess or nginx rules have it.
//!
//! A [`Rewrite`] is one line: `/{board:word}/{id:digits} => /bbs/board.php?bo_table={board}&wr_id={id}`. The left side is a pattern of
//! the whole path of a URL, the right side the path and the query that take its place. Patterns are no regular expressions:
//!
//! | placeholder | matches one or more |
//! |---|---|
//! | `{name}` | bytes of any kind |
//! | `{name:digits}` | `0-9` |
//! | `{name:alnum}` | `0-9A-Za-z` |
//! | `{name:word}` | `0-9A-Za-z_` |
//! | `{name:id}` | `0-9A-Za-z_-` |
//!
//! A placeholder stays within its segment and takes as much as it can, as a group of a regular expression does. For each
//! placeholder, matching takes time linear in the length of the path (`segment`).
//!
//! **A path is read as below a document root** ([`UrlPath`](kasoku_semantics::url_path::UrlPath)): it is decoded once, and dot
//! segments and doubled slashes are resolved before it is compared. So no spelling gets around a pattern, and no placeholder takes
//! `..`. A path with an encoded slash, an encoded control character or malformed encoding fits no pattern.
//!
//! **What was captured stays one value.** A capture goes into the query as it was sent, `%XX` included; characters that would end a
//! value or have another meaning there are percent-encoded. Only captures without dots and separators go into the path on the
//! right. The client's own query follows, as with nginx's `rewrite` and Apache's `[QSA]`.
//!
//! This module does not look at the disk. The caller makes sure that a short address counts only where neither a file nor a
//! directory exists.

mod error;
mod parse;
mod path;
mod segment;
#[cfg(test)]
mod tests;

pub use error::RewriteError;
use kasoku_semantics::url_path::push_encoded;
use path::{PathSegment, SentPath};
use segment::{MatchPosition, Segment};
use smallvec::SmallVec;
use std::fmt;
use std::ops::Range;

/// The most rewrites of one list: each is compared with a path until one fits.
pub const REWRITES_MAX: usize = 64;

/// The longest text of a rewrite, in bytes.
pub(crate) const TEXT_BYTES_MAX: usize = 2048;

/// The most placeholders on each side.
pub(crate) const PLACEHOLDERS_MAX: usize = 8;

/// The longest result, in bytes: a capture may occur in it several times, and each byte of it may take three.
const RESULT_BYTES_MAX: usize = 64 << 10;

/// One short address, and its target: `/{board:word}/{id:digits} => /bbs/board.php?bo_table={board}&wr_id={id}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rewrite {
    /// The line as it was written, with one blank on each side of the arrow.
    text: String,
    segments: Vec<Segment>,
    /// Whether the short address ends in a slash.
    is_directory: bool,
    path: Vec<RewritePiece>,
    /// Empty: the target has no query.
    query: Vec<RewritePiece>,
}

/// A piece of the right side.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum RewritePiece {
    Literal(String),
    /// The capture of the placeholder of that number, counted on the left.
    Captured(usize),
}

/// The capture of a placeholder.
struct Captured<'p> {
    name: PathSegment<'p>,
    /// Bytes of the segment without percent-encoding.
    range: Range<usize>,
}

/// The captures of a rule's placeholders, in their order.
type Captures<'p> = SmallVec<[Captured<'p>; PLACEHOLDERS_MAX]>;

/// Rewrites targets, one at a time, in memory that it reuses: no more than a few times the longest path.
#[derive(Debug, Default)]
pub struct Rewriter {
    decoded: Vec<u8>,
    places: Vec<MatchPosition>,
}

impl Rewriter {
    /// Appends the path and the query that take the place of `path_and_query`, by the first rule that fits. Returns whether one
    /// does; if not, appends nothing.
    ///
    /// `path_and_query` begins with `/`, as a request-target does. So does the result. It is visible ASCII without `#` if
    /// `path_and_query` is.
    pub fn write(&mut self, rules: &[Rewrite], path_and_query: &str, out: &mut String) -> bool {
        if rules.is_empty() {
            return false;
        }
        let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
        let Some(path) = SentPath::read(path, &mut self.decoded) else { return false };
        let found = rules.iter().find_map(|rule| Some((rule, rule.captured(&path, &mut self.places)?)));
        let Some((rule, captured)) = found else { return false };
        let start = out.len();
        rule.write_target(&captured, query, out);
        let is_bounded = out.len() - start <= RESULT_BYTES_MAX;
        if !is_bounded {
            out.truncate(start);
        }
        is_bounded
    }
}

/// The result of [`Rewriter::write`] as a new string; `None`: no rule fits.
pub fn rewritten(rules: &[Rewrite], path_and_query: &str) -> Option<String> {
    let mut target = String::new();
    Rewriter::default().write(rules, path_and_query, &mut target).then_some(target)
}

impl Rewrite {
    /// Reads a rewrite from its line.
    ///
    /// # Errors
    /// The reason why it is none.
    pub fn parse(text: &str) -> Result<Self, RewriteError> {
        parse::rewrite(text)
    }

    /// The captures of the placeholders in a path; `None`: the path does not fit.
    fn captured<'p>(&self, path: &SentPath<'p>, places: &mut Vec<MatchPosition>) -> Option<Captures<'p>> {
        if self.segments.len() != path.names.len() || self.is_directory != path.is_directory {
            return None;
        }
        let mut captured = Captures::new();
        for (segment, name) in self.segments.iter().zip(&path.names) {
            segment.fill(name.read(), places, |range| captured.push(Captured { name: *name, range }))?;
        }
        Some(captured)
    }

    fn write_target(&self, captured: &[Captured<'_>], client_query: &str, out: &mut String) {
        write(&self.path, captured, Captured::write_plain, out);
        if !self.query.is_empty() {
            out.push('?');
            write(&self.query, captured, Captured::write_value, out);
        }
        if !client_query.is_empty() {
            out.push(if self.query.is_empty() { '?' } else { '&' });
            out.push_str(client_query);
        }
    }
}

fn write<'c>(
    pieces: &[RewritePiece],
    captured: &[Captured<'c>],
    write_one: fn(&Captured<'c>, &mut String),
    out: &mut String,
) {
    for piece in pieces {
        match piece {
            RewritePiece::Literal(text) => out.push_str(text),
            RewritePiece::Captured(number) => {
                if let Some(one) = captured.get(*number) {
                    write_one(one, out);
                }
            }
        }
    }
}

impl Captured<'_> {
    /// Writes the capture without percent-encoding. It has only letters, digits, `_` and `-`.
    fn write_plain(&self, out: &mut String) {
        let read = self.name.read().get(self.range.clone()).unwrap_or_default();
        out.extend(read.iter().map(|byte| char::from(*byte)));
    }

    /// Writes the capture as it was sent, fit to be the value of a parameter.
    fn write_value(&self, out: &mut String) {
        for byte in self.name.sent_for(self.range.clone()).bytes() {
            if byte.is_ascii_alphanumeric() || b"%-._~!$'()*,:@".contains(&byte) {
                out.push(char::from(byte));
            } else {
                push_encoded(byte, out);
            }
        }
    }
}

impl fmt::Display for Rewrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
