//! Keeps one worker's files open between requests: nginx's `open_file_cache`, without its delay.
//!
//! Opening a file takes a walk below the root and a question to its file system. For a file that is open already, its name is looked
//! up once more for each request. The open file is used only while that leads to the very file that was opened, unchanged: device,
//! inode, size, both times. So a file that was replaced, cut, removed or made unreadable is opened anew, or is missing, at once; an
//! old version is never sent.
//!
//! The name is looked up as a whole, without the bounds of openat2: what is sent is the file that was opened within them. So if a
//! directory was moved out of the root and a link to it was left in its place, the name still leads to the very same file. Each file
//! is opened anew every minute, however often it is requested, and then the link counts.
//!
//! Only files of local file systems are kept, for which the kernel has the name of an open file in memory. The operator limits how
//! many stay open; the least recently used is closed first. A file that was not requested for a minute is closed as well, since an
//! open file that was removed still takes its room on the disk.

use super::{Medium, OpenFile, identity};
use kasoku_options::Symlinks;
use lru::LruCache;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, Stat, fstat, openat2};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A file that was not requested for this time is closed.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// How long the result is kept that no compressed copy lies beside a file. For a missing name the kernel may have to ask the disk
/// each time.
const ALONE_FOR: Duration = Duration::from_secs(1);

/// A file is opened anew, within the bounds of its root, after this time.
const CHECKED_EVERY: Duration = Duration::from_secs(60);

/// The files of all workers may take one in so many of the descriptors that the process may have: connections need the others.
const DESCRIPTORS_PART: u64 = 4;

/// The files that stay open between the requests of one worker; by default none.
#[derive(Debug, Default)]
pub struct OpenFiles {
    kept: RefCell<Option<LruCache<OpenFileKey, OpenFileEntry>>>,
    workers: usize,
}

/// A regular file, open for reading.
#[derive(Clone, Debug)]
pub(crate) struct FileHandle {
    pub(crate) file: Arc<File>,
    pub(crate) stat: Stat,
    pub(crate) medium: Medium,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OpenFileKey {
    /// The root, then the name below it.
    path: CString,
    /// How much of that is the root, in bytes: a file below one root may lie outside of another.
    root_bytes: usize,
    links: Symlinks,
}

#[derive(Debug)]
struct OpenFileEntry {
    handle: FileHandle,
    opened: Instant,
    used: Instant,
    /// Until then no compressed copy is looked for beside it.
    alone_until: Option<Instant>,
}

impl OpenFiles {
    /// Keeps at most `files_max` files open for one of `workers` workers, which together take at most a quarter of the descriptors
    /// that the process may have. 0: each request opens its file anew.
    pub fn with_capacity(files_max: usize, workers: usize) -> Self {
        let files = Self { workers, ..Self::default() };
        files.set_capacity(files_max);
        files
    }

    /// Sets the capacity as [`OpenFiles::with_capacity`], from now on.
    pub fn set_capacity(&self, files_max: usize) {
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let files_max = files_max.min(share_of(descriptors, self.workers));
        let mut kept = self.kept.borrow_mut();
        match (&mut *kept, NonZeroUsize::new(files_max)) {
            (Some(kept), Some(files_max)) => kept.resize(files_max),
            (kept, files_max) => *kept = files_max.map(LruCache::new),
        }
    }

    /// Closes the files that were not requested lately. To be called from time to time.
    pub fn sweep(&self) {
        self.sweep_at(Instant::now());
    }

    fn sweep_at(&self, now: Instant) {
        let mut kept = self.kept.borrow_mut();
        let Some(kept) = &mut *kept else { return };
        while kept.peek_lru().is_some_and(|(_, one)| now.saturating_duration_since(one.used) >= IDLE_MAX) {
            kept.pop_lru();
        }
    }

    /// The file of that name, which begins with `/`, if it is open and the name still leads to it.
    pub(super) fn get(&self, root: &Path, name: &[u8], links: Symlinks) -> Option<FileHandle> {
        self.get_at(root, name, links, Instant::now())
    }

    fn get_at(&self, root: &Path, name: &[u8], links: Symlinks, now: Instant) -> Option<FileHandle> {
        let mut kept = self.kept.borrow_mut();
        let kept = kept.as_mut()?;
        let key = OpenFileKey::new(root, name, links)?;
        let one = kept.get_mut(&key)?;
        let is_checked = now.saturating_duration_since(one.opened) < CHECKED_EVERY;
        if is_checked
            && found_without_waiting(&key.path).is_ok_and(|there| identity(&there) == identity(&one.handle.stat))
        {
            one.used = now;
            return Some(one.handle.clone());
        }
        kept.pop(&key);
        None
    }

    /// Keeps a file open, unless its medium is unknown.
    pub(super) fn keep(&self, root: &Path, name: &[u8], links: Symlinks, handle: &FileHandle) {
        if let (Some(kept), Some(key)) = (&mut *self.kept.borrow_mut(), OpenFileKey::new(root, name, links))
            && handle.medium != Medium::Unknown
        {
            let now = Instant::now();
            kept.put(key, OpenFileEntry { handle: handle.clone(), opened: now, used: now, alone_until: None });
        }
    }

    /// Whether no compressed copy lay beside the open file of that name a moment ago.
    pub(crate) fn is_alone(&self, root: &Path, name: &[u8], links: Symlinks) -> bool {
        let (kept, key) = (self.kept.borrow(), OpenFileKey::new(root, name, links));
        let one = kept.as_ref().zip(key).and_then(|(kept, key)| kept.peek(&key)?.alone_until);
        one.is_some_and(|until| Instant::now() < until)
    }

    /// Remembers that no compressed copy lies beside it now.
    pub(crate) fn remember_alone(&self, root: &Path, name: &[u8], links: Symlinks) {
        let (mut kept, key) = (self.kept.borrow_mut(), OpenFileKey::new(root, name, links));
        if let Some(one) = kept.as_mut().zip(key).and_then(|(kept, key)| kept.peek_mut(&key)) {
            one.alone_until = Some(Instant::now() + ALONE_FOR);
        }
    }
}

/// What is at that path, if the kernel has it in memory. Otherwise it is an error, and a thread that may wait has to look.
fn found_without_waiting(path: &CStr) -> Result<Stat, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    fstat(openat2(CWD, path, flags, Mode::empty(), ResolveFlags::CACHED)?)
}

/// How many of these descriptors the files of one worker may take.
fn share_of(descriptors: u64, workers: usize) -> usize {
    let workers = (workers as u64).max(1);
    usize::try_from(descriptors / DESCRIPTORS_PART / workers).unwrap_or(usize::MAX)
}

impl OpenFileKey {
    /// `None`: it holds a NUL.
    fn new(root: &Path, name: &[u8], links: Symlinks) -> Option<Self> {
        let root = root.as_os_str().as_bytes();
        let path = CString::new([root, name].concat()).ok()?;
        Some(Self { path, root_bytes: root.len(), links })
    }
}

impl FileHandle {
    pub(crate) fn named(self, name: Vec<u8>) -> OpenFile {
        let Self { file, stat, medium } = self;
        OpenFile { file, stat, medium, name }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document_root::DocumentRoot;
    use crate::document_root::open::OpenResult;
    use crate::document_root::tests::Scratch;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::{fs, io};

    /// What a name leads to below the root, and whether that was open before.
    fn look(files: &OpenFiles, place: &Scratch, name: &str) -> Option<(String, bool)> {
        let root = place.root();
        let was_open = files.get(&root, name.as_bytes(), Symlinks::Beneath).is_some();
        let opened = match DocumentRoot::new(&root, files).named(name.as_bytes(), Symlinks::Beneath) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let waited = DocumentRoot::waiting(&root).named(name.as_bytes(), Symlinks::Beneath);
                DocumentRoot::new(&root, files).named(name.as_bytes(), Symlinks::Beneath).or(waited)
            }
            opened => opened,
        };
        let OpenResult::File(handle) = opened.unwrap() else { return None };
        let mut bytes = vec![0; usize::try_from(handle.stat.st_size).unwrap()];
        rustix::io::pread(&*handle.file, &mut bytes[..], 0).unwrap();
        Some((String::from_utf8(bytes).unwrap(), was_open))
    }

    fn open_names(files: &OpenFiles) -> Vec<String> {
        let kept = files.kept.borrow();
        let names =
            kept.iter().flatten().map(|(key, _)| key.path.to_str().unwrap().rsplit('/').next().unwrap().to_owned());
        names.collect()
    }

    fn found(content: &str, was_open: bool) -> Option<(String, bool)> {
        Some((content.to_owned(), was_open))
    }

    #[test]
    fn a_file_stays_open_for_as_long_as_its_name_leads_to_it() {
        let place = Scratch::new(&["a", "b"]);
        let files = OpenFiles::with_capacity(10, 1);
        assert_eq!(look(&files, &place, "/a"), found("a", false));
        assert_eq!(look(&files, &place, "/a"), found("a", true));
        fs::rename(place.root().join("b"), place.root().join("a")).unwrap();
        assert_eq!(look(&files, &place, "/a"), found("b", false));
        fs::write(place.root().join("a"), "longer").unwrap();
        assert_eq!(look(&files, &place, "/a"), found("longer", false));
        fs::remove_file(place.root().join("a")).unwrap();
        assert_eq!(look(&files, &place, "/a"), None);
        assert_eq!(open_names(&files), [""; 0]);
    }

    #[test]
    fn a_file_that_is_no_longer_to_be_read_is_not_read() {
        let place = Scratch::new(&["a"]);
        let files = OpenFiles::with_capacity(10, 1);
        assert_eq!(look(&files, &place, "/a"), found("a", false));
        fs::set_permissions(place.root().join("a"), fs::Permissions::from_mode(0o0)).unwrap();
        // The user root may still read it, but opens it anew.
        assert!(files.get(&place.root(), b"/a", Symlinks::Beneath).is_none());
    }

    #[test]
    fn a_link_out_of_the_root_leads_nowhere_also_when_its_place_was_a_file_s() {
        let place = Scratch::new(&["a", "sub/b"]);
        let files = OpenFiles::with_capacity(10, 1);
        let outside = Scratch::new(&["a"]);
        assert_eq!(look(&files, &place, "/a"), found("a", false));
        fs::remove_file(place.root().join("a")).unwrap();
        symlink(outside.root().join("a"), place.root().join("a")).unwrap();
        assert_eq!(look(&files, &place, "/a"), None);
    }

    #[test]
    fn a_directory_that_became_a_link_out_of_the_root_is_noticed_within_a_minute() {
        let place = Scratch::new(&["sub/a"]);
        let outside = Scratch::new(&[]);
        let files = OpenFiles::with_capacity(10, 1);
        let began = Instant::now();
        assert_eq!(look(&files, &place, "/sub/a"), found("sub/a", false));
        fs::rename(place.root().join("sub"), outside.root().join("sub")).unwrap();
        symlink(outside.root().join("sub"), place.root().join("sub")).unwrap();
        let get = |now| files.get_at(&place.root(), b"/sub/a", Symlinks::Beneath, now);
        // Frequent requests don't put that off.
        (0..60).for_each(|second| drop(get(began + Duration::from_secs(second))));
        assert!(get(Instant::now() + CHECKED_EVERY).is_none());
        assert_eq!(look(&files, &place, "/sub/a"), None);
    }

    #[test]
    fn what_is_found_by_one_root_and_one_rule_is_not_found_by_another() {
        let place = Scratch::new(&["sub/a"]);
        let files = OpenFiles::with_capacity(10, 1);
        assert_eq!(look(&files, &place, "/sub/a"), found("sub/a", false));
        assert!(files.get(&place.root(), b"/sub/a", Symlinks::Beneath).is_some());
        assert!(files.get(&place.root(), b"/sub/a", Symlinks::Never).is_none());
        assert!(files.get(&place.root().join("sub"), b"/a", Symlinks::Beneath).is_none());
    }

    #[test]
    fn no_more_are_open_than_may_be_and_the_least_used_goes_first() {
        let place = Scratch::new(&["a", "b", "c"]);
        let files = OpenFiles::with_capacity(2, 1);
        for name in ["/a", "/b", "/a", "/c"] {
            look(&files, &place, name);
        }
        assert_eq!(open_names(&files), ["c", "a"]);
        files.set_capacity(1);
        assert_eq!(open_names(&files), ["c"]);
        files.set_capacity(0);
        look(&files, &place, "/a");
        assert_eq!(open_names(&files), [""; 0]);
        files.set_capacity(usize::MAX);
        assert!(files.kept.borrow().as_ref().unwrap().cap().get() <= 1 << 30);
    }

    #[test]
    fn the_files_of_all_workers_leave_descriptors_for_connections() {
        for workers in [1, 2, 16, 64, 1000] {
            assert!(share_of(1024, workers) * workers <= 256, "{workers}");
        }
        assert_eq!((share_of(1024, 4), share_of(1024, 64), share_of(u64::MAX, 0)), (64, 4, usize::MAX >> 2));
    }

    #[test]
    fn that_nothing_lies_beside_a_file_is_believed_only_of_the_one_that_is_open() {
        let place = Scratch::new(&["a", "b"]);
        let (files, root, links) = (OpenFiles::with_capacity(10, 1), place.root(), Symlinks::Beneath);
        files.remember_alone(&root, b"/a", links);
        assert!(!files.is_alone(&root, b"/a", links));
        look(&files, &place, "/a");
        files.remember_alone(&root, b"/a", links);
        assert!(files.is_alone(&root, b"/a", links) && !files.is_alone(&root, b"/b", links));
        fs::rename(root.join("b"), root.join("a")).unwrap();
        assert_eq!(look(&files, &place, "/a"), found("b", false));
        assert!(!files.is_alone(&root, b"/a", links));
    }

    #[test]
    fn a_file_without_requests_is_closed_after_a_minute() {
        let place = Scratch::new(&["a", "b"]);
        let files = OpenFiles::with_capacity(10, 1);
        look(&files, &place, "/a");
        let between = Instant::now();
        look(&files, &place, "/b");
        files.sweep_at(between + IDLE_MAX);
        assert_eq!(open_names(&files), ["b"]);
    }
}
