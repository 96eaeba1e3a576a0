//! Tells where a file's bytes are: in memory, on a disk of this machine, or elsewhere.
//!
//! Only the file system knows that, and asking it (fstatfs) may take long: NFS and FUSE ask their server each time, and some others
//! count first. So a thread that must not wait never asks. The answer for a device is cached for a minute. A file on an unknown
//! device is opened by a thread that may wait, as if its name were not in memory. The cache is short, since the number of a device
//! that is gone is given to another.

use rustix::fs::fstatfs;
use rustix::io::ReadWriteFlags;
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the answer of a file system is cached.
const KNOWN_FOR: Duration = Duration::from_secs(60);

/// More devices than served files lie on. An evicted device is looked up again.
const DEVICES_MAX: usize = 64;

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// In memory, as on tmpfs. (Reading pages that were swapped out waits, as with any memory.)
    Memory,
    /// On a file system of this machine: names of open files, and what was read lately, are in memory.
    Local,
    /// Elsewhere, or not looked up.
    Unknown,
}

/// The cache: devices by their numbers (st_dev), and until when an entry counts.
static KNOWN: Mutex<Vec<(u64, Medium, Instant)>> = Mutex::new(Vec::new());

impl Medium {
    /// The medium of a device, if it is known.
    pub(super) fn known(device: u64, now: Instant) -> Option<Self> {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(one, _, until)| *one == device && now < *until).map(|(_, medium, _)| *medium)
    }

    /// Asks for the medium of an open file on that device, and caches it. For a thread that may wait.
    pub(super) fn asked(file: impl AsFd, device: u64, now: Instant) -> Self {
        // From linux/magic.h, and ZFS's own.
        let medium = match fstatfs(file).map(|system| system.f_type) {
            // tmpfs, ramfs.
            Ok(0x0102_1994 | 0x8584_58f6) => Self::Memory,
            // ext2 to ext4, XFS, btrfs, F2FS, overlayfs, ZFS.
            Ok(0xef53 | 0x5846_5342 | 0x9123_683e | 0xf2f5_2010 | 0x794c_7630 | 0x2fc1_2fc1) => Self::Local,
            Ok(_) | Err(_) => Self::Unknown,
        };
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(one, _, until)| *one != device && now < *until);
        known.truncate(DEVICES_MAX - 1);
        known.push((device, medium, now + KNOWN_FOR));
        medium
    }

    /// The flags for a read that does not wait for bytes which are not in memory. File systems in memory may not support RWF_NOWAIT,
    /// and don't need it.
    pub(crate) fn without_waiting(self) -> ReadWriteFlags {
        if self == Self::Memory { ReadWriteFlags::empty() } else { ReadWriteFlags::NOWAIT }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn a_device_is_known_for_a_minute_once_it_was_asked() {
        let proc = File::open("/proc/self/stat").unwrap();
        // No device has that number.
        let (device, now) = (u64::MAX, Instant::now());
        assert_eq!(Medium::known(device, now), None);
        assert_eq!(Medium::asked(&proc, device, now), Medium::Unknown);
        assert_eq!(Medium::known(device, now + KNOWN_FOR / 2), Some(Medium::Unknown));
        assert_eq!(Medium::known(device, now + KNOWN_FOR), None);
    }
}
