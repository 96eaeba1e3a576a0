//! Deadlines and bounds of requests to one origin.

use kasoku_wire::http1::{BodyLimits, HeadLimits};
use std::time::Duration;

/// The permissions that files made by a program do not get, unless the operator says otherwise (umask(2)).
pub const UMASK_DEFAULT: u32 = 0o022;

/// Deadlines and bounds of requests to one origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginLimits {
    /// The longest time for a new connection, name resolution included. Default 5 s. Over: 504.
    pub connect_timeout: Duration,
    /// The longest time from the end of the request to the response's head. Default 60 s. Over: 504.
    pub first_byte_timeout: Duration,
    /// The longest pause within the response's body, or while the origin reads nothing of the request's. Default 60 s.
    pub between_bytes_timeout: Duration,
    /// Connections in use to one origin at a time, over all workers. Default 1024. Further requests wait for a free one.
    pub connections_max: usize,
    /// Requests that wait for a connection to one origin. Default 1024. Over: 503.
    pub queue_requests_max: usize,
    /// How long a request waits for a connection. Default 10 s. Over: 503.
    pub queue_timeout: Duration,
    /// How long an idle connection is kept for reuse. Default 30 s.
    pub idle_timeout: Duration,
    /// Idle connections that one worker keeps to one origin. Default 32.
    pub idle_connections_max: usize,
    /// How long a connection is used, however busy it is. Default 1 h.
    pub keepalive_time: Duration,
    /// Requests that one connection carries. Default 1000.
    pub keepalive_requests_max: usize,
    /// How old the addresses of an origin's name get before it is resolved anew. Default 30 s.
    pub dns_ttl: Duration,
    /// Idle connections that the whole program keeps to one FastCGI application server. Default 0: each is closed after its answer,
    /// since php-fpm gives a child to each connection, whether it is used or not.
    pub kept_connections_max: usize,
    /// How long a request with `Expect: 100-continue` waits for the origin's 100 before the body is sent anyway. Default 1 s.
    pub continue_timeout: Duration,
    /// Bounds of programs that are run for one request (CGI).
    pub programs: ProgramLimits,
    /// Bounds of the response's head.
    pub head: HeadLimits,
    /// Bounds of chunk lines and trailers in the response.
    pub body: BodyLimits,
}

impl Default for OriginLimits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            first_byte_timeout: Duration::from_secs(60),
            between_bytes_timeout: Duration::from_secs(60),
            connections_max: 1024,
            queue_requests_max: 1024,
            queue_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(30),
            idle_connections_max: 32,
            keepalive_time: Duration::from_secs(3600),
            keepalive_requests_max: 1000,
            dns_ttl: Duration::from_secs(30),
            kept_connections_max: 0,
            continue_timeout: Duration::from_secs(1),
            programs: ProgramLimits::default(),
            head: HeadLimits::default(),
            body: BodyLimits::default(),
        }
    }
}

/// Bounds of programs that are run for one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramLimits {
    /// Programs that run at a time, over all workers and routes. Default 32. Further requests wait, as for a connection
    /// ([`OriginLimits::queue_requests_max`], [`OriginLimits::queue_timeout`]).
    pub processes_max: usize,
    /// How long a program may run, its work after the answer included. Default 5 min. Over: 504, and Kasoku ends it.
    pub run_timeout: Duration,
    /// The address space of each process, in bytes. Default: no bound.
    pub memory_bytes_max: Option<u64>,
    /// The processor time of each process, rounded up to seconds. Default: no bound.
    pub cpu_max: Option<Duration>,
    /// The permissions that files made by a program do not get (umask(2)). Default 0022.
    pub umask: u32,
}

impl Default for ProgramLimits {
    fn default() -> Self {
        Self {
            processes_max: 32,
            run_timeout: Duration::from_secs(300),
            memory_bytes_max: None,
            cpu_max: None,
            umask: UMASK_DEFAULT,
        }
    }
}
