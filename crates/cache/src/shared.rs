//! The shared tier below memory and disk: what is written there, and what of it may be used.
//!
//! | file | job |
//! |---|---|
//! | `content` | the content of an item as text, and back |
//! | `lines` | the lines with which a content begins |
//! | `usable` | whether what an item says may be used for a request |

#[cfg_attr(not(test), expect(dead_code, reason = "no look-up asks the shared tier yet"))]
mod content;
mod lines;
#[cfg_attr(not(test), expect(dead_code, reason = "no look-up asks the shared tier yet"))]
mod usable;
