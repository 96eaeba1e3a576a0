//! The access log: one line for each request, to a file or to standard output. No worker ever waits for it.
//!
//! A worker writes its lines into a page of its own ([`WorkerLog`]): memory, no lock, no system call. The worker hands a page
//! that is full, or a second old, to the one thread that writes ([`writer`]), and takes an empty page instead. The number of
//! pages is fixed at the start ([`pages`]). When no page is empty, since the disk or the reader of the pipe is behind, the worker
//! drops the line and counts it. So the log can lose lines, but it never holds a request up, and its memory never grows.
//!
//! | file | what |
//! |---|---|
//! | `record` | the data of a line |
//! | `format` | writes a record as a line |
//! | `text` | bounds and escapes the fields of a line |
//! | `stamp` | the current time, as lines write it |
//! | `pages` | the queues of full and empty pages |
//! | `writer` | the thread that writes, and its target |
//!
//! A page has whole lines only, so lines of two workers never mix. A worker's lines are in the order in which it finished their
//! requests; lines of different workers may be out of order by up to a second.

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

/// How often a worker hands its page over: how far the log may be behind on a server with few requests.
pub(crate) const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// The number of pages in the whole program, 64 KiB each. At 200 bytes a line and 100,000 requests a second they bridge 0.4 s.
const PAGES: usize = 128;

/// The least number of pages for each worker: one that the worker fills, and some on their way to the writer.
const PAGES_PER_WORKER_MIN: usize = 4;

/// How long [`AccessLog::finish`] waits for a file or pipe that takes no bytes.
const FINISH_TIMEOUT: Duration = Duration::from_secs(5);

/// The log's name in an error message.
pub(crate) fn name(options: &Options) -> String {
    match &options.target {
        Some(LogTarget::File(path)) => format!("the access log {}", path.display()),
        _ => "the access log on standard output".to_owned(),
    }
}

/// The log of the whole program, and the thread that writes it.
pub(crate) struct AccessLog {
    format: LogFormat,
    pages: Arc<Pages>,
    thread: JoinHandle<()>,
}

impl AccessLog {
    /// Opens the log and starts its writer. `cells` are the writer's own counters. `None`: the configuration has no log.
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

    /// Makes a worker's part of the log. `cells` are the worker's counters.
    pub(crate) fn of_worker(&self, cells: Arc<Cells>) -> WorkerLog {
        let open = CurrentPage { page: None, stamp: Stamp::default() };
        WorkerLog { format: self.format, pages: self.pages.clone(), cells, open: RefCell::new(open) }
    }

    /// Has the writer open the file anew before the next page, after it was moved away (logrotate).
    pub(crate) fn reopen(&self) {
        self.pages.reopen();
    }

    /// Writes what the workers have handed over, and ends the log. To be called when no worker uses it any more. If the target
    /// takes no bytes for [`FINISH_TIMEOUT`], this returns, and the thread goes on until the program ends.
    pub(crate) fn finish(self) {
        self.pages.close();
        if self.pages.wait_for_end(FINISH_TIMEOUT) {
            let _ = self.thread.join();
        } else {
            tracing::warn!("the access log did not take its last lines in time; they are lost");
        }
    }
}

/// One worker's part of the log.
pub(crate) struct WorkerLog {
    format: LogFormat,
    pages: Arc<Pages>,
    cells: Arc<Cells>,
    open: RefCell<CurrentPage>,
}

/// The state that changes with each line.
struct CurrentPage {
    /// The page that is being filled. `None` after it was handed over, and while no page is empty.
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
            // The line does not fit any more: the full page goes to the writer, and the line into the next page.
            self.hand_over(page);
        }
        self.cells.count(Counter::LogLinesDropped);
    }

    /// Hands the current page to the writer.
    pub(crate) fn flush(&self) {
        self.hand_over(&mut self.open.borrow_mut().page);
    }

    fn hand_over(&self, page: &mut Option<LogPage>) {
        if let Some(page) = page.take() {
            self.pages.hand_over(page);
        }
    }
}

/// A worker that ends hands its last page over, even after a panic.
impl Drop for WorkerLog {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Appends a whole line, or leaves the page as it was. Returns whether the line fitted.
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
