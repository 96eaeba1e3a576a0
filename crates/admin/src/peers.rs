//! The numbers of each peer, for `/metrics` and `/stats`.

use crate::snapshot::seconds;
use kasoku_cache::purge_exchange::PeerStatus;

/// A number that each peer has.
pub(crate) struct OfPeer {
    /// The name in both formats, without prefix and suffix.
    pub(crate) name: &'static str,
    /// Whether it only grows.
    pub(crate) is_counter: bool,
    /// One sentence for people.
    pub(crate) help: &'static str,
    /// The value for a peer; a time is in seconds.
    pub(crate) value: fn(&PeerStatus) -> String,
}

/// All numbers of a peer. The configuration decides how many peers there are.
pub(crate) const OF_PEER: &[OfPeer] = &[
    OfPeer {
        name: "peer_up",
        is_counter: false,
        help: "1: the peer's log of purges was read within the last second; 0: purges of one do not reach the other at present.",
        value: |peer| u64::from(peer.is_up).to_string(),
    },
    OfPeer {
        name: "peer_outages",
        is_counter: true,
        help: "Times that the peer went from 1 to 0 in peer_up.",
        value: |peer| peer.outages.to_string(),
    },
    OfPeer {
        name: "peer_log_age_seconds",
        is_counter: false,
        help: "Seconds since the peer's log of purges was last read; since the start if it never was.",
        value: |peer| seconds(peer.log_age_ms.saturating_mul(1000)),
    },
    OfPeer {
        name: "peer_errors",
        is_counter: true,
        help: "Operations that failed or that the peer refused, without timeouts.",
        value: |peer| peer.errors.to_string(),
    },
    OfPeer {
        name: "peer_timeouts",
        is_counter: true,
        help: "Operations without an answer in time.",
        value: |peer| peer.timeouts.to_string(),
    },
    OfPeer {
        name: "peer_replies",
        is_counter: true,
        help: "Operations that the peer answered.",
        value: |peer| peer.replies.to_string(),
    },
    OfPeer {
        name: "peer_reply_seconds",
        is_counter: true,
        help: "Seconds that the operations of peer_replies took, all together.",
        value: |peer| seconds(peer.reply_us),
    },
    OfPeer {
        name: "peer_reply_max_seconds",
        is_counter: false,
        help: "Seconds that the longest of these operations took.",
        value: |peer| seconds(peer.reply_max_us),
    },
];
