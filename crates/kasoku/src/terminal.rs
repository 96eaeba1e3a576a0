//! The terminal while something is drawn on it again and again: another screen, no cursor, keys as they are pressed.
//!
//! All of it is undone at the end, whatever the end is: on drop, so also when drawing fails. Signals that end the program
//! must be caught by who uses it; Ctrl-C and Ctrl-Z are keys meanwhile, since stopping it would leave the terminal as it is.

use ratatui::Frame;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use std::io::{self, IsTerminal, Stdout};
use tokio::sync::mpsc::Receiver;

/// Keys that were pressed and nobody has looked at; more are dropped.
const EVENTS_MAX: usize = 64;

/// See the [module](self).
pub(crate) struct Terminal {
    screen: ratatui::Terminal<CrosstermBackend<Stdout>>,
    /// Whether there are keys: standard input is a terminal as well.
    has_keys: bool,
}

impl Terminal {
    /// Takes over standard output, and standard input if that is a terminal as well.
    pub(crate) fn open() -> io::Result<Self> {
        let screen = ratatui::Terminal::new(CrosstermBackend::new(io::stdout()))?;
        let has_keys = io::stdin().is_terminal();
        // From here on all is undone if anything fails.
        let terminal = Self { screen, has_keys };
        if has_keys {
            enable_raw_mode()?;
        }
        execute!(io::stdout(), EnterAlternateScreen, Hide)?;
        Ok(terminal)
    }

    /// Draws anew what has changed.
    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.screen.draw(draw).map(|_| ())
    }

    /// Keys that are pressed, and new sizes. The thread that reads them ends with the program.
    pub(crate) fn events(&self) -> Receiver<Event> {
        let (sender, events) = tokio::sync::mpsc::channel(EVENTS_MAX);
        if self.has_keys {
            std::thread::spawn(move || {
                while let Ok(event) = event::read() {
                    let _ = sender.try_send(event);
                }
            });
        }
        events
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Where the terminal is gone there is nothing to give back.
        let _ = execute!(io::stdout(), Show, LeaveAlternateScreen);
        if self.has_keys {
            let _ = disable_raw_mode();
        }
    }
}
