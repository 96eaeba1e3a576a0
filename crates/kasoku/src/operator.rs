//! Asks the running program on behalf of the commands, over its control socket or its admin listener.
//!
//! Without a flag, it tries the control sockets at their default paths (`control`), then the address in the configuration in /etc. A
//! control socket that this user may not open ends the search. `--config` means the program of that configuration: its
//! `control-socket` if that is a path, else its `admin`, else the control sockets at their default paths. Each request has a
//! connection of its own, a limit on the program's silence, and an answer of bounded size.

use crate::control;
use clap::Args;
use kasoku_config::ServeFlags;
use kasoku_options::{ControlSocket, ListenAddress};
use kasoku_wire::http1::{BodyDecoder, BodyLimits, DecodedBody, HeadLimits, parse_response, response_body_length};
use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The configuration that is read when no flag names one.
pub(crate) const CONFIG_DEFAULT: &str = "/etc/kasoku/kasoku.toml";

const CONTROL_SOCKET: &str = "control socket";

/// Part of messages: which users may open a program's control socket.
const PERMITTED: &str = "is for root and the user that the program runs as";

/// How long a connection attempt may take, and how long the program may be silent.
const PATIENCE: Duration = Duration::from_secs(30);

/// The largest answer, in bytes.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// How to reach the program that runs.
#[derive(Clone, Debug, Args)]
pub(crate) struct OperatorFlags {
    /// The address of the running program, like 127.0.0.1:8081 or unix:/run/kasoku/blog.sock; by default the address in the configuration
    #[arg(long, value_name = "ADDRESS")]
    admin: Option<String>,
    /// The file with the token of that address; by default the file that the configuration names
    #[arg(long, value_name = "FILE")]
    admin_token_file: Option<PathBuf>,
    /// The configuration of the running program; without --config and --admin, the command asks at the program's control socket
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Where the running program answers, and the token that it expects.
pub(crate) struct Operator {
    address: ListenAddress,
    /// What listens at that address, as messages call it.
    kind: &'static str,
    token: Option<String>,
}

/// Why there is no answer: one sentence, or the report of a configuration that is wrong.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct OperatorError(String);

impl OperatorError {
    pub(crate) fn new(why: &str) -> Self {
        Self(why.to_owned())
    }
}

/// The program's answer.
#[derive(Debug)]
pub(crate) struct OperatorReply {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Operator {
    /// Finds the program's address, as the [module](self) says, and its token.
    pub(crate) fn new(flags: &OperatorFlags) -> Result<Self, OperatorError> {
        let (mut address, mut token_file) = (None, flags.admin_token_file.clone());
        let mut kind = "admin listener";
        if let Some(written) = &flags.admin {
            address = Some(kasoku_config::admin_address(written).map_err(OperatorError)?);
        }
        let mut unanswered = None;
        if address.is_none() && flags.config.is_none() {
            match listening_control_socket() {
                Ok(found) => (address, kind) = (Some(found), CONTROL_SOCKET),
                Err(tried) => unanswered = Some(tried),
            }
        }
        let default = Path::new(CONFIG_DEFAULT);
        let is_refused = unanswered.as_ref().is_some_and(|tried| tried.refused().is_some());
        let is_default = address.is_none() && !is_refused && default.exists();
        let config = flags.config.clone().or_else(|| is_default.then(|| default.into()));
        if let Some(config) = config {
            let flags_of_it = ServeFlags { config: Some(config.clone()), ..ServeFlags::default() };
            let loaded = kasoku_config::load(&flags_of_it)
                .map_err(|report| OperatorError(report.render(crate::wants_colour())))?;
            let setting = loaded.options.control_socket;
            let is_automatic = setting == ControlSocket::Auto;
            address = address.or_else(|| match &setting {
                ControlSocket::At(path) => {
                    kind = CONTROL_SOCKET;
                    Some(ListenAddress::Unix(path.clone()))
                }
                ControlSocket::Auto | ControlSocket::Off => loaded.options.admin,
            });
            if address.is_none() && flags.config.is_some() && is_automatic {
                match listening_control_socket() {
                    Ok(found) => (address, kind) = (Some(found), CONTROL_SOCKET),
                    Err(tried) => unanswered = Some(tried),
                }
            }
            if address.is_none() && setting == ControlSocket::Off {
                return Err(unreachable_by(&config));
            }
            token_file = token_file.or(loaded.options.admin_token_file);
        }
        let Some(address) = address else {
            return Err(OperatorError(unanswered.unwrap_or(FailedConnects(Vec::new())).told()));
        };
        let token = token_file.map(|path| {
            let text = fs::read_to_string(&path);
            let text = text.map_err(|error| OperatorError(format!("the token file {}: {error}", path.display())))?;
            Ok(text.lines().next().unwrap_or_default().trim().to_owned())
        });
        Ok(Self { address, kind, token: token.transpose()? })
    }

    /// The address at which the program answers.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// Sends a request and returns the answer, whatever its status.
    ///
    /// # Errors
    /// The program can't be reached, or its answer is not HTTP.
    pub(crate) fn ask(&self, method: &str, target: &str) -> Result<OperatorReply, OperatorError> {
        let failed = |error: io::Error| {
            OperatorError(format!("the {} {}: {error}{}", self.kind, self.address, self.hint(&error)))
        };
        let token = self.token.iter().map(|token| format!("Authorization: Bearer {token}\r\n")).collect::<String>();
        let request = format!(
            "{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{token}Content-Length: 0\r\n\r\n"
        );
        let bytes = match &self.address {
            ListenAddress::Tcp(address) => {
                let stream = TcpStream::connect_timeout(address, PATIENCE).map_err(failed)?;
                stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
                exchange(stream, &request).map_err(failed)?
            }
            ListenAddress::Unix(path) => {
                let stream = UnixStream::connect(path).map_err(failed)?;
                stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
                exchange(stream, &request).map_err(failed)?
            }
            ListenAddress::Descriptor(_) => return Err(OperatorError("a descriptor can't be connected to".to_owned())),
        };
        parse(&bytes).ok_or_else(|| OperatorError(format!("{} does not speak HTTP: is it Kasoku's?", self.address)))
    }

    /// What the operator can do if the program can't be reached; empty if that is not known.
    fn hint(&self, error: &io::Error) -> String {
        let setting = if self.kind == CONTROL_SOCKET { "control-socket" } else { "admin" };
        let is_socket = matches!(self.address, ListenAddress::Unix(_));
        match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => format!(
                " (is the program running, and does it listen there? `{setting}` in its configuration says where; --config FILE and --admin ADDRESS name another place)"
            ),
            io::ErrorKind::PermissionDenied if is_socket && self.kind == CONTROL_SOCKET => {
                format!(" (it {PERMITTED}: try `sudo`)")
            }
            io::ErrorKind::PermissionDenied if is_socket => " (it is for its owner and group: try `sudo`)".to_owned(),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                format!(" (no answer within {} s: is it Kasoku that listens there?)", PATIENCE.as_secs())
            }
            _ => String::new(),
        }
    }

    /// Asks, and returns the body of an answer of status 200. Any other answer is an error, with its body as the text.
    pub(crate) fn ask_for(&self, method: &str, target: &str) -> Result<String, OperatorError> {
        match self.ask(method, target)? {
            OperatorReply { status: 200, body } => Ok(body),
            OperatorReply { body, .. } => Err(OperatorError(body.trim_end().to_owned())),
        }
    }
}

/// The control sockets that were tried in vain.
struct FailedConnects(Vec<ConnectAttempt>);

struct ConnectAttempt {
    path: PathBuf,
    why: io::ErrorKind,
    /// Whether the socket's file exists, as far as this user may see.
    is_there: bool,
}

impl FailedConnects {
    /// The last of the sockets that this user may not open.
    fn refused(&self) -> Option<&Path> {
        let is_refused = |one: &&ConnectAttempt| one.is_there && one.why == io::ErrorKind::PermissionDenied;
        self.0.iter().rev().find(is_refused).map(|one| one.path.as_path())
    }

    fn told(&self) -> String {
        if let Some(path) = self.refused() {
            return format!("the control socket {} {PERMITTED}: try `sudo`", path.display());
        }
        let why = |one: &ConnectAttempt| match one.why {
            io::ErrorKind::NotFound => "there is none".to_owned(),
            io::ErrorKind::ConnectionRefused => "its program has ended".to_owned(),
            other => other.to_string(),
        };
        let tried: Vec<String> = self.0.iter().map(|one| format!("{} ({})", one.path.display(), why(one))).collect();
        format!(
            "no program was found: no control socket answers at {}. Is it running? Else give --config FILE of a configuration \
             with `control-socket` or `admin`, or --admin ADDRESS",
            tried.join(", ")
        )
    }
}

/// The error for a configuration with neither a control socket nor an admin listener.
fn unreachable_by(config: &Path) -> OperatorError {
    OperatorError(format!(
        "{} has `control-socket = \"off\"` and no `admin`, so no command reaches its program: take that line out, or set `admin`",
        config.display()
    ))
}

/// The first of the control sockets at their default paths on which a program listens.
fn listening_control_socket() -> Result<ListenAddress, FailedConnects> {
    let mut tried = Vec::new();
    for path in control::places() {
        match UnixStream::connect(&path) {
            Ok(_) => return Ok(ListenAddress::Unix(path)),
            Err(error) => {
                let is_there = fs::symlink_metadata(&path).is_ok();
                tried.push(ConnectAttempt { path, why: error.kind(), is_there });
            }
        }
    }
    Err(FailedConnects(tried))
}

fn exchange(mut stream: impl Read + Write, request: &str) -> io::Result<Vec<u8>> {
    stream.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn parse(bytes: &[u8]) -> Option<OperatorReply> {
    let (head, length) = parse_response(bytes, &HeadLimits::default()).ok()??;
    let framing = response_body_length(&head, &http::Method::GET).ok()?;
    let mut decoder = BodyDecoder::new(framing, &BodyLimits::default());
    let mut rest = bytes::BytesMut::from(bytes.get(length..)?);
    let mut body = Vec::new();
    while let Ok(DecodedBody::Data(data)) = decoder.decode(&mut rest) {
        body.extend_from_slice(&data);
    }
    Some(OperatorReply { status: head.status.as_u16(), body: String::from_utf8(body).ok()? })
}

/// Encodes a text as a value in a query.
pub(crate) fn in_query(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_control_socket_that_was_tried_is_named_with_what_was_wrong() {
        let tried = |path: &str, why, is_there| ConnectAttempt { path: path.into(), why, is_there };
        let of =
            |last| FailedConnects(vec![tried("/run/kasoku/control.sock", io::ErrorKind::NotFound, false), last]).told();
        let own = "/run/user/7/kasoku/control.sock";
        let said = of(tried(own, io::ErrorKind::ConnectionRefused, true));
        assert!(said.contains("/run/kasoku/control.sock (there is none)"), "{said}");
        assert!(said.contains("/run/user/7/kasoku/control.sock (its program has ended)"), "{said}");
        assert!(said.contains("--admin ADDRESS") && said.contains("`control-socket`"), "{said}");
        let said = of(tried(own, io::ErrorKind::PermissionDenied, true));
        assert!(said.starts_with("the control socket /run/user/7/kasoku/control.sock is for root"), "{said}");
        let said = of(tried(own, io::ErrorKind::PermissionDenied, false));
        assert!(said.contains("/run/user/7/kasoku/control.sock (permission denied)"), "{said}");
    }
}
