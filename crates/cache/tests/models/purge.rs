//! An invalidation at any point of a fill: nobody who asks after it is answered by what the origin said before it.

use crate::explore::explore;
use crate::site::{Got, NOW, Site, get, spawn, version};
use kasoku_cache::Lookup;
use kasoku_semantics::time::Now;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// The version from which on a client must be answered: that of the last purge that has returned.
type Purged = Arc<AtomicUsize>;

/// A client whose answer must be whole and not older than the purges before it.
fn visit(site: &Site, purged: &Purged, now: Now) {
    let purged = purged.load(Ordering::SeqCst);
    let Got::Whole(text) = site.visit(now) else { panic!("not whole") };
    assert!(version(&text) >= purged, "version {} after the purge of {purged}", version(&text));
}

/// The page changes, and is purged.
fn purge(site: &Site, purged: &Purged) {
    let changed = site.change();
    site.cache.invalidate(&site.key);
    purged.store(changed, Ordering::SeqCst);
}

/// Clients and a purge at any time, and a client after each.
fn purge_among_clients(site: &Arc<Site>, now: Now) {
    let purged = Purged::default();
    let clients: Vec<_> = (0..2)
        .map(|_| {
            let purged = purged.clone();
            spawn(site, move |site| visit(site, &purged, now))
        })
        .collect();
    let purger = {
        let purged = purged.clone();
        spawn(site, move |site| {
            purge(site, &purged);
            visit(site, &purged, now);
        })
    };
    for client in clients {
        client.join().unwrap();
    }
    purger.join().unwrap();
    visit(site, &purged, now);
    site.assert_idle();
}

#[test]
fn a_purge_during_a_fill_keeps_its_response_from_being_found_afterwards() {
    explore(|| purge_among_clients(&Site::new(), NOW));
}

#[test]
fn a_purge_during_a_validation_keeps_the_old_response_from_being_found_afterwards() {
    explore(|| {
        let site = Site::new();
        visit(&site, &Purged::default(), NOW);
        let later = NOW.after(120_000);
        assert!(!matches!(site.look_up(&get(), later), Lookup::Hit(..)), "not stale");
        purge_among_clients(&site, later);
    });
}

#[test]
fn a_purge_of_what_is_stored_removes_it_for_all_who_ask_afterwards() {
    explore(|| {
        let site = Site::new();
        visit(&site, &Purged::default(), NOW);
        purge_among_clients(&site, NOW);
    });
}
