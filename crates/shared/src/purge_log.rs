//! The purges that all caches of a namespace have to hear of: a log in each server (docs/decisions/0042).
//!
//! Each server has an identity of its log, a counter, and a record for each purge. [`PurgeLog::follow`] reads what is new in one server, has it
//! carried out, and adds what the server lacks. The cache counts its purges by epochs; here each record is kept with the epoch in which it was
//! carried out, so that the counter in a value can be translated into an epoch of this cache, and back.
//!
//! A purge is carried out and noted under one lock. So whoever reads an epoch under that lock finds all purges up to it.

mod counts;

use crate::memcached::Failure;
use crate::names::{Name, Namespace};
use crate::sealed::{Opened, Sealed, Sealer};
use bytes::Bytes;
use counts::Counted;
pub use counts::PurgeCounts;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use tokio::sync::{oneshot, watch};

/// Counts the purges of a cache.
pub type Epoch = u64;

/// The most records that are read of a log whose position is not known.
const RECORDS_READ_MAX: u64 = 16 << 10;

/// The most purges that are remembered, to be added to servers that were away.
const PURGES_KNOWN_MAX: usize = 64 << 10;

/// For how long a purge is remembered, in milliseconds. Longer than [`LOG_SECONDS`]: the log of a server that was away for longer is gone.
const PURGES_KNOWN_MS: u64 = 2 * LOG_SECONDS as u64 * 1000;

/// For how long a server keeps the identity of its log if no cache reads it, in seconds.
pub const LOG_SECONDS: u32 = 300;

/// The longest record of a purge, in bytes: a URI, or the tags of a change.
const RECORD_BYTES_MAX: usize = 64 << 10;

/// For how long a record stays in a server, in seconds.
const RECORD_SECONDS_MIN: u32 = 2 * LOG_SECONDS;
const RECORD_SECONDS_MAX: u32 = 24 * 60 * 60;

/// How long a record may be missing after its number was seen in the counter, in milliseconds: its cache may write it just then.
const RECORD_MISSING_MS: u64 = 1000;

/// After which time a purge of another cache is added to a server that lacks it, in milliseconds: that cache does so itself if it can.
const FOREIGN_PURGE_MS: u64 = 1000;

/// The most records that are read or added at a time. Their requests are pipelined.
const AT_A_TIME_MAX: u64 = 64;

/// What the log needs of a server.
pub trait LogServer {
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
    /// Carries out a purge of another cache. Returns the epoch from which on responses are younger than it; `None`: it can't be understood.
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
        let read = Self { log: u128::from_str_radix(log, 16).ok()?, number: number.parse().ok()? };
        (read.to_string() == text).then_some(read)
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

#[derive(Debug)]
struct State {
    /// Whether the cache has begun with responses that an earlier process had stored.
    has_past: bool,
    known: HashMap<u128, Known>,
    /// The same, the oldest first.
    order: VecDeque<u128>,
    servers: Vec<ServerLog>,
}

/// A purge.
#[derive(Debug)]
struct Known {
    epoch: Epoch,
    sealed: Bytes,
    since_ms: u64,
    is_own: bool,
    /// The servers that have not been tried yet.
    untried: HashSet<usize>,
    /// Who waits until all have been tried.
    waiting: Option<oneshot::Sender<()>>,
}

/// The log of one server.
#[derive(Debug, Default)]
struct ServerLog {
    /// `None`: not read yet.
    log: Option<u128>,
    /// All records up to this one have been read.
    position: u64,
    /// The records up to this one have been carried out for good, by this process or an earlier one.
    certain: Option<u64>,
    /// Values with a lower number may be older than purges that are not known.
    known_from: u64,
    /// Neither is known what was purged between an earlier epoch of this cache and that number.
    known_since: Epoch,
    /// The records whose epochs are known, in the order of their numbers.
    records: VecDeque<(u64, Epoch)>,
    /// The highest of these epochs.
    last_epoch: Epoch,
    /// Known purges that are not in this log.
    lacking: HashSet<u128>,
    /// The numbers of records that could not be written.
    reserved: HashMap<u128, u64>,
    /// A value of the counter, and when it was first seen, in milliseconds.
    counted: Option<(u64, u64)>,
    /// What this cache has stored is younger than the purges up to this number: it was dropped, or there was none, when they had been counted.
    dropped_to: u64,
    /// When the log was last read to its end, or first asked for, in milliseconds.
    read_ms: Option<u64>,
    /// A purge that it lacks was forgotten: the log must get another identity.
    is_broken: bool,
}

/// A record that was read.
struct Record {
    id: u128,
    purge: Bytes,
    sealed: Bytes,
}

/// A purge of this process is on its way to the servers.
#[must_use]
#[derive(Debug)]
pub struct Delivery(oneshot::Receiver<()>);

impl Delivery {
    /// Waits until every server has it that can be reached. The caller bounds the wait.
    pub async fn wait(self) {
        // The sender goes where the purge is forgotten, long after any wait.
        let _ = self.0.await;
    }
}

impl PurgeLog {
    /// The logs of so many servers, of which nothing is known yet.
    pub fn new(namespace: Namespace, sealer: Arc<Sealer>, servers: usize) -> Self {
        let servers = (0..servers).map(|_| ServerLog::default()).collect();
        let state = Mutex::new(State { has_past: false, known: HashMap::new(), order: VecDeque::new(), servers });
        Self { namespace, sealer, state, news: watch::Sender::default(), counts: PurgeCounts::default() }
    }

    /// The cache begins with responses that an earlier process had stored. `positions`: what [`PurgeLog::positions`] said of each server then, as
    /// far as that is known. To be called before a log is followed.
    pub fn resume(&self, positions: impl Fn(usize) -> Option<u64>) {
        let mut state = self.state();
        state.has_past = true;
        for (number, server) in state.servers.iter_mut().enumerate() {
            server.certain = positions(number);
        }
    }

    /// For each server, up to which number all purges have been carried out so that a restart does not undo them.
    pub fn positions(&self) -> Vec<Option<u64>> {
        self.state().servers.iter().map(|server| server.certain).collect()
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
        let (waiting, delivery) = oneshot::channel();
        let id = fastrand::u128(..);
        {
            let mut state = self.state();
            let (epoch, purge) = carry_out()?;
            if let Some(sealed) = self.record(id, &purge).or_else(|| self.record(id, EVERYTHING)) {
                let (untried, waiting) = ((0..state.servers.len()).collect(), Some(waiting));
                state.note(id, Known { epoch, sealed, since_ms: now_ms, is_own: true, untried, waiting });
            }
        }
        self.counts.published.add(1);
        self.news.send_replace(());
        Ok(Delivery(delivery))
    }

    /// What the logs have brought so far.
    pub fn counts(&self) -> &PurgeCounts {
        &self.counts
    }

    /// Changes whenever a purge of this process has to be written.
    pub fn news(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }

    /// A server can't be asked now: nobody waits until it has got a purge.
    pub fn is_away(&self, server: usize) {
        self.state().tried(server, |_| true);
    }

    /// The number that a value in this server gets whose request to the origin began in this epoch; `None`: the log is not known well enough, so
    /// nothing should be written.
    pub fn generation(&self, server: usize, born: Epoch) -> Option<Generation> {
        let state = self.state();
        let server = state.servers.get(server).filter(|server| !server.is_broken)?;
        let log = server.log.filter(|_| born >= server.known_since)?;
        let first_later = || server.records.iter().find(|(_, epoch)| *epoch > born);
        let first_later = if server.last_epoch > born { first_later() } else { None };
        let number = first_later.map_or(server.position, |(number, _)| number.saturating_sub(1));
        (number >= server.known_from).then_some(Generation { log, number })
    }

    /// An epoch of this cache in which, or after which, the request for a value of this server began: later purges cover it, if they are about its
    /// URI or tags. `None`: the value may not be used.
    pub fn born(&self, server: usize, generation: Generation, purger: &impl Purger) -> Option<Epoch> {
        let state = self.state();
        let server = state.servers.get(server).filter(|server| !server.is_broken)?;
        let Generation { log, number } = generation;
        if server.log != Some(log) || number < server.known_from {
            return None;
        }
        let later = server.records.iter().rev().take_while(|(record, _)| *record > number).map(|(_, epoch)| *epoch);
        let lacking = server.lacking.iter().filter_map(|id| state.known.get(id)).map(|known| known.epoch);
        Some(match later.chain(lacking).min() {
            Some(first) => first.saturating_sub(1),
            None => purger.epoch(),
        })
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
            self.write_reserved(number, server).await?;
            let is_read = self.read(number, server, purger, &now).await?;
            if is_read && self.add_lacking(number, server, now().mono_ms).await? {
                return self.read(number, server, purger, &now).await;
            }
            Ok(is_read)
        };
        let followed = followed.await;
        if !matches!(followed, Ok(true)) {
            self.is_away(number);
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
        {
            let mut state = self.state();
            state.forget_old(begun.mono_ms);
            if let Some(server) = state.servers.get_mut(number) {
                server.read_ms.get_or_insert(begun.mono_ms);
            }
        }
        let Some(counter) = self.counter(server, begun.unix_ms).await? else { return Ok(false) };
        let Some((log, start)) = self.identity(number, server, counter).await? else { return Ok(false) };
        let Some(first) = self.state().begin(number, (log, start), counter, begun.mono_ms, purger) else {
            return Ok(false);
        };
        let mut next = first;
        while next <= counter {
            let last = counter.min(next.saturating_add(AT_A_TIME_MAX - 1));
            let get = async |record| (record, server.get(&self.namespace.purge(record), None).await);
            for (record, found) in concurrently((next..=last).map(get)).await {
                let found = found?.and_then(|sealed| self.open(sealed));
                let is_missing = found.is_none();
                if !self.state().take(number, record, found, now().mono_ms, purger) {
                    return Ok(false);
                }
                if is_missing {
                    self.counts.missing.add(1);
                }
            }
            next = last.saturating_add(1);
        }
        let is_certain = purger.make_certain().await;
        if let Some(server) = self.state().servers.get_mut(number) {
            server.read_ms = Some(begun.mono_ms);
            if is_certain && server.log == Some(log) && server.position >= counter {
                server.certain = Some(counter);
            }
        }
        Ok(true)
    }

    async fn counter(&self, server: &impl LogServer, unix_ms: i64) -> Result<Option<u64>, Failure> {
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
            None => drop(server.add(&name, fresh, None).await?),
            // It is no counter, and nobody could ever count on.
            Some(_) => server.set(&name, fresh, None).await?,
        }
        Ok(server.get(&name, None).await?.and_then(parse))
    }

    /// The identity of a server's log, and the number before its first record. It is made where it is missing, and anew where the log is
    /// broken.
    async fn identity(
        &self,
        number: usize,
        server: &impl LogServer,
        counter: u64,
    ) -> Result<Option<(u128, u64)>, Failure> {
        let name = self.namespace.log();
        let is_broken = self.state().servers.get(number).is_some_and(|server| server.is_broken);
        let found = if is_broken { None } else { server.get(&name, Some(LOG_SECONDS)).await? };
        if let Some(identity) = found.as_deref().and_then(read_identity) {
            return Ok(Some(identity));
        }
        let fresh = (fastrand::u128(..), counter);
        let value = Bytes::from(format!("{:032x} {counter}", fresh.0));
        if is_broken || found.is_some() {
            server.set(&name, value, Some(LOG_SECONDS)).await?;
            return Ok(Some(fresh));
        }
        if server.add(&name, value, Some(LOG_SECONDS)).await? {
            return Ok(Some(fresh));
        }
        let found = server.get(&name, None).await?;
        Ok(found.and_then(|value| read_identity(&value)))
    }

    /// Adds purges to a server that lacks them. Returns whether there were any.
    async fn add_lacking(&self, number: usize, server: &impl LogServer, now_ms: u64) -> Result<bool, Failure> {
        let (lacking, seconds) = {
            let state = self.state();
            (state.to_be_added(number, now_ms), state.record_seconds())
        };
        let add = async |(id, sealed): &(u128, Bytes)| {
            // Where the counter is missing, it is made when the log is read the next time.
            if let Some(record) = server.increment(&self.namespace.purges()).await? {
                self.state().reserve(number, *id, record);
                self.write_record(number, server, (*id, record), sealed.clone(), seconds).await?;
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
        for (id, record, sealed) in reserved {
            self.write_record(number, server, (id, record), sealed, seconds).await?;
        }
        Ok(())
    }

    async fn write_record(
        &self,
        number: usize,
        server: &impl LogServer,
        (id, record): (u128, u64),
        sealed: Bytes,
        seconds: u32,
    ) -> Result<(), Failure> {
        server.set(&self.namespace.purge(record), sealed, Some(seconds)).await?;
        let mut state = self.state();
        if let Some(server) = state.servers.get_mut(number) {
            server.reserved.remove(&id);
        }
        state.tried(number, |other| other == id);
        Ok(())
    }

    /// The record of a purge; `None` where it has no room.
    fn record(&self, id: u128, purge: &[u8]) -> Option<Bytes> {
        let content = [format!("{KIND_AND_ID}{id:032x}\r\n").as_bytes(), purge, b"\r\n"].concat();
        let Sealed { first, chunks, .. } = self.sealer.seal(vec![content.into()], RECORD_BYTES_MAX, || 0).ok()?;
        chunks.is_empty().then(|| first.concat().into())
    }

    fn open(&self, sealed: Bytes) -> Option<Record> {
        let Opened::Whole(content) = self.sealer.open(sealed.clone()).ok()? else { return None };
        let rest = content.strip_prefix(KIND_AND_ID.as_bytes())?;
        let (id, rest) = rest.split_at_checked(32)?;
        let purge = rest.strip_prefix(b"\r\n")?.strip_suffix(b"\r\n")?;
        let id = u128::from_str_radix(std::str::from_utf8(id).ok()?, 16).ok()?;
        Some(Record { id, purge: content.slice_ref(purge), sealed })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change under the lock is complete in itself, so a panic elsewhere leaves a state that can be read.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs futures at the same time, in one task. Returns their outputs in their order.
async fn concurrently<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<Pin<Box<F>>> = futures.map(Box::pin).collect();
    let mut outputs: Vec<Option<F::Output>> = running.iter().map(|_| None).collect();
    poll_fn(|cx| {
        let mut are_done = true;
        for (future, output) in running.iter_mut().zip(&mut outputs).filter(|(_, output)| output.is_none()) {
            match future.as_mut().poll(cx) {
                Poll::Ready(done) => *output = Some(done),
                Poll::Pending => are_done = false,
            }
        }
        if are_done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outputs.into_iter().flatten().collect()
}

/// A counter above this was written by somebody who does not count.
const COUNTER_MAX: u64 = i64::MAX as u64;

/// What follows where purges may be missing.
const DROPPED: &str = "everything that is stored here is dropped";

/// The purge for one that has no room in a record: more is dropped than was meant.
const EVERYTHING: &[u8] = b"Purge: hard\r\nAll: yes\r\n";

/// How the content of a record begins.
const KIND_AND_ID: &str = "Kind: purge\r\nId: ";

fn read_identity(value: &[u8]) -> Option<(u128, u64)> {
    let (id, start) = std::str::from_utf8(value).ok()?.split_once(' ')?;
    Some((u128::from_str_radix(id, 16).ok()?, start.parse().ok()?))
}

impl ServerLog {
    /// Nothing is known of what was purged before this number, and before this epoch.
    fn begin_at(&mut self, number: u64, epoch: Epoch) {
        (self.position, self.known_from, self.known_since) = (number, number, epoch);
    }
}

impl State {
    /// Notes a purge that has just been carried out.
    fn note(&mut self, id: u128, known: Known) {
        self.servers.iter_mut().for_each(|server| {
            server.lacking.insert(id);
        });
        self.known.insert(id, known);
        self.order.push_back(id);
    }

    /// Forgets purges of long ago that have been in the log of some server for so long that each cache has read them there, or knows that it was
    /// away for too long. A server that lacks one may come back with what it covers, so its log gets another identity.
    fn forget_old(&mut self, now_ms: u64) {
        let State { known, order, servers, .. } = self;
        let mut too_many = order.len().saturating_sub(PURGES_KNOWN_MAX);
        let is_recent = |known: &Known| now_ms.saturating_sub(known.since_ms) <= PURGES_KNOWN_MS;
        if too_many == 0 && order.front().and_then(|id| known.get(id)).is_none_or(is_recent) {
            return;
        }
        let was_read_by_all = |id: &u128, known: &Known, servers: &[ServerLog]| {
            let until = known.since_ms.saturating_add(u64::from(LOG_SECONDS) * 1000);
            servers.iter().any(|server| !server.lacking.contains(id) && server.read_ms >= Some(until))
        };
        order.retain(|id| {
            let stays = |known: &Known| is_recent(known) || !was_read_by_all(id, known, servers);
            if too_many == 0 && known.get(id).is_some_and(stays) {
                return true;
            }
            too_many = too_many.saturating_sub(1);
            known.remove(id);
            for server in &mut *servers {
                server.is_broken |= server.lacking.remove(id);
            }
            false
        });
    }

    /// Prepares the reading of a log up to its counter. Returns the first record to be read; `None`: the log can't be used.
    fn begin(
        &mut self,
        number: usize,
        (log, start): (u128, u64),
        counter: u64,
        now_ms: u64,
        purger: &impl Purger,
    ) -> Option<u64> {
        let Self { has_past, known, servers, .. } = self;
        let all = || known.keys().copied().collect();
        let server = servers.get_mut(number)?;
        let is_of_this_log = server.log == Some(log);
        if counter < start || is_of_this_log && counter < server.position {
            // The counter has gone back: numbers would be used twice.
            server.is_broken = true;
            return None;
        }
        let can_be_read = |position: &u64| *position <= counter && counter - *position <= RECORDS_READ_MAX;
        if !is_of_this_log {
            let before = if server.log.is_some() { Some(server.position) } else { server.certain };
            let (certain, read_ms) = (server.certain, server.read_ms);
            let was_long_ago = read_ms.is_some_and(|read| now_ms.saturating_sub(read) > u64::from(LOG_SECONDS) * 1000);
            let is_new = server.log.is_none();
            *server = ServerLog { log: Some(log), lacking: all(), certain, read_ms, ..ServerLog::default() };
            if let Some(before) = before.filter(can_be_read) {
                // Only the identity is another one, or the process. If it is another server's log, records are missing.
                server.begin_at(before, purger.epoch());
            } else {
                // The purges of that time may be in no log any more. Those of the last minutes come again.
                if was_long_ago || is_new && *has_past {
                    tracing::warn!(server = number, "its log of purges is a new one: {DROPPED}");
                    purger.drop_everything();
                }
                let earliest = counter.saturating_sub(RECORDS_READ_MAX);
                server.begin_at(start.max(earliest), purger.epoch());
                // A cache that has just begun has stored nothing yet.
                if was_long_ago || is_new && (*has_past || read_ms == Some(now_ms)) {
                    server.dropped_to = counter;
                }
            }
        } else if !can_be_read(&server.position) {
            tracing::warn!(server = number, "its log of purges has gone on too far: {DROPPED}");
            purger.drop_everything();
            server.begin_at(counter.saturating_sub(RECORDS_READ_MAX), purger.epoch());
            server.dropped_to = counter;
            // Other caches do not read that far back either.
            server.lacking = all();
        }
        if server.counted.is_none_or(|(counted, _)| counted <= server.position) {
            server.counted = Some((counter, now_ms));
        }
        Some(server.position.saturating_add(1))
    }

    /// Takes a record of a server, in the order of their numbers. Returns whether the next one may be read.
    fn take(&mut self, number: usize, at: u64, record: Option<Record>, now_ms: u64, purger: &impl Purger) -> bool {
        let Some(server) = self.servers.get_mut(number) else { return false };
        // Another task has read it meanwhile, or the log is another one by now.
        if at != server.position.saturating_add(1) {
            return false;
        }
        let Some(Record { id, purge, sealed }) = record else {
            let is_late = |(counted, at_ms)| at <= counted && now_ms.saturating_sub(at_ms) >= RECORD_MISSING_MS;
            let Some((counted, _)) = server.counted.filter(|seen| is_late(*seen)) else { return false };
            // It is not known what was purged. Another server need not have it: its cache may not have reached that one. Once is enough for all
            // that were counted by now.
            if at > server.dropped_to {
                tracing::warn!(server = number, record = at, "a record is missing in its log of purges: {DROPPED}");
                purger.drop_everything();
                server.dropped_to = counted;
            }
            server.begin_at(at, purger.epoch());
            return true;
        };
        let epoch = match self.known.get(&id) {
            Some(known) => known.epoch,
            None => {
                let Some(epoch) = purger.carry_out(&purge) else {
                    tracing::error!(
                        server = number,
                        record = at,
                        "the record of a purge can't be understood: {DROPPED}"
                    );
                    purger.drop_everything();
                    server.begin_at(at, purger.epoch());
                    return true;
                };
                let (untried, waiting) = (HashSet::new(), None);
                self.note(id, Known { epoch, sealed, since_ms: now_ms, is_own: false, untried, waiting });
                epoch
            }
        };
        let Some(server) = self.servers.get_mut(number) else { return false };
        server.position = at;
        server.reserved.retain(|_, record| *record > at);
        // A purge that two caches have added stands in the log twice, and counts from the first time on.
        if server.lacking.remove(&id) {
            server.records.push_back((at, epoch));
            server.last_epoch = server.last_epoch.max(epoch);
            if server.records.len() > RECORDS_READ_MAX as usize
                && let Some((forgotten, epoch)) = server.records.pop_front()
            {
                server.known_from = server.known_from.max(forgotten);
                server.known_since = server.known_since.max(epoch);
            }
        }
        true
    }

    fn reserve(&mut self, number: usize, id: u128, record: u64) {
        if let Some(server) = self.servers.get_mut(number) {
            server.reserved.insert(id, record);
        }
    }

    /// The records whose numbers are reserved, as long as they may be read under these.
    fn reserved(&self, number: usize) -> Vec<(u128, u64, Bytes)> {
        let Some(server) = self.servers.get(number) else { return Vec::new() };
        let wanted = server.reserved.iter().filter(|(_, record)| **record > server.position);
        let sealed = |id| Some(self.known.get(id)?.sealed.clone());
        wanted.filter_map(|(id, record)| Some((*id, *record, sealed(id)?))).collect()
    }

    /// For how long a record is of use, in seconds: as long as it is read by caches that begin. That depends on how many purges there are.
    fn record_seconds(&self) -> u32 {
        let purges = (self.known.len() as u64).max(1);
        let seconds = RECORDS_READ_MAX * (PURGES_KNOWN_MS / 1000) / purges;
        u32::try_from(seconds).unwrap_or(u32::MAX).clamp(RECORD_SECONDS_MIN, RECORD_SECONDS_MAX)
    }

    /// The purges that are to be added to a server now.
    fn to_be_added(&self, number: usize, now_ms: u64) -> Vec<(u128, Bytes)> {
        let Some(server) = self.servers.get(number) else { return Vec::new() };
        if server.lacking.is_empty() {
            return Vec::new();
        }
        let is_due = |known: &Known| known.is_own || now_ms.saturating_sub(known.since_ms) >= FOREIGN_PURGE_MS;
        let is_reserved = |id| server.reserved.get(id).is_some_and(|record| *record > server.position);
        let lacking = self.order.iter().filter(|id| server.lacking.contains(id) && !is_reserved(*id));
        let due = lacking.filter_map(|id| self.known.get(id).filter(|known| is_due(known)).map(|known| (*id, known)));
        due.take(AT_A_TIME_MAX as usize).map(|(id, known)| (id, known.sealed.clone())).collect()
    }

    /// A server has got these purges, or can't be reached.
    fn tried(&mut self, number: usize, which: impl Fn(u128) -> bool) {
        for (id, known) in self.known.iter_mut().filter(|(_, known)| known.waiting.is_some()) {
            if which(*id) {
                known.untried.remove(&number);
            }
            if known.untried.is_empty()
                && let Some(waiting) = known.waiting.take()
            {
                let _ = waiting.send(());
            }
        }
    }
}

#[cfg(test)]
mod tests;
