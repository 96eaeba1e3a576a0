//! Applies proposed lines of the configuration to a route.

use kasoku_options::{Route, SessionRules};
use kasoku_semantics::grant::{Grant, Ignored, StatusTtl};
use kasoku_semantics::suggestion::{SuggestedChange, Suggestion};
use std::sync::Arc;

/// The lifetime in all proposals, in seconds.
pub(crate) const TTL_SECONDS: u64 = 60;

/// The route with these lines; `None`: one of them is not a setting, or can't be tried.
pub(crate) fn changed(route: &Route, changes: &[Suggestion]) -> Option<Route> {
    let mut changed = route.clone();
    for one in changes {
        let SuggestedChange::Set(key, value) = &one.change else { return None };
        set(&mut changed, key, value)?;
    }
    Some(changed)
}

fn set(route: &mut Route, key: &str, value: &str) -> Option<()> {
    match key {
        "ttl" => grant(route).ttl_seconds = TTL_SECONDS,
        "ttl-override" => grant(route).ttl_override_seconds = TTL_SECONDS,
        "ignore" => {
            let word = |text: &&str| Ignored::ALL.iter().copied().find(|one| one.word() == *text);
            let all: Option<Vec<Ignored>> = texts(value).map(|text| word(&text)).collect();
            // A trial never begins to ignore `Vary`.
            let all =
                all.filter(|all| !all.contains(&Ignored::Vary) || grant(route).ignore.contains(&Ignored::Vary))?;
            grant(route).ignore = all;
        }
        "ttl-status" => {
            let first = value.rsplit("{ ").next()?.rsplit(", ").next()?.split(' ').next()?.parse().ok()?;
            grant(route).ttl_status.push(StatusTtl { first, last: first, seconds: TTL_SECONDS });
        }
        "cache.negative-ttl" => Arc::make_mut(&mut route.policy).negative_ttl_seconds = TTL_SECONDS,
        "cookies.session" => {
            let mut rules = SessionRules::clone(&route.session);
            rules.cookies = after(value, &rules.cookies);
            route.session = Arc::new(rules);
        }
        "cookies.noise" => route.cookies.noise = after(value, &route.cookies.noise),
        "key-languages" => grant(route).key_languages = texts(value).map(str::to_ascii_lowercase).collect(),
        "key-device" => grant(route).key_device = value == "true",
        "key-fields" => {
            let own = after(value, &grant(route).key_fields);
            grant(route).key_fields = own.iter().map(|name| name.to_ascii_lowercase()).collect();
        }
        "query.ignore" => route.query.ignore = after(value, &route.query.ignore),
        _ => return None,
    }
    Some(())
}

fn grant(route: &mut Route) -> &mut Grant {
    &mut Arc::make_mut(&mut route.policy).grant
}

/// The texts of a list that is written as TOML.
fn texts(list: &str) -> impl Iterator<Item = &str> {
    list.split('"').skip(1).step_by(2)
}

/// The texts of a list, where `default` stands for what was there before.
fn after(list: &str, before: &[String]) -> Vec<String> {
    let one = |text: &str| if text == "default" { before.to_vec() } else { vec![text.to_owned()] };
    texts(list).flat_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kasoku_semantics::policy::Profile;

    fn with(lines: &[(&'static str, &str)]) -> Option<Route> {
        let changes: Vec<Suggestion> = lines
            .iter()
            .map(|(key, value)| Suggestion::of(SuggestedChange::Set(key, (*value).to_owned()), ""))
            .collect();
        changed(&Route::new(Profile::Safe, Vec::new()), &changes)
    }

    #[test]
    fn lines_are_laid_over_a_route() {
        let route = with(&[("ttl-override", "\"1m\""), ("ignore", "[\"no-store\", \"expires\"]")]).unwrap();
        assert_eq!(route.policy.grant.ttl_override_seconds, 60);
        assert_eq!(route.policy.grant.ignore, [Ignored::NoStore, Ignored::Expires]);
        let before = Route::new(Profile::Safe, Vec::new()).cookies.noise;
        let route = with(&[("cookies.noise", "[\"default\", \"seen\"]")]).unwrap();
        assert_eq!(route.cookies.noise, [before, vec!["seen".to_owned()]].concat());
        let route = with(&[("ttl-status", "{ 404 = \"60s\", 302 = \"1m\" }")]).unwrap();
        assert_eq!(route.policy.grant.ttl_status, [StatusTtl { first: 302, last: 302, seconds: 60 }]);
        assert!(with(&[("ttl-status", "{ 302 = \"1m\" }")]).is_some());
        let route = with(&[("key-fields", "[\"Accept-Language\"]")]).unwrap();
        assert_eq!(route.policy.grant.key_fields, ["accept-language"]);
        let route = with(&[("key-languages", "[\"en\", \"de\"]"), ("key-device", "true")]).unwrap();
        assert_eq!(route.policy.grant.key_languages, ["en", "de"]);
        assert!(route.policy.grant.key_device);
    }

    #[test]
    fn what_varies_is_not_ignored_and_what_is_no_line_is_not_tried() {
        assert!(with(&[("ignore", "[\"vary\"]")]).is_none());
        assert!(with(&[("workers", "1")]).is_none());
        let sent = Suggestion::of(SuggestedChange::Send("Vary".to_owned(), String::new()), "");
        assert!(changed(&Route::new(Profile::Safe, Vec::new()), &[sent]).is_none());
    }
}
