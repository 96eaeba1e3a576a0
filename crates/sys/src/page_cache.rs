//! What of a file the kernel has in memory: asks for it, and reads it without waiting for a disk.

use rustix::io::Errno;
use rustix::param::page_size;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// cachestat is number 451 and futex_waitv 449, or that much beyond the base of an architecture with numbers of its own. The crate `libc`
/// has the former only for some architectures.
const SYS_CACHESTAT: libc::c_long = libc::SYS_futex_waitv + 2;

/// `struct cachestat_range` of linux/mman.h.
#[repr(C)]
struct CachestatRange {
    offset: u64,
    length: u64,
}

/// `struct cachestat` of linux/mman.h; all fields count pages.
#[repr(C)]
#[derive(Default)]
struct Cachestat {
    in_cache: u64,
    dirty: u64,
    in_writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Whether the page cache has a page for each byte of `range`, by cachestat(2). The kernel may still be reading some of these pages from
/// the disk.
///
/// # Errors
/// The kernel is older than Linux 6.5, a filter of system calls forbids it, or this process neither owns the file nor may write it.
#[allow(unsafe_code)]
pub fn has_all(file: &File, range: &Range<u64>) -> io::Result<bool> {
    // The kernel takes a length of 0 for the whole file.
    let Some(last) = range.end.checked_sub(1).filter(|last| *last >= range.start) else { return Ok(true) };
    let asked = CachestatRange { offset: range.start, length: range.end - range.start };
    let mut found = Cachestat::default();
    // SAFETY: cachestat reads the first structure and writes the second one, and both have the layout of the kernel's.
    let result = unsafe { libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), &raw const asked, &raw mut found, 0_u32) };
    if result != 0 {
        return Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::NOSYS).into());
    }
    let page = page_size() as u64;
    Ok(found.in_cache > last / page - range.start / page)
}

/// Reads the bytes from `offset` on into `N` buffers of these lengths; `None` where the page cache does not have all of them, or the file
/// ends before, or the file system can't tell.
///
/// # Errors
/// The file can't be read.
#[allow(unsafe_code)]
pub fn read<const N: usize>(file: &File, offset: u64, lengths: [usize; N]) -> io::Result<Option<[Vec<u8>; N]>> {
    let mut buffers = lengths.map(Vec::<u8>::with_capacity);
    let mut each = buffers.iter_mut().zip(lengths);
    let slices: [libc::iovec; N] = std::array::from_fn(|_| match each.next() {
        Some((buffer, length)) => libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: length },
        None => libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 },
    });
    let offset = libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: each slice is the capacity of a buffer, or a part of it, and the kernel only writes to it.
    let count = unsafe { libc::preadv2(file.as_raw_fd(), slices.as_ptr(), N as libc::c_int, offset, libc::RWF_NOWAIT) };
    match usize::try_from(count) {
        Ok(count) if count == lengths.iter().sum::<usize>() => {
            for (buffer, length) in buffers.iter_mut().zip(lengths) {
                // SAFETY: the kernel has written all bytes of all slices.
                unsafe { buffer.set_len(length) };
            }
            Ok(Some(buffers))
        }
        Ok(_) => Ok(None),
        Err(_) => match Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO) {
            Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INTR => Ok(None),
            error => Err(error.into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Advice, fadvise};
    use std::fs;

    const MIB: u64 = 1 << 20;

    /// A file with these bytes, and without a name.
    fn file_of(test: &str, bytes: &[u8]) -> File {
        let path = std::env::temp_dir().join(format!("kasoku-page-cache-{test}-{}", std::process::id()));
        fs::write(&path, bytes).unwrap();
        let file = File::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        file
    }

    /// Whether the kernel can drop the pages of this file: not of one that is in memory only (TMPFS_MAGIC of statfs(2)).
    fn is_on_disk(file: &File) -> bool {
        rustix::fs::fstatfs(file).unwrap().f_type != 0x0102_1994
    }

    #[test]
    fn what_is_in_memory_is_read_into_each_buffer() {
        let bytes: Vec<u8> = (0..=255).cycle().take(10_000).collect();
        let file = file_of("read", &bytes);
        let parts = read(&file, 5, [100, 0, 9000]).unwrap().unwrap();
        assert_eq!(parts, [bytes[5..105].to_vec(), Vec::new(), bytes[105..9105].to_vec()]);
        // Behind the end.
        assert_eq!(read(&file, 0, [10_001]).unwrap(), None);
        assert_eq!(read(&file, 9_999, [1]).unwrap(), Some([bytes[9_999..].to_vec()]));
        assert!(read(&file, u64::MAX, [1]).is_err());
        file.sync_all().unwrap();
        let drops = |_: i32| {
            fadvise(&file, 0, None, Advice::DontNeed).unwrap();
            read(&file, 0, [10_000]).unwrap().is_none()
        };
        assert_eq!((0..10).any(drops), is_on_disk(&file));
    }

    #[test]
    fn pages_are_counted_where_the_kernel_can_count_them() {
        let file = file_of("count", &[1; MIB as usize + 5]);
        let has = |range: Range<u64>| has_all(&file, &range);
        if let Err(error) = has(0..1) {
            // Linux before 6.5, or a filter.
            let expected = [io::ErrorKind::Unsupported, io::ErrorKind::PermissionDenied];
            assert!(expected.contains(&error.kind()), "{error}");
            return;
        }
        assert!(has(0..MIB + 5).unwrap() && has(4095..4097).unwrap() && has(MIB + 4..MIB + 5).unwrap());
        assert!(has(7..7).unwrap());
        // Behind the end there are no pages.
        assert!(!has(0..2 * MIB).unwrap());
        file.sync_all().unwrap();
        let drops = |_: i32| {
            fadvise(&file, 0, None, Advice::DontNeed).unwrap();
            !has(0..MIB).unwrap()
        };
        // The kernel does not drop pages that are in use at the moment, so this tries several times.
        assert_eq!((0..10).any(drops), is_on_disk(&file));
    }
}
