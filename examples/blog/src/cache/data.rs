//! `kasoku_cache::data`: single flight, purges by tag that also cover pages in the making, and "not found" remembered.

use super::{Failure, Page};
use kasoku_cache::data::{DataCache, Loaded};
use std::sync::Arc;
use std::time::Duration;

/// How long the cache remembers that there is no such page.
const NOT_FOUND_TTL: Duration = Duration::from_secs(5);

pub struct Pages {
    pages: DataCache<Page>,
    ttl: Duration,
}

impl Pages {
    pub fn new(memory_bytes_max: u64, ttl: Duration) -> Self {
        let pages = DataCache::builder(memory_bytes_max, Page::weight).negative_ttl(NOT_FOUND_TTL).build();
        Self { pages, ttl }
    }

    pub async fn page(
        &self,
        address: &str,
        make: impl AsyncFnOnce() -> Result<Page, Failure>,
    ) -> Result<Page, Arc<Failure>> {
        let load = || async {
            match make().await {
                Ok(page) => {
                    let tags = page.tags.clone();
                    Ok(Loaded::new(Some(page)).tags(&*tags))
                }
                Err(Failure::NotFound) => Ok(Loaded::new(None)),
                Err(failure) => Err(failure),
            }
        };
        self.pages.load_optional(address, self.ttl, load).await?.ok_or(Arc::new(Failure::NotFound))
    }

    pub fn purge(&self, tags: &[String]) {
        tags.iter().for_each(|tag| drop(self.pages.purge_tag(tag)));
    }
}
