//! Request collapsing: many clients, one request to the origin. Which requests join a fill, what happens when a client leaves,
//! and which requests are released to ask the origin themselves.
//!
//! The order is certain, not just likely: the first client's request has reached the origin, where a gate holds it, before the
//! next client asks. The only worker has seen all requests before the gate opens (`settled`).
mod bounds;
mod failing;
mod hit_for_miss;
mod invalidating;
mod joining;
mod not_joining;
mod releasing;
mod validating;
mod variants_and_parts;

use kasoku_testkit::{Client, Exchange, Gate, Response, Scenario, get};
use std::collections::BTreeSet;

const FRESH: &str = "Cache-Control: max-age=60";

/// That many clients which have sent a request for `/`. The request of the first one has reached the origin.
fn waiting(scene: &Scenario, count: usize, fields: &[&str]) -> Vec<Client> {
    let before = scene.origin.count();
    let clients = (0..count)
        .map(|number| {
            let mut client = scene.client();
            client.ask("GET", "/", fields);
            if number == 0 {
                scene.origin.arrived(before + 1);
            }
            client
        })
        .collect();
    scene.settled();
    clients
}

/// A client that has sent a request for `/`.
fn asking(scene: &Scenario, fields: &[&str]) -> Client {
    let mut client = scene.client();
    client.ask("GET", "/", fields);
    client
}

/// Reads one answer on each connection.
fn answers(clients: Vec<Client>) -> Vec<Response> {
    clients.into_iter().map(|mut client| client.response()).collect()
}

#[track_caller]
fn all_get(clients: Vec<Client>, status: u16, body: &str) {
    for response in answers(clients) {
        assert_eq!(response.short(), (status, body.to_owned()), "{response:?}");
    }
}

/// The distinct bodies of the answers.
fn bodies(clients: Vec<Client>) -> BTreeSet<String> {
    answers(clients).iter().map(Response::text).collect()
}

/// The origin sends `first` at once and `after` when the gate opens. It states the length.
fn in_two_pieces(fields: &[&str], gate: &Gate) -> Exchange {
    let fields: String = fields.iter().map(|line| format!("{line}\r\n")).collect();
    let head = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 10\r\n\r\nfirst");
    get("/").answers(head).waits(gate).sends("after")
}
