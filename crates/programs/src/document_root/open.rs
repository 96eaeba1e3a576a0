//! Opens names below a root with openat2(2), and tells what is there.
//!
//! With RESOLVE_BENEATH, the kernel itself refuses any name that leaves the root, at the moment in which it opens it: nothing can be
//! swapped in between a check and the use. RESOLVE_NO_MAGICLINKS keeps `/proc/*/fd` and its like out, even where links may leave the root.
//!
//! Opening can wait for a disk, and a worker must not. So a name is first looked up with RESOLVE_CACHED, by which the kernel answers
//! from memory or not at all (Linux 5.12). If it can't, [`Wait::Never`] gives an error of kind `WouldBlock`, and the caller asks
//! again from a thread that may wait. A file that is not known to be on a disk of this machine gives the same error: opening it may
//! ask a server even if its name is in memory.

use super::{FileHandle, Medium};
use kasoku_options::Symlinks;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, StatxFlags, fstat, makedev, openat2, statx,
};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Whether the thread may wait for a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// A name that is not in the kernel's memory is an error of kind `WouldBlock`.
    Never,
    /// The call may take any time.
    Allowed,
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenPurpose {
    /// To be read.
    Read,
    /// To check that it exists. That takes no permission to read it, so a script may be readable for its interpreter alone.
    Exists,
}

/// What is at a name.
pub(crate) enum OpenResult {
    File(FileHandle),
    Directory,
    /// Nothing.
    Absent,
    /// A segment before the last is no directory, or the name is too long: something may be at a shorter name.
    BeyondFile,
    /// Opening is refused, and why.
    Denied(&'static str),
    /// It can't be read: a bad sector, a handle that a file server no longer knows.
    Broken(Errno),
}

/// Neither a file nor a directory.
const SPECIAL: &str = "a device, a socket or a pipe";

/// How often a look-up is repeated because something was renamed under it. After more renames it is refused.
const RENAMES_MAX: usize = 8;

/// Opens the directory that is the root. Its own path may hold links.
pub(super) fn open_root(path: &Path, wait: Wait) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    ask(CWD, path.as_os_str().as_encoded_bytes(), flags, ResolveFlags::empty(), wait).map_err(|error| match error {
        Errno::NOSYS => io::Error::new(io::ErrorKind::Unsupported, NO_OPENAT2),
        other => other.into(),
    })
}

/// Without openat2 no name is looked up: no other call keeps a look-up below a root without a race.
const NO_OPENAT2: &str = "the system refuses openat2(2): it takes Linux 5.6, and no filter of system calls that leaves it out, as \
                          systemd's RestrictSUIDSGID= and DynamicUser= do";

/// Opens what is at `name`, which is relative.
pub(super) fn open(
    root: &OwnedFd,
    name: &[u8],
    links: Symlinks,
    purpose: OpenPurpose,
    wait: Wait,
) -> io::Result<OpenResult> {
    let name = if name.is_empty() { b"." } else { name };
    // NONBLOCK: opening a pipe would wait for its writer.
    let flags = match purpose {
        OpenPurpose::Exists => OFlags::PATH | OFlags::CLOEXEC,
        OpenPurpose::Read => OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC,
    };
    let bounds = match links {
        Symlinks::Beneath => ResolveFlags::BENEATH,
        Symlinks::Never => ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
        Symlinks::Anywhere => ResolveFlags::empty(),
    };
    let bounds = bounds | ResolveFlags::NO_MAGICLINKS;
    let opened = match (purpose, wait) {
        (OpenPurpose::Read, Wait::Never) => open_at_once(root, name, flags, bounds),
        _ => ask(root, name, flags, bounds, wait),
    };
    match opened {
        Ok(file) => {
            let stat = fstat(&file)?;
            Ok(match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => {
                    let medium = medium(&file, &stat, purpose, wait)?;
                    OpenResult::File(FileHandle { file: Arc::new(file.into()), stat, medium })
                }
                FileType::Directory => OpenResult::Directory,
                _ => OpenResult::Denied(SPECIAL),
            })
        }
        Err(error) => instead(error),
    }
}

/// RESOLVE_CACHED is about names alone: even if the name is in memory, opening asks the file system, and NFS and FUSE ask their
/// server. So the device is found out first, without opening the file, which asks no server and takes 0.9 µs. The file is opened only
/// if its device is known to be in this machine.
fn open_at_once(root: &OwnedFd, name: &[u8], flags: OFlags, bounds: ResolveFlags) -> Result<OwnedFd, Errno> {
    let found = ask(root, name, OFlags::PATH | OFlags::CLOEXEC, bounds, Wait::Never)?;
    let as_it_was = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let stat = statx(found, c"", as_it_was, StatxFlags::TYPE).map_err(|_| Errno::AGAIN)?;
    match Medium::known(makedev(stat.stx_dev_major, stat.stx_dev_minor), Instant::now()) {
        Some(Medium::Memory | Medium::Local) => ask(root, name, flags, bounds, Wait::Never),
        Some(Medium::Unknown) | None => Err(Errno::AGAIN),
    }
}

/// # Errors
/// [`Errno::AGAIN`]: the medium is not known, and the thread must not wait.
fn medium(file: &OwnedFd, stat: &Stat, purpose: OpenPurpose, wait: Wait) -> Result<Medium, Errno> {
    #[allow(clippy::useless_conversion, reason = "its type differs between systems")]
    let (device, now) = (u64::from(stat.st_dev), Instant::now());
    match (purpose, wait) {
        (OpenPurpose::Exists, _) => Ok(Medium::Unknown),
        (OpenPurpose::Read, Wait::Never) => Medium::known(device, now).ok_or(Errno::AGAIN),
        (OpenPurpose::Read, Wait::Allowed) => {
            Ok(Medium::known(device, now).unwrap_or_else(|| Medium::asked(file, device, now)))
        }
    }
}

/// Whether opening failed for want of descriptors or memory, which says nothing about the name.
pub fn is_shortage(error: &io::Error) -> bool {
    let shortages = [Errno::MFILE, Errno::NFILE, Errno::NOMEM];
    shortages.iter().any(|shortage| error.raw_os_error() == Some(shortage.raw_os_error()))
}

/// The result for a name that could not be opened. A shortage, or the need to wait, says nothing about the name and stays an error.
fn instead(error: Errno) -> io::Result<OpenResult> {
    match error {
        // Some file systems only have names in UTF-8.
        Errno::NOENT | Errno::INVAL | Errno::ILSEQ => Ok(OpenResult::Absent),
        Errno::NOTDIR | Errno::NAMETOOLONG => Ok(OpenResult::BeyondFile),
        Errno::ACCESS | Errno::PERM => Ok(OpenResult::Denied("no permission")),
        Errno::XDEV => Ok(OpenResult::Denied("a symbolic link leads out of the root")),
        Errno::LOOP => Ok(OpenResult::Denied("a symbolic link that is not followed")),
        Errno::NXIO | Errno::NODEV => Ok(OpenResult::Denied(SPECIAL)),
        Errno::AGAIN | Errno::MFILE | Errno::NFILE | Errno::NOMEM => Err(error.into()),
        other => Ok(OpenResult::Broken(other)),
    }
}

fn ask(root: impl AsFd, name: &[u8], flags: OFlags, bounds: ResolveFlags, wait: Wait) -> Result<OwnedFd, Errno> {
    let root = root.as_fd();
    if wait == Wait::Never {
        return match openat2(root, name, flags, Mode::empty(), bounds | ResolveFlags::CACHED) {
            // An old kernel does not know the flag.
            Err(Errno::INVAL) => Err(Errno::AGAIN),
            answer => answer,
        };
    }
    let mut renames = 0;
    loop {
        match openat2(root, name, flags, Mode::empty(), bounds) {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if renames < RENAMES_MAX => renames += 1,
            Err(Errno::AGAIN) => return Err(Errno::ACCESS),
            answer => return answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_file_system_is_asked_by_a_thread_that_may_wait() {
        // procfs, where no other test opens anything.
        let root = open_root(Path::new("/proc/self"), Wait::Allowed).unwrap();
        let open = |wait| open(&root, b"limits", Symlinks::Beneath, OpenPurpose::Read, wait);
        drop(open(Wait::Never));
        assert!(open(Wait::Never).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock));
        let OpenResult::File(file) = open(Wait::Allowed).unwrap() else { panic!("no file") };
        assert_eq!(file.medium, Medium::Unknown);
        // procfs is on no disk of this machine, so a known device changes nothing.
        assert!(open(Wait::Never).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock));
    }

    #[test]
    fn one_file_that_can_not_be_read_says_nothing_about_the_others() {
        for error in [Errno::IO, Errno::STALE, Errno::UCLEAN, Errno::NOTCONN] {
            assert!(matches!(instead(error), Ok(OpenResult::Broken(told)) if told == error));
        }
        for own in [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN] {
            let told = instead(own).err().unwrap();
            assert_eq!(told.raw_os_error(), Some(own.raw_os_error()));
            assert_eq!(is_shortage(&told), own != Errno::AGAIN);
        }
    }
}
