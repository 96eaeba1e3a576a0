//! Where the pages come from: one of several caches, or none. Each keeps whole pages under their addresses, for the same lifetime. The handlers
//! ask all but two of them: `layer` stands around the routes, and `kasoku` is a server in front of the blog. These two know nothing of a page
//! but its request and its response.
//!
//! The caches by hand do what a programmer writes in an afternoon: a purge by tag looks at all pages, and a page that is being made during
//! a purge may be stored after it. `data`, `layer` and `kasoku` need neither.

mod data;
mod kasoku;
mod layer;
mod map;
mod moka;
mod quick_cache;
mod redis;

use bytes::Bytes;
use clap::ValueEnum;
use kasoku_tower::ApplicationLayer;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// What `--cache` chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Choice {
    /// Each request asks the database
    None,
    /// Each request asks the database, which has its query cache switched on
    Mariadb,
    /// Redis, with a set of pages for each tag
    Redis,
    /// moka, with its single flight
    Moka,
    /// quick_cache, with its single flight
    #[value(name = "quick_cache")]
    QuickCache,
    /// A concurrent map without bound and without single flight
    Map,
    /// kasoku_cache::data
    Data,
    /// kasoku-tower, around all routes
    Layer,
    /// A Kasoku server in front of the blog
    Kasoku,
}

/// A page as it is sent.
#[derive(Clone, Debug)]
pub struct Page {
    pub html: Bytes,
    /// The tags by which it is purged.
    pub tags: Arc<[String]>,
}

impl Page {
    pub fn new<const N: usize>(html: String, tags: [String; N]) -> Self {
        Self { html: html.into(), tags: tags.into() }
    }

    fn has_any(&self, tags: &[String]) -> bool {
        self.tags.iter().any(|tag| tags.contains(tag))
    }

    /// Bytes of memory.
    fn weight(&self) -> usize {
        self.html.len() + self.tags.iter().map(String::len).sum::<usize>()
    }
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("there is no such page")]
    NotFound,
    #[error("the database: {0}")]
    Database(#[from] sqlx::Error),
    #[error("Redis: {0}")]
    Redis(#[from] ::redis::RedisError),
    #[error("the layer: {0}")]
    Layer(#[from] kasoku_tower::BuildError),
    #[error("the layer: {0}")]
    LayerPurge(#[from] kasoku_tower::PurgeError),
    #[error("Kasoku: {0}")]
    Kasoku(#[from] kasoku::PurgeFailure),
}

pub enum PageCache {
    Nothing,
    Redis(redis::Pages),
    Moka(moka::Pages),
    QuickCache(quick_cache::Pages),
    Map(map::Pages),
    Data(data::Pages),
    Layer(layer::Pages),
    Kasoku(kasoku::Pages),
}

/// What the caches have to know.
pub struct Options {
    /// How long a page is fresh.
    pub ttl: Duration,
    /// The memory for pages inside the process.
    pub memory_bytes_max: u64,
    /// Where the blog listens.
    pub address: SocketAddr,
    /// The URL of Redis.
    pub redis: String,
    /// Where the Kasoku server listens.
    pub kasoku: SocketAddr,
}

impl PageCache {
    pub async fn new(choice: Choice, options: &Options) -> Result<Self, Failure> {
        let Options { ttl, memory_bytes_max, .. } = *options;
        Ok(match choice {
            Choice::None | Choice::Mariadb => Self::Nothing,
            Choice::Redis => Self::Redis(redis::Pages::connect(&options.redis, ttl).await?),
            Choice::Moka => Self::Moka(moka::Pages::new(memory_bytes_max, ttl)),
            Choice::QuickCache => Self::QuickCache(quick_cache::Pages::new(memory_bytes_max, ttl)),
            Choice::Map => Self::Map(map::Pages::new(ttl)),
            Choice::Data => Self::Data(data::Pages::new(memory_bytes_max, ttl)),
            Choice::Layer => Self::Layer(layer::Pages::new(memory_bytes_max, ttl, options.address)?),
            Choice::Kasoku => Self::Kasoku(kasoku::Pages::new(options.kasoku)),
        })
    }

    /// What has to stand around the routes.
    pub fn layer(&self) -> Option<ApplicationLayer> {
        match self {
            Self::Layer(pages) => Some(pages.layer()),
            _ => None,
        }
    }

    /// The page of this address: from the cache, or made.
    pub async fn page(
        &self,
        address: &str,
        make: impl AsyncFnOnce() -> Result<Page, Failure>,
    ) -> Result<Page, Arc<Failure>> {
        match self {
            Self::Nothing | Self::Layer(_) | Self::Kasoku(_) => Ok(make().await?),
            Self::Redis(pages) => Ok(pages.page(address, make).await?),
            Self::Moka(pages) => pages.page(address, make).await,
            Self::QuickCache(pages) => Ok(pages.page(address, make).await?),
            Self::Map(pages) => Ok(pages.page(address, make).await?),
            Self::Data(pages) => pages.page(address, make).await,
        }
    }

    /// Drops all pages with one of these tags.
    pub async fn purge(&self, tags: &[String]) -> Result<(), Failure> {
        match self {
            Self::Nothing => {}
            Self::Redis(pages) => pages.purge(tags).await?,
            Self::Moka(pages) => pages.purge(tags),
            Self::QuickCache(pages) => pages.purge(tags),
            Self::Map(pages) => pages.purge(tags),
            Self::Data(pages) => pages.purge(tags),
            Self::Layer(pages) => pages.purge(tags).await?,
            Self::Kasoku(pages) => pages.purge(tags).await?,
        }
        Ok(())
    }
}
