//! A cold page that turns out to be each visitor's own: each client gets its own page, and does not wait for another client's.

use crate::Stage;
use crate::crowd::Member;
use crate::source::{After, Asked, Latch, Source};
use kasoku_testkit::ok;

/// Two fields that make an answer private to one visitor.
const PRIVATE: [&str; 2] = ["Cache-Control: private, max-age=60", "Set-Cookie: visitor="];

/// The number of bytes of the body that are sent before the rest is held.
const BEGIN: usize = 100;

/// The own page of a visitor, which names the visitor in each line.
fn page(visitor: &str) -> Vec<u8> {
    format!("this is the page of visitor {visitor:>8}\n").repeat(200).into_bytes()
}

/// The answer to that request, as bytes.
fn answer(field: &str, asked: &Asked) -> Vec<u8> {
    let visitor = asked.field("x-visitor");
    let own = if field.ends_with('=') { format!("{field}{visitor}") } else { field.to_owned() };
    ok(&[&own, &format!("X-For: {visitor}")], page(&visitor))
}

fn ask(member: &mut Member) {
    let visitor = format!("X-Visitor: {}", member.number);
    member.ask("GET", "/page", &[&visitor]);
}

/// Reads an answer, which must be this member's own.
fn read_own(member: &mut Member, field: &str) {
    let visitor = member.number.to_string();
    let head = member.whole(&page(&visitor));
    assert_eq!(head.field("x-for"), visitor);
    assert!(!head.is_hit() && !head.is_collapsed(), "{head:?}");
    if field.ends_with('=') {
        assert_eq!(head.field("set-cookie"), format!("visitor={visitor}"), "its own cookie");
    }
}

#[test]
fn no_request_waits_for_a_page_that_turns_out_private() {
    for (workers, field) in [(1, PRIVATE[0]), (1, PRIVATE[1]), (3, PRIVATE[0]), (3, PRIVATE[1])] {
        let (verdict, all_here, rest) = (Latch::default(), Latch::default(), Latch::default());
        let latches = [verdict.clone(), all_here.clone(), rest.clone()];
        let stage = Stage::new(
            workers,
            Source::start(move |asked, out| {
                let bytes = answer(field, asked);
                let body = bytes.len() - page("").len();
                if asked.number == 0 {
                    // All clients wait for this head. Then the origin holds the body until all other clients have their answers.
                    latches[0].wait();
                    out.send(&bytes[..body + BEGIN]);
                    latches[2].wait();
                    out.send(&bytes[body + BEGIN..]);
                } else {
                    // The origin answers none of them before all have asked, so they don't queue.
                    latches[1].wait();
                    out.send(bytes);
                }
                After::Kept
            }),
        );
        let mut others = stage.crowd();
        stage.all_wait(&mut others, ask);
        assert_eq!(stage.source.asked().len(), 1, "all wait for the first one's head");
        let mut first = others.0.remove(0);
        verdict.open();
        let head = first.ok_head();
        first.read(&page("0")[..BEGIN]);
        stage.source.arrived(1 + others.0.len());
        all_here.open();
        others.each(|member| read_own(member, field));
        rest.open();
        first.read(&page("0")[BEGIN..]);
        assert_eq!(head.field("x-for"), "0");
        assert_eq!(stage.source.asked().len(), 1 + others.0.len(), "one request for each, and none twice");
        assert!(stage.scene.engine.cache().is_empty());
    }
}

#[test]
fn what_is_known_to_be_private_is_asked_for_by_all_at_once() {
    for (workers, field) in [(1, PRIVATE[0]), (3, PRIVATE[1])] {
        let all_here = Latch::default();
        let latch = all_here.clone();
        let stage = Stage::new(
            workers,
            Source::start(move |asked, out| {
                if asked.number > 0 {
                    latch.wait();
                }
                out.send(answer(field, asked));
                After::Kept
            }),
        );
        let mut before = stage.late();
        before.ask("GET", "/page", &["X-Visitor: before"]);
        before.whole(&page("before"));
        let mut crowd = stage.crowd();
        crowd.each(ask);
        stage.source.arrived(1 + crowd.0.len());
        all_here.open();
        crowd.each(|member| read_own(member, field));
        assert_eq!(stage.source.asked().len(), 1 + crowd.0.len());
    }
}
