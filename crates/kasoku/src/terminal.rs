//! The terminal while `kasoku top` draws on it: the alternate screen, no cursor, keys as they are pressed.
//!
//! Dropping [`Terminal`] restores the terminal, also when drawing has failed. The caller must catch signals that end the program.
//! Ctrl-C and Ctrl-Z arrive as keys, since suspending the program would leave the terminal in this state.

use ratatui::Frame;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use std::io::{self, IsTerminal, Stdout};
use tokio::sync::mpsc::Receiver;

/// The most events that wait to be handled; more are dropped.
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
        // From here on, dropping `terminal` undoes everything if a step fails.
        let terminal = Self { screen, has_keys };
        if has_keys {
            enable_raw_mode()?;
        }
        execute!(io::stdout(), EnterAlternateScreen, Hide)?;
        Ok(terminal)
    }

    /// Draws a frame, and writes the cells that have changed.
    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.screen.draw(draw).map(|_| ())
    }

    /// Key presses and changes of size. The thread that reads them ends with the program.
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
        // If the terminal is gone, there is nothing to restore.
        let _ = execute!(io::stdout(), Show, LeaveAlternateScreen);
        if self.has_keys {
            let _ = disable_raw_mode();
        }
    }
}
