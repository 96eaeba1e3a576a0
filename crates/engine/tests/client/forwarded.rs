//! The fields that tell the origin about the client: Kasoku sets X-Forwarded-* and Forwarded. It accepts these fields only from a
//! trusted proxy, and then their scheme and host enter the key.

use kasoku_options::AddressRange;
use kasoku_semantics::grant::StatusTtl;
use kasoku_semantics::policy::Policy;
use kasoku_semantics::stand_in::StandInRange;
use kasoku_testkit::{BOTH, Received, Scenario, Setup, get, head, is_stand_in, ok, on, post};

/// Trusts each client that connects from this machine.
fn trusting(setup: Setup) -> Setup {
    let address = [127, 0, 0, 1].into();
    setup.options(|options| options.trusted_proxies = vec![AddressRange::Ip { address, prefix_bits: 32 }])
}

#[test]
fn a_request_that_passes_tells_the_origin_about_its_client() {
    let scene = Scenario::safe([post("/").answers(ok(&[], "a"))]);
    scene.client().send_body("POST", "/", &[], "x");
    let request = scene.origin.only_request();
    assert_eq!(request.field("x-forwarded-for").as_deref(), Some("127.0.0.1"));
    assert_eq!(request.field("x-forwarded-proto").as_deref(), Some("http"));
    assert_eq!(request.field("x-forwarded-host").as_deref(), Some("example.org"));
    assert_eq!(request.field("x-real-ip").as_deref(), Some("127.0.0.1"));
    assert_eq!(request.field("forwarded").as_deref(), Some("for=127.0.0.1;host=example.org;proto=http"));
}

#[test]
fn what_an_untrusted_client_says_about_itself_never_reaches_the_origin() {
    let lies = [
        "X-Forwarded-For: 6.6.6.6",
        "X-Forwarded-Proto: https",
        "X-Forwarded-Host: evil.example",
        // Without digits, since the id of the request may hold any digit.
        "X-Forwarded-Port: evil-port",
        "X-Forwarded-Prefix: /evil",
        "Forwarded: for=6.6.6.6;host=evil.example;proto=https",
    ];
    for (method, profile) in [("POST", BOTH[0]), ("POST", BOTH[1]), ("GET", BOTH[0]), ("GET", BOTH[1])] {
        let scene = Setup::new(profile).run([on(method, "/").answers(ok(&[], "a"))]);
        scene.client().ask(method, "/", &lies).response();
        let request = scene.origin.only_request();
        let all = format!("{request:?}");
        for lie in ["6.6.6.6", "evil", "https"] {
            assert!(!all.contains(lie), "{lie}: {all}");
        }
    }
}

#[test]
fn what_an_untrusted_client_says_about_itself_does_not_enter_the_key() {
    let scene = Scenario::safe([get("/").answers(ok(&["Cache-Control: max-age=60"], "a"))]);
    let mut client = scene.client();
    client.get("/");
    let lies =
        ["X-Forwarded-Proto: https", "X-Forwarded-Host: evil.example", "Forwarded: host=evil.example;proto=https"];
    assert!(client.get_with("/", &lies).is_hit());
}

#[test]
fn what_is_not_in_the_key_does_not_reach_the_origin_when_the_answer_may_be_shared() {
    let fields = [
        "X-Original-URL: /admin",
        "X-Rewrite-URL: /admin",
        "X-HTTP-Method-Override: DELETE",
        "X-HTTP-Method: DELETE",
        "X-Method-Override: DELETE",
        "X-Host: evil.example",
        "X-Client-IP: 6.6.6.6",
    ];
    let scene = Scenario::safe([get("/").answers(ok(&["Cache-Control: max-age=60"], "a"))]);
    scene.client().get_with("/", &fields);
    let request = scene.origin.only_request();
    for field in fields {
        let name = field.split(':').next().unwrap();
        assert_eq!(request.field(name), None, "{name}");
    }
}

/// The fields that name the client's address, as the origin gets them.
fn told(setup: Setup, fields: &[&str]) -> [String; 3] {
    let scene = setup.run([get("/").answers(ok(&["Cache-Control: max-age=60"], "a"))]);
    scene.client().get_with("/", fields);
    addresses(&scene.origin.only_request())
}

fn addresses(request: &Received) -> [String; 3] {
    ["x-forwarded-for", "x-real-ip", "forwarded"].map(|name| request.field(name).unwrap_or_default())
}

/// Checks that all fields tell the same stand-in, and returns it.
#[track_caller]
fn stand_in(told: [String; 3]) -> String {
    let [address, ..] = told.clone();
    assert!(is_stand_in(&address), "{told:?}");
    assert_eq!(told, [address.clone(), address.clone(), format!("for={address};host=example.org;proto=http")]);
    address
}

#[test]
fn the_clients_address_is_told_but_where_a_lifetime_is_granted() {
    let own = ["127.0.0.1", "127.0.0.1", "for=127.0.0.1;host=example.org;proto=http"];
    for profile in BOTH {
        for fields in [
            &["X-Forwarded-For: 6.6.6.6"][..],
            &["X-Real-IP: 6.6.6.6", "X_Real_IP: 6.6.6.6"],
            &["Cookie: a=b"],
            &["Authorization: Basic x"],
        ] {
            assert_eq!(told(Setup::new(profile), fields), own, "{fields:?}");
        }
        for grant in [
            |policy: &mut Policy| policy.grant.ttl_seconds = 60,
            |policy: &mut Policy| policy.grant.ttl_override_seconds = 60,
            |policy: &mut Policy| policy.grant.ttl_status = vec![StatusTtl { first: 404, last: 404, seconds: 60 }],
            |policy: &mut Policy| policy.negative_ttl_seconds = 60,
        ] {
            let granting = Setup::new(profile).policy(grant);
            stand_in(told(granting, &["X-Forwarded-For: 6.6.6.6", "X-Real-IP: 6.6.6.6"]));
            // The request passes, or the configuration grants no lifetime to its answer.
            let granting = Setup::new(profile).policy(grant);
            assert_eq!(told(granting, &["Cookie: a=b"]), own);
        }
    }
}

#[test]
fn a_trusted_proxys_client_is_the_real_one() {
    let fields = ["X-Forwarded-For: 192.0.2.9, 192.0.2.7", "X-Real-IP: 6.6.6.6", "Forwarded: for=192.0.2.7"];
    let expected =
        ["192.0.2.9, 192.0.2.7, 127.0.0.1", "192.0.2.7", "for=192.0.2.7, for=127.0.0.1;host=example.org;proto=http"];
    assert_eq!(told(trusting(Setup::safe()), &fields), expected);
}

#[test]
fn a_refresh_in_the_background_tells_no_clients_address() {
    let lines = ["Cache-Control: max-age=60, stale-while-revalidate=60"];
    let scene = Scenario::safe([get("/").answers(ok(&lines, "a")), get("/").answers(ok(&lines, "b"))]);
    scene.client().get("/");
    scene.advance(70);
    assert!(scene.client().get("/").is_hit());
    scene.origin.done(2);
    stand_in(addresses(&scene.origin.request(1)));
}

#[test]
fn each_anonymous_request_tells_an_address_of_its_own() {
    let answer = |path: &str| get(path).answers(ok(&[], "a"));
    let scene = Setup::safe().policy(|policy| policy.grant.ttl_seconds = 60).run(["/a", "/b"].map(answer));
    for path in ["/a", "/b"] {
        scene.client().get(path);
    }
    assert!(scene.client().get("/a").is_hit(), "the address does not choose the response");
    let [one, other] = [0, 1].map(|number| stand_in(addresses(&scene.origin.request(number))));
    // They are equal by chance once in 268 million runs.
    assert_ne!(one, other);
}

#[test]
fn the_addresses_come_from_the_range_of_the_configuration() {
    let network = "2001:db8:7::".parse().unwrap();
    let setup = Setup::safe().policy(|policy| policy.grant.ttl_seconds = 60);
    let setup = setup.route(move |route| route.stand_ins = StandInRange::Ipv6 { network, prefix_bits: 48 });
    let [address, real_ip, forwarded] = told(setup, &[]);
    assert!(address.starts_with("2001:db8:7:") && address == real_ip, "{address}, {real_ip}");
    assert_eq!(forwarded, format!("for=\"[{address}]\";host=example.org;proto=http"));
}

#[test]
fn a_head_whose_answer_may_be_stored_for_all_tells_no_clients_address() {
    let setup = Setup::safe().policy(|policy| policy.negative_ttl_seconds = 60);
    let scene = setup.run([head("/").answers(ok(&["Content-Length: 1"], ""))]);
    scene.client().head("/", &[]);
    stand_in(addresses(&scene.origin.only_request()));
}

#[test]
fn a_request_that_passes_keeps_what_applications_need() {
    let scene = Scenario::safe([post("/").answers(ok(&[], "a"))]);
    scene.client().send_body("POST", "/", &["X-HTTP-Method-Override: PUT", "X-Original-URL: /b"], "x");
    let request = scene.origin.only_request();
    assert_eq!(request.field("x-http-method-override").as_deref(), Some("PUT"));
    assert_eq!(request.field("x-original-url").as_deref(), Some("/b"));
}

#[test]
fn a_trusted_proxys_scheme_and_host_enter_the_key_and_reach_the_origin() {
    let answer = |body| get("/").answers(ok(&["Cache-Control: max-age=60"], body));
    let scene = trusting(Setup::safe()).run([answer("http"), answer("https"), answer("other")]);
    let mut client = scene.client();
    assert_eq!(client.get("/").text(), "http");
    assert_eq!(client.get_with("/", &["X-Forwarded-Proto: https"]).text(), "https");
    assert_eq!(client.get_with("/", &["X-Forwarded-Host: other.org"]).text(), "other");
    assert_eq!(client.get("/").text(), "http");
    assert_eq!(client.get_with("/", &["Forwarded: for=1.2.3.4;proto=https"]).text(), "https");
    assert_eq!(client.get_with("/", &["Forwarded: for=1.2.3.4;host=\"other.org\""]).text(), "other");
    assert_eq!(scene.origin.request(1).field("x-forwarded-proto").as_deref(), Some("https"));
    let request = scene.origin.request(2);
    assert_eq!(
        (request.field("host").as_deref(), request.field("x-forwarded-host").as_deref()),
        (Some("other.org"), Some("other.org"))
    );
}

#[test]
fn a_trusted_proxys_list_of_addresses_goes_on() {
    let scene = trusting(Setup::safe()).run([post("/").answers(ok(&[], "a"))]);
    let fields = ["X-Forwarded-For: 1.2.3.4", "Forwarded: for=1.2.3.4", "X-Forwarded-Proto: https"];
    scene.client().send_body("POST", "/", &fields, "x");
    let request = scene.origin.only_request();
    assert_eq!(request.field("x-forwarded-for").as_deref(), Some("1.2.3.4, 127.0.0.1"));
    assert_eq!(request.field("forwarded").as_deref(), Some("for=1.2.3.4, for=127.0.0.1;host=example.org;proto=https"));
}

#[test]
fn a_trusted_proxys_doubled_claims_do_not_split_the_key_from_what_the_origin_sees() {
    let scene = trusting(Setup::safe()).run([get("/").answers(ok(&["Cache-Control: max-age=60"], "a"))]);
    scene.client().get_with("/", &["X-Forwarded-Host: a.org, b.org", "X-Forwarded-Proto: http, https"]);
    let request = scene.origin.only_request();
    assert_eq!(request.field("x-forwarded-host").as_deref(), Some("b.org"));
    assert_eq!(request.field("x-forwarded-proto").as_deref(), Some("https"));
    assert_eq!(request.field("host").as_deref(), Some("b.org"));
}

#[test]
fn an_invalid_host_from_a_trusted_proxy_is_400() {
    let scene = trusting(Setup::safe()).run([]);
    for host in ["X-Forwarded-Host: a/b", "X-Forwarded-Host: a b", "Forwarded: host=\"u@a\""] {
        assert_eq!(scene.client().get_with("/", &[host]).status, 400, "{host}");
    }
}

#[test]
fn the_origins_own_host_can_be_set() {
    let scene = Setup::safe()
        .route(|route| route.origin_host = Some("inner.example".into()))
        .run([get("/").answers(ok(&["Cache-Control: max-age=60"], "a"))]);
    scene.client().get("/");
    let request = scene.origin.only_request();
    assert_eq!(request.field("host").as_deref(), Some("inner.example"));
    assert_eq!(request.field("x-forwarded-host").as_deref(), Some("example.org"));
}

#[test]
fn trailers_cannot_say_what_fields_may_not() {
    // Many applications merge trailers into the fields. There, these would change the framing, the route or the client's address.
    let lies = "X-Forwarded-For: 6.6.6.6\r\nForwarded: for=6.6.6.6\r\nHost: evil.example\r\nContent-Length: 666\r\nTransfer-Encoding: x\r\nX-End: 2\r\n";
    let scene = Scenario::safe([post("/").answers(ok(&[], "a"))]);
    let mut client = scene.client();
    client.ask("POST", "/", &["Transfer-Encoding: chunked"]);
    let response = client.send(format!("1\r\na\r\n0\r\n{lies}\r\n")).response();
    if response.status == 200 {
        assert_eq!(scene.origin.only_request().trailers, [("X-End".to_owned(), "2".to_owned())]);
    }
}

#[test]
fn a_trailer_of_a_request_carries_no_field_that_is_written_or_removed_in_heads() {
    let lies = [
        "X-Real-IP: 6.6.6.6",
        "Proxy: http://evil.example",
        "X-Request-Id: evil",
        "X-Original-URL: /evil",
        "X.Forwarded.For: 6.6.6.6",
        "X_Real_IP: 6.6.6.6",
        "X-HTTP-Method-Override: DELETE",
        "X-Sendfile-Type: X-Accel-Redirect",
        "X-Middleware-Subrequest: middleware",
        "True-Client-IP: 6.6.6.6",
        "Content.Length: 666",
        "X-Sum: 2",
        "Content-Digest: sha-256=:AA==:",
    ];
    let scene = Scenario::safe([post("/").answers(ok(&[], "a"))]);
    let mut client = scene.client();
    client.ask("POST", "/", &["Transfer-Encoding: chunked"]);
    assert_eq!(client.send(format!("1\r\na\r\n0\r\n{}\r\n\r\n", lies.join("\r\n"))).response().status, 200);
    let left = scene.origin.only_request().trailers;
    assert_eq!(left.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["X-Sum", "Content-Digest"]);
}

#[test]
fn underscores_do_not_smuggle_what_hyphens_may_not() {
    // CGI, WSGI and PHP read `X_Forwarded_Host` and `X-Forwarded-Host` as one variable.
    let lies = [
        "X_Forwarded_Host: evil.example",
        "X_Forwarded-Proto: https",
        "X_Original_URL: /evil",
        "X_HTTP_Method_Override: evil",
    ];
    let scene = Scenario::safe([get("/").answers(ok(&["Cache-Control: max-age=60"], "a"))]);
    scene.client().get_with("/", &lies);
    let all = format!("{:?}", scene.origin.only_request());
    assert!(!all.contains("evil") && !all.contains("https"), "{all}");
}
