//! Models of a purge at any point of a fill, of the one key, a tag or a prefix: no request that comes after the purge gets a response that
//! the origin made before it.

use crate::explore::explore;
use crate::site::{Got, NOW, SITE, Site, TAG, get, spawn, version};
use kasoku_cache::{Lookup, Purge, PurgeScope};
use kasoku_semantics::tags::Tagged;
use kasoku_semantics::time::Now;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// The oldest version that a client may get: the one to which the page changed before the last purge that has returned.
type Purged = Arc<AtomicUsize>;

/// A client, whose answer must be whole and not older than the purges before its request.
fn visit(site: &Site, purged: &Purged, now: Now) {
    let purged = purged.load(Ordering::SeqCst);
    let Got::Whole(text) = site.visit(now) else { panic!("not whole") };
    assert!(version(&text) >= purged, "version {} after the purge of {purged}", version(&text));
}

/// How the page is purged.
type Way = fn(&Site);

fn by_key(site: &Site) {
    let _ = site.cache.invalidate(&site.key);
}

fn by_prefix(site: &Site) {
    let _ = site.cache.purge_all_of(PurgeScope::Prefix("http://a.example/p"), Purge::Hard, NOW).unwrap();
}

fn by_tag(site: &Site) {
    let _ = site.cache.purge_all_of(PurgeScope::Tag(SITE, TAG), Purge::Hard, NOW).unwrap();
}

/// A write drops the tags of the pages that it has changed.
fn by_change(site: &Site) {
    let changed = Tagged { tags: vec![TAG.to_owned()], is_all_known: true };
    let _ = site.cache.drop_changed_tags(SITE, &changed, NOW);
}

/// After a soft purge the response is validated before it is used again, so the client gets the origin's current version.
fn softly(site: &Site) {
    let _ = site.cache.purge_all_of(PurgeScope::Site("a.example"), Purge::Soft, NOW).unwrap();
}

/// Changes the page, and purges it.
fn purge(site: &Site, purged: &Purged, way: Way) {
    let changed = site.change();
    way(site);
    purged.store(changed, Ordering::SeqCst);
}

/// Two clients and a purge at any point, a client after the purge, and one after all of them.
fn purge_among_clients(site: &Arc<Site>, now: Now, way: Way) {
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
            purge(site, &purged, way);
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

/// A purge while the page is fetched for the first time.
fn during_a_fill(way: Way) {
    explore(move || purge_among_clients(&Site::new(), NOW, way));
}

/// A purge while the stored response is validated.
fn during_a_validation(way: Way) {
    explore(move || {
        let site = Site::new();
        visit(&site, &Purged::default(), NOW);
        let later = NOW.after(120_000);
        assert!(!matches!(site.look_up(&get(), later), Lookup::Hit(..)), "not stale");
        purge_among_clients(&site, later, way);
    });
}

/// A purge while the stored response is fresh. It follows a purge of another site, so the clients compare the response with the marks.
fn of_what_is_stored(way: Way) {
    explore(move || {
        let site = Site::new();
        visit(&site, &Purged::default(), NOW);
        let _ = site.cache.purge_all_of(PurgeScope::Site("b.example"), Purge::Hard, NOW).unwrap();
        purge_among_clients(&site, NOW, way);
    });
}

#[test]
fn a_purge_during_a_fill_keeps_its_response_from_being_found_afterwards() {
    during_a_fill(by_key);
}

#[test]
fn a_purge_of_many_during_a_fill_keeps_its_response_from_being_found_afterwards() {
    during_a_fill(by_prefix);
}

#[test]
fn a_purge_of_a_tag_during_a_fill_keeps_its_response_from_being_found_afterwards() {
    during_a_fill(by_tag);
}

#[test]
fn a_change_during_a_fill_keeps_its_response_from_being_found_afterwards() {
    during_a_fill(by_change);
}

#[test]
fn a_purge_during_a_validation_keeps_the_old_response_from_being_found_afterwards() {
    during_a_validation(by_key);
}

#[test]
fn a_purge_of_many_during_a_validation_keeps_the_old_response_from_being_found_afterwards() {
    during_a_validation(by_prefix);
}

#[test]
fn a_change_during_a_validation_keeps_the_old_response_from_being_found_afterwards() {
    during_a_validation(by_change);
}

#[test]
fn a_purge_of_what_is_stored_removes_it_for_all_who_ask_afterwards() {
    of_what_is_stored(by_key);
}

#[test]
fn a_purge_of_many_removes_what_is_stored_for_all_who_ask_afterwards() {
    of_what_is_stored(by_prefix);
}

#[test]
fn a_purge_of_a_tag_removes_what_is_stored_for_all_who_ask_afterwards() {
    of_what_is_stored(by_tag);
}

#[test]
fn after_a_soft_purge_of_many_no_request_is_answered_without_asking_the_origin() {
    of_what_is_stored(softly);
}
