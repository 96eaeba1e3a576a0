//! Tests the policy of XE, which gives each visitor a session, says `public` on each page, and shows its log-in form to guests only.

use super::application::{Application, Asked};
use super::site;
use super::stand_in::{Answer, Reads, Sessions, stand_in};
use super::visitor::{Visitor, is_made, is_own, is_shared};

const PAGE: &str = "/index.php?mid=board";
const LOGIN: &str = "/index.php?act=dispMemberLoginForm";

fn xe() -> Application {
    stand_in(Sessions::default(), answer)
}

fn answer(sessions: &mut Sessions, asked: &Asked) -> Answer {
    let (id, is_new) = sessions.start(asked.cookie("PHPSESSID"));
    let answer = page(sessions, asked, &id);
    let answer = if is_new { answer.cookie("PHPSESSID", &id) } else { answer };
    let device = if asked.is_mobile() { "true" } else { "false" };
    let answer = match asked.cookie("mobile") {
        None => answer.cookie("mobile", device).cookie("user-agent", "5d41402abc4b2a76b9719d911017c592"),
        Some(_) => answer,
    };
    answer
        .field("Cache-Control: public, must-revalidate, post-check=0, pre-check=0, no-store, no-cache")
        .field("Expires: Mon, 26 Jul 1997 05:00:00 GMT")
}

fn page(sessions: &mut Sessions, asked: &Asked, id: &str) -> Answer {
    let member = sessions.of(id).get("member").cloned();
    let whom = member.clone().unwrap_or_else(|| "guest".to_owned());
    let language = asked.parameter("l").or(asked.cookie("lang_type")).unwrap_or("ko");
    match asked.parameter("act") {
        // Members get a page without the form, whose script redirects them.
        Some("dispMemberLoginForm") if member.is_some() => Answer::page("<script>location.replace('/')</script>"),
        Some("dispMemberLoginForm") => Answer::page("<input type=\"hidden\" name=\"act\" value=\"procMemberLogin\" />"),
        Some("procMemberLogin") => {
            let name = asked.parameter("user_id").unwrap().to_owned();
            sessions.of(id).insert("member".to_owned(), name);
            Answer::to(PAGE).cookie("xe_logged", "true")
        }
        Some("procBoardInsertComment") => Answer::to("/board/1"),
        Some("dispMemberLogout") => {
            sessions.destroy(id);
            Answer::to(PAGE).no_cookie("PHPSESSID").no_cookie("xe_logged")
        }
        Some(act) => Answer::page(format!("{act} for {whom}</html>")),
        None => {
            let answer = Answer::page(format!("{whom}, {language}</html>"));
            if asked.parameter("l").is_some() { answer.cookie("lang_type", language) } else { answer }
        }
    }
}

#[test]
fn guests_share_what_is_public_only_by_its_own_word() {
    let xe = xe();
    let scene = site("xe", "", &xe);
    is_made(&Visitor::new(11).get(&scene, PAGE), "guest, ko</html>");
    is_shared(&Visitor::new(12).get(&scene, PAGE), "guest, ko</html>");
    let mut seen = Visitor::new(13).with("mobile", "false").with("user-agent", "5d41402abc4b2a76b9719d911017c592");
    is_shared(&seen.get(&scene, PAGE), "guest, ko</html>");
    is_made(&Visitor::mobile(14).get(&scene, PAGE), "guest, ko</html>");
    assert_eq!(xe.count(), 2);
}

#[test]
fn a_member_is_told_from_a_guest_by_the_form_and_not_by_its_status() {
    let xe = xe();
    let scene = site("xe", "", &xe);
    is_made(&Visitor::new(11).get(&scene, PAGE), "guest, ko</html>");
    let mut ann = Visitor::new(12);
    let form = ann.get(&scene, LOGIN);
    assert_eq!((form.status, form.detail().as_str()), (200, "pass-url"), "{form:?}");
    assert_eq!(ann.post(&scene, "/index.php?act=procMemberLogin", "user_id=ann").status, 302);
    // The log-in dropped the page to which the form redirects, so Kasoku fetches the anonymous page again.
    is_made(&Visitor::new(13).get(&scene, PAGE), "guest, ko</html>");
    is_own(&ann.get(&scene, PAGE), "ann, ko</html>", "pass-session");
    // XE before 1.7 sets no `xe_logged`: then only the probe of the log-in form tells members from guests.
    ann.cookies.remove("xe_logged");
    for _ in 0..8 {
        scene.settled();
        is_own(&ann.get(&scene, PAGE), "ann, ko</html>", "pass-session");
    }
    assert_eq!(ann.get(&scene, "/index.php?act=dispMemberLogout").status, 302);
    assert!(!ann.cookies.contains_key("PHPSESSID"), "the application ends its cookies");
    is_shared(&ann.get(&scene, PAGE), "guest, ko</html>");
}

#[test]
fn a_guest_with_a_session_is_asked_about_and_then_shares() {
    let xe = xe();
    let scene = site("xe", "", &xe);
    is_made(&Visitor::new(11).get(&scene, PAGE), "guest, ko</html>");
    let mut guest = Visitor::new(12).with("PHPSESSID", "0123456789abcdef0123456789abcdef");
    is_shared(&guest.becomes_anonymous(&scene, PAGE), "guest, ko</html>");
}

#[test]
fn what_changes_something_or_is_for_one_passes() {
    let xe = xe();
    let scene = site("xe", "", &xe);
    for act in [
        "procFileDownload",
        "dispBoardWrite",
        "dispMemberSignUpForm",
        "dispDocumentAdminList",
        "dispCommunicationFriend",
    ] {
        let own = Visitor::new(11).get(&scene, &format!("/index.php?act={act}"));
        is_own(&own, &format!("{act} for guest</html>"), "pass-url");
        assert!(own.has("set-cookie"), "{own:?}");
    }
    is_made(&Visitor::new(11).get(&scene, "/index.php?act=IS"), "IS for guest</html>");
}

#[test]
fn a_language_that_was_chosen_has_pages_of_its_own() {
    let xe = xe();
    let scene = site("xe", "", &xe);
    let mut german = Visitor::new(11);
    is_own(&german.get(&scene, "/index.php?mid=board&l=de"), "guest, de</html>", "pass-url");
    // The answer to the choice also set a session cookie, with which the visitor would pass.
    german.cookies.remove("PHPSESSID");
    is_made(&german.get(&scene, PAGE), "guest, de</html>");
    is_shared(&Visitor::new(12).with("lang_type", "de").get(&scene, PAGE), "guest, de</html>");
    is_made(&Visitor::new(13).get(&scene, PAGE), "guest, ko</html>");
}

#[test]
fn a_comment_drops_the_pages_of_guests_and_what_no_one_can_read_may_have() {
    let xe = xe();
    let scene = site("xe", "", &xe);
    let front = "/index.php?mid=front";
    is_made(&Visitor::new(11).get(&scene, front), "guest, ko</html>");
    is_shared(&Visitor::new(12).get(&scene, front), "guest, ko</html>");
    assert_eq!(Visitor::new(13).post(&scene, "/index.php", "act=procBoardInsertComment&mid=board").status, 302);
    is_made(&Visitor::new(11).get(&scene, front), "guest, ko</html>");
    // A write as XE's scripts send it, in XML.
    let xml = "<methodCall><params><act>procBoardInsertDocument</act></params></methodCall>";
    let mut client = kasoku_testkit::Client::connect(scene.engine.addresses()[0]);
    client.send_body("POST", "/index.php", &["Content-Type: text/xml"], xml);
    let stale = Visitor::new(11).get(&scene, front);
    assert!(stale.detail().starts_with("hit-stale"), "{stale:?}");
    is_own(&Visitor::new(11).get(&scene, "/index.php?mid=front&theme=x"), "guest, ko</html>", "pass-parameter");
}
