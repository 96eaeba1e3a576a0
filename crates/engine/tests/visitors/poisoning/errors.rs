//! Cache-poisoned denial of service: one odd request provokes an error, which no other client may get.

use crate::poisoning::application::{Application, Asked, Does};
use crate::poisoning::before;
use kasoku_testkit::{Gate, Response, Scenario, Setup, ok, reply};

/// The limit of the origin, in bytes of the head: well below Kasoku's.
const ORIGINS_HEAD_BYTES_MAX: usize = 8 << 10;

const PAGE: &str = "the page";

/// Errors by which origins answer odd requests. The application marks all of them as cacheable.
const ERRORS: [&str; 18] = [
    "400 Bad Request",
    "402 Payment Required",
    "403 Forbidden",
    "406 Not Acceptable",
    "408 Request Timeout",
    "411 Length Required",
    "413 Content Too Large",
    "414 URI Too Long",
    "415 Unsupported Media Type",
    "417 Expectation Failed",
    "421 Misdirected Request",
    "429 Too Many Requests",
    "431 Request Header Fields Too Large",
    "500 Internal Server Error",
    "501 Not Implemented",
    "502 Bad Gateway",
    "503 Service Unavailable",
    "504 Gateway Timeout",
];

/// An application that does this to a request that it finds odd, and sends the page to all others.
fn failing_where(is_odd: fn(&Asked) -> bool, does: impl Fn() -> Does + Send + Sync + 'static) -> Application {
    Application::start(move |asked| {
        if is_odd(asked) { does() } else { Does::Answer(ok(&["Cache-Control: public, max-age=60"], PAGE)) }
    })
}

fn answering(status: &'static str) -> impl Fn() -> Does {
    move || {
        Does::Answer(reply(
            status,
            &["Cache-Control: public, max-age=3600", "Expires: Thu, 31 Dec 2099 23:59:59 GMT"],
            "no",
        ))
    }
}

fn has_odd_field(asked: &Asked) -> bool {
    asked.field("x-odd").is_some()
}

fn is_too_long(asked: &Asked) -> bool {
    asked.head_bytes() > ORIGINS_HEAD_BYTES_MAX
}

/// The attacker asks first; one victim asks meanwhile, and one afterwards. Returns the answers to the attacker and the two
/// victims.
fn attacked(scene: &Scenario, application: &Application, odd: &str) -> [Response; 3] {
    let (gate, count) = (Gate::new(), application.count());
    application.holds_next(&gate);
    let [mut attacker, mut waiting] = [(); 2].map(|()| scene.client());
    attacker.ask("GET", "/", &[odd]);
    application.arrived(count + 1);
    waiting.ask("GET", "/", &[]);
    scene.settled();
    gate.open();
    [attacker.response(), waiting.response(), scene.client().get("/")]
}

#[test]
fn an_error_that_one_request_provokes_reaches_no_other_client() {
    for status in ERRORS {
        let application = failing_where(has_odd_field, answering(status));
        let scene = before(Setup::safe(), &application);
        let [attacker, waiting, later] = attacked(&scene, &application, "X-Odd: 1");
        assert_eq!(attacker.status.to_string(), status[..3]);
        assert_eq!([waiting.text(), later.text()], [PAGE, PAGE], "{status}");
    }
}

#[test]
fn an_error_that_one_request_provokes_does_not_take_the_place_of_what_is_stored() {
    for status in ERRORS {
        let application = failing_where(has_odd_field, answering(status));
        let scene = before(Setup::safe(), &application);
        scene.client().get("/");
        scene.advance(70);
        let [_, waiting, later] = attacked(&scene, &application, "X-Odd: 1");
        assert_eq!([waiting.text(), later.text()], [PAGE, PAGE], "{status}");
    }
}

#[test]
fn a_head_that_is_too_long_for_the_origin_alone_is_the_senders_own_misfortune() {
    // CPDoS by oversized fields (HHO): one long field, or many short ones, below Kasoku's limits and above the origin's.
    let many: String = (0..150).map(|number| format!("X-Many-{number}: {}\r\n", "a".repeat(80))).collect();
    for odd in [format!("X-Oversized: {}", "a".repeat(20_000)), many.trim_end().to_owned()] {
        for status in ["400 Bad Request", "413 Content Too Large", "431 Request Header Fields Too Large"] {
            let application = failing_where(is_too_long, answering(status));
            let scene = before(Setup::safe(), &application);
            let [attacker, waiting, later] = attacked(&scene, &application, &odd);
            assert_eq!(attacker.status.to_string(), status[..3]);
            assert_eq!([waiting.text(), later.text()], [PAGE, PAGE], "{status}");
        }
    }
}

#[test]
fn a_request_that_crashes_the_origin_denies_nothing_to_others() {
    for is_stored in [false, true] {
        let application = failing_where(has_odd_field, || Does::Reset);
        let scene = before(Setup::safe(), &application);
        if is_stored {
            scene.client().get("/");
            scene.advance(70);
        }
        // Several times, each time with another request, and each time before the other clients.
        for odd in ["X-Odd: 1", "X-Odd: 2", "X-Odd: 3"] {
            let [_, waiting, later] = attacked(&scene, &application, odd);
            assert_eq!([waiting.short(), later.short()], [(200, PAGE.to_owned()), (200, PAGE.to_owned())], "{odd}");
            scene.advance(70);
        }
    }
}

#[test]
fn a_method_that_a_field_asks_for_never_reaches_the_application() {
    // CPDoS by method override (HMO).
    for field in ["X-HTTP-Method-Override: POST", "X-HTTP-Method: DELETE", "X-Method-Override: EVIL"] {
        let application = failing_where(
            |asked| asked.all().contains("Override") || asked.all().contains("Method"),
            || Does::Answer(reply("405 Method Not Allowed", &["Cache-Control: max-age=3600"], "no")),
        );
        let scene = before(Setup::safe(), &application);
        assert_eq!(scene.client().get_with("/", &[field]).text(), PAGE, "{field}");
        assert_eq!(scene.client().get("/").text(), PAGE, "{field}");
    }
}

#[test]
fn an_operator_who_grants_errors_a_lifetime_gets_them_stored() {
    let application = Application::start(|_| Does::Answer(reply("404 Not Found", &[], "none")));
    let scene = before(Setup::safe().policy(|policy| policy.negative_ttl_seconds = 60), &application);
    scene.client().get("/");
    assert!(scene.client().get("/").is_hit());
}
