//! The places for connections in use to one origin, and the queue of those who wait for one.
//!
//! Counted for the whole process. Everybody brings the limit of the own rule: who finds fewer in use takes a place at
//! once, who does not waits. So whoever waits waits for the number to fall below the own limit; a rule with a small
//! limit leaves the rest to the others and never stands in their way. Among those who may go, the first who came goes
//! first. The queue is bounded; leaving it needs nobody's help.
//!
//! The lock is held for a few instructions, and never while somebody is told about a place.

use crate::error::Error;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Places(Mutex<Taken>);

#[derive(Debug, Default)]
struct Taken {
    in_use: usize,
    waiting: VecDeque<Waiter>,
    next_number: u64,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    max: usize,
    turn: oneshot::Sender<Place>,
}

/// A place among the connections in use. It is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Place(Arc<Places>);

impl Places {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connections in use, and requests that wait.
    pub(crate) fn load(&self) -> (usize, usize) {
        let taken = self.taken();
        (taken.in_use, taken.waiting.len())
    }

    /// Whether somebody with this limit would get a place at once.
    pub(crate) fn has_room(&self, max: usize) -> bool {
        self.taken().in_use < max
    }

    /// Takes a place, or waits for one: with `queue_max` others at most, and for `timeout` at most.
    pub(crate) async fn take(
        self: &Arc<Self>,
        max: usize,
        queue_max: usize,
        timeout: Duration,
    ) -> Result<Place, Error> {
        let (number, turn) = {
            let mut taken = self.taken();
            if taken.in_use < max {
                taken.in_use += 1;
                return Ok(Place(self.clone()));
            }
            if taken.waiting.len() >= queue_max {
                return Err(Error::QueueFull);
            }
            let (sender, turn) = oneshot::channel();
            let number = taken.next_number;
            taken.next_number += 1;
            taken.waiting.push_back(Waiter { number, max, turn: sender });
            (number, turn)
        };
        let _leaves = Leaves { places: self, number };
        match tokio::time::timeout(timeout, turn).await {
            Ok(Ok(place)) => Ok(place),
            _ => Err(Error::Busy),
        }
    }

    /// Takes a place if fewer than `max` are taken.
    pub(crate) fn try_take(self: &Arc<Self>, max: usize) -> Option<Place> {
        let mut taken = self.taken();
        if taken.in_use >= max {
            return None;
        }
        taken.in_use += 1;
        Some(Place(self.clone()))
    }

    fn release(self: &Arc<Self>) {
        let next = {
            let mut taken = self.taken();
            taken.in_use = taken.in_use.saturating_sub(1);
            let in_use = taken.in_use;
            let first = taken.waiting.iter().position(|waiter| in_use < waiter.max);
            let next = first.and_then(|first| taken.waiting.remove(first));
            if next.is_some() {
                taken.in_use += 1;
            }
            next
        };
        if let Some(waiter) = next {
            // Who has just gone away does not take it: the place is dropped, and free for the next.
            let _ = waiter.turn.send(Place(self.clone()));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// Takes who waits out of the queue, whichever way the wait ends.
struct Leaves<'p> {
    places: &'p Places,
    number: u64,
}

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.places.taken().waiting.retain(|waiter| waiter.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    const LONG: Duration = Duration::from_secs(3600);

    fn poll<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Poll<T> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    fn in_runtime(test: impl FnOnce()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async { test() });
    }

    #[test]
    fn who_came_first_goes_first() {
        in_runtime(|| {
            let places = Arc::new(Places::default());
            let take = || places.take(1, 8, LONG);
            let Poll::Ready(Ok(held)) = poll(pin!(take())) else { panic!("the first has a place") };
            let (mut second, mut third) = (pin!(take()), pin!(take()));
            assert!(poll(second.as_mut()).is_pending() && poll(third.as_mut()).is_pending());
            assert_eq!(places.load(), (1, 2));
            drop(held);
            assert!(poll(third.as_mut()).is_pending());
            let Poll::Ready(Ok(held)) = poll(second.as_mut()) else { panic!("it is the second's turn") };
            drop(held);
            assert!(matches!(poll(third.as_mut()), Poll::Ready(Ok(_))));
            assert_eq!(places.load(), (0, 0));
        });
    }

    #[test]
    fn a_full_queue_refuses_and_who_leaves_makes_room_in_it() {
        in_runtime(|| {
            let places = Arc::new(Places::default());
            let Poll::Ready(Ok(_held)) = poll(pin!(places.take(1, 1, LONG))) else { panic!("a place") };
            {
                let mut waits = pin!(places.take(1, 1, LONG));
                assert!(poll(waits.as_mut()).is_pending());
                assert!(matches!(poll(pin!(places.take(1, 1, LONG))), Poll::Ready(Err(Error::QueueFull))));
            }
            assert_eq!(places.load(), (1, 0));
            assert!(poll(pin!(places.take(1, 1, LONG))).is_pending());
        });
    }

    #[test]
    fn a_place_for_somebody_who_has_just_left_goes_to_the_next() {
        in_runtime(|| {
            let places = Arc::new(Places::default());
            let take = || places.take(1, 8, LONG);
            let Poll::Ready(Ok(held)) = poll(pin!(take())) else { panic!("a place") };
            let mut second = Box::pin(take());
            let mut third = pin!(take());
            assert!(poll(second.as_mut()).is_pending() && poll(third.as_mut()).is_pending());
            // Its place is on its way to it, and it never looks.
            drop(held);
            drop(second);
            assert!(matches!(poll(third.as_mut()), Poll::Ready(Ok(_))));
            assert_eq!(places.load(), (0, 0));
        });
    }

    #[test]
    fn a_small_limit_waits_for_itself_alone() {
        in_runtime(|| {
            let places = Arc::new(Places::default());
            let mut held = Vec::new();
            for _ in 0..2 {
                let Poll::Ready(Ok(place)) = poll(pin!(places.take(4, 8, LONG))) else { panic!("a place") };
                held.push(place);
            }
            let mut small = pin!(places.take(1, 8, LONG));
            assert!(poll(small.as_mut()).is_pending());
            assert!(matches!(poll(pin!(places.take(4, 8, LONG))), Poll::Ready(Ok(_))), "not behind the small one");
            held.pop();
            assert!(poll(small.as_mut()).is_pending());
            held.pop();
            assert!(matches!(poll(small.as_mut()), Poll::Ready(Ok(_))));
        });
    }
}
