//! A file system of a test's own (FUSE), with its files in memory: it fails, hangs and loses its power when the test says so.
//!
//! It keeps what was synced apart from what was not. [`Disk::loses_power`] keeps all that was synced, and any subset, by a seed, of the
//! rest: of what was written, in blocks of 512 or 4096 bytes; of the lengths of files that were changed; and of the names that were made,
//! changed and removed. It is honest: fsync and fdatasync keep the bytes of a file and its length, and only an fsync of the directory
//! keeps a name.
//!
//! The kernel caches nothing, so each read and each write is a question to this file system.

use super::world::scatter;
use fuser::{
    BackgroundSession, BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, LockOwner, MountOption, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, Session, TimeOrNow, WriteFlags,
};
use rustix::mount::{UnmountFlags, unmount};
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

const ROOT: u64 = 1;

/// What the kernel asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Call {
    Read,
    Write,
    Sync,
    /// To make, rename or remove a name, to change a length, or to open a file for writing.
    Change,
}

/// See the [module](self). Drop answers all that is held, and unmounts it.
pub(super) struct Disk {
    folder: PathBuf,
    state: Arc<Mutex<State>>,
    _session: BackgroundSession,
}

struct State {
    nodes: HashMap<u64, Node>,
    last: u64,
    /// These calls fail, with this error.
    failing: Option<(Vec<Call>, Errno)>,
    failed: HashMap<Call, usize>,
    holds_reads: bool,
    held: Vec<(INodeNo, u64, u32, ReplyData)>,
}

/// A file or a directory: as it is, as it is certain, and what led from that to this.
struct Node {
    is_directory: bool,
    bytes: Vec<u8>,
    synced: Vec<u8>,
    writes: Vec<Change>,
    names: BTreeMap<OsString, u64>,
    synced_names: BTreeMap<OsString, u64>,
    renames: Vec<NameChange>,
}

enum Change {
    Bytes(usize, Vec<u8>),
    Length(usize),
}

/// Names that go, and names that come: in one step.
struct NameChange {
    removed: Option<OsString>,
    added: Option<(OsString, u64)>,
}

impl Change {
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Self::Bytes(offset, bytes) => {
                let end = offset + bytes.len();
                if file.len() < end {
                    file.resize(end, 0);
                }
                file[*offset..end].copy_from_slice(bytes);
            }
            Self::Length(length) => file.resize(*length, 0),
        }
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<OsString, u64>) {
        if let Some(removed) = &self.removed {
            names.remove(removed);
        }
        if let Some((name, node)) = &self.added {
            names.insert(name.clone(), *node);
        }
    }
}

impl Node {
    fn new(is_directory: bool) -> Self {
        Self {
            is_directory,
            bytes: Vec::new(),
            synced: Vec::new(),
            writes: Vec::new(),
            names: BTreeMap::new(),
            synced_names: BTreeMap::new(),
            renames: Vec::new(),
        }
    }

    fn changes(&mut self, change: Change) {
        change.apply(&mut self.bytes);
        self.writes.push(change);
    }

    fn renames(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.renames.push(change);
    }

    fn syncs(&mut self) {
        for change in self.writes.drain(..) {
            change.apply(&mut self.synced);
        }
        for change in self.renames.drain(..) {
            change.apply(&mut self.synced_names);
        }
    }

    /// Keeps what `keeps` says, of what was not synced. Returns how much was lost.
    fn loses(&mut self, mut keeps: impl FnMut() -> bool, block: usize) -> usize {
        let mut lost = 0;
        let mut is_kept = || {
            let is_kept = keeps();
            lost += usize::from(!is_kept);
            is_kept
        };
        for change in self.writes.drain(..) {
            let pieces = match change {
                Change::Length(_) => vec![change],
                // Blocks of the disk, wherever the write began.
                Change::Bytes(mut offset, bytes) => {
                    let (mut rest, mut pieces) = (&bytes[..], Vec::new());
                    while !rest.is_empty() {
                        let (piece, behind) = rest.split_at(rest.len().min(block - offset % block));
                        pieces.push(Change::Bytes(offset, piece.to_vec()));
                        (offset, rest) = (offset + piece.len(), behind);
                    }
                    pieces
                }
            };
            pieces.iter().filter(|_| is_kept()).for_each(|piece| piece.apply(&mut self.synced));
        }
        self.renames.drain(..).filter(|_| is_kept()).for_each(|change| change.apply(&mut self.synced_names));
        self.bytes.clone_from(&self.synced);
        self.names.clone_from(&self.synced_names);
        lost
    }
}

impl Disk {
    /// Mounts an empty disk at that directory. If that fails, writes the reason to standard error and returns `None`.
    pub(super) fn mount(folder: PathBuf) -> Option<Self> {
        std::fs::create_dir_all(&folder).unwrap();
        let state = State {
            nodes: HashMap::from([(ROOT, Node::new(true))]),
            last: ROOT,
            failing: None,
            failed: HashMap::new(),
            holds_reads: false,
            held: Vec::new(),
        };
        let state = Arc::new(Mutex::new(state));
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("kasoku-test".to_owned())];
        match Session::new(System(state.clone()), &folder, &config).and_then(Session::spawn) {
            Ok(session) => Some(Self { folder, state, _session: session }),
            Err(error) => {
                // Not by eprintln!: the test harness hides its output if the test passes.
                let text = format!("\n*** no file system in user space, so this shows nothing here: {error} ***\n");
                std::io::stderr().write_all(text.as_bytes()).unwrap();
                None
            }
        }
    }

    /// Where it is mounted.
    pub(super) fn path(&self) -> &Path {
        &self.folder
    }

    /// From now on, these calls fail.
    pub(super) fn fails(&self, calls: &[Call], error: Errno) {
        self.state().failing = Some((calls.to_vec(), error));
    }

    /// From now on, nothing fails.
    pub(super) fn works(&self) {
        self.state().failing = None;
    }

    /// How many of these calls have failed.
    pub(super) fn failed(&self, call: Call) -> usize {
        self.state().failed.get(&call).copied().unwrap_or(0)
    }

    /// From now on, reads are not answered.
    pub(super) fn holds_reads(&self) {
        self.state().holds_reads = true;
    }

    /// How many reads wait.
    pub(super) fn held(&self) -> usize {
        self.state().held.len()
    }

    /// Answers all held reads, and holds none from now on.
    pub(super) fn lets_go(&self) {
        let mut state = self.state();
        state.holds_reads = false;
        for (number, offset, size, reply) in std::mem::take(&mut state.held) {
            state.reads(number, offset, size, reply);
        }
    }

    /// Loses what was not synced, or a part of it. Returns how many blocks and names were lost. No process may use the disk.
    pub(super) fn loses_power(&self, seed: u64) -> usize {
        let mut state = self.state();
        let (mut random, block) = (scatter(seed), if seed.is_multiple_of(2) { 4096 } else { 512 });
        // All, nothing, or something between.
        let share = [0, 10, 50, 90, 100][(random % 5) as usize];
        let mut nodes: Vec<_> = state.nodes.iter_mut().collect();
        nodes.sort_by_key(|(number, _)| **number);
        let mut keeps = || {
            random = scatter(random.wrapping_add(1));
            random % 100 < share
        };
        let lost = nodes.into_iter().map(|(_, node)| node.loses(&mut keeps, block)).sum();
        state.forgets_unnamed();
        lost
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.works();
        self.lets_go();
        // Lazily, since a file of the disk may still be open.
        if let Err(error) = unmount(&self.folder, UnmountFlags::DETACH) {
            eprintln!("{} stays mounted: {error}", self.folder.display());
        }
    }
}

impl State {
    /// Whether this call should be answered with an error.
    fn error(&mut self, call: Call) -> Option<Errno> {
        let error = self.failing.as_ref().filter(|(calls, _)| calls.contains(&call))?.1;
        *self.failed.entry(call).or_default() += 1;
        Some(error)
    }

    fn node(&mut self, number: INodeNo) -> Result<&mut Node, Errno> {
        self.nodes.get_mut(&number.0).ok_or(Errno::ENOENT)
    }

    fn child(&mut self, parent: INodeNo, name: &OsStr) -> Result<u64, Errno> {
        self.node(parent)?.names.get(name).copied().ok_or(Errno::ENOENT)
    }

    fn adds(&mut self, parent: INodeNo, name: &OsStr, is_directory: bool) -> Result<u64, Errno> {
        if let Some(error) = self.error(Call::Change) {
            return Err(error);
        }
        if self.child(parent, name).is_ok() {
            return Err(Errno::EEXIST);
        }
        self.last += 1;
        let number = self.last;
        self.nodes.insert(number, Node::new(is_directory));
        self.node(parent)?.renames(NameChange { removed: None, added: Some((name.to_owned(), number)) });
        Ok(number)
    }

    fn changes_name(
        &mut self,
        parent: INodeNo,
        removed: Option<&OsStr>,
        added: Option<(OsString, u64)>,
    ) -> Result<(), Errno> {
        if let Some(error) = self.error(Call::Change) {
            return Err(error);
        }
        if let Some(removed) = removed {
            self.child(parent, removed)?;
        }
        self.node(parent)?.renames(NameChange { removed: removed.map(OsStr::to_owned), added });
        Ok(())
    }

    fn changes(&mut self, number: INodeNo, call: Call, change: Change) -> Result<(), Errno> {
        if let Some(error) = self.error(call) {
            return Err(error);
        }
        self.node(number)?.changes(change);
        Ok(())
    }

    fn syncs(&mut self, number: INodeNo) -> Result<(), Errno> {
        if let Some(error) = self.error(Call::Sync) {
            return Err(error);
        }
        self.node(number)?.syncs();
        Ok(())
    }

    fn reads(&mut self, number: INodeNo, offset: u64, size: u32, reply: ReplyData) {
        if let Some(error) = self.error(Call::Read) {
            return reply.error(error);
        }
        match self.node(number) {
            Ok(node) => {
                let begin = (offset as usize).min(node.bytes.len());
                reply.data(&node.bytes[begin..(begin + size as usize).min(node.bytes.len())]);
            }
            Err(error) => reply.error(error),
        }
    }

    fn attributes(&self, number: u64) -> Result<FileAttr, Errno> {
        let node = self.nodes.get(&number).ok_or(Errno::ENOENT)?;
        Ok(FileAttr {
            ino: INodeNo(number),
            size: node.bytes.len() as u64,
            blocks: (node.bytes.len() as u64).div_ceil(512),
            atime: SystemTime::UNIX_EPOCH,
            mtime: SystemTime::UNIX_EPOCH,
            ctime: SystemTime::UNIX_EPOCH,
            crtime: SystemTime::UNIX_EPOCH,
            kind: if node.is_directory { FileType::Directory } else { FileType::RegularFile },
            perm: if node.is_directory { 0o700 } else { 0o600 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    /// Forgets files without a name.
    fn forgets_unnamed(&mut self) {
        let named: Vec<u64> = self.nodes.values().flat_map(|node| node.names.values().copied()).collect();
        self.nodes.retain(|number, _| *number == ROOT || named.contains(number));
    }
}

struct System(Arc<Mutex<State>>);

impl System {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

fn answer(reply: ReplyEmpty, done: Result<(), Errno>) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

fn entry(state: &State, reply: ReplyEntry, found: Result<u64, Errno>) {
    match found.and_then(|number| state.attributes(number)) {
        Ok(attributes) => reply.entry(&Duration::ZERO, &attributes, Generation(0)),
        Err(error) => reply.error(error),
    }
}

impl Filesystem for System {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let mut state = self.state();
        let found = state.child(parent, name);
        entry(&state, reply, found);
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.state().attributes(number.0) {
            Ok(attributes) => reply.attr(&Duration::ZERO, &attributes),
            Err(error) => reply.error(error),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut state = self.state();
        let done = match size {
            Some(size) => state.changes(number, Call::Change, Change::Length(size as usize)),
            None => Ok(()),
        };
        match done.and_then(|()| state.attributes(number.0)) {
            Ok(attributes) => reply.attr(&Duration::ZERO, &attributes),
            Err(error) => reply.error(error),
        }
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, _: u32, _: u32, reply: ReplyEntry) {
        let mut state = self.state();
        let made = state.adds(parent, name, true);
        entry(&state, reply, made);
    }

    fn create(&self, _: &Request, parent: INodeNo, name: &OsStr, _: u32, _: u32, _: i32, reply: ReplyCreate) {
        let mut state = self.state();
        match state.adds(parent, name, false).and_then(|number| state.attributes(number)) {
            Ok(attributes) => {
                reply.created(&Duration::ZERO, &attributes, Generation(0), FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
            }
            Err(error) => reply.error(error),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let is_writing = flags.0 & 0b11 != 0;
        match if is_writing { self.state().error(Call::Change) } else { None } {
            Some(error) => reply.error(error),
            None => reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO),
        }
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer(reply, self.state().changes_name(parent, Some(name), None));
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        _: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let mut state = self.state();
        let done = match state.child(parent, name) {
            Ok(number) if parent == new_parent => {
                state.changes_name(parent, Some(name), Some((new_name.to_owned(), number)))
            }
            Ok(_) => Err(Errno::EXDEV),
            Err(error) => Err(error),
        };
        answer(reply, done);
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut state = self.state();
        if state.holds_reads {
            return state.held.push((number, offset, size, reply));
        }
        state.reads(number, offset, size, reply);
    }

    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.state().changes(number, Call::Write, Change::Bytes(offset as usize, data.to_vec())) {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(error),
        }
    }

    fn fallocate(&self, _: &Request, number: INodeNo, _: FileHandle, at: u64, bytes: u64, _: i32, reply: ReplyEmpty) {
        let mut state = self.state();
        let length = state.node(number).map_or(0, |node| node.bytes.len()).max((at + bytes) as usize);
        answer(reply, state.changes(number, Call::Change, Change::Length(length)));
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        answer(reply, self.state().syncs(number));
    }

    fn fsyncdir(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        answer(reply, self.state().syncs(number));
    }

    fn readdir(&self, _: &Request, number: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let mut state = self.state();
        let names = match state.node(number) {
            Ok(node) => node.names.clone(),
            Err(error) => return reply.error(error),
        };
        for (place, (name, child)) in names.iter().enumerate().skip(offset as usize) {
            let is_directory = state.nodes.get(child).is_some_and(|node| node.is_directory);
            let kind = if is_directory { FileType::Directory } else { FileType::RegularFile };
            if reply.add(INodeNo(*child), place as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }
}
