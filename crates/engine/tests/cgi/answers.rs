use crate::programs::{KEPT, PAGE, Programs};
use kasoku_testkit::{BOTH, Setup, is_stand_in};
use std::fs;
use std::sync::Arc;

#[test]
fn what_a_program_prints_is_kept_as_it_says_and_then_it_is_not_run() {
    let programs = Programs::with(&[("a.cgi", &format!("echo run >> runs; {KEPT} echo \"$QUERY_STRING\""))]);
    let served = programs.serve(|_| ());
    let mut client = served.client();
    assert_eq!(client.get("/a.cgi?tag=x").short(), (200, "tag=x\n".to_owned()));
    let second = client.get("/a.cgi?tag=x");
    assert!(second.is_hit() && second.text() == "tag=x\n");
    assert_eq!(client.get("/a.cgi?tag=y").text(), "tag=y\n");
    assert_eq!(programs.lines("runs"), 2);
}

#[test]
fn a_crowd_that_wants_one_page_runs_one_program() {
    let programs = Programs::with(&[("a.cgi", &format!("read line < work; echo run >> runs; {KEPT} echo page"))]);
    let mut work = programs.fifo("work");
    let served = programs.serve(|_| ());
    let mut clients: Vec<_> = (0..20).map(|_| served.client()).collect();
    for client in &mut clients {
        client.ask("GET", "/a.cgi", &[]);
    }
    work.tell();
    for client in &mut clients {
        assert_eq!(client.response().text(), "page\n");
    }
    assert_eq!(programs.lines("runs"), 1);
}

#[test]
fn a_form_reaches_the_program_with_its_length_also_when_it_came_in_chunks() {
    let programs =
        Programs::with(&[("a.cgi", &format!("{PAGE} echo \"$REQUEST_METHOD $CONTENT_LENGTH $CONTENT_TYPE\"; cat"))]);
    let served = programs.serve(|_| ());
    let mut client = served.client();
    let fields = ["Content-Type: text/plain"];
    assert_eq!(client.send_body("POST", "/a.cgi", &fields, "a=b").text(), "POST 3 text/plain\na=b");
    client.ask("POST", "/a.cgi", &["Transfer-Encoding: chunked"]).send("2\r\na=\r\n1\r\nb\r\n0\r\n\r\n");
    assert_eq!(client.response().text(), "POST 3 \na=b");
    let long = "x".repeat(1_000_000);
    assert_eq!(client.send_body("POST", "/a.cgi", &fields, &long).text(), format!("POST 1000000 text/plain\n{long}"));
}

#[test]
fn a_local_redirect_is_answered_by_what_it_leads_to() {
    let programs = Programs::with(&[
        ("a.cgi", "printf 'Location: /b.cgi?c=d\\n\\n'"),
        ("b.cgi", &format!("{PAGE} echo \"$REQUEST_METHOD $QUERY_STRING\"")),
    ]);
    let served = programs.serve(|_| ());
    assert_eq!(served.client().get("/a.cgi").text(), "GET c=d\n");
    assert_eq!(served.client().send_body("POST", "/a.cgi", &[], "x").text(), "GET c=d\n");
    served.is_idle();
}

#[test]
fn a_program_of_the_kind_nph_can_be_kept_like_any_other() {
    let programs = Programs::with(&[(
        "nph-a.cgi",
        "echo run >> runs; printf 'HTTP/1.0 200 OK\\r\\nCache-Control: max-age=60\\r\\nConnection: close\\r\\n\\r\\npage'",
    )]);
    let served = programs.serve(|_| ());
    let mut client = served.client();
    for is_hit in [false, true] {
        let response = client.get("/nph-a.cgi");
        assert_eq!((response.is_hit(), response.text().as_str()), (is_hit, "page"));
        assert!(!response.has("connection"));
    }
    assert_eq!(programs.lines("runs"), 1);
}

#[test]
fn a_program_whose_answer_is_shared_by_a_grant_is_not_told_who_asks() {
    let who = "$REMOTE_ADDR $REMOTE_PORT $HTTP_X_FORWARDED_FOR $HTTP_PROXY";
    let programs = Programs::with(&[
        ("a.cgi", &format!("{PAGE} echo \"{who}\"")),
        ("b.cgi", &format!("echo \"{who}\" > told; {PAGE} echo page")),
    ]);
    let fields = ["X-Forwarded-For: 203.0.113.9", "Proxy: http://evil/"];
    let served = programs.serve(|route| Arc::make_mut(&mut route.policy).grant.ttl_seconds = 60);
    assert_eq!(served.client().get_with("/b.cgi", &fields).text(), "page\n");
    let told = fs::read_to_string(programs.path("told")).unwrap();
    let address = told.split(' ').next().unwrap();
    assert!(is_stand_in(address), "{told}");
    assert_eq!(told, format!("{address}  {address} \n"));
    for passes in [false, true] {
        let served = programs.serve(|route| route.pass = passes);
        let text = served.client().get_with("/a.cgi", &fields).text();
        assert!(text.starts_with("127.0.0.1 ") && !text.contains("evil"), "{text}");
    }
}

#[test]
fn what_is_not_for_clients_is_403_or_404_and_never_source_text() {
    let programs = Programs::with(&[("a.cgi", PAGE)]);
    fs::write(programs.path("lib.pl"), "secret").unwrap();
    let served = programs.serve(|_| ());
    let mut client = served.client();
    for (target, status) in [("/a.cgi", 200), ("/lib.pl", 403), ("/b.cgi", 404), ("/%2e%2e/%2e%2e/bin/ls", 404)] {
        let response = client.get(target);
        assert_eq!(response.status, status, "{target}");
        assert!(!response.text().contains("secret"));
    }
}

#[test]
fn a_page_whose_program_failed_is_given_and_not_kept() {
    for profile in BOTH {
        let programs = Programs::with(&[("a.cgi", &format!("echo run >> runs; {KEPT} echo page; exit 1"))]);
        let served = programs.serve_by(Setup::new(profile), |_| ());
        let mut client = served.client();
        for _ in 0..2 {
            let response = client.get("/a.cgi");
            assert_eq!((response.is_hit(), response.text().as_str()), (false, "page\n"));
        }
        assert_eq!(programs.lines("runs"), 2);
    }
}
