//! Asks origins of all kinds for one worker, and gives the answers of all of them one type.
//!
//! `kasoku_origin` asks HTTP servers and `kasoku_programs` all other kinds; neither knows the other's bodies. Here both meet: a
//! [`Client`] asks each kind in its way, with the same request, and returns the same [`Response`].

mod client;
mod response;

pub(crate) use client::Client;
pub(crate) use response::{Body, Reply, Response, refused};
