//! The origins of one rule, and the choice of the one to ask.
//!
//! [`OriginOptions`] is what the configuration says of an origin, and [`Balance`] says how requests are spread over the origins. A worker
//! makes a [`Group`] of both. Each attempt asks the group once ([`Group::choose`]), which narrows the choice in three steps:
//!
//! 1. The main origins that are up or whose trial is due ([`crate::health`]); if there are none, the backups.
//! 2. Of these, the origins with a free permit for a connection; if there are none, one of them whose queue the request joins. An origin
//!    at its limit works, so it is no reason to ask a backup.
//! 3. Of these, the origin that the balance selects.
//!
//! If no origin is left, suspects are asked, main ones first; then origins that are down, the one that failed longest ago first. One
//! request at a time tries an origin that is down, and requests that come meanwhile wait a moment for what it finds. So a client is not
//! told that all origins are down without an attempt, unless their checks say so. No origin is chosen twice for one request.
//!
//! **Round robin** is nginx's smooth weighted one: over a cycle (the sum of the weights) each origin gets exactly its weight, and they
//! take turns as evenly as that allows. Each worker counts for itself and starts elsewhere in the cycle, so the spread over all workers
//! is right as well. **Hash** is weighted rendezvous hashing: every origin has a score for the key, and the highest score wins. So an
//! origin that goes hands over only its own keys. Scores depend only on the key, the address and the weight: the spread is the same in
//! all workers, after a restart and on other machines.

use crate::Limits;
use crate::error::Error;
use crate::health::{Availability, HealthStatus, TRIAL_CONNECT_MAX, TRIAL_WAIT_MAX};
use crate::permits::{Permit, Share};
use crate::registry::{OriginRegistry, OriginState};
use kasoku_options::{Balance, ORIGINS_MAX, OriginHealth, OriginOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// See the [module](self). Made for one worker from a rule; empty in a configuration.
#[derive(Clone, Debug, Default)]
pub struct Group {
    balance: Balance,
    members: Arc<[Member]>,
}

#[derive(Debug)]
struct Member {
    state: Arc<OriginState>,
    weight: u32,
    is_backup: bool,
    connections_max: usize,
    /// The hash of its address.
    hash: u64,
    /// The state of the smooth round robin. Only the group's worker writes it.
    current: AtomicI64,
}

/// The result of [`Group::choose`].
#[derive(Debug)]
pub enum NextOrigin {
    /// Ask this origin.
    Ask(ChosenOrigin),
    /// All origins that are left are down, and another request is trying this one: wait for it, and choose again.
    Wait(Waiting),
    /// No origin: all are down, or have been asked.
    NoneLeft,
}

/// An origin that was chosen.
#[derive(Debug)]
pub struct ChosenOrigin {
    /// The origin.
    pub origin: Arc<OriginState>,
    /// The most connections to it that may be in use.
    pub connections_max: usize,
    /// How many of them the request may have.
    pub share: Share,
    trial: Option<Trial>,
}

/// The request that holds this is the one that tries an origin which is down. Dropping it ends the trial.
#[derive(Debug)]
struct Trial {
    origin: Arc<OriginState>,
    number: u64,
}

impl Drop for Trial {
    fn drop(&mut self) {
        self.origin.health.end_trial(self.number);
    }
}

/// A trial by another request.
#[derive(Debug)]
pub struct Waiting {
    origin: Arc<OriginState>,
    at: usize,
    wait_max: Duration,
}

impl Waiting {
    /// Waits for the end of the trial, for a moment at most. If the trial failed, the origin counts as asked.
    pub async fn wait(self, attempts: &mut Attempts) {
        let until = *attempts.waits_until.get_or_insert_with(|| Instant::now() + TRIAL_WAIT_MAX);
        let wait_max = self.wait_max.min(until.saturating_duration_since(Instant::now()));
        if self.origin.health.wait_for_trial(wait_max).await {
            attempts.asked |= bit(self.at);
        }
    }
}

impl ChosenOrigin {
    /// Whether the origin is down and this request finds out whether it is back.
    pub fn is_trial(&self) -> bool {
        self.trial.is_some()
    }

    /// How long to wait for a connection to it.
    pub fn connect_timeout(&self, limits: &Limits) -> Duration {
        if self.is_trial() { limits.connect_timeout.min(TRIAL_CONNECT_MAX) } else { limits.connect_timeout }
    }

    /// Takes a permit for a connection, or waits for one.
    pub async fn take_permit(&self, limits: &Limits) -> Result<Permit, Error> {
        self.take_permit_of(self.connections_max, limits).await
    }

    /// The same where `max` permits may be in use.
    pub async fn take_permit_of(&self, max: usize, limits: &Limits) -> Result<Permit, Error> {
        self.origin.permits.take_of(self.share, max, limits.queue_requests_max, limits.queue_timeout).await
    }
}

/// The attempts of one request at its origins.
#[derive(Clone, Copy, Debug)]
pub struct Attempts {
    /// The [`key_hash`] of the request's key.
    pub key_hash: u64,
    /// Whether the request may be sent again when an origin does not answer.
    pub is_repeatable: bool,
    /// How many of an origin's permits it may have.
    pub share: Share,
    asked: u64,
    /// When its waits for other requests' trials must end; set by the first wait.
    waits_until: Option<Instant>,
}

impl Attempts {
    /// A request for which no origin has been asked yet.
    pub fn new(key_hash: u64, is_repeatable: bool) -> Self {
        Self { key_hash, is_repeatable, share: Share::All, asked: 0, waits_until: None }
    }
}

impl Group {
    /// A group of these origins, for the worker of this number. `connections_max` is for origins that have no limit of their own.
    pub fn new(
        balance: Balance,
        origins: &[OriginOptions],
        connections_max: usize,
        registry: &OriginRegistry,
        worker: usize,
    ) -> Self {
        let member = |origin: &OriginOptions| Member {
            state: registry.of(&origin.address),
            weight: origin.weight.max(1),
            is_backup: origin.is_backup,
            connections_max: origin
                .connections_max
                .unwrap_or(connections_max)
                .min(origin.address.permits_max().unwrap_or(usize::MAX))
                .max(1),
            hash: key_hash(origin.address.to_string().as_bytes()),
            current: AtomicI64::new(0),
        };
        let group = Self { balance, members: origins.iter().take(ORIGINS_MAX).map(member).collect() };
        for is_backup in [false, true] {
            for _ in 0..worker {
                group.next_in_turn(|member| member.is_backup == is_backup);
            }
        }
        group
    }

    /// Whether all origins are down, so that a request would find out whether one is back.
    pub fn is_down(&self, now_ms: u64) -> bool {
        let is_down = |member: &Member| {
            matches!(member.state.health.status(now_ms), HealthStatus::Down | HealthStatus::ChecksFailed)
        };
        self.members.iter().all(is_down)
    }

    /// Counts a request that was sent to none of these origins, since [`NextOrigin::NoneLeft`] came first.
    pub fn was_not_asked(&self) {
        self.members.iter().for_each(|member| member.state.health.was_not_asked());
    }

    /// Chooses the origin to ask now.
    pub fn choose(&self, attempts: &mut Attempts, rules: &OriginHealth, now_ms: u64) -> NextOrigin {
        let mut open = !attempts.asked;
        for is_backup in [false, true] {
            while let Some(at) = self.best(attempts, |at, member| {
                let may_be = match member.state.health.status(now_ms) {
                    HealthStatus::Up | HealthStatus::Due => true,
                    // Only a request that can be sent again may try an origin that may not answer.
                    HealthStatus::Suspect { is_due } => is_due && attempts.is_repeatable,
                    HealthStatus::Down | HealthStatus::ChecksFailed => false,
                };
                may_be && member.is_backup == is_backup && has(open, at)
            }) {
                match self.claim(at, |member| member.state.health.claim(rules, now_ms)) {
                    Availability::Free => return self.chosen(attempts, at, None),
                    Availability::Trial(number) => return self.chosen(attempts, at, Some(number)),
                    // Another request has claimed the trial.
                    Availability::TrialRunning(_) | Availability::Refused => open &= !bit(at),
                }
            }
        }
        for is_backup in [false, true] {
            if let Some(at) = self.best(attempts, |at, member| {
                let is_suspect = matches!(member.state.health.status(now_ms), HealthStatus::Suspect { .. });
                is_suspect && member.is_backup == is_backup && !has(attempts.asked, at)
            }) {
                let trial = match self.claim(at, |member| member.state.health.claim(rules, now_ms)) {
                    Availability::Trial(number) => Some(number),
                    Availability::Free | Availability::TrialRunning(_) | Availability::Refused => None,
                };
                return self.chosen(attempts, at, trial);
            }
        }
        self.last_resort(attempts, rules, now_ms)
    }

    /// Of the origins that are down, claims the one that failed longest ago and that no other request tries; or else waits for a trial.
    fn last_resort(&self, attempts: &mut Attempts, rules: &OriginHealth, now_ms: u64) -> NextOrigin {
        let mut open = !attempts.asked;
        let mut waiting: Option<(usize, Duration)> = None;
        while let Some(at) = self.longest_down_of(open) {
            match self.claim(at, |member| member.state.health.claim_anyway(rules, now_ms)) {
                Availability::Free => return self.chosen(attempts, at, None),
                Availability::Trial(number) => return self.chosen(attempts, at, Some(number)),
                Availability::TrialRunning(wait_max) if waiting.is_none_or(|(_, longest)| wait_max > longest) => {
                    waiting = Some((at, wait_max));
                }
                Availability::TrialRunning(_) | Availability::Refused => {}
            }
            open &= !bit(at);
        }
        let waiting = waiting.and_then(|(at, wait_max)| Some((at, wait_max, self.members.get(at)?)));
        waiting.map_or(NextOrigin::NoneLeft, |(at, wait_max, member)| {
            NextOrigin::Wait(Waiting { origin: member.state.clone(), at, wait_max })
        })
    }

    fn longest_down_of(&self, of: u64) -> Option<usize> {
        let down = self.members.iter().enumerate().filter(|(at, _)| has(of, *at));
        let down = down.filter_map(|(at, member)| Some((member.state.health.unreachable_since()?, at)));
        down.min().map(|(_, at)| at)
    }

    fn claim(&self, at: usize, claim: impl FnOnce(&Member) -> Availability) -> Availability {
        self.members.get(at).map_or(Availability::Refused, claim)
    }

    fn chosen(&self, attempts: &mut Attempts, at: usize, trial: Option<u64>) -> NextOrigin {
        attempts.asked |= bit(at);
        let Some(member) = self.members.get(at) else { return NextOrigin::NoneLeft };
        let trial = trial.map(|number| Trial { origin: member.state.clone(), number });
        NextOrigin::Ask(ChosenOrigin {
            origin: member.state.clone(),
            connections_max: member.connections_max,
            share: attempts.share,
            trial,
        })
    }

    /// The origin that the balance selects among those with a free permit; among all that `may_be` accepts, if none has one.
    fn best(&self, attempts: &Attempts, may_be: impl Fn(usize, &Member) -> bool) -> Option<usize> {
        let mut fit = 0;
        let mut with_room = 0;
        for (at, member) in self.members.iter().enumerate().filter(|(at, member)| may_be(*at, member)) {
            fit |= bit(at);
            if member.state.permits.has_room(member.connections_max) {
                with_room |= bit(at);
            }
        }
        let of = if with_room == 0 { fit } else { with_room };
        match (of.count_ones(), self.balance) {
            (0, _) => None,
            (1, _) | (_, Balance::First) => Some(of.trailing_zeros() as usize),
            (_, Balance::RoundRobin) => self.next_in_turn_of(of),
            (_, Balance::Hash) => self.highest_of(of, attempts.key_hash),
        }
    }

    fn next_in_turn(&self, may_be: impl Fn(&Member) -> bool) -> Option<usize> {
        let of = self.members.iter().enumerate().filter(|(_, member)| may_be(member));
        self.next_in_turn_of(of.fold(0, |of, (at, _)| of | bit(at)))
    }

    /// nginx's smooth weighted round robin: each origin gains its weight; the richest is chosen and pays what all have gained.
    fn next_in_turn_of(&self, of: u64) -> Option<usize> {
        let mut sum = 0;
        let mut richest: Option<(usize, i64)> = None;
        for (at, member) in self.members.iter().enumerate().filter(|(at, _)| has(of, *at)) {
            let weight = i64::from(member.weight);
            sum += weight;
            let current = member.current.load(Ordering::Relaxed) + weight;
            member.current.store(current, Ordering::Relaxed);
            if richest.is_none_or(|(_, most)| current > most) {
                richest = Some((at, current));
            }
        }
        let (at, current) = richest?;
        self.members.get(at)?.current.store(current - sum, Ordering::Relaxed);
        Some(at)
    }

    /// Weighted rendezvous hashing: the score is -weight / ln(u), with u, made of key and address, uniform over (0, 1).
    ///
    /// Source: Schindelhauer and Schomaker, "Weighted distributed hash tables", SPAA 2005 (the logarithmic method).
    fn highest_of(&self, of: u64, key_hash: u64) -> Option<usize> {
        let score = |member: &Member| {
            let bits = mix(key_hash ^ member.hash) >> 11;
            let even = (bits as f64 + 0.5) / (1_u64 << 53) as f64;
            -f64::from(member.weight) / even.ln()
        };
        let scores = self.members.iter().enumerate().filter(|(at, _)| has(of, *at));
        scores.map(|(at, member)| (at, score(member))).max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
    }
}

const fn bit(at: usize) -> u64 {
    1_u64 << (at & 63)
}

const fn has(set: u64, at: usize) -> bool {
    set & bit(at) != 0
}

/// A hash that is the same on all machines and for ever: FNV-1a, mixed. A client can choose keys that all belong to one origin; a secret
/// would prevent that, and make the spread differ between machines.
pub fn key_hash(bytes: &[u8]) -> u64 {
    let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    mix(bytes.iter().fold(0xcbf2_9ce4_8422_2325, fnv))
}

/// The finaliser of SplitMix64: every bit of the result depends on every bit of `x`.
const fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests;
