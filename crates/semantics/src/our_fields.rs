//! Lists the request fields that Kasoku writes itself, whatever the client sent.

use crate::unkeyed::is_same;

/// Each request for an origin has these, and those that begin with [`X_FORWARDED`], with values of Kasoku's own.
const WRITTEN: [&str; 3] = ["host", "forwarded", "x-real-ip"];
const X_FORWARDED: &[u8] = b"x-forwarded-";

/// Fields that no client may write: Kasoku frames the body and numbers the request. Transfer-Encoding is gone by then, but not names
/// that others take for it. `Proxy` is no registered field, but CGI programs take it for a setting (httpoxy). By the last two a proxy
/// tells Rack how to hand over files, and where their paths lead.
const REFUSED: [&str; 6] =
    ["content-length", "transfer-encoding", "proxy", "x-request-id", "x-accel-mapping", "x-sendfile-type"];

/// Fields that a probe keeps besides: [`forward`](crate::forward) writes Via, and takes the client's members only in profile rfc. The
/// client chose Range, but fills of different ranges are different fills.
const KEPT_IN_PROBES: [&str; 2] = ["via", "range"];

/// Whether Kasoku writes a field of that name itself or leaves it out, whatever the client sent.
pub(crate) fn is_ours(name: &[u8]) -> bool {
    is_written(name) || is_any(name, &REFUSED)
}

/// Whether a probe keeps a field of that name in the request that [`forward`](crate::forward) has made of a client's.
pub(crate) fn is_kept_in_probes(name: &[u8]) -> bool {
    is_written(name) || is_any(name, &KEPT_IN_PROBES)
}

fn is_written(name: &[u8]) -> bool {
    let is_x_forwarded = name.get(..X_FORWARDED.len()).is_some_and(|start| is_same(start, X_FORWARDED));
    is_x_forwarded || is_any(name, &WRITTEN)
}

/// Whether applications read the name as one of these.
pub(crate) fn is_any(name: &[u8], names: &[&str]) -> bool {
    names.iter().any(|one| is_same(name, one.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_applications_take_for_ours_are_ours() {
        for name in [
            "X-Forwarded-For",
            "x_forwarded_for",
            "X-Forwarded_Port",
            "Forwarded",
            "HOST",
            "Proxy",
            "Transfer_Encoding",
            "X-Real-IP",
            "x_real_ip",
            "X-Sendfile-Type",
            "X_Accel_Mapping",
        ] {
            assert!(is_ours(name.as_bytes()), "{name}");
        }
        for name in ["X-Forwarded", "X-For", "Hostess"] {
            assert!(!is_ours(name.as_bytes()), "{name}");
        }
    }
}
