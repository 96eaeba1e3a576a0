//! What happened: a count of each kind, and the first ten mistakes in full.
//!
//! A run that exercises nothing proves nothing, so each count must be above zero at the end ([`Report::missing`]).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counts {
    ($($variant:ident $text:literal)*) => {
        /// What is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Count { $(#[doc = $text] $variant),* }

        const ALL: &[(Count, &str)] = &[$((Count::$variant, $text)),*];
    };
}

counts! {
    Get "GET"
    Head "HEAD"
    Unsafe "POST, PUT, DELETE"
    Options "OPTIONS"
    Conditional "with a condition"
    Ranged "with Range"
    IfRange "with If-Range"
    Directive "with a cache directive"
    Visitor "with Cookie or Authorization"
    Pipelined "pipelined"
    Http10 "in HTTP/1.0"
    SlowReader "read slowly"
    Abandoned "abandoned by the client"
    Connection "connections"
    Ok "200"
    Partial "206"
    Multipart "206 in several parts"
    NotModified "304"
    Unsatisfiable "416"
    OriginFailed "500, 502 and 503"
    OnlyIfCached "504 to only-if-cached"
    Coded "in a content coding, decoded by the client"
    Cut "cut responses, seen as such"
    Hit "hits"
    StaleHit "hits that were stale"
    OldVersion "hits on a version that the origin had replaced"
    Collapsed "collapsed"
    Revalidated "revalidated"
    StoredMark "marked as stored"
    SharedVariant "hits on a page with Vary"
    Purge "purges"
    FloorRaised "versions that no client may get any more"
    Evicted "evictions seen (a miss for what was stored and not invalidated)"
    OriginRequest "requests to the origin"
    OriginMishap "mishaps of the origin"
    BodyBytes "bytes of bodies, each one checked"
}

/// The most mistakes that are printed in full.
const MISTAKES_SHOWN: usize = 10;

/// See the [module](self).
pub struct Report {
    counts: Vec<AtomicU64>,
    mistakes: Mutex<Mistakes>,
    mistakes_made: AtomicU64,
}

/// The first mistakes in full, and how many there were of each kind: the kind is the text before the first colon or digit.
#[derive(Default)]
struct Mistakes {
    shown: Vec<String>,
    kinds: BTreeMap<String, u64>,
}

impl Default for Report {
    fn default() -> Self {
        let counts = ALL.iter().map(|_| AtomicU64::new(0)).collect();
        Self { counts, mistakes: Mutex::default(), mistakes_made: AtomicU64::new(0) }
    }
}

impl Report {
    /// Adds one to a count.
    pub fn count(&self, what: Count) {
        self.add(what, 1);
    }

    /// Adds a number to a count.
    pub fn add(&self, what: Count, number: u64) {
        self.counts[what as usize].fetch_add(number, Ordering::Relaxed);
    }

    /// The count so far.
    pub fn total(&self, what: Count) -> u64 {
        self.counts[what as usize].load(Ordering::Relaxed)
    }

    /// Records a mistake.
    pub fn mistake(&self, what: String) {
        self.mistakes_made.fetch_add(1, Ordering::Relaxed);
        let mut mistakes = self.mistakes.lock().unwrap();
        let kind = what.split([':', '\n']).next().unwrap_or_default();
        let kind = kind.split(|letter: char| letter.is_ascii_digit()).next().unwrap_or_default().trim();
        *mistakes.kinds.entry(kind.to_owned()).or_default() += 1;
        if mistakes.shown.len() < MISTAKES_SHOWN {
            mistakes.shown.push(what);
        }
    }

    /// The number of mistakes.
    pub fn mistakes(&self) -> u64 {
        self.mistakes_made.load(Ordering::Relaxed)
    }

    /// The counts that are zero, although they should not be.
    pub fn missing(&self) -> Vec<&'static str> {
        ALL.iter().filter(|(count, _)| self.total(*count) == 0).map(|(_, text)| *text).collect()
    }

    /// The whole report, for people.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (count, text) in ALL {
            let _ = writeln!(out, "{:>12}  {text}", self.total(*count));
        }
        let _ = writeln!(out, "{:>12}  mistakes", self.mistakes());
        let mistakes = self.mistakes.lock().unwrap();
        for (kind, number) in &mistakes.kinds {
            let _ = writeln!(out, "{number:>14}  {kind}");
        }
        for mistake in &mistakes.shown {
            let _ = writeln!(out, "\n--- {mistake}");
        }
        out
    }
}
