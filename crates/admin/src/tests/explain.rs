//! Tests of `POST /explain` and `POST /doctor`.

use super::*;
use kasoku_testkit::{get as on_get, ok};

#[test]
fn explain_needs_the_token_and_a_url() {
    let (admin, _engine) = started();
    assert_eq!(status(&ask(&admin, "POST /explain?url=http://a.org/", "")), 401);
    let token = token("explain");
    let shown = format!("Authorization: Bearer {}\r\n", token.secret());
    let (admin, _engine) = started_with(Some(token));
    assert_eq!(status(&ask(&admin, "POST /explain?url=http://a.org/", "")), 401);
    assert_eq!(status(&ask(&admin, "GET /explain?url=http://a.org/", &shown)), 405);
    for query in ["", "url=http://a.org/&colour=1", "url=http://a.org/&field=a%0d%0ab:c", "url=/x"] {
        assert_eq!(status(&ask(&admin, &format!("POST /explain?{query}"), &shown)), 400, "{query}");
    }
    let answer = ask(&admin, "POST /explain?url=http://a.org/", &shown);
    assert_eq!(
        (status(&answer), body(&answer)),
        (400, "No site is configured for this host (421)\n"),
        "it has no site"
    );
}

#[test]
fn an_explanation_is_json_and_shows_no_secret() {
    let lines = ["Cache-Control: max-age=60", "Set-Cookie: id=hunter2; Path=/"];
    let scenario = Setup::safe().run([on_get("/x?a=1").answers(ok(&lines, "page"))]);
    let token = token("json");
    let shown = format!("Authorization: Bearer {}\r\n", token.secret());
    let admin = Admin::start(&loopback(), AdminHandle::new(scenario.engine.handle().clone(), Some(token))).unwrap();
    let query = "url=http://example.org/x%3Fa=1&field=Cookie:+id=hunter2&live";
    let answer = ask(&admin, &format!("POST /explain?{query}"), &shown);
    assert_eq!(status(&answer), 200, "{answer}");
    assert!(!answer.contains("hunter2"), "{answer}");
    let said: serde_json::Value = serde_json::from_str(body(&answer)).unwrap();
    assert_eq!(said["key"], "http://example.org/x?a=1");
    assert_eq!(said["cache_status"], "kasoku; fwd=uri-miss; detail=cookie");
    assert_eq!((&said["answer"]["status"], &said["answer"]["would_be_stored"]), (&200.into(), &false.into()));
    assert_eq!(said["advice"]["kind"], "changes");
}

#[test]
fn who_asks_while_too_many_wait_is_told_to_come_again() {
    let gate = kasoku_testkit::Gate::new();
    let waiting = |number: usize| on_get(&format!("/{number}")).waits(&gate).sends(ok(&[], ""));
    let scenario = Setup::safe().run((0..crate::explain::QUESTIONS_MAX).map(waiting));
    let token = token("many");
    let shown = format!("Authorization: Bearer {}\r\n", token.secret());
    let admin = Admin::start(&loopback(), AdminHandle::new(scenario.engine.handle().clone(), Some(token))).unwrap();
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..crate::explain::QUESTIONS_MAX)
            .map(|number| {
                let request = format!("POST /explain?url=http://example.org/{number}&live");
                let (admin, shown) = (&admin, &shown);
                scope.spawn(move || status(&ask(admin, &request, shown)))
            })
            .collect();
        scenario.origin.arrived(crate::explain::QUESTIONS_MAX);
        assert_eq!(status(&ask(&admin, "POST /explain?url=http://example.org/", &shown)), 503);
        gate.open();
        assert!(asking.into_iter().all(|thread| thread.join().unwrap() == 200));
    });
}

#[test]
fn a_diagnosis_needs_the_token_and_nothing_else() {
    let token = token("doctor");
    let shown = format!("Authorization: Bearer {}\r\n", token.secret());
    let (admin, _engine) = started_with(Some(token));
    assert_eq!(status(&ask(&admin, "POST /doctor", "")), 401);
    assert_eq!(status(&ask(&admin, "GET /doctor", &shown)), 405);
    assert_eq!(status(&ask(&admin, "POST /doctor?colour=1", &shown)), 400);
    let answer = ask(&admin, "POST /doctor?site=a.org", &shown);
    let said: serde_json::Value = serde_json::from_str(body(&answer)).unwrap();
    assert_eq!((status(&answer), said["findings"].as_array().map(Vec::len)), (200, Some(0)));
}
