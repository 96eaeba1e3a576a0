//! Reads an answer of `/top`.
//!
//! A program of another version may say less or more: missing values are 0, empty or unknown, and new ones are ignored. Only the
//! rates and the URLs have to be there; without them, the answer is not from Kasoku. Each text comes from outside: a caller that
//! shows one escapes it with [`super::format::plain`].

use super::format::span;
use serde_json::Value;

/// How a request was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultKind {
    Hit,
    Revalidated,
    Miss,
    Pass,
    Error,
}

impl ResultKind {
    /// All kinds, the best for the visitor first.
    pub(super) const ALL: [Self; 5] = [Self::Hit, Self::Revalidated, Self::Miss, Self::Pass, Self::Error];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Revalidated => "revalidated",
            Self::Miss => "miss",
            Self::Pass => "pass",
            Self::Error => "error",
        }
    }

    fn key(self) -> &'static str {
        match self {
            Self::Hit => "hits_per_second",
            Self::Revalidated => "revalidated_per_second",
            Self::Miss => "misses_per_second",
            Self::Pass => "passes_per_second",
            Self::Error => "errors_per_second",
        }
    }
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct TopSnapshot {
    pub(super) version: String,
    pub(super) uptime_seconds: f64,
    pub(super) workers: u64,
    /// For the last seconds, the last minute, and since the start.
    pub(super) rates: Vec<TopRates>,
    /// For each second of the last minute, the oldest first.
    pub(super) seconds: Vec<TopSecond>,
    pub(super) memory: Option<Used>,
    /// Bodies of requests, which are on disk until they are complete.
    pub(super) request_buffer: Option<Used>,
    pub(super) origins: Vec<TopOrigin>,
    /// The servers of the shared tier.
    pub(super) servers: Vec<TopServer>,
    /// The front ends to which purges are told.
    pub(super) peers: Vec<TopPeer>,
    /// How far back the URLs' numbers go.
    pub(super) urls_seconds: f64,
    pub(super) urls: Vec<TopRow>,
}

#[derive(Debug)]
pub(super) struct TopRates {
    pub(super) seconds: f64,
    pub(super) requests: f64,
    pub(super) hit_ratio: Option<f64>,
    /// In the order of [`ResultKind::ALL`], per second.
    pub(super) kinds: [f64; ResultKind::ALL.len()],
    /// The class of statuses (`2xx`), and its answers per second.
    pub(super) answers: Vec<(String, f64)>,
    pub(super) origin_requests: f64,
    pub(super) origin_mean: Option<f64>,
    /// 95 of 100 heads came within so many seconds. `None` beside a mean: it is more than is measured.
    pub(super) origin_95: Option<f64>,
    pub(super) body_bytes: f64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct TopSecond {
    pub(super) requests: f64,
    pub(super) hit_ratio: Option<f64>,
}

/// How much is used, and how much may be, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Used {
    pub(super) bytes: f64,
    pub(super) bytes_max: f64,
}

#[derive(Debug)]
pub(super) struct TopOrigin {
    pub(super) address: String,
    pub(super) is_up: bool,
    pub(super) connections: f64,
    pub(super) connections_max: Option<f64>,
    pub(super) queue: f64,
    pub(super) failures: f64,
}

/// A server of the shared tier. Rates are of the last seconds.
#[derive(Debug)]
pub(super) struct TopServer {
    pub(super) address: String,
    pub(super) is_up: bool,
    /// Items that it was asked for, or was to store, per second.
    pub(super) items: f64,
    pub(super) hit_ratio: Option<f64>,
    pub(super) reply_mean: Option<f64>,
    /// Operations that failed, per second.
    pub(super) failing: f64,
    /// Operations that failed since the start.
    pub(super) failures: f64,
    pub(super) outages: f64,
}

/// A front end to which purges are told.
#[derive(Debug)]
pub(super) struct TopPeer {
    pub(super) address: String,
    pub(super) is_up: bool,
    pub(super) reply_mean: Option<f64>,
    /// Operations that failed since the start.
    pub(super) failures: f64,
    pub(super) outages: f64,
}

#[derive(Debug, Default)]
pub(super) struct TopRow {
    pub(super) url: String,
    /// Requests that were certainly for this URL: those that may have been for others are subtracted, and missing in the sums below.
    pub(super) requests: f64,
    /// Including those that were revalidated.
    pub(super) misses: f64,
    pub(super) body_bytes: f64,
    pub(super) origin_max: Option<f64>,
    pub(super) origin_mean: Option<f64>,
    /// How the last request was answered.
    pub(super) last: Option<ResultKind>,
    pub(super) reason: String,
}

impl TopSnapshot {
    /// Says that there are no requests, if there are none: a screen of zeros does not say whether something is wrong.
    pub(super) fn idle(&self) -> Option<String> {
        let of_late = self.rates.split_last().map_or(&[][..], |(_, of_late)| of_late);
        if self.rates.iter().all(|rates| rates.requests <= 0.0) {
            Some(format!("none since the start, {} ago", span(self.uptime_seconds)))
        } else if of_late.iter().all(|rates| rates.requests <= 0.0) {
            of_late.last().map(|longest| format!("none in the last {}", span(longest.seconds)))
        } else {
            None
        }
    }

    /// `None`: `said` is no answer of `/top`.
    pub(super) fn read(said: &str) -> Option<Self> {
        let said: Value = serde_json::from_str(said).ok()?;
        ["rates", "urls"].iter().all(|key| said.get(key).is_some_and(Value::is_array)).then_some(())?;
        Some(Self {
            version: text(&said, "version"),
            uptime_seconds: number(&said, "uptime_seconds"),
            workers: said.get("workers").and_then(Value::as_u64).unwrap_or(0),
            rates: list(&said, "rates").map(rates).collect(),
            seconds: list(&said, "seconds").map(second).collect(),
            memory: said.get("memory").and_then(used),
            request_buffer: said.get("request_buffer").and_then(used),
            origins: list(&said, "origins").map(origin).collect(),
            servers: list(&said, "shared_servers").map(server).collect(),
            peers: list(&said, "peers").map(peer).collect(),
            urls_seconds: number(&said, "urls_seconds"),
            urls: list(&said, "urls").map(url).collect(),
        })
    }
}

fn rates(said: &Value) -> TopRates {
    let answers = said.get("answers_per_second").and_then(Value::as_object).into_iter().flatten();
    TopRates {
        seconds: number(said, "seconds"),
        requests: number(said, "requests_per_second"),
        hit_ratio: optional(said, "hit_ratio"),
        kinds: ResultKind::ALL.map(|kind| number(said, kind.key())),
        answers: answers.map(|(class, rate)| (class.clone(), rate.as_f64().unwrap_or(0.0))).collect(),
        origin_requests: number(said, "origin_requests_per_second"),
        origin_mean: optional(said, "origin_head_seconds_mean"),
        origin_95: optional(said, "origin_head_seconds_95"),
        body_bytes: number(said, "body_bytes_per_second"),
    }
}

fn second(said: &Value) -> TopSecond {
    TopSecond { requests: number(said, "requests"), hit_ratio: optional(said, "hit_ratio") }
}

fn used(said: &Value) -> Option<Used> {
    Some(Used { bytes: optional(said, "held_bytes")?, bytes_max: optional(said, "bytes_max")? })
}

fn origin(said: &Value) -> TopOrigin {
    TopOrigin {
        address: text(said, "origin"),
        is_up: said.get("is_up").and_then(Value::as_bool).unwrap_or(true),
        connections: number(said, "connections_in_use"),
        connections_max: optional(said, "connections_max"),
        queue: number(said, "queue"),
        failures: number(said, "failures"),
    }
}

fn server(said: &Value) -> TopServer {
    TopServer {
        address: text(said, "server"),
        is_up: said.get("is_up").and_then(Value::as_bool).unwrap_or(true),
        items: number(said, "items_per_second"),
        hit_ratio: optional(said, "hit_ratio"),
        reply_mean: optional(said, "reply_seconds_mean"),
        failing: number(said, "failures_per_second"),
        failures: number(said, "failures"),
        outages: number(said, "outages"),
    }
}

fn peer(said: &Value) -> TopPeer {
    TopPeer {
        address: text(said, "peer"),
        is_up: said.get("is_up").and_then(Value::as_bool).unwrap_or(true),
        reply_mean: optional(said, "reply_seconds_mean"),
        failures: number(said, "failures"),
        outages: number(said, "outages"),
    }
}

fn url(said: &Value) -> TopRow {
    let last = said.get("last").and_then(Value::as_str);
    TopRow {
        url: text(said, "url"),
        requests: number(said, "requests") - number(said, "requests_excess"),
        misses: number(said, "misses") + number(said, "revalidated"),
        body_bytes: number(said, "body_bytes"),
        origin_max: optional(said, "origin_head_seconds_max"),
        origin_mean: optional(said, "origin_head_seconds_mean"),
        last: ResultKind::ALL.into_iter().find(|kind| Some(kind.name()) == last),
        reason: text(said, "reason"),
    }
}

fn list<'v>(of: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    of.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn optional(of: &Value, key: &str) -> Option<f64> {
    of.get(key).and_then(Value::as_f64)
}

fn number(of: &Value, key: &str) -> f64 {
    optional(of, key).unwrap_or(0.0)
}

fn text(of: &Value, key: &str) -> String {
    of.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_answer_to_top_is_not_drawn() {
        for said in ["", "[]", "{}", "{\"rates\": 1, \"urls\": []}", "{\"rates\": []}"] {
            assert!(TopSnapshot::read(said).is_none(), "{said}");
        }
    }

    #[test]
    fn a_program_that_says_less_is_read_all_the_same() {
        let said =
            r#"{"rates": [{}], "urls": [{"url": "/a", "last": "other"}], "origins": [{}], "memory": {}, "new": 1}"#;
        let moment = TopSnapshot::read(said).unwrap();
        assert_eq!((moment.rates[0].requests, moment.rates[0].hit_ratio), (0.0, None));
        assert_eq!((moment.urls[0].url.as_str(), moment.urls[0].last, moment.memory.is_none()), ("/a", None, true));
        assert!(moment.origins[0].is_up, "what is not said is not held against it");
    }
}
