//! The keys that say which requests change which pages.

use super::LocatedTexts;
use crate::reader::Keys;

/// Keys that stand in no table of their own.
#[derive(Debug, Default)]
pub(crate) struct RawChanges {
    pub(crate) tags: Option<LocatedTexts>,
    pub(crate) changes: Option<LocatedTexts>,
    pub(crate) no_change_redirects: Option<LocatedTexts>,
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
