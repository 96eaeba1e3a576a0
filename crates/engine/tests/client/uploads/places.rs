//! Which requests hold a place at an origin (a connection or a process), and from which moment.

use super::programs::{PAGE, Programs};
use super::{COUNTS, nothing_is_left, on_disk, text, upload};
use kasoku_options::{OriginAddress, Route};
use kasoku_testkit::application::prints;
use kasoku_testkit::unreachable::dead_address;
use kasoku_testkit::{Application, Setup, get, ok, post};

/// A length in bytes: more than a request keeps in memory.
const LONG: usize = 200_000;

#[test]
fn two_slow_uploads_leave_both_cgi_programs_to_others() {
    let programs = Programs::with(&[("up.cgi", COUNTS), ("a.cgi", &format!("{PAGE} echo page"))]);
    let served = programs.serve(|route| route.origin.programs.processes_max = 2);
    let body = text(LONG);
    let mut slow = [served.client(), served.client()];
    for client in &mut slow {
        upload(client, "/up.cgi", LONG, &body[..100_000]);
    }
    served.0.eventually(|| served.0.engine.handle().request_buffer_bytes() > 0);
    assert_eq!(served.client().get("/a.cgi").text(), "page\n");
    for client in &mut slow {
        assert_eq!(client.send(&body[100_000..]).response().text(), format!("{LONG} {LONG}\n"));
    }
    nothing_is_left(&served.0);
}

#[test]
fn two_slow_uploads_leave_both_connections_to_a_fastcgi_server_to_others() {
    let page = || prints("Content-Type: text/plain\nCache-Control: private\n\npage");
    let application = Application::fastcgi([page(), page(), page(), page()]);
    let scene = Setup::safe()
        .site(&[], |route| {
            route.origins = vec![application.address()];
            route.origin.connections_max = 2;
        })
        .run_with_own_origins();
    let body = text(LONG);
    let mut slow = [scene.client(), scene.client(), scene.client()];
    for client in &mut slow[..2] {
        upload(client, "/", LONG, &body[..100_000]);
    }
    slow[2].ask("POST", "/", &["Transfer-Encoding: chunked"]).send(format!("{LONG:x}\r\n")).send(&body[..100_000]);
    scene.eventually(|| scene.engine.handle().request_buffer_bytes() > 0);
    assert_eq!(scene.client().get("/").text(), "page");
    for client in &mut slow {
        client.send(&body[100_000..]);
    }
    slow[2].send("\r\n0\r\nX-Sum: 1\r\n\r\n");
    for client in &mut slow {
        assert_eq!(client.response().text(), "page");
    }
    for number in 1..=3 {
        let call = application.call(number);
        assert_eq!(call.param("CONTENT_LENGTH"), LONG.to_string());
        assert!(call.stdin == body.as_bytes(), "it is not what was sent");
    }
    nothing_is_left(&scene);
}

#[test]
fn who_waits_for_100_gets_it_before_there_is_a_place() {
    let programs = Programs::new();
    let mut go_on = programs.fifo("go-on");
    programs.write("up.cgi", &format!("#!/bin/sh\n{COUNTS}\n"));
    programs.write("a.cgi", &format!("#!/bin/sh\n{PAGE} read line < go-on; echo page\n"));
    let served = programs.serve(|route| route.origin.programs.processes_max = 1);
    let (mut first, mut second) = (served.client(), served.client());
    let head = first.ask("GET", "/a.cgi", &[]).next_head();
    second.ask("POST", "/up.cgi", &["Content-Length: 3", "Expect: 100-continue"]);
    assert_eq!(second.next_head().word(1), "100");
    second.send("abc");
    go_on.tell();
    assert_eq!(first.rest_of(head).text(), "page\n");
    assert_eq!(second.response().text(), "3 3\n");
}

#[test]
fn without_buffering_a_program_runs_while_its_input_comes() {
    let programs = Programs::with(&[("up.cgi", &format!("{PAGE} head -c 5; echo; echo \"$CONTENT_LENGTH\" $(wc -c)"))]);
    let served = programs.serve(|route| route.request_buffering = Some(false));
    let mut client = served.client();
    client.ask("POST", "/up.cgi", &["Content-Length: 100000", "Expect: 100-continue"]);
    assert_eq!(client.next_head().word(1), "100");
    let body = text(100_000);
    let head = client.send(&body[..50_000]).next_head();
    client.send(&body[50_000..]);
    // `head` may have read more bytes than it has printed.
    assert!(client.rest_of(head).text().starts_with("abcde\n100000 "));
    // A body in chunks has to be measured before a program gets it, even without buffering.
    let mut client = served.client();
    client.ask("POST", "/up.cgi", &["Transfer-Encoding: chunked"]).send("6\r\nabcdef\r\n0\r\n\r\n");
    assert!(client.response().text().starts_with("abcde\n6 "));
}

fn buffering(route: &mut Route) {
    route.request_buffering = Some(true);
}

#[test]
fn by_setting_a_server_of_http_is_asked_when_a_body_is_whole_and_measured() {
    let body = text(LONG);
    let scene = Setup::safe()
        .route(|route| {
            buffering(route);
            route.origin.connections_max = 1;
        })
        .run([get("/").answers(ok(&[], "page")), post("/").answers(ok(&[], "done"))]);
    let mut slow = scene.client();
    slow.ask("POST", "/", &["Transfer-Encoding: chunked", "Expect: 100-continue", "Trailer: X-Sum"]);
    assert_eq!(slow.next_head().word(1), "100");
    slow.send(format!("{LONG:x}\r\n")).send(&body[..100_000]);
    scene.eventually(|| scene.engine.handle().request_buffer_bytes() > 0);
    assert_eq!(scene.client().get("/").text(), "page");
    slow.send(&body[100_000..]).send("\r\n0\r\nX-Sum: 1\r\n\r\n");
    assert_eq!(slow.response().text(), "done");
    let request = scene.origin.request(1);
    assert_eq!((request.field("content-length"), request.text() == body), (Some(LONG.to_string()), true));
    for name in ["expect", "transfer-encoding", "trailer"] {
        assert_eq!(request.field(name), None, "{name}");
    }
    on_disk(&scene, 0);
}

#[test]
fn the_next_origin_gets_all_of_a_body_when_the_first_cannot_be_reached() {
    let application = Application::fastcgi([prints("Content-Type: text/plain\n\nsecond")]);
    let scene = Setup::safe()
        .site(&[], |route| route.origins = vec![dead_address(), application.address()])
        .run_with_own_origins();
    let body = text(LONG);
    let mut client = scene.client();
    client.ask("POST", "/", &[&format!("Content-Length: {LONG}"), "Expect: 100-continue"]);
    assert_eq!(client.next_head().word(1), "100");
    assert_eq!(client.send(&body).response().text(), "second");
    assert!(application.call(0).stdin == body.as_bytes(), "it is not what was sent");
}

#[test]
fn a_client_that_was_told_to_send_its_body_does_not_keep_it_from_the_next_origin() {
    let application = Application::fastcgi([prints("Content-Type: text/plain\n\nsecond")]);
    let OriginAddress::Http(endpoint) = dead_address().address else { unreachable!("it speaks HTTP") };
    let scene = Setup::safe()
        .site(&[], |route| {
            route.origins = vec![OriginAddress::FastCgi(endpoint.clone()).into(), application.address()];
            route.request_buffering = Some(false);
        })
        .run_with_own_origins();
    let mut client = scene.client();
    client.ask("POST", "/", &["Content-Length: 4", "Expect: 100-continue"]);
    assert_eq!(client.next_head().word(1), "100");
    assert_eq!(client.send("body").response().text(), "second");
    assert_eq!(application.call(0).stdin, b"body");
}

#[test]
fn while_all_origins_are_down_no_client_is_told_to_send_a_body() {
    let OriginAddress::Http(endpoint) = dead_address().address else { unreachable!("it speaks HTTP") };
    let dead = OriginAddress::FastCgi(endpoint);
    let scene = Setup::safe().site(&[], |route| route.origins = vec![dead.into()]).run_with_own_origins();
    let mut client = scene.client();
    (0..3).for_each(|number| assert_eq!(client.get(&format!("/{number}")).status, 502));
    client.ask("POST", "/", &["Content-Length: 3", "Expect: 100-continue"]);
    let refused = client.response();
    assert_eq!((refused.status, refused.detail().as_str()), (503, "origin-down"));
}

#[test]
fn a_program_and_a_server_for_one_path_are_asked_as_a_program_wants_it() {
    let application = Application::fastcgi([prints("Content-Type: text/plain\n\npage")]);
    let http = OriginAddress::http("127.0.0.1", 1);
    let scene = Setup::safe()
        .site(&[], |route| route.origins = vec![application.address(), http.into()])
        .run_with_own_origins();
    let mut client = scene.client();
    client.ask("POST", "/", &["Transfer-Encoding: chunked"]).send("3\r\nabc\r\n0\r\n\r\n");
    assert_eq!(client.response().text(), "page");
    assert_eq!(application.call(0).param("CONTENT_LENGTH"), "3");
}
