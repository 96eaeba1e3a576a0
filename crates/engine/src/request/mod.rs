//! A request: as it came, where it belongs, whose it is, and what of it an origin may see. Nothing here has a socket, a cache or a clock.
//!
//! | file | what |
//! |---|---|
//! | `message`, `peer`, `client_address` | the request as it was sent, who is at the other end, and who has asked |
//! | `route` | trusted proxies, effective URI, site, rule, key |
//! | `path` | a path as applications read it, for finding the rule |
//! | `url_credentials` | URLs that pass, since a credential stands in them |
//! | `changing` | what the configuration says that it changes |
//! | `pattern` | which URLs the leak guard looks at together |
//! | `passes` | which requests never meet the cache, and why |
//! | `visitor` | who passes, and what alone is sent, where a lifetime is granted |
//! | `unkeyed` | what is kept back where the answer may be shared |
//! | `forward` | the request as it goes to the origin |
//! | `shared` | **the request whose answer may be shared**: what is looked up, filled and sent to an origin |
//! | `anonymous_cookies` | the cookies that go along with what is asked for anonymously |
//! | `request_id` | its id, in the log and in the application's |
//! | `respond`, `notes` | the fields that tell what became of it |

pub(crate) mod anonymous_cookies;
pub(crate) mod changing;
pub(crate) mod client_address;
pub(crate) mod forward;
pub(crate) mod message;
pub(crate) mod notes;
pub(crate) mod passes;
pub(crate) mod path;
pub(crate) mod pattern;
pub(crate) mod peer;
pub(crate) mod request_id;
pub(crate) mod respond;
pub(crate) mod route;
pub(crate) mod shared;
pub(crate) mod unkeyed;
pub(crate) mod url_credentials;
pub(crate) mod visitor;
