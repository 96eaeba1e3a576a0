//! Hosts as the configuration names them.

/// `example.org`, or `*.example.org` for everything below it (not itself). Lower case, without a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostPattern {
    /// This host.
    Exact(String),
    /// Every host that ends in this suffix, which starts with a dot: `.example.org`.
    Below(String),
}

impl HostPattern {
    /// Whether a host fits the pattern, whatever its port.
    pub fn fits(&self, authority: &str) -> bool {
        let host = host_name(authority);
        match self {
            Self::Exact(name) => name == host,
            Self::Below(suffix) => host.len() > suffix.len() && host.ends_with(suffix.as_str()),
        }
    }
}

/// A host without its port.
pub fn host_name(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((name, port)) if !name.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_no_part_of_a_host() {
        assert_eq!((host_name("a:80"), host_name("[::1]:80"), host_name("[::1]")), ("a", "[::1]", "[::1]"));
    }
}
