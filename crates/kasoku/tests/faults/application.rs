//! Runs `application.py`, the application of the fault tests, as a process with its own folder and port, and sends it signals.

use crate::support::PATIENCE;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// See the [module](self). Killed on drop, also while it is stopped.
pub(crate) struct Application {
    child: Child,
    folder: PathBuf,
    port: u16,
}

impl Application {
    /// Starts an application on a free port; returns once it listens.
    pub(crate) fn start() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("faults-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("asked"), "").unwrap();
        std::fs::write(folder.join("does"), "page").unwrap();
        let (child, port) = spawn(&folder, 0);
        Self { child, folder, port }
    }

    /// Starts the application on the same port again, after its end.
    pub(crate) fn start_again(&mut self) {
        (self.child, self.port) = spawn(&self.folder, self.port);
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Sets how the application answers from now on.
    pub(crate) fn does(&self, what: &str) {
        // Replaces the file in one step, since the application may read it at this moment.
        let new = self.folder.join("new");
        std::fs::write(&new, what).unwrap();
        std::fs::rename(new, self.folder.join("does")).unwrap();
    }

    /// The number of requests that the application got for that path.
    pub(crate) fn asked(&self, path: &str) -> usize {
        let asked = std::fs::read_to_string(self.folder.join("asked")).unwrap();
        asked.lines().filter(|line| *line == path).count()
    }

    /// Waits until the application has got a request for that path.
    pub(crate) fn has_been_asked(&self, path: &str) {
        let begun = Instant::now();
        while self.asked(path) == 0 {
            assert!(begun.elapsed() < PATIENCE, "it was not asked for {path}");
            std::thread::yield_now();
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until the process has ended.
    pub(crate) fn wait(&mut self) {
        self.child.wait().unwrap();
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn spawn(folder: &PathBuf, port: u16) -> (Child, u16) {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/application.py");
    let mut command = Command::new("python3");
    command.arg("-B").arg(program).arg(folder).arg(port.to_string());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (child, line.trim().parse().unwrap())
}
