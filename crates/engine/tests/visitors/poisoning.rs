//! Cache poisoning and web cache deception: no visitor's request changes what another visitor gets, and no visitor's page reaches
//! another visitor.
//!
//! The application reflects all that it receives, in head and body, and allows caches to store its answers. The attacker asks
//! first, with a vector from the published lists. The victim asks with a plain request: afterwards, or while the attacker's
//! request is on its way, or after the attacker's request has refreshed the stored page. The victim must get what a cold cache
//! gives for the same request, byte for byte. The settings are the defaults (profile safe), or grant a lifetime to answers that
//! state none.
//!
//! The fields by which a reflecting application can still be poisoned are listed as well ([`open`]), and the tests keep that list
//! true.
pub(crate) mod application;
mod attack;
mod deception;
mod errors;
mod open;
mod vectors;

use application::{Application, Asked, Does};
use attack::Attack;
use kasoku_testkit::{BOTH, Scenario, Setup, reply};

/// Fields by which an application allows caches to store a page.
const MARKS: [&str; 3] = ["max-age=60", "s-maxage=60", "public, max-age=60"];

/// Kasoku in front of that application.
fn before(setup: Setup, application: &Application) -> Scenario {
    setup.site(&[], |route| route.origins = vec![application.address().into()]).run_with_own_origins()
}

/// An application that answers with all that it receives, with this Cache-Control.
fn reflecting(mark: &'static str) -> Application {
    Application::start(move |asked| Does::Answer(reflection(asked, mark)))
}

fn reflection(asked: &Asked, mark: &str) -> Vec<u8> {
    let seen = asked.all();
    let body = if asked.lines[0].starts_with("HEAD") { "" } else { seen.as_str() };
    let mut fields = vec![
        format!("X-Seen: {seen}"),
        format!("Content-Location: {}", asked.target()),
        "Content-Type: text/html".to_owned(),
    ];
    fields.extend((!mark.is_empty()).then(|| format!("Cache-Control: {mark}")));
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    reply("200 OK", &fields, body)
}

/// Grants a minute to answers that state no expiry.
fn granting(setup: Setup) -> Setup {
    setup.policy(|policy| policy.grant.ttl_seconds = 60)
}

#[test]
fn no_vector_changes_what_others_get() {
    assert!(vectors::all().count() >= 150, "{}", vectors::all().count());
    for mark in MARKS {
        let application = reflecting(mark);
        let [attacked, cold] = [(); 2].map(|()| before(Setup::safe(), &application));
        for (number, vector) in vectors::all().enumerate() {
            let attack = Attack { number, vector, attacked: &attacked, cold: &cold, application: &application };
            attack.before_the_victim();
            attack.while_the_victim_waits();
            attack.on_what_has_become_stale();
        }
    }
}

#[test]
fn no_vector_changes_what_others_get_where_a_lifetime_is_granted() {
    for profile in BOTH {
        let application = reflecting("");
        let [attacked, cold] = [(); 2].map(|()| before(granting(Setup::new(profile)), &application));
        for (number, vector) in vectors::all().enumerate() {
            let attack = Attack { number, vector, attacked: &attacked, cold: &cold, application: &application };
            attack.before_the_victim();
            attack.while_the_victim_waits();
            attack.on_what_has_become_stale();
        }
    }
}

#[test]
fn no_vector_changes_what_others_get_where_the_query_is_normalised() {
    let application = reflecting("max-age=60");
    let by_rule = || {
        Setup::safe().route(|route| {
            route.query.sort = true;
            route.query.ignore = vec!["utm_*".to_owned(), "fbclid".to_owned()];
        })
    };
    let [attacked, cold] = [(); 2].map(|()| before(by_rule(), &application));
    for (number, vector) in vectors::QUERIES.iter().enumerate() {
        let attack = Attack { number, vector, attacked: &attacked, cold: &cold, application: &application };
        attack.before_the_victim();
        attack.while_the_victim_waits();
        attack.on_what_has_become_stale();
    }
}
