//! Three front ends, a proxy on each way from one to another, and one origin.

use crate::front_end::FrontEnd;
use crate::origin::Origin;
use crate::page::HOST;
use crate::support::{Foreign, PATIENCE, get};
use kasoku_testkit::{Fault, FaultProxy, Folder};
use rustix::process::Signal;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// From a purge until no front end answers with what it covers.
pub(crate) const PURGE_BOUND: Duration = Duration::from_secs(1);

/// From the moment in which front ends can reach each other again until each has heard of all purges.
pub(crate) const RETURN_BOUND: Duration = Duration::from_secs(5);

/// The front ends.
pub(crate) const FRONT_ENDS: usize = 3;

/// The token of all but one front end in some tests.
pub(crate) const TOKEN: &str = "0123456789abcdef";

/// How the fleet is set up.
#[derive(Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) has_disk: bool,
    /// The last front end has another token.
    pub(crate) has_stranger: bool,
}

impl Setup {
    pub(crate) const PLAIN: Self = Self { has_disk: false, has_stranger: false };
}

/// See the [module](self).
pub(crate) struct Fleet {
    pub(crate) front_ends: Vec<FrontEnd>,
    pub(crate) origin: Arc<Origin>,
    /// Where each front end listens for its peers.
    pub(crate) listeners: Vec<SocketAddr>,
    /// The ways from a front end to the others.
    proxies: Vec<Vec<Option<FaultProxy>>>,
    folder: Folder,
}

impl Fleet {
    /// Starts everything, and waits until all front ends read each other's logs.
    pub(crate) fn start(setup: Setup) -> Self {
        let folder = Folder::below(Path::new(env!("CARGO_TARGET_TMPDIR")));
        let origin = Origin::start();
        let listeners: Vec<SocketAddr> = (0..FRONT_ENDS).map(|_| own_address()).collect();
        let proxy = |from: usize, to: usize| (from != to).then(|| FaultProxy::start(listeners[to]));
        let proxies: Vec<Vec<_>> =
            (0..FRONT_ENDS).map(|from| (0..FRONT_ENDS).map(|to| proxy(from, to)).collect()).collect();
        let front_end = |number: usize| {
            let is_stranger = setup.has_stranger && number + 1 == FRONT_ENDS;
            let token = folder.join(&format!("token-{number}"));
            std::fs::write(&token, if is_stranger { "another-token-of-16" } else { TOKEN }).unwrap();
            std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).unwrap();
            let peers: Vec<_> =
                proxies[number].iter().flatten().map(|proxy| format!("\"{}\"", proxy.address())).collect();
            let disk = match setup.has_disk {
                true => format!(
                    "[disk]\npath = \"{}\"\nsize = \"64MiB\"\n",
                    folder.join(&format!("disk-{number}")).display()
                ),
                false => String::new(),
            };
            let text = format!(
                "listen = [\"127.0.0.1:0\"]\nadmin = \"127.0.0.1:0\"\nworkers = 2\npid-file = \"{}\"\n\
                 peers = [{}]\npeers-listen = \"{}\"\npeers-token-file = \"{}\"\n{disk}\
                 [[site]]\nhosts = [\"{HOST}\"]\norigin = \"http://{}\"\ntags = [\"group-{{group}}\"]\n",
                folder.join(&format!("{number}.pid")).display(),
                peers.join(", "),
                listeners[number],
                token.display(),
                origin.address
            );
            let config = folder.join(&format!("{number}.toml"));
            std::fs::write(&config, text).unwrap();
            FrontEnd::start(&config, &folder.join(&format!("{number}.sock")))
        };
        let front_ends = (0..FRONT_ENDS).map(front_end).collect();
        let fleet = Self { front_ends, origin, listeners, proxies, folder };
        let all: Vec<usize> = (0..if setup.has_stranger { FRONT_ENDS - 1 } else { FRONT_ENDS }).collect();
        fleet.settle(&all, PATIENCE);
        fleet
    }

    /// Waits until these front ends read each other's logs.
    pub(crate) fn settle(&self, all: &[usize], patience: Duration) {
        let begun = Instant::now();
        loop {
            let up: Vec<usize> = all.iter().map(|number| self.peers_up(*number)).collect();
            if up.iter().all(|up| up + 1 >= all.len()) {
                return;
            }
            assert!(begun.elapsed() < patience, "peers that are up after {patience:?}: {up:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn peers_up(&self, number: usize) -> usize {
        let said = self.metrics(number);
        said.lines().filter(|line| line.starts_with("kasoku_peer_up{") && line.ends_with(" 1")).count()
    }

    /// A number of a front end.
    pub(crate) fn number(&self, front_end: usize, name: &str) -> u64 {
        let said = self.metrics(front_end);
        let value = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
        value.unwrap_or_else(|| panic!("no {name} in {said}"))
    }

    fn metrics(&self, number: usize) -> String {
        get(self.front_ends[number].program().admin, "/metrics").body
    }

    /// Has a new process take over from a front end. It ends with the result.
    pub(crate) fn hand_over(&self, number: usize) -> Foreign {
        let mut program = self.front_ends[number].program();
        program.signal(Signal::USR2);
        program.says("a new process serves");
        assert_eq!(program.has_ended(), Some(0));
        Foreign::written_in(&self.folder.join(&format!("{number}.pid")))
    }

    /// Does this to the ways between two front ends.
    pub(crate) fn cut(&self, one: usize, other: usize, fault: Fault) {
        let ways = [&self.proxies[one][other], &self.proxies[other][one]];
        ways.into_iter().flatten().for_each(|way| way.set(fault));
    }

    /// Does this to all ways from and to a front end.
    pub(crate) fn cut_off(&self, number: usize, fault: Fault) {
        for (from, ways) in self.proxies.iter().enumerate() {
            for (to, way) in ways.iter().enumerate() {
                if let Some(way) = way.as_ref().filter(|_| from == number || to == number) {
                    way.set(fault);
                }
            }
        }
    }
}

/// An address of this machine that no other test has.
fn own_address() -> SocketAddr {
    static NUMBER: AtomicU8 = AtomicU8::new(1);
    let [.., high, low] = std::process::id().to_be_bytes();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    SocketAddr::from((Ipv4Addr::new(127, 64 | (high & 0x3f), low, number), 6082))
}
