//! Resolves the peers: the front ends to which purges are told.

use super::listen::{self, WrittenListener};
use crate::address::parse_peer;
use crate::issue::{Issue, Located, quoted};
use crate::raw::{LocatedTexts, Raw};
use kasoku_options::{PEERS_MAX, PeerAddress, Peers};

/// Does not connect, and does not read the token: the program does so at its start.
pub(super) fn peers(raw: &Raw, listeners: &[WrittenListener], issues: &mut Vec<Issue>) -> Option<Peers> {
    let token_file = super::path(raw.peers_token_file.as_ref(), issues);
    let listen = listen::peers(raw, listeners, issues);
    let Some(written) = &raw.peers else {
        warn_of_others(raw, issues);
        return None;
    };
    let addresses = addresses(written, issues);
    if let Some(listen) = listen
        && let Some(own) = written.value.iter().find(|text| text.value.parse() == Ok(listen))
    {
        let issue = Issue::error(format!("{} is this front end itself", quoted(&own.value))).at(&own.place);
        issues.push(issue.help("list the other front ends alone"));
    }
    if let Some(servers) = raw.shared.servers() {
        let issue = Issue::error("`peers` can't stand beside a shared tier").at(&written.place);
        let issue = issue.related(&servers.place, "the servers of the shared tier");
        issues.push(issue.help("leave `peers` out: the front ends of a shared tier hear of each other's purges there"));
    }
    if raw.peers_listen.is_none() {
        let issue = Issue::error("`peers` needs `peers-listen`").at(&written.place);
        issues.push(issue.help("write where the others reach this front end, like `peers-listen = \"10.0.0.1:6082\"`"));
    }
    if raw.peers_token_file.is_none() {
        let issue = Issue::error("`peers` needs `peers-token-file`").at(&written.place);
        let help = "write `peers-token-file = \"/etc/kasoku/peers.token\"`, a file with the same 16 bytes or more for all of them; \
                    this makes one: `(umask 077; head -c 32 /dev/urandom | base64 > /etc/kasoku/peers.token)`";
        issues.push(issue.help(help));
    }
    Some(Peers { addresses, listen: listen?, token_file: token_file? })
}

fn addresses(written: &LocatedTexts, issues: &mut Vec<Issue>) -> Vec<PeerAddress> {
    if written.value.is_empty() {
        let issue = Issue::error("`peers` has no address").at(&written.place);
        issues.push(
            issue.help("list the other front ends, like [\"10.0.0.2:6082\", \"10.0.0.3:6082\"], or leave it out"),
        );
    }
    if written.value.len() > PEERS_MAX {
        let issue = Issue::error(format!("`peers` has {} addresses", written.value.len())).at(&written.place);
        issues.push(issue.help(format!("at most {PEERS_MAX}: each front end asks each other one")));
    }
    let mut addresses: Vec<(PeerAddress, &Located<String>)> = Vec::new();
    for text in written.value.iter().take(PEERS_MAX) {
        match parse_peer(&text.value) {
            Ok(address) => match addresses.iter().find(|(one, _)| *one == address) {
                Some((_, first)) => {
                    let issue = Issue::error(format!("{} is there twice", quoted(&text.value))).at(&text.place);
                    issues.push(issue.related(&first.place, "the same front end").help("remove one"));
                }
                None => addresses.push((address, text)),
            },
            Err(fault) => issues.push(fault.at(&text.place)),
        }
    }
    addresses.into_iter().map(|(address, _)| address).collect()
}

/// Warns of settings without peers.
fn warn_of_others(raw: &Raw, issues: &mut Vec<Issue>) {
    for (name, written) in [("peers-listen", &raw.peers_listen), ("peers-token-file", &raw.peers_token_file)] {
        let Some(written) = written else { continue };
        let issue = Issue::warning(format!("`{name}` has no effect: there is no `peers`")).at(&written.place);
        issues.push(issue.help("list the other front ends, like `peers = [\"10.0.0.2:6082\", \"10.0.0.3:6082\"]`"));
    }
}
