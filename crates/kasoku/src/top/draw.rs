//! Draws the screen of `kasoku top`: a title, bars, rates, and the list of URLs below them.
//!
//! Parts that have no room are left out, the least important first: columns of tables, rows of the rates, bars. Nothing wraps. On a
//! wide screen the rates stand beside the bars, on others below them.
//!
//! | file | what |
//! |---|---|
//! | `bars` | sparklines, kinds of answers, classes of statuses, memory, origins |
//! | `rates` | the numbers of the last seconds, the last minute, and since the start |
//! | `urls` | the list |
//! | `help` | what keys and colours mean |

mod bars;
mod help;
mod rates;
#[cfg(test)]
mod tests;
mod urls;

pub(super) use rates::{ROWS as RATES, headings};
pub(super) use urls::{COLUMNS as URL_COLUMNS, Column, NO_URLS, is_text};

use super::format::{plain, span};
use super::snapshot::TopSnapshot;
use super::theme::Theme;
use super::view::{Mode, View};
use bars::Bar;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

/// The width from which the rates stand beside the bars, in columns.
const COLUMNS_WIDE: u16 = 120;

/// The lines that the URLs get at least, including the two of their heading, if the screen has as many.
const URL_LINES_MIN: u16 = 6;

/// The fewest bars on a screen.
const BARS_MIN: u16 = 2;

const BETWEEN: u16 = 3;

/// The width below which an address is left out: cut shorter, it tells nothing.
const PROGRAM_COLUMNS_MIN: usize = 12;

/// Draws the whole screen. `trouble` is why the last question got no answer.
pub(super) fn draw(frame: &mut Frame<'_>, moment: &TopSnapshot, view: &mut View, trouble: Option<&str>, look: Theme) {
    let rows = [Constraint::Length(1), Constraint::Length(1), Constraint::Fill(1)];
    let [title_row, message, rest] = Layout::vertical(rows).areas(frame.area());
    draw_title(frame, title_row, moment, view, look);
    draw_message(frame, message, view, trouble, look);
    if view.mode == Mode::Help {
        help::draw(frame, rest, look);
        return;
    }
    let bars = bars::of(moment, rest.height, look);
    let below = if rest.width >= COLUMNS_WIDE {
        beside(frame, rest, moment, &bars, look)
    } else {
        one_below_the_other(frame, rest, moment, &bars, look)
    };
    urls::draw(frame, below, moment, view, look);
}

/// The parts of the title, the most important first.
pub(super) fn title(moment: &TopSnapshot, program: &str) -> Vec<String> {
    let plural = if moment.workers == 1 { "" } else { "s" };
    let (version, up) = (plain(&moment.version), span(moment.uptime_seconds));
    let mut parts = vec![format!("kasoku {version}")];
    if !program.is_empty() {
        parts.push(plain(program));
    }
    parts.extend([format!("up {up}"), format!("{} worker{plural}", moment.workers)]);
    parts
}

/// The keys stay if half of the line is left for the program. Parts of the title that have no room beside the keys are left out.
fn draw_title(frame: &mut Frame<'_>, area: Rect, moment: &TopSnapshot, view: &View, look: Theme) {
    let (between, keys) = (BETWEEN as usize, "? help  q quit");
    let columns = area.width as usize;
    let for_keys = if columns >= 2 * (between + keys.len()) { between + keys.len() } else { 0 };
    let mut parts = title(moment, &view.program).into_iter();
    let mut shown = parts.next().unwrap_or_default();
    for part in parts {
        let left = columns.saturating_sub(for_keys + shown.len() + between);
        let may_be_cut = part == plain(&view.program) && left >= PROGRAM_COLUMNS_MIN;
        if part.len() > left && !may_be_cut {
            break;
        }
        shown = format!("{shown}{}{}", " ".repeat(between), cut(part, left, look));
    }
    frame.render_widget(Span::styled(shown, look.title()), area);
    if for_keys > 0 {
        let [_, right] = Layout::horizontal([Constraint::Fill(1), Constraint::Length(keys.len() as u16)]).areas(area);
        frame.render_widget(Span::styled(keys, look.label()), right);
    }
}

fn draw_message(frame: &mut Frame<'_>, area: Rect, view: &View, trouble: Option<&str>, look: Theme) {
    let line = match (trouble, view.mode) {
        (_, Mode::Filtering) => Line::from(vec![
            Span::styled("filter: ", look.title()),
            Span::raw(view.filter.clone()),
            Span::styled(" ", look.title().reversed()),
            Span::styled("  Enter keeps it, Esc drops it", look.label()),
        ]),
        (Some(trouble), _) => Line::styled(format!("no answer: {}", plain(trouble)), look.trouble()),
        (None, _) => return,
    };
    frame.render_widget(line, area);
}

/// Draws the rates on the left and the bars on the right. Returns the area that is left for the URLs.
fn beside(frame: &mut Frame<'_>, area: Rect, moment: &TopSnapshot, bars: &[Bar<'_>], look: Theme) -> Rect {
    let height = rates::LINES.max(height_of(bars)).min(area.height.saturating_sub(URL_LINES_MIN + 1));
    let rows = [Constraint::Length(height), Constraint::Length(1), Constraint::Fill(1)];
    let [above, _, below] = Layout::vertical(rows).areas(area);
    let columns = [Constraint::Length(rates::COLUMNS), Constraint::Length(BETWEEN), Constraint::Fill(1)];
    let [left, _, right] = Layout::horizontal(columns).areas(above);
    rates::draw(frame, left, moment, look);
    bars::draw(frame, right, bars, look);
    below
}

fn one_below_the_other(frame: &mut Frame<'_>, area: Rect, moment: &TopSnapshot, bars: &[Bar<'_>], look: Theme) -> Rect {
    let for_bars = area.height.saturating_sub(URL_LINES_MIN + 1).max(BARS_MIN).min(height_of(bars));
    let for_rates = area.height.saturating_sub(for_bars + 1 + URL_LINES_MIN + 1).min(rates::LINES);
    // A heading with one row below it is not worth the empty line.
    let (for_rates, between) = if for_rates < rates::LINES_MIN { (0, 0) } else { (for_rates, 1) };
    let rows = [for_bars, between, for_rates, 1].map(Constraint::Length);
    let [upper, _, middle, _, below] = Layout::vertical(rows.into_iter().chain([Constraint::Fill(1)])).areas(area);
    bars::draw(frame, upper, bars, look);
    rates::draw(frame, middle, moment, look);
    below
}

fn height_of(bars: &[Bar<'_>]) -> u16 {
    u16::try_from(bars.len()).unwrap_or(u16::MAX)
}

/// Cuts an ASCII text to so many columns, with a mark where it was cut.
fn cut(text: String, columns: usize, look: Theme) -> String {
    match text.get(..columns.saturating_sub(1)) {
        Some(begin) if text.len() > columns => format!("{begin}{}", look.cut()),
        _ => text,
    }
}
