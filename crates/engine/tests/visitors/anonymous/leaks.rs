//! Leaks that other caches had, rebuilt: each with a configuration that leaks there, in Kasoku's settings, and does not leak
//! here.

use crate::anonymous::application::{Application, Asked, Does};
use crate::anonymous::board::NOT_TO_BE_KEPT;
use crate::anonymous::{grant, names, session, told};
use kasoku_options::{OtherCookies, Route};
use kasoku_semantics::grant::Ignored;
use kasoku_testkit::ok;
use kasoku_testkit::{Gate, Response, Scenario, Setup};
use std::sync::atomic::{AtomicUsize, Ordering};

fn before(setup: Setup, application: &Application) -> Scenario {
    setup.site(&[], |route: &mut Route| route.origins = vec![application.address().into()]).run_with_own_origins()
}

fn asks(scene: &Scenario, target: &str, fields: &[&str]) -> Response {
    scene.client().get_with(target, fields)
}

fn value_of(asked: &Asked, name: &str) -> Option<String> {
    let mut cookies = asked.field("cookie")?.split(';').filter_map(|pair| pair.trim().split_once('='));
    cookies.find(|(found, _)| *found == name).map(|(_, value)| value.to_owned())
}

/// A forum that greets the session of the request, and opens a session for requests without one.
fn forum() -> Application {
    let sessions = AtomicUsize::new(0);
    Application::start(move |asked| {
        let own = value_of(asked, "forum_session");
        let new =
            format!("Set-Cookie: forum_session=0123456789abcdef{:04}; path=/", sessions.fetch_add(1, Ordering::SeqCst));
        let who = own.clone().unwrap_or_else(|| "guest".to_owned());
        let mut lines = NOT_TO_BE_KEPT.to_vec();
        lines.extend(["Vary: Cookie, User-Agent", "Content-Type: text/html"]);
        lines.extend(own.is_none().then_some(new.as_str()));
        Does::Answer(ok(&lines, format!("Hello {who}, {}", asked.field("user-agent").unwrap_or("nobody"))))
    })
}

/// engintron issue 133 (and 12, 206, 237, 340, 1031): nginx was told to store all pages for a second, with `proxy_ignore_headers
/// Cache-Control Expires Set-Cookie Vary`. Members of forums found themselves logged in as others, an administrator among them: a
/// visitor without a session got another visitor's cookie, and pages were stored for any visitor.
#[test]
fn engintron_133_what_sets_cookies_and_varies_is_kept_for_a_second_whatever_it_says() {
    fn ignoring_all(route: &mut Route) {
        grant(route).ttl_override_seconds = 1;
        grant(route).ignore = Ignored::ALL.to_vec();
    }
    let forum = forum();
    let scene = before(Setup::safe().route(ignoring_all), &forum);
    // The logged-in administrator asks first, and others ask at the same time.
    let gate = Gate::new();
    forum.holds_next(&gate);
    let admin = ["Cookie: forum_session=admin", "User-Agent: admin's"];
    let [mut first, mut second, mut third] = [(); 3].map(|()| scene.client());
    first.ask("GET", "/", &admin);
    forum.arrived(1);
    second.ask("GET", "/", &["Cookie: forum_session=tom", "User-Agent: tom's"]);
    third.ask("GET", "/", &["User-Agent: guest's"]);
    scene.settled();
    gate.open();
    let [admins, toms, guests] = [&mut first, &mut second, &mut third].map(|client| client.response());
    assert_eq!((admins.text(), toms.text()), ("Hello admin, admin's".to_owned(), "Hello tom, tom's".to_owned()));
    assert_eq!((admins.detail(), toms.detail()), ("pass-cookie".to_owned(), "pass-cookie".to_owned()));
    assert!(guests.text().starts_with("Hello guest, ") && !guests.text().contains("guest's"), "{guests:?}");
    // No client gets another client's session: clients that share the page get no cookie.
    assert!(!guests.has("set-cookie"), "{guests:?}");
    let hit = scene.client().get("/");
    assert!(hit.is_hit() && !hit.has("set-cookie"), "{hit:?}");
    assert_eq!(asks(&scene, "/", &admin).text(), "Hello admin, admin's");
    scene.advance(2);
    assert!(asks(&scene, "/", &admin).text().contains("admin") && !scene.client().get("/").text().contains("admin"));
}

/// A shop that opens a session with a page, as plugins make it do, and shows each visitor their own cart.
fn shop() -> Application {
    let sessions = AtomicUsize::new(0);
    Application::start(move |asked| {
        let own = value_of(asked, "wp_woocommerce_session_5f");
        let new =
            format!("t_{:030}%7C%7C1732000000%7C%7C1731990000%7C%7Cabcd", sessions.fetch_add(1, Ordering::SeqCst));
        let cookie = format!("Set-Cookie: wp_woocommerce_session_5f={new}; path=/; HttpOnly");
        let mut lines = vec!["Content-Type: text/html"];
        lines.extend(own.is_none().then_some(cookie.as_str()));
        Does::Answer(ok(&lines, format!("The cart of {}", own.as_deref().unwrap_or("nobody"))))
    })
}

/// WooCommerce issue 21944: nginx' `fastcgi_cache` stored the front page, on which a plugin had opened a session, together with
/// its `Set-Cookie: wp_woocommerce_session_…`. All later visitors got that session, and shared one cart.
#[test]
fn woocommerce_21944_a_session_that_a_page_opens_is_not_replayed_to_all() {
    // As published guides do it: pages are stored for ten minutes, and visitors with something in the cart pass.
    fn as_published(route: &mut Route) {
        grant(route).ttl_seconds = 600;
        route.cookies.pass = names(&["woocommerce_items_in_cart", "wordpress_logged_in_*"]);
    }
    fn with_ignored_cookies(route: &mut Route) {
        as_published(route);
        grant(route).ignore = vec![Ignored::SetCookie];
    }
    fn told_of_the_session(route: &mut Route) {
        as_published(route);
        session(route).cookies = names(&["wp_woocommerce_session_*"]);
    }
    type Rules = fn(&mut Route);
    let rules: [(Rules, bool); 3] = [(as_published, false), (with_ignored_cookies, true), (told_of_the_session, true)];
    for (number, (rules, is_kept)) in rules.into_iter().enumerate() {
        let shop = shop();
        let scene = before(Setup::safe().route(rules), &shop);
        let visits = [(); 3].map(|()| scene.client().get("/"));
        let mut cookies: Vec<String> = visits.iter().map(|page| page.field("set-cookie")).collect();
        assert!(visits.iter().all(|page| page.text() == "The cart of nobody"));
        cookies.retain(|cookie| !cookie.is_empty());
        let count = cookies.len();
        cookies.sort();
        cookies.dedup();
        assert_eq!((count, cookies.len()), if is_kept { (0, 0) } else { (3, 3) }, "rules {number}: {cookies:?}");
        assert_eq!(visits[1].is_hit(), is_kept, "rules {number}");
        if !is_kept {
            assert_eq!(told(&visits[0], "cookie").as_deref(), Some("wp_woocommerce_session_5f"));
        }
    }
    // A visitor with a session, and no cookie about the cart, sees their own cart if the configuration names the session.
    let shop = shop();
    let scene = before(Setup::safe().route(told_of_the_session), &shop);
    scene.client().get("/");
    let own = asks(&scene, "/", &["Cookie: wp_woocommerce_session_5f=ann"]);
    assert_eq!((own.text().as_str(), own.detail().as_str()), ("The cart of ann", "pass-session"));
    assert_eq!(asks(&scene, "/", &["Cookie: wp_woocommerce_session_5f=tom"]).text(), "The cart of tom");
}

/// A shop whose own cache identifies a customer by `sw-cache-hash`, and whose pages do so by `session-`.
fn shopware() -> Application {
    Application::start(|asked| {
        let who = value_of(asked, "session-").unwrap_or_else(|| "nobody".to_owned());
        let mut lines = vec!["Content-Type: text/html", "Cache-Control: public, s-maxage=7200"];
        lines.extend((who != "nobody").then_some("Set-Cookie: sw-cache-hash=5d41402abc4b2a76; path=/"));
        Does::Answer(ok(&lines, format!("Account of {who}")))
    })
}

/// Shopware issue 4945: the key of a page was made from the request, in which `sw-cache-hash` was lost or had not come yet; the
/// page was made from the session, which was still there. So a customer's page was stored under the key of visitors without an
/// account.
#[test]
fn shopware_4945_a_customers_page_is_not_kept_as_that_of_visitors_without_an_account() {
    fn by_the_hash(route: &mut Route) {
        grant(route).key_cookies = names(&["sw-cache-hash", "sw-currency"]);
    }
    fn granting(route: &mut Route) {
        by_the_hash(route);
        grant(route).ttl_seconds = 600;
    }
    fn overruling(route: &mut Route) {
        granting(route);
        grant(route).ttl_override_seconds = 600;
        grant(route).ignore = vec![Ignored::SetCookie, Ignored::SMaxage];
    }
    fn strict(route: &mut Route) {
        granting(route);
        route.cookies.others = Some(OtherCookies::Pass);
    }
    fn named(route: &mut Route) {
        granting(route);
        session(route).cookies = names(&["session-"]);
    }
    type Rules = fn(&mut Route);
    let rules: [Rules; 6] = [|_| {}, by_the_hash, granting, overruling, strict, named];
    for (number, rules) in rules.into_iter().enumerate() {
        let shop = shopware();
        let scene = before(Setup::safe().route(rules), &shop);
        // A logged-in customer without the cookie of the shop's cache; first on an empty cache.
        let own = asks(&scene, "/", &["Cookie: session-=tom"]);
        let passes = own.text() == "Account of tom";
        assert!(passes || own.text() == "Account of nobody", "rules {number}: {own:?}");
        for _ in 0..2 {
            let visitors = scene.client().get("/");
            assert_eq!(visitors.text(), "Account of nobody", "rules {number}: {visitors:?}");
        }
        // With the hash: another customer of the same price group.
        asks(&scene, "/", &["Cookie: session-=tom; sw-cache-hash=5d41402abc4b2a76"]);
        let anns = asks(&scene, "/", &["Cookie: session-=ann; sw-cache-hash=5d41402abc4b2a76"]);
        assert!(!anns.text().contains("tom"), "rules {number}: {anns:?}");
    }
    // If the configuration names the session, customers get their own pages.
    let shop = shopware();
    let scene = before(Setup::safe().route(named), &shop);
    scene.client().get("/");
    let own = asks(&scene, "/", &["Cookie: session-=tom; sw-cache-hash=5d41402abc4b2a76"]);
    assert_eq!((own.text().as_str(), own.detail().as_str()), ("Account of tom", "pass-session"));
    assert!(scene.client().get("/").is_hit());
}
