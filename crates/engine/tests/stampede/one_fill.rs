//! One cold key with a page of a megabyte: the origin holds the second half until all clients have read the first.

use crate::crowd::{Crowd, Member, size};
use crate::source::{After, Latch, Source};
use crate::{PAGE_BYTES, Stage, head, page};
use kasoku_metrics::Counter;

const FRESH: &str = "Cache-Control: max-age=60";
const HALF: usize = PAGE_BYTES / 2;

/// The page that the origin answers when it is asked a second time.
const NEWS: &[u8] = b"the second time";

/// Answers the first request with the first half of the page at once, and with the second half when the latch opens. Answers
/// later requests at once with [`NEWS`], and a DELETE with 204.
fn halves(latch: &Latch, dies: Option<fn() -> After>) -> Source {
    let (latch, page) = (latch.clone(), page());
    Source::start(move |asked, out| {
        if asked.what() == "DELETE /page" {
            out.send("HTTP/1.1 204 No Content\r\n\r\n");
        } else if asked.number > 0 {
            out.send(head(&[FRESH], NEWS.len()));
            out.send(NEWS);
        } else {
            out.send(head(&[FRESH], page.len()));
            out.send(&page[..HALF]);
            latch.wait();
            if let Some(dies) = dies {
                return dies();
            }
            out.send(&page[HALF..]);
        }
        After::Kept
    })
}

/// The page in that many parts of equal size.
fn parts(page: &[u8], count: usize) -> Vec<&[u8]> {
    page.chunks(PAGE_BYTES.div_ceil(count)).collect()
}

/// Answers with the page in parts: the first at once, each other part when its latch opens.
fn in_parts<const N: usize>(latches: &[Latch; N]) -> Source {
    let (latches, page) = (latches.clone(), page());
    Source::start(move |_, out| {
        let parts = parts(&page, N + 1);
        out.send(head(&[FRESH], page.len()));
        out.send(parts[0]);
        for (latch, part) in latches.iter().zip(&parts[1..]) {
            latch.wait();
            out.send(part);
        }
        After::Kept
    })
}

/// A crowd whose members have all asked for the page and read its first half.
fn all_have_the_first_half(stage: &Stage, page: &[u8]) -> Crowd {
    let mut crowd = stage.crowd();
    crowd.ask("/page");
    crowd.heads();
    crowd.read(&page[..HALF]);
    crowd
}

#[test]
fn a_thousand_clients_stream_one_fill() {
    for workers in [1, 3] {
        let (page, rest) = (page(), Latch::default());
        let stage = Stage::new(workers, halves(&rest, None));
        let mut crowd = stage.crowd();
        crowd.ask("/page");
        let heads = crowd.heads();
        crowd.read(&page[..HALF]);
        assert_eq!(heads.iter().filter(|head| !head.is_collapsed()).count(), 1, "one has begun it, all others joined");
        assert!(heads.iter().all(|head| head.field("content-length") == PAGE_BYTES.to_string()));
        rest.open();
        crowd.read(&page[HALF..]);
        assert_eq!(stage.source.asked(), ["GET /page"], "{workers} workers");
        assert!(stage.late().get("/page", &[], &page).is_hit());
        assert_eq!(stage.source.asked(), ["GET /page"], "{workers} workers");
    }
}

#[test]
fn who_comes_late_gets_what_has_arrived_at_once_and_the_rest_as_it_comes() {
    let (page, latches) = (page(), [Latch::default(), Latch::default()]);
    let parts = parts(&page, 3);
    let stage = Stage::new(3, in_parts(&latches));
    let mut early = stage.crowd();
    let mut late = early.split_off(early.0.len() / 2);
    early.ask("/page");
    early.heads();
    early.read(parts[0]);
    latches[0].open();
    early.read(parts[1]);
    late.ask("/page");
    late.heads();
    late.read(parts[0]);
    late.read(parts[1]);
    latches[1].open();
    late.read(parts[2]);
    early.read(parts[2]);
    assert_eq!(stage.source.asked(), ["GET /page"]);
}

#[test]
fn slow_readers_in_the_crowd_delay_no_other_and_get_all() {
    const SLOW: usize = 50;
    for workers in [1, 3] {
        let (page, rest) = (page(), Latch::default());
        let stage = Stage::new(workers, halves(&rest, None));
        // One of the slow readers begins the fill.
        let mut slow = Crowd((0..SLOW).map(|number| Member::connect_slow(stage.address(), number)).collect());
        slow.0[0].ask("GET", "/page", &[]);
        stage.source.arrived(1);
        slow.each(|member| {
            if member.number > 0 {
                member.ask("GET", "/page", &[]);
            }
        });
        let mut crowd = Crowd::connect(stage.address(), size() - SLOW);
        crowd.ask("/page");
        crowd.heads();
        crowd.read(&page[..HALF]);
        rest.open();
        crowd.read(&page[HALF..]);
        stage.scene.counted(Counter::Requests, crowd.0.len() as u64);
        let answered = stage.scene.engine.metrics().total(Counter::Requests);
        assert_eq!(answered, crowd.0.len() as u64, "a slow reader's answer has gone out before it was read");
        assert!(stage.late().get("/page", &[], &page).is_hit(), "it is stored while they have not read it yet");
        slow.each(|member| {
            member.hurry();
            member.whole(&page);
        });
        assert_eq!(stage.source.asked(), ["GET /page"]);
    }
}

#[test]
fn a_purge_in_the_middle_takes_nothing_from_a_thousand_and_nothing_is_stored() {
    let by_method = |stage: &Stage| {
        let mut client = stage.late();
        client.ask("DELETE", "/page", &[]);
        assert_eq!(client.head().status(), "204");
    };
    let by_handle = |stage: &Stage| {
        let cache = stage.scene.engine.cache();
        let _ = cache.invalidate(&cache.key("http://example.org/page"));
    };
    for (workers, purge) in [(1, &by_method as &dyn Fn(&Stage)), (3, &by_method), (3, &by_handle)] {
        let (page, rest) = (page(), Latch::default());
        let stage = Stage::new(workers, halves(&rest, None));
        let mut crowd = all_have_the_first_half(&stage, &page);
        purge(&stage);
        rest.open();
        crowd.read(&page[HALF..]);
        let before = stage.source.asked().len();
        stage.scene.eventually(|| stage.scene.engine.cache().fills_running() == 0);
        assert!(stage.scene.engine.cache().is_empty(), "it was purged before it was whole");
        assert!(!stage.late().get("/page", &[], NEWS).is_hit());
        assert_eq!(stage.source.asked().len(), before + 1, "the next request reaches the origin");
        assert!(stage.late().get("/page", &[], NEWS).is_hit());
    }
}

#[test]
fn who_asks_after_a_purge_in_the_middle_is_not_given_what_a_thousand_still_read() {
    let (page, rest) = (page(), Latch::default());
    let stage = Stage::new(3, halves(&rest, None));
    let mut crowd = all_have_the_first_half(&stage, &page);
    let mut client = stage.late();
    client.ask("DELETE", "/page", &[]);
    assert_eq!(client.head().status(), "204");
    // The origin still holds the old answer.
    assert!(!client.get("/page", &[], NEWS).is_hit());
    rest.open();
    crowd.read(&page[HALF..]);
    stage.scene.eventually(|| stage.scene.engine.cache().fills_running() == 0);
    assert!(client.get("/page", &[], NEWS).is_hit(), "the older has not replaced the newer");
    assert_eq!(stage.source.asked(), ["GET /page", "DELETE /page", "GET /page"]);
}

#[test]
fn the_client_that_began_it_leaves_in_the_middle_and_the_others_get_all() {
    for (workers, leave) in [(1, Member::reset as fn(Member)), (3, Member::reset), (3, drop)] {
        let (page, latches) = (page(), [Latch::default(), Latch::default(), Latch::default()]);
        let parts = parts(&page, 4);
        let stage = Stage::new(workers, in_parts(&latches));
        let mut crowd = stage.crowd();
        stage.all_wait(&mut crowd, |member| member.ask("GET", "/page", &[]));
        assert!(!crowd.heads()[0].is_collapsed(), "the first has begun it");
        crowd.read(parts[0]);
        leave(crowd.0.remove(0));
        // The engine notices that the client is gone when it writes to it: at the second attempt, if the client left without a
        // reset.
        for (latch, part) in latches.iter().zip(&parts[1..3]) {
            latch.open();
            crowd.read(part);
        }
        stage.scene.counted(Counter::Aborted, 1);
        latches[2].open();
        crowd.read(parts[3]);
        assert_eq!(stage.source.asked(), ["GET /page"]);
        assert!(stage.late().get("/page", &[], &page).is_hit());
    }
}

#[test]
fn the_client_that_began_it_leaves_before_the_head_and_the_others_get_all() {
    for workers in [1, 3] {
        let (page, begin) = (page(), Latch::default());
        let (latch, bytes) = (begin.clone(), page.clone());
        let stage = Stage::new(
            workers,
            Source::start(move |_, out| {
                latch.wait();
                out.send(head(&[FRESH], bytes.len()));
                out.send(&bytes);
                After::Kept
            }),
        );
        let mut crowd = stage.crowd();
        stage.all_wait(&mut crowd, |member| member.ask("GET", "/page", &[]));
        crowd.0.remove(0).reset();
        (0..8).for_each(|_| stage.scene.settled());
        begin.open();
        let heads = crowd.each(|member| member.whole(&page));
        assert!(heads.iter().all(|head| head.is_collapsed() || head.is_hit()));
        assert_eq!(stage.source.asked(), ["GET /page"]);
    }
}

#[test]
fn an_origin_that_dies_in_the_middle_cuts_all_and_no_client_takes_it_for_a_whole() {
    for (workers, dies) in [(1, (|| After::Closed) as fn() -> After), (3, || After::Closed), (3, || After::Reset)] {
        let (page, death) = (page(), Latch::default());
        let stage = Stage::new(workers, halves(&death, Some(dies)));
        let mut crowd = all_have_the_first_half(&stage, &page);
        death.open();
        crowd.each(Member::ends);
        assert_eq!(stage.source.asked(), ["GET /page"], "{workers} workers: no request asks again");
        assert!(stage.scene.engine.cache().is_empty());
        assert!(!stage.late().get("/page", &[], NEWS).is_hit());
    }
}
