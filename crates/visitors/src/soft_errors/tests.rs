use super::*;
use http::StatusCode;
use kasoku_wire::{Fields, ResponseHead};

const PAGE: &str = "text/html; charset=utf-8";

fn head(media_type: &str) -> ResponseHead {
    let fields: Fields = [("Content-Type", media_type)].into_iter().collect();
    ResponseHead { fields, ..ResponseHead::new(StatusCode::OK) }
}

/// A page of the site's frame, with an element of its own.
fn page(number: u64) -> Shape<'static> {
    let kinds = (0..10).chain([100 + number]).collect::<Vec<u64>>().leak();
    Shape::of(&head(PAGE), b"", 20_000 + 100 * number, kinds)
}

fn text(body: &str) -> Shape<'static> {
    Shape::of(&head("text/plain"), body.as_bytes(), body.len() as u64, &[])
}

fn small() -> Shape<'static> {
    text("The data source does not answer.")
}

fn good(number: u64) -> Option<Replaced> {
    let shape = page(number);
    Some(Replaced::new(&head(PAGE), shape.bytes, None))
}

fn soft(since_ms: u64, seconds: u64) -> Option<Replaced> {
    Some(Replaced::new(&head("text/plain"), 30, Some((since_ms, seconds))))
}

/// Three good pages, of the URLs 1 to 3, at 1 s.
fn known() -> GoodPages {
    let mut known = GoodPages::default();
    for url in 1..=3 {
        assert_eq!(known.take(url, &page(url), None, 1_000), Taken::Page);
    }
    known
}

#[test]
fn an_answer_of_another_type_size_or_frame_lives_seconds_and_each_time_twice_as_long() {
    const FRAME: [u64; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    let [short, other] = [(1_000, &FRAME), (20_000, &FRAME.map(|kind| kind + 50))]
        .map(|(bytes, kinds)| Shape::of(&head(PAGE), b"", bytes, kinds.to_vec().leak()));
    for odd in [small(), short, other] {
        let mut known = known();
        assert_eq!(known.take(4, &odd, None, 100_000), Taken::SoftError(5));
        assert_eq!(known.take(4, &odd, soft(100_000, 5).as_ref(), 106_000), Taken::SoftError(10));
        assert_eq!(known.take(4, &odd, soft(200_000, 160).as_ref(), 400_000), Taken::SoftError(300));
        assert_eq!(known.take(4, &odd, soft(500_000, 300).as_ref(), 900_000), Taken::SoftError(300));
    }
}

#[test]
fn it_has_its_full_lifetime_once_another_page_was_good_meanwhile() {
    let mut known = known();
    assert_eq!(known.take(4, &small(), None, 100_000), Taken::SoftError(5));
    // The page itself says nothing, nor does one from before.
    assert_eq!(known.take(4, &small(), soft(100_000, 5).as_ref(), 106_000), Taken::SoftError(10));
    known.take(2, &page(2), None, 115_000);
    assert_eq!(known.take(4, &small(), soft(106_000, 10).as_ref(), 117_000), Taken::Page);
    assert_eq!(known.take(4, &small(), soft(106_000, 10).as_ref(), 126_000), Taken::SoftError(20));
}

#[test]
fn one_page_that_turns_was_deleted_and_two_that_turn_alike_are_an_outage() {
    let mut known = known();
    assert_eq!(known.take(1, &small(), good(1).as_ref(), 100_000), Taken::SoftError(5));
    assert_eq!(known.take(2, &small(), good(2).as_ref(), 101_000), Taken::Outage(5));
    assert_eq!(known.take(3, &small(), good(3).as_ref(), 102_000), Taken::Outage(5));
    // A good page ends it.
    assert_eq!(known.take(3, &page(3), good(3).as_ref(), 103_000), Taken::Page);
    assert_eq!(known.take(2, &small(), good(2).as_ref(), 104_000), Taken::SoftError(5));
    // Long afterwards, another one may have been deleted as well.
    assert_eq!(known.take(1, &small(), good(1).as_ref(), 404_000), Taken::SoftError(5));
}

#[test]
fn the_words_of_a_failing_program_count_before_pages_are_known() {
    let failure = text("Got an error: Can't connect to MySQL server on 'db' (111)");
    let mut new = GoodPages::default();
    assert_eq!(new.take(1, &failure, None, 1_000), Taken::SoftError(5));
    // Its stored page shows that it is no page.
    assert_eq!(new.take(2, &failure, good(2).as_ref(), 1_000), Taken::Outage(5));
    let mut known = known();
    known.take(2, &page(2), None, 100_000);
    assert_eq!(known.take(4, &failure, soft(99_000, 5).as_ref(), 101_000), Taken::SoftError(10));
}

#[test]
fn before_pages_are_known_an_answer_is_compared_with_the_page_that_it_replaces() {
    let mut new = GoodPages::default();
    assert_eq!(new.take(1, &small(), good(1).as_ref(), 1_000), Taken::SoftError(5));
    assert_eq!(new.take(1, &small(), None, 1_000), Taken::Page);
}

#[test]
fn errors_that_came_first_are_not_taken_for_pages_for_long() {
    let mut known = GoodPages::default();
    for url in 1..=3 {
        assert_eq!(known.take(url, &small(), None, 1_000), Taken::Page);
    }
    assert_eq!(known.take(4, &page(4), None, 2_000), Taken::Page);
}
