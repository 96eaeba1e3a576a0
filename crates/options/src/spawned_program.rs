//! A program that Kasoku starts, as an origin's address names it.

use crate::origin_limits::UMASK_DEFAULT;
use std::fmt;
use std::path::PathBuf;

/// A program that Kasoku starts, and the number of its processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SpawnedProgram {
    /// Its file; it is given no arguments.
    pub file: PathBuf,
    /// Processes that are kept running. At least 1, once there has been a request.
    pub processes_min: usize,
    /// The most processes at a time, which is also the most requests at a time. At least `processes_min`.
    pub processes_max: usize,
    /// The number of requests after which a process is replaced; 0: never.
    pub requests_max: u64,
    /// The permissions that files made by the program do not get (umask(2)).
    pub umask: u32,
}

/// `/srv/mt/mt-search.fcgi?processes=1-4&requests=500&umask=0002`
impl fmt::Display for SpawnedProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, processes_min, processes_max, requests_max, umask } = self;
        write!(f, "{}?processes=", file.display())?;
        if processes_min != processes_max {
            write!(f, "{processes_min}-")?;
        }
        write!(f, "{processes_max}")?;
        if *requests_max > 0 {
            write!(f, "&requests={requests_max}")?;
        }
        if *umask != UMASK_DEFAULT {
            write!(f, "&umask={umask:04o}")?;
        }
        Ok(())
    }
}
