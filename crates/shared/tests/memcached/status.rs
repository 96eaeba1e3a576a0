//! What an operator sees of two front ends that share a server.

use crate::support::{Memcached, options, servers};
use kasoku_shared::purge_log::{Clock, Epoch, Purger};
use kasoku_shared::sealed::Sealer;
use kasoku_shared::{Expiry, Items, Missing, Tier, WhenDown};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A cache that understands every purge, with its epoch.
#[derive(Default)]
struct Cache(AtomicU64);

impl Purger for Cache {
    fn carry_out(&self, _: &[u8]) -> Option<Epoch> {
        Some(self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }

    async fn make_certain(&self) -> bool {
        true
    }

    fn drop_everything(&self) {}

    fn epoch(&self) -> Epoch {
        self.0.load(Ordering::Relaxed)
    }
}

fn front_end(server: &Memcached) -> Items {
    let servers = servers(options([server.endpoint()]));
    Arc::new(Tier::new(servers, WhenDown::Miss, "test".parse().unwrap(), Sealer::new(None).unwrap())).items()
}

async fn follow(items: &Items, cache: &Cache, mono_ms: u64) -> bool {
    items.follow(0, cache, || Clock { unix_ms: 1_700_000_000_000, mono_ms }).await.unwrap_or(false)
}

fn purge(items: &Items) {
    let purge = || Ok::<_, Infallible>((1, b"Purge: hard\r\nAll: yes\r\n".to_vec()));
    let _ = items.tier().log().publish(0, purge).unwrap();
}

#[tokio::test]
async fn purges_and_lost_records_are_counted() {
    let server = Memcached::unix();
    let (one, other) = (front_end(&server), front_end(&server));
    let (own, others) = (Cache::default(), Cache::default());
    assert!(follow(&one, &own, 0).await && follow(&other, &others, 0).await);
    purge(&one);
    assert!(follow(&one, &own, 10).await && follow(&other, &others, 10).await);
    let (publisher, reader) = (one.tier().status(), other.tier().status());
    assert_eq!((publisher.purges_published, publisher.purges_carried_out), (1, 0), "its own purge is no foreign one");
    assert_eq!((reader.purges_published, reader.purges_carried_out), (0, 1));
    assert_eq!((reader.purges_missing, reader.dropped_everything), (0, 0));
    // A number whose record never comes: a front end has lost its server in between.
    let client = servers(options([server.endpoint()])).client();
    client.increment(0, b"test:purges").await.unwrap().unwrap();
    assert!(!follow(&other, &others, 20).await, "it may still come");
    assert_eq!(other.tier().status().purges_missing, 0);
    assert!(follow(&other, &others, 5_000).await);
    let reader = other.tier().status();
    assert_eq!((reader.purges_missing, reader.dropped_everything), (1, 1));
}

#[tokio::test]
async fn each_server_has_its_numbers() {
    let server = Memcached::unix();
    let items = front_end(&server);
    assert!(follow(&items, &Cache::default(), 0).await);
    let (of_log, name) = (items.tier().status(), items.tier().namespace().response("http://a.example/"));
    assert_eq!(of_log.servers[0].gets, 0, "readings of the log are no gets");
    assert!(items.put(&name, Expiry::After(60), |_| Some(vec!["content".into()])).await);
    assert!(items.get(&name).await.is_ok());
    let other = items.tier().namespace().response("http://b.example/");
    assert_eq!(items.get(&other).await.err(), Some(Missing::Absent));
    let status = items.tier().status();
    let [one] = status.servers.as_slice() else { panic!("{status:?}") };
    assert_eq!(one.address, format!("unix:{}", server.endpoint()));
    assert!(one.is_usable, "{one:?}");
    assert_eq!((one.gets, one.hits, one.sets), (2, 1, of_log.servers[0].sets + 1));
    assert_eq!((one.errors, one.timeouts, one.busy, one.outages, status.damaged), (0, 0, 0, 0, 0));
    assert!(one.bytes_in > 0 && one.bytes_out > 0 && one.reply_us >= one.reply_max_us, "{one:?}");
    assert_eq!(one.replies, of_log.servers[0].replies + 3);
    let client = servers(options([server.endpoint()])).client();
    client.set(0, name.as_bytes(), vec!["damaged".into()], Expiry::Never).await.unwrap();
    assert_eq!(items.get(&name).await.err(), Some(Missing::Damaged));
    assert_eq!(items.tier().status().damaged, 1);
    items.tier().servers().all()[0].health.failed(items.tier().servers().now_ms());
    assert_eq!(items.get(&name).await.err(), Some(Missing::Away));
    let status = items.tier().status();
    assert_eq!((status.servers[0].is_usable, status.servers[0].outages), (false, 1));
}
