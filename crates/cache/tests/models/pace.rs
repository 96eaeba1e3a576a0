//! A model of a body that is too large to be stored, and so goes at the pace of its readers.

use crate::explore::explore;
use crate::site::{NOW, Site, begin, get, ok, push, spawn};
use bytes::Bytes;
use kasoku_cache::body_writer::Abandoned;
use kasoku_cache::{CacheLimits, FillEvent, Lookup};
use shuttle::future::block_on;
use shuttle::rand::{Rng, thread_rng};

/// A piece so large that the writer waits after every second one.
static PIECE: [u8; 768 << 10] = [b'x'; 768 << 10];

const PUSHES: usize = 5;

#[test]
fn a_writer_that_waits_for_its_readers_goes_on_when_they_read_and_stops_when_they_leave() {
    explore(|| {
        let site = Site::with_limits(CacheLimits { memory_bytes_max: 64 << 20, object_bytes_max: 64 << 10 });
        let Lookup::Fill(writer, _) = site.look_up(&get(), NOW) else { panic!("not a fill") };
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let Lookup::Join(mut reader, _) = site.look_up(&get(), NOW) else { panic!("not a join") };
                spawn(&site, move |_| {
                    // The reader takes no piece, some, all of them, or reads to the end.
                    let pieces_max = thread_rng().gen_range(0..=PUSHES + 1);
                    let mut bytes = 0;
                    for _ in 0..pieces_max {
                        match block_on(reader.next()) {
                            FillEvent::Chunk(piece) => bytes += piece.len(),
                            FillEvent::End(_) => return (bytes, true),
                            // The fill was abandoned, or its head has not come: before the head, `next` returns `Cut`.
                            FillEvent::Spooled(_) | FillEvent::Cut => return (bytes, false),
                        }
                    }
                    (bytes, false)
                })
            })
            .collect();
        let mut body = begin(writer, &ok());
        let mut is_abandoned = false;
        for _ in 0..PUSHES {
            if push(&mut body, Bytes::from_static(&PIECE)) == Err(Abandoned::NoReaders) {
                is_abandoned = true;
                break;
            }
        }
        if is_abandoned {
            drop(body);
        } else {
            assert!(!body.finish(None), "stored");
        }
        for reader in readers {
            let (bytes, is_whole) = reader.join().unwrap();
            assert!(!is_whole || bytes == PUSHES * PIECE.len(), "an end after {bytes} bytes");
            assert!(!is_whole || !is_abandoned, "an end of what was abandoned");
        }
        assert!(site.cache.is_empty());
        site.assert_idle();
    });
}
