//! The operator of the session tests: reloads with other settings, hands over to a new process, kills and restarts, under load.
//!
//! Each process has its own stored responses and its own knowledge of sessions. During a hand-over two processes serve, and neither learns
//! what the other sees: if a visitor logs in through one process, the other may take the session for anonymous for a while. So during that
//! time an anonymous page is no mistake, but any other page that is not the visitor's own is. After the hand-over, visitors wait until all
//! that a process may have believed meanwhile has expired.

use crate::report::Count;
use crate::support::{Foreign, Program};
use crate::traffic::Run;
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// How often the operator checks whether the next action is due.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// Longer than a page is served, fresh or stale, and longer than a session is taken for anonymous: see `SECONDS` in `policy`.
const BELIEFS_LAST: Duration = Duration::from_secs(4);

/// The operator's actions, in order. A process that has taken over is restarted before the next hand-over.
pub(crate) const OPERATOR_ACTIONS: [OperatorAction; 12] = [
    OperatorAction::Reload,
    OperatorAction::Reload,
    OperatorAction::HandOver,
    OperatorAction::Reload,
    OperatorAction::Reload,
    OperatorAction::Restart,
    OperatorAction::Reload,
    OperatorAction::HandOver,
    OperatorAction::Reload,
    OperatorAction::Restart,
    OperatorAction::Reload,
    OperatorAction::Reload,
];

/// One action of the operator.
#[derive(Clone, Copy)]
pub(crate) enum OperatorAction {
    Reload,
    HandOver,
    Restart,
}

/// The configuration file, and the texts that alternate in it.
pub(crate) struct Settings {
    pub(crate) file: PathBuf,
    pub(crate) pid_file: PathBuf,
    pub(crate) texts: [String; 2],
}

impl Settings {
    /// Writes the configuration of that turn.
    fn write(&self, turn: usize) {
        std::fs::write(&self.file, &self.texts[turn % self.texts.len()]).unwrap();
    }

    /// Writes the first configuration and starts the program.
    pub(crate) fn serve(&self) -> Program {
        self.write(0);
        serve(&self.file)
    }
}

fn serve(file: &Path) -> Program {
    Program::serve(&["--config", file.to_str().unwrap()])
}

/// See the [module](self).
pub(crate) struct Operator<'r> {
    pub(crate) run: &'r Run,
    pub(crate) settings: &'r Settings,
    pub(crate) program: Program,
    /// The process that has taken the program's place.
    pub(crate) successor: Option<Foreign>,
}

impl Operator<'_> {
    /// Does all the actions, spread evenly over the visitors' requests.
    pub(crate) fn work(&mut self, actions: &[OperatorAction]) {
        for (turn, action) in actions.iter().enumerate() {
            let due = self.run.requests * (turn as u64 + 1) / (actions.len() as u64 + 1);
            while self.run.asked.load(Relaxed) < due && !self.run.is_over.load(Relaxed) {
                std::thread::sleep(LOOK_INTERVAL);
            }
            if self.run.is_over.load(Relaxed) {
                return;
            }
            self.settings.write(turn + 1);
            match action {
                OperatorAction::Reload => self.reload(),
                OperatorAction::HandOver => self.hand_over(),
                OperatorAction::Restart => self.restart(),
            }
        }
    }

    fn reload(&self) {
        match &self.successor {
            Some(successor) => successor.signal(Signal::HUP),
            None => self.program.signal(Signal::HUP),
        }
        self.program.says("the configuration was read again");
        self.run.report.count(Count::Reload);
    }

    fn hand_over(&mut self) {
        self.run.address.hand_overs.fetch_add(1, Relaxed);
        self.program.signal(Signal::USR2);
        self.program.says("a new process serves; finishing running requests");
        self.successor = Some(Foreign::written_in(&self.settings.pid_file));
        assert_eq!(self.program.has_ended(), Some(0), "the old process");
        let alone = self.run.address.gate.write().unwrap();
        std::thread::sleep(BELIEFS_LAST);
        drop(alone);
        self.run.address.hand_overs.fetch_add(1, Relaxed);
        self.run.report.count(Count::HandOver);
    }

    /// Visitors wait meanwhile, because no process listens.
    fn restart(&mut self) {
        let mut address = self.run.address.gate.write().unwrap();
        match self.successor.take() {
            Some(successor) => successor.signal(Signal::KILL),
            None => self.program.signal(Signal::KILL),
        }
        self.program = serve(&self.settings.file);
        *address = self.program.clients;
        self.run.address.starts.fetch_add(1, Relaxed);
        self.run.report.count(Count::Restart);
    }
}
