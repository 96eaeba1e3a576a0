//! Table rows for files that the application names, and Kasoku sends.

use super::{Default, EVERYWHERE, Section, Setting, SettingKind};

pub(super) static SENDFILE: Section = Section {
    title: "Files that the application names",
    intro: "For answers with `X-Sendfile`, `X-LIGHTTPD-send-file` or `X-Accel-Redirect`, from whatever kind of origin. Without \
`sendfile.roots` or `sendfile.internal` such an answer is 502. A file that is not there is 404, one that is not sent (it can't be read, is no regular file, or lies elsewhere) 403. See [sendfile](sendfile.md).",
    settings: &[
        Setting {
            path: "sendfile.roots",
            kind: SettingKind::Texts("directories"),
            default: Default::Value("[]"),
            summary: "Where files may lie that `X-Sendfile` or `X-LIGHTTPD-send-file` names. Nothing outside of these is ever sent.",
            details: "The application names a file by its absolute path, which begins with one of these as it is written here, or by one that is relative to them; the first in which it is found. What hides from URLs (dotfiles, sources of scripts) is sent as well: the application decides.",
            example: "[\"/srv/private\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "sendfile.internal",
            kind: SettingKind::Map("prefix", "directories"),
            default: Default::Value("{}"),
            summary: "The directories that prefixes of URIs in `X-Accel-Redirect` stand for.",
            details: "The longest prefix counts. Where there are `roots`, the directories must lie below them.",
            example: "{ \"/protected/\" = \"/srv/private\" }",
            ..EVERYWHERE
        },
        Setting {
            path: "sendfile.symlinks",
            kind: SettingKind::OneOf(&["beneath", "anywhere", "never"]),
            default: Default::Value("\"beneath\""),
            summary: "Which symbolic links are followed: those that stay below their root, all, or none.",
            details: "With `\"anywhere\"`, whoever may make a link below a root may have any file sent that Kasoku may read.",
            example: "\"never\"",
            ..EVERYWHERE
        },
        Setting {
            path: "sendfile.unescape",
            default: Default::Value("true"),
            summary: "Whether `X-Sendfile` and `X-LIGHTTPD-send-file` are percent-encoded: `a%20b` is `a b`. `X-Accel-Redirect` always is.",
            details: "mod_xsendfile's XSendFileUnescape. What is malformed then is 502.",
            example: "false",
            ..EVERYWHERE
        },
    ],
};
