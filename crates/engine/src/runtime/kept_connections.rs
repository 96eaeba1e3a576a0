//! The clients' connections of a worker. Where a new client finds no place, those close that have waited longest for a request.
//!
//! A kept connection costs nothing while there is room. But a place that nobody uses must not keep a visitor out: a client could take
//! all places with one request each, and hold them until `idle-timeout`. A request costs two stores for this; who waits longest is
//! looked for only when a client waits for a place.

use slab::Slab;
use std::cell::RefCell;
use std::rc::{Rc, Weak};

/// A connection that waits for less is not closed: its client is about to send.
const IDLE_MS_MIN: u64 = 1_000;

/// The most that close at once, and the part of all places: who waits for a place is seldom alone, and a look for the longest wait reads all
/// connections.
const CLOSED_MAX: usize = 32;
const CLOSED_PART: usize = 16;

/// A client's connection.
pub(crate) trait KeptConnection {
    /// Since when it has waited for a request, in milliseconds of the monotonic clock; `None`: it has one, or a part of one.
    fn idle_since_ms(&self) -> Option<u64>;

    /// Closes it. A request that has come meanwhile is answered.
    fn close_idle(&self);
}

/// See the [module](self).
#[derive(Default)]
pub(crate) struct KeptConnections(RefCell<Slab<Weak<dyn KeptConnection>>>);

/// A connection's place in the list, for as long as it lives.
pub(crate) struct KeptPlace<'a> {
    all: &'a KeptConnections,
    key: usize,
}

impl KeptConnections {
    pub(crate) fn enter(&self, connection: Weak<dyn KeptConnection>) -> KeptPlace<'_> {
        KeptPlace { all: self, key: self.0.borrow_mut().insert(connection) }
    }

    /// Closes those that have waited longest. Returns how many.
    pub(crate) fn close_idle(&self, now_ms: u64) -> usize {
        let mut idle: Vec<(u64, Rc<dyn KeptConnection>)> = self
            .0
            .borrow()
            .iter()
            .filter_map(|(_, connection)| {
                let connection = connection.upgrade()?;
                let since_ms = connection.idle_since_ms()?;
                (now_ms.saturating_sub(since_ms) >= IDLE_MS_MIN).then_some((since_ms, connection))
            })
            .collect();
        let count = (self.0.borrow().len() / CLOSED_PART).clamp(1, CLOSED_MAX).min(idle.len());
        if count < idle.len() {
            idle.select_nth_unstable_by_key(count, |(since_ms, _)| *since_ms);
        }
        idle.iter().take(count).for_each(|(_, connection)| connection.close_idle());
        count
    }
}

impl Drop for KeptPlace<'_> {
    fn drop(&mut self) {
        self.all.0.borrow_mut().try_remove(self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    struct Connection {
        since_ms: Option<u64>,
        is_closed: Cell<bool>,
    }

    impl KeptConnection for Connection {
        fn idle_since_ms(&self) -> Option<u64> {
            self.since_ms.filter(|_| !self.is_closed.get())
        }

        fn close_idle(&self) {
            self.is_closed.set(true);
        }
    }

    fn connections(since_ms: impl Iterator<Item = Option<u64>>) -> Vec<Rc<Connection>> {
        since_ms.map(|since_ms| Rc::new(Connection { since_ms, is_closed: Cell::new(false) })).collect()
    }

    fn closed(connections: &[Rc<Connection>]) -> Vec<usize> {
        (0..connections.len()).filter(|number| connections[*number].is_closed.get()).collect()
    }

    #[test]
    fn those_that_wait_longest_are_closed_and_none_that_has_a_request_or_waits_for_a_moment() {
        let all = KeptConnections::default();
        let connections = connections((0..64).map(|number| (number % 2 == 0).then_some(10_000 - 100 * number)));
        let _places: Vec<_> = connections
            .iter()
            .map(|connection| all.enter(Rc::downgrade(connection) as Weak<dyn KeptConnection>))
            .collect();
        assert_eq!(all.close_idle(9_000), 4, "a sixteenth");
        assert_eq!(closed(&connections), [56, 58, 60, 62]);
        while all.close_idle(9_000) > 0 {}
        assert_eq!(
            closed(&connections),
            (20..64).step_by(2).collect::<Vec<_>>(),
            "the others wait for less than a second"
        );
    }

    #[test]
    fn a_connection_that_has_ended_is_in_no_list() {
        let all = KeptConnections::default();
        let connections = connections((0..3).map(|_| Some(0)));
        let enter = |number: usize| all.enter(Rc::downgrade(&connections[number]) as Weak<dyn KeptConnection>);
        let (first, second) = (enter(0), enter(1));
        drop(first);
        let third = enter(2);
        assert_eq!((all.close_idle(5_000), all.close_idle(5_000), all.close_idle(5_000)), (1, 1, 0));
        assert_eq!(closed(&connections), [1, 2]);
        drop((second, third));
        assert!(all.0.borrow().is_empty());
    }
}
