//! Table rows for several origins of a site or rule, and for when one of them counts as down.

use super::{Default, EVERYWHERE, ROW, Section, Setting, SettingKind, SettingScope, deadline};
use std::time::Duration;

/// A row of one of `origin`, written as a table.
const OF_ONE: Setting = Setting { scopes: &[SettingScope::Origin], ..ROW };

pub(super) static SEVERAL: Section = Section {
    title: "Several origins",
    intro: "`origin` of a site or rule may be a list. Each entry is a text, or a table with the keys below; `[[site.origin]]` is the same as a table in the list. Sites, rules and workers that name the same address share what is known of it. See [operations](operations.md#several-origins).",
    settings: &[
        Setting {
            path: "balance",
            kind: SettingKind::OneOf(&["first", "round-robin", "hash"]),
            default: Default::Value("\"first\""),
            summary: "Which of several origins is asked: `\"first\"`: the first that can be asked; `\"round-robin\"`: each in turn, by weight; `\"hash\"`: the one that the URL of the key selects.",
            details: "With `\"first\"`, the others stand in for the first. With `\"hash\"`, when an origin goes down, only its own share of the URLs moves to the others, and moves back when it returns.",
            example: "\"round-robin\"",
            ..EVERYWHERE
        },
        Setting {
            path: "url",
            kind: SettingKind::Text("origin"),
            default: Default::Required,
            summary: "The address of an origin that is written as a table.",
            example: "\"http://127.0.0.1:8001\"",
            ..OF_ONE
        },
        Setting {
            path: "weight",
            kind: SettingKind::Integer { min: 1, max: 1000 },
            default: Default::Value("1"),
            summary: "The origin's share of the requests, in proportion to the weights of the others.",
            example: "3",
            ..OF_ONE
        },
        Setting {
            path: "backup",
            summary: "Whether the origin is asked only when none of the others can be asked.",
            ..OF_ONE
        },
        Setting {
            path: "connections-max",
            kind: SettingKind::Integer { min: 1, max: 65_536 },
            default: Default::Unset("`origin-limits.connections-max`"),
            summary: "Connections in use to this origin, over all workers and rules.",
            example: "16",
            ..OF_ONE
        },
    ],
};

pub(super) static HEALTH: Section = Section {
    title: "Health of origins",
    intro: "An origin to which no connection could be made several times in a row is down: others are asked instead, and now and then one request tries it, or at once when no other can be asked. An origin that loses connections or answers too late several times in a row is asked after all others. With `origin-health.path`, Kasoku also checks origins by itself.",
    settings: &[
        Setting {
            path: "origin-health.failures",
            kind: SettingKind::Integer { min: 0, max: 1000 },
            default: Default::Value("3"),
            summary: "Failures in a row after which other origins are asked instead of this one. 0: it is always asked.",
            details: "A connection that fails, or that is closed or reset before an answer, an answer that is not HTTP, and a timeout are failures. A status of 5xx is not: it tells about one page.",
            example: "1",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-health.back-off",
            kind: deadline(1),
            default: Default::Value("\"1s\""),
            summary: "The time from one request that tries an origin to the next, while other origins are asked instead of it. It is also the longest time between two checks then.",
            details: "It doubles, up to 10 seconds, while the origin accepts connections but does not answer the requests that try it.",
            example: "\"5s\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-health.path",
            kind: SettingKind::Text("path"),
            default: Default::Unset("no active checks"),
            summary: "Path and query of the GET request by which Kasoku checks whether each origin works.",
            details: "One check at a time for each origin, from one thread, on connections of their own. `Host` is `origin-host`, or the origin's address. If two rules check the same origin, the first one's check counts. A check that passes brings an origin back; three in a row that fail take it down.",
            example: "\"/healthz\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-health.interval",
            kind: deadline(100),
            default: Default::Value("\"5s\""),
            summary: "The time from the end of a check to the next. While the origin is not up, it is `origin-health.back-off`, if that is shorter.",
            example: "\"1s\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-health.timeout",
            kind: SettingKind::Duration { min: Duration::from_millis(1), max: Duration::from_secs(3600) },
            default: Default::Value("\"2s\""),
            summary: "How long a whole check may take, the connection included. After that it has failed.",
            example: "\"500ms\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-health.expect",
            kind: SettingKind::Text("statuses"),
            default: Default::Value("\"200-399\""),
            summary: "The statuses with which a check passes: one, or the first and the last of a range.",
            example: "\"200\"",
            ..EVERYWHERE
        },
    ],
};
