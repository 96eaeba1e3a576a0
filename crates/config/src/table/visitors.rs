//! Table rows for the application that a site runs, and for its visitors' sessions (docs/applications.md).

use super::{DAY, Default, EVERYWHERE, ROW, Section, Setting, SettingKind, SettingScope, YEAR};
use crate::applications::NAMES as APPLICATIONS;
use std::time::Duration;

/// A list of texts that is empty by default.
const NAMES: Setting = Setting { default: Default::Value("[]"), ..EVERYWHERE };

pub(super) static VISITORS: Section = Section {
    title: "Applications and visitors",
    intro: "Which visitors are anonymous, and which are not: [applications.md](applications.md) tells how to choose, write and test this. In the lists here, and in `ignore`, `\"default\"` stands for the list that it replaces: the application's list, or that of the site around a rule.",
    settings: &[
        Setting {
            path: "application",
            scopes: &[SettingScope::Site],
            kind: SettingKind::OneOf(&APPLICATIONS),
            default: Default::Unset(
                "none: an unknown cookie makes a request pass, and only the site itself grants lifetimes",
            ),
            summary: "The program that the site runs. Its policy (what its cookies, sessions and pages mean) holds where the site's own settings say nothing, and its rules come after the site's.",
            details: "Each policy is a file in [applications](../crates/config/applications), with the keys of this page, and each of its lines can be overridden. Not with `profile = \"rfc\"`.",
            example: "\"wordpress\"",
            ..ROW
        },
        Setting {
            path: "pass-urls",
            kind: SettingKind::Texts("URL patterns"),
            summary: "URLs that pass, whatever the method: those that open a session on purpose, and pages for one visitor.",
            details: "A pattern of the path, as in a rule; after `?` one parameter that the query must have, by its name or as `name=value`, `*` in both.",
            example: "[\"/login*\", \"*?action=edit\"]",
            ..NAMES
        },
        Setting {
            path: "page-text",
            kind: SettingKind::Texts("texts"),
            summary: "How a page is recognised: one of these texts must stand in an answer with status 200 that is stored because a lifetime is granted. An answer without any of them is not stored, the stored page is dropped, and the application answers each visitor.",
            details: "For programs that say with status 200 that something is gone, is for members only, or that the database is away. Choose a text from the end of a page, so that an incomplete page lacks it. Files, by their name (a style sheet, an image), need none.",
            example: "[\"</html>\"]",
            ..NAMES
        },
        Setting {
            path: "outage-text",
            kind: SettingKind::Texts("texts"),
            summary: "How an outage of the application is recognised: an answer that has no text of `page-text` and one of these is not stored, and the stored page stays in use for as long as `grace` lasts.",
            details: "These texts count only where the text of a page is missing, so no visitor can write them into a page.",
            example: "[\"MySQL Connect Error\"]",
            ..NAMES
        },
        Setting {
            path: "private-text",
            kind: SettingKind::Texts("texts"),
            summary: "How a page for one visitor is recognised: an answer with status 200 that contains one of these texts gets no granted lifetime, and the application answers each visitor.",
            details: "For texts that only some pages of a kind have, such as a link to a file with a token of the visitor's session. Without this, the leak guard would find by such a page that all pages of the kind differ.",
            example: "[\"&amp;nonce=\"]",
            ..NAMES
        },
        Setting {
            path: "empty-tokens",
            kind: SettingKind::Texts("texts, each with `{token}` for the value"),
            summary: "Tokens that the application prints on each page and does not ask of visitors who are not logged in: where a lifetime is granted, a page is stored with these empty.",
            details: "Write the text before the value as it stands in the page, then `{token}`, and the quote that ends the value. A value has at most 256 letters, digits and signs. Only for a program of which you have tried that it takes a form of an anonymous visitor with an empty token: the leak guard sees the emptied page, and keeps other tokens from being shared.",
            example: "['<meta name=\"csrf-token\" content=\"{token}\"']",
            ..NAMES
        },
        Setting {
            path: "refuse-urls",
            kind: SettingKind::Texts("URL patterns"),
            summary: "URLs to which Kasoku answers 403 itself, whatever the method and the origin.",
            details: "Patterns as in `pass-urls`. A path that applications may read in another way is refused if either reading fits. Its reason is `refused-url`, in the log and in `kasoku explain`. A `PURGE` of such a URL still works.",
            example: "[\"*.sql\", \"/install/*\", \"*?debug\"]",
            ..NAMES
        },
        Setting {
            path: "fresh-links",
            kind: SettingKind::Texts(
                "URL patterns, each with the page that has such a link, and the names of parameters",
            ),
            summary: "URLs of links that the application makes for one visitor, with parameters that hold for one session or for a short time: on a shared page, such a link works for no visitor. A request for such a URL passes. Kasoku first requests the page on behalf of the same visitor, takes the named parameters from the link on it, and sends the request on with these.",
            details: "After `=>` stand the page, in which `{name}` stands for that parameter of the URL, and then the names of the parameters. It holds for GET and HEAD, where the page's rule grants a lifetime, for visitors without a session or with one that is not known to be a member's. Other requests, and those for which the page has no such link, go on as they came. The page may be 1 MiB long.",
            example: "[\"/download.php => /post.php?id={id} token\"]",
            ..NAMES
        },
        Setting {
            path: "session.anonymous-cookies",
            kind: SettingKind::Texts("cookies, as `name=value`"),
            summary: "Cookies whose value tells that a visitor with a session is anonymous, for applications that set one: `name=value`, `*` in both. A request that has the cookie with another value passes.",
            example: "[\"rx_login_status=none\"]",
            ..NAMES
        },
        Setting {
            path: "session.probe",
            kind: SettingKind::Text("path and query, and the answer to an anonymous session"),
            default: Default::Unset("only cookies tell whether a session is anonymous"),
            summary: "The URL that Kasoku requests with a session's cookies to learn whether the session is anonymous. Choose one that answers members differently, like a login form that redirects them. After `=>` stand the status of the answer to an anonymous session and a text that must stand in its first mebibyte; without them: 200 and no text, or those of the outer level.",
            details: "Kasoku requests it after a page of the session has passed, with all of that visitor's cookies, address and browser; if a request of the session passes meanwhile, the answer does not count. It is not requested after a script's request (`Sec-Fetch-Mode`), with a cookie that the page has just replaced, nor from another origin than the page's.",
            example: "\"/login.php => 200 </form>\"",
            ..EVERYWHERE
        },
        Setting {
            path: "session.anonymous-for",
            kind: SettingKind::Duration { min: Duration::from_secs(1), max: Duration::from_secs(DAY) },
            default: Default::Value("\"5m\""),
            summary: "How long a finding about a session holds. A request of the session that passes for another reason (a POST, `pass-urls`, a rule) ends it at once, and so does a Set-Cookie to the session.",
            details: "Each process has findings of its own. If several processes stand in front of one application without sticky visitors, the others learn of a login at one of them when their finding ends.",
            example: "\"1m\"",
            ..EVERYWHERE
        },
        Setting {
            path: "session.logout",
            kind: SettingKind::Texts("URL patterns"),
            summary: "URLs that end a session. They pass, like `pass-urls`. Afterwards Kasoku probes the session anew; where there is no probe, the session counts as anonymous.",
            details: "Without a probe, only the status tells whether the session has ended: list only URLs that answer 200 or a redirection when they end it, and another status when they refuse. If a request of the session overlaps with it, nothing is known of the session afterwards.",
            example: "[\"/logout.php\"]",
            ..NAMES
        },
        Setting {
            path: "session.harmless-urls",
            kind: SettingKind::Texts("URL patterns"),
            summary: "URLs that pass and write nothing into a session that a shared page shows: captchas, tokens for forms, counters. The finding about the session still holds after them; a session that one of them opens for a visitor without one is anonymous.",
            details: "Only if nothing else could log the visitor in: the path can be read in one way only, the request has no credentials and no cookies except the session's, noise and those in the key, and the answer is no redirection and sets no other cookie. A page that passes under a rule with `page-text` is such a request as well.",
            example: "[\"/captcha/*\", \"/ajax.token.php\"]",
            ..NAMES
        },
        Setting {
            path: "session.stateful-urls",
            kind: SettingKind::Texts("URL patterns, each with the pages that show it"),
            summary: "URLs that leave something in a session which other pages then show, although the session stays anonymous: the password for one post, a cart. After one of them the session passes for `session.stateful-for`, whatever is known of it. A pattern after `=>` limits that to the pages that show it.",
            details: "For URLs that pass: by their method, by `pass-urls` or by a rule. The parameter of a pattern may also be a field of a form, where a line of `changes` with parameters is about that request.",
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
            summary: "How long a session may only read pages before Kasoku ends it: the answer then sets its cookie with an expiry in the past. It ends sessions that are anonymous, and those of which neither a cookie nor a probe can tell. `0s`: never.",
            details: "For the sessions that an application gave to all visitors before Kasoku stood in front of it. Without this and without a probe, those visitors pass until their browsers forget the cookie. The time counts from when this process first saw the session. Where neither a cookie nor a probe can tell, a member who only reads is logged out as well.",
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
            summary: "URLs by which a visitor chooses the version for phones or for desktops, where the application keeps that in a session: after `=>` stands the version, `mobile` or `desktop`.",
            details: "They pass; with `key-device`, Kasoku also keeps the choice in a cookie (`kasoku-device`), which counts instead of User-Agent from then on.",
            example: "[\"*?device=mobile => mobile\", \"*?device=pc => desktop\"]",
            ..NAMES
        },
        Setting {
            path: "key-languages",
            kind: SettingKind::Texts("languages"),
            summary: "The languages in which the application has its pages. The one that a visitor's Accept-Language likes best, or else the first, is in the key, and is the only one that the application gets.",
            example: "[\"ko\", \"en\"]",
            ..NAMES
        },
    ],
};
