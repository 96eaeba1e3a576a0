//! Finds what changes in a page from request to request, by comparing several anonymous renderings.
//!
//! A database returns rows that sort alike in any order, and for a list that is cut (`LIMIT 10`) other rows each time. Such a page
//! differs with each request, anonymous or not. So the lines of a visitor's page are compared with those of several anonymous
//! pages: a line that all anonymous pages have must be there as often, and any other line must be one that comes and goes in the
//! anonymous pages as well. Lines with a form, a `<meta>` or a script, where tokens are, may only move.

use super::lines::{is_divided_at_tags, texts};
use super::noise::{Noise, Reduced};
use super::regions::regions;
use super::{Markup, PagePart};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// The most different lines of a page; a page with more is not compared.
const LINES_MAX: usize = 16 << 10;

/// The memory that a line takes, in bytes: its entry, in a table that may be half empty.
const LINE_ENTRY_BYTES: u64 = 64;

/// The lines of one rendering, each by its hash.
pub struct Rendering {
    lines: HashMap<u64, RenderedLine>,
    /// The hash of the whole rendering, in its order.
    hash: u64,
}

#[derive(Clone, Copy)]
struct RenderedLine {
    count: u32,
    /// Whether each occurrence of the line is outside of the parts that may hold a token.
    is_plain: bool,
}

/// A page has too many lines to be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyLines;

/// How a visitor's rendering compares with the anonymous ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// A line differs although the anonymous renderings are alike, or a line that may hold a token differs.
    Differs,
    /// It has lines or an order that no anonymous rendering has so far. A further anonymous rendering may have them.
    Unseen,
    /// The anonymous renderings have everything that it has.
    Fits,
}

impl Rendering {
    /// The rendering of a body, without its noise. `keys`: the same for all renderings that are compared.
    ///
    /// # Errors
    /// It has too many lines.
    pub fn of(body: &[u8], markup: Markup, noise: &[Noise], keys: &RandomState) -> Result<Self, TooManyLines> {
        let page = Reduced::of(body, &regions(body, markup), noise);
        let mut lines = HashMap::<u64, RenderedLine>::new();
        for (start, text) in texts(&page, is_divided_at_tags(&page)) {
            let is_plain = page.is_all(start, text.len(), PagePart::Page);
            let line =
                lines.entry(keys.hash_one(text.trim_ascii())).or_insert(RenderedLine { count: 0, is_plain: true });
            line.count = line.count.saturating_add(1);
            line.is_plain &= is_plain;
            if lines.len() > LINES_MAX {
                return Err(TooManyLines);
            }
        }
        Ok(Self { lines, hash: keys.hash_one(&page.bytes) })
    }

    /// The memory that it takes, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.lines.len() as u64 * LINE_ENTRY_BYTES
    }

    /// Compares this rendering, a visitor's, with the anonymous ones.
    pub fn fit(&self, anonymous: &[Self]) -> Fit {
        let vary = anonymous.windows(2).any(|pair| matches!(pair, [one, other] if one.hash != other.hash));
        let mut fit = if vary { Fit::Fits } else { Fit::Unseen };
        for hash in anonymous.iter().chain([self]).flat_map(|one| one.lines.keys()) {
            let counts = anonymous.iter().map(|one| one.count(*hash));
            let (least, most) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
            let own = self.count(*hash);
            if least == most && own == least {
                continue;
            }
            let is_plain =
                anonymous.iter().chain([self]).all(|one| one.lines.get(hash).is_none_or(|line| line.is_plain));
            if !vary || !is_plain {
                return Fit::Differs;
            }
            if own < least || own > most {
                fit = Fit::Unseen;
            }
        }
        fit
    }

    fn count(&self, hash: u64) -> u32 {
        self.lines.get(&hash).map_or(0, |line| line.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(visitors: &str, anonymous: &[&str]) -> Fit {
        let keys = RandomState::new();
        let rendering = |page: &str| Rendering::of(page.as_bytes(), Markup::Html, &[], &keys).unwrap();
        let anonymous: Vec<Rendering> = anonymous.iter().map(|page| rendering(page)).collect();
        rendering(visitors).fit(&anonymous)
    }

    #[test]
    fn an_order_is_no_visitors_where_the_order_of_anonymous_pages_changes() {
        assert_eq!(fit("b\na\nc", &["a\nb\nc", "c\nb\na"]), Fit::Fits);
        assert_eq!(fit("b\na\nc", &["a\nb\nc", "a\nb\nc"]), Fit::Unseen, "a further one may show that it changes");
        assert_eq!(
            fit("<form>\nb\na\n</form>\nc", &["<form>\na\nb\n</form>\nc", "<form>\nb\na\n</form>\nc"]),
            Fit::Fits
        );
    }

    #[test]
    fn rows_are_no_visitors_where_anonymous_pages_have_each_of_them_now_and_then() {
        let anonymous = ["top\n1\n2\nend", "top\n2\n3\nend", "top\n4\n1\nend"];
        assert_eq!(fit("top\n1\n3\nend", &anonymous), Fit::Fits);
        assert_eq!(fit("top\n3\n5\nend", &anonymous), Fit::Unseen, "no anonymous page had the fifth so far");
        assert_eq!(fit("top\n1\n1\nend", &anonymous), Fit::Unseen, "nor one of them twice");
        assert_eq!(fit("1\n3\nend", &anonymous), Fit::Unseen, "what all have is missing");
        assert_eq!(fit("top\n1\n3\nend", &anonymous[..1]), Fit::Differs, "nothing changes");
        assert_eq!(fit("top\n1\n3\nend", &[anonymous[0], anonymous[0]]), Fit::Differs, "nothing changes");
    }

    #[test]
    fn what_may_have_a_token_only_moves() {
        for (before, after) in [("<form>", "</form>"), ("<script>", "</script>"), ("<meta content='", "'>")] {
            let page = |row: &str| format!("top\n{before}{row}{after}\nend");
            let [one, two, both] = [page("1"), page("2"), page("1")];
            assert_eq!(fit(&both, &[&one, &two]), Fit::Differs, "{before}");
            let moved = |page: &str| format!("{page}\n{before}x{after}");
            assert_eq!(
                fit(&moved("b\na"), &[&moved("a\nb"), &format!("{before}x{after}\na\nb")]),
                Fit::Fits,
                "{before}"
            );
        }
    }

    #[test]
    fn a_page_of_more_lines_is_not_held_against_others() {
        let lines = |count: usize| (0..count).map(|line| format!("{line}\n")).collect::<String>();
        let keys = RandomState::new();
        let rendering = |count| Rendering::of(lines(count).as_bytes(), Markup::Text, &[], &keys);
        assert!(rendering(LINES_MAX - 1).is_ok() && rendering(LINES_MAX + 1).is_err());
    }
}
