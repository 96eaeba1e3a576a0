//! Support for tests of the `kasoku` program: runs it as a process, with a tiny origin behind it and clients in front, over real sockets.
//!
//! All waiting is for events and has a bound, so a hang is a failure: see [`PATIENCE`].

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The longest wait for an event.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The pause between two checks of a process.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// The most checks of a condition that soon comes true; each check is a request to the program.
const LOOKS_MAX: usize = 2000;

/// A number of the environment, by which the long form of a test differs from the short one.
pub(crate) fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().filter(|text| !text.is_empty()).map(|text| text.parse().unwrap())
}

/// Runs the program to its end.
pub(crate) fn kasoku(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

/// A command of the program. `KASOKU_TEST_PROGRAM` names another build than that of the tests, such as the release, whose memory use
/// counts.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let program = std::env::var_os("KASOKU_TEST_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_kasoku").into());
    let mut command = Command::new(program);
    command.args(arguments).env_remove("RUST_LOG").stdin(Stdio::null());
    command
}

/// Flags that turn the control socket off, unless the arguments set one: tests run in parallel, perhaps beside another Kasoku on this
/// machine, so no program may use the default socket.
fn without_control_socket(arguments: &[&str]) -> &'static [&'static str] {
    if arguments.contains(&"--control-socket") { &[] } else { &["--control-socket", "off"] }
}

/// Writes a file; its name must be unique among the tests.
pub(crate) fn file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// `kasoku serve`, running. Killed on drop.
pub(crate) struct Program {
    child: Child,
    stderr: Receiver<(Instant, String)>,
    /// The lines that were read from it so far, each with its time.
    heard: RefCell<Vec<(Instant, String)>>,
    /// The address for clients.
    pub(crate) clients: SocketAddr,
    /// The address of the admin listener.
    pub(crate) admin: SocketAddr,
}

impl Program {
    /// Starts the program; returns once it listens. The arguments must give both listeners.
    pub(crate) fn serve(arguments: &[&str]) -> Self {
        Self::serve_printing_to(Stdio::inherit(), arguments)
    }

    /// The same, with that standard output.
    pub(crate) fn serve_printing_to(stdout: Stdio, arguments: &[&str]) -> Self {
        let command = &mut command(&["serve"]);
        Self::start(command.args(without_control_socket(arguments)).args(arguments).stdout(stdout))
    }

    /// The same, run by another program that executes it in its place, such as env(1): `around` gets the whole command as its last
    /// arguments.
    #[allow(dead_code, reason = "only those who watch it from outside do this")]
    pub(crate) fn serve_under(mut around: Command, arguments: &[&str]) -> Self {
        let command = command(&["serve"]);
        around
            .arg(command.get_program())
            .args(command.get_args())
            .args(without_control_socket(arguments))
            .args(arguments);
        Self::start(around.env_remove("RUST_LOG").stdin(Stdio::null()))
    }

    fn start(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (sender, stderr) = channel();
        std::thread::spawn(move || {
            lines.map_while(Result::ok).try_for_each(|line| sender.send((Instant::now(), line)))
        });
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
        let mut program = Self { child, stderr, heard: RefCell::default(), clients: nowhere, admin: nowhere };
        program.clients = program.says(" listening on http://").parse().unwrap();
        program.admin = program.says(" admin listener on http://").parse().unwrap();
        program
    }

    /// Waits for a line of the program's log that contains `words`, and returns the text after them.
    pub(crate) fn says(&self, words: &str) -> String {
        let begun = self.heard.borrow().len();
        loop {
            let line = self.hears(words, begun);
            if let Some((_, rest)) = line.split_once(words) {
                return rest.to_owned();
            }
        }
    }

    /// When the program wrote a line that contains `words`, also if that line was read already.
    #[allow(dead_code, reason = "only those who measure need it")]
    pub(crate) fn said_at(&self, words: &str) -> Instant {
        loop {
            let found = self.heard.borrow().iter().find(|(_, line)| line.contains(words)).map(|(time, _)| *time);
            if let Some(time) = found {
                return time;
            }
            self.hears(words, 0);
        }
    }

    /// The next line of the log; `words` are expected in one of those since `begun`.
    fn hears(&self, words: &str, begun: usize) -> String {
        match self.stderr.recv_timeout(PATIENCE) {
            Ok((time, line)) => {
                self.heard.borrow_mut().push((time, line.clone()));
                line
            }
            Err(_) => panic!("`{words}` was not said, but: {:#?}", &self.heard.borrow()[begun..]),
        }
    }

    /// The id of the process.
    #[allow(dead_code, reason = "not each test looks at it")]
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends the process a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until the process ends. Returns the exit status, `None` if a signal killed the process.
    pub(crate) fn exit_code(mut self) -> Option<i32> {
        self.has_ended()
    }

    /// The same, but the log stays readable, for the lines of a process that takes over.
    pub(crate) fn has_ended(&mut self) -> Option<i32> {
        // The end of the log would be no sign: a process that takes over writes to the same log.
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(LOOK_INTERVAL);
        }
    }

    /// All integers of `/metrics` by name without prefix, once that many requests have been counted: the program counts a request a moment
    /// after it has sent the answer.
    pub(crate) fn metrics_after(&self, requests: u64) -> HashMap<String, u64> {
        for _ in 0..LOOKS_MAX {
            let metrics = self.metrics();
            if metrics.get("requests_total").is_some_and(|counted| *counted >= requests) {
                return metrics;
            }
        }
        panic!("{requests} requests were never counted: {:#?}", self.metrics());
    }

    fn metrics(&self) -> HashMap<String, u64> {
        let answer = get(self.admin, "/metrics");
        assert_eq!(answer.status, 200);
        let values = answer.body.lines().filter_map(|line| line.strip_prefix("kasoku_")?.split_once(' '));
        values.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process that is no child of this one. Drop ends it and waits until it is gone.
#[allow(dead_code, reason = "only those whose program hands over have one")]
pub(crate) struct Foreign(Pid);

#[allow(dead_code, reason = "as above")]
impl Foreign {
    pub(crate) fn written_in(pid_file: &Path) -> Self {
        let number = std::fs::read_to_string(pid_file).unwrap().trim().parse().unwrap();
        Self(Pid::from_raw(number).unwrap())
    }

    /// Sends the process a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.0, signal).unwrap();
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::TERM);
        let begun = Instant::now();
        while test_kill_process(self.0).is_ok() && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = kill_process(self.0, Signal::KILL);
    }
}

/// A response.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// The value of a header field.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(line_name, _)| line_name.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Whether the cache answered without asking the origin.
    pub(crate) fn is_hit(&self) -> bool {
        self.field("cache-status").is_some_and(|status| status.starts_with("kasoku; hit"))
    }
}

/// A connection whose reads have a bound.
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Requests a path on a new connection.
pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    exchange(address, &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
}

/// The same; `None` if the connection is cut before the head is complete, or reset during the body.
#[allow(dead_code, reason = "only those whose origin fails need it")]
pub(crate) fn try_get(address: SocketAddr, path: &str) -> Option<Answer> {
    try_ask(address, "GET", path)
}

/// The same with any method; `None` also if the program does not listen.
#[allow(dead_code, reason = "as above")]
pub(crate) fn try_ask(address: SocketAddr, method: &str, path: &str) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let request = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    answer_of(&text)
}

/// Sends the request and reads the response until the connection ends.
pub(crate) fn exchange(address: SocketAddr, request: &str) -> Answer {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    answer_of(&text).unwrap_or_else(|| panic!("no response: {text:?}"))
}

fn answer_of(text: &str) -> Option<Answer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some(Answer { status: head[9..12].parse().unwrap(), head: head.to_owned(), body: body.to_owned() })
}

/// Reads until `words` have arrived; returns all text that was read.
pub(crate) fn read_until(stream: &mut TcpStream, words: &str) -> String {
    let mut text = Vec::new();
    while !String::from_utf8_lossy(&text).contains(words) {
        let mut piece = [0; 1024];
        let read = stream.read(&mut piece).unwrap();
        assert_ne!(read, 0, "the end came before {words:?}: {:?}", String::from_utf8_lossy(&text));
        text.extend_from_slice(&piece[..read]);
    }
    String::from_utf8(text).unwrap()
}

/// An origin that answers by path, one request for each connection: `/private…` may not be stored, `/slow` sends one half and waits for
/// [`Origin::release`], a POST waits for that before it is answered, and all other pages are fresh for a minute.
pub(crate) struct Origin {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    release: std::sync::mpsc::Sender<()>,
}

impl Origin {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (release, released) = channel();
        let (log, released) = (asked.clone(), Arc::new(Mutex::new(released)));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (log, released) = (log.clone(), released.clone());
                std::thread::spawn(move || answer(stream, &log, &released));
            }
        });
        Self { address, asked, release }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The paths of all requests so far.
    #[allow(dead_code, reason = "not each test looks at it")]
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Lets one slow response continue.
    pub(crate) fn release(&self) {
        self.release.send(()).unwrap();
    }
}

fn answer(mut stream: TcpStream, asked: &Mutex<Vec<String>>, released: &Mutex<Receiver<()>>) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut first = String::new();
    if reader.read_line(&mut first).is_err() {
        return;
    }
    let mut body_bytes = 0;
    for line in reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {
        if let Some(("content-length", length)) = line.to_ascii_lowercase().split_once(": ") {
            body_bytes = length.parse().unwrap();
        }
    }
    reader.read_exact(&mut vec![0; body_bytes]).unwrap();
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    asked.lock().unwrap().push(path.clone());
    if first.starts_with("POST ") {
        let _ = released.lock().unwrap().recv_timeout(PATIENCE);
    }
    let control = match path.as_str() {
        "/slow" => "Cache-Control: no-store\r\n",
        path if path.starts_with("/private") => "Cache-Control: no-store\r\n",
        path if path.starts_with("/silent") => "",
        _ => "Cache-Control: max-age=60\r\n",
    };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n{control}Connection: close\r\n\r\n");
    // Kasoku may have been stopped meanwhile; the test itself notices a missing answer.
    let _ = stream.write_all(format!("{head}abc").as_bytes());
    if path == "/slow" {
        let _ = released.lock().unwrap().recv_timeout(PATIENCE);
    }
    let _ = stream.write_all(b"def");
}
