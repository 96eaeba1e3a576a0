//! Parses addresses: of listeners, of origins, of servers of the shared tier, of trusted proxies.
//!
//! One notation for each, no guessing: a bare port or a missing scheme is an error whose help says the full form.
//! Names are not resolved here; listening addresses are numbers, origins may be names.

use crate::host;
use crate::issue::{ValueError, quoted};
use kasoku_options::{
    AddressRange, ListenAddress, MEMCACHED_PORT, OriginAddress, OriginEndpoint, PeerAddress, REDIS_PORT, RedisAddress,
    SHARED_WEIGHT_MAX, SharedEndpoint, SharedServer, SpawnedProgram, UMASK_DEFAULT,
};
use kasoku_semantics::stand_in::{PREFIX_BITS_MAX, StandInRange};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

/// The longest path of a Unix socket in bytes: `sun_path` of unix(7) less its final NUL.
const UNIX_PATH_BYTES_MAX: usize = 107;
/// The forms of an origin's address.
const ORIGIN_HELP: &str = "an origin is \"http://host\", \"http://host:port\", \"http://[v6]:port\", \"http://unix:/path.sock\", \
                           \"fastcgi://host:port\", \"fastcgi://unix:/path.sock\", \"fastcgi+spawn:///program?processes=4\", \"scgi://host:port\", \"cgi:///directory\" or \"file:///directory\"";
/// The most processes of one program.
const PROCESSES_MAX: usize = 1024;
/// The fewest and the most processes of a program whose address sets neither.
const PROCESSES_DEFAULT: (usize, usize) = (1, 4);
/// The port of an `http` URL that names none.
const HTTP_PORT: u16 = 80;

/// `127.0.0.1:8080`, `[::1]:8080`, `unix:/run/kasoku.sock`, `fd:3`.
pub(crate) fn parse_listen(text: &str) -> Result<ListenAddress, ValueError> {
    let bad =
        |why: &str, help: &str| ValueError::new(format!("{} is not a listening address: {why}", quoted(text)), help);
    if let Some(path) = text.strip_prefix("unix:") {
        return parse_unix_path(path)
            .map(ListenAddress::Unix)
            .map_err(|why| bad(why, "like \"unix:/run/kasoku.sock\""));
    }
    if let Some(number) = text.strip_prefix("fd:") {
        return match number.parse::<i32>() {
            Ok(number @ 3..) => Ok(ListenAddress::Descriptor(number)),
            Ok(0..=2) => Err(bad(
                "0 to 2 are standard input, output and error",
                "sockets that are handed over start at \"fd:3\"",
            )),
            _ => Err(bad("`fd:` takes the number of a descriptor", "like \"fd:3\"")),
        };
    }
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(ListenAddress::Tcp(address));
    }
    Err(listen_fault(text, &bad))
}

/// What is wrong with a text that is no address of any kind.
fn listen_fault(text: &str, bad: &dyn Fn(&str, &str) -> ValueError) -> ValueError {
    const HELP: &str = "like \"127.0.0.1:8080\", \"[::1]:8080\", \"unix:/run/kasoku.sock\" or \"fd:3\"";
    if text.contains("://") {
        return bad("it is a URL", HELP);
    }
    if text.starts_with('/') {
        return bad("it is a path", &format!("for a Unix socket write {}", quoted(&format!("unix:{text}"))));
    }
    if text.parse::<IpAddr>().is_ok() || text.parse::<Ipv6Addr>().is_ok() {
        let host = if text.contains(':') { format!("[{text}]") } else { text.to_owned() };
        return bad("it has no port", &format!("write \"{host}:8080\""));
    }
    let (name, port) = text.rsplit_once(':').unwrap_or(("", text));
    if port.parse::<u16>().is_err() {
        return bad("it needs a port from 0 to 65535", HELP);
    }
    match name {
        "" | "*" => bad(
            "it has no address",
            &format!(
                "write \"127.0.0.1:{port}\" for this machine only, or \"0.0.0.0:{port}\" or \"[::]:{port}\" for all machines"
            ),
        ),
        "localhost" => {
            bad("it must be a number, not a name", &format!("write \"127.0.0.1:{port}\" or \"[::1]:{port}\""))
        }
        name if name.parse::<Ipv6Addr>().is_ok() => {
            bad("an IPv6 address needs brackets", &format!("write \"[{name}]:{port}\""))
        }
        _ => bad("it must be an IP address, not a name", HELP),
    }
}

/// `http://host[:port]`, `http://[v6]:port`, `http://unix:/path.sock`; the same for `fastcgi` and `scgi`, with a port;
/// `cgi:///directory`, `file:///directory`.
pub(crate) fn parse_origin(text: &str) -> Result<OriginAddress, ValueError> {
    let bad = |why: &str, help: &str| ValueError::new(format!("{} is not an origin: {why}", quoted(text)), help);
    let Some((scheme, rest)) = text.split_once("://") else {
        let guess = match text.strip_prefix('/') {
            Some(_) if text.ends_with(".sock") => format!("http://unix:{text}"),
            Some(_) => format!("file://{text}"),
            None => format!("http://{text}"),
        };
        let help =
            if parse_origin(&guess).is_ok() { format!("write {}", quoted(&guess)) } else { ORIGIN_HELP.to_owned() };
        return Err(bad("it has no scheme", &help));
    };
    match scheme.to_ascii_lowercase().as_str() {
        "http" | "fastcgi" | "scgi" if rest.starts_with('/') => {
            let help = format!("for a Unix socket write {}", quoted(&format!("{scheme}://unix:{rest}")));
            return Err(bad("it has no host", &help));
        }
        "http" => parse_authority(rest, Some(HTTP_PORT)).map(OriginAddress::Http),
        "fastcgi" => parse_authority(rest, None).map(OriginAddress::FastCgi),
        "scgi" => parse_authority(rest, None).map(OriginAddress::Scgi),
        "https" => return Err(bad("TLS towards origins is not supported yet", ORIGIN_HELP)),
        "fastcgi+spawn" => parse_spawned(rest).map(OriginAddress::Spawned),
        "file" => return parse_directory(rest).map(OriginAddress::Files),
        "cgi" => return parse_programs(rest).map(OriginAddress::Cgi),
        "fcgi" => {
            return Err(bad(
                "the scheme is called fastcgi",
                &format!("write {}", quoted(&format!("fastcgi://{rest}"))),
            ));
        }
        _ => return Err(bad(&format!("the scheme {} is unknown", quoted(scheme)), ORIGIN_HELP)),
    }
    .map_err(|why| bad(&why, ORIGIN_HELP))
}

/// `/srv/mt/mt-search.fcgi?processes=1-4&requests=500&umask=0002`
fn parse_spawned(text: &str) -> Result<SpawnedProgram, String> {
    let (path, parameters) = text.split_once('?').unwrap_or((text, ""));
    let file = PathBuf::from(path);
    if !path.starts_with('/') || file.file_name().is_none() || path.contains('\0') {
        return Err("it needs the absolute path of a program".to_owned());
    }
    let (processes_min, processes_max) = PROCESSES_DEFAULT;
    let mut program = SpawnedProgram { file, processes_min, processes_max, requests_max: 0, umask: UMASK_DEFAULT };
    for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
        match parameter.split_once('=') {
            Some(("processes", range)) => {
                let (min, max) = range.split_once('-').unwrap_or((range, range));
                let number = |text: &str| text.parse().ok().filter(|number| (1..=PROCESSES_MAX).contains(number));
                let range = number(min).zip(number(max)).filter(|(min, max)| min <= max);
                (program.processes_min, program.processes_max) =
                    range.ok_or_else(|| format!("`processes` is a number from 1 to {PROCESSES_MAX}, or two: `1-4`"))?;
            }
            Some(("requests", number)) => {
                program.requests_max =
                    number.parse().map_err(|_| format!("{} is no number of requests", quoted(number)))?;
            }
            Some(("umask", mask)) => program.umask = parse_umask(mask)?,
            _ => {
                return Err(format!(
                    "{} is no parameter of a program: there are `processes`, `requests` and `umask`",
                    quoted(parameter)
                ));
            }
        }
    }
    Ok(program)
}

/// A umask as shells write it: three octal digits, with a 0 before them or without.
pub(crate) fn parse_umask(text: &str) -> Result<u32, String> {
    let is_octal = (3..=4).contains(&text.len()) && text.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
    let mask = u32::from_str_radix(text, 8).ok().filter(|mask| is_octal && *mask <= 0o777);
    mask.ok_or_else(|| format!("{} is no umask: it is octal, like \"0022\"", quoted(text)))
}

/// Parses the absolute path of a directory whose files are sent to clients.
pub(crate) fn parse_directory(path: &str) -> Result<PathBuf, ValueError> {
    let bad =
        |why: &str, help: &str| ValueError::new(format!("{} is not a directory to serve: {why}", quoted(path)), help);
    if !path.starts_with('/') {
        return Err(bad("the path must be absolute", "like \"/var/www/html\"; as an origin \"file:///var/www/html\""));
    }
    if path.contains('\0') {
        return Err(bad("a path has no NUL", "like \"/var/www/html\""));
    }
    let components: PathBuf = PathBuf::from(path).components().collect();
    if components.parent().is_none() {
        return Err(bad("it is the whole machine", "name the directory whose files all clients may get"));
    }
    Ok(components)
}

/// Parses the absolute path of a directory of programs, or of one program.
fn parse_programs(path: &str) -> Result<PathBuf, ValueError> {
    const HELP: &str = "like \"cgi:///usr/lib/cgi-bin\", or \"cgi:///srv/app/app.cgi\" for one program";
    let bad = |why: &str| ValueError::new(format!("{} is not a directory of programs: {why}", quoted(path)), HELP);
    let components: PathBuf = PathBuf::from(path).components().collect();
    match () {
        () if !path.starts_with('/') => Err(bad("the path must be absolute")),
        () if path.contains('\0') => Err(bad("a path has no NUL")),
        () if components.parent().is_none() => Err(bad("it is the whole machine")),
        () => Ok(components),
    }
}

/// Parses the text behind `http://`; the error says why it is wrong. Without a default, the text must have a port.
fn parse_authority(text: &str, default_port: Option<u16>) -> Result<OriginEndpoint, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        return parse_unix_path(path).map(OriginEndpoint::Unix).map_err(str::to_owned);
    }
    let text = text.strip_suffix('/').unwrap_or(text);
    if text.contains('@') {
        return Err(
            "user names and passwords do not belong here; the client's own credentials are passed on".to_owned()
        );
    }
    if let Some(start) = text.find(['/', '?', '#']) {
        let path = text.get(start..).unwrap_or_default();
        return Err(format!("it has a path, {}, but the path comes from the client's request", quoted(path)));
    }
    let (host, port) = split_port(text)?;
    let port = port.or(default_port).ok_or("it has no port")?;
    if port == 0 {
        return Err("nothing listens on port 0".to_owned());
    }
    if let Some(address) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let address =
            address.parse::<Ipv6Addr>().map_err(|_| "between the brackets there must be an IPv6 address".to_owned())?;
        return Ok(OriginEndpoint::Tcp { host: address.to_string(), port });
    }
    if host.contains(':') {
        return Err("an IPv6 address needs brackets".to_owned());
    }
    Ok(OriginEndpoint::Tcp { host: host::parse_name(host)?, port })
}

/// Splits `host:port`; the port may be missing.
fn split_port(text: &str) -> Result<(&str, Option<u16>), String> {
    match text.rsplit_once(':') {
        // The last colon stands within brackets, or in an address that lacks them.
        Some((before, after)) if after.contains(']') || before.contains(':') && !before.contains(']') => {
            Ok((text, None))
        }
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !port.is_empty() => {
            port.parse().map(|port| (host, Some(port))).map_err(|_| format!("{} is no port: 1 to 65535", quoted(port)))
        }
        Some((_, port)) => Err(format!("{} is no port: 1 to 65535", quoted(port))),
        None => Ok((text, None)),
    }
}

/// `Host` for an origin: `app.internal`, `app.internal:8000`.
pub(crate) fn parse_origin_host(text: &str) -> Result<String, ValueError> {
    let bad = |why: &str| {
        ValueError::new(
            format!("{} is not a host: {why}", quoted(text)),
            "like \"app.internal\" or \"app.internal:8000\"",
        )
    };
    if text.contains(['/', '@']) {
        return Err(bad("it must be a name, with or without a port, and nothing else"));
    }
    parse_authority(text, Some(HTTP_PORT)).map_err(|why| bad(&why))?;
    Ok(text.to_ascii_lowercase())
}

/// `host`, `host:port`, `[v6]:port`, `unix:/path.sock`, each with a weight after a blank or without one.
pub(crate) fn parse_memcached(text: &str) -> Result<SharedServer, ValueError> {
    const HELP: &str = "like \"10.0.0.1:11211\", \"unix:/run/memcached.sock\", or with a weight \"10.0.0.1:11211 2\"";
    let bad = |why: &str| ValueError::new(format!("{} is no memcached server: {why}", quoted(text)), HELP);
    let (address, weight) = text.split_once(' ').unwrap_or((text, "1"));
    let weight = Some(weight).filter(|weight| weight.bytes().all(|byte| byte.is_ascii_digit()));
    let weight =
        weight.and_then(|weight| weight.parse().ok()).filter(|weight| (1..=SHARED_WEIGHT_MAX).contains(weight));
    let weight = weight.ok_or_else(|| bad(&format!("a weight is a number from 1 to {SHARED_WEIGHT_MAX}")))?;
    if address.contains("://") {
        return Err(bad("it is a URL"));
    }
    if address.starts_with('/') {
        let help = format!("for a Unix socket write {}", quoted(&format!("unix:{address}")));
        return Err(ValueError::new(format!("{} is no memcached server: it is a path", quoted(text)), &help));
    }
    let endpoint = match parse_authority(address, Some(MEMCACHED_PORT)).map_err(|why| bad(&why))? {
        OriginEndpoint::Unix(path) => SharedEndpoint::Unix(path),
        // The ring is made of the host as it is written: letters keep their case.
        OriginEndpoint::Tcp { port, .. } => {
            let (host, _) = split_port(address).map_err(|why| bad(&why))?;
            SharedEndpoint::Tcp { host: host.trim_matches(['[', ']']).to_owned(), port }
        }
    };
    Ok(SharedServer { endpoint, weight })
}

/// `redis://host[:port][/database]`, `redis://[v6]:port`, the same with `rediss` for TLS, `unix:/path.sock`.
pub(crate) fn parse_redis(text: &str) -> Result<RedisAddress, ValueError> {
    const HELP: &str = "like \"redis://10.0.0.1:6379\", \"redis://10.0.0.1/2\" or \"unix:/run/redis/redis.sock\"";
    let bad = |why: &str, help: &str| ValueError::new(format!("{} is no Redis server: {why}", quoted(text)), help);
    if text.starts_with("unix:/") && !text.starts_with("unix://") {
        let endpoint = parse_authority(text, None).map_err(|why| bad(&why, HELP))?;
        let OriginEndpoint::Unix(path) = endpoint else { return Err(bad("it has no path", HELP)) };
        return Ok(RedisAddress { endpoint: SharedEndpoint::Unix(path), database: 0, is_tls: false });
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        let help = match text.strip_prefix('/') {
            Some(_) => format!("for a Unix socket write {}", quoted(&format!("unix:{text}"))),
            None => format!("write {}", quoted(&format!("redis://{text}"))),
        };
        return Err(bad("it has no scheme", &help));
    };
    let is_called = |scheme: &str| {
        let help = format!("write {}", quoted(&format!("{scheme}://{rest}")));
        Err(bad(&format!("the scheme is called {scheme}"), &help))
    };
    let is_tls = match scheme {
        "redis" => false,
        "rediss" => true,
        "valkey" => return is_called("redis"),
        "valkeys" => return is_called("rediss"),
        "unix" | "redis+unix" | "redis-socket" => {
            return Err(bad("it is a URL", &format!("for a Unix socket write {}", quoted(&format!("unix:{rest}")))));
        }
        _ => return Err(bad(&format!("the scheme {} is unknown", quoted(scheme)), HELP)),
    };
    if rest.contains('@') {
        return Err(bad(
            "users and passwords do not belong into an address",
            "write `redis-user = \"kasoku\"` and `redis-password-file = \"/etc/kasoku/redis.password\"` into `[shared]`",
        ));
    }
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let database = Some(database).filter(|text| is_number(text));
    let database = database.and_then(|text| if text.is_empty() { Some(0) } else { text.parse().ok() });
    let database = database.ok_or_else(|| bad("after the host there may be the number of a database", HELP))?;
    let endpoint = match parse_authority(authority, Some(REDIS_PORT)).map_err(|why| bad(&why, HELP))? {
        OriginEndpoint::Unix(_) => return Err(bad("it is a Unix socket", HELP)),
        OriginEndpoint::Tcp { host, port } => SharedEndpoint::Tcp { host, port },
    };
    Ok(RedisAddress { endpoint, database, is_tls })
}

/// `host:port`, `[v6]:port`.
pub(crate) fn parse_peer(text: &str) -> Result<PeerAddress, ValueError> {
    const HELP: &str = "write where it listens for its peers, like \"10.0.0.2:6082\"";
    let bad = |why: &str| ValueError::new(format!("{} is no peer: {why}", quoted(text)), HELP);
    if text.contains("://") {
        return Err(bad("it is a URL"));
    }
    match parse_authority(text, None).map_err(|why| bad(&why))? {
        OriginEndpoint::Tcp { host, port } => Ok(PeerAddress { host, port }),
        OriginEndpoint::Unix(_) => Err(bad("a Unix socket is on this machine")),
    }
}

/// `10.0.0.0/8`, `::1`, `unix`.
pub(crate) fn parse_range(text: &str) -> Result<AddressRange, ValueError> {
    const HELP: &str = "like \"10.0.0.0/8\", \"127.0.0.1\", \"fd00::/8\" or \"unix\"";
    let bad = |why: &str| ValueError::new(format!("{} is not a range of addresses: {why}", quoted(text)), HELP);
    if text == "unix" {
        return Ok(AddressRange::Unix);
    }
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (text, None),
    };
    let address = address
        .parse::<IpAddr>()
        .map_err(|_| bad("it must be an IP address, with or without `/` and a number of bits"))?;
    let bits_max = if address.is_ipv4() { 32 } else { 128 };
    let prefix_bits = match bits.map(str::parse::<u8>) {
        None => bits_max,
        Some(Ok(bits)) if bits <= bits_max => bits,
        Some(_) => return Err(bad(&format!("after the `/` there must be a number from 0 to {bits_max}"))),
    };
    Ok(AddressRange::Ip { address, prefix_bits })
}

/// `240.0.0.0/4`, `2001:db8:7::/48`: the range of the addresses that anonymous requests tell.
pub(crate) fn parse_stand_ins(text: &str) -> Result<StandInRange, ValueError> {
    let bad = |why: &str| {
        let message = format!("{} is not a range for anonymous requests: {why}", quoted(text));
        ValueError::new(message, "like \"2001:db8:7::/48\", a range that no client has and no application trusts")
    };
    match parse_range(text) {
        Ok(AddressRange::Ip { address: IpAddr::V6(network), prefix_bits }) => {
            let is_usable = (PREFIX_BITS_MIN..=PREFIX_BITS_MAX).contains(&prefix_bits);
            let why = format!("after the `/` there must be a number from {PREFIX_BITS_MIN} to {PREFIX_BITS_MAX}");
            is_usable.then_some(StandInRange::Ipv6 { network, prefix_bits }).ok_or_else(|| bad(&why))
        }
        Ok(range) if range == CLASS_E => Ok(StandInRange::ClassE),
        _ => Err(bad("it must be a range of IPv6, or \"240.0.0.0/4\"")),
    }
}

/// The default of the setting.
const CLASS_E: AddressRange = AddressRange::Ip { address: IpAddr::V4(Ipv4Addr::new(240, 0, 0, 0)), prefix_bits: 4 };

/// A larger range would hold addresses of clients.
const PREFIX_BITS_MIN: u8 = 16;

fn parse_unix_path(path: &str) -> Result<PathBuf, &'static str> {
    if !path.starts_with('/') {
        Err("the path of a Unix socket must be absolute")
    } else if path.len() > UNIX_PATH_BYTES_MAX {
        Err("the path of a Unix socket has at most 107 bytes")
    } else if path.contains('\0') {
        Err("a path has no NUL")
    } else {
        Ok(PathBuf::from(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16) -> OriginAddress {
        OriginAddress::Http(OriginEndpoint::Tcp { host: host.to_owned(), port })
    }

    #[test]
    fn addresses_of_anonymous_requests_come_from_a_range_in_which_there_are_many() {
        assert_eq!(parse_stand_ins("240.0.0.0/4"), Ok(StandInRange::ClassE));
        let network = "2001:db8:7::".parse().unwrap();
        assert_eq!(parse_stand_ins("2001:db8:7::/48"), Ok(StandInRange::Ipv6 { network, prefix_bits: 48 }));
        for text in ["", "unix", "10.0.0.0/8", "240.0.0.0/5", "::/0", "2001:db8::/57", "2001:db8::1", "nobody"] {
            assert!(parse_stand_ins(text).is_err(), "{text}");
        }
    }

    #[test]
    fn each_kind_of_listening_address() {
        for text in ["127.0.0.1:8080", "[::1]:8080", "0.0.0.0:0"] {
            assert_eq!(parse_listen(text), Ok(ListenAddress::Tcp(text.parse().unwrap())));
        }
        assert_eq!(parse_listen("unix:/run/k.sock"), Ok(ListenAddress::Unix("/run/k.sock".into())));
        assert_eq!(parse_listen("fd:3"), Ok(ListenAddress::Descriptor(3)));
    }

    #[test]
    fn a_bad_listening_address_is_answered_with_the_good_one() {
        for (text, help) in [
            ("8080", "0.0.0.0:8080"),
            (":8080", "127.0.0.1:8080"),
            ("*:80", "[::]:80"),
            ("localhost:8080", "127.0.0.1:8080"),
            ("127.0.0.1", "\"127.0.0.1:8080\""),
            ("::1", "\"[::1]:8080\""),
            ("fe80::1:99999", "[::1]:8080"),
            ("/run/k.sock", "unix:/run/k.sock"),
            ("unix:run/k.sock", "unix:/run/kasoku.sock"),
            ("fd:1", "fd:3"),
            ("fd:x", "fd:3"),
            ("fd:-1", "fd:3"),
            ("http://127.0.0.1:80", "127.0.0.1:8080"),
            ("example.org:80", "127.0.0.1:8080"),
            ("127.0.0.1:99999", "127.0.0.1:8080"),
            ("", "127.0.0.1:8080"),
        ] {
            let fault = parse_listen(text).unwrap_err();
            assert!(fault.help.contains(help), "{text}: {}", fault.help);
        }
        assert!(parse_listen(&format!("unix:/{}", "x".repeat(107))).is_err());
    }

    #[test]
    fn each_kind_of_origin() {
        assert_eq!(parse_origin("http://127.0.0.1:8000"), Ok(tcp("127.0.0.1", 8000)));
        assert_eq!(parse_origin("HTTP://App.Internal/"), Ok(tcp("app.internal", 80)));
        assert_eq!(parse_origin("http://[::1]:8000"), Ok(tcp("::1", 8000)));
        assert_eq!(parse_origin("http://[::1]"), Ok(tcp("::1", 80)));
        assert_eq!(
            parse_origin("http://unix:/run/app.sock"),
            Ok(OriginAddress::Http(OriginEndpoint::Unix("/run/app.sock".into())))
        );
        assert_eq!(
            parse_origin("fastcgi://unix:/run/php/php-fpm.sock"),
            Ok(OriginAddress::FastCgi(OriginEndpoint::Unix("/run/php/php-fpm.sock".into())))
        );
        let port_9000 = |host: &str| OriginEndpoint::Tcp { host: host.to_owned(), port: 9000 };
        assert_eq!(parse_origin("fastcgi://php:9000"), Ok(OriginAddress::FastCgi(port_9000("php"))));
        assert_eq!(parse_origin("scgi://[::1]:9000"), Ok(OriginAddress::Scgi(port_9000("::1"))));
        assert_eq!(parse_origin("cgi:///usr/lib/cgi-bin/"), Ok(OriginAddress::Cgi("/usr/lib/cgi-bin".into())));
        for (text, processes, requests_max, umask) in [
            ("fastcgi+spawn:///srv/a.fcgi?processes=4", (4, 4), 0, UMASK_DEFAULT),
            ("fastcgi+spawn:///srv/a.fcgi?processes=1-8&requests=500", (1, 8), 500, UMASK_DEFAULT),
            ("fastcgi+spawn:///srv/a.fcgi?processes=4&umask=0002", (4, 4), 0, 0o002),
        ] {
            let (file, (processes_min, processes_max)) = ("/srv/a.fcgi".into(), processes);
            let program = SpawnedProgram { file, processes_min, processes_max, requests_max, umask };
            assert_eq!(parse_origin(text).map(|address| address.to_string()).as_deref(), Ok(text));
            assert_eq!(parse_origin(text), Ok(OriginAddress::Spawned(program)));
        }
        assert!(parse_origin("fastcgi+spawn:///srv/a.fcgi").is_ok());
        assert_eq!(parse_origin("file:///var/www/html/"), Ok(OriginAddress::Files("/var/www/html".into())));
    }

    #[test]
    fn what_is_no_origin_is_said_in_words() {
        for (text, words) in [
            ("127.0.0.1:8000", "no scheme"),
            ("/run/app.sock", "no scheme"),
            ("https://app", "not supported yet"),
            ("fastcgi://php", "no port"),
            ("fastcgi+spawn://mt.fcgi", "absolute path"),
            ("fastcgi+spawn:///", "absolute path"),
            ("fastcgi+spawn:///a?processes=0", "from 1"),
            ("fastcgi+spawn:///a?processes=4-2", "from 1"),
            ("fastcgi+spawn:///a?requests=x", "no number"),
            ("fastcgi+spawn:///a?user=b", "no parameter"),
            ("fastcgi:///run/php.sock", "no host"),
            ("scgi://app:4000/app", "it has a path"),
            ("fcgi://unix:/run/php.sock", "called fastcgi"),
            ("ftp://app", "unknown"),
            ("http://app/blog", "it has a path, `/blog`"),
            ("http://app?x", "it has a path"),
            ("http://tom:pw@app", "do not belong here"),
            ("http://", "the name is empty"),
            ("http://app:", "is no port"),
            ("http://app:99999", "is no port"),
            ("http://app:0", "port 0"),
            ("http://app:http", "is no port"),
            ("http://::1:8000", "needs brackets"),
            ("http://[app]:80", "between the brackets"),
            ("http://unix:app.sock", "must be absolute"),
            ("cgi://usr/lib/cgi-bin", "must be absolute"),
            ("cgi:///", "the whole machine"),
            ("file://var/www", "must be absolute"),
            ("file:///", "the whole machine"),
            ("file:////.", "the whole machine"),
            ("http://a b", "does not belong"),
        ] {
            let fault = parse_origin(text).unwrap_err();
            assert!(fault.message.contains(words), "{text}: {}", fault.message);
        }
    }

    #[test]
    fn an_origin_without_a_scheme_is_answered_with_one() {
        assert_eq!(parse_origin("127.0.0.1:8000").unwrap_err().help, "write `http://127.0.0.1:8000`");
        assert_eq!(parse_origin("/run/app.sock").unwrap_err().help, "write `http://unix:/run/app.sock`");
        assert_eq!(parse_origin("/var/www").unwrap_err().help, "write `file:///var/www`");
    }

    #[test]
    fn each_kind_of_memcached_server() {
        let tcp = |host: &str, port| SharedEndpoint::Tcp { host: host.to_owned(), port };
        for (text, endpoint, weight) in [
            ("127.0.0.1:11255", tcp("127.0.0.1", 11255), 1),
            ("Cache-1.internal", tcp("Cache-1.internal", 11211), 1),
            ("cache:1 2", tcp("cache", 1), 2),
            ("[::1]:11211 1000", tcp("::1", 11211), 1000),
            ("unix:/run/memcached.sock 3", SharedEndpoint::Unix("/run/memcached.sock".into()), 3),
        ] {
            assert_eq!(parse_memcached(text).unwrap(), SharedServer { endpoint, weight }, "{text}");
        }
        for text in [
            "",
            " ",
            "a:0",
            "a:b",
            "a:1 0",
            "a:1 1001",
            "a:1 +2",
            "a:1  2",
            "a:1 2 3",
            "memcached://a:1",
            "/run/memcached.sock",
            "unix:run/memcached.sock",
            "::1",
            "a/b",
            "user@a:1",
            "a:1/",
        ] {
            assert!(parse_memcached(text).is_err(), "{text}");
        }
    }

    #[test]
    fn each_kind_of_range() {
        let range = |address: &str, prefix_bits| AddressRange::Ip { address: address.parse().unwrap(), prefix_bits };
        assert_eq!(parse_range("10.0.0.0/8"), Ok(range("10.0.0.0", 8)));
        assert_eq!(parse_range("127.0.0.1"), Ok(range("127.0.0.1", 32)));
        assert_eq!(parse_range("fd00::/8"), Ok(range("fd00::", 8)));
        assert_eq!(parse_range("::1"), Ok(range("::1", 128)));
        assert_eq!(parse_range("unix"), Ok(AddressRange::Unix));
        for text in ["", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "localhost", "10.0.0.1:80"] {
            assert!(parse_range(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_host_for_the_origin_is_a_name_with_or_without_a_port() {
        assert_eq!(parse_origin_host("App.internal:8000").as_deref(), Ok("app.internal:8000"));
        for text in ["", "http://app", "app/", "tom@app", "app:x"] {
            assert!(parse_origin_host(text).is_err(), "{text}");
        }
    }
}
