//! The directory of a disk cache: who may use it, its format, and the names of its files.
//!
//! ```text
//! lock             locked while a process uses the directory
//! directory        format, and the secrets of hashes and checksums; twice in one file
//! segments/N       objects (`segment`)
//! checkpoint-N     the index and the purges of a moment (`checkpoint`)
//! log-N            objects stored since then (`log`)
//! purges-N-a, -b   what was removed since then, twice (`journal`)
//! ```
//!
//! The directory can be invalidated: the next process that opens it starts empty. That happens before a purge is answered that can't be
//! written.

use super::input::Input;
use super::layout::Checksums;
use siphasher::sip::SipHasher13;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::Hasher;
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use twox_hash::XxHash3_64;

/// The version of the format that this program writes, and the only one that it reads.
pub(super) const FORMAT_VERSION: u32 = 1;

const MAGIC: &[u8; 8] = b"KDiskDir";

/// The length of the header, and where its second copy begins, in bytes.
const HEADER_BYTES: usize = 64;
const COPY_OFFSET: u64 = 4096;

/// Why a directory can't be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process uses it.
    #[error("{0} is in use by another process")]
    InUse(PathBuf),
    /// A newer program has made it.
    #[error(
        "{path} has format {version}, and this program knows formats up to {FORMAT_VERSION}: use the newer program, or another directory"
    )]
    Newer {
        /// The directory.
        path: PathBuf,
        /// Its format.
        version: u32,
    },
    /// There are files of something else in it.
    #[error("{0} is no cache of Kasoku, and is not empty: it has {1:?}")]
    NotOurs(PathBuf, String),
    /// There is no cache in it.
    #[error("{0} has no cache in it: it is new, or it was emptied")]
    Nothing(PathBuf),
    /// Something could not be read or written.
    #[error("{path}: {what}: {error}")]
    Io {
        /// The directory.
        path: PathBuf,
        /// What failed.
        what: &'static str,
        /// Why.
        error: io::Error,
    },
}

/// An open directory. It is locked until this value is dropped.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    lock: Mutex<Option<File>>,
    header: File,
    pub(super) checksums: Checksums,
    /// The key of the hash under which the index knows keys.
    pub(super) hash_key: [u8; 16],
    /// Whether it was new, or invalid: then it was emptied.
    pub(super) is_new: bool,
}

/// What the file `directory` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    is_valid: bool,
    secret: u64,
    hash_key: [u8; 16],
}

/// One file of a directory, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileName {
    Checkpoint(u64),
    /// A checkpoint that was not finished.
    Unfinished,
    Log(u64),
    Purges(u64, JournalCopy),
}

/// One of the two copies of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JournalCopy {
    A,
    B,
}

impl FileName {
    pub(super) fn text(self) -> String {
        match self {
            Self::Checkpoint(generation) => format!("checkpoint-{generation}"),
            Self::Unfinished => "checkpoint.new".to_owned(),
            Self::Log(generation) => format!("log-{generation}"),
            Self::Purges(generation, JournalCopy::A) => format!("purges-{generation}-a"),
            Self::Purges(generation, JournalCopy::B) => format!("purges-{generation}-b"),
        }
    }

    fn of(text: &str) -> Option<Self> {
        let number = |text: &str| text.parse().ok();
        let name = match text.split_once('-')? {
            ("checkpoint", generation) => Self::Checkpoint(number(generation)?),
            ("log", generation) => Self::Log(number(generation)?),
            ("purges", rest) => match rest.split_once('-')? {
                (generation, "a") => Self::Purges(number(generation)?, JournalCopy::A),
                (generation, "b") => Self::Purges(number(generation)?, JournalCopy::B),
                _ => return None,
            },
            _ => return None,
        };
        (name.text() == text).then_some(name)
    }

    pub(super) fn generation(self) -> u64 {
        match self {
            Self::Checkpoint(generation) | Self::Log(generation) | Self::Purges(generation, _) => generation,
            Self::Unfinished => 0,
        }
    }
}

impl Directory {
    /// Opens the directory, and makes it where it does not exist.
    pub(super) fn open(path: &Path) -> Result<Self, OpenError> {
        let failed = |what| move |error| OpenError::Io { path: path.to_owned(), what, error };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed("it can't be made"))?;
        check_is_ours(path)?;
        let lock = lock(path)?;
        let (header, found) = header(path)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
        let (said, is_new) = match found.filter(|said| said.is_valid) {
            Some(said) => (said, false),
            None => {
                empty(path).map_err(failed("what it had can't be removed"))?;
                (Header { is_valid: true, secret: random(now), hash_key: random_key(now) }, true)
            }
        };
        let segments = path.join("segments");
        DirBuilder::new().recursive(true).mode(0o700).create(&segments).map_err(failed("it can't be written"))?;
        let directory = Self {
            path: path.to_owned(),
            lock: Mutex::new(Some(lock)),
            header,
            checksums: Checksums { secret: said.secret },
            hash_key: said.hash_key,
            is_new,
        };
        if is_new {
            directory.write_header(said).and_then(|()| directory.sync()).map_err(failed("it can't be written"))?;
        }
        Ok(directory)
    }

    /// Opens the directory for reading only: without the lock, so a process may be using it, and nothing in it is made or changed.
    pub(super) fn look(path: &Path) -> Result<Self, OpenError> {
        check_is_ours(path)?;
        let (header, found) = match File::open(path.join("directory")) {
            Ok(file) => said(path, file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(OpenError::Nothing(path.to_owned())),
            Err(error) => return Err(unreadable(path, error)),
        };
        let said = found.filter(|said| said.is_valid).ok_or_else(|| OpenError::Nothing(path.to_owned()))?;
        Ok(Self {
            path: path.to_owned(),
            lock: Mutex::default(),
            header,
            checksums: Checksums { secret: said.secret },
            hash_key: said.hash_key,
            is_new: false,
        })
    }

    /// The hash of a key: keyed, so that no client can make keys collide, and the same as long as the directory lives.
    pub(super) fn hash(&self, key: &[u8]) -> u64 {
        let mut hasher = SipHasher13::new_with_key(&self.hash_key);
        hasher.write(key);
        hasher.finish()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn segments(&self) -> PathBuf {
        self.path.join("segments")
    }

    pub(super) fn file(&self, name: FileName) -> PathBuf {
        self.path.join(name.text())
    }

    /// The files that belong to generations.
    pub(super) fn files(&self) -> io::Result<Vec<FileName>> {
        let names = fs::read_dir(&self.path)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.filter_map(|name| FileName::of(&name)).collect())
    }

    /// The numbers of the segments.
    pub(super) fn segment_numbers(&self) -> io::Result<Vec<u32>> {
        let names = fs::read_dir(self.segments())?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut numbers: Vec<u32> = names.filter_map(|name| u32::from_str_radix(&name, 16).ok()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Makes sure that the names of new files survive a loss of power.
    pub(super) fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    /// Makes sure that no process finds anything in this directory any more.
    pub(super) fn invalidate(&self) -> io::Result<()> {
        let said = Header { is_valid: false, secret: self.checksums.secret, hash_key: self.hash_key };
        let overwritten = self.write_header(said);
        // Without the file, a process can't read what the directory has either.
        let removed = || fs::remove_file(self.path.join("directory")).and_then(|()| self.sync());
        overwritten.or_else(|error| removed().map_err(|_| error))
    }

    /// Lets another process use the directory. What is open stays readable.
    pub(super) fn unlock(&self) {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn write_header(&self, said: Header) -> io::Result<()> {
        let bytes = said.write();
        self.header.write_all_at(&bytes, 0)?;
        self.header.write_all_at(&bytes, COPY_OFFSET)?;
        self.header.sync_all()
    }
}

impl Header {
    fn write(self) -> [u8; HEADER_BYTES] {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes.extend_from_slice(&u32::from(self.is_valid).to_le_bytes());
        bytes.extend_from_slice(&self.secret.to_le_bytes());
        bytes.extend_from_slice(&self.hash_key);
        bytes.resize(HEADER_BYTES - 8, 0);
        let checksum = XxHash3_64::oneshot(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes.try_into().unwrap_or([0; HEADER_BYTES])
    }

    /// `Err` with the version, where that is a newer one.
    fn read(bytes: &[u8]) -> Result<Option<Self>, u32> {
        let mut input = Input(bytes);
        if input.bytes(8) != Some(MAGIC) {
            return Ok(None);
        }
        match input.u32() {
            Some(version) if version > FORMAT_VERSION => return Err(version),
            _ => {}
        }
        let mut read = || {
            let (written, checksum) = bytes.split_at_checked(HEADER_BYTES - 8)?;
            let is_whole = checksum == XxHash3_64::oneshot(written).to_le_bytes();
            let is_valid = input.u32()? == 1;
            let secret = input.u64()?;
            let hash_key = input.bytes(16)?.try_into().ok()?;
            is_whole.then_some(Self { is_valid, secret, hash_key })
        };
        Ok(read())
    }
}

fn lock(path: &Path) -> Result<File, OpenError> {
    use rustix::fs::{FlockOperation, flock};
    let failed = |error| OpenError::Io { path: path.to_owned(), what: "it can't be locked", error };
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path.join("lock"));
    let file = file.map_err(failed)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(OpenError::InUse(path.to_owned())),
        Err(error) => Err(failed(error.into())),
    }
}

/// The file `directory`, and what it says, if it says anything. One damaged copy does no harm.
fn header(path: &Path) -> Result<(File, Option<Header>), OpenError> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true).mode(0o600);
    let file = options.open(path.join("directory")).map_err(|error| unreadable(path, error))?;
    said(path, file)
}

fn unreadable(path: &Path, error: io::Error) -> OpenError {
    OpenError::Io { path: path.to_owned(), what: "its file \"directory\" can't be read", error }
}

/// The same for that file.
fn said(path: &Path, file: File) -> Result<(File, Option<Header>), OpenError> {
    let mut bytes = Vec::new();
    (&file).take(2 * COPY_OFFSET).read_to_end(&mut bytes).map_err(|error| unreadable(path, error))?;
    let mut found = None;
    for offset in [0, COPY_OFFSET as usize] {
        let copy = bytes.get(offset..offset + HEADER_BYTES).unwrap_or_default();
        match Header::read(copy) {
            // A purge that could not be written may have made only one copy invalid.
            Ok(Some(said)) if found.is_none() || !said.is_valid => found = Some(said),
            Ok(_) => {}
            Err(version) if copy.len() == HEADER_BYTES => {
                // The version in a damaged copy is no version.
                let is_whole = copy
                    .split_at_checked(HEADER_BYTES - 8)
                    .is_some_and(|(written, checksum)| checksum == XxHash3_64::oneshot(written).to_le_bytes());
                if is_whole {
                    return Err(OpenError::Newer { path: path.to_owned(), version });
                }
            }
            Err(_) => {}
        }
    }
    Ok((file, found))
}

/// Whether only a cache of ours, or nothing, is in the directory.
fn check_is_ours(path: &Path) -> Result<(), OpenError> {
    let failed = |error| OpenError::Io { path: path.to_owned(), what: "it can't be read", error };
    if path.join("directory").exists() {
        return Ok(());
    }
    for entry in fs::read_dir(path).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let name = name.to_string_lossy();
        let is_ours = matches!(&*name, "lock" | "segments" | "checkpoint.new" | "lost+found");
        if !is_ours && FileName::of(&name).is_none() {
            return Err(OpenError::NotOurs(path.to_owned(), name.into_owned()));
        }
    }
    Ok(())
}

/// Removes what an earlier cache has left.
fn empty(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name();
        if FileName::of(&name.to_string_lossy()).is_some() || name == "checkpoint.new" {
            fs::remove_file(entry.path())?;
        }
    }
    let segments = path.join("segments");
    for entry in fs::read_dir(&segments).into_iter().flatten() {
        let entry = entry?;
        if u32::from_str_radix(&entry.file_name().to_string_lossy(), 16).is_ok() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn random(now: u64) -> u64 {
    use std::hash::{BuildHasher, RandomState};
    // Each `RandomState` has keys of its own, which the operating system's random numbers begin.
    RandomState::new().hash_one(now)
}

fn random_key(now: u64) -> [u8; 16] {
    let halves = [random(now), random(!now)].map(u64::to_le_bytes);
    halves.concat().try_into().unwrap_or_default()
}

/// Whether the file system has no room.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_directory_is_made_private_and_opened_again_with_the_same_secrets() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a/b");
        let made = Directory::open(&path).unwrap();
        assert!(made.is_new);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        let secrets = (made.checksums.secret, made.hash_key);
        assert!(matches!(Directory::open(&path), Err(OpenError::InUse(_))));
        drop(made);
        let again = Directory::open(&path).unwrap();
        assert_eq!((again.checksums.secret, again.hash_key, again.is_new), (secrets.0, secrets.1, false));
    }

    #[test]
    fn an_invalidated_directory_starts_empty() {
        let parent = tempfile::tempdir().unwrap();
        let made = Directory::open(parent.path()).unwrap();
        fs::write(made.file(FileName::Checkpoint(3)), "old").unwrap();
        fs::write(made.segments().join("00000001"), "old").unwrap();
        made.invalidate().unwrap();
        let secret = made.checksums.secret;
        drop(made);
        let again = Directory::open(parent.path()).unwrap();
        assert!(again.is_new && again.checksums.secret != secret);
        assert_eq!((again.files().unwrap().len(), again.segment_numbers().unwrap().len()), (0, 0));
    }

    #[test]
    fn one_copy_of_the_header_is_enough() {
        let parent = tempfile::tempdir().unwrap();
        let secret = Directory::open(parent.path()).unwrap().checksums.secret;
        let file = OpenOptions::new().write(true).open(parent.path().join("directory")).unwrap();
        file.write_all_at(&[0xff; 64], 0).unwrap();
        assert_eq!(Directory::open(parent.path()).unwrap().checksums.secret, secret);
        file.write_all_at(&[0xff; 64], COPY_OFFSET).unwrap();
        assert!(Directory::open(parent.path()).unwrap().is_new);
    }

    #[test]
    fn files_of_something_else_and_newer_formats_are_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join("thesis.txt"), "x").unwrap();
        assert!(matches!(Directory::open(parent.path()), Err(OpenError::NotOurs(_, name)) if name == "thesis.txt"));
        fs::remove_file(parent.path().join("thesis.txt")).unwrap();
        drop(Directory::open(parent.path()).unwrap());
        let file = parent.path().join("directory");
        let mut bytes = fs::read(&file).unwrap();
        bytes[8] = 9;
        let checksum = XxHash3_64::oneshot(&bytes[..HEADER_BYTES - 8]).to_le_bytes();
        bytes[HEADER_BYTES - 8..HEADER_BYTES].copy_from_slice(&checksum);
        fs::write(&file, &bytes).unwrap();
        let error = Directory::open(parent.path()).unwrap_err();
        assert!(matches!(error, OpenError::Newer { version: 9, .. }), "{error}");
    }
}
