//! Joins what a route says of visitors: its declaration, and its caching rules.

use kasoku_options::Route;
use kasoku_semantics::policy::Policy;

/// What a route says of visitors: the declaration, and the caching rules that were made of it.
#[derive(Clone, Copy)]
pub struct RouteRules<'r> {
    /// The declaration.
    pub declared: &'r Route,
    /// The caching rules, complete: with the cookies that are dropped, and the site of the tags.
    pub policy: &'r Policy,
}

impl<'r> RouteRules<'r> {
    /// The rules of a route whose policy needs no completion.
    #[cfg(test)]
    pub(crate) fn of(declared: &'r Route) -> Self {
        Self { declared, policy: &declared.policy }
    }
}
