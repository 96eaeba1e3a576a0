//! The log of what is written, and the checkpoints after which a new one begins.

use super::Writer;
use crate::disk::checkpoint::{CheckpointWriter, Moment};
use crate::disk::directory::FileName;
use crate::disk::opening;
use std::io;

/// A checkpoint is taken when the log has so many frames, or one for each so many objects: a start reads the log before it finds anything, and
/// a checkpoint is a place for each object.
const LOG_FRAMES_MIN: u64 = 16 << 10;
const OBJECTS_PER_FRAME: u64 = 4;

/// The log may grow to so many times that length while no checkpoint can be written.
const LOG_GROWTH_MAX: u64 = 4;

/// With so many logs since the last checkpoint, another one is taken: each start begins a log.
const LOGS_MAX: u64 = 3;

impl Writer {
    /// Writes the log's frames that wait.
    pub(in crate::disk) fn flush(&mut self) -> io::Result<()> {
        self.log.flush()
    }

    /// The log's frames that wait.
    pub(in crate::disk) fn frames_waiting(&self) -> usize {
        self.log.waiting()
    }

    /// Notes the time in the log.
    pub(in crate::disk) fn note_time(&mut self, now_ms: u64) {
        self.log.time(now_ms);
    }

    /// Has a checkpoint taken as soon as all objects are known.
    pub(in crate::disk) fn want_checkpoint(&mut self) {
        self.is_checkpoint_due = true;
    }

    /// Whether the log or the journal is so long that a checkpoint should be taken.
    pub(in crate::disk) fn wants_checkpoint(&self) -> bool {
        let is_long = self.log.len() > self.log_frames_wanted() || self.store.journal().is_half_full();
        let has_many_logs = self.log.generation() - self.previous_checkpoint >= LOGS_MAX;
        !self.store.index.is_loading() && (is_long || has_many_logs || self.is_checkpoint_due)
    }

    /// Whether the log is so long that nothing more may be written before a checkpoint is.
    pub(in crate::disk) fn is_log_full(&self) -> bool {
        self.log.len() > LOG_GROWTH_MAX * self.log_frames_wanted()
    }

    pub(super) fn log_frames_wanted(&self) -> u64 {
        LOG_FRAMES_MIN.max(self.store.index.len() / OBJECTS_PER_FRAME)
    }

    /// Begins a new log and a new journal: from here on, all changes are in these as well.
    pub(in crate::disk) fn begin_generation(&mut self) -> io::Result<()> {
        let directory = &self.store.directory;
        let (log, journal) = opening::begin_generation(directory, self.log.generation() + 1)?;
        // Before anything is acknowledged that is in them.
        directory.sync()?;
        // A log that can't be written must not keep a new one from being used: what waits is in the index, and so in the checkpoint.
        if let Err(error) = self.log.flush() {
            tracing::warn!(%error, "the end of a log of the disk cache is lost");
        }
        self.log = log;
        *self.store.journal() = journal;
        self.awaits_checkpoint = true;
        Ok(())
    }

    /// Takes a checkpoint. `marks` returns all marks of the owner.
    pub(in crate::disk) fn checkpoint(&mut self, now_ms: u64, marks: impl FnOnce() -> Vec<u8>) -> io::Result<()> {
        if !self.awaits_checkpoint {
            self.begin_generation()?;
        }
        let (store, directory) = (self.store.clone(), &self.store.directory);
        let generation = self.log.generation();
        let (sequence, next_segment) = (store.index.next_sequence(), self.next_segment);
        let moment = Moment { generation, sequence, now_ms, next_segment, marks: marks() };
        let unfinished = directory.file(FileName::Unfinished);
        let written = self.write_checkpoint(&unfinished, &moment);
        if let Err(error) = written {
            let _ = std::fs::remove_file(&unfinished);
            return Err(error);
        }
        std::fs::rename(&unfinished, directory.file(FileName::Checkpoint(generation)))?;
        directory.sync()?;
        (self.awaits_checkpoint, self.is_checkpoint_due) = (false, false);
        // The checkpoint before this one stays until the next, with all that came since then.
        let previous = std::mem::replace(&mut self.previous_checkpoint, generation);
        for file in directory.files()?.into_iter().filter(|file| file.generation() < previous) {
            std::fs::remove_file(directory.file(file))?;
        }
        self.ghosts.fit(store.index.len());
        Ok(())
    }

    fn write_checkpoint(&self, path: &std::path::Path, moment: &Moment) -> io::Result<()> {
        let mut writer = CheckpointWriter::create(path, moment, self.store.directory.checksums)?;
        for number in 0.. {
            let Some(places) = self.store.index.part_of(number) else { break };
            writer.places(&places)?;
        }
        writer.finish()
    }
}
