//! Models of the data cache: callers that wait for a load, loads that go away, purges and insertions at any point of a load.

use crate::explore::explore;
use kasoku_cache::data::{DataCache, Loaded};
use shuttle::future::{block_on, yield_now};
use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::thread::{self, JoinHandle};
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::task::Poll;
use std::time::Duration;

const CALLERS: usize = 3;

const KEY: &str = "post/1";

const TTL: Duration = Duration::from_secs(60);

/// An application. The value of the key is the version of the row.
struct App {
    cache: DataCache<usize>,
    /// The atomic is std's, so the scheduler does not switch threads at it.
    now_ms: Arc<AtomicU64>,
    /// The version of the row in the database.
    version: AtomicUsize,
    asked: AtomicUsize,
}

impl App {
    fn new() -> Arc<Self> {
        let now_ms = Arc::<AtomicU64>::default();
        let time = now_ms.clone();
        let cache = DataCache::builder(1 << 20, |_: &usize| 0)
            .clock(move || Duration::from_millis(time.load(Ordering::SeqCst)))
            .stale_if_error(TTL)
            .build();
        Arc::new(Self { cache, now_ms, version: AtomicUsize::new(0), asked: AtomicUsize::new(0) })
    }

    /// Asks the database, which takes its time before and after it reads the row.
    async fn ask(&self) -> usize {
        self.asked.fetch_add(1, Ordering::SeqCst);
        yield_now().await;
        let version = self.version.load(Ordering::SeqCst);
        yield_now().await;
        version
    }

    async fn load(&self) -> usize {
        let load = || async { Ok::<_, Infallible>(Loaded::new(self.ask().await).tags(["post-1"])) };
        self.cache.load(KEY, TTL, load).await.unwrap()
    }

    fn times_asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn assert_idle(&self) {
        assert_eq!(self.cache.stats().loads_running, 0, "loads left");
    }
}

fn spawn<T: Send + 'static>(app: &Arc<App>, run: impl FnOnce(&App) -> T + Send + 'static) -> JoinHandle<T> {
    let app = app.clone();
    thread::spawn(move || run(&app))
}

/// Polls a future at most so many times, and drops it then.
async fn polled<T>(future: impl Future<Output = T>, polls: usize) -> Option<T> {
    let (mut future, mut left) = (pin!(future), polls);
    poll_fn(|context| {
        let polled = (left > 0).then(|| future.as_mut().poll(context));
        left = left.saturating_sub(1);
        match polled {
            Some(Poll::Ready(output)) => Poll::Ready(Some(output)),
            Some(Poll::Pending) if left > 0 => Poll::Pending,
            _ => Poll::Ready(None),
        }
    })
    .await
}

#[test]
fn of_callers_that_come_at_any_point_one_loads_and_all_get_the_value() {
    explore(|| {
        let app = App::new();
        let callers: Vec<_> = (0..CALLERS).map(|_| spawn(&app, |app| block_on(app.load()))).collect();
        for caller in callers {
            assert_eq!(caller.join().unwrap(), 0);
        }
        assert_eq!((app.times_asked(), app.cache.get(KEY)), (1, Some(0)));
        app.assert_idle();
    });
}

#[test]
fn a_caller_that_goes_away_at_any_point_leaves_nobody_waiting_and_no_load_behind() {
    explore(|| {
        let app = App::new();
        let leavers: Vec<_> = (0..CALLERS)
            .map(|_| {
                let polls = thread_rng().gen_range(0..=3);
                spawn(&app, move |app| block_on(polled(app.load(), polls)))
            })
            .collect();
        let stayer = spawn(&app, |app| block_on(app.load()));
        assert_eq!(stayer.join().unwrap(), 0);
        for leaver in leavers {
            assert!(matches!(leaver.join().unwrap(), None | Some(0)));
        }
        assert!(app.times_asked() <= CALLERS + 1, "{} questions", app.times_asked());
        assert_eq!(app.cache.get(KEY), Some(0));
        app.assert_idle();
    });
}

#[test]
fn where_a_load_fails_all_get_the_expired_value_and_the_database_is_asked_once() {
    explore(|| {
        let app = App::new();
        block_on(app.load());
        app.now_ms.store(60_000, Ordering::SeqCst);
        let fail = |app: &App| block_on(app.cache.load(KEY, TTL, || async { Err::<usize, _>(app.ask().await) }));
        let callers: Vec<_> = (0..CALLERS).map(|_| spawn(&app, fail)).collect();
        for caller in callers {
            assert_eq!(caller.join().unwrap(), Ok(0));
        }
        assert_eq!(app.times_asked(), 2, "questions: the first, and the one that failed");
        app.assert_idle();
    });
}

/// How the application tells the cache of a new version of the row.
type Way = fn(&DataCache<usize>, usize);

/// Two callers and a change of the row at any point. No call that begins after the cache was told gets an older version.
fn change_among_callers(tell: Way) {
    explore(move || {
        let app = App::new();
        let told = Arc::new(AtomicUsize::new(0));
        let call = |app: &App, told: &AtomicUsize| {
            let oldest = told.load(Ordering::SeqCst);
            let version = block_on(app.load());
            assert!(version >= oldest, "version {version} after the cache was told of {oldest}");
        };
        let callers: Vec<_> = (0..2)
            .map(|_| {
                let told = told.clone();
                spawn(&app, move |app| call(app, &told))
            })
            .collect();
        let writer = {
            let told = told.clone();
            spawn(&app, move |app| {
                let version = app.version.fetch_add(1, Ordering::SeqCst) + 1;
                tell(&app.cache, version);
                told.store(version, Ordering::SeqCst);
                call(app, &told);
            })
        };
        for caller in callers {
            caller.join().unwrap();
        }
        writer.join().unwrap();
        call(&app, &told);
        assert_eq!(app.cache.get(KEY), Some(1));
        app.assert_idle();
    });
}

#[test]
fn a_removal_during_a_load_keeps_its_value_from_being_found_afterwards() {
    change_among_callers(|cache, _| {
        cache.remove(KEY);
    });
}

#[test]
fn a_purge_of_a_tag_during_a_load_keeps_its_value_from_being_found_afterwards() {
    change_among_callers(|cache, _| drop(cache.purge_tag("post-1")));
}

#[test]
fn a_purge_of_many_during_a_load_keeps_its_value_from_being_found_afterwards() {
    change_among_callers(|cache, _| drop(cache.purge_prefix("post/")));
}

#[test]
fn an_inserted_value_outweighs_a_load_that_began_before_it_at_any_point() {
    change_among_callers(|cache, version| cache.insert(KEY, TTL, version));
}
