//! Finds the line of a setting in its file.

use crate::issue::{SettingsSource, SourceLocation};
use std::path::Path;
use std::sync::Arc;

/// A file's lines: finds the one in which a byte stands.
pub(crate) struct LineNumbers {
    /// The file's name without its directories.
    name: String,
    /// Where each line begins.
    starts: Vec<usize>,
}

impl LineNumbers {
    /// The lines of `text`, from a file called `name`.
    pub(crate) fn new(name: &str, text: &str) -> Self {
        let name = Path::new(name).file_name().map_or(name.into(), |name| name.to_string_lossy()).into_owned();
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self { name, starts: std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect() }
    }

    /// The place, for people: `kasoku.toml:12`.
    pub(crate) fn show(&self, place: &SourceLocation) -> Arc<str> {
        match place.source {
            SettingsSource::File => {
                let line = self.starts.partition_point(|start| *start <= place.span.start);
                format!("{}:{line}", self.name).into()
            }
            SettingsSource::Flags => "command line".into(),
        }
    }
}
