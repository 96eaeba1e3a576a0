//! Moves the bytes of one direction of a connection, and does to them what the present fault says.

use super::{Connection, Fault, Shared};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

const READ_BYTES: usize = 64 << 10;

/// The pause behind each slice.
const SLICE_PAUSE: Duration = Duration::from_micros(200);

/// In how many pieces a second of limited bandwidth is written.
const PIECES_A_SECOND: usize = 100;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    ToServer,
    ToClient,
}

/// Runs until one end closes, or until the proxy closes the connection. `seed` chooses the bytes that are damaged.
pub(super) fn pump(shared: &Shared, connection: &Connection, direction: Direction, seed: u64) {
    let (mut from, to) = match direction {
        Direction::ToServer => (&connection.client, &connection.server),
        Direction::ToClient => (&connection.server, &connection.client),
    };
    let mut buffer = vec![0; READ_BYTES];
    let mut content = Content { random: seed, ..Content::default() };
    loop {
        let read = from.read(&mut buffer).unwrap_or(0);
        if read == 0 {
            return end(shared, connection, to);
        }
        if !pass(shared, &mut buffer[..read], to, direction, &mut content) {
            return connection.close();
        }
    }
}

/// Passes the end of a direction on. The other direction goes on until its own end, as with a client that has sent all its requests.
fn end(shared: &Shared, connection: &Connection, to: &TcpStream) {
    let (fault, changes) = present(shared);
    let delay = match fault {
        Fault::SlowClose(delay) => Some(delay),
        Fault::Timeout => None,
        _ => Some(Duration::ZERO),
    };
    shared.wait(changes, delay);
    connection.end(to, Shutdown::Write);
}

/// What a direction has done to its bytes so far.
#[derive(Default)]
struct Content {
    /// The number of the change for which `passed` counts.
    changes: u64,
    passed: usize,
    /// The state of a generator of random numbers, and in how many bytes the next one is damaged.
    random: u64,
    until_damage: Option<u64>,
}

/// Returns whether the connection goes on.
fn pass(shared: &Shared, bytes: &mut [u8], mut to: &TcpStream, direction: Direction, content: &mut Content) -> bool {
    let mut rest = bytes;
    loop {
        let (fault, changes) = present(shared);
        if content.changes != changes {
            (content.changes, content.passed) = (changes, 0);
        }
        let is_answer = direction == Direction::ToClient;
        // How many bytes are written now, and the pause before and after.
        let (count, before, after) = match fault {
            Fault::Timeout => {
                if !shared.wait(changes, None) {
                    return false;
                }
                continue;
            }
            Fault::Latency(time) => (rest.len(), Some(time), None),
            Fault::Bandwidth(bytes) => {
                let count = (bytes / PIECES_A_SECOND).max(1);
                (count, None, Some(Duration::from_secs(1) / PIECES_A_SECOND as u32))
            }
            Fault::Slices(count) => (count.max(1), None, Some(SLICE_PAUSE)),
            Fault::Cut(after) if is_answer => {
                let left = after.saturating_sub(content.passed);
                if left == 0 {
                    return false;
                }
                (left, None, None)
            }
            Fault::Damage(one_of) if is_answer => {
                content.damage(rest, one_of);
                (rest.len(), None, None)
            }
            _ => (rest.len(), None, None),
        };
        if before.is_some_and(|time| !shared.wait(changes, Some(time))) {
            return false;
        }
        let (now, later) = rest.split_at_mut(count.min(rest.len()));
        if to.write_all(now).is_err() {
            return false;
        }
        content.passed += now.len();
        rest = later;
        if after.is_some_and(|time| !shared.wait(changes, Some(time))) {
            return false;
        }
        if rest.is_empty() {
            return true;
        }
    }
}

impl Content {
    fn damage(&mut self, bytes: &mut [u8], one_of: u64) {
        for byte in bytes {
            let until = self.until_damage.unwrap_or_else(|| self.random() % one_of.max(1));
            if until == 0 {
                *byte ^= 1 << (self.random() % 8);
                self.until_damage = Some(self.random() % (2 * one_of.max(1)));
            } else {
                self.until_damage = Some(until - 1);
            }
        }
    }

    /// SplitMix64.
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn present(shared: &Shared) -> (Fault, u64) {
    let state = shared.state();
    (state.fault, state.changes)
}
