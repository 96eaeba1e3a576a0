//! Starts programs, fast and from a clean slate, and sees to their end.
//!
//! [`start`] does what posix_spawn(3) does. It is made here since posix_spawn has no resource limits, and std can't close descriptors
//! that it did not open. The child shares this process's memory until it has become the program (clone with CLONE_VM and
//! CLONE_VFORK), so its cost does not grow with the parent's memory as fork's does. What the program finds:
//!
//! * Descriptors 0, 1 and 2, and no other, whatever this process has open and however it was opened (during an upgrade
//!   listening sockets are open for a successor, [`crate::listen::leave_open`]).
//! * A process group of its own, so that what it starts can be ended with it.
//! * All signals at their default and none blocked. Rust ignores SIGPIPE; a program whose reader has gone should end.
//! * The usual number of descriptors, however many this process may have.
//! * None of this process's ambient capabilities. A service that may bind ports below 1024 has CAP_NET_BIND_SERVICE as one, which
//!   execve(2) hands on: a program with it can bind the server's own port beside it (SO_REUSEPORT) and answer its clients.
//! * A umask of its own ([`ProgramSpec::umask`]), whatever this process's is.
//! * Its bounds ([`Bounds`]) from its first instruction on. Bounds that are set from outside after the start could miss what the
//!   program has forked until then.
//!
//! Measured with `cargo run --release -p kasoku-sys --example process_start` (2 cores, Linux 6.18, medians of 300): the caller is
//! blocked for 28 µs, whether it holds 1 GiB or nothing; with std's Command for 36 µs by posix_spawn and for 13 ms by fork, which std
//! uses where limits are to be set (docs/decisions/0015).
//!
//! The calling thread is blocked until the program's file has been opened and mapped. On a slow disk that may take long, so workers
//! start programs on another thread.
//!
//! No [`ChildProcess`] is left behind: dropping it kills its group, and a thread waits for it (wait(2)).

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A program to start, and what the program finds.
#[derive(Clone, Copy, Debug)]
pub struct ProgramSpec<'a> {
    /// Its file. No shell runs it, and PATH is not searched.
    pub file: &'a CStr,
    /// Its arguments, its own name first.
    pub arguments: &'a [CString],
    /// `NAME=value` each.
    pub environment: &'a [CString],
    /// The working directory.
    pub directory: &'a CStr,
    /// Descriptor 0.
    pub stdin: BorrowedFd<'a>,
    /// Descriptor 1.
    pub stdout: BorrowedFd<'a>,
    /// Descriptor 2.
    pub stderr: BorrowedFd<'a>,
    /// The permissions that files and directories which it makes do not get (umask(2)).
    pub umask: u32,
    /// What it may use.
    pub bounds: Bounds,
}

/// The umask of programs if no other is set: other users may read the files that they make, and only their owner may write them.
pub const UMASK_DEFAULT: u32 = 0o022;

/// What one process may use of the machine; each process that it starts may use as much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Address space in bytes (RLIMIT_AS): allocations beyond it fail, and most programs end then.
    pub memory_bytes_max: Option<u64>,
    /// Processor time, rounded up to seconds (RLIMIT_CPU): then the process gets SIGXCPU, a second later SIGKILL.
    pub cpu_max: Option<Duration>,
}

/// A running program that belongs to no event loop yet.
#[derive(Debug)]
pub struct Started(Child);

/// A running program in the event loop of this thread.
#[derive(Debug)]
pub struct ChildProcess {
    // Before the child: the registration has to go before the descriptor is closed.
    watch: AsyncFd<OwnedFd>,
    child: Child,
}

/// How a program has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with that code.
    Exit(i32),
    /// By a signal of that number.
    Signal(i32),
    /// Unknown: other code of this process has waited for it.
    Unknown,
}

/// Starts a program. Blocks until its file is being executed.
///
/// # Errors
/// The reason why the file can't be executed: `NotFound`, `PermissionDenied`, ENOEXEC (no program, and no `#!`), E2BIG (more
/// arguments and environment than the kernel takes); or the kernel's refusal to make a process or a descriptor.
pub fn start(program: &ProgramSpec<'_>) -> io::Result<Started> {
    let arguments = pointers(program.arguments);
    let environment = pointers(program.environment);
    let above = |descriptor: BorrowedFd<'_>| rustix::io::fcntl_dupfd_cloexec(descriptor, FIRST_OF_OUR_OWN);
    let standard = [above(program.stdin)?, above(program.stdout)?, above(program.stderr)?];
    let descriptors = rustix::process::getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let mut plan = SpawnPlan {
        file: program.file.as_ptr(),
        arguments: arguments.as_ptr(),
        environment: environment.as_ptr(),
        directory: program.directory.as_ptr(),
        standard: [standard[0].as_raw_fd(), standard[1].as_raw_fd(), standard[2].as_raw_fd()],
        memory: program.bounds.memory_bytes_max.map(|bytes| limit(bytes, bytes)),
        cpu: program.bounds.cpu_max.map(|time| {
            let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
            limit(seconds, seconds.saturating_add(1))
        }),
        descriptors: limit(DESCRIPTORS_MAX.min(descriptors), descriptors),
        umask: program.umask,
        errno: 0,
    };
    let started = clone_into(&mut plan)?;
    if plan.errno == 0 {
        return Ok(started);
    }
    // The child has left this process's memory and is about to end, so this takes no time.
    started.0.wait(WaitIdOptions::empty());
    Err(io::Error::from_raw_os_error(plan.errno))
}

/// Makes the kernel keep how a program has ended until it is waited for. If the parent of this process ignores SIGCHLD, this process
/// inherits that setting; the kernel would then drop endings, and could give a program's number to the next process at once. To be
/// called once, before the first [`start`].
pub fn reset_sigchld() {
    // SAFETY: no handler is installed, and the default of SIGCHLD does nothing.
    #[allow(unsafe_code)]
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
    }
}

/// The effective user id of this process.
pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Descriptors below this number are the program's.
const FIRST_OF_OUR_OWN: RawFd = 3;

/// How many descriptors a program may have open unless it asks for more, as after a login. This process allows itself more, which
/// would break programs that use select(2) and slow down those that close every possible descriptor.
const DESCRIPTORS_MAX: u64 = 1024;

/// The child's stack, in bytes. It calls a dozen functions of the C library, none of them deep.
const STACK_BYTES: usize = 64 << 10;

/// All that the child reads and writes; it lives in the parent's memory.
struct SpawnPlan {
    file: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    directory: *const c_char,
    standard: [RawFd; 3],
    memory: Option<libc::rlimit>,
    cpu: Option<libc::rlimit>,
    descriptors: libc::rlimit,
    umask: libc::mode_t,
    /// Why the child did not become the program; 0: it did.
    errno: c_int,
}

fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}

fn limit(soft: u64, hard: u64) -> libc::rlimit {
    libc::rlimit { rlim_cur: soft, rlim_max: hard }
}

/// Makes the child, which carries out the plan.
#[allow(unsafe_code)]
fn clone_into(plan: &mut SpawnPlan) -> io::Result<Started> {
    let mut stack = vec![0_u128; STACK_BYTES / size_of::<u128>()];
    let mut pidfd: c_int = -1;
    // SAFETY: an all-zero sigset_t is a valid value of it, and sigfillset writes all of it.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let mut before: libc::sigset_t = unsafe { std::mem::zeroed() };
    // A signal handler must not run in the child: it would run on the child's stack and in this process's memory. So all signals are
    // blocked, except SIGCHLD. SIGCHLD can't reach the child, which has no children. By its default action the kernel drops it; but if
    // this thread blocked it, the kernel would keep it, and then interrupt another thread's system call with it.
    // SAFETY: both are valid for the calls, and the mask is put back below on this same thread.
    unsafe {
        libc::sigfillset(&mut all);
        libc::sigdelset(&mut all, libc::SIGCHLD);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
    }
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
    // SAFETY: CLONE_VFORK suspends this thread until the child has left this process's memory (execve or _exit), so `plan`, `stack`,
    // all that the plan points to and the descriptors outlive its use, and only the child touches them meanwhile. The stack grows
    // down from its end, which is aligned to 16 bytes. The child does nothing that another thread's lock could stop, see
    // `become_program`.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(stack.len()).cast::<c_void>();
        libc::clone(become_program, top, flags, ptr::from_mut(plan).cast(), &raw mut pidfd)
    };
    let error = io::Error::last_os_error();
    // SAFETY: `before` was written by the first call.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
    }
    let Some(pid) = Pid::from_raw(pid).filter(|_| pid > 0) else { return Err(error) };
    // SAFETY: CLONE_PIDFD has opened it for this call; nothing else owns it.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    Ok(Started(Child { pid, pidfd, reaped: Cell::new(None) }))
}

/// Runs in the child, which shares the parent's memory while the thread that made it is suspended. So it only makes calls that
/// signal-safety(7) allows: no allocation, no lock, nothing that could panic.
#[allow(unsafe_code)]
extern "C" fn become_program(plan: *mut c_void) -> c_int {
    let plan = plan.cast::<SpawnPlan>();
    // SAFETY: `clone_into` hands over a valid plan and does not touch it until this function ends or execve does. Each call gets
    // pointers into it, or to values of this frame.
    unsafe {
        // The kernel's struct sigaction, all of it zero: SIG_DFL, no flags, an empty mask. The C library's own function refuses two
        // signals that it uses itself, and the parent of this process may have ignored them. SIGKILL and SIGSTOP can't be changed.
        let default = [0_u64; 8];
        for signal in 1..=SIGNAL_MAX {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                default.as_ptr(),
                ptr::null_mut::<c_void>(),
                SIGNAL_SET_BYTES,
            );
        }
        // 0: the child's own number, so it leads a new group.
        let mut done = libc::setpgid(0, 0) == 0;
        let [stdin, stdout, stderr] = (*plan).standard;
        done = done && libc::dup2(stdin, 0) >= 0 && libc::dup2(stdout, 1) >= 0 && libc::dup2(stderr, 2) >= 0;
        done = done && libc::chdir((*plan).directory) == 0;
        if let Some(memory) = &(*plan).memory {
            done = done && libc::setrlimit(libc::RLIMIT_AS, memory) == 0;
        }
        if let Some(cpu) = &(*plan).cpu {
            done = done && libc::setrlimit(libc::RLIMIT_CPU, cpu) == 0;
        }
        done = done && libc::setrlimit(libc::RLIMIT_NOFILE, &(*plan).descriptors) == 0;
        done = done && give_up_capabilities();
        // The child does not share the file system's settings with the parent (no CLONE_FS), so the parent's umask stays.
        libc::umask((*plan).umask);
        // Linux 5.11. An older kernel refuses: then execve closes descriptors with CLOEXEC, which this process's all have except
        // during an upgrade.
        libc::syscall(
            libc::SYS_close_range,
            FIRST_OF_OUR_OWN as libc::c_uint,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        if done && libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut()) == 0 {
            libc::execve((*plan).file, (*plan).arguments, (*plan).environment);
        }
        // The child shares the parent's errno. The parent reads it from the plan, since it makes other calls before it looks.
        (*plan).errno = *libc::__errno_location();
        libc::_exit(127)
    }
}

/// Removes from the child the capabilities that execve would hand on to the program: ambient, then inheritable ones. Each process has
/// its own credentials, so the parent keeps its capabilities.
///
/// Inheritable capabilities alone give nothing to a program whose file does not ask for them, and a sandbox may refuse capset(2)
/// (systemd's group `@privileged` has it). So only the ambient ones must go; returns whether they have.
#[allow(unsafe_code)]
unsafe fn give_up_capabilities() -> bool {
    let header = CapabilityHeader { version: CAPABILITY_VERSION_3, pid: 0 };
    let mut sets = [CapabilitySets::default(); 2];
    // SAFETY: the kernel reads the header and writes, then reads, the two elements that version 3 has; all are values of this frame.
    unsafe {
        let are_ambient_gone = libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0;
        if libc::syscall(libc::SYS_capget, &raw const header, sets.as_mut_ptr()) == 0 {
            let [low, high] = &mut sets;
            (low.inheritable, high.inheritable) = (0, 0);
            libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr());
        }
        are_ambient_gone
    }
}

/// The version of the structures that capget(2) takes.
const CAPABILITY_VERSION_3: u32 = 0x2008_0522;

/// The header of capget(2) and capset(2).
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    /// 0: the caller.
    pid: c_int,
}

/// 32 capabilities of each kind.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilitySets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// The highest signal of Linux.
const SIGNAL_MAX: c_int = 64;

/// The size of the kernel's set of signals.
const SIGNAL_SET_BYTES: usize = 8;

/// A child process, or how it has ended once it was waited for.
#[derive(Debug)]
struct Child {
    pid: Pid,
    pidfd: OwnedFd,
    /// How it has ended, once it was waited for (wait(2)).
    reaped: Cell<Option<Ending>>,
}

impl Child {
    /// Signals its whole group. Not after it was waited for: from then on the number may be another group's.
    fn signal_group(&self, signal: Signal) {
        if self.reaped.get().is_none() {
            // A group that has ended need not be told.
            let _ = kill_process_group(self.pid, signal);
        }
    }

    fn wait(&self, options: WaitIdOptions) -> Option<Ending> {
        if let Some(ending) = self.reaped.get() {
            return Some(ending);
        }
        let ending = loop {
            match waitid(WaitId::PidFd(self.pidfd.as_fd()), options | WaitIdOptions::EXITED) {
                Ok(None) => return None,
                Ok(Some(status)) => {
                    let by_signal = || status.terminating_signal().map_or(Ending::Unknown, Ending::Signal);
                    break status.exit_status().map_or_else(by_signal, Ending::Exit);
                }
                Err(Errno::INTR) => {}
                Err(_) => break Ending::Unknown,
            }
        };
        if !options.contains(WaitIdOptions::NOWAIT) {
            self.reaped.set(Some(ending));
        }
        Some(ending)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.wait(WaitIdOptions::NOHANG).is_some() {
            return;
        }
        self.signal_group(Signal::KILL);
        // The child ends at once, unless it hangs in the kernel (on a dead network disk, for instance). So another thread waits for it.
        let Ok(pidfd) = self.pidfd.try_clone() else { return };
        let waits = move || {
            let _ = waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED);
        };
        let _ = std::thread::Builder::new().name("kasoku-reap".to_owned()).spawn(waits);
    }
}

impl Started {
    /// Its number, which is that of its group as well.
    pub fn number(&self) -> i32 {
        self.0.pid.as_raw_nonzero().get()
    }

    /// Registers it with the event loop of this thread.
    ///
    /// # Errors
    /// The kernel's; then the program has been killed.
    #[allow(unsafe_code)]
    pub fn register(self) -> io::Result<ChildProcess> {
        let watched = self.0.pidfd.try_clone()?;
        // SAFETY: the descriptor is owned, and nothing takes it out or replaces it while it is registered.
        let watch = unsafe { AsyncFd::register_with_interest(watched, Interest::READABLE) }?;
        Ok(ChildProcess { watch, child: self.0 })
    }

    /// Waits for its end, as `wait` in a shell.
    pub fn wait(self) -> Ending {
        self.0.wait(WaitIdOptions::empty()).unwrap_or(Ending::Unknown)
    }
}

impl ChildProcess {
    /// Its number, which is that of its group as well.
    pub fn number(&self) -> i32 {
        self.child.pid.as_raw_nonzero().get()
    }

    /// Waits until it has ended. Only [`ChildProcess::reap`] waits for it in the sense of wait(2), so until then its group can still
    /// be signalled.
    ///
    /// # Errors
    /// The event loop is gone.
    pub async fn ended(&self) -> io::Result<()> {
        self.watch.readable().await.map(|mut ready| ready.retain_ready())
    }

    /// How it has ended; `None` while it runs. It keeps its number.
    pub fn ending(&self) -> Option<Ending> {
        self.child.wait(WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)
    }

    /// How it has ended; `None` while it runs. If it has ended, its number may from now on be another process's.
    pub fn reap(&self) -> Option<Ending> {
        self.child.wait(WaitIdOptions::NOHANG)
    }

    /// Asks the program and all that it has started to end (SIGTERM).
    pub fn terminate(&self) {
        self.child.signal_group(Signal::TERM);
    }

    /// Ends the program and all that it has started (SIGKILL).
    pub fn kill(&self) {
        self.child.signal_group(Signal::KILL);
    }

    /// Whether it has ended or is about to: the kernel closes a program's descriptors a moment before the program counts as ended. So
    /// at the end of the output, this tells a program that ends from one that has closed its output and works on.
    pub fn is_ending(&self) -> bool {
        let is_ended = || {
            let mut watched = [PollFd::new(&self.watch, PollFlags::IN)];
            poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
        };
        is_ended() || self.is_exiting().unwrap_or(false)
    }

    /// PF_EXITING of proc_pid_stat(5), field 9. The program's name, field 2, may hold spaces and brackets.
    fn is_exiting(&self) -> Option<bool> {
        const PF_EXITING: u64 = 4;
        let stat = std::fs::read(format!("/proc/{}/stat", self.number())).ok()?;
        let after_name = stat.iter().rposition(|byte| *byte == b')')?;
        let fields = std::str::from_utf8(stat.get(after_name + 1..)?).ok()?;
        let flags: u64 = fields.split_ascii_whitespace().nth(6)?.parse().ok()?;
        Some(flags & PF_EXITING != 0)
    }
}

#[cfg(test)]
#[path = "process_tests.rs"]
mod tests;
