//! Decides which charset the Content-Type of a file says.
//!
//! The configured one ([`FileRules::charset`](kasoku_options::FileRules)), but none for an HTML page that declares another: a charset in the
//! head overrules the page's own, and the page would be garbled. So each response with an HTML file reads the file's first bytes, which costs
//! a system call of about 1 µs where the kernel has them, as it will for the body. A hit reads nothing: the head is stored.

use super::head::is_html;
use crate::document_root::{OpenFile, may_wait};
use kasoku_semantics::declared_charset::{PRESCANNED_BYTES, contradicts};
use rustix::io::{Errno, pread, preadv2};
use std::io::{self, IoSliceMut};

/// The charset to say of a file that is not compressed; empty: none.
///
/// # Errors
/// No thread could read it.
pub(super) async fn of_file<'c>(file: &OpenFile, configured: &'c str) -> io::Result<&'c str> {
    if configured.is_empty() || !is_html(&file.name) {
        return Ok(configured);
    }
    let mut beginning = [0; PRESCANNED_BYTES];
    let without_waiting = file.medium.without_waiting();
    let read = match preadv2(&*file.file, &mut [IoSliceMut::new(&mut beginning)], 0, without_waiting) {
        Ok(read) => read,
        // Not in memory, or the kernel can't tell.
        Err(_) => {
            let file = file.file.clone();
            let (read, waited) = may_wait(move || {
                let mut beginning = [0; PRESCANNED_BYTES];
                loop {
                    match pread(&*file, &mut beginning, 0) {
                        Err(Errno::INTR) => {}
                        // The body fails as well, and says so.
                        read => return Ok((read.unwrap_or(0), beginning)),
                    }
                }
            })
            .await?;
            beginning = waited;
            read
        }
    };
    let is_other = contradicts(beginning.get(..read).unwrap_or_default(), configured);
    Ok(if is_other { "" } else { configured })
}
