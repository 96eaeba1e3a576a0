//! The access log: one line for each request, to a file or to standard output, and no worker ever waits for it.
//!
//! A worker writes its lines into a page of its own ([`WorkerLog`]): memory, no lock, no system call. A page that is full,
//! or a second old, goes to the one thread that writes ([`writer`]), and an empty one takes its place. The number of
//! pages is fixed at the start ([`pages`]): when none is empty, since the disk or whoever reads the pipe is behind, the
//! line is dropped and counted. So a log can lose lines, but it never holds a request up and never grows.
//!
//! | file | what |
//! |---|---|
//! | `record` | what is told about a request |
//! | `client` | who has asked, when a proxy stands between |
//! | `format` | a record as a line |
//! | `text` | the bytes of a line: bounds and escapes |
//! | `stamp` | the present, as lines spell it |
//! | `pages` | full pages to the writer, empty ones back |
//! | `writer` | the thread that writes, and what it writes to |
//!
//! A page has whole lines only, so lines of two workers never mix. Lines of one worker stand in the order of their
//! requests; those of another may stand up to a second apart.

mod format;
mod pages;
mod record;
mod stamp;
mod text;
mod writer;

pub(crate) use record::{LoggedRequest, Record};

use kasoku_metrics::{Cells, Counter};
use kasoku_options::{AccessLogOptions as Options, LogFormat, LogTarget};
use kasoku_semantics::time::Now;
use pages::{LogPage, Pages};
use stamp::Stamp;
use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use text::Text;
use writer::{LogWriter, Sink};

/// A page is handed over when it is this old: how far the log may be behind on a server without much to do.
pub(crate) const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// The pages of the whole program, of 64 KiB each; at 200 bytes a line and 100,000 requests a second they bridge 0.4 s.
const PAGES: usize = 128;

/// But so many for each worker at least: one that it fills, and some on their way.
const PAGES_PER_WORKER_MIN: usize = 4;

/// How long the end waits for a file or pipe that takes nothing.
const FINISH_TIMEOUT: Duration = Duration::from_secs(5);

/// What it is called when it can't be opened.
pub(crate) fn name(options: &Options) -> String {
    match &options.target {
        Some(LogTarget::File(path)) => format!("the access log {}", path.display()),
        _ => "the access log on standard output".to_owned(),
    }
}

/// The log of the whole program: the thread that writes.
pub(crate) struct AccessLog {
    format: LogFormat,
    pages: Arc<Pages>,
    thread: JoinHandle<()>,
}

impl AccessLog {
    /// Opens the log and starts its writer, which counts in `cells` of its own. `None` when no log is wanted.
    pub(crate) fn start(options: &Options, workers: usize, cells: Arc<Cells>) -> io::Result<Option<Self>> {
        let Some(target) = &options.target else { return Ok(None) };
        let pages = PAGES.max(PAGES_PER_WORKER_MIN * workers);
        let sink = writer::open(target)?;
        Self::writing_to(sink, Some(target.clone()), options.format, pages, cells).map(Some)
    }

    fn writing_to(
        sink: Sink,
        target: Option<LogTarget>,
        format: LogFormat,
        pages: usize,
        cells: Arc<Cells>,
    ) -> io::Result<Self> {
        let pages = Arc::new(Pages::new(pages));
        let writer = LogWriter::new(pages.clone(), sink, target, cells);
        let thread = std::thread::Builder::new().name("access-log".to_owned()).spawn(move || writer.run())?;
        Ok(Self { format, pages, thread })
    }

    /// A worker's share in it. `cells` are the worker's.
    pub(crate) fn of_worker(&self, cells: Arc<Cells>) -> WorkerLog {
        let open = CurrentPage { page: None, stamp: Stamp::default() };
        WorkerLog { format: self.format, pages: self.pages.clone(), cells, open: RefCell::new(open) }
    }

    /// Opens the file anew before the next page is written: somebody has moved it away.
    pub(crate) fn reopen(&self) {
        self.pages.reopen();
    }

    /// Writes what the workers have handed over, and ends; to be called when they have ended. What a pipe does not take
    /// within some seconds is left to the thread alone: it goes on until the program ends.
    pub(crate) fn finish(self) {
        self.pages.close();
        if self.pages.wait_for_end(FINISH_TIMEOUT) {
            let _ = self.thread.join();
        } else {
            tracing::warn!("the access log takes nothing; its last lines are left out");
        }
    }
}

/// One worker's share in the log.
pub(crate) struct WorkerLog {
    format: LogFormat,
    pages: Arc<Pages>,
    cells: Arc<Cells>,
    open: RefCell<CurrentPage>,
}

/// What changes with each line.
struct CurrentPage {
    /// The page that is being filled; none while there is nothing to tell, or no empty one.
    page: Option<LogPage>,
    stamp: Stamp,
}

impl WorkerLog {
    /// Writes a line. Neither waits nor allocates; without an empty page the line is dropped and counted.
    pub(crate) fn line(&self, now: Now, record: &Record<'_>) {
        let mut open = self.open.borrow_mut();
        let CurrentPage { page, stamp } = &mut *open;
        stamp.set(now);
        for _ in 0..2 {
            if page.is_none() {
                *page = self.pages.empty();
            }
            let Some(current) = page else { break };
            if add(current, self.format, record, stamp) {
                return;
            }
            // It does not fit any more: full pages go to the writer, and the line into the next.
            self.hand_over(page);
        }
        self.cells.count(Counter::LogLinesDropped);
    }

    /// Hands over what is there.
    pub(crate) fn flush(&self) {
        self.hand_over(&mut self.open.borrow_mut().page);
    }

    fn hand_over(&self, page: &mut Option<LogPage>) {
        if let Some(page) = page.take() {
            self.pages.hand_over(page);
        }
    }
}

/// A worker that ends leaves nothing behind, however it ends.
impl Drop for WorkerLog {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Appends a line as a whole, or leaves the page as it was.
fn add(page: &mut LogPage, format: LogFormat, record: &Record<'_>, stamp: &Stamp) -> bool {
    let start = page.bytes.len();
    let mut text = Text::new(&mut page.bytes, pages::PAGE_BYTES);
    format::line(format, record, stamp, &mut text);
    let fits = text.is_whole();
    if fits {
        page.lines += 1;
    } else {
        page.bytes.truncate(start);
    }
    fits
}

#[cfg(test)]
mod tests;
