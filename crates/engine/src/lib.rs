//! Serves HTTP requests from the cache and from origins. Each folder is a room; a room imports only what stands above it in this table.
//!
//! | room | what is in it |
//! |---|---|
//! | `error`, `recycle` | every failure: who is at fault, which status, which reason; buffers that are reused |
//! | `sites/` | the declared sites and rules, made into what requests are served by |
//! | `request/` | a request: its site, rule and key, whether it passes, what of it an origin may see |
//! | [`door`] | the interface through which requests come and answers go: nothing below it knows a socket or a protocol |
//! | `origin_client/` | one client for all kinds of origins: servers, programs, files |
//! | `observe/` | the access log, spans, the tables behind `kasoku top` and `kasoku doctor` |
//! | `runtime/` | the worker, its settings and its clock, the balance between workers |
//! | `exchange/` | one request on its way, its body, its answer, and how the delivery ended |
//! | `deliver/` | sends an answer to the door: conditions, ranges, representations, files |
//! | `origin/` | which origin is asked, the request to it, its answer; the files that it names |
//! | `visitors/` | sessions and their probes, the leak guard, values of dropped cookies, beacons |
//! | `cache/` | look-up, joining, fill, pass; what a write drops |
//! | `operator/` | the log of requests, PURGE, `explain`, `doctor` |
//! | `pipeline` | **the driver**: calls the steps, for each request |
//! | `client/` | accepts connections; HTTP/1.1, the first door: parsing, the loop of a connection, sending |
//! | `server/` | starts and stops the workers, on which sockets; what a reload changes |
//!
//! The way of a request through them:
//!
//! ```text
//! client/accept -> client/http1/connection -> client/http1/parse -> pipeline -> request/route
//!   a hit:   cache/lookup (hit_at_once, hit_in_the_shared_tier)                     -> deliver/stored -> operator/log
//!   a miss:  cache/lookup -> cache/fetch/fill_task -> origin/send    -> visitors/   -> deliver        -> operator/log
//!   a pass:  cache/fetch/pass                      -> origin/send                   -> deliver        -> operator/log
//! ```

mod cache;
mod client;
mod deliver;
pub mod door;
mod error;
mod exchange;
mod observe;
mod operator;
mod origin;
mod origin_client;
mod pipeline;
mod recycle;
mod request;
mod runtime;
mod server;
mod sites;
mod visitors;

pub use kasoku_origin::{OriginNumbers, OriginRegistry};
pub use kasoku_semantics::difference::Difference;
pub use kasoku_visitors::leak_guard::{DifferenceReport, GuardState, Guarded};
pub use observe::{top, trace};
pub use operator::{doctor, explain, purge};
pub use runtime::handle::EngineHandle;
pub use runtime::{clock, handle};
pub use server::engine::{Engine, Entrance};
pub use server::start_error::StartError;
pub use server::{engine, listening};
