//! The session of a request's sender, and whether it is known to be anonymous.

use crate::session::contents::is_shown_by;
use crate::session::table::{SessionPlace, SessionStatus, Sessions, says_anonymous};
use kasoku_options::{SessionRules, UrlPattern};
use kasoku_wire::Fields;

/// The session of a request's sender, and whether it is known to be anonymous.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestIdentity {
    /// The session that the request carries.
    pub session: Option<SessionStatus>,
    /// Whether the sender is known to be anonymous.
    pub is_anonymous: bool,
}

/// What is known of the visitor behind a request to `place`; `None`: the request has no cookie, or the rules know no session.
/// `fits` says whether the request's URL fits a pattern.
pub fn identify(
    sessions: &Sessions,
    rules: &SessionRules,
    place: SessionPlace<'_>,
    request: &Fields,
    now_ms: u64,
    mut fits: impl FnMut(&UrlPattern) -> bool,
) -> Option<RequestIdentity> {
    if rules.cookies.is_empty() || !request.contains("cookie") {
        return None;
    }
    Some(match sessions.of(place, rules, request) {
        None => RequestIdentity { session: None, is_anonymous: says_anonymous(rules, request) == Some(true) },
        Some(id) => {
            let shows = |kind| is_shown_by(&rules.stateful_urls, kind, &mut fits);
            let session = sessions.status(id, rules, request, now_ms, shows);
            RequestIdentity { session: Some(session), is_anonymous: session.is_anonymous }
        }
    })
}
