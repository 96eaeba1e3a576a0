//! Warns of keys that have no effect, since all origins are HTTP servers: keys of origins that turn URLs into files or run
//! programs.
//!
//! It is a warning, not an error (nginx and Caddy say nothing at all): an origin may be moved without the keys around it. A key
//! counts as used if any route that it reaches has another kind of origin. Applications behind any kind of origin may name files,
//! so the keys that say how files are sent count as used where that is configured.

use crate::issue::{Issue, SourceLocation};
use crate::raw::{RawCgi, RawFiles, RawGateway, RawPrograms, RawRoute};
use kasoku_options::{OriginAddress, Route};

/// Keys that also hold for files that applications name.
const OF_NAMED_FILES: [&str; 2] = ["files.charset", "files.rate-max"];

/// Warns of keys that are written at one level; `routes` are those that the level reaches.
pub(super) fn warn<'r>(raw: &RawRoute, routes: impl Iterator<Item = &'r Route>, issues: &mut Vec<Issue>) {
    let is_http = |route: &Route| route.origins.iter().all(|one| matches!(one.address, OriginAddress::Http(_)));
    // A route without origins had a fault in them, so their kind is unknown.
    let is_server = |route: &Route| !route.origins.is_empty() && is_http(route);
    let routes: Vec<&Route> = routes.collect();
    if !routes.iter().all(|route| is_server(route)) {
        return;
    }
    let names_files = |route: &&Route| !route.sendfile.roots.is_empty() || !route.sendfile.internal.is_empty();
    let is_sending = routes.iter().any(names_files);
    for (key, place) in written(raw).filter(|(key, _)| !(is_sending && OF_NAMED_FILES.contains(key))) {
        let issue = Issue::warning(format!("`{key}` has no effect: all origins here are HTTP servers")).at(place);
        issues.push(issue.help("it is for `file://`, `cgi://`, `fastcgi://`, `fastcgi+spawn://` and `scgi://`"));
    }
}

fn written(raw: &RawRoute) -> impl Iterator<Item = (&'static str, &SourceLocation)> {
    // `rewrite` has an effect with any origin: a short address leads to the rule of its script.
    let RawGateway { root, url_prefix, index, try_files, rewrite: _, script_suffixes, no_programs, symlinks, files } =
        &raw.gateway;
    // `rate_max` has an effect, too: an application behind HTTP may name a file to be sent.
    let RawFiles { source_suffixes, charset, rate_max: _ } = files;
    let RawPrograms { environment, pass_authorization, limits } = &raw.programs;
    let RawCgi { processes_max, run_timeout, memory_bytes_max, umask } = limits;
    let keys = [
        ("root", root.as_ref().map(|it| &it.place)),
        ("url-prefix", url_prefix.as_ref().map(|it| &it.place)),
        ("index", index.as_ref().map(|it| &it.place)),
        ("try-files", try_files.as_ref().map(|it| &it.place)),
        ("script-suffixes", script_suffixes.as_ref().map(|it| &it.place)),
        ("no-programs", no_programs.as_ref().map(|it| &it.place)),
        ("symlinks", symlinks.as_ref().map(|it| &it.place)),
        ("files.source-suffixes", source_suffixes.as_ref().map(|it| &it.place)),
        ("files.charset", charset.as_ref().map(|it| &it.place)),
        ("environment", environment.as_ref().map(|it| &it.place)),
        ("pass-authorization", pass_authorization.as_ref().map(|it| &it.place)),
        ("cgi.processes-max", processes_max.as_ref().map(|it| &it.place)),
        ("cgi.run-timeout", run_timeout.as_ref().map(|it| &it.place)),
        ("cgi.memory-bytes-max", memory_bytes_max.as_ref().map(|it| &it.place)),
        ("cgi.umask", umask.as_ref().map(|it| &it.place)),
    ];
    keys.into_iter().filter_map(|(key, place)| Some((key, place?)))
}
