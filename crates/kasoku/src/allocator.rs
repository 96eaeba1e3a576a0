//! Makes jemalloc the program's allocator, since the allocator decides how much memory is resident beyond what responses hold.
//!
//! Responses of all sizes come and go for weeks, on several threads. With glibc's allocator, a tier of 256 MiB full of 10-byte bodies
//! takes 215 to 367 MiB, depending on the number of workers; with jemalloc, it takes 198 MiB (docs/decisions/0035).

use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// The options that jemalloc reads at its start. A background thread returns freed memory to the kernel after a second, even while
/// the program allocates nothing. (The default is ten seconds, in which a busy cache turns over gigabytes.)
#[allow(unsafe_code, reason = "jemalloc finds its options by the name of a symbol; nothing else has this one")]
// SAFETY: jemalloc declares this symbol for the program to define, as a pointer to text that ends in NUL.
#[unsafe(export_name = "_rjem_malloc_conf")]
static OPTIONS: &u8 = &b"background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0\0"[0];
