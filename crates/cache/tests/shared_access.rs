//! Tests of the shared tier as a host's runtime uses it, without a server: what is bounded, and what a host with several threads may do.

#![allow(clippy::unwrap_used, clippy::panic)]

use bytes::Bytes;
use http::{Method, StatusCode};
use kasoku_cache::shared::{Asked, SharedAccess, Tier};
use kasoku_cache::verdict::OriginExchange;
use kasoku_cache::{Cache, CacheLimits, CacheRoute, Entry, Lookup, SharedRequest, Verdict};
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::policy::{Policy, Profile};
use kasoku_semantics::time::Now;
use kasoku_shared::memcached::{MemcachedOptions, ServerAddress};
use kasoku_shared::names::Namespace;
use kasoku_shared::placement::Distribution;
use kasoku_shared::sealed::Sealer;
use kasoku_shared::{Backend, Endpoint, WhenDown};
use kasoku_wire::{RequestHead, ResponseHead};
use std::sync::Arc;
use std::time::Duration;

const NOW: Now = Now { unix_ms: 1_700_000_000_000, mono_ms: 0 };

/// A tier whose log was never read, so that no server is asked.
fn tier() -> Arc<Tier> {
    let endpoint = Endpoint::Unix("/nonexistent/memcached.sock".into());
    let backend = Backend::memcached(MemcachedOptions {
        servers: vec![ServerAddress { endpoint, weight: 1 }],
        distribution: Distribution::KetamaWeighted,
        operation_timeout: Duration::from_millis(50),
        item_bytes_max: 1 << 20,
        connections_max: 1,
    });
    let sealer = Sealer::new(None).unwrap();
    Arc::new(Tier::new(backend.unwrap(), WhenDown::NextServer, Namespace::default(), sealer))
}

fn cache() -> Cache {
    Cache::new(CacheLimits { memory_bytes_max: 64 << 20, object_bytes_max: 1 << 20 })
}

fn request(cache: &Cache) -> SharedRequest {
    let (key, policy) = (cache.key("http://a.example/page"), Arc::new(Policy::new(Profile::Safe)));
    let asked = RequestHead::new(Method::GET, "/page");
    SharedRequest::new(&asked, &CacheRoute::new(&key, &policy), &Peer::UNKNOWN)
}

async fn stored(cache: &Cache, request: &SharedRequest) -> Arc<Entry> {
    let Lookup::Fill(mut writer, _) = cache.look_up(request, NOW) else { panic!("not a fill") };
    writer.prepare();
    let mut response = ResponseHead::new(StatusCode::OK);
    response.fields.push("Cache-Control", "max-age=60");
    let verdict = writer.on_response(&OriginExchange {
        response: &response,
        request_time: NOW,
        response_time: NOW,
        body_length: None,
        is_file: false,
    });
    let Verdict::Write(mut body) = verdict else { panic!("not to be stored") };
    body.push(Bytes::from_static(b"page")).await.unwrap();
    body.finish_stored(None).unwrap()
}

#[tokio::test]
async fn what_waits_to_be_written_has_a_bound() {
    let cache = cache();
    let request = request(&cache);
    let entry = stored(&cache, &request).await;
    let access = SharedAccess::new(&tier());
    let begin = || access.begin(&cache, request.clone(), entry.clone(), None);
    let mut waiting: Vec<_> = (0..1000).map_while(|_| begin()).collect();
    assert!(waiting.len() < 1000 && begin().is_none());
    // Without a server, nothing is written. But it is over, so there is room again.
    assert!(!waiting.pop().unwrap().run(|| NOW).await);
    let last = begin();
    assert!(last.is_some() && begin().is_none());
}

/// A host on a runtime with several threads spawns both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn asking_and_writing_may_change_threads() {
    let cache = cache();
    let request = request(&cache);
    let Lookup::Fill(writer, _) = cache.look_up(&request, NOW) else { panic!("not a fill") };
    let access = SharedAccess::new(&tier());
    let items = access.items().clone();
    let asked = tokio::spawn(async move { writer.ask_shared(&items, Duration::MAX, || NOW).await });
    let Asked::Nothing(writer, lease) = asked.await.unwrap() else { panic!("there is no server") };
    assert!(lease.is_none());
    drop(writer);
    let entry = stored(&cache, &request).await;
    let sharing = access.begin(&cache, request, entry, None).unwrap();
    assert!(!tokio::spawn(sharing.run(|| NOW)).await.unwrap());
}
