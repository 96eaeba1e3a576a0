//! Fuzz target for values in the shared tier: the content of an item, as a forger puts it under a correct checksum.

use kasoku_cache::data::is_read_as_written;

pub(crate) fn run(data: &[u8]) {
    // What is read says the same when it is written and read again, and ends within the content. Without it, the item is a miss.
    assert_ne!(is_read_as_written(data), Some(false));
}
