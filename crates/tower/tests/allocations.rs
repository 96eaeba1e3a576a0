//! Counts what a hit allocates, by the allocations of this whole process: so there is one test in this file.

#![allow(clippy::unwrap_used)]

use axum::body::Body;
use http::{Request, Response};
use http_body_util::BodyExt;
use kasoku_tower::{CacheLayer, Scheme};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::convert::Infallible;
use std::future::ready;
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

#[tokio::test]
async fn a_hit_allocates_little() {
    let (cache, handle) = CacheLayer::builder().authority(Scheme::Https, "blog.example").build().unwrap();
    let page = || {
        let page = Response::builder().header("Cache-Control", "max-age=3600").header("Content-Type", "text/html");
        page.header("ETag", "\"1\"").body(Body::from("x".repeat(4_096))).unwrap()
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
    assert!(made <= OF_A_HIT * HITS && grown == 0, "{made} allocations and {grown} reallocations by {HITS} hits");
}
