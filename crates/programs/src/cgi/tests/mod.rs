//! Tests of CGI, with scripts in a directory of their own.

mod answers;
mod bounds;
mod endings;
mod inputs;
mod paths;

use super::*;
use crate::OpenFiles;
use crate::{ConnectionFacts, Limits, Response};
use bytes::Bytes;
use http::Method;
use kasoku_options::OriginAddress as Address;
use kasoku_options::{Balance, Gateway, OriginHealth};
use kasoku_origin::error::UploadError;
use kasoku_origin::group::{Attempts, Group, NextOrigin};
use kasoku_origin::{BodyPiece, NoUpload, OriginRegistry, UploadPiece};
use kasoku_wire::RequestHead;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::runtime::LocalOptions;

/// A directory of programs, and its configuration.
#[derive(Clone)]
struct Site {
    /// The path of the origin's address.
    directory: PathBuf,
    _home: Arc<Home>,
    limits: Limits,
    gateway: Gateway,
    connection: ConnectionFacts,
    origins: OriginRegistry,
    /// The statuses of the interim responses.
    interim: Vec<u16>,
}

/// The directory, which is removed with its last user.
struct Home(PathBuf);

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A response, read to its end.
#[derive(Debug)]
struct Whole {
    status: u16,
    head: ResponseHead,
    body: String,
    may_be_incomplete: bool,
}

impl Site {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("kasoku-cgi-{}-{number}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let mut limits = Limits::default();
        limits.programs.processes_max = 4;
        Self {
            _home: Arc::new(Home(directory.clone())),
            directory,
            limits,
            gateway: Gateway::default(),
            connection: ConnectionFacts { request_id: "id".to_owned(), ..ConnectionFacts::default() },
            origins: OriginRegistry::default(),
            interim: Vec::new(),
        }
    }

    /// With one script, `a.cgi`, for /bin/sh.
    fn with(script: &str) -> Self {
        let site = Self::new();
        site.write("a.cgi", &format!("#!/bin/sh\n{script}\n"));
        site
    }

    /// Writes a program, from another process. If this process had the file open for writing while another test starts a program,
    /// that program would hold the file open for a moment too, and a file that is open for writing can't be executed (ETXTBSY).
    fn write(&self, name: &str, text: &str) {
        let path = self.directory.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut writer = Command::new("/bin/sh");
        writer.args(["-c", "cat > \"$0\" && chmod 755 \"$0\""]).arg(&path).stdin(Stdio::piped());
        let mut writer = writer.spawn().unwrap();
        writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(writer.wait().unwrap().success());
    }

    /// A named pipe in the directory, for programs to hold open.
    fn held(&self) -> Held {
        let path = self.directory.join("held");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let reader = pipe::OpenOptions::new().open_receiver(&path).unwrap();
        Held { reader, ours: File::options().write(true).open(&path).unwrap() }
    }

    /// A named pipe in the directory that programs wait for. The test holds both ends, so that opening it does not block.
    fn work(&self) -> File {
        let path = self.directory.join("work");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        File::options().read(true).write(true).open(&path).unwrap()
    }

    fn choice(&self) -> ChosenOrigin {
        let origin = Address::Cgi(self.directory.clone()).into();
        let group = Group::new(Balance::First, &[origin], 1, &self.origins, 0);
        match group.choose(&mut Attempts::new(0, true), &OriginHealth::default(), 0) {
            NextOrigin::Ask(choice) => choice,
            _ => panic!("nothing speaks against it"),
        }
    }

    async fn send(&mut self, head: RequestHead, upload: impl Upload + 'static) -> Result<Reply, Error> {
        struct Noted<'a>(&'a mut Vec<u16>);
        impl Interim for Noted<'_> {
            async fn interim(&mut self, head: ResponseHead) {
                self.0.push(head.status.as_u16());
            }
        }
        let choice = self.choice();
        let mut interim = Vec::new();
        let request = Request {
            head: &head,
            connection: &self.connection,
            gateway: &self.gateway,
            limits: &self.limits,
            open_files: &OpenFiles::default(),
        };
        let counters = Counters::default();
        let directory = &self.directory;
        let sent = send(&choice, directory, &request, &mut Some(upload), &mut Noted(&mut interim), &counters).await;
        self.interim.extend(interim);
        sent
    }

    async fn response(&mut self, head: RequestHead) -> Result<Response, Error> {
        match self.send(head, NoUpload).await? {
            Reply::Response(response) => Ok(response),
            Reply::LocalRedirect(path) => panic!("a local redirect to {path}"),
        }
    }

    async fn whole(&mut self, head: RequestHead) -> Result<Whole, Error> {
        read(self.response(head).await?).await
    }

    async fn post(&mut self, head: RequestHead, body: Pieces) -> Result<Whole, Error> {
        match self.send(head, body).await? {
            Reply::Response(response) => read(response).await,
            Reply::LocalRedirect(path) => panic!("a local redirect to {path}"),
        }
    }

    /// Waits until no program runs.
    async fn until_idle(&self) {
        self.choice().origin.permits.take(1, 8, Duration::from_secs(60)).await.unwrap();
    }

    fn running(&self) -> usize {
        self.choice().origin.permits.load().0
    }
}

async fn read(response: Response) -> Result<Whole, Error> {
    let Response { head, mut body } = response;
    let mut text = Vec::new();
    while let BodyPiece::Data(data) = body.next().await? {
        text.extend_from_slice(&data);
    }
    let body_text = String::from_utf8(text).unwrap();
    Ok(Whole { status: head.status.as_u16(), head, body: body_text, may_be_incomplete: body.may_be_incomplete() })
}

/// A pipe that programs hold open. Its end of file tells that all of them have ended.
struct Held {
    reader: pipe::Receiver,
    /// The test's own end: without it, the pipe would be at its end until a program opens it.
    ours: File,
}

impl Held {
    /// Waits until no program holds the pipe any more, and returns what was written.
    async fn closed(self) -> String {
        let Self { mut reader, ours } = self;
        drop(ours);
        let mut text = String::new();
        reader.read_to_string(&mut text).await.unwrap();
        text
    }
}

fn get(target: &str) -> RequestHead {
    RequestHead::new(Method::GET, target).with("Host", "example.org")
}

fn post(target: &str) -> RequestHead {
    RequestHead::new(Method::POST, target).with("Host", "example.org")
}

/// A request's body in these pieces.
struct Pieces {
    length: BodyLength,
    pieces: VecDeque<Bytes>,
    /// Whether the client disconnects instead of ending the body.
    breaks: bool,
}

impl Pieces {
    fn of_known_length(pieces: &[&[u8]]) -> Self {
        let length = BodyLength::Length(pieces.iter().map(|piece| piece.len() as u64).sum());
        Self { length, ..Self::chunked(pieces) }
    }

    fn chunked(pieces: &[&[u8]]) -> Self {
        let pieces = pieces.iter().map(|piece| Bytes::copy_from_slice(piece)).collect();
        Self { length: BodyLength::Chunked, pieces, breaks: false }
    }
}

impl Upload for Pieces {
    fn length(&self) -> BodyLength {
        self.length
    }

    async fn next(&mut self) -> Result<UploadPiece, UploadError> {
        match self.pieces.pop_front() {
            Some(piece) => Ok(UploadPiece::Data(piece)),
            None if self.breaks => Err(UploadError::Closed),
            None => Ok(UploadPiece::End(None)),
        }
    }
}

/// Runs a scenario as a worker would.
fn play(scenario: impl Future<Output = ()>) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build_local(LocalOptions::default()).unwrap();
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(60), scenario).await.expect("the scenario hangs");
    });
}
