//! moka: lifetimes and single flight are its own, and a purge by tag leaves a predicate that each look-up evaluates for a while.

use super::{Failure, Page};
use moka::future::Cache;
use std::sync::Arc;
use std::time::Duration;

pub struct Pages(Cache<String, Page>);

impl Pages {
    pub fn new(memory_bytes_max: u64, ttl: Duration) -> Self {
        let weigh = |address: &String, page: &Page| u32::try_from(address.len() + page.weight()).unwrap_or(u32::MAX);
        let cache = Cache::builder().max_capacity(memory_bytes_max).weigher(weigh).time_to_live(ttl);
        Self(cache.support_invalidation_closures().build())
    }

    pub async fn page(
        &self,
        address: &str,
        make: impl AsyncFnOnce() -> Result<Page, Failure>,
    ) -> Result<Page, Arc<Failure>> {
        self.0.try_get_with_by_ref(address, make()).await
    }

    pub fn purge(&self, tags: &[String]) {
        let tags = tags.to_vec();
        // It fails only where the builder lacks the support.
        if self.0.invalidate_entries_if(move |_, page| page.has_any(&tags)).is_err() {
            self.0.invalidate_all();
        }
    }
}
