//! The keys that say what a cookie means.

use super::LocatedTexts;
use crate::issue::Located;
use crate::reader::Keys;

/// `[cookies]`
#[derive(Debug, Default)]
pub(crate) struct RawCookies {
    pub(crate) pass: Option<LocatedTexts>,
    pub(crate) session: Option<LocatedTexts>,
    pub(crate) key: Option<LocatedTexts>,
    pub(crate) noise: Option<LocatedTexts>,
    pub(crate) others: Option<Located<String>>,
}

impl RawCookies {
    pub(crate) fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            pass: keys.texts("pass"),
            session: keys.texts("session"),
            key: keys.texts("key"),
            noise: keys.texts("noise"),
            others: keys.text("others"),
        }
    }
}
