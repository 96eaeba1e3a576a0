//! Bounds what is in flight on one connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Requests in flight on one connection, at most.
pub const IN_FLIGHT_MAX: usize = 1024;

/// Bytes of values on their way to the server, at most. A single value may be longer.
pub const IN_FLIGHT_BYTES_MAX: usize = 16 << 20;

/// What is in flight.
#[derive(Debug, Default)]
pub(crate) struct Load {
    requests: AtomicUsize,
    bytes: AtomicUsize,
}

/// The right of one request to be in flight. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Admission {
    load: Arc<Load>,
    bytes: usize,
}

impl Load {
    /// How many requests are in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    /// Admits a request with a value of this length; none where that is too much.
    pub(crate) fn admit(self: &Arc<Self>, bytes: usize) -> Option<Admission> {
        let requests = self.requests.fetch_add(1, Ordering::Relaxed);
        let others = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        // If it is too much, dropping this takes it back.
        let admission = Admission { load: self.clone(), bytes };
        let has_room = bytes == 0 || others == 0 || others.saturating_add(bytes) <= IN_FLIGHT_BYTES_MAX;
        (requests < IN_FLIGHT_MAX && has_room).then_some(admission)
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.load.requests.fetch_sub(1, Ordering::Relaxed);
        self.load.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_a_bound() {
        let load = Arc::new(Load::default());
        let mut admitted: Vec<_> = (0..IN_FLIGHT_MAX).map(|_| load.admit(1).unwrap()).collect();
        assert!(load.admit(0).is_none());
        admitted.pop();
        assert!(load.admit(0).is_some());
        drop(admitted);
        assert_eq!((load.in_flight(), load.bytes.load(Ordering::Relaxed)), (0, 0));
    }

    #[test]
    fn bytes_have_a_bound_but_for_one_value() {
        let load = Arc::new(Load::default());
        let half = load.admit(IN_FLIGHT_BYTES_MAX / 2).unwrap();
        let rest = load.admit(IN_FLIGHT_BYTES_MAX / 2).unwrap();
        assert!(load.admit(1).is_none());
        assert!(load.admit(0).is_some(), "a request without a value waits for none");
        drop((half, rest));
        let long = load.admit(IN_FLIGHT_BYTES_MAX * 2).unwrap();
        assert!(load.admit(1).is_none());
        drop(long);
        assert!(load.admit(1).is_some());
    }
}
