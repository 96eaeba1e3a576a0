//! Checks a page in its fill, before it is shared: by what is known of its pattern, or by looks at it.

use crate::origin::fetch_context::FetchContext;
use crate::runtime::worker::Worker;
use crate::sites::ActiveRoute;
use crate::visitors::leak_guard::fetch::ByWorker;
use crate::visitors::leak_guard::{drop_all, tell};
use bytes::Bytes;
use kasoku_metrics::Counter;
use kasoku_semantics::reason::Reason;
use kasoku_visitors::leak_guard::{
    Comparison, ComparisonResult, ComparisonTicket, CountryField, FetchedPage, Fetcher, Finding, GuardStep, PageReview,
    PatternVerdict, Read, check, check_places, is_to_be_compared, places_of, plain,
};
use kasoku_visitors::pattern::Pattern;
use kasoku_visitors::soft_errors::{Replaced, Shape, Taken};
use kasoku_wire::{RequestHead, ResponseHead};

/// What the guard does with a page of a fill.
pub(crate) enum PageCheck {
    /// The page is shared as it is.
    Share,
    /// The page is not shared, for this reason.
    Refuse(Reason),
    /// The page is read for tokens.
    Review(Pattern),
    /// The page is the first of its pattern, and is compared.
    Compare(ComparisonTicket),
}

/// What a review says of a page.
pub(crate) enum Reviewed {
    /// The page is shared.
    Share,
    /// The page is not shared, for this reason.
    Refuse(Reason),
    /// One more look is needed at these places.
    Look(ComparisonTicket, Vec<u64>),
    /// The page is compared itself.
    Compare(ComparisonTicket),
}

/// The fill whose page is checked.
#[derive(Clone, Copy)]
pub(crate) struct CheckedFill<'f> {
    pub(crate) worker: &'f Worker,
    pub(crate) route: &'f ActiveRoute,
    pub(crate) fetch_context: &'f FetchContext,
    /// Fields in which a trusted proxy names a client's country.
    pub(crate) countries: &'f [CountryField],
}

impl CheckedFill<'_> {
    /// Decides by what is known of the pattern. `ticket`: the fill was begun for a comparison.
    pub(crate) fn decide(
        self,
        pattern: Option<&Pattern>,
        ticket: Option<ComparisonTicket>,
        request: &RequestHead,
        head: &ResponseHead,
        is_file: bool,
    ) -> PageCheck {
        let now = self.worker.now();
        let rules = self.route.visitor_rules();
        let Some(pattern) = pattern.filter(|_| is_to_be_compared(rules, request, head, is_file, now)) else {
            ticket.into_iter().for_each(|ticket| ticket.has_own_lifetime(now.mono_ms));
            return PageCheck::Share;
        };
        if let Some(ticket) = ticket {
            return PageCheck::Compare(ticket);
        }
        match self.worker.guard.begin(pattern, now.mono_ms) {
            GuardStep::Check(ticket) => PageCheck::Compare(ticket),
            GuardStep::Known(PatternVerdict::Verified(_)) => PageCheck::Review(pattern.clone()),
            GuardStep::Known(PatternVerdict::Blocked(blocked)) if blocked.is_shared => {
                PageCheck::Review(pattern.clone())
            }
            GuardStep::Known(PatternVerdict::Blocked(_)) => PageCheck::Refuse(Reason::LeakGuard),
            GuardStep::Known(_) => PageCheck::Refuse(Reason::LeakGuardPending),
        }
    }

    /// Reads the places of a page, and the kinds of its elements.
    pub(crate) fn read(self, head: &ResponseHead, body: &Bytes) -> Read {
        places_of(self.route.visitor_rules(), &self.fetch_context.uri, head, body, self.worker.now())
    }

    /// Takes an answer for a page of its pattern, or for an error.
    pub(crate) fn take(self, pattern: &Pattern, shape: &Shape<'_>, replaced: Option<&Replaced>) -> Taken {
        self.worker.guard.take(pattern, &self.fetch_context.uri, shape, replaced, self.worker.now().mono_ms)
    }

    /// Reviews a page of a verified pattern.
    pub(crate) fn review(self, pattern: &Pattern, read: &Read) -> Reviewed {
        let (worker, uri) = (self.worker, &self.fetch_context.uri);
        match worker.guard.review(pattern, read, uri, worker.now().mono_ms) {
            PageReview::Fine => Reviewed::Share,
            PageReview::Token => Reviewed::Refuse(Reason::LeakGuardToken),
            PageReview::Unconfirmed => Reviewed::Refuse(Reason::LeakGuardUnconfirmed),
            PageReview::Unknown(keys) => match worker.guard.begin_page(pattern, uri) {
                Some(ticket) => Reviewed::Look(ticket, keys),
                None => Reviewed::Refuse(Reason::LeakGuardPending),
            },
            PageReview::Uncompared => {
                let second = worker.guard.begin_second(pattern, uri, worker.now().mono_ms);
                match second.or_else(|| worker.guard.begin_page(pattern, uri).map(GuardStep::Check)) {
                    Some(GuardStep::Check(ticket)) => Reviewed::Compare(ticket),
                    Some(GuardStep::Known(_)) | None => Reviewed::Refuse(Reason::LeakGuardPending),
                }
            }
        }
    }

    /// Compares the first page of a pattern. Returns why the page may not be shared, if it may not.
    pub(crate) async fn compare(
        self,
        ticket: ComparisonTicket,
        request: &RequestHead,
        page: FetchedPage,
    ) -> Option<Reason> {
        self.worker.cells.count(Counter::GuardChecks);
        let found = self.checked(&ticket, request, page).await;
        let (worker, now_ms) = (self.worker, self.worker.now().mono_ms);
        let Some((found, finding)) = found else {
            ticket.failed(now_ms);
            return Some(Reason::LeakGuardPending);
        };
        let only_warns = self.route.guard.only_warns;
        match finding {
            Finding::OfVisitors if !only_warns => return Some(self.block(ticket, found)),
            Finding::Open(suspects) => {
                ticket.suspects(suspects, now_ms);
                return Some(Reason::LeakGuardPending);
            }
            Finding::OfVisitors | Finding::Nothing => {}
        }
        if found.account_is_logged_out {
            tracing::warn!(pattern = ticket.pattern().shown, "the account of guard-cookie is not logged in any more");
        }
        let pattern = ticket.pattern().clone();
        worker.guard.has_compared(&pattern, &self.fetch_context.uri, &found.kinds);
        if finding == Finding::OfVisitors {
            tell(worker, &pattern.shown, &found.report, only_warns);
            drop(ticket.blocked(found.report, only_warns, now_ms));
        } else {
            ticket.verified(found.account_is_logged_out, now_ms);
        }
        refusal(worker.guard.learn(&pattern, &found.places, &self.fetch_context.uri, now_ms))
    }

    /// Compares a page, and again while it is open what was found, unless the page waits for that: a pattern without a verdict goes on with
    /// its next page. Returns what was found, and what it says.
    async fn checked(
        self,
        ticket: &ComparisonTicket,
        request: &RequestHead,
        page: FetchedPage,
    ) -> Option<(ComparisonResult, Finding)> {
        let fetcher = self.fetcher();
        let mut found = check(self.subject(&fetcher, ticket, request), page, true).await?;
        let mut finding = ticket.finding(&found);
        let waits = !ticket.is_of_page() && !self.route.guard.only_warns;
        while !waits && let Finding::Open(suspects) = finding {
            let again = fetcher.again();
            let page = again.fetch(&plain(request), None).await?;
            let before = found;
            found = check(self.subject(&again, ticket, request), page, true).await?;
            // What has changed once is a token, whether it changes again or not.
            found.places.extend(before.places.into_iter().filter(|place| place.difference.is_some()));
            finding = found.finding(&suspects);
        }
        Some((found, finding))
    }

    /// Looks once more at places of a page. Returns why the page may not be shared, if it may not.
    pub(crate) async fn look(
        self,
        ticket: ComparisonTicket,
        request: &RequestHead,
        page: FetchedPage,
        keys: &[u64],
    ) -> Option<Reason> {
        self.worker.cells.count(Counter::GuardChecks);
        let fetcher = self.fetcher();
        let found = check_places(self.subject(&fetcher, &ticket, request), page, keys).await;
        let now_ms = self.worker.now().mono_ms;
        let reason = match found {
            Some(found) => refusal(self.worker.guard.learn(ticket.pattern(), &found, &self.fetch_context.uri, now_ms)),
            None => Some(Reason::LeakGuardPending),
        };
        ticket.failed(now_ms);
        reason
    }

    fn fetcher(&self) -> ByWorker<'_> {
        ByWorker::new(self.worker, self.route, self.fetch_context)
    }

    fn subject<'s>(
        &'s self,
        fetcher: &'s ByWorker<'s>,
        ticket: &ComparisonTicket,
        request: &'s RequestHead,
    ) -> Comparison<'s, ByWorker<'s>> {
        let (route, uri) = (self.route.visitor_rules(), &*self.fetch_context.uri);
        Comparison { fetcher, route, uri, request, pattern: ticket.visitor_seed(), countries: self.countries }
    }

    fn block(&self, ticket: ComparisonTicket, found: ComparisonResult) -> Reason {
        let (worker, now) = (self.worker, self.worker.now());
        tell(worker, &ticket.pattern().shown, &found.report, false);
        let tag = ticket.blocked(found.report, false, now.mono_ms);
        drop_all(worker, &self.route.policy.tags.site, &tag, now);
        Reason::LeakGuard
    }
}

/// Why a page may not be shared, if it may not.
fn refusal(review: PageReview) -> Option<Reason> {
    match review {
        PageReview::Fine => None,
        PageReview::Token => Some(Reason::LeakGuardToken),
        PageReview::Unconfirmed => Some(Reason::LeakGuardUnconfirmed),
        PageReview::Unknown(_) | PageReview::Uncompared => Some(Reason::LeakGuardPending),
    }
}
