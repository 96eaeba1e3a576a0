//! The placement of items: which server of a ring has a key, exactly as libmemcached says.
//!
//! Each server has points on a ring of 32-bit numbers. A key is a number as well, and belongs to the server of the first point at or after
//! it (consistent hashing). So a lost server moves only its own keys.
//!
//! Programs that use libmemcached (pylibmc, php-memcached) find an item only if they compute the same ring. libmemcached has two,
//! [`Distribution`], and both have oddities which are kept here, with the arithmetic in 32-bit floats:
//!
//! * The names of points leave out port 11211.
//! * A weight above 1 selects the weighted ring even where the plain one is asked for; keys are then still hashed as for the plain one.
//! * The one-at-a-time hash takes bytes as signed numbers, as C does on x86.
//!
//! A ring never changes. A server that is away stays in it, and [`Ring::server_without`] passes over its points.

mod hash;

use hash::{md5_points, md5_value, one_at_a_time};
use thiserror::Error;

/// Servers in a ring, at most: libmemcached fails for more.
pub const SERVERS_MAX: usize = 100;

/// The port that is not part of a point's name.
const DEFAULT_PORT: u16 = 11211;

/// Points of each server in the plain ring.
const PLAIN_POINTS: u32 = 100;

/// MD5 digests of a server with an average weight in the weighted ring: 160 points.
const WEIGHTED_DIGESTS: f32 = 40.0;

/// A server, as it is known to the ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingServer {
    /// The host as the operator wrote it, since the name is hashed, not the address; or the path of a Unix socket.
    pub name: String,
    /// The port; 0 for a Unix socket.
    pub port: u16,
    /// The share of keys, in proportion to the weights of the others. 0 counts as 1.
    pub weight: u32,
}

/// How a ring is made. The names are libmemcached's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Distribution {
    /// MD5, and 160 points for a server of average weight (`MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED`).
    #[default]
    KetamaWeighted,
    /// One-at-a-time hashes, and 100 points for each server (`MEMCACHED_BEHAVIOR_KETAMA`).
    Ketama,
}

/// Why there is no ring.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum RingError {
    /// A ring needs a server.
    #[error("a ring needs at least one server")]
    NoServers,
    /// Too many servers.
    #[error("a ring has at most {SERVERS_MAX} servers, and these are {count}")]
    TooManyServers {
        /// How many there are.
        count: usize,
    },
}

/// The points of all servers. See the [module](self).
#[derive(Clone, Debug)]
pub struct Ring {
    /// In the order of their values. Of equal values, the one of the earlier server comes first.
    points: Vec<Point>,
    hash_key: fn(&[u8]) -> u32,
    /// Servers that have points. A server with a tiny weight may have none.
    placed: usize,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    value: u32,
    server: usize,
}

impl Ring {
    /// The ring of these servers. A server is known by its place in the list.
    pub fn new(servers: &[RingServer], distribution: Distribution) -> Result<Self, RingError> {
        match servers.len() {
            0 => return Err(RingError::NoServers),
            count if count > SERVERS_MAX => return Err(RingError::TooManyServers { count }),
            _ => {}
        }
        let is_weighted =
            distribution == Distribution::KetamaWeighted || servers.iter().any(|server| server.weight > 1);
        let mut points = if is_weighted { weighted_points(servers) } else { plain_points(servers) };
        points.sort_by_key(|point| point.value);
        let mut placed: Vec<usize> = points.iter().map(|point| point.server).collect();
        placed.sort_unstable();
        placed.dedup();
        let hash_key = match distribution {
            Distribution::KetamaWeighted => md5_value,
            Distribution::Ketama => one_at_a_time,
        };
        Ok(Self { points, hash_key, placed: placed.len() })
    }

    /// The server of a key.
    pub fn server(&self, key: &[u8]) -> usize {
        // There are always points: the largest share is at least 1 / servers, so it gets some.
        self.points_from(key).next().unwrap_or(0)
    }

    /// The first server at or after a key that is there; none if all are away.
    pub fn server_without(&self, key: &[u8], is_away: impl Fn(usize) -> bool) -> Option<usize> {
        let mut asked = [0u64; SERVERS_MAX.div_ceil(64)];
        let mut away = 0;
        for server in self.points_from(key) {
            // A server has many points: ask once about each, and stop when all are away.
            let word = asked.get_mut(server / 64)?;
            let bit = 1 << (server % 64);
            if *word & bit != 0 {
                continue;
            }
            *word |= bit;
            if !is_away(server) {
                return Some(server);
            }
            away += 1;
            if away == self.placed {
                break;
            }
        }
        None
    }

    /// The servers of all points, once around the ring from the point of this key.
    fn points_from(&self, key: &[u8]) -> impl Iterator<Item = usize> {
        let value = (self.hash_key)(key);
        let first = self.points.partition_point(|point| point.value < value);
        let (before, after) = self.points.split_at(first);
        after.iter().chain(before).map(|point| point.server)
    }
}

/// The name of a server in the names of its points.
fn point_name(server: &RingServer) -> String {
    match server.port {
        DEFAULT_PORT => server.name.clone(),
        port => format!("{}:{port}", server.name),
    }
}

fn plain_points(servers: &[RingServer]) -> Vec<Point> {
    let mut points = Vec::new();
    for (server, known) in servers.iter().enumerate() {
        let name = point_name(known);
        for number in 0..PLAIN_POINTS {
            points.push(Point { value: one_at_a_time(format!("{name}-{number}").as_bytes()), server });
        }
    }
    points
}

fn weighted_points(servers: &[RingServer]) -> Vec<Point> {
    let weight = |server: &RingServer| server.weight.max(1);
    let total: u64 = servers.iter().map(|server| u64::from(weight(server))).sum();
    let mut points = Vec::new();
    for (server, known) in servers.iter().enumerate() {
        // The order of these operations, each rounded to an f32, decides whether the floor is one less.
        let share = weight(known) as f32 / total as f32;
        let digests = (share * WEIGHTED_DIGESTS * servers.len() as f32 + 1e-10).floor() as u32;
        let name = point_name(known);
        for number in 0..digests {
            let values = md5_points(format!("{name}-{number}").as_bytes());
            points.extend(values.map(|value| Point { value, server }));
        }
    }
    points
}

#[cfg(test)]
mod tests;
