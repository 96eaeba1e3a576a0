//! The second page of a URL pattern. The first one may be "no such article", which all visitors get alike, made of the same elements as the
//! articles. So another page is compared itself, too, before pages are shared that no look has seen.

use crate::leak_guard::Pending;
use std::sync::Arc;

/// How long a comparison without a result is postponed at first, and at most, in milliseconds.
const POSTPONED_FIRST_MS: u64 = 10_000;
const POSTPONED_MAX_MS: u64 = 10 * 60_000;

/// See the [module](self).
#[derive(Default)]
pub(crate) struct SecondPage {
    /// The page that was compared first.
    first: Option<u64>,
    is_compared: bool,
    /// The page that is being compared.
    present: Option<(u64, Arc<Pending>)>,
    /// No page is compared before.
    until_ms: u64,
    /// How long the last comparison was postponed, in milliseconds.
    period_ms: u64,
}

/// What happens to a page of a verified pattern.
#[derive(Debug)]
pub(crate) enum SecondStep {
    /// It need not be compared for this.
    Known,
    /// It is to be compared.
    Compare,
    /// It is compared, or another one is.
    Pending(Arc<Pending>),
    /// The comparison had no result a moment ago.
    Postponed,
}

impl SecondPage {
    pub(crate) fn step(&self, page: u64, now_ms: u64) -> SecondStep {
        match (&self.present, self.first) {
            _ if self.is_compared => SecondStep::Known,
            (_, None) => SecondStep::Known,
            (_, Some(first)) if first == page => SecondStep::Known,
            (Some((_, pending)), _) => SecondStep::Pending(pending.clone()),
            (None, _) if now_ms < self.until_ms => SecondStep::Postponed,
            (None, _) => SecondStep::Compare,
        }
    }

    /// What the requests for a page wait for that is being compared.
    pub(crate) fn pending(&self, page: u64) -> Option<Arc<Pending>> {
        self.present.as_ref().filter(|(present, _)| *present == page).map(|(_, pending)| pending.clone())
    }

    pub(crate) fn begins(&mut self, page: u64, pending: Arc<Pending>) {
        self.present = Some((page, pending));
    }

    /// A comparison has ended. `now_ms`: it had no result.
    pub(crate) fn ends(&mut self, page: u64, failed_ms: Option<u64>) {
        if self.present.as_ref().is_none_or(|(present, _)| *present != page) {
            return;
        }
        self.present = None;
        if let Some(now_ms) = failed_ms {
            self.period_ms = self.period_ms.saturating_mul(2).clamp(POSTPONED_FIRST_MS, POSTPONED_MAX_MS);
            self.until_ms = now_ms.saturating_add(self.period_ms);
        }
    }

    /// A page has been compared, or has a lifetime of its own.
    pub(crate) fn is_compared(&mut self, page: u64) {
        match self.first {
            None => self.first = Some(page),
            Some(first) => self.is_compared |= first != page,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_page_besides_the_first_is_compared() {
        let mut second = SecondPage::default();
        assert!(matches!(second.step(1, 0), SecondStep::Known), "the pattern itself is not known yet");
        second.is_compared(1);
        second.is_compared(1);
        assert!(matches!((second.step(1, 0), second.step(2, 0)), (SecondStep::Known, SecondStep::Compare)));
        second.begins(2, Arc::default());
        assert!(matches!((second.step(1, 0), second.step(3, 0)), (SecondStep::Known, SecondStep::Pending(_))));
        assert!(second.pending(2).is_some() && second.pending(3).is_none());
        second.is_compared(2);
        second.ends(2, None);
        assert!(matches!((second.step(2, 0), second.step(3, 0)), (SecondStep::Known, SecondStep::Known)));
    }

    #[test]
    fn a_comparison_without_a_result_is_repeated_later_and_later() {
        let mut second = SecondPage::default();
        second.is_compared(1);
        let (mut now_ms, mut periods) = (0, Vec::new());
        for _ in 0..8 {
            assert!(matches!(second.step(2, now_ms), SecondStep::Compare));
            second.begins(2, Arc::default());
            second.ends(2, Some(now_ms));
            assert!(matches!(second.step(3, now_ms), SecondStep::Postponed));
            periods.push(second.period_ms / 1000);
            now_ms += second.period_ms;
        }
        assert_eq!(periods, [10, 20, 40, 80, 160, 320, 600, 600]);
    }
}
