//! The disk tier when the process is killed: under requests, purges and eviction, at moments that chance chooses.
//!
//! Each page says its key and its version, and all its bytes follow from these. A purge that was answered raises the floor of its key:
//! no request that begins later may get an older version, also from the next process. `KASOKU_DISK_KILLS` sets the number of kills.

use super::support::{Program, try_ask};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const KILLS: usize = 10;

/// One page: its present version at the origin, the version below which no client may get it, and when it was stored.
#[derive(Default)]
struct Page {
    version: AtomicU64,
    floor: AtomicU64,
    /// In milliseconds of the run; 0: not since its last purge.
    stored_ms: AtomicU64,
}

struct World {
    pages: Vec<Page>,
    bytes_max: u64,
    began: Instant,
    is_over: AtomicBool,
    served: AtomicUsize,
    purged: AtomicUsize,
    wrong: Mutex<Vec<String>>,
    clients: Mutex<Option<SocketAddr>>,
}

/// A number that looks random.
fn scatter(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 16
}

impl World {
    fn new(pages: usize, bytes_max: u64) -> Arc<Self> {
        Arc::new(Self {
            pages: (0..pages).map(|_| Page::default()).collect(),
            bytes_max,
            began: Instant::now(),
            is_over: AtomicBool::new(false),
            served: AtomicUsize::new(0),
            purged: AtomicUsize::new(0),
            wrong: Mutex::default(),
            clients: Mutex::default(),
        })
    }

    fn now_ms(&self) -> u64 {
        self.began.elapsed().as_millis() as u64 + 1
    }

    /// The bytes of a page.
    fn body(&self, page: usize, version: u64) -> String {
        let mut text = format!("{page} {version} ");
        let length = 100 + scatter(page as u64 * 1000 + version) % self.bytes_max;
        let mut word = scatter(page as u64 ^ version << 32);
        while (text.len() as u64) < length {
            word = scatter(word);
            text.push_str(&format!("{word:016x}"));
        }
        text
    }

    /// Checks a body; returns whether it is whole.
    fn check(&self, page: usize, floor: u64, body: &str) {
        let mut words = body.split(' ');
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
        let said = number().zip(number());
        let problem = match said {
            Some((key, _)) if key != page as u64 => "another page",
            Some((_, version)) if version < floor => "a version that was purged",
            Some((_, version)) if body != self.body(page, version) => "other bytes",
            Some(_) => return,
            None => "no page",
        };
        let begin: String = body.chars().take(40).collect();
        self.wrong.lock().unwrap().push(format!("{problem} for {page}, floor {floor}: {begin}"));
    }

    /// The origin: answers one request on each connection.
    fn originate(self: &Arc<Self>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, world) = (listener.local_addr().unwrap(), self.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let world = world.clone();
                // Errors are ignored: the program may be killed in the middle.
                std::thread::spawn(move || drop(world.originate_on(stream)));
            }
        });
        address
    }

    fn originate_on(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let first = lines.next().unwrap_or_else(|| Ok(String::new()))?;
        while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
        let page: Option<usize> = first.split(' ').nth(1).and_then(|path| path.strip_prefix("/p")?.parse().ok());
        let Some(page) = page else { return Ok(()) };
        let body = self.body(page, self.pages[page].version.load(Ordering::SeqCst));
        let head = format!(
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())
    }

    /// Requests pages until the end.
    fn request(&self, mut random: u64) {
        while !self.is_over.load(Ordering::Relaxed) {
            random = scatter(random.wrapping_add(1));
            // Some pages are requested much more often than others.
            let page = (scatter(random) % (1 + random % self.pages.len() as u64)) as usize;
            let Some(address) = *self.clients.lock().unwrap() else { continue };
            let floor = self.pages[page].floor.load(Ordering::SeqCst);
            if let Some(is_hit) = self.get(address, page, floor) {
                self.served.fetch_add(1, Ordering::Relaxed);
                if !is_hit {
                    self.pages[page].stored_ms.store(self.now_ms(), Ordering::SeqCst);
                }
            }
        }
    }

    /// Requests a page and checks it; returns whether it was a hit, `None` where there was no whole answer.
    fn get(&self, address: SocketAddr, page: usize, floor: u64) -> Option<bool> {
        let answer = try_ask(address, "GET", &format!("/p{page}"))?;
        let length: usize = answer.field("content-length")?.parse().ok()?;
        // The process was killed while it sent the answer.
        (answer.body.len() == length).then_some(())?;
        if answer.status != 200 {
            self.wrong.lock().unwrap().push(format!("status {} for {page}", answer.status));
            return None;
        }
        self.check(page, floor, &answer.body);
        Some(answer.is_hit())
    }

    /// Changes pages and purges them until the end.
    fn purge(&self, mut random: u64) {
        while !self.is_over.load(Ordering::Relaxed) {
            random = scatter(random.wrapping_add(1));
            let number = (random % self.pages.len() as u64) as usize;
            let page = &self.pages[number];
            let Some(address) = *self.clients.lock().unwrap() else { continue };
            page.stored_ms.store(0, Ordering::SeqCst);
            let version = page.version.fetch_add(1, Ordering::SeqCst) + 1;
            let purged = try_ask(address, "PURGE", &format!("/p{number}"));
            if purged.is_some_and(|answer| answer.status == 200) {
                page.floor.store(version, Ordering::SeqCst);
                self.purged.fetch_add(1, Ordering::Relaxed);
            }
            page.stored_ms.store(0, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(random % 10));
        }
    }
}

fn serve(world: &Arc<World>, origin: SocketAddr, folder: &Path) -> Program {
    let disk = format!("{}:64MiB", folder.display());
    let program = Program::serve(&[
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
        "--origin",
        &format!("http://{origin}"),
        "--memory",
        "4MiB",
        "--workers",
        "2",
        "--disk",
        &disk,
    ]);
    *world.clients.lock().unwrap() = Some(program.clients);
    program
}

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

/// Kills the program again and again. Returns how many of the pages that should have survived did so; where pages are evicted, none
/// has to.
fn kill_again_and_again(name: &str, world: &Arc<World>, evicts: bool) -> (usize, usize) {
    let (folder, origin) = (folder(name), world.originate());
    let kills = std::env::var("KASOKU_DISK_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS);
    let mut program = serve(world, origin, &folder);
    let (mut survived, mut evicted) = ((0, 0), 0);
    for kill in 0..kills {
        world.is_over.store(false, Ordering::SeqCst);
        let threads: Vec<_> = (0..4_u64)
            .map(|number| {
                let world = world.clone();
                let seed = scatter(number + 10 * kill as u64);
                std::thread::spawn(move || if number == 0 { world.purge(seed) } else { world.request(seed) })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(1200 + scatter(kill as u64) % 800));
        evicted += program.metrics_after(0)["disk_evictions_total"];
        *world.clients.lock().unwrap() = None;
        let killed_ms = world.now_ms();
        drop(program);
        world.is_over.store(true, Ordering::SeqCst);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        program = serve(world, origin, &folder);
        for (number, page) in world.pages.iter().enumerate() {
            let stored_ms = page.stored_ms.load(Ordering::SeqCst);
            if !evicts && stored_ms > 0 && stored_ms + 1000 < killed_ms {
                let floor = page.floor.load(Ordering::SeqCst);
                let is_hit = world.get(program.clients, number, floor);
                survived = (survived.0 + usize::from(is_hit == Some(true)), survived.1 + 1);
            }
        }
    }
    assert_eq!(*world.wrong.lock().unwrap(), [""; 0]);
    let (served, purged) = (world.served.load(Ordering::Relaxed), world.purged.load(Ordering::Relaxed));
    println!("{kills} kills, {served} answers, {purged} purges, {evicted} evicted; {survived:?} survived");
    assert_eq!(evicted > 0, evicts, "{evicted} were evicted");
    assert!(served > 100 * kills && purged > kills, "{served} answers, {purged} purges");
    survived
}

#[test]
fn what_was_stored_survives_a_kill_and_what_was_purged_does_not() {
    let (survived, of) = kill_again_and_again("disk-kills", &World::new(300, 60_000), false);
    assert!(of > 100 && survived * 100 >= of * 99, "{survived} of {of} survived");
}

#[test]
fn a_kill_while_responses_are_evicted_leaves_no_wrong_byte() {
    kill_again_and_again("disk-kills-evicting", &World::new(4000, 250_000), true);
}
