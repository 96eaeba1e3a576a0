//! Kasoku's name in messages, and its member of Via.

use http::Version;

/// The name as a literal, for `concat!`.
macro_rules! name {
    () => {
        "kasoku"
    };
}

/// Kasoku's name in Via and Cache-Status.
pub const NAME: &str = name!();

/// Kasoku's member of Via, in a message that was received in this version.
pub fn via_member(version: Version) -> &'static str {
    if version == Version::HTTP_10 { concat!("1.0 ", name!()) } else { concat!("1.1 ", name!()) }
}
