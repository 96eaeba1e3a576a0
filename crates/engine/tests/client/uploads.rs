//! Bodies of requests that are taken in before an origin is asked: who sends slowly holds nobody's place, and nothing is left of
//! a body that does not come to its end.
mod buffer;
mod places;

use crate::programs;
use kasoku_testkit::{Client, Scenario};

/// Prints how long its input should be, and how long it is.
const COUNTS: &str = "printf 'Content-Type: text/plain\\n\\n'; echo \"$CONTENT_LENGTH\" $(wc -c)";

/// That many bytes, no two neighbours of which are the same.
fn text(bytes: usize) -> String {
    (0..bytes).map(|number| char::from(b'a' + (number % 23) as u8)).collect()
}

/// The head of an upload, and that much of its body.
fn upload(client: &mut Client, target: &str, bytes: usize, body: &str) {
    client.ask("POST", target, &[&format!("Content-Length: {bytes}")]).send(body);
}

/// Waits until that much of bodies is on disk.
#[track_caller]
fn on_disk(scene: &Scenario, bytes: u64) {
    scene.eventually(|| scene.engine.handle().request_buffer_bytes() == bytes);
}

/// Waits until nothing of any body is there, and nobody has a place or waits for one.
#[track_caller]
fn nothing_is_left(scene: &Scenario) {
    on_disk(scene, 0);
    scene.eventually(|| scene.engine.cache().held_bytes() == 0);
    scene.eventually(|| {
        let origins = scene.engine.handle().origins().numbers();
        origins.iter().all(|origin| (origin.connections, origin.queue) == (0, 0))
    });
}
