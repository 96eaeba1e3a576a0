//! Warns of a site's own rule that hides a rule of its `application`: the first rule that matches decides, so what the application's rule
//! says holds no longer for these paths.
//!
//! Only a rule whose path is within that of the application's rule, or the other way round, is found.

use crate::glob;
use crate::issue::{Issue, quoted};
use crate::raw::RawRule;

/// `rules`: the site's own. `further`: those of its application, in their order.
pub(super) fn warn(rules: &[RawRule], further: &[RawRule], issues: &mut Vec<Issue>) {
    for rule in rules.iter().filter(|rule| rule.pass.as_ref().is_none_or(|pass| !pass.value)) {
        let Some(path) = &rule.path else { continue };
        let Some((hidden, lost)) = hidden(rule, &path.value, further) else { continue };
        let listed: Vec<String> = lost.iter().map(|key| format!("`{key}`")).collect();
        let message = format!(
            "the rule hides the rule for {} of its `application`: what that says of {} does not hold here",
            quoted(hidden),
            listed.join(", ")
        );
        let help = "write these keys into the rule as well: `kasoku application` shows the policies";
        issues.push(Issue::warning(message).at(&path.place).help(help));
    }
}

/// The first rule of the application that these paths would have, and those of its keys that the site's rule does not have.
fn hidden<'r>(rule: &RawRule, path: &str, further: &'r [RawRule]) -> Option<(&'r str, Vec<&'static str>)> {
    let paths = further.iter().filter_map(|one| Some((one, one.path.as_ref()?.value.as_str())));
    let mut meeting = paths.filter(|(_, other)| glob::covers(other, path) || glob::covers(path, other));
    meeting.find_map(|(other, other_path)| {
        let has = |key: &str| rule.route.written.contains_key(key);
        let keys = other.route.written.keys().copied();
        let lost: Vec<&'static str> = keys.filter(|key| !has(key)).collect();
        (!lost.is_empty()).then_some((other_path, lost))
    })
}
