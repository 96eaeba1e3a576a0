//! Carries the body of an origin's response into a fill. Where the origin closes early, readers are cut, and nothing is stored, apart from
//! what has come of a part that goes to disk.

use crate::cache::shared_tier;
use crate::error::reason;
use crate::observe::timing::OriginTime;
use crate::origin_client::Response;
use crate::runtime::worker::Worker;
use kasoku_cache::BodyWriter;
use kasoku_cache::disk::DISK_TIMEOUT;
use kasoku_cache::shared::HeldLease;
use kasoku_metrics::Counter;
use kasoku_origin::BodyPiece;
use kasoku_semantics::hop_by_hop::forwardable_trailers;
use std::rc::Rc;
use tokio::time::timeout;

/// Carries the body from the origin into the fill.
pub(super) async fn pump(
    worker: Rc<Worker>,
    mut response: Response,
    mut body: BodyWriter,
    time: Rc<OriginTime>,
    mut lease: Option<HeldLease>,
) {
    loop {
        match response.body.next().await {
            Ok(BodyPiece::Data(data)) => {
                if body.push(data).await.is_err() {
                    return;
                }
                if body.has_to_spool() && timeout(DISK_TIMEOUT, body.spool()).await.is_err() {
                    body.end_spooling();
                }
                // The shared tier gets only what comes into memory. Who waits for more would wait for the whole download.
                if lease.is_some() && !body.may_come_into_memory() {
                    HeldLease::pass(lease.take());
                }
            }
            Ok(BodyPiece::End(trailers)) => {
                // Before the readers see the end.
                time.has_ended(worker.moment().mono_us);
                if response.body.may_be_incomplete() {
                    body.mark_possibly_incomplete();
                }
                if body.has_to_spool() && timeout(DISK_TIMEOUT, body.complete_spooling()).await.is_err() {
                    body.end_spooling();
                }
                let trailers = trailers.and_then(|trailers| forwardable_trailers(trailers, &response.head.fields));
                let request = body.request().clone();
                if let Some(stored) = body.finish_stored(trailers) {
                    worker.cells.count(Counter::Stored);
                    shared_tier::share(&worker, request, stored, lease);
                } else {
                    HeldLease::pass(lease);
                }
                return;
            }
            // A body that the origin closes early is never stored as a whole: the fill fails, and its readers are cut.
            Err(error) => {
                time.has_ended(worker.moment().mono_us);
                worker.cells.count(Counter::OriginErrors);
                tracing::debug!(%error, "origin");
                if body.can_keep_what_came() && timeout(DISK_TIMEOUT, body.keep_what_came()).await == Ok(true) {
                    worker.cells.count(Counter::Stored);
                }
                return body.fail(reason(&error), worker.now());
            }
        }
    }
}

/// Reads the end of a response without a body, so that its connection goes back to the pool.
pub(super) async fn finish_empty(mut response: Response) {
    if response.body.is_none() {
        let _ = response.body.next().await;
    }
}
