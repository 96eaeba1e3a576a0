//! The shared tier: servers in which several caches keep their responses together.
//!
//! This crate keeps and returns bytes by name. It never reads a header, and what it returns has been compared with its checksum. What the
//! bytes mean, and whether they may be used, is decided above it (`kasoku_cache::shared`).
//!
//! | file | job |
//! |---|---|
//! | `names` | what an item is called in a server |
//! | `sealed` | items as they are written: checksum or HMAC, and large ones in chunks |
//! | `secret` | reads the secret of the HMACs from its file |
//! | `placement` | which server of a ring has an item |
//! | `health` | whether a server may be asked |
//! | `server_counters` | what each server was asked and did |
//! | `memcached` | asks memcached servers, by their meta protocol |
//! | `purge_log` | the purges that all caches have to hear of, in each server |
//! | `lease` | of several caches that miss an item, one fetches it |
//! | `items` | reads and writes items, and follows the purges, for one runtime |
//! | `status` | what the tier does, in numbers for an operator |

pub mod health;
mod items;
pub mod lease;
pub mod memcached;
pub mod names;
pub mod placement;
pub mod purge_log;
pub mod sealed;
pub mod secret;
pub mod server_counters;
mod status;

pub use items::{Item, Items, Missing, Tier, WhenDown};
pub use memcached::Expiry;
pub use status::{ServerStatus, TierStatus};
