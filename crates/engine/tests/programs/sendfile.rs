//! Named files (X-Sendfile and its like), from the client's side: which client gets which bytes and which head, which fields
//! never reach a client, and that the application is free before the file has been sent.
mod answers;
mod changed;
mod kept;
mod programs;
mod rates;
mod refused;
mod stored;

use kasoku_options::{Route, SendfileRules};
use kasoku_testkit::Folder;
use std::sync::Arc;

/// The fields that a client must never see.
const NEVER: [&str; 9] = [
    "x-sendfile",
    "x-lighttpd-send-file",
    "x-sendfile-temporary",
    "x-sendfile2",
    "x-accel-redirect",
    "x-accel-buffering",
    "x-accel-charset",
    "x-accel-expires",
    "x-accel-limit-rate",
];

/// Allows the application to name the files in that folder: by path, and below `/protected/`.
fn allow(folder: &Folder, route: &mut Route) {
    route.sendfile = Arc::new(SendfileRules {
        roots: vec![folder.path().to_owned()],
        internal: vec![("/protected/".to_owned(), folder.path().to_owned())],
        ..SendfileRules::default()
    });
}

/// A folder with a file so long that no socket takes all of it, and the field line that names it.
fn with_large_file() -> (Folder, String) {
    const LARGE_BYTES: usize = 32 << 20;
    let folder = Folder::new();
    let path = folder.write("large.bin", vec![b'x'; LARGE_BYTES]);
    let line = format!("X-Sendfile: {}", path.display());
    (folder, line)
}
