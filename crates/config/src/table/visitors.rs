//! Table rows for the application that a site runs, and for its visitors' sessions (docs/applications.md).

use super::{DAY, Default, EVERYWHERE, ROW, Section, Setting, SettingKind, SettingScope, YEAR};
use crate::applications::NAMES as APPLICATIONS;
use std::time::Duration;

/// A list of texts that is empty by default.
const NAMES: Setting = Setting { default: Default::Value("[]"), ..EVERYWHERE };

pub(super) static VISITORS: Section = Section {
    title: "Applications and visitors",
    intro: "Who is anonymous, and who is not: [applications.md](applications.md) tells how to choose, write and test this. In the lists here, and in \
`ignore`, `\"default\"` stands for what would hold without the line: the application's list, or that of the site around \
a rule.",
    settings: &[
        Setting {
            path: "application",
            scopes: &[SettingScope::Site],
            kind: SettingKind::OneOf(&APPLICATIONS),
            default: Default::Unset(
                "none: an unknown cookie makes a request pass, and nothing is granted that the site does not grant",
            ),
            summary: "The program that the site runs: what is known of its cookies, sessions and pages is laid under the site's own settings, and its rules stand behind the site's.",
            details: "Each is a file in [applications](../crates/config/applications), in the words of this page, and each line of it can be overridden. Not with `profile = \"rfc\"`.",
            example: "\"wordpress\"",
            ..ROW
        },
        Setting {
            path: "pass-urls",
            kind: SettingKind::Texts("URL patterns"),
            summary: "URLs that pass, whatever the method: where a session is opened on purpose, or a page is one visitor's.",
            details: "A pattern of the path, as in a rule; behind `?` one parameter that the query must have, by its name or as `name=value`, `*` in both.",
            example: "[\"/login*\", \"*?action=edit\"]",
            ..NAMES
        },
        Setting {
            path: "page-text",
            kind: SettingKind::Texts("texts"),
            summary: "By what a page is known: one of these texts must stand in an answer with status 200 that is kept because a lifetime is granted. An answer without them is not kept, what was kept before is dropped, and each visitor is answered by the application.",
            details: "For programs that say with status 200 that something is gone, is for members only, or that the database is away. Choose a text from the end of a page: what breaks off is no page either. Files by their name (a style sheet, an image) need none.",
            example: "[\"</html>\"]",
            ..NAMES
        },
        Setting {
            path: "outage-text",
            kind: SettingKind::Texts("texts"),
            summary: "By what an application is known to be out of order: where no text of `page-text` stands in an answer and one of these does, it is not kept, and what was kept before stays in use for as long as `grace` lasts.",
            details: "They count only where the text of a page is missing, so nobody can write them into a page.",
            example: "[\"MySQL Connect Error\"]",
            ..NAMES
        },
        Setting {
            path: "private-text",
            kind: SettingKind::Texts("texts"),
            summary: "By what a page of one visitor is known: an answer with status 200 in which one of these texts stands is not kept because a lifetime is granted, and each visitor is answered by the application.",
            details: "For what only some pages of a kind have, such as a link to a file with a token of the visitor's session: by that one, the leak guard would find that all pages of the kind differ.",
            example: "[\"&amp;nonce=\"]",
            ..NAMES
        },
        Setting {
            path: "refuse-urls",
            kind: SettingKind::Texts("URL patterns"),
            summary: "URLs that are answered 403 from here, whatever the method and the origin, which is not asked.",
            details: "Patterns as in `pass-urls`. A path that applications may read in another way is refused if it fits in either. In the log, and for `kasoku explain`, it is `refused-url`. A `PURGE` of such a URL still works.",
            example: "[\"*.sql\", \"/install/*\", \"*?debug\"]",
            ..NAMES
        },
        Setting {
            path: "fresh-links",
            kind: SettingKind::Texts(
                "URL patterns, each with the page on which such a link stands, and the names of parameters",
            ),
            summary: "URLs of which the application makes a link for each visitor, with parameters that hold for one session or for a while: the links of a shared page work for nobody. They pass; Kasoku asks for the page as the visitor who follows such a link, takes the named parameters from the link on it, and goes on with these.",
            details: "Behind `=>` stands the page, whose `{name}` stands for that parameter of the URL, and then the names. For GET and HEAD, where the page's rule grants a lifetime, and the visitor has at most a session that is not known to be somebody's; other requests, and those for which the page has no such link, go on as they came. The page may be 1 MiB long.",
            example: "[\"/download.php => /post.php?id={id} token\"]",
            ..NAMES
        },
        Setting {
            path: "session.anonymous-cookies",
            kind: SettingKind::Texts("cookies, as `name=value`"),
            summary: "Cookies by whose value a visitor with a session is seen to be anonymous, for applications that set one: `name=value`, `*` in both. A request that has the cookie with another value passes.",
            example: "[\"rx_login_status=none\"]",
            ..NAMES
        },
        Setting {
            path: "session.probe",
            kind: SettingKind::Text("path and query, and the answer to an anonymous session"),
            default: Default::Unset("sessions are told apart by cookies alone"),
            summary: "What the application is asked with a session's cookies to learn whether the session is anonymous: a URL that answers otherwise to who is logged in, like a form for logging in that sends members on. Behind `=>` stand the status of the answer to an anonymous session and a text that must stand in it as well, in its first mebibyte; without them 200 and no text, or what holds around.",
            details: "It is asked once a page of a session has passed, by Kasoku itself, with all of that visitor's cookies, address and browser; a request of the session that passes meanwhile makes the answer void. Nothing is asked behind a script's request (`Sec-Fetch-Mode`), with a cookie that the page has just replaced, nor of another origin than the page's.",
            example: "\"/login.php => 200 </form>\"",
            ..EVERYWHERE
        },
        Setting {
            path: "session.anonymous-for",
            kind: SettingKind::Duration { min: Duration::from_secs(1), max: Duration::from_secs(DAY) },
            default: Default::Value("\"5m\""),
            summary: "How long what is found of a session holds. A request of it that passes for another reason (a POST, `pass-urls`, a rule) ends that at once, and so does a Set-Cookie to it.",
            details: "Each process has findings of its own: where several stand in front of one application without sticky visitors, a login on one of them is known to the others this much later.",
            example: "\"1m\"",
            ..EVERYWHERE
        },
        Setting {
            path: "session.logout",
            kind: SettingKind::Texts("URL patterns"),
            summary: "URLs that end a session. They pass, like `pass-urls`; afterwards the session is asked about anew, or, where there is no probe, counts as anonymous.",
            details: "Without a probe, the status is all that tells whether it has ended: list only URLs that end it with 200 or a redirection, and refuse with another status. \
                      A request of the session that overlaps with it leaves it unknown.",
            example: "[\"/logout.php\"]",
            ..NAMES
        },
        Setting {
            path: "session.harmless-urls",
            kind: SettingKind::Texts("URL patterns"),
            summary: "URLs that pass and write nothing into a session that a shared page shows: captchas, tokens for forms, counters. What is found of the session goes on holding; a session that one of them opens for a visitor without one is anonymous.",
            details: "Only where nothing else could make somebody of the visitor: the path reads as it was sent, the request has neither credentials nor a cookie that is not the session's, noise or in the key, and the answer is no redirection and sets no other cookie. A page that passes under a rule with `page-text` is such a request as well.",
            example: "[\"/captcha/*\", \"/ajax.token.php\"]",
            ..NAMES
        },
        Setting {
            path: "session.stateful-urls",
            kind: SettingKind::Texts("URL patterns, each with the pages that show it"),
            summary: "URLs that leave something in a session which other pages then show, although the session stays anonymous: the password of one post, a cart. After one of them the session passes for `session.stateful-for`, whatever is known of it; behind `=>` stands a pattern of the only pages that show it.",
            details: "For URLs that pass: by their method, by `pass-urls` or by a rule.",
            example: "[\"/password_check.php\", \"/cart.php => /shop/*\"]",
            ..NAMES
        },
        Setting {
            path: "session.stateful-for",
            kind: SettingKind::Duration { min: Duration::from_secs(1), max: Duration::from_secs(DAY) },
            default: Default::Value("\"10m\""),
            summary: "How long a session passes after one of `session.stateful-urls`.",
            example: "\"1h\"",
            ..EVERYWHERE
        },
        Setting {
            path: "session.expire-after",
            kind: SettingKind::Seconds { max: YEAR },
            default: Default::Value("\"0s\""),
            summary: "A session that has done nothing but read pages for so long is ended at its visitor, where it is anonymous or nothing tells: the answer sets its cookie with an expiry in the past. `0s`: never.",
            details: "For the sessions that an application has handed to everybody before Kasoku stood in front of it: without it, and without a probe, those visitors pass until their browsers forget. The time counts \
                      from when this process first saw the session. Where nothing tells, a member who only reads is logged out as well.",
            example: "\"30d\"",
            ..EVERYWHERE
        },
        Setting {
            path: "key-device",
            summary: "Whether phones get pages of their own: the class of device (`mobile` or `desktop`) is read from User-Agent and is in the key, and the application gets a User-Agent that stands for the class.",
            ..EVERYWHERE
        },
        Setting {
            path: "device-urls",
            kind: SettingKind::Texts("URL patterns, each with `mobile` or `desktop`"),
            summary: "URLs by which a visitor chooses the version for phones or for desktops, where the application keeps that in a session: behind `=>` stands which, `mobile` or `desktop`.",
            details: "They pass; with `key-device`, the choice is kept in a cookie (`kasoku-device`) as well, and outweighs User-Agent from then on.",
            example: "[\"*?device=mobile => mobile\", \"*?device=pc => desktop\"]",
            ..NAMES
        },
        Setting {
            path: "key-languages",
            kind: SettingKind::Texts("languages"),
            summary: "The languages in which the application has its pages: the one that a visitor's Accept-Language likes best, or else the first, is in the key, and is all of it that the application gets.",
            example: "[\"ko\", \"en\"]",
            ..NAMES
        },
    ],
};
