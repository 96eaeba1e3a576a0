//! A request: as it came, its site, rule and key, whether it passes, and what of it an origin may see. Nothing here reads a socket
//! or a clock.
//!
//! | file | what |
//! |---|---|
//! | `message`, `peer` | the request as it was sent, and the peer of its connection |
//! | `route` | trusted proxies, effective URI, site, rule, key |
//! | `path` | a path as applications read it, for finding the rule |
//! | `changing` | what the request changes, by the configuration |
//! | `passes` | which requests pass without a look-up, and why |
//! | `forward` | the request as it goes to the origin |
//! | `request_id` | the id of a request, in our log and in the application's |
//! | `respond`, `notes` | the response fields that tell what became of the request |

pub(crate) mod changing;
pub(crate) mod forward;
pub(crate) mod message;
pub(crate) mod notes;
pub(crate) mod passes;
pub(crate) mod path;
pub(crate) mod peer;
pub(crate) mod request_id;
pub(crate) mod respond;
pub(crate) mod route;
