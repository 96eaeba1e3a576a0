//! The keys by which the application's own counters go on counting.

use super::Texts;
use crate::issue::At;
use crate::reader::Keys;
use std::time::Duration;

/// In no table of their own.
#[derive(Debug, Default)]
pub(crate) struct RawCounters {
    pub(crate) nobody_cookies: Option<Texts>,
    pub(crate) beacon: Option<At<String>>,
    pub(crate) beacon_every: Option<At<Duration>>,
    pub(crate) view_beacon: Option<At<String>>,
}

impl RawCounters {
    pub(crate) fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            nobody_cookies: keys.texts("nobody-cookies"),
            beacon: keys.text("beacon"),
            beacon_every: keys.duration("beacon-every"),
            view_beacon: keys.text("view-beacon"),
        }
    }
}
