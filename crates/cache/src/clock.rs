//! The clock of what has threads of its own, to which no caller gives the time, and of hosts inside an application.

use kasoku_semantics::time::{Now, millis};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Tells the time. Tests bring one of their own.
pub type Clock = Arc<dyn Fn() -> Now + Send + Sync>;

/// The clocks of the system.
pub fn system() -> Clock {
    let start = Instant::now();
    Arc::new(move || {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Now { unix_ms: i64::try_from(millis(unix)).unwrap_or(i64::MAX), mono_ms: millis(start.elapsed()) }
    })
}
