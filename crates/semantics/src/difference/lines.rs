//! Shows where two pages differ, in lines for people: a few of them, each cut to the place that differs.
//!
//! Two pages with the same number of lines, as renderings of one template have, are compared line by line. Of other pages, only the
//! first line that differs is shown. A page with a very long line, as minifiers write it, is divided at its tags.

use super::noise::Reduced;
use super::{Difference, DifferencePlace};

/// How many differences of one pair of pages are shown.
pub const DIFFERENCES_MAX: usize = 6;

/// How much of a line is shown, in bytes.
pub const LINE_BYTES_MAX: usize = 200;

/// How much of a line is shown before the place that differs, in bytes.
const BEFORE_BYTES: usize = 80;

/// A page with a line longer than this, in bytes, is divided at its tags.
const LONG_LINE_BYTES: usize = 1_000;

/// The lines in which two pages differ. The caller has checked that they do.
pub(super) fn differing(anonymous: &Reduced, visitors: &Reduced) -> Vec<Difference> {
    let at_tags = is_divided_at_tags(anonymous) || is_divided_at_tags(visitors);
    let (one, other) = (PageLines::of(&anonymous.bytes, at_tags), PageLines::of(&visitors.bytes, at_tags));
    let are_paired = one.clone().count() == other.clone().count();
    let mut all = Vec::new();
    let mut pairs = one.zip(other).filter(|((_, one), (_, other))| one != other);
    let shown = if are_paired { DIFFERENCES_MAX } else { 1 };
    for ((start, one), (_, other)) in pairs.by_ref().take(shown) {
        all.push(difference(anonymous, start, one, other));
    }
    if all.is_empty() {
        // One page goes on where the other has ended.
        let common = anonymous.bytes.len().min(visitors.bytes.len());
        let rest = |page: &'_ Reduced| page.bytes.get(common..).unwrap_or_default().to_vec();
        all.push(difference(anonymous, common.saturating_sub(1), &rest(anonymous), &rest(visitors)));
    }
    all
}

/// Whether a page is divided at its tags.
pub(super) fn is_divided_at_tags(page: &Reduced) -> bool {
    page.bytes.split(|byte| *byte == b'\n').any(|line| line.len() > LONG_LINE_BYTES)
}

/// The lines of a page, each with the place at which it begins.
pub(super) fn texts(page: &Reduced, at_tags: bool) -> impl Iterator<Item = (usize, &[u8])> {
    PageLines::of(&page.bytes, at_tags)
}

fn difference(anonymous: &Reduced, start: usize, one: &[u8], other: &[u8]) -> Difference {
    let at = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let place = DifferencePlace::Body(anonymous.part_at(start + at.min(one.len().saturating_sub(1))));
    Difference { place, anonymous: near(one, at), visitors: near(other, at) }
}

/// A line for people, cut behind its beginning.
pub fn line(text: &[u8]) -> String {
    near(text, 0)
}

/// A line for people, cut around the place `at`.
fn near(line: &[u8], at: usize) -> String {
    let is_inside = |at: usize| line.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let mut start = at.saturating_sub(BEFORE_BYTES).min(line.len());
    if line.len() <= LINE_BYTES_MAX {
        start = 0;
    }
    while is_inside(start) {
        start += 1;
    }
    let mut end = (start + LINE_BYTES_MAX).min(line.len());
    while is_inside(end) {
        end -= 1;
    }
    let text = String::from_utf8_lossy(line.get(start..end).unwrap_or_default()).trim().to_owned();
    let (before, behind) = (if start > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
    format!("{before}{text}{behind}")
}

/// The lines of a page, each with the place at which it begins.
#[derive(Clone)]
struct PageLines<'p> {
    rest: &'p [u8],
    at: usize,
    at_tags: bool,
}

impl<'p> PageLines<'p> {
    fn of(page: &'p [u8], at_tags: bool) -> Self {
        Self { rest: page, at: 0, at_tags }
    }
}

impl<'p> Iterator for PageLines<'p> {
    type Item = (usize, &'p [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let is_end = |byte: &u8| *byte == b'\n' || (self.at_tags && *byte == b'>');
        let length = self.rest.iter().position(is_end).map_or(self.rest.len(), |end| end + 1);
        let (line, rest) = self.rest.split_at_checked(length)?;
        let start = self.at;
        (self.rest, self.at) = (rest, start + length);
        Some((start, line))
    }
}
