//! The table of rates: the numbers of the last seconds, the last minute, and since the start, side by side.

use crate::top::format::{bytes, optional_time, rate, share, span, time};
use crate::top::snapshot::{ResultKind, TopRates, TopSnapshot};
use crate::top::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

const NAME_COLUMNS: u16 = 27;
const CELL_COLUMNS: u16 = 13;

/// The width of the whole table.
pub(super) const COLUMNS: u16 = NAME_COLUMNS + 3 * CELL_COLUMNS;

/// The number of lines with all rows.
pub(super) const LINES: u16 = 11;

/// A table of fewer lines is not drawn.
pub(super) const LINES_MIN: u16 = 3;

/// A row: its name, and how a cell is made.
pub(in crate::top) struct RateRow {
    pub(in crate::top) name: &'static str,
    /// The kind of answer that gives the name its colour.
    kind: Option<ResultKind>,
    /// Rows of higher rank are left out first.
    rank: usize,
    pub(in crate::top) cell: fn(&TopRates) -> String,
}

const fn row(name: &'static str, rank: usize, cell: fn(&TopRates) -> String) -> RateRow {
    RateRow { name, kind: None, rank, cell }
}

const fn of_kind(kind: ResultKind, name: &'static str, rank: usize, cell: fn(&TopRates) -> String) -> RateRow {
    RateRow { name, kind: Some(kind), rank, cell }
}

/// All rows, in the order of the screen.
pub(in crate::top) const ROWS: [RateRow; LINES as usize - 1] = [
    row("requests per second", 0, |rates| rate(rates.requests)),
    of_kind(ResultKind::Hit, "hits", 1, |rates| part(rates, ResultKind::Hit)),
    of_kind(ResultKind::Revalidated, "revalidated", 7, |rates| part(rates, ResultKind::Revalidated)),
    of_kind(ResultKind::Miss, "misses", 3, |rates| part(rates, ResultKind::Miss)),
    of_kind(ResultKind::Pass, "passes", 4, |rates| part(rates, ResultKind::Pass)),
    of_kind(ResultKind::Error, "errors", 2, |rates| part(rates, ResultKind::Error)),
    row("origin requests per second", 9, |rates| rate(rates.origin_requests)),
    row("origin time, mean", 5, |rates| optional_time(rates.origin_mean)),
    row("origin time, 95 of 100", 8, |rates| match (rates.origin_95, rates.origin_mean) {
        (Some(seconds), _) => format!("<= {}", time(seconds)),
        (None, Some(_)) => "> 10 s".to_owned(),
        (None, None) => "-".to_owned(),
    }),
    row("sent per second", 6, |rates| bytes(rates.body_bytes)),
];

/// The share of all requests that are of this kind, so that the kinds add up.
fn part(rates: &TopRates, wanted: ResultKind) -> String {
    let sum: f64 = rates.kinds.iter().sum();
    let count =
        ResultKind::ALL.into_iter().zip(rates.kinds).find(|(kind, _)| *kind == wanted).map_or(0.0, |(_, count)| count);
    share((sum > 0.0).then(|| count / sum))
}

/// The heading of each column, which stands for a span of time.
pub(in crate::top) fn headings(moment: &TopSnapshot) -> impl Iterator<Item = String> + '_ {
    let last = moment.rates.len().saturating_sub(1);
    moment.rates.iter().enumerate().map(move |(at, rates)| match at {
        at if at == last => "since start".to_owned(),
        _ => format!("last {}", span(rates.seconds)),
    })
}

/// Draws what fits: fewer columns if the area is narrow, fewer rows if it is low.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, moment: &TopSnapshot, look: Theme) {
    let windows = (area.width.saturating_sub(NAME_COLUMNS) / CELL_COLUMNS) as usize;
    let heading: String = headings(moment).take(windows).map(|text| cell(&text)).collect();
    let heading = Line::styled(format!("{:width$}{heading}", "", width = NAME_COLUMNS as usize), look.label());
    let rows_max = (area.height as usize).saturating_sub(1);
    let rows = ROWS.iter().filter(|row| row.rank < rows_max).map(|row| {
        let style = row.kind.map_or(Style::new(), |kind| look.kind(kind));
        let cells: String = moment.rates.iter().take(windows).map(|rates| cell(&(row.cell)(rates))).collect();
        Line::from(vec![
            Span::styled(format!("{:width$}", row.name, width = NAME_COLUMNS as usize), style),
            Span::raw(cells),
        ])
    });
    for (line, place) in std::iter::once(heading).chain(rows).zip(area.rows()) {
        frame.render_widget(line, place);
    }
}

fn cell(text: &str) -> String {
    format!("{text:>width$}", width = CELL_COLUMNS as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_a_rank_of_its_own() {
        let mut ranks: Vec<_> = ROWS.iter().map(|row| row.rank).collect();
        ranks.sort_unstable();
        assert_eq!(ranks, (0..ROWS.len()).collect::<Vec<_>>());
    }
}
