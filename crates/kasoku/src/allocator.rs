//! Chooses the allocator: jemalloc, since what is resident beside what responses hold is the allocator's doing.
//!
//! Responses of all sizes come and go for weeks, on several threads. With glibc's allocator, a tier of 256 MiB full of 10-byte
//! bodies takes 215 to 367 MiB, by how many workers there are; with jemalloc, it takes 198 (docs/decisions/0035).

use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// What jemalloc reads when it starts. Memory that was freed goes back to the kernel after a second (the default is ten, and a busy cache turns over
/// gigabytes in ten seconds), by a thread of its own, so that it goes back as well when nothing is allocated any more.
#[allow(unsafe_code, reason = "jemalloc finds its options by the name of a symbol; nothing else has this one")]
// SAFETY: jemalloc declares this symbol for the program to define, as a pointer to text that ends in NUL.
#[unsafe(export_name = "_rjem_malloc_conf")]
static OPTIONS: &u8 = &b"background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0\0"[0];
