//! Many visitors ask for many pages while few programs may run at a time. The test has a process of its own, since it counts the
//! open files and the children of its process.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "cgi/programs.rs"]
mod programs;

use programs::{KEPT, Programs, children};
use std::fs;
use std::time::Duration;

const VISITORS: usize = 500;
const PROGRAMS_MAX: usize = 4;
const MEMORY_KIB_MAX: usize = 64 << 10;

/// The resident memory of this process by `/proc/self/status`, in KiB.
fn memory_kib() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// The largest number of programs that ran at a time: each program writes `+` when it begins and `-` before it ends.
fn programs_at_a_time(log: &str) -> usize {
    let step = |running: &mut usize, line: &str| {
        *running = if line == "+" { *running + 1 } else { *running - 1 };
        Some(*running)
    };
    log.lines().scan(0, step).max().unwrap()
}

#[test]
fn a_run_on_cold_pages_gets_each_its_own_answer_or_503_and_leaves_nothing() {
    let script = format!("echo + >> log; {KEPT} echo \"$QUERY_STRING\"; echo - >> log");
    let programs = Programs::with(&[("a.cgi", &script)]);
    let served = programs.serve(|route| {
        route.origin.programs.processes_max = PROGRAMS_MAX;
        route.origin.queue_requests_max = 100;
        route.origin.queue_timeout = Duration::from_secs(60);
    });
    // The first request makes the engine open and start what it keeps for good.
    assert_eq!(served.client().get("/a.cgi?first").text(), "first\n");
    served.is_idle();
    served.0.eventually(|| children().is_empty());
    let (descriptors_before, memory_before) = (descriptors(), memory_kib());

    let mut clients: Vec<_> = (0..VISITORS).map(|_| served.client()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.ask("GET", &format!("/a.cgi?page={number}"), &[]);
    }
    let mut refused = 0;
    for (number, client) in clients.iter_mut().enumerate() {
        let response = client.response();
        if response.status == 503 {
            assert_eq!(
                (response.field("retry-after").as_str(), response.detail().as_str()),
                ("1", "origin-queue-full")
            );
            refused += 1;
        } else {
            assert_eq!(response.short(), (200, format!("page={number}\n")));
        }
    }
    let answered = VISITORS - refused;
    assert!(answered > 100 && refused > 0, "{answered} answers, {refused} refusals");

    served.is_idle();
    let log = fs::read_to_string(programs.path("log")).unwrap();
    assert_eq!(log.lines().filter(|line| *line == "+").count(), answered + 1, "who was refused has run no program");
    assert!(programs_at_a_time(&log) <= PROGRAMS_MAX);
    drop(clients);
    served.0.eventually(|| descriptors() <= descriptors_before && children().is_empty());
    let grown = memory_kib().saturating_sub(memory_before);
    assert!(grown < MEMORY_KIB_MAX, "{grown} KiB more");
}
