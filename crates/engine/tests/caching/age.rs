//! The age of a response: Age and Date as the origin states them, and the time that the cache has held the response.

use kasoku_semantics::policy::Profile;
use kasoku_testkit::{BOTH, Scenario, Setup, get, ok};

/// Checks that a response with these fields is a hit until `stale_after` seconds have passed: asks after `stale_after - 1` and
/// after `stale_after` seconds.
#[track_caller]
fn is_fresh_for(profile: Profile, fields: &[&str], stale_after: i64) {
    let scene = Setup::new(profile).run([get("/").answers(ok(fields, "old")), get("/").answers(ok(fields, "new"))]);
    let mut client = scene.client();
    assert_eq!(client.get("/").text(), "old");
    scene.advance(stale_after - 1);
    let response = client.get("/");
    assert_eq!((response.text().as_str(), response.is_hit()), ("old", true), "{fields:?}: stale too early");
    scene.advance(1);
    assert_eq!(client.get("/").text(), "new", "{fields:?}: fresh for too long");
}

/// Asks twice, and checks that the origin answers each time.
#[track_caller]
fn is_not_reused(setup: Setup, first: &[u8]) {
    let scene = setup.run([get("/").answers(first), get("/").answers(ok(&["Cache-Control: no-store"], "second"))]);
    let mut client = scene.client();
    let response = client.get("/");
    assert!(!response.is_hit(), "{response:?}");
    assert_eq!(client.get("/").text(), "second", "{:?}", String::from_utf8_lossy(first));
}

#[test]
fn age_is_exact_and_replaces_the_origins() {
    //= RFC 9111 section 4
    //# When a stored response is used to satisfy a request without validation, a cache MUST generate an Age header field
    //# (Section 5.1), replacing any present in the response with a value equal to the stored response's current_age; see
    //# Section 4.2.3.
    for profile in BOTH {
        let scene = Setup::new(profile).run([
            get("/a").answers(ok(&["Cache-Control: max-age=100"], "a")),
            get("/b").answers(ok(&["Cache-Control: max-age=100", "Age: 30"], "b")),
        ]);
        let mut client = scene.client();
        assert!(!client.get("/a").has("age"), "it comes from the origin right now");
        client.get("/b");
        assert_eq!(client.get("/a").field("age"), "0");
        scene.advance(40);
        assert_eq!(client.get("/a").field("age"), "40");
        assert_eq!(client.get("/b").field("age"), "70");
        assert_eq!(client.head("/b", &[]).field("age"), "70");
    }
}

#[test]
fn a_response_that_comes_with_an_age_is_forwarded_with_it() {
    let scene = Scenario::safe([
        get("/a").answers(ok(&["Cache-Control: max-age=100", "Age: 30"], "a")),
        get("/b").answers(ok(&["Cache-Control: no-store", "Age: 30"], "b")),
    ]);
    let mut client = scene.client();
    assert_eq!(client.get("/a").field("age"), "30");
    assert_eq!(client.get("/b").field("age"), "30");
}

#[test]
fn an_age_from_the_origin_shortens_the_lifetime() {
    is_fresh_for(Profile::Safe, &["Cache-Control: max-age=100", "Age: 30"], 70);
    is_fresh_for(Profile::Rfc, &["Cache-Control: max-age=100", "Age: 30,50"], 70);
    is_not_reused(Setup::rfc(), &ok(&["Cache-Control: max-age=100", "Age: 100"], "first"));
    is_not_reused(Setup::rfc(), &ok(&["Cache-Control: max-age=100", "Age: 100", "Age: 50"], "first"));
    is_fresh_for(Profile::Rfc, &["Cache-Control: max-age=100", "Age: 30", "Age: 50"], 70);
    is_fresh_for(Profile::Safe, &["Cache-Control: max-age=100", "Age: old"], 100);
}

#[test]
fn a_date_in_the_past_is_an_age() {
    let setup = Setup::safe();
    let date = format!("Date: {}", setup.date(-30));
    let scene = setup
        .run([get("/").answers(ok(&["Cache-Control: max-age=100", &date], "a")), get("/").answers(ok(&[], "new"))]);
    let mut client = scene.client();
    client.get("/");
    assert_eq!(client.get("/").field("age"), "30");
    scene.advance(69);
    assert!(client.get("/").is_hit());
    scene.advance(1);
    assert_eq!(client.get("/").text(), "new");
}

#[test]
fn the_time_that_the_origin_took_counts_as_age() {
    let gate = kasoku_testkit::Gate::new();
    let scene =
        Scenario::safe([get("/").answers("").waits(&gate).sends(ok(&["Cache-Control: max-age=100", "Age: 5"], "a"))]);
    let mut client = scene.client();
    client.ask("GET", "/", &[]);
    scene.origin.arrived(1);
    scene.advance(20);
    gate.open();
    client.response();
    assert_eq!(client.get("/").field("age"), "25");
}

#[test]
fn date_is_added_where_the_origin_has_none() {
    //= RFC 9110 section 6.6.1
    //# A recipient with a clock that receives a response message without a Date header field MUST record the time it was received and append a corresponding Date header field to the message's header section if it is cached or forwarded downstream.
    let scene = Scenario::safe([
        get("/a").answers(ok(&["Cache-Control: max-age=100"], "a")),
        get("/b").answers(ok(&["Cache-Control: no-store"], "b")),
    ]);
    let mut client = scene.client();
    let received = scene.date(0);
    assert_eq!((client.get("/a").field("date"), client.get("/b").field("date")), (received.clone(), received.clone()));
    scene.advance(10);
    assert_eq!(client.get("/a").field("date"), received);
}
