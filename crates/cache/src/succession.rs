//! What a cache passes on to the process that takes its place: its purges and invalidations.
//!
//! For a moment both processes serve. What a request to the old one has changed must be gone in the new one as well, and only one process at a
//! time can use the directory of the disk tier. So:
//!
//! 1. Once the new process has been started, each removal is also told to it, for its memory ([`Cache::tell`]).
//! 2. When the new process serves, the old one gives the directory up ([`Cache::give_up_disk`]). From then on each removal is for the new one
//!    alone, and is certain when that says so.

use crate::generations::{Mark, Removal};
use crate::invalidated::Invalidated;
use crate::sync::PoisonError;
use crate::{Cache, Key};
use kasoku_semantics::time::Now;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Passes removals to the process that takes this one's place. A removal is told as bytes, which [`Cache::apply`] understands.
pub trait Successor: Send + Sync {
    /// Passes a removal on, without waiting. `certain` is told whether it is certain there; nobody waits where it is `None`.
    fn pass(&self, removal: Vec<u8>, certain: Option<oneshot::Sender<()>>);
}

/// The process that takes this one's place, and whether it has.
pub(crate) struct Succession {
    successor: Arc<dyn Successor>,
    has_disk: bool,
}

const KEY: u8 = 1;
const MARK: u8 = 2;

impl Cache {
    /// From now on, tells each removal to this process as well.
    pub fn tell(&self, successor: Arc<dyn Successor>) {
        let mut succession = self.0.succession.write().unwrap_or_else(PoisonError::into_inner);
        *succession = Some(Succession { successor, has_disk: false });
    }

    /// There is no successor after all.
    pub fn tell_nobody(&self) {
        *self.0.succession.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Leaves the directory of the disk tier to the successor, if there is one, and does without. Waits until what waits is written.
    pub fn give_up_disk(&self) {
        match &mut *self.0.succession.write().unwrap_or_else(PoisonError::into_inner) {
            // A removal that comes later is for the successor; those before are written below.
            Some(succession) => succession.has_disk = true,
            None => return,
        }
        self.give_up_directory();
    }

    /// Makes a removal certain: on disk, or in the process that takes this one's place.
    pub(crate) fn make_certain(&self, removal: &Told<'_>, on_disk: impl FnOnce() -> Invalidated) -> Invalidated {
        let succession = self.0.succession.read().unwrap_or_else(PoisonError::into_inner);
        match &*succession {
            None => on_disk(),
            Some(Succession { successor, has_disk: false }) => {
                successor.pass(removal.write(), None);
                on_disk()
            }
            Some(Succession { successor, has_disk: true }) => {
                let (certain, receiver) = oneshot::channel();
                successor.pass(removal.write(), Some(certain));
                Invalidated::passed_on(receiver)
            }
        }
    }

    /// Carries out what the predecessor has told. `is_alone`: the predecessor has given the directory up, so the disk tier has to note it.
    /// `None` where it can't be understood.
    pub fn apply(&self, told: &[u8], is_alone: bool, now: Now) -> Option<Invalidated> {
        let (kind, rest) = told.split_first()?;
        match *kind {
            KEY => {
                let key = self.key(std::str::from_utf8(rest).ok()?);
                Some(if is_alone { self.invalidate(&key) } else { self.invalidate_in_memory(&key) })
            }
            MARK => {
                let mark = Mark::read(rest)?;
                if is_alone {
                    self.carry_out(mark.removal(), now)
                } else {
                    self.carry_out_in_memory(mark.removal(), now)
                }
            }
            _ => None,
        }
    }

    fn carry_out(&self, removal: Removal<'_>, now: Now) -> Option<Invalidated> {
        match removal {
            Removal::Purge(scope, purge) => self.purge_all_of(scope, purge, now).ok(),
            Removal::Change(tags, purge) => Some(self.purge_tags(&tags, purge, now)),
        }
    }

    fn carry_out_in_memory(&self, removal: Removal<'_>, now: Now) -> Option<Invalidated> {
        let generations = &self.0.generations;
        let _epoch = match removal {
            Removal::Purge(scope, purge) => generations.purge(scope, purge, now).ok()?,
            Removal::Change(tags, purge) => generations.change(&tags, purge, now),
        };
        Some(Invalidated::default())
    }
}

/// A removal that is told to the successor.
pub(crate) enum Told<'t> {
    Key(&'t Key),
    Mark(&'t Mark<'t>),
}

impl Told<'_> {
    fn write(&self) -> Vec<u8> {
        match self {
            Self::Key(key) => [&[KEY], key.bytes()].concat(),
            Self::Mark(mark) => [&[MARK][..], &mark.write()].concat(),
        }
    }
}
