//! Table rows for how URLs map to files and scripts, for origins that need it.

use super::{Default, EVERYWHERE, Section, Setting, SettingKind, TIB};

/// [`kasoku_options::SOURCE_SUFFIXES`] as TOML; a test compares them.
const SOURCES: &str = "[\".php\", \".phtml\", \".pht\", \".phar\", \".phps\", \".php3\", \".php4\", \".php5\", \".php7\", \".php8\", \
\".inc\", \".pl\", \".pm\", \".cgi\", \".fcgi\", \".py\", \".rb\", \".sh\", \".bash\", \".lua\", \".tcl\", \".asp\", \".aspx\", \".jsp\"]";

pub(super) static GATEWAY: Section = Section {
    title: "Files and scripts",
    intro: "For origins that turn URLs into files: `file://`, and those that run scripts. See [files](files.md).",
    settings: &[
        Setting {
            path: "root",
            flag: Some("--root"),
            kind: SettingKind::Text("directory"),
            default: Default::Unset("the directory of the origin's address"),
            summary: "The document root of origins whose address names none.",
            details: "It is opened for each request, so it may be a link that a deployment turns to another release.",
            example: "\"/var/www/html\"",
            ..EVERYWHERE
        },
        Setting {
            path: "url-prefix",
            kind: SettingKind::Text("path"),
            default: Default::Unset("nothing; for `cgi://` in a rule, the folder of its `path`"),
            summary: "The part of a URL's path before the path below the root: with `\"/assets\"`, `/assets/a.css` is `a.css` there.",
            details: "A path that does not begin with it is not found.",
            example: "\"/assets\"",
            ..EVERYWHERE
        },
        Setting {
            path: "index",
            flag: Some("--index"),
            kind: SettingKind::Texts("file names"),
            default: Default::Value("[\"index.html\", \"index.php\"]"),
            summary: "The files that stand for their directory; the first that is there.",
            details: "A directory without one is 403: there are no listings. The flag takes names with blanks between them.",
            example: "[\"index.php\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "try-files",
            flag: Some("--try-files"),
            kind: SettingKind::Texts("paths below the root"),
            default: Default::Value("[]"),
            summary: "The candidates, of which the first that exists is used: `{path}` stands for the path of the URL, and a name that ends in `/` for a directory with an index file.",
            details: "`[\"{path}\", \"{path}/\", \"/index.php\"]` gives everything that is no file to one script; the query goes with it by itself. Empty: the path as it is. The flag takes names with blanks between them.",
            example: "[\"{path}\", \"{path}/\", \"/index.php\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "rewrite",
            kind: SettingKind::Texts("short addresses, and where they lead"),
            default: Default::Value("[]"),
            summary: "Short addresses of scripts, as the application's own .htaccess or nginx rules have them: a path, `=>`, and the path and query that take its place. The first that fits counts, where neither a file nor a directory of that path is there, and before `try-files`.",
            details: "`{name}` takes one or more bytes of a segment, `{name:digits}`, `{name:alnum}`, `{name:word}` (`_` too) and `{name:id}` (`_` and `-` too) such characters alone. On the right, `{name}` stands for what was taken: in the query, or in the path if it has a kind. The client's own query goes behind. At most 64, with 8 placeholders each. `\"default\"` stands for the list around. Rules, and the lists of URLs that pass or are refused, hold for a short address as for the one that it stands for; in front of an origin of HTTP, which rewrites by itself, that is all this does. See [files](files.md#short-addresses).",
            example: "[\"/{board:word}/{id:digits} => /bbs/board.php?bo_table={board}&wr_id={id}\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "script-suffixes",
            kind: SettingKind::Texts("ends of names"),
            default: Default::Value("[\".php\"]"),
            summary: "What is a script below a `root`: files whose names end so, as they are written. Other files are served as they are.",
            example: "[\".php\", \".php8\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "no-programs",
            kind: SettingKind::Texts("patterns of paths"),
            default: Default::Value("[]"),
            summary: "Where nothing is run, by the path of the URL as in a rule: a script there, or below, is 403, whatever it is called and however it is found. For directories that visitors can have files written to.",
            details: "Other files there are served as they are. Case does not matter. It is the path of the script that counts: `/index.php/data/x` is not below `/data`. At most 64. `\"default\"` stands for the list around. See [files](files.md#where-nothing-runs).",
            example: "[\"/data/*\", \"*/uploads/*\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "symlinks",
            kind: SettingKind::OneOf(&["beneath", "anywhere", "never"]),
            default: Default::Value("\"beneath\""),
            summary: "Which symbolic links are followed: those that stay below the root, all, or none. Others are 403.",
            details: "An absolute link leaves the root, wherever it leads. With `\"anywhere\"`, whoever may make a link below the root may publish any file that Kasoku may read; Debian's packages of web applications need it.",
            example: "\"anywhere\"",
            ..EVERYWHERE
        },
        Setting {
            path: "files.source-suffixes",
            kind: SettingKind::Texts("ends of names"),
            default: Default::Value(SOURCES),
            summary: "Files that hold source, by the ends of their names in whatever case: where they aren't run, they are 403.",
            details: "Those of `script-suffixes` count as well. Dotfiles (but for `/.well-known/`) and backups (`~`, `.bak`, `.swp` and their like) are always 404.",
            example: "[\".php\", \".inc\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "files.charset",
            kind: SettingKind::Text("charset"),
            default: Default::Value("\"utf-8\""),
            summary: "The charset that `Content-Type` names for texts, XML apart. Empty: none.",
            example: "\"iso-8859-1\"",
            ..EVERYWHERE
        },
        Setting {
            path: "files.rate-max",
            kind: SettingKind::Size { min: 0, max: TIB },
            default: Default::Value("0"),
            summary: "How fast a file goes to its client, in bytes per second. 0: as fast as it takes it.",
            details: "For each request by itself, as nginx's limit_rate; the bytes of one second go at once. Responses from the cache do not wait.",
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
