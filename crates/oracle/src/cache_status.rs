//! Cache-Status (RFC 9211) as a client reads it.

use crate::wire::Fields;

/// What the cache says that it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheStatus {
    /// The cache answered without asking the origin.
    pub hit: bool,
    /// Why the request went to the origin.
    pub fwd: Option<String>,
    /// The cache stores the origin's answer.
    pub stored: bool,
    /// The request has joined another request's fill.
    pub collapsed: bool,
    /// The rule that decided.
    pub detail: Option<String>,
}

impl CacheStatus {
    /// Reads the field, which has one member here.
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
