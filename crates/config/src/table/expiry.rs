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
    intro: "For applications that state no lifetime, or the wrong one: [expiry.md](expiry.md) tells how these settings work together, with examples. Where `ttl`, `ttl-override` or `ttl-status` grants a lifetime, requests with `Authorization`, and those with cookies that are neither in the key nor noise, pass. So do those with a field that is not a browser's own ([expiry.md](expiry.md#request-fields)). For all others, Kasoku sends an anonymous request: it has nothing of the client except what is in the key.",
    settings: &[
        Setting {
            path: "ttl",
            flag: Some("--ttl"),
            summary: "The lifetime of a response that states none, with status 200, 203, 204, 300, 301 or 308.",
            details: "What the response says (`no-store`, `private`, `max-age=0`, `Set-Cookie` ...) still counts. `ttl` takes precedence over the lifetime that `Last-Modified` would give. It never holds for unsafe methods. `0s`: none.",
            ..SECONDS
        },
        Setting {
            path: "ttl-override",
            summary: "The lifetime of a response, with a status as for `ttl`, that states something which `ignore` lists. Also of one that states none, unless `ttl` is set.",
            details: "It needs an `ignore` that lists something.",
            example: "\"10m\"",
            ..SECONDS
        },
        Setting {
            path: "ignore",
            kind: SettingKind::Texts("directives and fields of responses"),
            summary: "The parts of a response that do not count where a lifetime is granted: `no-store`, `private`, `no-cache`, `max-age`, `s-maxage`, `expires`, `must-revalidate` (and `proxy-revalidate`), `set-cookie`, `vary`.",
            details: "Everything that is not listed still counts. Clients get what the application says, except `Set-Cookie`: no client gets one with a response that is stored. `kasoku check` warns what each word may lead to.",
            example: "[\"no-store\", \"expires\"]",
            ..NAMES
        },
        Setting {
            path: "ttl-status",
            kind: SettingKind::Statuses { max: YEAR },
            default: Default::Value("{}"),
            summary: "Lifetimes by status, in the place of `ttl` and `ttl-override`: `404`, `3xx` or `any`; the narrowest entry that fits counts.",
            details: "`ttl` and `ttl-override` hold for no error: name those that are to be stored. `0s`: no lifetime for that status.",
            example: "{ 200 = \"1h\", 404 = \"1m\", 3xx = \"10m\" }",
            ..EVERYWHERE
        },
        Setting {
            path: "ttl-max",
            summary: "The longest lifetime, also of a response that states a longer one. `0s`: no limit.",
            example: "\"1d\"",
            ..SECONDS
        },
        Setting {
            path: "announce-ttl",
            summary: "Whether browsers, and caches on the way to them, are told a granted lifetime: as `Cache-Control: max-age`, in the place of what the response says about it.",
            details: "A purge does not reach what they store.",
            ..EVERYWHERE
        },
        Setting {
            path: "grace",
            summary: "How long past its lifetime a response may be served while Kasoku refreshes it, and when the application fails, if the response does not say so itself.",
            details: "A response says so by `stale-while-revalidate` and `stale-if-error` (RFC 5861). Never if the response forbids it, as `must-revalidate` does. After a failure, Kasoku asks again after a second, then after twice as long each time, up to 30 seconds.",
            ..SECONDS
        },
        Setting {
            path: "keep",
            default: Default::Unset("as long as there is memory for it"),
            summary: "How long past its lifetime and `grace` a response is kept, so that the application can confirm it (`ETag`, `Last-Modified`).",
            example: "\"1d\"",
            ..SECONDS
        },
        Setting {
            path: "key-fields",
            kind: SettingKind::Texts("request fields"),
            summary: "Request fields that the application gets and that are in the key.",
            details: "A request with one of them does not pass because of it.",
            example: "[\"Accept-Language\"]",
            ..NAMES
        },
        Setting {
            path: "strip-fields",
            kind: SettingKind::Texts("response fields"),
            summary: "Response fields that are not stored: clients that are served from the cache do not get them.",
            example: "[\"X-Debug-Token\"]",
            ..NAMES
        },
        Setting {
            path: "key-host",
            scopes: &[SettingScope::Site],
            kind: SettingKind::Text("host"),
            default: Default::Unset("the host of each request"),
            summary: "The host of all keys of the site, which the application then gets as well: for a site that has several names.",
            example: "\"www.example.org\"",
            ..ROW
        },
        Setting {
            path: "strip-path-parameters",
            scopes: &[SettingScope::Top, SettingScope::Site],
            kind: SettingKind::Texts("patterns of parameter names"),
            summary: "Parameters of the path that Kasoku removes from the key and from the application's request, before it looks for a rule: `/cart;jsessionid=1` is `/cart`.",
            example: "[\"jsessionid\"]",
            ..NAMES
        },
    ],
};
