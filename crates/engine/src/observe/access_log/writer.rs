//! The thread that writes the access log, and its target.
//!
//! A page goes out with one write(2) at the end of the file (O_APPEND), so that a file which somebody cuts off or moves away (logrotate)
//! stays sound. What can't be written is lost and counted: the next page is tried all the same, so the log goes on by itself when there is
//! room again. The program's log reports when writing starts to fail and when it works again, not each lost page.

use crate::observe::access_log::pages::{LogPage, Pages, WriterStep};
use kasoku_metrics::{Cells, Counter};
use kasoku_options::LogTarget;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

/// For a log that is new: only its owner writes, the group may read, and nobody else, since it names visitors.
const MODE: u32 = 0o640;

/// What is written to.
pub(crate) type Sink = Box<dyn Write + Send>;

/// Opens it.
pub(crate) fn open(target: &LogTarget) -> io::Result<Sink> {
    Ok(Box::new(match target {
        // Not std's own handle: it has a buffer that ends with each line.
        LogTarget::StandardOutput => File::from(io::stdout().as_fd().try_clone_to_owned()?),
        LogTarget::File(path) => open_file(path)?,
    }))
}

fn open_file(path: &Path) -> io::Result<File> {
    // Opened for writing alone, a FIFO would hold up the start until somebody reads.
    let is_fifo = std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo());
    OpenOptions::new().read(is_fifo).append(true).create(true).mode(MODE).open(path)
}

/// See the [module](self).
pub(crate) struct LogWriter {
    pages: Arc<Pages>,
    sink: Sink,
    /// What is opened anew when somebody says so.
    target: Option<LogTarget>,
    cells: Arc<Cells>,
    /// Lines lost since writing failed; 0 while it works.
    lost: u64,
    /// Whether the last byte that was written is not the end of a line.
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

    /// Writes what is handed over until no more will come.
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

    /// Where the file can't be opened, the old one is written on: lines in the wrong file are better than none.
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

    /// Writes all of it, or as much as can be; that part of it.
    fn write_all<'b>(&mut self, bytes: &'b [u8]) -> (&'b [u8], io::Result<()>) {
        // A line of which a part was written before the disk was full must not run into the next.
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

    /// One system call, unless a signal comes between; at least one byte.
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
