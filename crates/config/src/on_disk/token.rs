//! Warns of an admin listener on TCP without a token, which answers less than its operator may expect.
//!
//! That is enough for scrapers, so `kasoku serve` does not warn of it; `kasoku check` does.

use crate::issue::Issue;
use crate::raw::Raw;
use kasoku_options::{ListenAddress, Options};

/// Warns of such a listener.
pub(crate) fn warn(raw: &Raw, options: &Options, issues: &mut Vec<Issue>) {
    let is_tcp = matches!(options.admin, Some(ListenAddress::Tcp(_)));
    let Some(written) = raw.admin.as_ref().filter(|_| is_tcp && raw.admin_token_file.is_none()) else { return };
    let issue = Issue::warning("without a token, `admin` answers only `/healthz`, `/metrics` and `/stats` here");
    let help = "all users of the machine can connect: write `admin-token-file = \"/etc/kasoku/admin.token\"` (Kasoku makes the \
                file if it does not exist), or listen on a Unix socket: `admin = \"unix:/run/kasoku/admin.sock\"`";
    issues.push(issue.at(&written.place).help(help));
}
