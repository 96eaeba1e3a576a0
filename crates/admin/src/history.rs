//! Samples of the counters in the last minute, from which rates are made: one each second, of a bounded number.
//!
//! Counters count from the start. What was counted in the last ten seconds is the difference of two samples, so the admin thread
//! takes a sample each second. A window that is longer than the samples go back begins at the oldest one, and its length says so.

use crate::AdminHandle;
use kasoku_cache::shared::ServerStatus;
use kasoku_metrics::{Counter, Histogram, Metrics, StatusClass, Timer};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often a sample is taken.
const INTERVAL: Duration = Duration::from_secs(1);

/// The samples that are kept: those of a minute, and one to subtract.
const SAMPLES_MAX: usize = 61;

/// The windows of the rates, in seconds.
pub(crate) const WINDOWS: [u64; 2] = [10, 60];

/// The classes of statuses that have a rate.
const CLASSES: [StatusClass; 5] = [
    StatusClass::Informational,
    StatusClass::Successful,
    StatusClass::Redirection,
    StatusClass::ClientError,
    StatusClass::ServerError,
];

/// The numbers at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    at: Instant,
    counters: Vec<u64>,
    /// In the order of [`CLASSES`].
    answers: [u64; CLASSES.len()],
    /// Misses whose stored response the origin confirmed.
    revalidated: u64,
    origin: Histogram,
    /// In the order of the configuration.
    servers: Vec<ServerSample>,
}

/// What a server of the shared tier has done so far.
#[derive(Clone, Copy, Debug, Default)]
struct ServerSample {
    gets: u64,
    hits: u64,
    sets: u64,
    failures: u64,
    replies: u64,
    reply_us: u64,
}

impl Sample {
    pub(crate) fn of(metrics: &Metrics, servers: &[ServerStatus], at: Instant) -> Self {
        let counters = Counter::ALL.iter().map(|counter| metrics.total(*counter)).collect();
        let sites = metrics.responses();
        let answers = CLASSES.map(|class| sites.iter().map(|(_, responses)| responses.of_class(class)).sum());
        let revalidated = metrics.revalidated();
        let servers = servers.iter().map(ServerSample::of).collect();
        Self { at, counters, answers, revalidated, origin: metrics.times(Timer::Origin), servers }
    }

    /// The sample before anything was counted.
    fn zero(at: Instant) -> Self {
        Self {
            at,
            counters: vec![0; Counter::ALL.len()],
            answers: [0; CLASSES.len()],
            revalidated: 0,
            origin: Histogram::default(),
            servers: Vec::new(),
        }
    }

    fn count(&self, counter: Counter) -> u64 {
        self.counters.get(counter as usize).copied().unwrap_or(0)
    }
}

impl ServerSample {
    fn of(server: &ServerStatus) -> Self {
        let ServerStatus { gets, hits, sets, replies, reply_us, .. } = *server;
        Self { gets, hits, sets, failures: server.failures(), replies, reply_us }
    }
}

/// The hit ratio between two samples, as in `/stats`.
fn hit_ratio(earlier: &Sample, later: &Sample) -> Option<f64> {
    let count = |counter| later.count(counter).saturating_sub(earlier.count(counter));
    let (hits, others) = (count(Counter::Hits), count(Counter::Misses) + count(Counter::Passes));
    (hits + others > 0).then(|| hits as f64 / (hits + others) as f64)
}

/// One of the seconds of the last minute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SecondSample {
    pub(crate) requests_per_second: f64,
    pub(crate) hit_ratio: Option<f64>,
}

impl SecondSample {
    fn between(earlier: &Sample, later: &Sample) -> Self {
        let seconds = later.at.duration_since(earlier.at).as_secs_f64();
        let requests = later.count(Counter::Requests).saturating_sub(earlier.count(Counter::Requests));
        let requests_per_second = if seconds > 0.0 { requests as f64 / seconds } else { 0.0 };
        Self { requests_per_second, hit_ratio: hit_ratio(earlier, later) }
    }
}

/// What a server of the shared tier did between two samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ServerRates {
    /// Items that it was asked for, or was to store. Readings of its log are left out.
    pub(crate) items_per_second: f64,
    pub(crate) failures_per_second: f64,
    /// How many of the items that it was asked for it had; `None`: none was asked for.
    pub(crate) hit_ratio: Option<f64>,
    /// The mean time of an operation; `None`: there was none.
    pub(crate) reply_seconds_mean: Option<f64>,
}

impl ServerRates {
    fn between(earlier: &ServerSample, later: &ServerSample, seconds: f64) -> Self {
        let count = |read: fn(&ServerSample) -> u64| read(later).saturating_sub(read(earlier)) as f64;
        let rate = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
        let ratio = |part: f64, all: f64| (all > 0.0).then(|| part / all);
        Self {
            items_per_second: rate(count(|server| server.gets) + count(|server| server.sets)),
            failures_per_second: rate(count(|server| server.failures)),
            hit_ratio: ratio(count(|server| server.hits), count(|server| server.gets)),
            reply_seconds_mean: ratio(count(|server| server.reply_us), count(|server| server.replies))
                .map(|us| us / 1e6),
        }
    }
}

/// The rates between two samples.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SampledRates {
    /// The time between the samples.
    pub(crate) seconds: f64,
    pub(crate) requests_per_second: f64,
    pub(crate) origin_requests_per_second: f64,
    pub(crate) hits_per_second: f64,
    /// Misses whose stored response the origin confirmed.
    pub(crate) revalidated_per_second: f64,
    /// All other misses.
    pub(crate) misses_per_second: f64,
    pub(crate) passes_per_second: f64,
    pub(crate) errors_per_second: f64,
    /// By the class of the status.
    pub(crate) answers_per_second: [(&'static str, f64); CLASSES.len()],
    pub(crate) body_bytes_per_second: f64,
    /// As in `/stats`; `None`: there were no requests.
    pub(crate) hit_ratio: Option<f64>,
    /// The mean time until the head of an origin's answer; `None`: no origin was asked.
    pub(crate) origin_head_seconds_mean: Option<f64>,
    /// 95 of 100 of these times are at most this long: the bound of a bucket. `None` also if they are beyond the last bound.
    pub(crate) origin_head_seconds_95: Option<f64>,
    /// In the order of the configuration.
    pub(crate) servers: Vec<ServerRates>,
}

impl SampledRates {
    fn between(earlier: &Sample, later: &Sample) -> Self {
        let seconds = later.at.duration_since(earlier.at).as_secs_f64();
        let count = |counter| later.count(counter).saturating_sub(earlier.count(counter));
        let rate = |counter| if seconds > 0.0 { count(counter) as f64 / seconds } else { 0.0 };
        let misses = rate(Counter::Misses);
        let mut answers_per_second = CLASSES.map(|class| (class.name(), 0.0));
        let answers = later.answers.iter().zip(&earlier.answers).map(|(later, earlier)| later.saturating_sub(*earlier));
        for ((_, per_second), count) in answers_per_second.iter_mut().zip(answers) {
            *per_second = if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        }
        let revalidated = later.revalidated.saturating_sub(earlier.revalidated) as f64;
        let revalidated = if seconds > 0.0 { (revalidated / seconds).min(misses) } else { 0.0 };
        let origin = later.origin.since(&earlier.origin);
        let in_seconds = |us: u64| us as f64 / 1e6;
        // The sample before anything was counted has no servers.
        let before = earlier.servers.iter().copied().chain(std::iter::repeat(ServerSample::default()));
        let server = |(later, earlier): (&ServerSample, ServerSample)| ServerRates::between(&earlier, later, seconds);
        Self {
            seconds,
            requests_per_second: rate(Counter::Requests),
            origin_requests_per_second: rate(Counter::OriginRequests),
            hits_per_second: rate(Counter::Hits),
            revalidated_per_second: revalidated,
            misses_per_second: misses - revalidated,
            passes_per_second: rate(Counter::Passes),
            errors_per_second: rate(Counter::Errors),
            answers_per_second,
            body_bytes_per_second: rate(Counter::BodyBytesSent),
            hit_ratio: hit_ratio(earlier, later),
            origin_head_seconds_mean: origin.mean_us().map(in_seconds),
            origin_head_seconds_95: origin.quantile_us(0.95).map(in_seconds),
            servers: later.servers.iter().zip(before).map(server).collect(),
        }
    }
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct History {
    started: Instant,
    samples: Mutex<VecDeque<Sample>>,
}

impl History {
    pub(crate) fn new(started: Instant) -> Self {
        Self { started, samples: Mutex::new(VecDeque::with_capacity(SAMPLES_MAX)) }
    }

    fn add(&self, sample: Sample) {
        let mut samples = self.samples();
        samples.truncate(SAMPLES_MAX - 1);
        samples.push_front(sample);
    }

    /// The rates of each of [`WINDOWS`] and since the start; and each second of the last minute, the oldest first.
    pub(crate) fn told(&self, now: &Sample) -> (Vec<SampledRates>, Vec<SecondSample>) {
        let samples = self.samples();
        (self.rates(&samples, now), seconds(&samples))
    }

    fn rates(&self, samples: &VecDeque<Sample>, now: &Sample) -> Vec<SampledRates> {
        let start = Sample::zero(self.started);
        let window = |seconds: u64| {
            // Samples are never taken exactly on time: the nearest one counts.
            let wanted = Duration::from_secs(seconds) - INTERVAL / 2;
            let is_there = |sample: &&Sample| now.at.duration_since(sample.at) >= wanted;
            // The latest sample that is old enough, else the oldest.
            let earlier = samples.iter().find(is_there).or(samples.back()).unwrap_or(&start);
            SampledRates::between(earlier, now)
        };
        WINDOWS.into_iter().map(window).chain([SampledRates::between(&start, now)]).collect()
    }

    // No code panics while it holds the lock.
    fn samples(&self) -> MutexGuard<'_, VecDeque<Sample>> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Each second of the last minute. The current second is left out, since its numbers would jump.
fn seconds(samples: &VecDeque<Sample>) -> Vec<SecondSample> {
    let pairs = samples.iter().zip(samples.iter().skip(1));
    pairs.map(|(later, earlier)| SecondSample::between(earlier, later)).rev().collect()
}

/// Takes samples for ever.
pub(crate) async fn keep(handle: AdminHandle) {
    loop {
        let servers = handle.engine.cache().shared_status().unwrap_or_default().servers;
        handle.history.add(Sample::of(handle.engine.metrics(), &servers, Instant::now()));
        tokio::time::sleep(INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kasoku_metrics::Outcome;

    #[test]
    fn a_window_is_the_difference_of_two_samples() {
        let (metrics, start) = (Metrics::new(1), Instant::now());
        let (cells, history) = (metrics.cells(0), History::new(start));
        let site = metrics.of_site("boards", 0);
        let at = |seconds: u64| Sample::of(&metrics, &[], start + Duration::from_secs(seconds));
        // For a minute and a half, ten requests in each second: until the 80th second one of them is a hit, then nine.
        for second in 0..90 {
            history.add(at(second));
            let hits = if second < 80 { 1 } else { 9 };
            cells.add(Counter::Requests, 10);
            cells.add(Counter::Hits, hits);
            cells.add(Counter::Misses, 10 - hits);
            (0..10).for_each(|_| site.count(Outcome::Hit, StatusClass::Successful));
            cells.observe(Timer::Origin, if second < 80 { 400_000 } else { 8_000 });
        }
        let (rates, seconds) = history.told(&at(90));
        let told: Vec<_> = rates.iter().map(|rates| (rates.seconds, rates.requests_per_second)).collect();
        assert_eq!(told, [(10.0, 10.0), (60.0, 10.0), (90.0, 10.0)]);
        assert_eq!(rates[0].hit_ratio, Some(0.9));
        assert_eq!((rates[0].origin_head_seconds_mean, rates[0].origin_head_seconds_95), (Some(0.008), Some(0.01)));
        assert_eq!(rates[0].answers_per_second[1], ("2xx", 10.0));
        assert_eq!(rates[1].hit_ratio, Some(140.0 / 600.0));
        assert_eq!(rates[1].origin_head_seconds_95, Some(0.5));
        assert!(history.samples().len() <= SAMPLES_MAX);
        assert_eq!(seconds.len(), 60);
        let second = |hits: f64| SecondSample { requests_per_second: 10.0, hit_ratio: Some(hits) };
        assert_eq!((seconds[0], seconds[59]), (second(0.1), second(0.9)), "the oldest first");
        assert_eq!((rates[0].hits_per_second, rates[0].misses_per_second), (9.0, 1.0));
    }

    #[test]
    fn a_server_of_the_shared_tier_has_the_rates_of_the_window() {
        let (metrics, start) = (Metrics::new(1), Instant::now());
        let history = History::new(start);
        let at = |seconds: u64| {
            let (gets, hits, errors) = (seconds * 10, seconds * 9, seconds.saturating_sub(80));
            let (replies, reply_us) = (seconds * 20, seconds * 4_000);
            let server =
                ServerStatus { gets, hits, sets: seconds * 2, errors, replies, reply_us, ..Default::default() };
            Sample::of(&metrics, &[server, ServerStatus::default()], start + Duration::from_secs(seconds))
        };
        (0..90).for_each(|second| history.add(at(second)));
        let (rates, _) = history.told(&at(90));
        let expected = |failures_per_second| ServerRates {
            items_per_second: 12.0,
            failures_per_second,
            hit_ratio: Some(0.9),
            reply_seconds_mean: Some(0.0002),
        };
        let told: Vec<_> = rates.iter().map(|rates| rates.servers.as_slice()).collect();
        assert_eq!(told[0], [expected(1.0), ServerRates::default()]);
        assert_eq!(told[2], [expected(10.0 / 90.0), ServerRates::default()]);
    }

    #[test]
    fn a_program_that_has_just_started_says_how_far_it_goes_back() {
        let (metrics, start) = (Metrics::new(1), Instant::now());
        let history = History::new(start);
        metrics.cells(0).add(Counter::Requests, 6);
        let (rates, seconds) = history.told(&Sample::of(&metrics, &[], start + Duration::from_secs(3)));
        assert_eq!(seconds, [], "no second is complete");
        for rates in rates {
            assert_eq!((rates.seconds, rates.requests_per_second), (3.0, 2.0));
            assert_eq!((rates.hit_ratio, rates.origin_head_seconds_mean), (None, None));
        }
    }
}
