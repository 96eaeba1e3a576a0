//! Logs a program's standard error line by line, with the request's id.
//!
//! A program may write any amount, so the log is bounded for each request: bytes beyond the bound are counted, and the count is
//! logged at the end. Long lines are cut. Control characters are escaped, since logs are read on terminals and programs log what
//! clients send.

use std::fmt::Write as _;

/// The most of one line that is logged, in bytes.
const LINE_BYTES_MAX: usize = 1 << 10;
/// The most of one request that is logged, in bytes.
const REQUEST_BYTES_MAX: usize = 16 << 10;

/// Collects standard error for the log. Dropping it logs an unfinished last line, and how many bytes were not logged.
pub(crate) struct ErrorLog {
    origin: String,
    request_id: String,
    line: Vec<u8>,
    logged_bytes: usize,
    unlogged_bytes: u64,
}

impl ErrorLog {
    /// For a program of that origin, which answers the request of that id.
    pub(crate) fn new(origin: String, request_id: &str) -> Self {
        let request_id = request_id.to_owned();
        Self { origin, request_id, line: Vec::new(), logged_bytes: 0, unlogged_bytes: 0 }
    }

    /// Takes more output, which may begin and end anywhere in a line.
    pub(crate) fn write(&mut self, mut data: &[u8]) {
        while let Some(end) = data.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = data.split_at(end);
            self.append(line);
            self.end_line();
            data = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        self.append(data);
    }

    fn append(&mut self, data: &[u8]) {
        let left = REQUEST_BYTES_MAX.saturating_sub(self.logged_bytes);
        let room = LINE_BYTES_MAX.min(left).saturating_sub(self.line.len());
        let (taken, dropped) = data.split_at_checked(room).unwrap_or((data, &[]));
        self.line.extend_from_slice(taken);
        self.unlogged_bytes += dropped.len() as u64;
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.logged_bytes += line.len();
        let text = printable(&line);
        if !text.is_empty() {
            tracing::warn!(request = %self.request_id, "{}: {text}", self.origin);
        }
    }
}

impl Drop for ErrorLog {
    fn drop(&mut self) {
        self.end_line();
        if self.unlogged_bytes > 0 {
            let bytes = self.unlogged_bytes;
            tracing::warn!(request = %self.request_id, "{}: {bytes} more bytes are not logged", self.origin);
        }
    }
}

/// The line with its control characters escaped.
fn printable(line: &[u8]) -> String {
    let mut text = String::with_capacity(line.len());
    for letter in String::from_utf8_lossy(line.trim_ascii_end()).chars() {
        match letter {
            '\t' => text.push(' '),
            letter if letter.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(text, "{}", letter.escape_default());
            }
            letter => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// What a `tracing` subscriber gets when these pieces are written.
    fn logged(pieces: &[&[u8]]) -> Vec<String> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        tracing::subscriber::with_default(Lines(lines.clone()), || {
            let mut log = ErrorLog::new("fastcgi://a".to_owned(), "id-1");
            pieces.iter().for_each(|piece| log.write(piece));
        });
        let lines = lines.lock().unwrap();
        lines.clone()
    }

    /// A subscriber that keeps what is logged.
    struct Lines(Arc<Mutex<Vec<String>>>);

    impl tracing::Subscriber for Lines {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }
        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
        fn event(&self, event: &tracing::Event<'_>) {
            struct Text(String);
            impl tracing::field::Visit for Text {
                fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                    let _ = write!(self.0, "{}={value:?};", field.name());
                }
            }
            let mut text = Text(String::new());
            event.record(&mut text);
            self.0.lock().unwrap().push(text.0);
        }
        fn enter(&self, _: &tracing::span::Id) {}
        fn exit(&self, _: &tracing::span::Id) {}
    }

    #[test]
    fn lines_are_logged_with_the_request_s_id_however_they_are_cut() {
        let lines = logged(&[b"PHP War", b"ning: a\nsecond\n\nthi", b"rd"]);
        let expected = ["fastcgi://a: PHP Warning: a", "fastcgi://a: second", "fastcgi://a: third"];
        assert_eq!(lines, expected.map(|line| format!("message={line};request=id-1;")));
    }

    #[test]
    fn nothing_reaches_a_terminal_that_it_obeys() {
        let lines = logged(&[b"\x1b[2J\xc2\x9b1mno\0pe\x07\xff\r\n"]);
        assert_eq!(lines, ["message=fastcgi://a: \\u{1b}[2J\\u{9b}1mno\\u{0}pe\\u{7}\u{fffd};request=id-1;"]);
    }

    #[test]
    fn a_program_that_floods_it_fills_no_log() {
        let flood = [&b"x".repeat(LINE_BYTES_MAX + 10)[..], b"\n"].concat();
        let lines = logged(&vec![&flood[..]; 100]);
        let logged: usize = lines.iter().map(|line| line.matches('x').count()).sum();
        assert_eq!((lines.len(), logged), (REQUEST_BYTES_MAX / LINE_BYTES_MAX + 1, REQUEST_BYTES_MAX));
        let unlogged = 100 * (LINE_BYTES_MAX + 10) - REQUEST_BYTES_MAX;
        assert!(lines.last().is_some_and(|line| line.contains(&format!("{unlogged} more bytes"))), "{lines:?}");
    }
}
