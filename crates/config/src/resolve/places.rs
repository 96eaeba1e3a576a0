//! Notes where settings are written (`kasoku.toml:12`), to tell people which setting decided.
//!
//! It notes only settings that can decide about a response; the others are never named. A test compares the list with the table.

use crate::applications::Application;
use crate::issue::Located;
use crate::line_numbers::LineNumbers;
use crate::raw::{
    Raw, RawCache, RawChanges, RawCookies, RawCounters, RawExpiry, RawGuard, RawQuery, RawRule, RawSite, RawVisitors,
};
use kasoku_options::SettingLocations;

/// Notes the settings of one level. Levels are noted from the outside in, so the innermost wins.
pub(super) struct LocationNotes<'w> {
    places: &'w mut SettingLocations,
    lines: &'w LineNumbers,
}

impl<'w> LocationNotes<'w> {
    pub(super) fn at(places: &'w mut SettingLocations, lines: &'w LineNumbers) -> Self {
        Self { places, lines }
    }

    pub(super) fn top(mut self, raw: &Raw) -> Self {
        self.note("profile", &raw.profile);
        self.note("memory.size", &raw.memory.size);
        self.note("memory.object-bytes-max", &raw.memory.object_bytes_max);
        self.note("strip-path-parameters", &raw.strip_path_parameters);
        self.cache(&raw.route.cache);
        self.expiry(&raw.route.expiry);
        self.cookies(&raw.route.cookies);
        self.visitors(&raw.route.visitors);
        self.changes(&raw.route.changes);
        self.counters(&raw.route.counters);
        self.guard(&raw.route.guard);
        self.query(&raw.route.query);
        self
    }

    pub(super) fn application(mut self, raw: &Application) {
        self.cache(&raw.route.cache);
        self.expiry(&raw.route.expiry);
        self.cookies(&raw.route.cookies);
        self.visitors(&raw.route.visitors);
        self.changes(&raw.route.changes);
        self.counters(&raw.route.counters);
        self.guard(&raw.route.guard);
        self.query(&raw.route.query);
    }

    pub(super) fn site(mut self, raw: &RawSite) {
        self.places.site = raw.place.as_ref().map(|place| self.lines.show(place));
        self.note("profile", &raw.profile);
        self.note("application", &raw.application);
        self.note("key-host", &raw.key_host);
        self.note("strip-path-parameters", &raw.strip_path_parameters);
        self.cache(&raw.route.cache);
        self.expiry(&raw.route.expiry);
        self.cookies(&raw.route.cookies);
        self.visitors(&raw.route.visitors);
        self.changes(&raw.route.changes);
        self.counters(&raw.route.counters);
        self.guard(&raw.route.guard);
        self.query(&raw.route.query);
    }

    pub(super) fn rule(mut self, raw: &RawRule) {
        self.places.rule = raw.path.as_ref().map(|path| self.lines.show(&path.place));
        self.note("path", &raw.path);
        self.note("pass", &raw.pass);
        self.cache(&raw.route.cache);
        self.expiry(&raw.route.expiry);
        self.cookies(&raw.route.cookies);
        self.visitors(&raw.route.visitors);
        self.changes(&raw.route.changes);
        self.counters(&raw.route.counters);
        self.guard(&raw.route.guard);
        self.query(&raw.route.query);
    }

    fn cache(&mut self, raw: &RawCache) {
        self.note("cache.heuristic-percent", &raw.heuristic_percent);
        self.note("cache.client-may-revalidate", &raw.client_may_revalidate);
        self.note("cache.negative-ttl", &raw.negative_ttl);
        self.note("cache.stale-disconnected", &raw.stale_disconnected);
    }

    fn expiry(&mut self, raw: &RawExpiry) {
        self.note("ttl", &raw.ttl);
        self.note("ttl-override", &raw.ttl_override);
        self.note("ignore", &raw.ignore);
        if let Some((first, _)) = raw.ttl_status.as_ref().and_then(|statuses| statuses.first()) {
            self.places.settings.insert("ttl-status", self.lines.show(&first.place));
        }
        self.note("ttl-max", &raw.ttl_max);
        self.note("announce-ttl", &raw.announce_ttl);
        self.note("grace", &raw.grace);
        self.note("keep", &raw.keep);
        self.note("key-fields", &raw.key_fields);
        self.note("strip-fields", &raw.strip_fields);
    }

    fn cookies(&mut self, raw: &RawCookies) {
        self.note("cookies.pass", &raw.pass);
        self.note("cookies.session", &raw.session);
        self.note("cookies.key", &raw.key);
        self.note("cookies.noise", &raw.noise);
        self.note("cookies.others", &raw.others);
    }

    fn visitors(&mut self, raw: &RawVisitors) {
        self.note("pass-urls", &raw.pass_urls);
        self.note("page-text", &raw.page_text);
        self.note("outage-text", &raw.outage_text);
        self.note("private-text", &raw.private_text);
        self.note("refuse-urls", &raw.refuse_urls);
        self.note("fresh-links", &raw.fresh_links);
        self.note("key-device", &raw.key_device);
        self.note("device-urls", &raw.device_urls);
        self.note("key-languages", &raw.key_languages);
        self.note("session.anonymous-cookies", &raw.session.anonymous_cookies);
        self.note("session.logout", &raw.session.logout);
        self.note("session.harmless-urls", &raw.session.harmless_urls);
        self.note("session.stateful-urls", &raw.session.stateful_urls);
        self.note("session.stateful-for", &raw.session.stateful_for);
        self.note("session.probe", &raw.session.probe);
        self.note("session.anonymous-for", &raw.session.anonymous_for);
        self.note("session.expire-after", &raw.session.expire_after);
    }

    fn changes(&mut self, raw: &RawChanges) {
        self.note("tags", &raw.tags);
        self.note("changes", &raw.changes);
        self.note("no-change-redirects", &raw.no_change_redirects);
    }

    fn counters(&mut self, raw: &RawCounters) {
        self.note("anonymous-request-cookies", &raw.anonymous_request_cookies);
        self.note("beacon", &raw.beacon);
        self.note("view-beacon", &raw.view_beacon);
    }

    fn guard(&mut self, raw: &RawGuard) {
        self.note("guard", &raw.guard);
        self.note("guard-noise", &raw.noise);
        self.note("guard-cookie", &raw.cookie);
    }

    fn query(&mut self, raw: &RawQuery) {
        self.note("query.sort", &raw.sort);
        self.note("query.ignore", &raw.ignore);
        self.note("query.known", &raw.known);
    }

    fn note<T>(&mut self, key: &'static str, written: &Option<Located<T>>) {
        if let Some(written) = written {
            self.places.settings.insert(key, self.lines.show(&written.place));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check_text;

    const TEXT: &str = "profile = \"rfc\"\n\n[cache]\nnegative-ttl = \"1s\"\nstale-disconnected = \"1s\"\n\n[[site]]\n\
        origin = \"http://127.0.0.1:1\"\nprofile = \"safe\"\n[site.cache]\nnegative-ttl = \"2s\"\n\n[[site.rule]]\n\
        path = \"/a/*\"\npass = true\ncache = { negative-ttl = \"3s\" }\n";

    #[test]
    fn the_innermost_line_is_named() {
        let (options, issues) = check_text(TEXT);
        let options = options.unwrap_or_else(|| panic!("{issues:?}"));
        let site = &options.sites[0];
        let of =
            |places: &kasoku_options::SettingLocations, key| places.settings.get(key).map(|place| place.to_string());
        let line = |number: usize| Some(format!("kasoku.toml:{number}"));
        let places = &site.route.places;
        assert_eq!((places.site.as_deref(), places.rule.as_deref()), (Some("kasoku.toml:7"), None));
        assert_eq!(of(places, "profile"), line(9));
        assert_eq!(of(places, "cache.negative-ttl"), line(11));
        assert_eq!(of(places, "cache.stale-disconnected"), line(5));
        assert_eq!((of(places, "pass"), of(places, "query.sort")), (None, None));
        let places = &site.rules[0].route.places;
        assert_eq!((places.site.as_deref(), places.rule.as_deref()), (Some("kasoku.toml:7"), Some("kasoku.toml:14")));
        assert_eq!(of(places, "pass"), line(15));
        assert_eq!(of(places, "cache.negative-ttl"), line(16));
    }

    #[test]
    fn each_caching_rule_of_the_table_has_a_place() {
        let is_caching = |row: &&crate::table::Setting| {
            row.scopes.contains(&crate::table::SettingScope::Top)
                && [
                    "cache.",
                    "query.",
                    "cookies.",
                    "session.",
                    "pass-urls",
                    "refuse-urls",
                    "fresh-links",
                    "page-text",
                    "outage-text",
                    "private-text",
                    "tags",
                    "changes",
                    "anonymous-request-cookies",
                    "beacon",
                    "view-beacon",
                    "guard",
                    "key-",
                ]
                .iter()
                .any(|it| row.path.starts_with(it))
        };
        let rows: Vec<_> = crate::table::settings().filter(is_caching).collect();
        let text: String = rows.iter().map(|row| format!("{} = {}\n", row.path, row.example)).collect();
        assert!(rows.len() >= 11, "{}", rows.len());
        let (options, issues) = check_text(&format!("{text}[[site]]\norigin = \"http://127.0.0.1:1\"\n"));
        let options = options.unwrap_or_else(|| panic!("{issues:?}\n{text}"));
        for row in rows {
            let places = &options.sites[0].route.places;
            assert!(places.settings.contains_key(row.path), "{} has no place", row.path);
        }
    }
}
