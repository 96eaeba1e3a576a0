//! The list of URLs: those that were most often not served from memory, and those that took their origins longest.

use super::cut;
use crate::top::format::{bytes, optional_time, plain, span};
use crate::top::snapshot::{ResultKind, TopRow, TopSnapshot};
use crate::top::theme::Theme;
use crate::top::view::{Order, View};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Row, Table};

/// The part of the screen's width that the URL gets at least, in sevenths.
const URL_SEVENTHS_MIN: u16 = 3;

/// The text that stands in place of an empty list.
pub(in crate::top) const NO_URLS: &str = "none: no request, or all from memory";

/// A column of the list, apart from the URL.
pub(in crate::top) struct Column {
    pub(in crate::top) name: &'static str,
    pub(in crate::top) columns: u16,
    /// The order that sorts the list by this column.
    order: Option<Order>,
    /// Columns of higher rank are left out first.
    rank: usize,
    pub(in crate::top) cell: fn(&TopRow) -> String,
}

/// All columns, in the order of the screen.
pub(in crate::top) const COLUMNS: [Column; 7] = [
    Column { name: "requests", columns: 9, order: Some(Order::Requests), rank: 0, cell: |url| count(url.requests) },
    Column { name: "misses", columns: 8, order: Some(Order::Misses), rank: 1, cell: |url| count(url.misses) },
    Column { name: "sent", columns: 8, order: Some(Order::Bytes), rank: 4, cell: |url| bytes(url.body_bytes) },
    Column {
        name: "longest",
        columns: 8,
        order: Some(Order::Time),
        rank: 2,
        cell: |url| optional_time(url.origin_max),
    },
    Column { name: "mean", columns: 8, order: None, rank: 6, cell: |url| optional_time(url.origin_mean) },
    Column { name: "kind", columns: 5, order: None, rank: 3, cell: |url| kind(url).to_owned() },
    Column { name: "reason", columns: 22, order: None, rank: 5, cell: |url| plain(&url.reason) },
];

fn count(number: f64) -> String {
    if number > 0.0 { format!("{number:.0}") } else { "-".to_owned() }
}

/// The kind of the last request, in at most five letters.
fn kind(url: &TopRow) -> &'static str {
    match url.last {
        Some(ResultKind::Revalidated) => "reval",
        Some(kind) => kind.name(),
        None => "-",
    }
}

/// Whether the column holds words, not numbers.
pub(in crate::top) fn is_text(column: &Column) -> bool {
    matches!(column.name, "kind" | "reason")
}

/// Draws what fits: fewer columns where it is narrow, and as many URLs as there are lines.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, moment: &TopSnapshot, view: &mut View, look: Theme) {
    let urls = view.urls(moment);
    let [heading, below] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    frame.render_widget(heading_of(moment, urls.len(), view, look), heading);
    if moment.urls.is_empty() {
        frame.render_widget(Line::styled(NO_URLS, look.label()), below);
        return;
    }
    let columns = columns_that_fit(area.width, view.order);
    let names =
        columns.iter().map(|column| name(column, view, look)).chain([Cell::from(Line::styled("URL", look.label()))]);
    let taken: u16 = columns.iter().map(|column| column.columns + 1).sum();
    let url_columns = area.width.saturating_sub(taken) as usize;
    let rows = urls.into_iter().skip(view.skipped).take(below.height as usize);
    let rows = rows.map(|url| {
        let style = url.last.map(|kind| look.kind(kind)).unwrap_or_default();
        let cells = columns.iter().map(|column| {
            let text = cut((column.cell)(url), column.columns as usize, look);
            let line = if is_text(column) { Line::styled(text, style) } else { Line::raw(text).right_aligned() };
            Cell::from(line)
        });
        Row::new(cells.chain([Cell::from(cut(plain(&url.url), url_columns, look))]))
    });
    let widths = columns.iter().map(|column| Constraint::Length(column.columns)).chain([Constraint::Fill(1)]);
    frame.render_widget(Table::new(rows, widths).header(Row::new(names)).column_spacing(1), below);
}

fn heading_of(moment: &TopSnapshot, shown: usize, view: &View, look: Theme) -> Line<'static> {
    let mut spans = vec![
        Span::styled("Not from memory", look.title()),
        Span::styled(format!("  in the last {}", span(moment.urls_seconds)), look.label()),
    ];
    if !view.filter.is_empty() {
        spans.push(Span::raw(format!("  filter: {} ({shown} of {})", view.filter, moment.urls.len())));
    }
    Line::from(spans)
}

fn name(column: &Column, view: &View, look: Theme) -> Cell<'static> {
    let is_sorted = column.order == Some(view.order);
    let text = if is_sorted { format!("{}{}", look.sorted(), column.name) } else { column.name.to_owned() };
    let line = Line::styled(text, if is_sorted { look.title() } else { look.label() });
    Cell::from(if is_text(column) { line } else { line.right_aligned() })
}

/// The columns that leave enough room for the URL. The column that the list is sorted by takes precedence over all others.
fn columns_that_fit(columns: u16, order: Order) -> Vec<&'static Column> {
    let mut left = columns - columns / 7 * URL_SEVENTHS_MIN;
    let mut ranked: Vec<_> = COLUMNS.iter().collect();
    ranked.sort_by_key(|column| (column.order != Some(order), column.rank));
    let fits = |column: &&Column| {
        let has_room = column.columns < left;
        left = if has_room { left - column.columns - 1 } else { 0 };
        has_room
    };
    let names: Vec<_> = ranked.into_iter().take_while(fits).map(|column| column.name).collect();
    COLUMNS.iter().filter(|column| names.contains(&column.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(columns: u16, order: Order) -> String {
        columns_that_fit(columns, order).iter().map(|column| column.name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn columns_drop_in_the_order_of_their_worth() {
        assert_eq!(names(140, Order::Requests), "requests misses sent longest mean kind reason");
        assert_eq!(names(80, Order::Requests), "requests misses sent longest kind");
        assert_eq!(names(60, Order::Requests), "requests misses longest kind");
        assert_eq!(names(40, Order::Requests), "requests misses");
        assert_eq!(names(40, Order::Bytes), "requests sent", "the one that counts stays");
        assert_eq!(names(1, Order::Requests), "");
    }
}
