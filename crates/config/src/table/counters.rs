//! Rows: how the application's own counters go on counting. docs/counters.md is about them.

use super::{Default, EVERYWHERE, Kind, Section, Setting};

pub(super) static COUNTERS: Section = Section {
    title: "The application's counters",
    intro: "An application counts what it is asked: a page from memory is no visit, and what Kasoku asks for in nobody's name is one of nobody. \
[counters.md](counters.md) tells how both are put right.",
    settings: &[Setting {
        path: "nobody-cookies",
        kind: Kind::Texts("cookies, as `name=value`"),
        default: Default::Value("[]"),
        summary: "Cookies that go along with each request in nobody's name, for applications that know a visitor by a cookie as counted already.",
        details: "`{address}` stands for the address that the application is told, 0.0.0.0, and `{address:base64}` for the same in base64. They are sent beside those of `key-cookies`; requests that pass go without them. \
None may have a name that is in `session.cookies`, `pass-cookies` or `key-cookies`. `\"default\"` stands for what would hold without the line. At most 16.",
        example: "[\"counted={address:base64}\"]",
        ..EVERYWHERE
    }],
};
