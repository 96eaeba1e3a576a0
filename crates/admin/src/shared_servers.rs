//! The numbers of each server of the shared tier, for `/metrics` and `/stats`.

use crate::snapshot::seconds;
use kasoku_cache::shared::ServerStatus;

/// A number that each server has.
pub(crate) struct OfServer {
    /// The name in both formats, without prefix and suffix.
    pub(crate) name: &'static str,
    /// Whether it only grows.
    pub(crate) is_counter: bool,
    /// One sentence for people.
    pub(crate) help: &'static str,
    number: ServerNumber,
}

enum ServerNumber {
    Count(fn(&ServerStatus) -> u64),
    /// In microseconds.
    Time(fn(&ServerStatus) -> u64),
}

impl OfServer {
    const fn counter(name: &'static str, help: &'static str, read: fn(&ServerStatus) -> u64) -> Self {
        Self { name, is_counter: true, help, number: ServerNumber::Count(read) }
    }

    /// The value for a server; a time is in seconds.
    pub(crate) fn value(&self, server: &ServerStatus) -> String {
        match self.number {
            ServerNumber::Count(read) => read(server).to_string(),
            ServerNumber::Time(read) => seconds(read(server)),
        }
    }
}

/// All numbers of a server. The configuration decides how many servers there are.
pub(crate) const OF_SERVER: &[OfServer] = &[
    OfServer {
        name: "shared_server_up",
        is_counter: false,
        help: "1: the server is asked for responses; 0: it has failed, or its log of purges could not be read of late.",
        number: ServerNumber::Count(|server| server.is_usable.into()),
    },
    OfServer::counter(
        "shared_server_outages",
        "Times that the server went from 1 to 0 in shared_server_up.",
        |server| server.outages,
    ),
    OfServer {
        name: "shared_server_log_age_seconds",
        is_counter: false,
        help: "Seconds since the server's log of purges was last read; since the start if it never was. Above 1, the server is not asked.",
        number: ServerNumber::Time(|server| server.log_age_ms.saturating_mul(1000)),
    },
    OfServer::counter("shared_server_gets", "Items that the server was asked for.", |server| server.gets),
    OfServer::counter("shared_server_hits", "Items that the server was asked for, and had.", |server| server.hits),
    OfServer::counter(
        "shared_server_sets",
        "Items that the server was to store, leases and records of purges included.",
        |server| server.sets,
    ),
    OfServer::counter(
        "shared_server_errors",
        "Operations that failed or that the server refused, without timeouts.",
        |server| server.errors,
    ),
    OfServer::counter("shared_server_timeouts", "Operations without an answer within shared.timeout.", |server| {
        server.timeouts
    }),
    OfServer::counter(
        "shared_server_busy",
        "Operations that were not tried, since too many waited for the server already.",
        |server| server.busy,
    ),
    OfServer::counter("shared_server_received_bytes", "Bytes received from the server.", |server| server.bytes_in),
    OfServer::counter("shared_server_sent_bytes", "Bytes sent to the server.", |server| server.bytes_out),
    OfServer::counter(
        "shared_server_replies",
        "Operations that the server answered, readings of its log included.",
        |server| server.replies,
    ),
    OfServer {
        name: "shared_server_reply_seconds",
        is_counter: true,
        help: "Seconds that the operations of shared_server_replies took, all together.",
        number: ServerNumber::Time(|server| server.reply_us),
    },
    OfServer {
        name: "shared_server_reply_max_seconds",
        is_counter: false,
        help: "Seconds that the longest of these operations took.",
        number: ServerNumber::Time(|server| server.reply_max_us),
    },
];
