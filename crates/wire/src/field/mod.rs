//! Parsers and writers of header field values.
//!
//! Each file handles one field or one family of fields. The crate `kasoku-semantics` decides what the cache does with the values. A
//! parser takes the [`Fields`](crate::Fields) of a head (all lines of a name count) or one value, never panics, allocates no more
//! than the value is long, and works in time linear in its length. The result shows invalid input, so that the caller can choose
//! the safe side.

pub mod age;
pub mod cache_control;
pub mod content_range;
pub mod date;
pub mod etag;
pub mod list;
pub mod quality_list;
pub mod range;
pub mod targeted;
