use crate::programs::{KEPT, PAGE, Programs, children};
use kasoku_testkit::{Ending, Response};
use std::fs;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(300);

#[track_caller]
fn is_failure(response: &Response, status: u16, reason: &str) {
    assert_eq!((response.status, response.detail().as_str()), (status, reason), "{response:?}");
}

#[test]
fn each_way_to_fail_has_its_status_and_its_reason() {
    for pass in [true, false] {
        let programs = Programs::with(&[
            ("dies.cgi", "exit 1"),
            ("crashes.cgi", "kill -SEGV $$"),
            ("nonsense.cgi", "echo 'print \"hello\";'"),
            ("floods.cgi", "while :; do echo no >&2; done"),
            ("hangs.cgi", "sleep 100"),
            ("works.cgi", "while :; do :; done"),
        ]);
        programs.write("unknown.cgi", "#!/nowhere/perl\n");
        let served = programs.serve(|route| {
            route.pass = pass;
            route.origin.first_byte_timeout = SHORT;
            route.origin.programs.cpu_max = Some(Duration::from_secs(5));
        });
        for (target, status, reason) in [
            ("/dies.cgi", 502, "program-ended"),
            ("/crashes.cgi", 502, "program-ended"),
            ("/nonsense.cgi", 502, "program-malformed"),
            ("/unknown.cgi", 502, "program-not-started"),
            ("/floods.cgi", 504, "origin-timeout-first-byte"),
            ("/hangs.cgi", 504, "origin-timeout-first-byte"),
            ("/works.cgi", 504, "origin-timeout-first-byte"),
        ] {
            let response = served.client().get(target);
            is_failure(&response, status, reason);
        }
        served.is_idle();
    }
}

#[test]
fn a_program_that_runs_for_too_long_is_504_before_its_head_and_cut_behind_it() {
    let programs = Programs::with(&[
        ("a.cgi", "sleep 100"),
        ("b.cgi", &format!("{PAGE} while :; do echo more; sleep 0.05; done")),
    ]);
    let served = programs.serve(|route| route.origin.programs.run_timeout = SHORT);
    is_failure(&served.client().get("/a.cgi"), 504, "program-timeout");
    let cut = served.client().ask("GET", "/b.cgi", &[]).cut_response();
    assert_eq!((cut.status, cut.ending), (200, Ending::Cut));
    served.is_idle();
}

#[test]
fn a_page_whose_program_was_killed_is_cut_and_not_kept() {
    let programs = Programs::with(&[("a.cgi", &format!("{KEPT} echo half; read line < work; kill -KILL $$"))]);
    let mut work = programs.fifo("work");
    let served = programs.serve(|_| ());
    let mut client = served.client();
    let head = client.ask("GET", "/a.cgi", &[]).next_head();
    work.tell();
    let response = client.rest_of(head);
    assert_eq!((response.text().as_str(), response.ending), ("half\n", Ending::Cut));
    // The program runs again and its answer is cut again, or the back-off answers.
    work.tell();
    assert!(!served.client().ask("GET", "/a.cgi", &[]).cut_response().is_hit());
    served.is_idle();
}

#[test]
fn a_client_that_leaves_ends_its_program_when_no_other_wants_the_answer() {
    // The client leaves while the program computes, and while it prints.
    for script in ["sleep 100".to_owned(), format!("{PAGE} while :; do echo more; done")] {
        let programs = Programs::with(&[("a.cgi", &format!("echo $$ > pid; echo begun > begins; {script}"))]);
        let mut begins = programs.fifo("begins");
        let served = programs.serve(|route| route.pass = true);
        let mut client = served.client();
        client.ask("GET", "/a.cgi", &[]);
        begins.hear();
        client.reset();
        served.is_idle();
        let pid = fs::read_to_string(programs.path("pid")).unwrap();
        served.0.eventually(|| !children().contains(&pid.trim().to_owned()));
    }
}

#[test]
fn a_client_that_leaves_takes_nothing_from_those_who_wait_too() {
    let programs = Programs::with(&[("a.cgi", &format!("{KEPT} echo begun; read line < work; echo done"))]);
    let mut work = programs.fifo("work");
    let served = programs.serve(|_| ());
    let (mut first, mut second) = (served.client(), served.client());
    first.ask("GET", "/a.cgi", &[]).reads("HTTP/1.1 200");
    let head = second.ask("GET", "/a.cgi", &[]).next_head();
    first.reset();
    work.tell();
    assert_eq!(second.rest_of(head).text(), "begun\ndone\n");
}
