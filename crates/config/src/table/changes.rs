//! Table rows for tags, and for the requests that change stored pages.

use super::{DAY, Default, EVERYWHERE, Section, Setting, SettingKind};
use std::time::Duration;

/// A list of texts that is empty by default.
const TEXTS: Setting = Setting { default: Default::Value("[]"), ..EVERYWHERE };

pub(super) static CHANGES: Section = Section {
    title: "What requests change",
    intro: "A new post appears on its board's list, on the front page and beside its neighbours. So stored pages have tags (surrogate keys), made of the parameters of their URLs, and a request that changes something drops all pages with the tags that it names, before its own answer goes out: [applications.md](applications.md#what-a-write-changes). `\"default\"` in a list here stands for the list that it replaces.",
    settings: &[
        Setting {
            path: "tags",
            kind: SettingKind::Texts("tags"),
            summary: "The tags that stored responses get: words, with parameters of the URL's query in braces. `kasoku purge --tag`, and requests that `changes` lists, drop all responses with a tag.",
            details: "`{name}` stands for the value of that parameter: letters, digits, `-` and `_`, in upper or lower case alike; `{name:digits}` for a number; `{name:word}` for letters, digits and `_`, at most 20 of them, for programs that remove all other characters before they use the value. `{?name}` and `{!name}` write nothing: with them, the tag is made only if that parameter is there, or is not there (`list-{bo_table}{!wr_id}`). A tag whose parameter is missing or empty is not made; if the parameter comes several times, there is a tag for each value. A short address (`rewrite`) has the parameters of the one that it stands for. Where a lifetime is granted, a URL passes if such a parameter has another value (`05`, `fr.ee`), since no change would find its page. After ` unless ` may stand a text: pages that contain it do not get the tag (`newest-{bo_table} unless class=\"next\"`: the newest post has no link to the next one yet, so a new post changes that page alone). At most 64, of 4 parameters each.",
            example: "[\"board-{bo_table}\", \"post-{bo_table}-{wr_id:digits}\"]",
            ..TEXTS
        },
        Setting {
            path: "changes",
            kind: SettingKind::Texts("requests, and what they change"),
            summary: "Which requests change which pages: a method (without one: any), a URL pattern as in `pass-urls`, `=>`, and the tags of the pages that change; `*` stands for all pages of the site that have tags, `-` for none. These requests pass.",
            details: "Kasoku looks for the tags' parameters in the URL, in the first 64 KiB of a form, and in the URL to which the answer redirects. A redirection says that the change was made: the pages are dropped at once, and a page that is being fetched meanwhile is not stored. After any other answer except 4xx, something may have changed, and a post that fails gets such an answer as well: the same pages become stale, at most once a second for each tag, and ever less often, up to a minute, while such answers go on. If a parameter can't be read (a longer form, another type, an odd value), that holds for all tags of the site. The session that sent the request passes as long as these pages may be shown stale (`grace`). A request with `-` does not drop the page to which its answer redirects either (a login; RFC 9111 section 4.4 would allow to drop it). A 301, 307 or 308 to the same path, or to that path with a slash at its end, says that nothing was done: servers answer so before a program has run. Of a form, the first 1,000 fields are read. After the URL may stand the status of the answer to which the line is limited: `302`, or `3xx`. After that may stand what proves the change: `from`, with the name of a cookie that the request needs (`from wordpress_*`), or `from authorization`; `with`, with a field that the answer needs (`with x-wp-nonce`, or with its value, `with allow:*POST*`); and `saying`, with a text without blanks that the first 4 KiB of the answer need. Such a line says nothing of other messages, and where all is there, a 2xx means as much as a redirection. Anybody can make up a cookie, so write what the application gives only to those who may write; otherwise a stranger's requests empty the cache. All lines that fit count. At most 64.",
            example: "[\"POST */write_update.php => board-{bo_table} front\", \"POST /admin/* 3xx => *\", \"PUT /api/* 2xx from session* with allow:*PUT* => *\"]",
            ..TEXTS
        },
        Setting {
            path: "no-change-redirects",
            kind: SettingKind::Texts("URL patterns"),
            summary: "A redirection to one of these URLs says that nothing was changed. Such a URL is a login form, for example.",
            details: "Patterns as in `pass-urls`.",
            example: "[\"*/login.php\"]",
            ..TEXTS
        },
        Setting {
            path: "changes-again",
            kind: SettingKind::Duration { min: Duration::ZERO, max: Duration::from_secs(DAY) },
            default: Default::Value("\"0s\""),
            summary: "After this time, and a second, Kasoku drops the pages that a request has changed once more. For an application that itself keeps results for a while, and shows the old ones after a write (Movable Type's SearchCacheTTL): what is stored of them meanwhile would live for the whole lifetime.",
            details: "Changes of the same tags within a second share a drop. If tags of more than 1,024 kinds wait for it, all tagged responses of their site are dropped. A restart forgets it. 0 turns it off.",
            example: "\"20s\"",
            ..EVERYWHERE
        },
    ],
};
