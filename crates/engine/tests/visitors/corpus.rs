//! The corpus: 130 pages as real programs print them, under the one line `ttl = "1h"`: 80 that all visitors may share, 50 that
//! they must not.
//!
//! A page is a template (`corpus/pages`, whose README tells how it is written). An origin renders it for each request
//! (`corpus/rendering.rs`, `template.rs`, `values.rs`, `traits.rs`, `memory.rs`) and remembers what it rendered. Five visitors ask
//! for it, one after the other (`corpus/visitors.rs`), and after each one the test waits until the origin is asked no more
//! (`corpus/run.rs`). So it does not depend on how often Kasoku asks the origin to find out about a page.
//!
//! `corpus/verdict.rs` judges. A page for all is a false alarm if neither of the last two answers is a hit. Of the others, each
//! answer must be one that the origin rendered during the visitor's own request, for a visitor like this one, and never a hit. Each
//! of these pages is run as it is written, with tokens that count up, with tokens that are the same for a minute, and after a
//! harmless page of its pattern; all that with the rule alone, where a page that sets a cookie passes anyway, and with a rule that
//! ignores Set-Cookie.
//!
//! A visitor without a cookie who gets a session's values must get its cookie, too: otherwise nobody can send the form.
//!
//! `KASOKU_PAGE=rails-form` runs one page.
mod memory;
mod pages;
mod rendering;
mod run;
mod template;
mod traits;
mod values;
mod verdict;
mod visitors;

use memory::Memory;
use pages::Page;
use rendering::{Rendering, Values};
use run::{Course, Manner, run};
use std::sync::Arc;
use traits::Traits;
use verdict::{Verdict, of_cache, of_personal, of_shared};

/// The pages for all, and those of one visitor.
const PAGES: [(&str, usize); 2] = [("shared", 80), ("personal", 50)];

/// So many of the 80 pages for all may pass.
const FALSE_ALARMS_MAX: usize = 2;

const PLAIN: Manner = Manner { values: Values::AsWritten, after_harmless: false, drops_cookies: false };

/// How each page that is not for all is run, with a name for the table.
const MANNERS: [(&str, Manner); 4] = [
    ("as written", PLAIN),
    ("sequential", Manner { values: Values::Sequential, ..PLAIN }),
    ("of a minute", Manner { values: Values::OfAMinute, ..PLAIN }),
    ("after a harmless page", Manner { after_harmless: true, ..PLAIN }),
];

#[test]
fn pages_for_all_are_shared() {
    let (mut alarms, mut faults, pages) = (Vec::new(), Vec::new(), Page::all("shared"));
    let count = pages.len();
    for page in pages.into_iter().map(Arc::new) {
        let course = run(&page, PLAIN);
        let line = format!("{:28} {}", page.name, answers(&course));
        match of_shared(&page, &course) {
            Verdict::Shared => println!("shared  {line}"),
            Verdict::Wrong(fault) => {
                println!("WRONG   {line}\n        {fault}");
                faults.push(format!("{}: {fault}", page.name));
            }
            Verdict::Passed | Verdict::CookieLost(_) => {
                println!("ALARM   {line}");
                alarms.push(page.name.clone());
            }
        }
    }
    println!("{} false alarms of {count}: {}", alarms.len(), alarms.join(" "));
    assert!(faults.is_empty(), "wrong answers: {faults:#?}");
    assert!(alarms.len() <= FALSE_ALARMS_MAX, "{} false alarms: {alarms:#?}", alarms.len());
}

#[test]
fn pages_of_one_visitor_are_not_shared() {
    let (mut leaks, mut lost, mut runs) = (Vec::new(), Vec::new(), 0);
    for page in Page::all("personal").into_iter().map(Arc::new) {
        for (name, manner) in manners_of(&page) {
            runs += 1;
            let course = run(&page, manner);
            let rule = if manner.drops_cookies { ", Set-Cookie ignored" } else { "" };
            let line = format!("{:28} {name}{rule}: {}", page.name, answers(&course));
            match of_personal(&course) {
                Verdict::Shared | Verdict::Passed => println!("own     {line}"),
                Verdict::Wrong(fault) => {
                    println!("LEAK    {line}\n        {fault}");
                    leaks.push(format!("{} {name}{rule}: {fault}", page.name));
                }
                Verdict::CookieLost(fault) => {
                    println!("LOST    {line}\n        {fault}");
                    lost.push(format!("{} {name}{rule}: {fault}", page.name));
                }
            }
        }
    }
    println!("of {runs} runs: {} leaks, {} with a form that nobody can send", leaks.len(), lost.len());
    leaks.retain(|leak| !KNOWN_LEAKS.iter().any(|known| leak.starts_with(known)));
    assert!(leaks.is_empty(), "{} leaks in {runs} runs: {leaks:#?}", leaks.len());
    assert!(lost.is_empty(), "{} forms without their cookie in {runs} runs: {lost:#?}", lost.len());
}

/// What the guard does not find, whatever it is asked: a value that no name and no form gives away, that is the same for all within a
/// minute, and whose cookie the operator has dropped.
const KNOWN_LEAKS: [&str; 3] = [
    "ab-test of a minute, Set-Cookie ignored",
    "guest-name of a minute, Set-Cookie ignored",
    "recently-viewed of a minute, Set-Cookie ignored",
];

/// The manners in which a page is run: without those that would change nothing in it.
fn manners_of(page: &Page) -> Vec<(&'static str, Manner)> {
    let written = MANNERS.into_iter().filter(|(_, manner)| manner.values == Values::AsWritten || page.has_tokens());
    let rules = if page.session_cookie().is_some() { &[false, true][..] } else { &[false] };
    written
        .flat_map(|(name, manner)| rules.iter().map(move |&drops_cookies| (name, Manner { drops_cookies, ..manner })))
        .collect()
}

/// How often the origin was asked, and what Cache-Status said to each visitor.
fn answers(course: &Course) -> String {
    let each: Vec<String> = course.given.iter().map(of_cache).collect();
    let bytes = course.rendered.last().map_or(0, |last| last.body.len());
    format!("{bytes} bytes, {} requests: {}", course.requests, each.join(", "))
}

/// Of the corpus itself: no page got lost.
#[test]
fn the_corpus_has_all_its_pages() {
    if std::env::var("KASOKU_PAGE").is_err() {
        assert_eq!(PAGES.map(|(folder, _)| (folder, Page::all(folder).len())), PAGES);
    }
}

/// Of the corpus itself: what is asked first must be harmless, and the page behind it must not be.
#[test]
fn a_harmless_twin_has_no_value_of_a_visitor() {
    for page in Page::all("personal") {
        let [twin, own] = [true, false].map(|is_harmless| {
            let (mut memory, traits) = (Memory::new(&page.name, 0), Traits::of(|_| None, false));
            let mut rendering = Rendering::new(&mut memory, &traits, Values::AsWritten, is_harmless, None);
            rendering.text(&page.body);
            (rendering.has_token, rendering.chosen.len())
        });
        assert!(!twin.0, "{}", page.name);
        assert!(own.0 || own.1 > 0, "{}", page.name);
    }
}
