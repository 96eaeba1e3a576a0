//! Resolves the names of origins' hosts, remembers the addresses, and says in which order to try them.
//!
//! getaddrinfo(3) does not tell how long an answer holds. So addresses have an age: after `dns-ttl` the name is resolved anew. Until
//! twice that age requests go on with the addresses that are known, and nobody waits; later, and after a reload, they wait for the
//! answer. If a name can't be resolved any more, its last addresses stay.
//!
//! All workers share what is known, and one look-up at a time runs for a name. Each request gets the next address in turn, so a name
//! with several addresses spreads its requests over them, as nginx does it. An address that refused a connection comes last for a
//! while. getaddrinfo sorts by RFC 6724: addresses of the other family than its first one's are for the case that all of the first fail.
//!
//! A kept connection whose address is no longer among those of its name carries no further request (`http/pool.rs`).

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The most addresses of one name that are used.
const ADDRESSES_MAX: usize = 64;

/// How long a request waits for the addresses of a name whose old ones are known.
const RESOLVE_WAIT_MAX: Duration = Duration::from_secs(1);

/// How long an address that refused a connection comes last.
const FAILED_TIME: Duration = Duration::from_secs(10);

type Lookup = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// Finds the addresses of a name: the system's resolver, or what a test says instead. Clones share it.
#[derive(Clone)]
pub struct Resolver(Arc<RwLock<Arc<Lookup>>>);

impl Default for Resolver {
    fn default() -> Self {
        Self(Arc::new(RwLock::new(Arc::new(|host, port| Ok((host, port).to_socket_addrs()?.collect())))))
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}

impl Resolver {
    /// Resolves by this function from now on. It may block.
    pub fn set(&self, lookup: impl Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(lookup);
    }

    fn lookup(&self) -> Arc<Lookup> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What the process knows of one origin's name. See the [module](self).
#[derive(Debug, Default)]
pub struct Names {
    resolver: Resolver,
    known: Mutex<Known>,
    /// A look-up has ended.
    resolved: Notify,
}

#[derive(Debug, Default)]
struct Known {
    /// In the order of [`sorted`].
    addresses: Vec<SocketAddr>,
    /// When the last look-up ended; `None`: requests wait for the next one.
    at: Option<Instant>,
    is_resolving: bool,
    /// How often all names were to be resolved anew: what was looked up before that does not hold.
    renewals: u64,
    /// Why the last look-up failed, if it did.
    failure: Option<(io::ErrorKind, String)>,
    /// Which address is next.
    turn: usize,
    /// When an address last refused a connection.
    failed: Vec<(SocketAddr, Instant)>,
}

/// The addresses for one request, the next one in turn first.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    pub(crate) addresses: Vec<SocketAddr>,
    /// Whether they were known before the request came, so that they may have changed.
    pub(crate) are_remembered: bool,
}

impl Names {
    /// Nothing is known yet.
    pub fn new(resolver: Resolver) -> Self {
        Self { resolver, ..Self::default() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The addresses to try for one request, in this order.
    pub(crate) async fn targets(self: &Arc<Self>, host: &str, port: u16, ttl: Duration) -> io::Result<Targets> {
        let resolved = self.resolved.notified();
        let mut resolved = std::pin::pin!(resolved);
        // What ends from now on is not missed.
        resolved.as_mut().enable();
        let age = self.known().age(Instant::now(), ttl);
        if age != Age::Young {
            self.resolve(host, port);
        }
        if age == Age::Over {
            let has_addresses = !self.known().addresses.is_empty();
            let wait_max = if has_addresses { RESOLVE_WAIT_MAX } else { Duration::MAX };
            let _ = tokio::time::timeout(wait_max, resolved).await;
        }
        self.known().targets(Instant::now(), age != Age::Over)
    }

    /// Resolves the name in a thread of the runtime's, unless that is under way.
    fn resolve(self: &Arc<Self>, host: &str, port: u16) {
        if std::mem::replace(&mut self.known().is_resolving, true) {
            return;
        }
        // It is dropped when the look-up has ended, or when the runtime ends before it has begun.
        let ended = Ended(self.clone());
        let (lookup, host, renewals) = (self.resolver.lookup(), host.to_owned(), self.known().renewals);
        tokio::task::spawn_blocking(move || {
            let found = lookup(&host, port);
            let mut known = ended.0.known();
            known.learn(found, Instant::now());
            if known.renewals != renewals {
                known.at = None;
            }
        });
    }

    /// Whether an address is among those of the name.
    pub(crate) fn has(&self, address: SocketAddr) -> bool {
        self.known().addresses.contains(&address)
    }

    /// The name is resolved anew before the next request.
    pub(crate) fn renew(&self) {
        let mut known = self.known();
        known.at = None;
        known.renewals = known.renewals.wrapping_add(1);
    }

    /// An address accepted a connection, or did not.
    pub(crate) fn tried(&self, address: SocketAddr, has_accepted: bool) {
        let mut known = self.known();
        known.failed.retain(|(failed, _)| *failed != address);
        if !has_accepted && known.addresses.contains(&address) {
            known.failed.push((address, Instant::now()));
        }
    }
}

/// Says that a look-up has ended, in whichever way.
struct Ended(Arc<Names>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.known().is_resolving = false;
        self.0.resolved.notify_waiters();
    }
}

/// How old the addresses are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Age {
    /// They hold.
    Young,
    /// They are looked up anew, and hold meanwhile.
    Old,
    /// They hold no longer, or there are none.
    Over,
}

impl Known {
    fn age(&self, now: Instant, ttl: Duration) -> Age {
        match self.at.map(|at| now.saturating_duration_since(at)) {
            Some(age) if age < ttl => Age::Young,
            Some(age) if age < ttl.saturating_mul(2) => Age::Old,
            _ => Age::Over,
        }
    }

    fn learn(&mut self, found: io::Result<Vec<SocketAddr>>, now: Instant) {
        let none = || Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
        match found.and_then(|found| if found.is_empty() { none() } else { Ok(found) }) {
            Ok(found) => {
                self.addresses = sorted(found);
                self.failed.retain(|(address, _)| self.addresses.contains(address));
                self.failure = None;
                self.at = Some(now);
            }
            Err(error) => {
                self.failure = Some((error.kind(), error.to_string()));
                // Where nothing is known, the next request looks again.
                self.at = (!self.addresses.is_empty()).then_some(now);
            }
        }
    }

    fn targets(&mut self, now: Instant, are_remembered: bool) -> io::Result<Targets> {
        self.failed.retain(|(_, at)| now.saturating_duration_since(*at) < FAILED_TIME);
        let Some(first) = self.addresses.first() else {
            let failure = self.failure.clone();
            return Err(
                failure.map_or_else(|| io::ErrorKind::TimedOut.into(), |(kind, text)| io::Error::new(kind, text))
            );
        };
        let is_preferred = |address: &&SocketAddr| address.is_ipv4() == first.is_ipv4();
        let mut addresses: Vec<SocketAddr> = self.addresses.iter().filter(is_preferred).copied().collect();
        let works = |address: &SocketAddr| !self.failed.iter().any(|(failed, _)| failed == address);
        let working = addresses.iter().filter(|address| works(address)).count();
        // The turn goes round among those that work.
        addresses.sort_by_key(|address| !works(address));
        if let Some(in_turn) = addresses.get_mut(..working) {
            in_turn.rotate_left(self.turn.checked_rem(working).unwrap_or_default());
        }
        self.turn = self.turn.wrapping_add(1);
        addresses.extend(self.addresses.iter().filter(|address| !is_preferred(address)));
        addresses.sort_by_key(|address| !works(address));
        Ok(Targets { addresses, are_remembered })
    }
}

/// The addresses of the first one's family first, otherwise in order: servers of names mix their answers anew each time, which would
/// disturb the turns.
fn sorted(mut found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let prefers_v4 = found.first().is_some_and(SocketAddr::is_ipv4);
    found.sort_unstable_by_key(|address| (address.is_ipv4() != prefers_v4, *address));
    found.dedup();
    found.truncate(ADDRESSES_MAX);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(30);

    fn addresses(of: &[&str]) -> Vec<SocketAddr> {
        of.iter().map(|address| address.parse().unwrap()).collect()
    }

    fn known(of: &[&str], now: Instant) -> Known {
        let mut known = Known::default();
        known.learn(Ok(addresses(of)), now);
        known
    }

    fn first(known: &mut Known, now: Instant) -> String {
        known.targets(now, true).unwrap().addresses[0].to_string()
    }

    #[test]
    fn addresses_have_an_age() {
        let now = Instant::now();
        let mut known = known(&["10.0.0.1:80"], now);
        let ages = [0, 29, 30, 59, 60].map(|seconds| known.age(now + Duration::from_secs(seconds), TTL));
        assert_eq!(ages, [Age::Young, Age::Young, Age::Old, Age::Old, Age::Over]);
        known.at = None;
        assert_eq!(known.age(now, TTL), Age::Over, "after a reload");
    }

    #[test]
    fn all_addresses_of_a_name_take_turns_in_whichever_order_they_come() {
        let now = Instant::now();
        let mut known = known(&["10.0.0.2:80", "10.0.0.1:80", "10.0.0.3:80"], now);
        let mut seen = Vec::new();
        for others in [["10.0.0.3:80", "10.0.0.2:80", "10.0.0.1:80"], ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"]] {
            seen.extend([(); 3].map(|()| first(&mut known, now)));
            known.learn(Ok(addresses(&others)), now);
        }
        let turn = ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"];
        assert_eq!(seen, [turn, turn].concat());
    }

    #[test]
    fn an_address_that_refuses_comes_last_for_a_while() {
        let names = Names::default();
        let now = Instant::now();
        *names.known() = known(&["10.0.0.1:80", "10.0.0.2:80"], now);
        let [one, _] = addresses(&["10.0.0.1:80", "10.0.0.2:80"])[..] else { panic!() };
        names.tried(one, false);
        for _ in 0..4 {
            let targets = names.known().targets(now, true).unwrap().addresses;
            assert_eq!(targets, addresses(&["10.0.0.2:80", "10.0.0.1:80"]));
        }
        let later = Instant::now() + FAILED_TIME;
        let seen: Vec<String> = (0..2).map(|_| first(&mut names.known(), later)).collect();
        assert!(seen.contains(&"10.0.0.1:80".to_owned()), "{seen:?}");
        names.tried(one, false);
        names.tried(one, true);
        assert!(names.known().failed.is_empty(), "it is back");
    }

    #[test]
    fn the_other_family_is_for_the_case_that_the_first_fails() {
        let now = Instant::now();
        let mut known = known(&["[::1]:80", "127.0.0.1:80", "[::2]:80"], now);
        assert_eq!([(); 3].map(|()| first(&mut known, now)), ["[::1]:80", "[::2]:80", "[::1]:80"]);
        known.failed = addresses(&["[::1]:80", "[::2]:80"]).into_iter().map(|address| (address, now)).collect();
        assert_eq!(first(&mut known, now), "127.0.0.1:80");
    }

    #[test]
    fn a_name_that_is_not_found_any_more_keeps_its_addresses() {
        let now = Instant::now();
        let mut known = known(&["10.0.0.1:80"], now);
        for found in [Err(io::ErrorKind::NotFound.into()), Ok(Vec::new())] {
            known.learn(found, now + TTL);
            assert_eq!(first(&mut known, now), "10.0.0.1:80");
            assert_eq!(known.age(now + TTL, TTL), Age::Young, "it is not asked for again at once");
        }
        let mut unknown = Known::default();
        unknown.learn(Err(io::Error::new(io::ErrorKind::NotFound, "no such host")), now);
        assert_eq!(unknown.targets(now, false).unwrap_err().to_string(), "no such host");
        assert_eq!(unknown.age(now, TTL), Age::Over);
    }

    #[tokio::test]
    async fn one_look_up_runs_for_all_that_wait_and_after_a_reload_all_wait_for_the_next() {
        let resolver = Resolver::default();
        let names = Arc::new(Names::new(resolver.clone()));
        let lookups = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let answer = |last: u8| {
            let lookups = lookups.clone();
            move |_: &str, port| {
                lookups.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                Ok(vec![SocketAddr::from(([10, 0, 0, last], port))])
            }
        };
        resolver.set(answer(1));
        let [one, other] = [names.targets("a", 80, TTL), names.targets("a", 80, TTL)];
        let (one, other) = tokio::join!(one, other);
        assert_eq!((one.unwrap().addresses, other.unwrap().addresses.len()), (addresses(&["10.0.0.1:80"]), 1));
        resolver.set(answer(2));
        assert_eq!(names.targets("a", 80, TTL).await.unwrap().addresses, addresses(&["10.0.0.1:80"]));
        names.renew();
        assert_eq!(names.targets("a", 80, TTL).await.unwrap().addresses, addresses(&["10.0.0.2:80"]));
        assert_eq!(lookups.load(std::sync::atomic::Ordering::Relaxed), 2);
        assert!(!names.has(addresses(&["10.0.0.1:80"])[0]) && names.has(addresses(&["10.0.0.2:80"])[0]));
    }
}
