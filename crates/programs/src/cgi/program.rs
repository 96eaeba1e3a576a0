//! A running program, and the task that sees to its end.
//!
//! The task ([`supervise`]) holds the program, its permit and its standard error. The reader of the output holds the other end,
//! [`RunningProgram`]. The reader hands the output to the task ([`RunningProgram::end_answer`]) when the program's answer is
//! complete; otherwise it just drops its end.
//!
//! | event | consequence |
//! |---|---|
//! | the program ends, the output is still read | its permit is free; it is reaped when the output has been read |
//! | the answer is complete | the program may work on until its time is over; what it still prints is read and dropped |
//! | the reader drops its end before that | its process group is ended |
//! | its time is over | its process group is ended |
//!
//! A group is ended by SIGTERM, then SIGKILL as soon as its leader has ended, after [`KILL_AFTER`] at the latest.

use super::input::{Input, InputTask};
use super::launch::Launched;
use super::stderr::StderrReader;
use crate::gateway::log::ErrorLog;
use crate::request::Request;
use bytes::BytesMut;
use kasoku_origin::Error;
use kasoku_origin::limits::READ_BYTES;
use kasoku_origin::permits::Permit;
use kasoku_sys::process::{ChildProcess, Ending};
use std::io;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout, timeout_at};

/// How long a program has to end after SIGTERM.
const KILL_AFTER: Duration = Duration::from_secs(2);

/// How long to wait for a program that is about to end. Only the kernel is still at work on it, so this bounds one that hangs there.
const ENDING_MAX: Duration = Duration::from_secs(5);

/// A program whose output is read. Dropping it ends the program.
pub(super) struct RunningProgram {
    output: pipe::Receiver,
    input: InputTask,
    process: Rc<ChildProcess>,
    answer_end: oneshot::Sender<pipe::Receiver>,
    /// When its time is over.
    ends_at: Instant,
    /// Its file and its request's id, for the log.
    program: String,
    request_id: String,
}

impl Launched {
    /// Registers the program with this worker's event loop, and starts the tasks that belong to it.
    pub(super) fn supervised(self, input: Input, request: &Request<'_>) -> Result<RunningProgram, Error> {
        let limits = request.limits;
        let process = Rc::new(self.started.register().map_err(Error::NotStarted)?);
        let registered = || -> io::Result<_> {
            let stdin = self.stdin.map(pipe::Sender::from_owned_fd).transpose()?;
            let [output, stderr] = [self.stdout, self.stderr].map(pipe::Receiver::from_owned_fd);
            Ok((stdin, output?, stderr?))
        };
        let (stdin, output, stderr) = registered().map_err(Error::NotStarted)?;
        let request_id = request.connection.request_id.clone();
        let log = ErrorLog::new(self.program.clone(), &request_id);
        let stderr = StderrReader::new(stderr, log);
        let ends_at = Instant::now() + limits.programs.run_timeout;
        let (answer_end, answer_ended) = oneshot::channel();
        tokio::task::spawn_local(supervise(process.clone(), self.permit, stderr, answer_ended, ends_at));
        let input = input.start(stdin, limits.between_bytes_timeout);
        Ok(RunningProgram { output, input, process, answer_end, ends_at, program: self.program, request_id })
    }
}

impl RunningProgram {
    /// Reads what is there of the output; 0: the output has ended. It fails at `deadline` with `late`, or when the program's time is over.
    pub(super) async fn read(&mut self, buf: &mut BytesMut, deadline: Instant, late: Error) -> Result<usize, Error> {
        match timeout_at(deadline.min(self.ends_at), read(&mut self.output, buf)).await {
            Ok(read) => read.map_err(Error::Io),
            Err(_) if self.is_over() => Err(Error::ProgramTimeout),
            Err(_) => Err(late),
        }
    }

    /// The same while the request's body is being sent; `None` when that has ended.
    pub(super) async fn read_while_sending(&mut self, buf: &mut BytesMut) -> Result<Option<usize>, Error> {
        let Self { output, input, ends_at, .. } = self;
        tokio::select! {
            biased;
            read = timeout_at(*ends_at, read(output, buf)) => match read {
                Ok(read) => read.map(Some).map_err(Error::Io),
                Err(_) => Err(Error::ProgramTimeout),
            },
            sent = input.ended() => sent.map(|()| None),
        }
    }

    /// Whether the request's body is being sent.
    pub(super) fn is_sending(&self) -> bool {
        self.input.is_running()
    }

    /// At the end of the output: how the program has ended; `None` if it works on.
    pub(super) async fn ending(&self) -> Option<Ending> {
        if !self.process.is_ending() {
            return None;
        }
        let _ = timeout(ENDING_MAX, self.process.ended()).await;
        Some(self.process.ending().unwrap_or(Ending::Unknown))
    }

    /// Whether the program's time is over.
    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.ends_at
    }

    /// Logs why there is no answer, or no complete one, unless the request's body is to blame.
    pub(super) fn log(&self, error: &Error) {
        if !matches!(error, Error::Upload(_)) {
            tracing::warn!(request = %self.request_id, "{}: {error}", self.program);
        }
    }

    /// Logs why a page without a length goes to the client and is not stored.
    pub(super) fn log_not_stored(&self, ending: Ending) {
        let how = match ending {
            Ending::Exit(code) => format!("it exited with {code}"),
            _ => "how it ended is not known".to_owned(),
        };
        tracing::warn!(request = %self.request_id, "{}: {how}, so its page is sent to the client and not stored", self.program);
    }

    /// Hands the output to the program's task: the answer is complete.
    pub(super) fn end_answer(self) {
        // A task that has ended needs no output.
        let _ = self.answer_end.send(self.output);
    }
}

/// See the [module](self).
async fn supervise(
    process: Rc<ChildProcess>,
    permit: Permit,
    mut stderr: StderrReader,
    answer_ended: oneshot::Receiver<pipe::Receiver>,
    ends_at: Instant,
) {
    tokio::select! {
        biased;
        () = until_ended(&process, permit, answer_ended, ends_at) => {}
        () = stderr.read_on() => {}
    }
    stderr.end();
    process.reap();
}

async fn until_ended(
    process: &ChildProcess,
    permit: Permit,
    mut answer_ended: oneshot::Receiver<pipe::Receiver>,
    ends_at: Instant,
) {
    let mut permit = Some(permit);
    let output = async {
        tokio::select! {
            biased;
            output = &mut answer_ended => return output,
            _ = process.ended() => permit = None,
        }
        answer_ended.await
    };
    match timeout_at(ends_at, output).await {
        Ok(Ok(mut output)) => {
            let ended = async {
                tokio::select! {
                    _ = process.ended() => {}
                    () = discard(&mut output) => {}
                }
            };
            if timeout_at(ends_at, ended).await.is_err() {
                end(process).await;
            }
        }
        Ok(Err(_)) | Err(_) => end(process).await,
    }
}

async fn end(process: &ChildProcess) {
    process.terminate();
    let _ = timeout(KILL_AFTER, process.ended()).await;
    process.kill();
    let _ = process.ended().await;
}

/// Reads and drops output for ever.
async fn discard(output: &mut pipe::Receiver) {
    let mut buf = BytesMut::new();
    while let Ok(1..) = read(output, &mut buf).await {
        buf.clear();
    }
    std::future::pending().await
}

async fn read(output: &mut pipe::Receiver, buf: &mut BytesMut) -> io::Result<usize> {
    // Pieces that are cut off the front share the buffer, so room is added only when little is left.
    if buf.capacity() - buf.len() < READ_BYTES / 16 {
        buf.reserve(READ_BYTES);
    }
    output.read_buf(buf).await
}
