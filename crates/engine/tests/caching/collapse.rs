//! Two flows meet in one object: many clients, one request to the origin; who joins, who leaves, who is released.
//!
//! Who waits for what is certain, not likely: the first client's request has reached the origin, where a gate holds it,
//! before the next client asks; and the only worker has seen all of them before the gate opens (`settled`).
mod bounds;
mod failing;
mod invalidating;
mod joining;
mod known_private;
mod not_joining;
mod releasing;
mod validating;
mod variants_and_parts;

use kasoku_testkit::{Client, Exchange, Gate, Response, Scenario, get};
use std::collections::BTreeSet;

const FRESH: &str = "Cache-Control: max-age=60";

/// That many clients which have asked for `/` by now, the first first: its request has reached the origin.
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

/// A client that has asked for `/`.
fn asking(scene: &Scenario, fields: &[&str]) -> Client {
    let mut client = scene.client();
    client.ask("GET", "/", fields);
    client
}

/// Reads an answer on each of these connections.
fn answers(clients: Vec<Client>) -> Vec<Response> {
    clients.into_iter().map(|mut client| client.response()).collect()
}

#[track_caller]
fn all_get(clients: Vec<Client>, status: u16, body: &str) {
    for response in answers(clients) {
        assert_eq!(response.short(), (status, body.to_owned()), "{response:?}");
    }
}

/// The different bodies among the answers.
fn bodies(clients: Vec<Client>) -> BTreeSet<String> {
    answers(clients).iter().map(Response::text).collect()
}

/// `first` at once, `after` when the gate opens; the length is known.
fn in_two_pieces(fields: &[&str], gate: &Gate) -> Exchange {
    let fields: String = fields.iter().map(|line| format!("{line}\r\n")).collect();
    let head = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 10\r\n\r\nfirst");
    get("/").answers(head).waits(gate).sends("after")
}
