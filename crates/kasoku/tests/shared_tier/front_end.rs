//! One Kasoku, as a process.

use crate::client::{Answer, ask};
use crate::page::{HOST, uri};
use crate::support::{PATIENCE, Program};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One Kasoku.
pub(crate) struct FrontEnd {
    /// In a lock, since threads ask the front end.
    program: Mutex<Program>,
    address: SocketAddr,
    config: PathBuf,
    control: PathBuf,
}

/// What a purge covers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope<'s> {
    Key(&'s str),
    /// A path.
    Prefix(&'s str),
    Site,
    Tag(&'s str),
    All,
}

impl FrontEnd {
    pub(crate) fn start(config: &Path, control: &Path) -> Self {
        let arguments = ["--config", config.to_str().unwrap(), "--control-socket", control.to_str().unwrap()];
        let program = Program::serve(&arguments);
        let address = program.clients;
        Self { program: Mutex::new(program), address, config: config.to_owned(), control: control.to_owned() }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn get(&self, target: &str) -> Answer {
        ask(self.address(), "GET", target, "")
    }

    pub(crate) fn ask(&self, method: &str, target: &str, fields: &str) -> Answer {
        ask(self.address(), method, target, fields)
    }

    /// Purges by the operator's socket.
    pub(crate) fn purge(&self, scope: Scope<'_>, is_soft: bool) {
        self.purged(scope, is_soft);
    }

    /// The same; returns the answer.
    pub(crate) fn purged(&self, scope: Scope<'_>, is_soft: bool) -> String {
        let what = match scope {
            Scope::Key(target) => format!("url={}", quoted(&uri(target))),
            Scope::Prefix(path) => format!("prefix={}", quoted(&uri(path))),
            Scope::Site => format!("site={HOST}"),
            Scope::Tag(tag) => format!("tag={tag}"),
            Scope::All => "all".to_owned(),
        };
        let soft = if is_soft { "&soft" } else { "" };
        self.operate(&format!("POST /purge?{what}{soft}"))
    }

    /// The sum of a counter over all servers of the shared tier, as `/metrics` calls it.
    pub(crate) fn counted_of_servers(&self, counter: &str) -> u64 {
        let said = self.operate("GET /metrics");
        let lines = said.lines().filter(|line| line.starts_with(&format!("kasoku_shared_server_{counter}_total{{")));
        lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
    }

    /// What the operator's socket answers.
    fn operate(&self, request: &str) -> String {
        let mut stream = UnixStream::connect(&self.control).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!("{request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert!(said.starts_with("HTTP/1.1 200 "), "{request}: {said}");
        said
    }

    /// Kills the process. What it has in memory is gone; its disk, if it has one, is not.
    pub(crate) fn kill(&mut self) {
        self.program().signal(Signal::KILL);
        self.program().has_ended();
    }

    /// Ends the process in an orderly way.
    #[allow(dead_code, reason = "not each test needs it")]
    pub(crate) fn end(&mut self) {
        self.program().signal(Signal::TERM);
        assert_eq!(self.program().has_ended(), Some(0));
    }

    /// Starts another process, after [`Self::kill`] or [`Self::end`].
    pub(crate) fn start_again(&mut self) {
        *self = Self::start(&self.config, &self.control);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.program().signal(signal);
    }

    pub(crate) fn program(&self) -> MutexGuard<'_, Program> {
        self.program.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn quoted(uri: &str) -> String {
    uri.replace('%', "%25").replace('&', "%26").replace('=', "%3D").replace('?', "%3F")
}
