//! Tests the policies of known applications, each in front of a stand-in: a small program that answers as the real application was
//! observed to (docs/applications-facts.md gives the sources). `tests/wordpress` and `tests/mediawiki` test those two with the real
//! programs; the WordPress test here covers only the responses that WordPress generates without a file, such as `/robots.txt`.
//!
//! A scenario checks what a visitor sees. Guests share pages, although the application sets a session cookie on each. A visitor who logs
//! in gets their own pages from the first to the last, and a form or a cart that needs a session works. Each page names the visitor for
//! whom the application made it, so a page that reaches the wrong visitor is detected. A site loads the policy by the application's name.
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

/// A site with `application = "name"` and the lines `own`, whose origin is `stand_in`. The leak guard is off, because the tests count the
/// requests to the application, and the guard would add its own.
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
