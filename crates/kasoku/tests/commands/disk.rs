//! The disk tier when something fails: the process is killed, the power is lost, the disk is full, fails or hangs.

mod failing;
mod kills;
mod power;
mod system;
mod world;

/// The number in an environment variable, for a longer run.
fn number(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}
