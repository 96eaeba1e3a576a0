//! Resolves the disk tier: its directory and its size.

use crate::bounds;
use crate::issue::{Issue, Located};
use crate::raw::RawDisk;
use crate::table::{self, SettingScope};
use kasoku_options::{DISK_BYTES_DEFAULT, DiskAdmission, DiskTier};
use std::path::PathBuf;

/// The kinds of admission in the order of the table's words.
const ADMISSIONS: [DiskAdmission; 3] = [DiskAdmission::Always, DiskAdmission::SecondRequest, DiskAdmission::OnEviction];

/// Does not open the directory: the program does so at its start, as the user that serves.
pub(super) fn disk(raw: &RawDisk, issues: &mut Vec<Issue>) -> Option<DiskTier> {
    let admission = admission(raw, issues);
    let Some(path) = &raw.path else {
        let alone = [
            ("size", raw.size.as_ref().map(|it| &it.place)),
            ("admission", raw.admission.as_ref().map(|it| &it.place)),
            ("verify", raw.verify.as_ref().map(|it| &it.place)),
        ];
        for (name, place) in alone {
            let Some(place) = place else { continue };
            let issue = Issue::warning(format!("`disk.{name}` has no effect: there is no `disk.path`")).at(place);
            issues.push(issue.help("name a directory of its own, like `path = \"/var/cache/kasoku\"`"));
        }
        return None;
    };
    let path = directory(path).map_err(|issue| issues.push(issue)).ok()?;
    let size_bytes = raw.size.as_ref().map_or(DISK_BYTES_DEFAULT, |size| size.value);
    let verify = raw.verify.as_ref().is_none_or(|verify| verify.value);
    Some(DiskTier { path, size_bytes, admission, verify })
}

fn directory(path: &Located<String>) -> Result<PathBuf, Issue> {
    match path.value.as_str() {
        "" | "/" => Err(Issue::error("the disk tier needs a directory of its own").at(&path.place)),
        text if text.contains('\0') => Err(Issue::error("a path can't contain a NUL").at(&path.place)),
        text => Ok(PathBuf::from(text)),
    }
}

fn admission(raw: &RawDisk, issues: &mut Vec<Issue>) -> DiskAdmission {
    let row = table::find(SettingScope::Top, "disk.admission");
    let written = raw.admission.as_ref().zip(row).map(|(text, row)| bounds::one_of(row, text));
    match written.transpose() {
        Ok(index) => index.and_then(|index| ADMISSIONS.get(index)).copied().unwrap_or_default(),
        Err(issue) => {
            issues.push(issue);
            DiskAdmission::default()
        }
    }
}
