//! Reads and writes the items of the shared tier. Each runtime has an [`Items`] of its own, with connections of its own; what they know of the
//! servers is common ([`Tier`]).
//!
//! Nothing here fails: what can't be read is a miss, what can't be written is left out, and both are counted.

use crate::backend::Backend;
use crate::client::Client;
use crate::expiry::Expiry;
use crate::failure::Failure;
use crate::history::History;
use crate::kept_positions::KeptPositions;
use crate::names::{Name, Namespace};
use crate::purge_log::{Clock, Epoch, Generation, LogServer, PurgeLog, Purger};
use crate::sealed::{Manifest, Opened, Sealed, Sealer};
use crate::servers::Servers;
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long an answer is waited for where no client waits. A log is read four times a second.
const FOLLOWING_TIMEOUT_MIN: Duration = Duration::from_millis(250);

/// Where the items of a server are looked for that is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenDown {
    /// In the next server of the ring.
    NextServer,
    /// Nowhere.
    Miss,
}

/// What all runtimes of a process share of the tier.
#[derive(Debug)]
pub struct Tier {
    backend: Backend,
    when_down: WhenDown,
    sealer: Arc<Sealer>,
    namespace: Namespace,
    log: PurgeLog,
    damaged: AtomicU64,
    positions: KeptPositions,
}

/// The items of the shared tier, as one runtime reads and writes them.
#[derive(Clone, Debug)]
pub struct Items {
    tier: Arc<Tier>,
    client: Client,
}

/// An item that was read.
pub struct Item {
    /// The server that has it.
    pub server: usize,
    content: Content,
}

/// Why no item was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No server may be asked for it.
    Away,
    /// The server did not answer, or failed otherwise.
    Failed,
    /// The server has no item of this name.
    Absent,
    /// The item, or a chunk of it, is missing in part, damaged, or forged.
    Damaged,
}

enum Content {
    Whole(Bytes),
    /// The first chunk has been read.
    Chunks(Manifest, Bytes),
}

impl Tier {
    /// The tier in these servers, of which nothing is known yet.
    pub fn new(backend: Backend, when_down: WhenDown, namespace: Namespace, sealer: Sealer) -> Self {
        let sealer = Arc::new(sealer);
        let of_log = if backend.has_slots() { namespace.in_one_slot() } else { namespace.clone() };
        let servers = backend.servers().all();
        let names = servers.iter().map(|server| server.address.clone());
        let log = PurgeLog::new(of_log, sealer.clone(), servers.len()).naming(names);
        let positions = KeptPositions::new(servers.iter().map(|server| Some(server.address_hash)).collect());
        Self { backend, when_down, sealer, namespace, log, damaged: AtomicU64::new(0), positions }
    }

    /// The items for the runtime that calls this.
    pub fn items(self: &Arc<Self>) -> Items {
        Items { tier: self.clone(), client: self.backend.client() }
    }

    /// What keeps the items.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Whether its servers are memcached's.
    pub fn is_memcached(&self) -> bool {
        matches!(self.backend, Backend::Memcached(_))
    }

    /// The same for the runtime that follows the purges. No client waits for what it does, so it waits longer for an answer: a purge has to be
    /// heard of in a server that is slow, or on a machine that is busy.
    pub fn items_to_follow(self: &Arc<Self>) -> Items {
        Items { tier: self.clone(), client: self.backend.client_that_waits(FOLLOWING_TIMEOUT_MIN) }
    }

    /// The purges that all caches have to hear of.
    pub fn log(&self) -> &PurgeLog {
        &self.log
    }

    /// How far the purges in the log of each server have been carried out for good: the hash of its address and its history, and the number. To
    /// be kept with what is stored on disk.
    pub fn positions(&self) -> Vec<(u64, u64)> {
        self.positions.read_from(&self.log)
    }

    /// The cache begins with what an earlier process had stored on disk, which had followed the logs so far. To be called once at most.
    pub fn resume(&self, positions: &[(u64, u64)]) {
        self.positions.resume(&self.log, positions);
    }

    /// What items are called.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// The servers, and how each of them does.
    pub fn servers(&self) -> &Arc<Servers> {
        self.backend.servers()
    }

    /// The server of an item, or the one in its place. `None`: there is none that may be asked.
    pub fn server_of(&self, name: &Name) -> Option<usize> {
        let servers = self.servers();
        let is_away = |server| !self.is_usable(server);
        match self.when_down {
            WhenDown::NextServer => servers.server_without(name.as_bytes(), is_away),
            WhenDown::Miss => Some(self.home_of(name)).filter(|server| !is_away(*server)),
        }
    }

    /// The server of an item while all are there. It is always the same one.
    pub fn home_of(&self, name: &Name) -> usize {
        self.servers().server_of(name.as_bytes())
    }

    /// Whether a server may be asked.
    pub(crate) fn is_usable(&self, server: usize) -> bool {
        let servers = self.servers();
        servers.server(server).is_some_and(|server| server.health.is_usable(servers.now_ms()))
    }

    /// Items that were damaged, forged, or not written by a cache of this version.
    pub fn damaged(&self) -> u64 {
        self.damaged.load(Ordering::Relaxed)
    }
}

impl Items {
    /// What all runtimes share.
    pub fn tier(&self) -> &Arc<Tier> {
        &self.tier
    }

    /// Reads an item.
    ///
    /// # Errors
    /// There is none that can be used.
    pub async fn get(&self, name: &Name) -> Result<Item, Missing> {
        let server = self.tier.server_of(name).ok_or(Missing::Away)?;
        self.get_from(server, name).await
    }

    /// Reads an item of which the home is known ([`Tier::home_of`]): to find that out costs more than all else that is done to choose a server.
    ///
    /// # Errors
    /// There is none that can be used.
    pub async fn get_at_home(&self, home: usize, name: &Name) -> Result<Item, Missing> {
        match self.tier.is_usable(home) {
            true => self.get_from(home, name).await,
            false => self.get(name).await,
        }
    }

    async fn get_from(&self, server: usize, name: &Name) -> Result<Item, Missing> {
        let sealed = self.client.get(server, name.as_bytes()).await.map_err(|_| Missing::Failed)?;
        let sealed = sealed.ok_or(Missing::Absent)?;
        let content = match self.intact(self.tier.sealer.open(sealed)).ok_or(Missing::Damaged)? {
            Opened::Whole(content) => Content::Whole(content),
            Opened::Chunks(manifest) => {
                let first = self.chunk_of(server, name, &manifest, 0).await.ok_or(Missing::Damaged)?;
                Content::Chunks(manifest, first)
            }
        };
        Ok(Item { server, content })
    }

    /// Reads a chunk of the item of this name. `None`: it can't be used, so the rest of the item is lost.
    pub async fn chunk(&self, item: &Item, name: &Name, number: u32) -> Option<Bytes> {
        match &item.content {
            Content::Whole(_) => None,
            Content::Chunks(manifest, _) => self.chunk_of(item.server, name, manifest, number).await,
        }
    }

    /// Reads the whole content of an item of this name from the byte `from` of what was read, in pieces. `None`: it can't be used.
    pub async fn whole(&self, item: &Item, name: &Name, from: usize) -> Option<Vec<Bytes>> {
        let first = item.content();
        let mut pieces = vec![first.slice(from.min(first.len())..)];
        for number in 1..=item.chunks_left() {
            pieces.push(self.chunk(item, name, number).await?);
        }
        Some(pieces)
    }

    async fn chunk_of(&self, server: usize, name: &Name, manifest: &Manifest, number: u32) -> Option<Bytes> {
        let bytes = self.client.get(server, name.chunk(manifest.id(), number).as_bytes()).await.ok()??;
        self.intact(manifest.check(number, &bytes))?;
        Some(bytes)
    }

    /// Writes an item, made of these pieces, if its server takes it. `content` gets the server, for whose log the item has to be made.
    pub async fn put(&self, name: &Name, expiry: Expiry, content: impl FnOnce(usize) -> Option<Vec<Bytes>>) -> bool {
        let Some(server) = self.tier.server_of(name) else { return false };
        let Some(content) = content(server) else { return false };
        let item_bytes_max = self.tier.servers().item_bytes_max();
        let Ok(sealed) = self.tier.sealer.seal(content, item_bytes_max, || fastrand::u128(..)) else { return false };
        let Sealed { id, first, chunks } = sealed;
        // The manifest comes last: who finds it finds the chunks.
        for (number, pieces) in (0..).zip(chunks) {
            let Some(id) = id else { return false };
            if self.client.set(server, name.chunk(id, number).as_bytes(), pieces, expiry).await.is_err() {
                return false;
            }
        }
        self.client.set(server, name.as_bytes(), first, expiry).await.is_ok()
    }

    /// See [`PurgeLog::generation`].
    pub fn generation(&self, server: usize, born: Epoch) -> Option<Generation> {
        self.tier.log.generation(server, born)
    }

    /// See [`PurgeLog::born`]. Also `None` if the log has not been read for too long: an item in many chunks takes time.
    pub fn born(&self, server: usize, generation: Generation, purger: &impl Purger) -> Option<Epoch> {
        let servers = self.tier.servers();
        servers.server(server).filter(|server| server.health.is_usable(servers.now_ms()))?;
        self.tier.log.born(server, generation, purger)
    }

    /// Reads what is new in the log of a server, and adds what it lacks. From then on the server is asked for items, for a short time.
    /// Returns whether its log has been read to its end.
    ///
    /// # Errors
    /// The server can't be asked.
    pub async fn follow(&self, server: usize, purger: &impl Purger, now: impl Fn() -> Clock) -> Result<bool, Failure> {
        let begun_ms = self.tier.servers().now_ms();
        let log_of = LogOf { items: self, server, slowest_us: AtomicU64::new(0) };
        let is_read = self.tier.log.follow(server, &log_of, purger, now).await?;
        // What is too slow for clients is read, and not used.
        let is_in_time = log_of.slowest() <= self.tier.backend.operation_timeout();
        if is_read
            && is_in_time
            && let Some(server) = self.tier.servers().server(server)
        {
            server.health.synced(begun_ms);
        }
        Ok(is_read)
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    fn intact<T, E>(&self, opened: Result<T, E>) -> Option<T> {
        if opened.is_err() {
            self.tier.damaged.fetch_add(1, Ordering::Relaxed);
        }
        opened.ok()
    }
}

impl Item {
    /// The content, or as much of it as has been read: a chunk at least.
    pub fn content(&self) -> &Bytes {
        match &self.content {
            Content::Whole(content) | Content::Chunks(_, content) => content,
        }
    }

    /// How many chunks follow.
    pub fn chunks_left(&self) -> u32 {
        match &self.content {
            Content::Whole(_) => 0,
            Content::Chunks(manifest, _) => manifest.chunks().saturating_sub(1),
        }
    }

    /// The length of the whole content, in bytes.
    pub fn length(&self) -> u64 {
        match &self.content {
            Content::Whole(content) => content.len() as u64,
            Content::Chunks(manifest, _) => manifest.length(),
        }
    }
}

/// The log of one server, over a runtime's connections.
struct LogOf<'i> {
    items: &'i Items,
    server: usize,
    /// How long the slowest operation took, in microseconds.
    slowest_us: AtomicU64,
}

impl LogOf<'_> {
    async fn timed<T>(&self, operation: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        let done = operation.await;
        let us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.slowest_us.fetch_max(us, Ordering::Relaxed);
        done
    }

    fn slowest(&self) -> Duration {
        Duration::from_micros(self.slowest_us.load(Ordering::Relaxed))
    }
}

impl LogServer for LogOf<'_> {
    async fn history(&self, log: &Name) -> Result<Option<History>, Failure> {
        // Also asks servers that have no items. They may be slow.
        self.items.client.history(self.server, log.as_bytes()).await
    }

    async fn get(&self, name: &Name, touched: Option<u32>) -> Result<Option<Bytes>, Failure> {
        let touched = touched.map(|seconds| expiry(Some(seconds)));
        self.timed(self.items.client.peek(self.server, name.as_bytes(), touched)).await
    }

    async fn add(&self, name: &Name, value: Bytes, seconds: Option<u32>) -> Result<bool, Failure> {
        self.timed(self.items.client.add(self.server, name.as_bytes(), value, expiry(seconds))).await
    }

    async fn set(&self, name: &Name, value: Bytes, seconds: Option<u32>) -> Result<(), Failure> {
        self.timed(self.items.client.set(self.server, name.as_bytes(), vec![value], expiry(seconds))).await
    }

    async fn increment(&self, name: &Name) -> Result<Option<u64>, Failure> {
        self.timed(self.items.client.increment(self.server, name.as_bytes())).await
    }
}

fn expiry(seconds: Option<u32>) -> Expiry {
    seconds.map_or(Expiry::Never, |seconds| Expiry::After(seconds.into()))
}
