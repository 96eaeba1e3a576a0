//! Finds the directories below a document root that any user, or the program's user, may write to.
//!
//! The walk takes a bounded number of entries, in the order of their depth, so it finds directories near the root even if it is cut
//! short. It follows no link, and skips what is never served: hidden directories, and names that are no UTF-8, below which no
//! script is found. It also skips what it can't read.

use super::identity::{Identity, anybody_may_write};
use std::collections::VecDeque;
use std::fs::{self, DirEntry, Metadata};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The most entries of a walk.
const ENTRIES_MAX: usize = 20_000;

/// How deep below the root a walk goes, in directories.
const DEPTH_MAX: usize = 16;

/// The users that may write to a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteAccess {
    Anybody,
    /// The user as whom the program runs.
    User,
}

/// What was found below a root.
#[derive(Debug, Default)]
pub(super) struct WalkResult {
    /// The path below the root, `/data` or empty for the root itself, and who may write there. Directories below a listed one are
    /// not listed again for the same writer.
    pub(super) directories: Vec<(String, WriteAccess)>,
    /// Whether the walk has left something out: there were too many entries or levels, or too little time.
    pub(super) is_cut_short: bool,
}

/// Says what a walk may leave out.
pub(super) trait Interest {
    /// Whether it matters who may write to that directory.
    fn counts(&self, below: &str) -> bool;
    /// Whether neither that directory nor any below it matters.
    fn is_over(&self, below: &str) -> bool;
}

/// Walks through the directories below `root`, until `ends`.
pub(super) fn walk(root: &Path, user: Option<&Identity>, interest: &impl Interest, ends: Instant) -> WalkResult {
    let mut walk = Walk { user, interest, found: WalkResult::default(), waiting: VecDeque::new() };
    // The root may be a link that a deployment switches.
    if let Ok(metadata) = fs::metadata(root) {
        walk.meet(
            WalkedDirectory { path: root.to_owned(), below: String::new(), depth: 0, is_users: false },
            &metadata,
        );
    }
    let mut entries = 0_usize;
    while let Some(directory) = walk.waiting.pop_front() {
        for entry in fs::read_dir(&directory.path).into_iter().flatten().flatten() {
            entries += 1;
            if entries > ENTRIES_MAX || Instant::now() >= ends {
                walk.found.is_cut_short = true;
                return walk.found;
            }
            walk.enter(&directory, &entry);
        }
    }
    walk.found
}

struct WalkedDirectory {
    path: PathBuf,
    below: String,
    depth: usize,
    /// Whether a directory above it is listed as the user's.
    is_users: bool,
}

struct Walk<'w, I> {
    user: Option<&'w Identity>,
    interest: &'w I,
    found: WalkResult,
    waiting: VecDeque<WalkedDirectory>,
}

impl<I: Interest> Walk<'_, I> {
    fn enter(&mut self, parent: &WalkedDirectory, entry: &DirEntry) {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| is_served(name, parent.depth)) else { return };
        // Neither `file_type` nor `metadata` follows a link.
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let Some(metadata) = entry.metadata().ok().filter(|_| is_directory) else { return };
        let below = format!("{}/{name}", parent.below);
        if self.interest.is_over(&below) {
            return;
        }
        if parent.depth >= DEPTH_MAX {
            self.found.is_cut_short = true;
            return;
        }
        let directory =
            WalkedDirectory { path: entry.path(), below, depth: parent.depth + 1, is_users: parent.is_users };
        self.meet(directory, &metadata);
    }

    /// Notes who may write to a directory, and queues it to be read.
    fn meet(&mut self, mut directory: WalkedDirectory, metadata: &Metadata) {
        if self.interest.counts(&directory.below) {
            if anybody_may_write(metadata) {
                return self.found.directories.push((directory.below, WriteAccess::Anybody));
            }
            if !directory.is_users && self.user.is_some_and(|user| user.may_write(metadata)) {
                self.found.directories.push((directory.below.clone(), WriteAccess::User));
                directory.is_users = true;
            }
        }
        self.waiting.push_back(directory);
    }
}

/// Whether files are served from a directory of that name, `depth` directories below the root.
fn is_served(name: &str, depth: usize) -> bool {
    !name.starts_with('.') || (depth == 0 && name == ".well-known")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    /// A test's own directory, removed with it. All directories in it are 0755 unless the test changes them.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(directories: &[&str]) -> Self {
            static NUMBER: AtomicU32 = AtomicU32::new(0);
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let scratch = Self(std::env::temp_dir().join(format!("kasoku-tree-{}-{number}", std::process::id())));
            fs::create_dir(&scratch.0).unwrap();
            scratch.mode("", 0o755);
            for directory in directories {
                let mut path = String::new();
                for name in directory.split('/') {
                    path = format!("{path}/{name}");
                    if fs::create_dir(scratch.at(&path)).is_ok() {
                        scratch.mode(&path, 0o755);
                    }
                }
            }
            scratch
        }

        fn at(&self, below: &str) -> PathBuf {
            self.0.join(below.trim_start_matches('/'))
        }

        fn mode(&self, below: &str, mode: u32) {
            fs::set_permissions(self.at(below), fs::Permissions::from_mode(mode)).unwrap();
        }

        /// The user who made the directory, as the user of the program.
        fn owner(&self) -> Identity {
            Identity::for_test(fs::metadata(&self.0).unwrap().uid(), &[])
        }

        fn walk(&self, user: Option<&Identity>, interest: &impl Interest) -> WalkResult {
            let mut found = walk(&self.0, user, interest, Instant::now() + Duration::from_secs(60));
            found.directories.sort_by(|a, b| a.0.cmp(&b.0));
            found
        }

        fn anybodys(&self) -> Vec<String> {
            let found = self.walk(None, &Everything);
            assert!(found.directories.iter().all(|(_, writer)| *writer == WriteAccess::Anybody));
            found.directories.into_iter().map(|(below, _)| below).collect()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    struct Everything;

    impl Interest for Everything {
        fn counts(&self, _: &str) -> bool {
            true
        }
        fn is_over(&self, _: &str) -> bool {
            false
        }
    }

    #[test]
    fn directories_that_anybody_may_write_to_are_listed_once() {
        let scratch = Scratch::new(&["a/b", "data/file/free", "only-listed", "x/y/z"]);
        for (below, mode) in [("data", 0o777), ("data/file", 0o777), ("x/y/z", 0o707), ("only-listed", 0o776)] {
            scratch.mode(below, mode);
        }
        assert_eq!(scratch.anybodys(), ["/data", "/x/y/z"]);
        scratch.mode("", 0o1777);
        assert_eq!(scratch.anybodys(), [""], "the root itself");
    }

    #[test]
    fn what_is_the_user_s_is_listed_once_and_what_is_anybody_s_below_it_again() {
        let scratch = Scratch::new(&["a/b", "data/file"]);
        scratch.mode("data/file", 0o777);
        scratch.mode("", 0o555);
        let found = scratch.walk(Some(&scratch.owner()), &Everything).directories;
        let listed: Vec<_> = found.iter().map(|(below, writer)| (below.as_str(), *writer)).collect();
        assert_eq!(
            listed,
            [("/a", WriteAccess::User), ("/data", WriteAccess::User), ("/data/file", WriteAccess::Anybody)]
        );
        scratch.mode("", 0o755);
        assert_eq!(
            scratch.walk(Some(&scratch.owner()), &Everything).directories.len(),
            2,
            "all of it, and what is anybody's"
        );
    }

    #[test]
    fn what_is_not_of_interest_is_not_listed_and_what_is_over_is_not_entered() {
        struct But;
        impl Interest for But {
            fn counts(&self, below: &str) -> bool {
                below != "/a"
            }
            fn is_over(&self, below: &str) -> bool {
                below == "/data"
            }
        }
        let scratch = Scratch::new(&["a/b", "data/file"]);
        for below in ["a", "a/b", "data", "data/file"] {
            scratch.mode(below, 0o777);
        }
        let found = scratch.walk(None, &But);
        assert_eq!((found.directories, found.is_cut_short), (vec![("/a/b".to_owned(), WriteAccess::Anybody)], false));
    }

    #[test]
    fn links_hidden_directories_and_what_can_not_be_read_are_passed_over() {
        use std::os::unix::ffi::OsStrExt;
        let scratch = Scratch::new(&["a", ".git/x", ".well-known/x", "a/.well-known", "closed/x", "line\nend*"]);
        for below in [".git/x", ".well-known/x", "a/.well-known", "line\nend*"] {
            scratch.mode(below, 0o777);
        }
        let odd = scratch.0.join(std::ffi::OsStr::from_bytes(b"\xff\xfe"));
        fs::create_dir(&odd).unwrap();
        fs::set_permissions(odd, fs::Permissions::from_mode(0o777)).unwrap();
        symlink(std::env::temp_dir(), scratch.at("a/out")).unwrap();
        symlink("..", scratch.at("a/up")).unwrap();
        symlink("loop", scratch.at("loop")).unwrap();
        fs::write(scratch.at("a/file"), "").unwrap();
        scratch.mode("closed", 0o000);
        assert_eq!(scratch.anybodys(), ["/.well-known/x", "/line\nend*"]);
        scratch.mode("closed", 0o755);
    }

    #[test]
    fn a_walk_ends_after_so_many_entries_and_so_deep() {
        let scratch = Scratch::new(&["many", "up"]);
        scratch.mode("up", 0o777);
        for number in 0..ENTRIES_MAX {
            fs::write(scratch.at(&format!("many/{number}")), "").unwrap();
        }
        let found = scratch.walk(None, &Everything);
        assert_eq!((found.directories, found.is_cut_short), (vec![("/up".to_owned(), WriteAccess::Anybody)], true));
        let deep = vec!["d"; DEPTH_MAX].join("/");
        let scratch = Scratch::new(&[&format!("{deep}/d")]);
        scratch.mode(&format!("{deep}/d"), 0o777);
        let found = scratch.walk(None, &Everything);
        assert_eq!((found.directories, found.is_cut_short), (Vec::new(), true));
        scratch.mode(&deep, 0o777);
        assert_eq!(scratch.anybodys(), [format!("/{deep}")]);
        let late = walk(&scratch.0, None, &Everything, Instant::now());
        assert!(late.is_cut_short && late.directories.is_empty());
    }

    #[test]
    fn a_root_that_is_not_there_is_nothing() {
        let found = walk(Path::new("/nonexistent/www"), None, &Everything, Instant::now() + Duration::from_secs(1));
        assert!(found.directories.is_empty() && !found.is_cut_short);
    }
}
