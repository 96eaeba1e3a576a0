//! Table rows for the leak guard, which compares pages before they are shared (docs/guard.md).

use super::{Default, EVERYWHERE, Section, Setting, SettingKind};

pub(super) static GUARD: Section = Section {
    title: "The leak guard",
    intro: "Where a lifetime is granted, the first page of each URL pattern is fetched once more as a made-up visitor. Pages that differ are not shared: [guard.md](guard.md).",
    settings: &[
        Setting {
            path: "guard",
            kind: SettingKind::Flag,
            default: Default::Value("true"),
            summary: "Whether pages are compared with what another visitor gets before they are shared, and one in some 256 requests afterwards.",
            details: "For pages that are kept because a lifetime is granted (`ttl`, `ttl-override`, …), not for those that the application itself makes public, nor for files. A pattern whose pages differ passes, and is compared again after ten minutes, then ever later, up to a day, and after a reload that changes its rules.",
            example: "false",
            ..EVERYWHERE
        },
        Setting {
            path: "guard-noise",
            kind: SettingKind::Texts("texts with placeholders"),
            default: Default::Value("[]"),
            summary: "Text that may differ between two renderings of a page that is the same for everybody: a clock, a counter, the id of a request.",
            details: "A text as it stands in the page, with `{digits}`, `{number}` (digits, `.` and `,`), `{hex}`, `{time}` (digits, `:`, `-`, `.`, `,`, `/`, spaces, AM and PM, names of months and days, 오전, 오후) or `{word}` for what differs. In a form, an `<input>` and a `<meta>` nothing is noise; in a script, only what begins with \
a text of at least four letters that names the value. Texts that may be about a token (`token`, `csrf`, `nonce`, `session`, `key`, …) are refused. `\"default\"` stands for what would hold without the line. At most 64.",
            example: "[\"generated in {number} seconds\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "guard-cookie",
            kind: SettingKind::Text("cookies, as `name=value; name2=value2`"),
            default: Default::Unset("no page is looked at as a member sees it"),
            summary: "Cookies of a test account that is logged in. Where a request with them would not pass, its page must be the one that everybody gets.",
            details: "For finding out that a member would get the guests' page. The cookies are told to the application alone. A session that has ended tells nothing. Empty: none.",
            example: "\"member=3f9a\"",
            ..EVERYWHERE
        },
    ],
};
