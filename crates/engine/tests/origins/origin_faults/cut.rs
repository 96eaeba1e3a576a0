//! Bodies that are cut, or whose length differs from the announced one: they are never stored, and count as failures.

use crate::origin_faults::{PAGE, all_fail, all_get, first};
use kasoku_testkit::{BOTH, Ending, Exchange, Response, Scenario, Setup, get, ok};

const FRESH: &str = "Cache-Control: max-age=60";

/// Each way in which a body is incomplete.
fn cut(fields: &[&str]) -> Vec<Exchange> {
    let fields: String = fields.iter().map(|line| format!("{line}\r\n")).collect();
    let head = |framing: &str| format!("HTTP/1.1 200 OK\r\n{fields}{framing}\r\n");
    vec![
        get("/").answers(format!("{}cut", head("Content-Length: 10\r\n"))).closes(),
        get("/").answers(format!("{}cut", head("Content-Length: 10\r\n"))).resets(),
        get("/").answers(head("Content-Length: 10\r\n")).closes(),
        get("/").answers(format!("{}3\r\ncut\r\n", head("Transfer-Encoding: chunked\r\n"))).closes(),
        get("/").answers(format!("{}a\r\ncut", head("Transfer-Encoding: chunked\r\n"))).closes(),
        get("/").answers(format!("{}3\r\ncut\r\nzz\r\n", head("Transfer-Encoding: chunked\r\n"))).closes(),
    ]
}

fn is_failure(response: &Response) -> bool {
    response.status == 502 || response.ending == Ending::Cut
}

#[test]
fn while_the_back_off_runs_what_was_stored_before_answers() {
    for profile in BOTH {
        for cut in cut(&PAGE) {
            let scene = Setup::new(profile).run([first(), cut]);
            scene.client().get("/");
            scene.advance(15);
            assert!(is_failure(&scene.client().ask("GET", "/", &[]).cut_response()));
            scene.eventually(|| scene.engine.cache().fills_running() == 0);
            all_get(&scene, "old", "hit-stale-error");
            scene.origin.then(get("/").answers(ok(&PAGE, "new")));
            scene.advance(1);
            assert_eq!(scene.client().get("/").text(), "new");
            all_get(&scene, "new", "hit");
        }
    }
}

#[test]
fn a_response_that_was_cut_is_not_stored_and_asked_for_once_more() {
    for (one, other) in cut(&[FRESH]).into_iter().zip(cut(&[FRESH])) {
        let scene = Scenario::safe([one, other]);
        for _ in 0..2 {
            assert!(is_failure(&scene.client().ask("GET", "/", &[]).cut_response()));
            scene.eventually(|| scene.engine.cache().fills_running() == 0);
        }
        let detail = scene.client().get("/").detail();
        assert!(["origin-closed-early", "origin-malformed"].contains(&detail.as_str()), "{detail}");
        all_fail(&scene, 502, &detail);
        scene.advance(1);
        scene.origin.then(get("/").answers(ok(&[FRESH], "whole")));
        assert_eq!(scene.client().get("/").text(), "whole");
        all_get(&scene, "whole", "hit");
    }
}

#[test]
fn bytes_behind_the_promised_length_reach_no_client() {
    let answer = format!("HTTP/1.1 200 OK\r\n{FRESH}\r\nContent-Length: 5\r\n\r\nwholeHTTP/1.1 200 OK\r\n\r\n");
    let scene = Scenario::safe([get("/").answers(answer), get("/other").answers(ok(&[FRESH], "other"))]);
    assert_eq!(scene.client().get("/").text(), "whole");
    assert_eq!(scene.client().get("/other").text(), "other");
    assert_ne!(scene.origin.request(0).connection, scene.origin.request(1).connection);
    all_get(&scene, "whole", "hit");
}
