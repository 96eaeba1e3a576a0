//! Tests of the cache: what is stored, for how long, and which clients get it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test may panic")]

mod age;
mod client_directives;
mod collapse;
mod compression;
mod conditional;
mod cookies_and_credentials;
mod disk;
mod disk_large;
mod disk_parts;
mod freshness;
mod invalidation;
mod partial;
mod purge;
mod ranges;
mod refused_urls;
mod reload;
mod revalidation;
mod short_addresses;
mod sites_and_rules;
mod stale;
mod storing;
mod vary;
