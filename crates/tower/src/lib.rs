//! An HTTP cache for applications in Rust, as a Tower layer: for axum, hyper, and any other service of HTTP requests.
//!
//! [`CacheLayer`] answers what it has stored in the task of its caller, without a call to the application. It is a shared cache by RFC 9111,
//! with collapsed misses (a hundred requests for a page that is not stored call the application once), refreshes in the background
//! (RFC 5861), `Vary`, conditions, ranges, bounded memory, and purges by URI, prefix or tag.
//!
//! ```
//! use axum::{Router, body::Body, http::header::CACHE_CONTROL, response::Response, routing::get};
//! use kasoku_tower::{CacheLayer, Scheme};
//! use tower::{ServiceBuilder, make::Shared};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let (cache, handle) = CacheLayer::builder()
//!     .memory_bytes(256 << 20)
//!     .authority(Scheme::Https, "blog.example")
//!     .build()?;
//! let pages = Router::new().route("/", get(|| async { ([(CACHE_CONTROL, "max-age=60")], "the front page") }));
//! // Around the whole router, and not by `Router::layer`: see below.
//! let blog = ServiceBuilder::new().map_response(|page: Response<_>| page.map(Body::new)).layer(cache).service(pages);
//!
//! // When the front page has changed:
//! handle.purge("/").await?;
//! # if false {
//!
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
//! axum::serve(listener, Shared::new(blog)).await?;
//! # }
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(run()).unwrap();
//! ```
//!
//! # What the layer asks for, and does not guess
//!
//! - **Scheme and authority**: [`CacheBuilder::authority`] for an application with one name, [`CacheBuilder::authorities`] for one with
//!   several. A `Host` that is not listed can't enter a key.
//! - **Who asks**: without [`CacheBuilder::identify`], each request with `Authorization`, or with a cookie that is not in the key, passes: it goes to
//!   the application unchanged, and its response is neither stored nor taken from what is stored. With it, the application says for each request
//!   whether its visitor is anonymous.
//! - **The client's address**: [`CacheBuilder::client`].
//!
//! # What the application sees
//!
//! A request that passes arrives unchanged, with its extensions.
//!
//! A response that may be shared is rendered for all visitors. So its request is made anew, as by a proxy that is a cache: its target and
//! `Host` are those of the key, fields by which clients address proxies and frameworks are removed, the body is empty, and there are **no
//! extensions**, except those of [`CacheBuilder::keep_extension`]: sessions, users and addresses are in extensions, and one visitor's must
//! not render a page that all visitors get. If the response to such a request may not be shared, and anything that the visitor sent was kept
//! back, the visitor's own request is sent to the application, unchanged.
//!
//! Without [`CacheBuilder::ttl`], the other fields of the visitor's request reach the application. As with any cache, a response that depends on one
//! of them names it in `Vary`, or is `private`. With `ttl`, only the fields and cookies in the key reach the application.
//!
//! This is why the layer belongs around the whole [`Router`](https://docs.rs/axum/0.8/axum/struct.Router.html), and not into it by
//! `Router::layer`: there, the router has already put the parameters of the path into extensions of its own. Extensions that all requests get,
//! like a pool of connections, are added inside of the cache. Extensions that say nothing of a visitor are named by
//! [`CacheBuilder::ignore_extension`], so that no page is rendered twice because of them.
//!
//! Each call of [`CacheLayer`]'s `layer` makes a service of another application: its responses are never used for the service of another
//! call, though they share the memory and the handle. Layer once, and clone the service. Where a program calls `layer` itself, as
//! `Router::layer` does for each connection, [`CacheLayer::application`] says that all these services are one application.
//!
//! # The runtime
//!
//! Misses and refreshes run in tasks of tokio's runtime, which must have its timer enabled. They go on when the client leaves; without the layer, a
//! server drops the call then. A handler that never answers keeps its task for ever, and at most [`CacheBuilder::fills_max`] tasks run. So put a
//! timeout around the handler, inside of the cache. How long others wait for such a handler, and what they get then, is told at
//! [`CacheBuilder::fill_wait_max`].
//!
//! # The disk tier
//!
//! With the feature `disk` (off by default), `CacheBuilder::disk` keeps responses in a directory as well: those for which memory has no room, and
//! all of them after a restart. It is the disk tier of the server, with the same promises:
//!
//! - What is read is what was written. Each chunk is compared with its checksum before any byte of it leaves. Damaged responses are misses;
//!   where a later chunk of a large body is damaged, the body ends with an error, so that the server cuts the connection.
//! - A purge holds. Its future ends when the purge is on disk, and is an error where that can't be done. The answer to an unsafe request waits in
//!   the same way for what it has made invalid, and goes out in any case.
//! - A disk that fails, is full or does not answer within five seconds causes no error for visitors, except within a large body: the application
//!   answers instead. [`CacheBuilder::build`] fails only if the directory can't be used at the start. If opening it takes longer than five
//!   seconds, it goes on in the background, and `CacheHandle::disk_status` reports a failure.
//! - What clients read from disk is memory beside [`CacheBuilder::memory_bytes`]: a chunk of at most 256 KiB or two for each client that reads.
//! - A body above 1 MiB stays on disk and is read while it is sent. One that memory does not take (`CacheBuilder::object_bytes_max`) goes to disk
//!   while it comes, up to a quarter of the directory's size.
//!
//! One process at a time uses a directory: a second one gets an error until the first has called `CacheHandle::stop_disk`, has dropped all of
//! the layer and its responses, or has ended. After a restart, responses are found as the index is read: most of it within the first second.
//!
//! # Several processes
//!
//! Without more, each process of an application has a cache of its own, and a purge holds in the process in which it was called.
//!
//! - With the feature `shared`, `CacheBuilder::shared` keeps responses in memcached servers or in Redis as well, and all processes answer what one of
//!   them has fetched. A miss asks there before the application is called. Of several processes that miss a page at once, one calls its
//!   application and the others wait. An item is hostile input: it is compared with its checksum, or its HMAC where there is a secret, and
//!   passes the rules for responses again.
//! - With the feature `peers`, `CacheBuilder::peers` tells purges to other processes and nothing else. Each process listens for the others.
//!
//! Both are off by default, and both are those of the server, in the same format. With either:
//!
//! - **A purge holds within a second in all processes** that can reach the servers or each other, and so does what an unsafe request makes
//!   invalid. The future of a purge ends when each server, or each peer, that can be reached has it, or after a second; [`Purged::reached_all`]
//!   says whether all have it. The answer to an unsafe request waits in the same way.
//! - **A thread of its own follows the purges of the others**, on a runtime of its own. [`CacheBuilder::build`] starts it, and blocks until each
//!   server or peer was asked, for a second at most. It ends with the last of layer, services and handles. Dropping that one blocks until the
//!   last purges are written, for two seconds at most.
//! - **A server that fails costs no visitor an error**: after one timeout it is not asked until it answers again.
//!
//! The connections to the servers belong to the runtime on which a fill runs, and each runtime has its own. It needs its timer and its I/O enabled. On
//! a runtime without a timer, the application answers.
//!
//! # What outlives the process
//!
//! A response on disk or in the shared tier outlives the process that has stored it, and its code. Another process, or the next one, uses the
//! response in an application with the same name (`CacheLayer::named_application`), if its cache is told the same lifetimes, keys and version
//! (`CacheBuilder::version`). The responses of an application without a name are for its own process only.
//!
//! # What the layer does not do
//!
//! - Shared requests run outside of their visitors' tasks: without task-locals and without the spans of tracing that were entered there.
//! - Extensions of a response are not stored: a shared page has none, neither as a hit nor for the first visitor.
//! - It does not see that an application requests a page from itself, through its cache, while it renders that page. Such a request waits
//!   for its own fill, for as long as [`CacheBuilder::fill_wait_max`] says. Request such parts from the inner service.
//! - No function of the application decides about a response. A response that is not to be stored says `no-store`.
//! - The URI in [`CacheHandle::purge`] is the one that the service sees. Two applications of one layer that see the same URI (nested routers)
//!   take turns in one place of the cache.

mod body;
mod build_error;
mod builder;
mod counts;
#[cfg(feature = "disk")]
mod disk;
mod fetch;
mod future;
mod handle;
mod message;
mod pass;
mod recycle;
mod removals;
mod respond;
mod route;
mod rules;
mod service;
mod shared;
mod shared_fills;
mod tiers;
mod visit;

pub use body::{BoxError, CacheBody};
pub use build_error::BuildError;
pub use builder::CacheBuilder;
#[cfg(feature = "disk")]
pub use disk::DiskTier;
pub use future::ResponseFuture;
pub use handle::{CacheHandle, PurgeError, Statistics};
pub use kasoku_cache::Purged;
#[cfg(feature = "disk")]
pub use kasoku_cache::disk::{Admission, DiskCounts, DiskState, DiskStatus};
pub use kasoku_cache::purge_exchange::settings::ExchangeError;
#[cfg(feature = "peers")]
pub use kasoku_cache::purge_exchange::settings::Peers;
#[cfg(feature = "shared")]
pub use kasoku_cache::purge_exchange::settings::{
    ClientFiles, MemcachedServer, Ring, ServerDown, SharedTier, TlsFiles,
};
#[cfg(feature = "peers")]
pub use kasoku_cache::purge_exchange::{PeerStatus, PeersStatus};
#[cfg(feature = "shared")]
pub use kasoku_cache::shared::{ServerStatus, TierStatus};
pub use kasoku_semantics::policy::Profile;
pub use rules::{Scheme, Visitor};
pub use service::{ApplicationLayer, CacheLayer, CacheService};
