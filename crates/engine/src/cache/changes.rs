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
//! | 2xx with what its line asks for as a proof (`from`, `with`) | the same |
//! | 2xx, 5xx, or none | the change may have been made: its tags become stale, and once more when the answer has gone out |
//! | 4xx, a redirection to `no-change-redirects`, one that only respells the URL (301 to a slash behind it) | nothing was changed |
//!
//! A line that asks for a proof says nothing of messages without it, so that no stranger's request drops pages.
//!
//! Where a change may have been made, pages become stale and are not dropped, ever less often: otherwise failing posts would empty the cache.
//! They become stale again behind the answer, since the answer may have begun before the work was done.
//!
//! Some applications show old results for a while after a write (`changes-again`): then the tags are dropped once more when that is over.
//!
//! A line of `changes` may be limited to some answers: an administration that answers with a page has mostly refused the request.
//!
//! Where a parameter can't be told (the form is too long or of another type, a value is not plain), all that has tags in the site
//! counts as possibly changed.

use crate::exchange::Exchange;
use crate::exchange::form_body::FormBuffer;
use crate::exchange::possible_change::{PossibleChange, mark_later};
use crate::request::changing::about;
use crate::request::route::{RedirectTarget, Routed};
use crate::runtime::worker::Worker;
use crate::visitors::session;
use http::StatusCode;
use kasoku_cache::Purge;
use kasoku_metrics::Counter;
use kasoku_options::{ChangeAnswer, ChangeRule};
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
        let is_wanted = self.lines(routed).flat_map(|change| &change.tags).any(TagTemplate::has_placeholders);
        is_wanted.then(|| self.form.get_or_insert_with(|| FormBuffer::new(worker)).clone())
    }

    /// Whether a line may need the beginning of the answer's body.
    pub(crate) fn may_need_beginning(&self, routed: &Routed) -> bool {
        self.lines(routed).any(|change| change.proof.saying.is_some())
    }

    /// Whether the beginning of this answer's body decides about a line. Nobody waits for that of any other answer.
    pub(crate) fn waits_for_beginning(
        &self,
        exchange: &Exchange,
        routed: &Routed,
        status: StatusCode,
        answer: &Fields,
    ) -> bool {
        let request = &exchange.request.head.fields;
        status.is_success()
            && self.lines(routed).any(|change| {
                change.proof.saying.is_some()
                    && change.takes(status)
                    && change.proof.is_given_by_heads(request, Some(answer))
            })
    }

    /// The lines that match the request.
    fn lines<'r>(&self, routed: &'r Routed) -> impl Iterator<Item = &'r ChangeRule> {
        self.changes.iter().filter_map(|number| routed.route.changes.list.get(*number))
    }

    /// The beginning of the request's form as a query, if it has that format.
    pub(crate) fn form_as_query(&self, exchange: &Exchange) -> Option<String> {
        let content_type = exchange.request.head.fields.first("content-type").unwrap_or_default();
        self.form.as_ref().and_then(|form| form.as_query(content_type))
    }

    /// What came of the request; `None`: nothing was changed. `answer`: `None` where there was none.
    fn outcome(&self, exchange: &Exchange, routed: &Routed, answer: Option<ChangeAnswer<'_>>) -> Option<ChangeOutcome> {
        let route = &*routed.route;
        let status = answer.map_or(StatusCode::BAD_GATEWAY, |answer| answer.status);
        let redirects = status.is_redirection() && status != StatusCode::NOT_MODIFIED;
        if !redirects && !status.is_success() && !status.is_server_error() {
            return None;
        }
        if answer.is_some_and(|answer| only_respells(routed.key.uri(), status, answer.fields)) {
            return None;
        }
        let to = answer
            .filter(|_| redirects)
            .and_then(|answer| RedirectTarget::of(&exchange.settings.sites, routed, answer.fields));
        if to.as_ref().is_some_and(|to| to.is_any(&route.changes.no_change_redirects)) {
            return None;
        }
        let request = &exchange.request.head.fields;
        let is_so = |change: &&ChangeRule| change.takes(status) && change.proof.is_given(request, answer);
        let fitting = self.lines(routed).filter(is_so);
        let parameters = self.parameters(exchange, routed, to.as_ref());
        // The application may have read another value than the one that the proof is about.
        let is_clear = |change: &ChangeRule| !change.tags.iter().any(|template| template.reads_several(&parameters));
        let is_proven = |change: &ChangeRule| status.is_success() && !change.proof.is_none() && is_clear(change);
        let (made, possible): (Vec<&ChangeRule>, Vec<&ChangeRule>) =
            fitting.partition(|change| redirects || is_proven(change));
        if made.is_empty() && possible.is_empty() {
            return None;
        }
        let tagged = |changes: &[&ChangeRule]| Tagged::of(changes.iter().flat_map(|change| &change.tags), &parameters);
        let is_all = |changes: &[&ChangeRule]| changes.iter().any(|change| change.is_all);
        let (of_made, of_possible) = (tagged(&made), tagged(&possible));
        // What can't be told may be all.
        let is_all_told = is_all(&made) || of_made.is_all_known;
        let is_all_known = of_possible.is_all_known && !is_all(&possible) && is_all_told;
        let mut possible = Tagged { is_all_known: is_all_known || is_all(&made), tags: of_possible.tags };
        possible.tags.retain(|tag| !is_all(&made) && !of_made.tags.contains(tag));
        let made = (!made.is_empty()).then_some(Tagged { is_all_known: !is_all(&made), tags: of_made.tags });
        Some(ChangeOutcome { made, possible })
    }

    /// The parameters of the URL, of the form, and of the URL to which the answer redirects.
    fn parameters(&self, exchange: &Exchange, routed: &Routed, to: Option<&RedirectTarget>) -> Parameters {
        let mut parameters = Parameters::default();
        let targets = [Some(routed.read_target()), to.map(RedirectTarget::read_target)];
        for target in targets.into_iter().flatten() {
            parameters.read(path_and_query(target).1.unwrap_or_default());
        }
        if let Some(form) = &self.form {
            let content_type = exchange.request.head.fields.first("content-type").unwrap_or_default();
            form.read(content_type, &mut parameters);
        }
        parameters
    }

    /// Drops what a request has changed, before its answer goes out or where it got none.
    pub(crate) fn has_answer(&self, exchange: &Exchange, routed: &Routed, answer: Option<ChangeAnswer<'_>>) {
        let Some(ChangeOutcome { made, possible }) = self.outcome(exchange, routed, answer) else { return };
        let (worker, site) = (&exchange.worker, &routed.route.policy.tags.site);
        worker.cells.count(if made.is_some() { Counter::Changes } else { Counter::PossibleChanges });
        let again = routed.route.changes.again;
        let each = made.iter().map(|made| (made, Purge::Change)).chain([(&possible, Purge::Soft)]);
        for (tagged, purge) in each.filter(|(tagged, _)| !again.is_zero() && is_any(tagged)) {
            let later = worker.cache.purge_again(site, tagged, purge, again, worker.now());
            later.into_iter().for_each(|later| mark_later(worker, later));
        }
        if let Some(made) = &made {
            exchange.invalidated(worker.cache.drop_changed_tags(site, made, worker.now()));
        }
        if is_any(&possible) {
            let possible_change = Box::new(PossibleChange { site: site.clone(), tagged: possible });
            let marked = possible_change.expire_tags(worker);
            exchange.invalidated(marked.invalidated);
            session::note_possible_change(exchange, routed, answer.map(|answer| answer.fields), marked.all_at_ms);
            if made.is_none() {
                exchange.extras().possible_change = Some(possible_change);
            }
        }
    }
}

/// What a request has changed, or may have changed.
struct ChangeOutcome {
    made: Option<Tagged>,
    possible: Tagged,
}

fn is_any(tagged: &Tagged) -> bool {
    !tagged.tags.is_empty() || !tagged.is_all_known
}

/// After an answer has gone out or was cut: makes stale once more what its request may have changed.
pub(crate) fn has_gone_out(exchange: &Exchange) {
    let possible_change = exchange.existing_extras().and_then(|mut extras| extras.possible_change.take());
    if let Some(possible_change) = possible_change {
        // The client has its answer, and waits for nothing.
        let _ = possible_change.expire_tags(&exchange.worker);
    }
}
