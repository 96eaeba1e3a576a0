//! Tests the policy of WooCommerce: no session without a cart, three cookies with one, and plugins that set the session cookie on
//! pages that need none.

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
    let page = Answer::page(format!("{} with {cart} in the cart</html>", asked.path()));
    let is_editor = asked.cookie("wordpress_logged_in_5f4d").is_some();
    match asked.path() {
        "/wp-admin/post.php" => Answer::to("/wp-admin/post.php?post=17&action=edit&message=1"),
        path if path.starts_with("/wp-json/") || asked.parameter("rest_route").is_some() => {
            page.field(if is_editor { "Allow: GET, POST, PUT, PATCH, DELETE" } else { "Allow: GET" })
        }
        "/cart/" | "/warenkorb/" | "/checkout/" => page
            .field("Cache-Control: no-cache, must-revalidate, max-age=0")
            .field("Expires: Wed, 11 Jan 1984 05:00:00 GMT"),
        "/broken/" => Answer::page("half a pa"),
        "/wp-admin/options.php" => Answer::to("/wp-login.php?reauth=1"),
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
        let page = format!("{} with nothing in the cart</html>", target.split('?').next().unwrap());
        let made = Visitor::new(11).get(&scene, target);
        assert_eq!((made.text(), made.has("set-cookie")), (page.clone(), false), "{made:?}");
        let mut tracked = Visitor::new(12).with("sbjs_session", "pgs%3D1").with("tk_ai", "x").with("_ga", "GA1.2.3");
        is_shared(&tracked.get(&scene, target), &page);
    }
    // The front page with parameters of analytics shares the key of the front page.
    assert_eq!(shop.count(), 3);
}

#[test]
fn a_visitor_with_a_cart_sees_it_and_no_other_visitor_does() {
    let shop = shop();
    let scene = site("woocommerce", "", &shop);
    let (mut buyer, mut other) = (Visitor::new(11), Visitor::new(12));
    is_made(&other.get(&scene, "/shop/"), "/shop/ with nothing in the cart</html>");
    is_own(&buyer.get(&scene, "/shop/?add-to-cart=hat"), "hat is in the cart", "pass-url");
    for _ in 0..2 {
        is_own(&buyer.get(&scene, "/shop/"), "/shop/ with hat in the cart</html>", "pass-cookie");
        is_own(&buyer.get(&scene, "/checkout/"), "/checkout/ with hat in the cart</html>", "pass-url");
        is_shared(&other.get(&scene, "/shop/"), "/shop/ with nothing in the cart</html>");
    }
}

#[test]
fn a_cart_by_another_name_is_not_kept() {
    let shop = shop();
    let scene = site("woocommerce", "", &shop);
    for host in [11, 12] {
        let page = Visitor::new(host).get(&scene, "/warenkorb/");
        assert_eq!(
            (page.text().as_str(), page.is_hit()),
            ("/warenkorb/ with nothing in the cart</html>", false),
            "{page:?}"
        );
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
    is_made(&ann.get(&scene, "/"), "/ with nothing in the cart</html>");
    assert_eq!(ann.get(&scene, "/wp-login.php").detail(), "pass-rule");
    is_own(&ann.get(&scene, "/"), "hello ann", "pass-cookie");
}

#[test]
fn an_unknown_parameter_passes() {
    let shop = shop();
    let scene = site("woocommerce", "", &shop);
    for target in ["/shop/?orderby=price&min_price=5&filter_size=s", "/product/hat/?attribute_pa_color=red"] {
        Visitor::new(11).get(&scene, target);
        assert!(Visitor::new(12).get(&scene, target).is_hit(), "{target}");
    }
    for target in ["/shop/?coupon=spring", "/product/hat/?currency=EUR"] {
        assert_eq!(Visitor::new(11).get(&scene, target).detail(), "pass-parameter", "{target}");
    }
}

#[test]
fn a_page_that_breaks_off_is_not_kept() {
    let shop = shop();
    let scene = site("woocommerce", "", &shop);
    for _ in 0..2 {
        let page = Visitor::new(11).get(&scene, "/broken/");
        assert_eq!((page.text().as_str(), page.detail().as_str()), ("half a pa", "page-text-missing"), "{page:?}");
        assert!(!page.is_hit() && page.cache_status("stored").is_none(), "{page:?}");
    }
}

#[test]
fn what_an_editor_writes_drops_all_pages_and_what_visitors_send_drops_none() {
    let shop = shop();
    let scene = site("woocommerce", "", &shop);
    let page = "/shop/ with nothing in the cart</html>";
    let is_kept = || {
        Visitor::new(11).get(&scene, "/shop/");
        is_shared(&Visitor::new(12).get(&scene, "/shop/"), page);
    };
    let mut editor = Visitor::new(13).with("wordpress_logged_in_5f4d", "ann");
    for (target, form) in [
        ("/wp-admin/post.php", "action=editpost&post_ID=17"),
        ("/wp-admin/admin-ajax.php", "action=inline-save&post_ID=17"),
        ("/wp-json/wc/v3/products/17", "{}"),
        ("/?rest_route=/wp/v2/posts/17", "{}"),
    ] {
        is_kept();
        editor.post(&scene, target, form);
        assert!(!Visitor::new(12).get(&scene, "/shop/").is_hit(), "{target}");
    }
    is_kept();
    for (target, form) in [
        ("/wp-admin/admin-ajax.php", "action=heartbeat"),
        ("/wp-admin/admin-ajax.php", "action=inline-save&post_ID=17"),
        ("/wp-admin/admin-ajax.php", "action=woocommerce_get_customer_details"),
        ("/wp-json/wc/store/v1/cart/add-item", "{}"),
        ("/wp-json/wp/v2/posts/17/autosaves", "{}"),
        ("/?wc-ajax=checkout", "payment_method=cod"),
        ("/wp-admin/options.php", "refused=1"),
    ] {
        Visitor::new(14).post(&scene, target, form);
        is_shared(&Visitor::new(12).get(&scene, "/shop/"), page);
    }
}

#[test]
fn what_was_bought_is_not_served_as_a_file() {
    let shop = shop();
    let scene = site("woocommerce", "", &shop);
    for target in ["/wp-content/uploads/woocommerce_uploads/2026/book.pdf", "/wp-content/uploads/wc-logs/fatal.log"] {
        assert_eq!(Visitor::new(11).get(&scene, target).short().0, 403, "{target}");
    }
    assert_eq!(shop.count(), 0);
}

#[test]
fn an_unknown_cookie_passes() {
    let shop = shop();
    let scene = site("woocommerce", "", &shop);
    is_made(&Visitor::new(11).get(&scene, "/shop/"), "/shop/ with nothing in the cart</html>");
    let mut wholesale = Visitor::new(12).with("wholesale_role", "gold");
    is_own(&wholesale.get(&scene, "/shop/"), "/shop/ with nothing in the cart</html>", "pass-cookie");
}
