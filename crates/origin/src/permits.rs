//! Limits the connections in use to one origin, with a queue of waiting requests.
//!
//! The count is for the whole process; each request brings the limit of its own rule. A request that finds fewer connections in use than
//! its limit takes a permit at once, else it waits until the count falls below that limit; so a rule with a small limit never blocks the
//! others. Among the requests that may proceed, the longest waiting goes first. The queue is bounded, and a request can leave it at any
//! time.
//!
//! Requests that any client can make by the thousand, and that the cache never answers, may have a quarter of the permits and of the
//! queue ([`Share::Quarter`]): visitors' requests go on beside them. Requests for whose answer nobody waits go after all others, but
//! one goes after at most eight others: pages become hits by them, also while each permit is wanted ([`Share::Leftover`]).
//!
//! The lock is held for a few instructions, and never while a waiting request is woken.

use crate::error::Error;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// See the [module](self).
#[derive(Debug, Default)]
pub struct PermitPool(Mutex<PermitQueue>);

/// How much of the permits and of the queue is for requests of this kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Share {
    /// All.
    #[default]
    All,
    /// A quarter, and at least one permit.
    Quarter,
    /// A permit that no other request waits for, or one of few, and a quarter of the queue: nobody waits for the answer.
    Leftover,
}

#[derive(Debug, Default)]
struct PermitQueue {
    in_use: usize,
    /// Those in use by requests with [`Share::Quarter`].
    quarter_in_use: usize,
    waiting: VecDeque<Waiter>,
    next_number: u64,
    /// How many requests have gone before one that waits for a leftover.
    others_in_a_row: usize,
}

/// How many requests go before one that waits for a leftover.
const OTHERS_MAX: usize = 8;

#[derive(Debug)]
struct Waiter {
    number: u64,
    max: usize,
    share: Share,
    turn: oneshot::Sender<Permit>,
}

/// A permit for one connection. Dropping it frees the permit.
#[derive(Debug)]
pub struct Permit {
    pool: Arc<PermitPool>,
    share: Share,
}

impl PermitQueue {
    fn has_room(&self, max: usize, share: Share) -> bool {
        self.in_use < max && (share != Share::Quarter || self.quarter_in_use < (max / 4).max(1))
    }

    fn has_place(&self, queue_max: usize, share: Share) -> bool {
        let of_share = || self.waiting.iter().filter(|waiter| waiter.share == share).count();
        self.waiting.len() < queue_max && (share == Share::All || of_share() < queue_max.div_ceil(4))
    }

    /// The waiting request that goes next: the first one with room. One for a leftover goes if there is no other, or after many others.
    fn next(&mut self) -> Option<Waiter> {
        let first = |is_leftover: bool| {
            self.waiting.iter().position(|waiter| {
                (waiter.share == Share::Leftover) == is_leftover && self.has_room(waiter.max, waiter.share)
            })
        };
        let is_leftovers_turn = self.others_in_a_row >= OTHERS_MAX;
        let place = first(is_leftovers_turn).or_else(|| first(!is_leftovers_turn));
        let next = place.and_then(|place| self.waiting.remove(place))?;
        let is_passed_over =
            next.share != Share::Leftover && self.waiting.iter().any(|one| one.share == Share::Leftover);
        self.others_in_a_row = if is_passed_over { self.others_in_a_row.saturating_add(1) } else { 0 };
        Some(next)
    }

    fn take(&mut self, share: Share) {
        self.in_use += 1;
        self.quarter_in_use += usize::from(share == Share::Quarter);
    }

    fn give_back(&mut self, share: Share) {
        self.in_use = self.in_use.saturating_sub(1);
        self.quarter_in_use = self.quarter_in_use.saturating_sub(usize::from(share == Share::Quarter));
    }
}

impl PermitPool {
    fn taken(&self) -> MutexGuard<'_, PermitQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of connections in use, and of requests that wait.
    pub fn load(&self) -> (usize, usize) {
        let taken = self.taken();
        (taken.in_use, taken.waiting.len())
    }

    /// Whether a request with this limit would get a permit at once.
    pub(crate) fn has_room(&self, max: usize) -> bool {
        self.taken().in_use < max
    }

    /// Takes a permit, or waits for one: behind fewer than `queue_max` others, and for `timeout` at most.
    pub async fn take(self: &Arc<Self>, max: usize, queue_max: usize, timeout: Duration) -> Result<Permit, Error> {
        self.take_of(Share::All, max, queue_max, timeout).await
    }

    /// The same for a request that may have only this share.
    pub async fn take_of(
        self: &Arc<Self>,
        share: Share,
        max: usize,
        queue_max: usize,
        timeout: Duration,
    ) -> Result<Permit, Error> {
        let (number, turn) = {
            let mut taken = self.taken();
            if taken.has_room(max, share) {
                taken.take(share);
                return Ok(Permit { pool: self.clone(), share });
            }
            if !taken.has_place(queue_max, share) {
                return Err(Error::QueueFull);
            }
            let (sender, turn) = oneshot::channel();
            let number = taken.next_number;
            taken.next_number += 1;
            taken.waiting.push_back(Waiter { number, max, share, turn: sender });
            (number, turn)
        };
        let _leaves = LeaveQueue { permits: self, number };
        match tokio::time::timeout(timeout, turn).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Error::Busy),
        }
    }

    /// Takes a permit if fewer than `max` are taken.
    pub fn try_take(self: &Arc<Self>, max: usize) -> Option<Permit> {
        let mut taken = self.taken();
        if taken.in_use >= max {
            return None;
        }
        taken.take(Share::All);
        Some(Permit { pool: self.clone(), share: Share::All })
    }

    fn release(self: &Arc<Self>, share: Share) {
        let next = {
            let mut taken = self.taken();
            taken.give_back(share);
            let next = taken.next();
            if let Some(waiter) = &next {
                taken.take(waiter.share);
            }
            next
        };
        if let Some(Waiter { share, turn, .. }) = next {
            // A request that has just left the queue does not take the permit: it is dropped, and goes to the next request.
            let _ = turn.send(Permit { pool: self.clone(), share });
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.pool.release(self.share);
    }
}

/// Removes the waiting request from the queue when its wait ends, in any way.
struct LeaveQueue<'p> {
    permits: &'p PermitPool,
    number: u64,
}

impl Drop for LeaveQueue<'_> {
    fn drop(&mut self) {
        self.permits.taken().waiting.retain(|waiter| waiter.number != self.number);
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
            let permits = Arc::new(PermitPool::default());
            let take = || permits.take(1, 8, LONG);
            let Poll::Ready(Ok(held)) = poll(pin!(take())) else { panic!("the first has a permit") };
            let (mut second, mut third) = (pin!(take()), pin!(take()));
            assert!(poll(second.as_mut()).is_pending() && poll(third.as_mut()).is_pending());
            assert_eq!(permits.load(), (1, 2));
            drop(held);
            assert!(poll(third.as_mut()).is_pending());
            let Poll::Ready(Ok(held)) = poll(second.as_mut()) else { panic!("it is the second's turn") };
            drop(held);
            assert!(matches!(poll(third.as_mut()), Poll::Ready(Ok(_))));
            assert_eq!(permits.load(), (0, 0));
        });
    }

    #[test]
    fn a_full_queue_refuses_and_who_leaves_makes_room_in_it() {
        in_runtime(|| {
            let permits = Arc::new(PermitPool::default());
            let Poll::Ready(Ok(_held)) = poll(pin!(permits.take(1, 1, LONG))) else { panic!("a permit") };
            {
                let mut waits = pin!(permits.take(1, 1, LONG));
                assert!(poll(waits.as_mut()).is_pending());
                assert!(matches!(poll(pin!(permits.take(1, 1, LONG))), Poll::Ready(Err(Error::QueueFull))));
            }
            assert_eq!(permits.load(), (1, 0));
            assert!(poll(pin!(permits.take(1, 1, LONG))).is_pending());
        });
    }

    #[test]
    fn a_permit_for_a_request_that_has_just_left_goes_to_the_next() {
        in_runtime(|| {
            let permits = Arc::new(PermitPool::default());
            let take = || permits.take(1, 8, LONG);
            let Poll::Ready(Ok(held)) = poll(pin!(take())) else { panic!("a permit") };
            let mut second = Box::pin(take());
            let mut third = pin!(take());
            assert!(poll(second.as_mut()).is_pending() && poll(third.as_mut()).is_pending());
            // The permit is on its way to the second request, which never takes it.
            drop(held);
            drop(second);
            assert!(matches!(poll(third.as_mut()), Poll::Ready(Ok(_))));
            assert_eq!(permits.load(), (0, 0));
        });
    }

    #[test]
    fn who_may_have_a_quarter_has_a_quarter_of_the_permits_and_of_the_queue() {
        in_runtime(|| {
            let permits = Arc::new(PermitPool::default());
            let of = |share| permits.take_of(share, 8, 4, LONG);
            let mut held = Vec::new();
            for _ in 0..2 {
                let Poll::Ready(Ok(permit)) = poll(pin!(of(Share::Quarter))) else { panic!("a permit") };
                held.push(permit);
            }
            let mut third = pin!(of(Share::Quarter));
            assert!(poll(third.as_mut()).is_pending());
            assert!(matches!(poll(pin!(of(Share::Quarter))), Poll::Ready(Err(Error::QueueFull))));
            let Poll::Ready(Ok(visitors)) = poll(pin!(of(Share::All))) else { panic!("visitors do not wait for them") };
            drop(visitors);
            assert!(poll(third.as_mut()).is_pending(), "a visitor's permit is not for them");
            held.pop();
            let Poll::Ready(Ok(last)) = poll(third.as_mut()) else { panic!("its turn") };
            drop((held, last));
            assert_eq!(permits.load(), (0, 0));
            assert!(
                matches!(poll(pin!(permits.take_of(Share::Quarter, 1, 0, LONG))), Poll::Ready(Ok(_))),
                "at least one"
            );
        });
    }

    #[test]
    fn a_request_that_nobody_waits_for_goes_last() {
        in_runtime(|| {
            let permits = Arc::new(PermitPool::default());
            let of = |share| permits.take_of(share, 1, 8, LONG);
            let Poll::Ready(Ok(held)) = poll(pin!(of(Share::Leftover))) else { panic!("nobody else is there") };
            let mut leftover = pin!(of(Share::Leftover));
            assert!(poll(leftover.as_mut()).is_pending());
            let mut visitors = [Box::pin(of(Share::All)), Box::pin(of(Share::Quarter))];
            assert!(visitors.iter_mut().all(|visitor| poll(visitor.as_mut()).is_pending()));
            drop(held);
            for visitor in &mut visitors {
                assert!(poll(leftover.as_mut()).is_pending());
                let Poll::Ready(Ok(held)) = poll(visitor.as_mut()) else { panic!("a visitor goes first") };
                drop(held);
            }
            assert!(matches!(poll(leftover.as_mut()), Poll::Ready(Ok(_))));
            assert_eq!(permits.load(), (0, 0));
        });
    }

    #[test]
    fn it_goes_all_the_same_after_some_others() {
        in_runtime(|| {
            let permits = Arc::new(PermitPool::default());
            let of = |share| Box::pin(permits.take_of(share, 1, 64, LONG));
            let Poll::Ready(Ok(mut held)) = poll(of(Share::All).as_mut()) else { panic!("nobody else is there") };
            let mut leftover = of(Share::Leftover);
            assert!(poll(leftover.as_mut()).is_pending());
            let mut visitors: Vec<_> = (0..=OTHERS_MAX).map(|_| of(Share::All)).collect();
            assert!(visitors.iter_mut().all(|visitor| poll(visitor.as_mut()).is_pending()));
            for visitor in visitors.iter_mut().take(OTHERS_MAX) {
                drop(held);
                let Poll::Ready(Ok(next)) = poll(visitor.as_mut()) else { panic!("a visitor goes first") };
                held = next;
            }
            drop(held);
            assert!(visitors.last_mut().is_some_and(|last| poll(last.as_mut()).is_pending()));
            assert!(matches!(poll(leftover.as_mut()), Poll::Ready(Ok(_))));
        });
    }

    #[test]
    fn a_small_limit_waits_for_itself_alone() {
        in_runtime(|| {
            let permits = Arc::new(PermitPool::default());
            let mut held = Vec::new();
            for _ in 0..2 {
                let Poll::Ready(Ok(permit)) = poll(pin!(permits.take(4, 8, LONG))) else { panic!("a permit") };
                held.push(permit);
            }
            let mut small = pin!(permits.take(1, 8, LONG));
            assert!(poll(small.as_mut()).is_pending());
            assert!(matches!(poll(pin!(permits.take(4, 8, LONG))), Poll::Ready(Ok(_))), "not behind the small one");
            held.pop();
            assert!(poll(small.as_mut()).is_pending());
            held.pop();
            assert!(matches!(poll(small.as_mut()), Poll::Ready(Ok(_))));
        });
    }
}
