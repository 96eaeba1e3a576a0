//! The layer around an axum application that hyper serves: what goes over the wire.

#![allow(clippy::unwrap_used)]

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing::get;
use http::header::{CACHE_CONTROL, ETAG};
use kasoku_tower::{CacheHandle, CacheLayer, Scheme};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceBuilder;
use tower::make::Shared;

async fn serve() -> (SocketAddr, CacheHandle) {
    let (cache, handle) = CacheLayer::builder().authority(Scheme::Http, "a.example").build().unwrap();
    let page = async || ([(CACHE_CONTROL, "max-age=60"), (ETAG, "\"1\"")], "0123456789");
    let cut = async || {
        let pieces = [Ok("01234"), Err(std::io::Error::other("cut"))];
        let body = Body::from_stream(Pieces(pieces.into_iter()));
        Response::builder().header(CACHE_CONTROL, "max-age=60").body(body).unwrap()
    };
    let pages = Router::new().route("/", get(page)).route("/cut", get(cut));
    let app = ServiceBuilder::new().map_response(|page: Response<_>| page.map(Body::new)).layer(cache).service(pages);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, Shared::new(app)).await });
    (address, handle)
}

struct Pieces<I>(I);

impl<I: Iterator + Unpin> futures_core::Stream for Pieces<I> {
    type Item = I::Item;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<I::Item>> {
        std::task::Poll::Ready(self.0.next())
    }
}

/// The bytes that a connection brings for such a request line and field.
async fn raw(address: SocketAddr, line: &str, field: &str) -> String {
    let mut connection = TcpStream::connect(address).await.unwrap();
    let request = format!("{line} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n{field}\r\n");
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A connection that is cut may be reset.
    let _ = connection.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hits_misses_heads_and_conditions_are_framed() {
    let (address, handle) = serve().await;
    for (line, field, status, body) in [
        ("GET /", "", "200 OK", "0123456789"),
        ("GET /", "", "200 OK", "0123456789"),
        ("HEAD /", "", "200 OK", ""),
        ("GET /", "If-None-Match: \"1\"\r\n", "304 Not Modified", ""),
        ("GET /", "Range: bytes=1-2\r\n", "206 Partial Content", "12"),
        ("GET http://a.example/", "", "200 OK", "0123456789"),
    ] {
        let answer = raw(address, line, field).await;
        let (head, got) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with(&format!("HTTP/1.1 {status}\r\n")) && got == body, "{answer}");
        let length = head.to_ascii_lowercase().matches("content-length: ").count();
        assert_eq!(length, usize::from(!status.starts_with("304")), "{answer}");
        assert!(!head.contains("chunked"), "{answer}");
        while handle.statistics().fills > 0 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(handle.statistics().misses, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_breaks_off_does_not_look_whole() {
    let (address, handle) = serve().await;
    let answer = raw(address, "GET /cut", "").await;
    assert!(!answer.ends_with("0\r\n\r\n"), "{answer}");
    assert_eq!(handle.statistics().stored, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_share_the_pages_of_a_layer_in_the_router() {
    let (cache, handle) = CacheLayer::builder().authority(Scheme::Http, "a.example").build().unwrap();
    let app = Router::new().route("/", get(async || ([(CACHE_CONTROL, "max-age=60")], "hello")));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app.layer(cache.application())).await });
    for says in ["fwd=uri-miss", "; hit;", "; hit;"] {
        let answer = raw(address, "GET /", "").await;
        assert!(answer.contains(says), "{says}: {answer}");
        while handle.statistics().fills > 0 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!((handle.statistics().misses, handle.statistics().keys), (1, 1));
}
