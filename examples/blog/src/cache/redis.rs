//! Redis: pages expire there, and a set for each tag names the pages that have it.

use super::{Failure, Page};
use bytes::Bytes;
use redis::AsyncCommands;
use redis::aio::ConnectionManager;
use std::time::Duration;

pub struct Pages {
    redis: ConnectionManager,
    ttl_seconds: u64,
}

impl Pages {
    pub async fn connect(url: &str, ttl: Duration) -> Result<Self, Failure> {
        let redis = redis::Client::open(url)?.get_connection_manager().await?;
        Ok(Self { redis, ttl_seconds: ttl.as_secs().max(1) })
    }

    pub async fn page(
        &self,
        address: &str,
        make: impl AsyncFnOnce() -> Result<Page, Failure>,
    ) -> Result<Page, Failure> {
        let mut redis = self.redis.clone();
        let stored: Option<Vec<u8>> = redis.get(name(address)).await?;
        if let Some(html) = stored {
            return Ok(Page { html: Bytes::from(html), tags: [].into() });
        }
        let page = make().await?;
        let mut pipe = redis::pipe();
        pipe.atomic().set_ex(name(address), &*page.html, self.ttl_seconds).ignore();
        for tag in &*page.tags {
            // The set lives longer than its pages, so that it names each of them.
            let seconds = i64::try_from(self.ttl_seconds * 2).unwrap_or(i64::MAX);
            pipe.sadd(set(tag), name(address)).ignore().expire(set(tag), seconds).ignore();
        }
        pipe.query_async::<()>(&mut redis).await?;
        Ok(page)
    }

    pub async fn purge(&self, tags: &[String]) -> Result<(), Failure> {
        let mut redis = self.redis.clone();
        for tag in tags {
            let mut gone: Vec<String> = redis.smembers(set(tag)).await?;
            gone.push(set(tag));
            redis.del::<_, ()>(gone).await?;
        }
        Ok(())
    }
}

fn name(address: &str) -> String {
    format!("page:{address}")
}

fn set(tag: &str) -> String {
    format!("tag:{tag}")
}
