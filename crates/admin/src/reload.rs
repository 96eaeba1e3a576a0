//! `POST /reload`: has the program read its configuration again, and says what that changed.
//!
//! The program does that on the thread that waits for signals, as it does for SIGHUP; this module asks for it and waits for the
//! outcome.

use std::fmt;
use tokio::sync::{mpsc, oneshot};

/// The outcome of a reload. The error is a report for people of what is wrong with the configuration; the old one stays then.
pub type ReloadResult = Result<Reloaded, String>;

/// A reload that was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// What changed, a line for each setting.
    pub changes: Vec<String>,
    /// How many more changes there are than those lines.
    pub more: usize,
    /// Warnings about the configuration, as a report for people; may be empty.
    pub warnings: String,
}

/// Asks the program for reloads.
#[derive(Clone)]
pub struct Reloads(mpsc::Sender<oneshot::Sender<ReloadResult>>);

/// Where the program receives these requests. It sends each outcome through the sender that it gets.
pub type ReloadReceiver = mpsc::Receiver<oneshot::Sender<ReloadResult>>;

impl Reloads {
    /// Both ends. One request for a reload may wait; another one is refused, since it would find the same configuration.
    pub fn new() -> (Self, ReloadReceiver) {
        let (sender, asked) = mpsc::channel(1);
        (Self(sender), asked)
    }

    /// Asks for a reload and waits for it. `None`: another request waits, or the program ends.
    async fn ask(&self) -> Option<ReloadResult> {
        let (sender, outcome) = oneshot::channel();
        self.0.try_send(sender).ok()?;
        outcome.await.ok()
    }
}

impl fmt::Debug for Reloads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reloads")
    }
}

/// Asks for a reload: JSON if the program serves by the new configuration, else the report. `None`: as [`Reloads::ask`].
pub(crate) async fn reload(reloads: Option<&Reloads>) -> Option<Result<String, String>> {
    let outcome = match reloads {
        Some(reloads) => reloads.ask().await?,
        None => Err("This program reads no configuration.".to_owned()),
    };
    Some(outcome.map(|Reloaded { changes, more, warnings }| {
        let answer = serde_json::json!({ "changes": changes, "more": more, "warnings": warnings });
        format!("{answer}\n")
    }))
}
