//! The id of a request: where it comes from, and which clients and origins get it.

use kasoku_options::AddressRange;
use kasoku_semantics::policy::Profile;

use kasoku_testkit::{BOTH, Response, Setup, get, ok, on, post};
use std::collections::HashSet;

const FRESH: &str = "Cache-Control: max-age=60";
const TOLD: &str = "X-Request-Id: from-the-proxy";

fn shown(setup: Setup) -> Setup {
    setup.options(|options| options.hit_headers.request_id = true)
}

/// Trusts proxies on this machine.
fn behind_a_proxy(setup: Setup) -> Setup {
    setup.options(|options| options.trusted_proxies = AddressRange::loopback())
}

fn id(response: &Response) -> String {
    response.field("X-Request-Id")
}

#[test]
fn each_answer_carries_the_id_of_its_own_request() {
    let scene = shown(Setup::safe()).run([
        get("/").answers(ok(&[FRESH, "X-Request-Id: the-fill's-own"], "page")),
        post("/").answers(ok(&["X-Request-Id: the-application's"], "")),
        get("/chat").sends("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Request-Id: a\r\n\r\n").closes(),
    ]);
    let mut client = scene.client();
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(id(&client.get("/")));
    }
    ids.push(id(&client.get_with("/", &["Range: bytes=0-1"])));
    ids.push(id(&client.head("/", &[])));
    ids.push(id(&client.get_with("/other", &["Cache-Control: only-if-cached"])));
    ids.push(id(&client.send_body("POST", "/", &[], "x")));
    let chat = ["Connection: upgrade", "Upgrade: websocket"];
    ids.push(id(&scene.client().ask("GET", "/chat", &chat).response()));
    ids.push(id(&scene.client().send("no request\r\n\r\n").response()));
    assert!(ids.iter().all(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())), "{ids:#?}");
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len(), "{ids:#?}");
}

#[test]
fn no_client_gets_one_unless_the_operator_asks_for_it() {
    let scene = Setup::safe().run([get("/").answers(ok(&[FRESH], "page"))]);
    let mut client = scene.client();
    assert!(!client.get("/").has("X-Request-Id") && !client.get("/").has("X-Request-Id"));
}

#[test]
fn a_trusted_proxys_id_is_taken_over_and_a_visitors_is_not() {
    let script = || [post("/").answers(ok(&[], ""))];
    let scene = behind_a_proxy(shown(Setup::safe())).run(script());
    assert_eq!(id(&scene.client().send_body("POST", "/", &[TOLD], "x")), "from-the-proxy");
    assert_eq!(scene.origin.request(0).head.field("X-Request-Id").unwrap(), "from-the-proxy");

    let scene = shown(Setup::safe()).run(script());
    let shown = id(&scene.client().send_body("POST", "/", &[TOLD, "X_Request_Id: again"], "x"));
    assert_eq!(shown.len(), 32);
    let sent = scene.origin.request(0);
    assert_eq!(sent.head.field("X-Request-Id").unwrap(), shown, "the application logs the same");
    assert!(!sent.head.has("X_Request_Id"), "which an application would read as the same field");
}

/// The id must not get into a shared page: frameworks send it back in their answer, or write it into their pages.
#[test]
fn no_id_reaches_the_origin_where_the_answer_may_be_shared() {
    for profile in BOTH {
        let scene = behind_a_proxy(Setup::new(profile)).run([
            get("/").answers(ok(&["Cache-Control: max-age=1", "ETag: \"1\""], "page")),
            on("HEAD", "/other").answers(ok(&[FRESH], "")),
            get("/").answers(ok(&[FRESH], "page")),
        ]);
        let mut client = scene.client();
        client.get_with("/", &[TOLD]);
        client.head("/other", &[TOLD]);
        scene.advance(5);
        client.get_with("/", &[TOLD]);
        for number in 0..3 {
            assert!(!scene.origin.request(number).head.has("X-Request-Id"), "{profile:?} {number}");
        }
    }
}

#[test]
fn what_passes_by_rule_carries_one() {
    let scene = Setup::new(Profile::Rfc).route(|route| route.pass = true).run([get("/").answers(ok(&[FRESH], "page"))]);
    scene.client().get("/");
    assert_eq!(scene.origin.request(0).head.field("X-Request-Id").unwrap().len(), 32);
}

#[test]
fn a_visitors_trace_goes_on_where_the_answer_is_for_one_and_nowhere_else() {
    let trace = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let sent =
        [trace, "tracestate: a=b", "baggage: user=7", "X-B3-TraceId: 7", "sentry-trace: 7-7-1", "uber-trace-id: 7"];
    for profile in BOTH {
        let fresh = ok(&[FRESH], "page");
        let script = [get("/").answers(fresh.clone()), post("/").answers(ok(&[], ""))];
        // A trusted proxy's trace would get into the shared page as well.
        let scene = behind_a_proxy(Setup::new(profile)).run(script);
        let mut client = scene.client();
        client.get_with("/", &[&sent[..], &["X-Amzn-Trace-Id: Root=1-67891233-abcdef"]].concat());
        assert!(
            client.get_with("/", &["traceparent: 00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]).is_hit()
        );
        client.ask("POST", "/", &[&sent[..], &["Content-Length: 0"]].concat()).response();
        let [shared, passed] = [0, 1].map(|number| scene.origin.request(number));
        for field in sent.iter().chain(&["X-Amzn-Trace-Id: 1"]) {
            let (name, value) = field.split_once(": ").unwrap();
            assert_eq!(shared.field(name), None, "{name}");
            assert_eq!(passed.field(name).as_deref(), Some(value).filter(|_| name != "X-Amzn-Trace-Id"), "{name}");
        }
    }
}
