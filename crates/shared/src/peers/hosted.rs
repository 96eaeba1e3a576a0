//! The log of purges that a front end hosts in its memory: the items that [`PurgeLog`](crate::purge_log::PurgeLog) keeps in a server, and no
//! others.
//!
//! What peers may do to it is what the log needs: they have the token, but may have errors. Its identity and its counter have the form that
//! they must have, the counter never goes back, and no record stands above it. Records have a bound, and the oldest go first. Then the identity
//! says where the records begin, so that nobody looks for those that are gone; whoever has not read them drops everything.
//!
//! The identity does not expire: in a server it does because of the values there.

use crate::names::{Name, Namespace};
use crate::purge_log::identity::Identity;
use crate::purge_log::{COUNTER_MAX, LogServer};
use crate::{Failure, History};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use thiserror::Error;
use tokio::sync::watch;

/// The longest value, in bytes: a record of 64 KiB, with its seal.
pub(super) const VALUE_BYTES_MAX: usize = (64 << 10) + 512;

/// The most bytes that all records take.
const BYTES_MAX: usize = 16 << 20;

/// The most records. No more than these are read by a front end that begins anew.
const RECORDS_MAX: usize = 16 << 10;

/// What a record takes besides its value, in bytes.
const RECORD_OVERHEAD_BYTES: usize = 128;

/// Why an operation is not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum Refusal {
    #[error("no item of a log of purges is called so")]
    Name,
    #[error("the value is too long")]
    TooLong,
    #[error("the value is not what this item may have")]
    Value,
}

/// The log of purges that this front end hosts for the others, in its memory.
#[derive(Debug)]
pub struct HostedLog {
    log: Mutex<Log>,
    started: Instant,
    /// Changes with each record.
    news: watch::Sender<()>,
}

/// The log, at times that are given.
#[derive(Debug)]
pub(super) struct Log {
    namespace: Namespace,
    identity: Option<Identity>,
    counter: Option<u64>,
    records: BTreeMap<u64, Record>,
    /// What the records take, in bytes.
    bytes: usize,
    /// The highest number of a record that was dropped for its age or for lack of room.
    dropped_to: u64,
}

#[derive(Debug)]
struct Record {
    value: Bytes,
    expires_ms: Option<u64>,
}

/// What a name stands for.
enum Place {
    Identity,
    Counter,
    Record(u64),
}

/// Whether an item that is there is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Store {
    Add,
    Set,
}

impl HostedLog {
    pub(super) fn new(namespace: Namespace) -> Self {
        Self { log: Mutex::new(Log::new(namespace)), started: Instant::now(), news: watch::Sender::default() }
    }

    /// Changes with each record that is written here.
    pub(super) fn news(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }

    pub(super) fn get(&self, name: &str) -> Result<Option<Bytes>, Refusal> {
        self.log().get(self.now_ms(), name)
    }

    pub(super) fn store(&self, name: &str, value: Bytes, seconds: Option<u32>, how: Store) -> Result<bool, Refusal> {
        let is_stored = self.log().store(self.now_ms(), name, value, seconds, how)?;
        if is_stored {
            self.news.send_replace(());
        }
        Ok(is_stored)
    }

    pub(super) fn increment(&self, name: &str) -> Result<Option<u64>, Refusal> {
        self.log().increment(name)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        // Each change under the lock is complete in itself.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    pub(super) fn new(namespace: Namespace) -> Self {
        Self { namespace, identity: None, counter: None, records: BTreeMap::new(), bytes: 0, dropped_to: 0 }
    }

    fn place(&self, name: &str) -> Result<Place, Refusal> {
        if name == self.namespace.log().as_str() {
            return Ok(Place::Identity);
        }
        let counter = self.namespace.purges();
        let Some(rest) = name.strip_prefix(counter.as_str()) else { return Err(Refusal::Name) };
        if rest.is_empty() {
            return Ok(Place::Counter);
        }
        let number = rest.strip_prefix(':').and_then(|digits| digits.parse().ok());
        // Only as it is written here: `+1` and `01` are no names.
        let number = number.filter(|number| self.namespace.purge(*number).as_str() == name);
        number.map(Place::Record).ok_or(Refusal::Name)
    }

    pub(super) fn get(&mut self, now_ms: u64, name: &str) -> Result<Option<Bytes>, Refusal> {
        let place = self.place(name)?;
        self.forget(now_ms);
        Ok(match place {
            Place::Identity => {
                let shown = |identity: Identity| Identity { start: identity.start.max(self.dropped_to), ..identity };
                self.identity.map(|identity| shown(identity).to_string().into())
            }
            Place::Counter => self.counter.map(|counter| counter.to_string().into()),
            // Also one that is over and stands behind one that is not: who finds a gap drops everything.
            Place::Record(number) => self.records.get(&number).map(|record| record.value.clone()),
        })
    }

    pub(super) fn store(
        &mut self,
        now_ms: u64,
        name: &str,
        value: Bytes,
        seconds: Option<u32>,
        how: Store,
    ) -> Result<bool, Refusal> {
        let place = self.place(name)?;
        if value.len() > VALUE_BYTES_MAX {
            return Err(Refusal::TooLong);
        }
        self.forget(now_ms);
        let is_there = match place {
            Place::Identity => self.identity.is_some(),
            Place::Counter => self.counter.is_some(),
            Place::Record(number) => self.records.contains_key(&number),
        };
        if is_there && how == Store::Add {
            return Ok(false);
        }
        match place {
            Place::Identity => {
                let identity = Identity::read(&value).ok_or(Refusal::Value)?;
                // The records are there, whatever the log is called.
                let start = self.identity.map_or(identity.start, |before| before.start.min(identity.start));
                self.identity = Some(Identity { start, ..identity });
            }
            Place::Counter => {
                let counter = std::str::from_utf8(&value).ok().and_then(|digits| digits.parse::<u64>().ok());
                let is_higher = |counter: &u64| *counter <= COUNTER_MAX && Some(*counter) >= self.counter;
                self.counter = Some(counter.filter(is_higher).ok_or(Refusal::Value)?);
            }
            Place::Record(number) => {
                if Some(number) > self.counter {
                    return Err(Refusal::Value);
                }
                self.bytes += value.len() + RECORD_OVERHEAD_BYTES;
                let expires_ms = seconds.map(|seconds| now_ms.saturating_add(u64::from(seconds) * 1000));
                if let Some(before) = self.records.insert(number, Record { value, expires_ms }) {
                    self.bytes -= before.value.len() + RECORD_OVERHEAD_BYTES;
                }
                self.forget(now_ms);
            }
        }
        Ok(true)
    }

    pub(super) fn increment(&mut self, name: &str) -> Result<Option<u64>, Refusal> {
        let Place::Counter = self.place(name)? else { return Err(Refusal::Value) };
        let Some(counter) = self.counter else { return Ok(None) };
        let sum = counter.checked_add(1).filter(|sum| *sum <= COUNTER_MAX).ok_or(Refusal::Value)?;
        self.counter = Some(sum);
        Ok(Some(sum))
    }

    /// Drops what is over, and the oldest records beyond the bounds.
    fn forget(&mut self, now_ms: u64) {
        while let Some(first) = self.records.first_entry() {
            let has_room = self.bytes <= BYTES_MAX;
            if has_room && !is_over(first.get().expires_ms, now_ms) && self.records.len() <= RECORDS_MAX {
                return;
            }
            if let Some((number, record)) = self.records.pop_first() {
                self.bytes = self.bytes.saturating_sub(record.value.len() + RECORD_OVERHEAD_BYTES);
                self.dropped_to = self.dropped_to.max(number);
            }
        }
    }
}

fn is_over(expires_ms: Option<u64>, now_ms: u64) -> bool {
    expires_ms.is_some_and(|expires| expires <= now_ms)
}

/// The log as this front end itself reads and writes it.
impl LogServer for HostedLog {
    async fn history(&self, _log: &Name) -> Result<Option<History>, Failure> {
        // It is in the memory of a process, and ends with it.
        Ok(None)
    }

    async fn get(&self, name: &Name, _touched: Option<u32>) -> Result<Option<Bytes>, Failure> {
        Self::get(self, name.as_str()).map_err(refused)
    }

    async fn add(&self, name: &Name, value: Bytes, seconds: Option<u32>) -> Result<bool, Failure> {
        self.store(name.as_str(), value, seconds, Store::Add).map_err(refused)
    }

    async fn set(&self, name: &Name, value: Bytes, seconds: Option<u32>) -> Result<(), Failure> {
        self.store(name.as_str(), value, seconds, Store::Set).map_err(refused).map(drop)
    }

    async fn increment(&self, name: &Name) -> Result<Option<u64>, Failure> {
        Self::increment(self, name.as_str()).map_err(refused)
    }
}

fn refused(refusal: Refusal) -> Failure {
    Failure::Refused(refusal.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_700_000_000_000_000;

    fn log() -> Log {
        let mut log = Log::new(Namespace::default());
        let identity = Identity { log: 7, start: START, origin: None }.to_string();
        for (name, value) in [("kasoku:purges", START.to_string()), ("kasoku:log", identity)] {
            let seconds = (name == "kasoku:log").then_some(300);
            assert_eq!(log.store(0, name, value.into(), seconds, Store::Add), Ok(true));
        }
        log
    }

    fn text(log: &mut Log, now_ms: u64, name: &str) -> Option<String> {
        let value = log.get(now_ms, name).unwrap()?;
        Some(String::from_utf8(value.to_vec()).unwrap())
    }

    /// Counts and writes a record.
    fn write(log: &mut Log, now_ms: u64, value: impl Into<Bytes>, seconds: u32) -> u64 {
        let number = log.increment("kasoku:purges").unwrap().unwrap();
        let name = format!("kasoku:purges:{number}");
        assert_eq!(log.store(now_ms, &name, value.into(), Some(seconds), Store::Set), Ok(true));
        number
    }

    fn start(log: &mut Log, now_ms: u64) -> u64 {
        let identity = log.get(now_ms, "kasoku:log").unwrap().unwrap();
        Identity::read(&identity).unwrap().start
    }

    fn identity(start: u64) -> String {
        Identity { log: 9, start, origin: None }.to_string()
    }

    #[test]
    fn what_is_written_is_read() {
        let mut log = log();
        assert_eq!(text(&mut log, 0, "kasoku:purges"), Some(START.to_string()));
        assert_eq!(log.store(0, "kasoku:purges", "0".into(), None, Store::Add), Ok(false));
        assert_eq!(write(&mut log, 0, "one", 60), START + 1);
        assert_eq!(text(&mut log, 0, &format!("kasoku:purges:{}", START + 1)).as_deref(), Some("one"));
        assert_eq!(Log::new(Namespace::default()).increment("kasoku:purges"), Ok(None), "there is no counter");
    }

    #[test]
    fn another_identity_does_not_hide_records() {
        let mut log = log();
        write(&mut log, 0, "record", 86_400);
        assert_eq!(log.store(0, "kasoku:log", identity(START + 1).into(), Some(300), Store::Add), Ok(false));
        assert_eq!(log.store(0, "kasoku:log", identity(START + 1).into(), Some(300), Store::Set), Ok(true));
        assert_eq!(text(&mut log, 86_000_000, "kasoku:log"), Some(identity(START)));
    }

    #[test]
    fn an_old_record_is_over_and_the_log_begins_behind_it() {
        let mut log = log();
        let (first, second) = (write(&mut log, 0, "old", 60), write(&mut log, 30_000, "new", 60));
        assert_eq!(start(&mut log, 59_000), START);
        assert_eq!(start(&mut log, 60_000), first);
        assert_eq!(text(&mut log, 60_000, &format!("kasoku:purges:{first}")), None);
        assert_eq!(text(&mut log, 60_000, &format!("kasoku:purges:{second}")).as_deref(), Some("new"));
    }

    #[test]
    fn a_record_that_is_over_before_an_earlier_one_leaves_no_gap() {
        let mut log = log();
        // Front ends that know many purges let their records expire earlier than those that have just begun.
        let (first, second) = (write(&mut log, 0, "long", 86_400), write(&mut log, 0, "short", 60));
        assert_eq!(start(&mut log, 60_000), START);
        for (number, value) in [(first, "long"), (second, "short")] {
            assert_eq!(text(&mut log, 60_000, &format!("kasoku:purges:{number}")).as_deref(), Some(value));
        }
        assert_eq!(start(&mut log, 86_400_000), second);
    }

    #[test]
    fn the_oldest_records_go_beyond_the_bounds() {
        let mut many = log();
        for _ in 0..RECORDS_MAX + 10 {
            write(&mut many, 0, "x", 86_400);
        }
        assert_eq!((many.records.len(), start(&mut many, 0)), (RECORDS_MAX, START + 10));
        let mut long = log();
        let value = Bytes::from(vec![b'x'; VALUE_BYTES_MAX]);
        for _ in 0..300 {
            write(&mut long, 0, value.clone(), 86_400);
        }
        let kept = BYTES_MAX / (VALUE_BYTES_MAX + RECORD_OVERHEAD_BYTES);
        assert_eq!((long.records.len(), start(&mut long, 0)), (kept, START + 300 - kept as u64));
        // One that is written again counts once.
        let last = format!("kasoku:purges:{}", START + 300);
        for _ in 0..300 {
            long.store(0, &last, value.clone(), Some(60), Store::Set).unwrap();
        }
        assert_eq!(long.records.len(), kept);
        long.get(86_400_000, "kasoku:purges").unwrap();
        assert_eq!((long.records.len(), long.bytes), (0, 0));
    }

    #[test]
    fn other_names_and_values_are_refused() {
        let mut log = log();
        let purge = format!("kasoku:purges:{}", START + 1);
        for name in ["", "kasoku", "kasoku:", "kasoku:logs", "staging:log", "kasoku:purges:", "kasoku:purges:+1"] {
            assert_eq!(log.get(0, name), Err(Refusal::Name), "{name}");
            assert_eq!(log.store(0, name, "1".into(), None, Store::Set), Err(Refusal::Name), "{name}");
            assert_eq!(log.increment(name), Err(Refusal::Name), "{name}");
        }
        for name in ["kasoku:purges:01", "kasoku:purges:-1", "kasoku:purges:18446744073709551616", "kasoku:purges:1:1"]
        {
            assert_eq!(log.get(0, name), Err(Refusal::Name), "{name}");
        }
        for (name, value) in [
            ("kasoku:log", "7"),
            ("kasoku:log", "x 1"),
            ("kasoku:purges", "x"),
            ("kasoku:purges", "-1"),
            ("kasoku:purges", "18446744073709551615"),
            // It would go back.
            ("kasoku:purges", "5"),
            // It was not counted.
            (&purge, "record"),
        ] {
            let stored = log.store(0, name, value.to_owned().into(), None, Store::Set);
            assert_eq!(stored, Err(Refusal::Value), "{name} {value}");
        }
        let long = Bytes::from(vec![b'x'; VALUE_BYTES_MAX + 1]);
        log.increment("kasoku:purges").unwrap();
        assert_eq!(log.store(0, &purge, long, None, Store::Set), Err(Refusal::TooLong));
        assert_eq!(log.increment("kasoku:log"), Err(Refusal::Value));
        log.counter = Some(COUNTER_MAX);
        assert_eq!(log.increment("kasoku:purges"), Err(Refusal::Value));
    }
}
