//! The keys by which pages are compared before they are shared.

use super::Texts;
use crate::issue::At;
use crate::reader::Keys;

/// In no table of their own.
#[derive(Debug, Default)]
pub(crate) struct RawGuard {
    pub(crate) guard: Option<At<bool>>,
    pub(crate) noise: Option<Texts>,
    pub(crate) cookie: Option<At<String>>,
}

impl RawGuard {
    pub(crate) fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self { guard: keys.flag("guard"), noise: keys.texts("guard-noise"), cookie: keys.text("guard-cookie") }
    }
}
