//! Table rows for the caching rules and the key. They may stand at the top, in a site and in a rule.

use super::{Default, EVERYWHERE, Section, Setting, SettingKind, YEAR};

/// A lifetime that is off by default.
const GRANT: Setting = Setting {
    kind: SettingKind::Seconds { max: YEAR },
    default: Default::Value("\"0s\""),
    example: "\"1m\"",
    ..EVERYWHERE
};

pub(super) static CACHE: Section = Section {
    title: "Caching",
    intro: "What a response itself states in `Cache-Control` and `Expires` comes first; these settings decide where it states nothing.",
    settings: &[
        Setting {
            path: "cache.heuristic-percent",
            kind: SettingKind::Integer { min: 0, max: 100 },
            default: Default::Value("10"),
            summary: "The lifetime of a response that states none: this percentage of the time since its `Last-Modified` (RFC 9111 section 4.2.2). 0: none.",
            details: "In profile `safe`, only these responses have it: types (`Content-Type`) that programs rarely make for one visitor, which are images, sound, video, fonts, style sheets, scripts and archives; any file where all origins are `file://`; any page where a lifetime is granted. The longest such lifetime is 1 day. Where all origins are `file://` and no level sets this key, it is 1 second: asking the disk costs next to nothing, and a changed file shows at once.",
            example: "20",
            ..EVERYWHERE
        },
        Setting {
            path: "cache.client-may-revalidate",
            default: Default::Value("false"),
            default_varies: true,
            summary: "Whether a client's `Cache-Control: no-cache`, `max-age` or `min-fresh` (a reload in the browser) makes Kasoku ask the origin.",
            details: "In profile `rfc` the default is `true`.",
            ..EVERYWHERE
        },
        Setting {
            path: "cache.negative-ttl",
            summary: "The lifetime of 404, 405, 410, 414 and 501 responses that state none.",
            details: "Only for requests without `Cookie` and `Authorization`. For a GET of these, the application gets another address in the place of the client's (`anonymous-request-addresses`), as with `ttl`.",
            ..GRANT
        },
        Setting {
            path: "cache.stale-disconnected",
            default: Default::Value("\"1d\""),
            summary: "How long past its lifetime a response may be served while the origin cannot be reached (RFC 9111 section 4.2.4).",
            details: "Never if the response forbids it, as `must-revalidate` does.",
            example: "\"7d\"",
            ..GRANT
        },
    ],
};

pub(super) static QUERY: Section = Section {
    title: "The query in the key",
    intro: "A parameter that is removed from the key is removed from the request to the origin as well.",
    settings: &[
        Setting {
            path: "query.sort",
            summary: "Sort the parameters by name, so that `?a=1&b=2` and `?b=2&a=1` are one entry. Parameters of the same name keep their order.",
            ..EVERYWHERE
        },
        Setting {
            path: "query.ignore",
            kind: SettingKind::Texts("patterns of parameter names"),
            default: Default::Value("[]"),
            summary: "Parameters that are removed; `*` matches any run of characters.",
            example: "[\"utm_*\", \"fbclid\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "query.known",
            kind: SettingKind::Texts("patterns of parameter names"),
            default: Default::Value("[]"),
            summary: "Where a lifetime is granted: the parameters that pages take. A URL with any other parameter passes. Empty: all are known.",
            details: "For applications in which one script does many things, by its parameters. Those of `query.ignore` are removed before. `\"default\"` in the list stands for the list that it replaces.",
            example: "[\"page\", \"s\"]",
            ..EVERYWHERE
        },
    ],
};
