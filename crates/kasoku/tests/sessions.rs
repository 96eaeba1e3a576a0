//! Sessions: two hundred visitors, anonymous, logged in, with carts, logging in and out, in random order through the real program, against an
//! application that says on each page whom it believes to serve. No byte of one visitor may be in another's answer, nobody may be
//! given a session that somebody else has, and each sees at once what became of the own session.
//!
//! In the order of the data: `visitor` asks, `traffic` sends it through the program that `operator` reloads and restarts meanwhile,
//! `application` answers with what `page` says, and `check` says what is wrong with that; `report` counts. The last tests here show that
//! the checker sees mistakes: those of an application, of a configuration, and single answers.
//!
//! `KASOKU_SESSIONS_REQUESTS` says how many requests (20,000; `make test` has 200,000 with the release program), `KASOKU_SESSIONS_SEED`
//! repeats what is asked, though not how threads interleave.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "sessions/application.rs"]
mod application;
#[path = "sessions/check.rs"]
mod check;
#[path = "sessions/operator.rs"]
mod operator;
#[path = "sessions/page.rs"]
mod page;
#[path = "sessions/report.rs"]
mod report;
#[allow(dead_code, reason = "more than one test uses it, each its own part")]
mod support;
#[path = "sessions/traffic.rs"]
mod traffic;
#[path = "sessions/visitor.rs"]
mod visitor;

use application::{Application, COUNTER, STATUS, TICKET};
use check::Ledger;
use operator::{Operator, Settings};
use page::Site;
use report::{Count, Report};
use std::io::Write;
use std::path::PathBuf;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};
use traffic::{Address, Run};
use visitor::Traits;

const VISITORS: usize = 200;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().filter(|text| !text.is_empty()).map(|text| text.parse().unwrap())
}

fn temporary(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()))
}

/// What is to be told to the program of one of the sites.
fn policy(_: Site) -> String {
    format!(
        "ignore = [\"no-store\", \"no-cache\", \"must-revalidate\", \"max-age\", \"expires\", \"set-cookie\"]\n\
         pass-cookies = [\"PHPSESSID\", \"{TICKET}\"]\nnoise-cookies = [\"default\", \"{COUNTER}\", \"{STATUS}\"]\ncookies = \"pass\"\n\
         [[site.rule]]\npath = \"/login\"\npass = true\n[[site.rule]]\npath = \"/logout\"\npass = true\n[[site.rule]]\npath = \"/sso/*\"\npass = true\n[[site.rule]]\npath = \"/cart\"\npass = true\n"
    )
}

fn configuration(
    application: &Application,
    pid_file: &std::path::Path,
    turn: u64,
    policy: &dyn Fn(Site) -> String,
) -> String {
    let mut text = format!(
        "listen = [\"127.0.0.1:0\"]\nadmin = \"127.0.0.1:0\"\nworkers = 4\npid-file = \"{}\"\nlimits.drain-idle-timeout = \"5s\"\n",
        pid_file.display()
    );
    for site in Site::ALL {
        text.push_str(&format!(
            "\n[[site]]\nhosts = [\"{}\"]\norigin = \"http://{}\"\nttl-override = \"1s\"\ngrace = \"2s\"\nkeep = \"{}s\"\n{}",
            site.host(),
            application.address,
            turn % 4 + 10,
            policy(site)
        ));
    }
    text
}

/// Sets something true at its end, however that comes.
struct Ending<'e>(&'e AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// One run: all that was seen. The operator does nothing where there is `is_quiet`.
fn run(
    name: &str,
    requests: u64,
    is_quiet: bool,
    is_careless: bool,
    traits: Traits,
    policy: &dyn Fn(Site) -> String,
) -> Run {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = setting("KASOKU_SESSIONS_SEED").unwrap_or(since_1970.as_secs());
    let application = Application::start(seed, is_careless);
    let pid_file = temporary(&format!("{name}.pid"));
    let texts = (0..13).map(|turn| configuration(&application, &pid_file, turn, policy)).collect();
    let settings = Settings { file: temporary(&format!("{name}.toml")), pid_file, texts };
    let program = settings.serve();
    let address =
        Address { gate: RwLock::new(program.clients), starts: AtomicU64::new(0), hand_overs: AtomicU64::new(0) };
    let run = Run {
        application,
        address,
        ledger: Ledger::default(),
        report: Report::default(),
        traits,
        seed,
        visitors: VISITORS,
        requests,
        asked: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
    };
    let mut operator = Operator { run: &run, settings: &settings, program, successor: None };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ending = Ending(&run.is_over);
            run.visit();
        });
        let _ending = Ending(&run.is_over);
        if !is_quiet {
            operator.work();
        }
        while !run.is_over.load(Relaxed) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    });
    drop(operator);
    run
}

#[test]
fn no_visitor_gets_a_byte_of_another() {
    let requests = setting("KASOKU_SESSIONS_REQUESTS").unwrap_or(20_000);
    let run = run("sessions", requests, false, false, Traits { is_guarded: false }, &policy);
    let report = &run.report;
    // Past the test harness's capture: the report is what a run is for.
    let _ = writeln!(std::io::stderr(), "KASOKU_SESSIONS_SEED={}\n{}", run.seed, report.text());
    assert!(report.mistakes().is_empty(), "KASOKU_SESSIONS_SEED={}", run.seed);
    let missing =
        report.missing().into_iter().filter(|what| !what.contains("anonymous") && !what.contains("taken away"));
    assert_eq!(missing.count(), 0, "never happened: {:?}", report.missing());
    let (hits, pages) = (report.total(Count::StrangerHit), report.total(Count::Stranger));
    assert!(hits * 2 > pages, "a run with {hits} hits of {pages} shows nothing");
}
