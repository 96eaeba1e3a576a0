//! Tests that the testkit fails on everything that a scenario does not allow. Here clients talk to the scripted origin directly.

use kasoku_testkit::{Client, Ending, Gate, Origin, get, ok};

fn client(origin: &Origin) -> Client {
    Client::connect(([127, 0, 0, 1], origin.port()).into())
}

#[test]
#[should_panic(expected = "nobody expected")]
fn a_request_that_the_script_does_not_expect_is_a_failure() {
    let origin = Origin::start([get("/a").answers(ok(&[], "a"))]);
    client(&origin).get("/b");
    drop(origin);
}

#[test]
#[should_panic(expected = "was never asked for [\"GET /b\"]")]
fn an_exchange_that_never_happens_is_a_failure() {
    let origin = Origin::start([get("/a").answers(ok(&[], "a")), get("/b").answers(ok(&[], "b"))]);
    client(&origin).get("/a");
    drop(origin);
}

#[test]
#[should_panic(expected = "Cut")]
fn a_cut_response_is_not_taken_for_a_whole_one() {
    let origin = Origin::start([get("/").answers("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc").closes()]);
    client(&origin).get("/");
}

#[test]
#[should_panic(expected = "both Content-Length and Transfer-Encoding")]
fn a_message_with_both_lengths_is_a_failure() {
    let origin = Origin::start([get("/").answers(ok(&["Transfer-Encoding: chunked"], "0\r\n\r\n"))]);
    client(&origin).get("/");
}

#[test]
#[should_panic(expected = "no framing")]
fn a_body_without_end_on_a_kept_connection_is_a_failure() {
    let origin = Origin::start([get("/").answers("HTTP/1.1 200 OK\r\n\r\nabc").closes()]);
    client(&origin).get("/");
}

#[test]
fn clean_closes_and_resets_are_told_apart() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
    let gate = Gate::new();
    let origin = Origin::start([
        get("/clean").answers([head, "abc"].concat()).closes(),
        get("/cut").answers(head).closes(),
        get("/reset").answers([head, "abc"].concat()).waits(&gate).resets(),
    ]);
    let mut clean = client(&origin);
    assert_eq!(clean.get("/clean").text(), "abc");
    clean.is_closed();
    assert_eq!(client(&origin).ask("GET", "/cut", &[]).cut_response().ending, Ending::Cut);
    let mut reset = client(&origin);
    assert_eq!(reset.get("/reset").text(), "abc");
    gate.open();
    reset.is_reset();
}

#[test]
fn an_origin_records_exactly_what_came() {
    let origin = Origin::start([get("/a?b").answers(ok(&[], "1")), get("/c").answers(ok(&[], "2"))]);
    let mut one = client(&origin);
    one.ask("GET", "/a?b", &["X-A: 1", "x-a:  2 ", "Transfer-Encoding: chunked"]);
    one.send("3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n").response();
    assert_eq!(client(&origin).get("/c").text(), "2");
    let request = origin.request(0);
    assert_eq!(request.head.line, "GET /a?b HTTP/1.1");
    assert_eq!((request.field("x-A").as_deref(), request.text().as_str()), (Some("1, 2"), "abc"));
    assert_eq!((request.trailers.len(), request.is_whole, origin.request(1).connection), (1, true, 1));
}
