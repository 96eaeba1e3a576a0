//! Checks whether this machine knows the user and the group that the program is to become.
//!
//! Users may be on a server (LDAP), so a separate thread looks them up, and a slow answer blocks nothing. A look-up that fails is
//! no fault of the configuration, and is not reported.

use super::{WAIT_MAX, run_within};
use crate::issue::{Issue, quoted};
use crate::raw::Raw;
use nix::unistd::{Group, User};

/// Warns of an unknown user or group.
pub(crate) fn warn(raw: &Raw, issues: &mut Vec<Issue>) {
    let Some(written) = &raw.user else { return };
    let Some(found) = run_within(vec![written.value.clone()], WAIT_MAX, |written: &String| unknown(written)) else {
        return;
    };
    if let Some(Some(what)) = found.into_iter().next() {
        let issue = Issue::warning(format!("this machine has no {what}")).at(&written.place);
        issues.push(issue.help("until that changes, the program does not start: `useradd --system` makes a user, `groupadd --system` a group"));
    }
}

/// The unknown part of `user` or `user:group`, in words.
fn unknown(written: &str) -> Option<String> {
    let (user, group) = written.split_once(':').map_or((written, None), |(user, group)| (user, Some(group)));
    if matches!(User::from_name(user), Ok(None)) {
        return Some(format!("user {}", quoted(user)));
    }
    let group = group.filter(|group| matches!(Group::from_name(group), Ok(None)))?;
    Some(format!("group {}", quoted(group)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_and_a_group_are_looked_up() {
        assert_eq!(unknown("root"), None);
        assert_eq!(unknown("root:root"), None);
        assert_eq!(unknown("nobody-is-called-so").as_deref(), Some("user `nobody-is-called-so`"));
        assert_eq!(unknown("root:none-is-called-so").as_deref(), Some("group `none-is-called-so`"));
    }
}
