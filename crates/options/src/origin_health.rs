//! When an origin counts as failing, and how it is checked.

use std::time::Duration;

/// When an origin counts as failing, and how it is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginHealth {
    /// Failures in a row until other origins are asked instead. Default 3; 0: it is always asked.
    pub failures: u32,
    /// From one trial to the next while it is down or suspect. While it is not up, checks come at least as often. Default 1 s.
    pub back_off: Duration,
    /// The longest time between trials of a suspect that answers its trials slowly. Default 10 s; at least `back_off`.
    pub back_off_max: Duration,
    /// Path and query of the active check, sent with GET. Default: none, no checks.
    pub path: Option<String>,
    /// From the end of a check to the next. Default 5 s.
    pub interval: Duration,
    /// The longest time for a whole check, connection included. Default 2 s.
    pub timeout: Duration,
    /// The first and the last status of a check that passes. Default 200 to 399.
    pub expect: (u16, u16),
    /// Checks in a row that must pass until the origin is up again. Default 1.
    pub rise: u32,
    /// Checks in a row that must fail until it is down. Default 3.
    pub fall: u32,
}

impl Default for OriginHealth {
    fn default() -> Self {
        Self {
            failures: 3,
            back_off: Duration::from_secs(1),
            back_off_max: Duration::from_secs(10),
            path: None,
            interval: Duration::from_secs(5),
            timeout: Duration::from_secs(2),
            expect: (200, 399),
            rise: 1,
            fall: 3,
        }
    }
}
