//! Objects whose every byte follows from their path, and an origin that serves them as fast as it can.
//!
//! An object is a piece of one block of noise. The object's number decides where the piece starts, so a client recognizes the bytes of
//! another object, or of another place in the same object.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The smallest and the largest object, in bytes.
pub(crate) const SIZES: (usize, usize) = (100, 5_000_000);

/// Pieces start within this many bytes of the block; a prime, so that objects with successive numbers start far apart.
const STARTS: u64 = 1_048_573;

static NOISE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..(SIZES.1 + STARTS as usize).div_ceil(8)).flat_map(|_| word()).collect()
});

/// An object: its number, the size of its body in bytes, and the size of an additional field in its head in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Object {
    pub(crate) number: u64,
    pub(crate) size: usize,
    pub(crate) head: usize,
}

impl Object {
    /// The object of that number; sizes are log-uniform within [`SIZES`]: as many from 100 B to 1 KB as from 10 to 100 KB.
    pub(crate) fn mixed(number: u64) -> Self {
        Self::log_uniform(number, SIZES)
    }

    /// An object of 100 to 1,000 bytes, which costs more than its body.
    pub(crate) fn small(number: u64) -> Self {
        Self::log_uniform(number, (SIZES.0, 1000))
    }

    /// The object of that number in a mix of sizes.
    pub(crate) fn of_mix(number: u64, sizes: (usize, usize), head: usize) -> Self {
        Self { head, ..Self::log_uniform(number, sizes) }
    }

    fn log_uniform(number: u64, (least, most): (usize, usize)) -> Self {
        let (least, most) = (least as f64, most as f64);
        Self { number, size: (least * (most / least).powf(fraction(number))) as usize, head: 0 }
    }

    /// An object of 1 to 5 MB.
    pub(crate) fn large(number: u64) -> Self {
        Self { number, size: (1e6 + 4e6 * fraction(number)) as usize, head: 0 }
    }

    /// The path of the object, which contains all its properties.
    pub(crate) fn path(self) -> String {
        format!("/{}/{}/{}", self.number, self.size, self.head)
    }

    fn of_path(path: &str) -> Option<Self> {
        let mut parts = path.strip_prefix('/')?.split('/').map(str::parse);
        let mut part = || parts.next()?.ok();
        Some(Self { number: part()?, size: part()? as usize, head: part()? as usize })
    }

    /// The bytes of the body.
    pub(crate) fn bytes(self) -> &'static [u8] {
        let start = (self.number.wrapping_mul(7919) % STARTS) as usize;
        &NOISE[start..start + self.size]
    }
}

/// A number from 0 to 1 that looks random and is the same in each run.
fn fraction(number: u64) -> f64 {
    let mixed = (number ^ 0x5851_f42d_4c95_7f2d).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed >> 11) as f64 / (1_u64 << 53) as f64
}

static ANSWERED: AtomicU64 = AtomicU64::new(0);

/// The number of requests that the origins of this process have answered, which are the program's misses.
pub(crate) fn answered() -> u64 {
    ANSWERED.load(Relaxed)
}

/// Starts the origin; its threads end with the process. All responses are fresh for an hour.
pub(crate) fn start_origin() -> SocketAddr {
    LazyLock::force(&NOISE);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Answers requests until the client closes the connection, which it may do at any time.
fn serve(mut stream: TcpStream) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines().map_while(Result::ok);
    loop {
        let first = lines.next()?;
        lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
        let object = Object::of_path(first.split(' ').nth(1)?)?;
        let head = format!(
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nContent-Length: {}\r\nX-More: {:m$}\r\n\r\n",
            object.size,
            "x",
            m = object.head
        );
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(object.bytes()).ok()?;
        ANSWERED.fetch_add(1, Relaxed);
    }
}
