//! The access log, and the program's own.

use std::path::PathBuf;

/// Where and how each request is told about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessLogOptions {
    /// Default: none, no log.
    pub target: Option<LogTarget>,
    /// Default combined.
    pub format: LogFormat,
}

/// What the access log is written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogTarget {
    /// Standard output.
    StandardOutput,
    /// The end of this file, which is made if it is not there (mode 0640); or a FIFO.
    File(PathBuf),
}

/// How a line of the access log looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// As Apache and nginx call it: common, with Referer and User-Agent.
    #[default]
    Combined,
    /// The same with what the cache did, how long it took, and the request's id behind it.
    CombinedCache,
    /// The Common Log Format of NCSA's server.
    Common,
    /// One JSON object, with what the cache did and why.
    Json,
}

/// How the program's own log looks: what it does, and what goes wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgramLog {
    /// Lines for people.
    #[default]
    Text,
    /// A JSON object in each line.
    Json,
}
