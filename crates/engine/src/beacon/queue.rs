//! The beacons of one worker: a few on their way, some more that wait for their turn. What comes beyond that is dropped and counted.

use crate::options::Route;
use crate::origins::{self, Errand};
use crate::worker::Worker;
use kasoku_metrics::Counter;
use kasoku_origin::{NoInterim, NoUpload, Piece};
use kasoku_wire::RequestHead;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Beacons of one worker that are on their way at a time.
const SENT_MAX: usize = 4;

/// Beacons of one worker that wait for that.
const WAITING_MAX: usize = 256;

/// How much of an answer is read, in bytes: a connection of which all was read can be used again.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// How long one may take.
const TIME_MAX: Duration = Duration::from_secs(30);

/// See the [module](self).
#[derive(Default)]
pub(crate) struct Queue {
    sent: Cell<usize>,
    waiting: RefCell<VecDeque<Beacon>>,
}

/// A request that tells the application of a visitor.
pub(super) struct Beacon {
    pub(super) route: Arc<Route>,
    pub(super) errand: Errand,
    pub(super) outgoing: RequestHead,
}

/// Whether one more can be sent, now or after those that wait; if not, it counts as dropped.
pub(super) fn has_room(worker: &Worker) -> bool {
    let has_room = worker.beacons.waiting.borrow().len() < WAITING_MAX;
    if !has_room {
        worker.cells.count(Counter::BeaconsDropped);
    }
    has_room
}

/// Sends one for which there is room; nobody waits for it.
pub(super) fn send(worker: &Rc<Worker>, beacon: Beacon) {
    let queue = &worker.beacons;
    queue.waiting.borrow_mut().push_back(beacon);
    if queue.sent.get() < SENT_MAX {
        tokio::task::spawn_local(work(Place::take(worker)));
    }
}

/// Sends one after the other until none waits.
async fn work(place: Place) {
    let Place(worker) = &place;
    loop {
        let Some(beacon) = worker.beacons.waiting.borrow_mut().pop_front() else { return };
        if beacon.route.group.is_down(worker.now().mono_ms) {
            worker.cells.count(Counter::BeaconsDropped);
            continue;
        }
        worker.cells.count(Counter::Beacons);
        if tokio::time::timeout(TIME_MAX, exchange(worker, &beacon)).await.is_err() {
            tracing::debug!(uri = %beacon.errand.uri, "a beacon took too long");
        }
    }
}

/// Asks, and reads what is answered. Nothing follows from it.
async fn exchange(worker: &Worker, beacon: &Beacon) {
    let Beacon { route, errand, outgoing } = beacon;
    let (mut no_upload, mut no_interim) = (Some(NoUpload), NoInterim);
    let mut response = match origins::send(worker, route, errand, outgoing, &mut no_upload, &mut no_interim).await {
        Ok(response) => response,
        Err(error) => return tracing::debug!(%error, "beacon"),
    };
    let mut read_bytes = 0;
    while read_bytes < ANSWER_BYTES_MAX
        && let Ok(Piece::Data(data)) = response.body.next().await
    {
        read_bytes += data.len();
    }
}

/// A place among those that are on their way.
struct Place(Rc<Worker>);

impl Place {
    fn take(worker: &Rc<Worker>) -> Self {
        let sent = &worker.beacons.sent;
        sent.set(sent.get() + 1);
        Self(worker.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let sent = &self.0.beacons.sent;
        sent.set(sent.get() - 1);
    }
}
