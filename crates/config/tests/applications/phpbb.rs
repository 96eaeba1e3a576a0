//! Tests the policy of phpBB, which puts a session id in each link for a visitor without a cookie, and gives robots no session.

use super::application::{Application, Asked};
use super::site;
use super::stand_in::{Answer, Reads, Sessions, stand_in};
use super::visitor::{Visitor, is_made, is_own, is_shared};

const TOPIC: &str = "/viewtopic.php?t=1";

/// A board that takes a client for a robot if its `User-Agent` contains `robot`.
fn board(robot: &'static str) -> Application {
    stand_in(Sessions::default(), move |sessions, asked| answer(sessions, asked, robot))
}

fn answer(sessions: &mut Sessions, asked: &Asked, robot: &str) -> Answer {
    let agent = asked.field("user-agent").unwrap_or_default();
    if agent.contains(robot) {
        return said(Answer::page("a topic, without a way to log in</html>").field("X-PHPBB-IS-BOT: yes"));
    }
    if asked.method() == "POST" && asked.path() == "/posting.php" {
        return said(match asked.parameter("message") {
            Some("refused") => Answer::page("too soon"),
            _ => Answer::to("/viewtopic.php?p=2#p2"),
        });
    }
    let (id, is_new) = sessions.start(asked.cookie("phpbb3_ab1cd_sid"));
    if asked.method() == "POST" && asked.path() == "/ucp.php" {
        sessions.of(&id).insert("user".to_owned(), asked.parameter("username").unwrap().to_owned());
        return said(Answer::to("/index.php").cookie("phpbb3_ab1cd_u", "2").cookie("phpbb3_ab1cd_sid", &id));
    }
    let whom = sessions.of(&id).get("user").cloned().unwrap_or_else(|| "guest".to_owned());
    let link = if is_new { format!("/ucp.php?mode=login&amp;sid={id}") } else { "/ucp.php?mode=login".to_owned() };
    let page = Answer::page(format!("a topic for {whom}, <a href=\"{link}\"></html>"));
    said(match is_new {
        true => page.cookie("phpbb3_ab1cd_u", "1").cookie("phpbb3_ab1cd_k", "").cookie("phpbb3_ab1cd_sid", &id),
        false => page,
    })
}

fn said(answer: Answer) -> Answer {
    answer.field("Cache-Control: private, no-cache=\"set-cookie\"").field("Expires: Thu, 19 Nov 1981 08:52:00 GMT")
}

#[test]
fn a_page_with_a_session_in_its_links_is_for_its_own_visitor() {
    let board = board("a robot that never comes");
    let scene = site("phpbb", "", &board);
    let mut ids = Vec::new();
    for host in [11, 12, 13] {
        let mut guest = Visitor::new(host);
        let page = guest.get(&scene, TOPIC);
        let id = guest.cookies["phpbb3_ab1cd_sid"].clone();
        let own = format!("a topic for guest, <a href=\"/ucp.php?mode=login&amp;sid={id}\"></html>");
        is_own(&page, &own, "cookie-value-in-response");
        // From the second page on, the cookies carry the same session, and the links no longer do.
        is_own(&guest.get(&scene, TOPIC), "a topic for guest, <a href=\"/ucp.php?mode=login\"></html>", "pass-session");
        ids.push(id);
    }
    ids.dedup();
    assert_eq!(ids.len(), 3, "each has a session of his own: {ids:?}");
}

#[test]
fn a_board_that_takes_kasoku_for_a_robot_is_shared_by_all_who_have_no_session() {
    let board = board("Kasoku");
    let scene = site("phpbb", "", &board);
    is_made(&Visitor::new(11).get(&scene, TOPIC), "a topic, without a way to log in</html>");
    is_shared(&Visitor::new(12).get(&scene, TOPIC), "a topic, without a way to log in</html>");
    let mut ann = Visitor::new(13);
    assert_eq!(ann.get(&scene, "/ucp.php?mode=login").detail(), "pass-rule");
    assert_eq!(ann.post(&scene, "/ucp.php?mode=login", "username=ann").status, 302);
    is_own(&ann.get(&scene, TOPIC), "a topic for ann, <a href=\"/ucp.php?mode=login\"></html>", "pass-session");
    is_shared(&Visitor::new(14).get(&scene, TOPIC), "a topic, without a way to log in</html>");
    assert_eq!(Visitor::new(15).with("phpbb3_ab1cd_track", "t%3A1").get(&scene, TOPIC).detail(), "pass-cookie");
}

#[test]
fn what_changes_something_or_is_for_one_passes() {
    let board = board("Kasoku");
    let scene = site("phpbb", "", &board);
    for target in ["/viewtopic.php?t=1&view=unread", "/viewforum.php?f=1&mark=topics", "/viewtopic.php?t=1&watch=topic"]
    {
        assert_eq!(Visitor::new(11).get(&scene, target).detail(), "pass-url", "{target}");
    }
    for target in ["/search.php?keywords=x", "/posting.php", "/adm/index.php", "/app.php/user/login"] {
        assert_eq!(Visitor::new(11).get(&scene, target).detail(), "pass-rule", "{target}");
    }
    let linked = Visitor::new(11).get(&scene, "/viewtopic.php?t=1&sid=0123456789abcdef0123456789abcdef");
    assert_eq!(linked.detail(), "pass-credential-in-url");
}

#[test]
fn a_post_drops_all_pages_and_one_that_is_refused_drops_none() {
    let board = board("Kasoku");
    let scene = site("phpbb", "", &board);
    let page = "a topic, without a way to log in</html>";
    for target in [TOPIC, "/index.php", "/viewforum.php?f=1"] {
        is_made(&Visitor::new(11).get(&scene, target), page);
    }
    Visitor::new(12).post(&scene, "/posting.php?mode=reply&t=1", "message=refused");
    is_shared(&Visitor::new(11).get(&scene, "/index.php"), page);
    assert_eq!(Visitor::new(12).post(&scene, "/posting.php?mode=reply&t=1", "message=x").status, 302);
    for target in [TOPIC, "/index.php", "/viewforum.php?f=1"] {
        is_made(&Visitor::new(11).get(&scene, target), page);
    }
    assert_eq!(Visitor::new(11).get(&scene, "/viewtopic.php?t=1&style=2").detail(), "pass-parameter");
    for target in ["/files/1_0123456789abcdef", "/forum/store/backup.sql.gz", "/config.php", "/cache/data_global.php"] {
        assert_eq!(Visitor::new(11).get(&scene, target).short().0, 403, "{target}");
    }
}
