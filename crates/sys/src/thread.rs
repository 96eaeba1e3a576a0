//! What the operating system knows of a thread.

use rustix::process::{getpriority_process, setpriority_process};
use std::io;

/// How much nicer background work is: nice's own usual step.
const NICER: i32 = 10;

/// The nicest that there is.
const NICE_MAX: i32 = 19;

/// From now on the calling thread gets the processor only when threads of the usual priority leave some of it.
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
