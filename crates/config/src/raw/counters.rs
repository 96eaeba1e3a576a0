//! The keys that keep the application's own counters counting.

use super::LocatedTexts;
use crate::issue::Located;
use crate::reader::Keys;

/// Keys that stand in no table of their own.
#[derive(Debug, Default)]
pub(crate) struct RawCounters {
    pub(crate) anonymous_request_cookies: Option<LocatedTexts>,
    pub(crate) beacon: Option<Located<String>>,
    pub(crate) view_beacon: Option<Located<String>>,
}

impl RawCounters {
    pub(crate) fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            anonymous_request_cookies: keys.texts("anonymous-request-cookies"),
            beacon: keys.text("beacon"),
            view_beacon: keys.text("view-beacon"),
        }
    }
}
