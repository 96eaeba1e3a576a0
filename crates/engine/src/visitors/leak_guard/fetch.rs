//! Fetches the pages that the leak guard compares, in the way of a fill.

use crate::origin::fetch_context::FetchContext;
use crate::origin::send;
use crate::runtime::worker::Worker;
use crate::sites::ActiveRoute;
use crate::visitors::scan_body::{self, ScanTargets};
use kasoku_cache::HeldCharge;
use kasoku_origin::{NoInterim, NoUpload};
use kasoku_semantics::reason::Reason;
use kasoku_semantics::secrets::Secrets;
use kasoku_semantics::time::Now;
use kasoku_visitors::leak_guard::{FETCH_MAX, FetchedPage, Fetcher, as_sent, says_nothing};
use kasoku_visitors::soft_errors::is_failure;
use kasoku_wire::RequestHead;
use std::net::{IpAddr, Ipv4Addr};

/// Fetches in the way of a fill.
pub(crate) struct ByWorker<'w> {
    pub(crate) worker: &'w Worker,
    pub(crate) route: &'w ActiveRoute,
    /// The context of the fill.
    pub(crate) fetch_context: &'w FetchContext,
    /// The address of anonymous looks.
    stand_in: IpAddr,
}

impl<'w> ByWorker<'w> {
    /// Looks beside a fill. Anonymous looks have the address that the fill's own fetch had.
    pub(crate) fn new(worker: &'w Worker, route: &'w ActiveRoute, fetch_context: &'w FetchContext) -> Self {
        let stand_in = fetch_context.connection.stand_in.unwrap_or_else(|| route.draw_stand_in());
        Self { worker, route, fetch_context, stand_in }
    }

    /// The same for a comparison that is repeated, by an anonymous visitor that has not been seen.
    pub(crate) fn again(&self) -> Self {
        Self { stand_in: self.route.draw_stand_in(), ..*self }
    }
}

impl Fetcher for ByWorker<'_> {
    async fn fetch(&self, request: &RequestHead, address: Option<Ipv4Addr>) -> Option<FetchedPage> {
        let address = address.map_or(self.stand_in, IpAddr::V4);
        fetch(self.worker, self.route, self.fetch_context, request, address).await
    }

    fn hold(&self) -> HeldCharge {
        self.worker.cache.hold()
    }

    fn next_visitor(&self) -> u64 {
        self.worker.guard.next_visitor()
    }

    fn now(&self) -> Now {
        self.worker.now()
    }
}

/// Fetches a page that no client gets, from that address. `None`: no answer came that can be compared.
async fn fetch(
    worker: &Worker,
    route: &ActiveRoute,
    fetch_context: &FetchContext,
    request: &RequestHead,
    address: IpAddr,
) -> Option<FetchedPage> {
    let fetch_context = fetch_context.again(address, worker.moment().mono_us);
    let request = as_sent(request, route.visitor_rules(), address);
    let (mut no_upload, mut no_interim) = (Some(NoUpload), NoInterim);
    let fetched = async {
        let sent = send::send(worker, route, &fetch_context, &request, &mut no_upload, &mut no_interim).await;
        let mut response = sent.response.ok()?;
        if says_nothing(response.head.status) || sent.one_client.is_some() {
            response.body.discard();
            return None;
        }
        let mut charge = worker.cache.hold();
        let secrets = Secrets::default();
        let targets = ScanTargets::of(route.visitor_rules(), &request.target, &response.head, false, &secrets);
        let read =
            scan_body::read(&response.head, &mut response.body, &mut charge, targets.empty_tokens()).await.ok()?;
        fetch_context.time.has_ended(worker.moment().mono_us);
        let Some((body, _)) = read else {
            response.body.discard();
            return None;
        };
        // An application that fails between two looks says nothing of its page.
        let is_named = !route.visitor_rules().declared.page.texts.is_empty();
        if targets.judge(&body, None).reason == Some(Reason::Outage) || !is_named && is_failure(&body) {
            return None;
        }
        Some(FetchedPage::new(response.head, body, charge))
    };
    tokio::time::timeout(route.origin.first_byte_timeout.min(FETCH_MAX), fetched).await.ok().flatten()
}
