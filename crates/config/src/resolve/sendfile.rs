//! Resolves in which directories the files that an application names may lie.

use super::set;
use crate::issue::{Issue, Located, ValueError, quoted};
use crate::raw::RawSendfile;
use crate::table::{self, SettingScope};
use crate::{address, bounds};
use kasoku_options::{OriginAddress, Route, SendfileRules, Symlinks};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The most directories of a list: a relative name is looked for in each.
const DIRECTORIES_MAX: usize = 64;

/// Lays written keys over others.
pub(super) fn set_sendfile(rules: &mut Arc<SendfileRules>, raw: &RawSendfile) {
    let mut own = SendfileRules::clone(rules);
    if let Some(roots) = &raw.roots {
        own.roots = roots.value.iter().filter_map(|root| address::parse_directory(&root.value).ok()).collect();
    }
    if let Some(internal) = &raw.internal {
        let directory = |(prefix, directory): &(Located<String>, Located<String>)| {
            Some((prefix.value.clone(), address::parse_directory(&directory.value).ok()?))
        };
        own.internal = internal.value.iter().filter_map(directory).collect();
    }
    match symlinks(raw) {
        Some(Ok(0)) => own.symlinks = Symlinks::Beneath,
        Some(Ok(1)) => own.symlinks = Symlinks::Anywhere,
        Some(Ok(_)) => own.symlinks = Symlinks::Never,
        Some(Err(_)) | None => {}
    }
    set(&mut own.unescape, &raw.unescape);
    if own != **rules {
        *rules = Arc::new(own);
    }
}

fn symlinks(raw: &RawSendfile) -> Option<Result<usize, Issue>> {
    Some(bounds::one_of(table::find(SettingScope::Top, "sendfile.symlinks")?, raw.symlinks.as_ref()?))
}

/// Reports the faults of these keys, once for each place where they are written.
pub(super) fn check(raw: &RawSendfile, issues: &mut Vec<Issue>) {
    let roots = || raw.roots.iter().flat_map(|roots| &roots.value);
    let internal = || raw.internal.iter().flat_map(|internal| &internal.value);
    for directory in roots().chain(internal().map(|(_, directory)| directory)) {
        issues.extend(directory_fault(&directory.value).map(|fault| fault.at(&directory.place)));
    }
    issues
        .extend(internal().filter_map(|(prefix, _)| prefix_fault(&prefix.value).map(|fault| fault.at(&prefix.place))));
    if let Some(Err(issue)) = symlinks(raw) {
        issues.push(issue);
    }
    let surplus = roots().nth(DIRECTORIES_MAX).or_else(|| internal().nth(DIRECTORIES_MAX).map(|(prefix, _)| prefix));
    if let Some(surplus) = surplus {
        let issue = Issue::error(format!("there are more than {DIRECTORIES_MAX} directories")).at(&surplus.place);
        issues.push(issue.help("name a directory that contains them"));
    }
}

fn directory_fault(directory: &str) -> Option<ValueError> {
    if let Err(fault) = address::parse_directory(directory) {
        return Some(fault);
    }
    // Names are compared as they are written.
    let has_dots = Path::new(directory).components().any(|one| one == Component::ParentDir);
    has_dots.then(|| ValueError::new(format!("{} has a `..` in it", quoted(directory)), "write the path without it"))
}

fn prefix_fault(prefix: &str) -> Option<ValueError> {
    let has_slashes = prefix.starts_with('/') && prefix.ends_with('/');
    let is_plain = prefix.split('/').all(|segment| !matches!(segment, "." | ".."));
    let is_prefix = has_slashes && is_plain && !prefix.contains(['*', '%', '?', '#', '\\']) && !prefix.contains("//");
    let message = || format!("{} is not a prefix of internal URIs", quoted(prefix));
    (!is_prefix).then(|| {
        let help = "it begins and ends with `/` and is written without percent-encoding: \"/protected/\"";
        ValueError::new(message(), help)
    })
}

/// Reports what shows only when the route is complete. `levels`: those at which the keys may be written.
pub(super) fn warn(levels: &[&RawSendfile], route: &Route, issues: &mut Vec<Issue>) {
    let outside_roots = || {
        let SendfileRules { roots, internal, .. } = &*route.sendfile;
        let is_below = |directory: &PathBuf| roots.is_empty() || roots.iter().any(|root| directory.starts_with(root));
        internal.iter().find(|(_, directory)| !is_below(directory))
    };
    for raw in levels {
        if let (Some(roots), None, Some((prefix, directory))) = (&raw.roots, &raw.internal, outside_roots()) {
            let directory = quoted(&directory.display().to_string());
            let message = format!("`internal` has {directory} for {}, which lies outside of these", quoted(prefix));
            let help = "no file outside of `roots` is ever sent: add the directory to `roots`, or write an `internal` that fits these";
            tell(Issue::error(message).at(&roots.place).help(help), issues);
        }
        for root in raw.roots.iter().flat_map(|roots| &roots.value) {
            if let Some(own) = served(route).into_iter().find(|own| own.starts_with(&root.value)) {
                let own = quoted(&own.display().to_string());
                let message = format!("{} contains {own}, to which URLs lead", quoted(&root.value));
                let help = "a visitor who can make the application name a file gets sources and settings from there: keep the files \
                            that are to be sent in a directory of their own";
                tell(Issue::warning(message).at(&root.place).help(help), issues);
            }
        }
        let roots = &route.sendfile.roots;
        for (_, directory) in raw.internal.iter().flat_map(|internal| &internal.value) {
            let is_below = roots.iter().any(|root| Path::new(&directory.value).starts_with(root));
            if !roots.is_empty() && !is_below && directory_fault(&directory.value).is_none() {
                let message = format!("{} lies outside of `roots`", quoted(&directory.value));
                let help = "no file outside of `roots` is ever sent: add the directory there, or leave `roots` out if the application names no paths";
                tell(Issue::error(message).at(&directory.place).help(help), issues);
            }
        }
    }
}

/// A key at the top holds for several sites, but its issue is reported once.
fn tell(issue: Issue, issues: &mut Vec<Issue>) {
    if !issues.contains(&issue) {
        issues.push(issue);
    }
}

/// The directories that URLs of a route lead to.
fn served(route: &Route) -> Vec<&Path> {
    let origins = route.origins.iter().filter_map(|origin| match &origin.address {
        OriginAddress::Files(path) | OriginAddress::Cgi(path) => Some(path.as_path()),
        _ => None,
    });
    origins.chain(route.gateway.root.as_deref()).collect()
}
