//! Servers that go away, come back empty or with what they had, fail over to an earlier state, lose items and answers; front ends that are cut off and begin anew. Whatever
//! happened: once all can reach each other again, no front end takes a value from before a purge.

use super::state::RECORDS_READ_MAX;
use super::*;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};

/// The time, in milliseconds, of the whole world.
#[derive(Default)]
pub(crate) struct World(pub(crate) AtomicU64);

impl World {
    pub(crate) fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn clock(&self) -> Clock {
        Clock { unix_ms: 1_700_000_000_000 + self.now() as i64, mono_ms: self.now() }
    }
}

/// A server: items with the time of their expiry.
#[derive(Default)]
struct Server {
    is_away: bool,
    /// `None`: it is one without.
    history: Option<History>,
    state: Stored,
    /// What replicas and snapshots of it have.
    earlier: Vec<Stored>,
    failovers: usize,
}

/// What a server has.
#[derive(Clone, Default)]
struct Stored {
    items: BTreeMap<String, (Bytes, Option<u64>)>,
    /// What front ends have stored: the page's version, by key.
    pages: HashMap<u8, (Generation, u64)>,
}

impl Server {
    fn with_history() -> Mutex<Self> {
        Mutex::new(Self { history: Some(History(fastrand::u128(..))), ..Self::default() })
    }

    /// A replica has what the server has now, or a snapshot is made.
    fn is_copied(&mut self) {
        if self.earlier.len() == 2 {
            self.earlier.remove(0);
        }
        self.earlier.push(self.state.clone());
    }

    /// It goes back to an earlier state of all its items, or to the present one.
    fn fails_over(&mut self) {
        let copy = self.earlier.get(fastrand::usize(..=self.earlier.len())).cloned();
        self.goes_on_with(copy.unwrap_or_else(|| self.state.clone()));
    }

    fn goes_on_with(&mut self, state: Stored) {
        self.state = state;
        self.history = Some(History(fastrand::u128(..)));
        self.failovers += 1;
    }
}

/// The way from a front end to a server.
struct Link<'w> {
    world: &'w World,
    server: &'w Mutex<Server>,
    is_cut: bool,
    /// One request in so many is not carried out, and one gets no answer; 0: none.
    fails: u32,
    /// The history that was asked for.
    history: Mutex<Option<History>>,
}

impl Link<'_> {
    fn ask<T>(&self, carry_out: impl FnOnce(&mut Server, u64) -> T) -> Result<T, Failure> {
        let mut server = self.server.lock().unwrap();
        let fails = |rate: u32| rate > 0 && fastrand::u32(..rate) == 0;
        if self.is_cut || server.is_away || fails(self.fails) {
            return Err(Failure::Timeout);
        }
        if server.history.is_some() && fails(self.fails.saturating_mul(100)) {
            server.fails_over();
        }
        let now = self.world.now();
        server.state.items.retain(|_, (_, expiry)| expiry.is_none_or(|expiry| expiry > now));
        let done = carry_out(&mut server, now);
        if fails(self.fails) { Err(Failure::Timeout) } else { Ok(done) }
    }
}

fn expiry(now: u64, seconds: Option<u32>) -> Option<u64> {
    seconds.map(|seconds| now + u64::from(seconds) * 1000)
}

impl LogServer for Link<'_> {
    async fn history(&self, _: &Name) -> Result<Option<History>, Failure> {
        let history = self.ask(|server, _| server.history)?;
        *self.history.lock().unwrap() = history;
        Ok(history)
    }

    async fn get(&self, name: &Name, touched: Option<u32>) -> Result<Option<Bytes>, Failure> {
        self.ask(|server, now| {
            let (value, expires) = server.state.items.get_mut(name.as_str())?;
            if touched.is_some() {
                *expires = expiry(now, touched);
            }
            Some(value.clone())
        })
    }

    async fn add(&self, name: &Name, value: Bytes, seconds: Option<u32>) -> Result<bool, Failure> {
        self.ask(|server, now| {
            let is_new = !server.state.items.contains_key(name.as_str());
            if is_new {
                server.state.items.insert(name.to_string(), (value, expiry(now, seconds)));
            }
            is_new
        })
    }

    async fn set(&self, name: &Name, value: Bytes, seconds: Option<u32>) -> Result<(), Failure> {
        self.ask(|server, now| drop(server.state.items.insert(name.to_string(), (value, expiry(now, seconds)))))
    }

    /// Only in the history that was asked for.
    async fn increment(&self, name: &Name) -> Result<Option<u64>, Failure> {
        let known = *self.history.lock().unwrap();
        self.ask(|server, _| {
            if server.history != known {
                return Err(Failure::Unusable("it has another history".to_owned()));
            }
            let Some((value, _)) = server.state.items.get_mut(name.as_str()) else { return Ok(None) };
            let sum =
                std::str::from_utf8(value).ok().and_then(|value| value.parse::<u64>().ok()).map(|number| number + 1);
            if let Some(sum) = sum {
                *value = sum.to_string().into();
            }
            Ok(sum)
        })?
    }
}

/// What a front end has in memory, and which purges it has carried out.
#[derive(Default)]
pub(crate) struct Cache(pub(crate) Mutex<Memory>);

#[derive(Default)]
pub(crate) struct Memory {
    epoch: Epoch,
    purges: Vec<(Epoch, Option<u8>)>,
    pub(crate) pages: HashMap<u8, u64>,
}

impl Cache {
    pub(crate) fn purge(&self, key: Option<u8>) -> Epoch {
        let mut memory = self.0.lock().unwrap();
        memory.epoch += 1;
        let epoch = memory.epoch;
        memory.purges.push((epoch, key));
        memory.pages.retain(|page, _| key.is_some_and(|key| key != *page));
        epoch
    }

    /// Whether a purge covers a page of this key whose request began in that epoch.
    fn covers(&self, key: u8, born: Epoch) -> bool {
        let is_covered = |(epoch, purged): &(Epoch, Option<u8>)| *epoch > born && purged.is_none_or(|it| it == key);
        self.0.lock().unwrap().purges.iter().any(is_covered)
    }
}

impl Purger for Cache {
    fn carry_out(&self, purge: &[u8]) -> Option<Epoch> {
        match purge {
            [NOT_OURS] => Some(Purger::epoch(self)),
            [key] => Some(self.purge(Some(*key))),
            _ => None,
        }
    }

    async fn make_certain(&self) -> bool {
        true
    }

    fn drop_everything(&self) {
        self.purge(None);
    }

    fn epoch(&self) -> Epoch {
        self.0.lock().unwrap().epoch
    }
}

struct FrontEnd {
    log: PurgeLog,
    cache: Cache,
    is_cut_from: Vec<bool>,
    /// A fill: the key, the epoch in which it began, and the version that the origin has answered with.
    fill: Option<(u8, Epoch, u64)>,
}

impl FrontEnd {
    fn new(servers: usize) -> Self {
        let log = PurgeLog::new(Namespace::default(), Arc::new(Sealer::new(None).unwrap()), servers);
        Self { log, cache: Cache::default(), is_cut_from: vec![false; servers], fill: None }
    }

    async fn follow(&self, world: &World, servers: &[Mutex<Server>], fails: u32) {
        for (number, server) in servers.iter().enumerate() {
            let link = Link { world, server, is_cut: self.is_cut_from[number], fails, history: Mutex::default() };
            let _ = self.log.follow(number, &link, &self.cache, || world.clock()).await;
        }
    }

    /// The version of a page that this front end takes from a server.
    fn takes(&self, number: usize, server: &Mutex<Server>, key: u8) -> Option<u64> {
        let (generation, version) = *server.lock().unwrap().state.pages.get(&key)?;
        let born = self.log.born(number, generation, &self.cache)?;
        (!self.cache.covers(key, born)).then_some(version)
    }
}

pub(crate) const KEYS: u8 = 3;

/// What no front end here could have.
const NOT_OURS: u8 = u8::MAX;

/// Whether a purge is still known to a front end, or stands in the log of a server, where it can be read. One of which that ends was in no other
/// place: nobody can know it.
fn is_held(id: u128, front_ends: &[FrontEnd], servers: &[Mutex<Server>]) -> bool {
    let text = format!("Id: {id:032x}").into_bytes();
    let stands_in = |server: &Server| {
        let number = |name: &str| name.strip_prefix("kasoku:purges:")?.parse::<u64>().ok();
        let counter = server.state.items.get("kasoku:purges");
        let counter = counter.map_or(0, |(value, _)| std::str::from_utf8(value).unwrap().parse::<u64>().unwrap());
        let can_be_read = |at: u64| at <= counter && counter - at < RECORDS_READ_MAX;
        let has = |value: &Bytes| value.windows(text.len()).any(|window| window == text);
        server.state.items.iter().any(|(name, (value, _))| number(name).is_some_and(can_be_read) && has(value))
    };
    front_ends.iter().any(|front_end| front_end.log.state().knows(id))
        || servers.iter().any(|server| stands_in(&server.lock().unwrap()))
}

/// The purges that are held.
fn held(purges: &[(u128, u8, u64)], front_ends: &[FrontEnd], servers: &[Mutex<Server>]) -> Vec<(u128, u8, u64)> {
    purges.iter().filter(|(id, ..)| is_held(*id, front_ends, servers)).copied().collect()
}

/// What has happened in histories.
#[derive(Debug, Default)]
struct Played {
    /// Values that were taken from servers, while these went away and came back.
    taken: usize,
    /// Values that were taken at last.
    at_last: usize,
    purges: usize,
    /// Purges that were lost with all that knew them.
    lost: usize,
    failovers: usize,
    /// How often front ends have dropped everything.
    drops: usize,
}

fn failovers(servers: &[Mutex<Server>]) -> usize {
    servers.iter().map(|server| server.lock().unwrap().failovers).sum()
}

async fn history(seed: u64, servers: usize, front_ends: usize, have_histories: bool) -> Played {
    fastrand::seed(seed);
    let world = World::default();
    world.0.store(1_000_000, Ordering::Relaxed);
    let server = |_| if have_histories { Server::with_history() } else { Mutex::default() };
    let servers: Vec<Mutex<Server>> = (0..servers).map(server).collect();
    let mut front_ends: Vec<FrontEnd> = (0..front_ends).map(|_| FrontEnd::new(servers.len())).collect();
    // The version of each page at the origin, and the oldest that may be served: what a purge has found there.
    let (mut versions, mut purges) = ([0_u64; KEYS as usize], Vec::<(u128, u8, u64)>::new());
    let (mut taken, mut rate, mut made) = (0, 0, 0);
    for _ in 0..150 {
        let of = fastrand::usize(..front_ends.len());
        let number = fastrand::usize(..servers.len());
        let key = fastrand::u8(..KEYS);
        match fastrand::u32(..20) {
            // A page changes, and is purged.
            0..3 => {
                versions[key as usize] += 1;
                let front_end = &front_ends[of];
                let purge = || Ok::<_, ()>((front_end.cache.purge(Some(key)), vec![key]));
                let _ = front_end.log.publish(world.now(), purge).unwrap();
                let id = front_end.log.state().last_id().unwrap();
                made += 1;
                purges.push((id, key, versions[key as usize]));
                // What it has purged itself, it does not take any more.
                for (number, server) in servers.iter().enumerate() {
                    let version = front_end.takes(number, server, key);
                    assert!(version.is_none_or(|version| version >= versions[key as usize]), "seed {seed}: own purge");
                }
            }
            // A fill begins, and asks the origin.
            3..7 => {
                let front_end = &mut front_ends[of];
                front_end.fill = Some((key, front_end.cache.epoch(), versions[key as usize]));
            }
            // A fill ends: the page is stored in memory, if no purge has covered it meanwhile, and in a server.
            7..11 => {
                let front_end = &mut front_ends[of];
                if let Some((key, born, version)) = front_end.fill.take() {
                    if !front_end.cache.covers(key, born) {
                        front_end.cache.0.lock().unwrap().pages.insert(key, version);
                    }
                    let is_reached = !front_end.is_cut_from[number] && !servers[number].lock().unwrap().is_away;
                    if is_reached && let Some(generation) = front_end.log.generation(number, born) {
                        servers[number].lock().unwrap().state.pages.insert(key, (generation, version));
                    }
                }
            }
            11..13 => taken += usize::from(front_ends[of].takes(number, &servers[number], key).is_some()),
            13 => front_ends[of].is_cut_from[number] ^= true,
            14 => servers[number].lock().unwrap().is_away ^= true,
            // The server begins empty.
            15 if fastrand::u32(..3) == 0 => {
                let before = held(&purges, &front_ends, &servers);
                let mut server = servers[number].lock().unwrap();
                if server.history.is_some() {
                    server.goes_on_with(Stored::default());
                } else {
                    server.state = Stored::default();
                }
                server.is_away = false;
                drop(server);
                purges.retain(|purge| !before.contains(purge) || is_held(purge.0, &front_ends, &servers));
            }
            // The server evicts an item.
            16 => {
                let before = held(&purges, &front_ends, &servers);
                let items = servers[number].lock().unwrap().state.items.clone();
                let evicted = items.keys().nth(fastrand::usize(..=items.len()));
                evicted.map(|name| servers[number].lock().unwrap().state.items.remove(name));
                // Who finds no record drops everything. Who finds no counter relies on the caches that know what it counted.
                if evicted.is_some_and(|name| name == "kasoku:purges") {
                    purges.retain(|purge| !before.contains(purge) || is_held(purge.0, &front_ends, &servers));
                }
            }
            17 if fastrand::u32(..5) == 0 => {
                let before = held(&purges, &front_ends, &servers);
                front_ends[of] = FrontEnd::new(servers.len());
                purges.retain(|purge| !before.contains(purge) || is_held(purge.0, &front_ends, &servers));
            }
            // The front end begins anew, with what it had on disk.
            18 if fastrand::bool() => {
                let before = held(&purges, &front_ends, &servers);
                let old = std::mem::replace(&mut front_ends[of], FrontEnd::new(servers.len()));
                let positions = old.log.positions();
                front_ends[of].log.resume(move |server, history| {
                    positions[server].filter(|position| position.history == history).map(|position| position.number)
                });
                front_ends[of].cache = old.cache;
                front_ends[of].is_cut_from = old.is_cut_from;
                purges.retain(|purge| !before.contains(purge) || is_held(purge.0, &front_ends, &servers));
            }
            18 => rate = [0, 5, 50][fastrand::usize(..3)],
            _ => {}
        }
        if have_histories {
            let number = fastrand::usize(..servers.len());
            match fastrand::u32(..16) {
                0..2 => servers[number].lock().unwrap().is_copied(),
                2 => {
                    let before = held(&purges, &front_ends, &servers);
                    servers[number].lock().unwrap().fails_over();
                    purges.retain(|purge| !before.contains(purge) || is_held(purge.0, &front_ends, &servers));
                }
                _ => {}
            }
        }
        let ms = match fastrand::u32(..60) {
            0 => 240_000 + fastrand::u64(..120_000),
            1 => 900_000,
            _ => fastrand::u64(..400),
        };
        world.0.fetch_add(ms, Ordering::Relaxed);
        for front_end in &front_ends {
            if fastrand::u32(..3) > 0 {
                let before = if have_histories && rate > 0 { held(&purges, &front_ends, &servers) } else { vec![] };
                let failovers_before = failovers(&servers);
                front_end.follow(&world, &servers, rate).await;
                if failovers(&servers) > failovers_before {
                    purges.retain(|purge| !before.contains(purge) || is_held(purge.0, &front_ends, &servers));
                }
            }
        }
    }
    // All can reach each other again. One front end begins only now.
    servers.iter().for_each(|server| server.lock().unwrap().is_away = false);
    front_ends.iter_mut().for_each(|front_end| front_end.is_cut_from.fill(false));
    front_ends.push(FrontEnd::new(servers.len()));
    for _ in 0..12 {
        for front_end in &front_ends {
            front_end.follow(&world, &servers, 0).await;
        }
        world.0.fetch_add(250, Ordering::Relaxed);
    }
    let mut at_last = 0;
    for (of, front_end) in front_ends.iter().enumerate() {
        for key in 0..KEYS {
            let oldest = purges.iter().filter(|(_, of, _)| *of == key).map(|(.., version)| *version).max().unwrap_or(0);
            for (number, server) in servers.iter().enumerate() {
                let version = front_end.takes(number, server, key);
                assert!(
                    version.is_none_or(|it| it >= oldest),
                    "seed {seed}: front end {of} takes {version:?} of {key}, purged {oldest}, from {number}"
                );
                at_last += usize::from(version.is_some());
            }
            let version = front_end.cache.0.lock().unwrap().pages.get(&key).copied();
            assert!(
                version.is_none_or(|it| it >= oldest),
                "seed {seed}: front end {of} has {version:?} of {key}, purged {oldest}, in memory"
            );
        }
    }
    let drops = front_ends.iter().map(drops).sum();
    Played { taken, at_last, purges: made, lost: made - purges.len(), failovers: failovers(&servers), drops }
}

async fn histories(have_histories: bool) -> (Played, usize) {
    // More of them: PURGE_HISTORIES=20000 cargo test -p kasoku-shared purge.
    let histories = std::env::var("PURGE_HISTORIES").map_or(500, |histories| histories.parse().unwrap());
    let mut all = Played::default();
    for seed in 0..histories {
        // Where there are several servers, a purge that is missed in one of them is mostly found in another one.
        let (servers, front_ends) = match have_histories {
            false => (1 + (seed % 4) as usize, 1 + (seed / 4 % 3) as usize),
            true => (1 + usize::from(seed % 8 == 0), 2 + (seed % 2) as usize),
        };
        let one = history(seed, servers, front_ends, have_histories).await;
        all.taken += one.taken;
        all.at_last += one.at_last;
        all.purges += one.purges;
        all.lost += one.lost;
        all.failovers += one.failovers;
        all.drops += one.drops;
    }
    (all, histories as usize)
}

#[tokio::test]
async fn what_was_purged_does_not_come_back_whatever_servers_do() {
    let (all, histories) = histories(false).await;
    // The histories are of use only if values are used at all, and if few purges are lost.
    let wanted = histories / 8;
    assert!(all.taken > wanted && all.at_last > wanted && all.lost * 3 < all.purges, "{all:?}");
}

#[tokio::test]
async fn what_was_purged_does_not_come_back_with_a_server_that_has_lost_the_last_writes() {
    let (all, histories) = histories(true).await;
    // Values of before a failover are of no use, and what is long known stands in one server only.
    assert!(all.taken > histories / 8 && all.at_last > histories / 20 && all.lost * 2 < all.purges, "{all:?}");
    assert!(all.failovers > 5 * histories, "{all:?}");
}

/// A front end purges a key, and writes that to all servers.
async fn purge(front_end: &FrontEnd, world: &World, servers: &[Mutex<Server>], key: u8) {
    let purge = || Ok::<_, ()>((front_end.cache.purge(Some(key)), vec![key]));
    let _ = front_end.log.publish(world.now(), purge).unwrap();
    front_end.follow(world, servers, 0).await;
}

/// The keys that were purged here, in their order; `None`: everything was dropped.
fn purged(front_end: &FrontEnd) -> Vec<Option<u8>> {
    front_end.cache.0.lock().unwrap().purges.iter().map(|(_, key)| *key).collect()
}

/// A front end publishes so many purges of a key, and writes none.
fn publish_many(front_end: &FrontEnd, world: &World, purges: usize) -> Delivery {
    let publish = |key| {
        let purge = || Ok::<_, ()>((front_end.cache.purge(Some(key)), vec![key]));
        front_end.log.publish(world.now(), purge).unwrap()
    };
    let first = publish(7);
    (1..purges).for_each(|_| drop(publish(7)));
    first
}

#[tokio::test]
async fn a_purge_of_what_a_cache_could_not_have_takes_no_place_among_its_purges() {
    let (world, servers) = (World::default(), [Mutex::default(), Mutex::default()]);
    let [one, other] = [FrontEnd::new(2), FrontEnd::new(2)];
    for front_end in [&one, &other] {
        front_end.follow(&world, &servers, 0).await;
    }
    purge(&one, &world, &servers, 1).await;
    other.follow(&world, &servers, 0).await;
    let stored = other.log.generation(0, Purger::epoch(&other.cache)).unwrap();
    purge(&one, &world, &servers, NOT_OURS).await;
    // It is read in the first log, and the second one is not known to have it.
    let link = Link { world: &world, server: &servers[0], is_cut: false, fails: 0, history: Mutex::default() };
    assert!(other.log.follow(0, &link, &other.cache, || world.clock()).await.unwrap());
    let epoch = Purger::epoch(&other.cache);
    for server in 0..2 {
        let generation = Generation { log: other.log.generation(server, epoch).unwrap().log, ..stored };
        assert_eq!(other.log.born(server, generation, &other.cache), Some(epoch), "server {server}");
    }
    assert_eq!(purged(&other), [Some(1)]);
}

#[tokio::test]
async fn many_purges_are_told_at_once() {
    let (world, servers) = (World::default(), [Mutex::default()]);
    let [one, other] = [FrontEnd::new(1), FrontEnd::new(1)];
    other.follow(&world, &servers, 0).await;
    let _ = publish_many(&one, &world, 1_000);
    one.follow(&world, &servers, 0).await;
    assert_eq!(one.log.lacking(0), 0);
    other.follow(&world, &servers, 0).await;
    assert_eq!(purged(&other).len(), 1_000);
}

#[tokio::test]
async fn purges_that_are_too_many_to_be_remembered_drop_everything_at_the_others() {
    let (world, servers) = (World::default(), [Mutex::default()]);
    let [mut one, other] = [FrontEnd::new(1), FrontEnd::new(1)];
    for front_end in [&one, &other] {
        front_end.follow(&world, &servers, 0).await;
    }
    one.is_cut_from = vec![true];
    let first = publish_many(&one, &world, state::PURGES_KNOWN_MAX + 1);
    one.follow(&world, &servers, 0).await;
    assert!(!first.wait().await, "it was forgotten, and nobody has it");
    one.is_cut_from = vec![false];
    for _ in 0..3 {
        for front_end in [&one, &other] {
            front_end.follow(&world, &servers, 0).await;
        }
    }
    assert_eq!((one.log.lacking(0), drops(&other)), (0, 1));
}

/// The log has another identity and has gone on too far since it was last read.
#[tokio::test]
async fn one_that_lacks_more_records_than_are_read_drops_everything_also_after_a_new_identity() {
    let (world, servers) = (World::default(), [Mutex::default()]);
    let [one, other] = [FrontEnd::new(1), FrontEnd::new(1)];
    for front_end in [&one, &other] {
        front_end.follow(&world, &servers, 0).await;
    }
    servers[0].lock().unwrap().state.items.remove("kasoku:log").expect("the identity of the log");
    one.follow(&world, &servers, 0).await;
    for _ in 0..=RECORDS_READ_MAX {
        count_without_a_record(&servers[0]);
    }
    other.follow(&world, &servers, 0).await;
    assert_eq!(drops(&other), 1);
}

#[tokio::test]
async fn a_record_under_the_number_of_a_lost_one_is_read() {
    let (world, servers) = (World::default(), [Server::with_history()]);
    let [one, other, third] = [(); 3].map(|()| FrontEnd::new(1));
    for front_end in [&one, &other, &third] {
        front_end.follow(&world, &servers, 0).await;
    }
    for (has_earlier, key) in [(false, 0), (true, 3)] {
        // With a purge that was replicated before the lost one, and without any.
        if has_earlier {
            purge(&one, &world, &servers, key).await;
            world.0.fetch_add(250, Ordering::Relaxed);
            other.follow(&world, &servers, 0).await;
            third.follow(&world, &servers, 0).await;
        }
        let replica = servers[0].lock().unwrap().state.clone();
        purge(&one, &world, &servers, key + 1).await;
        other.follow(&world, &servers, 0).await;
        servers[0].lock().unwrap().goes_on_with(replica);
        // The third one has not heard of the lost purge. Its own one gets the same number.
        third.follow(&world, &servers, 0).await;
        purge(&third, &world, &servers, key + 2).await;
        let known = purged(&other).len();
        other.follow(&world, &servers, 0).await;
        assert_eq!(purged(&other).get(known..), Some(&[Some(key + 2)][..]));
        // Those who know the lost purge add it again.
        follow_for_long(&other, &world, &servers).await;
        third.follow(&world, &servers, 0).await;
        assert!(purged(&third).contains(&Some(key + 1)));
        one.follow(&world, &servers, 0).await;
    }
    assert_eq!([&one, &other, &third].map(drops), [0; 3], "nothing was lost");
}

/// The lost records were about nothing that this cache could have, and a program purges before anybody has noticed the failover.
#[tokio::test]
async fn a_record_of_a_program_under_the_number_of_a_lost_one_is_read() {
    let (world, servers) = (World::default(), [Server::with_history()]);
    let [one, other] = [(); 2].map(|()| FrontEnd::new(1));
    for front_end in [&one, &other] {
        front_end.follow(&world, &servers, 0).await;
    }
    let replica = servers[0].lock().unwrap().state.clone();
    for _ in 0..3 {
        purge(&one, &world, &servers, NOT_OURS).await;
    }
    other.follow(&world, &servers, 0).await;
    servers[0].lock().unwrap().goes_on_with(replica);
    let number = count_without_a_record(&servers[0]);
    let record = other.log.record(7, number, &[5]).unwrap();
    servers[0].lock().unwrap().state.items.insert(format!("kasoku:purges:{number}"), (record, None));
    follow_for_long(&other, &world, &servers).await;
    assert_eq!(purged(&other), [Some(5)]);
}

#[tokio::test]
async fn a_failover_that_loses_nothing_drops_nothing() {
    let (world, servers, front_end) = (World::default(), [Server::with_history()], FrontEnd::new(1));
    front_end.follow(&world, &servers, 0).await;
    front_end.cache.0.lock().unwrap().pages.insert(0, 1);
    for _ in 0..3 {
        world.0.fetch_add(100_000, Ordering::Relaxed);
        servers[0].lock().unwrap().fails_over();
        front_end.follow(&world, &servers, 0).await;
    }
    servers[0].lock().unwrap().goes_on_with(Stored::default());
    follow_for_long(&front_end, &world, &servers).await;
    assert_eq!((drops(&front_end), front_end.cache.0.lock().unwrap().pages.len()), (0, 1));
}

#[tokio::test]
async fn one_that_has_missed_a_failover_drops_everything() {
    let (world, servers) = (World::default(), [Server::with_history()]);
    let [one, other] = [(); 2].map(|()| FrontEnd::new(1));
    one.follow(&world, &servers, 0).await;
    other.follow(&world, &servers, 0).await;
    other.cache.0.lock().unwrap().pages.insert(0, 1);
    let replica = servers[0].lock().unwrap().state.clone();
    purge(&one, &world, &servers, 1).await;
    other.follow(&world, &servers, 0).await;
    servers[0].lock().unwrap().goes_on_with(replica);
    one.follow(&world, &servers, 0).await;
    let replica = servers[0].lock().unwrap().state.clone();
    servers[0].lock().unwrap().goes_on_with(replica);
    one.follow(&world, &servers, 0).await;
    follow_for_long(&other, &world, &servers).await;
    assert_eq!(drops(&other), 1);
    assert_eq!(drops(&one), 0);
}

#[tokio::test]
async fn one_that_was_cut_off_from_the_beginning_drops_everything() {
    for servers in [[Server::with_history()], [Mutex::default()]] {
        let (world, mut front_end) = (World::default(), FrontEnd::new(1));
        front_end.is_cut_from[0] = true;
        front_end.follow(&world, &servers, 0).await;
        front_end.cache.0.lock().unwrap().pages.insert(0, 1);
        world.0.fetch_add(u64::from(LOG_SECONDS) * 1000 + 1, Ordering::Relaxed);
        front_end.follow(&world, &servers, 0).await;
        front_end.is_cut_from[0] = false;
        front_end.follow(&world, &servers, 0).await;
        assert_eq!(drops(&front_end), 1);
    }
}

#[tokio::test]
async fn one_that_reaches_the_server_only_after_a_failover_has_nothing_from_before_a_purge() {
    let (world, servers) = (World::default(), [Server::with_history()]);
    let [one, mut late] = [(); 2].map(|()| FrontEnd::new(1));
    late.is_cut_from[0] = true;
    late.follow(&world, &servers, 0).await;
    late.cache.0.lock().unwrap().pages.insert(0, 1);
    world.0.fetch_add(250, Ordering::Relaxed);
    one.follow(&world, &servers, 0).await;
    purge(&one, &world, &servers, 0).await;
    // Nothing is lost, so nothing is added again.
    let replica = servers[0].lock().unwrap().state.clone();
    servers[0].lock().unwrap().goes_on_with(replica);
    follow_for_long(&one, &world, &servers).await;
    late.is_cut_from[0] = false;
    late.follow(&world, &servers, 0).await;
    assert_eq!(late.cache.0.lock().unwrap().pages.get(&0), None);
}

#[tokio::test]
async fn one_that_lacks_more_records_than_are_read_drops_everything_after_a_failover() {
    let (world, servers) = (World::default(), [Server::with_history()]);
    let [one, mut other] = [(); 2].map(|()| FrontEnd::new(1));
    one.follow(&world, &servers, 0).await;
    other.follow(&world, &servers, 0).await;
    other.cache.0.lock().unwrap().pages.insert(0, 1);
    other.is_cut_from[0] = true;
    // The first one is added again after the failover, since nobody reads that far back. The other one is read again, so it is not added.
    purge(&one, &world, &servers, 1).await;
    purge(&one, &world, &servers, 0).await;
    for _ in 2..=RECORDS_READ_MAX {
        count_without_a_record(&servers[0]);
    }
    follow_for_long(&one, &world, &servers).await;
    servers[0].lock().unwrap().fails_over();
    follow_for_long(&one, &world, &servers).await;
    other.is_cut_from[0] = false;
    follow_for_long(&other, &world, &servers).await;
    assert_eq!(other.cache.0.lock().unwrap().pages.get(&0), None);
}

#[tokio::test]
async fn a_position_counts_for_its_history_only() {
    for (is_other, expected) in [(false, 0), (true, 1)] {
        let (world, servers, before) = (World::default(), [Server::with_history()], FrontEnd::new(1));
        before.follow(&world, &servers, 0).await;
        let position = before.log.positions()[0].unwrap();
        if is_other {
            servers[0].lock().unwrap().fails_over();
        }
        let after = FrontEnd::new(1);
        after.log.resume(move |_, history| Some(position.number).filter(|_| position.history == history));
        after.follow(&world, &servers, 0).await;
        assert_eq!(drops(&after), expected);
    }
}

#[tokio::test]
async fn a_number_that_was_counted_before_a_failover_is_not_written_afterwards() {
    let (world, servers) = (World::default(), [Server::with_history()]);
    let [one, other] = [(); 2].map(|()| FrontEnd::new(1));
    one.follow(&world, &servers, 0).await;
    other.follow(&world, &servers, 0).await;
    let replica = servers[0].lock().unwrap().state.clone();
    // It is counted, and its record is not written.
    let purge_of_one = || Ok::<_, ()>((one.cache.purge(Some(1)), vec![1]));
    let _ = one.log.publish(world.now(), purge_of_one).unwrap();
    let number = count_without_a_record(&servers[0]);
    one.log.state().reserve(0, 0, number);
    servers[0].lock().unwrap().goes_on_with(replica);
    purge(&other, &world, &servers, 2).await;
    one.follow(&world, &servers, 0).await;
    other.follow(&world, &servers, 0).await;
    assert_eq!((purged(&one), purged(&other)), (vec![Some(1), Some(2)], vec![Some(2), Some(1)]));
}

/// A purge that was counted, and whose record is nowhere: its front end has ended in between, or the server has evicted the record.
fn count_without_a_record(server: &Mutex<Server>) -> u64 {
    let mut server = server.lock().unwrap();
    let (counter, _) = server.state.items.get_mut("kasoku:purges").unwrap();
    let sum = std::str::from_utf8(counter).unwrap().parse::<u64>().unwrap() + 1;
    *counter = sum.to_string().into();
    sum
}

/// Follows for longer than a record may be late.
async fn follow_for_long(front_end: &FrontEnd, world: &World, servers: &[Mutex<Server>]) {
    for _ in 0..8 {
        front_end.follow(world, servers, 0).await;
        world.0.fetch_add(250, Ordering::Relaxed);
    }
}

/// How often a front end has dropped everything.
fn drops(front_end: &FrontEnd) -> usize {
    front_end.cache.0.lock().unwrap().purges.iter().filter(|(_, key)| key.is_none()).count()
}

#[tokio::test]
async fn a_missing_record_drops_everything_also_where_nothing_was_purged_before() {
    let (world, servers, front_end) = (World::default(), [Mutex::<Server>::default()], FrontEnd::new(1));
    front_end.follow(&world, &servers, 0).await;
    front_end.cache.0.lock().unwrap().pages.insert(0, 1);
    count_without_a_record(&servers[0]);
    count_without_a_record(&servers[0]);
    follow_for_long(&front_end, &world, &servers).await;
    assert_eq!(front_end.cache.0.lock().unwrap().pages.get(&0), None);
    assert_eq!(drops(&front_end), 1, "once for all that were missing at the same time");
    // What was stored since is dropped by the next one.
    front_end.cache.0.lock().unwrap().pages.insert(0, 2);
    count_without_a_record(&servers[0]);
    follow_for_long(&front_end, &world, &servers).await;
    assert_eq!(front_end.cache.0.lock().unwrap().pages.get(&0), None);
    assert_eq!(drops(&front_end), 2);
}

#[tokio::test]
async fn a_record_that_is_gone_after_a_restart_drops_what_was_on_disk() {
    let (world, servers) = (World::default(), [Mutex::<Server>::default()]);
    let before = FrontEnd::new(1);
    before.follow(&world, &servers, 0).await;
    before.cache.0.lock().unwrap().pages.insert(0, 1);
    let positions = before.log.positions();
    assert!(positions[0].is_some());
    count_without_a_record(&servers[0]);
    let mut after = FrontEnd::new(1);
    after.log.resume(move |server, _| positions[server].map(|position| position.number));
    after.cache = before.cache;
    follow_for_long(&after, &world, &servers).await;
    assert_eq!(after.cache.0.lock().unwrap().pages.get(&0), None);
}

#[tokio::test]
async fn a_record_that_was_moved_to_another_number_is_missing() {
    let (world, servers) = (World::default(), [Mutex::<Server>::default()]);
    let [one, other] = [(); 2].map(|()| FrontEnd::new(1));
    one.follow(&world, &servers, 0).await;
    other.follow(&world, &servers, 0).await;
    purge(&one, &world, &servers, 1).await;
    other.follow(&world, &servers, 0).await;
    purge(&one, &world, &servers, 2).await;
    {
        // Somebody who does not know the secret puts the first record in the place of the second one.
        let items = &mut servers[0].lock().unwrap().state.items;
        let records: Vec<String> = items.keys().filter(|name| name.starts_with("kasoku:purges:")).cloned().collect();
        let [first, second] = &*records else { panic!("{records:?}") };
        let moved = items[first].clone();
        items.insert(second.clone(), moved);
    }
    follow_for_long(&other, &world, &servers).await;
    assert_eq!(purged(&other), [Some(1), None], "the second purge is not known, so everything is dropped");
}

#[test]
fn a_generation_is_read_only_as_it_is_written() {
    for generation in [
        Generation { log: 0, number: 0 },
        Generation { log: u128::MAX, number: u64::MAX },
        Generation { log: 0x0fed, number: 1_795_000_000_000_123 },
    ] {
        assert_eq!(Generation::read(&generation.to_string()), Some(generation));
    }
    let log = "5d9e8c1f0a3b47629fd0c4b1e6a27538";
    assert!(Generation::read(&format!("{log} 7")).is_some());
    for text in [
        String::new(),
        log.to_owned(),
        format!("{log} "),
        format!("{log} 07"),
        format!("{log} +7"),
        format!("{log} -7"),
        format!("{log}  7"),
        format!("{log} 7 "),
        format!("{log} 18446744073709551616"),
        format!("0{log} 7"),
        format!("{} 7", &log[1..]),
        format!("+{} 7", &log[1..]),
        format!("{} 7", log.to_uppercase()),
    ] {
        assert_eq!(Generation::read(&text), None, "{text:?}");
    }
}
