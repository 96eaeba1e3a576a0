//! Drops the stored pages that a request has changed, by their tags, before the request's answer goes out.
//!
//! RFC 9111 section 4.4 invalidates the URL of an unsafe request, and those that its answer names. An application changes more: a
//! new post stands on the list and on the front page as well, and some applications change things by GET. So the configuration says
//! which requests change what (`changes`), in tags (`semantics::tags`) that are made of the parameters of URLs, forms and
//! redirections.
//!
//! The answer tells **what has happened**:
//!
//! | answer | what follows |
//! |---|---|
//! | a redirection | the change was made, since applications answer a form so: its tags are dropped |
//! | 2xx, 5xx, or none | the change may have been made: its tags are dropped, and once more when the answer has gone out |
//! | 4xx, a redirection to `no-change-redirects`, one that only respells the URL (301 to a slash behind it) | nothing was changed |
//!
//! Where a change may have been made, each tag is dropped at most once a second; otherwise failing posts would empty the cache. The
//! tags are dropped again behind the answer, since the answer may have begun before the work was done.
//!
//! Some applications show old results for a while after a write (`changes-again`): then the tags are dropped once more when that is over.
//!
//! A line of `changes` may be limited to some answers: an administration that answers with a page has mostly refused the request.
//!
//! Where a parameter can't be told (the form is too long or of another type, a value is not plain), all that has tags in the site
//! counts as possibly changed.

use crate::exchange::Exchange;
use crate::exchange::form_body::FormBuffer;
use crate::exchange::possible_change::{PossibleChange, drop_later};
use crate::request::changing::about;
use crate::request::route::{RedirectTarget, Routed};
use crate::runtime::worker::Worker;
use crate::visitors::session;
use http::StatusCode;
use kasoku_metrics::Counter;
use kasoku_options::ChangeRule;
use kasoku_semantics::invalidation::only_respells;
use kasoku_semantics::query::path_and_query;
use kasoku_semantics::tags::{Parameters, TagTemplate, Tagged};
use kasoku_wire::Fields;

/// What a request may change.
pub(crate) struct Changing {
    /// The numbers of the route's `changes` that match the request.
    changes: Vec<usize>,
    form: Option<FormBuffer>,
}

impl Changing {
    /// What a request that passes may change; `None`: nothing.
    pub(crate) fn of(exchange: &Exchange, routed: &Routed) -> Option<Self> {
        let about = about(&exchange.request.head.method, routed);
        let changes: Vec<usize> = about.filter(|(_, change)| !change.is_none()).map(|(number, _)| number).collect();
        (!changes.is_empty()).then_some(Self { changes, form: None })
    }

    /// The buffer for the beginning of the request's form; `None`: no tag needs a parameter.
    pub(crate) fn form(&mut self, worker: &Worker, routed: &Routed) -> Option<FormBuffer> {
        let changes = self.changes.iter().filter_map(|number| routed.route.changes.list.get(*number));
        let is_wanted = changes.flat_map(|change| &change.tags).any(TagTemplate::has_placeholders);
        is_wanted.then(|| self.form.get_or_insert_with(|| FormBuffer::new(worker)).clone())
    }

    /// The beginning of the request's form as a query, if it has that format.
    pub(crate) fn form_as_query(&self, exchange: &Exchange) -> Option<String> {
        let content_type = exchange.request.head.fields.first("content-type").unwrap_or_default();
        self.form.as_ref().and_then(|form| form.as_query(content_type))
    }

    /// What came of the request; `None`: nothing was changed. `answer`: `None` where there was none.
    fn outcome(
        &self,
        exchange: &Exchange,
        routed: &Routed,
        answer: Option<(StatusCode, &Fields)>,
    ) -> Option<ChangeOutcome> {
        let route = &*routed.route;
        let status = answer.map_or(StatusCode::BAD_GATEWAY, |(status, _)| status);
        let is_made = status.is_redirection() && status != StatusCode::NOT_MODIFIED;
        if !is_made && !status.is_success() && !status.is_server_error() {
            return None;
        }
        if answer.is_some_and(|(status, fields)| only_respells(routed.key.uri(), status, fields)) {
            return None;
        }
        let to = answer
            .filter(|_| is_made)
            .and_then(|(_, fields)| RedirectTarget::of(&exchange.settings.sites, routed, fields));
        if to.as_ref().is_some_and(|to| to.is_any(&route.changes.no_change_redirects)) {
            return None;
        }
        let mut parameters = Parameters::default();
        let targets = [Some(routed.read_target()), to.as_ref().map(RedirectTarget::read_target)];
        for target in targets.into_iter().flatten() {
            parameters.read(path_and_query(target).1.unwrap_or_default());
        }
        if let Some(form) = &self.form {
            let content_type = exchange.request.head.fields.first("content-type").unwrap_or_default();
            form.read(content_type, &mut parameters);
        }
        let is_so = |change: &&ChangeRule| change.answer.is_none_or(|answer| answer.is(status));
        let changes = || self.changes.iter().filter_map(|number| route.changes.list.get(*number)).filter(is_so);
        changes().next()?;
        let tagged = Tagged::of(changes().flat_map(|change| &change.tags), &parameters);
        let is_all = changes().any(|change| change.is_all);
        Some(ChangeOutcome { tagged, is_made, is_all })
    }

    /// Drops what a request has changed, before its answer goes out or where it got none.
    pub(crate) fn has_answer(&self, exchange: &Exchange, routed: &Routed, answer: Option<(StatusCode, &Fields)>) {
        let Some(outcome) = self.outcome(exchange, routed, answer) else { return };
        let ChangeOutcome { tagged, is_made, is_all } = outcome;
        let (worker, site) = (&exchange.worker, &routed.route.policy.tags.site);
        let again = routed.route.changes.again;
        if !again.is_zero() && (is_all || !tagged.is_all_known || !tagged.tags.is_empty()) {
            let changed = Tagged { tags: tagged.tags.clone(), is_all_known: tagged.is_all_known && !is_all };
            drop_later(worker, worker.cache.drop_again(site, &changed, again, worker.now()));
        }
        let doubtful = match is_made {
            true => {
                worker.cells.count(Counter::Changes);
                let is_all_known = tagged.is_all_known;
                let made = Tagged { is_all_known: !is_all, ..tagged };
                exchange.invalidated(worker.cache.drop_changed_tags(site, &made, worker.now()));
                let rest = Tagged { tags: Vec::new(), is_all_known: false };
                (!is_all && !is_all_known).then_some(rest)
            }
            false => {
                worker.cells.count(Counter::PossibleChanges);
                Some(Tagged { is_all_known: tagged.is_all_known && !is_all, ..tagged })
            }
        };
        if let Some(tagged) = doubtful {
            let possible_change = Box::new(PossibleChange { site: site.clone(), tagged });
            let (invalidated, is_deferred) = possible_change.drop_tags(worker);
            exchange.invalidated(invalidated);
            if is_deferred {
                session::note_deferred_change(exchange, routed, answer.map(|(_, fields)| fields));
            }
            if !is_made {
                exchange.extras().possible_change = Some(possible_change);
            }
        }
    }
}

/// What a request has changed, or may have changed.
struct ChangeOutcome {
    tagged: Tagged,
    is_made: bool,
    is_all: bool,
}

/// After an answer has gone out or was cut: drops once more what its request may have changed.
pub(crate) fn has_gone_out(exchange: &Exchange) {
    let possible_change = exchange.existing_extras().and_then(|mut extras| extras.possible_change.take());
    if let Some(possible_change) = possible_change {
        // The client has its answer, and waits for nothing.
        let _ = possible_change.drop_tags(&exchange.worker);
    }
}
