//! What an operator sets of Redis.

use crate::endpoint::Endpoint;
use crate::servers::OPERATION_TIMEOUT_MAX;
use crate::tls::{Tls, TlsToHost};
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, RedisConnectionInfo};
use std::fmt;
use std::time::Duration;
use thiserror::Error;

/// The primary and its replicas, at most.
pub(super) const URLS_MAX: usize = 16;

/// The largest value of Redis.
pub(super) const VALUE_BYTES_LIMIT: usize = 512 << 20;

/// A primary, with replicas that may take its place, and how it is asked.
#[derive(Clone)]
pub struct RedisOptions {
    /// `redis://host:port/db`, `rediss://` for TLS, or `redis+unix:///path?db=0`: the primary and its replicas, in any order. Without user
    /// and password.
    pub urls: Vec<String>,
    /// The user. Without one, the password is that of the default user.
    pub username: Option<String>,
    /// The password.
    pub password: Option<String>,
    /// The certificates for addresses with `rediss://`.
    pub tls: Option<Tls>,
    /// How long an operation may take, with the connection that it may need.
    pub operation_timeout: Duration,
    /// Bytes of a value, at most. A longer one is not written, and one that a server sends is an error.
    pub item_bytes_max: usize,
}

impl fmt::Debug for RedisOptions {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { urls, username, password, tls, operation_timeout, item_bytes_max } = self;
        f.debug_struct("RedisOptions")
            .field("urls", urls)
            .field("username", username)
            .field("has_password", &password.is_some())
            .field("tls", tls)
            .field("operation_timeout", operation_timeout)
            .field("item_bytes_max", item_bytes_max)
            .finish()
    }
}

/// Why options can't be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RedisOptionsError {
    /// No address.
    #[error("there has to be an address")]
    NoUrl,
    /// Too many addresses.
    #[error("there are at most {URLS_MAX} addresses")]
    TooManyUrls,
    /// An address that can't be read.
    #[error("{url} is no address of Redis: {why}")]
    Url {
        /// The address; where it has a password, only that it has one.
        url: String,
        /// What is wrong.
        why: String,
    },
    /// A user without a password can't log in.
    #[error("a user needs a password")]
    UserWithoutPassword,
    /// An address with `rediss://`, and no certificates that are trusted.
    #[error("an address with rediss:// needs certificates that are trusted")]
    NoTls,
    /// The timeout is out of its range.
    #[error("the operation timeout has to be above 0 and at most {} s", OPERATION_TIMEOUT_MAX.as_secs())]
    OperationTimeout,
    /// The limit of items is out of its range.
    #[error("the limit of items has to be above 0 and at most {VALUE_BYTES_LIMIT} bytes")]
    ItemBytes,
}

/// One address, and what is said on a new connection.
pub(super) struct Address {
    pub(super) endpoint: Endpoint,
    pub(super) tls: Option<TlsToHost>,
    pub(super) login: RedisConnectionInfo,
}

impl RedisOptions {
    /// Checks what the types do not say. Returns the addresses.
    pub(super) fn addresses(&self) -> Result<Vec<Address>, RedisOptionsError> {
        check_bounds(self.operation_timeout, self.item_bytes_max)?;
        check_count(self.urls.len())?;
        let read = |url: &String| {
            let (endpoint, info) = read_url(url, self.username.as_deref(), self.password.as_deref())?;
            let tls = match info.addr() {
                ConnectionAddr::TcpTls { host, .. } => {
                    let tls = self.tls.as_ref().ok_or(RedisOptionsError::NoTls)?;
                    let why = "no certificate can name this host".to_owned();
                    Some(tls.to(host).ok_or_else(|| RedisOptionsError::Url { url: url.clone(), why })?)
                }
                _ => None,
            };
            Ok(Address { endpoint, tls, login: info.redis_settings().clone() })
        };
        self.urls.iter().map(read).collect()
    }
}

pub(super) fn check_bounds(operation_timeout: Duration, item_bytes_max: usize) -> Result<(), RedisOptionsError> {
    if operation_timeout.is_zero() || operation_timeout > OPERATION_TIMEOUT_MAX {
        return Err(RedisOptionsError::OperationTimeout);
    }
    if !(1..=VALUE_BYTES_LIMIT).contains(&item_bytes_max) {
        return Err(RedisOptionsError::ItemBytes);
    }
    Ok(())
}

pub(super) fn check_count(urls: usize) -> Result<(), RedisOptionsError> {
    match urls {
        0 => Err(RedisOptionsError::NoUrl),
        1..=URLS_MAX => Ok(()),
        _ => Err(RedisOptionsError::TooManyUrls),
    }
}

/// An address, with the user and the password that all have.
pub(super) fn read_url(
    url: &str,
    username: Option<&str>,
    password: Option<&str>,
) -> Result<(Endpoint, ConnectionInfo), RedisOptionsError> {
    let refused = |url: &str, why: &str| Err(RedisOptionsError::Url { url: url.to_owned(), why: why.to_owned() });
    let info = match url.into_connection_info() {
        Ok(info) => info,
        // The URL may have a password, so it is not shown.
        Err(error) if url.contains('@') || url.contains("pass=") => {
            return refused("a URL with a password", &error.to_string());
        }
        Err(error) => return refused(url, &error.to_string()),
    };
    let settings = info.redis_settings();
    if settings.username().is_some() || settings.password().is_some() {
        return refused("a URL with a password", "user and password are settings of their own");
    }
    let endpoint = match info.addr() {
        ConnectionAddr::Tcp(host, port) => Endpoint::Tcp { host: host.clone(), port: *port },
        ConnectionAddr::Unix(path) => Endpoint::Unix(path.clone()),
        ConnectionAddr::TcpTls { host, port, insecure: false, .. } => Endpoint::Tcp { host: host.clone(), port: *port },
        _ => return refused(url, "certificates are always verified"),
    };
    let mut login = RedisConnectionInfo::default()
        .set_db(settings.db())
        // Each connection is one exchange shorter, and replies of RESP2 are of few kinds.
        .set_protocol(ProtocolVersion::RESP2)
        .set_skip_set_lib_name();
    match (username, password) {
        (None, None) => {}
        (None, Some(password)) => login = login.set_password(password),
        (Some(username), Some(password)) => login = login.set_username(username).set_password(password),
        (Some(_), None) => return Err(RedisOptionsError::UserWithoutPassword),
    }
    Ok((endpoint, info.set_redis_settings(login)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(urls: &[&str]) -> RedisOptions {
        RedisOptions {
            urls: urls.iter().map(|url| (*url).to_owned()).collect(),
            username: None,
            password: None,
            tls: None,
            operation_timeout: Duration::from_millis(50),
            item_bytes_max: 1 << 20,
        }
    }

    #[test]
    fn addresses_are_hosts_with_ports_and_sockets() {
        let read = options(&[
            "redis://a.example",
            "redis://10.0.0.1:7000/3",
            "redis://[::1]:7",
            "redis+unix:///run/r.sock?db=2",
        ]);
        let read = read.addresses().unwrap();
        let shown: Vec<_> = read.iter().map(|address| (address.endpoint.to_string(), address.login.db())).collect();
        let shown: Vec<_> = shown.iter().map(|(endpoint, db)| (endpoint.as_str(), *db)).collect();
        assert_eq!(shown, [("a.example:6379", 0), ("10.0.0.1:7000", 3), ("[::1]:7", 0), ("/run/r.sock", 2)]);
    }

    #[test]
    fn what_can_not_be_used_is_refused_and_passwords_are_not_shown() {
        assert_eq!(options(&[]).addresses().err(), Some(RedisOptionsError::NoUrl));
        assert_eq!(options(&["redis://a"; 17]).addresses().err(), Some(RedisOptionsError::TooManyUrls));
        for url in [
            "a.example:6379",
            "http://a/",
            "redis://",
            "rediss://a#insecure",
            "redis://:hunter2@a",
            "redis+unix:///s?pass=hunter2",
            "redis://u:hunter2@a:x/",
        ] {
            let error = options(&[url]).addresses().err().unwrap();
            assert!(
                matches!(error, RedisOptionsError::Url { .. }) && !error.to_string().contains("hunter2"),
                "{error}"
            );
        }
        assert_eq!(options(&["rediss://a"]).addresses().err(), Some(RedisOptionsError::NoTls));
        let user = RedisOptions { username: Some("u".into()), ..options(&["redis://a"]) };
        assert_eq!(user.addresses().err(), Some(RedisOptionsError::UserWithoutPassword));
        let secret = RedisOptions { password: Some("hunter2".into()), ..user };
        assert!(secret.addresses().is_ok() && !format!("{secret:?}").contains("hunter2"));
        for (timeout, bytes) in [(0, 1), (61, 1), (1, 0), (1, VALUE_BYTES_LIMIT + 1)] {
            let options = RedisOptions {
                operation_timeout: Duration::from_secs(timeout),
                item_bytes_max: bytes,
                ..options(&["redis://a"])
            };
            assert!(options.addresses().is_err(), "{timeout} {bytes}");
        }
    }
}
