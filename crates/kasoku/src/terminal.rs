//! The terminal while something is drawn on it again and again: another screen, no cursor, keys as they are pressed.
//!
//! All of it is undone at the end, whatever the end is: on drop, so also when drawing fails. Signals that end the program
//! must be caught by who uses it. Stopping it (Ctrl-Z) is switched off meanwhile, since it would leave the terminal as it is.

use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use std::io::{self, IsTerminal, Read, Write};

/// The size where none is told.
const SIZE_DEFAULT: (usize, usize) = (80, 24);

/// Keys that were pressed and nobody has looked at; more are dropped.
const KEYS_MAX: usize = 16;

/// See the [module](self).
pub(crate) struct Terminal {
    before: Option<Termios>,
}

impl Terminal {
    /// Takes over standard output, and standard input if that is a terminal as well.
    pub(crate) fn open() -> io::Result<Self> {
        let before = if io::stdin().is_terminal() { Some(termios::tcgetattr(io::stdin())?) } else { None };
        if let Some(before) = &before {
            let mut keys = before.clone();
            keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            // 0 is "no such character" (_POSIX_VDISABLE).
            keys.special_codes[SpecialCodeIndex::VSUSP] = 0;
            termios::tcsetattr(io::stdin(), OptionalActions::Now, &keys)?;
        }
        let terminal = Self { before };
        // The other screen; no cursor.
        write(b"\x1b[?1049h\x1b[?25l")?;
        Ok(terminal)
    }

    /// Columns and lines.
    pub(crate) fn size(&self) -> (usize, usize) {
        match termios::tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
            _ => SIZE_DEFAULT,
        }
    }

    /// Draws these lines from the top, each over what stood there before, so that nothing flickers.
    pub(crate) fn draw(&self, lines: &[String]) -> io::Result<()> {
        // To the corner; each line ends by clearing what is right of it, and the last by clearing what is below.
        write(format!("\x1b[H{}\x1b[K\x1b[J", lines.join("\x1b[K\r\n")).as_bytes())
    }

    /// The keys that are pressed. The thread that reads them ends with the program.
    pub(crate) fn keys(&self) -> tokio::sync::mpsc::Receiver<u8> {
        let (sender, keys) = tokio::sync::mpsc::channel(KEYS_MAX);
        if self.before.is_some() {
            std::thread::spawn(move || {
                for key in io::stdin().lock().bytes().map_while(Result::ok) {
                    let _ = sender.try_send(key);
                }
            });
        }
        keys
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Where the terminal is gone there is nothing to give back.
        let _ = write(b"\x1b[?25h\x1b[?1049l");
        if let Some(before) = &self.before {
            let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}
