//! Generates traces: the objects of successive requests, the same in each run.
//!
//! Popularity follows Zipf's law: the probability of the object with rank r is proportional to r^-alpha, and requests are independent of
//! each other. Web traces have an alpha of 0.6 to 1.1 (Breslau et al., "Web Caching and Zipf-like Distributions", INFOCOM 1999). A scan
//! requests objects that are requested only once, in runs, as a crawler does.

/// The number of consecutive requests of a scan.
const SCAN_RUN: usize = 5_000;

/// The weight of an object in a trace of uniform sizes, in bytes, overhead included.
const UNIFORM_BYTES: u64 = 4096;

/// The requests of a trace, as numbers of objects.
pub(crate) struct Trace {
    pub(crate) name: String,
    pub(crate) requests: Vec<u32>,
    /// The size of each object, in bytes.
    bytes: Vec<u64>,
}

impl Trace {
    fn new(name: String, requests: Vec<u32>, sizes: Sizes) -> Self {
        let objects = requests.iter().max().map_or(0, |last| last + 1);
        Self { name, requests, bytes: (0..objects).map(|object| sizes.bytes(object)).collect() }
    }

    /// The size of an object of the trace, in bytes.
    pub(crate) fn bytes(&self, object: u32) -> u64 {
        self.bytes.get(object as usize).copied().unwrap_or(0)
    }
}

/// The sizes of objects, overhead included where nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// All objects have the same size.
    Uniform,
    /// 1 to 4 KiB without overhead, independent of popularity. A million objects, so that a tenth of them fills 256 segments on disk.
    #[allow(dead_code, reason = "the test of the memory tier does without")]
    Small,
    /// Log-normal sizes, independent of popularity: half of them below 8 KiB, with a mean of about 25 KiB, up to 1 MiB.
    Mixed,
}

impl Sizes {
    /// The number of objects of a Zipf trace.
    pub(crate) fn keys(self) -> usize {
        match self {
            Sizes::Uniform | Sizes::Mixed => 100_000,
            Sizes::Small => 1_000_000,
        }
    }

    /// The size of an object, in bytes.
    fn bytes(self, object: u32) -> u64 {
        match self {
            Sizes::Uniform => UNIFORM_BYTES,
            Sizes::Small => (1 << 10) + Random(u64::from(object) + 1).next() % (3 << 10),
            Sizes::Mixed => {
                let mut random = Random(u64::from(object) + 1);
                // The sum of twelve uniform numbers, minus 6, is nearly normally distributed.
                let normal: f64 = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
                ((8192.0 * (1.5 * normal).exp()) as u64).clamp(300, 1 << 20)
            }
        }
    }

    /// The size of all objects of a Zipf trace together, in bytes.
    pub(crate) fn all_bytes(self) -> u64 {
        (0..self.keys() as u32).map(|object| self.bytes(object)).sum()
    }
}

/// A Zipf trace of `count` requests.
pub(crate) fn zipf(alpha: f64, sizes: Sizes, count: usize) -> Trace {
    let mut random = Random(alpha.to_bits());
    let popularity = Popularity::new(alpha, sizes.keys());
    let requests = (0..count).map(|_| popularity.draw(&mut random)).collect();
    Trace::new(format!("Zipf {alpha:.1}"), requests, sizes)
}

/// A Zipf trace, in which `percent` of the requests are scans.
pub(crate) fn scanned(alpha: f64, percent: usize, sizes: Sizes, count: usize) -> Trace {
    let mut random = Random(alpha.to_bits() ^ 1);
    let popularity = Popularity::new(alpha, sizes.keys());
    let mut next_new = sizes.keys() as u32;
    let mut requests = Vec::with_capacity(count + SCAN_RUN);
    while requests.len() < count {
        requests.extend(next_new..next_new + SCAN_RUN as u32);
        next_new += SCAN_RUN as u32;
        let between = SCAN_RUN * (100 - percent) / percent;
        requests.extend((0..between).map(|_| popularity.draw(&mut random)));
    }
    requests.truncate(count);
    Trace::new(format!("Zipf {alpha:.1}, {percent} % scans"), requests, sizes)
}

/// For each rank, the sum of the probabilities of all ranks up to it.
struct Popularity(Vec<f64>);

impl Popularity {
    fn new(alpha: f64, keys: usize) -> Self {
        let mut sum = 0.0;
        let mut sums = Vec::with_capacity(keys);
        for rank in 1..=keys {
            sum += (rank as f64).powf(-alpha);
            sums.push(sum);
        }
        Self(sums)
    }

    fn draw(&self, random: &mut Random) -> u32 {
        let all = self.0.last().copied().unwrap_or(0.0);
        let wanted = random.unit() * all;
        self.0.partition_point(|sum| *sum <= wanted).min(self.0.len() - 1) as u32
    }
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A random number from 0 to 1, without 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
