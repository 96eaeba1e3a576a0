//! Table rows for what a cookie means (docs/expiry.md, docs/applications.md).

use super::{Default, EVERYWHERE, Section, Setting, SettingKind};

/// A list of names that is empty by default.
const NAMES: Setting =
    Setting { kind: SettingKind::Texts("patterns of cookie names"), default: Default::Value("[]"), ..EVERYWHERE };

pub(super) static COOKIES: Section = Section {
    title: "Cookies",
    intro: "A cookie means one of four things. Where a lifetime is granted, a list names those of each kind; the first line that fits counts:

| a cookie of | a request with it | an answer that sets it |
|---|---|---|
| `cookies.pass` knows somebody | passes, untouched | is not kept |
| `cookies.session` starts a session | passes, unless the session is known to be anonymous | is kept without it |
| `cookies.key` chooses a page | is answered with the page for that value | is not kept |
| `cookies.noise` changes no page | is answered as if it were not there | is kept without it |

A cookie that is in no list makes the request pass as well, unless `cookies.others` says that it is removed. `*` in a name matches any run of \
characters, and `\"default\"` in a list stands for what would hold without the line: the application's list, or that of the site around a rule. \
[expiry.md](expiry.md#cookies) has examples.",
    settings: &[
        Setting {
            path: "cookies.pass",
            summary: "Cookies by which the application knows somebody, of logins, carts and drafts: requests with one of them pass, untouched, whatever their other cookies are.",
            details: "They pass where no lifetime is granted, too.",
            example: "[\"wordpress_logged_in_*\", \"wp-postpass_*\", \"comment_author_*\"]",
            ..NAMES
        },
        Setting {
            path: "cookies.session",
            summary: "Cookies that start a session. A request with such a cookie passes, unless its session is known to be anonymous; from the response to an anonymous request they are dropped, so that it can be stored.",
            details: "Where no lifetime is granted, requests with them pass, and nothing is dropped. A page in which the dropped cookie's value stands (a link, a form) is not kept.",
            example: "[\"PHPSESSID\"]",
            ..NAMES
        },
        Setting {
            path: "cookies.key",
            summary: "Cookies that the application gets and that are in the key: each combination of their values has a variant of its own.",
            details: "At most 64 variants of a URL are kept, so these are for a few values: a language, a currency, a theme. One that is in `cookies.noise` as well is dropped from an answer that sets it.",
            example: "[\"lang\", \"currency\"]",
            ..NAMES
        },
        Setting {
            path: "cookies.noise",
            default: Default::Unset(
                "those of well-known analytics, advertisements and networks: `_ga`, `_ga_*`, `_gid`, `_fbp`, `_pk_*`, `__cf_bm` ...",
            ),
            summary: "Cookies that change no page: no request passes because of them, and the application does not get them.",
            details: "A list of your own takes the place of the default one; `\"default\"` in it stands for all of those.",
            example: "[\"default\", \"seen_banner\"]",
            ..NAMES
        },
        Setting {
            path: "cookies.others",
            kind: SettingKind::OneOf(&["pass", "remove"]),
            default: Default::Unset(
                "`\"pass\"` where a lifetime is granted; elsewhere such requests go on with their cookies, and are told apart by what the response says",
            ),
            summary: "What becomes of a request with a cookie that is in none of these lists: it passes, untouched; or the cookie is removed, and the page is the one for everybody.",
            details: "With `\"remove\"`, who is known by a cookie that is not in `cookies.pass` gets the page for everybody: what most VCL files do. Where no lifetime is granted nothing is removed; `\"pass\"`, \
                      written there, lets requests with cookies or Authorization pass. Then the application is told their addresses, which it is not where the answer may be kept for others.",
            example: "\"remove\"",
            ..EVERYWHERE
        },
    ],
};
