//! What it costs to start a program, by the memory that its parent holds: ours, std's posix_spawn and std's fork.
//!
//! ```text
//! cargo run --release -p kasoku-sys --example process_start [starts]
//! ```
//!
//! Each start runs /bin/true to its end. `start` is how long the calling thread stood still, `whole` until the program has
//! ended and was waited for. All but fork take turns, so a machine that slows down slows each of them; fork comes after them, since it
//! leaves the parent's memory write-protected, and the next measurement would pay for that.

use kasoku_sys::process::{Bounds, ProgramSpec, UMASK_DEFAULT, start};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One way to start a program: how long the start took.
type Way = (&'static str, fn(&File) -> io::Result<Duration>);

const WAYS: [Way; 4] = [
    ("kasoku", |null| ours(null, Bounds::default())),
    ("kasoku, bounded", |null| {
        ours(null, Bounds { memory_bytes_max: Some(1 << 30), cpu_max: Some(Duration::from_secs(10)) })
    }),
    ("posix_spawn", |null| std_way(command(null))),
    ("fork", |null| {
        let mut command = command(null);
        // What makes std fork: something to be done in the child.
        #[allow(unsafe_code)]
        // SAFETY: it does nothing.
        unsafe {
            command.pre_exec(|| Ok(()));
        }
        std_way(command)
    }),
];

fn main() -> io::Result<()> {
    let starts: u32 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(300);
    let null = File::options().read(true).write(true).open("/dev/null")?;
    let mut held = Vec::new();
    for (mebibytes, label) in [(0, "small"), (1024, "1 GiB")] {
        held.resize(mebibytes << 20, 1_u8);
        // Each page is written to, so that the parent has it.
        held.iter_mut().step_by(4096).for_each(|byte| *byte = byte.wrapping_add(1));
        let mut times: [(Vec<Duration>, Vec<Duration>); WAYS.len()] = Default::default();
        for turn in [0..WAYS.len() - 1, WAYS.len() - 1..WAYS.len()] {
            for _ in 0..starts {
                for ((_, way), (begun, whole)) in WAYS.iter().zip(&mut times).skip(turn.start).take(turn.len()) {
                    let at = Instant::now();
                    begun.push(way(&null)?);
                    whole.push(at.elapsed());
                }
            }
        }
        for ((name, _), (begun, whole)) in WAYS.iter().zip(&mut times) {
            println!("{label:6} {name:16} start {:>6.0} µs   whole {:>6.0} µs", median(begun), median(whole));
        }
    }
    Ok(())
}

fn ours(null: &File, bounds: Bounds) -> io::Result<Duration> {
    let arguments = [CString::new("true")?];
    let environment = [CString::new("PATH=/usr/bin:/bin")?];
    let descriptor = null.as_fd();
    let at = Instant::now();
    let started = start(&ProgramSpec {
        file: c"/bin/true",
        arguments: &arguments,
        environment: &environment,
        directory: c"/",
        stdin: descriptor,
        stdout: descriptor,
        stderr: descriptor,
        umask: UMASK_DEFAULT,
        bounds,
    })?;
    let took = at.elapsed();
    started.wait();
    Ok(took)
}

fn command(null: &File) -> Command {
    let mut command = Command::new("/bin/true");
    let to_null = || null.try_clone().map_or_else(|_| Stdio::null(), Stdio::from);
    command.env_clear().env("PATH", "/usr/bin:/bin").current_dir("/").process_group(0);
    command.stdin(to_null()).stdout(to_null()).stderr(to_null());
    command
}

fn std_way(mut command: Command) -> io::Result<Duration> {
    let at = Instant::now();
    let mut child = command.spawn()?;
    let took = at.elapsed();
    child.wait()?;
    Ok(took)
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e6)
}
