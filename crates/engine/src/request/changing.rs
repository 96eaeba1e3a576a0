//! Finds the lines of the configuration that say what a request changes (`changes`).

use crate::request::route::Routed;
use http::Method;
use kasoku_options::ChangeRule;
use kasoku_semantics::query::path_and_query;
use kasoku_semantics::tags::{Parameters, Tagged};

/// The route's `changes` that match a request, with their numbers.
pub(crate) fn about<'r>(method: &'r Method, routed: &'r Routed) -> impl Iterator<Item = (usize, &'r ChangeRule)> {
    let is_about_it = move |change: &ChangeRule| {
        change.method.as_ref().is_none_or(|one| one == method || (one == Method::GET && method == Method::HEAD))
            && routed.is_any(|| std::iter::once(&change.url))
    };
    let all = routed.route.changes.list.iter().enumerate();
    all.filter(move |(_, change)| is_about_it(change))
}

/// Whether a line of `changes` matches such a request.
pub(crate) fn is_listed(method: &Method, routed: &Routed) -> bool {
    about(method, routed).next().is_some()
}

/// Whether the configuration says that such a request changes nothing.
pub(crate) fn is_none(method: &Method, routed: &Routed) -> bool {
    let mut changes = about(method, routed).peekable();
    changes.peek().is_some() && changes.all(|(_, change)| change.is_none())
}

/// The tags that a request drops once it has been carried out, as far as its URL tells (`*`: all tags); `None`: no line matches.
pub(crate) fn told(method: &Method, routed: &Routed) -> Option<Vec<String>> {
    let changes: Vec<&ChangeRule> = about(method, routed).map(|(_, change)| change).collect();
    if changes.is_empty() {
        return None;
    }
    if changes.iter().any(|change| change.is_all) {
        return Some(vec!["*".to_owned()]);
    }
    let mut parameters = Parameters::default();
    parameters.read(path_and_query(routed.read_target()).1.unwrap_or_default());
    Some(Tagged::of(changes.iter().flat_map(|change| &change.tags), &parameters).tags)
}
