//! Models of clients that come while a fill runs, and of writers that leave before its end.

use crate::explore::explore;
use crate::site::{Got, NOW, Site, begin, get, ok, page, pieces, push, push_page, read, spawn, version};
use kasoku_cache::Lookup;
use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::{Condvar, Mutex};
use std::sync::Arc;

const CLIENTS: usize = 3;

#[test]
fn of_clients_that_come_at_once_one_asks_and_all_get_the_whole_in_order() {
    explore(|| {
        let site = Site::new();
        // The origin holds the rest of the page back until all clients have come.
        let come = Arc::new((Mutex::new(0), Condvar::new()));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let come = come.clone();
                spawn(&site, move |site| {
                    let found = site.look_up(&get(), NOW);
                    *come.0.lock().unwrap() += 1;
                    come.1.notify_all();
                    match found {
                        Lookup::Join(reader, _) => read(reader),
                        Lookup::Fill(writer, _) => {
                            let version = site.origin();
                            let mut body = begin(writer, &ok());
                            let [first, second, third] = pieces(version);
                            push(&mut body, first.into()).unwrap();
                            drop(come.1.wait_while(come.0.lock().unwrap(), |come| *come < CLIENTS).unwrap());
                            push(&mut body, second.into()).unwrap();
                            push(&mut body, third.into()).unwrap();
                            assert!(body.finish(None), "not stored");
                            Got::Whole(page(version))
                        }
                        _ => panic!("neither a join nor a fill"),
                    }
                })
            })
            .collect();
        for client in clients {
            assert_eq!(client.join().unwrap(), Got::Whole(page(0)));
        }
        assert_eq!(site.times_asked(), 1, "requests at the origin");
        site.assert_idle();
    });
}

#[test]
fn a_request_that_comes_at_any_point_gets_the_whole_and_it_is_stored() {
    explore(|| {
        let site = Site::new();
        let clients: Vec<_> = (0..CLIENTS).map(|_| spawn(&site, |site| site.visit(NOW))).collect();
        for client in clients {
            assert_eq!(client.join().unwrap(), Got::Whole(page(0)));
        }
        assert!(matches!(site.look_up(&get(), NOW), Lookup::Hit(..)));
        assert_eq!(site.times_asked(), 1, "requests at the origin");
        site.assert_idle();
    });
}

#[test]
fn a_stale_response_is_validated_once_at_whatever_point_requests_come() {
    explore(|| {
        let site = Site::new();
        site.visit(NOW);
        let stale = NOW.after(120_000);
        let clients: Vec<_> = (0..CLIENTS).map(|_| spawn(&site, move |site| site.visit(stale))).collect();
        for client in clients {
            assert_eq!(client.join().unwrap(), Got::Whole(page(0)));
        }
        assert_eq!(site.times_asked(), 2, "requests at the origin: the first, and one validation");
        site.assert_idle();
    });
}

#[test]
fn a_writer_that_goes_away_at_any_point_leaves_no_reader_waiting_and_nothing_behind() {
    explore(|| {
        let site = Site::new();
        let visit = |site: &Site| match site.look_up(&get(), NOW) {
            Lookup::Join(reader, _) => Some(read(reader)),
            Lookup::Fill(writer, _) => {
                let pushes: usize = thread_rng().gen_range(0..=4);
                if let Some(pushes) = pushes.checked_sub(1) {
                    let mut body = begin(writer, &ok());
                    for piece in pieces(0).into_iter().take(pushes) {
                        push(&mut body, piece.into()).unwrap();
                    }
                }
                None
            }
            _ => panic!("neither a join nor a fill"),
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| spawn(&site, visit)).collect();
        for client in clients {
            match client.join().unwrap() {
                Some(Got::Cut(read)) => assert!(page(0).starts_with(&read), "{read}"),
                Some(Got::Failed) | None => {}
                Some(other) => panic!("a reader got {other:?}"),
            }
        }
        assert_eq!((site.cache.len(), site.cache.used_bytes()), (0, 0), "something was stored");
        site.assert_idle();
    });
}

#[test]
fn a_client_that_asks_again_gets_the_whole_though_writers_go_away_at_any_point() {
    explore(|| {
        let site = Site::new();
        let leavers: Vec<_> = (0..CLIENTS - 1)
            .map(|_| {
                spawn(&site, |site| {
                    let Lookup::Fill(writer, _) = site.look_up(&get(), NOW) else { return };
                    site.origin();
                    if thread_rng().r#gen() {
                        push(&mut begin(writer, &ok()), "0:fir".into()).unwrap();
                    }
                })
            })
            .collect();
        let stayer = spawn(&site, |site| {
            // Each writer that goes away costs it one more request.
            (0..CLIENTS).map(|_| site.visit(NOW)).find(|got| matches!(got, Got::Whole(_)))
        });
        assert_eq!(stayer.join().unwrap(), Some(Got::Whole(page(0))));
        for leaver in leavers {
            leaver.join().unwrap();
        }
        assert!(matches!(site.look_up(&get(), NOW), Lookup::Hit(..)), "not stored");
        assert!(site.times_asked() <= CLIENTS, "{} requests at the origin", site.times_asked());
        site.assert_idle();
    });
}

#[test]
fn readers_that_leave_at_any_point_do_not_disturb_the_others() {
    explore(|| {
        let site = Site::new();
        let Lookup::Fill(writer, _) = site.look_up(&get(), NOW) else { panic!("not a fill") };
        let leaver = spawn(&site, |site| {
            if let Lookup::Join(mut reader, _) = site.look_up(&get(), NOW) {
                shuttle::future::block_on(reader.next());
            }
        });
        let stayer = spawn(&site, |site| site.visit(NOW));
        let mut body = begin(writer, &ok());
        push_page(&mut body, 0);
        assert!(body.finish(None), "not stored");
        leaver.join().unwrap();
        let Got::Whole(read) = stayer.join().unwrap() else { panic!("not whole") };
        assert_eq!(version(&read), 0);
        site.assert_idle();
    });
}
