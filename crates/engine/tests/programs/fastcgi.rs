//! Scripts behind FastCGI: what Kasoku tells the application server, what the server answers, and what clients get.

use kasoku_engine::Engine;
use kasoku_testkit::application::{prints, record, turn};
use kasoku_testkit::unreachable::dead_address;
use kasoku_testkit::{Application, Client, Ending, Gate, Response, Setup, Turn};
use std::time::Duration;

const HTML: &str = "Content-Type: text/html\r\nCache-Control: max-age=60\r\n\r\n";
const PRIVATE: &str = "Content-Type: text/html\r\nCache-Control: private\r\n\r\n";

/// An engine in front of an application server that plays this script.
fn start(setup: Setup, script: impl IntoIterator<Item = Turn>) -> (Engine, Application) {
    let application = Application::fastcgi(script);
    let engine = setup.site(&[], |route| route.origins = vec![application.address()]).run_without_origin();
    (engine, application)
}

fn client(engine: &Engine) -> Client {
    Client::connect(engine.addresses()[0])
}

/// What a client gets when the application server does this.
fn answered(turn: Turn) -> Response {
    let (engine, _application) = start(Setup::safe(), [turn]);
    client(&engine).ask("GET", "/", &[]).cut_response()
}

#[track_caller]
fn is_failure(response: &Response, status: u16, reason: &str) {
    assert_eq!((response.status, response.detail().as_str()), (status, reason), "{response:?}");
}

#[test]
fn a_script_s_answer_is_delivered_and_stored() {
    let (engine, application) = start(Setup::safe(), [prints(&format!("{HTML}<p>hello"))]);
    let mut client = client(&engine);
    let miss = client.get("/blog/2024?a=b");
    assert_eq!(
        (miss.status, miss.field("content-type").as_str(), miss.text().as_str()),
        (200, "text/html", "<p>hello")
    );
    assert!(client.get("/blog/2024?a=b").is_hit());
    let call = application.call(0);
    for (name, value) in [
        ("REQUEST_METHOD", "GET"),
        ("REQUEST_URI", "/blog/2024?a=b"),
        ("QUERY_STRING", "a=b"),
        ("SCRIPT_NAME", ""),
        ("PATH_INFO", "/blog/2024"),
        ("DOCUMENT_URI", "/blog/2024"),
        ("REDIRECT_STATUS", "200"),
        ("GATEWAY_INTERFACE", "CGI/1.1"),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("CONTENT_LENGTH", "-"),
        ("HTTPS", "-"),
        // No lifetime is granted: the script itself allows sharing. So the script gets the client's address.
        ("REMOTE_ADDR", "127.0.0.1"),
    ] {
        assert_eq!(call.param(name), value, "{name}");
    }
}

#[test]
fn who_asks_is_told_where_the_answer_is_for_one_client() {
    let (engine, application) =
        start(Setup::safe().route(|route| route.pass = true), [prints(&format!("{PRIVATE}yours"))]);
    assert_eq!(client(&engine).get("/").text(), "yours");
    assert_eq!(application.call(0).param("REMOTE_ADDR"), "127.0.0.1");
    assert_ne!(application.call(0).param("REMOTE_PORT"), "-");
}

#[test]
fn variables_of_the_route_come_last() {
    let setup = Setup::safe().route(|route| {
        route.gateway.environment =
            vec![("APP_ENV".to_owned(), "prod".to_owned()), ("SERVER_NAME".to_owned(), "canonical".to_owned())];
    });
    let (engine, application) = start(setup, [prints(HTML)]);
    client(&engine).get("/");
    assert_eq!((application.call(0).param("APP_ENV"), application.call(0).param("SERVER_NAME")), ("prod", "canonical"));
}

#[test]
fn a_body_goes_to_standard_input_with_its_length() {
    let (engine, application) = start(Setup::safe(), [prints(PRIVATE), prints(PRIVATE)]);
    let mut client = client(&engine);
    let large = "x".repeat(200_000);
    for body in ["a=b", &large] {
        assert_eq!(client.send_body("POST", "/", &["Content-Type: text/plain"], body).status, 200);
    }
    for (number, body) in ["a=b", &large].into_iter().enumerate() {
        let call = application.call(number);
        assert_eq!((call.param("CONTENT_LENGTH"), call.stdin.len()), (&*body.len().to_string(), body.len()));
        assert_eq!(call.param("CONTENT_TYPE"), "text/plain");
    }
}

#[test]
fn a_body_in_chunks_is_measured_first() {
    let (engine, application) = start(Setup::safe(), [prints(PRIVATE), prints(PRIVATE)]);
    let chunked = |chunks: &str| format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}");
    let response = client(&engine).send(chunked("3\r\nabc\r\n2\r\nde\r\n0\r\nX-T: 1\r\n\r\n")).response();
    assert_eq!(response.status, 200);
    let call = application.call(0);
    assert_eq!((call.param("CONTENT_LENGTH"), &call.stdin[..]), ("5", &b"abcde"[..]));
    let long = format!("{:x}\r\n{}\r\n0\r\n\r\n", 300_000, "x".repeat(300_000));
    assert_eq!(client(&engine).send(chunked(&long)).response().status, 200);
    let call = application.call(1);
    assert_eq!((call.param("CONTENT_LENGTH"), call.stdin.len()), ("300000", 300_000));
}

#[test]
fn who_waits_for_100_is_told_to_go_on() {
    let (engine, application) = start(Setup::safe(), [prints(PRIVATE)]);
    let mut client = client(&engine);
    client.ask("POST", "/", &["Content-Length: 3", "Expect: 100-continue"]);
    assert_eq!(client.next_head().word(1), "100");
    assert_eq!(client.send("abc").response().status, 200);
    assert_eq!((application.call(0).param("HTTP_EXPECT"), &application.call(0).stdin[..]), ("-", &b"abc"[..]));
}

#[test]
fn what_is_printed_reaches_the_client_while_the_script_runs() {
    let gate = Gate::new();
    let turn = turn().stdout(HTML).stdout("first ").waits(&gate).stdout("second").ends();
    let (engine, _application) = start(Setup::safe(), [turn]);
    let mut client = client(&engine);
    client.ask("GET", "/", &[]);
    let head = client.next_head();
    client.reads("6\r\nfirst \r\n");
    gate.open();
    assert_eq!(client.rest_of(head).text(), "second");
}

#[test]
fn an_answer_may_begin_before_the_body_has_come() {
    let turn = turn().leaves_stdin().stdout(PRIVATE).stdout("early").reads_stdin().stdout(" late").ends();
    let (engine, application) = start(Setup::safe().route(|route| route.request_buffering = Some(false)), [turn]);
    let mut client = client(&engine);
    // More bytes than the engine reads before it asks an origin.
    client.ask("POST", "/", &["Content-Length: 300000"]).send("x".repeat(100_000));
    let head = client.next_head();
    client.reads("5\r\nearly\r\n");
    client.send("x".repeat(200_000));
    assert_eq!(client.rest_of(head).text(), " late");
    assert_eq!(application.call(0).stdin.len(), 300_000);
}

#[test]
fn records_may_be_split_anywhere_and_standard_error_is_not_for_clients() {
    let mut bytes = [record(7, b"PHP Warning", 5), record(6, b"Content-Type: a/b\nX-A", 1)].concat();
    bytes.extend([record(6, b": c\n\nhel", 7), record(7, b"more", 0), record(6, b"lo", 0)].concat());
    bytes.extend([record(6, b"", 0), record(3, &[0; 8], 2)].concat());
    let turn = bytes.iter().fold(turn(), |turn, byte| turn.sends([*byte]));
    let response = answered(turn);
    assert_eq!((response.text().as_str(), response.field("x-a").as_str()), ("hello", "c"));
    assert_eq!(response.ending, Ending::Whole);
}

#[test]
fn an_answer_without_its_end_is_cut_and_not_stored() {
    let gates = [Gate::new(), Gate::new()];
    let half = |gate| turn().stdout(HTML).stdout("half").waits(gate);
    let script = [half(&gates[0]).closes(), half(&gates[1]).ends_with(2)];
    let (engine, application) = start(Setup::safe(), script);
    for gate in gates {
        let mut client = client(&engine);
        client.ask("GET", "/", &[]);
        let head = client.next_head();
        client.reads("4\r\nhalf\r\n");
        gate.open();
        assert_eq!(client.rest_of(head).ending, Ending::Cut);
    }
    assert_eq!(application.count(), 2, "the second was asked as well: nothing was stored");
}

#[test]
fn a_body_is_as_long_as_its_content_length_says() {
    let with_length = |length: u32| format!("Content-Type: a/b\nContent-Length: {length}\n\nhello");
    let exact = answered(prints(&with_length(5)));
    assert_eq!((exact.text().as_str(), exact.field("content-length").as_str()), ("hello", "5"));
    let script = [prints(&with_length(3)), prints(&with_length(5))];
    let (engine, _application) = start(Setup::safe().route(|route| route.pass = true), script);
    let mut client = client(&engine);
    // The excess bytes are dropped, so the next answer begins at the right place.
    assert_eq!((client.get("/").text(), client.get("/").text()), ("hel".to_owned(), "hello".to_owned()));
    let shorter = answered(prints(&with_length(7)));
    assert_ne!(shorter.ending, Ending::Whole);
}

#[test]
fn a_body_that_is_complete_by_its_length_waits_for_no_end() {
    let gate = Gate::new();
    let turn = turn().stdout("Content-Type: a/b\nContent-Length: 2\n\nok").waits(&gate).ends();
    let (engine, application) = start(Setup::safe(), [turn]);
    assert_eq!(client(&engine).get("/").text(), "ok");
    gate.open();
    application.done(1);
}

#[test]
fn head_204_and_304_have_no_body() {
    let bodies =
        [prints(&format!("{HTML}body")), prints("Status: 204\n\nbody"), prints("Status: 304\nETag: \"a\"\n\n")];
    let (engine, application) = start(Setup::safe().route(|route| route.pass = true), bodies);
    let mut client = client(&engine);
    assert_eq!(client.head("/", &[]).text(), "");
    assert_eq!(application.call(0).param("REQUEST_METHOD"), "HEAD");
    assert_eq!(client.get("/").short(), (204, String::new()));
    assert_eq!(client.get_with("/", &["If-None-Match: \"a\""]).short(), (304, String::new()));
}

#[test]
fn a_status_and_a_client_redirect_are_the_client_s() {
    let found = answered(prints("Status: 404 Not Here\nContent-Type: text/plain\n\nno"));
    assert_eq!(found.short(), (404, "no".to_owned()));
    let moved = answered(prints("Location: https://example.org/\n\n"));
    assert_eq!((moved.status, moved.field("location").as_str()), (302, "https://example.org/"));
}

#[test]
fn a_local_redirect_is_followed_here() {
    let (engine, application) = start(Setup::safe(), [prints("Location: /b?c\n\n"), prints(&format!("{HTML}b"))]);
    assert_eq!(client(&engine).send_body("POST", "/a", &[], "x=y").short(), (200, "b".to_owned()));
    let call = application.call(1);
    assert_eq!((call.param("REQUEST_METHOD"), call.param("REQUEST_URI"), call.stdin.len()), ("GET", "/b?c", 0));
}

#[test]
fn what_is_no_answer_is_502_with_its_reason() {
    for (turn, reason) in [
        (prints("<html>\n\nno head"), "program-malformed"),
        (prints("Set-Cookie: a=b\n\n"), "program-malformed"),
        (prints("Content-Type: a/b\nTransfer-Encoding: chunked\n\n"), "program-malformed"),
        (prints("Content-Type: a/b\nX: "), "program-ended"),
        (turn().stderr("Can't locate CGI.pm").ends(), "program-ended"),
        (turn().ends_with(1), "origin-malformed"),
        (turn().ends_with(3), "origin-malformed"),
        (turn().sends("HTTP/1.1 200 OK\r\n\r\n").awaits_end(), "origin-malformed"),
        (turn().sends(b"\x01\x06\0\x02\0\x05\0\0other").awaits_end(), "origin-malformed"),
        (prints("Content-Type: a/b\nContent-Length: x\n\n"), "origin-malformed"),
        (turn().stdout("Content-Type: a/b\n").closes(), "origin-closed-early"),
    ] {
        is_failure(&answered(turn), 502, reason);
    }
}

/// fcgiwrap, for one, reports the exit code of the CGI program that it has run.
#[test]
fn a_page_whose_program_has_failed_is_given_and_not_kept_unless_its_length_is_told() {
    let failed = |head: &str| turn().stdout(&format!("{head}page")).sends(record(3, &[0, 0, 0, 1, 0, 0, 0, 0], 0));
    let (engine, _application) = start(Setup::safe(), [failed(HTML), prints(&format!("{HTML}whole"))]);
    let mut client = client(&engine);
    assert_eq!(client.get("/").short(), (200, "page".to_owned()));
    assert_eq!(client.get("/").text(), "whole");
    let told = "Content-Type: text/html\r\nCache-Control: max-age=60\r\nContent-Length: 4\r\n\r\n";
    let (engine, _application) = start(Setup::safe(), [failed(told)]);
    let mut client = Client::connect(engine.addresses()[0]);
    assert_eq!(client.get("/").text(), "page");
    assert!(client.get("/").is_hit());
}

#[test]
fn an_endless_head_is_refused() {
    let endless = record(6, &[b'a'; 60_000], 0);
    let turn = turn().sends(&endless).sends(&endless).awaits_end();
    is_failure(&answered(turn), 502, "program-malformed");
}

#[test]
fn an_overloaded_server_is_503_and_the_next_is_asked_where_there_is_one() {
    is_failure(&answered(turn().ends_with(2)), 503, "origin-overloaded");
    let (first, second) = (Application::fastcgi([turn().ends_with(2)]), Application::fastcgi([prints(HTML)]));
    let engine = Setup::safe()
        .site(&[], |route| route.origins = vec![dead_address(), first.address(), second.address()])
        .run_without_origin();
    assert_eq!(client(&engine).get("/").status, 200);
    assert_eq!((first.count(), second.count()), (1, 1));
}

#[test]
fn a_script_that_thinks_or_pauses_for_too_long_is_cut() {
    const SHORT: Duration = Duration::from_millis(100);
    let setup = || {
        Setup::safe().route(|route| {
            (route.origin.first_byte_timeout, route.origin.between_bytes_timeout) = (SHORT, SHORT);
        })
    };
    // Output on standard error is logged, and does not count as an answer.
    let (engine, _application) = start(setup(), [turn().stderr("thinking").awaits_end()]);
    is_failure(&client(&engine).get("/"), 504, "origin-timeout-first-byte");
    let (engine, _application) = start(setup(), [turn().stdout(HTML).stdout("half").awaits_end()]);
    assert_ne!(client(&engine).ask("GET", "/", &[]).cut_response().ending, Ending::Whole);
}

#[test]
fn when_the_only_client_leaves_the_connection_is_closed() {
    let (engine, application) = start(Setup::safe().route(|route| route.pass = true), [turn().awaits_end()]);
    let mut client = client(&engine);
    client.ask("GET", "/", &[]);
    application.call(0);
    client.reset();
    application.closed(1);
}

#[test]
fn each_request_has_a_connection_of_its_own() {
    let (engine, application) = start(Setup::safe(), [prints(PRIVATE), prints(PRIVATE)]);
    let mut client = client(&engine);
    assert_eq!([client.get("/").status, client.get("/").status], [200, 200]);
    assert_eq!((application.connections(), application.call(0).is_kept), (2, false));
    application.closed(2);
}

fn keeping(connections: usize) -> Setup {
    Setup::safe().route(|route| (route.pass, route.origin.kept_connections_max) = (true, connections))
}

#[test]
fn a_connection_is_kept_by_setting_and_only_after_a_clean_end() {
    let turns = [
        prints(PRIVATE),
        prints(PRIVATE),
        turn().stdout(PRIVATE).ends().sends("nobody asked for this"),
        prints(PRIVATE),
    ];
    let (engine, application) = start(keeping(1), turns);
    let mut client = client(&engine);
    (0..4).for_each(|_| assert_eq!(client.get("/").status, 200));
    let calls: Vec<_> = (0..4).map(|number| application.call(number)).collect();
    assert!(calls.iter().all(|call| call.is_kept));
    assert_eq!(calls.iter().map(|call| call.connection).collect::<Vec<_>>(), [0, 0, 0, 1]);
}

#[test]
fn a_connection_is_kept_as_well_when_no_client_wanted_the_rest_of_an_answer() {
    let gate = Gate::new();
    let turns = [
        turn().stdout("Content-Type: a/b\nContent-Length: 2\n\nok").stdout("surplus").waits(&gate).ends(),
        turn().stdout(PRIVATE).stdout("of a HEAD").ends(),
        prints(PRIVATE),
    ];
    let (engine, application) = start(keeping(1), turns);
    let mut client = client(&engine);
    assert_eq!(client.get("/").text(), "ok");
    gate.open();
    let until_kept = || {
        let deadline = std::time::Instant::now() + kasoku_testkit::WAIT_MAX;
        while engine.origins().numbers().iter().any(|origin| origin.connections > 0) {
            assert!(std::time::Instant::now() < deadline, "the connection is never given back");
            std::thread::yield_now();
        }
    };
    until_kept();
    client.head("/", &[]);
    until_kept();
    client.get("/");
    assert_eq!(application.connections(), 1);
}

#[test]
fn no_more_connections_are_kept_than_the_setting_says() {
    let gate = Gate::new();
    let waits = || turn().stdout(PRIVATE).waits(&gate).ends();
    let (engine, application) = start(keeping(1), [waits(), waits(), prints(PRIVATE)]);
    let (mut first, mut second) = (client(&engine), client(&engine));
    first.ask("GET", "/", &[]);
    second.ask("GET", "/", &[]);
    application.call(1);
    gate.open();
    assert_eq!((first.response().status, second.response().status), (200, 200));
    application.closed(1);
    assert_eq!(first.get("/").status, 200);
    assert_eq!(application.connections(), 2);
}

#[test]
fn a_kept_connection_that_was_closed_costs_a_second_try_and_nothing_else() {
    let (engine, application) = start(keeping(1), [turn().stdout(PRIVATE).ends(), turn().closes(), prints(PRIVATE)]);
    let mut client = client(&engine);
    client.get("/");
    assert_eq!(client.get("/").status, 200);
    assert_eq!((application.count(), application.connections()), (3, 2));
}
