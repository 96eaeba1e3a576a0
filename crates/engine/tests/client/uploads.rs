//! Request bodies that are buffered before an origin is asked: a slow client holds no place at an origin, and a body that is cut
//! leaves nothing behind.
mod buffer;
mod places;

use crate::programs;
use kasoku_testkit::{Client, Scenario};

/// A script that prints the stated length of its input, and the real one.
const COUNTS: &str = "printf 'Content-Type: text/plain\\n\\n'; echo \"$CONTENT_LENGTH\" $(wc -c)";

/// That many bytes, where no two neighbours are equal.
fn text(bytes: usize) -> String {
    (0..bytes).map(|number| char::from(b'a' + (number % 23) as u8)).collect()
}

/// Sends the head of an upload of `bytes` bytes, and `body`, the first part of it.
fn upload(client: &mut Client, target: &str, bytes: usize, body: &str) {
    client.ask("POST", target, &[&format!("Content-Length: {bytes}")]).send(body);
}

/// Waits until request bodies take that many bytes on disk.
#[track_caller]
fn on_disk(scene: &Scenario, bytes: u64) {
    scene.eventually(|| scene.engine.handle().request_buffer_bytes() == bytes);
}

/// Waits until no body is in memory or on disk, and no request has a place at an origin or waits for one.
#[track_caller]
fn nothing_is_left(scene: &Scenario) {
    on_disk(scene, 0);
    scene.eventually(|| scene.engine.cache().held_bytes() == 0);
    scene.eventually(|| {
        let origins = scene.engine.handle().origins().numbers();
        origins.iter().all(|origin| (origin.connections, origin.queue) == (0, 0))
    });
}
