//! The keys that say what requests change.

use super::Texts;
use crate::reader::Keys;

/// In no table of their own.
#[derive(Debug, Default)]
pub(crate) struct RawChanges {
    pub(crate) tags: Option<Texts>,
    pub(crate) changes: Option<Texts>,
    pub(crate) no_change_redirects: Option<Texts>,
}

impl RawChanges {
    pub(crate) fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            tags: keys.texts("tags"),
            changes: keys.texts("changes"),
            no_change_redirects: keys.texts("no-change-redirects"),
        }
    }
}
