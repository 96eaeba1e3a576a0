//! An axum application that mounts the cache in front of a service that asks another server: so the suite of `tests/conformance` runs against
//! the layer as it does against the program, whose arguments it takes.
//!
//! `node tests/conformance/run.mjs --layer`

use axum::body::Body;
use axum::error_handling::HandleErrorLayer;
use http::header::{CONNECTION, HOST, HeaderValue, TE, TRANSFER_ENCODING, UPGRADE};
use http::{Request, Response, StatusCode, Uri};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use kasoku_tower::{BoxError, CacheLayer, Profile, Scheme, Visitor};
use std::collections::HashMap;
use tokio::net::{TcpListener, TcpStream};
use tower::make::Shared;
use tower::{ServiceBuilder, service_fn};

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let named: HashMap<_, _> = arguments.chunks(2).filter_map(|pair| Some((pair.first()?, pair.get(1)?))).collect();
    let argument = |name: &str| named.get(&name.to_owned()).copied().ok_or(format!("{name} is missing"));
    let profile = if argument("--profile")? == "rfc" { Profile::Rfc } else { Profile::Safe };
    let listener = TcpListener::bind(argument("--listen")?).await?;
    let origin = argument("--origin")?.parse::<Uri>()?.authority().ok_or("the origin has no authority")?.to_string();

    let (cache, _) = CacheLayer::builder()
        .profile(profile)
        .authority(Scheme::Http, argument("--listen")?.as_str())
        // As the program does, which knows no visitors unless it is told.
        .identify(|_| Visitor::Unknown)
        .build()?;
    let asked = service_fn(move |request| ask(origin.clone(), request));
    let failed = HandleErrorLayer::new(async |_: BoxError| StatusCode::BAD_GATEWAY);
    let service = ServiceBuilder::new().layer(failed).layer(cache).service(asked);
    axum::serve(listener, Shared::new(service)).await?;
    Ok(())
}

/// Asks the origin, on a connection for this request alone.
async fn ask(origin: String, mut request: Request<Body>) -> Result<Response<hyper::body::Incoming>, BoxError> {
    for name in [CONNECTION, TE, TRANSFER_ENCODING, UPGRADE] {
        request.headers_mut().remove(name);
    }
    request.headers_mut().insert(HOST, HeaderValue::from_str(&origin)?);
    let (mut sender, connection) = handshake(TokioIo::new(TcpStream::connect(origin).await?)).await?;
    tokio::spawn(connection);
    Ok(sender.send_request(request).await?)
}
