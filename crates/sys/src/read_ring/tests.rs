use super::*;
use rustix::fs::{Advice, fadvise};
use std::io::{PipeReader, Write};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Longer than anything here takes.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// Waits until that is so.
fn until(is_so: impl Fn() -> bool) {
    let end = std::time::Instant::now() + WAIT_MAX;
    while !is_so() {
        assert!(std::time::Instant::now() < end, "it never happened");
        std::thread::yield_now();
    }
}

/// `None`, with a message, where there is no io_uring.
fn ring() -> Option<ReadRing> {
    match ReadRing::start("test-ring") {
        Ok(ring) => Some(ring),
        Err(error) => {
            use io::ErrorKind::{InvalidInput, OutOfMemory, PermissionDenied, Unsupported};
            assert!([InvalidInput, OutOfMemory, PermissionDenied, Unsupported].contains(&error.kind()), "{error}");
            // Not by eprintln!: the test harness hides its output if the test passes.
            let text = format!("\n*** no io_uring, so this shows nothing here: {error} ***\n");
            io::stderr().write_all(text.as_bytes()).unwrap();
            None
        }
    }
}

/// A file with these bytes, and without a name.
fn file_of(test: &str, bytes: &[u8]) -> Arc<TestFile> {
    let path = std::env::temp_dir().join(format!("kasoku-read-ring-{test}-{}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    let file = File::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    file.sync_all().unwrap();
    Arc::new(TestFile(file))
}

/// A pipe is a file that answers when the test says so.
fn pipe() -> (Arc<TestFile>, io::PipeWriter) {
    let (reader, writer): (PipeReader, _) = io::pipe().unwrap();
    (Arc::new(TestFile(File::from(OwnedFd::from(reader)))), writer)
}

struct TestFile(File);

impl AsRef<File> for TestFile {
    fn as_ref(&self) -> &File {
        &self.0
    }
}

fn bytes_of(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8).collect()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(async { tokio::time::timeout(WAIT_MAX, future).await.expect("the read is not answered") })
}

/// Hands a read to the ring, and goes away.
fn begin(ring: &ReadRing, file: &Arc<TestFile>, lengths: [usize; 2]) -> Poll<io::Result<Option<Buffers>>> {
    pin!(ring.read(file.clone(), 0, lengths)).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn many_reads_of_several_threads_get_their_own_bytes() {
    let Some(ring) = ring() else { return };
    let bytes = bytes_of(3 << 20);
    let file = file_of("many", &bytes);
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            let (ring, file, bytes) = (&ring, &file, &bytes);
            scope.spawn(move || {
                for round in 0..20 {
                    // From the disk, where there is one.
                    fadvise(&file.0, 0, None, Advice::DontNeed).unwrap();
                    let wanted: Vec<(usize, [usize; 2])> = (0..32)
                        .map(|number| {
                            let seed = (thread * 20 + round) * 32 + number;
                            (seed * 40_503 % (3 << 20), [seed * 7 % 700, seed * 101 % 60_000])
                        })
                        .collect();
                    let reads = wanted.iter().map(|(at, lengths)| ring.begin_for_test(file, *at, *lengths));
                    let reads: Vec<_> = reads.collect();
                    for ((at, [head, body]), read) in wanted.into_iter().zip(reads) {
                        let [first, second] = block_on(read).unwrap().unwrap().unwrap();
                        let rest = &bytes[at..];
                        assert!(first == rest[..head.min(rest.len())]);
                        assert!(second == rest[first.len()..][..body.min(rest.len() - first.len())]);
                    }
                }
            });
        }
    });
    assert_eq!(Arc::strong_count(&file), 1);
}

impl ReadRing {
    /// A read that is under way before anybody waits for it.
    fn begin_for_test(
        &self,
        file: &Arc<TestFile>,
        at: usize,
        lengths: [usize; 2],
    ) -> oneshot::Receiver<io::Result<Option<Buffers>>> {
        self.begin(file.clone(), at as u64, lengths, lengths.iter().sum()).unwrap()
    }
}

#[test]
fn at_the_end_of_a_file_fewer_bytes_come() {
    let Some(ring) = ring() else { return };
    let file = file_of("end", b"0123456789");
    let read = |at: u64, lengths| block_on(ring.read(file.clone(), at, lengths)).unwrap().unwrap();
    assert_eq!(read(2, [3, 4]), [b"234".to_vec(), b"5678".to_vec()]);
    assert_eq!(read(2, [3, 100]), [b"234".to_vec(), b"56789".to_vec()]);
    assert_eq!(read(8, [3, 100]), [b"89".to_vec(), Vec::new()]);
    assert_eq!(read(8, [0, 1]), [Vec::new(), b"8".to_vec()]);
    assert_eq!(read(8, [0, 0]), [Vec::new(), Vec::new()]);
    assert_eq!(read(1000, [3, 100]), [Vec::new(), Vec::new()]);
    for at in [u64::MAX, u64::MAX - 3, i64::MAX as u64 - 2] {
        assert!(block_on(ring.read(file.clone(), at, [3, 0])).is_err(), "{at}");
    }
}

#[test]
fn bytes_that_come_one_by_one_are_put_together() {
    let Some(ring) = ring() else { return };
    let (file, mut pipe) = pipe();
    let read = ring.begin_for_test(&file, 0, [3, 5]);
    for byte in b"abcdef" {
        pipe.write_all(&[*byte]).unwrap();
        // The ring must take the byte before the next one comes.
        until(|| rustix::io::ioctl_fionread(&file.0).unwrap() == 0);
    }
    drop(pipe);
    assert_eq!(block_on(read).unwrap().unwrap().unwrap(), [b"abc".to_vec(), b"def".to_vec()]);
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_and_the_ring_goes_on() {
    let Some(ring) = ring() else { return };
    let path = std::env::temp_dir().join(format!("kasoku-read-ring-error-{}", std::process::id()));
    let unreadable = Arc::new(TestFile(File::create(&path).unwrap()));
    std::fs::remove_file(&path).unwrap();
    assert!(block_on(ring.read(unreadable, 0, [10, 10])).is_err());
    let file = file_of("after-an-error", b"0123456789");
    assert_eq!(block_on(ring.read(file, 0, [1, 1])).unwrap().unwrap(), [b"0", b"1"]);
}

#[test]
fn a_read_whose_caller_has_gone_away_keeps_its_file_until_it_is_answered() {
    let Some(ring) = ring() else { return };
    let (file, mut pipe) = pipe();
    assert!(begin(&ring, &file, [2, 2]).is_pending());
    let other = file_of("other", b"0123456789");
    assert!(block_on(ring.read(other, 0, [1, 1])).is_ok(), "the others do not wait for it");
    assert_eq!(Arc::strong_count(&file), 2);
    pipe.write_all(b"0123").unwrap();
    drop(ring);
    until(|| Arc::strong_count(&file) == 1);
}

#[test]
fn a_ring_that_is_closed_takes_nothing_and_ends_when_the_disk_has_answered() {
    let Some(ring) = ring() else { return };
    let (file, mut pipe) = pipe();
    let read = ring.begin_for_test(&file, 0, [2, 2]);
    ring.close();
    assert!(!ring.is_open());
    let other = file_of("closed", b"0123456789");
    assert!(block_on(ring.read(other, 0, [1, 1])).unwrap().is_none());
    assert!(!ring.ends_within(Duration::ZERO), "the disk hangs");
    pipe.write_all(b"0123").unwrap();
    assert_eq!(block_on(read).unwrap().unwrap().unwrap(), [b"01", b"23"]);
    assert!(ring.ends_within(WAIT_MAX));
}

#[test]
fn a_file_system_that_is_not_known_to_read_asynchronously_does_not_suit() {
    assert!(!suits(&File::open("/proc/self/status").unwrap()).unwrap());
    let file = file_of("system", b"");
    assert_eq!(suits(&file.0).unwrap(), ASYNCHRONOUS.contains(&(rustix::fs::fstatfs(&file.0).unwrap().f_type as u64)));
}

#[test]
fn a_read_that_comes_while_the_thread_begins_to_wait_is_answered() {
    let file = file_of("start", b"0123456789");
    for _ in 0..2000 {
        let Some(ring) = ring() else { return };
        assert_eq!(block_on(ring.read(file.clone(), 0, [1, 1])).unwrap().unwrap(), [b"0", b"1"]);
    }
}

#[test]
fn a_ring_without_reads_ends_at_once() {
    let Some(ring) = ring() else { return };
    ring.close();
    assert!(ring.ends_within(WAIT_MAX));
}

/// The number of the system call in which the thread of that name is; `None` where it runs, or where the kernel does not say.
fn system_call_of(thread_name: &str) -> Option<libc::c_long> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let is_it = |task: &std::path::PathBuf| {
        std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim_end() == thread_name)
    };
    let task = tasks.into_iter().find(is_it)?;
    std::fs::read_to_string(task.join("syscall")).ok()?.split(' ').next()?.parse().ok()
}

#[test]
fn a_ring_without_reads_is_not_said_to_wait_for_a_disk() {
    if std::fs::read_to_string("/proc/thread-self/syscall").is_err() {
        return;
    }
    let Ok(ring) = ReadRing::start("idle-ring") else { return };
    let waits_in = |call: libc::c_long| {
        let end = std::time::Instant::now() + WAIT_MAX;
        while system_call_of("idle-ring") != Some(call) {
            assert!(std::time::Instant::now() < end, "it is in {:?}", system_call_of("idle-ring"));
            std::thread::yield_now();
        }
    };
    for _ in 0..2 {
        waits_in(libc::SYS_futex);
        let (file, mut pipe) = pipe();
        let read = ring.begin_for_test(&file, 0, [1, 1]);
        waits_in(libc::SYS_io_uring_enter);
        pipe.write_all(b"01").unwrap();
        assert_eq!(block_on(read).unwrap().unwrap().unwrap(), [b"0", b"1"]);
    }
}

#[test]
fn reads_and_their_bytes_are_bounded() {
    let Some(ring) = ring() else { return };
    let (file, pipe) = pipe();
    let other = file_of("bounds", b"0123456789");
    let refuses = |lengths| block_on(ring.read(other.clone(), 0, lengths)).unwrap().is_none();
    assert!(refuses([0, BYTES_MAX + 1]) && refuses([1 << 40, 1 << 40]));
    assert!(begin(&ring, &file, [BYTES_MAX - 5, 0]).is_pending());
    assert!(refuses([3, 3]) && !refuses([3, 2]));
    drop(pipe);
    until(|| !refuses([0, BYTES_MAX]));
    let (file, pipe) = self::pipe();
    assert!((0..READS_MAX).all(|_| begin(&ring, &file, [1, 0]).is_pending()));
    assert!(refuses([1, 0]));
    drop(pipe);
    until(|| !refuses([1, 0]));
}

#[test]
fn the_table_leaks_what_the_kernel_may_still_write() {
    let file = file_of("leak", b"0123456789");
    let (done, mut answer) = oneshot::channel();
    let buffers = [Vec::with_capacity(1), Vec::new()];
    let mut flights = Flights::new();
    flights.add(Read { file: file.clone(), offset: 0, lengths: [1, 0], buffers, count: 0, done }).unwrap();
    drop(flights);
    assert_eq!(Arc::strong_count(&file), 2);
    assert!(matches!(answer.try_recv(), Err(oneshot::error::TryRecvError::Closed)), "nobody waits in vain");
}

/// Has each call of these fail on this thread and on those that it starts, as filters of containers do.
#[allow(unsafe_code)]
fn forbid(calls: &[libc::c_long], error: Errno) {
    let instruction = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut program = vec![instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0)];
    for call in calls {
        program.push(instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, *call as u32));
        program.push(instruction(libc::BPF_RET, 0, 0, libc::SECCOMP_RET_ERRNO | error.raw_os_error() as u32));
    }
    program.push(instruction(libc::BPF_RET, 0, 0, libc::SECCOMP_RET_ALLOW));
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the kernel copies the filter.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter), 0);
    }
}

#[test]
fn where_io_uring_is_forbidden_the_start_says_so() {
    let start = |calls: &'static [libc::c_long], error: Errno| {
        let start = move || {
            forbid(calls, error);
            ReadRing::start("test-ring").map(drop)
        };
        std::thread::spawn(start).join().unwrap().map_err(|error| error.kind())
    };
    for error in [Errno::PERM, Errno::NOSYS, Errno::NOMEM] {
        let expected = Err(io::Error::from(error).kind());
        assert_eq!(start(&[libc::SYS_io_uring_setup], error), expected);
    }
    if ring().is_some() {
        assert_eq!(start(&[libc::SYS_io_uring_enter], Errno::PERM), Err(io::ErrorKind::PermissionDenied));
    }
}

#[test]
fn other_programs_do_not_get_the_ring() {
    let Some(_ring) = ring() else { return };
    let open = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| {
        let entry = entry.unwrap();
        let target = std::fs::read_link(entry.path()).ok()?;
        target.to_string_lossy().contains("io_uring").then(|| entry.file_name().into_string().unwrap())
    });
    let rings: Vec<String> = open.collect();
    assert!(!rings.is_empty());
    for number in rings {
        // Another test may have closed its own meanwhile.
        let Ok(info) = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")) else { continue };
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
        let flags = i32::from_str_radix(flags.trim(), 8).unwrap();
        assert!(flags & libc::O_CLOEXEC != 0, "{info}");
    }
}
