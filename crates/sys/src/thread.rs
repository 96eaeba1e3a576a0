//! Sets the priority of a thread.

use rustix::process::{getpriority_process, setpriority_process};
use std::io;

/// By how much the nice value of background work is raised: the default step of nice(1).
const NICER: i32 = 10;

/// The highest nice value.
const NICE_MAX: i32 = 19;

/// Lowers the priority of the calling thread, from now on: threads of the usual priority get most of a busy processor.
///
/// # Errors
/// The system does not allow it; the thread goes on as before.
pub fn lower_priority() -> io::Result<()> {
    // To Linux, "none" is the calling thread and not its process: each thread has a nice value of its own (setpriority(2)).
    Ok(setpriority_process(None, (getpriority_process(None)? + NICER).min(NICE_MAX))?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_calling_thread_alone_is_nicer() {
        let before = getpriority_process(None).unwrap();
        let nicer = std::thread::spawn(|| {
            lower_priority().unwrap();
            getpriority_process(None).unwrap()
        });
        assert_eq!(nicer.join().unwrap(), (before + NICER).min(NICE_MAX));
        assert_eq!(getpriority_process(None).unwrap(), before);
    }
}
