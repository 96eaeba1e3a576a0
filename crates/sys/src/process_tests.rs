use super::*;
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// A running program, and the test's ends of what it reads and writes.
struct Running {
    started: Started,
    stdin: File,
    stdout: File,
}

fn shell(script: &str, bounds: Bounds) -> Running {
    run(c"/bin/sh", &["sh", "-c", script], bounds).unwrap()
}

fn run(file: &CStr, arguments: &[&str], bounds: Bounds) -> io::Result<Running> {
    let pipe = || pipe_with(PipeFlags::CLOEXEC).unwrap();
    let ((stdin, to_it), (from_it, stdout)) = (pipe(), pipe());
    let arguments: Vec<CString> = arguments.iter().map(|text| CString::new(*text).unwrap()).collect();
    let started = start(&ProgramSpec {
        file,
        arguments: &arguments,
        environment: &[c"PATH=/usr/bin:/bin".to_owned()],
        directory: c"/tmp",
        stdin: stdin.as_fd(),
        stdout: stdout.as_fd(),
        stderr: stdout.as_fd(),
        umask: 0o027,
        bounds,
    })?;
    Ok(Running { started, stdin: to_it.into(), stdout: from_it.into() })
}

impl Running {
    fn output(mut self) -> (String, Ending) {
        let mut text = String::new();
        drop(self.stdin);
        self.stdout.read_to_string(&mut text).unwrap();
        (text, self.started.wait())
    }
}

fn output(script: &str, bounds: Bounds) -> String {
    shell(script, bounds).output().0
}

/// The children of this thread, including those that have ended and were not waited for.
fn children() -> String {
    std::fs::read_to_string("/proc/thread-self/children").unwrap()
}

#[test]
fn a_program_gets_its_arguments_directory_and_environment_and_nothing_of_ours() {
    let text = output("pwd; env; echo \"$0\"", Bounds::default());
    let mut lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("_=")).collect();
    lines.sort_unstable();
    // PWD is the shell's own.
    assert_eq!(lines, ["/tmp", "PATH=/usr/bin:/bin", "PWD=/tmp", "sh"]);
}

#[test]
fn no_descriptor_leaks_however_it_was_opened() {
    let leaky = pipe_with(PipeFlags::empty()).unwrap();
    // 3 is the directory that ls reads.
    assert_eq!(output("ls /proc/self/fd", Bounds::default()), "0\n1\n2\n3\n");
    drop(leaky);
}

#[test]
fn signals_are_at_their_default_and_none_is_blocked() {
    // The harness ignores SIGPIPE as each program in Rust does.
    let text = output("grep -E 'Sig(Blk|Ign)' /proc/self/status", Bounds::default());
    for line in text.lines() {
        assert!(line.ends_with("\t0000000000000000"), "{line}");
    }
    assert_eq!(text.lines().count(), 2);
    // This thread's signals are as they were.
    let ours = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    assert!(ours.contains("SigBlk:\t0000000000000000"), "{ours}");
}

#[test]
fn bounds_hold_from_the_first_instruction_on() {
    let bounds = Bounds { memory_bytes_max: Some(64 << 20), cpu_max: Some(Duration::from_millis(1_500)) };
    assert_eq!(output("ulimit -v; ulimit -St; ulimit -Ht; ulimit -Sn", bounds), "65536\n2\n3\n1024\n");
    assert_eq!(output("ulimit -v; ulimit -t", Bounds::default()), "unlimited\nunlimited\n");
}

/// A parent with ambient capabilities, as systemd's `AmbientCapabilities=` makes one. Capabilities belong to a thread; this one ends
/// with the test.
#[test]
fn a_program_inherited_the_capability_to_bind_the_server_s_own_port() {
    const CAP_NET_BIND_SERVICE: u32 = 10;
    let capabilities = || output("grep -E 'Cap(Inh|Amb)' /proc/self/status", Bounds::default());
    let header = CapabilityHeader { version: CAPABILITY_VERSION_3, pid: 0 };
    let mut sets = [CapabilitySets::default(); 2];
    #[allow(unsafe_code)]
    // SAFETY: as in `give_up_capabilities`.
    let is_ambient = unsafe {
        assert_eq!(libc::syscall(libc::SYS_capget, &raw const header, sets.as_mut_ptr()), 0);
        sets[0].inheritable |= 1 << CAP_NET_BIND_SERVICE;
        libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) == 0
            && libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_RAISE, CAP_NET_BIND_SERVICE, 0, 0) == 0
    };
    let ours = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    // Where the tests run without this capability, there is none to inherit; as root, there is.
    assert!(is_ambient || !rustix::process::geteuid().is_root());
    assert_eq!(is_ambient, ours.contains("CapAmb:\t0000000000000400"), "{ours}");
    assert_eq!(capabilities(), "CapInh:\t0000000000000000\nCapAmb:\t0000000000000000\n");
    let after = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    assert_eq!(is_ambient, after.contains("CapAmb:\t0000000000000400"), "the parent keeps its own: {after}");
}

#[test]
fn a_program_has_a_umask_of_its_own_and_ours_stays() {
    let umask = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        status.lines().find(|line| line.starts_with("Umask")).map(str::to_owned)
    };
    let before = umask();
    assert_ne!(before.as_deref(), Some("Umask:\t0027"), "the test could not fail");
    assert_eq!(output("umask", Bounds::default()), "0027\n");
    assert_eq!(umask(), before);
}

#[test]
fn a_program_that_takes_all_of_its_time_ends_by_sigxcpu() {
    let bounds = Bounds { cpu_max: Some(Duration::from_secs(1)), ..Bounds::default() };
    assert_eq!(shell("while :; do :; done", bounds).output().1, Ending::Signal(libc::SIGXCPU));
}

#[test]
fn its_ending_is_told() {
    assert_eq!(shell("exit 7", Bounds::default()).output().1, Ending::Exit(7));
    assert_eq!(shell("kill -TERM $$", Bounds::default()).output().1, Ending::Signal(libc::SIGTERM));
}

#[test]
fn what_can_t_be_executed_is_an_error_that_says_why_and_leaves_no_process() {
    let directory = std::env::temp_dir().join(format!("kasoku-process-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = |name: &str, mode| -> PathBuf {
        let path = directory.join(name);
        std::fs::write(&path, "print 1").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let errno = |path: PathBuf| {
        let path = CString::new(path.into_os_string().into_encoded_bytes()).unwrap();
        run(&path, &["x"], Bounds::default()).map(|_| ()).unwrap_err().raw_os_error()
    };
    assert_eq!(errno(directory.join("nothing")), Some(libc::ENOENT));
    assert_eq!(errno(file("not executable", 0o644)), Some(libc::EACCES));
    assert_eq!(errno(file("no program", 0o755)), Some(libc::ENOEXEC));
    std::fs::remove_dir_all(&directory).unwrap();
    // This thread inherits the children of threads that have ended: those of other tests are shells.
    let name = |number: &str| std::fs::read_to_string(format!("/proc/{number}/status"));
    let unborn: Vec<String> = children().split_whitespace().filter_map(|number| name(number).ok()).collect();
    assert!(unborn.iter().all(|name| name.contains("Name:\tsh\n")), "{unborn:?}");
}

#[tokio::test(flavor = "current_thread")]
async fn its_end_is_awaited_and_its_number_stays_its_own_until_it_is_reaped() {
    let running = shell("read line; exit 3", Bounds::default());
    let process = running.started.register().unwrap();
    assert_eq!(process.reap(), None);
    drop(running.stdin);
    process.ended().await.unwrap();
    assert!(children().contains(&process.number().to_string()), "it is still ours");
    assert_eq!((process.ending(), process.ending()), (Some(Ending::Exit(3)), Some(Ending::Exit(3))));
    assert!(children().contains(&process.number().to_string()), "still");
    assert_eq!(process.reap(), Some(Ending::Exit(3)));
    assert!(!children().contains(&process.number().to_string()));
    assert_eq!((process.reap(), process.ending()), (Some(Ending::Exit(3)), Some(Ending::Exit(3))), "it is remembered");
}

#[tokio::test(flavor = "current_thread")]
async fn its_group_ends_with_it() {
    // The `sleep` holds the output as well, so the output ends with it.
    let mut running = shell("sleep 100 & echo started; wait", Bounds::default());
    running.stdout.read_exact(&mut [0; 8]).unwrap();
    let process = running.started.register().unwrap();
    process.terminate();
    assert_eq!(running.stdout.read(&mut [0; 1]).unwrap(), 0);
    process.ended().await.unwrap();
    assert_eq!(process.reap(), Some(Ending::Signal(libc::SIGTERM)));
}

#[tokio::test(flavor = "current_thread")]
async fn who_closes_its_output_and_works_on_is_told_from_who_ends() {
    for _ in 0..20 {
        let mut running = shell("exit 1", Bounds::default());
        assert_eq!(running.stdout.read(&mut [0; 1]).unwrap(), 0);
        assert!(running.started.register().unwrap().is_ending());
    }
    let mut running = shell("exec >&- 2>&-; read line", Bounds::default());
    let process = running.started.register().unwrap();
    assert_eq!(running.stdout.read(&mut [0; 1]).unwrap(), 0);
    assert!(!process.is_ending());
    running.stdin.write_all(b"\n").unwrap();
    process.ended().await.unwrap();
    assert!(process.is_ending());
}

#[test]
fn a_program_that_is_dropped_ends() {
    let mut running = shell("trap '' TERM; echo started; sleep 100", Bounds::default());
    running.stdout.read_exact(&mut [0; 8]).unwrap();
    drop(running.started);
    assert_eq!(running.stdout.read(&mut [0; 1]).unwrap(), 0);
}

/// A child's end is signalled to its parent (SIGCHLD). If a thread blocks all signals while it starts another program, the kernel
/// keeps that signal instead of dropping it, and then delivers it to another thread.
#[test]
fn the_ends_of_programs_interrupt_no_system_call() {
    let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    // With a timeout, a read that is interrupted is not begun anew by the kernel.
    ours.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let reader = std::thread::spawn(move || ours.read(&mut [0; 1]).map_err(|error| error.kind()));
    let starters = [(); 4].map(|()| {
        std::thread::spawn(|| {
            for _ in 0..100 {
                run(c"/bin/true", &["true"], Bounds::default()).unwrap().started.wait();
            }
        })
    });
    for starter in starters {
        starter.join().unwrap();
    }
    drop(theirs);
    assert_eq!(reader.join().unwrap(), Ok(0));
}
