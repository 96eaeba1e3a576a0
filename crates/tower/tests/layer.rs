//! The layer around an application, as scenarios: what the application is asked, and what its visitors get.

#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "not all of it is needed here")]
mod support;

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::routing::{get, post};
use http::header::{AGE, AUTHORIZATION, CACHE_CONTROL, COOKIE, ETAG, HOST, LOCATION, SET_COOKIE};
use http::{Method, Request, StatusCode, Uri};
use kasoku_tower::{CacheLayer, Profile, PurgeError, Scheme, Visitor};
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use support::{Asked, Site, ask, cached, page, request};
use tokio::sync::Semaphore;
use tower::{Layer, Service, ServiceExt, service_fn};

#[tokio::test]
async fn a_page_is_rendered_once_and_ages() {
    let site = Site::new(|builder| builder, |_| page("max-age=60", "hello"));
    let first = site.get("/").await;
    assert_eq!((first.status, &*first.body, first.field(AGE)), (StatusCode::OK, "hello", None));
    assert!(first.cache_status().contains("fwd=uri-miss; stored"), "{}", first.cache_status());
    site.settled().await;
    site.later(10);
    let second = site.get("/").await;
    assert_eq!((&*second.body, second.field(AGE)), ("hello", Some("10")));
    assert_eq!(second.cache_status(), "kasoku; hit; ttl=50; detail=hit");
    assert!(!second.headers.contains_key("via"), "the application is no proxy");
    assert_eq!(site.asked(), 1);
    site.later(51);
    site.get("/").await;
    assert_eq!(site.asked(), 2);
}

#[tokio::test]
async fn conditions_ranges_and_head_are_answered_from_what_is_stored() {
    let site = Site::new(
        |builder| builder,
        |_| {
            let mut page = page("max-age=60", "0123456789");
            page.headers_mut().insert(ETAG, "\"1\"".parse().unwrap());
            page
        },
    );
    site.get("/").await;
    site.settled().await;
    let known = site.send(request("/").header("If-None-Match", "\"1\"")).await;
    assert_eq!((known.status, &*known.body), (StatusCode::NOT_MODIFIED, ""));
    let part = site.send(request("/").header("Range", "bytes=2-4")).await;
    assert_eq!((part.status, &*part.body), (StatusCode::PARTIAL_CONTENT, "234"));
    assert_eq!((part.field("content-range"), part.field("content-length")), (Some("bytes 2-4/10"), Some("3")));
    let parts = site.send(request("/").header("Range", "bytes=0-0,9-9")).await;
    assert!(parts.status == StatusCode::PARTIAL_CONTENT && parts.body.contains("Content-Range: bytes 9-9/10"));
    let none = site.send(request("/").header("Range", "bytes=99-")).await;
    assert_eq!((none.status, none.field("content-range")), (StatusCode::RANGE_NOT_SATISFIABLE, Some("bytes */10")));
    let head = site.send(request("/").method(Method::HEAD)).await;
    assert_eq!((&*head.body, head.field("content-length")), ("", Some("10")));
    assert_eq!(site.asked(), 1);
}

#[tokio::test]
async fn a_stale_page_is_confirmed_by_its_validator() {
    let site = Site::new(
        |builder| builder,
        |asked| {
            let is_known = asked.headers.get("if-none-match").is_some_and(|tag| tag == "\"1\"");
            let mut page = page("max-age=60", if is_known { "" } else { "hello" });
            page.headers_mut().insert(ETAG, "\"1\"".parse().unwrap());
            if is_known {
                *page.status_mut() = StatusCode::NOT_MODIFIED;
            }
            page
        },
    );
    site.get("/").await;
    site.settled().await;
    site.later(61);
    let confirmed = site.get("/").await;
    assert_eq!((confirmed.status, &*confirmed.body, site.asked()), (StatusCode::OK, "hello", 2));
    assert!(confirmed.cache_status().contains("fwd-status=304"), "{}", confirmed.cache_status());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_visitors_at_a_time_cost_one_call() {
    let gate = Arc::new(Semaphore::new(0));
    let site = Site::gated(gate.clone(), |_| page("max-age=60", "hello"));
    let visits: Vec<_> = (0..64).map(|_| site.begin(request("/"))).collect();
    site.is_asked(1).await;
    gate.add_permits(1);
    for visit in visits {
        assert_eq!(visit.await.unwrap().body, "hello");
    }
    assert_eq!(site.asked(), 1);
    let statistics = site.handle.statistics();
    assert_eq!(statistics.misses, 1);
    assert_eq!(statistics.hits + statistics.collapsed, 63);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_does_not_end_the_fill() {
    let gate = Arc::new(Semaphore::new(0));
    let site = Site::gated(gate.clone(), |_| page("max-age=60", "hello"));
    let leaving = site.begin(request("/"));
    site.is_asked(1).await;
    leaving.abort();
    assert!(leaving.await.unwrap_err().is_cancelled());
    let staying = site.begin(request("/"));
    gate.add_permits(1);
    assert_eq!(staying.await.unwrap().body, "hello");
    assert_eq!(site.asked(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stale_page_answers_while_it_is_refreshed() {
    let gate = Arc::new(Semaphore::new(1));
    let site = Site::gated(gate.clone(), |asked| {
        page("max-age=60, stale-while-revalidate=60", if asked.number == 1 { "old" } else { "new" })
    });
    site.get("/").await;
    site.settled().await;
    site.later(61);
    // The application does not answer yet.
    let stale = site.get("/").await;
    assert_eq!((&*stale.body, stale.field(AGE)), ("old", Some("61")));
    site.is_asked(2).await;
    gate.add_permits(1);
    site.settled().await;
    assert_eq!(site.get("/").await.body, "new");
    assert_eq!((site.asked(), site.handle.statistics().refreshes), (2, 1));
}

#[tokio::test]
async fn cookies_and_authorization_pass_if_the_application_says_nothing_of_visitors() {
    let site = Site::new(
        |builder| builder,
        |asked| {
            let who = asked.headers.get(COOKIE).or(asked.headers.get(AUTHORIZATION));
            page("public, max-age=60", &format!("for {:?}", who.map(|who| who.to_str().unwrap())))
        },
    );
    let visits = [(COOKIE, "sid=ann"), (COOKIE, "sid=bob"), (AUTHORIZATION, "Basic YQ=="), (COOKIE, "sid=ann")];
    for (number, (name, value)) in visits.into_iter().enumerate() {
        let own = site.send(request("/").header(name, value)).await;
        assert_eq!(own.body, format!("for Some({value:?})"));
        assert!(own.cache_status().contains("fwd=bypass"), "{}", own.cache_status());
        assert_eq!(site.asked(), number + 1);
    }
    assert_eq!(site.get("/").await.body, "for None");
    site.settled().await;
    assert_eq!(site.get("/").await.body, "for None");
    assert_eq!(site.asked(), 5);
}

/// A visitor, as another layer has found out.
#[derive(Clone)]
struct User(&'static str);

fn greeting(asked: &Asked) -> String {
    asked.extensions.get::<User>().map_or_else(|| "hello".to_owned(), |user| format!("hello {}", user.0))
}

#[tokio::test]
async fn an_identity_that_is_only_in_an_extension_renders_no_page_for_others() {
    let site = Site::new(|builder| builder, |asked| page("max-age=60", &greeting(asked)));
    for user in ["ann", "bob", "ann"] {
        let got = site.send(request("/").extension(User(user))).await;
        assert_eq!(got.body, "hello", "a page for all, since the application has not said that {user} is a member");
        site.settled().await;
    }
    assert_eq!(site.get("/").await.body, "hello");
    assert_eq!(site.asked(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn visitors_who_wait_for_one_fill_get_their_own_pages_if_it_is_not_for_all() {
    for round in 0..50 {
        let gate = Arc::new(Semaphore::new(0));
        let site = Site::gated(gate.clone(), |asked| page("private, max-age=60", &greeting(asked)));
        let users: Vec<&'static str> = ["ann", "bob", "cem", "dan"].into_iter().cycle().take(16).collect();
        let visits: Vec<_> = users.iter().map(|user| site.begin(request("/").extension(User(user)))).collect();
        site.is_asked(1).await;
        gate.add_permits(100);
        for (user, visit) in users.iter().zip(visits) {
            assert_eq!(visit.await.unwrap().body, format!("hello {user}"), "round {round}");
        }
    }
}

#[tokio::test]
async fn a_page_that_is_not_for_all_is_rendered_for_the_visitor() {
    let site = Site::new(|builder| builder, |asked| page("private, max-age=60", &greeting(asked)));
    for (number, user) in ["ann", "bob", "ann"].into_iter().enumerate() {
        assert_eq!(site.send(request("/").extension(User(user))).await.body, format!("hello {user}"));
        // The page for all is asked for once, and then it is known that there is none.
        assert_eq!(site.asked(), number + 2);
    }
    assert_eq!(site.get("/").await.body, "hello");
}

#[tokio::test]
async fn an_extension_that_says_nothing_of_the_visitor_costs_no_second_call() {
    #[derive(Clone)]
    struct Connection;
    let answer = |asked: &Asked| page("private, max-age=60", &greeting(asked));
    for (is_ignored, calls) in [(false, 2), (true, 1)] {
        let site = Site::new(
            |builder| match is_ignored {
                true => builder.ignore_extension::<Connection>().ignore_extension::<Connection>(),
                false => builder,
            },
            answer,
        );
        assert_eq!(site.send(request("/").extension(Connection)).await.body, "hello");
        assert_eq!(site.asked(), calls);
        // The user is still one.
        let user = request("/other").extension(Connection).extension(User("ann"));
        assert_eq!(site.send(user).await.body, "hello ann");
    }
}

#[tokio::test]
async fn a_member_passes_with_all_that_the_request_has() {
    let site = Site::new(
        |builder| {
            builder.identify(|request| match request.extensions.get::<User>() {
                Some(_) => Visitor::Member,
                None => Visitor::Anonymous,
            })
        },
        |asked| page("public, max-age=60", &greeting(asked)),
    );
    assert_eq!(site.get("/").await.body, "hello");
    site.settled().await;
    assert_eq!(site.send(request("/").extension(User("ann"))).await.body, "hello ann");
    assert_eq!(site.send(request("/").extension(User("bob"))).await.body, "hello bob");
    assert_eq!(site.get("/").await.body, "hello");
    assert_eq!(site.asked(), 3);
}

#[tokio::test]
async fn an_anonymous_visitor_with_cookies_gets_the_page_of_all() {
    let site = Site::new(
        |builder| builder.identify(|_| Visitor::Anonymous),
        |asked| page("max-age=60", &format!("{}", asked.headers.contains_key(COOKIE))),
    );
    for cookie in ["_ga=1", "_ga=2"] {
        assert_eq!(site.send(request("/").header(COOKIE, cookie)).await.body, "false");
        site.settled().await;
    }
    assert_eq!(site.asked(), 1);
}

#[tokio::test]
async fn an_anonymous_visitor_whose_page_sets_a_cookie_gets_an_own_one() {
    let site = Site::new(
        |builder| builder.identify(|_| Visitor::Anonymous),
        |asked| {
            let has_cart = asked.headers.contains_key(COOKIE);
            let mut page = page("max-age=60", if has_cart { "your cart" } else { "a new cart" });
            if !has_cart {
                page.headers_mut().insert(SET_COOKIE, "cart=1".parse().unwrap());
            }
            page
        },
    );
    let own = site.send(request("/cart").header(COOKIE, "cart=7")).await;
    assert_eq!((&*own.body, own.field(SET_COOKIE)), ("your cart", None));
    assert_eq!(site.get("/cart").await.body, "a new cart");
}

#[tokio::test]
async fn of_an_unknown_visitor_the_response_decides() {
    let site = Site::new(
        |builder| builder.identify(|_| Visitor::Unknown),
        |asked| page(if asked.uri.path() == "/all" { "s-maxage=60" } else { "max-age=60" }, "hello"),
    );
    for (target, calls) in [("/all", 1), ("/own", 3)] {
        let before = site.asked();
        for sid in ["1", "2"] {
            site.send(request(target).header(COOKIE, format!("sid={sid}"))).await;
            site.settled().await;
        }
        assert_eq!(site.asked() - before, calls.min(2), "{target}");
    }
}

#[tokio::test]
async fn only_listed_extensions_are_kept() {
    #[derive(Clone)]
    struct Theme(&'static str);
    let site = Site::new(
        |builder| builder.keep_extension::<Theme>(),
        |asked| {
            let theme = asked.extensions.get::<Theme>().map_or("none", |theme| theme.0);
            page("max-age=60", &format!("{theme} {}", greeting(asked)))
        },
    );
    let got = site.send(request("/").extension(Theme("dark")).extension(User("ann"))).await;
    assert_eq!(got.body, "dark hello");
}

#[tokio::test]
async fn what_is_not_in_the_key_does_not_reach_a_page_for_all() {
    let site = Site::new(
        |builder| builder.client(|_| Some([192, 0, 2, 7].into())),
        |asked| {
            let fields = |name: &str| asked.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
            let told = ["host", "x-original-url", "x-forwarded-host", "x-forwarded-for", "x-theme"].map(fields);
            page("max-age=60", &format!("{told:?}"))
        },
    );
    let hostile = request("/")
        .header(HOST, "evil.example")
        .header("X-Original-URL", "/admin")
        .header("X-Forwarded-Host", "evil.example")
        .header("X-Forwarded-For", "203.0.113.1")
        .header("Connection", "X-Theme")
        .header("X-Theme", "dark");
    let told = r#"[Some("blog.example"), None, Some("blog.example"), Some("192.0.2.7"), None]"#;
    assert_eq!(site.send(hostile).await.body, told);
}

#[tokio::test]
async fn the_request_says_for_which_of_several_authorities_it_is() {
    let site = Site::new(
        |builder| builder.authorities(Scheme::Https, ["a.example", "b.example:8443"]),
        |asked| page("max-age=60", asked.headers.get(HOST).map_or("", |host| host.to_str().unwrap())),
    );
    for (host, seen, is_shared) in [
        ("A.example:443", "a.example", true),
        ("b.example:8443", "b.example:8443", true),
        ("b.example", "b.example", false),
        ("c.example", "c.example", false),
    ] {
        let before = site.asked();
        for _ in 0..2 {
            assert_eq!(site.send(request("/").header(HOST, host)).await.body, seen);
            site.settled().await;
        }
        assert_eq!(site.asked() - before, if is_shared { 1 } else { 2 }, "{host}");
    }
    // HTTP/2 writes the authority into the URI.
    let uri = Uri::from_static("https://a.example/");
    assert_eq!(site.send(request("/").uri(uri).header(HOST, "c.example")).await.body, "a.example");
    assert_eq!(site.asked(), 6);
}

#[tokio::test]
async fn variants_are_told_apart() {
    let site = Site::new(
        |builder| builder,
        |asked| {
            let is_german = asked.headers.get("accept-language").is_some_and(|value| value == "de");
            let mut page = page("max-age=60", if is_german { "hallo" } else { "hello" });
            page.headers_mut().insert("vary", "Accept-Language".parse().unwrap());
            page
        },
    );
    for _ in 0..2 {
        for (language, text) in [("de", "hallo"), ("en", "hello")] {
            assert_eq!(site.send(request("/").header("Accept-Language", language)).await.body, text);
            site.settled().await;
        }
    }
    assert_eq!(site.asked(), 2);
}

#[tokio::test]
async fn an_unsafe_request_passes_with_its_body_and_drops_the_page() {
    let calls = support::counter();
    let shown = calls.clone();
    let (cache, handle) = support::builder().build().unwrap();
    let app = cache.layer(
        Router::new()
            .route("/page", get(async move || ([(CACHE_CONTROL, "max-age=60")], support::next(&shown))))
            .route("/page", post(async |body: String| body))
            .route("/elsewhere", post(async || ([(LOCATION, "/page")], StatusCode::SEE_OTHER))),
    );
    let visit = async |method: Method, target: &str| {
        let got = ask(app.clone(), request(target).method(method).body(Body::from("text")).unwrap()).await;
        support::settled(&handle).await;
        got
    };
    let show = async || {
        let got = ask(app.clone(), request("/page").body(Body::empty()).unwrap()).await;
        support::settled(&handle).await;
        got.body
    };
    assert_eq!((show().await, show().await), ("1".to_owned(), "1".to_owned()));
    let posted = visit(Method::POST, "/page").await;
    assert_eq!(posted.body, "text");
    assert!(posted.cache_status().contains("fwd=method"), "{}", posted.cache_status());
    assert_eq!((show().await, show().await), ("2".to_owned(), "2".to_owned()));
    visit(Method::POST, "/elsewhere").await;
    assert_eq!(show().await, "3", "the page to which the visitor was sent has changed");
    // A GET with a body is not one that others could send.
    let with_body = visit(Method::GET, "/page").await;
    assert_eq!(with_body.body, "4");
    assert_eq!(show().await, "3");
}

#[tokio::test]
async fn an_unsafe_request_whose_client_leaves_drops_the_page() {
    let gate = Arc::new(Semaphore::new(1));
    let site = Site::gated(gate.clone(), |asked| page("max-age=60", &asked.number.to_string()));
    site.get("/").await;
    site.settled().await;
    let leaving = site.begin(request("/").method(Method::DELETE));
    site.is_asked(2).await;
    leaving.abort();
    assert!(leaving.await.unwrap_err().is_cancelled());
    gate.add_permits(1);
    assert_eq!(site.get("/").await.body, "3");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_send_unsafe_requests_and_leave_do_not_keep_a_page_cold() {
    let gate = Arc::new(Semaphore::new(1));
    let site =
        Site::gated(gate.clone(), |asked| page("max-age=60, stale-while-revalidate=60", &asked.number.to_string()));
    site.get("/").await;
    site.settled().await;
    let leaving = site.begin(request("/").method(Method::POST));
    site.is_asked(2).await;
    leaving.abort();
    assert!(leaving.await.unwrap_err().is_cancelled());
    gate.add_permits(1);
    assert_eq!(site.get("/").await.body, "1");
    site.settled().await;
    assert_eq!(site.get("/").await.body, "3");
}

/// A service that is ready for its first call, and never again.
#[derive(Clone)]
struct Once(Arc<AtomicUsize>);

impl Service<Request<Body>> for Once {
    type Response = http::Response<Body>;
    type Error = &'static str;
    type Future = std::future::Ready<Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(if support::count(&self.0) == 0 { Ok(()) } else { Err("overloaded") })
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        support::next(&self.0);
        std::future::ready(Ok(page("max-age=60", "hello")))
    }
}

#[tokio::test]
async fn an_unsafe_request_that_does_not_reach_the_application_changes_nothing() {
    let (cache, handle) = support::builder().build().unwrap();
    let app = cache.layer(Once(support::counter()));
    let visit = |method| app.clone().oneshot(request("/").method(method).body(Body::empty()).unwrap());
    visit(Method::GET).await.unwrap();
    support::settled(&handle).await;
    assert_eq!(visit(Method::POST).await.unwrap_err(), "overloaded");
    assert!(cached(&visit(Method::GET).await.unwrap()).starts_with("kasoku; hit"));
}

#[tokio::test]
async fn purges_drop_a_page_a_prefix_a_tag_or_everything() {
    let site = Site::new(
        |builder| builder.tags(|request| request.uri.query().map(str::to_owned).into_iter().collect()),
        |_| page("max-age=60", "hello"),
    );
    let targets = ["/", "/posts/1?red", "/posts/2?blue", "/about?red"];
    let fetched_again = async || {
        let mut again = Vec::new();
        for target in targets {
            let before = site.asked();
            site.get(target).await;
            site.settled().await;
            if site.asked() > before {
                again.push(target);
            }
        }
        again
    };
    assert_eq!(fetched_again().await, targets);
    assert_eq!(fetched_again().await, [""; 0]);
    site.handle.purge("/").await.unwrap();
    assert_eq!(fetched_again().await, ["/"]);
    site.handle.purge("https://BLOG.example:443/about?red").await.unwrap();
    assert_eq!(fetched_again().await, ["/about?red"]);
    site.handle.purge_prefix("/posts/").await.unwrap();
    assert_eq!(fetched_again().await, ["/posts/1?red", "/posts/2?blue"]);
    site.handle.purge_tag("red").await.unwrap();
    assert_eq!(fetched_again().await, ["/posts/1?red", "/about?red"]);
    site.handle.purge_all().await.unwrap();
    assert_eq!(fetched_again().await, targets);
    for not_ours in ["https://other.example/", "http://blog.example/", "posts"] {
        assert_eq!(site.handle.purge(not_ours).await, Err(PurgeError::NotOurs(not_ours.to_owned())));
        assert_eq!(site.handle.purge_prefix(not_ours).await, Err(PurgeError::NotOurs(not_ours.to_owned())));
    }
    for unsent in ["/café", "/x#y", "/a b", "https://blog.example/é"] {
        assert_eq!(site.handle.purge(unsent).await, Err(PurgeError::NotAsSent(unsent.to_owned())));
        assert_eq!(site.handle.purge_prefix(unsent).await, Err(PurgeError::NotAsSent(unsent.to_owned())));
    }
    assert_eq!(site.handle.purge_tag("").await, Err(PurgeError::EmptyTag));
}

#[tokio::test]
async fn half_a_second_is_not_none() {
    let half = Duration::from_millis(500);
    let granted = Site::new(|builder| builder.ttl(half), |_| support::plain("hello"));
    let negative = Site::new(
        |builder| builder.negative_ttl(half),
        |_| {
            let mut missing = support::plain("none");
            *missing.status_mut() = StatusCode::NOT_FOUND;
            missing
        },
    );
    for site in [granted, negative] {
        for _ in 0..2 {
            site.get("/").await;
            site.settled().await;
        }
        assert_eq!(site.asked(), 1);
    }
}

#[tokio::test]
async fn no_handler_is_to_wait_for_a_body_that_a_request_for_all_has_not() {
    let site = Site::new(
        |builder| builder,
        |asked| page("max-age=60", if asked.headers.contains_key("expect") { "expects" } else { "hello" }),
    );
    assert_eq!(site.send(request("/").header("Expect", "100-continue")).await.body, "hello");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_asked_for_before_a_purge_is_not_kept_after_it() {
    let gate = Arc::new(Semaphore::new(0));
    let site = Site::gated(gate.clone(), |asked| page("max-age=60", &asked.number.to_string()));
    let before = site.begin(request("/"));
    site.is_asked(1).await;
    site.handle.purge("/").await.unwrap();
    gate.add_permits(2);
    assert_eq!(before.await.unwrap().body, "1");
    site.settled().await;
    assert_eq!(site.get("/").await.body, "2");
}

#[tokio::test]
async fn a_granted_lifetime_keeps_from_the_application_what_is_not_in_the_key() {
    let site = Site::new(
        |builder| {
            let hour = Duration::from_secs(3_600);
            builder.ttl(hour).key_cookies(["theme"]).key_fields(["X-Device"]).identify(|_| Visitor::Anonymous)
        },
        |asked| {
            let seen = |name| asked.headers.get(name).map(|value: &http::HeaderValue| value.to_str().unwrap());
            support::plain(&format!("{:?} {:?} {:?}", seen("cookie"), seen("x-device"), seen("dnt")))
        },
    );
    let visit = async |cookie: &str, device: &str, other: &str| {
        let asked = request("/").header(COOKIE, cookie).header("X-Device", device).header("DNT", other);
        let got = site.send(asked).await.body;
        site.settled().await;
        got
    };
    let dark = r#"Some("theme=dark") Some("tv") None"#;
    assert_eq!(visit("sid=1; theme=dark", "tv", "a").await, dark);
    assert_eq!(visit("theme=dark; sid=2", "tv", "b").await, dark);
    assert_eq!(site.asked(), 1);
    visit("theme=light", "tv", "b").await;
    visit("theme=dark", "phone", "b").await;
    assert_eq!(site.asked(), 3);
}

#[tokio::test]
async fn where_a_lifetime_is_granted_a_browser_keeps_no_page_of_a_visitor_who_may_log_in() {
    let hour = Duration::from_secs(3_600);
    let site = Site::new(|builder| builder.ttl(hour).identify(|_| Visitor::Anonymous), |_| support::plain("hello"));
    for _ in 0..2 {
        let with_session = site.send(request("/").header(COOKIE, "sid=1")).await;
        assert_eq!(with_session.field(CACHE_CONTROL), Some("private, no-cache"));
        site.settled().await;
        assert_eq!(site.get("/").await.field(CACHE_CONTROL), Some("no-cache"));
    }
    assert_eq!(site.asked(), 1);
}

#[tokio::test]
async fn the_private_of_the_first_hit_is_not_kept_for_the_others() {
    let hour = Duration::from_secs(3_600);
    let site = Site::new(|builder| builder.ttl(hour).identify(|_| Visitor::Anonymous), |_| support::plain("hello"));
    site.get("/").await;
    site.settled().await;
    for _ in 0..2 {
        let with_session = site.send(request("/").header(COOKIE, "sid=1")).await;
        assert_eq!(with_session.headers.get_all(CACHE_CONTROL).iter().collect::<Vec<_>>(), ["private, no-cache"]);
        let without_session = site.get("/").await;
        assert_eq!(without_session.headers.get_all(CACHE_CONTROL).iter().collect::<Vec<_>>(), ["no-cache"]);
    }
    assert_eq!(site.asked(), 1);
}

#[tokio::test]
async fn where_a_lifetime_is_granted_the_validator_of_a_private_page_confirms_nothing() {
    for (ttl, status) in [(0, StatusCode::NOT_MODIFIED), (3_600, StatusCode::OK)] {
        let site = Site::new(
            |builder| builder.ttl(Duration::from_secs(ttl)),
            |_| {
                let mut page = page("private", "hello");
                page.headers_mut().insert(ETAG, "\"1\"".parse().unwrap());
                page
            },
        );
        assert_eq!(site.send(request("/").header("If-None-Match", "\"1\"")).await.status, status, "{ttl}");
    }
}

#[tokio::test]
async fn parameters_that_are_ignored_reach_no_page_for_all() {
    let site = Site::new(
        |builder| builder.ignore_query(["utm_*"]).sort_query(),
        |asked| page("max-age=60", &asked.uri.to_string()),
    );
    for target in ["/?b=2&utm_source=x&a=1", "/?a=1&b=2", "/?b=2&a=1&utm_medium=y"] {
        assert_eq!(site.get(target).await.body, "/?a=1&b=2");
        site.settled().await;
    }
    assert_eq!(site.asked(), 1);
    site.handle.purge("/?b=2&a=1").await.unwrap();
    site.get("/?a=1&b=2").await;
    assert_eq!(site.asked(), 2);
}

#[tokio::test]
async fn a_url_with_a_credential_passes() {
    let site = Site::new(|builder| builder, |asked| page("max-age=60", &asked.number.to_string()));
    for number in ["1", "2"] {
        assert_eq!(site.get("/reset?token=abc").await.body, number);
        site.settled().await;
    }
}

#[tokio::test]
async fn a_request_for_another_protocol_passes() {
    let site = Site::new(
        |builder| builder,
        |asked| page("max-age=60", if asked.extensions.get::<User>().is_some() { "switched" } else { "not" }),
    );
    let upgrade = request("/").header("Connection", "upgrade").header("Upgrade", "websocket").extension(User("ann"));
    assert_eq!(site.send(upgrade).await.body, "switched");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_application_that_fails_is_covered_by_what_is_stored() {
    let (cache, handle) = support::builder().grace(Duration::from_secs(600)).build().unwrap();
    let clock = support::CLOCK.with(Clone::clone);
    let calls = support::counter();
    let app = cache.layer(service_fn(move |_: Request<Body>| {
        let call = support::next(&calls);
        async move { if call == "1" { Ok(page("max-age=60", "hello")) } else { Err("the database is gone") } }
    }));
    let visit = async || {
        let got = app.clone().oneshot(request("/").body(Body::empty()).unwrap()).await;
        support::settled(&handle).await;
        got
    };
    visit().await.unwrap();
    support::later(&clock, 61);
    for _ in 0..3 {
        let stale = visit().await.unwrap();
        assert_eq!(stale.status(), StatusCode::OK);
        assert!(cached(&stale).starts_with("kasoku; hit"), "{}", cached(&stale));
    }
    let other = app.clone().oneshot(request("/other").body(Body::empty()).unwrap()).await;
    assert_eq!(other.unwrap_err(), "the database is gone", "the first client gets the application's own error");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_application_that_fails_is_covered_by_no_stale_page_unless_it_says_so() {
    for (cache_control, is_covered) in [("max-age=60", false), ("max-age=60, stale-if-error=600", true)] {
        let (cache, handle) = support::builder().profile(Profile::Safe).build().unwrap();
        let calls = support::counter();
        let app = cache.layer(service_fn(move |_: Request<Body>| {
            let call = support::next(&calls);
            async move { if call == "1" { Ok(page(cache_control, "hello")) } else { Err("the database is gone") } }
        }));
        let visit = || app.clone().oneshot(request("/").body(Body::empty()).unwrap());
        visit().await.unwrap();
        support::settled(&handle).await;
        support::later(&support::CLOCK.with(Clone::clone), 61);
        assert_eq!(visit().await.is_ok(), is_covered, "{cache_control}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_panics_fails_its_visitors_and_no_others() {
    let calls = support::counter();
    let (cache, handle) = support::builder().build().unwrap();
    let app = cache.layer(service_fn(move |_: Request<Body>| {
        let call = support::next(&calls);
        async move {
            assert_ne!(call, "1", "a bug");
            Ok::<_, Infallible>(page("max-age=60", "hello"))
        }
    }));
    let failed = ask(app.clone(), request("/").body(Body::empty()).unwrap()).await;
    assert_eq!(failed.status, StatusCode::INTERNAL_SERVER_ERROR);
    support::settled(&handle).await;
    assert_eq!(ask(app, request("/").body(Body::empty()).unwrap()).await.body, "hello");
}

#[tokio::test]
async fn a_body_that_breaks_off_is_not_kept() {
    let site = Site::new(
        |builder| builder,
        |asked| {
            let mut page = page("max-age=60", "hello");
            if asked.number == 1 {
                page.headers_mut().insert("content-length", 10.into());
            }
            page
        },
    );
    let cut = site.service.clone().oneshot(request("/").body(Body::empty()).unwrap()).await.unwrap();
    let is_ok = cut.status() == StatusCode::OK;
    assert!(!is_ok || axum::body::to_bytes(Body::new(cut.into_body()), 100).await.is_err(), "it seems to be whole");
    site.settled().await;
    assert_eq!(site.get("/").await.body, "hello");
    assert_eq!(site.asked(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_can_not_be_stored_goes_at_the_pace_of_its_reader() {
    const PIECES: usize = 400;
    let made = support::counter();
    let (cache, handle) = support::builder().memory_bytes(1 << 20).build().unwrap();
    let by = made.clone();
    let app = cache.layer(service_fn(move |_: Request<Body>| {
        let by = by.clone();
        async move {
            let pieces = (0..PIECES).map(move |_| {
                support::next(&by);
                Ok::<_, Infallible>(vec![b'x'; 64 << 10])
            });
            let body = Body::from_stream(support::stream(pieces));
            Ok::<_, Infallible>(http::Response::builder().header(CACHE_CONTROL, "max-age=60").body(body).unwrap())
        }
    }));
    let answer = app.oneshot(request("/").body(Body::empty()).unwrap()).await.unwrap();
    let mut body = Body::new(answer.into_body());
    let mut bytes = 0;
    while let Some(frame) = http_body_util::BodyExt::frame(&mut body).await {
        bytes += frame.unwrap().into_data().unwrap().len();
        let ahead = (support::count(&made) << 16).saturating_sub(bytes);
        assert!(ahead <= 4 << 20, "{ahead} bytes ahead of the reader");
        assert!(handle.statistics().held_bytes <= 6 << 20);
    }
    assert_eq!(bytes, PIECES << 16);
    support::settled(&handle).await;
    assert_eq!(handle.statistics().keys, 0);
}

#[tokio::test]
async fn memory_is_bounded() {
    let site = Site::new(
        |builder| builder.memory_bytes(1 << 20),
        |asked| page("max-age=60", &asked.uri.path().repeat(1 << 10)),
    );
    for number in 0..2_000 {
        site.get(&format!("/{number}")).await;
        site.settled().await;
        // The head in the form of the layer is made by the first hit.
        site.get(&format!("/{number}")).await;
    }
    let statistics = site.handle.statistics();
    assert!(statistics.evicted > 1_000 && statistics.held_bytes <= 1 << 20, "{statistics:?}");
}

#[tokio::test]
async fn the_pages_of_two_applications_are_not_mixed() {
    let (cache, handle) = support::builder().build().unwrap();
    // Nested routers see the same path.
    let site = |text: &'static str| {
        Router::new().route("/", get(async move || ([(CACHE_CONTROL, "max-age=60")], text))).layer(cache.application())
    };
    let app = Router::new().nest("/a", site("of a")).nest("/b", site("of b"));
    for _ in 0..2 {
        for (target, text) in [("/a", "of a"), ("/b", "of b")] {
            assert_eq!(ask(app.clone(), request(target).body(Body::empty()).unwrap()).await.body, text);
            support::settled(&handle).await;
        }
    }
}

#[tokio::test]
async fn what_one_application_refuses_or_fails_to_answer_another_is_asked_for() {
    let (cache, handle) = support::builder().build().unwrap();
    let failing = cache.layer(service_fn(async |_: Request<Body>| Err::<http::Response<Body>, _>("down")));
    let refusing = cache.layer(service_fn(async |_: Request<Body>| Ok::<_, Infallible>(page("private", "yours"))));
    let other = cache.layer(service_fn(async |_: Request<Body>| Ok::<_, Infallible>(page("max-age=60", "hello"))));
    let to = |target: &str| request(target).extension(User("ann")).body(Body::empty()).unwrap();
    for _ in 0..3 {
        let nobody = request("/failing").body(Body::empty()).unwrap();
        let _ = failing.clone().oneshot(nobody).await;
        support::settled(&handle).await;
    }
    ask(refusing, to("/refused")).await;
    for target in ["/failing", "/refused"] {
        let nobody = request(target).body(Body::empty()).unwrap();
        let first = ask(other.clone(), nobody).await;
        assert_eq!((&*first.body, first.cache_status().contains("stored")), ("hello", true), "{target}");
        support::settled(&handle).await;
    }
}

#[tokio::test]
async fn a_layer_in_the_router_breaks_no_page() {
    let (cache, handle) = support::builder().build().unwrap();
    let show = async |Path(id): Path<u32>| ([(CACHE_CONTROL, "max-age=60")], id.to_string());
    let posts = Router::new().route("/posts/{id}", get(show));
    let inside = posts.clone().layer(cache.application());
    assert_eq!(ask(inside, request("/posts/7").body(Body::empty()).unwrap()).await.body, "7");
    let around = cache.layer(posts);
    for (post, is_hit) in [("/posts/8", false), ("/posts/8", true)] {
        let got = ask(around.clone(), request(post).body(Body::empty()).unwrap()).await;
        assert_eq!((&*got.body, got.cache_status().contains("; hit;")), ("8", is_hit));
        support::settled(&handle).await;
    }
}

#[test]
fn a_hit_is_there_at_once_and_needs_no_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let site = Site::new(|builder| builder, |_| page("max-age=60", "hello"));
    runtime.block_on(async {
        site.get("/").await;
        site.settled().await;
    });
    drop(runtime);
    let at_once = |target: &str| {
        let mut visit = pin!(site.service.clone().call(request(target).body(Body::empty()).unwrap()));
        match visit.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => cached(&answer.unwrap()).to_owned(),
            Poll::Pending => "pending".to_owned(),
        }
    };
    assert_eq!(at_once("/"), "kasoku; hit; ttl=60; detail=hit");
    // What is not stored passes: no task can fetch it for others.
    assert!(at_once("/other").contains("fwd=bypass"));
    assert_eq!(site.asked(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beyond_a_number_of_fills_the_application_is_called_in_the_tasks_of_its_clients() {
    let gate = Arc::new(Semaphore::new(0));
    let site = Site::built(support::builder().fills_max(1), Some(gate.clone()), |_| page("max-age=60", "hello"));
    let first = site.begin(request("/first"));
    site.is_asked(1).await;
    let second = site.begin(request("/second"));
    site.is_asked(2).await;
    assert_eq!(site.handle.statistics().fills, 1);
    gate.add_permits(2);
    let second = second.await.unwrap();
    assert_eq!(second.body, "hello");
    assert!(second.cache_status().contains("fwd=bypass"), "{}", second.cache_status());
    assert!(first.await.unwrap().cache_status().contains("stored"));
    site.settled().await;
    assert!(site.get("/first").await.cache_status().contains("; hit;"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_wait_for_another_visitors_page_has_an_end() {
    let gate = Arc::new(Semaphore::new(0));
    let wait = Duration::from_millis(1);
    let site = Site::built(support::builder().fill_wait_max(wait), Some(gate.clone()), |asked| {
        page("max-age=60", &asked.number.to_string())
    });
    let first = site.begin(request("/"));
    site.is_asked(1).await;
    assert_eq!(site.get("/").await.status, StatusCode::INTERNAL_SERVER_ERROR);
    // One more call, for all that wait.
    site.is_asked(2).await;
    gate.add_permits(2);
    assert_eq!(first.await.unwrap().body, "1");
}

#[test]
fn without_a_timer_no_visitor_waits_for_another() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let gate = Arc::new(Semaphore::new(0));
    let site = Site::gated(gate.clone(), |_| page("max-age=60", "hello"));
    runtime.block_on(async {
        let first = site.begin(request("/"));
        site.is_asked(1).await;
        let second = site.begin(request("/"));
        while site.asked() < 2 && !second.is_finished() {
            tokio::task::yield_now().await;
        }
        gate.add_permits(2);
        assert_eq!((first.await.unwrap().body, second.await.unwrap().body), ("hello".to_owned(), "hello".to_owned()));
    });
}

#[test]
fn what_the_cache_must_know_is_asked_for() {
    use kasoku_tower::BuildError::*;
    let error = |builder: kasoku_tower::CacheBuilder| builder.build().unwrap_err();
    let named = || CacheLayer::builder().authority(Scheme::Http, "a.example");
    assert_eq!(error(CacheLayer::builder()), NoAuthority);
    assert_eq!(error(CacheLayer::builder().authorities(Scheme::Http, [""; 0])), NoAuthority);
    assert_eq!(error(CacheLayer::builder().authority(Scheme::Http, "a/b")), InvalidAuthority("a/b".to_owned()));
    assert_eq!(error(named().memory_bytes(1)), TooLittleMemory);
    assert_eq!(error(named().key_cookies(["theme"])), KeyWithoutTtl);
    assert_eq!(error(named().ttl(Duration::from_secs(1)).key_fields(["a b"])), InvalidField("a b".to_owned()));
    assert!(named().profile(Profile::Rfc).build().is_ok());
}

#[tokio::test]
async fn a_response_says_nothing_of_the_cache_if_it_is_not_to() {
    let site = Site::new(|builder| builder.cache_status(false), |_| page("max-age=60", "hello"));
    for _ in 0..2 {
        assert_eq!(site.get("/").await.field("cache-status"), None);
        site.settled().await;
    }
}

#[tokio::test]
async fn a_url_that_no_purge_could_name_passes() {
    let site = Site::new(|builder| builder, |asked| page("max-age=60", &asked.number.to_string()));
    for (target, calls) in [("/caf%C3%A9", ["1", "1"]), ("/café", ["2", "3"])] {
        for call in calls {
            assert_eq!(site.get(target).await.body, call, "{target}");
            site.settled().await;
        }
    }
}

#[tokio::test]
async fn each_hit_has_its_own_age_and_status_beside_the_fields_of_the_application() {
    let site = Site::new(
        |builder| builder,
        |_| {
            let mut page = page("max-age=60", "hello");
            for (name, value) in [("cache-status", "inner; hit"), ("x-one", "1"), ("x-two", ""), ("x-two", "2")] {
                page.headers_mut().append(name, value.parse().unwrap());
            }
            page
        },
    );
    site.get("/").await;
    site.settled().await;
    for age in ["5", "10"] {
        site.later(5);
        let got = site.get("/").await;
        let all = |name| got.headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect::<Vec<_>>();
        let left = format!("kasoku; hit; ttl={}; detail=hit", 60 - age.parse::<u64>().unwrap());
        assert_eq!((all("age"), all("cache-control")), (vec![age], vec!["max-age=60"]));
        assert_eq!(all("cache-status"), ["inner; hit", &left]);
        assert_eq!((all("x-one"), all("x-two"), all("content-length")), (vec!["1"], vec!["", "2"], vec!["5"]));
    }
}
