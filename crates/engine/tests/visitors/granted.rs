//! Granted lifetimes: which responses get one, for how long, and that no visitor gets another visitor's page.
//!
//! The scripts here were not written for a cache: they state no expiry, and use any part of a request. In `granted/visitors.rs`,
//! visitors of all kinds ask for their pages at once; `granted/scripts.rs` does the same with CGI programs, which see a visitor's
//! address as well. `granted/lifetimes.rs` is about the settings, one after the other; `granted/request_fields.rs` about requests that ask
//! for something else than the page; `granted/explained.rs` about what an
//! operator is told.
mod explained;
mod lifetimes;
mod request_fields;
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

/// The route grants a minute to responses that state no expiry.
fn ttl(setup: Setup) -> Setup {
    grant(setup, |grant| grant.ttl_seconds = 60)
}

/// The route grants lifetimes by `change`.
fn grant(setup: Setup, change: impl FnOnce(&mut Grant)) -> Setup {
    setup.policy(|policy| change(&mut policy.grant))
}

/// The cache removes cookies that are in no list.
fn removing(setup: Setup) -> Setup {
    setup.route(|route| route.cookies.others = Some(OtherCookies::Remove))
}

fn policy(route: &mut Route) -> &mut Policy {
    Arc::make_mut(&mut route.policy)
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Scripts that use parts of a request, and state no expiry:
///
/// - `/greet` uses the cookie `name`, `/language` Accept-Language, `/address` the client's address, `/referer` Referer,
/// - `/all` uses the whole request, except an address that is no client's.
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
