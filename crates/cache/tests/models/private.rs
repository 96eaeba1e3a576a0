//! Models of a page that turns out to be for one client only: each client that waited asks for itself.

use crate::explore::explore;
use crate::site::{Got, NOW, Site, answer, get, ok, read, spawn, text};
use http::StatusCode;
use kasoku_cache::{FillReader, Lookup, Verdict};
use kasoku_semantics::reason::Reason;
use kasoku_wire::{RequestHead, ResponseHead};
use shuttle::future::block_on;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

const CLIENTS: usize = 3;

/// Waits for a fill. Returns its text, or `None` where the response is for another client only.
fn wait(reader: FillReader) -> Option<String> {
    match read(reader) {
        Got::Released => None,
        Got::Whole(text) => Some(text),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_private_answer_reaches_its_own_client_alone_and_no_request_waits_for_the_next() {
    explore(|| {
        let site = Site::new();
        let verdicts = Arc::new(AtomicUsize::new(0));
        let private = ResponseHead::new(StatusCode::OK).with("Cache-Control", "private, max-age=60");
        let visit = move |site: &Site, verdicts: &AtomicUsize| {
            // A client that waited once asks alone after that.
            for _ in 0..2 {
                let is_known = verdicts.load(Ordering::SeqCst) > 0;
                match site.look_up(&get(), NOW) {
                    Lookup::Join(..) if is_known => panic!("waits for a page that is known as private"),
                    Lookup::Join(reader, _) => assert_eq!(wait(reader), None, "got another's answer"),
                    Lookup::Fill(writer, _) => {
                        let verdict = answer(writer, &private, NOW);
                        assert!(matches!(verdict, Verdict::Private(Reason::Private)));
                        verdicts.fetch_add(1, Ordering::SeqCst);
                        return;
                    }
                    _ => panic!("neither a join nor a fill"),
                }
            }
            panic!("waited twice");
        };
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let (visit, verdicts) = (visit.clone(), verdicts.clone());
                spawn(&site, move |site| visit(site, &verdicts))
            })
            .collect();
        for client in clients {
            client.join().unwrap();
        }
        assert_eq!(verdicts.load(Ordering::SeqCst), CLIENTS, "answers");
        assert_eq!((site.cache.len(), site.cache.used_bytes()), (0, 0), "something was stored");
        site.assert_idle();
    });
}

/// A client gets the page. The origin writes the client's own name into it, and does not mark it as private.
fn visit(site: &Site, request: &RequestHead, own: &'static str) -> String {
    for _ in 0..2 {
        match site.look_up(request, NOW) {
            Lookup::Hit(entry, ..) => return text(&entry),
            Lookup::Join(reader, _) => {
                if let Some(text) = wait(reader) {
                    return text;
                }
            }
            Lookup::Fill(writer, _) => {
                if let Verdict::Write(mut body) = answer(writer, &ok(), NOW) {
                    block_on(body.push(own.into())).unwrap();
                    body.finish(None);
                }
                return own.to_owned();
            }
            _ => panic!("neither hit, join nor fill"),
        }
    }
    panic!("waited twice");
}

#[test]
fn what_a_visitor_gets_reaches_no_other_visitor_and_no_anonymous_client() {
    explore(|| {
        let site = Site::new();
        let visitors = ["visitor a", "visitor b"]
            .map(|own| spawn(&site, move |site| (visit(site, &get().with("Cookie", format!("id={own}")), own), own)));
        let anonymous: Vec<_> =
            (0..2).map(|_| spawn(&site, |site| visit(site, &get(), "nobody in particular"))).collect();
        for visitor in visitors {
            let (got, own) = visitor.join().unwrap();
            assert!(got == own || got == "nobody in particular", "{own} got {got}");
        }
        for anonymous in anonymous {
            assert_eq!(anonymous.join().unwrap(), "nobody in particular");
        }
        let Lookup::Hit(entry, ..) = site.look_up(&get(), NOW) else { panic!("not stored") };
        assert_eq!(text(&entry), "nobody in particular");
        site.assert_idle();
    });
}
