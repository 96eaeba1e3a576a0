//! The thread that starts, watches and ends the processes of one program. A task for each slot carries out the slot's actions.

use super::slots::{ProcessSlots, SlotAction};
use crate::gateway::log::ErrorLog;
use kasoku_sys::process::{self, Bounds, ChildProcess, ProgramSpec};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::runtime::{Builder, LocalOptions};

/// How long a process has to end after SIGTERM, before SIGKILL.
const STOP_TIME_MAX: Duration = Duration::from_secs(2);
/// The period for which the log of a program's standard output and error is bounded.
const LOG_PERIOD: Duration = Duration::from_secs(10);
/// How much of them is read at once, in bytes.
const LOG_READ_BYTES: usize = 4 << 10;
/// The whole environment of a program.
const PATH: &str = "PATH=/usr/local/bin:/usr/bin:/bin";

/// Keeps the processes until `ProcessSlots::stop` is called and all of them have ended.
pub(super) fn keep(slots: &Arc<ProcessSlots>) {
    let runtime = match Builder::new_current_thread().enable_all().build_local(LocalOptions::default()) {
        Ok(runtime) => runtime,
        Err(error) => return tracing::error!(%error, "{} is not started", slots.program.file.display()),
    };
    runtime.block_on(async {
        let tasks: Vec<_> =
            (0..slots.program.processes_max).map(|slot| tokio::task::spawn_local(tend(slots.clone(), slot))).collect();
        for task in tasks {
            let _ = task.await;
        }
    });
}

/// Carries out the actions of one slot.
async fn tend(slots: Arc<ProcessSlots>, slot: usize) {
    let mut process: Option<ChildProcess> = None;
    loop {
        match slots.wish(slot, Instant::now()) {
            SlotAction::Stop => {
                if let Some(process) = process {
                    stop(process).await;
                }
                return;
            }
            SlotAction::End => {
                if let Some(process) = process.take() {
                    stop(process).await;
                }
                slots.has_ended(slot, true, Instant::now());
            }
            SlotAction::Start(Some(until)) if until > Instant::now() => until_changed(&slots, slot, Some(until)).await,
            SlotAction::Start(_) => match start(&slots, slot) {
                Ok(started) => {
                    slots.is_running(slot);
                    process = Some(started);
                }
                Err(error) => {
                    tracing::error!(%error, "{} can't be started", slots.program.file.display());
                    has_failed(&slots, slot);
                }
            },
            SlotAction::Nothing(until) => match &process {
                None => until_changed(&slots, slot, until).await,
                Some(running) => {
                    let has_ended = tokio::select! {
                        _ = running.ended() => true,
                        () = until_changed(&slots, slot, until) => false,
                    };
                    if has_ended {
                        let ending = running.reap();
                        tracing::warn!("{} has ended: {ending:?}", slots.program.file.display());
                        process = None;
                        has_failed(&slots, slot);
                    }
                }
            },
        }
    }
}

/// A process has ended by itself, or could not be started. If the next start has to wait (back-off), the requests that have
/// connected already do not wait for it: their connections are accepted and closed.
fn has_failed(slots: &ProcessSlots, slot: usize) {
    if slots.has_ended(slot, false, Instant::now())
        && let Some(listener) = slots.listener(slot)
        && listener.set_nonblocking(true).is_ok()
    {
        while listener.accept().is_ok() {}
        // The next process shares this setting, and needs a socket that blocks.
        if let Err(error) = listener.set_nonblocking(false) {
            tracing::error!(%error, "{}: its socket can't be made blocking again", slots.program.file.display());
        }
    }
}

async fn until_changed(slots: &ProcessSlots, slot: usize, until: Option<Instant>) {
    let Some(changed) = slots.changed.get(slot) else { return };
    match until {
        None => changed.notified().await,
        Some(until) => {
            let _ = tokio::time::timeout_at(until.into(), changed.notified()).await;
        }
    }
}

fn start(slots: &ProcessSlots, slot: usize) -> io::Result<ChildProcess> {
    let Some(listener) = slots.listener(slot) else { return Err(io::ErrorKind::NotFound.into()) };
    let file = &slots.program.file;
    let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other);
    let (name, directory) = (text(file)?, text(file.parent().unwrap_or(Path::new("/")))?);
    let environment = [CString::new(PATH).map_err(io::Error::other)?];
    let (said, says) = io::pipe()?;
    let started = process::start(&ProgramSpec {
        file: &name,
        arguments: std::slice::from_ref(&name),
        environment: &environment,
        directory: &directory,
        stdin: listener.as_fd(),
        stdout: says.as_fd(),
        stderr: says.as_fd(),
        umask: slots.program.umask,
        bounds: Bounds::default(),
    })?;
    drop(says);
    tokio::task::spawn_local(log(OwnedFd::from(said), Rc::from(file.display().to_string())));
    started.register()
}

/// Logs what a process writes to its standard output and error, until all writers have closed the pipe.
async fn log(said: OwnedFd, name: Rc<str>) {
    let Ok(mut said) = pipe::Receiver::from_file(File::from(said)) else { return };
    let mut buffer = vec![0; LOG_READ_BYTES];
    let mut period: Option<(Instant, ErrorLog)> = None;
    while let Ok(read @ 1..) = said.read(&mut buffer).await {
        let (since, log) = match period.take().filter(|(since, _)| since.elapsed() < LOG_PERIOD) {
            Some(running) => running,
            None => (Instant::now(), ErrorLog::new(name.to_string(), "")),
        };
        let (_, log) = period.insert((since, log));
        log.write(buffer.get(..read).unwrap_or_default());
    }
}

/// SIGTERM, then SIGKILL when `process` is dropped.
async fn stop(process: ChildProcess) {
    process.terminate();
    if tokio::time::timeout(STOP_TIME_MAX, process.ended()).await.is_ok() {
        process.reap();
    }
}
