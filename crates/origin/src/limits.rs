//! Deadlines and bounds for exchanges with one origin.

use std::time::Duration;

/// The most interim (1xx) responses to one request. More are malformed.
pub const INTERIM_RESPONSES_MAX: usize = 16;

/// A request that can't be repeated uses a kept connection only if that has been idle for no longer than this: servers keep idle
/// connections for at least two seconds.
pub const UNREPEATABLE_IDLE_MAX: Duration = Duration::from_secs(1);

/// How much is read from an origin's socket at once, in bytes.
pub const READ_BYTES: usize = 32 << 10;
