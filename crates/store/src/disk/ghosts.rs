//! Remembers the keys of objects that were evicted, so that an object that comes back is known to be wanted.
//!
//! A table of fingerprints without chains: a newer key takes the place of an older one under the same number. Four bytes a key.

/// Keys that were evicted, or seen once.
#[derive(Debug)]
pub(super) struct Ghosts {
    fingerprints: Vec<u32>,
}

const COUNT_MIN: u64 = 4096;
const COUNT_MAX: u64 = 256 << 20;

impl Ghosts {
    /// Room for about that many keys.
    pub(super) fn new(count: u64) -> Self {
        Self { fingerprints: vec![0; room(count)] }
    }

    /// Has room for about that many keys; forgets them where the room changes.
    pub(super) fn fit(&mut self, count: u64) {
        let (now, wanted) = (self.fingerprints.len(), room(count));
        if wanted > now || wanted * 4 < now {
            *self = Self::new(count);
        }
    }

    pub(super) fn remember(&mut self, hash: u64) {
        if let Some(place) = self.place(hash) {
            *place = fingerprint(hash);
        }
    }

    /// Whether the key is remembered. It is forgotten.
    pub(super) fn recall(&mut self, hash: u64) -> bool {
        let wanted = fingerprint(hash);
        self.place(hash).is_some_and(|place| *place == wanted && std::mem::take(place) != 0)
    }

    fn place(&mut self, hash: u64) -> Option<&mut u32> {
        // The count is a power of two of at most 32 bits; the fingerprint is of other bits.
        let number = hash as usize & (self.fingerprints.len() - 1);
        self.fingerprints.get_mut(number)
    }
}

fn room(count: u64) -> usize {
    count.clamp(COUNT_MIN, COUNT_MAX).next_power_of_two() as usize
}

fn fingerprint(hash: u64) -> u32 {
    (hash >> 32) as u32 | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_recalled_once() {
        let mut ghosts = Ghosts::new(0);
        assert!(!ghosts.recall(0));
        ghosts.remember(0xdead_beef_0000_0001);
        assert!(!ghosts.recall(0xdead_beef_0000_0002));
        assert!(!ghosts.recall(0xbeef_dead_0000_0001));
        assert!(ghosts.recall(0xdead_beef_0000_0001));
        assert!(!ghosts.recall(0xdead_beef_0000_0001));
    }
}
