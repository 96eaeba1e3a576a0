//! The control socket: `kasoku purge`, `explain`, `top`, `doctor` and `reload` reach the running program over it, without an option
//! or a token.
//!
//! It is a Unix socket that only root and the program's own user may use: its mode is 0600, and the kernel names the user of each
//! connection (SO_PEERCRED). Its directory must belong to root or to this process's user as well: a user who may write there could
//! replace the socket with his own, and commands would send their requests to him.
//!
//! Without a setting, the program puts the socket into the first of these directories that applies, and the commands try the same
//! ones:
//!
//! | | |
//! |---|---|
//! | `$RUNTIME_DIRECTORY` | for a service (systemd's `RuntimeDirectory=`) |
//! | `/run/kasoku` | for root; the program creates it |
//! | `$XDG_RUNTIME_DIR/kasoku` | for a user who has logged in; the program creates it |
//!
//! A process that takes over from this one (`upgrade`) inherits the open socket together with its path. A socket on which another
//! living program listens is left alone. A program that can't open a control socket serves without one, unless the configuration
//! names a path.

use kasoku_engine::listening::Inherited;
use kasoku_options::ControlSocket;
use kasoku_sys::listen::{self, ListeningSocket};
use kasoku_sys::process::own_user;
use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// For root, and for a service with `RuntimeDirectory=kasoku`.
const SYSTEM_DIRECTORY: &str = "/run/kasoku";

/// Below `$XDG_RUNTIME_DIR`.
const USER_DIRECTORY: &str = "kasoku";

/// The file name of the socket in each of these directories.
const NAME: &str = "control.sock";

/// Begins the name under which the socket is handed over. No address of a client socket begins so.
const HANDED_OVER: &str = "control ";

const ROOT: u32 = 0;

/// An open control socket. Dropping it removes its file, unless another process listens on the socket as well.
pub(crate) struct Control {
    pub(crate) path: PathBuf,
    pub(crate) socket: ListeningSocket,
    /// Device and inode number of the socket's file, so that another file at the same path is not removed.
    file: Option<(u64, u64)>,
    is_shared: bool,
}

impl Control {
    /// Takes the control socket that was handed over, or opens the one that `setting` names. `owner` is the user that this process
    /// becomes. `None`: the program serves without a control socket.
    ///
    /// # Errors
    /// The socket can't be opened at the path that `setting` names.
    pub(crate) fn open(
        setting: &ControlSocket,
        inherited: &mut Inherited,
        owner: Option<u32>,
    ) -> Result<Option<Self>, String> {
        let handed_over = inherited.0.keys().find(|name| name.starts_with(HANDED_OVER)).cloned();
        let handed_over = handed_over.and_then(|name| {
            let socket = inherited.0.remove(&name)?.pop()?;
            let mut control = Self::of(PathBuf::from(name.strip_prefix(HANDED_OVER)?), socket);
            control.is_shared = true;
            Some(control)
        });
        let wrong = |path: &Path, error: io::Error| format!("the control socket {}: {}", path.display(), words(&error));
        match (setting, handed_over) {
            (ControlSocket::Off, _) => Ok(None),
            (ControlSocket::At(path), Some(control)) if control.path == *path => Ok(Some(control)),
            (ControlSocket::At(path), _) => Self::open_at(path, owner).map(Some).map_err(|error| wrong(path, error)),
            (ControlSocket::Auto, Some(control)) => Ok(Some(control)),
            (ControlSocket::Auto, None) => Ok(Self::open_somewhere(owner)),
        }
    }

    fn open_somewhere(owner: Option<u32>) -> Option<Self> {
        const WITHOUT: &str = "`kasoku purge`, `explain`, `top` and `reload` do not find this program by themselves; set `control-socket`";
        let Some(place) = SocketDirectory::of_program() else {
            tracing::warn!(
                "there is no control socket, as neither RUNTIME_DIRECTORY nor XDG_RUNTIME_DIR is set, and this is not root: {WITHOUT}"
            );
            return None;
        };
        let path = place.directory.join(NAME);
        match place.make().and_then(|()| Self::open_at(&path, owner)) {
            Ok(control) => Some(control),
            Err(error) => {
                tracing::warn!("there is no control socket {}, {}: {WITHOUT}", path.display(), words(&error));
                None
            }
        }
    }

    fn open_at(path: &Path, owner: Option<u32>) -> io::Result<Self> {
        check_directory(path.parent().unwrap_or(Path::new("/")))?;
        Ok(Self::of(path.to_owned(), listen::unix_for_user(path, owner)?))
    }

    fn of(path: PathBuf, socket: ListeningSocket) -> Self {
        let file = identity(&path);
        Self { path, socket, file, is_shared: false }
    }

    /// The name under which the socket is handed over.
    pub(crate) fn name(&self) -> String {
        format!("{HANDED_OVER}{}", self.path.display())
    }

    /// Sets whether another process listens on the socket as well. The predecessor does until this process serves; a successor does
    /// once it serves.
    pub(crate) fn share(&mut self, is_shared: bool) {
        self.is_shared = is_shared;
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if !self.is_shared && self.file.is_some() && identity(&self.path) == self.file {
            // The directory may be root's, and this process may not write to it: then the file stays, and the next process replaces
            // it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The paths at which commands look for the socket, in the order in which they try them.
pub(crate) fn places() -> Vec<PathBuf> {
    let directories = [runtime_directory(), Some(SYSTEM_DIRECTORY.into()), user_directory()];
    let mut paths: Vec<PathBuf> = directories.into_iter().flatten().map(|directory| directory.join(NAME)).collect();
    paths.dedup();
    paths
}

/// The directory in which a starting program puts its socket.
struct SocketDirectory {
    directory: PathBuf,
    /// The mode with which the program creates a missing directory. `None`: systemd creates it.
    mode: Option<u32>,
}

impl SocketDirectory {
    fn of_program() -> Option<Self> {
        if let Some(directory) = runtime_directory() {
            return Some(Self { directory, mode: None });
        }
        if own_user() == ROOT {
            return Some(Self { directory: SYSTEM_DIRECTORY.into(), mode: Some(0o755) });
        }
        user_directory().map(|directory| Self { directory, mode: Some(0o700) })
    }

    fn make(&self) -> io::Result<()> {
        match self.mode.map(|mode| DirBuilder::new().mode(mode).create(&self.directory)) {
            Some(Err(error)) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }
}

/// The first of systemd's runtime directories. The variable may list several, separated by colons.
fn runtime_directory() -> Option<PathBuf> {
    let all = env::var_os("RUNTIME_DIRECTORY")?;
    env::split_paths(&all).next().filter(|path| path.is_absolute())
}

fn user_directory() -> Option<PathBuf> {
    let path = PathBuf::from(env::var_os("XDG_RUNTIME_DIR")?);
    path.is_absolute().then(|| path.join(USER_DIRECTORY))
}

/// Refuses a directory in which a user other than root and this process's user could replace the socket.
fn check_directory(directory: &Path) -> io::Result<()> {
    const STICKY: u32 = 0o1000;
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    let found = fs::metadata(directory)?;
    let refused = |why: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    if found.uid() != ROOT && found.uid() != own_user() {
        return refused(format!("its directory belongs to another user (number {})", found.uid()));
    }
    let mode = found.permissions().mode();
    if mode & WRITABLE_BY_OTHERS != 0 && mode & STICKY == 0 {
        return refused("other users may write to its directory".to_owned());
    }
    Ok(())
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => "another program listens there".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str, mode: u32) -> PathBuf {
        let path = env::temp_dir().join(format!("kasoku-control-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn the_socket_is_for_one_user_alone_and_goes_with_the_program() {
        let directory = directory("own", 0o755);
        let path = directory.join(NAME);
        let setting = ControlSocket::At(path.clone());
        let control = Control::open(&setting, &mut Inherited::default(), None).unwrap().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop(control);
        assert!(!path.exists());
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_socket_that_another_program_serves_is_left_to_it() {
        let directory = directory("taken", 0o755);
        let setting = ControlSocket::At(directory.join(NAME));
        let first = Control::open(&setting, &mut Inherited::default(), None).unwrap().unwrap();
        let second = Control::open(&setting, &mut Inherited::default(), None).map(|_| ()).unwrap_err();
        assert!(second.ends_with("another program listens there"), "{second}");
        // After the first program has ended, another program may use the path.
        let path = first.path.clone();
        drop(first);
        let third = Control::open(&setting, &mut Inherited::default(), None).unwrap().unwrap();
        // Another socket was put in place of the third program's: it stays.
        fs::rename(&path, directory.join("moved")).unwrap();
        let other = listen::unix_for_user(&path, None).unwrap();
        drop(third);
        assert!(path.exists());
        drop(other);
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn where_others_may_write_there_is_no_socket() {
        let directory = directory("open", 0o777);
        let setting = ControlSocket::At(directory.join(NAME));
        let refused = Control::open(&setting, &mut Inherited::default(), None).map(|_| ()).unwrap_err();
        assert!(refused.ends_with("other users may write to its directory"), "{refused}");
        fs::set_permissions(&directory, PermissionsExt::from_mode(0o1777)).unwrap();
        assert!(Control::open(&setting, &mut Inherited::default(), None).is_ok(), "as in /tmp");
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn what_was_handed_over_is_kept_whatever_this_process_would_choose() {
        let directory = directory("inherited", 0o755);
        let path = directory.join("of the process before");
        let socket = listen::unix_for_user(&path, None).unwrap();
        let mut inherited = Inherited::default();
        inherited.0.insert(format!("{HANDED_OVER}{}", path.display()), vec![socket]);
        let mut control = Control::open(&ControlSocket::Auto, &mut inherited, None).unwrap().unwrap();
        assert_eq!((control.path.as_path(), inherited.0.len()), (path.as_path(), 0));
        let mut inherited = Inherited::default();
        inherited.0.insert(control.name(), vec![control.socket.duplicate().unwrap()]);
        drop(Control::open(&ControlSocket::Auto, &mut inherited, None).unwrap());
        assert!(path.exists(), "one that does not come to serve leaves it to the other");
        control.share(false);
        drop(control);
        assert!(!path.exists());
        fs::remove_dir_all(directory).unwrap();
    }
}
