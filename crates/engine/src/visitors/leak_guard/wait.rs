//! Requests that come while the first page of their pattern is compared: a request waits for the verdict as long as the page took, and
//! passes then, a few at a time ([`kasoku_visitors::leak_guard::Pending`]).

use crate::runtime::worker::Worker;
use kasoku_visitors::leak_guard::Pending;
use std::time::Duration;
use tokio::sync::SemaphorePermit;
use tokio::time::sleep;

/// How a wait has ended.
pub(crate) enum Waited<'p> {
    /// The comparison has ended.
    Decided,
    /// The request passes, and keeps this permit meanwhile.
    Passes(#[allow(dead_code, reason = "it is kept")] SemaphorePermit<'p>),
}

/// Waits until the comparison has ended, as long as its page took at most, and then for permission to pass.
pub(crate) async fn wait_for_verdict<'p>(worker: &Worker, pending: &'p Pending) -> Waited<'p> {
    let begun_ms = worker.now().mono_ms;
    let patience = async {
        let page_ms = pending.page_ms().await?;
        let waited_ms = worker.now().mono_ms.saturating_sub(begun_ms);
        sleep(Duration::from_millis(page_ms.saturating_sub(waited_ms))).await;
        pending.may_pass().await
    };
    tokio::select! {
        biased;
        () = pending.end() => Waited::Decided,
        permit = patience => permit.map_or(Waited::Decided, Waited::Passes),
    }
}
