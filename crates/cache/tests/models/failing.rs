//! Models of fetches that fail and of fills that a client finds too slow, with clients that come at any point.

use crate::explore::explore;
use crate::site::{Got, NOW, Site, get, page, read, spawn, text};
use kasoku_cache::Lookup;
use kasoku_semantics::reason::Reason;

const CLIENTS: usize = 3;

#[test]
fn what_is_stale_is_asked_for_once_when_that_fails_and_all_get_it() {
    explore(|| {
        let site = Site::new();
        site.visit(NOW);
        let stale = NOW.after(120_000);
        let visit = move |site: &Site| match site.look_up(&get(), stale) {
            Lookup::Hit(entry, ..) => Got::Whole(text(&entry)),
            Lookup::Join(reader, _) => read(reader),
            Lookup::Fill(writer, _) => {
                site.origin();
                let (entry, _) = writer.on_failure(Reason::OriginClosedEarly, stale).expect("nothing stale");
                Got::Whole(text(&entry))
            }
            _ => panic!("neither hit, join nor fill"),
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| spawn(&site, visit)).collect();
        for client in clients {
            assert_eq!(client.join().unwrap(), Got::Whole(page(0)));
        }
        assert_eq!(site.times_asked(), 2, "requests at the origin: the first, and the one that failed");
        site.assert_idle();
    });
}

#[test]
fn a_fill_that_is_too_slow_at_any_point_costs_one_more_and_all_get_the_page() {
    explore(|| {
        let site = Site::new();
        let visit = |site: &Site| {
            let mut is_patient = false;
            loop {
                match site.look_up(&get(), NOW) {
                    Lookup::Hit(entry, ..) => return Got::Whole(text(&entry)),
                    Lookup::Join(reader, _) if is_patient || reader.is_probe() => return read(reader),
                    Lookup::Join(reader, _) => {
                        assert!(site.cache.on_slow(&site.shared(&get()), &reader, NOW));
                        is_patient = true;
                    }
                    Lookup::Fill(writer, _) => return site.fill(writer, NOW),
                    Lookup::Probe(writer, reader, _) => {
                        site.fill(writer, NOW);
                        return read(reader);
                    }
                    Lookup::Pass(_) | Lookup::Failed(..) | Lookup::Unavailable(_) | Lookup::Recall(_) => {
                        panic!("sent away")
                    }
                }
            }
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| spawn(&site, visit)).collect();
        for client in clients {
            assert_eq!(client.join().unwrap(), Got::Whole(page(0)));
        }
        assert!(matches!(site.look_up(&get(), NOW), Lookup::Hit(..)));
        assert!(site.times_asked() <= 2, "{} requests at the origin", site.times_asked());
        site.assert_idle();
    });
}
