//! The origins' side of one worker: which crate asks an origin of which kind, and one type for what all of them answer.
//!
//! `kasoku_origin` asks servers of HTTP, `kasoku_programs` all other kinds, and neither knows how the other one's bodies come. Here both
//! meet: a [`Client`] asks each kind in its way, with the same request, and gives back the same [`Response`].

mod client;
mod response;

pub(crate) use client::Client;
pub(crate) use response::{Body, Reply, Response, refused};
