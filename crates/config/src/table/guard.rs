//! Table rows for the leak guard, which compares pages before they are shared (docs/guard.md).

use super::{Default, EVERYWHERE, Section, Setting, SettingKind};

pub(super) static GUARD: Section = Section {
    title: "The leak guard",
    intro: "Where a lifetime is granted, Kasoku fetches the first page of each URL pattern once more as a test visitor. If the two pages differ, they are not shared: [guard.md](guard.md).",
    settings: &[
        Setting {
            path: "guard",
            kind: SettingKind::FlagOr("warn"),
            default: Default::Value("true"),
            summary: "Whether Kasoku compares pages with what another visitor gets before it shares them, and afterwards about one in 256 requests.",
            details: "It compares pages that are stored because a lifetime is granted (`ttl`, `ttl-override`, …), not those that the application itself makes public, nor files. A pattern whose pages differ passes. It is compared again after ten minutes, then after twice as long each time, up to a day, and after a reload that changes its rules. With a slow application, fewer requests are compared afterwards, so that this takes at most a hundredth of the time. With `\"warn\"`, a page that depends on who asks is shared all the same, and the log, `explain` and `doctor` say so: to try a configuration on a site whose differences you know. A page with a token is never shared.",
            example: "false",
            ..EVERYWHERE
        },
        Setting {
            path: "guard-noise",
            kind: SettingKind::Texts("texts with placeholders"),
            default: Default::Value("[]"),
            summary: "Text that may differ between two renderings of a page that is the same for all visitors: a clock, a counter, the id of a request.",
            details: "Write the text as it stands in the page, with `{digits}`, `{number}` (digits, `.` and `,`), `{hex}`, `{time}` (digits, `:`, `-`, `.`, `,`, `/`, spaces, AM and PM, names of months and days, 오전, 오후) or `{word}` for the part that differs. In a form, an `<input>` and a `<meta>` nothing is noise; in a script, and in the tag of an element of a form that is no field, such as a `<div>`, only an entry with at least four letters before its first placeholder, which name the value. Texts that may be about a token (`token`, `csrf`, `nonce`, `session`, `key`, …) are refused. `\"default\"` in the list stands for the list that it replaces. At most 64.",
            example: "[\"generated in {number} seconds\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "guard-cookie",
            kind: SettingKind::Text("cookies, as `name=value; name2=value2`"),
            default: Default::Unset("none: no page is compared with a member's"),
            summary: "Cookies of a test account that is logged in. If a request with them would not pass, its page must equal the page that all visitors get.",
            details: "With it, the guard finds pages on which a member would get the guests' page. Only the application gets these cookies. If the account's session has ended, the comparison proves nothing. Empty: none.",
            example: "\"member=3f9a\"",
            ..EVERYWHERE
        },
    ],
};
