//! Sends one beacon in the background and discards the answer.

use crate::origin::fetch_context::FetchContext;
use crate::origin::send;
use crate::runtime::worker::Worker;
use crate::sites::ActiveRoute;
use kasoku_metrics::Counter;
use kasoku_origin::{BodyPiece, NoInterim, NoUpload};
use kasoku_wire::RequestHead;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// How much of an answer is read, in bytes: a connection whose answer was read to its end can be used again.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// How long one beacon may take.
const TIME_MAX: Duration = Duration::from_secs(30);

/// A request that tells the application of a visitor.
pub(super) struct Beacon {
    pub(super) route: Arc<ActiveRoute>,
    pub(super) fetch_context: FetchContext,
    pub(super) outgoing: RequestHead,
}

/// Whether another beacon can be sent, now or after those that wait. If not, it counts as dropped.
pub(super) fn has_room(worker: &Worker) -> bool {
    let has_room = worker.background.has_room();
    if !has_room {
        worker.cells.count(Counter::BeaconsDropped);
    }
    has_room
}

/// Sends a beacon for which there is room. No request waits for it.
pub(super) fn send(worker: &Rc<Worker>, beacon: Beacon) {
    // A waiting task must not keep its worker alive.
    let weak = Rc::downgrade(worker);
    worker.background.spawn(async move {
        let Some(worker) = weak.upgrade() else { return };
        if beacon.route.group.is_down(worker.now().mono_ms) {
            return worker.cells.count(Counter::BeaconsDropped);
        }
        worker.cells.count(Counter::Beacons);
        if tokio::time::timeout(TIME_MAX, exchange(&worker, &beacon)).await.is_err() {
            tracing::debug!(uri = %beacon.fetch_context.uri, "a beacon took too long");
        }
    });
}

/// Sends the request and reads the answer, which has no effect.
async fn exchange(worker: &Worker, beacon: &Beacon) {
    let Beacon { route, fetch_context, outgoing } = beacon;
    let (mut no_upload, mut no_interim) = (Some(NoUpload), NoInterim);
    let sent = send::send(worker, route, fetch_context, outgoing, &mut no_upload, &mut no_interim).await;
    let mut response = match sent.response {
        Ok(response) => response,
        Err(error) => return tracing::debug!(%error, "beacon"),
    };
    let mut read_bytes = 0;
    while read_bytes < ANSWER_BYTES_MAX
        && let Ok(BodyPiece::Data(data)) = response.body.next().await
    {
        read_bytes += data.len();
    }
}
