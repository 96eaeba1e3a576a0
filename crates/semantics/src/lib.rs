//! Decides about caching by RFC 9111 and its neighbours, in pure functions of request, response, policy and time.
//!
//! Nothing here reads a clock, a socket or a configuration file; each decision is a value, and each refusal names
//! its [`Reason`]. A head passes through the files in this order:
//!
//! | question | file |
//! |---|---|
//! | which URI does a request ask for? which client sent it? | [`effective_uri`], [`client_address`] |
//! | what of it does the origin get, if the response may be shared, and if not? by which of its fields does it pass? | [`mod@forward`], [`unkeyed`], [`anonymous_request`], [`request_fields`], [`stand_in`] |
//! | what does the client ask of the cache? may the cache answer? | [`request`] |
//! | which stored variant fits? | [`mod@vary`] |
//! | how old is it, how long is it fresh? | [`age`], [`mod@freshness`], [`accel_expires`] |
//! | may it be used now? | [`mod@reuse`] |
//! | does the client have it already? which part does it want? which validators count? | [`mod@precondition`], [`mod@range`], [`validators`] |
//! | in which content coding does the client get it? of which responses are codings made? | [`coding`], [`coding_rules`] |
//! | how does the cache validate it, and what does the origin's answer change? | [`validation`] |
//! | may the origin's answer be stored, and which of its fields? | [`mod@storable`], [`credentials`], [`stored_fields`], [`partial`], [`media_type`] |
//! | for how long, by the operator's grant, and on which condition? | [`grant`], [`effective`], [`cookies`], [`classes`], [`set_cookies`], [`secrets`], [`charset`] |
//! | is a page the same for all visitors? does its URL belong to one? | [`difference`], [`url_credentials`] |
//! | what does an unsafe method make invalid? what is dropped together? | [`invalidation`], [`tags`] |
//! | what is the client told about it? | [`downstream`], [`cache_status`], [`our_name`], [`reason`] |
//! | what is the operator told about it, line by line, and what would help? | [`evidence`], [`ground`], [`mod@advice`], [`suggestion`] |
//!
//! Patterns of names are [globs](glob). [`query`] knows how applications read a query, [`links`] where the links of a page lead.
//!
//! The cache is a shared one. Two profiles ([`Profile`]) choose between what the RFCs alone say and what is safe in front of
//! applications that do not know of caches. Each difference stands in the function that makes it.

pub mod accel_expires;
pub mod advice;
pub mod age;
pub mod anonymous_request;
pub mod cache_status;
pub mod charset;
pub mod classes;
pub mod client_address;
pub mod coding;
mod coding_levels;
pub mod coding_rules;
pub mod cookies;
pub mod credentials;
mod deception;
pub mod declared_charset;
pub mod deleted_cookies;
pub mod difference;
pub mod directives;
pub mod downstream;
pub mod effective;
pub mod effective_uri;
pub mod empty_token;
mod encoded;
pub mod evidence;
pub mod forward;
pub mod freshness;
pub mod glob;
pub mod grant;
pub mod ground;
pub mod hop_by_hop;
pub mod invalidation;
pub mod links;
pub mod media_type;
mod our_fields;
pub mod our_name;
mod overruling;
pub mod partial;
pub mod policy;
pub mod precondition;
pub mod query;
pub mod range;
pub mod reason;
pub mod request;
pub mod request_fields;
pub mod reuse;
pub mod secrets;
mod set_cookie_line;
pub mod set_cookies;
pub mod stand_in;
pub mod storable;
pub mod stored_fields;
pub mod suggestion;
pub mod tags;
pub mod time;
pub mod unkeyed;
pub mod url_credentials;
pub mod url_path;
pub mod validation;
pub mod validators;
pub mod vary;

#[cfg(test)]
mod testing;

pub use age::{corrected_initial_age, current_age, stated_age};
pub use cache_status::{CacheStatus, Fwd};
pub use deception::{is_named_file, names_file};
pub use freshness::{Freshness, LifetimeSource, freshness};
pub use hop_by_hop::strip_hop_by_hop;
pub use invalidation::{invalidated_uris, invalidates};
pub use partial::{PartialContent, combinable, missing, part};
pub use policy::{Policy, Profile};
pub use precondition::{Precondition, goes_into_not_modified, precondition};
pub use range::{ByteRange, RangeOutcome, if_range_holds, range};
pub use reason::Reason;
pub use request::{RequestDirectives, may_look_up, request_directives};
pub use reuse::{OriginFailure, Reuse, reuse, stale_on_failure};
pub use storable::{objections, post_stores_for_get, storable};
pub use stored_fields::fields_to_store;
pub use time::Now;
pub use validation::{Freshened, HeadOutcome, freshen, freshness_after_validation, head_response, make_conditional};
pub use validators::Validators;
pub use vary::{Vary, language_selects, variant_key, vary};
