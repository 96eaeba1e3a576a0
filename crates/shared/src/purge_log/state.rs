//! What this process knows of the logs of all servers, and of the purges in them. No I/O.
//!
//! The purges that are remembered have places: the order in which they were carried out here, which is that of their epochs.

use super::identity::{Identity, Origin};
use super::{AT_A_TIME_MAX, EVERYTHING, Epoch, Generation, LOG_SECONDS, Position, Purger, Reached};
use crate::history::History;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::fmt;
use tokio::sync::oneshot;

/// The most records that are read of a log whose position is not known.
pub(super) const RECORDS_READ_MAX: u64 = 16 << 10;

/// More records than are added to a log within [`LOG_SECONDS`]. A counter that was made anew is further ahead, as it is a time in microseconds.
const RECORDS_ADDED_MAX: u64 = 10_000_000;

/// A bound on the records that are added to a log between two readings: this many, and [`RECORDS_PER_MS`] for each millisecond between them. A
/// counter that was made anew is further ahead, unless its server had begun just before.
const RECORDS_ADDED_AT_ONCE: u64 = 4 * RECORDS_READ_MAX;
const RECORDS_PER_MS: u64 = 100;

/// The most purges that are remembered, to be added to servers that were away.
pub(super) const PURGES_KNOWN_MAX: usize = 64 << 10;

/// For how long a purge is remembered, in milliseconds. Longer than [`LOG_SECONDS`]: the log of a server that was away for longer is gone.
const PURGES_KNOWN_MS: u64 = 2 * LOG_SECONDS as u64 * 1000;

/// For how long a record stays in a server, in seconds.
const RECORD_SECONDS_MIN: u32 = 2 * LOG_SECONDS;
const RECORD_SECONDS_MAX: u32 = 24 * 60 * 60;

/// How long a record may be missing after its number was seen in the counter, in milliseconds: its cache may write it just then.
const RECORD_MISSING_MS: u64 = 1000;

/// After which time a purge of another cache is added to a server that lacks it, in milliseconds: that cache does so itself if it can.
const FOREIGN_PURGE_MS: u64 = 1000;

/// A front end that was asked within this time has not begun, purged and ended meanwhile. Nor has it ended with a purge of which nobody else has
/// heard: it writes a purge to all that it can reach at once. In milliseconds.
const SEEN_MS: u64 = 2000;

/// What follows where purges may be missing.
const DROPPED: &str = "everything that is stored here is dropped";

/// The place of a purge in the order in which they were carried out here.
pub(super) type Place = u64;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct State {
    /// The cache has begun with responses that an earlier process had stored.
    past: Option<Past>,
    /// Where the logs are hosted by front ends: the log of this one.
    own_log: Option<usize>,
    known: BTreeMap<Place, Known>,
    places: HashMap<u128, Place>,
    next_place: Place,
    /// Who waits until servers have got a purge of this process.
    waiting: BTreeMap<Place, Waiting>,
    servers: Vec<ServerLog>,
    /// What operators call the servers.
    names: Vec<String>,
}

/// Up to which number an earlier process had read the log of a server, if it was in this history.
struct Past(Box<dyn Fn(usize, Option<History>) -> Option<u64> + Send>);

impl fmt::Debug for Past {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Past")
    }
}

/// A purge.
#[derive(Debug)]
struct Known {
    id: u128,
    epoch: Epoch,
    purge: Bytes,
    since_ms: u64,
    is_own: bool,
    /// Whether it is added to logs that lack it.
    is_passed_on: bool,
    /// Whether it can cover anything in this cache.
    concerns_us: bool,
}

/// Waits until all servers have been tried.
#[derive(Debug)]
struct Waiting {
    untried: HashSet<usize>,
    reached: Reached,
    told: oneshot::Sender<()>,
}

/// The log of one server.
#[derive(Debug, Default)]
struct ServerLog {
    /// `None`: not read yet.
    log: Option<u128>,
    /// The history in which the log was read.
    history: Option<History>,
    /// All records up to this one have been read.
    position: u64,
    /// The records up to this one have been carried out for good, by this process or an earlier one.
    certain: Option<Position>,
    /// Values with a lower number may be older than purges that are not known.
    known_from: u64,
    /// Neither is known what was purged between an earlier epoch of this cache and that number.
    known_since: Epoch,
    /// The records whose epochs are known, in the order of their numbers.
    records: VecDeque<(u64, Epoch)>,
    /// The highest of these epochs.
    last_epoch: Epoch,
    /// Known purges that are not in this log.
    lacking: BTreeSet<Place>,
    /// Those of them that can cover something in this cache (`concerns_us`).
    lacking_of_ours: BTreeSet<Place>,
    /// The record numbers of known purges in this log that can't cover anything in this cache.
    of_no_concern: BTreeMap<Place, u64>,
    /// The numbers of records that could not be written.
    reserved: BTreeMap<Place, u64>,
    /// A value of the counter, and when it was first seen, in milliseconds.
    counted: Option<(u64, u64)>,
    /// What this cache has stored is younger than the purges up to this number: it was dropped, or there was none, when they had been counted.
    dropped_to: u64,
    /// When the log was last read to its end, or first asked for, in milliseconds.
    read_ms: Option<u64>,
    /// When the log was last asked for, with success or without, in milliseconds.
    asked_ms: Option<u64>,
    /// Whether the process of the log was seen to end. `None`: nothing has failed since the log was read.
    has_ended: Option<bool>,
    /// What is read now was written long ago, or may have been: this process reads the log for the first time, or after a while.
    is_catching_up: bool,
    /// A purge that it lacks was forgotten: the log must get another identity.
    is_broken: bool,
}

/// A record that was read.
pub(super) struct Record {
    pub(super) id: u128,
    pub(super) purge: Bytes,
}

/// A purge that a server lacks.
pub(super) struct Lacking {
    pub(super) place: Place,
    pub(super) id: u128,
    pub(super) purge: Bytes,
}

/// It is not known which records were added.
struct Lost;

impl ServerLog {
    fn set_lacking(&mut self, lacking: BTreeSet<Place>, known: &BTreeMap<Place, Known>) {
        let is_ours = |place: &&Place| known.get(place).is_some_and(|known| known.concerns_us);
        self.lacking_of_ours = lacking.iter().filter(is_ours).copied().collect();
        self.lacking = lacking;
    }

    /// Nothing is known of what was purged before this number, and before this epoch.
    fn begin_at(&mut self, number: u64, epoch: Epoch) {
        (self.position, self.known_from, self.known_since) = (number, number, epoch);
    }

    /// The number before the first record whose purge is still known.
    fn before_what_is_known(&self, known: &BTreeMap<Place, Known>) -> u64 {
        let first = known.values().next().map(|known| known.epoch);
        let is_known = |epoch: &Epoch| first.is_some_and(|first| *epoch >= first);
        let first = self.records.iter().find(|(_, epoch)| is_known(epoch)).map(|(number, _)| number);
        let first = first.into_iter().chain(self.of_no_concern.values()).min();
        first.map_or(self.position, |number| number.saturating_sub(1))
    }

    /// Where to go on in a log that has got another identity.
    fn position_in(
        &self,
        identity: &Identity,
        counter: u64,
        known: &BTreeMap<Place, Known>,
        now_ms: u64,
    ) -> Result<u64, Lost> {
        let earliest = counter.saturating_sub(RECORDS_READ_MAX);
        let added = counter.saturating_sub(self.position);
        let go_on = || {
            // A counter that was made anew is a time in microseconds, and has none of the records: then all are added.
            let since_read_ms = self.read_ms.map_or(u64::MAX, |read| now_ms.saturating_sub(read));
            let is_the_same_counter =
                added <= RECORDS_ADDED_AT_ONCE.saturating_add(since_read_ms.saturating_mul(RECORDS_PER_MS));
            let is_behind = self.position < earliest;
            if is_behind && is_the_same_counter { Err(Lost) } else { Ok(self.position) }
        };
        let Some(Origin { history, since, previous }) = identity.origin else { return go_on() };
        if self.history.is_none_or(|own| own == history) {
            return go_on();
        }
        // The last records that were read may be lost, and others may have their numbers. Those up to `since` are the same ones, if this history
        // came right after ours.
        // Whoever has read the records does not add them again. A counter that was made anew has none of them: then all are added.
        let has_records = self.position > since || added <= RECORDS_ADDED_MAX;
        if previous != self.history || self.position.min(since) < earliest && has_records {
            return Err(Lost);
        }
        // Programs may have added records before anybody had noticed. What is read twice does no harm.
        let known = self.before_what_is_known(known).max(earliest);
        Ok(self.position.min(since).min(known))
    }

    fn was_read_long_ago(&self, now_ms: u64) -> bool {
        self.read_ms.is_some_and(|read| now_ms.saturating_sub(read) > u64::from(LOG_SECONDS) * 1000)
    }

    /// Whether the front end of this log has ended, as far as is known, soon after the log was read.
    fn was_seen_to_end(&self, now_ms: u64) -> bool {
        is_lately(self.asked_ms, now_ms) && self.has_ended.unwrap_or(true)
    }

    /// The number under which a purge is to be written, if it has one that is still read.
    fn reserved(&self, place: Place) -> Option<u64> {
        self.reserved.get(&place).copied().filter(|record| *record > self.position)
    }
}

fn name(names: &[String], number: usize) -> String {
    names.get(number).cloned().unwrap_or_else(|| number.to_string())
}

fn is_lately(ms: Option<u64>, now_ms: u64) -> bool {
    ms.is_some_and(|ms| now_ms.saturating_sub(ms) <= SEEN_MS)
}

impl State {
    pub(super) fn new(servers: usize) -> Self {
        Self {
            past: None,
            own_log: None,
            known: BTreeMap::new(),
            places: HashMap::new(),
            next_place: 0,
            waiting: BTreeMap::new(),
            servers: (0..servers).map(|_| ServerLog::default()).collect(),
            names: Vec::new(),
        }
    }

    /// Whether a log has been read.
    pub(super) fn has_read(&self, number: usize) -> bool {
        self.servers.get(number).is_some_and(|server| server.log.is_some())
    }

    pub(super) fn name_servers(&mut self, names: Vec<String>) {
        self.names = names;
    }

    /// What operators call a server.
    pub(super) fn name(&self, number: usize) -> String {
        name(&self.names, number)
    }

    /// The logs of front ends: that of this one, and those of so many others.
    pub(super) fn of_front_ends(others: usize) -> Self {
        Self { own_log: Some(0), ..Self::new(others + 1) }
    }

    pub(super) fn resume(&mut self, position: impl Fn(usize, Option<History>) -> Option<u64> + Send + 'static) {
        self.past = Some(Past(Box::new(position)));
    }

    pub(super) fn positions(&self) -> Vec<Option<Position>> {
        self.servers.iter().map(|server| server.certain).collect()
    }

    /// Whether what is known of a log is of this history.
    pub(super) fn is_in(&self, number: usize, history: Option<History>) -> bool {
        self.servers.get(number).is_some_and(|server| server.log.is_none() || server.history == history)
    }

    /// The history in which a log was read, if that was not long ago.
    pub(super) fn history(&self, number: usize, now_ms: u64) -> Option<History> {
        self.servers.get(number).filter(|server| !server.was_read_long_ago(now_ms))?.history
    }

    pub(super) fn generation(&self, server: usize, born: Epoch) -> Option<Generation> {
        let server = self.servers.get(server).filter(|server| !server.is_broken)?;
        let log = server.log.filter(|_| born >= server.known_since)?;
        let first_later = || server.records.iter().find(|(_, epoch)| *epoch > born);
        let first_later = if server.last_epoch > born { first_later() } else { None };
        let number = first_later.map_or(server.position, |(number, _)| number.saturating_sub(1));
        (number >= server.known_from).then_some(Generation { log, number })
    }

    pub(super) fn born(&self, server: usize, generation: Generation, purger: &impl Purger) -> Option<Epoch> {
        let server = self.servers.get(server).filter(|server| !server.is_broken)?;
        let Generation { log, number } = generation;
        if server.log != Some(log) || number < server.known_from {
            return None;
        }
        let later = server.records.iter().rev().take_while(|(record, _)| *record > number).map(|(_, epoch)| *epoch);
        // The first of them has the lowest epoch.
        let lacking = server.lacking_of_ours.first().and_then(|place| self.known.get(place)).map(|known| known.epoch);
        Some(match later.chain(lacking).min() {
            Some(first) => first.saturating_sub(1),
            None => purger.epoch(),
        })
    }

    /// Notes a purge of this process that has just been carried out. `told` hears when all servers have been tried, `reached` which have it.
    pub(super) fn note_own(
        &mut self,
        id: u128,
        epoch: Epoch,
        purge: Bytes,
        now_ms: u64,
        told: oneshot::Sender<()>,
        reached: Reached,
    ) {
        let place = self.note_to_be_told(id, epoch, purge, now_ms);
        let untried = (0..self.servers.len()).collect();
        self.waiting.insert(place, Waiting { untried, reached, told });
    }

    fn note_to_be_told(&mut self, id: u128, epoch: Epoch, purge: Bytes, now_ms: u64) -> Place {
        self.note(Known { id, epoch, purge, since_ms: now_ms, is_own: true, is_passed_on: true, concerns_us: true })
    }

    fn note(&mut self, known: Known) -> Place {
        let place = self.next_place;
        self.next_place += 1;
        if known.is_passed_on {
            for server in &mut self.servers {
                server.lacking.insert(place);
                if known.concerns_us {
                    server.lacking_of_ours.insert(place);
                }
            }
        }
        self.places.insert(known.id, place);
        self.known.insert(place, known);
        place
    }

    /// A server has got a purge under this number, or not yet.
    pub(super) fn has_written(&mut self, number: usize, place: Place) {
        if let Some(server) = self.servers.get_mut(number) {
            server.reserved.remove(&place);
        }
        if let Some(waiting) = self.waiting.get_mut(&place) {
            waiting.untried.remove(&number);
            waiting.reached.add(number);
            if waiting.untried.is_empty() {
                self.tell(place);
            }
        }
    }

    /// A server can't be asked: nobody waits until it has got a purge.
    pub(super) fn is_away(&mut self, number: usize) {
        self.waiting.values_mut().for_each(|waiting| {
            waiting.untried.remove(&number);
        });
        let done: Vec<Place> = self.waiting.iter().filter(|(_, it)| it.untried.is_empty()).map(|(at, _)| *at).collect();
        done.into_iter().for_each(|place| self.tell(place));
    }

    /// A log could not be read. `has_ended`: the process that hosts it does not run any more.
    pub(super) fn has_failed(&mut self, number: usize, has_ended: bool, now_ms: u64) {
        if let Some(server) = self.servers.get_mut(number) {
            // What the first failure says counts: a machine that starts anew refuses at first, and then does not answer for a while.
            let has_ended = server.has_ended.unwrap_or(has_ended);
            server.has_ended = Some(has_ended && is_lately(server.asked_ms, now_ms));
            server.asked_ms = Some(now_ms);
        }
    }

    fn tell(&mut self, place: Place) {
        if let Some(waiting) = self.waiting.remove(&place) {
            // Whoever asked may have given the wait up.
            let _ = waiting.told.send(());
        }
    }

    /// A log is about to be read. Returns whether it must get another identity.
    pub(super) fn begin_reading(&mut self, number: usize, now_ms: u64) -> bool {
        self.forget_old(now_ms);
        self.servers.get_mut(number).is_some_and(|server| {
            server.read_ms.get_or_insert(now_ms);
            server.asked_ms.get_or_insert(now_ms);
            server.is_broken
        })
    }

    /// Forgets purges of long ago that have been in the log of some server for so long that each cache has read them there, or knows that it was
    /// away for too long. A server that lacks one may come back with what it covers, so its log gets another identity.
    fn forget_old(&mut self, now_ms: u64) {
        let too_many = self.known.len().saturating_sub(PURGES_KNOWN_MAX);
        let is_old = |known: &Known| now_ms.saturating_sub(known.since_ms) > PURGES_KNOWN_MS;
        let was_read_by_all = |place: &Place, known: &Known| {
            let until = known.since_ms.saturating_add(u64::from(LOG_SECONDS) * 1000);
            self.servers.iter().any(|server| !server.lacking.contains(place) && server.read_ms >= Some(until))
        };
        let first =
            self.known.iter().enumerate().take_while(|(number, (_, known))| *number < too_many || is_old(known));
        let forgotten = first.filter(|(number, (place, known))| *number < too_many || was_read_by_all(place, known));
        let mut forgotten: Vec<Place> = forgotten.map(|(_, (place, _))| *place).collect();
        // In place of purges of which nobody else would hear, one of everything is told.
        let mut everything = None;
        if forgotten.iter().any(|place| self.is_told_to_nobody(*place)) {
            tracing::warn!(
                "more than {PURGES_KNOWN_MAX} purges could not be sent: all caches of the namespace will drop everything"
            );
            everything = self.known.values().next_back().map(|last| last.epoch);
            forgotten.extend(self.known.keys().filter(|place| self.is_told_to_nobody(**place)));
        }
        for place in forgotten {
            if let Some(known) = self.known.remove(&place) {
                self.places.remove(&known.id);
            }
            self.waiting.remove(&place);
            for server in &mut self.servers {
                server.is_broken |= server.lacking.remove(&place);
                server.lacking_of_ours.remove(&place);
                server.of_no_concern.remove(&place);
                server.reserved.remove(&place);
            }
        }
        if let Some(epoch) = everything {
            self.note_to_be_told(fastrand::u128(..), epoch, Bytes::from_static(EVERYTHING), now_ms);
        }
    }

    /// Whether nobody else can have heard of a purge of this process.
    fn is_told_to_nobody(&self, place: Place) -> bool {
        let is_own = self.known.get(&place).is_some_and(|known| known.is_own);
        is_own && self.servers.iter().all(|server| server.lacking.contains(&place))
    }

    /// Prepares the reading of a log up to its counter. Returns the first record to be read; `None`: the log can't be used.
    pub(super) fn begin(
        &mut self,
        number: usize,
        identity: Identity,
        counter: u64,
        now_ms: u64,
        purger: &impl Purger,
    ) -> Option<u64> {
        let Self { past, own_log, known, servers, names, .. } = self;
        let all = || known.iter().filter(|(_, known)| known.is_passed_on).map(|(place, _)| *place).collect();
        let server = servers.get_mut(number)?;
        let (log, start, history) = (identity.log, identity.start, identity.history());
        let is_of_this_log = server.log == Some(log);
        if counter < start || is_of_this_log && counter < server.position {
            // The counter has gone back: numbers would be used twice.
            server.is_broken = true;
            return None;
        }
        let earliest = counter.saturating_sub(RECORDS_READ_MAX);
        let is_new = server.log.is_none();
        // A front end drops the first records of its log where they are old or too many, and says so.
        let says_first = own_log.is_some() && (is_new || is_of_this_log);
        let first = if says_first { start.max(earliest) } else { earliest };
        let can_be_read = |position: &u64| (first..=counter).contains(position);
        if !is_of_this_log {
            let before = match is_new {
                true => Ok(past.as_ref().and_then(|past| past.0(number, history))),
                false => server.position_in(&identity, counter, known, now_ms).map(Some),
            };
            let is_lost = before.is_err();
            let before = before.unwrap_or(None);
            let was_long_ago = server.was_read_long_ago(now_ms);
            let (certain, read_ms) = (server.certain, server.read_ms);
            // A log in the memory of this process had nothing before it began.
            let lost_past = past.is_some() && *own_log != Some(number);
            let may_lack_purges = match own_log {
                None => is_lost || was_long_ago,
                // The log has ended with its front end. If that was not seen, it may have had purges of which nobody else has heard.
                Some(own) => *own != number && !server.was_seen_to_end(now_ms),
            };
            // With a history, the purges since this cache began may stand before the beginning of the log, and nobody adds them again.
            let is_late = history.is_some() && read_ms != Some(now_ms);
            let is_dropped = may_lack_purges || is_new && (lost_past || is_late);
            let is_empty = is_new && past.is_none() && read_ms == Some(now_ms);
            // A front end that has begun anew reads in the logs of the others what it has missed.
            let lacking = if own_log.is_some() && !is_new { std::mem::take(&mut server.lacking) } else { all() };
            let is_catching_up = is_new || server.is_catching_up || !is_lately(read_ms, now_ms);
            let asked_ms = Some(now_ms);
            *server = ServerLog {
                log: Some(log),
                history,
                certain,
                read_ms,
                asked_ms,
                is_catching_up,
                ..ServerLog::default()
            };
            server.set_lacking(lacking, known);
            if let Some(before) = before.filter(can_be_read) {
                // Only the identity is another one, or the process. If it is another server's log, records are missing.
                server.begin_at(before, purger.epoch());
            } else {
                // The purges of that time may be in no log any more. Those of the last minutes come again.
                if is_dropped {
                    tracing::warn!(server = name(names, number), "its log of purges is a new one: {DROPPED}");
                    purger.drop_everything();
                }
                // No value depends on the purges in a front end's log, so a cache without values needs none of them.
                let needs_none = is_empty && own_log.is_some_and(|own| own != number);
                server.begin_at(if needs_none { counter } else { start.max(earliest) }, purger.epoch());
                // A cache that has just begun has stored nothing yet.
                if is_dropped || is_empty {
                    server.dropped_to = counter;
                }
            }
        } else if !can_be_read(&server.position) {
            tracing::warn!(server = name(names, number), "its log of purges has gone on too far: {DROPPED}");
            purger.drop_everything();
            server.begin_at(start.max(earliest), purger.epoch());
            server.dropped_to = counter;
            // Other caches do not read that far back either.
            server.set_lacking(all(), known);
        }
        server.is_catching_up |= !is_lately(server.read_ms, now_ms);
        server.asked_ms = Some(now_ms);
        if server.counted.is_none_or(|(counted, _)| counted <= server.position) {
            server.counted = Some((counter, now_ms));
        }
        Some(server.position.saturating_add(1))
    }

    /// Takes a record of a server, in the order of their numbers. Returns whether the next one may be read.
    pub(super) fn take(
        &mut self,
        number: usize,
        at: u64,
        record: Option<Record>,
        now_ms: u64,
        purger: &impl Purger,
    ) -> bool {
        let Self { servers, names, .. } = self;
        let Some(server) = servers.get_mut(number) else { return false };
        // Another task has read it meanwhile, or the log is another one by now.
        if at != server.position.saturating_add(1) {
            return false;
        }
        let Some(Record { id, purge }) = record else {
            let is_late = |(counted, at_ms)| at <= counted && now_ms.saturating_sub(at_ms) >= RECORD_MISSING_MS;
            let Some((counted, _)) = server.counted.filter(|seen| is_late(*seen)) else { return false };
            // It is not known what was purged. Another server need not have it: its cache may not have reached that one. Once is enough for all
            // that were counted by now.
            if at > server.dropped_to {
                tracing::warn!(
                    server = name(names, number),
                    record = at,
                    "a record of its log of purges is missing or can't be read: {DROPPED}"
                );
                purger.drop_everything();
                server.dropped_to = counted;
            }
            server.begin_at(at, purger.epoch());
            return true;
        };
        let place = match self.places.get(&id) {
            Some(place) => *place,
            None => {
                let before = purger.epoch();
                let Some(epoch) = purger.carry_out(&purge) else {
                    tracing::error!(
                        server = name(names, number),
                        record = at,
                        "a purge can't be understood: {DROPPED}"
                    );
                    purger.drop_everything();
                    server.begin_at(at, purger.epoch());
                    return true;
                };
                // Front ends host logs that are younger than some purges, and have heard of those from elsewhere. If such a purge were added
                // there, they would carry it out once more, hours later.
                let is_passed_on = self.own_log.is_none() || !server.is_catching_up;
                let concerns_us = epoch > before;
                self.note(Known { id, epoch, purge, since_ms: now_ms, is_own: false, is_passed_on, concerns_us })
            }
        };
        let (Some(server), Some(known)) = (self.servers.get_mut(number), self.known.get(&place)) else { return false };
        let epoch = known.epoch;
        server.position = at;
        server.reserved.retain(|_, record| *record > at);
        // A purge that two caches have added stands in the log twice, and counts from the first time on.
        server.lacking_of_ours.remove(&place);
        let was_lacking = server.lacking.remove(&place);
        if was_lacking && !known.concerns_us {
            server.of_no_concern.insert(place, at);
        }
        if was_lacking && known.concerns_us {
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

    /// A log has been read up to its counter. `is_certain`: what was carried out will not be lost.
    pub(super) fn end_reading(&mut self, number: usize, log: u128, counter: u64, begun_ms: u64, is_certain: bool) {
        if let Some(server) = self.servers.get_mut(number) {
            server.read_ms = Some(begun_ms);
            server.asked_ms = Some(begun_ms);
            server.has_ended = None;
            server.is_catching_up = false;
            if is_certain && server.log == Some(log) && server.position >= counter {
                server.certain = Some(Position { history: server.history, number: counter });
            }
        }
    }

    /// A purge is about to be written under this number.
    pub(super) fn reserve(&mut self, number: usize, place: Place, record: u64) {
        if let Some(server) = self.servers.get_mut(number) {
            server.reserved.insert(place, record);
        }
    }

    /// The purges whose numbers are counted, and which could not be written then.
    pub(super) fn reserved(&self, number: usize) -> Vec<(Lacking, u64)> {
        let Some(server) = self.servers.get(number) else { return Vec::new() };
        let reserved =
            server.reserved.keys().filter_map(|place| Some((self.lacking(*place)?, server.reserved(*place)?)));
        reserved.collect()
    }

    /// How many purges of this process a server lacks, as far as is known.
    pub(super) fn lacking_own(&self, number: usize) -> usize {
        let Some(server) = self.servers.get(number) else { return 0 };
        server.lacking.iter().filter(|place| self.known.get(place).is_some_and(|known| known.is_own)).count()
    }

    /// The purges that are to be added to a server now.
    pub(super) fn to_be_added(&self, number: usize, now_ms: u64) -> Vec<Lacking> {
        let Some(server) = self.servers.get(number) else { return Vec::new() };
        let is_due = |known: &Known| known.is_own || now_ms.saturating_sub(known.since_ms) >= FOREIGN_PURGE_MS;
        let due = server.lacking.iter().filter(|place| self.known.get(place).is_some_and(is_due));
        let due = due.filter(|place| server.reserved(**place).is_none()).take(AT_A_TIME_MAX as usize);
        due.filter_map(|place| self.lacking(*place)).collect()
    }

    fn lacking(&self, place: Place) -> Option<Lacking> {
        let Known { id, purge, .. } = self.known.get(&place)?;
        Some(Lacking { place, id: *id, purge: purge.clone() })
    }

    /// For how long a record is of use, in seconds: as long as it is read by caches that begin. That depends on how many purges there are.
    pub(super) fn record_seconds(&self) -> u32 {
        let purges = (self.known.len() as u64).max(1);
        let seconds = RECORDS_READ_MAX * (PURGES_KNOWN_MS / 1000) / purges;
        u32::try_from(seconds).unwrap_or(u32::MAX).clamp(RECORD_SECONDS_MIN, RECORD_SECONDS_MAX)
    }

    /// The id of the last purge that was noted.
    #[cfg(test)]
    pub(super) fn last_id(&self) -> Option<u128> {
        Some(self.known.last_key_value()?.1.id)
    }

    #[cfg(test)]
    pub(super) fn knows(&self, id: u128) -> bool {
        self.places.contains_key(&id)
    }
}
