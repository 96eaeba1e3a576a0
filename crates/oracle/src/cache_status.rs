//! Cache-Status (RFC 9211) as a client reads it.

use crate::wire::Fields;

/// What the cache says it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheStatus {
    /// Answered without the origin.
    pub hit: bool,
    /// Why the request went on.
    pub fwd: Option<String>,
    /// The origin's answer is being stored.
    pub stored: bool,
    /// Another request's answer was awaited.
    pub collapsed: bool,
    /// By which rule.
    pub detail: Option<String>,
}

impl CacheStatus {
    /// Reads the only member that there can be here.
    pub fn of(fields: &Fields) -> Self {
        let mut status = Self::default();
        for parameter in fields.only("cache-status").unwrap_or_default().split(';').skip(1) {
            match parameter.trim().split_once('=') {
                None => match parameter.trim() {
                    "hit" => status.hit = true,
                    "stored" => status.stored = true,
                    "collapsed" => status.collapsed = true,
                    _ => {}
                },
                Some(("fwd", value)) => status.fwd = Some(value.to_owned()),
                Some(("detail", value)) => status.detail = Some(value.to_owned()),
                Some(_) => {}
            }
        }
        status
    }
}
