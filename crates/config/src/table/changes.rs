//! Table rows for tags, and for the requests that change stored pages.

use super::{Default, EVERYWHERE, Section, Setting, SettingKind};

/// A list of texts that is empty by default.
const TEXTS: Setting = Setting { default: Default::Value("[]"), ..EVERYWHERE };

pub(super) static CHANGES: Section = Section {
    title: "What requests change",
    intro: "A new post stands on the list, on the front page and beside its neighbours. So stored pages have tags (surrogate keys), made of the parameters of their URLs, \
and a request that changes something drops all that has the tags it names, before its own answer goes out: [applications.md](applications.md#what-a-write-changes). \
`\"default\"` stands for what would hold without the line.",
    settings: &[
        Setting {
            path: "tags",
            kind: SettingKind::Texts("tags"),
            summary: "The tags that stored responses get: words, with parameters of the URL's query in braces. `kasoku purge --tag` drops what has one, and so does what `changes` lists.",
            details: "`{name}` stands for the value of that parameter: letters, digits, `-` and `_`, without case; `{name:digits}` for a number, `{name:word}` for letters, digits and `_`, at most 20 of them, where the program strips all else before it uses the value. `{?name}` and `{!name}` write nothing: with them, the tag is made only where that parameter is there, or is not (`list-{bo_table}{!wr_id}`). A tag whose parameter is missing or empty is not made; \
where it comes several times, there is a tag for each value. A short address has the parameters of the one for which it stands (`rewrite`). Where a lifetime is granted, a URL passes in which such a parameter \
has another value (`05`, `fr.ee`): what changes the page would not find it. Behind ` unless ` may stand a text: pages in which it stands do not get the tag (`newest-{bo_table} unless class=\"next\"`: the newest post has no link to the next one yet, so a new post changes that page alone). At most 64, of 4 parameters each.",
            example: "[\"board-{bo_table}\", \"post-{bo_table}-{wr_id:digits}\"]",
            ..TEXTS
        },
        Setting {
            path: "changes",
            kind: SettingKind::Texts("requests, and what they change"),
            summary: "Which requests change what: a method (without one: any), a URL pattern as in `pass-urls`, `=>`, and the tags of what they change, `*` for all that has tags in the site, or `-` for nothing. These requests pass.",
            details: "The tags' parameters are looked for in the URL, in the first 64 KiB of a form, and in the URL to which the answer redirects. A redirection says that the change was made: what it changed is dropped at once, and what \
was being fetched meanwhile is not stored. After any other answer that is no error of the request (4xx), something may have changed: the same is dropped, but at most once a second for each tag, since a post that fails is answered so as well. Where a \
parameter can't be read (a longer form, another type, an odd value), that holds for all tags of the site. What changes nothing does not drop the page either to which its answer redirects (a log-in; RFC 9111 section 4.4 allows that to be dropped). A 301, 307 or 308 to the same path, or to that with a slash behind it, says that nothing was done: servers answer so before a program has run. Of a form, the first 1,000 fields are read. Behind the URL may stand the answers by which alone a line holds: `302`, or `3xx`. All lines that fit count. At most 64.",
            example: "[\"POST */write_update.php => board-{bo_table} front\", \"POST /admin/* 3xx => *\"]",
            ..TEXTS
        },
        Setting {
            path: "no-change-redirects",
            kind: SettingKind::Texts("URL patterns"),
            summary: "Redirections to these URLs say that nothing was changed: to a form for logging in, for one.",
            details: "Patterns as in `pass-urls`.",
            example: "[\"*/login.php\"]",
            ..TEXTS
        },
    ],
};
