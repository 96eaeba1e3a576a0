//! Where an origin is, and which protocol it speaks.

use crate::spawned_program::SpawnedProgram;
use std::fmt;
use std::path::PathBuf;

/// An origin, as a configuration names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OriginAddress {
    /// `http://host:port`, `http://unix:/run/app.sock`: HTTP/1.1.
    Http(OriginEndpoint),
    /// `fastcgi://127.0.0.1:9000`, `fastcgi://unix:/run/php/php-fpm.sock`: FastCGI 1.0, as a responder.
    FastCgi(OriginEndpoint),
    /// `fastcgi+spawn:///srv/mt/mt-search.fcgi?processes=1-4`: FastCGI, to processes that Kasoku starts.
    Spawned(SpawnedProgram),
    /// `scgi://127.0.0.1:4000`, `scgi://unix:/run/app.sock`
    Scgi(OriginEndpoint),
    /// `cgi:///usr/lib/cgi-bin`: a directory of programs, or one program (RFC 3875).
    Cgi(PathBuf),
    /// `file:///var/www/html`: the files below a directory.
    Files(PathBuf),
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OriginEndpoint {
    /// A host and a port. A name is resolved at each new connection.
    Tcp {
        /// A name or an address (IPv6 without brackets).
        host: String,
        /// In an `http` URL without a port: 80.
        port: u16,
    },
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl OriginAddress {
    /// `http://host:port`
    pub fn http(host: impl Into<String>, port: u16) -> Self {
        Self::Http(OriginEndpoint::Tcp { host: host.into(), port })
    }

    /// The scheme of its URL.
    pub fn scheme(&self) -> &'static str {
        match self {
            Self::Http(_) => "http",
            Self::FastCgi(_) => "fastcgi",
            Self::Spawned(_) => "fastcgi+spawn",
            Self::Scgi(_) => "scgi",
            Self::Cgi(_) => "cgi",
            Self::Files(_) => "file",
        }
    }

    /// Whether programs answer there. They must be told the length of a request's body.
    pub fn is_program(&self) -> bool {
        match self {
            Self::FastCgi(_) | Self::Spawned(_) | Self::Scgi(_) | Self::Cgi(_) => true,
            Self::Http(_) | Self::Files(_) => false,
        }
    }

    /// The most requests that it can serve at a time, if that is known.
    pub fn permits_max(&self) -> Option<usize> {
        match self {
            Self::Spawned(program) => Some(program.processes_max),
            _ => None,
        }
    }

    /// Whether its requests are counted together with those of all other origins of its kind: programs that run for one request
    /// share the machine.
    pub fn shares_permits(&self) -> bool {
        matches!(self, Self::Cgi(_))
    }

    /// Where its server listens, if the origin is a server.
    pub fn endpoint(&self) -> Option<&OriginEndpoint> {
        match self {
            Self::Http(endpoint) | Self::FastCgi(endpoint) | Self::Scgi(endpoint) => Some(endpoint),
            Self::Spawned(_) | Self::Cgi(_) | Self::Files(_) => None,
        }
    }
}

impl fmt::Display for OriginAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme())?;
        match self {
            Self::Http(endpoint) | Self::FastCgi(endpoint) | Self::Scgi(endpoint) => endpoint.fmt(f),
            Self::Spawned(program) => program.fmt(f),
            Self::Cgi(path) | Self::Files(path) => path.display().fmt(f),
        }
    }
}

/// As in a URL: `host:port`, `[v6]:port`, `unix:/path`.
impl fmt::Display for OriginEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_as_it_is_written() {
        let tcp = |host: &str| OriginEndpoint::Tcp { host: host.to_owned(), port: 80 };
        for (address, text) in [
            (OriginAddress::Http(tcp("a.example")), "http://a.example:80"),
            (OriginAddress::Http(tcp("::1")), "http://[::1]:80"),
            (OriginAddress::FastCgi(OriginEndpoint::Unix("/run/php.sock".into())), "fastcgi://unix:/run/php.sock"),
            (OriginAddress::Scgi(tcp("127.0.0.1")), "scgi://127.0.0.1:80"),
            (OriginAddress::Cgi("/usr/lib/cgi-bin".into()), "cgi:///usr/lib/cgi-bin"),
            (OriginAddress::Files("/var/www".into()), "file:///var/www"),
        ] {
            assert_eq!(address.to_string(), text);
        }
    }
}
