//! The disk tier when something fails: the process is killed, the power is lost, the disk is full, fails or hangs.

mod failing;
mod kills;
mod power;
mod system;
mod world;

use crate::support::setting;

/// The number in an environment variable, for a longer run.
fn number(variable: &str, otherwise: usize) -> usize {
    setting(variable).and_then(|number| number.try_into().ok()).unwrap_or(otherwise)
}
