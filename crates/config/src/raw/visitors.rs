//! The keys that tell visitors and their sessions apart.

use super::LocatedTexts;
use crate::issue::Located;
use crate::reader::Keys;
use std::time::Duration;

/// Keys that stand in no table of their own, except those of `[session]`.
#[derive(Debug, Default)]
pub(crate) struct RawVisitors {
    pub(crate) pass_urls: Option<LocatedTexts>,
    pub(crate) page_text: Option<LocatedTexts>,
    pub(crate) outage_text: Option<LocatedTexts>,
    pub(crate) private_text: Option<LocatedTexts>,
    pub(crate) refuse_urls: Option<LocatedTexts>,
    pub(crate) fresh_links: Option<LocatedTexts>,
    pub(crate) key_device: Option<Located<bool>>,
    pub(crate) device_urls: Option<LocatedTexts>,
    pub(crate) key_languages: Option<LocatedTexts>,
    pub(crate) session: RawSession,
}

/// `[session]`
#[derive(Debug, Default)]
pub(crate) struct RawSession {
    pub(crate) anonymous_cookies: Option<LocatedTexts>,
    pub(crate) logout: Option<LocatedTexts>,
    pub(crate) harmless_urls: Option<LocatedTexts>,
    pub(crate) stateful_urls: Option<LocatedTexts>,
    pub(crate) stateful_for: Option<Located<Duration>>,
    pub(crate) probe: Option<Located<String>>,
    pub(crate) anonymous_for: Option<Located<Duration>>,
    pub(crate) expire_after: Option<Located<Duration>>,
}

impl RawVisitors {
    pub(crate) fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            pass_urls: keys.texts("pass-urls"),
            page_text: keys.texts("page-text"),
            outage_text: keys.texts("outage-text"),
            private_text: keys.texts("private-text"),
            refuse_urls: keys.texts("refuse-urls"),
            fresh_links: keys.texts("fresh-links"),
            key_device: keys.flag("key-device"),
            device_urls: keys.texts("device-urls"),
            key_languages: keys.texts("key-languages"),
            session: keys.group("session", RawSession::read),
        }
    }
}

impl RawSession {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            anonymous_cookies: keys.texts("anonymous-cookies"),
            logout: keys.texts("logout"),
            harmless_urls: keys.texts("harmless-urls"),
            stateful_urls: keys.texts("stateful-urls"),
            stateful_for: keys.duration("stateful-for"),
            probe: keys.text("probe"),
            anonymous_for: keys.duration("anonymous-for"),
            expire_after: keys.duration("expire-after"),
        }
    }
}
