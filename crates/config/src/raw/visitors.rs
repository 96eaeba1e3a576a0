//! The keys that tell visitors and their sessions apart.

use super::Texts;
use crate::issue::At;
use crate::reader::Keys;
use std::time::Duration;

/// In no table of their own, but for `[session]`.
#[derive(Debug, Default)]
pub(crate) struct RawVisitors {
    pub(crate) pass_urls: Option<Texts>,
    pub(crate) page_text: Option<Texts>,
    pub(crate) outage_text: Option<Texts>,
    pub(crate) private_text: Option<Texts>,
    pub(crate) refuse_urls: Option<Texts>,
    pub(crate) fresh_links: Option<Texts>,
    pub(crate) key_device: Option<At<bool>>,
    pub(crate) device_mobile_urls: Option<Texts>,
    pub(crate) device_desktop_urls: Option<Texts>,
    pub(crate) key_languages: Option<Texts>,
    pub(crate) session: RawSession,
}

/// `[session]`
#[derive(Debug, Default)]
pub(crate) struct RawSession {
    pub(crate) cookies: Option<Texts>,
    pub(crate) anonymous_cookies: Option<Texts>,
    pub(crate) logout: Option<Texts>,
    pub(crate) harmless_urls: Option<Texts>,
    pub(crate) stateful_urls: Option<Texts>,
    pub(crate) stateful_for: Option<At<Duration>>,
    pub(crate) probe: Option<At<String>>,
    pub(crate) probe_status: Option<At<u64>>,
    pub(crate) probe_text: Option<At<String>>,
    pub(crate) anonymous_for: Option<At<Duration>>,
    pub(crate) expire_after: Option<At<Duration>>,
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
            device_mobile_urls: keys.texts("device-mobile-urls"),
            device_desktop_urls: keys.texts("device-desktop-urls"),
            key_languages: keys.texts("key-languages"),
            session: keys.group("session", RawSession::read),
        }
    }
}

impl RawSession {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            cookies: keys.texts("cookies"),
            anonymous_cookies: keys.texts("anonymous-cookies"),
            logout: keys.texts("logout"),
            harmless_urls: keys.texts("harmless-urls"),
            stateful_urls: keys.texts("stateful-urls"),
            stateful_for: keys.duration("stateful-for"),
            probe: keys.text("probe"),
            probe_status: keys.integer("probe-status"),
            probe_text: keys.text("probe-text"),
            anonymous_for: keys.duration("anonymous-for"),
            expire_after: keys.duration("expire-after"),
        }
    }
}
