//! Draws the bars: a label, a bar and a number in one line each. Without room for all, the last lines are left out.

use super::cut;
use crate::top::format::{binary_bytes, optional_time, plain, rate, share, span};
use crate::top::snapshot::{ResultKind, TopOrigin, TopPeer, TopRates, TopServer, TopSnapshot, Used};
use crate::top::theme::Theme;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Sparkline;

const LABEL_COLUMNS: u16 = 11;
const VALUE_COLUMNS: u16 = 19;

/// The longest bar: a sparkline has a column for each second of a minute.
const BAR_COLUMNS_MAX: u16 = 60;

/// The width of the bar of an origin's connections, beside its address.
const CONNECTIONS_COLUMNS: u16 = 10;

/// The width of a server's hits, beside its address.
const HITS_COLUMNS: u16 = 12;

/// The levels of a sparkline.
const LEVELS: f64 = 8.0;

/// The most origins that have a line of their own, the most servers of the shared tier, and the most peers: on a screen of at least [`LINES_LOW`] lines, and
/// on a lower one.
const ORIGINS_MAX: usize = 6;
const ORIGINS_MAX_LOW: usize = 2;

/// A screen with fewer lines is low.
const LINES_LOW: u16 = 30;

/// One line of the bars.
pub(super) struct Bar<'m> {
    label: &'static str,
    drawn: Drawn<'m>,
    value: String,
    style: Style,
}

impl Bar<'_> {
    fn text(label: &'static str, text: Line<'static>) -> Self {
        Self { label, drawn: Drawn::Text(text), value: String::new(), style: Style::new() }
    }
}

enum Drawn<'m> {
    /// Levels from 0 to 8, the latest at the right.
    Sparkline(Vec<u64>),
    Gauge(f64),
    /// The shares of the kinds of answers.
    Kinds(&'m TopRates),
    /// No bar: the text takes the whole line.
    Text(Line<'static>),
    Origin(&'m TopOrigin),
    Server(&'m TopServer),
    Peer(&'m TopPeer),
}

/// All bars, the most important first.
pub(super) fn of(moment: &TopSnapshot, lines: u16, look: Theme) -> Vec<Bar<'_>> {
    let mut bars = Vec::new();
    match moment.idle() {
        Some(idle) => bars.push(Bar::text("requests", Line::raw(idle))),
        None => add_requests(&mut bars, moment, look),
    }
    bars.extend(moment.memory.map(|used| gauge("memory", used, look)));
    bars.extend(moment.request_buffer.filter(|used| used.bytes > 0.0).map(|used| gauge("uploads", used, look)));
    let shown_max = if lines < LINES_LOW { ORIGINS_MAX_LOW } else { ORIGINS_MAX };
    add_origins(&mut bars, moment, shown_max, look);
    add_servers(&mut bars, moment, shown_max, look);
    add_peers(&mut bars, moment, shown_max, look);
    bars
}

fn add_requests<'m>(bars: &mut Vec<Bar<'m>>, moment: &'m TopSnapshot, look: Theme) {
    let now = moment.rates.first();
    let requests = moment.seconds.iter().map(|second| second.requests);
    let most = requests.clone().fold(0.0, f64::max);
    bars.push(Bar {
        label: "requests",
        drawn: Drawn::Sparkline(requests.map(|count| if count > 0.0 { level(count / most) } else { 0 }).collect()),
        value: format!("{} per second", rate(now.map_or(0.0, |now| now.requests))),
        style: look.sparkline(),
    });
    bars.push(Bar {
        label: "hit ratio",
        drawn: Drawn::Sparkline(moment.seconds.iter().map(|second| second.hit_ratio.map_or(0, level)).collect()),
        value: share(now.and_then(|now| now.hit_ratio)),
        style: look.kind(ResultKind::Hit),
    });
    if let Some(now) = now {
        let value = format!("in {}", span(now.seconds));
        bars.push(Bar { label: "answers", drawn: Drawn::Kinds(now), value, style: Style::new() });
        bars.push(Bar::text("status", statuses(now, look)));
    }
}

/// The level of a ratio from 0 to 1: at least 1, so that a small value differs from none, which is level 0.
fn level(ratio: f64) -> u64 {
    1 + (ratio * (LEVELS - 1.0)).round() as u64
}

fn statuses(now: &TopRates, look: Theme) -> Line<'static> {
    let told = now.answers.iter().filter(|(class, rate)| *rate > 0.0 || class != "1xx");
    let spans = told.flat_map(|(class, per_second)| {
        let style = if *per_second > 0.0 { look.class(class) } else { Style::new() };
        [
            Span::styled(format!("{} ", plain(class)), look.label()),
            Span::styled(format!("{}  ", rate(*per_second)), style),
        ]
    });
    let mut spans: Vec<_> = spans.collect();
    spans.push(Span::styled("per second", look.label()));
    Line::from(spans)
}

fn gauge(label: &'static str, used: Used, look: Theme) -> Bar<'static> {
    let ratio = if used.bytes_max > 0.0 { (used.bytes / used.bytes_max).clamp(0.0, 1.0) } else { 0.0 };
    let value = format!("{} of {}", binary_bytes(used.bytes), binary_bytes(used.bytes_max));
    Bar { label, drawn: Drawn::Gauge(ratio), value, style: look.fullness(ratio) }
}

/// Adds the origins, first those that are down, so that an operator need not look for them.
fn add_origins<'m>(bars: &mut Vec<Bar<'m>>, moment: &'m TopSnapshot, origins_max: usize, look: Theme) {
    let mut origins: Vec<&TopOrigin> = moment.origins.iter().collect();
    origins.sort_by_key(|origin| origin.is_up);
    let shown = if origins.len() > origins_max { origins_max.saturating_sub(1) } else { origins.len() };
    for origin in origins.iter().take(shown) {
        let (value, style) = match origin {
            TopOrigin { is_up: false, failures, .. } => (format!("DOWN, {failures} failed"), look.trouble()),
            TopOrigin { queue, .. } if *queue > 0.0 => (format!("{queue} waiting"), look.fullness(1.0)),
            TopOrigin { connections, connections_max: Some(most), .. } => {
                (format!("{connections} of {most}"), Style::new())
            }
            TopOrigin { connections, .. } => (format!("{connections} in use"), Style::new()),
        };
        bars.push(Bar { label: "origin", drawn: Drawn::Origin(origin), value, style });
    }
    bars.extend(others("origins", origins.iter().skip(shown).map(|origin| origin.is_up), look));
}

/// Adds the servers of the shared tier, first those that are down.
fn add_servers<'m>(bars: &mut Vec<Bar<'m>>, moment: &'m TopSnapshot, servers_max: usize, look: Theme) {
    let mut servers: Vec<&TopServer> = moment.servers.iter().collect();
    servers.sort_by_key(|server| server.is_up);
    let shown = if servers.len() > servers_max { servers_max.saturating_sub(1) } else { servers.len() };
    for server in servers.iter().take(shown) {
        let (value, style) = match server {
            TopServer { is_up: false, failures, .. } => (format!("DOWN, {failures} failed"), look.trouble()),
            TopServer { failing, .. } if *failing > 0.0 => (format!("{}/s failed", rate(*failing)), look.trouble()),
            TopServer { items, reply_mean, .. } => {
                (format!("{}/s  {}", rate(*items), optional_time(*reply_mean)), Style::new())
            }
        };
        bars.push(Bar { label: "shared", drawn: Drawn::Server(server), value, style });
    }
    bars.extend(others("shared", servers.iter().skip(shown).map(|server| server.is_up), look));
}

/// Adds the peers, first those that are down.
fn add_peers<'m>(bars: &mut Vec<Bar<'m>>, moment: &'m TopSnapshot, peers_max: usize, look: Theme) {
    let mut peers: Vec<&TopPeer> = moment.peers.iter().collect();
    peers.sort_by_key(|peer| peer.is_up);
    let shown = if peers.len() > peers_max { peers_max.saturating_sub(1) } else { peers.len() };
    for peer in peers.iter().take(shown) {
        let (value, style) = match peer {
            TopPeer { is_up: false, failures, .. } => (format!("DOWN, {failures} failed"), look.trouble()),
            TopPeer { reply_mean, .. } => (format!("up, {}", optional_time(*reply_mean)), Style::new()),
        };
        bars.push(Bar { label: "peer", drawn: Drawn::Peer(peer), value, style });
    }
    bars.extend(others("peers", peers.iter().skip(shown).map(|peer| peer.is_up), look));
}

/// Sums up those that have no line of their own, by whether they are up. `None`: all have one.
fn others(label: &'static str, are_up: impl Iterator<Item = bool>, look: Theme) -> Option<Bar<'static>> {
    let (up, down): (Vec<bool>, Vec<bool>) = are_up.partition(|is_up| *is_up);
    let (state, style) = match down.len() {
        0 => ("all up".to_owned(), Style::new()),
        down => (format!("{down} down"), look.trouble()),
    };
    let count = up.len() + down.len();
    (count > 0).then(|| Bar::text(label, Line::styled(format!("{count} more, {state}"), style)))
}

/// Draws as many as fit.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, bars: &[Bar<'_>], look: Theme) {
    for (bar, row) in bars.iter().zip(area.rows()) {
        let columns = [Constraint::Length(LABEL_COLUMNS), Constraint::Fill(1)];
        let [label, rest] = Layout::horizontal(columns).areas(row);
        frame.render_widget(Line::styled(bar.label, look.label()), label);
        if let Drawn::Text(line) = &bar.drawn {
            frame.render_widget(line, rest);
            continue;
        }
        let bar_columns = rest.width.saturating_sub(VALUE_COLUMNS + 2).min(BAR_COLUMNS_MAX);
        let columns = [Constraint::Length(bar_columns), Constraint::Length(2), Constraint::Fill(1)];
        let [middle, _, value] = Layout::horizontal(columns).areas(rest);
        draw_bar(frame, middle, bar, look);
        let style = if matches!(bar.drawn, Drawn::Origin(_) | Drawn::Server(_) | Drawn::Peer(_)) {
            bar.style
        } else {
            Style::new()
        };
        frame.render_widget(Line::styled(bar.value.as_str(), style), value);
    }
}

fn draw_bar(frame: &mut Frame<'_>, area: Rect, bar: &Bar<'_>, look: Theme) {
    match &bar.drawn {
        Drawn::Sparkline(levels) => {
            let columns = area.width as usize;
            let empty = std::iter::repeat_n(0, columns.saturating_sub(levels.len()));
            let shown: Vec<u64> =
                empty.chain(levels.iter().skip(levels.len().saturating_sub(columns)).copied()).collect();
            let sparkline = Sparkline::default().data(shown).max(LEVELS as u64).bar_set(look.bars()).style(bar.style);
            frame.render_widget(sparkline, area);
        }
        Drawn::Gauge(ratio) => draw_gauge(frame, area, *ratio, bar.style, look),
        Drawn::Kinds(rates) => {
            let cells = in_cells(&rates.kinds, area.width as usize);
            let parts = ResultKind::ALL.into_iter().zip(cells);
            let parts = parts.map(|(kind, count)| Span::styled(look.part(kind).repeat(count), look.kind(kind)));
            frame.render_widget(Line::from(parts.collect::<Vec<_>>()), area);
        }
        Drawn::Origin(origin) => {
            let gauge = draw_address(frame, area, (&origin.address, origin.is_up), CONNECTIONS_COLUMNS, look);
            if let Some(most) = origin.connections_max.filter(|most| *most > 0.0) {
                let ratio = (origin.connections / most).clamp(0.0, 1.0);
                draw_gauge(frame, gauge, ratio, look.fullness(ratio), look);
            }
        }
        Drawn::Server(server) => {
            let hits = draw_address(frame, area, (&server.address, server.is_up), HITS_COLUMNS, look);
            let text = server.hit_ratio.map_or_else(String::new, |ratio| format!("{} hits", share(Some(ratio))));
            frame.render_widget(Line::raw(text).right_aligned(), hits);
        }
        Drawn::Peer(peer) => {
            draw_address(frame, area, (&peer.address, peer.is_up), 0, look);
        }
        Drawn::Text(_) => {}
    }
}

/// Draws an address, which has trouble if it is not up. Returns the area beside it, of so many columns or of none.
fn draw_address(
    frame: &mut Frame<'_>,
    area: Rect,
    (address, is_up): (&str, bool),
    beside_columns: u16,
    look: Theme,
) -> Rect {
    let text = plain(address);
    // The end of an address, its port, tells it from others, so the address takes precedence over what is beside it.
    let has_room = text.len() + 1 + beside_columns as usize <= area.width as usize;
    let columns = [Constraint::Fill(1), Constraint::Length(if has_room { beside_columns } else { 0 })];
    let [left, beside] = Layout::horizontal(columns).areas(area);
    let text = cut(text, left.width as usize, look);
    frame.render_widget(Line::styled(text, if is_up { Style::new() } else { look.trouble() }), left);
    beside
}

fn draw_gauge(frame: &mut Frame<'_>, area: Rect, ratio: f64, style: Style, look: Theme) {
    let (filled, unfilled) = look.gauge();
    let columns = area.width as usize;
    let full = (ratio * columns as f64).round() as usize;
    let parts = [
        Span::styled(filled.repeat(full), style),
        Span::styled(unfilled.repeat(columns.saturating_sub(full)), look.label()),
    ];
    frame.render_widget(Line::from_iter(parts), area);
}

/// Shares out `cells` among the parts by their size. Each part above 0 gets at least one cell.
fn in_cells(parts: &[f64; ResultKind::ALL.len()], cells: usize) -> [usize; ResultKind::ALL.len()] {
    let sum: f64 = parts.iter().sum();
    if sum <= 0.0 || cells < parts.len() {
        return [0; ResultKind::ALL.len()];
    }
    let mut counts = parts.map(|part| if part > 0.0 { ((part / sum * cells as f64) as usize).max(1) } else { 0 });
    // The largest part gets the cells that rounding has left, and gives those that the others have too many.
    let others: usize = counts.iter().sum();
    if let Some(largest) = counts.iter_mut().max() {
        *largest = (*largest + cells).saturating_sub(others);
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_at_all_has_a_cell_and_all_are_as_long_as_the_bar() {
        assert_eq!(in_cells(&[91.0, 0.0, 5.0, 3.9, 0.1], 40), [36, 0, 2, 1, 1]);
        assert_eq!(in_cells(&[0.1, 0.1, 99.0, 0.1, 0.1], 5), [1, 1, 1, 1, 1]);
        assert_eq!(in_cells(&[0.0, 0.0, 7.0, 0.0, 0.0], 9), [0, 0, 9, 0, 0]);
        assert_eq!((in_cells(&[0.0; 5], 9), in_cells(&[1.0; 5], 4)), ([0; 5], [0; 5]));
    }

    #[test]
    fn nothing_is_empty_and_little_is_low() {
        assert_eq!([0.0, 0.001, 0.5, 1.0].map(level), [1, 1, 5, 8]);
    }
}
