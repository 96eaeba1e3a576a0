//! Stampedes: a thousand clients at once cost one request to the origin, or one each if the answer may not be shared.
//!
//! `collapse` shows the rules with a few clients; these tests show that they hold for a thousand, on one worker and on three,
//! with a megabyte each. The order of events proves that all clients stream from one fill: the origin holds the second half until
//! each client has read the first half. A client that waited for the whole body, or for another client, would wait for ever.
//!
//! If the process may not open enough descriptors for a thousand clients, the crowd is as large as it may be.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

#[path = "stampede/crowd.rs"]
mod crowd;
#[path = "stampede/one_fill.rs"]
mod one_fill;
#[path = "stampede/own_answers.rs"]
mod own_answers;
#[path = "stampede/source.rs"]
mod source;
#[path = "stampede/stale_and_variants.rs"]
mod stale_and_variants;

use crowd::{Crowd, Member};
use kasoku_testkit::{Scenario, Setup};
use source::Source;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The time limit for a whole crowd on a busy machine: after it, a step counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// The size of the page in bytes.
const PAGE_BYTES: usize = 1_000_000;

/// An engine in front of a source. Only one stage exists at a time in this program, since each opens thousands of descriptors.
struct Stage {
    scene: Scenario,
    source: Source,
    _alone: MutexGuard<'static, ()>,
}

impl Stage {
    fn new(workers: usize, source: Source) -> Self {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let scene = Setup::safe()
            .route(|route| {
                route.origins.push(source.address());
                let limits = &mut route.origin;
                for timeout in [
                    &mut limits.connect_timeout,
                    &mut limits.first_byte_timeout,
                    &mut limits.between_bytes_timeout,
                    &mut limits.queue_timeout,
                ] {
                    *timeout = 2 * PATIENCE;
                }
            })
            .options(|options| {
                options.workers = workers;
                // These limits are so long that no client's answer depends on them.
                options.limits.fill_wait_max = 2 * PATIENCE;
                options.limits.send_timeout = 2 * PATIENCE;
            })
            .run([]);
        Self { scene, source, _alone: alone }
    }

    fn address(&self) -> SocketAddr {
        self.scene.engine.addresses()[0]
    }

    /// A crowd of connected clients.
    fn crowd(&self) -> Crowd {
        Crowd::connect(self.address(), crowd::size())
    }

    /// A client that comes later.
    fn late(&self) -> Member {
        Member::connect(self.address(), usize::MAX)
    }

    /// The first member asks, and its request reaches the origin. Then the others ask, and the workers see all requests. With one
    /// worker that is certain; with more it is likely, since the rounds land on each of them.
    fn all_wait(&self, crowd: &mut Crowd, ask: impl Fn(&mut Member) + Sync) {
        let before = self.source.asked().len();
        ask(&mut crowd.0[0]);
        self.source.arrived(before + 1);
        crowd.each(|member| {
            if member.number > 0 {
                ask(member);
            }
        });
        for _ in 0..8 {
            self.scene.settled();
        }
    }
}

/// A megabyte in which each four bytes state their position.
fn page() -> Vec<u8> {
    (0..PAGE_BYTES as u32 / 4).flat_map(u32::to_be_bytes).collect()
}

/// The head of a 200 with a body of that many bytes.
fn head(fields: &[&str], length: usize) -> String {
    let fields: String = fields.iter().map(|line| format!("{line}\r\n")).collect();
    format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {length}\r\n\r\n")
}
