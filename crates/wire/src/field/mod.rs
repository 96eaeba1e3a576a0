//! Header field values: bytes to values and back.
//!
//! Each file knows one field or one family of fields, and says nothing about what a cache does with it: that is the
//! crate `kasoku-semantics`. A parser takes the [`Fields`](crate::Fields) of a head (all lines of a name count) or one
//! value, never panics, allocates no more than the value is long, and works in time linear in its length.
//! What is invalid is visible in the result, so that the caller can choose the safe side.

pub mod accept_language;
pub mod age;
pub mod cache_control;
pub mod content_range;
pub mod date;
pub mod etag;
pub mod list;
pub mod range;
pub mod targeted;
