//! Starts and supervises FastCGI programs (`fastcgi+spawn:///srv/mt/mt-search.fcgi?processes=1-4`), as Apache's mod_fcgid does,
//! or spawn-fcgi with a supervisor.
//!
//! **A slot is one process at a time with a listening socket of its own**, which the process finds as descriptor 0. So Kasoku
//! knows which process serves which request: a slot has one request at a time, a process is replaced between two requests after a
//! number of them, and one that hangs can be told from the others. The socket outlives its process: a request that connects while
//! the next process starts waits in the socket's queue.
//!
//! **A request leases a slot** (`Supervisor::lease`), the first that is free. So the later slots fall idle, and their processes
//! are ended, when there are few requests. The origin has as many permits as slots: a request that finds none free waits in the
//! origin's queue, which is bounded in length and in time. If a lease is dropped before the program has ended its answer, its
//! process is replaced, since the process may still be at work. A client that leaves does not drop the lease: the rest of the
//! answer is read first (`fastcgi/records`).
//!
//! **One thread keeps the processes** (`keeper`). It starts them when the first request comes, restarts those that end (with a
//! back-off if they have served no request), and stops all with SIGTERM, then SIGKILL, when the `Supervisor` is dropped.
//!
//! A program finds only PATH in its environment. Its working directory is the one of its file. Its standard output and error go
//! to Kasoku's log.
//!
//! What it does not do: another user for each program (the whole of Kasoku has one), limits on memory (give the service one),
//! processes for several hosts.

mod keeper;
mod slots;

use crate::Endpoint;
use kasoku_options::SpawnedProgram;
use kasoku_origin::{Error, OriginRegistry, OriginState};
use slots::{ProcessSlots, SlotResult};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Keeps the processes of one program, as the origin's [state of its kind](OriginState::kind_state). Dropping it ends them.
#[derive(Debug, Default)]
pub(crate) struct Supervisor(Mutex<Option<SupervisorThread>>);

#[derive(Debug)]
struct SupervisorThread {
    slots: Arc<ProcessSlots>,
    thread: Option<JoinHandle<()>>,
}

impl Supervisor {
    /// Leases a slot for one request to that origin. Its process runs, or starts soon. The first lease starts the thread.
    ///
    /// # Errors
    /// [`Error::Unreachable`]: the sockets or the thread could not be made, or the program does not stay alive and is tried again
    /// later. [`Error::Busy`]: no slot became free within `timeout`, since processes were being replaced.
    pub(crate) async fn lease(
        origin: &Arc<OriginState>,
        program: &SpawnedProgram,
        timeout: Duration,
    ) -> Result<Lease, Error> {
        // An origin has one kind, so its state has one type.
        let is_none = || Error::Unreachable(io::ErrorKind::Unsupported.into());
        let slots = origin.kind_state::<Self>().ok_or_else(is_none)?.slots(program)?;
        let taken = async {
            loop {
                let gone = slots.gone.notified();
                match slots.take(Instant::now()) {
                    SlotResult::Slot(slot, ended) => return Ok((slot, ended)),
                    SlotResult::Soon => gone.await,
                    SlotResult::Failing => {
                        return Err(Error::Unreachable(io::Error::other("the program ends again and again")));
                    }
                }
            }
        };
        let (slot, ended) = tokio::time::timeout(timeout, taken).await.unwrap_or(Err(Error::Busy))?;
        Ok(Lease { slots, slot, ended, is_answered: false, _origin: origin.clone() })
    }

    fn slots(&self, program: &SpawnedProgram) -> Result<Arc<ProcessSlots>, Error> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*running {
            Some(running) => Ok(running.slots.clone()),
            None => {
                let started = SupervisorThread::start(program).map_err(Error::Unreachable)?;
                Ok(running.insert(started).slots.clone())
            }
        }
    }

    /// Tells all processes to end; [`wait_for_ends`] waits for that. The next lease would start others.
    fn stop(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl SupervisorThread {
    fn start(program: &SpawnedProgram) -> io::Result<Self> {
        let slots = Arc::new(ProcessSlots::new(program)?);
        let kept = slots.clone();
        let thread = thread::Builder::new().name("spawned".to_owned()).spawn(move || keeper::keep(&kept))?;
        Ok(Self { slots, thread: Some(thread) })
    }
}

impl Drop for SupervisorThread {
    fn drop(&mut self) {
        self.slots.stop();
        if let Some(thread) = self.thread.take() {
            let mut ending = ENDING.lock().unwrap_or_else(PoisonError::into_inner);
            ending.retain(|thread| !thread.is_finished());
            ending.push(thread);
        }
    }
}

/// Threads that are ending their processes. Dropping a [`SupervisorThread`] does not wait for them: after a reload a worker drops
/// it, which has other requests to serve, and a process may take its time to end.
static ENDING: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

/// Ends the processes of all origins and waits for that. To be called when no request is sent any more.
pub fn stop(registry: &OriginRegistry) {
    registry.for_each(|origin| {
        if let Some(supervisor) = origin.existing_kind_state::<Supervisor>() {
            supervisor.stop();
        }
    });
    wait_for_ends();
}

/// Waits for all processes that are ending.
fn wait_for_ends() {
    let ending = std::mem::take(&mut *ENDING.lock().unwrap_or_else(PoisonError::into_inner));
    for thread in ending {
        let _ = thread.join();
    }
}

/// A slot that is leased for one request.
#[derive(Debug)]
pub(crate) struct Lease {
    slots: Arc<ProcessSlots>,
    slot: usize,
    ended: u64,
    is_answered: bool,
    /// Keeps the processes until the request is over, even if a reload removes the origin.
    _origin: Arc<OriginState>,
}

impl Lease {
    /// The socket on which the slot's process listens.
    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::Unix(self.slots.socket(self.slot).map(Path::to_owned).unwrap_or_default())
    }

    /// Ends the lease: the program has ended its answer and waits for the next request.
    pub(crate) fn end(mut self) {
        self.is_answered = true;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.slots.give_back(self.slot, self.ended, self.is_answered, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kasoku_options::OriginAddress as Address;
    use kasoku_options::UMASK_DEFAULT;
    use rustix::process::{Pid, test_kill_process};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Instant;

    #[tokio::test(flavor = "current_thread")]
    async fn who_drops_it_does_not_wait_for_a_process_that_takes_its_time() {
        let directory = std::env::temp_dir().join(format!("kasoku-spawned-{}", std::process::id()));
        fs::create_dir(&directory).unwrap();
        let (file, number) = (directory.join("a.fcgi"), directory.join("number"));
        fs::write(&file, format!("#!/bin/sh\ntrap '' TERM\necho $$ > {}\nsleep 60\n", number.display())).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        let program =
            SpawnedProgram { file, processes_min: 1, processes_max: 1, requests_max: 0, umask: UMASK_DEFAULT };
        let origin = Arc::new(OriginState::new(Address::Spawned(program.clone())));
        let lease = Supervisor::lease(&origin, &program, Duration::from_secs(60)).await.unwrap();
        let process = loop {
            let text = fs::read_to_string(&number).unwrap_or_default();
            match text.trim_end().parse().ok().filter(|_| text.ends_with('\n')).and_then(Pid::from_raw) {
                Some(process) => break process,
                None => tokio::task::yield_now().await,
            }
        };
        drop(origin);
        drop(lease);
        assert!(test_kill_process(process).is_ok(), "it heeds no SIGTERM, and has two seconds");
        wait_for_ends();
        // The process has been killed, but the kernel may need a moment to remove it.
        let deadline = Instant::now() + Duration::from_secs(10);
        while test_kill_process(process).is_ok() {
            assert!(Instant::now() < deadline, "it is still there");
            tokio::task::yield_now().await;
        }
        fs::remove_dir_all(&directory).unwrap();
    }
}
