//! `POST /reload`: has the program read its configuration again, and says what that changed.
//!
//! The program does it where it waits for signals, as it does for SIGHUP; here somebody asks for it and waits for the outcome.

use std::fmt;
use tokio::sync::{mpsc, oneshot};

/// What a reload brought: what is wrong with the configuration, in a report for people; the old one stays then.
pub type ReloadResult = Result<Reloaded, String>;

/// A reload that was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// What changed, a line for each setting.
    pub changes: Vec<String>,
    /// How many more changes there are than those lines.
    pub more: usize,
    /// What works, but hardly as meant: a report for people; may be empty.
    pub warnings: String,
}

/// Where reloads are asked for.
#[derive(Clone)]
pub struct Reloads(mpsc::Sender<oneshot::Sender<ReloadResult>>);

/// Where the program hears that one is asked for: it sends the outcome.
pub type ReloadReceiver = mpsc::Receiver<oneshot::Sender<ReloadResult>>;

impl Reloads {
    /// Both ends. One reload may wait; a further one is refused, since it would find the same configuration.
    pub fn new() -> (Self, ReloadReceiver) {
        let (sender, asked) = mpsc::channel(1);
        (Self(sender), asked)
    }

    /// Asks and waits. `None`: others ask at the moment, or the program ends.
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

/// The outcome: JSON where the program serves by the new configuration, else the report.
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
