//! Tests the policy of Drupal, which marks shareable pages itself (`public`); only cookies of other scripts would prevent sharing.

use super::application::{Application, Asked};
use super::site;
use super::stand_in::{Answer, Reads, Sessions, stand_in};
use super::visitor::{Visitor, is_made, is_own, is_shared};

const SESSION: &str = "SSESS5d41402abc4b2a76b9719d911017c592";

fn drupal() -> Application {
    stand_in(Sessions::default(), answer)
}

fn answer(sessions: &mut Sessions, asked: &Asked) -> Answer {
    let session = asked.cookie(SESSION).map(str::to_owned);
    let user = session.as_deref().and_then(|id| sessions.of(id).get("user").cloned());
    let whom = user.clone().unwrap_or_else(|| "anonymous".to_owned());
    let page = Answer::page(format!("{} for {whom}", asked.path()));
    let keyed_and_withheld = "Cache-Control: must-revalidate, no-cache, private";
    let gone = "Expires: Sun, 19 Nov 1978 05:00:00 GMT";
    match (asked.method(), asked.path()) {
        ("POST", "/user/login") => {
            let (id, _) = sessions.start(None);
            sessions.of(&id).insert("user".to_owned(), asked.parameter("name").unwrap().to_owned());
            Answer::to("/user/1").cookie(SESSION, &id).field(keyed_and_withheld).field(gone)
        }
        ("GET", "/user/logout") => {
            sessions.destroy(session.as_deref().unwrap_or_default());
            Answer::to("/").no_cookie(SESSION).field(keyed_and_withheld).field(gone)
        }
        ("POST", "/node/1") => Answer::to("/node/1").field(keyed_and_withheld).field(gone),
        ("POST", _) => {
            Answer { status: "303 See Other", ..Answer::to("/node/1") }.field(keyed_and_withheld).field(gone)
        }
        // A module has switched Drupal's page cache off for this page.
        ("GET", "/contact") => page.field(keyed_and_withheld).field(gone),
        _ if user.is_some() => page.field(keyed_and_withheld).field(gone),
        _ => page.field("Cache-Control: max-age=900, public").field("Vary: Cookie").field(gone),
    }
}

#[test]
fn visitors_share_pages_whatever_cookies_scripts_have_left() {
    let drupal = drupal();
    let scene = site("drupal", "", &drupal);
    is_made(&Visitor::new(11).get(&scene, "/node/1"), "/node/1 for anonymous");
    is_shared(&Visitor::new(12).get(&scene, "/node/1"), "/node/1 for anonymous");
    let mut tracked = Visitor::new(13).with("_ga", "GA1.2.3").with("has_js", "1").with("cookie-agreed", "2");
    tracked.cookies.insert("Drupal.visitor.name".to_owned(), "ann".to_owned());
    is_shared(&tracked.get(&scene, "/node/1"), "/node/1 for anonymous");
    assert_eq!(drupal.count(), 1);
    // A module may keep a cart in a cookie with such a name.
    let mut buyer = Visitor::new(14);
    buyer.cookies.insert("Drupal.visitor.acq_cart_id".to_owned(), "77".to_owned());
    assert_eq!(buyer.get(&scene, "/node/1").detail(), "pass-cookie");
}

#[test]
fn what_drupal_keeps_apart_is_kept_apart() {
    let drupal = drupal();
    let scene = site("drupal", "", &drupal);
    for host in [11, 12] {
        let page = Visitor::new(host).get(&scene, "/contact");
        assert_eq!((page.text().as_str(), page.is_hit()), ("/contact for anonymous", false), "{page:?}");
        assert!(page.cache_status("stored").is_none(), "{page:?}");
    }
}

#[test]
fn a_user_sees_pages_of_his_own_from_the_login_to_the_logout() {
    let drupal = drupal();
    let scene = site("drupal", "", &drupal);
    let (mut ann, mut other) = (Visitor::new(11), Visitor::new(12));
    is_made(&ann.get(&scene, "/node/1"), "/node/1 for anonymous");
    assert_eq!(ann.get(&scene, "/user/login").detail(), "pass-url");
    assert_eq!(ann.post(&scene, "/user/login", "name=ann&pass=x").status, 302);
    for _ in 0..2 {
        is_own(&ann.get(&scene, "/node/1"), "/node/1 for ann", "pass-cookie");
        is_shared(&other.get(&scene, "/node/1"), "/node/1 for anonymous");
    }
    assert_eq!(ann.get(&scene, "/user/logout").status, 302);
    is_shared(&ann.get(&scene, "/node/1"), "/node/1 for anonymous");
}

#[test]
fn an_unknown_cookie_passes() {
    let drupal = drupal();
    let scene = site("drupal", "", &drupal);
    is_made(&Visitor::new(11).get(&scene, "/node/1"), "/node/1 for anonymous");
    let mut sso = Visitor::new(12).with("mod_auth_openidc_session", "x");
    assert_eq!(sso.get(&scene, "/node/1").detail(), "pass-cookie");
}

#[test]
fn what_an_editor_saves_drops_all_pages_and_a_log_in_drops_none() {
    let drupal = drupal();
    let scene = site("drupal", "", &drupal);
    let mut editor = Visitor::new(13).with(SESSION, "x");
    for target in
        ["/node/add/article", "/de/node/2/edit", "/admin/structure/menu/manage/main", "/comment/reply/node/1/comment"]
    {
        is_made(&Visitor::new(11).get(&scene, "/blog"), "/blog for anonymous");
        is_shared(&Visitor::new(12).get(&scene, "/blog"), "/blog for anonymous");
        assert_eq!(editor.post(&scene, target, "title=x").status, 303);
    }
    is_made(&Visitor::new(11).get(&scene, "/blog"), "/blog for anonymous");
    // A log-in by the form that Drupal shows in a block on each page.
    Visitor::new(14).post(&scene, "/node/1?destination=/node/1", "name=ann&pass=x");
    Visitor::new(14).post(&scene, "/contact", "message=x");
    is_shared(&Visitor::new(12).get(&scene, "/blog"), "/blog for anonymous");
}

#[test]
fn what_the_programs_own_file_refuses_is_refused() {
    let drupal = drupal();
    let scene = site("drupal", "", &drupal);
    for target in [
        "/core/core.services.yml",
        "/sites/default/settings.php",
        "/vendor/autoload.php",
        "/sites/default/private/x.pdf",
    ] {
        assert_eq!(Visitor::new(11).get(&scene, target).short().0, 403, "{target}");
    }
    assert_eq!(drupal.count(), 0);
}
