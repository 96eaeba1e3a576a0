//! Detects web cache deception. A visitor is led to `/account.php/x.css`, the application ignores the end of the path, and a rule
//! for `*.css` in front of it calls the answer public (Gil, 2017; Mirheidari et al., "Cached and Confused", 2020). The next client
//! that requests the same URL would get the visitor's page.
//!
//! So a path that names a kind of file must bring that kind. Otherwise the answer to a request with cookies or credentials belongs
//! to its visitor alone. The answer to a request without them holds nothing of a visitor. Where a lifetime is granted, it is checked
//! all the same: many applications answer the URL of a style sheet or a picture that is missing with a page and status 200. Downloads are
//! excepted from that, since programs make pages of them under their own URLs (`bash.1.gz` as HTML, `boats.csv` as plain text). Such a page is
//! compared and read for tokens like any other.
//!
//! Not detected are a rule for a folder (`/static/..%2faccount`), and an application that sends a page as
//! `application/octet-stream` or as the kind that the path names.

use kasoku_wire::ResponseHead;

/// A kind of file: how its paths end, and how its media types begin.
struct FileType {
    extensions: &'static [&'static str],
    types: &'static [&'static str],
    /// Whether it is downloaded, and is no part of a page.
    is_download: bool,
}

/// The extensions that caches and servers take for static files.
const KINDS: [FileType; 6] = [
    FileType { extensions: &["css"], types: &["text/css"], is_download: false },
    FileType {
        extensions: &["js", "mjs"],
        types: &[
            "text/javascript",
            "application/javascript",
            "application/x-javascript",
            "text/ecmascript",
            "application/ecmascript",
        ],
        is_download: false,
    },
    FileType {
        extensions: &[
            "apng", "avif", "bmp", "cur", "gif", "ico", "jpeg", "jpg", "jxl", "pict", "png", "svg", "svgz", "tif",
            "tiff", "webp",
        ],
        types: &["image/"],
        is_download: false,
    },
    FileType {
        extensions: &["eot", "otf", "ttf", "woff", "woff2"],
        types: &["font/", "application/font", "application/x-font", "application/vnd.ms-fontobject"],
        is_download: false,
    },
    FileType {
        extensions: &[
            "aac", "avi", "flac", "flv", "m4a", "m4v", "mid", "midi", "mkv", "mov", "mp3", "mp4", "mpeg", "mpg", "oga",
            "ogg", "ogv", "wav", "webm", "wmv",
        ],
        types: &["audio/", "video/", "application/ogg"],
        is_download: false,
    },
    FileType {
        extensions: &[
            "7z", "apk", "bin", "bz2", "class", "csv", "deb", "dmg", "doc", "docx", "ejs", "eps", "exe", "gz", "iso",
            "jar", "msi", "odt", "pdf", "pls", "ppt", "pptx", "ps", "rar", "rpm", "swf", "tar", "torrent", "xls",
            "xlsx", "xz", "zip", "zst",
        ],
        types: &["application/", "text/csv", "audio/x-scpls", "font/"],
        is_download: true,
    },
];

/// How the media types of pages begin. A page is no file of any kind.
const PAGES: [&str; 4] = ["application/json", "application/xhtml", "application/xml", "text/html"];

/// Whether the path of `target` names a kind of file that `response` is not.
pub(crate) fn is_deceptive(target: &str, response: &ResponseHead) -> bool {
    let Some(kind) = kind(target) else { return false };
    let Some(media_type) = response.fields.only("content-type") else { return true };
    let begins_with =
        |start: &&str| media_type.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start.as_bytes()));
    let is_of_the_kind = kind.types.iter().any(begins_with) && !PAGES.iter().any(begins_with);
    !is_of_the_kind && !begins_with(&"application/octet-stream")
}

/// Whether the path of `target` names a file that is downloaded, and is no part of a page such as a style sheet or a picture.
pub(crate) fn names_download(target: &str) -> bool {
    kind(target).is_some_and(|kind| kind.is_download)
}

/// Whether the path of `target` names a kind of file, and `response` is of that kind.
pub fn is_named_file(target: &str, response: &ResponseHead) -> bool {
    kind(target).is_some() && !is_deceptive(target, response)
}

/// Whether a path names a file, such as a picture or a style sheet.
pub fn names_file(target: &str) -> bool {
    kind(target).is_some()
}

/// The kind of file that a path names, whether its dot is written `.` or `%2e`.
fn kind(target: &str) -> Option<&'static FileType> {
    let path = target.split_once('?').map_or(target, |(path, _)| path).to_ascii_lowercase();
    let is_named = |extension: &&str| {
        path.strip_suffix(*extension).is_some_and(|before| before.ends_with('.') || before.ends_with("%2e"))
    };
    KINDS.iter().find(|kind| kind.extensions.iter().any(is_named))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ok;

    fn of_type(media_type: &str) -> ResponseHead {
        ok().with("Content-Type", media_type)
    }

    #[test]
    fn a_page_under_the_name_of_a_file_is_not_that_file() {
        for path in [
            "/account.php/x.css",
            "/account.php/.js",
            "/account;x.png",
            "/account%0ax.woff2",
            "/account%3fx.pdf",
            "/account/X%2ECSS",
            "/a.mp4?b",
        ] {
            for page in ["text/html", "Text/HTML; charset=utf-8", "application/json"] {
                assert!(is_deceptive(path, &of_type(page)), "{path} {page}");
            }
            assert!(is_deceptive(path, &ok()), "{path}, no type");
        }
    }

    #[test]
    fn a_file_is_what_its_name_says() {
        for (path, media_type) in [
            ("/x.css", "text/css"),
            ("/x.css", "Text/CSS; charset=utf-8"),
            ("/x.js", "application/javascript"),
            ("/x.jpg", "image/webp"),
            ("/x.woff2", "application/font-woff2"),
            ("/x.ogg", "application/ogg"),
            ("/x.pdf", "application/pdf"),
            ("/x.zip", "application/octet-stream"),
            ("/x.svg", "image/svg+xml"),
        ] {
            assert!(!is_deceptive(path, &of_type(media_type)), "{path} {media_type}");
        }
    }

    #[test]
    fn what_is_downloaded_is_no_part_of_a_page() {
        for path in ["/boats.csv?_stream=on", "/man1/bash.1.gz?type=man", "/a.PDF", "/a%2ezip"] {
            assert!(names_download(path), "{path}");
        }
        for path in ["/", "/x.css", "/x.js", "/x.png?a.csv", "/x.woff2", "/x.mp4", "/csv"] {
            assert!(!names_download(path), "{path}");
        }
    }

    #[test]
    fn a_path_that_names_no_file_may_be_anything() {
        for path in ["/", "/account", "/account.php", "/css", "/x.css/", "/x.html", "/?x.css", "/a.bcss"] {
            assert!(!is_deceptive(path, &of_type("text/html")), "{path}");
        }
    }
}
