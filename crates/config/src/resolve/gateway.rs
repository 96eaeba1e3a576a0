//! Resolves how URLs map to files and scripts: document root, index files, files to try, short addresses, paths without programs,
//! links.
//!
//! This module does not look at the disk: a directory may come later than the configuration.

use super::visitors::{DEFAULT, after, own};
use crate::issue::{Issue, Located, ValueError, quoted};
use crate::raw::{LocatedTexts, RawFiles, RawGateway, RawRoute};
use crate::table::{self, SettingScope};
use crate::{address, bounds, glob};
use kasoku_options::{Gateway, OriginAddress, PATH_PLACEHOLDER, PathGlob, REWRITES_MAX, Rewrite, Route, Symlinks};
use std::sync::Arc;

/// The most names of `index` and `try-files`: a request for a missing file looks for each.
const NAMES_MAX: usize = 16;

/// The most patterns of `no-programs`: each is compared with the path of each script.
const NO_PROGRAMS_MAX: usize = 64;

/// See [`set_lifetime_of_files`].
const FILES_LIFETIME_SECONDS: u64 = 1;

/// Lays written keys over others.
pub(super) fn set_gateway(gateway: &mut Gateway, raw: &RawGateway) {
    if let Some(Ok(root)) = raw.root.as_ref().map(|root| address::parse_directory(&root.value)) {
        gateway.root = Some(root);
    }
    if let Some(prefix) = &raw.url_prefix {
        prefix.value.trim_end_matches('/').clone_into(&mut gateway.url_prefix);
    }
    set_texts(&mut gateway.index, &raw.index);
    set_texts(&mut gateway.try_files, &raw.try_files);
    if let Some(rewrites) = &raw.rewrite {
        gateway.rewrites = after(rewrites, &gateway.rewrites, |text| Rewrite::parse(text).ok());
    }
    set_texts(&mut gateway.script_suffixes, &raw.script_suffixes);
    if let Some(globs) = &raw.no_programs {
        gateway.no_programs = after(globs, &gateway.no_programs, |text| Some(PathGlob::new(text)));
    }
    match symlinks(raw.symlinks.as_ref()) {
        Some(Ok(0)) => gateway.files.symlinks = Symlinks::Beneath,
        Some(Ok(1)) => gateway.files.symlinks = Symlinks::Anywhere,
        Some(Ok(_)) => gateway.files.symlinks = Symlinks::Never,
        Some(Err(_)) | None => {}
    }
    // `rate_max` is a setting of the route: origins do not need it.
    let RawFiles { source_suffixes, charset, rate_max: _ } = &raw.files;
    set_texts(&mut gateway.files.source_suffixes, source_suffixes);
    if let Some(charset) = charset {
        charset.value.clone_into(&mut gateway.files.charset);
    }
}

fn set_texts(option: &mut Vec<String>, written: &Option<LocatedTexts>) {
    if let Some(written) = written {
        *option = written.value.iter().map(|text| text.value.clone()).collect();
    }
}

/// Local files are checked for changes once a second, unless a heuristic lifetime is written at one of those levels. A check costs
/// about 10 µs, and clients soon get a changed file. The lifetime that Last-Modified suggests, up to a day, is for origins that are
/// far away.
pub(super) fn set_lifetime_of_files(route: &mut Route, levels: &[&RawRoute]) {
    let is_written = levels.iter().any(|raw| raw.cache.heuristic_percent.is_some());
    let mut origins = route.origins.iter();
    let are_files =
        !route.origins.is_empty() && origins.all(|origin| matches!(origin.address, OriginAddress::Files(_)));
    // A rule may have other origins than its site.
    if route.policy.is_of_files != are_files {
        Arc::make_mut(&mut route.policy).is_of_files = are_files;
    }
    if are_files && !is_written {
        Arc::make_mut(&mut route.policy).heuristic_max_seconds = FILES_LIFETIME_SECONDS;
    }
}

/// Sets the prefix of a rule whose programs lie in the folder that its path names, unless one is written: `/mt` for `/mt/*.cgi`, as
/// with Apache's ScriptAlias.
pub(super) fn set_prefix_of_rule(route: &mut Route, pattern: &str) {
    let has_programs = route.origins.iter().any(|origin| matches!(origin.address, OriginAddress::Cgi(_)));
    let literal = pattern.split('*').next().unwrap_or_default();
    if let Some((folder, _)) = literal.rsplit_once('/')
        && has_programs
        && route.gateway.url_prefix.is_empty()
    {
        route.gateway.url_prefix = decoded(folder);
    }
}

/// A text without percent-encoding, since paths are compared decoded.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        (bytes, rest) = match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => ([bytes, vec![byte]].concat(), after.get(2..).unwrap_or_default()),
            None => ([bytes, vec![*first]].concat(), after),
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reports the faults of these keys, once for each place where they are written.
pub(super) fn check(raw: &RawGateway, issues: &mut Vec<Issue>) {
    if let Some(root) = &raw.root {
        issues.extend(address::parse_directory(&root.value).err().map(|fault| fault.at(&root.place)));
    }
    if let Some(Err(issue)) = symlinks(raw.symlinks.as_ref()) {
        issues.push(issue);
    }
    each(&raw.index, index_fault, issues);
    each(&raw.try_files, try_fault, issues);
    each(&raw.rewrite, rewrite_fault, issues);
    each(&raw.script_suffixes, suffix_fault, issues);
    each(&raw.no_programs, no_programs_fault, issues);
    each(&raw.files.source_suffixes, suffix_fault, issues);
    for (key, list) in [("index", &raw.index), ("try-files", &raw.try_files)] {
        if let Some(surplus) = list.iter().flat_map(|list| &list.value).nth(NAMES_MAX) {
            let issue = Issue::error(format!("there are more than {NAMES_MAX} names in `{key}`")).at(&surplus.place);
            issues.push(issue.help("Kasoku looks for each of them in each request: list only those that exist"));
        }
    }
    for (key, list, max) in
        [("rewrite", &raw.rewrite, REWRITES_MAX), ("no-programs", &raw.no_programs, NO_PROGRAMS_MAX)]
    {
        if let Some(surplus) = own(list).nth(max) {
            let issue = Issue::error(format!("there are more than {max} lines in `{key}`")).at(&surplus.place);
            issues.push(issue.help("each line is compared in each request: use one pattern for many paths"));
        }
    }
    let one = |text: &Option<Located<String>>, fault: fn(&str) -> Option<ValueError>| {
        text.as_ref().and_then(|text| fault(&text.value).map(|fault| fault.at(&text.place)))
    };
    issues.extend(one(&raw.url_prefix, prefix_fault));
    issues.extend(one(&raw.files.charset, charset_fault));
}

fn each(list: &Option<LocatedTexts>, fault: fn(&str) -> Option<ValueError>, issues: &mut Vec<Issue>) {
    let texts = list.iter().flat_map(|list| &list.value);
    issues.extend(texts.filter_map(|text| fault(&text.value).map(|fault| fault.at(&text.place))));
}

fn symlinks(written: Option<&Located<String>>) -> Option<Result<usize, Issue>> {
    Some(bounds::one_of(table::find(SettingScope::Top, "symlinks")?, written?))
}

fn index_fault(name: &str) -> Option<ValueError> {
    let is_name = !name.is_empty() && !name.contains(['/', '\0']) && !matches!(name, "." | "..");
    let message = || format!("{} is not the name of a file", quoted(name));
    (!is_name).then(|| ValueError::new(message(), "write the name alone: \"index.html\""))
}

fn suffix_fault(suffix: &str) -> Option<ValueError> {
    let is_suffix = suffix.len() > 1 && suffix.starts_with('.') && !suffix.contains(['/', '*', '\0']);
    let message = || format!("{} is not the ending of a file's name", quoted(suffix));
    (!is_suffix).then(|| ValueError::new(message(), "write it with the dot: \".php\""))
}

fn rewrite_fault(text: &str) -> Option<ValueError> {
    let error = Rewrite::parse(text).err().filter(|_| text != DEFAULT)?;
    Some(ValueError::new(format!("{} is not a short address: {error}", quoted(text)), error.help()))
}

fn no_programs_fault(text: &str) -> Option<ValueError> {
    if text == DEFAULT {
        return None;
    }
    if let Err(fault) = glob::parse_path_pattern(text) {
        return Some(fault);
    }
    // Such a pattern would protect nothing.
    let fits_nothing = text.contains("//") || text.split('/').any(|segment| matches!(segment, "." | ".."));
    let message = || {
        format!(
            "{} fits no path: doubled slashes and dot segments are resolved before paths are compared",
            quoted(text)
        )
    };
    fits_nothing.then(|| ValueError::new(message(), "write the path as it lies below the root: \"/data/*\""))
}

fn prefix_fault(prefix: &str) -> Option<ValueError> {
    let segments = || prefix.split('/').skip(1);
    let is_plain = segments().all(|segment| !matches!(segment, "." | ".."));
    let is_prefix =
        prefix.starts_with('/') && is_plain && !prefix.contains(['*', '%', '?', '#', '\\']) && !prefix.contains("//");
    let message = || format!("{} is not a prefix of paths", quoted(prefix));
    (!is_prefix)
        .then(|| ValueError::new(message(), "it starts with `/` and is written without percent-encoding: \"/assets\""))
}

fn charset_fault(charset: &str) -> Option<ValueError> {
    let is_token = charset.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
    (!is_token)
        .then(|| ValueError::new(format!("{} is not a charset", quoted(charset)), "like \"utf-8\", or \"\" for none"))
}

fn try_fault(name: &str) -> Option<ValueError> {
    let bad = |why: &str, help: &str| Some(ValueError::new(format!("{} can't be tried: {why}", quoted(name)), help));
    let literal = name.replace(PATH_PLACEHOLDER, "");
    if name.starts_with('=') {
        return bad("it is no path", "leave it out: a path that is not found is 404 anyway");
    }
    if name.contains("$uri") {
        return bad(
            "nginx's variables mean nothing here",
            &format!("write {}", quoted(&name.replace("$uri", PATH_PLACEHOLDER))),
        );
    }
    if name.contains(['?', '#']) {
        return bad("a path has no query", "write the path alone: the query goes with it by itself");
    }
    if literal.contains(['{', '}', '$']) {
        return bad("the only placeholder is `{path}`", "like \"{path}\", \"{path}/\", \"/index.php\"");
    }
    if !(name.starts_with('/') || name.starts_with(PATH_PLACEHOLDER)) {
        return bad("it must start with `/` or `{path}`", "like \"{path}\", \"{path}/\", \"/index.php\"");
    }
    if literal.split('/').any(|segment| matches!(segment, "." | "..")) || literal.contains('\0') {
        return bad("it has a dot segment", "write the path below the root as it is");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use kasoku_semantics::policy::Profile;

    #[test]
    fn programs_lie_in_the_folder_that_their_rule_names() {
        let prefix = |address: OriginAddress, pattern: &str| {
            let mut route = Route::new(Profile::Safe, vec![address.into()]);
            set_prefix_of_rule(&mut route, pattern);
            route.gateway.url_prefix
        };
        for (pattern, expected) in [
            ("/mt/*.cgi", "/mt"),
            ("/a/b*", "/a"),
            ("*.cgi", ""),
            ("/cgi-bin/*", "/cgi-bin"),
            ("/caf%c3%a9/*", "/caf\u{e9}"),
        ] {
            assert_eq!(prefix(OriginAddress::Cgi("/usr/lib/cgi-bin".into()), pattern), expected, "{pattern}");
            assert_eq!(prefix(OriginAddress::Files("/srv".into()), pattern), "", "{pattern}");
        }
    }
}
