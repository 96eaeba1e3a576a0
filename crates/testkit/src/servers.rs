//! Real servers of the shared tier as processes of a test: what tests do with them, and what is in them.
//!
//! | file | job |
//! |---|---|
//! | `process` | a server's process: stopped, killed, started again |
//! | `memcached`, `redis` | servers of the two kinds |
//! | `store` | a server of either kind |

mod memcached;
mod process;
mod redis;
mod store;

pub use memcached::Memcached;
pub use process::Process;
pub use redis::Redis;
pub use store::Store;
