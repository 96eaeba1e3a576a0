//! A Kasoku server in front of the blog, configured by `servers.py`. An edit purges there by `PURGE` (docs/operations.md, Purging).
//!
//! A rule of the server gives its pages fixed tags, or tags made of parameters of the query. The blog's URLs have no query, so only the lists of
//! all posts have a tag, a fixed one. A post is purged by its URL, and the lists of the posts with a tag by the prefix of their URLs.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Request, StatusCode, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

const PURGE_WAIT_MAX: Duration = Duration::from_secs(5);

/// Why a purge was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum PurgeFailure {
    #[error("it cannot be reached: {0}")]
    Connect(#[from] std::io::Error),
    #[error("the purge was not answered: {0}")]
    Http(#[from] hyper::Error),
    #[error("the purge cannot be written: {0}")]
    Request(#[from] axum::http::Error),
    #[error("the purge was answered with {0}")]
    Refused(StatusCode),
    #[error("the purge was not answered in time")]
    Timeout,
}

pub struct Pages {
    server: SocketAddr,
}

impl Pages {
    pub fn new(server: SocketAddr) -> Self {
        Self { server }
    }

    pub async fn purge(&self, tags: &[String]) -> Result<(), PurgeFailure> {
        for tag in tags {
            timeout(PURGE_WAIT_MAX, self.send(purge_of(tag))).await.map_err(|_| PurgeFailure::Timeout)??;
        }
        Ok(())
    }

    async fn send(&self, Purge { path, field }: Purge) -> Result<(), PurgeFailure> {
        let connection = TcpStream::connect(self.server).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(connection)).await?;
        let mut purge = Request::builder().method("PURGE").uri(path).header(header::HOST, self.server.to_string());
        if let Some((name, value)) = field {
            purge = purge.header(name, value);
        }
        let purge = purge.body(Body::empty())?;
        // The connection has to be driven while the answer is on its way, and ends with its sender.
        let driver = tokio::spawn(connection);
        let answer = sender.send_request(purge).await;
        driver.abort();
        match answer?.status() {
            StatusCode::OK => Ok(()),
            refused => Err(PurgeFailure::Refused(refused)),
        }
    }
}

struct Purge {
    path: String,
    field: Option<(HeaderName, HeaderValue)>,
}

fn purge_of(tag: &str) -> Purge {
    if let Some(id) = tag.strip_prefix("post-") {
        return Purge { path: format!("/post/{id}"), field: None };
    }
    if let Some(tag) = tag.strip_prefix("tag-") {
        let field = (HeaderName::from_static("x-purge-method"), HeaderValue::from_static("prefix"));
        // Lists of tags with a longer name that begins like this one are made anew as well.
        return Purge { path: format!("/tag/{tag}"), field: Some(field) };
    }
    let field = (HeaderName::from_static("xkey-purge"), HeaderValue::from_static("lists"));
    Purge { path: "/".to_owned(), field: Some(field) }
}
