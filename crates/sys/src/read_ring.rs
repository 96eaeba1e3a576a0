//! Reads files by io_uring: many reads wait for the disk at a time, and one thread waits for all of them.
//!
//! That thread owns the ring. Callers put their reads into a list and wake the thread; it hands them to the kernel, all that have come
//! by then with one system call, and the same call waits for what the disk has answered. So no system call on a ring is made by a
//! caller's thread, for two reasons. A submission may wait, for memory or for a full queue of the disk. And what the kernel still has to do
//! for a read, it does on the thread that submitted it: it interrupts that thread, and gives the read up if that thread ends.
//!
//! While there is no read, the thread waits outside of the ring. In the ring, it would count as a thread that waits for a disk, since it has
//! asked for a wake-up there: an idle server would show an I/O pressure of 100 % (`/proc/pressure/io`), and a processor in iowait.
//!
//! It is for file systems that read asynchronously: see [`suits`]. On others the submission waits for the disk (FUSE on Linux 6.18), or the
//! kernel reads by threads of its own.
//!
//! The kernel writes into the buffers of a read until it has answered it, whether or not anybody still wants the bytes. So the table of
//! reads in flight owns the buffers and the file, and if it is dropped before the answer, it leaks them.

use io_uring::{IoUring, cqueue, opcode, squeue, types};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::Builder;
use std::time::Duration;
use tokio::sync::oneshot;

/// The most reads at a time.
const READS_MAX: usize = 256;

/// The most bytes that are being read at a time.
const BYTES_MAX: usize = 16 << 20;

/// Entries of the submission queue: a power of two with room for all reads and the wake-up. The completion queue has twice as many.
const ENTRIES: u32 = 2 * READS_MAX as u32;

/// How long the thread waits when the kernel is short of memory.
const MEMORY_PAUSE: Duration = Duration::from_millis(1);

/// Marks the answer to the wait for a wake-up. Other marks are places in the table.
const WAKE: u64 = u64::MAX;

/// The bytes of one read, in two buffers one behind the other.
pub type Buffers = [Vec<u8>; 2];

/// A file to be read. What owns it lives until the kernel has answered.
pub type SharedFile = Arc<dyn AsRef<File> + Send + Sync>;

/// See the [module](self). Drop is as [`ReadRing::close`].
pub struct ReadRing(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// There is a read, or the ring is closed.
    has_work: Condvar,
    has_ended: Condvar,
    wake: OwnedFd,
}

#[derive(Default)]
struct State {
    /// Reads that the kernel does not have yet.
    waiting: Vec<Read>,
    /// The number of all reads, those of the kernel too, and their bytes.
    reads: usize,
    bytes: usize,
    /// Where who adds a read has to wake the thread.
    waits: Wait,
    is_closed: bool,
    has_ended: bool,
}

/// Where the thread waits, or is about to.
#[derive(Default)]
enum Wait {
    /// Nowhere: it will look at the list.
    #[default]
    No,
    /// For a read: it has none.
    ForWork,
    /// For the kernel, in the ring.
    ForKernel,
}

struct Read {
    file: SharedFile,
    offset: u64,
    lengths: [usize; 2],
    buffers: Buffers,
    /// How many bytes are in the buffers.
    count: usize,
    done: oneshot::Sender<io::Result<Option<Buffers>>>,
}

/// The file systems that read asynchronously what the page cache does not have, as statfs(2) names them: ext4 (and what came before it),
/// XFS, Btrfs and F2FS; and tmpfs, which never waits.
const ASYNCHRONOUS: [u64; 5] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994];

/// Whether reads of this file, or of files of this directory, wait for the disk without a thread that waits for each.
///
/// # Errors
/// Nothing is known of the file system.
pub fn suits(file: &File) -> io::Result<bool> {
    let system = rustix::fs::fstatfs(file)?.f_type as u64 & 0xffff_ffff;
    Ok(ASYNCHRONOUS.contains(&system))
}

impl ReadRing {
    /// Starts a ring, and its thread under this name.
    ///
    /// # Errors
    /// There is no io_uring with what this needs (before Linux 6.1), it is forbidden (kernel.io_uring_disabled, a filter of system
    /// calls), or there is no memory for it.
    pub fn start(thread_name: &str) -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let shared =
            Arc::new(Shared { state: Mutex::default(), has_work: Condvar::new(), has_ended: Condvar::new(), wake });
        let (started, starting) = mpsc::channel();
        let of_thread = shared.clone();
        // Nobody joins the thread: it may have to wait for a disk that hangs.
        Builder::new().name(thread_name.to_owned()).spawn(move || {
            let _end = End(&of_thread);
            match open() {
                Ok(ring) => {
                    let _ = started.send(Ok(()));
                    serve(&of_thread, ring);
                }
                Err(error) => drop(started.send(Err(error))),
            }
        })?;
        starting.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
        Ok(Self(shared))
    }

    /// Reads the bytes from `offset` on into two buffers of these lengths. Fewer than wanted come only where the file ends. `None`:
    /// this ring can't read them, since too much is being read already, or it is closed, or the kernel is out of memory. That says
    /// nothing about the file.
    ///
    /// Needs no runtime of a certain kind. The read goes on where the future is dropped.
    ///
    /// # Errors
    /// The file can't be read.
    pub async fn read(&self, file: SharedFile, offset: u64, lengths: [usize; 2]) -> io::Result<Option<Buffers>> {
        let bytes = lengths.iter().fold(0_usize, |sum, length| sum.saturating_add(*length));
        // The kernel takes the greatest offset for "wherever the last read ended".
        let end = offset.checked_add(bytes as u64).filter(|end| i64::try_from(*end).is_ok());
        if end.is_none() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let Some(answer) = self.begin(file, offset, lengths, bytes) else { return Ok(None) };
        answer.await.unwrap_or(Ok(None))
    }

    fn begin(
        &self,
        file: SharedFile,
        offset: u64,
        lengths: [usize; 2],
        bytes: usize,
    ) -> Option<oneshot::Receiver<io::Result<Option<Buffers>>>> {
        let (done, answer) = oneshot::channel();
        {
            let mut state = self.0.state();
            if state.is_closed || state.reads >= READS_MAX || state.bytes.saturating_add(bytes) > BYTES_MAX {
                return None;
            }
            state.reads += 1;
            state.bytes += bytes;
        }
        // Not under the lock, since they may be large; and by the caller, who mostly gives them back, which is quickest on one thread.
        let buffers = lengths.map(Vec::with_capacity);
        let mut state = self.0.state();
        if state.has_ended {
            return None;
        }
        state.waiting.push(Read { file, offset, lengths, buffers, count: 0, done });
        self.0.wake(state);
        Some(answer)
    }

    /// Whether it takes reads.
    pub fn is_open(&self) -> bool {
        !self.0.state().is_closed
    }

    /// Takes no more reads. The thread ends when all that it has are answered.
    pub fn close(&self) {
        let mut state = self.0.state();
        state.is_closed = true;
        self.0.wake(state);
    }

    /// Waits until the thread has ended, at most that long. Returns whether it has. If the disk hangs, it goes on waiting, without
    /// keeping the process from its end.
    pub fn ends_within(&self, wait_max: Duration) -> bool {
        let state = self.0.state();
        let waited = self.0.has_ended.wait_timeout_while(state, wait_max, |state| !state.has_ended);
        waited.unwrap_or_else(PoisonError::into_inner).0.has_ended
    }
}

impl std::fmt::Debug for ReadRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadRing").finish_non_exhaustive()
    }
}

impl Drop for ReadRing {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Each change under the lock is complete in itself.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the thread look at what has changed.
    fn wake(&self, mut state: MutexGuard<'_, State>) {
        let waits = std::mem::take(&mut state.waits);
        drop(state);
        match waits {
            Wait::No => {}
            Wait::ForWork => self.has_work.notify_one(),
            // It fails only where the counter is full, and then the thread is awake.
            Wait::ForKernel => drop(rustix::io::write(&self.wake, &1_u64.to_ne_bytes())),
        }
    }

    /// Waits until there is a read, or the ring is closed.
    fn wait_for_work(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        state.waits = Wait::ForWork;
        let has_none = |state: &mut State| state.waiting.is_empty() && !state.is_closed;
        self.has_work.wait_while(state, has_none).unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says that the thread has ended, even by a panic: nobody waits for its answers then.
struct End<'a>(&'a Shared);

impl Drop for End<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_closed = true;
        state.has_ended = true;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        // Not under the lock: to drop a file may be anything.
        drop(waiting);
        self.0.has_ended.notify_all();
    }
}

#[allow(unsafe_code)]
fn open() -> io::Result<IoUring> {
    let mut ring: IoUring = IoUring::builder()
        // The kernel completes reads while the thread waits for that, and does not interrupt it (Linux 6.1).
        .setup_single_issuer()
        .setup_defer_taskrun()
        // A read that can't be submitted is answered with its error, and the others are submitted.
        .setup_submit_all()
        .dontfork()
        .build(ENTRIES)?;
    // A filter may allow the set-up and nothing else.
    // SAFETY: the entry points to nothing.
    unsafe { ring.submission().push(&opcode::Nop::new().build()) }.map_err(io::Error::other)?;
    ring.submit_and_wait(1)?;
    ring.completion().for_each(drop);
    Ok(ring)
}

/// Hands reads to the kernel and answers them, until the ring is closed and all are answered. The work of the thread.
#[allow(unsafe_code)]
fn serve(shared: &Shared, mut ring: IoUring) {
    let mut flights = Flights::new();
    let (mut arrived, mut unsubmitted, mut answers, mut finished) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut waits_for_wake = false;
    loop {
        if !waits_for_wake {
            // Before the reads are taken, since a wake-up for a later one must stay.
            let _ = rustix::io::read(&shared.wake, &mut [0_u8; 8]);
            let poll = opcode::PollAdd::new(types::Fd(shared.wake.as_raw_fd()), libc::POLLIN as u32).multi(true);
            // SAFETY: the entry points to nothing.
            waits_for_wake = unsafe { ring.submission().push(&poll.build().user_data(WAKE)) }.is_ok();
        }
        let is_closed = {
            let mut state = if flights.are_none() { shared.wait_for_work() } else { shared.state() };
            std::mem::swap(&mut state.waiting, &mut arrived);
            state.waits = Wait::ForKernel;
            state.is_closed
        };
        // Also a read whose caller has gone away: it is about to be answered anyway, and what it reads stays in the page cache.
        unsubmitted.extend(arrived.drain(..).filter_map(|read| flights.add(read)));
        if is_closed && flights.are_none() {
            return;
        }
        {
            let mut queue = ring.submission();
            unsubmitted.retain(|place| {
                let Some(entry) = flights.entry(*place) else { return false };
                // SAFETY: the file, the buffers and the list of their slices stay where they are until the kernel has answered.
                unsafe { queue.push(&entry) }.is_err()
            });
        }
        match ring.submit_and_wait(1).map_err(|error| Errno::from_io_error(&error)) {
            Ok(_) | Err(Some(Errno::INTR)) => {}
            Err(Some(Errno::AGAIN | Errno::NOMEM | Errno::BUSY)) => std::thread::sleep(MEMORY_PAUSE),
            // Nothing can be read by this ring any more.
            Err(_) => return,
        }
        let answer = |entry: cqueue::Entry| (entry.user_data(), entry.result(), cqueue::more(entry.flags()));
        answers.extend(ring.completion().map(answer));
        for (place, result, has_more) in answers.drain(..) {
            if place == WAKE {
                waits_for_wake = has_more;
                if result < 0 {
                    std::thread::sleep(MEMORY_PAUSE);
                }
                continue;
            }
            match flights.answer(place, result) {
                Answered::InPart => unsubmitted.push(place),
                Answered::Whole(read) => finished.push(read),
                Answered::Nothing => {}
            }
        }
        {
            let mut state = shared.state();
            state.waits = Wait::No;
            state.reads = state.reads.saturating_sub(finished.len());
            state.bytes = finished.iter().fold(state.bytes, |bytes, read| bytes.saturating_sub(read.bytes));
        }
        for Finished { done, outcome, .. } in finished.drain(..) {
            // The caller may have gone away.
            let _ = done.send(outcome);
        }
    }
}

/// The reads that the kernel has, and those that are on their way to it. Drop answers none of them, and leaks their buffers and files: the
/// kernel may still write there.
struct Flights {
    /// It never grows, so what is in it stays where it is.
    places: Box<[Option<Flight>]>,
    free: Vec<usize>,
}

struct Flight {
    read: Read,
    /// Where the kernel writes.
    slices: [libc::iovec; 2],
}

/// What became of a read.
enum Answered {
    /// Some bytes have come, and the others have to be asked for.
    InPart,
    /// It has ended.
    Whole(Finished),
    /// There is no such read.
    Nothing,
}

/// A read that has ended, whose caller waits for its outcome.
struct Finished {
    done: oneshot::Sender<io::Result<Option<Buffers>>>,
    outcome: io::Result<Option<Buffers>>,
    /// How many bytes were wanted.
    bytes: usize,
}

impl Flights {
    fn new() -> Self {
        Self { places: (0..READS_MAX).map(|_| None).collect(), free: (0..READS_MAX).collect() }
    }

    fn are_none(&self) -> bool {
        self.free.len() == self.places.len()
    }

    /// The place of a read in the table. Without room, which never happens, its caller is told that it can't be read here.
    fn add(&mut self, read: Read) -> Option<u64> {
        let place = self.free.pop()?;
        let nothing = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        *self.places.get_mut(place)? = Some(Flight { read, slices: [nothing; 2] });
        Some(place as u64)
    }

    fn place(&mut self, place: u64) -> Option<&mut Option<Flight>> {
        self.places.get_mut(usize::try_from(place).ok()?)
    }

    /// Asks the kernel for all bytes that have not come yet.
    fn entry(&mut self, place: u64) -> Option<squeue::Entry> {
        let Flight { read, slices } = self.place(place)?.as_mut()?;
        let counts = read.counts();
        for ((slice, buffer), (length, count)) in
            slices.iter_mut().zip(&mut read.buffers).zip(read.lengths.iter().zip(counts))
        {
            *slice = libc::iovec { iov_base: buffer.as_mut_ptr().wrapping_add(count).cast(), iov_len: length - count };
        }
        let file = types::Fd((*read.file).as_ref().as_raw_fd());
        let readv = opcode::Readv::new(file, slices.as_ptr(), slices.len() as u32);
        Some(readv.offset(read.offset + read.count as u64).build().user_data(place))
    }

    /// What becomes of a read by this answer of the kernel.
    fn answer(&mut self, place: u64, result: i32) -> Answered {
        let Some(slot) = self.place(place) else { return Answered::Nothing };
        let Some(flight) = slot.as_mut() else { return Answered::Nothing };
        let read = &mut flight.read;
        let outcome = match usize::try_from(result) {
            Ok(count) => {
                read.count += count.min(read.bytes() - read.count);
                if count > 0 && read.count < read.bytes() {
                    return Answered::InPart;
                }
                Ok(true)
            }
            Err(_) => match Errno::from_raw_os_error(result.saturating_neg()) {
                Errno::INTR => return Answered::InPart,
                // Of this ring or of this way to read, and not of the file.
                Errno::AGAIN | Errno::CANCELED | Errno::NOMEM | Errno::NOBUFS | Errno::INVAL | Errno::OPNOTSUPP => {
                    Ok(false)
                }
                error => Err(error.into()),
            },
        };
        let Some(Flight { read, .. }) = slot.take() else { return Answered::Nothing };
        if let Ok(place) = usize::try_from(place) {
            self.free.push(place);
        }
        let bytes = read.bytes();
        let (done, file, buffers) = read.into_parts();
        // Before the caller goes on, which may ask who else has the file.
        drop(file);
        Answered::Whole(Finished { done, outcome: outcome.map(|is_read| is_read.then_some(buffers)), bytes })
    }
}

impl Drop for Flights {
    fn drop(&mut self) {
        for flight in self.places.iter_mut().filter_map(Option::take) {
            let Read { file, buffers, done, .. } = flight.read;
            std::mem::forget((file, buffers));
            drop(done);
        }
    }
}

impl Read {
    /// How many bytes are wanted.
    fn bytes(&self) -> usize {
        self.lengths.iter().sum()
    }

    /// How many bytes each buffer has.
    fn counts(&self) -> [usize; 2] {
        let first = self.count.min(self.lengths[0]);
        [first, (self.count - first).min(self.lengths[1])]
    }

    /// The kernel has answered: who waits, the file, and the bytes that have come.
    #[allow(unsafe_code)]
    fn into_parts(mut self) -> (oneshot::Sender<io::Result<Option<Buffers>>>, SharedFile, Buffers) {
        let counts = self.counts();
        for (buffer, count) in self.buffers.iter_mut().zip(counts) {
            // SAFETY: the kernel has written so many bytes, which are not more than the capacity.
            unsafe { buffer.set_len(count) };
        }
        (self.done, self.file, self.buffers)
    }
}

#[cfg(test)]
mod tests;
