//! `Handle::explain`: an explanation tells what a later request gets, each suggestion works, and asking has no effects.

mod agreement;
mod live;
mod misses;

use kasoku_engine::explain::{Explanation, Question};
use kasoku_testkit::Scenario;

/// The explanation of a request with these fields.
fn explain(scenario: &Scenario, method: &str, url: &str, fields: &[&str], is_live: bool) -> Explanation {
    let fields = fields.iter().map(|line| (*line).to_owned()).collect();
    let question = Question {
        url: format!("http://example.org{url}"),
        method: method.to_owned(),
        fields,
        is_live,
        is_tried: false,
    };
    scenario.engine.handle().explain(&question).unwrap()
}
