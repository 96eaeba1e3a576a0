//! Table rows for several origins of a site or rule, and for when one of them counts as down.

use super::{Default, EVERYWHERE, ROW, Section, Setting, SettingKind, SettingScope, deadline};
use std::time::Duration;

/// A row of one of `origin`, written as a table.
const OF_ONE: Setting = Setting { scopes: &[SettingScope::Origin], ..ROW };

pub(super) static SEVERAL: Section = Section {
    title: "Several origins",
    intro: "`origin` of a site or rule may be a list. Each of it is a text, or a table with the keys below; \
`[[site.origin]]` is the same as a table in the list. Sites, rules and workers that name the same address share what is \
known of it. See [operations](operations.md#several-origins).",
    settings: &[
        Setting {
            path: "balance",
            kind: SettingKind::OneOf(&["first", "round-robin", "hash"]),
            default: Default::Value("\"first\""),
            summary: "Which of several origins is asked: the first that can be, each in turn by weight, or one by what is asked for.",
            details: "With `\"first\"`, the others stand in for the first. With `\"hash\"`, an origin that goes hands over its own share of the URLs alone, and gets it back when it returns.",
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
            summary: "Its part of the requests, in proportion to the weights of the others.",
            example: "3",
            ..OF_ONE
        },
        Setting { path: "backup", summary: "Whether it is asked only when none of the others can be.", ..OF_ONE },
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
    intro: "An origin to which no connection can be made several times in a row is down: others are asked instead, and now and then one request \
tries it, or at once when no other can be asked. One that loses connections or answers too late several times in a row is asked after all others. With \
`origin-health.path`, Kasoku also asks by itself.",
    settings: &[
        Setting {
            path: "origin-health.failures",
            kind: SettingKind::Integer { min: 0, max: 1000 },
            default: Default::Value("3"),
            summary: "Failures in a row until others are asked instead of an origin. 0: it is always asked.",
            details: "Connections that fail, are closed or reset before an answer, answers that are not HTTP, and timeouts. Statuses of 5xx do not count: they tell about one page.",
            example: "1",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-health.back-off",
            kind: deadline(1),
            default: Default::Value("\"1s\""),
            summary: "From one request that tries it to the next, while other origins are asked instead; and at most from one check to the next.",
            details: "It doubles, up to 10 seconds, while an origin accepts connections and lets the requests that try it wait for an answer.",
            example: "\"5s\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-health.path",
            kind: SettingKind::Text("path"),
            default: Default::Unset("no active checks"),
            summary: "Path and query of a GET by which Kasoku itself finds out whether each origin works.",
            details: "One check at a time for each origin, from one thread, on connections of their own. `Host` is `origin-host`, or the origin's address. Where two rules check the same origin, the first holds. A check that passes brings an origin back; three in a row that fail take it down.",
            example: "\"/healthz\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-health.interval",
            kind: deadline(100),
            default: Default::Value("\"5s\""),
            summary: "From the end of a check to the next. While the origin is not up, `origin-health.back-off` if that is less.",
            example: "\"1s\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-health.timeout",
            kind: SettingKind::Duration { min: Duration::from_millis(1), max: Duration::from_secs(3600) },
            default: Default::Value("\"2s\""),
            summary: "For a whole check, the connection included. Over: it has failed.",
            example: "\"500ms\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-health.expect",
            kind: SettingKind::Text("statuses"),
            default: Default::Value("\"200-399\""),
            summary: "The statuses with which a check passes: one, or the first and the last.",
            example: "\"200\"",
            ..EVERYWHERE
        },
    ],
};
