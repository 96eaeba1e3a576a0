//! The memory budget: one account for all memory that responses hold, stored or in flight.
//!
//! A response is charged from its first byte until its last reference is dropped: while it is a fill, while it is stored, and while a
//! slow client still reads it after eviction. Stored responses may have seven eighths of the memory; the rest is for fills and for
//! evicted responses that clients still read. When all charges together fill the memory, no further response is admitted: responses go
//! through without being stored, at the pace of their readers. The deliverer should then close connections to readers that are too slow,
//! since otherwise they stop admission for all.
//!
//! Buffered bodies of requests and other spare memory are charged as well (`Budget::try_charge`). Their holders can do without it, so
//! these charges never make memory short, and all of them together may have only a small part: clients can cause many of them at no cost.
//!
//! Guards (`Charge`) keep the account, so no code path can forget to give memory back.

use crate::sync::{AtomicU64, Ordering};
use std::sync::Arc;
use tokio::sync::Notify;

/// The cost of an allocation besides its bytes: its share of the allocator's own data.
pub(crate) const ALLOCATION_BYTES: usize = 16;

/// One part in this many of the memory is reserved for responses that are not stored: fills, and evicted responses that clients still
/// read.
pub const RESERVED_SHARE: u64 = 8;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Budget {
    held: AtomicU64,
    /// The part of `held` that spare charges hold.
    spare: AtomicU64,
    bytes_max: u64,
    /// What the host's own form of a stored head costs for each field, in bytes.
    pub(crate) host_field_bytes: u64,
    /// Wakes the writers that wait because memory was full.
    pub(crate) freed: Notify,
}

impl Budget {
    pub(crate) fn new(bytes_max: u64) -> Arc<Self> {
        Self::for_host(bytes_max, 0)
    }

    /// A budget that charges each stored head for the form in which the host keeps it ([`Entry::host_value`](crate::Entry::host_value)).
    pub(crate) fn for_host(bytes_max: u64, host_field_bytes: u64) -> Arc<Self> {
        let (held, spare, freed) = (AtomicU64::new(0), AtomicU64::new(0), Notify::new());
        Arc::new(Self { held, spare, bytes_max, host_field_bytes, freed })
    }

    /// The most bytes that the memory tier may have.
    pub(crate) fn tier_bytes_max(&self) -> u64 {
        self.bytes_max - self.bytes_max / RESERVED_SHARE
    }

    /// Bytes that are charged at present.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Whether memory is full, so that no further response may be admitted.
    pub(crate) fn is_full(&self) -> bool {
        self.held_bytes() >= self.bytes_max
    }

    /// Whether less is free than half of the reserve for fills. Large responses then find no room, so holders of memory that no other
    /// request needs should give it back.
    pub(crate) fn is_short(&self) -> bool {
        !self.has_room_for(self.kept_free())
    }

    fn kept_free(&self) -> u64 {
        self.bytes_max / RESERVED_SHARE / 2
    }

    /// Whether `bytes` more may be admitted.
    pub(crate) fn has_room_for(&self, bytes: u64) -> bool {
        self.held_bytes().saturating_add(bytes) < self.bytes_max
    }

    /// Charges `bytes` for a holder that can do without them. `None` where memory would be short with this charge, or where all such
    /// charges together would exceed half of the reserve for fills.
    pub(crate) fn try_charge(self: &Arc<Self>, bytes: u64) -> Option<SpareCharge> {
        if !self.has_room_for(self.kept_free().saturating_add(bytes)) {
            return None;
        }
        let sum = |held: u64| held.checked_add(bytes).filter(|sum| *sum <= self.kept_free());
        self.spare.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum).ok()?;
        Some(SpareCharge(self.charge(bytes)))
    }

    /// Charges `bytes` for as long as the result lives.
    pub(crate) fn charge(self: &Arc<Self>, bytes: u64) -> Charge {
        let mut charge = Charge { budget: self.clone(), bytes: 0 };
        charge.add(bytes);
        charge
    }
}

/// A number of charged bytes. Dropping it gives them back.
#[derive(Debug)]
pub(crate) struct Charge {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Charge {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn add(&mut self, bytes: u64) {
        self.budget.held.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
    }

    pub(crate) fn sub(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        let before = self.budget.held.fetch_sub(bytes, Ordering::Relaxed);
        self.bytes -= bytes;
        let bytes_max = self.budget.bytes_max;
        if before >= bytes_max && before - bytes < bytes_max {
            self.budget.freed.notify_waiters();
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.sub(self.bytes);
    }
}

/// The charge for a response that is held in memory before its fill begins. Dropping it gives the bytes back.
#[derive(Debug)]
pub struct HeldCharge(Charge);

impl HeldCharge {
    pub(crate) fn new(budget: &Arc<Budget>) -> Self {
        Self(budget.charge(0))
    }

    /// Charges `bytes` more. Returns whether there was room for them. If not, the caller should drop what it holds.
    pub fn grows(&mut self, bytes: u64) -> bool {
        let has_room = self.0.budget.has_room_for(bytes);
        self.0.add(bytes);
        has_room
    }
}

/// The charge for memory that its holder can do without. Dropping it gives the bytes back.
#[derive(Debug)]
pub struct SpareCharge(Charge);

impl SpareCharge {
    /// The charged bytes.
    pub fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}

impl Drop for SpareCharge {
    fn drop(&mut self) {
        self.0.budget.spare.fetch_sub(self.0.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_charged_is_given_back() {
        let budget = Budget::new(100);
        let mut one = budget.charge(60);
        assert!(!budget.is_full());
        let other = budget.charge(40);
        assert!(budget.is_full());
        one.sub(10);
        assert_eq!(budget.held_bytes(), 90);
        one.sub(1000);
        assert_eq!(budget.held_bytes(), 40);
        drop(one);
        let _third = budget.charge(54);
        assert!(!budget.is_full() && budget.is_short());
        drop((other, _third));
        assert_eq!(budget.held_bytes(), 0);
    }

    #[test]
    fn who_can_do_without_leaves_enough_for_those_who_cannot() {
        let budget = Budget::new(160);
        let stored = budget.charge(140);
        let first = budget.try_charge(9).unwrap();
        assert!(!budget.is_short());
        assert!(budget.try_charge(1).is_none(), "it would make memory short");
        drop((stored, first));
        assert_eq!(budget.held_bytes(), 0);
    }

    #[test]
    fn what_is_held_is_charged_and_told_when_there_is_no_room() {
        let budget = Budget::new(100);
        let mut held = HeldCharge::new(&budget);
        assert!(held.grows(60) && held.grows(39));
        assert!(!held.grows(1) && budget.is_full());
        drop(held);
        assert_eq!(budget.held_bytes(), 0);
    }

    #[test]
    fn all_who_can_do_without_have_a_sixteenth_though_there_is_memory() {
        let budget = Budget::new(160);
        let first = budget.try_charge(6).unwrap();
        assert!(budget.try_charge(5).is_none());
        let _second = budget.try_charge(4).unwrap();
        drop(first);
        assert!(budget.try_charge(6).is_some(), "what is given back is there for the next");
        assert_eq!(budget.held_bytes(), 4);
    }
}
