//! Table rows for files that the application names, and Kasoku sends.

use super::{Default, EVERYWHERE, Section, Setting, SettingKind};

pub(super) static SENDFILE: Section = Section {
    title: "Files that the application names",
    intro: "For answers with `X-Sendfile`, `X-LIGHTTPD-send-file` or `X-Accel-Redirect`, from any kind of origin. Without `sendfile.roots` or `sendfile.internal` such an answer becomes 502. A file that does not exist becomes 404; one that is not sent (it can't be read, is no regular file, or lies elsewhere) becomes 403. See [sendfile](sendfile.md).",
    settings: &[
        Setting {
            path: "sendfile.roots",
            kind: SettingKind::Texts("directories"),
            default: Default::Value("[]"),
            summary: "The directories in which files may lie that `X-Sendfile` or `X-LIGHTTPD-send-file` names. No file outside of them is ever sent.",
            details: "The application names a file by its absolute path, which begins with one of these as it is written here, or by a path that is relative to them; the first directory that has the file counts. Files that are hidden from URLs (dotfiles, sources of scripts) are sent as well: the application decides.",
            example: "[\"/srv/private\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "sendfile.internal",
            kind: SettingKind::Map("prefix", "directories"),
            default: Default::Value("{}"),
            summary: "The directories that prefixes of URIs in `X-Accel-Redirect` stand for.",
            details: "The longest prefix counts. If `roots` is set as well, the directories must lie below them.",
            example: "{ \"/protected/\" = \"/srv/private\" }",
            ..EVERYWHERE
        },
        Setting {
            path: "sendfile.symlinks",
            kind: SettingKind::OneOf(&["beneath", "anywhere", "never"]),
            default: Default::Value("\"beneath\""),
            summary: "Which symbolic links are followed: those that stay below their root, all, or none.",
            details: "With `\"anywhere\"`, a user who may make a link below a root can have any file sent that Kasoku may read.",
            example: "\"never\"",
            ..EVERYWHERE
        },
        Setting {
            path: "sendfile.unescape",
            default: Default::Value("true"),
            summary: "Whether paths in `X-Sendfile` and `X-LIGHTTPD-send-file` are percent-encoded: `a%20b` is `a b`. Those in `X-Accel-Redirect` always are.",
            details: "mod_xsendfile calls this XSendFileUnescape. A path that is not encoded as it should be makes the answer 502.",
            example: "false",
            ..EVERYWHERE
        },
    ],
};
