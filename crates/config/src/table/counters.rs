//! Table rows for the settings that keep the application's own counters counting (docs/counters.md).

use super::{Default, EVERYWHERE, Section, Setting, SettingKind};

pub(super) static COUNTERS: Section = Section {
    title: "The application's counters",
    intro: "An application counts what it is asked: a page from memory is no visit, and what Kasoku asks for anonymously is one of nobody. \
[counters.md](counters.md) tells how both are put right.",
    settings: &[
        Setting {
            path: "anonymous-request-cookies",
            kind: SettingKind::Texts("cookies, as `name=value`"),
            default: Default::Value("[]"),
            summary: "Cookies that go along with each anonymous request, for applications that know a visitor by a cookie as counted already.",
            details: "`{address}` stands for the address that the application is told, 0.0.0.0, and `{address:base64}` for the same in base64. They are sent beside those of `cookies.key`; requests that pass go without them. \
None may have a name that is in `cookies.session`, `cookies.pass` or `cookies.key`. `\"default\"` stands for what would hold without the line. At most 16.",
            example: "[\"counted={address:base64}\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "beacon",
            kind: SettingKind::Text("path and query"),
            default: Default::Unset("the application hears nothing of visitors who are served from memory"),
            summary: "What the application is asked for in the name of a visitor who has been served a page from memory, so that it counts the visit: a URL that is cheap to answer and counts.",
            details: "Once for each address in 10 minutes, behind the page, and nobody waits for it. It gets the visitor's address, and `User-Agent`, `Accept-Language` and `Referer` of the page's own request, without cookies; its answer is thrown away. \
A request of that address that reaches the application as it was sent counts as well. Not for files, nor for what a browser fetches ahead (`Sec-Purpose`) or shows in a frame (`Sec-Fetch-Dest`). Each worker sends 4 at a time and lets 256 wait; more, and those for an origin that is down, are dropped (`beacons_dropped`). Empty: none.",
            example: "\"/count.php\"",
            ..EVERYWHERE
        },
        Setting {
            path: "view-beacon",
            kind: SettingKind::Text("path and query, with parameters in braces"),
            default: Default::Unset("views are not told"),
            summary: "The URL that is requested for each view of a page that is served from memory: for programs with a URL that counts one.",
            details: "`{name}` stands for that parameter of the page's own query, as it was sent; a short address has those of the one for which it stands (`rewrite`). A page where one is missing, is empty or comes twice is not told. Otherwise as `beacon`. Empty: none.",
            example: "\"/count_view.php?id={id}\"",
            ..EVERYWHERE
        },
    ],
};
