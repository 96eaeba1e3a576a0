//! A disk that answers when the test says so: a file system in user space (FUSE), with one file.
//!
//! The disk sets a held question aside with its answer, and the thread that asked waits in the kernel, as it does for a disk that
//! has to spin up. No thread of the disk waits meanwhile, so it answers all other questions. Unless the test says otherwise, the
//! kernel may not cache names and attributes, so each look-up is a question.
//!
//! The disk identifies the asking thread. A worker must not ask anything, whether the answer is held or not.
//!
//! A test that fails leaves no thread waiting: dropping the disk answers all questions and unmounts it, and from then on it holds
//! none.

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner, MountOption,
    OpenFlags, ReplyAttr, ReplyData, ReplyEntry, ReplyOpen, ReplyStatfs, Request, Session,
};
use kasoku_testkit::{Folder, WAIT_MAX};
use rustix::mount::{UnmountFlags, unmount};
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// The name of the only file.
pub(crate) const NAME: &str = "long.bin";

const FILE: INodeNo = INodeNo(2);

/// A question of the kernel to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// Which file has a name.
    LookUp,
    /// To open the file.
    Open,
    /// The length of the file, and its times.
    Attributes,
    /// The kind of the file system.
    System,
    /// Bytes of the file from this position on; it stands for a read of any size.
    ReadFrom(u64),
    /// Bytes of the file up to this position, by one read.
    ReadUpTo(u64),
}

/// See the [module](self).
pub(crate) struct SlowDisk {
    folder: Folder,
    shared: Arc<Shared>,
    _session: fuser::BackgroundSession,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    asked: Condvar,
}

#[derive(Default)]
struct State {
    held: Option<Question>,
    answers: Vec<Box<dyn FnOnce() + Send>>,
    fails_from: Option<u64>,
    believed: Duration,
    by_workers: Vec<Question>,
}

struct System {
    shared: Arc<Shared>,
    content: Arc<[u8]>,
    made: SystemTime,
}

impl SlowDisk {
    /// Mounts a disk whose file has that content. If that fails, writes the reason to standard error and returns `None`.
    pub(crate) fn mount(content: &[u8]) -> Option<Self> {
        let (folder, shared) = (Folder::new(), Arc::new(Shared::default()));
        let made = SystemTime::now() - Duration::from_secs(3600);
        let system = System { shared: shared.clone(), content: content.into(), made };
        let mut config = Config::default();
        config.mount_options = vec![MountOption::RO, MountOption::FSName("kasoku-test".to_owned())];
        match Session::new(system, folder.path(), &config).and_then(Session::spawn) {
            Ok(session) => Some(Self { folder, shared, _session: session }),
            Err(error) => {
                // Not by eprintln!: the test harness hides its output if the test passes.
                let text = format!("\n*** no file system in user space, so this shows nothing here: {error} ***\n");
                std::io::stderr().write_all(text.as_bytes()).unwrap();
                None
            }
        }
    }

    /// The directory at which the disk is mounted.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The path of the disk's file.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    /// From now on, the disk holds this question.
    pub(crate) fn holds(&self, question: Question) {
        self.shared.state().held = Some(question);
    }

    /// Waits until the disk holds a question.
    #[track_caller]
    pub(crate) fn is_asked(&self) {
        let state = self.shared.state();
        let asked = self.shared.asked.wait_timeout_while(state, WAIT_MAX, |state| state.answers.is_empty());
        assert!(!asked.unwrap().1.timed_out(), "no request reaches the disk");
    }

    /// Answers all held questions, and holds none from now on.
    pub(crate) fn lets_go(&self) {
        self.shared.lets_go();
    }

    /// Reads that go beyond this position fail with EIO.
    pub(crate) fn fails_from(&self, position: u64) {
        self.shared.state().fails_from = Some(position);
    }

    /// From now on, the kernel may cache names and attributes for that time.
    pub(crate) fn kernel_caches_for(&self, time: Duration) {
        self.shared.state().believed = time;
    }

    /// The questions that workers have asked so far, without reads: when a worker sends, the kernel may read ahead in its name,
    /// and the worker does not wait for that.
    pub(crate) fn asked_by_workers(&self) -> Vec<Question> {
        self.shared.state().by_workers.clone()
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        self.shared.lets_go();
        // Lazily, since a file of the disk may still be open.
        if let Err(error) = unmount(self.folder.path(), UnmountFlags::DETACH) {
            eprintln!("{} stays mounted: {error}", self.folder.path().display());
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lets_go(&self) {
        let mut state = self.state();
        state.held = None;
        let answers = std::mem::take(&mut state.answers);
        drop(state);
        answers.into_iter().for_each(|answer| answer());
    }

    /// Answers now, or if the test holds that question, when the test lets go.
    fn answers(&self, asked: Question, by: &Request, answer: impl FnOnce() + Send + 'static) {
        let by_worker = !matches!(asked, Question::ReadUpTo(_)) && is_worker(by.pid());
        let mut state = self.state();
        if by_worker {
            state.by_workers.push(asked);
        }
        let is_held = match (state.held, asked) {
            (Some(Question::ReadFrom(from)), Question::ReadUpTo(end)) => end > from,
            (held, asked) => held == Some(asked),
        };
        if is_held {
            state.answers.push(Box::new(answer));
            self.asked.notify_all();
        } else {
            drop(state);
            answer();
        }
    }
}

/// Whether that thread is a worker of the engine, by its name.
fn is_worker(thread: u32) -> bool {
    // A thread that waits for the answer still exists. A thread that does not wait may be gone, and does not matter here.
    fs::read_to_string(format!("/proc/self/task/{thread}/comm")).is_ok_and(|name| name.starts_with("worker-"))
}

impl System {
    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let is_file = inode == FILE;
        let size = if is_file { self.content.len() as u64 } else { 0 };
        FileAttr {
            ino: inode,
            size,
            blocks: size.div_ceil(512),
            atime: self.made,
            mtime: self.made,
            ctime: self.made,
            crtime: self.made,
            kind: if is_file { FileType::RegularFile } else { FileType::Directory },
            perm: if is_file { 0o444 } else { 0o555 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

impl Filesystem for System {
    fn lookup(&self, by: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let (is_there, attributes, believed) = (name == NAME, self.attributes(FILE), self.shared.state().believed);
        self.shared.answers(Question::LookUp, by, move || {
            if is_there {
                reply.entry(&believed, &attributes, Generation(0));
            } else {
                reply.error(Errno::ENOENT);
            }
        });
    }

    fn getattr(&self, by: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let (attributes, believed) = (self.attributes(inode), self.shared.state().believed);
        self.shared.answers(Question::Attributes, by, move || reply.attr(&believed, &attributes));
    }

    fn open(&self, by: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.shared.answers(Question::Open, by, move || reply.opened(FileHandle(0), FopenFlags::empty()));
    }

    fn read(
        &self,
        by: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let end = (offset + u64::from(size)).min(self.content.len() as u64);
        let fails = self.shared.state().fails_from.is_some_and(|from| end > from);
        let content = self.content.clone();
        self.shared.answers(Question::ReadUpTo(end), by, move || match content.get(offset as usize..end as usize) {
            Some(bytes) if !fails => reply.data(bytes),
            _ => reply.error(Errno::EIO),
        });
    }

    fn statfs(&self, by: &Request, _: INodeNo, reply: ReplyStatfs) {
        self.shared.answers(Question::System, by, move || reply.statfs(0, 0, 0, 0, 0, 512, 255, 0));
    }
}
