//! Models of the memory tier's index by itself: changes, evictions and reads at the same time.

use crate::explore::explore;
use kasoku_store::{KeyHash, Memory, Weigh};
use shuttle::sync::atomic::AtomicBool;
use shuttle::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A bound with room for only a few of the values.
const BYTES_MAX: u64 = 4000;

const VALUE_BYTES_MAX: u64 = 1500;

/// How many values exist. The atomic is std's, so the scheduler does not switch threads at it.
type Alive = Arc<AtomicUsize>;

struct Value {
    key: Vec<u8>,
    count: u64,
    bytes: u64,
    alive: Alive,
}

impl Value {
    fn new(key: &[u8], count: u64, bytes: u64, alive: &Alive) -> Arc<Self> {
        alive.fetch_add(1, Ordering::SeqCst);
        Arc::new(Self { key: key.to_vec(), count, bytes, alive: alive.clone() })
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Weigh for Value {
    fn weight_bytes(&self) -> u64 {
        self.bytes
    }
    fn belongs_to(&self, key: &[u8]) -> bool {
        self.key == key
    }
}

type Index = Memory<Arc<Value>>;

fn key(index: &Index, number: usize) -> (KeyHash, Vec<u8>) {
    let key = format!("key {number}").into_bytes();
    (index.hash(&key), key)
}

/// Runs this many threads and waits for all of them.
fn together(threads: usize, run: impl Fn(usize) + Clone + Send + 'static) {
    let threads = (0..threads).map(|number| {
        let run = run.clone();
        thread::spawn(move || run(number))
    });
    let threads: Vec<_> = threads.collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn changes_of_one_key_at_the_same_time_lose_nothing() {
    explore(|| {
        let (index, alive) = (Arc::new(Index::new(BYTES_MAX, VALUE_BYTES_MAX)), Alive::default());
        let (hash, key) = key(&index, 0);
        together(3, {
            let (index, alive, key) = (index.clone(), alive.clone(), key.clone());
            move |_| {
                for _ in 0..3 {
                    let counted = |old: Option<Arc<Value>>| old.map_or(0, |old| old.count) + 1;
                    index.update(hash, &key, |old| Some(Value::new(&key, counted(old), 100, &alive)));
                }
            }
        });
        assert_eq!(index.value(hash, &key).map(|value| value.count), Some(9));
        assert_eq!((index.len(), alive.load(Ordering::SeqCst)), (1, 1), "values in the index, values alive");
    });
}

#[test]
fn a_value_that_is_evicted_lives_while_it_is_read_and_the_account_is_right_in_the_end() {
    const KEYS: usize = 6;
    explore(|| {
        let (index, alive) = (Arc::new(Index::new(BYTES_MAX, VALUE_BYTES_MAX)), Alive::default());
        together(3, {
            let (index, alive) = (index.clone(), alive.clone());
            move |me| {
                for number in (0..KEYS).map(|number| (number + 2 * me) % KEYS) {
                    let (hash, key) = key(&index, number);
                    let held = index.value(hash, &key);
                    // A value of another weight takes its place, sometimes one that is too large; weight 0 removes it.
                    let bytes = 300 * ((number + me) as u64 % 7);
                    index.update(hash, &key, |_| (bytes > 0).then(|| Value::new(&key, number as u64, bytes, &alive)));
                    thread::yield_now();
                    if let Some(held) = held {
                        assert_eq!((&held.key, held.count), (&key, number as u64), "another value");
                    }
                    assert!(index.used_bytes() <= BYTES_MAX, "{} bytes", index.used_bytes());
                }
            }
        });
        let kept = (0..KEYS).map(|number| key(&index, number)).filter_map(|(hash, key)| index.value(hash, &key));
        let kept: Vec<_> = kept.collect();
        let weights: u64 = kept.iter().map(|value| value.bytes).sum();
        assert_eq!((index.len(), index.used_bytes()), (kept.len(), weights));
        assert_eq!(alive.load(Ordering::SeqCst), kept.len(), "values alive");
        for value in kept {
            index.update(index.hash(&value.key), &value.key, |_| None);
        }
        assert_eq!((index.used_bytes(), alive.load(Ordering::SeqCst)), (0, 0), "bytes used, values alive");
    });
}

#[test]
fn a_value_that_was_evicted_is_written_elsewhere_only_if_its_key_was_not_invalidated_since() {
    // Over all schedules: how often a value was written, and how often not. A sample of this many has both.
    const SCHEDULES_MIN: usize = 1000;
    let tried = [Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0))];
    let [written, refused] = tried.clone();
    let schedules = explore(move || {
        let (index, alive) = (Arc::new(Index::new(BYTES_MAX, VALUE_BYTES_MAX)), Alive::default());
        let insert = |number: usize| {
            let (hash, key) = key(&index, number);
            index.update(hash, &key, |_| Some(Value::new(&key, 0, 1000, &alive)))
        };
        // The last of the values that fit is the first to be evicted.
        assert!([1, 2, 3, 0].iter().all(|number| insert(*number).is_empty()));
        let (hash, invalidated) = key(&index, 0);
        // Whether a tier below has the value of that key.
        let is_below = Arc::new(AtomicBool::new(false));
        let evicting = {
            let (index, alive, is_below) = (index.clone(), alive.clone(), is_below.clone());
            let (invalidated, written, refused) = (invalidated.clone(), written.clone(), refused.clone());
            move || {
                let (hash, key) = key(&index, 4);
                for evicted in index.update(hash, &key, |_| Some(Value::new(&key, 0, 1000, &alive))) {
                    let mut count = &refused;
                    index.unless_changed(&evicted, |value| {
                        // The invalidation reads the value first. An eviction that comes next finds it requested, and takes another one.
                        if value.key == invalidated {
                            is_below.store(true, Ordering::SeqCst);
                        }
                        count = &written;
                    });
                    count.fetch_add(1, Ordering::SeqCst);
                }
            }
        };
        let evicting = thread::spawn(evicting);
        index.update(hash, &invalidated, |_| {
            is_below.store(false, Ordering::SeqCst);
            None
        });
        evicting.join().unwrap();
        assert!(!is_below.load(Ordering::SeqCst), "what was invalidated came back");
    });
    let [written, refused] = tried.map(|count| count.load(Ordering::SeqCst));
    let has_both = written > 0 && refused > 0;
    assert!(has_both || schedules < SCHEDULES_MIN, "written {written} times, refused {refused} times");
}
