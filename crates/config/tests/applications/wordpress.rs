//! Tests the policy of WordPress for the responses that it generates from its settings without a file: `/robots.txt` and the sitemap.
//! `tests/wordpress` tests pages with the real program.

use super::application::{Application, Asked};
use super::site;
use super::stand_in::{Answer, Reads, Sessions, stand_in};
use super::visitor::{Visitor, is_made, is_own, is_shared};

const ROBOTS: &str = "User-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\n";
const SITEMAP: &str = "<?xml version=\"1.0\"?><urlset></urlset>";

fn blog() -> Application {
    stand_in(Sessions::default(), answer)
}

fn answer(_: &mut Sessions, asked: &Asked) -> Answer {
    let typed = |media_type: &str, body: &str| Answer {
        fields: vec![format!("Content-Type: {media_type}; charset=utf-8")],
        ..Answer::page(body)
    };
    match asked.path() {
        "/robots.txt" => typed("text/plain", ROBOTS),
        "/wp-sitemap.xml" => typed("application/xml", SITEMAP),
        "/favicon.ico" => Answer::to("/wp-includes/images/w-logo-blue-white-bg.png").field("Content-Type: text/html"),
        "/wp-admin/options.php" => Answer::to("/wp-admin/options-general.php?settings-updated=true"),
        "/notes.txt" => typed("text/plain", "a plugin's, for unknown visitors"),
        _ => Answer::page("half a pa"),
    }
}

#[test]
fn what_is_made_without_a_file_is_shared_by_anonymous_visitors() {
    for name in ["wordpress", "woocommerce"] {
        let blog = blog();
        let scene = site(name, "", &blog);
        for (target, body) in [("/robots.txt", ROBOTS), ("/wp-sitemap.xml", SITEMAP)] {
            is_made(&Visitor::new(11).get(&scene, target), body);
            is_shared(&Visitor::new(12).with("_ga", "GA1.2.3").get(&scene, target), body);
            let mut known = Visitor::new(13).with("wordpress_logged_in_5f4d", "ann");
            is_own(&known.get(&scene, target), body, "pass-cookie");
        }
        // The policy shares no other plain text, and no redirect.
        for target in ["/notes.txt", "/favicon.ico"] {
            Visitor::new(11).get(&scene, target);
            assert!(!Visitor::new(12).get(&scene, target).is_hit(), "{target}");
        }
    }
}

#[test]
fn a_change_of_the_settings_drops_what_is_made_of_them() {
    let blog = blog();
    let scene = site("wordpress", "", &blog);
    Visitor::new(11).get(&scene, "/robots.txt");
    assert!(Visitor::new(12).get(&scene, "/robots.txt").is_hit());
    let mut editor = Visitor::new(13).with("wordpress_logged_in_5f4d", "ann");
    editor.post(&scene, "/wp-admin/options.php", "blog_public=0");
    assert!(!Visitor::new(12).get(&scene, "/robots.txt").is_hit());
}
