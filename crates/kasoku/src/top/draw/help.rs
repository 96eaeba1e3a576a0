//! Draws the help page: what keys and colours mean.

use crate::top::snapshot::ResultKind;
use crate::top::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

const KEYS: [(&str, &str); 7] = [
    ("r m t b", "sort by requests, misses, longest time, bytes"),
    ("/", "filter: words of the URL, its kind or its reason"),
    ("Esc", "no filter"),
    ("up down", "scroll; also j, k, Page Up, Page Down, Home"),
    ("?", "this page"),
    ("q", "quit"),
    ("", ""),
];

fn kind_means(kind: ResultKind) -> &'static str {
    match kind {
        ResultKind::Hit => "from memory, disk or the shared tier",
        ResultKind::Revalidated => "the origin confirmed what is stored",
        ResultKind::Miss => "fetched, and may be stored",
        ResultKind::Pass => "fetched, and may not be stored",
        ResultKind::Error => "Kasoku's own answer: refused, or no origin",
    }
}

/// Each line fits into 60 columns.
const NOTES: [&str; 7] = [
    "",
    "hit ratio   hits of all requests but errors, each second",
    "origin      its connections in use, of those allowed",
    "shared      a server of the shared tier: hits, items, time",
    "peer        a front end that is told of purges: time",
    "The list is of requests that were not hits.",
    "Any key goes back.",
];

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, look: Theme) {
    let line =
        |name: &'static str, style, text| Line::from(vec![Span::styled(format!("{name:<12}"), style), Span::raw(text)]);
    let keys = KEYS.iter().map(|(key, text)| line(key, look.title(), *text));
    let kinds = ResultKind::ALL.into_iter().map(|kind| line(kind.name(), look.kind(kind), kind_means(kind)));
    let notes = NOTES.iter().map(|note| Line::raw(*note));
    frame.render_widget(Paragraph::new(keys.chain(kinds).chain(notes).collect::<Vec<_>>()), area);
}
