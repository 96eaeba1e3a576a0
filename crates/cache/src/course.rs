//! The course of a request that is looked up: how often it joins a fill, what it does after a failure, when it looks for the fill of another
//! variant, and when it asks the origin alone.
//!
//! The host drives it. [`Cache::first_step`] makes the first [`Step`]; the host does what the step says and hands back the result, until a
//! step is [`Step::Decided`]. A step owns everything that the next one needs. It performs no I/O and has no timer, so the host bounds each
//! wait:
//!
//! ```text
//! first_step --> (Recall | Begin | Wait) --go_on--> ... --> Decided(Outcome)
//! ```
//!
//! The steps are few: a request waits for three fills at most.

use crate::disk::{Recall, Unreadable};
use crate::{Cache, Entry, FillReader, FillWriter, Joined, Lookup, Meta, SharedRequest};
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use std::sync::Arc;

/// The most fills that one request joins: a first fill, a second one if that fails, and the fill of its own variant if one of the two
/// brings another variant.
const JOINS_MAX: u8 = 3;

/// The most stored responses of which one request finds that their body is lost: the second is one that was validated or moved meanwhile.
const LOST_BODIES_MAX: u8 = 2;

/// What the host does next for a request.
#[must_use]
pub enum Step {
    /// Wait for the disk.
    Recall(Box<Recalling>),
    /// Ask the origin for this fill in the background. Do not wait for the answer, but go on with the other step; requests that join the
    /// fill read the response from it.
    Begin(FillWriter, Box<Step>),
    /// Wait for the head that a fill brings.
    Wait(Box<Waiting>),
    /// It is decided how the request is answered.
    Decided(Outcome),
}

/// How a request is answered.
pub enum Outcome {
    /// A stored response answers.
    Stored(Arc<Entry>, CacheStatus),
    /// The response that another request's fill brings answers: read its body from the fill.
    Filling(Arc<Meta>, FillReader, CacheStatus),
    /// Ask the origin for this fill, which other requests may join. Its answer is for this request as well. The reason says why the request
    /// is a miss.
    Fill(FillWriter, Reason),
    /// The same for a fill that no other request joins: other requests' fills did not bring an answer for this one.
    Alone(FillWriter, Reason),
    /// The fills of two other requests have failed; a fill of this request might succeed. If the host has room for one more request that no
    /// other shares, begin it with [`Cache::fill_alone`], as after [`Reason::HitForMiss`]. Otherwise answer with the failure. So only a
    /// bounded number of the waiting requests reach a failing origin.
    AloneIfRoom(Reason, CacheStatus),
    /// Ask the origin for this client alone.
    Pass(Reason),
    /// Ask the origin for this client alone, with everything that the client has sent: the answer to an anonymous request is for no client.
    PassAsVisitor(Reason),
    /// There is no response: the origin has failed for this reason.
    Failed(Reason, CacheStatus),
    /// The client wants a stored response only, and there is none that may be used (RFC 9111 section 5.2.1.7).
    Unavailable(Reason, CacheStatus),
}

/// The stored responses that were to answer a request, and whose body is lost: it is gone from the disk, or damaged there, or it is a file that
/// has changed. The host drops such a response and looks the request up again, as often as this says; then it asks the origin with
/// [`Cache::fill_alone`].
#[derive(Debug, Default)]
pub struct LostBodies(u8);

/// A request that waits for the disk.
pub struct Recalling {
    course: Course,
    recall: Recall,
}

/// A request that has joined a fill.
pub struct Waiting {
    course: Course,
    reader: FillReader,
    /// Why no stored response answers.
    reason: Reason,
}

/// How far a request has come.
struct Course {
    cache: Cache,
    request: SharedRequest,
    /// Why nothing is stored, where the caller knows better than the first look-up.
    missed_for: Option<Reason>,
    joins: u8,
    has_failed: bool,
}

impl Cache {
    /// Begins to answer a request. `missed_for`: if the caller has just dropped the stored response, the reason for that; it becomes the
    /// reason of the miss.
    pub fn first_step(&self, request: &SharedRequest, missed_for: Option<Reason>, now: Now) -> Step {
        let (cache, request) = (self.clone(), request.clone());
        Course { cache, request, missed_for, joins: 0, has_failed: false }.look_up(now)
    }
}

impl LostBodies {
    /// One more body is lost. Returns whether the request is looked up again.
    #[must_use]
    pub fn is_looked_up_again(&mut self) -> bool {
        self.0 = self.0.saturating_add(1);
        self.0 < LOST_BODIES_MAX
    }

    /// The same for a body that can't be read from disk. While the disk does not answer, the request does not wait for it again.
    #[must_use]
    pub fn is_looked_up_again_after(&mut self, why: Unreadable) -> bool {
        why != Unreadable::Silent && self.is_looked_up_again()
    }
}

impl Recalling {
    /// Waits for the disk.
    pub async fn wait(&self) {
        self.recall.wait().await;
    }

    /// The disk did not answer in time, which is a miss. To be called before the future of [`Recalling::wait`] is dropped.
    pub fn give_up(&self) {
        self.recall.give_up();
    }

    /// Goes on when the wait has ended, either way.
    pub fn go_on(self, now: Now) -> Step {
        let Self { course, recall } = self;
        let found = course.cache.look_up_recalled(&course.request, &recall, now);
        course.found(found, now)
    }
}

impl Waiting {
    /// Waits for the head, or for an end of the fill without one.
    pub async fn head(&self) -> Joined {
        self.reader.head().await
    }

    /// Goes on with the result of the wait. `None`: the host has ended the wait, since it took too long.
    pub fn go_on(self, came: Option<Joined>, now: Now) -> Step {
        let Self { mut course, reader, reason } = self;
        let is_probe = reader.is_probe();
        let status = CacheStatus::joined(reason);
        match course.result(reader, reason, came, now) {
            JoinResult::Answer(outcome) => Step::Decided(outcome),
            JoinResult::NotForThisClient => course.alone(now),
            JoinResult::OtherVariant(meta) => {
                let found = course.cache.look_up_variant(&course.request, &meta, now);
                course.found(found, now)
            }
            // The failed request was anonymous, so it did not fail because of what a client sent.
            JoinResult::Failure(why) if is_probe => Step::Decided(failed(why, reason)),
            JoinResult::Failure(why) if course.has_failed => {
                Step::Decided(Outcome::AloneIfRoom(why, CacheStatus { detail: Some(why), ..status }))
            }
            JoinResult::Failure(_) => {
                course.has_failed = true;
                course.look_up(now)
            }
        }
    }
}

/// What a fill brings to a request that joined it.
enum JoinResult {
    /// How the request is answered, or that it can't be.
    Answer(Outcome),
    /// Another variant than the client's: the fill of its own variant can be found now.
    OtherVariant(Arc<Meta>),
    /// The fill failed, perhaps because of the request that was sent: this client's own may fare better.
    Failure(Reason),
    /// The response is not for this client.
    NotForThisClient,
}

impl Course {
    fn look_up(self, now: Now) -> Step {
        match self.cache.look_up(&self.request, now) {
            Lookup::Recall(recall) => Step::Recall(Box::new(Recalling { course: self, recall })),
            found => self.found(found, now),
        }
    }

    fn found(mut self, found: Lookup, now: Now) -> Step {
        let found = match self.missed_for.take() {
            Some(why) => found.missed_for(why),
            None => found,
        };
        let may_join = self.joins < JOINS_MAX;
        let outcome = match found {
            Lookup::Join(reader, reason) if may_join => return self.join(reader, reason),
            Lookup::Probe(writer, reader, reason) if may_join => {
                return Step::Begin(writer, Box::new(self.join(reader, reason)));
            }
            Lookup::Probe(writer, ..) => return Step::Begin(writer, Box::new(self.alone(now))),
            Lookup::Join(..) | Lookup::Recall(_) => return self.alone(now),
            Lookup::Hit(entry, reason, None) => hit(entry, reason, now),
            Lookup::Hit(entry, reason, Some(refresh)) => {
                return Step::Begin(refresh, Box::new(Step::Decided(hit(entry, reason, now))));
            }
            Lookup::Fill(writer, reason) => Outcome::Fill(writer, reason),
            Lookup::Failed(why, reason) => {
                let status = CacheStatus { fwd: None, detail: Some(why), ..CacheStatus::forwarded(reason) };
                Outcome::Failed(why, status)
            }
            Lookup::Pass(
                reason @ (Reason::PageTextMissing
                | Reason::PersonalPage
                | Reason::AddressInResponse
                | Reason::EndlessStream
                | Reason::VaryUnseen
                | Reason::LeakGuardToken
                | Reason::LeakGuardUnconfirmed),
            ) => Outcome::PassAsVisitor(reason),
            Lookup::Pass(reason) => Outcome::Pass(reason),
            Lookup::Unavailable(reason) => {
                Outcome::Unavailable(reason, CacheStatus { fwd: None, ..CacheStatus::forwarded(reason) })
            }
        };
        Step::Decided(outcome)
    }

    fn join(mut self, reader: FillReader, reason: Reason) -> Step {
        self.joins += 1;
        Step::Wait(Box::new(Waiting { course: self, reader, reason }))
    }

    fn alone(self, now: Now) -> Step {
        Step::Decided(Outcome::Alone(self.cache.fill_alone(&self.request, now), Reason::HitForMiss))
    }

    /// Whether the response of a joined fill is for this client as well, and how the client is answered.
    fn result(&self, reader: FillReader, reason: Reason, came: Option<Joined>, now: Now) -> JoinResult {
        let Self { cache, request, .. } = self;
        let is_selected = |meta: &Meta| meta.is_selected_by(&request.head().fields, request.policy());
        let status = CacheStatus::joined(reason);
        JoinResult::Answer(match came {
            Some(Joined::Streaming(meta)) if cache.may_share(request, &meta, now) => {
                Outcome::Filling(meta, reader, status)
            }
            Some(Joined::Streaming(meta)) if !is_selected(&meta) => return JoinResult::OtherVariant(meta),
            Some(Joined::Settled(entry, reason @ (Reason::HitStaleError | Reason::HitStaleDisconnected))) => {
                hit(entry, reason, now)
            }
            Some(Joined::Settled(entry, reason))
                if reason.is_of_the_shared_tier() && cache.may_share(request, &entry.meta, now) =>
            {
                hit(entry, reason, now)
            }
            Some(Joined::Settled(entry, reason))
                if cache.may_share(request, &entry.meta, now) && cache.covers(request.head(), &entry, now) =>
            {
                Outcome::Stored(entry, CacheStatus { detail: Some(reason), ..status })
            }
            Some(Joined::Settled(entry, _)) if !is_selected(&entry.meta) => {
                return JoinResult::OtherVariant(entry.meta.clone());
            }
            // Whether an origin listens and answers in time hardly depends on the request.
            Some(Joined::Failed(
                why @ (Reason::OriginUnreachable
                | Reason::OriginTimeoutConnect
                | Reason::OriginTimeoutFirstByte
                | Reason::OriginDown
                | Reason::OriginQueueFull
                | Reason::OriginBusy
                | Reason::OriginOverloaded),
            )) => failed(why, reason),
            Some(Joined::Failed(why)) => return JoinResult::Failure(why),
            // The request that began the fill may be one that takes for ever.
            None if cache.on_slow(request, &reader, now) => {
                return JoinResult::Failure(Reason::OriginTimeoutFirstByte);
            }
            Some(Joined::Released(
                why @ (Reason::PageTextMissing
                | Reason::PersonalPage
                | Reason::AddressInResponse
                | Reason::EndlessStream
                | Reason::VaryUnseen
                | Reason::LeakGuard
                | Reason::LeakGuardToken
                | Reason::LeakGuardUnconfirmed
                | Reason::LeakGuardPending),
            )) => Outcome::PassAsVisitor(why),
            Some(Joined::Streaming(_) | Joined::Settled(..) | Joined::Released(_)) | None => {
                return JoinResult::NotForThisClient;
            }
        })
    }
}

/// The `Cache-Status` of the request that began a fill, if a stored response answers it. `reason`: why the stored response answers.
/// `status`: the status that the request would have with an answer of the origin.
pub fn settled(entry: &Entry, reason: Reason, status: CacheStatus, now: Now) -> CacheStatus {
    match reason {
        Reason::HitStaleError | Reason::HitStaleDisconnected | Reason::HitMemcached | Reason::HitRedis => {
            CacheStatus::of_hit(reason, entry.meta.freshness.remaining(now))
        }
        _ => {
            let stored = reason == Reason::Revalidated;
            CacheStatus { fwd_status: Some(304), stored, detail: Some(reason), ..status }
        }
    }
}

fn hit(entry: Arc<Entry>, reason: Reason, now: Now) -> Outcome {
    let status = CacheStatus::of_hit(reason, entry.meta.freshness.remaining(now));
    Outcome::Stored(entry, status)
}

/// The failure of the fill that this request joined. `reason`: why the request was a miss.
fn failed(why: Reason, reason: Reason) -> Outcome {
    Outcome::Failed(why, CacheStatus { detail: Some(why), ..CacheStatus::joined(reason) })
}
