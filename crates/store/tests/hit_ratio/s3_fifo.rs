//! Simulates S3-FIFO as in its paper: Yang, Zhang, Qiu, Yue, Rashmi, "FIFO queues are all you need for cache eviction", SOSP 2023.
//!
//! There are three queues. A new object enters the small queue (10 % of the space). An object that leaves it goes to the main queue if it
//! had more than one hit there; else the cache drops the object, and the ghost queue keeps its name. The names in the ghost queue stand for
//! as many bytes of objects as the main queue may hold. An object that is requested while its name is there enters the main queue. An
//! object has a point for each hit, up to three. If an object at the head of the main queue has points, it loses one and goes to the tail.
//!
//! This was written from the paper alone and shares no code with the memory tier. Sizes are in bytes.

use super::Simulator;
use std::collections::{HashMap, VecDeque};

/// The most points of an object: what a 2-bit counter can hold.
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

    /// Takes objects from the small queue until one is evicted.
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

    /// Takes objects from the main queue until one is evicted.
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

/// The names of objects that were evicted from the small queue.
#[derive(Default)]
struct Ghost {
    /// Names with their turns. If a name was removed and added again, its current turn is later than that of its old entry.
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
