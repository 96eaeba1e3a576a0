//! Visitors of whom the shared request lacks something: they get what their own requests bring, and change nothing for the others.

#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "not all of it is needed here")]
mod support;

use axum::body::Body;
use http::header::{COOKIE, ETAG, IF_NONE_MATCH, SET_COOKIE};
use http::{Request, Response, StatusCode};
use kasoku_tower::Visitor;
use std::time::Duration;
use support::{Asked, Site, page, plain, request};
use tower::{Layer, ServiceExt, service_fn};

/// An answer of this status that is not for all.
fn refusal(status: StatusCode) -> Response<Body> {
    let mut response = page("no-store", "");
    *response.status_mut() = status;
    response
}

#[tokio::test]
async fn a_field_that_only_the_visitors_own_request_has_is_asked_with() {
    // As behind a proxy whose fields the layer keeps back, for an application whose handlers need them.
    for name in ["X-Forwarded-For", "X-Real-IP", "X-Original-URL", "Traceparent"] {
        let site = Site::new(
            |builder| builder,
            move |asked| match asked.headers.get(name).is_some_and(|value| value == "192.0.2.7") {
                true => page("no-store", "yours"),
                false => refusal(StatusCode::INTERNAL_SERVER_ERROR),
            },
        );
        let got = site.send(request("/").header(name, "192.0.2.7")).await;
        assert_eq!((got.status, &*got.body), (StatusCode::OK, "yours"), "{name}");
    }
}

#[tokio::test]
async fn where_a_lifetime_is_granted_every_private_page_is_asked_for_with_all_fields() {
    let site = Site::new(
        |builder| builder.ttl(Duration::from_secs(60)).identify(|_| Visitor::Anonymous),
        |asked| match asked.headers.get("x-api-key") {
            Some(_) => page("private", "yours"),
            None => refusal(StatusCode::UNAUTHORIZED),
        },
    );
    let got = site.send(request("/").header("X-Api-Key", "1")).await;
    assert_eq!((got.status, &*got.body), (StatusCode::OK, "yours"));
    let events = |asked: &Asked| {
        let last = asked.headers.get("last-event-id").map_or("none", |id| id.to_str().unwrap()).to_owned();
        let mut events = plain(&last);
        events.headers_mut().insert("content-type", "text/event-stream".parse().unwrap());
        events
    };
    let site = Site::new(|builder| builder.ttl(Duration::from_secs(60)), events);
    assert_eq!(site.send(request("/events").header("Last-Event-ID", "7")).await.body, "7");
}

#[tokio::test]
async fn conditions_and_fields_of_the_connection_cost_no_second_call() {
    let site = Site::new(|builder| builder, |_| page("private", "hello"));
    let usual = request("/")
        .header("Host", "blog.example")
        .header("Connection", "keep-alive")
        .header("User-Agent", "browser")
        .header("Accept-Language", "de")
        .header("Content-Length", "0")
        .header("If-None-Match", "\"1\"");
    assert_eq!(site.send(usual).await.body, "hello");
    assert_eq!(site.asked(), 1);
}

/// What only this visitor's own requests have.
#[derive(Clone)]
struct User;

fn visitor(target: &str) -> http::request::Builder {
    request(target).extension(User)
}

#[tokio::test]
async fn one_error_does_not_make_all_visitors_pass() {
    for status in [StatusCode::INTERNAL_SERVER_ERROR, StatusCode::BAD_REQUEST, StatusCode::RANGE_NOT_SATISFIABLE] {
        let site = Site::new(
            |builder| builder,
            move |asked| if asked.number == 1 { refusal(status) } else { page("max-age=60", "hello") },
        );
        assert_eq!(site.send(visitor("/").header("Range", "bytes=9-")).await.body, "hello");
        site.settled().await;
        site.send(visitor("/")).await;
        site.settled().await;
        let hit = site.send(visitor("/")).await;
        assert!(hit.cache_status().contains("; hit;"), "{status}: {}", hit.cache_status());
        assert_eq!(site.asked(), 3, "{status}");
    }
}

#[tokio::test]
async fn a_page_that_is_for_no_other_visitor_is_not_always_asked_for_twice() {
    for status in [StatusCode::OK, StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN] {
        let site = Site::new(|builder| builder, move |_| refusal(status));
        for asked in [2, 3, 4] {
            site.send(visitor("/")).await;
            assert_eq!(site.asked(), asked, "{status}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_handler_that_panics_without_the_visitor_is_called_with_the_visitor() {
    let site = Site::new(
        |builder| builder,
        |asked| {
            asked.extensions.get::<User>().unwrap();
            page("private", "yours")
        },
    );
    for _ in 0..3 {
        let visits: Vec<_> = (0..40).map(|_| site.begin(visitor("/"))).collect();
        for visit in visits {
            assert_eq!(visit.await.unwrap().body, "yours");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_service_that_fails_without_the_visitor_is_called_with_the_visitor() {
    let (cache, _handle) = support::builder().build().unwrap();
    let app = cache.layer(service_fn(async |request: Request<Body>| {
        request.extensions().get::<User>().map(|_| page("private", "yours")).ok_or("who is it?")
    }));
    let visit = |request: http::request::Builder| app.clone().oneshot(request.body(Body::empty()).unwrap());
    for _ in 0..3 {
        let visits: Vec<_> = (0..40).map(|_| tokio::spawn(visit(visitor("/")))).collect();
        for visit in visits {
            assert_eq!(visit.await.unwrap().unwrap().status(), StatusCode::OK);
        }
    }
    // The failure of a request that lacks nothing is remembered, and changes nothing for visitors.
    for _ in 0..3 {
        let nobody = visit(request("/")).await;
        assert!(nobody.is_err() || nobody.is_ok_and(|response| response.status().is_server_error()));
    }
    assert_eq!(visit(visitor("/")).await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn a_confirmation_that_opens_a_session_is_for_no_visitor_who_has_one() {
    let site = Site::new(
        |builder| builder.identify(|_| Visitor::Anonymous),
        |asked| {
            let mut page = page("max-age=60", "a page");
            page.headers_mut().insert(ETAG, "\"1\"".parse().unwrap());
            if asked.headers.contains_key(COOKIE) {
                *page.body_mut() = Body::from("with your cart");
            } else if asked.headers.contains_key(IF_NONE_MATCH) {
                *page.status_mut() = StatusCode::NOT_MODIFIED;
                page.headers_mut().insert(SET_COOKIE, "cart=new".parse().unwrap());
            }
            page
        },
    );
    site.get("/").await;
    site.settled().await;
    site.later(61);
    let own = site.send(request("/").header(COOKIE, "cart=7")).await;
    assert_eq!((own.field(SET_COOKIE), &*own.body), (None, "with your cart"));
}
