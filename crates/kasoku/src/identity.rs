//! The user that the program becomes once it listens, the programs that it refuses to run as root, and its pid file.

use kasoku_options::{Options, OriginAddress};
use nix::unistd::{self, Gid, Group, Uid, User};
use rustix::fs::OFlags;
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The number of the user (`name` or `name:group`) that this process is to become, if this process is root. `None` for a user who
/// does not exist: [`become_user`] reports that.
pub(crate) fn future_owner(written: &str) -> Result<Option<u32>, String> {
    let name = written.split_once(':').map_or(written, |(name, _)| name);
    if !unistd::geteuid().is_root() {
        return Ok(None);
    }
    let user =
        User::from_name(name).map_err(|error| format!("can't become {written}: looking up the user: {error}"))?;
    Ok(user.map(|user| user.uid.as_raw()))
}

/// Switches for good to the user `name` or `name:group`, with that user's groups. Must be called while the process has one thread.
///
/// # Errors
/// There is no such user or group, or this process may not become it.
pub(crate) fn become_user(written: &str) -> Result<(), String> {
    let (name, group) = written.split_once(':').map_or((written, None), |(name, group)| (name, Some(group)));
    let failed = |what: &str, error: nix::Error| match error {
        nix::Error::EPERM => format!(
            "can't become {written}: only root can; a service that has a user of its own needs no `user` in its configuration"
        ),
        error => format!("can't become {written}: {what}: {error}"),
    };
    let user = User::from_name(name)
        .map_err(|error| failed("looking up the user", error))?
        .ok_or_else(|| format!("there is no user {name}"))?;
    let gid = match group {
        None => user.gid,
        Some(group) => {
            Group::from_name(group)
                .map_err(|error| failed("looking up the group", error))?
                .ok_or_else(|| format!("there is no group {group}"))?
                .gid
        }
    };
    if is_already(user.uid, gid) {
        return Ok(());
    }
    let name = CString::new(name).map_err(|_| format!("there is no user {name}"))?;
    unistd::initgroups(&name, gid).map_err(|error| failed("its groups", error))?;
    unistd::setgid(gid).map_err(|error| failed("its group", error))?;
    unistd::setuid(user.uid).map_err(|error| failed("its user", error))
}

/// Refuses to run the CGI and FastCGI programs that these options name as root: an attacker who finds a hole in one of them would own
/// the machine. Call it after [`become_user`].
///
/// # Errors
/// This process is root, and `options` name such programs. The text says what to do about it.
pub(crate) fn may_run_programs(options: &Options) -> Result<(), String> {
    let routes = options.sites.iter().flat_map(|site| site.rules.iter().map(|rule| &rule.route).chain([&site.route]));
    let mut origins = routes.flat_map(|route| &route.origins);
    match origins.find(|origin| matches!(origin.address, OriginAddress::Cgi(_) | OriginAddress::Spawned(_))) {
        Some(origin) if unistd::geteuid().is_root() => Err(format!(
            "the programs of {} would run as root: set `user`, or give `--user`, like www-data",
            origin.address
        )),
        _ => Ok(()),
    }
}

/// Whether this process runs as that user already, as a successor of a process that has become it does.
fn is_already(uid: Uid, gid: Gid) -> bool {
    unistd::geteuid() == uid && unistd::getuid() == uid && unistd::getegid() == gid && !uid.is_root()
}

/// The file with this process's number. Dropping it removes the file, unless another process has written its own number by then.
pub(crate) struct PidFile {
    path: PathBuf,
    text: String,
}

impl PidFile {
    /// Creates the file and gives it to the user that this process becomes: the directory may be root's, and a successor, which is
    /// not root, could not create it there.
    pub(crate) fn make_for(path: &Path, owner: u32) -> io::Result<()> {
        std::os::unix::fs::fchown(open(path)?, Some(owner), None)
    }

    /// Writes the number of this process.
    pub(crate) fn write(path: &Path) -> io::Result<Self> {
        let text = format!("{}\n", std::process::id());
        let mut file = open(path)?;
        // In this order, so that no reader finds the file empty.
        file.write_all(text.as_bytes())?;
        file.set_len(text.len() as u64)?;
        Ok(Self { path: path.to_owned(), text })
    }
}

/// Opens a regular file that has no other name. Its directory may belong to another user, who must not make root overwrite or give
/// away the target of a link, nor block root with a FIFO.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file =
        OpenOptions::new().write(true).create(true).truncate(false).custom_flags(flags.bits() as i32).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() || found.nlink() != 1 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the path is not that of a regular file, or the file has other names too",
        ));
    }
    Ok(file)
}

impl Drop for PidFile {
    fn drop(&mut self) {
        if fs::read_to_string(&self.path).is_ok_and(|text| text == self.text) {
            // The directory may be root's, and this process may not write to it: then the file stays.
            let _ = fs::remove_file(&self.path);
        }
    }
}
