//! Rows: lifetimes that the operator grants, and what then tells visitors apart. docs/expiry.md is about them.

use super::{Default, EVERYWHERE, Kind, ROW, Scope, Section, Setting, YEAR};

/// A duration in whole seconds that is off by default.
const SECONDS: Setting =
    Setting { kind: Kind::Seconds { max: YEAR }, default: Default::Value("\"0s\""), example: "\"1h\"", ..EVERYWHERE };

/// A list of texts that is empty by default.
const NAMES: Setting = Setting { default: Default::Value("[]"), ..EVERYWHERE };

pub(super) static EXPIRY: Section = Section {
    title: "Granted lifetimes",
    intro: "For applications that send no expiry, or the wrong one: [expiry.md](expiry.md) tells how these settings work together, with \
examples. Where `ttl`, `ttl-override`, `ttl-status` or `ttl-min` grants a lifetime, requests with `Authorization`, and those with \
cookies that are neither in the key nor noise, pass; all others are asked in nobody's name, with nothing of the client but what is in the key.",
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
            kind: Kind::Texts("directives and fields of responses"),
            summary: "What of a response does not count where a lifetime is granted: `no-store`, `private`, `no-cache` (and `Pragma`), `max-age`, `s-maxage`, \
                      `expires`, `must-revalidate` (and `proxy-revalidate`), `set-cookie`, `vary`.",
            details: "All that is not listed still counts. Clients get what the application says, but for `Set-Cookie`, which nobody gets of a \
                      response that is kept. `kasoku check` warns of what each of them may lead to.",
            example: "[\"no-store\", \"expires\"]",
            ..NAMES
        },
        Setting {
            path: "ttl-status",
            kind: Kind::Statuses { max: YEAR },
            default: Default::Value("{}"),
            summary: "Lifetimes by status, in the place of `ttl` and `ttl-override`: `404`, `3xx` or `any`; the narrowest that fits counts.",
            details: "An error is kept only where it is named. `0s`: no lifetime for that status.",
            example: "{ 200 = \"1h\", 404 = \"1m\", 3xx = \"10m\" }",
            ..EVERYWHERE
        },
        Setting {
            path: "ttl-min",
            summary: "The least lifetime of a response that states none and has a `Last-Modified`: a file that has just been written would be fresh for a moment.",
            example: "\"1m\"",
            ..SECONDS
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
            details: "Short for `cache.stale-while-revalidate` and `cache.stale-if-error`; where one of them is longer, that one counts. Never when the \
                      response forbids it, as `must-revalidate` does.",
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
            path: "key-cookies",
            kind: Kind::Texts("patterns of cookie names"),
            summary: "Cookies that the application gets and that are in the key: each combination of their values has a variant of its own. `*` matches any run of characters.",
            details: "At most 64 variants of a URL are kept, so these are for a few values: a language, a currency, a theme.",
            example: "[\"lang\", \"currency\"]",
            ..NAMES
        },
        Setting {
            path: "noise-cookies",
            kind: Kind::Texts("patterns of cookie names"),
            default: Default::Unset(
                "those of well-known analytics, advertisements and networks: `_ga`, `_ga_*`, `_gid`, `_fbp`, `_pk_*`, `__cf_bm` ...",
            ),
            summary: "Cookies that change no page: no request passes because of them, and the application does not get them.",
            details: "A list of your own takes the place of the default one; `\"default\"` in it stands for all of those.",
            example: "[\"default\", \"seen_banner\"]",
            ..NAMES
        },
        Setting {
            path: "pass-cookies",
            kind: Kind::Texts("patterns of cookie names"),
            summary: "Cookies by which the application knows somebody: requests with one of them pass, untouched, and from all others each cookie that is not in `key-cookies` is removed.",
            details: "What most VCL files do by hand. It comes before `key-cookies` and `noise-cookies`. Who is known by a cookie that is not in the list gets the page for \
                      everybody: list those of logins, carts and drafts. Where no lifetime is granted, requests with them pass, those with Authorization too, and no cookie is removed.",
            example: "[\"wordpress_logged_in_*\", \"wp-postpass_*\", \"comment_author_*\"]",
            ..NAMES
        },
        Setting {
            path: "cookies",
            kind: Kind::OneOf(&["pass", "remove"]),
            default: Default::Unset(
                "`\"remove\"` where `pass-cookies` names some, or `key-cookies` does and `session.cookies` does not, else `\"pass\"`",
            ),
            summary: "What becomes of a request with another cookie: it passes, untouched; or the cookie is removed, and the page is the one for everybody.",
            details: "Where no lifetime is granted, requests go on with their cookies and are told apart by what the response says; `\"pass\"`, written there, lets those with cookies or Authorization pass as well. Then the application is told their addresses, which it is not where the answer may be kept for others.",
            example: "\"pass\"",
            ..EVERYWHERE
        },
        Setting {
            path: "key-fields",
            kind: Kind::Texts("request fields"),
            summary: "Request fields that the application gets and that are in the key.",
            example: "[\"Accept-Language\"]",
            ..NAMES
        },
        Setting {
            path: "strip-fields",
            kind: Kind::Texts("response fields"),
            summary: "Response fields that are not stored: who is served from the cache does not get them.",
            example: "[\"X-Debug-Token\"]",
            ..NAMES
        },
        Setting {
            path: "key-host",
            scopes: &[Scope::Site],
            kind: Kind::Text("host"),
            default: Default::Unset("that of each request"),
            summary: "The host of all keys of the site, which the application then sees as well: for a site that has several names.",
            example: "\"www.example.org\"",
            ..ROW
        },
        Setting {
            path: "strip-path-parameters",
            scopes: &[Scope::Top, Scope::Site],
            kind: Kind::Texts("patterns of parameter names"),
            summary: "Parameters of the path that are removed, from the key and from the application's request, before a rule is looked for: `/cart;jsessionid=1` is `/cart`.",
            example: "[\"jsessionid\"]",
            ..NAMES
        },
    ],
};
