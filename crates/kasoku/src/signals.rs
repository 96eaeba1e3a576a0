//! The signals by which the operator tells the program what to do.
//!
//! | signal | what |
//! |---|---|
//! | SIGTERM, SIGINT, SIGQUIT | finish what runs, and end; a second one: end at once |
//! | SIGHUP | read the configuration again |
//! | SIGUSR1 | open the access log's file anew |
//! | SIGUSR2 | start a new process in this one's place |

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalAction {
    /// With the name of the signal.
    Stop(&'static str),
    Reload,
    ReopenLog,
    Upgrade,
}

/// Catches the signals from the moment that this value exists.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
    hangup: Signal,
    user_1: Signal,
    user_2: Signal,
}

impl Signals {
    /// Must be called in the context of a tokio runtime.
    pub(crate) fn catch() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            hangup: signal(SignalKind::hangup())?,
            user_1: signal(SignalKind::user_defined1())?,
            user_2: signal(SignalKind::user_defined2())?,
        })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) -> SignalAction {
        tokio::select! {
            _ = self.terminate.recv() => SignalAction::Stop("SIGTERM"),
            _ = self.interrupt.recv() => SignalAction::Stop("SIGINT"),
            _ = self.quit.recv() => SignalAction::Stop("SIGQUIT"),
            _ = self.hangup.recv() => SignalAction::Reload,
            _ = self.user_1.recv() => SignalAction::ReopenLog,
            _ = self.user_2.recv() => SignalAction::Upgrade,
        }
    }

    /// Waits for the next stop signal, and returns its name. Other signals are dropped.
    pub(crate) async fn next_stop(&mut self) -> &'static str {
        loop {
            if let SignalAction::Stop(name) = self.next().await {
                return name;
            }
        }
    }
}
