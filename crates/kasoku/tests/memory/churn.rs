//! Generates long-running traffic of one kind: objects within a range of sizes, requested by Zipf's law, more than the tier can store.

use crate::clients::Client;
use crate::objects::{Object, answered};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// The objects of one kind of traffic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mix {
    pub(crate) name: &'static str,
    /// The smallest and the largest body, in bytes; sizes are log-uniform between them.
    sizes: (usize, usize),
    /// Bytes of an additional field in the head of each response.
    head: usize,
}

const fn mix(name: &'static str, sizes: (usize, usize), head: usize) -> Mix {
    Mix { name, sizes, head }
}

/// Mixes that differ as much as possible. If they run in this order in one process, sizes change from one extreme to the other.
pub(crate) const MIXES: [Mix; 8] = [
    mix("10 B", (10, 10), 0),
    mix("1 MB", (1_000_000, 1_000_000), 0),
    mix("10 B to 1 MB", (10, 1_000_000), 200),
    mix("10 B, long heads", (10, 10), 1500),
    mix("10 to 50 kB", (10_000, 50_000), 200),
    mix("100 B to 1 kB", (100, 1000), 0),
    mix("100 to 300 kB", (100_000, 300_000), 0),
    mix("4 kB", (4096, 4096), 200),
];

/// All objects of a mix together are this many times as large as the tier.
const TIERS: u64 = 4;

/// The approximate cost of an object besides its body and the additional field, in bytes; it serves to estimate the number of objects.
const OBJECT_BYTES: u64 = 1300;

/// When the run of a mix ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    /// After the misses have filled the tier that many times.
    Turnovers(u64),
    /// After that time.
    Elapsed(Duration),
}

impl Mix {
    /// Requests the mix's objects with that many clients. The object of rank n gets about 1/n as many requests as the first.
    pub(crate) fn run(self, number: u64, to: SocketAddr, clients: usize, memory: u64, until: Until) {
        let (least, most) = (self.sizes.0 as f64, self.sizes.1 as f64);
        let mean = if least < most { (most - least) / (most / least).ln() } else { least };
        let each = mean as u64 + self.head as u64 + OBJECT_BYTES;
        let objects = (TIERS * memory / each).max(64);
        let (begun, missed_before) = (Instant::now(), answered());
        let is_enough = || match until {
            Until::Turnovers(turnovers) => answered() - missed_before >= turnovers * memory / each,
            Until::Elapsed(time) => begun.elapsed() >= time,
        };
        let read = |seed: u64| {
            let mut client = Client::connect(to);
            let mut random = seed;
            while !is_enough() {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                let share = (random >> 11) as f64 / (1_u64 << 53) as f64;
                let rank = (objects as f64).powf(share) as u64;
                client.get(Object::of_mix(number << 32 | rank, self.sizes, self.head));
            }
        };
        let seeds = (0..clients as u64).map(|client| client * 7919 + number);
        std::thread::scope(|scope| seeds.for_each(|seed| drop(scope.spawn(move || read(seed)))));
    }
}
