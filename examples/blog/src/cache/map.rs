//! A concurrent map by hand. It has no bound, and callers that miss at once all make the page.

use super::{Failure, Page};
use dashmap::DashMap;
use std::time::{Duration, Instant};

pub struct Pages {
    pages: DashMap<String, (Page, Instant)>,
    ttl: Duration,
}

impl Pages {
    pub fn new(ttl: Duration) -> Self {
        Self { pages: DashMap::new(), ttl }
    }

    pub async fn page(
        &self,
        address: &str,
        make: impl AsyncFnOnce() -> Result<Page, Failure>,
    ) -> Result<Page, Failure> {
        if let Some(page) = self.fresh(address) {
            return Ok(page);
        }
        let page = make().await?;
        self.pages.insert(address.to_owned(), (page.clone(), Instant::now()));
        Ok(page)
    }

    fn fresh(&self, address: &str) -> Option<Page> {
        let stored = self.pages.get(address)?;
        let (page, since) = stored.value();
        (since.elapsed() < self.ttl).then(|| page.clone())
    }

    pub fn purge(&self, tags: &[String]) {
        self.pages.retain(|_, (page, _)| !page.has_any(tags));
    }
}
