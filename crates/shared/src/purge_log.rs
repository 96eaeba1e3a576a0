//! The purges that all caches of a namespace have to hear of: a log in each server (docs/decisions/0042).
//!
//! A server may also be a front end that hosts a log and nothing else (`peers`). Its log ends with it, and so may the only record of a purge.
//!
//! Each server has an identity of its log, a counter, and a record for each purge. [`PurgeLog::follow`] reads what is new in one server, has it
//! carried out, and adds what the server lacks. The cache counts its purges by epochs; here each record is kept with the epoch in which it was
//! carried out, so that the counter in a value can be translated into an epoch of this cache, and back.
//!
//! A purge is carried out and noted under one lock. So whoever reads an epoch under that lock finds all purges up to it.

mod counts;
pub(crate) mod identity;
mod state;

use crate::concurrently::concurrently;
use crate::failure::Failure;
use crate::history::History;
use crate::names::{Name, Namespace};
use crate::sealed::{Opened, Sealed, Sealer};
use bytes::Bytes;
use counts::Counted;
pub use counts::PurgeCounts;
use identity::{Identity, Origin};
use state::{Lacking, Record, State};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{oneshot, watch};

/// Counts the purges of a cache.
pub type Epoch = u64;

/// For how long a server keeps the identity of its log if no cache reads it, in seconds.
pub const LOG_SECONDS: u32 = 300;

/// The longest record of a purge, in bytes: a URI, or the tags of a change.
const RECORD_BYTES_MAX: usize = 64 << 10;

/// The most records that are read or added at a time. Their requests are pipelined.
const AT_A_TIME_MAX: u64 = 64;

/// The most batches of records that are added to a log in a row, and for how long, in milliseconds. So caches that read the log four times a second
/// do not fall behind by more records than are read, and the server, which has to be read once a second, stays usable.
const PASSES_MAX: usize = 32;
const PASSES_MS_MAX: u64 = 200;

/// What the log needs of a server.
pub trait LogServer {
    /// Which history of writes the server's items are the outcome of; `None` where servers have none. It is asked before each reading. `log`:
    /// the name of the identity.
    fn history(&self, log: &Name) -> impl Future<Output = Result<Option<History>, Failure>> + Send;
    /// An item. Its time of expiry begins anew with `touched` seconds, if that is given.
    fn get(&self, name: &Name, touched: Option<u32>) -> impl Future<Output = Result<Option<Bytes>, Failure>> + Send;
    /// Stores an item if there is none of this name. Returns whether it was stored. It expires after `seconds`, if that is given.
    fn add(
        &self,
        name: &Name,
        value: Bytes,
        seconds: Option<u32>,
    ) -> impl Future<Output = Result<bool, Failure>> + Send;
    /// Stores an item.
    fn set(&self, name: &Name, value: Bytes, seconds: Option<u32>) -> impl Future<Output = Result<(), Failure>> + Send;
    /// Adds 1 to a number, and returns the sum; `None` where there is no such item.
    fn increment(&self, name: &Name) -> impl Future<Output = Result<Option<u64>, Failure>> + Send;
}

/// What the log needs of the cache.
pub trait Purger: Send + Sync {
    /// Carries out a purge of another cache. Returns the first epoch whose responses the purge does not cover; the present one, if the purge can't
    /// cover anything in this cache. `None`: it can't be understood.
    fn carry_out(&self, purge: &[u8]) -> Option<Epoch>;
    /// Waits until all that was carried out will also have happened after a restart. Returns whether it will.
    fn make_certain(&self) -> impl Future<Output = bool> + Send;
    /// Purges that this cache has to carry out may be lost: drops everything.
    fn drop_everything(&self);
    /// The present epoch.
    fn epoch(&self) -> Epoch;
}

/// The time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Of the wall clock, in milliseconds since 1970.
    pub unix_ms: i64,
    /// Of a clock that only goes forwards, in milliseconds.
    pub mono_ms: u64,
}

/// How far a log has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The history in which it was read.
    pub history: Option<History>,
    /// All purges up to this number have been carried out so that a restart does not undo them.
    pub number: u64,
}

/// The identity of a log, and a number in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Which log.
    pub log: u128,
    /// All purges up to this number had been carried out before the origin was asked.
    pub number: u64,
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x} {}", self.log, self.number)
    }
}

impl Generation {
    /// The generation that was written so, exactly.
    pub fn read(text: &str) -> Option<Self> {
        let (log, number) = text.split_once(' ')?;
        // Each look-up reads one, so it is not written again to be compared.
        let is_digit = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit()) && (number == "0" || !number.starts_with('0'));
        if log.len() != 32 || !log.bytes().all(is_digit) || !is_number {
            return None;
        }
        Some(Self { log: u128::from_str_radix(log, 16).ok()?, number: number.parse().ok()? })
    }
}

/// The logs of all servers, as this process knows them.
#[derive(Debug)]
pub struct PurgeLog {
    namespace: Namespace,
    sealer: Arc<Sealer>,
    state: Mutex<State>,
    /// Changes with each purge of this process.
    news: watch::Sender<()>,
    counts: PurgeCounts,
}

/// A purge of this process is on its way to the servers.
#[must_use]
#[derive(Debug)]
pub struct Delivery {
    tried: oneshot::Receiver<()>,
    reached: Reached,
}

/// The logs that have got a purge so far, by their numbers. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Reached(Arc<Mutex<BTreeSet<usize>>>);

impl Reached {
    /// Whether this log has it.
    pub fn has(&self, log: usize) -> bool {
        self.logs().contains(&log)
    }

    fn add(&self, log: usize) {
        self.logs().insert(log);
    }

    fn logs(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Delivery {
    /// The logs that have got it, also those that get it later.
    pub fn reached(&self) -> Reached {
        self.reached.clone()
    }

    /// Waits until every server that can be reached has the purge. The caller bounds the wait. Returns false if the purge was forgotten before, since
    /// too many waited.
    pub async fn wait(self) -> bool {
        self.tried.await.is_ok()
    }
}

impl PurgeLog {
    /// The logs of so many servers, of which nothing is known yet.
    pub fn new(namespace: Namespace, sealer: Arc<Sealer>, servers: usize) -> Self {
        let state = Mutex::new(State::new(servers));
        Self { namespace, sealer, state, news: watch::Sender::default(), counts: PurgeCounts::default() }
    }

    /// The logs that front ends host: number 0 is that of this one, and those of so many others follow.
    pub fn of_front_ends(namespace: Namespace, sealer: Arc<Sealer>, others: usize) -> Self {
        let state = Mutex::new(State::of_front_ends(others));
        Self { namespace, sealer, state, news: watch::Sender::default(), counts: PurgeCounts::default() }
    }

    /// Calls the servers so in what is logged.
    #[must_use]
    pub fn naming(self, names: impl IntoIterator<Item = String>) -> Self {
        self.state().name_servers(names.into_iter().collect());
        self
    }

    /// What operators call a server: its address, if that is known here.
    pub fn name(&self, server: usize) -> String {
        self.state().name(server)
    }

    /// The cache begins with responses that an earlier process had stored. `position`: up to which number that one had read the log of a server,
    /// if it was in this history and as far as that is known ([`PurgeLog::positions`]). To be called before a log is followed.
    pub fn resume(&self, position: impl Fn(usize, Option<History>) -> Option<u64> + Send + 'static) {
        self.state().resume(position);
    }

    /// For each server, how far its log has been read, if that is known by now.
    pub fn positions(&self) -> Vec<Option<Position>> {
        self.state().positions()
    }

    /// Makes a purge of this process known: `carry_out` carries it out here, and returns its epoch and its content.
    ///
    /// # Errors
    /// The purge could not be carried out; nobody is told of it.
    pub fn publish<E>(
        &self,
        now_ms: u64,
        carry_out: impl FnOnce() -> Result<(Epoch, Vec<u8>), E>,
    ) -> Result<Delivery, E> {
        let (told, tried) = oneshot::channel();
        let reached = Reached::default();
        let id = fastrand::u128(..);
        {
            let mut state = self.state();
            let (epoch, purge) = carry_out()?;
            // The number is not known yet, so that the longest one has to have room.
            let has_room = self.record(id, COUNTER_MAX, &purge).is_some();
            let purge = if has_room { purge.into() } else { Bytes::from_static(EVERYTHING) };
            state.note_own(id, epoch, purge, now_ms, told, reached.clone());
        }
        self.counts.published.add(1);
        self.news.send_replace(());
        Ok(Delivery { tried, reached })
    }

    /// What the logs have brought so far.
    pub fn counts(&self) -> &PurgeCounts {
        &self.counts
    }

    /// How many purges of this process a log lacks, as far as is known.
    pub fn lacking(&self, server: usize) -> usize {
        self.state().lacking_own(server)
    }

    /// Changes whenever a purge of this process has to be written.
    pub fn news(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }

    /// A server can't be asked now: nobody waits until it has got a purge.
    pub fn is_away(&self, server: usize) {
        self.state().is_away(server);
    }

    /// The number that a value in this server gets whose request to the origin began in this epoch; `None`: the log is not known well enough, so
    /// nothing should be written.
    pub fn generation(&self, server: usize, born: Epoch) -> Option<Generation> {
        self.state().generation(server, born)
    }

    /// An epoch of this cache in which, or after which, the request for a value of this server began: later purges cover it, if they are about its
    /// URI or tags. `None`: the value may not be used.
    pub fn born(&self, server: usize, generation: Generation, purger: &impl Purger) -> Option<Epoch> {
        self.state().born(server, generation, purger)
    }

    /// Reads what is new in the log of a server, and adds what it lacks. Returns whether the log has been read to its end.
    ///
    /// # Errors
    /// The server can't be asked.
    pub async fn follow(
        &self,
        number: usize,
        server: &impl LogServer,
        purger: &impl Purger,
        now: impl Fn() -> Clock,
    ) -> Result<bool, Failure> {
        let purger = &Counted { purger, counts: &self.counts };
        let followed = async {
            let mut is_read = self.read(number, server, purger, &now).await?;
            let begun_ms = now().mono_ms;
            for _ in 0..PASSES_MAX {
                let is_over = now().mono_ms.saturating_sub(begun_ms) > PASSES_MS_MAX;
                if !is_read || is_over || !self.add_lacking(number, server, now().mono_ms).await? {
                    break;
                }
                is_read = self.read(number, server, purger, &now).await?;
            }
            Ok(is_read)
        };
        let followed: Result<bool, Failure> = followed.await;
        if !matches!(followed, Ok(true)) {
            self.is_away(number);
        }
        if let Err(failure) = &followed {
            self.state().has_failed(number, failure.says_that_it_ended(), now().mono_ms);
        }
        followed
    }

    async fn read(
        &self,
        number: usize,
        server: &impl LogServer,
        purger: &impl Purger,
        now: &impl Fn() -> Clock,
    ) -> Result<bool, Failure> {
        let begun = now();
        // From now on this process knows since when it has not heard of purges, whether the server answers or not.
        let (is_broken, known) = {
            let mut state = self.state();
            (state.begin_reading(number, begun.mono_ms), state.history(number, begun.mono_ms))
        };
        let was_read = self.state().has_read(number);
        let history = server.history(&self.namespace.log()).await?;
        // In another history, another cache may use the numbers that were counted for these.
        if self.state().is_in(number, history) {
            self.write_reserved(number, server).await?;
        }
        let tell_of_loss = || {
            if was_read {
                self.tell_of_loss(number);
            }
        };
        let Some(counter) = self.counter(server, begun.unix_ms, tell_of_loss).await? else { return Ok(false) };
        let identity = match history {
            None => self.identity(server, counter, is_broken).await?,
            Some(history) => self.identity_in(history, known, server, counter, is_broken).await?,
        };
        let Some(identity) = identity else { return Ok(false) };
        let Some(first) = self.state().begin(number, identity, counter, begun.mono_ms, purger) else {
            return Ok(false);
        };
        let mut next = first;
        while next <= counter {
            let last = counter.min(next.saturating_add(AT_A_TIME_MAX - 1));
            let get = async |record| (record, server.get(&self.namespace.purge(record), None).await);
            for (record, found) in concurrently((next..=last).map(get)).await {
                let found = found?;
                let is_there = found.is_some();
                let found = found.and_then(|sealed| self.open(sealed, record));
                let is_missing = found.is_none();
                if !self.state().take(number, record, found, now().mono_ms, purger) {
                    return Ok(false);
                }
                if is_missing {
                    self.counts.missing.add(1);
                }
                if is_missing && is_there {
                    tracing::warn!(
                        server = self.name(number),
                        record,
                        "this record can't be read: it is damaged, or all caches do not use the same secret"
                    );
                }
            }
            next = last.saturating_add(1);
        }
        let is_certain = purger.make_certain().await;
        self.state().end_reading(number, identity.log, counter, begun.mono_ms, is_certain);
        Ok(true)
    }

    /// A server has lost the counter. All caches drop everything, as the numbers go on elsewhere, and a purge takes a second longer until
    /// its record is read, or given up. Where a server evicts its log again and again, it has too little memory.
    fn tell_of_loss(&self, number: usize) {
        self.counts.lost.add(1);
        tracing::warn!(
            server = self.name(number),
            "its log of purges has lost its counter: it began anew, or has too little memory and evicts the log (docs/shared.md)"
        );
    }

    async fn counter(
        &self,
        server: &impl LogServer,
        unix_ms: i64,
        is_lost: impl FnOnce(),
    ) -> Result<Option<u64>, Failure> {
        let name = self.namespace.purges();
        let parse = |value: Bytes| {
            let counter = std::str::from_utf8(&value).ok()?.trim_end().parse::<u64>().ok()?;
            // Far from the end of all numbers, which no microsecond reaches.
            (counter <= COUNTER_MAX).then_some(counter)
        };
        let found = server.get(&name, None).await?;
        if let Some(counter) = found.clone().and_then(parse) {
            return Ok(Some(counter));
        }
        // No counter that has been here before was as high, unless there were a thousand purges in each millisecond.
        let fresh = u64::try_from(unix_ms).unwrap_or_default().saturating_mul(1000);
        let fresh = Bytes::from(fresh.to_string());
        match found {
            None => {
                is_lost();
                server.add(&name, fresh, None).await?;
            }
            // It is no counter, and nobody could ever count on.
            Some(_) => server.set(&name, fresh, None).await?,
        }
        Ok(server.get(&name, None).await?.and_then(parse))
    }

    /// The identity of the log of a server without a history. It is made where it is missing, and anew where the log is broken.
    async fn identity(
        &self,
        server: &impl LogServer,
        counter: u64,
        is_broken: bool,
    ) -> Result<Option<Identity>, Failure> {
        let found = if is_broken { None } else { server.get(&self.namespace.log(), Some(LOG_SECONDS)).await? };
        if let Some(identity) = found.as_deref().and_then(Identity::read).filter(|found| found.origin.is_none()) {
            return Ok(Some(identity));
        }
        let fresh = Identity { log: fastrand::u128(..), start: counter, origin: None };
        self.write_identity(fresh, server, is_broken || found.is_some()).await
    }

    /// The same in a server with a history: also anew where it is another one, since what was written last may be lost. `known`: in which
    /// history this process has read the log just before.
    async fn identity_in(
        &self,
        history: History,
        known: Option<History>,
        server: &impl LogServer,
        counter: u64,
        is_broken: bool,
    ) -> Result<Option<Identity>, Failure> {
        let found = server.get(&self.namespace.log(), Some(LOG_SECONDS)).await?;
        let identity = found.as_deref().and_then(Identity::read);
        let origin = match identity.and_then(|identity| identity.origin) {
            Some(origin) if origin.history == history => origin,
            // Nobody adds records in a new history before it has an identity, so these are all of the one before.
            other => Origin { history, since: counter, previous: other.map(|other| other.history).or(known) },
        };
        match identity.filter(|found| !is_broken && found.origin == Some(origin)) {
            Some(identity) => Ok(Some(identity)),
            None => {
                let fresh = Identity { log: fastrand::u128(..), start: counter, origin: Some(origin) };
                self.write_identity(fresh, server, found.is_some()).await
            }
        }
    }

    /// Writes a fresh identity, in the place of the present one or if there is none. Returns the one that is there then.
    async fn write_identity(
        &self,
        fresh: Identity,
        server: &impl LogServer,
        takes_place: bool,
    ) -> Result<Option<Identity>, Failure> {
        let (name, value) = (self.namespace.log(), Bytes::from(fresh.to_string()));
        if takes_place {
            server.set(&name, value, Some(LOG_SECONDS)).await?;
            return Ok(Some(fresh));
        }
        if server.add(&name, value, Some(LOG_SECONDS)).await? {
            return Ok(Some(fresh));
        }
        let found = server.get(&name, None).await?.as_deref().and_then(Identity::read);
        // One of another history is replaced when the log is read the next time.
        Ok(found.filter(|found| found.history() == fresh.history()))
    }

    /// Adds purges to a server that lacks them. Returns whether there were any.
    async fn add_lacking(&self, number: usize, server: &impl LogServer, now_ms: u64) -> Result<bool, Failure> {
        let (lacking, seconds) = {
            let state = self.state();
            (state.to_be_added(number, now_ms), state.record_seconds())
        };
        let add = async |lacking: &Lacking| {
            // Where the counter is missing, it is made when the log is read the next time.
            if let Some(record) = server.increment(&self.namespace.purges()).await? {
                self.state().reserve(number, lacking.place, record);
                self.write_record(number, server, lacking, record, seconds).await?;
            }
            Ok(())
        };
        concurrently(lacking.iter().map(add)).await.into_iter().collect::<Result<(), Failure>>()?;
        Ok(!lacking.is_empty())
    }

    /// Writes the records whose numbers were counted, and which could not be written then: a number without a record is a purge that the others
    /// don't know.
    async fn write_reserved(&self, number: usize, server: &impl LogServer) -> Result<(), Failure> {
        let (reserved, seconds) = {
            let state = self.state();
            (state.reserved(number), state.record_seconds())
        };
        let write = async |(lacking, record): &(Lacking, u64)| {
            self.write_record(number, server, lacking, *record, seconds).await
        };
        concurrently(reserved.iter().map(write)).await.into_iter().collect()
    }

    async fn write_record(
        &self,
        number: usize,
        server: &impl LogServer,
        Lacking { place, id, purge }: &Lacking,
        record: u64,
        seconds: u32,
    ) -> Result<(), Failure> {
        let Some(sealed) = self.record(*id, record, purge) else { return Err(Failure::TooLong { bytes: purge.len() }) };
        // Not in the place of another cache's record: after a failover, it may have counted the same number.
        server.add(&self.namespace.purge(record), sealed, Some(seconds)).await?;
        self.state().has_written(number, *place);
        Ok(())
    }

    /// The record of a purge under this number; `None` where it has no room.
    fn record(&self, id: u128, number: u64, purge: &[u8]) -> Option<Bytes> {
        let content = [beginning(id, number).as_bytes(), purge, b"\r\n"].concat();
        let Sealed { first, chunks, .. } = self.sealer.seal(vec![content.into()], RECORD_BYTES_MAX, || 0).ok()?;
        chunks.is_empty().then(|| first.concat().into())
    }

    /// The record that was found under this number. One that was moved there from another number is none.
    fn open(&self, sealed: Bytes, number: u64) -> Option<Record> {
        let Opened::Whole(content) = self.sealer.open(sealed).ok()? else { return None };
        let (id, _) = content.strip_prefix(KIND_AND_ID.as_bytes())?.split_at_checked(32)?;
        let id = u128::from_str_radix(std::str::from_utf8(id).ok()?, 16).ok()?;
        let purge = content.strip_prefix(beginning(id, number).as_bytes())?.strip_suffix(b"\r\n")?;
        Some(Record { id, purge: content.slice_ref(purge) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change under the lock is complete in itself, so a panic elsewhere leaves a state that can be read.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A counter above this was written by somebody who does not count.
pub(crate) const COUNTER_MAX: u64 = i64::MAX as u64;

/// The purge for one that has no room in a record: more is dropped than was meant.
const EVERYTHING: &[u8] = b"Purge: hard\r\nAll: yes\r\n";

/// How the content of a record begins.
const KIND_AND_ID: &str = "Kind: purge\r\nId: ";

/// The lines of a record before its purge.
fn beginning(id: u128, number: u64) -> String {
    format!("{KIND_AND_ID}{id:032x}\r\nNumber: {number}\r\n")
}

#[cfg(test)]
pub(crate) mod tests;
