//! Lifetimes that the operator grants: to whom, for how long, and that nobody gets another visitor's page.
//!
//! The scripts here are of the kind that nobody wrote with a cache in mind: they send no expiry, and look at whatever a request
//! brings. `granted/visitors.rs` has them asked by visitors of all kinds at once, and `granted/scripts.rs` the same of CGI
//! programs, which see a visitor's address as well; `granted/lifetimes.rs` is about the settings, one
//! after the other; `granted/explained.rs` about what an operator is told of it.
mod explained;
mod lifetimes;
mod scripts;
mod visitors;

use crate::poisoning::application;
use crate::programs;
use application::{Application, Asked, Does};
use kasoku_options::{OtherCookies, Route};
use kasoku_semantics::grant::Grant;
use kasoku_semantics::policy::Policy;
use kasoku_testkit::{Setup, ok};
use std::sync::Arc;

/// The route grants a minute to what states no expiry.
fn ttl(setup: Setup) -> Setup {
    grant(setup, |grant| grant.ttl_seconds = 60)
}

/// The route grants that.
fn grant(setup: Setup, change: impl FnOnce(&mut Grant)) -> Setup {
    setup.policy(|policy| change(&mut policy.grant))
}

/// Cookies that are in no list are removed.
fn removing(setup: Setup) -> Setup {
    setup.route(|route| route.cookies.others = Some(OtherCookies::Remove))
}

fn policy(route: &mut Route) -> &mut Policy {
    Arc::make_mut(&mut route.policy)
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Scripts that look at what a request brings, and send no expiry:
///
/// - `/greet` at the cookie `name`, `/language` at Accept-Language, `/address` at where the request comes from, `/referer` at
///   where the visitor comes from,
/// - `/all` at everything.
fn scripts() -> Application {
    Application::start(|asked| Does::Answer(ok(&["Content-Type: text/html"], page(asked))))
}

fn page(asked: &Asked) -> String {
    let field = |name: &str| asked.field(name).unwrap_or("nothing").to_owned();
    match asked.target().split('?').next().unwrap() {
        "/greet" => {
            let cookies = field("cookie");
            let name = cookies.split(';').find_map(|pair| pair.trim().strip_prefix("name="));
            format!("Hello, {}!", name.unwrap_or("whoever you are"))
        }
        "/language" => format!("In: {}", field("accept-language")),
        "/address" => {
            let names = ["x-forwarded-for", "forwarded", "x-real-ip", "client-ip"];
            names.map(|name| format!("{name}: {}", field(name))).join("; ")
        }
        "/referer" => format!("You come from {}", field("referer")),
        _ => asked.all(),
    }
}
