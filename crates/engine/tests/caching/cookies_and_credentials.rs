//! One visitor's bytes never reach another visitor: Set-Cookie, Cookie and Authorization in both profiles.

use kasoku_semantics::policy::Profile;
use kasoku_testkit::{BOTH, Gate, Scenario, Setup, get, head, ok, reply};

const COOKIE: &[&str] = &["Cookie: session=1"];
const AUTHORIZATION: &[&str] = &["Authorization: Basic x"];

/// Whether the answer to a request with the fields `asked`, with these response fields, is served to another visitor's plain
/// request.
fn is_shared(setup: Setup, asked: &[&str], fields: &[&str]) -> bool {
    let scene = setup.run([get("/").answers(ok(fields, "first"))]);
    let mut client = scene.client();
    assert_eq!(client.get_with("/", asked).text(), "first");
    scene.origin.then(get("/").answers(ok(&["Cache-Control: no-store"], "second")));
    let is_shared = scene.client().get("/").text() == "first";
    if is_shared {
        scene.client().send_body("GET", "/", &[], "plays the script to its end");
    }
    is_shared
}

/// For this type, profile safe guesses a lifetime as well.
const IMAGE: &str = "Content-Type: image/png";

#[test]
fn a_response_that_sets_a_cookie_is_never_shared_in_profile_safe() {
    for fields in [
        &["Cache-Control: max-age=60", "Set-Cookie: a=b"][..],
        &["Cache-Control: public, s-maxage=60", "Set-Cookie: a=b"],
        &["CDN-Cache-Control: max-age=60", "set-cookie: a=b"],
    ] {
        assert!(!is_shared(Setup::safe(), &[], fields), "{fields:?}");
        assert!(is_shared(Setup::rfc(), &[], fields), "{fields:?}");
    }
}

#[test]
fn set_cookie_reaches_the_visitor_whom_it_is_for() {
    let scene = Scenario::safe([
        get("/").answers(ok(&["Cache-Control: max-age=60", "Set-Cookie: a=1", "Set-Cookie: b=2"], "x"))
    ]);
    let response = scene.client().get("/");
    let cookies: Vec<_> = response.head.all("set-cookie").collect();
    assert_eq!((cookies, response.detail().as_str()), (vec!["a=1", "b=2"], "set-cookie"));
}

#[test]
fn a_304_that_sets_a_cookie_ends_what_is_stored_in_profile_safe() {
    let scene = Scenario::safe([
        get("/").answers(ok(&["Cache-Control: max-age=10", "ETag: \"1\""], "a")),
        get("/").answers(reply(
            "304 Not Modified",
            &["Cache-Control: max-age=10", "ETag: \"1\"", "Set-Cookie: mine=1"],
            "",
        )),
        get("/").answers(ok(&["Cache-Control: max-age=10", "ETag: \"1\""], "b")),
    ]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(10);
    assert_eq!(client.get("/").text(), "a");
    let next = scene.client().get("/");
    assert_eq!((next.text().as_str(), next.has("set-cookie")), ("b", false));
}

#[test]
fn a_head_that_sets_a_cookie_leaves_none_in_what_is_stored() {
    let scene = Scenario::safe([
        get("/").answers(ok(&["Cache-Control: max-age=10", "ETag: \"1\""], "a")),
        head("/").answers("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 1\r\nCache-Control: max-age=50\r\nSet-Cookie: mine=1\r\n\r\n"),
        get("/").answers(ok(&["Cache-Control: max-age=10"], "b")),
    ]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(10);
    client.head("/", &[]);
    let next = scene.client().get("/");
    assert!(!next.has("set-cookie"), "{next:?}");
}

#[test]
fn what_answers_a_cookie_is_shared_in_profile_safe_only_when_the_origin_says_so() {
    for (fields, safe, rfc) in [
        (&["Cache-Control: s-maxage=60"][..], true, true),
        (&["Cache-Control: public, max-age=60"], true, true),
        (&["Cache-Control: max-age=60"], false, true),
        (&["Cache-Control: must-revalidate, max-age=60"], false, true),
        (&["Cache-Control: immutable, max-age=60"], false, true),
        (&["Cache-Control: private, max-age=60"], false, false),
    ] {
        assert_eq!(is_shared(Setup::safe(), COOKIE, fields), safe, "safe: {fields:?}");
        assert_eq!(is_shared(Setup::rfc(), COOKIE, fields), rfc, "rfc: {fields:?}");
    }
}

#[test]
fn public_with_expires_is_an_explicit_lifetime() {
    let setup = Setup::safe();
    let expires = format!("Expires: {}", setup.date(100));
    assert!(is_shared(setup, COOKIE, &["Cache-Control: public", &expires]));
}

#[test]
fn what_answers_authorization_is_shared_only_when_the_origin_says_so() {
    //= RFC 9111 section 3.5
    //# A shared cache MUST NOT use a cached response to a request with an Authorization header field (Section 11.6.2 of
    //# [HTTP]) to satisfy any subsequent request unless the response contains a Cache-Control field with a response directive
    //# (Section 5.2.2) that allows it to be stored by a shared cache, and the cache conforms to the requirements of that
    //# directive for that response.
    for (fields, safe, rfc) in [
        (&["Cache-Control: s-maxage=60"][..], true, true),
        (&["Cache-Control: public, max-age=60"], true, true),
        (&["Cache-Control: max-age=60"], false, false),
        (&["Cache-Control: immutable, max-age=60"], false, false),
    ] {
        assert_eq!(is_shared(Setup::safe(), AUTHORIZATION, fields), safe, "safe: {fields:?}");
        assert_eq!(is_shared(Setup::rfc(), AUTHORIZATION, fields), rfc, "rfc: {fields:?}");
    }
    assert!(is_shared(Setup::rfc(), AUTHORIZATION, &["Cache-Control: must-revalidate, max-age=60"]));
}

#[test]
fn cookies_and_authorization_reach_the_origin() {
    for profile in BOTH {
        let scene = Setup::new(profile).run([get("/").answers(ok(&[], "a"))]);
        scene.client().get_with("/", &["Cookie: a=1", "Cookie: b=2", "Authorization: Basic x"]);
        let request = scene.origin.only_request();
        assert!(request.field("cookie").is_some_and(|cookies| cookies.contains("a=1") && cookies.contains("b=2")));
        assert_eq!(request.field("authorization").as_deref(), Some("Basic x"));
    }
}

#[test]
fn heuristic_and_granted_lifetimes_are_for_requests_without_cookie_and_authorization() {
    for asked in [COOKIE, AUTHORIZATION] {
        let setup = Setup::safe();
        let modified = format!("Last-Modified: {}", setup.date(-100_000));
        assert!(!is_shared(setup, asked, &[IMAGE, &modified]), "{asked:?}");
    }
    let setup = Setup::safe();
    let modified = format!("Last-Modified: {}", setup.date(-100_000));
    assert!(is_shared(setup, &[], &[IMAGE, &modified]));
}

#[test]
fn a_visitor_with_a_cookie_gets_what_is_stored_for_all() {
    for profile in BOTH {
        for asked in [COOKIE, AUTHORIZATION] {
            let scene = Setup::new(profile).run([get("/").answers(ok(&["Cache-Control: max-age=60"], "a"))]);
            scene.client().get("/");
            assert!(scene.client().get_with("/", asked).is_hit(), "{asked:?}");
        }
    }
}

#[test]
fn a_visitor_with_a_cookie_cannot_switch_the_cache_off_for_all() {
    let scene = Scenario::safe([
        get("/").answers(ok(&["Cache-Control: private"], "mine")),
        get("/").answers(ok(&["Cache-Control: max-age=60"], "for all")),
    ]);
    assert_eq!(scene.client().get_with("/", COOKIE).text(), "mine");
    assert_eq!(scene.client().get("/").text(), "for all");
    assert!(scene.client().get("/").is_hit());
}

#[test]
fn a_validation_by_a_visitor_with_a_cookie_brings_no_other_visitors_page() {
    // The origin answers the visitor's validation with a page of the visitor's own.
    let scene = Scenario::safe([
        get("/").answers(ok(&["Cache-Control: max-age=10", "ETag: \"1\""], "for all")),
        get("/").answers(ok(&["Cache-Control: max-age=10", "ETag: \"2\""], "welcome back, Ann")),
        get("/").answers(ok(&["Cache-Control: max-age=10", "ETag: \"1\""], "for all again")),
    ]);
    scene.client().get("/");
    scene.advance(10);
    assert_eq!(scene.client().get_with("/", COOKIE).text(), "welcome back, Ann");
    assert_eq!(scene.client().get("/").text(), "for all again");
}

#[test]
fn a_304_to_a_visitor_with_a_cookie_does_not_update_what_is_shared() {
    let scene = Scenario::safe([
        get("/").answers(ok(&["Cache-Control: max-age=10", "ETag: \"1\"", "X-Name: nobody"], "a")),
        get("/").answers(reply("304 Not Modified", &["Cache-Control: max-age=60", "ETag: \"1\"", "X-Name: Ann"], "")),
    ]);
    scene.client().get("/");
    scene.advance(10);
    assert_eq!(scene.client().get_with("/", COOKIE).text(), "a");
    scene.origin.then(get("/").answers(reply("304 Not Modified", &["Cache-Control: max-age=10", "ETag: \"1\""], "")));
    let other = scene.client().get("/");
    assert_eq!((other.text().as_str(), other.field("x-name").as_str()), ("a", "nobody"));
}

#[test]
fn fields_named_by_private_are_not_replayed() {
    //= RFC 9111 section 5.2.2.7
    //# a shared cache MUST NOT store the listed header fields if they are present in the original response
    let scene = Scenario::rfc([
        get("/").answers(ok(&["Cache-Control: max-age=60, private=\"X-Mine\"", "X-Mine: 1", "X-All: 2"], "a"))
    ]);
    let mut client = scene.client();
    let first = client.get("/");
    assert_eq!((first.status, first.field("x-all").as_str()), (200, "2"));
    let hit = client.get("/");
    assert_eq!((hit.is_hit(), hit.has("x-mine"), hit.field("x-all").as_str()), (true, false, "2"));
}

#[test]
fn a_cookie_in_any_spelling_is_a_cookie() {
    for asked in [&["cOOKIE: a=1"][..], &["Cookie:"], &["Cookie: a=1", "Cookie: b=2"], &["Authorization:"]] {
        assert!(!is_shared(Setup::safe(), asked, &["Cache-Control: max-age=60"]), "{asked:?}");
    }
}

#[test]
fn what_answers_a_cookie_needs_a_lifetime_that_is_written_down() {
    let modified = format!("Last-Modified: {}", Setup::safe().date(-100_000));
    let expires = format!("Expires: {}", Setup::safe().date(100));
    for (fields, safe, rfc) in [
        (&["Cache-Control: public", &modified][..], false, true),
        (&[&expires], false, true),
        (&[&modified], false, true),
        (&["Cache-Control: public", &expires], true, true),
        (&["CDN-Cache-Control: public, max-age=60"], true, true),
        (&["CDN-Cache-Control: max-age=60", "Cache-Control: public, s-maxage=60"], false, true),
    ] {
        assert_eq!(is_shared(Setup::safe(), COOKIE, fields), safe, "safe: {fields:?}");
        assert_eq!(is_shared(Setup::rfc(), COOKIE, fields), rfc, "rfc: {fields:?}");
    }
}

#[test]
fn what_answers_authorization_needs_more_than_words_that_do_not_share() {
    //= RFC 9111 section 3.5
    //# A shared cache MUST NOT use a cached response to a request with an Authorization header field (Section 11.6.2 of
    //# [HTTP]) to satisfy any subsequent request unless the response contains a Cache-Control field with a response
    //# directive (Section 5.2.2) that allows it to be stored by a shared cache, and the cache conforms to the
    //# requirements of that directive for that response.
    let modified = format!("Last-Modified: {}", Setup::safe().date(-100_000));
    let expires = format!("Expires: {}", Setup::safe().date(100));
    for profile in BOTH {
        for fields in [
            &["Cache-Control: proxy-revalidate, max-age=60"][..],
            &["Cache-Control: x-public, max-age=60"],
            &["Cache-Control: x=\"public\", max-age=60"],
            &[&expires],
            &[&modified],
        ] {
            assert!(!is_shared(Setup::new(profile), AUTHORIZATION, fields), "{fields:?}");
        }
        let asked = ["Cookie: a=1", "Authorization: Basic x"];
        assert!(!is_shared(Setup::new(profile), &asked, &["Cache-Control: max-age=60"]));
        assert!(is_shared(Setup::new(profile), &asked, &["Cache-Control: s-maxage=60"]));
    }
    assert!(
        !is_shared(Setup::safe(), AUTHORIZATION, &[IMAGE, "Cache-Control: public", &modified]),
        "a heuristic lifetime"
    );
}

#[test]
fn what_is_one_visitors_own_is_not_even_kept_to_be_validated() {
    // Otherwise a 304 to another visitor's request would hand the page out.
    let cases = [
        (Profile::Safe, COOKIE, &["Cache-Control: public"][..]),
        (Profile::Safe, COOKIE, &["Cache-Control: no-cache"]),
        (Profile::Safe, COOKIE, &["Cache-Control: max-age=60"]),
        (Profile::Safe, COOKIE, &[]),
        (Profile::Safe, AUTHORIZATION, &["Cache-Control: max-age=60"]),
        (Profile::Rfc, AUTHORIZATION, &["Cache-Control: no-cache"]),
        (Profile::Safe, &[], &["Cache-Control: public, no-cache", "Set-Cookie: a=1"]),
        (Profile::Safe, &[], &["Cache-Control: private, max-age=60"]),
        (Profile::Rfc, &[], &["Cache-Control: no-cache, private"]),
    ];
    for (profile, asked, fields) in cases {
        let fields: Vec<&str> = fields.iter().copied().chain(["ETag: \"mine\""]).collect();
        let scene =
            Setup::new(profile).run([get("/").answers(ok(&fields, "mine")), get("/").answers(ok(&[], "for all"))]);
        scene.client().get_with("/", asked);
        assert_eq!(scene.client().get("/").text(), "for all", "{asked:?} {fields:?}");
        assert_eq!(scene.origin.request(1).field("if-none-match"), None, "{asked:?} {fields:?}");
    }
}

#[test]
fn must_revalidate_shares_what_answers_authorization_while_it_is_fresh_and_validates_it_then() {
    //= RFC 9111 section 5.2.2.2
    //# The must-revalidate directive also permits a shared cache to reuse a response to a request containing an
    //# Authorization header field (Section 11.6.2 of [HTTP]), subject to the above requirement on revalidation
    let fields = ["Cache-Control: must-revalidate, max-age=10", "ETag: \"1\""];
    let scene = Scenario::rfc([
        get("/").answers(ok(&fields, "a")),
        get("/").answers(reply("401 Unauthorized", &["WWW-Authenticate: Basic"], "who are you?")),
    ]);
    scene.client().get_with("/", AUTHORIZATION);
    assert!(scene.client().get("/").is_hit());
    scene.advance(10);
    assert_eq!(scene.client().get("/").status, 401);
    assert_eq!(scene.origin.request(1).field("if-none-match").as_deref(), Some("\"1\""));
}

#[test]
fn negative_lifetimes_are_for_requests_without_cookie_and_authorization() {
    for (asked, is_stored) in [(&[][..], true), (COOKIE, false), (AUTHORIZATION, false)] {
        let missing = |body: &str| get("/").answers(reply("404 Not Found", &[], body));
        let scene = Setup::safe().policy(|policy| policy.negative_ttl_seconds = 60).run([missing("first")]);
        scene.client().get_with("/", asked);
        if !is_stored {
            scene.origin.then(missing("second"));
        }
        let next = scene.client().get("/");
        assert_eq!((next.status, next.is_hit()), (404, is_stored), "{asked:?}");
    }
}

#[test]
fn no_answer_that_was_shared_ever_holds_a_set_cookie() {
    let scene = Scenario::safe([
        get("/").answers(
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\nTrailer: Set-Cookie\r\n\r\n\
             1\r\na\r\n0\r\nSet-Cookie: session=1\r\n\r\n",
        ),
        get("/hop").answers(ok(&["Cache-Control: max-age=60", "Connection: Set-Cookie", "Set-Cookie: session=1"], "b")),
    ]);
    // Whether the second connection gets a hit does not matter, as long as no cookie comes with the answer.
    scene.origin.then(get("/hop").answers(ok(&["Cache-Control: max-age=60"], "b")));
    scene.client().get("/");
    let hit = scene.client().get("/");
    assert_eq!((hit.is_hit(), hit.trailers, hit.head.has("set-cookie")), (true, Vec::new(), false));
    scene.client().get("/hop");
    let next = scene.client().get("/hop");
    assert!(!next.has("set-cookie"));
    if next.is_hit() {
        scene.client().get_with("/hop", &["Cache-Control: no-store"]);
        scene.client().ask("GET", "/hop", &["Content-Length: 1"]).send("x").response();
    }
}

#[test]
fn in_profile_rfc_set_cookie_is_a_field_like_any_other() {
    let scene = Scenario::rfc([get("/").answers(ok(&["Cache-Control: max-age=60", "Set-Cookie: theme=dark"], "a"))]);
    scene.client().get("/");
    let hit = scene.client().get("/");
    assert_eq!((hit.is_hit(), hit.field("set-cookie").as_str()), (true, "theme=dark"));
}

#[test]
fn the_session_cookie_of_one_is_never_in_the_answer_of_another_when_they_ask_at_once() {
    let asked_by = |profile: Profile, cookies: bool, fields: &[&str]| {
        let gate = Gate::new();
        let script = (0..6).map(|n| {
            let session = format!("Set-Cookie: session={n}");
            let fields: Vec<&str> = fields.iter().copied().chain([session.as_str()]).collect();
            let exchange = get("/").answers("");
            let exchange = if n == 0 { exchange.waits(&gate) } else { exchange };
            exchange.sends(ok(&fields, format!("{n}")))
        });
        let scene = Setup::new(profile).run(script);
        let mut clients = Vec::new();
        for visitor in 0..6 {
            let mut client = scene.client();
            let cookie = format!("Cookie: visitor={visitor}");
            let asked = cookies.then_some(cookie.as_str());
            client.ask("GET", "/", asked.as_slice());
            clients.push(client);
            scene.origin.arrived(1);
        }
        scene.settled();
        gate.open();
        for (visitor, client) in clients.iter_mut().enumerate() {
            let response = client.response();
            assert_eq!(response.field("set-cookie"), format!("session={}", response.text()));
            if cookies {
                let request = scene.origin.request(response.text().parse().unwrap());
                assert_eq!(request.field("cookie"), Some(format!("visitor={visitor}")));
            }
        }
        assert_eq!(scene.origin.count(), 6, "each has a session of its own");
    };
    for fields in [&["Cache-Control: public, s-maxage=60"][..], &["Cache-Control: max-age=60"], &[]] {
        asked_by(Profile::Safe, true, fields);
        asked_by(Profile::Safe, false, fields);
    }
    asked_by(Profile::Rfc, true, &["Cache-Control: private"]);
}

#[test]
fn a_304_that_sets_a_cookie_brings_it_to_no_client_that_waited() {
    let gate = Gate::new();
    let fields = ["Cache-Control: max-age=10", "ETag: \"1\""];
    let scene = Scenario::safe([
        get("/").answers(ok(&fields, "a")),
        get("/").answers("").waits(&gate).sends(reply(
            "304 Not Modified",
            &["ETag: \"1\"", "Cache-Control: max-age=10", "Set-Cookie: session=1"],
            "",
        )),
        get("/").answers(ok(&fields, "b")),
        get("/").answers(ok(&fields, "b")),
    ]);
    scene.client().get("/");
    scene.advance(10);
    let (mut first, mut second, mut third) = (scene.client(), scene.client(), scene.client());
    first.ask("GET", "/", &[]);
    scene.origin.arrived(2);
    second.ask("GET", "/", &[]);
    third.ask("GET", "/", &[]);
    scene.settled();
    gate.open();
    assert_eq!(first.response().text(), "a");
    for client in [&mut second, &mut third] {
        let response = client.response();
        assert_eq!((response.text().as_str(), response.has("set-cookie")), ("b", false));
    }
    let hit = scene.client().get("/");
    assert_eq!((hit.is_hit(), hit.has("set-cookie")), (true, false));
}

#[test]
fn a_304_to_a_visitor_refreshes_nothing_unless_it_may_be_shared() {
    for (asked, control, is_refreshed) in [
        (COOKIE, "max-age=60", false),
        (COOKIE, "public, max-age=60", true),
        (AUTHORIZATION, "max-age=60", false),
        (AUTHORIZATION, "s-maxage=60", true),
    ] {
        let stored = ["Cache-Control: max-age=10", "ETag: \"1\""];
        let control = format!("Cache-Control: {control}");
        let confirmed = |control: &str| reply("304 Not Modified", &[control, "ETag: \"1\""], "");
        let scene = Scenario::safe([get("/").answers(ok(&stored, "a")), get("/").answers(confirmed(&control))]);
        scene.client().get("/");
        scene.advance(10);
        assert_eq!(scene.client().get_with("/", asked).short(), (200, "a".into()));
        if !is_refreshed {
            scene.origin.then(get("/").answers(confirmed(stored[0])));
        }
        let next = scene.client().get("/");
        assert_eq!((next.text().as_str(), next.is_hit()), ("a", is_refreshed), "{asked:?} {control}");
        if !is_refreshed {
            // The response was still stored, and still is.
            assert_eq!(scene.origin.request(2).field("if-none-match").as_deref(), Some("\"1\""));
        }
    }
}

#[test]
fn a_head_of_a_visitor_changes_nothing_and_ends_nothing() {
    for (profile, asked) in [(Profile::Safe, COOKIE), (Profile::Safe, AUTHORIZATION), (Profile::Rfc, AUTHORIZATION)] {
        for told in
            ["ETag: \"1\"\r\nContent-Length: 5\r\nX-Name: Ann", "ETag: \"2\"\r\nContent-Length: 9\r\nX-Name: Ann"]
        {
            let stored = ["Cache-Control: max-age=10", "ETag: \"1\"", "X-Name: nobody"];
            let told = format!("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n{told}\r\n\r\n");
            let scene = Setup::new(profile).run([
                get("/").answers(ok(&stored, "hello")),
                head("/").answers(told),
                get("/").answers(reply("304 Not Modified", &["ETag: \"1\""], "")),
            ]);
            scene.client().get("/");
            scene.advance(10);
            assert_eq!(scene.client().head("/", asked).field("x-name"), "Ann");
            let next = scene.client().get("/");
            assert_eq!((next.text().as_str(), next.field("x-name").as_str()), ("hello", "nobody"));
            assert_eq!(scene.origin.request(2).field("if-none-match").as_deref(), Some("\"1\""), "{asked:?}");
        }
    }
}

#[test]
fn a_part_of_a_visitors_own_is_not_put_into_what_all_get() {
    let part = |range: &str, body: &str| {
        let fields = ["Cache-Control: max-age=60", "ETag: \"1\"", &format!("Content-Range: bytes {range}/10")];
        reply("206 Partial Content", &fields, body)
    };
    // The visitor's part can't be combined with the stored one, so the origin is asked once more, for the visitor alone.
    let scene = Scenario::safe([
        get("/").answers(part("0-4", "part0")),
        get("/").answers(part("5-9", "part1")),
        get("/").answers(part("5-9", "part2")),
        get("/").answers(part("5-9", "part3")),
    ]);
    scene.client().get_with("/", &["Range: bytes=0-4"]);
    let visitors = scene.client().get_with("/", &["Range: bytes=5-9", COOKIE[0]]).text();
    let next = scene.client().get_with("/", &["Range: bytes=5-9"]).text();
    let asked_with_cookie = |body: &str| {
        let number: usize = body.trim_start_matches("part").parse().unwrap();
        scene.origin.request(number).field("cookie").is_some()
    };
    assert_eq!((asked_with_cookie(&visitors), asked_with_cookie(&next)), (true, false));
}

#[test]
fn a_cookie_that_belongs_to_the_connection_does_not_reach_the_origin() {
    // The origin has not seen the field, so its answer can't depend on it and may be shared.
    for (name, value) in [("Cookie", "session=1"), ("Authorization", "Basic x")] {
        for profile in BOTH {
            let scene = Setup::new(profile).run([get("/").answers(ok(&["Cache-Control: max-age=60"], "a"))]);
            scene.client().get_with("/", &[&format!("Connection: {name}"), &format!("{name}: {value}")]);
            assert_eq!(scene.origin.only_request().field(name), None);
            assert!(scene.client().get("/").is_hit());
        }
    }
}

#[test]
fn naming_other_fields_in_connection_does_not_hide_a_cookie() {
    for options in ["X-Cookie", "\"Cookie\"", "Cooki", "Cookie2", "close, X-A"] {
        let connection = format!("Connection: {options}");
        let asked = [connection.as_str(), COOKIE[0]];
        let scene = Scenario::safe([get("/").answers(ok(&["Cache-Control: max-age=60"], "mine"))]);
        scene.client().get_with("/", &asked);
        assert_eq!(scene.origin.only_request().field("cookie").as_deref(), Some("session=1"), "{options}");
        scene.origin.then(get("/").answers(ok(&[], "for all")));
        assert_eq!(scene.client().get("/").text(), "for all", "{options}");
    }
}

#[test]
fn a_response_cannot_hide_that_it_is_private_by_naming_cache_control_in_connection() {
    for profile in BOTH {
        for control in ["private", "no-store"] {
            let fields = ["Connection: Cache-Control", &format!("Cache-Control: {control}, max-age=60")];
            assert!(!is_shared(Setup::new(profile), &[], &fields), "{control}");
        }
    }
}

#[test]
fn vary_cookie_keeps_visitors_apart_even_where_the_origin_shares() {
    for profile in BOTH {
        let scene = Setup::new(profile).run(
            ["ann", "bob", "nobody"]
                .map(|name| get("/").answers(ok(&["Cache-Control: public, max-age=60", "Vary: Cookie"], name))),
        );
        let ask = |fields: &[&str]| scene.client().get_with("/", fields);
        assert_eq!(ask(&["Cookie: name=ann"]).text(), "ann");
        assert_eq!(ask(&["Cookie: name=bob"]).text(), "bob");
        assert_eq!(ask(&[]).text(), "nobody");
        for (fields, name) in [(&["Cookie: name=ann"][..], "ann"), (&["Cookie: name=bob"], "bob"), (&[], "nobody")] {
            let hit = ask(fields);
            assert_eq!((hit.text().as_str(), hit.is_hit()), (name, true));
        }
    }
}

#[test]
fn an_answer_of_a_visitors_own_to_a_validation_ends_nothing_for_the_others() {
    for answer in ["Cache-Control: private", "Cache-Control: max-age=60", "Set-Cookie: session=2"] {
        let stored = ["Cache-Control: max-age=10, stale-if-error=100", "ETag: \"1\""];
        let scene = Scenario::safe([
            get("/").answers(ok(&stored, "for all")),
            get("/").answers(ok(&[answer], "mine")),
            get("/").answers(reply("503 Down", &[], "down")),
        ]);
        scene.client().get("/");
        scene.advance(10);
        assert_eq!(scene.client().get_with("/", COOKIE).text(), "mine");
        assert_eq!(scene.client().get("/").short(), (200, "for all".into()), "{answer}: it still stands in");
        assert_eq!(scene.origin.request(2).field("if-none-match").as_deref(), Some("\"1\""));
    }
}

#[test]
fn a_304_that_sets_a_cookie_for_a_visitor_ends_nothing_for_the_others() {
    let stored = ["Cache-Control: max-age=10", "ETag: \"1\""];
    let scene = Scenario::safe([
        get("/").answers(ok(&stored, "for all")),
        get("/").answers(reply("304 Not Modified", &["ETag: \"1\"", "Set-Cookie: session=2"], "")),
        get("/").answers(reply("304 Not Modified", &stored, "")),
    ]);
    scene.client().get("/");
    scene.advance(10);
    assert_eq!(scene.client().get_with("/", COOKIE).text(), "for all");
    let next = scene.client().get("/");
    assert_eq!((next.text().as_str(), next.has("set-cookie")), ("for all", false));
    assert_eq!(scene.origin.request(2).field("if-none-match").as_deref(), Some("\"1\""));
}

#[test]
fn the_cookie_of_a_304_reaches_the_visitor_who_asked() {
    let stored = ["Cache-Control: max-age=10", "ETag: \"1\""];
    for asked in [COOKIE, &[]] {
        let scene = Scenario::safe([
            get("/").answers(ok(&stored, "a")),
            get("/").answers(reply("304 Not Modified", &["ETag: \"1\"", "Set-Cookie: session=2"], "")),
        ]);
        scene.client().get("/");
        scene.advance(10);
        let response = scene.client().get_with("/", asked);
        assert_eq!((response.text(), response.field("set-cookie")), ("a".into(), "session=2".into()), "{asked:?}");
    }
}

#[test]
fn fields_that_are_not_stored_still_reach_the_one_for_whom_they_were_made() {
    //= RFC 9111 section 5.2.2.4
    //# The qualified form of the no-cache response directive, with an argument that lists one or more field names, indicates
    //# that a cache MAY use the response to satisfy a subsequent request, subject to any other restrictions on caching, if
    //# the listed header fields are excluded from the subsequent response
    let fields =
        ["Cache-Control: max-age=60, no-cache=\"Set-Cookie, X-Token\"", "Set-Cookie: a=1", "X-Token: t", "X-All: 1"];
    let scene = Scenario::rfc([get("/").answers(ok(&fields, "a"))]);
    let first = scene.client().get("/");
    assert_eq!((first.field("set-cookie"), first.field("x-token")), ("a=1".into(), "t".into()));
    let hit = scene.client().get("/");
    let seen = (hit.is_hit(), hit.has("set-cookie"), hit.has("x-token"), hit.field("x-all"));
    assert_eq!(seen, (true, false, false, "1".into()));
}
