//! Sends a request to the collector over hyper, each on a connection of its own, since there are few.

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use opentelemetry_http::{HttpClient, HttpError};
use std::time::Duration;
use tokio::net::TcpStream;

/// The longest answer that is read, in bytes.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Collector {
    timeout: Duration,
}

impl Collector {
    /// A client that gives a request up after `timeout`.
    pub(crate) fn new(timeout: Duration) -> Self {
        Self { timeout }
    }
}

#[async_trait::async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        Ok(tokio::time::timeout(self.timeout, send(request)).await.map_err(|_| "it took too long")??)
    }
}

async fn send(request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let (mut head, body) = request.into_parts();
    let authority = head.uri.authority().ok_or("its URL has no host")?.clone();
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((host, authority.port_u16().unwrap_or(80))).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // The request goes to a server directly, so its target is the path alone (RFC 9112 section 3.2.1).
    head.headers.insert(HOST, HeaderValue::from_str(authority.as_str())?);
    head.uri = head.uri.path_and_query().map_or("/", |path| path.as_str()).parse()?;
    let exchange = async {
        let response = sender.send_request(Request::from_parts(head, Full::new(body))).await?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await?.to_bytes();
        Ok(Response::from_parts(head, body))
    };
    tokio::pin!(connection, exchange);
    tokio::select! {
        biased;
        answered = &mut exchange => answered,
        ended = &mut connection => {
            ended?;
            // The connection has ended, but what the collector sent before is here.
            exchange.await
        }
    }
}
