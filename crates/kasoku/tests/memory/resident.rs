//! Reads the resident memory of a process from the kernel, current and peak, and raises the limit of descriptors.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the sampler reads the memory. The kernel's own high-water mark catches peaks in between.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The resident memory of the process with that id, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resident(pub(crate) u32);

impl Resident {
    /// The resident memory now.
    pub(crate) fn now(self) -> u64 {
        self.field("VmRSS:")
    }

    /// The peak since the start, or since [`Resident::forget_peak`].
    pub(crate) fn peak(self) -> u64 {
        self.field("VmHWM:")
    }

    /// The peak without the pages of the program's file. A test build has three times as many of these as the release program, and they are
    /// nothing that the program could account for.
    pub(crate) fn peak_without_the_file(self) -> u64 {
        self.peak().saturating_sub(self.field("RssFile:"))
    }

    /// Sets the high-water mark to the resident memory now (proc(5), clear_refs).
    pub(crate) fn forget_peak(self) {
        fs::write(format!("/proc/{}/clear_refs", self.0), "5").unwrap();
    }

    fn field(self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0)).unwrap();
        let line =
            status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name}: {status}"));
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }
}

/// Samples a process's resident memory until [`Sampler::mean`] ends it.
pub(crate) struct Sampler {
    ended: Arc<AtomicBool>,
    sums: Arc<[AtomicU64; 2]>,
    thread: JoinHandle<()>,
}

impl Sampler {
    pub(crate) fn start(resident: Resident) -> Self {
        let (ended, sums) = (Arc::new(AtomicBool::new(false)), Arc::new([AtomicU64::new(0), AtomicU64::new(0)]));
        let (end, into) = (ended.clone(), sums.clone());
        let thread = std::thread::spawn(move || {
            while !end.load(Relaxed) {
                into[0].fetch_add(resident.now(), Relaxed);
                into[1].fetch_add(1, Relaxed);
                std::thread::sleep(LOOK_EVERY);
            }
        });
        Self { ended, sums, thread }
    }

    /// Ends the sampling and returns the mean in bytes.
    pub(crate) fn mean(self) -> u64 {
        self.ended.store(true, Relaxed);
        self.thread.join().unwrap();
        self.sums[0].load(Relaxed) / self.sums[1].load(Relaxed).max(1)
    }
}

/// The most descriptors that this process, and each that it starts, may have: the soft limit, which this raises to the hard one.
pub(crate) fn descriptors_max() -> usize {
    static RAISED: LazyLock<usize> = LazyLock::new(|| {
        let limit = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
        getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| limit as usize)
    });
    *RAISED
}

/// Bytes as MiB, for people.
pub(crate) fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
