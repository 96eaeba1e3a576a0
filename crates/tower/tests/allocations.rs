//! Counts what a hit allocates, by the allocations of this whole process: so there is one test in this file.

#![allow(clippy::unwrap_used)]

use axum::body::Body;
use http::{Request, Response};
use http_body_util::BodyExt;
use kasoku_tower::{CacheBuilder, CacheLayer, Scheme};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::convert::Infallible;
use std::future::ready;
use std::time::Duration;
use tower::{Layer, Service, service_fn};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The two tables of the map of fields, and the values of Age and Cache-Status.
const OF_A_HIT: usize = 4;

const HITS: usize = 1_000;

fn request() -> Request<Body> {
    Request::builder()
        .uri("/posts/17?page=2")
        .header("Host", "blog.example")
        .header("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0")
        .header("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8")
        .header("Accept-Language", "en")
        .header("Sec-Fetch-Mode", "navigate")
        .body(Body::empty())
        .unwrap()
}

/// A map of fields is full with 6 fields, and again with 12. So pages with up to 7 more fields than they need are asked for.
const FIELDS_MORE_MAX: usize = 7;

#[tokio::test]
async fn a_hit_allocates_little() {
    for more in 0..=FIELDS_MORE_MAX {
        let stating = CacheLayer::builder().authority(Scheme::Https, "blog.example");
        count_hits(stating, Some("max-age=3600"), more).await;
        let granted = CacheLayer::builder().authority(Scheme::Https, "blog.example").ttl(Duration::from_secs(3_600));
        count_hits(granted, None, more).await;
    }
}

async fn count_hits(builder: CacheBuilder, cache_control: Option<&'static str>, more: usize) {
    let (cache, handle) = builder.build().unwrap();
    let page = move || {
        let mut page = Response::builder().header("Content-Type", "text/html").header("ETag", "\"1\"");
        if let Some(value) = cache_control {
            page = page.header("Cache-Control", value);
        }
        for number in 0..more {
            page = page.header(format!("X-{number}"), "more");
        }
        page.body(Body::from("x".repeat(4_096))).unwrap()
    };
    let mut app = cache.layer(service_fn(move |_: Request<Body>| ready(Ok::<_, Infallible>(page()))));
    // The first hit prepares the head, and the second has the buffers of the first.
    for _ in 0..3 {
        app.call(request()).await.unwrap().into_body().collect().await.unwrap();
        while handle.statistics().fills > 0 {
            tokio::task::yield_now().await;
        }
    }
    let requests: Vec<_> = (0..HITS).map(|_| request()).collect();
    let region = Region::new(ALLOCATOR);
    for request in requests {
        let mut body = app.call(request).await.unwrap().into_body();
        let bytes = body.frame().await.unwrap().unwrap().into_data().unwrap().len();
        assert_eq!(bytes, 4_096);
    }
    let counted = region.change();
    assert_eq!((handle.statistics().hits, handle.statistics().misses), (2 + HITS as u64, 1));
    let (made, grown) = (counted.allocations, counted.reallocations);
    let page = format!("{cache_control:?} and {more} more fields");
    assert!(
        made <= OF_A_HIT * HITS && grown == 0,
        "{page}: {made} allocations and {grown} reallocations by {HITS} hits"
    );
}
