//! WooCommerce: no session without a cart, three cookies with one, and plugins that set the session's where they should not.

use super::application::{Application, Asked};
use super::site;
use super::stand_in::{Answer, Reads, Sessions, stand_in};
use super::visitor::{Visitor, is_made, is_own, is_shared};

const SESSION: &str = "wp_woocommerce_session_5f4dcc3b5aa765d61d8327deb882cf99";

fn shop() -> Application {
    stand_in(Sessions::default(), answer)
}

fn answer(sessions: &mut Sessions, asked: &Asked) -> Answer {
    let known = asked.cookie(SESSION).map(str::to_owned);
    let in_cart = known.as_deref().and_then(|id| sessions.of(id).get("cart").cloned());
    let cart = in_cart.unwrap_or_else(|| "nothing".to_owned());
    if let Some(product) = asked.parameter("add-to-cart") {
        let (id, _) = sessions.start(known.as_deref());
        sessions.of(&id).insert("cart".to_owned(), product.to_owned());
        return Answer::page(format!("{product} is in the cart"))
            .cookie(SESSION, &id)
            .cookie("woocommerce_items_in_cart", "1")
            .cookie("woocommerce_cart_hash", "9a0364b9e99bb480dd25e1f0284c8555");
    }
    let page = Answer::page(format!("{} with {cart} in the cart", asked.path()));
    match asked.path() {
        "/cart/" | "/warenkorb/" | "/checkout/" => page
            .field("Cache-Control: no-cache, must-revalidate, max-age=0")
            .field("Expires: Wed, 11 Jan 1984 05:00:00 GMT"),
        "/product/hat/" => page.cookie("woocommerce_recently_viewed", "17"),
        // A plugin for payments, as in woocommerce-gateway-stripe #2392.
        "/product/coat/" => page.cookie(SESSION, &sessions.start(None).0),
        "/wp-login.php" => {
            page.cookie("wordpress_logged_in_5f4d", "ann%7C1700000000%7Cx").no_cookie("wordpress_test_cookie")
        }
        "/" if asked.cookie("wordpress_logged_in_5f4d").is_some() => Answer::page("hello ann"),
        _ => page,
    }
}

#[test]
fn visitors_without_a_cart_share_the_shop() {
    let shop = shop();
    let scene = site("woocommerce", "", &shop);
    for target in ["/", "/shop/", "/product/hat/", "/?utm_source=letter"] {
        let page = format!("{} with nothing in the cart", target.split('?').next().unwrap());
        let made = Visitor::new(11).get(&scene, target);
        assert_eq!((made.text(), made.has("set-cookie")), (page.clone(), false), "{made:?}");
        let mut tracked = Visitor::new(12).with("sbjs_session", "pgs%3D1").with("tk_ai", "x").with("_ga", "GA1.2.3");
        is_shared(&tracked.get(&scene, target), &page);
    }
    // The front page with what the analytics wanted is the front page.
    assert_eq!(shop.count(), 3);
}

#[test]
fn whoever_has_a_cart_sees_it_and_nobody_else_does() {
    let shop = shop();
    let scene = site("woocommerce", "", &shop);
    let (mut buyer, mut other) = (Visitor::new(11), Visitor::new(12));
    is_made(&other.get(&scene, "/shop/"), "/shop/ with nothing in the cart");
    is_own(&buyer.get(&scene, "/shop/?add-to-cart=hat"), "hat is in the cart", "pass-url");
    for _ in 0..2 {
        is_own(&buyer.get(&scene, "/shop/"), "/shop/ with hat in the cart", "pass-cookie");
        is_own(&buyer.get(&scene, "/checkout/"), "/checkout/ with hat in the cart", "pass-url");
        is_shared(&other.get(&scene, "/shop/"), "/shop/ with nothing in the cart");
    }
}

#[test]
fn a_cart_by_another_name_is_not_kept() {
    let shop = shop();
    let scene = site("woocommerce", "", &shop);
    for host in [11, 12] {
        let page = Visitor::new(host).get(&scene, "/warenkorb/");
        assert_eq!((page.text().as_str(), page.is_hit()), ("/warenkorb/ with nothing in the cart", false), "{page:?}");
        assert!(page.cache_status("stored").is_none(), "{page:?}");
    }
}

#[test]
fn a_session_that_a_plugin_gives_to_everybody_is_given_to_one() {
    let shop = shop();
    let scene = site("woocommerce", "", &shop);
    let mut sessions = Vec::new();
    for host in [11, 12, 13] {
        let mut visitor = Visitor::new(host);
        let page = visitor.get(&scene, "/product/coat/");
        assert!(!page.is_hit() && page.cache_status("stored").is_none(), "{page:?}");
        assert_eq!(page.detail(), "set-cookie", "{page:?}");
        sessions.push(visitor.cookies[SESSION].clone());
    }
    sessions.sort_unstable();
    sessions.dedup();
    assert_eq!(sessions.len(), 3, "each has one of his own: {sessions:?}");
}

#[test]
fn what_is_for_one_passes() {
    let shop = shop();
    let scene = site("woocommerce", "", &shop);
    for target in [
        "/?wc-ajax=get_refreshed_fragments",
        "/my-account/orders/",
        "/shop/?v=1f3870be274f",
        "/?session=abc",
        "/checkout-link/?products=17",
    ] {
        assert_eq!(Visitor::new(11).get(&scene, target).detail(), "pass-url", "{target}");
    }
    for target in ["/wp-admin/admin-ajax.php", "/wp-json/wc/store/v1/cart", "/wp-cron.php"] {
        assert_eq!(Visitor::new(11).get(&scene, target).detail(), "pass-rule", "{target}");
    }
    let mut ann = Visitor::new(12).with("wordpress_test_cookie", "WP+Cookie+check");
    is_made(&ann.get(&scene, "/"), "/ with nothing in the cart");
    assert_eq!(ann.get(&scene, "/wp-login.php").detail(), "pass-rule");
    is_own(&ann.get(&scene, "/"), "hello ann", "pass-cookie");
}

#[test]
fn an_unknown_cookie_passes() {
    let shop = shop();
    let scene = site("woocommerce", "", &shop);
    is_made(&Visitor::new(11).get(&scene, "/shop/"), "/shop/ with nothing in the cart");
    let mut wholesale = Visitor::new(12).with("wholesale_role", "gold");
    is_own(&wholesale.get(&scene, "/shop/"), "/shop/ with nothing in the cart", "pass-cookie");
}
