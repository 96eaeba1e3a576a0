//! Warns of a shared tier without a secret: whoever can write to its servers can change pages.
//!
//! On one machine that may be meant, so `kasoku serve` does not warn of it; `kasoku check` does.

use crate::issue::Issue;
use crate::raw::Raw;
use kasoku_options::Options;

/// Warns of such a shared tier.
pub(crate) fn warn(raw: &Raw, options: &Options, issues: &mut Vec<Issue>) {
    let is_open = options.shared.as_ref().is_some_and(|shared| shared.secret_file.is_none());
    let Some(written) = raw.shared.servers().filter(|_| is_open) else { return };
    let issue = Issue::warning("without a secret, whoever can write to these servers can put any page into the cache");
    let help = "write `secret-file = \"/etc/kasoku/shared.secret\"` into `[shared]`, the same file for each Kasoku of these servers; \
                or let no other program reach them";
    issues.push(issue.at(&written.place).help(help));
}
