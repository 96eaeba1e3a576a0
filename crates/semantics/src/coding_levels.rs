//! The levels of the content codings: how much work goes into each.

/// How much work goes into each coding; a higher level is slower and smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodingLevels {
    /// 1 to 9. Default 6.
    pub gzip: u32,
    /// 0 to 11. Default 5; from 10 on a megabyte takes seconds.
    pub br: u32,
    /// 1 to [`ZSTD_LEVEL_MAX`]. Default 9.
    pub zstd: u32,
}

/// Higher levels have windows of more than the 8 MiB that an HTTP decoder must support (RFC 9659).
pub const ZSTD_LEVEL_MAX: u32 = 19;

impl Default for CodingLevels {
    fn default() -> Self {
        Self { gzip: 6, br: 5, zstd: 9 }
    }
}
