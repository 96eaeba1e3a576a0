//! What `/top` says, as lines for people.
//!
//! URLs are the last column and cut at the right edge; whatever in them is not printable ASCII is escaped, since what visitors
//! ask for must not reach the operator's terminal as it is.

use serde_json::Value;

/// What is drawn above the lists: the title, the rates with their heading, and empty lines between.
const LINES_ABOVE: usize = 11;

/// A list's heading, the names of its columns, and the empty line before it.
const LINES_OF_A_HEADING: usize = 3;

/// What was said at one moment.
pub(crate) struct Screen(Value);

impl Screen {
    /// `None`: it is something else.
    pub(crate) fn read(said: &str) -> Option<Self> {
        let said: Value = serde_json::from_str(said).ok()?;
        ["rates", "missed", "slow"].iter().all(|key| said.get(key).is_some_and(Value::is_array)).then_some(Self(said))
    }

    /// As many lines as fit, with the title in bold, and what is wrong at present.
    pub(crate) fn drawn(&self, columns: usize, rows: usize, trouble: Option<&str>) -> Vec<String> {
        let urls = rows.saturating_sub(LINES_ABOVE + 2 * LINES_OF_A_HEADING) / 2;
        let mut lines = self.lines(columns, rows, urls.max(1));
        if let Some(title) = lines.first_mut() {
            let keys = "   (q: quit)";
            let fits = title.len() + keys.len() <= columns;
            *title = format!("\x1b[1m{title}\x1b[0m{}", if fits { keys } else { "" });
        }
        if let (Some(trouble), Some(line)) = (trouble, lines.get_mut(1)) {
            *line = cut(&format!("  no answer: {trouble}"), columns);
        }
        lines
    }

    /// At most so many lines, with so many URLs of each kind.
    pub(crate) fn lines(&self, columns: usize, rows: usize, urls: usize) -> Vec<String> {
        let mut lines = vec![self.title(), String::new()];
        lines.extend(self.rates());
        let back = span(number(&self.0, "urls_seconds"));
        lines.extend([String::new(), format!("Missed most, in the last {back}")]);
        lines.push("   count  reason                      URL".to_owned());
        lines.extend(self.list("missed", urls).map(missed));
        lines.extend([String::new(), format!("Slowest origin times, in the last {back}")]);
        lines.push("     max      mean   times  URL".to_owned());
        lines.extend(self.list("slow", urls).map(slow));
        lines.truncate(rows);
        lines.iter().map(|line| cut(line, columns)).collect()
    }

    fn title(&self) -> String {
        let version = self.0.get("version").and_then(Value::as_str).unwrap_or("?");
        let workers = number(&self.0, "workers");
        let plural = if workers == 1.0 { "" } else { "s" };
        format!("kasoku {}   up {}   {workers} worker{plural}", plain(version), span(number(&self.0, "uptime_seconds")))
    }

    fn rates(&self) -> Vec<String> {
        let windows: Vec<&Value> = self.list("rates", usize::MAX).collect();
        let last = windows.len().saturating_sub(1);
        let headings = windows.iter().enumerate().map(|(at, window)| match at {
            at if at == last => "since start".to_owned(),
            _ => format!("last {}", span(number(window, "seconds").round())),
        });
        let mut lines = vec![row("", headings)];
        let mut add = |name: &str, cell: &dyn Fn(&Value) -> String| {
            lines.push(row(name, windows.iter().map(|window| cell(window))));
        };
        add("requests per second", &|window| format!("{:.1}", number(window, "requests_per_second")));
        add("hits", &|window| share(window.get("hit_ratio")));
        add("errors per second", &|window| format!("{:.1}", number(window, "errors_per_second")));
        add("origin requests per second", &|window| format!("{:.1}", number(window, "origin_requests_per_second")));
        add("origin time, mean", &|window| optional(window.get("origin_head_seconds_mean"), time));
        add("origin time, 95 of 100", &|window| {
            let was_asked = window.get("origin_head_seconds_mean").is_some_and(Value::is_number);
            match window.get("origin_head_seconds_95").and_then(Value::as_f64) {
                Some(seconds) => format!("<= {}", time(seconds)),
                None if was_asked => "> 10 s".to_owned(),
                None => "-".to_owned(),
            }
        });
        add("sent per second", &|window| bytes(number(window, "body_bytes_per_second")));
        lines
    }

    fn list(&self, key: &str, max: usize) -> impl Iterator<Item = &Value> {
        self.0.get(key).and_then(Value::as_array).into_iter().flatten().take(max)
    }
}

fn missed(entry: &Value) -> String {
    let reason = entry.get("reason").and_then(Value::as_str).unwrap_or("-");
    format!("{:>8}  {:<26}  {}", number(entry, "count"), plain(reason), url(entry))
}

fn slow(entry: &Value) -> String {
    let (max, mean) = (time(number(entry, "max")), time(number(entry, "mean")));
    format!("{max:>8}  {mean:>8}  {:>6}  {}", number(entry, "count"), url(entry))
}

fn url(entry: &Value) -> String {
    plain(entry.get("url").and_then(Value::as_str).unwrap_or("?"))
}

fn row(name: &str, cells: impl Iterator<Item = String>) -> String {
    let cells: String = cells.map(|cell| format!("{cell:>14}")).collect();
    format!("{name:<28}{cells}")
}

fn number(of: &Value, key: &str) -> f64 {
    of.get(key).and_then(Value::as_f64).unwrap_or(0.0)
}

fn optional(value: Option<&Value>, written: fn(f64) -> String) -> String {
    value.and_then(Value::as_f64).map_or_else(|| "-".to_owned(), written)
}

fn share(value: Option<&Value>) -> String {
    optional(value, |share| format!("{:.1} %", share * 100.0))
}

/// A time that something took.
fn time(seconds: f64) -> String {
    match seconds {
        ..0.0995 => format!("{:.1} ms", seconds * 1e3),
        ..0.9995 => format!("{:.0} ms", seconds * 1e3),
        ..99.5 => format!("{seconds:.1} s"),
        _ => format!("{seconds:.0} s"),
    }
}

/// A time that has gone by.
fn span(seconds: f64) -> String {
    let seconds = seconds as u64;
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, seconds) => format!("{seconds} s"),
        (0, 0, minutes, 0) => format!("{minutes} min"),
        (0, 0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (0, hours, minutes, _) => format!("{hours} h {minutes} min"),
        (days, hours, ..) => format!("{days} d {hours} h"),
    }
}

fn bytes(count: f64) -> String {
    match count {
        ..1e3 => format!("{count:.0} B"),
        ..1e6 => format!("{:.1} kB", count / 1e3),
        ..1e9 => format!("{:.1} MB", count / 1e6),
        _ => format!("{:.1} GB", count / 1e9),
    }
}

/// Printable ASCII alone.
fn plain(text: &str) -> String {
    text.chars().map(|c| if matches!(c, ' '..='~') { c.to_string() } else { c.escape_unicode().to_string() }).collect()
}

/// What fits; all of it is ASCII.
fn cut(line: &str, columns: usize) -> String {
    line.chars().take(columns).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn screen() -> Screen {
        let rates = |seconds: f64, hits: Value, mean: Value, most: Value| {
            json!({ "seconds": seconds, "requests_per_second": 812.34, "hit_ratio": hits, "errors_per_second": 0,
                "origin_requests_per_second": 71.06, "origin_head_seconds_mean": mean,
                "origin_head_seconds_95": most, "body_bytes_per_second": 12_345_678 })
        };
        let said = json!({
            "version": "0.1.0", "uptime_seconds": 11_523, "workers": 2, "urls_seconds": 421,
            "rates": [
                rates(10.01, json!(0.9123), json!(0.0843), json!(0.25)),
                rates(59.9, json!(1.0), json!(12.5), json!(null)),
                rates(11_523.0, json!(null), json!(null), json!(null)),
            ],
            "missed": [
                { "url": "http://example.org/cart?id=1", "count": 1207, "count_excess": 0, "reason": "set-cookie" },
                { "url": "http://example.org/\u{1b}[2J\u{e9}", "count": 3, "count_excess": 0, "reason": null },
            ],
            "slow": [{ "url": "http://example.org/search", "max": 2.3456, "mean": 0.4567, "count": 17 }],
        });
        Screen::read(&said.to_string()).unwrap()
    }

    #[test]
    fn a_moment_reads_well() {
        let text = screen().lines(200, 100, 20).iter().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
        let expected = "\
kasoku 0.1.0   up 3 h 12 min   2 workers

                                 last 10 s    last 1 min   since start
requests per second                  812.3         812.3         812.3
hits                                91.2 %       100.0 %             -
errors per second                      0.0           0.0           0.0
origin requests per second            71.1          71.1          71.1
origin time, mean                  84.3 ms        12.5 s             -
origin time, 95 of 100           <= 250 ms        > 10 s             -
sent per second                    12.3 MB       12.3 MB       12.3 MB

Missed most, in the last 7 min 1 s
   count  reason                      URL
    1207  set-cookie                  http://example.org/cart?id=1
       3  -                           http://example.org/\\u{1b}[2J\\u{e9}

Slowest origin times, in the last 7 min 1 s
     max      mean   times  URL
   2.3 s    457 ms      17  http://example.org/search";
        assert_eq!(text.join("\n"), expected);
    }

    #[test]
    fn what_is_drawn_fits_any_terminal() {
        for (columns, rows) in [(80, 24), (40, 12), (20, 3), (1, 1), (300, 100)] {
            for trouble in [None, Some("the admin listener 127.0.0.1:8081: Connection refused")] {
                let lines = screen().drawn(columns, rows, trouble);
                assert!(lines.len() <= rows, "{columns} {rows}: {lines:#?}");
                for line in &lines {
                    let seen = line.replace("\x1b[1m", "").replace("\x1b[0m", "");
                    assert!(seen.len() <= columns && !seen.contains('\x1b'), "{columns}: {line:?}");
                }
            }
        }
        let lines = screen().drawn(80, 24, Some("Connection refused"));
        assert!(lines.iter().any(|line| line.contains("no answer: Connection refused")));
        assert!(lines.iter().any(|line| line.contains("/search")), "both lists are seen on a small screen: {lines:#?}");
    }

    #[test]
    fn what_is_no_answer_to_top_is_not_drawn() {
        for said in ["", "[]", "{}", "{\"rates\": 1, \"missed\": [], \"slow\": []}"] {
            assert!(Screen::read(said).is_none(), "{said}");
        }
    }
}
