//! Table rows for the settings that keep the application's own counters counting (docs/counters.md).

use super::{Default, EVERYWHERE, Section, Setting, SettingKind};

pub(super) static COUNTERS: Section = Section {
    title: "The application's counters",
    intro: "An application counts the requests that it gets. So it does not count visitors who are served from memory, and counts anonymous requests, which are no visits. [counters.md](counters.md) tells how these settings correct both.",
    settings: &[
        Setting {
            path: "anonymous-request-addresses",
            kind: SettingKind::Text("a range of IPv6 addresses"),
            default: Default::Value("\"240.0.0.0/4\""),
            summary: "The range from which Kasoku draws the client address of each anonymous request, at random, so that the application's limits by address do not take all of them for one client.",
            details: "No client has an address of the default range, which RFC 1112 reserves. For an application that refuses these addresses, write a range of IPv6 that no client has and the application does not trust, a /56 or larger: `2001:db8::/32` is for documentation. A response that has this address in its text is not stored.",
            example: "\"2001:db8:7::/48\"",
            ..EVERYWHERE
        },
        Setting {
            path: "anonymous-request-cookies",
            kind: SettingKind::Texts("cookies, as `name=value`"),
            default: Default::Value("[]"),
            summary: "Cookies that Kasoku adds to each anonymous request, for applications that note in a cookie that a visitor is counted already.",
            details: "`{address}` stands for the address that the application gets with that request (`anonymous-request-addresses`), and `{address:base64}` for the same in base64. They are sent beside those of `cookies.key`; requests that pass go without them. None may have a name that is in `cookies.session`, `cookies.pass` or `cookies.key`. `\"default\"` in the list stands for the list that it replaces. At most 16.",
            example: "[\"counted={address:base64}\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "beacon",
            kind: SettingKind::Text("path and query"),
            default: Default::Unset("none: the application does not see visitors who are served from memory"),
            summary: "The URL that Kasoku requests with the address of a visitor who got a shared page, so that the application counts the visit. Choose one that is cheap to answer and counts.",
            details: "It is requested once for each address in 10 minutes, after the page has gone out, and no request waits for it. The application gets the visitor's address, and `User-Agent`, `Accept-Language` and `Referer` of the page's own request, but no cookies; Kasoku discards the answer. If another request of that address has reached the application within these 10 minutes, the beacon is not needed, and not sent. There is none for files, nor for what a browser fetches ahead (`Sec-Purpose`) or shows in a frame (`Sec-Fetch-Dest`). Each worker sends 4 at a time and lets 256 wait; more, and those for an origin that is down, are dropped (`beacons_dropped`). Empty: none.",
            example: "\"/count.php\"",
            ..EVERYWHERE
        },
        Setting {
            path: "view-beacon",
            kind: SettingKind::Text("path and query, with parameters in braces"),
            default: Default::Unset("none"),
            summary: "The URL that Kasoku requests for each view of a page that is served from memory: for programs with a URL that counts one view.",
            details: "`{name}` stands for that parameter of the page's own query, as it was sent; a short address (`rewrite`) has the parameters of the one that it stands for. If a page's query lacks the parameter, or has it empty or twice, no request is sent. Otherwise as `beacon`. Empty: none.",
            example: "\"/count_view.php?id={id}\"",
            ..EVERYWHERE
        },
    ],
};
