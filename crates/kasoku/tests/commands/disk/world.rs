//! Pages whose bytes can be checked, their origin, and clients that request and purge them.
//!
//! Each page says its key and its version, and all its bytes follow from these. A purge that was answered raises the floor of its key:
//! no request that begins later may get an older version, also from the next process.

use crate::support::{Program, try_ask};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// One page: its present version at the origin, the version below which no client may get it, and when it was stored.
#[derive(Default)]
pub(super) struct Page {
    pub(super) version: AtomicU64,
    pub(super) floor: AtomicU64,
    /// In milliseconds of the run; 0: not since its last purge.
    pub(super) stored_ms: AtomicU64,
}

pub(super) struct World {
    pub(super) pages: Vec<Page>,
    bytes_max: u64,
    began: Instant,
    pub(super) is_over: AtomicBool,
    pub(super) served: AtomicUsize,
    pub(super) purged: AtomicUsize,
    pub(super) wrong: Mutex<Vec<String>>,
    pub(super) clients: Mutex<Option<SocketAddr>>,
}

/// A number that looks random.
pub(super) fn scatter(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 16
}

impl World {
    pub(super) fn new(pages: usize, bytes_max: u64) -> Arc<Self> {
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

    pub(super) fn now_ms(&self) -> u64 {
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
    pub(super) fn originate(self: &Arc<Self>) -> SocketAddr {
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

    /// Three clients that request pages and one that purges them, until [`World::ends`].
    pub(super) fn begins(self: &Arc<Self>, seed: u64) -> Vec<JoinHandle<()>> {
        self.is_over.store(false, Ordering::SeqCst);
        let client = |number: u64| {
            let (world, seed) = (self.clone(), scatter(number + 10 * seed));
            std::thread::spawn(move || if number == 0 { world.purge(seed) } else { world.request(seed) })
        };
        (0..4).map(client).collect()
    }

    /// Ends the program without a warning, and then its clients.
    pub(super) fn kills(&self, program: Program, clients: Vec<JoinHandle<()>>) {
        *self.clients.lock().unwrap() = None;
        drop(program);
        self.is_over.store(true, Ordering::SeqCst);
        clients.into_iter().for_each(|client| client.join().unwrap());
    }

    /// Requests a page that must be right; returns whether it was a hit.
    #[track_caller]
    pub(super) fn asks(&self, address: SocketAddr, page: usize) -> bool {
        let floor = self.pages[page].floor.load(Ordering::SeqCst);
        let is_hit = self.get(address, page, floor).unwrap_or_else(|| panic!("no whole answer for {page}"));
        assert_eq!(*self.wrong.lock().unwrap(), [""; 0]);
        is_hit
    }

    /// Changes a page and purges it; returns the answer's status.
    pub(super) fn purges(&self, address: SocketAddr, page: usize) -> Option<u16> {
        let Page { version, floor, stored_ms } = &self.pages[page];
        stored_ms.store(0, Ordering::SeqCst);
        let version = version.fetch_add(1, Ordering::SeqCst) + 1;
        let status = try_ask(address, "PURGE", &format!("/p{page}")).map(|answer| answer.status);
        if status == Some(200) {
            floor.store(version, Ordering::SeqCst);
            self.purged.fetch_add(1, Ordering::Relaxed);
        }
        stored_ms.store(0, Ordering::SeqCst);
        status
    }

    /// Requests pages until the end.
    pub(super) fn request(&self, mut random: u64) {
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
    pub(super) fn get(&self, address: SocketAddr, page: usize, floor: u64) -> Option<bool> {
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
    pub(super) fn purge(&self, mut random: u64) {
        while !self.is_over.load(Ordering::Relaxed) {
            random = scatter(random.wrapping_add(1));
            let number = (random % self.pages.len() as u64) as usize;
            let Some(address) = *self.clients.lock().unwrap() else { continue };
            self.purges(address, number);
            std::thread::sleep(Duration::from_millis(random % 10));
        }
    }
}

pub(super) fn serve(world: &Arc<World>, origin: SocketAddr, folder: &Path, size: &str) -> Program {
    let disk = format!("{}:{size}", folder.display());
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

/// An empty place of that name.
pub(super) fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}
