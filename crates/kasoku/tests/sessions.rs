//! Tests that sessions stay apart: two hundred visitors log in and out, fill carts and read, in random order, through the `kasoku` program.
//! The application states on each page for which visitor it was made. No answer may contain a byte of another visitor's page, no visitor
//! may get another visitor's session, and each visitor must see the state of their own session at once.
//!
//! In the order of the data: `visitor` chooses requests. `traffic` sends them through the program, which `operator` reloads and restarts
//! meanwhile. `application` answers with the bodies of `page`. `check` reports what is wrong with an answer, and `report` counts. `policy`
//! is the program's configuration for the application. The last tests here show that the checker notices mistakes of an application or a
//! policy; the tests in `mistakes` show the same for single answers.
//!
//! `KASOKU_SESSIONS_REQUESTS` sets the number of requests (20,000; `make test` sends 200,000 with the release program).
//! `KASOKU_SESSIONS_SEED` repeats the choice of requests, but not how threads interleave.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "sessions/application.rs"]
mod application;
#[path = "sessions/check.rs"]
mod check;
#[path = "sessions/habit.rs"]
mod habit;
#[path = "sessions/mistakes.rs"]
mod mistakes;
#[path = "sessions/operator.rs"]
mod operator;
#[path = "sessions/page.rs"]
mod page;
#[path = "sessions/policy.rs"]
mod policy;
#[path = "sessions/report.rs"]
mod report;
#[path = "sessions/response.rs"]
mod response;
#[allow(dead_code, reason = "more than one test uses it, each its own part")]
mod support;
#[path = "sessions/traffic.rs"]
mod traffic;
#[path = "sessions/visitor.rs"]
mod visitor;

use application::Application;
use check::Ledger;
use operator::{OPERATOR_ACTIONS, Operator, OperatorAction, Settings};
use policy::Policy;
use report::{Count, Report};
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use support::setting;
use traffic::{Address, Run};

/// The operator repeats all its actions once more for each this many requests.
const REQUESTS_A_ROUND: u64 = 200_000;

fn temporary(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()))
}

/// Sets the flag on drop, also after a panic.
struct Ending<'e>(&'e AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Makes the runs happen one at a time, so that each has the machine to itself.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Runs the visitors and returns the run with its report. Without `actions`, the operator does nothing meanwhile.
fn run(name: &str, policy: Policy, requests: u64, actions: &[OperatorAction]) -> Run {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = setting("KASOKU_SESSIONS_SEED").unwrap_or(since_1970.as_secs());
    let application = Application::start(seed, policy == Policy::Careless);
    let pid_file = temporary(&format!("{name}.pid"));
    let texts = [0, 1].map(|turn| policy.text(&application, &pid_file, turn));
    let settings = Settings { file: temporary(&format!("{name}.toml")), pid_file, texts };
    let program = settings.serve();
    let run = Run {
        application,
        address: Address::of(program.clients),
        ledger: Ledger::default(),
        report: Report::default(),
        seed,
        requests,
        asked: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
    };
    let mut operator = Operator { run: &run, settings: &settings, program, successor: None };
    std::thread::scope(|scope| {
        let visitors = scope.spawn(|| {
            let _ending = Ending(&run.is_over);
            run.visit();
        });
        let _ending = Ending(&run.is_over);
        operator.work(actions);
        visitors.join().unwrap();
    });
    drop(operator);
    let _ = std::fs::remove_file(&settings.file);
    run
}

#[test]
fn no_visitor_gets_a_byte_of_another() {
    let requests = setting("KASOKU_SESSIONS_REQUESTS").unwrap_or(20_000);
    let actions = OPERATOR_ACTIONS.repeat(1 + usize::try_from(requests / REQUESTS_A_ROUND).unwrap());
    let run = run("sessions", Policy::Right, requests, &actions);
    let report = &run.report;
    // Written past the test harness's capture, so that the report always shows.
    let _ = writeln!(std::io::stderr(), "KASOKU_SESSIONS_SEED={}\n{}", run.seed, report.text());
    assert!(report.mistakes().is_empty(), "KASOKU_SESSIONS_SEED={}", run.seed);
    assert!(report.missing().is_empty(), "never happened: {:?}", report.missing());
    let (hits, pages) = (report.total(Count::UnknownVisitorHit), report.total(Count::UnknownVisitor));
    assert!(hits * 2 > pages, "a run with {hits} hits of {pages} shows nothing");
}

/// The kinds of mistakes that a run with that policy finds.
fn mistakes_of(name: &str, policy: Policy) -> Vec<String> {
    let run = run(name, policy, 3_000, &[]);
    run.report.mistakes().into_keys().collect()
}

#[test]
fn an_application_that_says_public_of_everything_is_found_to_mix_its_visitors() {
    let kinds = mistakes_of("careless", Policy::Careless);
    assert!(["foreign", "shared", "mistaken"].iter().all(|kind| kinds.iter().any(|one| one == kind)), "{kinds:?}");
}

#[test]
fn a_policy_that_forgets_the_sessions_cookie_is_found_to_lose_log_ins() {
    let kinds = mistakes_of("forgetting", Policy::ForgettingSessions);
    assert!(kinds.iter().any(|kind| kind == "mistaken"), "{kinds:?}");
}

#[test]
fn a_probe_that_says_the_same_to_all_is_found_to_take_members_for_anonymous() {
    let kinds = mistakes_of("in-vain", Policy::ProbingInVain);
    assert!(kinds.iter().any(|kind| kind == "mistaken"), "{kinds:?}");
}

#[test]
fn a_cookie_that_is_believed_whatever_it_says_is_found_to_take_members_for_anonymous() {
    let kinds = mistakes_of("believing", Policy::BelievingAnyStatus);
    assert!(kinds.iter().any(|kind| kind == "mistaken"), "{kinds:?}");
}

#[test]
fn to_ignore_set_cookie_gives_no_session_to_two() {
    assert_eq!(mistakes_of("ignoring", Policy::IgnoringSetCookie), [""; 0]);
}
