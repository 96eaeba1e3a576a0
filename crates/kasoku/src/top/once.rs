//! Writes a snapshot as plain text, for files, pipes and scripts: all columns, no colours, URLs in full.

use super::draw::{Column, NO_URLS, RATES, URL_COLUMNS, headings, is_text, title};
use super::format::{binary_bytes, optional_time, plain, rate, share, span};
use super::snapshot::{TopOrigin, TopPeer, TopServer, TopSnapshot, Used};
use super::view::{Order, View};
use std::fmt::Write;

/// The most URLs in each list.
const URLS_MAX: usize = 20;

const NAME_COLUMNS: usize = 28;
const CELL_COLUMNS: usize = 14;

/// The whole text. `program` is the address at which the program answers.
pub(super) fn text(moment: &TopSnapshot, program: &str) -> String {
    let mut lines = vec![title(moment, program).join("   "), String::new()];
    if let Some(idle) = moment.idle() {
        lines.extend([format!("requests: {idle}"), String::new()]);
    }
    lines.push(row("", headings(moment)));
    lines.extend(RATES.iter().map(|known| row(known.name, moment.rates.iter().map(known.cell))));
    let classes = moment.rates.first().map(|rates| rates.answers.as_slice()).unwrap_or_default();
    for (at, (class, _)) in classes.iter().enumerate() {
        let rates = moment.rates.iter().map(|rates| rates.answers.get(at).map_or(0.0, |(_, rate)| *rate));
        lines.push(row(&format!("status {} per second", plain(class)), rates.map(rate)));
    }
    lines.push(String::new());
    let gauges = [("memory", moment.memory), ("uploads", moment.request_buffer)];
    lines.extend(gauges.into_iter().filter_map(|(name, used)| Some(gauge(name, used?))));
    lines.extend(moment.origins.iter().map(origin));
    lines.extend(moment.servers.iter().map(server));
    lines.extend(moment.peers.iter().map(peer));
    let back = span(moment.urls_seconds);
    lines.extend([String::new(), format!("Not from memory in the last {back}, most requests first")]);
    lines.extend(list(moment, Order::Requests));
    lines.extend([String::new(), format!("Not from memory in the last {back}, longest origin times first")]);
    lines.extend(list(moment, Order::Time));
    let mut text = String::new();
    for line in lines {
        // Writing to a String can't fail.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn list(moment: &TopSnapshot, order: Order) -> Vec<String> {
    if moment.urls.is_empty() {
        return vec![NO_URLS.to_owned()];
    }
    let mut lines = vec![cells(|column| column.name.to_owned(), "URL")];
    let urls = View { order, ..View::default() }.urls(moment).into_iter().take(URLS_MAX);
    lines.extend(urls.map(|url| cells(|column| (column.cell)(url), &plain(&url.url))));
    lines
}

fn row(name: &str, values: impl Iterator<Item = String>) -> String {
    let values: String = values.map(|value| format!("{value:>CELL_COLUMNS$}")).collect();
    format!("{name:<NAME_COLUMNS$}{values}")
}

fn gauge(name: &str, used: Used) -> String {
    format!("{name:<NAME_COLUMNS$}{} of {}", binary_bytes(used.bytes), binary_bytes(used.bytes_max))
}

fn origin(origin: &TopOrigin) -> String {
    let state = if origin.is_up { "up" } else { "DOWN" };
    let TopOrigin { connections, queue, failures, .. } = origin;
    format!(
        "{:<columns$} {state}, {connections} connections in use, {queue} requests waiting, {failures} failed",
        plain(&origin.address),
        columns = NAME_COLUMNS - 1
    )
}

fn server(server: &TopServer) -> String {
    let state = if server.is_up { "up" } else { "DOWN" };
    let TopServer { failures, outages, .. } = server;
    format!(
        "{:<columns$} {state}, {} items per second, {} hits, {} each, {failures} failed, {outages} outages",
        format!("shared {}", plain(&server.address)),
        rate(server.items),
        share(server.hit_ratio),
        optional_time(server.reply_mean),
        columns = NAME_COLUMNS - 1
    )
}

fn peer(peer: &TopPeer) -> String {
    let state = if peer.is_up { "up" } else { "DOWN" };
    let TopPeer { failures, outages, .. } = peer;
    format!(
        "{:<columns$} {state}, {} each, {failures} failed, {outages} outages",
        format!("peer {}", plain(&peer.address)),
        optional_time(peer.reply_mean),
        columns = NAME_COLUMNS - 1
    )
}

fn cells(cell: impl Fn(&Column) -> String, url: &str) -> String {
    let cells = URL_COLUMNS.iter().map(|column| match (cell(column), column.columns as usize) {
        (text, columns) if is_text(column) => format!("{text:<columns$} "),
        (text, columns) => format!("{text:>columns$} "),
    });
    cells.collect::<String>() + url
}
