//! Rows: content codings of what is stored. They may stand at the top, in a site and in a rule.

use super::{Default, EVERYWHERE, Kind, MIB, Section, Setting};

pub(super) static COMPRESS: Section = Section {
    title: "Compression",
    intro: "Stored texts go out as `br`, `zstd` or `gzip` to clients that accept it: made once, in the background, when a client asks for one \
            again, and kept beside what is stored. [docs/compression.md](compression.md) tells what is never compressed. Codings that are made \
            stay until their response goes; a new level holds for those that are made from then on.",
    settings: &[
        Setting {
            path: "compress.enabled",
            default: Default::Value("true"),
            summary: "Whether anything is compressed here. What an origin compresses itself is sent on in any case.",
            example: "false",
            ..EVERYWHERE
        },
        Setting {
            path: "compress.codings",
            kind: Kind::Texts("of \"br\", \"zstd\" and \"gzip\""),
            default: Default::Value("[\"br\", \"zstd\", \"gzip\"]"),
            summary: "Which codings there may be, in the order in which a client gets them that likes several equally.",
            example: "[\"gzip\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "compress.types",
            kind: Kind::Texts("media types"),
            default: Default::Value(
                "[\"text/*\", \"application/json\", \"application/*+json\", \"application/javascript\", \
                 \"application/x-javascript\", \"application/xml\", \"application/*+xml\", \"application/wasm\", \
                 \"image/svg+xml\"]",
            ),
            summary: "What is worth compressing, by `Content-Type`; `*` matches any run of characters.",
            details: "Images, videos, archives and web fonts are compressed already.",
            example: "[\"text/*\", \"application/json\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "compress.bytes-min",
            kind: Kind::Size { min: 0, max: 64 * MIB },
            default: Default::Value("\"1KiB\""),
            summary: "The shortest body that is compressed: a shorter one fits into one packet anyway.",
            example: "\"256B\"",
            ..EVERYWHERE
        },
        Setting {
            path: "compress.br-level",
            kind: Kind::Integer { min: 0, max: 11 },
            default: Default::Value("5"),
            summary: "How much work goes into `br`; from 10 on a megabyte takes seconds.",
            example: "9",
            ..EVERYWHERE
        },
        Setting {
            path: "compress.zstd-level",
            kind: Kind::Integer { min: 1, max: 19 },
            default: Default::Value("9"),
            summary: "How much work goes into `zstd`.",
            example: "3",
            ..EVERYWHERE
        },
        Setting {
            path: "compress.gzip-level",
            kind: Kind::Integer { min: 1, max: 9 },
            default: Default::Value("6"),
            summary: "How much work goes into `gzip`.",
            example: "9",
            ..EVERYWHERE
        },
    ],
};
