//! Tests the policy of Movable Type, whose search is slow and says `no-cache`, and whose other programs answer logged-in visitors.
//! `tests/movable_type` tests it with the real program.

use super::application::{Application, Asked};
use super::site;
use super::stand_in::{Answer, Reads, stand_in};
use super::visitor::{Visitor, is_made, is_own, is_shared};

/// What the real program answers with status 200 where a template or a site is unknown, or a search took too long.
const ERROR_PAGE: &str = "<div id=\"generic-error\" class=\"alert\">No alternate template</div></html>";
const SEARCH: &str = "/mt/mt-search.cgi?search=cache&IncludeBlogs=1";

fn movable_type() -> Application {
    stand_in(0, |searches, asked: &Asked| {
        if asked.path() == "/mt/mt-search.cgi" {
            *searches += 1;
            return match asked.parameter("search").unwrap() {
                "template" => Answer::page(ERROR_PAGE),
                "outage" => Answer::page(format!("Got an error: Can't connect, search {searches}")),
                words => Answer::page(format!("{words} entries, search {searches}</html>")).field("Pragma: no-cache"),
            };
        }
        if asked.path() == "/mt/mt.cgi" && asked.parameter("__mode") == Some("save_entry") {
            return Answer::to("/mt/mt.cgi?__mode=view&saved_changes=1");
        }
        if asked.path() == "/mt/mt.cgi" && asked.parameter("__mode") == Some("preview_entry") {
            return Answer::to("/2026/01/mt-preview-2b45be234e62ca3ecb0c3aa053ecb9dce3dd3369.html");
        }
        let whom = asked.cookie("mt_user").unwrap_or("nobody");
        Answer::page(format!("{} for {whom}", asked.path())).cookie("mt_user", "ann%3A%3Ax")
    })
}

#[test]
fn visitors_share_a_search() {
    let mt = movable_type();
    let scene = site("movable-type", "", &mt);
    is_made(&Visitor::new(11).get(&scene, SEARCH), "cache entries, search 1</html>");
    is_shared(&Visitor::new(12).get(&scene, SEARCH), "cache entries, search 1</html>");
    let mut greeted = Visitor::new(13).with("mtcmtauth", "ann");
    is_shared(&greeted.get(&scene, SEARCH), "cache entries, search 1</html>");
    scene.advance(301);
    // Stale, but within its grace: the cache answers with it once more and refreshes it in the background.
    is_shared(&Visitor::new(11).get(&scene, SEARCH), "cache entries, search 1</html>");
    mt.arrived(2);
    scene.eventually(|| Visitor::new(11).get(&scene, SEARCH).text() == "cache entries, search 2</html>");
}

#[test]
fn a_search_is_shared_whatever_the_version_says_against_it() {
    for (version, said) in [
        ("3.35", "Set-Cookie: commenter_id=; path=/; expires=Thu, 01-Jan-1970 00:00:00 GMT"),
        ("6.8.8", "Pragma: no-cache"),
        ("9.2.1", "Cache-Control: no-cache, no-store, must-revalidate"),
    ] {
        let mt = stand_in(0, move |searches, _: &Asked| {
            *searches += 1;
            Answer::page(format!("search {searches}</html>")).field(said)
        });
        let scene = site("movable-type", "", &mt);
        is_made(&Visitor::new(11).get(&scene, SEARCH), "search 1</html>");
        is_shared(&Visitor::new(12).get(&scene, SEARCH), "search 1</html>");
        if version == "3.35" {
            let commenter = Visitor::new(13).with("commenter_id", "ann").get(&scene, SEARCH);
            is_own(&commenter, "search 2</html>", "pass-cookie");
            assert!(commenter.has("set-cookie"), "{commenter:?}");
        }
    }
}

#[test]
fn a_visitor_who_is_logged_in_passes() {
    let mt = movable_type();
    let scene = site("movable-type", "", &mt);
    is_made(&Visitor::new(11).get(&scene, SEARCH), "cache entries, search 1</html>");
    let mut author = Visitor::new(12).with("mt_user", "ann");
    is_own(&author.get(&scene, SEARCH), "cache entries, search 2</html>", "pass-cookie");
    let mut commenter = Visitor::new(13).with("mt_blog_user", "sid%3A'5f3'%3Bname%3A'ann'");
    is_own(&commenter.get(&scene, SEARCH), "cache entries, search 3</html>", "pass-cookie");
}

/// Versions 4 to 6 keep what they have printed for a commenter, and print it for others for 20 seconds.
#[test]
fn what_the_program_replays_of_a_commenter_is_not_stored() {
    const USER: &str = "<script>var user = {\"is_authenticated\":1,\"name\":\"ann\",\"sid\":\"5f3\"};</script></html>";
    let mt = stand_in(0, |_: &mut u32, _: &Asked| Answer::page(USER));
    let scene = site("movable-type", "", &mt);
    for host in [11, 12] {
        let answer = Visitor::new(host).get(&scene, SEARCH);
        assert_eq!((answer.text().as_str(), answer.detail().as_str()), (USER, "personal-page"), "{answer:?}");
        assert!(answer.cache_status("stored").is_none(), "{answer:?}");
    }
}

#[test]
fn all_other_programs_pass() {
    let mt = movable_type();
    let scene = site("movable-type", "", &mt);
    for target in
        ["/mt/mt.cgi", "/mt/mt-comments.cgi", "/mt/mt-cp.cgi", "/mt/mt-data-api.cgi/v4/sites", "/mt/plugins/x/x.cgi"]
    {
        for host in [11, 12] {
            let own = Visitor::new(host).get(&scene, target);
            is_own(&own, &format!("{target} for nobody"), "pass-rule");
            assert!(own.has("set-cookie"), "{own:?}");
        }
    }
}

#[test]
fn an_entry_that_is_saved_drops_searches_and_a_form_that_is_refused_drops_none() {
    let mt = movable_type();
    let scene = site("movable-type", "", &mt);
    is_made(&Visitor::new(11).get(&scene, SEARCH), "cache entries, search 1</html>");
    Visitor::new(12).post(&scene, "/mt/mt.cgi", "username=ann&password=x");
    is_shared(&Visitor::new(11).get(&scene, SEARCH), "cache entries, search 1</html>");
    assert_eq!(Visitor::new(12).post(&scene, "/mt/mt.cgi", "__mode=save_entry&title=x").status, 302);
    is_made(&Visitor::new(11).get(&scene, SEARCH), "cache entries, search 2</html>");
}

/// Version 6 and later answer a deletion with the page that publishes the rest anew.
#[test]
fn an_entry_that_is_deleted_drops_searches_and_a_preview_drops_none() {
    let mt = movable_type();
    let scene = site("movable-type", "", &mt);
    is_made(&Visitor::new(11).get(&scene, SEARCH), "cache entries, search 1</html>");
    Visitor::new(12).post(&scene, "/mt/mt.cgi", "__mode=preview_entry&_type=entry&magic_token=x&title=x");
    is_shared(&Visitor::new(11).get(&scene, SEARCH), "cache entries, search 1</html>");
    assert_eq!(Visitor::new(12).post(&scene, "/mt/mt.cgi", "__mode=delete&_type=entry&magic_token=x&id=7").status, 200);
    // The log-in form is answered with 200 as well, so the searches become stale.
    scene.eventually(|| Visitor::new(11).get(&scene, SEARCH).text() == "cache entries, search 2</html>");
}

#[test]
fn an_error_page_and_an_outage_are_not_stored() {
    let mt = movable_type();
    let scene = site("movable-type", "", &mt);
    for (words, text, detail) in
        [("template", ERROR_PAGE, "personal-page"), ("outage", "Got an error: Can't connect, search", "outage")]
    {
        for host in [11, 12] {
            let answer = Visitor::new(host).get(&scene, &format!("/mt/mt-search.cgi?search={words}"));
            assert!(answer.text().starts_with(text) && answer.cache_status("stored").is_none(), "{answer:?}");
            assert_eq!(answer.detail(), detail, "{answer:?}");
        }
    }
}

#[test]
fn an_unknown_parameter_passes() {
    let mt = movable_type();
    let scene = site("movable-type", "", &mt);
    let own = Visitor::new(11).get(&scene, "/mt/mt-search.cgi?search=cache&member=7");
    is_own(&own, "cache entries, search 1</html>", "pass-parameter");
}
