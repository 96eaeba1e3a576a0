//! Decides how much of a file may wait in a client's socket.
//!
//! A socket takes 256 KiB that are not sent yet: more would only wait in the kernel, for each slow client, and hide how slow the
//! client is (docs/decisions/0009). A client that takes megabytes without a pause is another matter. Each time its socket runs
//! low, that costs a turn of the worker; with more room the kernel itself sends what the next acknowledgement allows. Of a file
//! the socket holds references to the kernel's own pages, and no copy. So the socket of such a client takes as much as fits,
//! until the client pauses or gets an answer that is no file: the socket would hold a copy of that.

use kasoku_sys::{Stream, Unsent};
use std::cell::Cell;
use std::time::Duration;

/// A client that has taken so much without a pause is fast, in bytes.
const EAGER_FROM_BYTES: u64 = 4 << 20;

/// A client whose socket has had no room for so long is not fast.
const PAUSE: Duration = Duration::from_millis(50);

/// How fast one connection's client is.
#[derive(Debug, Default)]
pub(crate) struct Eagerness {
    /// Bytes of files that it has taken since its last pause.
    taken: Cell<u64>,
}

impl Eagerness {
    /// The client has taken so many bytes of a file.
    pub(crate) fn has_taken(&self, stream: &Stream, bytes: usize) {
        if self.becomes_eager(bytes as u64) {
            stream.keep_unsent(Unsent::WhatFits);
        }
    }

    /// The socket has had no room for this long.
    pub(crate) fn has_waited(&self, stream: &Stream, pause: Duration) {
        if self.is_no_longer_eager(pause) {
            stream.keep_unsent(Unsent::Little);
        }
    }

    /// Whether the client is fast.
    pub(crate) fn is_eager(&self) -> bool {
        self.taken.get() >= EAGER_FROM_BYTES
    }

    /// The next bytes are not a file's.
    pub(crate) fn ends(&self, stream: &Stream) {
        if self.is_eager() {
            self.taken.set(0);
            stream.keep_unsent(Unsent::Little);
        }
    }

    fn becomes_eager(&self, bytes: u64) -> bool {
        let before = self.taken.get();
        self.taken.set(before.saturating_add(bytes));
        before < EAGER_FROM_BYTES && self.taken.get() >= EAGER_FROM_BYTES
    }

    fn is_no_longer_eager(&self, pause: Duration) -> bool {
        pause >= PAUSE && self.taken.take() >= EAGER_FROM_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: u64 = EAGER_FROM_BYTES / 2;

    #[test]
    fn who_takes_megabytes_without_a_pause_is_eager_until_there_is_one() {
        let client = Eagerness::default();
        assert_eq!(
            [client.becomes_eager(HALF), client.becomes_eager(HALF), client.becomes_eager(HALF)],
            [false, true, false]
        );
        assert!(!client.is_no_longer_eager(PAUSE / 2));
        assert!(client.is_no_longer_eager(PAUSE));
        assert!(!client.is_no_longer_eager(PAUSE));
        assert_eq!([client.becomes_eager(HALF), client.becomes_eager(HALF)], [false, true]);
    }

    #[test]
    fn who_pauses_now_and_then_never_is() {
        let client = Eagerness::default();
        for _ in 0..10 {
            assert!(!client.becomes_eager(HALF));
            assert!(!client.is_no_longer_eager(PAUSE));
        }
    }
}
