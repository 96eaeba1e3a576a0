//! The data of one access log line. Everything is borrowed: a line is written at once or not at all.

use crate::observe::timing::OriginTime;
use crate::request::request_id::RequestId;
use http::{StatusCode, Version};
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::reason::Reason;
use std::net::IpAddr;

/// A request and its answer, as the log tells them.
#[derive(Clone, Copy)]
pub(crate) struct Record<'r> {
    /// The request's id.
    pub(crate) id: RequestId<'r>,
    /// The client's address; `None` for a client on a Unix socket, see [`client`](kasoku_semantics::client_address::client).
    pub(crate) client: Option<IpAddr>,
    /// The request; `None` where the client sent no valid request.
    pub(crate) asked: Option<LoggedRequest<'r>>,
    /// The status that the client got; 499 when it left before it got anything.
    pub(crate) status: StatusCode,
    /// Bytes of content that were sent, without framing.
    pub(crate) body_bytes: u64,
    /// Whether the answer went out to its end.
    pub(crate) is_whole: bool,
    /// How the request was counted: the value of the label `result` in `/metrics`.
    pub(crate) result: &'static str,
    /// What the cache did; `None` where the cache was not asked.
    pub(crate) cache: Option<&'r CacheStatus>,
    /// Why the answer is what it is.
    pub(crate) reason: Option<Reason>,
    /// From the request's head to the last byte of the answer, in microseconds; `None` where there was no valid request.
    pub(crate) duration_us: Option<u64>,
    /// How long the origin took; `None` where it was not needed.
    pub(crate) origin: Option<&'r OriginTime>,
}

/// The logged parts of a request. Their bytes are the client's: no byte of them may break a line.
#[derive(Clone, Copy)]
pub(crate) struct LoggedRequest<'r> {
    pub(crate) method: &'r str,
    /// The request-target as sent.
    pub(crate) target: &'r str,
    pub(crate) version: Version,
    /// The effective request URI; the target as sent where that URI is not known.
    pub(crate) uri: &'r str,
    /// `Host` as sent.
    pub(crate) host: Option<&'r [u8]>,
    pub(crate) referer: Option<&'r [u8]>,
    pub(crate) user_agent: Option<&'r [u8]>,
}

impl<'r> LoggedRequest<'r> {
    /// `http` or `https`, where the effective URI is known.
    pub(crate) fn scheme(&self) -> Option<&'r str> {
        self.absolute().map(|(scheme, _)| scheme)
    }

    /// Host and port of the effective URI; `Host` as sent where that URI is not known.
    pub(crate) fn authority(&self) -> Option<&'r [u8]> {
        let authority =
            self.absolute().map(|(_, rest)| rest.find(['/', '?', '*']).and_then(|end| rest.get(..end)).unwrap_or(rest));
        authority.map(str::as_bytes).or(self.host)
    }

    fn absolute(&self) -> Option<(&'r str, &'r str)> {
        self.uri.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https"))
    }
}
