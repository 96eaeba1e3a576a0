//! The compressed forms of a stored body; they share its lifetime. `coding` makes them.

use super::Body;
use crate::sync::{AtomicU64, Ordering};
use kasoku_semantics::coding::Coding;
use std::sync::{Arc, OnceLock};

/// The coded forms of one body.
#[derive(Debug, Default)]
pub(crate) struct CodedBodies {
    /// In the order of [`Coding::ALL`].
    made: [OnceLock<Arc<Body>>; Coding::ALL.len()],
    /// A bit for each coding that somebody makes, has made or has tried in vain.
    begun: AtomicU64,
}

impl CodedBodies {
    fn bit(coding: Coding) -> u64 {
        1 << coding as u64
    }

    /// Memory held, in bytes, with the heads that go with them.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.made.iter().filter_map(OnceLock::get).map(|body| body.charged_bytes()).sum()
    }
}

impl Body {
    /// This body in that coding, if it has been made.
    pub fn coded(&self, coding: Coding) -> Option<&Arc<Self>> {
        self.codings.made.get(coding as usize)?.get()
    }

    /// The codings in which it has been made.
    pub fn codings(&self) -> impl Iterator<Item = Coding> {
        Coding::ALL.into_iter().filter(|coding| self.coded(*coding).is_some())
    }

    /// Takes over making that coding; `false`: somebody has already. Who can't go through with it says so by
    /// [`Body::give_up_coding`].
    pub fn begin_coding(&self, coding: Coding) -> bool {
        let bit = CodedBodies::bit(coding);
        // Nearly always somebody has, and reading is cheaper.
        self.codings.begun.load(Ordering::Relaxed) & bit == 0
            && self.codings.begun.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Leaves it to the next who wants it.
    pub fn give_up_coding(&self, coding: Coding) {
        self.codings.begun.fetch_and(!CodedBodies::bit(coding), Ordering::Relaxed);
    }

    /// Keeps it, once. Whoever has begun it is the only one to do so.
    pub(crate) fn keep_coded(&self, coding: Coding, coded: Arc<Self>) {
        if let Some(place) = self.codings.made.get(coding as usize) {
            let _ = place.set(coded);
        }
    }
}
