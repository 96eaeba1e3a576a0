//! Tests the policy of Rhymix, which gives each visitor a session, and a cookie that says whether the session is a guest's.

use super::application::{Application, Asked};
use super::site;
use super::stand_in::{Answer, Reads, Sessions, stand_in};
use super::visitor::{Visitor, is_made, is_own, is_shared};

fn rhymix() -> Application {
    stand_in(Sessions::default(), answer)
}

fn answer(sessions: &mut Sessions, asked: &Asked) -> Answer {
    let (id, is_new) = sessions.start(asked.cookie("PHPSESSID"));
    if let Some(member) = asked.cookie("rx_autologin").filter(|_| is_new) {
        sessions.of(&id).insert("login".to_owned(), member.to_owned());
    }
    let answer = page(sessions, asked, &id);
    let answer = if is_new { answer.cookie("PHPSESSID", &id).cookie("rx_sesskey1", &id[..24]) } else { answer };
    // The cookie tells the session's status after this request.
    let status = sessions.of(&id).get("login").map_or("none".to_owned(), |login| format!("Q2xhcml0eS{login}"));
    let answer = match asked.cookie("rx_login_status") == Some(&status) {
        true => answer,
        false => answer.cookie("rx_login_status", &status),
    };
    // With session.delay, the session starts behind the log-in, as that of a guest.
    let answer = match asked.parameter("delayed") {
        Some(_) => answer.cookie("rx_login_status", "none"),
        None => answer,
    };
    let answer = match asked.cookie("rx_uatype") {
        None => answer.cookie("rx_uatype", "1B2M2Y8AsgTpgAmY7PhCfg%3A0"),
        Some(_) => answer,
    };
    answer.field("Cache-Control: must-revalidate, no-store, no-cache").field("Expires: Mon, 26 Jul 1997 05:00:00 GMT")
}

fn page(sessions: &mut Sessions, asked: &Asked, id: &str) -> Answer {
    let whom = sessions.of(id).get("login").cloned().unwrap_or_else(|| "guest".to_owned());
    match asked.parameter("act") {
        Some("procMemberLogin") => {
            let name = asked.parameter("user_id").unwrap().to_owned();
            sessions.of(id).insert("login".to_owned(), name);
            Answer::to("/board")
        }
        Some("procBoardInsertDocument") if asked.parameter("title") == Some("refused") => Answer::page("no"),
        Some("procBoardInsertDocument" | "procMenuAdminUpdateItem") => Answer::to("/board/2"),
        Some("dispMemberLogout") => {
            sessions.of(id).remove("login");
            Answer::to("/board")
        }
        Some(act) => Answer::page(format!("{act} for {whom}</html>")),
        None => Answer::page(format!("{} for {whom}</html>", asked.path())),
    }
}

#[test]
fn guests_share_pages_and_their_sessions_are_known_by_a_cookie() {
    let rhymix = rhymix();
    let scene = site("rhymix", "", &rhymix);
    is_made(&Visitor::new(11).get(&scene, "/board"), "/board for guest</html>");
    is_shared(&Visitor::new(12).get(&scene, "/board"), "/board for guest</html>");
    // A guest with a session: the status cookie tells so, and Kasoku needs no probe.
    let mut guest = Visitor::new(13);
    is_own(&guest.get(&scene, "/board/write"), "/board/write for guest</html>", "pass-url");
    assert_eq!(guest.cookies["rx_login_status"], "none");
    assert!(guest.cookies.contains_key("PHPSESSID"));
    let shared = guest.get(&scene, "/board");
    is_shared(&shared, "/board for guest</html>");
    assert_eq!(rhymix.count(), 2);
}

#[test]
fn who_has_chosen_a_version_gets_it_where_no_session_is_started() {
    let rhymix = rhymix();
    let scene = site("rhymix", "", &rhymix);
    is_made(&Visitor::new(11).get(&scene, "/board"), "/board for guest</html>");
    let mut guest = Visitor::new(12).with("rx_uatype", "1B2M2Y8AsgTpgAmY7PhCfg%3A1");
    is_shared(&guest.get(&scene, "/board"), "/board for guest</html>");
    is_own(&guest.get(&scene, "/board?m=1"), "/board for guest</html>", "pass-url");
    assert_eq!(guest.cookies["kasoku-device"], "mobile");
    is_made(&guest.get(&scene, "/board"), "/board for guest</html>");
    is_shared(&Visitor::mobile(13).get(&scene, "/board"), "/board for guest</html>");
}

#[test]
fn a_member_is_known_although_the_answer_to_the_log_in_ends_with_the_cookie_of_a_guest() {
    let rhymix = rhymix();
    let scene = site("rhymix", "", &rhymix);
    let (mut ann, mut other) = (Visitor::new(11), Visitor::new(12));
    assert_eq!(ann.post(&scene, "/index.php", "act=procMemberLogin&user_id=ann&delayed=1").status, 302);
    assert_eq!(ann.cookies["rx_login_status"], "none");
    is_made(&other.get(&scene, "/board"), "/board for guest</html>");
    is_own(&ann.get(&scene, "/board"), "/board for ann</html>", "pass-session");
    assert_ne!(ann.cookies["rx_login_status"], "none");
    is_own(&ann.get(&scene, "/board"), "/board for ann</html>", "pass-session");
    is_shared(&other.get(&scene, "/board"), "/board for guest</html>");
    assert_eq!(ann.get(&scene, "/?act=dispMemberLogout").status, 302);
    is_shared(&ann.get(&scene, "/board"), "/board for guest</html>");
}

#[test]
fn a_member_is_known_by_the_same_cookie() {
    let rhymix = rhymix();
    let scene = site("rhymix", "", &rhymix);
    let (mut ann, mut other) = (Visitor::new(11), Visitor::new(12));
    is_made(&ann.get(&scene, "/board"), "/board for guest</html>");
    assert_eq!(ann.get(&scene, "/member/login").detail(), "pass-url");
    assert_eq!(ann.post(&scene, "/index.php?act=procMemberLogin", "user_id=ann").status, 302);
    // The log-in dropped the page to which the form redirects, so Kasoku fetches the anonymous page again.
    is_made(&other.get(&scene, "/board"), "/board for guest</html>");
    for _ in 0..3 {
        is_own(&ann.get(&scene, "/board"), "/board for ann</html>", "pass-session");
        is_shared(&other.get(&scene, "/board"), "/board for guest</html>");
    }
    assert_eq!(ann.get(&scene, "/?act=dispMemberLogout").status, 302);
    is_shared(&ann.get(&scene, "/board"), "/board for guest</html>");
}

#[test]
fn a_visitor_who_is_to_be_logged_in_by_a_cookie_passes_although_another_still_says_guest() {
    let rhymix = rhymix();
    let scene = site("rhymix", "", &rhymix);
    is_made(&Visitor::new(11).get(&scene, "/board"), "/board for guest</html>");
    let mut ann = Visitor::new(12).with("rx_autologin", "ann").with("rx_login_status", "none");
    is_own(&ann.get(&scene, "/board"), "/board for ann</html>", "pass-cookie");
}

#[test]
fn what_changes_something_or_is_for_one_passes() {
    let rhymix = rhymix();
    let scene = site("rhymix", "", &rhymix);
    for target in ["/board/write", "/board/1/edit", "/board/1/delete", "/member/signup", "/files/download/1/2/x.zip"] {
        is_own(&Visitor::new(11).get(&scene, target), &format!("{target} for guest</html>"), "pass-url");
    }
    for act in ["procFileDownload", "dispBoardWrite", "dispMemberInfo", "dispSociallogin"] {
        is_own(
            &Visitor::new(11).get(&scene, &format!("/index.php?act={act}")),
            &format!("{act} for guest</html>"),
            "pass-url",
        );
    }
    is_own(&Visitor::new(11).get(&scene, "/admin/x"), "/admin/x for guest</html>", "pass-rule");
}

#[test]
fn an_unknown_parameter_passes() {
    let rhymix = rhymix();
    let scene = site("rhymix", "", &rhymix);
    is_made(&Visitor::new(11).get(&scene, "/board?page=2&search_keyword=x"), "/board for guest</html>");
    is_own(&Visitor::new(11).get(&scene, "/board?coupon=x"), "/board for guest</html>", "pass-parameter");
}

#[test]
fn a_post_and_a_menu_drop_the_pages_of_guests_and_a_log_in_drops_none() {
    let rhymix = rhymix();
    let scene = site("rhymix", "", &rhymix);
    let page = "/latest for guest</html>";
    for form in ["act=procBoardInsertDocument&mid=board&title=x", "module=admin&act=procMenuAdminUpdateItem"] {
        is_made(&Visitor::new(11).get(&scene, "/latest"), page);
        is_shared(&Visitor::new(12).get(&scene, "/latest"), page);
        assert_eq!(Visitor::new(13).post(&scene, "/index.php", form).status, 302);
    }
    is_made(&Visitor::new(11).get(&scene, "/latest"), page);
    assert_eq!(Visitor::new(13).post(&scene, "/index.php", "act=procMemberLogin&user_id=ann").status, 302);
    Visitor::new(13).post(&scene, "/index.php", "act=procFileIframeUpload&title=x");
    is_shared(&Visitor::new(12).get(&scene, "/latest"), page);
}

#[test]
fn settings_are_not_served_as_files() {
    let rhymix = rhymix();
    let scene = site("rhymix", "", &rhymix);
    for target in
        ["/files/config/config.php", "/files/member_extra_info/point/1.php", "/modules/board/skins/x/list.blade.php"]
    {
        assert_eq!(Visitor::new(11).get(&scene, target).short().0, 403, "{target}");
    }
    assert_eq!(rhymix.count(), 0);
}
