//! Sums up a configuration in a few lines: where it listens, how much memory and disk it may use, which servers share responses, which
//! front ends are told of purges, and which origins its sites have.
//!
//! It shows what Kasoku has understood, so that an operator notices a site or an origin that was meant otherwise. It asks no origin,
//! like `nginx -t` and `haproxy -c`.

use kasoku_options::{ControlSocket, HostPattern, LogTarget, Options, OriginAddress, Peers, Site};
use kasoku_options::{
    RedisClientCertificate, RedisServers, SharedEndpoint, SharedRing, SharedServer, SharedServers, SharedTier,
};
use std::fmt::Display;

/// The most sites that have a line.
const SITES_MAX: usize = 20;

/// The most hosts and origins that a line has.
const LISTED_MAX: usize = 4;

const NAME_COLUMNS: usize = 16;

/// The lines of the summary, without the first one, which says that the configuration is ok.
pub(super) fn lines(options: &Options) -> Vec<String> {
    let listeners: Vec<_> = options.listeners.iter().map(|listener| listener.address.to_string()).collect();
    let mut lines = vec![line("listens at", &listed(&listeners)), line("admin", &admin(options))];
    lines.push(line("control socket", &control_socket(&options.control_socket)));
    lines.push(line("memory", &format!("{} for responses", size(options.memory_bytes_max))));
    lines.push(line("disk", &disk(options)));
    lines.extend(options.shared.as_ref().map(|tier| line("shared", &shared(tier))));
    lines.extend(options.peers.as_ref().map(|they| line("peers", &peers(they))));
    lines.push(line("workers", &options.workers));
    lines.extend(options.sites.iter().take(SITES_MAX).map(site));
    if let Some(more @ 1..) = options.sites.len().checked_sub(SITES_MAX) {
        lines.push(format!("  and {more} more sites"));
    }
    lines
}

fn line(name: &str, value: &impl Display) -> String {
    let line = format!("  {name:<NAME_COLUMNS$} {value}");
    // A path may contain control characters, which a terminal would obey.
    line.chars().map(|c| if c.is_control() { c.escape_unicode().to_string() } else { c.to_string() }).collect()
}

fn listed(all: &[String]) -> String {
    let shown = all.iter().take(LISTED_MAX).cloned().collect::<Vec<_>>().join(", ");
    match all.len().checked_sub(LISTED_MAX) {
        Some(more @ 1..) => format!("{shown} and {more} more"),
        _ => shown,
    }
}

fn admin(options: &Options) -> String {
    let token = if options.admin_token_file.is_some() { " with a token" } else { "" };
    options.admin.as_ref().map_or_else(|| "no listener".to_owned(), |address| format!("{address}{token}"))
}

fn control_socket(socket: &ControlSocket) -> String {
    match socket {
        ControlSocket::Auto => "where commands look for it (auto)".to_owned(),
        ControlSocket::At(path) => path.display().to_string(),
        ControlSocket::Off => "none".to_owned(),
    }
}

fn disk(options: &Options) -> String {
    let buffer = &options.request_buffer;
    let directory = buffer.directory.clone().unwrap_or_else(std::env::temp_dir);
    let bodies = format!("{} for bodies of requests, in {}", size(buffer.bytes_max), directory.display());
    let bodies = match &options.disk {
        Some(tier) => format!("{} for responses, in {}; {bodies}", size(tier.size_bytes), tier.path.display()),
        None => bodies,
    };
    match &options.access_log.target {
        Some(LogTarget::File(path)) => format!("{bodies}; access log {}", path.display()),
        Some(LogTarget::StandardOutput) | None => bodies,
    }
}

fn shared(tier: &SharedTier) -> String {
    let secret = match &tier.secret_file {
        Some(file) => format!("the secret in {}", file.display()),
        None => "no secret".to_owned(),
    };
    format!("{}, namespace {}, {secret}", shared_servers(&tier.servers), tier.namespace)
}

fn shared_servers(servers: &SharedServers) -> String {
    match servers {
        SharedServers::Memcached { servers, ring, server_down: _ } => {
            let server = |SharedServer { endpoint, weight }: &SharedServer| {
                let address = shared_endpoint(endpoint);
                if *weight == 1 { address } else { format!("{address} (weight {weight})") }
            };
            let servers: Vec<_> = servers.iter().map(server).collect();
            let ring = match ring {
                SharedRing::KetamaWeighted => "ketama-weighted",
                SharedRing::Ketama => "ketama",
            };
            format!("memcached at {}; ring {ring}", listed(&servers))
        }
        SharedServers::Redis(RedisServers {
            addresses,
            is_cluster,
            user,
            password_file,
            ca_file,
            client_certificate,
        }) => {
            let is_tls = addresses.iter().any(|address| address.is_tls);
            let addresses: Vec<_> = addresses.iter().map(|address| shared_endpoint(&address.endpoint)).collect();
            let kind = match is_cluster {
                true => "the Redis Cluster of",
                false => "Redis at",
            };
            let user = user.as_ref().map(|user| format!("; user {user}")).unwrap_or_default();
            let password = password_file.as_ref().map(|file| format!("; the password in {}", file.display()));
            let trusted = match ca_file {
                _ if !is_tls => String::new(),
                Some(file) => format!(" by TLS, as {} certifies", file.display()),
                None => " by TLS, as the system's certificates certify".to_owned(),
            };
            let certificate = client_certificate.as_ref().map(|RedisClientCertificate { certificate_file, .. }| {
                format!("; the certificate in {}", certificate_file.display())
            });
            let [password, certificate] = [password, certificate].map(Option::unwrap_or_default);
            format!("{kind} {}{trusted}{user}{password}{certificate}", listed(&addresses))
        }
    }
}

fn shared_endpoint(endpoint: &SharedEndpoint) -> String {
    match endpoint {
        SharedEndpoint::Tcp { host, port } if host.contains(':') => format!("[{host}]:{port}"),
        SharedEndpoint::Tcp { host, port } => format!("{host}:{port}"),
        SharedEndpoint::Unix(path) => format!("unix:{}", path.display()),
    }
}

fn peers(peers: &Peers) -> String {
    let addresses: Vec<_> = peers.addresses.iter().map(ToString::to_string).collect();
    format!(
        "purges go to {}; listens at {}, the token in {}",
        listed(&addresses),
        peers.listen,
        peers.token_file.display()
    )
}

fn site(site: &Site) -> String {
    let host = |pattern: &HostPattern| match pattern {
        HostPattern::Exact(host) => host.clone(),
        HostPattern::Below(suffix) => format!("*{suffix}"),
    };
    let hosts: Vec<_> = site.hosts.iter().map(host).collect();
    let hosts = if hosts.is_empty() { "any host".to_owned() } else { listed(&hosts) };
    let mut origins: Vec<String> = Vec::new();
    for route in std::iter::once(&site.route).chain(site.rules.iter().map(|rule| &rule.route)) {
        for origin in route.origins.iter().map(|origin| described(&origin.address)) {
            if !origins.contains(&origin) {
                origins.push(origin);
            }
        }
    }
    let rules = match site.rules.len() {
        0 => String::new(),
        1 => "; 1 rule".to_owned(),
        count => format!("; {count} rules"),
    };
    line(&format!("site {}", site.name), &format!("{hosts} from {}{rules}", listed(&origins)))
}

fn described(address: &OriginAddress) -> String {
    let kind = match address {
        OriginAddress::Http(_) => "a server of HTTP",
        OriginAddress::FastCgi(_) => "FastCGI",
        OriginAddress::Spawned(_) => "FastCGI, started by Kasoku",
        OriginAddress::Scgi(_) => "SCGI",
        OriginAddress::Cgi(_) => "CGI programs",
        OriginAddress::Files(_) => "files",
    };
    format!("{address} ({kind})")
}

/// A size as a configuration has it: in the largest unit of which it is a whole multiple.
fn size(bytes: u64) -> String {
    let units = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = units.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{bytes} B"), |(unit, name)| format!("{} {name}", bytes / unit))
}
