//! Upgrade: an allow-list, and a tunnel only after a 101. All other requests for an upgrade are refused, or the field is ignored.

use kasoku_testkit::{Client, Gate, Scenario, Setup, get, ok, reply};

const SWITCH: &str =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n";
const ASK: [&str; 3] = ["Connection: keep-alive, Upgrade", "Upgrade: WebSocket", "Sec-WebSocket-Key: k"];

#[track_caller]
fn is_switched(client: &mut Client) {
    let response = client.response();
    assert_eq!((response.status, response.field("upgrade").as_str()), (101, "websocket"));
    assert!(response.field("connection").eq_ignore_ascii_case("upgrade"));
    assert_eq!(response.field("sec-websocket-accept"), "x");
    assert!(response.field("via").contains("kasoku"));
}

#[test]
fn bytes_go_both_ways_after_a_101() {
    let scene = Scenario::safe([get("/ws").sends(SWITCH).reads("ping").sends("pong").reads("bye").closes()]);
    let mut client = scene.client();
    client.ask("GET", "/ws", &ASK);
    is_switched(&mut client);
    client.send("ping").reads("pong").send("bye");
    client.is_closed();
    let request = scene.origin.only_request();
    assert_eq!(request.field("upgrade").map(|name| name.to_lowercase()).as_deref(), Some("websocket"));
    assert!(request.field("connection").is_some_and(|options| options.to_lowercase().contains("upgrade")));
    assert_eq!(request.field("sec-websocket-key").as_deref(), Some("k"));
}

#[test]
fn bytes_right_behind_the_heads_are_not_lost() {
    let scene =
        Scenario::safe([get("/ws").sends([SWITCH, "welcome"].concat()).reads("early late").sends("!").closes()]);
    let mut client = scene.client();
    client.send([kasoku_testkit::client::request("GET", "/ws", &ASK).as_str(), "early"].concat());
    is_switched(&mut client);
    client.reads("welcome").send(" late").reads("!");
    client.is_closed();
}

#[test]
fn each_side_of_a_tunnel_is_closed_on_its_own() {
    let gate = Gate::new();
    let script = get("/ws").sends(SWITCH).shuts_down_write().waits(&gate).reads("still here").closes();
    let scene = Scenario::safe([script]);
    let mut client = scene.client();
    client.ask("GET", "/ws", &ASK);
    is_switched(&mut client);
    assert_eq!(client.rest(), "");
    client.send("still here");
    gate.open();
    scene.origin.done(1);
}

#[test]
fn a_client_that_ends_a_tunnel_ends_it_for_the_origin() {
    let scene = Scenario::safe([get("/ws").sends(SWITCH).awaits_end()]);
    let mut client = scene.client();
    client.ask("GET", "/ws", &ASK);
    is_switched(&mut client);
    drop(client);
    scene.origin.done(1);
}

#[test]
fn an_origin_that_does_not_switch_gives_an_ordinary_response() {
    let scene = Scenario::safe([
        get("/ws").answers(reply("426 Upgrade Required", &["Cache-Control: max-age=60"], "no")),
        get("/ws").answers(ok(&["Cache-Control: max-age=60"], "plain")),
    ]);
    let mut client = scene.client();
    assert_eq!(client.get_with("/ws", &ASK).short(), (426, "no".into()));
    // It answered a request for another protocol, so no other request gets it. The connection stays open.
    assert_eq!(client.get("/ws").short(), (200, "plain".into()));
}

#[test]
fn a_stored_response_does_not_answer_an_upgrade() {
    let scene = Scenario::safe([
        get("/ws").answers(ok(&["Cache-Control: max-age=60"], "page")),
        get("/ws").sends(SWITCH).sends("hello").closes(),
    ]);
    let mut client = scene.client();
    client.get("/ws");
    client.ask("GET", "/ws", &ASK);
    is_switched(&mut client);
    client.reads("hello");
}

#[test]
fn an_upgrade_to_h2c_is_not_passed_on() {
    let scene = Scenario::safe([get("/").answers(ok(&[], "a"))]);
    let fields = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"];
    assert_eq!(scene.client().get_with("/", &fields).short(), (200, "a".into()));
    let request = scene.origin.only_request();
    for gone in ["upgrade", "http2-settings", "connection"] {
        assert_eq!(request.field(gone), None, "{gone}");
    }
}

#[test]
fn only_the_allowed_protocol_of_a_list_is_asked_for() {
    let scene = Scenario::safe([get("/").sends(SWITCH).sends("hello").closes()]);
    let mut client = scene.client();
    client.ask("GET", "/", &["Connection: Upgrade", "Upgrade: h2c, websocket"]);
    is_switched(&mut client);
    client.reads("hello");
    assert_eq!(scene.origin.request(0).field("upgrade").as_deref(), Some("websocket"));
}

#[test]
fn a_protocol_that_a_route_allows_is_passed_on() {
    let switch = SWITCH.replace("websocket", "x-mine");
    let scene = Setup::safe()
        .route(|route| route.upgrades = vec!["x-mine".into()])
        .run([get("/").sends(switch).sends("hello").closes(), get("/").answers(ok(&[], "plain"))]);
    let mut client = scene.client();
    client.ask("GET", "/", &["Connection: Upgrade", "Upgrade: X-Mine"]);
    assert_eq!(client.response().status, 101);
    client.reads("hello");
    assert_eq!(scene.client().get_with("/", &ASK).text(), "plain", "websocket is not on the list");
}

#[test]
fn upgrade_without_the_connection_option_or_in_http_1_0_is_ignored() {
    let scene = Scenario::safe([get("/1").answers(ok(&[], "a")), get("/2").answers(ok(&[], "a"))]);
    assert_eq!(scene.client().get_with("/1", &["Upgrade: websocket"]).status, 200);
    let mut client = scene.client();
    client.send("GET /2 HTTP/1.0\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
    assert_eq!(client.response().status, 200);
    assert_eq!((scene.origin.request(0).field("upgrade"), scene.origin.request(1).field("upgrade")), (None, None));
}

#[test]
fn a_101_without_an_upgrade_in_the_request_is_502() {
    for pass in [true, false] {
        let scene = Setup::safe().route(|route| route.pass = pass).run([get("/").answers(SWITCH).awaits_end()]);
        let response = scene.client().get("/");
        assert_eq!((response.status, response.detail().as_str()), (502, "origin-malformed"));
    }
}

#[test]
fn a_101_to_another_protocol_than_was_asked_for_is_502() {
    let scene = Scenario::safe([get("/").sends(SWITCH.replace("websocket", "h2c")).awaits_end()]);
    assert_eq!(scene.client().get_with("/", &ASK).status, 502);
}
