//! A stampede on a stale page, and on several variants of one key.

use crate::source::{After, Asked, Latch, Source};
use crate::{Stage, page};
use kasoku_testkit::{ok, reply};
use std::collections::BTreeSet;

const LANGUAGES: [&str; 4] = ["en", "de", "fr", "ja"];

#[test]
fn a_stale_page_is_validated_once_for_a_thousand() {
    for workers in [1, 3] {
        let (page, verdict) = (page(), Latch::default());
        let (latch, bytes) = (verdict.clone(), page.clone());
        let stage = Stage::new(
            workers,
            Source::start(move |asked, out| {
                let fields = ["Cache-Control: max-age=60", "ETag: \"1\""];
                if asked.number == 0 {
                    out.send(ok(&fields, &bytes));
                } else {
                    latch.wait();
                    assert_eq!(asked.field("if-none-match"), "\"1\"");
                    out.send(reply("304 Not Modified", &fields, ""));
                }
                After::Kept
            }),
        );
        stage.late().get("/page", &[], &page);
        stage.scene.advance(61);
        let mut crowd = stage.crowd();
        stage.all_wait(&mut crowd, |member| member.ask("GET", "/page", &[]));
        assert_eq!(stage.source.asked().len(), 2, "{workers} workers");
        verdict.open();
        crowd.each(|member| member.whole(&page));
        assert!(stage.late().get("/page", &[], &page).is_hit());
        assert_eq!(stage.source.asked().len(), 2, "{workers} workers");
    }
}

#[test]
fn a_stale_page_that_has_changed_is_fetched_once_for_a_thousand() {
    for workers in [1, 3] {
        let (old, new, verdict) = (b"the old one".as_slice(), page(), Latch::default());
        let (latch, bytes) = (verdict.clone(), new.clone());
        let stage = Stage::new(
            workers,
            Source::start(move |asked, out| {
                if asked.number == 0 {
                    out.send(ok(&["Cache-Control: max-age=60", "ETag: \"1\""], old));
                } else {
                    latch.wait();
                    out.send(ok(&["Cache-Control: max-age=60", "ETag: \"2\""], &bytes));
                }
                After::Kept
            }),
        );
        stage.late().get("/page", &[], old);
        stage.scene.advance(61);
        let mut crowd = stage.crowd();
        stage.all_wait(&mut crowd, |member| member.ask("GET", "/page", &[]));
        verdict.open();
        let tags: BTreeSet<String> =
            crowd.each(|member| member.whole(&new).field("etag").to_owned()).into_iter().collect();
        assert_eq!(tags, ["\"2\"".to_owned()].into());
        assert_eq!(stage.source.asked().len(), 2, "{workers} workers");
    }
}

/// The page in that language, 64 kB.
fn translated(language: &str) -> Vec<u8> {
    format!("the page in language {language:>10}\n").repeat(2048).into_bytes()
}

fn varied(asked: &Asked) -> Vec<u8> {
    let language = asked.field("accept-language");
    ok(&["Cache-Control: max-age=60", "Vary: Accept-Language"], translated(&language))
}

/// The language of the member with that number.
fn language(number: usize) -> &'static str {
    LANGUAGES[number % LANGUAGES.len()]
}

#[test]
fn each_of_several_unknown_variants_is_asked_for_once() {
    for workers in [1, 3] {
        let (first, others) = (Latch::default(), Latch::default());
        let latches = [first.clone(), others.clone()];
        let stage = Stage::new(
            workers,
            Source::start(move |asked, out| {
                latches[asked.number.min(1)].wait();
                out.send(varied(asked));
                After::Kept
            }),
        );
        let mut crowd = stage.crowd();
        stage.all_wait(&mut crowd, |member| {
            member.ask("GET", "/page", &[&format!("Accept-Language: {}", language(member.number))]);
        });
        // The cache does not know yet that the page varies, so all clients wait for the first fill.
        assert_eq!(stage.source.asked().len(), 1, "{workers} workers");
        first.open();
        stage.source.arrived(LANGUAGES.len());
        (0..8).for_each(|_| stage.scene.settled());
        others.open();
        crowd.each(|member| member.whole(&translated(language(member.number))));
        assert_eq!(stage.source.asked().len(), LANGUAGES.len(), "{workers} workers");
    }
}

#[test]
fn variants_of_a_key_that_is_known_to_vary_are_asked_for_once_each_and_do_not_wait_for_each_other() {
    for workers in [1, 3] {
        let all_here = Latch::default();
        let latch = all_here.clone();
        let stage = Stage::new(
            workers,
            Source::start(move |asked, out| {
                if asked.number > 0 {
                    latch.wait();
                }
                out.send(varied(asked));
                After::Kept
            }),
        );
        stage.late().get("/page", &["Accept-Language: nl"], &translated("nl"));
        let mut crowd = stage.crowd();
        crowd.each(|member| {
            member.ask("GET", "/page", &[&format!("Accept-Language: {}", language(member.number))]);
        });
        // All four requests have reached the origin before it answers one of them.
        stage.source.arrived(1 + LANGUAGES.len());
        (0..8).for_each(|_| stage.scene.settled());
        all_here.open();
        crowd.each(|member| member.whole(&translated(language(member.number))));
        assert_eq!(stage.source.asked().len(), 1 + LANGUAGES.len(), "{workers} workers");
    }
}
