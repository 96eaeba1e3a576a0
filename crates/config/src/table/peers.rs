//! Purges between front ends.

use super::{Default, ROW, Section, Setting, SettingKind};

pub(super) static PEERS: Section = Section {
    title: "Purges between front ends",
    intro: "Several Kasokus without a shared tier tell each other what is purged. These keys stand at the top of the file. [The page for operators](peers.md) says how soon a purge holds everywhere, and what happens if one of them was away.",
    settings: &[
        Setting {
            path: "peers",
            kind: SettingKind::Texts("addresses"),
            default: Default::Unset("purges hold here alone"),
            summary: "The other front ends, each `\"host:port\"` as its `peers-listen` says. At most 64.",
            details: "Each front end lists all others. It writes its purges to them, and reads theirs. Not beside a shared tier: its front ends hear of each other's purges there.",
            example: "[\"10.0.0.2:6082\", \"10.0.0.3:6082\"]",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "peers-listen",
            kind: SettingKind::Text("listening address"),
            default: Default::Unset("no listener; with `peers` it must be written"),
            summary: "Where the other front ends reach this one: an address of a private network, and a port of its own.",
            details: "The connections are not encrypted, so let only the peers reach it.",
            example: "\"10.0.0.1:6082\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "peers-token-file",
            kind: SettingKind::Text("path"),
            default: Default::Unset("no token; with `peers` it must be written"),
            summary: "A file with a token of at least 16 bytes, the same for all these front ends. Without it, a client can neither purge nor ask for purges.",
            details: "Users other than its owner and group must not be able to open it (`chmod o=`). A final newline does not count.",
            example: "\"/etc/kasoku/peers.token\"",
            is_read_at_start: true,
            ..ROW
        },
    ],
};
