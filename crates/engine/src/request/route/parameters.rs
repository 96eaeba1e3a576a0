//! Finds parameters of a query that the configuration does not list (`query.known`), and values of which no certain tag can be made.
//!
//! An application may take parameters of which the operator did not think when granting a lifetime: a preview, a coupon, a theme, a
//! language that it then keeps in a session. Where the configuration lists the parameters that pages take, a URL with another one
//! is not one of those pages, so its request passes. Names are compared as programs read them, and a name that can be read in two
//! ways is not in the list. A page is dropped by its tags only if its parameters are spelt as the requests that change the page
//! spell them: a request with another spelling passes.

use crate::sites::ActiveRoute;
use kasoku_options::glob::matches;
use kasoku_semantics::query::{name_and_value, parts, path_and_query, read_name};
use kasoku_semantics::reason::Reason;

/// Why a request for that target passes for a parameter, if it does: the parameter is not listed, or its value makes no certain tag.
pub(super) fn passes(target: &str, route: &ActiveRoute) -> Option<Reason> {
    let (known, tags) = (&route.query.known[..], &route.policy.tags);
    let is_any_known = known.is_empty() && tags.templates.is_empty();
    if is_any_known || !route.policy.grant.is_granting() {
        return None;
    }
    let query = path_and_query(target).1?;
    let is_unknown = |pair: &str| !pair.is_empty() && !is_known(pair, known);
    // Some programs split at `;` as well, so each part counts.
    if !known.is_empty() && parts(query).any(is_unknown) {
        return Some(Reason::PassParameter);
    }
    (!tags.are_plain(query)).then_some(Reason::PassTagValue)
}

fn is_known(pair: &str, known: &[String]) -> bool {
    let (name, _) = name_and_value(pair);
    let read = read_name(name);
    known.iter().any(|glob| matches(glob, &read))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kasoku_options as options;
    use kasoku_semantics::policy::Profile;
    use std::sync::Arc;

    fn route(known: &[&str]) -> ActiveRoute {
        let mut route = options::Route::new(Profile::Safe, Vec::new());
        Arc::make_mut(&mut route.policy).grant.ttl_seconds = 60;
        route.query.known = known.iter().map(|name| (*name).to_owned()).collect();
        ActiveRoute::of(route, "", 0)
    }

    #[test]
    fn a_url_with_a_parameter_that_is_not_listed_passes() {
        let board = route(&["bo_table", "wr_id", "page", "s*"]);
        for target in ["/b", "/b?", "/b?bo_table=free&wr_id=5", "/b?bo%5ftable=free&&page=2&", "/b?stx=a%26b&sfl=x"] {
            assert_eq!(passes(target, &board), None, "{target}");
        }
        for target in ["/b?bo_table=free&w=d", "/b?bo.table=free", "/b?page[]=1", "/b?page=1;w=d", "/b?=1", "/b?PAGE=1"]
        {
            assert_eq!(passes(target, &board), Some(Reason::PassParameter), "{target}");
        }
    }

    #[test]
    fn a_url_whose_tags_are_unknown_passes() {
        let mut board = route(&[]);
        let tags = ["board-{bo_table}", "post-{bo_table}-{wr_id:digits}"];
        Arc::make_mut(&mut board.policy).tags.templates =
            tags.iter().map(|text| kasoku_options::TagTemplate::parse(text).unwrap()).collect();
        for target in ["/b", "/b?bo_table=Free&wr_id=5", "/b?wr_id=&stx=%20", "/b?other=05"] {
            assert_eq!(passes(target, &board), None, "{target}");
        }
        for target in ["/b?wr_id=05", "/b?bo_table=free&wr_id=5%20", "/b?bo.table=a.b", "/b?wr_id[]=x"] {
            assert_eq!(passes(target, &board), Some(Reason::PassTagValue), "{target}");
        }
    }

    #[test]
    fn without_a_list_or_a_grant_all_are_known() {
        assert_eq!(passes("/b?x=1", &route(&[])), None);
        let mut silent = route(&["a"]);
        Arc::make_mut(&mut silent.policy).grant.ttl_seconds = 0;
        assert_eq!(passes("/b?x=1", &silent), None);
    }
}
