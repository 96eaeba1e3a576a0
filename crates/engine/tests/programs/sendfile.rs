//! Files that applications name (X-Sendfile and its like), from the client's side: who gets which bytes under which head, what never
//! reaches a client, and that the application is free before the file is out.
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

/// The fields that no client may ever see.
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

/// Lets the application name what is in that folder, by paths and below `/protected/`.
fn allow(folder: &Folder, route: &mut Route) {
    route.sendfile = Arc::new(SendfileRules {
        roots: vec![folder.path().to_owned()],
        internal: vec![("/protected/".to_owned(), folder.path().to_owned())],
        ..SendfileRules::default()
    });
}

/// A folder with a file of that size, long enough that no socket takes all of it, and the line that names it.
fn with_large_file() -> (Folder, String) {
    const LARGE_BYTES: usize = 32 << 20;
    let folder = Folder::new();
    let path = folder.write("large.bin", vec![b'x'; LARGE_BYTES]);
    let line = format!("X-Sendfile: {}", path.display());
    (folder, line)
}
