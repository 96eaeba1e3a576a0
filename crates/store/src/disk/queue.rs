//! A queue between threads, bounded by the weight of what waits in it.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Queue<T> {
    waiting: Mutex<Waiting<T>>,
    changed: Condvar,
    weight_max: u64,
}

#[derive(Debug)]
struct Waiting<T> {
    items: VecDeque<(u64, T)>,
    weight: u64,
    is_closed: bool,
}

/// What a thread gets that waits for an item.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<T> {
    Item(T),
    /// The time is over.
    Nothing,
    /// The queue is closed and empty.
    Closed,
}

impl<T> Queue<T> {
    pub(super) fn new(weight_max: u64) -> Self {
        let waiting = Mutex::new(Waiting { items: VecDeque::new(), weight: 0, is_closed: false });
        Self { waiting, changed: Condvar::new(), weight_max }
    }

    /// Appends an item; gives it back where there is no room, or where the queue is closed.
    pub(super) fn push(&self, weight: u64, item: T) -> Result<(), T> {
        let mut waiting = self.lock();
        // One item always has room, or a heavy one would never be taken.
        let has_room = waiting.items.is_empty() || waiting.weight.saturating_add(weight) <= self.weight_max;
        if waiting.is_closed || !has_room {
            return Err(item);
        }
        waiting.weight += weight;
        waiting.items.push_back((weight, item));
        drop(waiting);
        self.changed.notify_one();
        Ok(())
    }

    /// Puts an item before all others, whatever its weight; gives it back where the queue is closed.
    pub(super) fn push_first(&self, item: T) -> Result<(), T> {
        let mut waiting = self.lock();
        if waiting.is_closed {
            return Err(item);
        }
        waiting.items.push_front((0, item));
        drop(waiting);
        self.changed.notify_one();
        Ok(())
    }

    /// The next item. Waits for one at most that long.
    pub(super) fn next(&self, wait_max: Duration) -> Next<T> {
        let waiting = self.lock();
        let waited = self.changed.wait_timeout_while(waiting, wait_max, |now| now.items.is_empty() && !now.is_closed);
        let (mut waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match waiting.items.pop_front() {
            Some((weight, item)) => {
                waiting.weight = waiting.weight.saturating_sub(weight);
                Next::Item(item)
            }
            None if waiting.is_closed => Next::Closed,
            None => Next::Nothing,
        }
    }

    /// All that waits.
    pub(super) fn take_all(&self) -> Vec<T> {
        let mut waiting = self.lock();
        waiting.weight = 0;
        waiting.items.drain(..).map(|(_, item)| item).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().items.is_empty()
    }

    /// Takes nothing more. What waits can still be taken out.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        // Each change under the lock is complete in itself, so a panic elsewhere leaves a queue that can be used.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_comes_back() {
        let queue = Queue::new(10);
        assert_eq!(queue.push(6, 'a'), Ok(()));
        assert_eq!(queue.push(5, 'b'), Err('b'));
        assert_eq!(queue.push(4, 'c'), Ok(()));
        assert_eq!(queue.next(Duration::ZERO), Next::Item('a'));
        assert_eq!(queue.push(6, 'd'), Ok(()));
        assert_eq!(queue.take_all(), ['c', 'd']);
        assert_eq!(queue.push(10, 'e'), Ok(()));
    }

    #[test]
    fn a_closed_queue_is_emptied_and_takes_nothing() {
        let queue = Queue::new(10);
        queue.push(1, 'a').unwrap();
        queue.close();
        assert_eq!(queue.push(1, 'b'), Err('b'));
        assert_eq!(queue.next(Duration::from_secs(60)), Next::Item('a'));
        assert_eq!(queue.next(Duration::from_secs(60)), Next::Closed);
    }
}
