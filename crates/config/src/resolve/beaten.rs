//! Warns of a rule's `ttl` that a `ttl-override` from further out beats.
//!
//! `ttl` is for responses that state no expiry. Where `ignore` overrules what a response states, `ttl-override` counts, and it
//! holds in a rule as well. So an operator who writes `ttl = "1m"` into a rule for pages that change often gets the hour of the
//! site for most of them.

use super::with_related;
use crate::issue::Issue;
use crate::raw::{RawRoute, RawRule};
use crate::value::show_duration;
use kasoku_options::Route;
use std::time::Duration;

/// `route`: the rule's. `outer`: the keys of its site and of the top, the innermost first.
pub(super) fn warn(raw: &RawRule, route: &Route, outer: [&RawRoute; 2], issues: &mut Vec<Issue>) {
    let own = &raw.route.expiry;
    let override_seconds = route.policy.grant.ttl_override_seconds;
    let Some(ttl) = own.ttl.as_ref().filter(|_| own.ttl_override.is_none() && override_seconds > 0) else { return };
    if ttl.value.is_zero() || ttl.value.as_secs() == override_seconds {
        return;
    }
    let held = show_duration(Duration::from_secs(override_seconds));
    let written = outer.into_iter().find_map(|raw| raw.expiry.ttl_override.as_ref());
    let whose = if written.is_some() { "" } else { " of its `application`" };
    let message = format!(
        "`ttl` is for responses that state no lifetime: one that states something which `ignore` lists is fresh for {held} here, by `ttl-override`{whose}"
    );
    let issue =
        with_related(Issue::warning(message).at(&ttl.place), written.map(|it| &it.place), "this counts instead");
    let short = show_duration(ttl.value);
    issues.push(issue.help(format!("write `ttl-override = \"{short}\"` into the rule, instead of `ttl` or beside it")));
}
