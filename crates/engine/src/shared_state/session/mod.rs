//! What is known of visitors' sessions.

pub(crate) mod contents;
pub(crate) mod cookie_activity;
pub(crate) mod identity;
pub(crate) mod table;

pub(crate) use identity::RequestIdentity;
