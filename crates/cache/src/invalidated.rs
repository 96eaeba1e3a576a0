//! The result of an invalidation or a purge, which is certain only when the disk tier has noted it.

use kasoku_store::disk::{Durability, NotDurable};

/// What an invalidation has dropped, or a purge. On disk it is certain only after [`Invalidated::wait`].
#[must_use]
#[derive(Debug, Default)]
pub struct Invalidated {
    /// The keys that had stored responses.
    pub keys: usize,
    on_disk: Vec<Durability>,
}

impl Invalidated {
    /// Adds what another one has dropped.
    pub fn add(&mut self, other: Self) {
        self.keys += other.keys;
        self.on_disk.extend(other.on_disk);
    }

    /// Whether it is certain without waiting for the disk.
    pub fn is_certain(&self) -> bool {
        self.on_disk.is_empty()
    }

    /// Waits until nothing that was dropped can come back, whatever happens to the process or the machine.
    ///
    /// # Errors
    /// That can't be achieved: the disk fails.
    pub async fn wait(self) -> Result<usize, NotDurable> {
        let mut result = Ok(self.keys);
        for durability in self.on_disk {
            result = durability.wait().await.and(result);
        }
        result
    }

    /// What was removed on disk alone.
    pub(crate) fn on_disk(durability: Durability) -> Self {
        let on_disk = match durability {
            Durability::Done => Vec::new(),
            uncertain => vec![uncertain],
        };
        Self { keys: 0, on_disk }
    }
}
