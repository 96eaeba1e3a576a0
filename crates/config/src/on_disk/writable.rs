//! Warns of directories below a document root where scripts that visitors have uploaded would run.
//!
//! An application that takes uploads has a directory that its user, or any user, may write to. The application brings along a
//! .htaccess that keeps scripts there from running, but only Apache reads it: here `no-programs` does that. So for each directory
//! that the program's user or any user may write to, this module works out whether a request would run a script in it: by the first
//! rule that matches, the suffixes of scripts, `no-programs` and `refuse-urls`.
//!
//! It ignores which user runs the scripts: a php-fpm under another user may write where Kasoku may not.

use super::identity::Identity;
use super::run_within;
use super::tree::{Interest, WalkResult, WriteAccess, walk};
use crate::address::parse_origin;
use crate::glob::covers;
use crate::issue::{Issue, SourceLocation, quoted};
use crate::raw::{Raw, RawOrigins, RawRoute, RawSite};
use kasoku_options::{Options, OriginAddress, PathGlob, Route, Site};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest time for all roots together.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// The most directories that one warning names.
const NAMED_MAX: usize = 8;

/// Warns of such directories. `options`: those of the file, without errors.
pub(crate) fn warn(raw: &Raw, options: &Options, issues: &mut Vec<Issue>) {
    let ends = Instant::now() + WAIT_MAX;
    let user = options.user.clone();
    let sites = raw.sites.iter().zip(&options.sites);
    let jobs: Vec<Arc<WalkJob>> = sites.flat_map(|(written, site)| jobs(raw, written, site)).map(Arc::new).collect();
    let found = run_within(jobs.clone(), WAIT_MAX, move |job: &Arc<WalkJob>| {
        let identity = Identity::of(user.as_deref());
        let found = walk(&job.at.root, identity.as_ref(), &**job, ends);
        (found, identity.and_then(|identity| identity.name))
    });
    for (job, (found, user)) in jobs.iter().zip(found.iter().flatten()) {
        let writers = [WriteAccess::Anybody, WriteAccess::User].into_iter();
        issues.extend(writers.filter_map(|writer| job.issue(found, writer, user.as_deref())));
    }
}

/// A directory from which programs run, and the prefix of the URL paths that lead there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Root {
    root: PathBuf,
    prefix: String,
}

/// A root of a site that is to be walked.
struct WalkJob {
    at: Root,
    routes: Arc<Routes>,
    place: Option<SourceLocation>,
}

/// How a site routes paths.
struct Routes {
    /// The rules, by their paths.
    rules: Vec<(String, Runner)>,
    otherwise: Runner,
}

/// The parts of a route that decide whether a script runs.
struct Runner {
    /// The roots of its programs, each with a name that a script there may have.
    runs: Vec<(Root, String)>,
    no_programs: Vec<PathGlob>,
    /// Patterns of refused paths.
    refused: Vec<String>,
}

fn jobs(raw: &Raw, written: &RawSite, site: &Site) -> Vec<WalkJob> {
    let rules = site.rules.iter().map(|rule| (rule.path.as_str().to_owned(), Runner::of(&rule.route))).collect();
    let routes = Arc::new(Routes { rules, otherwise: Runner::of(&site.route) });
    let around = RouteLevels { routes: vec![&raw.route, &written.route], origins: vec![written.origins.as_ref()] };
    // This leaves out an application's own rules, which stand behind those of the file.
    let of_rules = routes.rules.iter().map(|(_, runner)| runner).zip(&written.rules).map(|(runner, rule)| {
        let mut levels = around.clone();
        levels.routes.push(&rule.route);
        levels.origins.push(rule.origins.as_ref());
        (runner, levels)
    });
    let mut jobs: Vec<WalkJob> = Vec::new();
    for (runner, levels) in std::iter::once((&routes.otherwise, around.clone())).chain(of_rules) {
        for (at, _) in &runner.runs {
            if !jobs.iter().any(|job| job.at == *at) {
                jobs.push(WalkJob { at: at.clone(), routes: routes.clone(), place: levels.place(at) });
            }
        }
    }
    jobs
}

/// The levels at which a route is written, from the outside in.
#[derive(Clone)]
struct RouteLevels<'r> {
    routes: Vec<&'r RawRoute>,
    origins: Vec<Option<&'r RawOrigins>>,
}

impl RouteLevels<'_> {
    /// The place where a root is written: as an origin, or as `root`.
    fn place(&self, at: &Root) -> Option<SourceLocation> {
        let urls =
            self.origins.iter().rev().flatten().flat_map(|origins| &origins.value).filter_map(|one| one.url.as_ref());
        let names_it = |text: &str| matches!(parse_origin(text), Ok(OriginAddress::Cgi(path)) if path == at.root);
        let url = urls.into_iter().find(|url| names_it(&url.value));
        let root = || self.routes.iter().rev().find_map(|route| route.gateway.root.as_ref());
        url.or_else(root).map(|text| text.place.clone())
    }
}

impl Runner {
    fn of(route: &Route) -> Self {
        let gateway = &route.gateway;
        let prefix = gateway.url_prefix.trim_end_matches('/').to_owned();
        let at = |root: &PathBuf| Root { root: root.clone(), prefix: prefix.clone() };
        let mut runs = Vec::new();
        for origin in &route.origins {
            match (&origin.address, &gateway.root) {
                (OriginAddress::Cgi(root), _) => runs.push((at(root), "x".to_owned())),
                (OriginAddress::FastCgi(_) | OriginAddress::Scgi(_) | OriginAddress::Spawned(_), Some(root)) => {
                    runs.extend(gateway.script_suffixes.iter().map(|suffix| (at(root), format!("x{suffix}"))));
                }
                _ => {}
            }
        }
        let patterns = route.refuse_urls.iter().map(ToString::to_string);
        let refused = patterns.filter(|pattern| !pattern.contains('?')).collect();
        Self { runs, no_programs: gateway.no_programs.clone(), refused }
    }

    fn is_from(&self, at: &Root) -> bool {
        self.runs.iter().any(|(root, _)| root == at)
    }
}

impl Routes {
    fn all(&self) -> impl Iterator<Item = &Runner> {
        self.rules.iter().map(|(_, runner)| runner).chain([&self.otherwise])
    }

    /// Whether a request for a script in that directory runs it.
    fn would_run(&self, at: &Root, below: &str) -> bool {
        let names = self.all().flat_map(|runner| &runner.runs).filter(|(root, _)| root == at).map(|(_, name)| name);
        names.into_iter().any(|name| {
            let path = format!("{}{below}/{name}", at.prefix);
            let sent = encoded(&path);
            let rule = self.rules.iter().find(|(pattern, _)| covers(pattern, &sent));
            let runner = rule.map_or(&self.otherwise, |(_, runner)| runner);
            runner.runs.iter().any(|(root, script)| root == at && script == name)
                && !PathGlob::is_any(&runner.no_programs, path.as_bytes())
                && !runner.refused.iter().any(|pattern| covers(pattern, &sent))
        })
    }
}

impl Interest for WalkJob {
    fn counts(&self, below: &str) -> bool {
        self.routes.would_run(&self.at, below)
    }

    fn is_over(&self, below: &str) -> bool {
        let path = format!("{}{below}", self.at.prefix);
        self.routes
            .all()
            .filter(|runner| runner.is_from(&self.at))
            .all(|runner| PathGlob::is_any(&runner.no_programs, path.as_bytes()))
    }
}

impl WalkJob {
    /// The warning about the directories that `writer` may write to.
    fn issue(&self, found: &WalkResult, writer: WriteAccess, user: Option<&str>) -> Option<Issue> {
        let is_writers = |(_, of): &&(String, WriteAccess)| *of == writer;
        let below: Vec<&str> = found.directories.iter().filter(is_writers).map(|(below, _)| below.as_str()).collect();
        let who = match (writer, user) {
            (WriteAccess::Anybody, _) => "any user".to_owned(),
            (WriteAccess::User, Some(name)) => format!("Kasoku's user {}", quoted(name)),
            (WriteAccess::User, None) => "Kasoku's user".to_owned(),
        };
        let (first, others) = below.split_first()?;
        let named = below.iter().take(NAMED_MAX).map(|below| quoted(&format!("{}{below}", self.at.root.display())));
        let mut directories = named.collect::<Vec<_>>().join(", ");
        if others.len() >= NAMED_MAX {
            directories.push_str(&format!(" and {} more", below.len() - NAMED_MAX));
        }
        let mut help = if first.is_empty() { self.help_for_root() } else { self.help(&below) };
        if found.is_cut_short {
            help.push_str("; there may be more: Kasoku did not look at everything below the root");
        }
        let issue = Issue::warning(format!("{who} may write to {directories}, and programs run there")).help(help);
        Some(match &self.place {
            Some(place) => issue.at(place),
            None => issue,
        })
    }

    /// The help: the line to add.
    fn help(&self, below: &[&str]) -> String {
        let pattern = |below: &&str| format!("\"{}/*\"", encoded(&format!("{}{below}", self.at.prefix)));
        let patterns = below.iter().take(NAMED_MAX).map(pattern).collect::<Vec<_>>().join(", ");
        let has_list = self.routes.all().any(|runner| !runner.no_programs.is_empty());
        match has_list {
            false => format!("with `no-programs = [{patterns}]`, no program runs there"),
            true => format!("with {patterns} in `no-programs`, no program runs there"),
        }
    }

    fn help_for_root(&self) -> String {
        let pattern = format!("{}/data/*", encoded(&self.at.prefix));
        format!(
            "let another user own it, except directories of uploads; for these, write `no-programs = [\"{pattern}\"]`"
        )
    }
}

/// A path as a pattern. A `*` in a name is encoded, so it stands for itself.
fn encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => text.push(char::from(byte)),
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}
