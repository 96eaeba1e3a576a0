//! Resolves the settings of programs: their variables and their limits.

use super::{set, set_usize};
use crate::address;
use crate::issue::{Issue, ValueError, quoted};
use crate::raw::{LocatedTexts, RawPrograms};
use kasoku_options::{Gateway, ProgramLimits};

/// The most further variables.
const VARIABLES_MAX: usize = 100;

/// Lays written keys over others.
pub(super) fn set_programs(limits: &mut ProgramLimits, gateway: &mut Gateway, raw: &RawPrograms) {
    set_usize(&mut limits.processes_max, &raw.limits.processes_max);
    set(&mut limits.run_timeout, &raw.limits.run_timeout);
    if let Some(bytes) = &raw.limits.memory_bytes_max {
        limits.memory_bytes_max = Some(bytes.value);
    }
    if let Some(umask) = &raw.limits.umask {
        // `check` reports a malformed one.
        limits.umask = address::parse_umask(&umask.value).unwrap_or(limits.umask);
    }
    if let Some(passes) = &raw.pass_authorization {
        gateway.passes_authorization = Some(passes.value);
    }
    if let Some(variables) = &raw.environment {
        set_environment(gateway, variables);
    }
}

fn set_environment(gateway: &mut Gateway, variables: &LocatedTexts) {
    (gateway.environment, gateway.inherited_environment) = Default::default();
    for text in &variables.value {
        match text.value.split_once('=') {
            Some((name, value)) => gateway.environment.push((name.to_owned(), value.to_owned())),
            None => gateway.inherited_environment.push(text.value.clone()),
        }
    }
}

/// Reports the faults of these keys, once for each place where they are written.
pub(super) fn check(raw: &RawPrograms, issues: &mut Vec<Issue>) {
    if let Some(umask) = &raw.limits.umask
        && let Err(why) = address::parse_umask(&umask.value)
    {
        let help = "write the permissions that files of programs do not get: \"0022\", or \"0002\" if the group may write as well";
        issues.push(Issue::error(why).at(&umask.place).help(help));
    }
    let variables = || raw.environment.iter().flat_map(|variables| &variables.value);
    issues.extend(variables().filter_map(|text| fault(&text.value).map(|fault| fault.at(&text.place))));
    if let Some(surplus) = variables().nth(VARIABLES_MAX) {
        let issue = Issue::error(format!("there are more than {VARIABLES_MAX} variables in `environment`"));
        issues.push(issue.at(&surplus.place).help("put them into a file that the program reads"));
    }
}

fn fault(variable: &str) -> Option<ValueError> {
    const HELP: &str = "like \"NAME=value\", or \"NAME\" to pass on Kasoku's own";
    let name = variable.split_once('=').map_or(variable, |(name, _)| name);
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && name.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    if !is_name {
        return Some(ValueError::new(format!("{} is not the name of a variable", quoted(name)), HELP));
    }
    variable.contains('\0').then(|| ValueError::new(format!("the value of {} has a NUL", quoted(name)), HELP))
}
