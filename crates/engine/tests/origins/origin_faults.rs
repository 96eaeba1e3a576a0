//! An origin that fails, keeps failing and comes back. Stale responses are served where allowed, the origin is not asked again
//! before the back-off is over, one visitor's request denies nothing to others, and a cut response is never stored.
//!
//! The origin's script is complete, so each scenario also counts the requests: one too many fails the test.
//! `crates/kasoku/tests/faults.rs` shows the same with processes that are killed and stopped.
mod backing_off;
mod cut;
mod nothing_stored;
mod probes;
mod slow;

use kasoku_testkit::{Client, Exchange, Scenario, get, ok, reply};

/// A page that may always be served stale. Each answer ends its connection, since the engine repeats a request when a kept
/// connection is closed.
const PAGE: [&str; 3] = ["Cache-Control: max-age=10, stale-if-error=100000", "ETag: \"1\"", CLOSE];

const CLOSE: &str = "Connection: close";

/// The number of clients in a crowd.
const CROWD: usize = 24;

/// The first answer to `/`.
fn first() -> Exchange {
    get("/").answers(ok(&PAGE, "old"))
}

/// A fetch of `/` that fails without an answer.
fn fails() -> Exchange {
    get("/").answers("").closes()
}

/// A fetch of `/` that is answered with an error.
fn errs(status: &str) -> Exchange {
    get("/").answers(reply(status, &["Cache-Control: no-store", CLOSE], "down"))
}

/// That many clients ask for `/`, one after the other. Each gets this body for this reason.
#[track_caller]
fn all_get(scene: &Scenario, body: &str, detail: &str) {
    for _ in 0..CROWD {
        let response = scene.client().get("/");
        assert_eq!((response.text().as_str(), response.detail().as_str()), (body, detail));
    }
}

/// The same for clients that get an error.
#[track_caller]
fn all_fail(scene: &Scenario, status: u16, detail: &str) {
    for _ in 0..CROWD {
        let response = scene.client().get("/");
        assert_eq!((response.status, response.detail().as_str()), (status, detail));
        assert_eq!(response.cache_status("fwd"), None, "no origin was asked");
    }
}

/// That many clients, which have asked for `/` with these fields.
fn crowd(scene: &Scenario, count: usize, fields: &[&str]) -> Vec<Client> {
    let ask = |_| {
        let mut client = scene.client();
        client.ask("GET", "/", fields);
        client
    };
    let clients = (0..count).map(ask).collect();
    scene.settled();
    clients
}
