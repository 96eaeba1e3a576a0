//! FastCGI programs that Kasoku starts itself (`fastcgi+spawn:///srv/mt/mt-search.fcgi?processes=1-4`): what Apache's mod_fcgid does, or
//! spawn-fcgi with a supervisor.
//!
//! **A slot is a process at a time with a listening socket of its own**, which the process finds as descriptor 0. So it is known
//! who serves what: a slot has one request at a time, a process is replaced after so many of them, between two, and one that hangs
//! can be told from the others. The socket outlives its process: who connects while the next one starts waits in its queue.
//!
//! **A request leases a slot** (`Supervisor::lease`), the first that is free, so those behind it fall idle and are ended when
//! there is little to do. Slots are the origin's places: who finds none waits in its queue, bounded and for a bounded time. A lease
//! that is dropped before the program has ended its answer costs the process, since nobody knows what it still does; a client
//! that leaves does not drop it, the rest of the answer is read first (`fastcgi/records`).
//!
//! **One thread keeps the processes** (`keeper`): starts them when the first request comes, restarts those that end, with a
//! back-off where they do so without having served anything, and stops all with SIGTERM, then SIGKILL, when the `Supervisor`
//! is dropped.
//!
//! A program finds PATH in its environment and nothing else, its own directory as the working one, its standard output and
//! error in our log.
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

/// What keeps the processes of one program, among the [belongings](OriginState::belongings) of its origin. Dropping it ends them.
#[derive(Debug, Default)]
pub(crate) struct Supervisor(Mutex<Option<SupervisorThread>>);

#[derive(Debug)]
struct SupervisorThread {
    slots: Arc<ProcessSlots>,
    thread: Option<JoinHandle<()>>,
}

impl Supervisor {
    /// A slot for one request to that origin, with a process that serves it now or soon. The first lease starts everything.
    ///
    /// # Errors
    /// [`Error::Unreachable`]: what is needed could not be made, or the program does not stay alive and is tried again later.
    /// [`Error::Busy`]: all were being replaced, for longer than `timeout`.
    pub(crate) async fn lease(
        origin: &Arc<OriginState>,
        program: &SpawnedProgram,
        timeout: Duration,
    ) -> Result<Lease, Error> {
        // An origin has one kind, so nothing else can have been kept for it.
        let is_none = || Error::Unreachable(io::ErrorKind::Unsupported.into());
        let slots = origin.belongings::<Self>().ok_or_else(is_none)?.slots(program)?;
        let taken = async {
            loop {
                let gone = slots.gone.notified();
                match slots.take(Instant::now()) {
                    SlotResult::Slot(slot, ended) => return Ok((slot, ended)),
                    SlotResult::Soon => gone.await,
                    SlotResult::Failing => {
                        return Err(Error::Unreachable(io::Error::other("the program does not stay alive")));
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

    /// Has all processes end; [`wait_for_ends`] waits for it. The next lease would start others.
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

/// Threads that see processes to their end. Who drops a [`SupervisorThread`] does not wait for that: after a reload it is a worker, which has
/// others to serve, and a process may take its time.
static ENDING: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

/// Ends the processes of all origins, and waits for it: when nobody asks any more.
pub fn stop(directory: &OriginRegistry) {
    directory.for_each(|origin| {
        if let Some(supervisor) = origin.belongings_made::<Supervisor>() {
            supervisor.stop();
        }
    });
    wait_for_ends();
}

/// Waits for all processes that are to end.
fn wait_for_ends() {
    let ending = std::mem::take(&mut *ENDING.lock().unwrap_or_else(PoisonError::into_inner));
    for thread in ending {
        let _ = thread.join();
    }
}

/// A slot, for one request.
#[derive(Debug)]
pub(crate) struct Lease {
    slots: Arc<ProcessSlots>,
    slot: usize,
    ended: u64,
    is_answered: bool,
    /// The processes are kept for as long as somebody asks them, also when a reload takes the origin away.
    _origin: Arc<OriginState>,
}

impl Lease {
    /// Where its process listens.
    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::Unix(self.slots.socket(self.slot).map(Path::to_owned).unwrap_or_default())
    }

    /// The program has ended its answer and waits for the next request.
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
        // It has been killed; the kernel takes its time to say so.
        let deadline = Instant::now() + Duration::from_secs(10);
        while test_kill_process(process).is_ok() {
            assert!(Instant::now() < deadline, "it is still there");
            tokio::task::yield_now().await;
        }
        fs::remove_dir_all(&directory).unwrap();
    }
}
