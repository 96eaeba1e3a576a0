//! What an operator is told of the shared tier, by two programs that share a real memcached.

use super::support::{Origin, PATIENCE, Program, exchange, file, get, kasoku};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// The SHA-256 of `http://localhost/page`, with the namespace.
const NAME: &str = "kasoku:e7e73531cb980da4358d2cce5654c11b9bd30b58772039300419bae7902397b8";

/// A memcached on a Unix socket. Killed on drop.
struct Memcached {
    child: Child,
    socket: PathBuf,
}

impl Memcached {
    fn start(name: &str) -> Self {
        let socket = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_file(&socket);
        let mut command = Command::new("memcached");
        command.arg("-s").arg(&socket).args(["-U", "0", "-t", "1", "-m", "64", "-u", "root"]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.unwrap_or_else(|_| panic!("install memcached (scripts/install-test-deps --only cargo)"));
        let server = Self { child, socket };
        eventually("memcached listens", || UnixStream::connect(&server.socket).is_ok());
        server
    }

    fn address(&self) -> String {
        format!("unix:{}", self.socket.display())
    }

    /// Replaces an item.
    fn set(&self, name: &str, value: &str) {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        stream.write_all(format!("set {name} 0 0 {}\r\n{value}\r\nquit\r\n", value.len()).as_bytes()).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert_eq!(said, "STORED\r\n");
    }
}

impl Drop for Memcached {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        std::thread::yield_now();
    }
}

fn serve(name: &str, origin: &Origin, memcached: &Memcached) -> (Program, PathBuf) {
    let socket = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.sock"));
    let _ = std::fs::remove_file(&socket);
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\nworkers = 1\n\
         shared.memcached = [\"{}\"]\n[[site]]\norigin = \"{}\"\n",
        memcached.address(),
        origin.url()
    );
    let config = file(&format!("{name}.toml"), &settings);
    let program = Program::serve(&["--config", config.to_str().unwrap(), "--control-socket", socket.to_str().unwrap()]);
    eventually("the server is used", || is_up(&program, memcached));
    (program, socket)
}

fn is_up(program: &Program, memcached: &Memcached) -> bool {
    program.metrics_after(0)[&format!("shared_server_up{{server=\"{}\"}}", memcached.address())] == 1
}

fn explain(socket: &Path, path: &str, more: &[&str]) -> String {
    let admin = format!("unix:{}", socket.display());
    let explained = kasoku(&[&["explain", "--admin", &admin, &format!("http://localhost{path}")], more].concat());
    assert!(explained.status.success(), "{explained:?}");
    String::from_utf8(explained.stdout).unwrap()
}

fn explained(socket: &Path, path: &str) -> Value {
    serde_json::from_str(&explain(socket, path, &["--json"])).unwrap()
}

/// Why what the shared tier has is not used.
fn refusal(socket: &Path, path: &str) -> String {
    let said = explained(socket, path);
    assert_eq!((&said["outcome"], &said["stored"]["entry"]), (&"ask".into(), &Value::Null), "{said}");
    said["shared"]["refusal"]["text"].as_str().unwrap().to_owned()
}

#[test]
fn explain_says_what_the_shared_tier_has_where_and_why_it_is_not_used() {
    let (origin, memcached) = (Origin::start(), Memcached::start("explained.memcached"));
    let (one, first) = serve("explained-1", &origin, &memcached);
    let (other, second) = serve("explained-2", &origin, &memcached);
    for (count, path) in ["/page", "/purged"].into_iter().enumerate() {
        assert_eq!(get(one.clients, path).status, 200);
        eventually("it is shared", || one.metrics_after(0)["shared_stored_total"] == count as u64 + 1);
    }

    let said = explained(&second, "/page");
    assert_eq!((&said["outcome"], &said["reason"]["id"]), (&"hit".into(), &"memcached".into()), "{said}");
    assert_eq!((&said["shared"]["name"], &said["shared"]["refusal"]), (&NAME.into(), &Value::Null));
    assert_eq!(said["shared"]["server"], memcached.address());
    let entry = &said["stored"]["entry"];
    assert_eq!((&entry["tier"], &entry["lifetime"]), (&"shared".into(), &60.into()), "{said}");
    let header = said["cache_status"].as_str().unwrap();
    assert!(header.starts_with("kasoku; hit; ttl=") && header.ends_with("; detail=memcached"), "{header}");
    let text = explain(&second, "/page", &[]);
    let row = format!("memory    nothing\nshared    {NAME} at {}\n          ", memcached.address());
    assert!(text.contains(&row), "{text}");
    let metrics = other.metrics_after(0);
    assert_eq!((metrics["requests_total"], metrics["stored_objects"]), (0, 0), "a question has no effect");

    // What memory has is not looked for, but has its place.
    let gets = || one.metrics_after(0)[&format!("shared_server_gets_total{{server=\"{}\"}}", memcached.address())];
    let before = gets();
    let said = explained(&first, "/page");
    assert_eq!((&said["stored"]["entry"]["tier"], &said["shared"]["name"]), (&"memory".into(), &NAME.into()));
    assert_eq!(gets(), before);
    assert_eq!(refusal(&second, "/absent"), "The server has nothing of this name.");
    memcached.set(NAME, "KASOKU/1 whole xxh3-128 0123456789abcdef0123456789abcdef\r\nKind: response\r\n\r\n");
    assert!(refusal(&second, "/page").starts_with("What the server has is damaged"));
    assert_eq!(other.metrics_after(0)["shared_damaged_total"], 1);
    assert!(
        kasoku(&["purge", "--admin", &format!("unix:{}", first.display()), "http://localhost/purged"]).status.success()
    );
    eventually("the purge is heard of", || other.metrics_after(0)["shared_purges_received_total"] >= 1);
    assert_eq!(refusal(&second, "/purged"), "The response that was stored for this URI has been purged.");
    assert_eq!(explained(&second, "/private")["shared"]["refusal"]["source"], "Kasoku: the shared tier");
    assert_eq!(origin.asked(), ["/page", "/purged"], "explain asks no origin");

    // Its address is needed for the metrics.
    let address = memcached.address();
    drop(memcached);
    let up = format!("shared_server_up{{server=\"{address}\"}}");
    eventually("the server is missed", || other.metrics_after(0)[&up] == 0);
    assert!(refusal(&second, "/page").starts_with("No server may be asked for it"));
    assert_eq!(explained(&second, "/page")["shared"]["server"], address);
}

#[test]
fn top_has_a_line_for_each_server() {
    let (origin, memcached) = (Origin::start(), Memcached::start("top.memcached"));
    let (program, socket) = serve("top-shared", &origin, &memcached);
    get(program.clients, "/page");
    let admin = format!("unix:{}", socket.display());
    let top = kasoku(&["top", "--once", "--admin", &admin]);
    let said = String::from_utf8(top.stdout).unwrap();
    let line = format!("shared {} up, ", memcached.address());
    assert!(said.lines().any(|told| told.starts_with(&line) && told.ends_with(" 0 failed, 0 outages")), "{said}");
}

/// Purges everything by the control socket. Returns the exit code, and what was printed.
fn purge_all(socket: &Path) -> (Option<i32>, String) {
    let output = kasoku(&["purge", "--admin", &format!("unix:{}", socket.display()), "--all"]);
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// Starts a program with these lines of configuration.
fn serve_with(name: &str, origin: &Origin, lines: &str) -> (Program, PathBuf) {
    let socket = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.sock"));
    let _ = std::fs::remove_file(&socket);
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\nworkers = 1\n{lines}\n[[site]]\norigin = \"{}\"\n",
        origin.url()
    );
    let config = file(&format!("{name}.toml"), &settings);
    let program = Program::serve(&["--config", config.to_str().unwrap(), "--control-socket", socket.to_str().unwrap()]);
    (program, socket)
}

#[test]
fn a_purge_says_how_many_servers_have_it_and_ends_with_2_where_none_has() {
    let origin = Origin::start();
    let (one, other) = (Memcached::start("told-1.memcached"), Memcached::start("told-2.memcached"));
    let addresses = [one.address(), other.address()];
    let lines = format!("shared.memcached = [\"{}\", \"{}\"]", addresses[0], addresses[1]);
    let (program, socket) = serve_with("told", &origin, &lines);
    eventually("both are used", || is_up(&program, &one) && is_up(&program, &other));
    assert_eq!(purge_all(&socket), (Some(0), "purged: everything (2 of 2 servers told)\n".to_owned()));

    drop(one);
    let line = program.says("the server can't be asked: purges reach it when it is back");
    assert!(line.contains(&addresses[0]), "{line}");
    let some = format!("purged: everything (1 of 2 servers told; {} when back)\n", addresses[0]);
    assert_eq!(purge_all(&socket), (Some(0), some));
    let answer = exchange(program.clients, "PURGE /page HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert!(answer.body.contains("(1 of 2 servers told)"), "{}", answer.body);

    drop(other);
    let line = program.says("the server can't be asked: purges reach it when it is back");
    assert!(line.contains(&addresses[1]), "{line}");
    let none =
        format!("purged: everything (only here: 0 of 2 servers told; {}, {} when back)\n", addresses[0], addresses[1]);
    assert_eq!(purge_all(&socket), (Some(2), none));

    let one = Memcached::start("told-1.memcached");
    let line = program.says("the server is back");
    assert!(line.contains(&one.address()), "{line}");
    assert_eq!(purge_all(&socket).0, Some(0));
}

#[test]
fn servers_and_peers_that_were_never_there_are_said_in_the_log_and_by_a_purge() {
    let origin = Origin::start();
    let token = file("never-there.token", "0123456789abcdef0123456789abcdef0123456789abcdef");
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).unwrap();
    let nowhere = Path::new(env!("CARGO_TARGET_TMPDIR")).join("never-there.memcached");
    let memcached = format!("shared.memcached = [\"unix:{}\"]", nowhere.display());
    let own = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let peers =
        format!("peers = [\"127.0.0.1:1\"]\npeers-listen = \"{own}\"\npeers-token-file = \"{}\"", token.display());
    for (name, lines, others) in [("nowhere", memcached, "servers"), ("alone", peers, "peers")] {
        let (program, socket) = serve_with(name, &origin, &lines);
        // It is said at the start, or soon after.
        program
            .said_at(&format!("the {} can't be asked: purges reach it when it is back", others.trim_end_matches('s')));
        let (code, said) = purge_all(&socket);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(&format!("(only here: 0 of 1 {others} told; ")), "{said}");
    }
}
