//! Tests of the screen at several sizes.

use super::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::style::Color;
use serde_json::json;

const COLOURED: Theme = Theme { has_colours: true, is_ascii: false };
const PLAIN: Theme = Theme { has_colours: false, is_ascii: true };
const TROUBLE: &str = "the admin listener 127.0.0.1:8081: \u{1b}[31mConnection refused";

pub(in crate::top) fn moment() -> TopSnapshot {
    let rates = |seconds: f64, mean: Option<f64>, most: Option<f64>| {
        json!({ "seconds": seconds, "requests_per_second": 812.34, "hit_ratio": 0.9123, "hits_per_second": 700, "revalidated_per_second": 20,
            "misses_per_second": 60, "passes_per_second": 30, "errors_per_second": 2.34,
            "answers_per_second": { "1xx": 0, "2xx": 790.1, "3xx": 12.5, "4xx": 7.4, "5xx": 2.3 },
            "origin_requests_per_second": 71.06, "origin_head_seconds_mean": mean,
            "origin_head_seconds_95": most, "body_bytes_per_second": 12_345_678 })
    };
    let second = |at: u64| json!({ "requests": at * 10, "hit_ratio": if at == 0 { None } else { Some(0.5 + at as f64 / 120.0) } });
    let url = |url: &str, requests: u64, misses: u64, bytes: u64, max: Option<f64>, last: &str, reason: &str| {
        json!({ "url": url, "requests": requests, "misses": misses, "body_bytes": bytes, "last": last, "reason": reason,
            "origin_head_seconds_max": max, "origin_head_seconds_mean": max.map(|max| max / 2.0) })
    };
    let said = json!({
        "version": "0.1.0", "uptime_seconds": 11_523, "workers": 2, "urls_seconds": 421,
        "rates": [rates(10.01, Some(0.0843), Some(0.25)), rates(59.9, Some(12.5), None), rates(11_523.0, None, None)],
        "seconds": (0..60).map(second).collect::<Vec<_>>(),
        "memory": { "held_bytes": 48_000_000, "bytes_max": 64_000_000 },
        "request_buffer": { "held_bytes": 0, "bytes_max": 4_000_000_000_u64 },
        "origins": [
            { "origin": "http://127.0.0.1:8000", "is_up": true, "connections_in_use": 12, "connections_max": 100, "queue": 0, "failures": 1 },
            { "origin": "http://127.0.0.1:8001", "is_up": false, "connections_in_use": 0, "connections_max": 100, "queue": 0, "failures": 37 },
        ],
        "urls": [
            url("http://example.org/cart?id=1", 1207, 0, 2_400_000, Some(0.12), "pass", "set-cookie"),
            url("http://example.org/\u{1b}[2J\u{e9}", 3, 3, 300, None, "miss", "uri-miss"),
            url("http://example.org/search?q=a-word-that-nobody-has-ever-looked-for-and-that-has-no-end", 17, 17, 48_000_000, Some(2.3456), "miss", "no-store"),
            url("http://example.org/feed", 40, 2, 1_000, Some(0.02), "revalidated", "revalidated"),
            url("http://example.org/down", 4, 0, 1_000, Some(0.02), "error", "origin-down"),
        ],
    });
    TopSnapshot::read(&said.to_string()).unwrap()
}

fn drawn(columns: u16, rows: u16, view: &mut View, trouble: Option<&str>, look: Theme) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(frame, &moment(), view, trouble, look)).unwrap();
    terminal.backend().buffer().clone()
}

fn lines(buffer: &Buffer) -> Vec<String> {
    let columns = buffer.area.width as usize;
    buffer
        .content
        .chunks(columns)
        .map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>().trim_end().to_owned())
        .collect()
}

/// The colour of the first letter of these words.
fn colour(buffer: &Buffer, words: &str) -> Color {
    let (row, line) = lines(buffer).into_iter().enumerate().find(|(_, line)| line.contains(words)).unwrap();
    let column = line.split(words).next().unwrap().chars().count();
    buffer[(column as u16, row as u16)].fg
}

fn snapshot(columns: u16, rows: u16, expected: &str) {
    let shown = lines(&drawn(columns, rows, &mut View::default(), None, COLOURED));
    assert_eq!(shown.join("\n").trim_end(), expected.trim_matches('\n'), "{columns} x {rows}:\n{}", shown.join("\n"));
}

#[test]
fn at_80_columns() {
    snapshot(
        80,
        24,
        r"
kasoku 0.1.0   up 3 h 12 min   2 workers                          ? help  q quit

requests   ▂▃▃▃▃▃▃▃▃▃▄▄▄▄▄▄▄▄▅▅▅▅▅▅▅▅▆▆▆▆▆▆▆▆▆▇▇▇▇▇▇▇▇▇▇▇▇▇  812.3 per second
hit ratio  ▅▅▅▅▅▅▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇  91.2 %
answers    ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇  in 10 s
status     2xx 790.1  3xx 12.5  4xx 7.4  5xx 2.3  per second
memory     ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━────────────  46 MiB of 61 MiB
origin     http://127.0.0.1:8001                 ──────────  DOWN, 37 failed
origin     http://127.0.0.1:8000                 ━─────────  12 of 100

                               last 10 s   last 1 min  since start
requests per second                812.3        812.3        812.3
hits                              86.2 %       86.2 %       86.2 %
misses                             7.4 %        7.4 %        7.4 %
passes                             3.7 %        3.7 %        3.7 %
errors                             0.3 %        0.3 %        0.3 %
origin time, mean                84.3 ms       12.5 s            -

Not from memory  in the last 7 min 1 s
▾requests   misses     sent  longest kind  URL
     1207        -   2.4 MB   120 ms pass  http://example.org/cart?id=1
       40        2   1.0 kB  20.0 ms reval http://example.org/feed
       17       17  48.0 MB    2.3 s miss  http://example.org/search?q=a-word-t…
        4        -   1.0 kB  20.0 ms error http://example.org/down
",
    );
}

#[test]
fn at_60_columns() {
    snapshot(
        60,
        24,
        r"
kasoku 0.1.0   up 3 h 12 min   2 workers      ? help  q quit

requests   ▅▅▅▅▅▅▆▆▆▆▆▆▆▆▆▇▇▇▇▇▇▇▇▇▇▇▇▇  812.3 per second
hit ratio  ▆▆▆▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇  91.2 %
answers    ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇  in 10 s
status     2xx 790.1  3xx 12.5  4xx 7.4  5xx 2.3  per second
memory     ━━━━━━━━━━━━━━━━━━━━━───────  46 MiB of 61 MiB
origin     http://127.0.0.1:8001         DOWN, 37 failed
origin     http://127.0.0.1:8000         12 of 100

                               last 10 s   last 1 min
requests per second                812.3        812.3
hits                              86.2 %       86.2 %
misses                             7.4 %        7.4 %
passes                             3.7 %        3.7 %
errors                             0.3 %        0.3 %
origin time, mean                84.3 ms       12.5 s

Not from memory  in the last 7 min 1 s
▾requests   misses  longest kind  URL
     1207        -   120 ms pass  http://example.org/cart?i…
       40        2  20.0 ms reval http://example.org/feed
       17       17    2.3 s miss  http://example.org/search…
        4        -  20.0 ms error http://example.org/down
",
    );
}

#[test]
fn at_140_columns() {
    snapshot(
        140,
        30,
        r"
kasoku 0.1.0   up 3 h 12 min   2 workers                                                                                      ? help  q quit

                               last 10 s   last 1 min  since start   requests   ▃▄▄▄▄▄▄▄▄▅▅▅▅▅▅▅▅▆▆▆▆▆▆▆▆▆▇▇▇▇▇▇▇▇▇▇▇▇▇  812.3 per second
requests per second                812.3        812.3        812.3   hit ratio  ▆▆▆▆▆▆▆▆▆▆▆▆▆▆▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇  91.2 %
hits                              86.2 %       86.2 %       86.2 %   answers    ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇  in 10 s
revalidated                        2.5 %        2.5 %        2.5 %   status     2xx 790.1  3xx 12.5  4xx 7.4  5xx 2.3  per second
misses                             7.4 %        7.4 %        7.4 %   memory     ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━──────────  46 MiB of 61 MiB
passes                             3.7 %        3.7 %        3.7 %   origin     http://127.0.0.1:8001        ──────────  DOWN, 37 failed
errors                             0.3 %        0.3 %        0.3 %   origin     http://127.0.0.1:8000        ━─────────  12 of 100
origin requests per second          71.1         71.1         71.1
origin time, mean                84.3 ms       12.5 s            -
origin time, 95 of 100         <= 250 ms       > 10 s            -
sent per second                  12.3 MB      12.3 MB      12.3 MB

Not from memory  in the last 7 min 1 s
▾requests   misses     sent  longest     mean kind  reason                 URL
     1207        -   2.4 MB   120 ms  60.0 ms pass  set-cookie             http://example.org/cart?id=1
       40        2   1.0 kB  20.0 ms  10.0 ms reval revalidated            http://example.org/feed
       17       17  48.0 MB    2.3 s    1.2 s miss  no-store               http://example.org/search?q=a-word-that-nobody-has-ever-looked-f…
        4        -   1.0 kB  20.0 ms  10.0 ms error origin-down            http://example.org/down
        3        3    300 B        -        - miss  uri-miss               http://example.org/\u{1b}[2J\u{e9}
",
    );
}

#[test]
fn each_server_of_the_shared_tier_has_a_line() {
    let server = |address: &str, is_up: bool, items: f64, failing: f64| {
        let (ratio, mean) = if items > 0.0 { (Some(0.9312), Some(0.00034)) } else { (None, None) };
        json!({ "server": address, "is_up": is_up, "items_per_second": items, "hit_ratio": ratio, "reply_seconds_mean": mean,
            "failures_per_second": failing, "failures": 37, "outages": 2 })
    };
    let screen = |columns, rows, servers: &[serde_json::Value]| {
        let said = json!({ "rates": [{}], "urls": [], "shared_servers": servers });
        let moment = TopSnapshot::read(&said.to_string()).unwrap();
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal.draw(|frame| draw(frame, &moment, &mut View::default(), None, COLOURED)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        (lines(&buffer).into_iter().filter(|line| line.starts_with("shared")).collect::<Vec<_>>(), buffer)
    };
    let all = [
        server("10.0.0.1:11211", true, 1412.3, 0.0),
        server("10.0.0.2:11211", true, 0.0, 0.0),
        server("10.0.0.3:11211", false, 3.0, 3.0),
        server("unix:/run/\u{1b}[2J", true, 3.0, 1.0),
    ];
    let (shown, buffer) = screen(80, 40, &all);
    assert_eq!(
        shown,
        [
            "shared     10.0.0.3:11211                       93.1 % hits  DOWN, 37 failed",
            "shared     10.0.0.1:11211                       93.1 % hits  1412.3/s  0.3 ms",
            "shared     10.0.0.2:11211                                    0.0/s  -",
            r"shared     unix:/run/\u{1b}[2J                  93.1 % hits  1.0/s failed",
        ]
    );
    assert_eq!((colour(&buffer, "DOWN"), colour(&buffer, "10.0.0.3")), (Color::Red, Color::Red));
    let (shown, _) = screen(80, 24, &all);
    assert_eq!(shown[1..], ["shared     3 more, all up"]);
    let (shown, _) = screen(46, 40, &all[..1]);
    assert_eq!(shown, ["shared     10.0.0.1:11211  1412.3/s  0.3 ms"], "the address comes first");
    assert_eq!(screen(80, 40, &[]).0, [] as [String; 0]);
}

#[test]
fn each_peer_has_a_line_and_those_that_are_away_come_first() {
    let peer = |address: &str, is_up: bool, mean: Option<f64>| json!({ "peer": address, "is_up": is_up, "failures": 4, "outages": 1, "reply_seconds_mean": mean });
    let peers = [peer("10.0.0.2:6082", true, Some(0.00034)), peer("10.0.0.3:6082", false, None)];
    let said = json!({ "rates": [{}], "urls": [], "peers": peers });
    let moment = TopSnapshot::read(&said.to_string()).unwrap();
    let mut terminal = Terminal::new(TestBackend::new(80, 40)).unwrap();
    terminal.draw(|frame| draw(frame, &moment, &mut View::default(), None, COLOURED)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let shown: Vec<_> = lines(&buffer).into_iter().filter(|line| line.starts_with("peer")).collect();
    assert_eq!(
        shown,
        [
            "peer       10.0.0.3:6082                                     DOWN, 4 failed",
            "peer       10.0.0.2:6082                                     up, 0.3 ms",
        ]
    );
    assert_eq!((colour(&buffer, "DOWN"), colour(&buffer, "10.0.0.3")), (Color::Red, Color::Red));
}

/// The answer of a program that has had no request in the last minute, and so many per second since its start.
fn idle_moment(since_the_start: f64) -> TopSnapshot {
    let rates = |seconds: f64, requests: f64| json!({ "seconds": seconds, "requests_per_second": requests });
    let said = json!({
        "version": "0.1.0", "uptime_seconds": 100, "workers": 2, "urls_seconds": 100,
        "rates": [rates(10.0, 0.0), rates(60.0, 0.0), rates(100.0, since_the_start)],
        "seconds": [{ "requests": 0, "hit_ratio": null }],
        "urls": [],
    });
    TopSnapshot::read(&said.to_string()).unwrap()
}

#[test]
fn an_idle_program_says_so_instead_of_empty_bars() {
    for (since_the_start, told) in
        [(0.0, "requests   none since the start, 1 min 40 s ago"), (1.5, "requests   none in the last 1 min")]
    {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        let moment = idle_moment(since_the_start);
        terminal.draw(|frame| draw(frame, &moment, &mut View::default(), None, COLOURED)).unwrap();
        let shown = lines(terminal.backend().buffer());
        assert!(shown.iter().any(|line| line == told), "{shown:#?}");
        assert!(shown.iter().any(|line| line == "none: no request, or all from memory"), "{shown:#?}");
        assert!(!shown.iter().any(|line| line.starts_with("hit ratio") || line.contains("NaN")), "{shown:#?}");
    }
}

#[test]
fn the_title_says_which_program_it_is_and_keeps_the_keys() {
    let title = |columns, program: &str| {
        let mut view = View { program: program.to_owned(), ..View::default() };
        lines(&drawn(columns, 24, &mut view, None, COLOURED)).swap_remove(0)
    };
    for (columns, program, expected) in [
        (
            100,
            "/run/kasoku/control.sock",
            "kasoku 0.1.0   /run/kasoku/control.sock   up 3 h 12 min   2 workers                   ? help  q quit",
        ),
        (
            80,
            "/run/kasoku/control.sock",
            "kasoku 0.1.0   /run/kasoku/control.sock   up 3 h 12 min           ? help  q quit",
        ),
        (60, "/run/kasoku/control.sock", "kasoku 0.1.0   /run/kasoku/control.sock       ? help  q quit"),
        (
            60,
            "/srv/blog.example.org/kasoku/run/control.sock",
            "kasoku 0.1.0   /srv/blog.example.org/kasok…   ? help  q quit",
        ),
        (30, "127.0.0.1:8081", "kasoku 0.1.0   127.0.0.1:8081"),
        (20, "127.0.0.1:8081", "kasoku 0.1.0"),
    ] {
        assert_eq!(title(columns, program), expected);
    }
}

#[test]
fn in_ascii_without_colours() {
    let buffer = drawn(80, 30, &mut View::default(), Some(TROUBLE), PLAIN);
    assert!(buffer.content.iter().all(|cell| cell.symbol().is_ascii()), "{:#?}", lines(&buffer));
    assert!(buffer.content.iter().all(|cell| (cell.fg, cell.bg) == (Color::Reset, Color::Reset)));
    let shown = lines(&buffer).join("\n");
    for words in ["hhhhhhhhhhhhhhhhhhhhh", "mmpE  in 10 s", "DOWN, 37 failed", "vrequests"] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
}

#[test]
fn colours_are_by_kind() {
    let buffer = drawn(80, 40, &mut View::default(), None, COLOURED);
    let expected = [
        ("hits  ", Color::Green),
        ("revalidated  ", Color::Cyan),
        ("misses    ", Color::Yellow),
        ("passes", Color::Magenta),
        ("errors", Color::Red),
        ("DOWN", Color::Red),
        ("pass  http", Color::Magenta),
        ("miss  http", Color::Yellow),
        ("reval http", Color::Cyan),
        ("error http", Color::Red),
        ("http://example.org/cart", Color::Reset),
    ];
    for (words, expected) in expected {
        assert_eq!(colour(&buffer, words), expected, "{words}");
    }
}

#[test]
fn nothing_wraps_and_nothing_fails_at_any_size() {
    for columns in [1, 2, 7, 12, 13, 30, 41, 59, 60, 80, 119, 120, 140] {
        for rows in [1, 3, 8, 13, 24] {
            for key in ['r', '?', '/'] {
                let mut view = View::default();
                view.press(KeyEvent::from(KeyCode::Char(key)));
                let shown = lines(&drawn(columns, rows, &mut view, Some(TROUBLE), COLOURED));
                assert!(shown.iter().all(|line| !line.contains('\u{1b}')), "{columns} {rows} {shown:#?}");
                // Each URL begins in the last column of its own line.
                let urls = shown.iter().filter(|line| line.contains("http://example")).count();
                assert!(urls <= moment().urls.len(), "{columns} {rows} {shown:#?}");
            }
        }
    }
    for (columns, rows) in [(60, 16), (80, 16), (140, 24)] {
        let shown = lines(&drawn(columns, rows, &mut View::default(), None, COLOURED)).join("\n");
        assert!(shown.contains("http://example.org/cart"), "URLs are seen on a low screen:\n{shown}");
    }
}

#[test]
fn what_comes_from_outside_is_escaped() {
    let shown = lines(&drawn(140, 40, &mut View::default(), Some(TROUBLE), COLOURED)).join("\n");
    assert!(shown.contains(r"http://example.org/\u{1b}[2J\u{e9}"), "{shown}");
    assert!(shown.contains(r"no answer: the admin listener 127.0.0.1:8081: \u{1b}[31mConnection refused"), "{shown}");
}

#[test]
fn keys_are_seen() {
    let mut view = View::default();
    let press = |keys: &str, view: &mut View| {
        keys.chars().for_each(|key| _ = view.press(KeyEvent::from(KeyCode::Char(key))));
        lines(&drawn(80, 40, view, None, COLOURED)).join("\n")
    };
    let at = |shown: &str, words: &str| shown.find(words).unwrap_or_else(|| panic!("{words}:\n{shown}"));
    let shown = press("t", &mut view);
    assert!(at(&shown, "org/search") < at(&shown, "org/cart"), "the longest first:\n{shown}");
    at(&shown, "\u{25be}longest");
    let shown = press("/cart", &mut view);
    at(&shown, "filter: cart   Enter keeps it");
    at(&shown, "filter: cart (1 of 5)");
    assert!(!shown.contains("org/search"), "{shown}");
    view.press(KeyEvent::from(KeyCode::Enter));
    let shown = press("?", &mut view);
    at(&shown, "sort by requests, misses");
    for kind in crate::top::snapshot::ResultKind::ALL {
        at(&shown, kind.name());
    }
    assert!(shown.lines().all(|line| line.len() <= 60 || line.starts_with("kasoku")), "{shown}");
}
