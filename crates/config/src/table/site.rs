//! Table rows for sites and their rules.

use super::{Default, ROW, Section, Setting, SettingKind, SettingScope};

pub(super) static SITE: Section = Section {
    title: "Sites",
    intro: "Each `[[site]]` answers for some hosts. The first whose hosts match serves the request; a request that matches \
none is answered 421. Put a site without `hosts` last.",
    settings: &[
        Setting {
            path: "hosts",
            scopes: &[SettingScope::Site],
            kind: SettingKind::Texts("host patterns"),
            default: Default::Value("[]"),
            summary: "The hosts that the site answers for: `\"example.org\"`, or `\"*.example.org\"` for everything below it (not itself). Empty: any host.",
            details: "Without ports; case does not matter.",
            example: "[\"example.org\", \"*.example.org\"]",
            ..ROW
        },
        Setting {
            path: "origin",
            scopes: &[SettingScope::Site],
            kind: SettingKind::TextsOrTables("origins"),
            default: Default::Required,
            flag: Some("--origin"),
            summary: "Where responses come from: `\"http://host\"`, `\"http://host:port\"`, `\"http://[v6]:port\"` or `\"http://unix:/path.sock\"`, from the files below a directory: `\"file:///var/www/html\"`, from CGI programs: `\"cgi:///usr/lib/cgi-bin\"`, from an application server: `\"fastcgi://unix:/run/php/php-fpm.sock\"` (with `root`) or `\"scgi://host:port\"`, or from FastCGI programs that are started: `\"fastcgi+spawn:///srv/app.fcgi\"`; or a list of them.",
            details: "Of a list, the first that can be asked is, unless [`balance`](#balance) says otherwise; a table says more about one: `{ url = \"http://host\", backup = true }`. Names are resolved at each new connection. The flag makes a site for any host, so it takes the place of a file's sites and can't be added to them.",
            example: "\"http://127.0.0.1:8000\"",
            ..ROW
        },
        Setting {
            path: "origin-host",
            scopes: &[SettingScope::Site, SettingScope::Rule],
            kind: SettingKind::Text("host"),
            default: Default::Unset("the client's own"),
            summary: "`Host` of the requests to the origin.",
            example: "\"app.internal\"",
            ..ROW
        },
    ],
};

pub(super) static RULE: Section = Section {
    title: "Rules",
    intro: "Each `[[site.rule]]` belongs to the `[[site]]` above it. The first whose path matches decides; what it does not \
say is as the site says.",
    settings: &[
        Setting {
            path: "path",
            scopes: &[SettingScope::Rule],
            kind: SettingKind::Text("path pattern"),
            default: Default::Required,
            summary: "Which paths the rule is for: `*` matches any run of characters, `/` included; everything else matches itself.",
            details: "It starts with `/` or `*`, and is compared with the path without the query. A path that applications may \
                      read in another way (`/%61dmin/`, `//admin/`, `/x/../admin/`) is looked at both ways; where that leads \
                      to two different rules, the request goes where the path as it was sent leads, and passes the cache.",
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
