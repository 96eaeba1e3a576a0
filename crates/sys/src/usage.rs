//! This process's use of the machine: the values that Prometheus' client libraries report of a process.
//!
//! All of it comes from /proc/self, which a unit with `ProcSubset=pid` can read as well.

use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    /// Processor time of all threads, in and outside the kernel, in seconds; without that of programs that were started.
    pub cpu_seconds: f64,
    /// Bytes of memory that are resident.
    pub resident_bytes: u64,
    /// Bytes of address space.
    pub virtual_bytes: u64,
    /// Descriptors that are open.
    pub open_descriptors: u64,
    /// Descriptors that may be open; `None`: no limit.
    pub descriptors_max: Option<u64>,
}

/// Reads the present usage.
///
/// # Errors
/// There is no /proc, or its files are not Linux's.
pub fn usage() -> io::Result<Usage> {
    let stat = Stat::read()?;
    // The directory itself is open while it is read.
    let open_descriptors = (fs::read_dir("/proc/self/fd")?.count() as u64).saturating_sub(1);
    Ok(Usage {
        cpu_seconds: stat.cpu_ticks as f64 / clock_ticks_per_second() as f64,
        resident_bytes: stat.resident_pages.saturating_mul(page_size() as u64),
        virtual_bytes: stat.virtual_bytes,
        open_descriptors,
        descriptors_max: getrlimit(Resource::Nofile).current,
    })
}

/// When the process started, in seconds since 1970. It is computed from the wall clock, which may have been set since: a caller that
/// needs a number that does not change asks once.
///
/// # Errors
/// As [`usage`].
pub fn started_seconds() -> io::Result<f64> {
    let since_boot = clock_gettime(ClockId::Boottime);
    let now_since_boot = since_boot.tv_sec as f64 + since_boot.tv_nsec as f64 / 1e9;
    let age = now_since_boot - Stat::read()?.start_ticks as f64 / clock_ticks_per_second() as f64;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    Ok(now - age)
}

/// Fields of /proc/self/stat, by their numbers in proc(5).
#[derive(Debug, PartialEq)]
struct Stat {
    /// utime (14) and stime (15).
    cpu_ticks: u64,
    /// starttime (22).
    start_ticks: u64,
    /// vsize (23).
    virtual_bytes: u64,
    /// rss (24).
    resident_pages: u64,
}

impl Stat {
    fn read() -> io::Result<Self> {
        let text = fs::read_to_string("/proc/self/stat")?;
        Self::parse(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "/proc/self/stat reads otherwise"))
    }

    fn parse(text: &str) -> Option<Self> {
        // The name, the second field, stands in parentheses and may have spaces and parentheses of its own.
        let (_, behind_name) = text.rsplit_once(')')?;
        let fields: Vec<&str> = behind_name.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number.checked_sub(3)?)?.parse::<u64>().ok();
        Some(Self {
            cpu_ticks: field(14)?.checked_add(field(15)?)?,
            start_ticks: field(22)?,
            virtual_bytes: field(23)?,
            resident_pages: field(24)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_is_one_field() {
        let text = "7 (a) b) c) S 1 7 7 0 -1 4194560 10 20 30 40 250 50 60 70 20 0 9 0 12345 8192 33 184467 1";
        let stat = Stat { cpu_ticks: 300, start_ticks: 12_345, virtual_bytes: 8192, resident_pages: 33 };
        assert_eq!(Stat::parse(text), Some(stat));
        assert_eq!(Stat::parse("7 (a) S 1 2"), None);
        assert_eq!(Stat::parse(""), None);
    }

    #[test]
    fn this_process_uses_something() {
        let before = usage().unwrap();
        assert!(before.resident_bytes > 100_000 && before.virtual_bytes > before.resident_bytes, "{before:?}");
        let files: Vec<_> = (0..50).map(|_| fs::File::open("/dev/null").unwrap()).collect();
        let after = usage().unwrap();
        // Other tests of this program open and close some at the same time.
        assert!(after.open_descriptors >= 50 && after.cpu_seconds >= before.cpu_seconds, "{before:?} {after:?}");
        drop(files);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        let started = started_seconds().unwrap();
        assert!(started <= now + 1.0 && started > now - 86_400.0, "{started} {now}");
    }
}
