//! What the process uses of the machine, as a table. Names and meanings are those of Prometheus' client libraries, so that dashboards
//! and alerts for any program work with Kasoku.

use kasoku_sys::usage::{Usage, started_seconds, usage};
use std::sync::OnceLock;

/// A number about the process.
pub(crate) struct OfProcess {
    /// The whole name in `/metrics`; in `/stats` without `process_`.
    pub(crate) name: &'static str,
    /// Whether it only grows.
    pub(crate) is_counter: bool,
    /// One sentence for people.
    pub(crate) help: &'static str,
    /// Its value, if it has one.
    pub(crate) read: fn(&ProcessStats) -> Option<f64>,
}

/// All numbers about the process.
pub(crate) const OF_PROCESS: &[OfProcess] = &[
    OfProcess {
        name: "process_cpu_seconds_total",
        is_counter: true,
        help: "Total user and system CPU time spent in seconds, without that of programs that Kasoku has started.",
        read: |process| Some(process.usage.cpu_seconds),
    },
    OfProcess {
        name: "process_resident_memory_bytes",
        is_counter: false,
        help: "Resident memory size in bytes.",
        read: |process| Some(process.usage.resident_bytes as f64),
    },
    OfProcess {
        name: "process_virtual_memory_bytes",
        is_counter: false,
        help: "Virtual memory size in bytes.",
        read: |process| Some(process.usage.virtual_bytes as f64),
    },
    OfProcess {
        name: "process_open_fds",
        is_counter: false,
        help: "Number of open file descriptors.",
        read: |process| Some(process.usage.open_descriptors as f64),
    },
    OfProcess {
        name: "process_max_fds",
        is_counter: false,
        help: "Maximum number of open file descriptors.",
        read: |process| process.usage.descriptors_max.map(|max| max as f64),
    },
    OfProcess {
        name: "process_start_time_seconds",
        is_counter: false,
        help: "Start time of the process since unix epoch in seconds.",
        read: |process| process.started_seconds,
    },
];

/// The numbers of the process at one moment.
pub(crate) struct ProcessStats {
    usage: Usage,
    started_seconds: Option<f64>,
}

impl ProcessStats {
    /// The present numbers; `None`: the system does not tell them.
    pub(crate) fn now() -> Option<Self> {
        // Read once: a change of the wall clock must not look like a restart.
        static STARTED: OnceLock<Option<f64>> = OnceLock::new();
        let started_seconds = *STARTED.get_or_init(|| started_seconds().ok());
        Some(Self { usage: usage().ok()?, started_seconds })
    }

    /// The numbers that are known, in the order of the table.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = (&'static OfProcess, String)> {
        OF_PROCESS.iter().filter_map(|number| Some((number, written((number.read)(self)?))))
    }
}

/// With at most two decimals, since the kernel counts processor time in hundredths of a second, and without trailing zeros.
fn written(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_short_as_they_can_be() {
        assert_eq!([0.0, 100.0, 0.5, 12.34].map(written), ["0", "100", "0.5", "12.34"]);
    }

    #[test]
    fn each_number_is_known_of_this_process() {
        let process = ProcessStats::now().unwrap();
        assert_eq!(process.numbers().count(), OF_PROCESS.len());
    }
}
