//! A request: as it came, where it belongs, whose it is, and what of it an origin may see. Nothing here has a socket, a cache or a clock.
//!
//! | file | what |
//! |---|---|
//! | `message`, `peer` | the request as it was sent, and who is at the other end |
//! | `route` | trusted proxies, effective URI, site, rule, key |
//! | `path` | a path as applications read it, for finding the rule |
//! | `url_credentials` | URLs that pass, since a credential stands in them |
//! | `changing` | what the configuration says that it changes |
//! | `passes` | which requests never meet the cache, and why |
//! | `forward` | the request as it goes to the origin |
//! | `request_id` | its id, in the log and in the application's |
//! | `respond`, `notes` | the fields that tell what became of it |

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
pub(crate) mod url_credentials;
