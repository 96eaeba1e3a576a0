//! S3-FIFO as its paper has it: Yang, Zhang, Qiu, Yue, Rashmi, "FIFO queues are all you need for cache eviction", SOSP 2023.
//!
//! Three queues. What is new enters the small one (10 % of the space). What leaves that one and was asked for more than once
//! since goes to the main queue, the rest is forgotten but for its name, which the ghost queue keeps: as many bytes'
//! worth of names as the main queue holds. What is asked for while its name is there enters the main queue. What
//! leaves the main queue goes round again with one less of its up to three points if it has any.
//!
//! Written for this comparison from the paper alone; it shares no code with what it is compared with. All counts are bytes.

use super::Simulator;
use std::collections::{HashMap, VecDeque};

/// What a 2-bit counter can hold.
const POINTS_MAX: u8 = 3;

/// See the [module](self).
pub(crate) struct S3Fifo {
    small: Queue,
    main: Queue,
    ghost: Ghost,
    stored: HashMap<u32, Stored>,
    bytes_max: u64,
    small_bytes_max: u64,
}

struct Stored {
    bytes: u64,
    points: u8,
}

#[derive(Default)]
struct Queue {
    objects: VecDeque<u32>,
    bytes: u64,
}

impl S3Fifo {
    pub(crate) fn new(bytes_max: u64) -> Self {
        let small_bytes_max = bytes_max / 10;
        Self {
            small: Queue::default(),
            main: Queue::default(),
            ghost: Ghost { bytes_max: bytes_max - small_bytes_max, ..Ghost::default() },
            stored: HashMap::new(),
            bytes_max,
            small_bytes_max,
        }
    }

    fn insert(&mut self, object: u32, bytes: u64) {
        let goes_to_main = self.ghost.remove(object);
        while self.small.bytes + self.main.bytes + bytes > self.bytes_max {
            self.evict();
        }
        self.stored.insert(object, Stored { bytes, points: 0 });
        let queue = if goes_to_main { &mut self.main } else { &mut self.small };
        queue.push(object, bytes);
    }

    fn evict(&mut self) {
        if self.small.bytes > self.small_bytes_max || self.main.objects.is_empty() {
            self.evict_from_small();
        } else {
            self.evict_from_main();
        }
    }

    /// Takes objects from the small queue until one of them goes.
    fn evict_from_small(&mut self) {
        while let Some(object) = self.small.objects.pop_front() {
            let Some(stored) = self.stored.get_mut(&object) else { continue };
            self.small.bytes -= stored.bytes;
            if stored.points > 1 {
                stored.points = 0;
                self.main.push(object, stored.bytes);
                continue;
            }
            self.ghost.push(object, stored.bytes);
            self.stored.remove(&object);
            return;
        }
    }

    /// Takes objects from the main queue until one of them goes.
    fn evict_from_main(&mut self) {
        while let Some(object) = self.main.objects.pop_front() {
            let Some(stored) = self.stored.get_mut(&object) else { continue };
            if stored.points > 0 {
                stored.points -= 1;
                self.main.objects.push_back(object);
                continue;
            }
            self.main.bytes -= stored.bytes;
            self.stored.remove(&object);
            return;
        }
    }
}

impl Simulator for S3Fifo {
    fn request(&mut self, object: u32, bytes: u64) -> bool {
        if let Some(stored) = self.stored.get_mut(&object) {
            stored.points = (stored.points + 1).min(POINTS_MAX);
            return true;
        }
        self.insert(object, bytes);
        false
    }
}

impl Queue {
    fn push(&mut self, object: u32, bytes: u64) {
        self.objects.push_back(object);
        self.bytes += bytes;
    }
}

/// Names of what has left the small queue.
#[derive(Default)]
struct Ghost {
    /// Each with its turn: one that was removed and came again has a later turn than its old place.
    names: VecDeque<(u32, u64)>,
    turns: HashMap<u32, (u64, u64)>,
    next_turn: u64,
    bytes: u64,
    bytes_max: u64,
}

impl Ghost {
    fn push(&mut self, object: u32, bytes: u64) {
        self.next_turn += 1;
        self.names.push_back((object, self.next_turn));
        self.turns.insert(object, (self.next_turn, bytes));
        self.bytes += bytes;
        while self.bytes > self.bytes_max {
            let Some((oldest, turn)) = self.names.pop_front() else { return };
            if self.turns.get(&oldest).is_some_and(|(current, _)| *current == turn) {
                self.remove(oldest);
            }
        }
    }

    fn remove(&mut self, object: u32) -> bool {
        let removed = self.turns.remove(&object);
        self.bytes -= removed.map_or(0, |(_, bytes)| bytes);
        removed.is_some()
    }
}
