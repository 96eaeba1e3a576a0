//! Traffic of one kind, as a site has it for hours: objects of some sizes, asked for as Zipf has it, more than the tier can keep.

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
    /// What the application's head has besides what each has, in bytes.
    head: usize,
}

const fn mix(name: &'static str, sizes: (usize, usize), head: usize) -> Mix {
    Mix { name, sizes, head }
}

/// Those that differ most. Where they follow each other in one process, sizes change from one extreme to the other.
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

/// There are as many objects of a mix as would fill the tier this often.
const TIERS: u64 = 4;

/// What an object takes besides body and head, about, in bytes: for how many there are.
const OBJECT_BYTES: u64 = 1300;

/// When a mix has been asked for enough.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    /// The misses alone have filled the tier that often.
    Turnovers(u64),
    /// It has gone on for so long.
    Elapsed(Duration),
}

impl Mix {
    /// Asks for its objects through so many clients. The object of rank n is asked for about 1/n as often as the first.
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
