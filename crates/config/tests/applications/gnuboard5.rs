//! Tests the policy of gnuboard5, which gives each visitor a session; only the session tells members from guests.
//!
//! The application here is a stand-in, for machines without gnuboard5. `tests/gnuboard` tests the real program.

use super::application::{Application, Asked};
use super::site;
use super::stand_in::{Answer, Reads, Sessions, stand_in};
use super::visitor::{Visitor, is_made, is_own, is_shared};

const LIST: &str = "/bbs/board.php?bo_table=free";
const POST: &str = "/bbs/board.php?bo_table=free&wr_id=1";

/// The last bytes by which the policy recognizes a whole page. A refusal by the program does not end so.
const END: &str = "<div id=\"ft\">";

/// The MD5 names of the cookies `ck_visit_ip` and `ck_bo_table`.
const VISIT: &str = "2a0d2363701f23f8a75028924a3af643";
const BOARD: &str = "e1192aefb64683cc97abb83c71057733";

#[derive(Default)]
struct Gnuboard {
    sessions: Sessions,
    posts: usize,
}

fn gnuboard() -> Application {
    stand_in(Gnuboard { posts: 1, ..Gnuboard::default() }, |board, asked| board.answer(asked))
}

impl Gnuboard {
    /// Answers as common.php does: it starts the session first, and adds the fields about caching last.
    fn answer(&mut self, asked: &Asked) -> Answer {
        let (id, is_new) = self.sessions.start(asked.cookie("PHPSESSID"));
        if let Some(member) = asked.cookie("6e1280981e1dfd9169c5dea9c28ff2e3") {
            self.sessions.of(&id).insert("ss_mb_id".to_owned(), member.to_owned());
        }
        let answer = self.page(asked, &id);
        let answer = if is_new { answer.cookie("PHPSESSID", &id) } else { answer };
        let answer = match asked.cookie(VISIT) {
            None => answer.cookie(VISIT, "MC4wLjAuMA%3D%3D"),
            Some(_) => answer,
        };
        let answer = match asked.parameter("bo_table") {
            Some(_) => answer.cookie(BOARD, "ZnJlZQ%3D%3D"),
            None => answer,
        };
        answer
            .field("Expires: 0")
            .field("Cache-Control: pre-check=0, post-check=0, max-age=0")
            .field("Pragma: no-cache")
    }

    fn page(&mut self, asked: &Asked, id: &str) -> Answer {
        let member = self.sessions.of(id).get("ss_mb_id").cloned();
        let device = if asked.is_mobile() { "mobile" } else { "desktop" };
        let whom = member.clone().unwrap_or_else(|| "guest".to_owned());
        match (asked.method(), asked.path().trim_start_matches("/board")) {
            ("GET", "/bbs/login.php") if member.is_some() => Answer::to("/"),
            ("GET", "/bbs/login.php") => Answer::page("<form action=\"/bbs/login_check.php\">"),
            ("POST", "/bbs/login_check.php") => {
                let name = asked.parameter("mb_id").unwrap().to_owned();
                self.sessions.of(id).insert("ss_mb_id".to_owned(), name);
                Answer::to("/")
            }
            ("GET", "/bbs/logout.php") => {
                self.sessions.destroy(id);
                Answer::to("/").no_cookie("6e1280981e1dfd9169c5dea9c28ff2e3")
            }
            ("GET", "/bbs/write.php") => {
                self.sessions.of(id).insert("token".to_owned(), "set".to_owned());
                Answer::page(format!("a form for {whom}"))
            }
            ("POST", "/bbs/write_update.php") if self.sessions.of(id).contains_key("token") => {
                self.posts += 1;
                Answer::to("/bbs/board.php?bo_table=free&wr_id=2&&#c_2")
            }
            ("GET", "/bbs/board.php") if asked.parameter("wr_id").is_some() => {
                self.sessions.of(id).insert("ss_view".to_owned(), "seen".to_owned());
                shown(format!("a post for {whom}, {device}"))
            }
            ("GET", "/bbs/board.php") => shown(format!("{} posts for {whom}, {device}", self.posts)),
            ("GET", "/" | "/adm/index.php" | "/plugin/new.php" | "/bbs/mine.php") => {
                let notice = if asked.cookie("hd_pops_1").is_some() { "" } else { ", with a notice" };
                shown(format!("{} for {whom}, {device}{notice}", asked.path()))
            }
            _ => Answer::page("wrong access"),
        }
    }
}

fn shown(page: impl std::fmt::Display) -> Answer {
    Answer::page(ended(page))
}

fn ended(page: impl std::fmt::Display) -> String {
    format!("{page}{END}")
}

#[test]
fn guests_share_the_pages_that_each_spoil_with_a_session() {
    let board = gnuboard();
    let scene = site("gnuboard5", "", &board);
    for (target, page) in [
        ("/", "/ for guest, desktop, with a notice"),
        (LIST, "1 posts for guest, desktop"),
        (POST, "a post for guest, desktop"),
    ] {
        let made = Visitor::new(11).get(&scene, target);
        is_made(&made, &ended(page));
        assert!(made.field("cache-status").contains("PHPSESSID"), "what was dropped: {made:?}");
        is_shared(&Visitor::new(12).get(&scene, target), &ended(page));
        let mut counted = Visitor::new(13).with(VISIT, "MTI3LjAuMC4xMw%3D%3D").with(BOARD, "ZnJlZQ%3D%3D");
        is_shared(&counted.get(&scene, target), &ended(page));
    }
    // Kasoku fetched each page once, and sent a beacon for each of the three visitors after their answers.
    let beacons = || board.asked().iter().filter(|asked| asked.target() == "/bbs/profile.php").count();
    scene.eventually(|| beacons() == 3);
    let pages: Vec<String> = board.asked().iter().map(|asked| asked.target().to_owned()).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).filter(|target| *target != "/bbs/profile.php").collect();
    assert_eq!(pages, ["/", LIST, POST]);
}

#[test]
fn telephones_get_pages_of_their_own_and_share_them() {
    let board = gnuboard();
    let scene = site("gnuboard5", "", &board);
    is_made(&Visitor::new(11).get(&scene, LIST), &ended("1 posts for guest, desktop"));
    is_made(&Visitor::mobile(12).get(&scene, LIST), &ended("1 posts for guest, mobile"));
    is_shared(&Visitor::mobile(13).get(&scene, LIST), &ended("1 posts for guest, mobile"));
    is_shared(&Visitor::new(14).get(&scene, LIST), &ended("1 posts for guest, desktop"));
}

#[test]
fn a_member_sees_pages_of_his_own_from_the_login_to_the_logout() {
    let board = gnuboard();
    let scene = site("gnuboard5", "", &board);
    let (mut ann, mut other) = (Visitor::new(11), Visitor::new(12));
    is_made(&ann.get(&scene, LIST), &ended("1 posts for guest, desktop"));
    is_own(&ann.get(&scene, "/bbs/login.php"), "<form action=\"/bbs/login_check.php\">", "pass-url");
    assert_eq!(ann.post(&scene, "/bbs/login_check.php", "mb_id=ann").status, 302);
    for _ in 0..3 {
        is_own(&ann.get(&scene, LIST), &ended("1 posts for ann, desktop"), "pass-session");
        is_shared(&other.get(&scene, LIST), &ended("1 posts for guest, desktop"));
    }
    assert_eq!(ann.get(&scene, "/bbs/logout.php").status, 302);
    let after = ann.becomes_anonymous(&scene, LIST);
    is_shared(&after, &ended("1 posts for guest, desktop"));
}

#[test]
fn who_writes_gets_the_form_with_the_session_that_it_needs() {
    let board = gnuboard();
    let scene = site("gnuboard5", "", &board);
    let mut guest = Visitor::new(11);
    is_made(&guest.get(&scene, LIST), &ended("1 posts for guest, desktop"));
    is_own(&guest.get(&scene, "/bbs/write.php?bo_table=free"), "a form for guest", "pass-url");
    let sent = guest.post(&scene, "/bbs/write_update.php", "bo_table=free&w=&wr_subject=hello");
    assert_eq!(sent.status, 302);
    // The post dropped the anonymous list, so Kasoku fetches it again.
    is_made(&Visitor::new(12).get(&scene, LIST), &ended("2 posts for guest, desktop"));
}

#[test]
fn a_session_from_before_is_asked_about_and_then_shares() {
    let board = gnuboard();
    let scene = site("gnuboard5", "", &board);
    is_made(&Visitor::new(11).get(&scene, LIST), &ended("1 posts for guest, desktop"));
    let mut old = Visitor::new(12).with("PHPSESSID", "0123456789abcdef0123456789abcdef");
    let first = old.get(&scene, LIST);
    assert_eq!((first.detail().as_str(), first.is_hit()), ("pass-session", false), "{first:?}");
    is_shared(&old.becomes_anonymous(&scene, LIST), &ended("1 posts for guest, desktop"));
}

#[test]
fn a_visitor_who_is_logged_in_by_a_cookie_of_the_program_passes() {
    let board = gnuboard();
    let scene = site("gnuboard5", "", &board);
    is_made(&Visitor::new(11).get(&scene, LIST), &ended("1 posts for guest, desktop"));
    let mut ann = Visitor::new(12).with("6e1280981e1dfd9169c5dea9c28ff2e3", "ann");
    is_own(&ann.get(&scene, LIST), &ended("1 posts for ann, desktop"), "pass-cookie");
}

#[test]
fn scripts_that_are_not_listed_are_the_programs() {
    let board = gnuboard();
    let scene = site("gnuboard5", "", &board);
    for (target, why) in
        [("/adm/index.php", "pass-rule"), ("/plugin/new.php", "set-cookie"), ("/bbs/mine.php", "set-cookie")]
    {
        for host in [11, 12] {
            let own = Visitor::new(host).get(&scene, target);
            is_own(&own, &ended(format!("{target} for guest, desktop, with a notice")), why);
            assert!(own.has("set-cookie"), "{own:?}");
        }
    }
}

#[test]
fn a_notice_that_was_closed_stays_closed() {
    let board = gnuboard();
    let scene = site("gnuboard5", "", &board);
    is_made(&Visitor::new(11).get(&scene, "/"), &ended("/ for guest, desktop, with a notice"));
    is_made(&Visitor::new(12).with("hd_pops_1", "1").get(&scene, "/"), &ended("/ for guest, desktop"));
    is_shared(&Visitor::new(13).with("hd_pops_1", "1").get(&scene, "/"), &ended("/ for guest, desktop"));
    is_shared(&Visitor::new(14).get(&scene, "/"), &ended("/ for guest, desktop, with a notice"));
}

#[test]
fn a_board_in_a_directory_of_its_own_needs_its_probe_said_anew() {
    let board = gnuboard();
    let scene = site("gnuboard5", r#"session.probe = "/board/bbs/login.php""#, &board);
    let list = "/board/bbs/board.php?bo_table=free";
    is_made(&Visitor::new(11).get(&scene, list), &ended("1 posts for guest, desktop"));
    let mut ann = Visitor::new(12);
    is_own(&ann.get(&scene, "/board/bbs/login.php"), "<form action=\"/bbs/login_check.php\">", "pass-url");
    assert_eq!(ann.post(&scene, "/board/bbs/login_check.php", "mb_id=ann").status, 302);
    is_own(&ann.get(&scene, list), &ended("1 posts for ann, desktop"), "pass-session");
    let mut old = Visitor::new(13).with("PHPSESSID", "0123456789abcdef0123456789abcdef");
    is_shared(&old.becomes_anonymous(&scene, list), &ended("1 posts for guest, desktop"));
}
