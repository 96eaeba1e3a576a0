//! The keys of the leak guard.

use super::LocatedTexts;
use crate::issue::Located;
use crate::reader::Keys;

/// Keys that stand in no table of their own.
#[derive(Debug, Default)]
pub(crate) struct RawGuard {
    pub(crate) guard: Option<Located<bool>>,
    pub(crate) noise: Option<LocatedTexts>,
    pub(crate) cookie: Option<Located<String>>,
}

impl RawGuard {
    pub(crate) fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self { guard: keys.flag("guard"), noise: keys.texts("guard-noise"), cookie: keys.text("guard-cookie") }
    }
}
