//! Which stored responses an unsafe method drops: its target, and the URLs on the same origin that Location and Content-Location
//! name.

use kasoku_options::AddressRange;
use kasoku_testkit::{BOTH, Client, Gate, Scenario, Setup, get, ok, on, post, reply};

const FRESH: &str = "Cache-Control: max-age=60";

#[test]
fn a_successful_unsafe_method_drops_its_target() {
    //= RFC 9111 section 4.4
    //# A cache MUST invalidate the target URI (Section 7.1 of [HTTP]) when it receives a non-error status code in response to
    //# an unsafe request method (including methods whose safety is unknown).
    for profile in BOTH {
        for method in ["POST", "PUT", "DELETE", "PATCH", "X-UNKNOWN"] {
            for status in ["200 OK", "204 No Content", "303 See Other"] {
                let scene = Setup::new(profile).run([
                    get("/a?q").answers(ok(&[FRESH], "old")),
                    on(method, "/a?q").answers(reply(status, &[], "")),
                    get("/a?q").answers(ok(&[FRESH], "new")),
                ]);
                let mut client = scene.client();
                client.get("/a?q");
                client.send_body(method, "/a?q", &[], "x");
                assert_eq!(client.get("/a?q").text(), "new", "{method} {status}");
            }
        }
    }
}

#[test]
fn an_unsafe_method_is_written_through() {
    //= RFC 9111 section 4
    //# A cache MUST write through requests with methods that are unsafe (Section 9.2.1 of [HTTP]) to the origin server
    let scene = Scenario::rfc([
        get("/").answers(ok(&[FRESH], "stored")),
        post("/").answers(ok(&[FRESH], "one")),
        post("/").answers(ok(&[FRESH], "two")),
    ]);
    let mut client = scene.client();
    client.get("/");
    assert_eq!(client.send_body("POST", "/", &[], "x").text(), "one");
    assert_eq!(client.send_body("POST", "/", &[], "x").text(), "two");
}

#[test]
fn a_failed_unsafe_method_drops_nothing() {
    for status in ["400 Bad Request", "404 Not Found", "500 Oops"] {
        let scene = Scenario::safe([get("/").answers(ok(&[FRESH], "old")), post("/").answers(reply(status, &[], ""))]);
        let mut client = scene.client();
        client.get("/");
        client.send_body("POST", "/", &[], "x");
        assert!(client.get("/").is_hit(), "{status}");
    }
}

#[test]
fn a_post_that_the_origin_never_answered_drops_nothing() {
    let scene = Scenario::safe([get("/").answers(ok(&[FRESH], "old")), post("/").answers("").closes()]);
    let mut client = scene.client();
    client.get("/");
    assert_eq!(client.send_body("POST", "/", &[], "x").status, 502);
    assert!(client.get("/").is_hit());
}

#[test]
fn a_safe_method_drops_nothing() {
    let scene = Scenario::safe([get("/").answers(ok(&[FRESH], "old")), on("OPTIONS", "/").answers(ok(&[], ""))]);
    let mut client = scene.client();
    client.get("/");
    client.ask("OPTIONS", "/", &[]).response();
    assert!(client.get("/").is_hit());
}

#[test]
fn location_and_content_location_of_the_same_origin_are_dropped_too() {
    for (field, value) in [
        ("Location", "/b?x"),
        ("Location", "http://example.org/b?x"),
        ("Location", "b?x#fragment"),
        ("Location", "../b?x"),
        ("Location", "http://EXAMPLE.org:80/b?x"),
        ("Content-Location", "/b?x"),
        ("Content-Location", "http://example.org/b?x"),
    ] {
        let scene = Scenario::safe([
            get("/b?x").answers(ok(&[FRESH], "old")),
            post("/a").answers(reply("201 Created", &[&format!("{field}: {value}")], "")),
            get("/b?x").answers(ok(&[FRESH], "new")),
        ]);
        let mut client = scene.client();
        client.get("/b?x");
        client.send_body("POST", "/a", &[], "x");
        assert_eq!(client.get("/b?x").text(), "new", "{field}: {value}");
    }
}

#[test]
fn a_location_is_dropped_under_the_key_that_a_rule_makes_of_it() {
    let query =
        kasoku_options::QueryKey { sort: true, ignore: vec!["utm_*".into()], ..kasoku_options::QueryKey::default() };
    let scene = Setup::safe().route(|route| route.query = query).run([
        get("/b?x=1&y=2").answers(ok(&[FRESH], "old")),
        post("/a").answers(reply("201 Created", &["Location: /b?y=2&utm_source=z&x=1"], "")),
        get("/b?x=1&y=2").answers(ok(&[FRESH], "new")),
    ]);
    let mut client = scene.client();
    client.get("/b?y=2&x=1");
    client.send_body("POST", "/a", &[], "x");
    assert_eq!(client.get("/b?y=2&x=1").text(), "new");
}

#[test]
fn another_origin_is_never_dropped() {
    //= RFC 9111 section 4.4
    //# However, a cache MUST NOT trigger an invalidation under these conditions if the origin (Section 4.3.1 of [HTTP]) of the
    //# URI to be invalidated differs from that of the target URI (Section 7.1 of [HTTP]).
    for value in ["http://other.org/b", "//other.org/b", "http://other.org:80/b", "https://other.org/b"] {
        let scene = Scenario::safe([
            get("/b").answers(ok(&[FRESH], "theirs")),
            post("/a").answers(reply(
                "201 Created",
                &[&format!("Location: {value}"), &format!("Content-Location: {value}")],
                "",
            )),
        ]);
        let mut client = scene.client();
        client.get_with("/b", &["Host: other.org"]);
        client.send_body("POST", "/a", &[], "x");
        assert!(client.get_with("/b", &["Host: other.org"]).is_hit(), "{value}");
    }
}

#[test]
fn the_same_path_under_another_scheme_is_another_origin() {
    let address = [127, 0, 0, 1].into();
    let scene = Setup::safe()
        .options(|options| options.trusted_proxies = vec![AddressRange::Ip { address, prefix_bits: 8 }])
        .run([
            get("/").answers(ok(&[FRESH], "http")),
            get("/").answers(ok(&[FRESH], "https")),
            post("/").answers(ok(&[], "")),
            get("/").answers(ok(&[FRESH], "new")),
        ]);
    let mut client = scene.client();
    let https = ["X-Forwarded-Proto: https"];
    client.get("/");
    client.get_with("/", &https);
    client.send_body("POST", "/", &https, "x");
    assert_eq!(client.get("/").text(), "http");
    assert_eq!(client.get_with("/", &https).text(), "new");
}

#[test]
fn all_variants_of_a_target_are_dropped() {
    let variant = |body| get("/").answers(ok(&[FRESH, "Vary: X-A"], body));
    let scene = Scenario::safe([
        variant("1"),
        variant("2"),
        post("/").answers(ok(&[], "")),
        variant("1 new"),
        variant("2 new"),
    ]);
    let mut client = scene.client();
    client.get_with("/", &["X-A: 1"]);
    client.get_with("/", &["X-A: 2"]);
    client.send_body("POST", "/", &[], "x");
    assert_eq!(client.get_with("/", &["X-A: 1"]).text(), "1 new");
    assert_eq!(client.get_with("/", &["X-A: 2"]).text(), "2 new");
}

#[test]
fn an_invalidation_during_a_fill_lets_waiters_have_it_and_stores_nothing() {
    for profile in BOTH {
        let gate = Gate::new();
        let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 6\r\n\r\nold";
        let scene = Setup::new(profile).run([
            get("/").answers(head).waits(&gate).sends("old"),
            post("/").answers(ok(&[], "done")),
            get("/").answers(ok(&[FRESH], "new")),
        ]);
        let (mut first, mut second) = (scene.client(), scene.client());
        for client in [&mut first, &mut second] {
            client.ask("GET", "/", &[]);
            client.next_head();
            client.reads("old");
        }
        assert_eq!(scene.client().send_body("POST", "/", &[], "x").text(), "done");
        // A request from now on must not join the fill that began before the change.
        assert_eq!(scene.client().get("/").text(), "new");
        gate.open();
        first.reads("old");
        second.reads("old");
        assert_eq!(scene.client().get("/").text(), "new");
    }
}

#[test]
fn an_invalidation_before_the_head_of_a_fill_stores_nothing_either() {
    let gate = Gate::new();
    let scene = Scenario::safe([
        get("/").answers("").waits(&gate).sends(ok(&[FRESH], "old")),
        post("/").answers(ok(&[], "done")),
        get("/").answers(ok(&[FRESH], "new")),
    ]);
    let mut first = scene.client();
    first.ask("GET", "/", &[]);
    scene.origin.arrived(1);
    scene.client().send_body("POST", "/", &[], "x");
    gate.open();
    assert_eq!(first.response().text(), "old");
    assert_eq!(scene.client().get("/").text(), "new");
}

#[test]
fn an_invalidation_during_a_validation_is_not_undone_by_its_304() {
    let gate = Gate::new();
    let fields = ["Cache-Control: max-age=10", "ETag: \"1\""];
    let scene = Scenario::safe([
        get("/").answers(ok(&fields, "old")),
        get("/").answers("").waits(&gate).sends(reply("304 Not Modified", &fields, "")),
        post("/").answers(ok(&[], "done")),
        get("/").answers(ok(&fields, "new")),
    ]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(10);
    client.ask("GET", "/", &[]);
    scene.origin.arrived(2);
    scene.client().send_body("POST", "/", &[], "x");
    gate.open();
    assert_eq!(client.response().text(), "old");
    assert_eq!(client.get("/").text(), "new");
}

#[test]
fn an_answer_to_a_post_that_was_overtaken_is_not_stored() {
    let named_elsewhere = "Location: /a";
    for (method, target, answer) in [
        ("POST", "/a", reply("204 No Content", &[], "")),
        ("DELETE", "/a", reply("204 No Content", &[], "")),
        ("POST", "/b", reply("201 Created", &[named_elsewhere], "")),
    ] {
        let gate = Gate::new();
        let old = ok(&[FRESH, "Content-Location: /a"], "old");
        let scene = Setup::rfc().run([
            post("/a").reads_body().waits(&gate).sends(old),
            on(method, target).answers(answer),
            get("/a").answers(ok(&[FRESH], "new")),
        ]);
        let mut first = scene.client();
        first.ask("POST", "/a", &["Content-Length: 1"]).send("x");
        scene.origin.arrived(1);
        scene.client().send_body(method, target, &[], "x");
        gate.open();
        assert_eq!(first.response().text(), "old");
        assert_eq!(scene.client().get("/a").text(), "new", "{method} {target}");
    }
}

#[test]
fn an_answer_to_a_post_that_was_purged_meanwhile_is_not_stored() {
    let gate = Gate::new();
    let old = ok(&[FRESH, "Content-Location: /a"], "old");
    let scene =
        Setup::rfc().run([post("/a").reads_body().waits(&gate).sends(old), get("/a").answers(ok(&[FRESH], "new"))]);
    let mut first = scene.client();
    first.ask("POST", "/a", &["Content-Length: 1"]).send("x");
    scene.origin.arrived(1);
    let cache = scene.engine.cache();
    let _ = cache.invalidate(&cache.key("http://example.org/a"));
    gate.open();
    let response = first.response();
    assert_eq!((response.text().as_str(), response.cache_status("stored")), ("old", None));
    assert_eq!(scene.client().get("/a").text(), "new");
}

#[test]
fn of_two_posts_at_once_the_answer_that_came_last_is_not_stored_over_the_change_of_the_other() {
    // The cache can't know which of the two the origin carried out last.
    let gate = Gate::new();
    let answer = |body| ok(&[FRESH, "Content-Location: /a"], body);
    let scene = Setup::rfc().run([
        post("/a").reads_body().waits(&gate).sends(answer("first")),
        post("/a").answers(answer("second")),
        get("/a").answers(ok(&[FRESH], "new")),
    ]);
    let mut first = scene.client();
    first.ask("POST", "/a", &["Content-Length: 1"]).send("x");
    scene.origin.arrived(1);
    scene.client().send_body("POST", "/a", &[], "x");
    assert_eq!(scene.client().get("/a").text(), "second", "nothing came in between so far");
    gate.open();
    assert_eq!(first.response().text(), "first");
    assert_eq!(scene.client().get("/a").text(), "new");
}

#[test]
fn an_answer_to_a_head_that_was_overtaken_changes_nothing_of_what_was_stored_since() {
    for profile in BOTH {
        let gate = Gate::new();
        let scene = Setup::new(profile).run([
            on("HEAD", "/a")
                .waits(&gate)
                .sends("HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nX-Is: old\r\nContent-Length: 3\r\n\r\n"),
            post("/a").answers(reply("204 No Content", &[], "")),
            get("/a").answers(ok(&[FRESH, "X-Is: new"], "new")),
        ]);
        let mut first = scene.client();
        first.ask("HEAD", "/a", &[]);
        scene.origin.arrived(1);
        scene.client().send_body("POST", "/a", &[], "x");
        scene.advance(1);
        scene.client().get("/a");
        gate.open();
        first.response_to_head();
        let hit = scene.client().get("/a");
        assert_eq!((hit.field("x-is").as_str(), hit.is_hit()), ("new", true));
    }
}

#[test]
fn a_post_whose_answer_is_for_no_get_leaves_no_fill_behind() {
    let scene = Setup::rfc().run([
        post("/a").answers(ok(&[FRESH], "elsewhere")),
        post("/a").answers(reply("500 Oops", &[], "")),
        post("/a").answers("").closes(),
    ]);
    for _ in 0..3 {
        scene.client().send_body("POST", "/a", &[], "x");
    }
    assert_eq!(scene.engine.cache().fills_running(), 0);
}

#[test]
fn a_client_that_leaves_before_the_answer_has_changed_the_page_all_the_same() {
    let gate = Gate::new();
    let scene = Setup::safe().run([
        get("/").answers(ok(&[FRESH], "old")),
        on("DELETE", "/").waits(&gate).sends("HTTP/1.1 204 No Content\r\n\r\n"),
        get("/").answers(ok(&[FRESH], "new")),
    ]);
    scene.client().get("/");
    let mut impatient = scene.client();
    impatient.ask("DELETE", "/", &[]);
    scene.origin.arrived(2);
    impatient.reset();
    // After these ten hits, the worker has noticed that the client left.
    (0..10).for_each(|_| assert_eq!(scene.client().get("/").text(), "old"));
    gate.open();
    scene.origin.done(2);
    let text = || scene.client().get("/").text();
    let seen: Vec<String> = std::iter::repeat_with(text).take(1_000).take_while(|text| text == "old").collect();
    assert!(seen.len() < 1_000, "no client gets the new page");
}

#[test]
fn an_invalidation_reaches_all_workers() {
    let scene = Setup::safe().options(|options| options.workers = 2).run([
        get("/").answers(ok(&[FRESH], "old")),
        post("/").answers(ok(&[], "")),
        get("/").answers(ok(&[FRESH], "new")),
    ]);
    scene.client().get("/");
    scene.client().send_body("POST", "/", &[], "x");
    for _ in 0..8 {
        assert_eq!(Client::connect(scene.engine.addresses()[0]).get("/").text(), "new");
    }
}
