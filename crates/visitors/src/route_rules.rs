//! What a route says of visitors.

use kasoku_options::Route;
use kasoku_semantics::policy::Policy;

/// What a route says of visitors: what was declared, and the caching rules that were made of it.
#[derive(Clone, Copy)]
pub struct RouteRules<'r> {
    /// What was declared.
    pub declared: &'r Route,
    /// The caching rules, complete: with the cookies that are dropped, and the site of the tags.
    pub policy: &'r Policy,
}

impl<'r> RouteRules<'r> {
    /// Of a route whose policy needs no completion.
    #[cfg(test)]
    pub(crate) fn of(declared: &'r Route) -> Self {
        Self { declared, policy: &declared.policy }
    }
}
