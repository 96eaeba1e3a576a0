//! Scenarios of the data cache: an application with a database that answers when the test says so.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use kasoku_cache::data::{Builder, DataCache, Loaded};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, yield_now};

type Text = Arc<str>;

const TTL: Duration = Duration::from_secs(60);

const MEMORY_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, PartialEq)]
struct Down(usize);

/// An application. Each answer of its database takes one permit.
struct App {
    cache: DataCache<Text>,
    now_ms: Arc<AtomicU64>,
    permits: Semaphore,
    asked: AtomicUsize,
}

impl App {
    fn new() -> Arc<Self> {
        Self::with(|builder| builder)
    }

    fn with(options: impl FnOnce(Builder<Text>) -> Builder<Text>) -> Arc<Self> {
        let now_ms = Arc::new(AtomicU64::new(0));
        let time = now_ms.clone();
        let builder = DataCache::builder(MEMORY_BYTES_MAX, |text: &Text| text.len())
            .clock(move || Duration::from_millis(time.load(Ordering::SeqCst)));
        let cache = options(builder).build();
        Arc::new(Self { cache, now_ms, permits: Semaphore::new(Semaphore::MAX_PERMITS), asked: AtomicUsize::new(0) })
    }

    /// The same, whose database answers only as often as [`App::answer`] lets it.
    fn held() -> Arc<Self> {
        let app = Self::new();
        app.hold();
        app
    }

    fn hold(&self) {
        self.permits.forget_permits(Semaphore::MAX_PERMITS);
    }

    /// Lets the database answer once, and lets all who wait for that go on.
    async fn answer(&self) {
        self.permits.add_permits(1);
        settle().await;
    }

    fn wait(&self, seconds: u64) {
        self.now_ms.fetch_add(seconds * 1000, Ordering::SeqCst);
    }

    /// Asks the database. Returns how many times it was asked before.
    async fn ask(&self) -> usize {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst);
        self.permits.acquire().await.unwrap().forget();
        asked
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// Loads `key`; the value is the number of the question.
    async fn load(&self, key: &str) -> Text {
        self.load_tagged(key, &[]).await
    }

    async fn load_tagged(&self, key: &str, tags: &[&str]) -> Text {
        let loaded = || async { Ok::<_, Infallible>(Loaded::new(text(self.ask().await)).tags(tags)) };
        self.cache.load(key, TTL, loaded).await.unwrap()
    }

    /// Asks a database that fails.
    async fn fail(&self, key: &str) -> Result<Text, Arc<Down>> {
        self.cache.load(key, TTL, || async { Err::<Text, _>(Down(self.ask().await)) }).await
    }

    /// Begins a load in a task of its own.
    async fn begin(self: &Arc<Self>, key: &'static str, tags: &'static [&'static str]) -> JoinHandle<Text> {
        let app = self.clone();
        let task = tokio::spawn(async move { app.load_tagged(key, tags).await });
        settle().await;
        task
    }
}

fn text(number: usize) -> Text {
    number.to_string().into()
}

/// Lets all tasks run until they wait.
async fn settle() {
    for _ in 0..20 {
        yield_now().await;
    }
}

#[tokio::test]
async fn of_callers_that_ask_at_once_one_loads_and_all_get_the_value() {
    let app = App::held();
    let callers = [app.begin("k", &[]).await, app.begin("k", &[]).await, app.begin("k", &[]).await];
    assert_eq!((app.asked(), app.cache.stats().loads_running), (1, 1));
    app.answer().await;
    for caller in callers {
        assert_eq!(caller.await.unwrap(), text(0));
    }
    assert_eq!(app.cache.get("k"), Some(text(0)));
    let stats = app.cache.stats();
    assert_eq!((stats.loads, stats.waits, stats.misses, stats.hits, stats.loads_running), (1, 2, 3, 1, 0));
}

#[tokio::test]
async fn loads_of_other_keys_do_not_wait_for_each_other() {
    let app = App::held();
    let (a, b) = (app.begin("a", &[]).await, app.begin("b", &[]).await);
    assert_eq!(app.asked(), 2);
    app.answer().await;
    app.answer().await;
    assert_ne!(a.await.unwrap(), b.await.unwrap());
}

#[tokio::test]
async fn a_caller_that_goes_away_while_it_loads_leaves_the_load_to_one_of_the_others() {
    let app = App::held();
    let first = app.begin("k", &[]).await;
    let others = [app.begin("k", &[]).await, app.begin("k", &[]).await];
    first.abort();
    settle().await;
    assert_eq!(app.asked(), 2, "one of the others asks");
    app.answer().await;
    for other in others {
        assert_eq!(other.await.unwrap(), text(1));
    }
    assert_eq!((app.asked(), app.cache.stats().loads_running), (2, 0));
}

#[tokio::test]
async fn a_loader_that_panics_leaves_the_load_to_one_of_the_others() {
    let app = App::held();
    let first = {
        let app = app.clone();
        tokio::spawn(async move {
            let load =
                || async { if app.ask().await == 0 { panic!("the loader") } else { Ok::<_, Infallible>(text(9)) } };
            app.cache.load("k", TTL, load).await
        })
    };
    settle().await;
    let other = app.begin("k", &[]).await;
    app.answer().await;
    assert!(first.await.unwrap_err().is_panic());
    app.answer().await;
    assert_eq!(other.await.unwrap(), text(1));
    assert_eq!(app.cache.stats().loads_running, 0);
}

#[tokio::test]
async fn a_caller_that_goes_away_while_it_waits_disturbs_nobody() {
    let app = App::held();
    let (first, leaver) = (app.begin("k", &[]).await, app.begin("k", &[]).await);
    leaver.abort();
    app.answer().await;
    assert_eq!(first.await.unwrap(), text(0));
    assert_eq!(app.load("k").await, text(0));
}

#[tokio::test]
async fn a_value_is_loaded_again_after_its_lifetime_which_begins_when_the_load_ends() {
    let app = App::held();
    let first = app.begin("k", &[]).await;
    app.wait(100);
    app.answer().await;
    assert_eq!(first.await.unwrap(), text(0));
    app.wait(59);
    assert_eq!(app.load("k").await, text(0));
    app.wait(1);
    assert_eq!(app.cache.get("k"), None);
    app.permits.add_permits(1);
    assert_eq!(app.load("k").await, text(1));
}

#[tokio::test]
async fn the_loader_may_set_another_lifetime_also_none() {
    let app = App::new();
    let load = |ttl| {
        let app = app.clone();
        async move {
            let load = || async { Ok::<_, Infallible>(Loaded::new(text(app.ask().await)).ttl(ttl)) };
            app.cache.load("k", TTL, load).await.unwrap()
        }
    };
    assert_eq!(load(Duration::ZERO).await, text(0));
    assert_eq!(app.cache.stats().entries, 0);
    assert_eq!(load(Duration::from_secs(600)).await, text(1));
    app.wait(599);
    assert_eq!(load(Duration::ZERO).await, text(1));
    app.wait(1);
    assert_eq!(load(Duration::MAX).await, text(2));
    app.wait(1 << 40);
    assert_eq!(load(Duration::ZERO).await, text(2));
}

#[tokio::test]
async fn an_error_reaches_all_who_waited_and_is_not_stored() {
    let app = App::held();
    let callers = [0, 1].map(|_| {
        let app = app.clone();
        tokio::spawn(async move { app.fail("k").await })
    });
    settle().await;
    app.answer().await;
    let [first, second] = callers;
    let (first, second) = (first.await.unwrap().unwrap_err(), second.await.unwrap().unwrap_err());
    assert!(Arc::ptr_eq(&first, &second), "not the same error");
    assert_eq!(*first, Down(0));
    app.permits.add_permits(1);
    assert_eq!(app.fail("k").await, Err(Arc::new(Down(1))));
    let stats = app.cache.stats();
    assert_eq!((stats.loads, stats.load_errors, stats.misses, stats.entries), (2, 2, 3, 0));
}

#[tokio::test]
async fn a_caller_with_another_type_of_error_loads_itself() {
    let app = App::held();
    let failing = {
        let app = app.clone();
        tokio::spawn(async move { app.fail("k").await })
    };
    settle().await;
    let other = app.begin("k", &[]).await;
    assert_eq!(app.asked(), 1, "it waits first");
    app.answer().await;
    assert_eq!(failing.await.unwrap(), Err(Arc::new(Down(0))));
    app.answer().await;
    assert_eq!(other.await.unwrap(), text(1));
}

#[tokio::test]
async fn an_expired_value_answers_while_loads_fail_and_the_database_is_not_asked_each_time() {
    let app =
        App::with(|builder| builder.stale_if_error(Duration::from_secs(600)).back_off_max(Duration::from_secs(4)));
    assert_eq!(app.load("k").await, text(0));
    app.wait(60);
    // The back-off: 1, 2, 4, 4 seconds.
    for (asked, seconds) in [(2, 1), (3, 2), (4, 4), (5, 4)] {
        assert_eq!(app.fail("k").await, Ok(text(0)));
        assert_eq!(app.fail("k").await, Ok(text(0)));
        assert_eq!(app.asked(), asked);
        app.wait(seconds);
    }
    assert_eq!(app.load("k").await, text(5), "the database is back");
    app.wait(60);
    app.fail("k").await.unwrap();
    app.wait(1);
    app.fail("k").await.unwrap();
    assert_eq!(app.asked(), 8, "the back-off began anew");
    let stats = app.cache.stats();
    assert_eq!((stats.stale, stats.load_errors, stats.hits), (10, 6, 0));
    app.wait(600);
    assert_eq!(app.fail("k").await, Err(Arc::new(Down(8))), "after the window");
}

#[tokio::test]
async fn callers_that_wait_for_a_load_that_fails_get_the_expired_value() {
    let app = App::with(|builder| builder.stale_if_error(Duration::from_secs(600)));
    app.load("k").await;
    app.wait(60);
    app.hold();
    let callers = [0, 1, 2].map(|_| {
        let app = app.clone();
        tokio::spawn(async move { app.fail("k").await })
    });
    settle().await;
    assert_eq!((app.asked(), app.cache.stats().waits), (2, 2));
    app.answer().await;
    for caller in callers {
        assert_eq!(caller.await.unwrap(), Ok(text(0)));
    }
}

#[tokio::test]
async fn an_expired_value_that_was_purged_does_not_answer_for_a_failed_load() {
    type Way = fn(&DataCache<Text>);
    let ways: [Way; 4] = [
        |cache| assert_eq!(cache.remove("k/1"), None, "expired"),
        |cache| drop(cache.purge_tag("t")),
        |cache| drop(cache.purge_prefix("k/")),
        |cache| drop(cache.purge_all()),
    ];
    for purge in ways {
        let app = App::with(|builder| builder.stale_if_error(Duration::from_secs(600)));
        app.load_tagged("k/1", &["t"]).await;
        app.wait(60);
        app.fail("k/1").await.unwrap();
        purge(&app.cache);
        assert_eq!(app.fail("k/1").await, Err(Arc::new(Down(2))), "neither the back-off nor the value counts");
    }
}

#[tokio::test]
async fn one_caller_refreshes_a_stale_value_while_the_others_get_it_at_once() {
    let app = App::with(|builder| builder.stale_while_revalidate(Duration::from_secs(10)));
    app.load("k").await;
    app.wait(60);
    app.hold();
    let refresher = app.begin("k", &[]).await;
    assert_eq!(app.load("k").await, text(0));
    assert_eq!(app.load("k").await, text(0));
    assert_eq!((app.asked(), app.cache.stats().stale), (2, 2));
    app.answer().await;
    assert_eq!(refresher.await.unwrap(), text(1));
    assert_eq!(app.load("k").await, text(1));
    app.wait(70);
    let (first, second) = (app.begin("k", &[]).await, app.begin("k", &[]).await);
    app.answer().await;
    assert_eq!((first.await.unwrap(), second.await.unwrap()), (text(2), text(2)), "after the window all wait");
}

#[tokio::test]
async fn a_refresh_that_fails_or_is_dropped_leaves_the_stale_value() {
    let app = App::with(|builder| builder.stale_while_revalidate(Duration::from_secs(10)));
    app.load("k").await;
    app.wait(60);
    app.hold();
    let dropped = app.begin("k", &[]).await;
    dropped.abort();
    settle().await;
    app.permits.add_permits(1);
    assert_eq!(app.fail("k").await, Ok(text(0)), "the next caller refreshes");
    assert_eq!((app.load("k").await, app.asked()), (text(0), 3), "within the back-off");
}

#[tokio::test]
async fn nothing_found_is_remembered_for_a_lifetime_of_its_own() {
    let app = App::with(|builder| builder.negative_ttl(Duration::from_secs(5)));
    let find = |found: Loaded<Option<Text>>| {
        let app = app.clone();
        async move {
            let load = || async {
                app.ask().await;
                Ok::<_, Infallible>(found)
            };
            app.cache.load_optional("k", TTL, load).await.unwrap()
        }
    };
    assert_eq!(find(None.into()).await, None);
    app.wait(4);
    assert_eq!((find(Some(text(7)).into()).await, app.cache.get("k")), (None, None));
    let stats = app.cache.stats();
    assert_eq!((app.asked(), stats.negative_hits, stats.misses), (1, 2, 1));
    app.wait(1);
    assert_eq!(find(Loaded::new(None).ttl(TTL).tags(["t"])).await, None);
    app.wait(59);
    assert_eq!(find(Some(text(7)).into()).await, None);
    app.cache.purge_tag("t");
    assert_eq!(find(Some(text(7)).into()).await, Some(text(7)));
    app.wait(59);
    assert_eq!(find(None.into()).await, Some(text(7)), "what is found has the lifetime of the call");
    assert_eq!(app.asked(), 3);
}

#[tokio::test]
async fn to_a_caller_that_needs_a_value_nothing_found_is_none() {
    let app = App::held();
    let finder = {
        let app = app.clone();
        tokio::spawn(async move {
            let nothing = || async {
                app.ask().await;
                Ok::<_, Infallible>(None)
            };
            app.cache.load_optional("k", TTL, nothing).await
        })
    };
    settle().await;
    let (first, second) = (app.begin("k", &[]).await, app.begin("k", &[]).await);
    app.answer().await;
    assert_eq!(finder.await.unwrap(), Ok(None));
    assert_eq!(app.asked(), 2, "one of the two asks");
    app.answer().await;
    assert_eq!((first.await.unwrap(), second.await.unwrap()), (text(1), text(1)));
    assert_eq!(app.cache.load_optional("k", TTL, || async { Ok::<_, Infallible>(None) }).await, Ok(Some(text(1))));
}

#[tokio::test]
async fn values_stay_within_the_memory_and_the_weight_of_keys_and_tags_counts() {
    let cache = DataCache::builder(MEMORY_BYTES_MAX, |text: &Text| text.len()).build();
    let long_key = "k".repeat(4000);
    for number in 0..1000 {
        let value = Loaded::new(text(number)).tags((0..10).map(|tag| format!("{number}-{tag}")));
        cache.insert(&format!("{long_key}{number}"), TTL, value);
        assert!(cache.stats().weight_bytes <= MEMORY_BYTES_MAX);
    }
    let stats = cache.stats();
    assert_eq!(stats.entries + stats.evictions, 1000);
    assert!(stats.evictions > 700, "{}", stats.evictions);
    assert!(stats.weight_bytes > MEMORY_BYTES_MAX / 2, "{}", stats.weight_bytes);
}

#[tokio::test]
async fn a_value_that_is_too_heavy_is_returned_and_not_stored_nor_is_the_one_that_it_replaces() {
    let app = App::with(|builder| builder.value_bytes_max(10_000));
    app.load("k").await;
    app.wait(60);
    let heavy: Text = "x".repeat(10_000).into();
    let load = |weight: Option<usize>| {
        let (app, heavy) = (app.clone(), heavy.clone());
        async move {
            let load = || async {
                app.ask().await;
                let loaded = Loaded::new(heavy);
                Ok::<_, Infallible>(if let Some(bytes) = weight { loaded.weight_bytes(bytes) } else { loaded })
            };
            app.cache.load("k", TTL, load).await.unwrap().len()
        }
    };
    assert_eq!(load(None).await, 10_000);
    assert_eq!((app.cache.get("k"), app.cache.stats().entries), (None, 0));
    assert_eq!((load(Some(1)).await, load(None).await, app.asked()), (10_000, 10_000, 3), "as light as it says");
    app.cache.insert("k", TTL, heavy.clone());
    assert_eq!(app.cache.get("k"), None);
}

#[tokio::test]
async fn a_cache_may_have_no_memory_or_any_amount() {
    for (memory_bytes_max, value_bytes_max) in [(0, u64::MAX), (1, 1), (u64::MAX, 0), (u64::MAX, u64::MAX)] {
        let cache =
            DataCache::builder(memory_bytes_max, |_: &Text| usize::MAX).value_bytes_max(value_bytes_max).build();
        let load = || async { Ok::<_, Infallible>(Loaded::new(text(7)).weight_bytes(100)) };
        assert_eq!(cache.load("k", TTL, load).await, Ok(text(7)));
        let is_stored = memory_bytes_max == u64::MAX && value_bytes_max == u64::MAX;
        assert_eq!(cache.get("k").is_some(), is_stored, "{memory_bytes_max} {value_bytes_max}");
        cache.insert("k", TTL, text(8));
        assert_eq!(cache.get("k"), None, "a weight of {} bytes", usize::MAX);
    }
}

#[tokio::test]
async fn a_purge_drops_what_it_covers_and_nothing_else() {
    let app = App::new();
    for (key, tags) in [("post/1", ["p1", "all"]), ("post/2", ["p2", "all"]), ("user/1", ["u1", ""])] {
        app.load_tagged(key, &tags).await;
    }
    let kept = || ["post/1", "post/2", "user/1"].map(|key| app.cache.get(key).is_some());
    app.cache.purge_tag("p1");
    app.cache.purge_tag("none");
    assert_eq!(kept(), [false, true, true]);
    assert_eq!(app.cache.stats().entries, 2, "what was asked for is freed");
    app.load_tagged("post/1", &["p1", "all"]).await;
    assert_eq!(kept(), [true, true, true], "what was loaded after the purge stays");
    app.cache.purge_prefix("post/");
    assert_eq!(kept(), [false, false, true]);
    app.cache.purge_tag("");
    assert_eq!(kept(), [false, false, false]);
    for key in ["post/1", "post/2", "user/1"] {
        app.load(key).await;
    }
    assert_eq!(app.cache.remove("post/1"), Some(text(4)));
    assert_eq!((app.cache.remove("post/1"), kept()), (None, [false, true, true]));
    app.cache.purge_prefix("");
    assert_eq!(kept(), [false, false, false]);
    app.load("post/1").await;
    app.cache.purge_all();
    assert_eq!((kept(), app.cache.stats().entries), ([false, false, false], 0));
}

/// A purge of the key, or of the tag, while the value is loaded.
async fn during_a_load(purge: fn(&DataCache<Text>)) {
    let app = App::held();
    let (first, waits) = (app.begin("k/1", &["t"]).await, app.begin("k/1", &["t"]).await);
    purge(&app.cache);
    let after = app.begin("k/1", &["t"]).await;
    assert_eq!(app.asked(), 2, "what comes after the purge loads itself");
    let joins = app.begin("k/1", &["t"]).await;
    assert_eq!(app.asked(), 2, "and the next one waits for that");
    app.answer().await;
    assert_eq!((first.await.unwrap(), waits.await.unwrap()), (text(0), text(0)));
    assert_eq!(app.cache.get("k/1"), None, "what began before the purge is not stored");
    app.answer().await;
    assert_eq!((after.await.unwrap(), joins.await.unwrap()), (text(1), text(1)));
    assert_eq!(app.cache.get("k/1"), Some(text(1)));
}

#[tokio::test]
async fn what_began_before_a_purge_is_not_stored_and_not_joined_after_it() {
    during_a_load(|cache| assert_eq!(cache.remove("k/1"), None)).await;
    during_a_load(|cache| drop(cache.purge_tag("t"))).await;
    during_a_load(|cache| drop(cache.purge_prefix("k/"))).await;
    during_a_load(|cache| drop(cache.purge_all())).await;
}

#[tokio::test]
async fn a_load_is_stored_after_purges_of_others() {
    let app = App::held();
    let first = app.begin("k/1", &["t"]).await;
    app.cache.purge_tag("u");
    app.cache.purge_prefix("k/2");
    assert_eq!(app.cache.remove("k"), None);
    app.answer().await;
    assert_eq!(first.await.unwrap(), text(0));
    assert_eq!(app.cache.get("k/1"), Some(text(0)));
}

#[tokio::test]
async fn purges_of_other_tags_do_not_multiply_the_loads_of_a_key() {
    for (purged_last, value) in [("u", text(3)), ("t", text(4))] {
        let app = App::held();
        let mut calls = Vec::new();
        for _ in 0..20 {
            calls.push(app.begin("k/1", &["t"]).await);
            app.cache.purge_tag("u");
        }
        assert_eq!(app.asked(), 4);
        app.cache.purge_tag(purged_last);
        let last = app.begin("k/1", &["t"]).await;
        assert_eq!(app.asked(), 4, "it is not known yet whether the purge covers what is loaded");
        for _ in 0..5 {
            app.answer().await;
        }
        assert_eq!(last.await.unwrap(), value, "{purged_last}");
        for call in calls {
            call.await.unwrap();
        }
    }
}

#[tokio::test]
async fn an_older_load_that_ends_later_does_not_replace_the_newer_value() {
    let app = App::held();
    let older = app.begin("k", &["t"]).await;
    app.cache.purge_tag("u");
    let newer = tokio::spawn({
        let app = app.clone();
        async move { app.cache.load("k", TTL, || async { Ok::<_, Infallible>(text(app.asked() + 10)) }).await }
    });
    assert_eq!(newer.await.unwrap().unwrap(), text(11));
    app.answer().await;
    assert_eq!(older.await.unwrap(), text(0));
    assert_eq!(app.cache.get("k"), Some(text(11)));
}

#[tokio::test]
async fn a_removal_also_covers_a_load_that_nobody_joins_any_more() {
    let app = App::held();
    let older = app.begin("k", &["t"]).await;
    app.cache.purge_tag("u");
    let newer = app.begin("k", &["t"]).await;
    assert_eq!(app.asked(), 2);
    newer.abort();
    settle().await;
    app.cache.remove("k");
    app.answer().await;
    assert_eq!(older.await.unwrap(), text(0));
    assert_eq!(app.cache.get("k"), None);
}

#[tokio::test]
async fn an_inserted_value_outweighs_a_load_that_began_before_it() {
    let app = App::held();
    let (first, waits) = (app.begin("k", &[]).await, app.begin("k", &[]).await);
    app.cache.insert("k", TTL, Loaded::new(text(50)).tags(["t"]));
    assert_eq!(app.load("k").await, text(50));
    app.answer().await;
    assert_eq!((first.await.unwrap(), waits.await.unwrap()), (text(0), text(0)));
    assert_eq!(app.cache.get("k"), Some(text(50)));
    app.cache.purge_tag("t");
    assert_eq!(app.cache.get("k"), None);
}

#[tokio::test]
async fn a_value_that_is_inserted_while_a_load_fails_answers() {
    let app = App::with(|builder| builder.stale_if_error(TTL));
    app.hold();
    let failing = {
        let app = app.clone();
        tokio::spawn(async move { app.fail("k").await })
    };
    settle().await;
    app.cache.insert("k", Duration::from_millis(500), text(50));
    app.answer().await;
    assert_eq!(failing.await.unwrap(), Ok(text(50)));
    let stats = app.cache.stats();
    assert_eq!((stats.hits, stats.stale, stats.load_errors), (1, 0, 1));
    app.wait(1);
    app.permits.add_permits(1);
    assert_eq!(app.load("k").await, text(1), "the failure began no back-off of the new value");
}

#[tokio::test]
async fn caches_share_nothing_and_clones_share_all() {
    let (one, other) = (App::new(), App::new());
    one.load_tagged("k", &["t"]).await;
    other.load_tagged("k", &["t"]).await;
    let clone = one.cache.clone();
    clone.purge_tag("t");
    assert_eq!((one.cache.get("k"), other.cache.get("k")), (None, Some(text(0))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_several_threads_each_key_is_loaded_once() {
    const KEYS: usize = 50;
    let app = App::new();
    let callers: Vec<_> = (0..8)
        .map(|_| {
            let app = app.clone();
            tokio::spawn(async move {
                for number in 0..KEYS {
                    let load = || async {
                        app.ask().await;
                        yield_now().await;
                        Ok::<_, Infallible>(text(number))
                    };
                    let key = format!("k/{number}");
                    assert_eq!(app.cache.load(&key, TTL, load).await, Ok(text(number)));
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    let stats = app.cache.stats();
    assert_eq!((app.asked(), stats.loads, stats.entries), (KEYS, KEYS as u64, KEYS as u64));
    assert_eq!(stats.hits + stats.misses, 8 * KEYS as u64);
}

#[tokio::test]
async fn loaders_that_stay_on_their_thread_may_be_used_there() {
    let cache = DataCache::builder(MEMORY_BYTES_MAX, |text: &Text| text.len()).build();
    let here = std::rc::Rc::new(7);
    let load = || async {
        yield_now().await;
        Ok::<_, Infallible>(text(*here))
    };
    assert_eq!(cache.load("k", TTL, load).await, Ok(text(7)));
}
