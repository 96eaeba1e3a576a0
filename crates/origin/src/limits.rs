//! Deadlines and bounds towards one origin.

use std::time::Duration;

/// Interim (1xx) responses to one request; more count as malformed.
pub const INTERIM_RESPONSES_MAX: usize = 16;

/// A request that can't be repeated takes a kept connection only when that was idle for no longer than this: servers keep
/// idle connections for two seconds and more.
pub const UNREPEATABLE_IDLE_MAX: Duration = Duration::from_secs(1);

/// What is read from an origin's socket at once, in bytes.
pub const READ_BYTES: usize = 32 << 10;
