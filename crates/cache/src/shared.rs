//! The shared tier below memory and disk: servers in which several caches keep their responses together (docs/decisions/0042).
//!
//! A fill asks the shared tier before it asks the origin ([`FillWriter::ask_shared`](crate::FillWriter::ask_shared)), and what a fill has
//! brought is written there ([`SharedAccess::begin`]).
//!
//! What the shared tier has is compared with the purges of all caches (`purge_exchange`) by the log of the server that has it.
//!
//! What was read is hostile input. It has to pass the rules again that a response from an origin has to pass.
//!
//! | file | job |
//! |---|---|
//! | `accesses` | the tier as each runtime of an application uses it |
//! | `ask` | asks for the response of a fill, with a deadline, and waits while another front end asks the origin for it |
//! | `read` | reads the response of a fill |
//! | `hit` | finds a response without a fill, where memory keeps no responses |
//! | `write` | writes what a fill has brought, a few responses at a time |
//! | `content` | the content of an item as text, and back |
//! | `lines` | the lines with which a content begins |
//! | `inspect` | what the shared tier has for a request, for people |
//! | `usable` | whether the rules allow what an item says to be used for a request |
//! | `current` | whether it may answer the request now: its variant, the purges, its age |
//! | `judged` | remembers which items may, where memory keeps no responses |

mod accesses;
mod ask;
mod content;
mod current;
mod hit;
mod inspect;
mod judged;
pub(crate) mod lines;
mod read;
mod usable;
mod write;

use crate::Cache;
pub use accesses::SharedAccesses;
pub use ask::{Asked, HeldLease};
pub(crate) use ask::{Sought, ask};
pub use hit::SharedHit;
pub use inspect::SharedPlace;
pub(crate) use judged::JudgedItems;
pub use kasoku_shared::{Items, ServerStatus, Tier, TierStatus};
pub(crate) use read::{may_be_answered, missing};
use std::sync::Arc;
pub use write::{SharedAccess, Sharing};

impl Cache {
    /// The shared tier, if there is one.
    pub fn shared_tier(&self) -> Option<&Arc<Tier>> {
        self.purge_exchange()?.tier()
    }

    /// What the shared tier does; `None` where there is none.
    pub fn shared_status(&self) -> Option<TierStatus> {
        Some(self.shared_tier()?.status())
    }
}
