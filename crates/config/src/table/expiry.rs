//! Table rows for the lifetimes that the operator grants, and for what tells visitors apart there (docs/expiry.md).

use super::{Default, EVERYWHERE, ROW, Section, Setting, SettingKind, SettingScope, YEAR};

/// A duration in whole seconds that is off by default.
const SECONDS: Setting = Setting {
    kind: SettingKind::Seconds { max: YEAR },
    default: Default::Value("\"0s\""),
    example: "\"1h\"",
    ..EVERYWHERE
};

/// A list of texts that is empty by default.
const NAMES: Setting = Setting { default: Default::Value("[]"), ..EVERYWHERE };

pub(super) static EXPIRY: Section = Section {
    title: "Granted lifetimes",
    intro: "For applications that send no expiry, or the wrong one: [expiry.md](expiry.md) tells how these settings work together, with \
examples. Where `ttl`, `ttl-override` or `ttl-status` grants a lifetime, requests with `Authorization`, and those with \
cookies that are neither in the key nor noise, pass; all others are asked anonymously, with nothing of the client but what is in the key.",
    settings: &[
        Setting {
            path: "ttl",
            flag: Some("--ttl"),
            summary: "The lifetime of a response that states none: 200, 203, 204, 300, 301 and 308.",
            details: "What the response says (`no-store`, `private`, `max-age=0`, `Set-Cookie` ...) still counts. It comes before the lifetime that \
                      `Last-Modified` would give. Never for unsafe methods. `0s`: none.",
            ..SECONDS
        },
        Setting {
            path: "ttl-override",
            summary: "The lifetime of such a response whatever it states of that which `ignore` lists; also where it states none, unless `ttl` says otherwise.",
            details: "`ignore` must list something.",
            example: "\"10m\"",
            ..SECONDS
        },
        Setting {
            path: "ignore",
            kind: SettingKind::Texts("directives and fields of responses"),
            summary: "What of a response does not count where a lifetime is granted: `no-store`, `private`, `no-cache` (and `Pragma`), `max-age`, `s-maxage`, \
                      `expires`, `must-revalidate` (and `proxy-revalidate`), `set-cookie`, `vary`.",
            details: "All that is not listed still counts. Clients get what the application says, but for `Set-Cookie`, which nobody gets of a \
                      response that is kept. `kasoku check` warns of what each of them may lead to.",
            example: "[\"no-store\", \"expires\"]",
            ..NAMES
        },
        Setting {
            path: "ttl-status",
            kind: SettingKind::Statuses { max: YEAR },
            default: Default::Value("{}"),
            summary: "Lifetimes by status, in the place of `ttl` and `ttl-override`: `404`, `3xx` or `any`; the narrowest that fits counts.",
            details: "An error is kept only where it is named. `0s`: no lifetime for that status.",
            example: "{ 200 = \"1h\", 404 = \"1m\", 3xx = \"10m\" }",
            ..EVERYWHERE
        },
        Setting {
            path: "ttl-max",
            summary: "The longest lifetime, also of a response that states a longer one. `0s`: no bound.",
            example: "\"1d\"",
            ..SECONDS
        },
        Setting {
            path: "announce-ttl",
            summary: "Whether browsers, and caches on their way, are told a granted lifetime: as `Cache-Control: max-age`, in the place of what the response says about it.",
            details: "What they keep can't be purged.",
            ..EVERYWHERE
        },
        Setting {
            path: "grace",
            summary: "For how long past its lifetime a response may be served while it is refreshed, and when the application fails, where it does not say so itself.",
            details: "RFC 5861 has two names for it in a response, `stale-while-revalidate` and `stale-if-error`. Never when the response forbids it, as `must-revalidate` does. \
                      What has just failed is asked for again after a second, then after twice as long each time, up to 30 seconds.",
            ..SECONDS
        },
        Setting {
            path: "keep",
            default: Default::Unset("as long as there is memory for it"),
            summary: "For how long past its lifetime and `grace` a response is kept, so that the application can confirm it (`ETag`, `Last-Modified`).",
            example: "\"1d\"",
            ..SECONDS
        },
        Setting {
            path: "key-fields",
            kind: SettingKind::Texts("request fields"),
            summary: "Request fields that the application gets and that are in the key.",
            example: "[\"Accept-Language\"]",
            ..NAMES
        },
        Setting {
            path: "strip-fields",
            kind: SettingKind::Texts("response fields"),
            summary: "Response fields that are not stored: who is served from the cache does not get them.",
            example: "[\"X-Debug-Token\"]",
            ..NAMES
        },
        Setting {
            path: "key-host",
            scopes: &[SettingScope::Site],
            kind: SettingKind::Text("host"),
            default: Default::Unset("that of each request"),
            summary: "The host of all keys of the site, which the application then sees as well: for a site that has several names.",
            example: "\"www.example.org\"",
            ..ROW
        },
        Setting {
            path: "strip-path-parameters",
            scopes: &[SettingScope::Top, SettingScope::Site],
            kind: SettingKind::Texts("patterns of parameter names"),
            summary: "Parameters of the path that are removed, from the key and from the application's request, before a rule is looked for: `/cart;jsessionid=1` is `/cart`.",
            example: "[\"jsessionid\"]",
            ..NAMES
        },
    ],
};
