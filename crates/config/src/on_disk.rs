//! Warns of directories, programs and users that a configuration names, and that this machine does not have now.
//!
//! These are warnings, not errors: a directory may come later than the configuration, a disk may be mounted after the check, and
//! the configuration of one machine may be checked on another. A path that this user may not see is no fault. The check runs once,
//! when a configuration is loaded; the serving program looks anew in each request.
//!
//! A disk that does not answer must not keep the program from obeying a signal to stop, so a thread looks at it, and the caller
//! waits only for a bounded time.
//!
//! `kasoku check` takes its time, and also looks for directories of uploads whose programs would run (`writable`).

mod identity;
mod shared;
mod token;
mod tree;
mod user;
mod writable;

use crate::address::{parse_directory, parse_origin};
use crate::issue::{Issue, Located, quoted};
use crate::raw::{Raw, RawOrigins, RawRoute};
use kasoku_options::OriginAddress;
pub(crate) use shared::warn as warn_without_a_secret;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
pub(crate) use token::warn as warn_without_a_token;
pub(crate) use user::warn as warn_of_user;
pub(crate) use writable::warn as warn_of_writable;

/// The longest wait for all disks together.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// The most paths that are checked.
const PATHS_MAX: usize = 10_000;

/// A path that has to exist.
struct RequiredPath<'r> {
    path: PathBuf,
    kind: PathKind,
    written: &'r Located<String>,
    /// What fails without it.
    fails: &'static str,
}

/// What fails without the directory or program of an origin.
const REQUESTS_FAIL: &str = "until that changes, requests that lead there fail";

/// What fails without a directory of named files.
const FILES_FAIL: &str = "until that changes, files that the application names there are 500";

/// What fails without the directory of the access log.
const START_FAILS: &str = "until that changes, the program does not start";

/// What fails without the directory for request bodies.
const BODIES_FAIL: &str = "until that changes, requests to programs with a body of more than 64 KiB get 503";

#[derive(Clone, Copy, PartialEq, Eq)]
enum PathKind {
    /// A directory of files or of programs.
    Directory,
    /// A program, or a directory of programs.
    Programs,
    /// One program.
    Program,
}

/// Warns of paths that are missing or of the wrong kind.
pub(crate) fn warn(raw: &Raw, issues: &mut Vec<Issue>) {
    let mut wanted = Vec::new();
    let buffer = raw.request_buffer.directory.iter().filter(|written| !written.value.contains('\0'));
    wanted.extend(buffer.map(|written| {
        let path = PathBuf::from(&written.value);
        RequiredPath { path, kind: PathKind::Directory, written, fails: BODIES_FAIL }
    }));
    wanted.extend(directory_of_log(raw));
    of_route(&raw.route, None, &mut wanted);
    for site in &raw.sites {
        of_route(&site.route, site.origins.as_ref(), &mut wanted);
        site.rules.iter().for_each(|rule| of_route(&rule.route, rule.origins.as_ref(), &mut wanted));
    }
    wanted.truncate(PATHS_MAX);
    let paths = wanted.iter().map(|one| (one.path.clone(), one.kind)).collect();
    // If no thread could be started, nothing was checked and nothing is reported, so a program that serves can still reload.
    let Some(found) = run_within(paths, WAIT_MAX, |(path, kind): &(PathBuf, PathKind)| fault(path, *kind)) else {
        return;
    };
    for (number, RequiredPath { path, written, fails, .. }) in wanted.iter().enumerate() {
        let path = quoted(&path.display().to_string());
        let (message, help) = match found.get(number) {
            Some(None) => continue,
            Some(Some(what)) => (format!("{path} {what}"), *fails),
            None => {
                (format!("{path} was not checked: the disk does not answer"), "check whether a network disk is down")
            }
        };
        issues.push(Issue::warning(message).at(&written.place).help(help));
    }
}

/// The file of the log is created if it does not exist, but its directory is not.
fn directory_of_log(raw: &Raw) -> Option<RequiredPath<'_>> {
    let written = raw.access_log.path.as_ref()?;
    let is_file = !matches!(written.value.as_str(), "" | "-") && !written.value.contains('\0');
    let path = Path::new(&written.value).parent().filter(|parent| is_file && !parent.as_os_str().is_empty())?;
    Some(RequiredPath { path: path.to_owned(), kind: PathKind::Directory, written, fails: START_FAILS })
}

fn of_route<'r>(route: &'r RawRoute, origins: Option<&'r RawOrigins>, wanted: &mut Vec<RequiredPath<'r>>) {
    if let Some(written) = &route.gateway.root
        && let Ok(path) = parse_directory(&written.value)
    {
        wanted.push(RequiredPath { path, kind: PathKind::Directory, written, fails: REQUESTS_FAIL });
    }
    let roots = route.sendfile.roots.iter().flat_map(|roots| &roots.value);
    let internal = route.sendfile.internal.iter().flat_map(|map| map.value.iter().map(|(_, directory)| directory));
    for written in roots.chain(internal) {
        if let Ok(path) = parse_directory(&written.value) {
            wanted.push(RequiredPath { path, kind: PathKind::Directory, written, fails: FILES_FAIL });
        }
    }
    let urls = origins.iter().flat_map(|origins| &origins.value).filter_map(|origin| origin.url.as_ref());
    for written in urls {
        let (path, kind) = match parse_origin(&written.value) {
            Ok(OriginAddress::Files(path)) => (path, PathKind::Directory),
            Ok(OriginAddress::Cgi(path)) => (path, PathKind::Programs),
            Ok(OriginAddress::Spawned(program)) => (program.file, PathKind::Program),
            _ => continue,
        };
        wanted.push(RequiredPath { path, kind, written, fails: REQUESTS_FAIL });
    }
}

/// Runs `look` for each job, in order, on a thread for which it waits at most `wait_max`. The results are fewer than the jobs if a
/// disk does not answer. `None`: no thread could be started.
fn run_within<J: Send + 'static, F: Send + 'static>(
    jobs: Vec<J>,
    wait_max: Duration,
    look: impl Fn(&J) -> F + Send + 'static,
) -> Option<Vec<F>> {
    let count = jobs.len();
    let mut found = Vec::with_capacity(count);
    if jobs.is_empty() {
        return Some(found);
    }
    let (sender, receiver) = mpsc::sync_channel(count);
    let thread = thread::Builder::new().name("kasoku-check".to_owned()).spawn(move || {
        for job in jobs {
            if sender.send(look(&job)).is_err() {
                return;
            }
        }
    });
    let thread = thread.ok()?;
    let ends = Instant::now() + wait_max;
    while found.len() < count
        && let Ok(one) = receiver.recv_timeout(ends.saturating_duration_since(Instant::now()))
    {
        found.push(one);
    }
    // A process that becomes another user afterwards should have no other thread.
    if found.len() == count {
        let _ = thread.join();
    }
    Some(found)
}

fn fault(path: &Path, kind: PathKind) -> Option<&'static str> {
    match (std::fs::metadata(path), kind) {
        (Err(error), _) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Some("does not exist")
        }
        (Err(_), _) => None,
        (Ok(found), PathKind::Directory) => (!found.is_dir()).then_some("is not a directory"),
        (Ok(found), PathKind::Programs) => {
            (!found.is_dir() && !found.is_file()).then_some("is neither a directory nor a program")
        }
        (Ok(found), PathKind::Program) => (!found.is_file()).then_some("is no program"),
    }
}
