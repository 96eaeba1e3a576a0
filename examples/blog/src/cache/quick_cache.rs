//! quick_cache: the single flight is its own, lifetimes are by hand, and a purge by tag looks at all pages.

use super::{Failure, Page};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::time::{Duration, Instant};

/// The size of a page by which the number of pages is estimated, in bytes.
const PAGE_BYTES_USUAL: u64 = 8 << 10;

pub struct Pages {
    pages: Cache<String, (Page, Instant), Weigh>,
    ttl: Duration,
}

#[derive(Clone)]
struct Weigh;

impl Weighter<String, (Page, Instant)> for Weigh {
    fn weight(&self, address: &String, (page, _): &(Page, Instant)) -> u64 {
        (address.len() + page.weight()) as u64
    }
}

impl Pages {
    pub fn new(memory_bytes_max: u64, ttl: Duration) -> Self {
        let pages = usize::try_from(memory_bytes_max / PAGE_BYTES_USUAL).unwrap_or(usize::MAX);
        Self { pages: Cache::with_weighter(pages, memory_bytes_max, Weigh), ttl }
    }

    pub async fn page(
        &self,
        address: &str,
        make: impl AsyncFnOnce() -> Result<Page, Failure>,
    ) -> Result<Page, Failure> {
        if let Some((_, since)) = self.pages.get(address)
            && since.elapsed() >= self.ttl
        {
            self.pages.remove_if(address, |(_, stored)| *stored == since);
        }
        let load = async { Ok((make().await?, Instant::now())) };
        self.pages.get_or_insert_async(address, load).await.map(|(page, _)| page)
    }

    pub fn purge(&self, tags: &[String]) {
        self.pages.retain(|_, (page, _)| !page.has_any(tags));
    }
}
