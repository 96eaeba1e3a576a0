//! Tests the program in front of an application that is killed, stopped, restarted, or answers one byte a second. The application is a
//! process that gets signals and logs its requests; `crates/engine/tests/origins/origin_faults.rs` uses scripted origins instead.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "faults/application.rs"]
mod application;
#[allow(dead_code, reason = "not each test needs all of it")]
mod support;

use application::Application;
use rustix::process::Signal;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;
use support::{Answer, PATIENCE, Program, file, get, try_get};

const ANY_PORT: &str = "127.0.0.1:0";

/// Requests that clients send during a fault.
const MANY: usize = 300;

/// A program in front of that application, with short deadlines, because the tests are about what happens after them.
fn before(application: &Application, name: &str) -> Program {
    let config = file(
        name,
        &format!(
            "listen = [\"{ANY_PORT}\"]\nadmin = \"{ANY_PORT}\"\nworkers = 2\n\n[limits]\nfill-wait-max = \"1s\"\n\n\
             [origin-limits]\nfirst-byte-timeout = \"2s\"\n\n[[site]]\norigin = \"{}\"\n",
            application.url()
        ),
    );
    Program::serve(&["--config", config.to_str().unwrap()])
}

/// Repeats the request until an answer meets the condition.
#[track_caller]
fn until(address: SocketAddr, path: &str, is_met: impl Fn(&Answer) -> bool) -> Answer {
    let begun = Instant::now();
    loop {
        match try_get(address, path) {
            Some(answer) if is_met(&answer) => return answer,
            Some(answer) => assert!(begun.elapsed() < PATIENCE, "{} {}", answer.head, answer.body),
            // The answer was cut.
            None => assert!(begun.elapsed() < PATIENCE, "nothing but resets"),
        }
    }
}

fn detail(answer: &Answer) -> &str {
    answer.field("cache-status").and_then(|status| status.split_once("detail=")).map_or("", |(_, detail)| detail)
}

/// Sends many requests and checks that each gets the page, whatever the application does. Returns how long they took, in seconds.
fn all_get_the_page(program: &Program, path: &str) -> u64 {
    let begun = Instant::now();
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (address, path) = (program.clients, path.to_owned());
            std::thread::spawn(move || {
                for _ in 0..MANY / 4 {
                    let answer = get(address, &path);
                    assert_eq!((answer.status, answer.body.as_str()), (200, "page"), "{}", answer.head);
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    begun.elapsed().as_secs()
}

/// The most fetches that `seconds` of doubling back-off allow: one at the beginning, one after each back-off, and one that is still on its
/// way when the next begins.
fn fetches_within_back_off(seconds: u64) -> usize {
    2 + usize::try_from((seconds + 1).ilog2()).unwrap() + 1
}

#[test]
fn a_killed_application_is_stood_in_for_until_it_is_back() {
    let mut application = Application::start();
    let program = before(&application, "killed.toml");
    assert_eq!(get(program.clients, "/page").body, "page");
    application.signal(Signal::KILL);
    application.wait();
    until(program.clients, "/page", |answer| detail(answer) == "hit-stale-error");
    all_get_the_page(&program, "/page");
    assert_eq!(get(program.clients, "/never-asked").status, 502);
    application.start_again();
    until(program.clients, "/page", |answer| detail(answer) == "hit");
}

#[test]
fn a_stopped_application_is_stood_in_for_and_asked_no_more_than_its_back_off_allows() {
    let application = Application::start();
    let program = before(&application, "stopped.toml");
    assert_eq!(get(program.clients, "/page").body, "page");
    application.signal(Signal::STOP);
    until(program.clients, "/page", |answer| detail(answer) == "hit-stale-error");
    let seconds = all_get_the_page(&program, "/page");
    application.signal(Signal::CONT);
    until(program.clients, "/page", |answer| detail(answer) == "hit");
    let asked = application.asked("/page");
    assert!(asked <= 2 + fetches_within_back_off(seconds + 4), "{asked} in {seconds} s");
}

#[test]
fn an_application_that_answers_errors_is_asked_once_in_a_back_off() {
    let application = Application::start();
    let program = before(&application, "errors.toml");
    assert_eq!(get(program.clients, "/page").body, "page");
    application.does("error");
    until(program.clients, "/page", |answer| detail(answer) == "hit-stale-error");
    let before = application.asked("/page");
    let seconds = all_get_the_page(&program, "/page");
    let asked = application.asked("/page") - before;
    assert!(asked <= fetches_within_back_off(seconds), "{asked} in {seconds} s");
    application.does("page");
    until(program.clients, "/page", |answer| detail(answer) == "hit");
}

#[test]
fn a_body_that_is_cut_is_never_stored() {
    for fault in ["cut", "cut-chunked", "reset"] {
        let application = Application::start();
        let program = before(&application, &format!("{fault}.toml"));
        assert_eq!(get(program.clients, "/page").body, "page");
        application.does(fault);
        until(program.clients, "/page", |answer| detail(answer) == "hit-stale-error");
        let before = application.asked("/page");
        let seconds = all_but_a_few_get_the_page(&program);
        let asked = application.asked("/page") - before;
        assert!(asked <= fetches_within_back_off(seconds), "{fault}: {asked} in {seconds} s");
        application.does("page");
        until(program.clients, "/page", |answer| detail(answer) == "hit" && answer.body == "page");
    }
}

/// Sends many requests and checks that all get the page but those that start a fetch after a back-off: these get the cut body, and can
/// tell that it is cut. Returns how long the requests took, in seconds.
fn all_but_a_few_get_the_page(program: &Program) -> u64 {
    let begun = Instant::now();
    let mut cut = 0;
    for _ in 0..MANY {
        match try_get(program.clients, "/page") {
            Some(answer) if answer.status == 200 && answer.body == "page" => {}
            Some(answer) => {
                let is_told = answer.status == 502 || answer.body.len() < "page".len();
                assert!(is_told, "{} {}", answer.head, answer.body);
                cut += 1;
            }
            None => cut += 1,
        }
    }
    let seconds = begun.elapsed().as_secs();
    assert!(cut <= fetches_within_back_off(seconds), "{cut} of {MANY} in {seconds} s");
    seconds
}

/// A program that balances between both applications in turn.
fn before_two(applications: [&Application; 2], name: &str) -> Program {
    let [one, other] = applications.map(Application::url);
    let config = file(
        name,
        &format!(
            "listen = [\"{ANY_PORT}\"]\nadmin = \"{ANY_PORT}\"\nworkers = 2\n\n[[site]]\norigin = [\"{one}\", \"{other}\"]\n\
             balance = \"round-robin\"\n"
        ),
    );
    Program::serve(&["--config", config.to_str().unwrap()])
}

/// Runs clients that each request a new page each time, until `work` returns. `work` gets a function that waits until that many more
/// requests were answered. Returns the heads of the answers that were not the page.
fn under_load(program: &Program, work: impl FnOnce(&dyn Fn(usize))) -> Vec<String> {
    let (address, answered, is_done) = (program.clients, AtomicUsize::new(0), AtomicBool::new(false));
    let serve_more = |count: usize| {
        let (begun, target) = (Instant::now(), answered.load(Ordering::Relaxed) + count);
        while answered.load(Ordering::Relaxed) < target {
            assert!(begun.elapsed() < PATIENCE, "no client is answered any more");
            std::thread::yield_now();
        }
    };
    let ask = |client: usize| {
        let mut lost = Vec::new();
        for number in 0.. {
            if is_done.load(Ordering::Relaxed) {
                break;
            }
            let answer = get(address, &format!("/{client}/{number}"));
            if (answer.status, answer.body.as_str()) != (200, "page") {
                lost.push(answer.head);
            }
            answered.fetch_add(1, Ordering::Relaxed);
        }
        lost
    };
    std::thread::scope(|scope| {
        let ask = &ask;
        let clients: Vec<_> = (0..8).map(|client| scope.spawn(move || ask(client))).collect();
        work(&serve_more);
        is_done.store(true, Ordering::Relaxed);
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    })
}

#[test]
fn two_applications_restarted_one_after_the_other_under_load_lose_nothing() {
    let (mut one, mut other) = (Application::start(), Application::start());
    let program = before_two([&one, &other], "restarted.toml");
    let lost = under_load(&program, |serve_more| {
        for _ in 0..2 {
            for application in [&mut one, &mut other] {
                serve_more(100);
                application.signal(Signal::KILL);
                application.wait();
                serve_more(200);
                application.start_again();
                // The next application is killed before Kasoku has noticed that this one is back.
            }
        }
        serve_more(100);
    });
    assert!(lost.is_empty(), "{} lost: {}", lost.len(), lost[0]);
}

#[test]
fn one_of_two_applications_killed_under_load_is_noticed_by_no_client() {
    let (mut one, other) = (Application::start(), Application::start());
    for application in [&one, &other] {
        application.does("page-kept");
    }
    let program = before_two([&one, &other], "one-killed.toml");
    let lost = under_load(&program, |serve_more| {
        for _ in 0..4 {
            serve_more(200);
            one.signal(Signal::KILL);
            one.wait();
            serve_more(200);
            one.start_again();
        }
    });
    assert!(lost.is_empty(), "{} lost: {}", lost.len(), lost[0]);
}

#[test]
fn an_application_that_was_away_is_asked_as_soon_as_it_is_back() {
    let mut application = Application::start();
    let program = before(&application, "away.toml");
    application.signal(Signal::KILL);
    application.wait();
    for number in 0..20 {
        assert_eq!(get(program.clients, &format!("/{number}")).status, 502);
    }
    application.start_again();
    assert_eq!(get(program.clients, "/back").body, "page");
}

#[test]
fn one_byte_a_second_is_slow_and_whole_and_delays_no_other_client() {
    let application = Application::start();
    let program = before(&application, "slow.toml");
    let address = program.clients;
    let slow = std::thread::spawn(move || get(address, "/slow"));
    application.has_been_asked("/slow");
    let joined = std::thread::spawn(move || get(address, "/slow"));
    for _ in 0..MANY {
        assert_eq!(get(address, "/quick").body, "page");
    }
    for answer in [slow.join().unwrap(), joined.join().unwrap()] {
        assert_eq!(answer.body, "page");
    }
    assert!(get(address, "/slow").is_hit());
    assert_eq!(application.asked("/slow"), 1);
}
