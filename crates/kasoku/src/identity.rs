//! Whom the program becomes once it listens, what it may not do as root, and the file that says which process it is.

use kasoku_options::{Options, OriginAddress};
use nix::unistd::{self, Gid, Group, Uid, User};
use rustix::fs::OFlags;
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The number of the user that this process is to become (`name` or `name:group`), where it is root. Who does not exist is
/// told when the process becomes it.
pub(crate) fn future_owner(written: &str) -> Result<Option<u32>, String> {
    let name = written.split_once(':').map_or(written, |(name, _)| name);
    if !unistd::geteuid().is_root() {
        return Ok(None);
    }
    let user =
        User::from_name(name).map_err(|error| format!("can't become {written}: looking up the user: {error}"))?;
    Ok(user.map(|user| user.uid.as_raw()))
}

/// Becomes `name`, or `name:group`, with that user's groups, for good. To be called while there is one thread.
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

/// Whether this process, as it is by now, may run the programs that these options name. As root it may not: whoever finds a hole in one
/// of them would have the machine.
///
/// # Errors
/// It may not; what to do about it.
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

/// So is a process whose predecessor has become it.
fn is_already(uid: Uid, gid: Gid) -> bool {
    unistd::geteuid() == uid && unistd::getuid() == uid && unistd::getegid() == gid && !uid.is_root()
}

/// The file with this process's number; removed with it, unless another process has written its own by then.
pub(crate) struct PidFile {
    path: PathBuf,
    text: String,
}

impl PidFile {
    /// Makes the file and gives it to the user that this process becomes: its directory may be root's, and a process that
    /// takes this one's place is not root.
    pub(crate) fn make_for(path: &Path, owner: u32) -> io::Result<()> {
        std::os::unix::fs::fchown(open(path)?, Some(owner), None)
    }

    /// Writes the number.
    pub(crate) fn write(path: &Path) -> io::Result<Self> {
        let text = format!("{}\n", std::process::id());
        let mut file = open(path)?;
        // In this order, so that nobody finds it empty.
        file.write_all(text.as_bytes())?;
        file.set_len(text.len() as u64)?;
        Ok(Self { path: path.to_owned(), text })
    }
}

/// Opens a file of no other name. Its directory may be another user's, who must not have root write over, or give away, what
/// a link leads to; nor hold it up with a FIFO.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file =
        OpenOptions::new().write(true).create(true).truncate(false).custom_flags(flags.bits() as i32).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() || found.nlink() != 1 {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is something else, or it has another name too"));
    }
    Ok(file)
}

impl Drop for PidFile {
    fn drop(&mut self) {
        if fs::read_to_string(&self.path).is_ok_and(|text| text == self.text) {
            // Its directory may be root's, and this process nobody's: then the file stays.
            let _ = fs::remove_file(&self.path);
        }
    }
}
