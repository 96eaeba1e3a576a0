//! When a server forgets an item.

/// When a server forgets an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// When it needs the memory.
    Never,
    /// After this many seconds.
    After(u64),
    /// At this Unix time, in seconds.
    At(u64),
}
