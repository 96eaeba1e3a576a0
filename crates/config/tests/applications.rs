//! The policies of known applications, each in front of a stand-in: a small program that answers as the real one was seen to
//! (docs/applications-facts.md says where). WordPress and MediaWiki have tests of their own, on the
//! real programs; here is what WordPress makes without a file.
//!
//! A scenario is about what a visitor sees: guests share pages that the application spoils with a session, whoever logs in sees pages of
//! their own at once and until the end, and what opens a session on purpose (a form, a cart) works. Each page is stamped with whom
//! the application believes to serve, so a page in the wrong hands shows. The policy is read from its file, as a site would name it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

#[allow(dead_code, reason = "not all of it is needed here")]
#[path = "../../engine/tests/visitors/poisoning/application.rs"]
mod application;
#[path = "applications/drupal.rs"]
mod drupal;
#[path = "applications/gnuboard5.rs"]
mod gnuboard5;
#[path = "applications/movable_type.rs"]
mod movable_type;
#[path = "applications/phpbb.rs"]
mod phpbb;
#[path = "applications/rhymix.rs"]
mod rhymix;
#[path = "applications/stand_in.rs"]
mod stand_in;
#[path = "applications/visitor.rs"]
mod visitor;
#[path = "applications/woocommerce.rs"]
mod woocommerce;
#[path = "applications/wordpress.rs"]
mod wordpress;
#[path = "applications/xe.rs"]
mod xe;

use application::Application;
use kasoku_testkit::{Scenario, Setup};
use std::sync::Arc;

/// A site that names that application, in front of its stand-in, with these lines of its own. What the application is asked is counted here, so
/// no page is compared.
fn site(name: &str, own: &str, stand_in: &Application) -> Scenario {
    let text = format!("[[site]]\norigin = \"http://127.0.0.1:1\"\napplication = \"{name}\"\nguard = false\n{own}\n");
    let (options, issues) = kasoku_config::check_text(&text);
    assert!(issues.is_empty(), "{issues:#?}");
    let mut sites = options.unwrap().sites;
    for site in &mut sites {
        for route in site.rules.iter_mut().map(|rule| &mut rule.route).chain([&mut site.route]) {
            Arc::make_mut(route).origins = vec![stand_in.address().into()];
        }
    }
    Setup::safe().options(|options| options.sites = sites).run_with_own_origins()
}
