//! Resolves the listening sockets: the clients' and the operator's.

use super::set;
use crate::address;
use crate::issue::{Issue, Located, quoted};
use crate::raw::{Raw, RawListener};
use kasoku_options::{ControlSocket, ListenAddress, Listener};
use std::net::{Ipv4Addr, SocketAddr};

/// Where clients connect by default.
const LISTEN_DEFAULT: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 8080);

/// The listeners, with the places of those that were written.
pub(super) fn listeners(raw: &Raw, issues: &mut Vec<Issue>) -> Vec<WrittenListener> {
    let Some(written) = &raw.listen else {
        let address = ListenAddress::Tcp(SocketAddr::from(LISTEN_DEFAULT));
        return vec![WrittenListener { value: Listener::at(address), written: None }];
    };
    if written.value.is_empty() {
        let issue = Issue::error("there is no address to listen on").at(&written.place);
        issues.push(issue.help("write at least one, or leave `listen` out for \"127.0.0.1:8080\""));
    }
    let mut listeners: Vec<WrittenListener> = Vec::new();
    for raw in &written.value {
        let Some((listener, address)) = listener(raw, issues) else { continue };
        match earlier(&listeners, &listener.address) {
            Some(earlier) => issues.push(twice(address, earlier)),
            None => listeners.push(WrittenListener { value: listener, written: Some(address.clone()) }),
        }
    }
    listeners
}

/// A listener, and its address as it was written.
pub(super) struct WrittenListener {
    pub(super) value: Listener,
    pub(super) written: Option<Located<String>>,
}

/// The operator's listener. It has no password, so other machines must not reach it.
pub(super) fn admin(raw: &Raw, listeners: &[WrittenListener], issues: &mut Vec<Issue>) -> Option<ListenAddress> {
    let text = raw.admin.as_ref()?;
    let address = match address::parse_listen(&text.value) {
        Ok(address) => address,
        Err(fault) => {
            issues.push(fault.at(&text.place));
            return None;
        }
    };
    let refused = match &address {
        ListenAddress::Tcp(address) if !address.ip().is_loopback() => Some("other machines could connect to it"),
        ListenAddress::Descriptor(_) => Some("Kasoku can't check which clients reach a socket that was handed over"),
        ListenAddress::Tcp(_) | ListenAddress::Unix(_) => None,
    };
    if let Some(why) = refused {
        let issue = Issue::error(format!("the admin listener can't be {}: {why}", quoted(&text.value))).at(&text.place);
        issues.push(issue.help(
            "use a loopback address like \"127.0.0.1:8081\", or a Unix socket like \"unix:/run/kasoku-admin.sock\"",
        ));
    }
    if let Some(earlier) = earlier(listeners, &address) {
        issues.push(twice(text, earlier));
    }
    Some(address)
}

/// Where the other front ends connect.
pub(super) fn peers(raw: &Raw, listeners: &[WrittenListener], issues: &mut Vec<Issue>) -> Option<SocketAddr> {
    let text = raw.peers_listen.as_ref()?;
    let address = match address::parse_listen(&text.value) {
        Ok(ListenAddress::Tcp(address)) if address.port() != 0 => address,
        Ok(_) => {
            let issue = Issue::error(format!("`peers-listen` can't be {}", quoted(&text.value))).at(&text.place);
            issues
                .push(issue.help("other machines connect to it: write an address and a port, like \"10.0.0.1:6082\""));
            return None;
        }
        Err(fault) => {
            issues.push(fault.at(&text.place));
            return None;
        }
    };
    let is_admin = |admin: &&Located<String>| admin.value.parse() == Ok(address);
    if let Some(earlier) = earlier(listeners, &ListenAddress::Tcp(address)) {
        issues.push(twice(text, earlier));
    } else if let Some(admin) = raw.admin.as_ref().filter(is_admin) {
        let issue = Issue::error(format!("{} is listened on twice", quoted(&text.value))).at(&text.place);
        issues.push(issue.related(&admin.place, "first here").help("give it another port"));
    }
    Some(address)
}

/// Where the operator's commands connect without a token.
pub(super) fn control_socket(raw: &Raw, issues: &mut Vec<Issue>) -> ControlSocket {
    match raw.control_socket.as_ref().map(|text| (text, text.value.as_str())) {
        None | Some((_, "auto")) => ControlSocket::Auto,
        Some((_, "off")) => ControlSocket::Off,
        // An upgrade hands the name over in one line.
        Some((_, path)) if path.starts_with('/') && !path.chars().any(char::is_control) => {
            ControlSocket::At(path.into())
        }
        Some((text, path)) => {
            let issue = Issue::error(format!("`control-socket` can't be {}", quoted(path))).at(&text.place);
            issues.push(issue.help("write \"auto\", \"off\" or an absolute path like \"/run/kasoku/control.sock\""));
            ControlSocket::Auto
        }
    }
}

fn listener<'r>(raw: &'r RawListener, issues: &mut Vec<Issue>) -> Option<(Listener, &'r Located<String>)> {
    let text = raw.address.as_ref()?;
    match address::parse_listen(&text.value) {
        Ok(address) => {
            let mut listener = Listener::at(address);
            set(&mut listener.proxy_protocol, &raw.proxy_protocol);
            set(&mut listener.defer_accept, &raw.defer_accept);
            if let (ListenAddress::Unix(_), Some(deferred)) = (&listener.address, &raw.defer_accept)
                && deferred.value
            {
                let issue = Issue::warning("`defer-accept` has no effect: it is for TCP, and this is a Unix socket");
                issues.push(issue.at(&deferred.place).help("leave it out"));
            }
            Some((listener, text))
        }
        Err(fault) => {
            issues.push(fault.at(&text.place));
            None
        }
    }
}

/// A listener on the same address. Port 0 is a new port each time.
fn earlier<'l>(listeners: &'l [WrittenListener], address: &ListenAddress) -> Option<&'l WrittenListener> {
    let any_port = matches!(address, ListenAddress::Tcp(address) if address.port() == 0);
    listeners.iter().find(|listener| !any_port && listener.value.address == *address)
}

fn twice(text: &Located<String>, earlier: &WrittenListener) -> Issue {
    let issue = Issue::error(format!("{} is listened on twice", quoted(&text.value))).at(&text.place);
    match &earlier.written {
        Some(first) => issue.related(&first.place, "first here").help("remove one, or give it another port"),
        None => issue.help("it is the default of `listen`: give it another port"),
    }
}
