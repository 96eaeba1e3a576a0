//! The compressed forms of a stored body, which live as long as the body. `coding` makes them.

use super::Body;
use crate::sync::{AtomicU64, Ordering};
use kasoku_semantics::coding::Coding;
use std::sync::{Arc, OnceLock};

/// The coded forms of one body.
#[derive(Debug, Default)]
pub(crate) struct CodedBodies {
    /// In the order of [`Coding::ALL`].
    made: [OnceLock<Arc<Body>>; Coding::ALL.len()],
    /// One bit for each coding that is being made, has been made or was found useless.
    begun: AtomicU64,
}

impl CodedBodies {
    fn bit(coding: Coding) -> u64 {
        1 << coding as u64
    }

    /// Memory held by the codings, in bytes, with the prepared heads that belong to them.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.made.iter().filter_map(OnceLock::get).map(|body| body.charged_bytes()).sum()
    }
}

impl Body {
    /// This body in that coding, if the coding has been made.
    pub fn coded(&self, coding: Coding) -> Option<&Arc<Self>> {
        self.codings.made.get(coding as usize)?.get()
    }

    /// The codings that have been made of this body.
    pub fn codings(&self) -> impl Iterator<Item = Coding> {
        Coding::ALL.into_iter().filter(|coding| self.coded(*coding).is_some())
    }

    /// Claims the making of this coding. `false` means that another caller has claimed it. A caller that can't finish it calls
    /// [`Body::give_up_coding`].
    pub fn begin_coding(&self, coding: Coding) -> bool {
        let bit = CodedBodies::bit(coding);
        // Nearly always the coding is claimed already, and a load is cheaper than a write.
        self.codings.begun.load(Ordering::Relaxed) & bit == 0
            && self.codings.begun.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Gives the claim back, so that the next caller that wants this coding may make it.
    pub fn give_up_coding(&self, coding: Coding) {
        self.codings.begun.fetch_and(!CodedBodies::bit(coding), Ordering::Relaxed);
    }

    /// Keeps the coded body. Only the caller that claimed the coding calls this, once.
    pub(crate) fn keep_coded(&self, coding: Coding, coded: Arc<Self>) {
        if let Some(place) = self.codings.made.get(coding as usize) {
            let _ = place.set(coded);
        }
    }
}
