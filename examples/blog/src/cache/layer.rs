//! kasoku-tower: the handlers make pages, and the layer around all routes keeps them. What has `Authorization` passes: the form of the admin.

use super::Failure;
use crate::site::tags_of_path;
use kasoku_tower::{ApplicationLayer, CacheHandle, CacheLayer, Scheme};
use std::net::SocketAddr;
use std::time::Duration;

/// How long the cache remembers that there is no such page.
const NOT_FOUND_TTL: Duration = Duration::from_secs(5);

pub struct Pages {
    layer: ApplicationLayer,
    handle: CacheHandle,
}

impl Pages {
    pub fn new(memory_bytes_max: u64, ttl: Duration, address: SocketAddr) -> Result<Self, Failure> {
        let (layer, handle) = CacheLayer::builder()
            .memory_bytes(memory_bytes_max)
            .authority(Scheme::Http, address.to_string())
            .ttl(ttl)
            .negative_ttl(NOT_FOUND_TTL)
            // No page depends on the query.
            .ignore_query(["*"])
            .tags(|request| tags_of_path(request.uri.path()))
            .build()?;
        Ok(Self { layer: layer.application(), handle })
    }

    pub fn layer(&self) -> ApplicationLayer {
        self.layer.clone()
    }

    pub async fn purge(&self, tags: &[String]) -> Result<(), Failure> {
        for tag in tags {
            self.handle.purge_tag(tag).await?;
        }
        Ok(())
    }
}
