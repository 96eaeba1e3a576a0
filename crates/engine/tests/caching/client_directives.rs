//! Directives of clients to the cache: no-cache, max-age, min-fresh, only-if-cached, Pragma. A setting says whether a client may
//! force a validation; the profiles differ in it.

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

#[test]
fn pragma_counts_only_where_there_is_no_cache_control() {
    is_fresh_for(Profile::Safe, &["Pragma: no-cache", "Cache-Control: max-age=100"], 100);
    let scene =
        Scenario::rfc([get("/").answers(ok(&["Cache-Control: max-age=60"], "a")), get("/").answers(ok(&[], "b"))]);
    let mut client = scene.client();
    client.get("/");
    assert!(client.get_with("/", &["Pragma: no-cache", "Cache-Control: max-age=60"]).is_hit());
    assert_eq!(client.get_with("/", &["Pragma: no-cache"]).text(), "b");
}

#[test]
fn client_directives_count_in_profile_rfc() {
    for directive in ["no-cache", "max-age=10", "max-age=0", "min-fresh=50"] {
        let field = format!("Cache-Control: {directive}");
        let answer = |body| get("/").answers(ok(&["Cache-Control: max-age=60"], body));
        let scene = Scenario::rfc([answer("old"), answer("new")]);
        let mut client = scene.client();
        client.get("/");
        scene.advance(20);
        assert_eq!(client.get_with("/", &[&field]).text(), "new", "{directive}");
        assert_eq!(client.get("/").short(), (200, "new".into()));
    }
}

#[test]
fn clients_cannot_force_a_revalidation_in_profile_safe_unless_they_may() {
    for directive in
        ["Cache-Control: no-cache", "Cache-Control: max-age=0", "Cache-Control: min-fresh=50", "Pragma: no-cache"]
    {
        let answer = |body| get("/").answers(ok(&["Cache-Control: max-age=60"], body));
        let scene = Scenario::safe([answer("old")]);
        let mut client = scene.client();
        client.get("/");
        scene.advance(20);
        assert!(client.get_with("/", &[directive]).is_hit(), "{directive}");

        let scene =
            Setup::safe().policy(|policy| policy.client_may_revalidate = true).run([answer("old"), answer("new")]);
        let mut client = scene.client();
        client.get("/");
        scene.advance(20);
        assert_eq!(client.get_with("/", &[directive]).text(), "new", "{directive}");
    }
}

#[test]
fn only_if_cached_is_answered_from_the_cache_or_with_504() {
    //= RFC 9111 section 5.2.1.7
    //# The only-if-cached request directive indicates that the client only wishes to obtain a stored response.
    for profile in BOTH {
        let scene = Setup::new(profile).run([get("/").answers(ok(&["Cache-Control: max-age=60"], "a"))]);
        let mut client = scene.client();
        let only = ["Cache-Control: only-if-cached"];
        let response = client.get_with("/", &only);
        assert_eq!((response.status, response.detail().as_str()), (504, "only-if-cached-miss"));
        client.get("/");
        assert!(client.get_with("/", &only).is_hit());
        scene.advance(60);
        assert_eq!(client.get_with("/", &only).status, 504);
    }
}
