//! `kasoku top`: shows what the running program is doing.
//!
//! On a terminal it draws the screen each second until `q` or Ctrl-C; elsewhere it writes once. If the program can't be reached for a
//! while (during a restart, say), the screen says so, and `top` goes on asking.
//!
//! | file | what |
//! |---|---|
//! | `snapshot` | one answer of `/top` |
//! | `view` | the order, filter and position that the operator has chosen, and the keys that change them |
//! | `draw` | the screen |
//! | `theme` | its colours and symbols |
//! | `once` | the same as plain text |
//! | `written` | formats numbers and texts for people |

mod draw;
pub(crate) mod format;
mod once;
mod snapshot;
mod theme;
mod view;

use crate::operator::{Operator, OperatorError, OperatorFlags};
use crate::terminal::Terminal;
use clap::Args;
use ratatui::crossterm::event::Event;
use snapshot::TopSnapshot;
use std::error::Error;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;
use theme::Theme;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{self, Receiver};
use view::{KeyResult, View};

/// The bounds of `--interval`.
const INTERVAL_MIN_SECONDS: f64 = 0.1;
const INTERVAL_MAX_SECONDS: f64 = 3600.0;

/// The arguments of `kasoku top`.
#[derive(Clone, Debug, Args)]
pub(crate) struct TopFlags {
    /// Write it once as text, and end; the default if standard output is not a terminal
    #[arg(long)]
    once: bool,
    /// Write it once as JSON, and end
    #[arg(long)]
    json: bool,
    /// How often the screen is drawn: 500ms, 2s, 1m
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    interval: Duration,
    #[command(flatten)]
    operator: OperatorFlags,
}

fn interval(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..) {
        Some("ms") => 0.001,
        Some("s" | "") => 1.0,
        Some("m") => 60.0,
        _ => return Err("write a number with a unit: 500ms, 2s, 1m".to_owned()),
    };
    let seconds = digits.parse::<f64>().map_err(|_| "write a number with a unit: 500ms, 2s, 1m".to_owned())? * unit;
    if (INTERVAL_MIN_SECONDS..=INTERVAL_MAX_SECONDS).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("it must be 100ms to 60m".to_owned())
    }
}

pub(crate) fn top(flags: &TopFlags) -> ExitCode {
    match run(flags) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kasoku top: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(flags: &TopFlags) -> Result<(), Box<dyn Error>> {
    let operator = Operator::new(&flags.operator)?;
    let said = operator.ask_for("GET", "/top")?;
    if flags.json {
        return print(&said);
    }
    let first = TopSnapshot::read(&said).ok_or("the program's answer is not understood: is it of another version?")?;
    if flags.once || !io::stdout().is_terminal() {
        return print(&once::text(&first, &operator.address()));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let view = View { program: operator.address(), ..View::default() };
    runtime.block_on(watch(ask_again_and_again(operator, flags.interval), first, view))?;
    Ok(())
}

/// A closed pipe is no error: a reader such as `head` may stop early.
fn print(text: &str) -> Result<(), Box<dyn Error>> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

async fn watch(
    mut answers: Receiver<Result<TopSnapshot, OperatorError>>,
    first: TopSnapshot,
    mut view: View,
) -> io::Result<()> {
    let mut ends = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()]
        .into_iter()
        .map(signal)
        .collect::<io::Result<Vec<_>>>()?;
    let mut terminal = Terminal::open()?;
    let mut events = terminal.events();
    let (mut moment, mut trouble) = (first, None);
    let look = Theme::of_environment();
    loop {
        terminal.draw(|frame| draw::draw(frame, &moment, &mut view, trouble.as_deref(), look))?;
        let [interrupt, terminate, hangup, quit] = ends.as_mut_slice() else { return Ok(()) };
        tokio::select! {
            Some(answer) = answers.recv() => match answer {
                Ok(new) => (moment, trouble) = (new, None),
                Err(error) => trouble = Some(error.to_string()),
            },
            // A change of size only makes the loop draw again.
            Some(event) = events.recv() => if let Event::Key(key) = event && view.press(key) == KeyResult::End {
                return Ok(());
            },
            _ = interrupt.recv() => return Ok(()),
            _ = terminate.recv() => return Ok(()),
            _ = hangup.recv() => return Ok(()),
            _ = quit.recv() => return Ok(()),
        }
    }
}

/// Asks on a thread of its own, so that a program that does not answer can't hold up the keys. The thread ends with this program.
fn ask_again_and_again(operator: Operator, interval: Duration) -> Receiver<Result<TopSnapshot, OperatorError>> {
    let (sender, answers) = mpsc::channel(1);
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(interval);
            if sender.blocking_send(ask(&operator)).is_err() {
                return;
            }
        }
    });
    answers
}

fn ask(operator: &Operator) -> Result<TopSnapshot, OperatorError> {
    let said = operator.ask_for("GET", "/top")?;
    TopSnapshot::read(&said)
        .ok_or_else(|| OperatorError::new("the program's answer is not understood: is it of another version?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_a_number_with_a_unit() {
        assert_eq!(interval("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!((interval("2s"), interval("2")), (Ok(Duration::from_secs(2)), Ok(Duration::from_secs(2))));
        assert_eq!(interval("1m"), Ok(Duration::from_secs(60)));
        for wrong in ["", "s", "fast", "1h", "0s", "-1s", "1ms", "61m", "NaN", "1 s"] {
            assert!(interval(wrong).is_err(), "{wrong}");
        }
    }
}
