//! Tests the log of the `kasoku` program: as JSON from start to end, with a refused reload in between; and the messages about an origin
//! that goes down and comes back.

#[allow(dead_code, reason = "this test needs a part of it")]
use crate::support;
use crate::support::{Program, file, get};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};

const SITE: &str = "[[site]]\norigin = \"http://127.0.0.1:9\"\n";

#[test]
fn each_line_is_an_object_where_that_is_set() {
    let settings = "listen = \"127.0.0.1:0\"\nlog.format = \"json\"\ntrusted-proxies = \"::/0\"\n";
    let config = file("json_log.toml", &format!("{settings}{SITE}"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_kasoku"));
    command.args(["serve", "--config"]).arg(&config).env_remove("RUST_LOG").stdin(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let id = Pid::from_child(&child);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut told = Vec::new();
    let mut wait_for = |words: &str| loop {
        let line = lines.next().unwrap_or_else(|| panic!("it ended without `{words}`: {told:#?}")).unwrap();
        let line: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(line["timestamp"].is_string() && line["target"].is_string(), "{line}");
        told.push(line.clone());
        if line["message"].as_str().unwrap().contains(words) {
            return line;
        }
    };
    let warned = wait_for("every client is trusted");
    assert_eq!(warned["level"], "WARN", "{warned}");
    assert!(warned["message"].as_str().unwrap().contains("json_log.toml:3:19: "), "{warned}");
    assert_eq!(wait_for("listening on http://127.0.0.1:")["level"], "INFO");
    std::fs::write(&config, format!("listn = 1\n{settings}{SITE}")).unwrap();
    kill_process(id, Signal::HUP).unwrap();
    let refused = wait_for("unknown key `listn`: did you mean `listen`?");
    assert_eq!(refused["level"], "ERROR", "{refused}");
    assert_eq!(wait_for("the old one stays")["level"], "ERROR");
    kill_process(id, Signal::TERM).unwrap();
    wait_for("SIGTERM: finishing running requests");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_start_that_fails_is_an_object_as_well() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let flags = ["serve", "--origin", "http://127.0.0.1:9", "--listen", &address, "--log-format", "json"];
    let output = support::kasoku(&flags);
    let said: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((output.status.code(), &said["level"]), (Some(1), &"ERROR".into()), "{said}");
    assert_eq!(said["message"], format!("{address}: another process listens there already"), "{said}");
}

#[test]
fn an_origin_that_is_back_is_told_of_like_one_that_is_gone() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let site = format!("[[site]]\norigin = \"http://{address}\"\n");
    let settings = "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n";
    let config = file("outage.toml", &format!("{settings}{site}"));
    let program = Program::serve(&["--config", config.to_str().unwrap()]);
    for path in ["/1", "/2", "/3"] {
        assert_eq!(get(program.clients, path).status, 502);
    }
    program.says(&format!("WARN kasoku_engine::origin::outages: http://{address} failed 3 times in a row: "));
    let origin = TcpListener::bind(address).unwrap();
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = origin.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    });
    assert_eq!(get(program.clients, "/4").status, 200);
    answering.join().unwrap();
    let told = program.says(&format!("WARN kasoku_engine::origin::outages: http://{address} answers again, after "));
    assert!(told.ends_with(" s failed=3 unasked=0"), "{told}");
}
