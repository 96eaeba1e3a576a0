//! The access log, and the program's own log.

use std::path::PathBuf;

/// Where and how requests are logged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessLogOptions {
    /// Default: none, no access log.
    pub target: Option<LogTarget>,
    /// Default combined.
    pub format: LogFormat,
}

/// Where the access log is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogTarget {
    /// Standard output.
    StandardOutput,
    /// A file, appended to and created if it does not exist (mode 0640); or a FIFO.
    File(PathBuf),
}

/// The format of a line of the access log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// The format that Apache and nginx call so: common, with Referer and User-Agent.
    #[default]
    Combined,
    /// Combined, followed by what the cache did, how long it took, and the request's id.
    CombinedCache,
    /// The Common Log Format of NCSA's server.
    Common,
    /// One JSON object, with what the cache did and why.
    Json,
}

/// The format of the program's own log, about its work and its errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgramLog {
    /// Lines for people.
    #[default]
    Text,
    /// A JSON object in each line.
    Json,
}
