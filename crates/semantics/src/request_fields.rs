//! Decides for each kind of request field what becomes of it: one table, for requests whose response may be shared.
//!
//! Where the operator grants a lifetime, the application gets none of the client's fields but those in the key (see [`grant`]). That
//! is right for fields that each client sends whatever it wants, and wrong for a field by which a program asks for something else: an
//! API key, a fragment of a page, a WebDAV depth. Its client would get the page for all visitors. Nobody can list all such fields, so
//! the table lists the others: fields of browsers, robots, feed readers and players, of proxies and networks, of caches, of traces.
//! A request with any other field passes, unless the field is in the key (`key-fields`).
//!
//! Where the application itself says that its response may be shared, it knows by which fields it chooses, and names them in `Vary`.
//! There the second column counts: a field goes on to the application, or [`forward`] keeps it back because `Vary` can't protect
//! from it ([`unkeyed`]).
//!
//! Three fields are judged by their values: Accept ([`accept_class`]), X-Requested-With and Origin. A fourth rule is for responses:
//! a `Vary` that names a withheld field says that the response is wrong for some of the clients that share it ([`unseen`]).
//!
//! Each hit asks this for each of its fields. So a name is looked for only among names of its length, and among families that
//! begin with its letter; nothing is allocated.
//!
//! [`forward`]: mod@crate::forward
//! [`grant`]: crate::grant
//! [`unkeyed`]: crate::unkeyed

mod accept;
mod table;

pub use accept::{AcceptClass, accept_class};

use crate::grant::Grant;
use crate::our_fields::is_any;
use crate::unkeyed::is_unkeyed;
use kasoku_wire::Fields;

/// What becomes of a field where a lifetime is granted, if it is not in the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granted {
    /// It is not sent on, and no application answers by it: it is about the connection, the cache, or the coding.
    Aside,
    /// It is not sent on. An application may answer by it, but a client sends it whatever it asks for.
    Withheld,
    /// Its value decides.
    ByValue(ValueRule),
    /// The request passes: by the field its client asks for something else, or says who it is.
    Passes,
}

/// How a value decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueRule {
    /// See [`accept_class`].
    Accept,
    /// Another site needs an answer of its own.
    Origin,
    /// A script wants another answer, and an Android WebView names its package with each request.
    RequestedWith,
}

/// What becomes of a field where the application itself says that its response may be shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stated {
    /// It goes on to the application, which has to name it in `Vary` if it answers by it.
    SentOn,
    /// It is not sent on.
    Removed,
    /// It is for Kasoku, which writes its own or none for the application.
    Own,
}

/// A kind of fields.
pub(crate) struct FieldKind {
    granted: Granted,
    #[cfg_attr(not(test), expect(dead_code, reason = "`forward` does this; the tests compare"))]
    stated: Stated,
    /// Names, in lower case.
    names: &'static [&'static str],
    /// Beginnings of names, in lower case.
    families: &'static [&'static str],
}

/// The names of the fields by which a request passes where a lifetime is granted.
pub fn passing<'r>(request: &'r Fields, grant: &Grant) -> impl Iterator<Item = &'r [u8]> {
    let passes = |(name, value): &(&[u8], &[u8])| passes(name, value, request) && !grant.reaches_origin(name);
    request.iter().filter(passes).map(|(name, _)| name)
}

fn passes(name: &[u8], value: &[u8], request: &Fields) -> bool {
    match granted(name) {
        Granted::Aside | Granted::Withheld => false,
        Granted::Passes => true,
        // All lines are one list.
        Granted::ByValue(ValueRule::Accept) => accept_class(request) == AcceptClass::Other,
        Granted::ByValue(ValueRule::Origin) => !names_host(value, request),
        Granted::ByValue(ValueRule::RequestedWith) => !is_package(value),
    }
}

/// What becomes of a field of that name where a lifetime is granted, if it is not in the key.
pub fn granted(name: &[u8]) -> Granted {
    table::find(name).unwrap_or_else(|| {
        if is_unkeyed(name, false) || is_of_a_proxy(name) { Granted::Withheld } else { Granted::Passes }
    })
}

/// The first field that `Vary` nominates and that no application has seen when it made a shared response: its answers to other
/// clients may differ by it. `nominated`: lower case.
pub fn unseen<'v>(nominated: &'v [String], grant: &Grant) -> Option<&'v String> {
    // The cookies of the key are sent, other cookies make a request pass or change nothing. The scheme and the host are in the key.
    let is_seen = |name: &str| {
        let is_key = name.starts_with("x-forwarded-") && name != "x-forwarded-for";
        is_key || grant.reaches_origin(name.as_bytes())
    };
    nominated.iter().find(|name| granted(name.as_bytes()) == Granted::Withheld && !is_seen(name))
}

/// Endings of the names of fields that number requests, or that hold the client's address, under any vendor's prefix.
const ENDINGS: [&[u8]; 13] = [
    b"-client-ip",
    b"-clientip",
    b"-connecting-ip",
    b"-correlation-id",
    b"-forwarded-for",
    b"-real-ip",
    b"-remote-ip",
    b"-request-id",
    b"-request-uuid",
    b"-span-id",
    b"-trace-id",
    b"-transaction-id",
    b"-unique-id",
];

fn is_of_a_proxy(name: &[u8]) -> bool {
    let ends_with = |ending: &&[u8]| {
        let start = name.len().checked_sub(ending.len());
        start.and_then(|start| name.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(ending))
    };
    ENDINGS.iter().any(ends_with)
}

/// Whether a value of X-Requested-With is the name of an Android package, as a WebView sends it with each request.
fn is_package(value: &[u8]) -> bool {
    let is_segment = |segment: &[u8]| {
        segment.first().is_some_and(u8::is_ascii_alphabetic)
            && segment.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    value.contains(&b'.') && value.split(|byte| *byte == b'.').all(is_segment)
}

/// Whether an Origin names the host that the request is for: then the page needs no permission to be read (CORS), and the answer is
/// the one without Origin.
fn names_host(origin: &[u8], request: &Fields) -> bool {
    let host = |scheme: &[u8]| origin.get(..scheme.len()).filter(|start| start.eq_ignore_ascii_case(scheme));
    let authority =
        [&b"https://"[..], b"http://"].iter().find_map(|scheme| host(scheme).and(origin.get(scheme.len()..)));
    authority.is_some_and(|authority| {
        !authority.is_empty() && request.only("host").is_some_and(|host| host.eq_ignore_ascii_case(authority))
    })
}

/// Whether a field of that name is likely to hold a credential. Such a field never belongs into a key: each client has its own.
pub fn names_credential(name: &[u8]) -> bool {
    const WORDS: [&[u8]; 12] = [
        b"auth",
        b"token",
        b"key",
        b"secret",
        b"session",
        b"user",
        b"nonce",
        b"password",
        b"cookie",
        b"jwt",
        b"signature",
        b"cert",
    ];
    let has = |word: &&[u8]| name.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    WORDS.iter().any(has) || is_any(name, &["dpop"])
}

#[cfg(test)]
#[path = "request_fields/tests.rs"]
mod tests;
