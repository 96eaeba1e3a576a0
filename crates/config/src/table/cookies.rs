//! Table rows for what a cookie means (docs/expiry.md, docs/applications.md).

use super::{Default, EVERYWHERE, Section, Setting, SettingKind};

/// A list of names that is empty by default.
const NAMES: Setting =
    Setting { kind: SettingKind::Texts("patterns of cookie names"), default: Default::Value("[]"), ..EVERYWHERE };

pub(super) static COOKIES: Section = Section {
    title: "Cookies",
    intro: "A cookie means one of four things. Where a lifetime is granted, each of these has a list; the first row that fits counts:

| a cookie of | a request with it | an answer that sets it |
|---|---|---|
| `cookies.pass` tells who the visitor is | passes, untouched | is not stored |
| `cookies.session` starts a session | passes, unless the session is known to be anonymous | is stored without it |
| `cookies.key` chooses a page | gets the page for that value | is not stored |
| `cookies.noise` changes no page | is answered as if it were not there | is stored without it |

A cookie that is in no list makes the request pass as well, unless `cookies.others` says that it is removed. `*` in a name matches any run of characters, and `\"default\"` in a list stands for the list that it replaces: the application's list, or that of the site around a rule. [expiry.md](expiry.md#cookies) has examples.",
    settings: &[
        Setting {
            path: "cookies.pass",
            summary: "Cookies that tell who the visitor is, of logins, carts and drafts: requests with one of them pass, untouched, whatever their other cookies are.",
            details: "Such requests pass where no lifetime is granted, too.",
            example: "[\"wordpress_logged_in_*\", \"wp-postpass_*\", \"comment_author_*\"]",
            ..NAMES
        },
        Setting {
            path: "cookies.session",
            summary: "Cookies that start a session. A request with such a cookie passes, unless its session is known to be anonymous. Kasoku removes such a cookie from the response to an anonymous request, so that the response can be stored.",
            details: "Where no lifetime is granted, requests with such a cookie pass, and none is removed. A page that contains the value of a removed cookie (a link, a form) is not stored.",
            example: "[\"PHPSESSID\"]",
            ..NAMES
        },
        Setting {
            path: "cookies.key",
            summary: "Cookies that the application gets and that are in the key: each combination of their values has a variant of its own.",
            details: "At most 64 variants of a URL are kept, so list cookies with few values: a language, a currency, a theme. A cookie that is in `cookies.noise` as well is removed from an answer that sets it.",
            example: "[\"lang\", \"currency\"]",
            ..NAMES
        },
        Setting {
            path: "cookies.noise",
            default: Default::Unset(
                "those of well-known analytics, advertisements and networks: `_ga`, `_ga_*`, `_gid`, `_fbp`, `_pk_*`, `__cf_bm` ...",
            ),
            summary: "Cookies that change no page: no request passes because of them, and the application does not get them.",
            details: "A list of your own replaces the default one; `\"default\"` in it stands for the list that it replaces.",
            example: "[\"default\", \"seen_banner\"]",
            ..NAMES
        },
        Setting {
            path: "cookies.others",
            kind: SettingKind::OneOf(&["pass", "remove"]),
            default: Default::Unset(
                "`\"pass\"` where a lifetime is granted; elsewhere such requests go on with their cookies, and what the response says decides whether it is shared",
            ),
            summary: "What happens to a request with a cookie that is in none of these lists: it passes, untouched; or the cookie is removed, and the visitor gets the page for all visitors.",
            details: "With `\"remove\"`, a visitor whom the application knows by a cookie that is not in `cookies.pass` gets that page too, as with most VCL files. Where no lifetime is granted, `\"remove\"` removes nothing, and `\"pass\"` lets requests with cookies or Authorization pass.",
            example: "\"remove\"",
            ..EVERYWHERE
        },
    ],
};
