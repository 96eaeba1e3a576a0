//! The user as whom the program runs, and which directories that user may write to.
//!
//! It reads the bits of a directory's mode as the kernel does: those of its owner, of its group, or of all others. It ignores
//! access control lists.

use nix::unistd::{self, Gid, Group, User};
use std::ffi::CString;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// A user and their groups.
#[derive(Debug)]
pub(super) struct Identity {
    /// The name, where it is written in the configuration.
    pub(super) name: Option<String>,
    user: u32,
    groups: Vec<u32>,
}

/// The bits that allow writing to a directory: one to make entries, and one to reach them.
const WRITE_AND_SEARCH: u32 = 0o3;

impl Identity {
    /// The identity of the setting `user` (`name` or `name:group`), or else of this process. `None`: it is root, which may write
    /// everywhere, or the name is unknown here.
    pub(super) fn of(written: Option<&str>) -> Option<Self> {
        let identity = match written {
            None => Self {
                name: None,
                user: unistd::geteuid().as_raw(),
                groups: unistd::getgroups()
                    .unwrap_or_default()
                    .iter()
                    .chain([&unistd::getegid()])
                    .map(|gid| gid.as_raw())
                    .collect(),
            },
            Some(written) => {
                let (name, group) =
                    written.split_once(':').map_or((written, None), |(name, group)| (name, Some(group)));
                let user = User::from_name(name).ok()??;
                let own_group = match group {
                    Some(group) => Group::from_name(group).ok()??.gid,
                    None => user.gid,
                };
                let groups = groups_of(name, own_group);
                Self { name: Some(name.to_owned()), user: user.uid.as_raw(), groups }
            }
        };
        (identity.user != 0).then_some(identity)
    }

    /// Whether the user may write to that directory.
    pub(super) fn may_write(&self, directory: &Metadata) -> bool {
        let bits = if directory.uid() == self.user {
            directory.mode() >> 6
        } else if self.groups.contains(&directory.gid()) {
            directory.mode() >> 3
        } else {
            directory.mode()
        };
        bits & WRITE_AND_SEARCH == WRITE_AND_SEARCH
    }
}

fn groups_of(name: &str, own_group: Gid) -> Vec<u32> {
    let listed = CString::new(name).ok().and_then(|name| unistd::getgrouplist(&name, own_group).ok());
    listed.unwrap_or_else(|| vec![own_group]).iter().map(|gid| gid.as_raw()).collect()
}

/// Whether any user may write to that directory.
pub(super) fn anybody_may_write(directory: &Metadata) -> bool {
    directory.mode() & WRITE_AND_SEARCH == WRITE_AND_SEARCH
}

#[cfg(test)]
impl Identity {
    /// An identity without a name.
    pub(super) fn for_test(user: u32, groups: &[u32]) -> Self {
        Self { name: None, user, groups: groups.to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_first_class_that_fits_decides_as_in_the_kernel() {
        let path = std::env::temp_dir().join(format!("kasoku-identity-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        let with_mode = |mode| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            fs::metadata(&path).unwrap()
        };
        let (user, group) = (with_mode(0o700).uid(), with_mode(0o700).gid());
        let [owner, member, other] = [
            Identity::for_test(user, &[]),
            Identity::for_test(user + 1, &[7, group]),
            Identity::for_test(user + 1, &[]),
        ];
        for (mode, expected) in [
            (0o755, [true, false, false]),
            (0o775, [true, true, false]),
            (0o707, [true, false, true]),
            (0o557, [false, false, true]),
            (0o666, [false, false, false]),
        ] {
            let metadata = with_mode(mode);
            assert_eq!([&owner, &member, &other].map(|one| one.may_write(&metadata)), expected, "{mode:o}");
            assert_eq!(anybody_may_write(&metadata), expected[2], "{mode:o}");
        }
        fs::remove_dir(&path).unwrap();
    }

    #[test]
    fn root_and_unknown_users_have_no_identity() {
        assert!(Identity::of(Some("root")).is_none());
        assert!(Identity::of(Some("nobody-is-called-so")).is_none());
        assert!(Identity::of(Some("nobody:nobody-is-called-so")).is_none());
        assert!(
            Identity::of(Some("nobody"))
                .is_some_and(|it| it.name.as_deref() == Some("nobody") && !it.groups.is_empty())
        );
    }
}
