//! The keys by which the application's own counters go on counting.

use super::Texts;
use crate::reader::Keys;

/// In no table of their own.
#[derive(Debug, Default)]
pub(crate) struct RawCounters {
    pub(crate) nobody_cookies: Option<Texts>,
}

impl RawCounters {
    pub(crate) fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self { nobody_cookies: keys.texts("nobody-cookies") }
    }
}
