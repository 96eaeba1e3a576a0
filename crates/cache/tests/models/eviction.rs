//! A model of entries that are evicted while clients read them. The guarantees of the index itself: `index`.

use crate::explore::explore;
use crate::site::{NOW, answer, get, ok, push};
use kasoku_cache::{Cache, CacheLimits, CacheRoute, Key, Lookup, SharedRequest, Verdict};
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::policy::{Policy, Profile};
use shuttle::thread;
use std::sync::Arc;

/// Limits with room for only a few of the pages.
const LIMITS: CacheLimits = CacheLimits { memory_bytes_max: 64 << 10, object_bytes_max: 8 << 10 };

const PAGE_BYTES: usize = 4000;

const PAGES: usize = 16;

fn page(key: &Key) -> Vec<u8> {
    key.bytes().iter().copied().cycle().take(PAGE_BYTES).collect()
}

/// Reads a page as slowly as possible, or writes it where it is missing. Returns whether it stored the page.
fn visit(cache: &Cache, policy: &Arc<Policy>, number: usize) -> bool {
    let mut is_stored = false;
    let key = cache.key(format!("http://a.example/{number}"));
    let request = SharedRequest::new(&get(), &CacheRoute::new(&key, policy), &Peer::UNKNOWN);
    match cache.look_up(&request, NOW) {
        Lookup::Hit(entry, ..) => {
            let mut read = Vec::new();
            for chunk in entry.body.chunks() {
                thread::yield_now();
                read.extend_from_slice(chunk);
            }
            thread::yield_now();
            assert_eq!(read, page(&key));
        }
        Lookup::Fill(writer, _) => {
            // Memory may be full by now: then the page is not stored, and its fill has no readers.
            let Verdict::Write(mut body) = answer(writer, &ok(), NOW) else { return false };
            is_stored = push(&mut body, page(&key).into()).is_ok() && body.finish(None);
        }
        Lookup::Join(..) => {}
        _ => panic!("neither hit, join nor fill"),
    }
    assert!(cache.used_bytes() <= LIMITS.memory_bytes_max / 8 * 7, "{} bytes", cache.used_bytes());
    is_stored
}

#[test]
fn who_reads_what_is_evicted_meanwhile_reads_it_to_its_end() {
    explore(|| {
        let cache = Cache::new(LIMITS);
        let policy = Arc::new(Policy::new(Profile::Safe));
        let mut stored = usize::from(visit(&cache, &policy, 0));
        let threads = [1, 2].map(|step| {
            let (cache, policy) = (cache.clone(), policy.clone());
            thread::spawn(move || (0..PAGES).filter(|number| visit(&cache, &policy, number * step % PAGES)).count())
        });
        for thread in threads {
            stored += thread.join().unwrap();
        }
        assert!(cache.len() < stored, "nothing was evicted of {stored}");
        assert_eq!((cache.fills_running(), cache.held_bytes()), (0, cache.used_bytes()));
    });
}
