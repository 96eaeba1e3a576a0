//! The path of a request. The files, in the order in which a request meets them:
//!
//! | file | step |
//! |---|---|
//! | [`engine`], [`listening`], `start_error` | starts and stops the workers, on which sockets; what a reload changes |
//! | [`handle`] | what others may ask of a running engine |
//! | `settings` | what a request is served by |
//! | `worker`, `event_loop` | one thread, one event loop, its own sockets, pool and counters |
//! | `course` | what the workers are to do: go on, or stop |
//! | `crew` | what the workers know of each other: how many connections each has |
//! | `accept` | takes connections |
//! | `servers` | the tasks that serve them, one after the other |
//! | `connection` | bytes from and to one client; the PROXY protocol |
//! | `exchange` | one request on its way, and what belongs to it |
//! | `serve` | **the driver**: calls the steps below, for each request of a connection |
//! | `parse` | bytes to a request, or to a refusal |
//! | `read_ahead` | what a client has sent ahead, and what of it is charged |
//! | `body` | the request's body: taken in before an origin is asked, or read while it is sent on |
//! | `pace` | how long its client may have us wait for it |
//! | `spool` | what of bodies is on disk |
//! | `form`, `changes`, `doubt` | what a request changes of what is stored, as far as its form and its answer tell |
//! | [`purge`] | what PURGE and the operator drop |
//! | [`explain`] | why a request gets what it gets, for whoever asks |
//! | [`doctor`] | what keeps requests from being hits, and what would help |
//! | `trial`, `ask_apart` | tries a line of the configuration before it is proposed |
//! | `session` | which sessions are known to be anonymous, and who is asked about them |
//! | `known` | small facts about visitors, bounded in number, which all workers share |
//! | `sites/` | what was declared, and what is made of it to serve by |
//! | `request/` | a request: where it belongs, whose it is, what of it an origin may see |
//! | `lookup` | asks the cache and carries out what it says |
//! | `fetch` | asks the origin: for one client alone, or into a fill |
//! | `held` | looks through an answer before anybody gets it, where a cookie of it would be dropped |
//! | [`guard`] | compares a page with another visitor's before it is shared |
//! | `origins` | which origin of several, and which next when it fails |
//! | `errand`, `origin_answer` | what an origin is asked for, and what it has said |
//! | `outages` | what the log says of an origin that is down, and of its return |
//! | `set_by` | how cookies were seen to be set |
//! | `sendfile` | the file that an origin's answer names, in its place |
//! | `checks` | asks origins whether they work, apart from all requests |
//! | `answer`, `delivered` | what a request gets, and what became of it |
//! | `deliver` | an answer to bytes: fills, origins' answers, our own |
//! | `stored` | a stored response to bytes: conditions, ranges, age |
//! | `represent` | in which content coding it goes out |
//! | `synthetic` | answers of our own: failures, OPTIONS, what came of a PURGE |
//! | `compress` | makes content codings of what is stored, on threads of its own |
//! | `outgoing` | a response on its way out; files by sendfile(2) |
//! | `head` | response heads as bytes |
//! | `multipart` | several ranges in one body |
//! | `timing` | what a request's origin took |
//! | `recycle` | memory that a worker uses again: a hit allocates nothing |
//! | `tunnel` | both directions after 101 |
//! | `error` | every failure: who is guilty, which status, which reason |
//! | `log` | counts, and tells |
//! | `beacon` | tells the application of visitors who were served from memory |
//! | `background` | what no request waits for |
//! | [`trace`] | where a request is in a trace, and what is told of it there |
//! | [`top`] | which URLs are missed most, and which take longest |
//! | `access_log` | a line for each request, to a file or to standard output |
//! | [`clock`] | the time; nothing below the worker reads it |

mod accept;
mod access_log;
mod answer;
mod ask_apart;
mod background;
mod beacon;
mod body;
mod changes;
mod checks;
pub mod clock;
mod compress;
mod connection;
mod course;
mod crew;
mod deliver;
mod delivered;
pub mod doctor;
mod doubt;
pub mod engine;
mod errand;
mod error;
mod event_loop;
mod exchange;
pub mod explain;
mod fetch;
mod form;
pub mod guard;
pub mod handle;
mod head;
mod held;
mod known;
pub mod listening;
mod log;
mod lookup;
mod multipart;
mod origin_answer;
mod origins;
mod outages;
mod outgoing;
mod pace;
mod parse;
pub mod purge;
mod read_ahead;
mod recycle;
mod represent;
mod request;
mod sendfile;
mod serve;
mod servers;
mod session;
mod set_by;
mod settings;
mod sites;
mod spool;
mod start_error;
mod stored;
mod synthetic;
mod timing;
pub mod top;
pub mod trace;
mod trial;
mod tunnel;
mod worker;

pub use engine::Engine;
pub use handle::Handle;
pub use kasoku_origin::{Directory, OriginNumbers};
pub use start_error::StartError;
