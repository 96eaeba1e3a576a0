//! A server's process, which a test stops, kills and starts again.

use crate::WAIT_MAX;
use rustix::process::{Pid, Signal, kill_process};
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The pause between two looks at a process.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_millis(2);

/// A running server. Killed on drop, also while it is stopped.
pub struct Process(Mutex<Child>);

impl Process {
    /// A process that was started.
    pub fn of(child: Child) -> Self {
        Self(Mutex::new(child))
    }

    /// Stops it (SIGSTOP), so that it answers nothing.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
        // A thread that runs on another core goes on for a moment.
        let begun = Instant::now();
        while !self.is_stopped() {
            assert!(begun.elapsed() < WAIT_MAX, "it does not stop");
            std::thread::sleep(LOOK_INTERVAL);
        }
    }

    /// Lets it go on.
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    /// Kills it with all that it has.
    pub fn kill(&self) {
        let mut child = self.child();
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Kills it, and has another one in its place.
    pub fn replace(&self, spawn: impl FnOnce() -> Child) {
        let mut child = self.child();
        let _ = child.kill();
        let _ = child.wait();
        *child = spawn();
    }

    fn is_stopped(&self) -> bool {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.child().id())).unwrap();
        threads.flatten().all(|thread| {
            let status = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
            status.contains("State:\tT")
        })
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child()), signal).unwrap();
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
