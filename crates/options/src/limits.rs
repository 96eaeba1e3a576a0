//! Bounds and deadlines of clients' connections and requests.

use kasoku_wire::http1::{BodyLimits, HeadLimits};
use std::time::Duration;

/// Bounds and deadlines of clients' connections and requests. Each field limits one connection or message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientLimits {
    /// Request head: its bytes, the bytes of the request-target, the number of fields. Over: 431 or 414.
    pub head: HeadLimits,
    /// Chunk lines and trailers of bodies.
    pub body: BodyLimits,
    /// The largest request body, in bytes. Default 1 GiB. Over: 413.
    pub request_body_bytes_max: u64,
    /// A head must be complete this long after its first byte. Default 10 s. Over: 408.
    pub head_timeout: Duration,
    /// A kept connection may be idle this long. Default 75 s.
    pub idle_timeout: Duration,
    /// The longest pause between two pieces of a request body. Default 30 s. Over: 408.
    pub body_timeout: Duration,
    /// The least that a client must send of a request body, in bytes per second, on average over the last
    /// [`ClientLimits::body_timeout`]. Default 500; 0: no limit. Below: 408.
    pub body_rate_min: u64,
    /// The longest time in which the client takes nothing of the response; bytes that wait in the kernel are not taken. Over: the
    /// connection is cut. Default 30 s.
    pub send_timeout: Duration,
    /// The least that a client must take of its response while memory is short, in bytes per second. Default 4 KiB; 0: no limit.
    /// Below: the connection is cut.
    pub send_rate_min: u64,
    /// Requests on one connection before it is closed. Default 1,000,000; 0: no limit.
    pub requests_per_connection_max: u64,
    /// Connections of one worker, if five eighths of the descriptors are enough; more wait in the kernel's queue, and those close that
    /// have waited longest for a request. Default 16,384.
    pub connections_max: usize,
    /// Connections of one client's address at once, an IPv6 network of 64 bits being one; `None`: any number. Trusted proxies have no
    /// limit. Over: closed without an answer.
    pub connections_per_address: Option<usize>,
    /// Files that each worker keeps open, to answer further requests with them. Default 1,000; 0: none.
    pub open_files_max: usize,
    /// How long running requests may take to end once the program has been told to stop. Default 10 s.
    pub drain_timeout: Duration,
    /// How long an idle connection may wait for a request once the program has been told to stop, so that a request on its way is
    /// answered. Default 1 s.
    pub drain_idle_timeout: Duration,
    /// How long a client waits for another client's fill. Then a stale response answers, where it may; otherwise the origin is
    /// asked once more, for all clients that wait. Default 30 s.
    pub fill_wait_max: Duration,
    /// How many fetches a second one client may begin where a lifetime is granted, by its address; twenty times as many at once.
    /// Default 30; 0: no limit. Over: a stale response, or 429.
    pub client_misses_max: u64,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            head: HeadLimits::default(),
            body: BodyLimits::default(),
            request_body_bytes_max: 1 << 30,
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            body_timeout: Duration::from_secs(30),
            body_rate_min: 500,
            send_timeout: Duration::from_secs(30),
            send_rate_min: 4 << 10,
            requests_per_connection_max: 1_000_000,
            connections_max: 16_384,
            connections_per_address: None,
            open_files_max: 1000,
            drain_timeout: Duration::from_secs(10),
            drain_idle_timeout: Duration::from_secs(1),
            fill_wait_max: Duration::from_secs(30),
            client_misses_max: 30,
        }
    }
}
