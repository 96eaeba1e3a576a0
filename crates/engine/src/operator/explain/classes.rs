//! Finds the line that lets visitors share the pages of a blocked pattern after all: one page for each language, for each class of
//! devices, or for both.
//!
//! The leak guard knows that the pages differ, and not by what. So each line is tried on the running site, the most frequent cause first,
//! until the page is the same for two visitors of one class.

use crate::operator::explain::Tips;
use crate::operator::trial::{TrialOutcome, further, try_out};
use crate::runtime::handle::EngineHandle;
use kasoku_semantics::grant::{Grant, Ignored};
use kasoku_semantics::suggestion::{SuggestedChange, Suggestion, listed};
use kasoku_visitors::leak_guard::{DifferenceReport, GuardState, Guarded, LANGUAGES, page_language};
use std::time::Instant;

const BY_LANGUAGE: &str = "a trial showed that visitors who like one language get one page: it is shared among them; the list is that of most sites: leave out the languages that this site does not have, and add those that it has besides, spelled as it spells them (visitors who like none of the list get the first)";
const BY_DEVICE: &str = "a trial showed that visitors with one class of devices get one page: there is one for small devices, and one for all others";

/// Why no line is proposed where each was tried.
const NEITHER: &str = "the page depends on who asks, and trials showed that it does not do so by language or device alone: take out of the page what differs";

/// The line that makes the page at `url` a shared one; `otherwise`: no line does.
pub(super) fn tried(
    handle: &EngineHandle,
    url: &str,
    grant: &Grant,
    guarded: Option<&Guarded>,
    otherwise: Tips,
    deadline: Instant,
) -> Tips {
    let Some(GuardState::Blocked { report, .. }) = guarded.map(|guarded| &guarded.state) else { return otherwise };
    if report.is_of_account {
        return otherwise;
    }
    let mut tips = Tips::Nothing(NEITHER);
    for lines in candidates(grant, report) {
        match try_out(handle, url, lines, deadline) {
            TrialOutcome::Same(lines) => {
                return complete(handle, url, lines, deadline).map_or(otherwise, Tips::Changes);
            }
            TrialOutcome::Differs(..) => {}
            TrialOutcome::Refused(..) | TrialOutcome::Nothing(_) | TrialOutcome::Unknown => tips = otherwise.clone(),
        }
    }
    tips
}

/// The lines with those that the page needs besides to be kept; `None`: it can't be kept.
fn complete(handle: &EngineHandle, url: &str, lines: Vec<Suggestion>, deadline: Instant) -> Option<Vec<Suggestion>> {
    let further = further(handle, url, &lines, deadline)?;
    // What drops a cookie has to be tried; what else is ignored changes neither the request nor the page.
    let changes_nothing = further.iter().all(|one| {
        matches!(&one.change, SuggestedChange::Set("ignore", words) if !words.contains(Ignored::SetCookie.word()))
    });
    let all = [lines, further].concat();
    match changes_nothing {
        true => Some(all),
        false => match try_out(handle, url, all, deadline) {
            TrialOutcome::Same(all) => Some(all),
            _ => None,
        },
    }
}

/// The lines that are worth a trial: those whose field is not in the key yet.
fn candidates(grant: &Grant, report: &DifferenceReport) -> Vec<Vec<Suggestion>> {
    let is_keyed = |field: &str| grant.reaches_origin(field.as_bytes());
    let languages = || Suggestion::of(SuggestedChange::Set("key-languages", listed(&languages(report))), BY_LANGUAGE);
    let device = || Suggestion::of(SuggestedChange::Set("key-device", "true".to_owned()), BY_DEVICE);
    match (is_keyed("accept-language"), is_keyed("user-agent")) {
        (false, false) => vec![vec![languages()], vec![device()], vec![languages(), device()]],
        (false, true) => vec![vec![languages()]],
        (true, false) => vec![vec![device()]],
        (true, true) => Vec::new(),
    }
}

/// The languages of the line: that of the anonymous page, then those in which most sites are written.
fn languages(report: &DifferenceReport) -> Vec<String> {
    let own = report.differences.iter().find_map(|one| page_language(one.anonymous.as_bytes()));
    let own = own.unwrap_or_else(|| "en".to_owned());
    let others = LANGUAGES.into_iter().filter(|one| *one != own).flat_map(spelled).map(str::to_owned).collect();
    [vec![own], others].concat()
}

/// The tags that browsers send for a language which is written in several ways: a site that knows `zh-CN` may not know `zh`.
fn spelled(language: &'static str) -> Vec<&'static str> {
    match language {
        "zh" => vec!["zh-CN", "zh-TW"],
        "pt" => vec!["pt-BR", "pt"],
        other => vec![other],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kasoku_semantics::difference::{Difference, DifferencePlace, PagePart};

    #[test]
    fn the_language_of_the_page_is_the_first() {
        let report = |anonymous: &str| DifferenceReport {
            is_of_account: false,
            differences: vec![Difference {
                place: DifferencePlace::Body(PagePart::Page),
                anonymous: anonymous.to_owned(),
                visitors: "<html lang=\"de\">".to_owned(),
            }],
        };
        assert_eq!(languages(&report("<html lang='ja-JP'>"))[..3], ["ja", "en", "de"]);
        assert_eq!(languages(&report("<html lang=nl>"))[..2], ["nl", "en"]);
        for line in ["<p>Welcome</p>", "<html lang=\"\">", "<html lang=", "<html lang=\"日本\">"] {
            assert_eq!(languages(&report(line))[..7], ["en", "de", "ja", "ko", "fr", "es", "zh-CN"], "{line}");
        }
    }
}
