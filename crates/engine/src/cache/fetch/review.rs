//! Reviews an answer that would be stored, before it is shared: searches it for what may not be shared, and checks its page.

use crate::cache::fetch::to_client::{FirstClient, FirstClientEvent};
use crate::origin_client::Body;
use crate::visitors::leak_guard::{CheckedFill, PageCheck, Reviewed};
use crate::visitors::scan_body::{self, ScanTargets};
use bytes::Bytes;
use http::StatusCode;
use kasoku_cache::FillWriter;
use kasoku_cache::verdict::OriginExchange;
use kasoku_metrics::Counter;
use kasoku_origin::Error;
use kasoku_semantics::difference::Markup;
use kasoku_semantics::freshness::LifetimeSource;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::secrets::Secrets;
use kasoku_visitors::leak_guard::{ComparisonTicket, FetchedPage, Read};
use kasoku_visitors::pattern::Pattern;
use kasoku_visitors::soft_errors::{Replaced, Shape, Taken};
use kasoku_wire::{RequestHead, ResponseHead};

/// What a review says of an answer.
pub(super) enum Ruling {
    /// It may be shared, as far as its content tells.
    Share,
    /// It is for one client alone.
    OneClient(Reason),
    /// It may be an error that says 200: it is shared for some seconds.
    SoftError {
        seconds: u64,
        /// The application has failed: a stale response goes first.
        is_outage: bool,
    },
    /// The application says that it is out of order.
    Outage,
    /// It could not be reviewed this time, which says nothing of the page.
    Late(Reason),
}

/// An answer that would be stored, with all that it is reviewed by.
pub(super) struct Review<'r> {
    pub(super) fill: CheckedFill<'r>,
    /// The URL pattern, where the leak guard looks at its pages.
    pub(super) pattern: Option<&'r Pattern>,
    /// The request as it was sent.
    pub(super) request: &'r RequestHead,
    /// The head that goes out with the body.
    pub(super) head: &'r ResponseHead,
    /// What the application has said.
    pub(super) exchange: &'r OriginExchange<'r>,
    /// The values of cookies that would be dropped.
    pub(super) secrets: &'r Secrets,
}

impl Review<'_> {
    /// Reads the body, where its content decides, and rules. `ticket`: the fill was begun to compare the page.
    ///
    /// # Errors
    /// The body has broken off.
    pub(super) async fn rule(
        self,
        ticket: Option<ComparisonTicket>,
        writer: &mut FillWriter,
        body: &mut Body,
        client: &mut FirstClient,
    ) -> Result<Ruling, Error> {
        let (worker, exchange) = (self.fill.worker, self.exchange);
        let check = self.fill.decide(self.pattern, ticket, self.request, exchange.response, exchange.is_file);
        let is_text = Markup::of(exchange.response).is_some();
        let targets = self.targets(&check, is_text);
        // Charged for the page as long as it is read and compared.
        let mut charge = worker.cache.hold();
        let found = match targets.is_empty() {
            true => scan_body::ScanResult::default(),
            false => scan_body::look_through(&targets, self.head, body, &mut charge).await?,
        };
        self.count(found.reason);
        writer.set_excepted_tags(found.excepted);
        let now_ms = worker.now().mono_ms;
        if let PageCheck::Compare(ticket) = &check {
            ticket.page_took(now_ms.saturating_sub(exchange.request_time.mono_ms));
        }
        let Some(reason) = found.reason else {
            return Ok(self.rule_by_page(check, is_text, found.body, writer, client).await);
        };
        if let PageCheck::Compare(ticket) = check {
            match reason {
                // It could not be read.
                Reason::PageUnchecked => ticket.failed(now_ms),
                _ => ticket.unneeded(now_ms),
            }
        }
        Ok(match reason {
            Reason::Outage => Ruling::Outage,
            reason if found.is_late => Ruling::Late(reason),
            reason => Ruling::OneClient(reason),
        })
    }

    /// What the body is searched for.
    fn targets(&self, check: &PageCheck, is_text: bool) -> ScanTargets<'_> {
        let Self { fill, request, head, exchange, secrets, .. } = self;
        let rules = fill.route.visitor_rules();
        let mut targets = ScanTargets::of(rules, &request.target, head, exchange.is_file, secrets);
        // A file that Kasoku read itself knows no address.
        if !exchange.is_file {
            let stand_in = fill.fetch_context.connection.stand_in;
            targets = targets.of_stand_in(stand_in, rules, (request, head), exchange.response_time);
        }
        match check {
            PageCheck::Compare(_) => targets.compared(),
            PageCheck::Review(_) if is_text => targets.compared(),
            _ => targets,
        }
    }

    /// Rules by what the page is: a page or an error, the same for all or not.
    async fn rule_by_page(
        &self,
        check: PageCheck,
        is_text: bool,
        body: Bytes,
        writer: &FillWriter,
        client: &mut FirstClient,
    ) -> Ruling {
        let may_be_error = self.may_be_error(&check);
        let read = match check {
            PageCheck::Review(_) if is_text => self.fill.read(self.exchange.response, &body),
            PageCheck::Compare(_) if is_text && may_be_error => self.fill.read(self.exchange.response, &body),
            _ => Read::default(),
        };
        let taken = if may_be_error { self.taken(&body, &read.1, writer) } else { Taken::Page };
        if taken != Taken::Page {
            self.fill.worker.cells.count(Counter::SoftErrors);
        }
        let check = match (check, taken) {
            // A pattern is not known by an error: its comparison is repeated, as after a look that failed.
            (PageCheck::Compare(ticket), Taken::SoftError(_) | Taken::Outage(_)) => {
                ticket.failed(self.fill.worker.now().mono_ms);
                PageCheck::Refuse(Reason::LeakGuardPending)
            }
            (check, _) => check,
        };
        match (self.check(check, is_text, body, &read, client).await, taken) {
            (Some(_), Taken::Outage(_)) => Ruling::Outage,
            (Some(reason), _) => Ruling::OneClient(reason),
            (None, Taken::Page) => Ruling::Share,
            (None, Taken::SoftError(seconds)) => Ruling::SoftError { seconds, is_outage: false },
            (None, Taken::Outage(seconds)) => Ruling::SoftError { seconds, is_outage: true },
        }
    }

    /// Whether the answer may be an error that says 200. Where the operator or a policy has named the text of a page, that text decides
    /// instead.
    fn may_be_error(&self, check: &PageCheck) -> bool {
        let has_text = !self.fill.route.visitor_rules().declared.page.texts.is_empty();
        let is_page = matches!(check, PageCheck::Compare(_) | PageCheck::Review(_));
        is_page && !has_text && self.exchange.response.status == StatusCode::OK
    }

    /// What the answer is taken for. `kinds`: of its elements.
    fn taken(&self, body: &Bytes, kinds: &[u64], writer: &FillWriter) -> Taken {
        let (fill, said) = (self.fill, self.exchange.response);
        let bytes = if body.is_empty() { self.exchange.body_length } else { Some(body.len() as u64) };
        let (Some(pattern), Some(bytes)) = (self.pattern, bytes) else { return Taken::Page };
        let replaced = writer.replaces().map(|entry| {
            let freshness = &entry.meta.freshness;
            let soft_error = (freshness.source == LifetimeSource::SoftError)
                .then(|| (freshness.response_time.mono_ms, freshness.lifetime.saturating_sub(freshness.initial_age)));
            Replaced::new(&entry.meta.head, entry.body.complete_length().unwrap_or(0), soft_error)
        });
        fill.take(pattern, &Shape::of(said, body, bytes, kinds), replaced.as_ref())
    }

    /// Checks the page. Returns why it may not be shared, if it may not.
    async fn check(
        &self,
        check: PageCheck,
        is_text: bool,
        body: Bytes,
        read: &Read,
        client: &mut FirstClient,
    ) -> Option<Reason> {
        let (fill, said) = (self.fill, self.exchange.response);
        // The body has been charged for.
        let page = |body| FetchedPage::new(said.clone(), body, fill.worker.cache.hold());
        match check {
            PageCheck::Share => None,
            PageCheck::Refuse(reason) => Some(reason),
            PageCheck::Compare(ticket) => {
                client.tell(FirstClientEvent::Unverified);
                Box::pin(fill.compare(ticket, self.request, page(body))).await
            }
            PageCheck::Review(_) if !is_text => None,
            PageCheck::Review(pattern) => match fill.review(&pattern, read) {
                Reviewed::Share => None,
                Reviewed::Refuse(reason) => Some(reason),
                Reviewed::Compare(ticket) => {
                    client.tell(FirstClientEvent::Unverified);
                    Box::pin(fill.compare(ticket, self.request, page(body))).await
                }
                Reviewed::Look(ticket, keys) => {
                    client.tell(FirstClientEvent::Unverified);
                    Box::pin(fill.look(ticket, self.request, page(body), &keys)).await
                }
            },
        }
    }

    fn count(&self, found: Option<Reason>) {
        match found {
            Some(Reason::PageTextMissing) => self.fill.worker.cells.count(Counter::PageTextMissing),
            Some(Reason::Outage) => self.fill.worker.cells.count(Counter::Outages),
            _ => {}
        }
    }
}
