//! Table rows for how URLs map to files and scripts, for origins that need it.

use super::{Default, EVERYWHERE, Section, Setting, SettingKind, TIB};

/// [`kasoku_options::SOURCE_SUFFIXES`] as TOML; a test compares them.
const SOURCES: &str = "[\".php\", \".phtml\", \".pht\", \".phar\", \".phps\", \".php3\", \".php4\", \".php5\", \".php7\", \".php8\", \
\".inc\", \".pl\", \".pm\", \".cgi\", \".fcgi\", \".py\", \".rb\", \".sh\", \".bash\", \".lua\", \".tcl\", \".asp\", \".aspx\", \".jsp\"]";

pub(super) static GATEWAY: Section = Section {
    title: "Files and scripts",
    intro: "For origins that map URLs to files: `file://`, and those that run scripts. See [files](files.md).",
    settings: &[
        Setting {
            path: "root",
            flag: Some("--root"),
            kind: SettingKind::Text("directory"),
            default: Default::Unset("the directory of the origin's address"),
            summary: "The document root of origins whose address names none.",
            details: "It is opened for each request, so it may be a link that a deployment changes.",
            example: "\"/var/www/html\"",
            ..EVERYWHERE
        },
        Setting {
            path: "url-prefix",
            kind: SettingKind::Text("path"),
            default: Default::Unset("none; for `cgi://` in a rule, the folder that its `path` names"),
            summary: "The beginning of a URL's path that stands for the root: with `\"/assets\"`, `/assets/a.css` is `a.css` below it.",
            details: "A path that begins otherwise is not found.",
            example: "\"/assets\"",
            ..EVERYWHERE
        },
        Setting {
            path: "index",
            flag: Some("--index"),
            kind: SettingKind::Texts("file names"),
            default: Default::Value("[\"index.html\", \"index.php\"]"),
            summary: "The files that stand for their directory; the first that exists counts.",
            details: "A directory without one gets 403: there are no listings. The flag takes names with blanks between them.",
            example: "[\"index.php\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "try-files",
            flag: Some("--try-files"),
            kind: SettingKind::Texts("paths below the root"),
            default: Default::Value("[]"),
            summary: "The candidates, of which the first that exists is used: `{path}` stands for the path of the URL, and a name that ends in `/` for a directory with an index file.",
            details: "`[\"{path}\", \"{path}/\", \"/index.php\"]` sends every path that is no file to one script; the query goes with it by itself. Empty: the path as it is. The flag takes names with blanks between them.",
            example: "[\"{path}\", \"{path}/\", \"/index.php\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "rewrite",
            kind: SettingKind::Texts("short addresses, and where they lead"),
            default: Default::Value("[]"),
            summary: "Short addresses of scripts, as an application's own .htaccess or nginx rules have them: a path, `=>`, and the path and query that take its place. The first line that fits counts, if neither a file nor a directory of that path exists, and before `try-files`.",
            details: "`{name}` takes one or more bytes of a segment; `{name:digits}`, `{name:alnum}`, `{name:word}` (also `_`) and `{name:id}` (also `_` and `-`) take only such characters. On the right, `{name}` stands for the text that was taken: in the query, or, for a placeholder with a kind, in the path. The client's own query follows. At most 64 lines, with 8 placeholders each. `\"default\"` in the list stands for the list that it replaces. Rules, and the lists of URLs that pass or are refused, hold for a short address as for the one that it stands for; an origin of HTTP rewrites by itself, so in front of it `rewrite` does only this. See [files](files.md#short-addresses).",
            example: "[\"/{board:word}/{id:digits} => /bbs/board.php?bo_table={board}&wr_id={id}\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "script-suffixes",
            kind: SettingKind::Texts("endings of names"),
            default: Default::Value("[\".php\"]"),
            summary: "How the names of scripts below a `root` end, in exactly these letters. Other files are served as they are.",
            example: "[\".php\", \".php8\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "no-programs",
            kind: SettingKind::Texts("patterns of paths"),
            default: Default::Value("[]"),
            summary: "Paths at which no program runs, as patterns of the URL's path as in a rule: a script there, or below, gets 403, whatever its name and however it is found. For directories into which visitors can have files written.",
            details: "Other files there are served as they are. Case does not matter. The path of the script counts: `/index.php/data/x` is not below `/data`. At most 64. `\"default\"` in the list stands for the list that it replaces. See [files](files.md#where-nothing-runs).",
            example: "[\"/data/*\", \"*/uploads/*\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "symlinks",
            kind: SettingKind::OneOf(&["beneath", "anywhere", "never"]),
            default: Default::Value("\"beneath\""),
            summary: "Which symbolic links are followed: those that stay below the root, all, or none. Others get 403.",
            details: "An absolute link counts as leaving the root, wherever it leads. With `\"anywhere\"`, a user who may make a link below the root can publish any file that Kasoku may read; Debian's packages of web applications need this value.",
            example: "\"anywhere\"",
            ..EVERYWHERE
        },
        Setting {
            path: "files.source-suffixes",
            kind: SettingKind::Texts("endings of names"),
            default: Default::Value(SOURCES),
            summary: "How the names of files with source end, in upper or lower case. Such a file gets 403 unless it is run.",
            details: "Those of `script-suffixes` count as well. Dotfiles (except `/.well-known/`) and backups (`~`, `.bak`, `.swp` and the like) always get 404.",
            example: "[\".php\", \".inc\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "files.charset",
            kind: SettingKind::Text("charset"),
            default: Default::Value("\"utf-8\""),
            summary: "The charset that `Content-Type` names for texts, except XML, and except HTML pages that declare another in a `<meta>` of their first 1,024 bytes. Empty: none.",
            example: "\"iso-8859-1\"",
            ..EVERYWHERE
        },
        Setting {
            path: "files.rate-max",
            kind: SettingKind::Size { min: 0, max: TIB },
            default: Default::Value("0"),
            summary: "How fast a file goes to its client, in bytes per second. 0: as fast as the client takes it.",
            details: "It holds for each request by itself, as nginx's limit_rate does; the bytes of one second go at once. Responses from memory have no such limit.",
            example: "\"1MiB\"",
            ..EVERYWHERE
        },
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sources_are_those_that_are_refused() {
        let written: Vec<_> = SOURCES.trim_matches(['[', ']']).split(", ").map(|one| one.trim_matches('"')).collect();
        assert_eq!(written, kasoku_options::SOURCE_SUFFIXES);
    }
}
