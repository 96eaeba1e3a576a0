//! The thread that writes the access log to its target.
//!
//! The writer writes each page with one write(2) at the end of the file (O_APPEND), so a file that another program truncates or
//! moves (logrotate) stays sound. Lines that can't be written are lost and counted. The writer tries the next page all the same,
//! so the log goes on by itself when there is room again. The program's log reports when writing starts to fail and when it works
//! again, not each lost page.

use crate::observe::access_log::pages::{LogPage, Pages, WriterStep};
use kasoku_metrics::{Cells, Counter};
use kasoku_options::LogTarget;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

/// The mode of a new log file: its owner writes, its group reads, and no other user has access, since it names visitors.
const MODE: u32 = 0o640;

/// What the writer writes to.
pub(crate) type Sink = Box<dyn Write + Send>;

/// Opens the target.
pub(crate) fn open(target: &LogTarget) -> io::Result<Sink> {
    Ok(Box::new(match target {
        // Not std's own handle, which writes its buffer out at the end of each line.
        LogTarget::StandardOutput => File::from(io::stdout().as_fd().try_clone_to_owned()?),
        LogTarget::File(path) => open_file(path)?,
    }))
}

fn open_file(path: &Path) -> io::Result<File> {
    // To open a FIFO for writing alone would hold up the start until a process reads from it.
    let is_fifo = std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo());
    OpenOptions::new().read(is_fifo).append(true).create(true).mode(MODE).open(path)
}

/// See the [module](self).
pub(crate) struct LogWriter {
    pages: Arc<Pages>,
    sink: Sink,
    /// What [`WriterStep::Reopen`] opens anew; `None`: the sink stays.
    target: Option<LogTarget>,
    cells: Arc<Cells>,
    /// Lines lost since writing began to fail; 0 while it works.
    lost: u64,
    /// Whether the last written byte is not the end of a line.
    is_torn: bool,
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.pages.end();
    }
}

impl LogWriter {
    pub(crate) fn new(pages: Arc<Pages>, sink: Sink, target: Option<LogTarget>, cells: Arc<Cells>) -> Self {
        Self { pages, sink, target, cells, lost: 0, is_torn: false }
    }

    /// Writes the pages that are handed over, until no more will come.
    pub(crate) fn run(mut self) {
        loop {
            match self.pages.next() {
                WriterStep::Write(page) => {
                    self.write(&page);
                    self.pages.give_back(page);
                }
                WriterStep::Reopen => self.reopen(),
                WriterStep::End => return,
            }
        }
    }

    /// Opens the target anew. If that fails, the writer keeps the old file: lines in the wrong file are better than none.
    fn reopen(&mut self) {
        match self.target.as_ref().map(open) {
            Some(Ok(sink)) => {
                self.sink = sink;
                self.is_torn = false;
            }
            Some(Err(error)) => tracing::error!(%error, "the access log can't be opened anew"),
            None => {}
        }
    }

    fn write(&mut self, page: &LogPage) {
        let (written, result) = self.write_all(&page.bytes);
        let lines = match &result {
            Ok(()) => page.lines,
            Err(_) => written.iter().filter(|byte| **byte == b'\n').count() as u64,
        };
        self.cells.add(Counter::LogLines, lines);
        self.cells.add(Counter::LogLinesDropped, page.lines - lines);
        match result {
            Err(error) => {
                if self.lost == 0 {
                    tracing::warn!(%error, "the access log can't be written; lines are lost");
                }
                self.lost += page.lines - lines;
            }
            Ok(()) if self.lost > 0 => {
                tracing::info!(lost = self.lost, "the access log can be written again");
                self.lost = 0;
            }
            Ok(()) => {}
        }
    }

    /// Writes all bytes, or as many as possible. Returns the written ones.
    fn write_all<'b>(&mut self, bytes: &'b [u8]) -> (&'b [u8], io::Result<()>) {
        // The disk was full after a part of a line, and the next line must not run into that part.
        if self.is_torn {
            if let Err(error) = self.write_some(b"\n") {
                return (&[], Err(error));
            }
            self.is_torn = false;
        }
        let mut done = 0;
        while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
            match self.write_some(rest) {
                Ok(count) => done += count,
                Err(error) => {
                    let written = bytes.get(..done).unwrap_or_default();
                    self.is_torn = written.last().is_some_and(|last| *last != b'\n');
                    return (written, Err(error));
                }
            }
        }
        (bytes, Ok(()))
    }

    /// Writes at least one byte, in one system call unless a signal interrupts it.
    fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.sink.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }
}
