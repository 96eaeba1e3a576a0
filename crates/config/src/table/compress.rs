//! Table rows for the content codings of stored responses. They may stand at the top, in a site and in a rule.

use super::{Default, EVERYWHERE, Section, Setting, SettingKind};

pub(super) static COMPRESS: Section = Section {
    title: "Compression",
    intro: "Kasoku sends stored texts as `br`, `zstd` or `gzip` to clients that accept it. It makes each coding once, in the background, when a client requests a page again, and keeps it beside the stored page. [docs/compression.md](compression.md) tells what is never compressed. Codings that are made stay until their response goes; a new level holds for those that are made from then on.",
    settings: &[
        Setting {
            path: "compress.codings",
            kind: SettingKind::Texts("of \"br\", \"zstd\" and \"gzip\""),
            default: Default::Value("[\"br\", \"zstd\", \"gzip\"]"),
            summary: "The codings that Kasoku makes. A client that likes several equally gets the first of them. Empty: nothing is compressed here.",
            details: "What an origin compresses itself is sent on in any case. A body below 1 KiB is never compressed: it fits into one packet anyway.",
            example: "[\"gzip\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "compress.types",
            kind: SettingKind::Texts("media types"),
            default: Default::Value(
                "[\"text/*\", \"application/json\", \"application/*+json\", \"application/javascript\", \
                 \"application/x-javascript\", \"application/xml\", \"application/*+xml\", \"application/wasm\", \
                 \"image/svg+xml\"]",
            ),
            summary: "The media types that are compressed, by `Content-Type`; `*` matches any run of characters.",
            details: "Images, videos, archives and web fonts are compressed already.",
            example: "[\"text/*\", \"application/json\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "compress.level",
            kind: SettingKind::OneOf(&["fast", "default", "best"]),
            default: Default::Value("\"default\""),
            summary: "How much work goes into a coding: for `br`, `zstd` and `gzip` the levels 2, 3 and 1 (`\"fast\"`), 5, 9 and 6 (`\"default\"`), or 9, 19 and 9 (`\"best\"`).",
            details: "Each coding is made once, in the background.",
            example: "\"best\"",
            ..EVERYWHERE
        },
    ],
};
