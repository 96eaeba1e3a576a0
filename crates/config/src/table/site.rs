//! Table rows for sites and their rules.

use super::{Default, ROW, Section, Setting, SettingKind, SettingScope};

pub(super) static SITE: Section = Section {
    title: "Sites",
    intro: "Each `[[site]]` serves some hosts. The first site whose hosts match serves the request; a request that no site matches gets 421. Put a site without `hosts` last.",
    settings: &[
        Setting {
            path: "hosts",
            scopes: &[SettingScope::Site],
            kind: SettingKind::Texts("host patterns"),
            default: Default::Value("[]"),
            summary: "The hosts that the site serves: `\"example.org\"`, or `\"*.example.org\"` for all hosts below it (not itself). Empty: any host.",
            details: "Write them without ports; case does not matter.",
            example: "[\"example.org\", \"*.example.org\"]",
            ..ROW
        },
        Setting {
            path: "origin",
            scopes: &[SettingScope::Site],
            kind: SettingKind::TextsOrTables("origins"),
            default: Default::Required,
            flag: Some("--origin"),
            summary: "Where responses come from: `\"http://host\"`, `\"http://host:port\"`, `\"http://[v6]:port\"` or `\"http://unix:/path.sock\"`; the files below a directory: `\"file:///var/www/html\"`; CGI programs: `\"cgi:///usr/lib/cgi-bin\"`; an application server: `\"fastcgi://unix:/run/php/php-fpm.sock\"` (with `root`) or `\"scgi://host:port\"`; FastCGI programs that Kasoku starts: `\"fastcgi+spawn:///srv/app.fcgi\"`; or a list of these.",
            details: "Of a list, Kasoku asks the first origin that can be asked, unless [`balance`](#balance) says otherwise; a table says more about an origin: `{ url = \"http://host\", backup = true }`. Names are resolved at each new connection. The flag makes a site for any host, and can't be given beside a file that has sites.",
            example: "\"http://127.0.0.1:8000\"",
            ..ROW
        },
        Setting {
            path: "origin-host",
            scopes: &[SettingScope::Site, SettingScope::Rule],
            kind: SettingKind::Text("host"),
            default: Default::Unset("the client's own"),
            summary: "The `Host` field of requests to the origin.",
            example: "\"app.internal\"",
            ..ROW
        },
    ],
};

pub(super) static RULE: Section = Section {
    title: "Rules",
    intro: "Each `[[site.rule]]` belongs to the `[[site]]` above it. The first rule whose path matches decides; a key that it does not set is as in the site.",
    settings: &[
        Setting {
            path: "path",
            scopes: &[SettingScope::Rule],
            kind: SettingKind::Text("path pattern"),
            default: Default::Required,
            summary: "The paths that the rule is for: `*` matches any run of characters, `/` included; every other character matches itself.",
            details: "It starts with `/` or `*`, and is compared with the path without the query. A path that applications may read in another way (`/%61dmin/`, `//admin/`, `/x/../admin/`) is looked up both ways; if that leads to two different rules, the rule for the path as it was sent decides, and the request passes the cache.",
            example: "\"/admin/*\"",
            ..ROW
        },
        Setting {
            path: "pass",
            scopes: &[SettingScope::Rule],
            summary: "Never look up and never store: each request goes to the origin.",
            ..ROW
        },
        Setting {
            path: "origin",
            scopes: &[SettingScope::Rule],
            kind: SettingKind::TextsOrTables("origins"),
            default: Default::Unset("the site's"),
            summary: "Where responses to requests that match come from.",
            example: "\"http://127.0.0.1:8001\"",
            ..ROW
        },
    ],
};
