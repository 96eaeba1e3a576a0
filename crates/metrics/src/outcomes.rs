//! Counts requests by site, result and class of status, and the reasons why they were no hits.
//!
//! All label sets are known beforehand: sites are those of the configuration; results, classes and reasons are enums. So cells are
//! found by number, not by name. A worker takes the cells of its sites when it takes its settings, and counts as
//! [`Cells`](crate::Cells) do: each cell has one writer, counting is a plain load and store, and readers sum over the workers. A
//! site that is still there after a reload keeps its counts.

use kasoku_semantics::Reason;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The result of a request, as the counters distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Answered from the cache.
    Hit,
    /// The origin was asked, or the request waited for another request's fill.
    Miss,
    /// The request went to the origin past the cache, or Kasoku itself was asked (PURGE, OPTIONS).
    Pass,
    /// Answered by an error of Kasoku's own.
    Error,
}

impl Outcome {
    /// All of them, in the order of the cells.
    pub const ALL: [Self; 4] = [Self::Hit, Self::Miss, Self::Pass, Self::Error];

    /// The value of the label `result`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Pass => "pass",
            Self::Error => "error",
        }
    }
}

/// The class of a status, by its first digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusClass {
    /// 1xx: the connection has switched protocols.
    Informational,
    /// 2xx.
    Successful,
    /// 3xx.
    Redirection,
    /// 4xx.
    ClientError,
    /// 5xx, and higher ones: RFC 9110 section 15 has clients treat those as 5xx.
    ServerError,
    /// No status: the client left before there was an answer.
    None,
}

impl StatusClass {
    /// All of them, in the order of the cells.
    pub const ALL: [Self; 6] =
        [Self::Informational, Self::Successful, Self::Redirection, Self::ClientError, Self::ServerError, Self::None];

    /// The class of a status that was sent; 0: none was sent.
    pub fn of(status: u16) -> Self {
        match status / 100 {
            0 => Self::None,
            1 => Self::Informational,
            2 => Self::Successful,
            3 => Self::Redirection,
            4 => Self::ClientError,
            _ => Self::ServerError,
        }
    }

    /// The value of the label `class`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Informational => "1xx",
            Self::Successful => "2xx",
            Self::Redirection => "3xx",
            Self::ClientError => "4xx",
            Self::ServerError => "5xx",
            Self::None => "none",
        }
    }
}

const CLASSES: usize = StatusClass::ALL.len();

/// One worker's cells of one site. They are aligned to cache lines, so that two workers never share one.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct SiteCells([AtomicU64; Outcome::ALL.len() * CLASSES]);

impl SiteCells {
    /// Counts a request. To be called by the owning worker only.
    pub fn count(&self, outcome: Outcome, class: StatusClass) {
        if let Some(cell) = self.0.get(outcome as usize * CLASSES + class as usize) {
            cell.store(cell.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
    }

    fn add_to(&self, sum: &mut Responses) {
        for (sum, cell) in sum.0.iter_mut().flatten().zip(&self.0) {
            *sum += cell.load(Ordering::Relaxed);
        }
    }
}

/// Requests by result and class, over all workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Responses([[u64; CLASSES]; Outcome::ALL.len()]);

impl Responses {
    /// The number of requests with this result and class.
    pub fn of(&self, outcome: Outcome, class: StatusClass) -> u64 {
        self.0.get(outcome as usize).and_then(|classes| classes.get(class as usize)).copied().unwrap_or(0)
    }

    /// The number of requests of this class, over all results.
    pub fn of_class(&self, class: StatusClass) -> u64 {
        Outcome::ALL.iter().map(|outcome| self.of(*outcome, class)).sum()
    }

    /// Each number with its labels.
    pub fn each(&self) -> impl Iterator<Item = (Outcome, StatusClass, u64)> {
        let labels = Outcome::ALL.into_iter().flat_map(|outcome| StatusClass::ALL.map(|class| (outcome, class)));
        labels.map(|(outcome, class)| (outcome, class, self.of(outcome, class)))
    }

    /// Adds the numbers of another site.
    pub fn add(&mut self, other: &Self) {
        for (sum, more) in self.0.iter_mut().flatten().zip(other.0.iter().flatten()) {
            *sum += more;
        }
    }
}

/// All workers' cells of one site.
type SiteRow = Arc<[Arc<SiteCells>]>;

/// All workers' cells of all sites, by name. Only a start, a reload and readers take the lock.
#[derive(Debug)]
pub(crate) struct Sites {
    workers: usize,
    /// The cells of requests that belong to no site.
    none: SiteRow,
    named: Mutex<BTreeMap<Arc<str>, SiteRow>>,
}

impl Sites {
    pub(crate) fn new(workers: usize) -> Self {
        Self { workers, none: row(workers), named: Mutex::default() }
    }

    pub(crate) fn of_none(&self, worker: usize) -> Arc<SiteCells> {
        self.none.get(worker).cloned().unwrap_or_default()
    }

    pub(crate) fn of(&self, name: &str, worker: usize) -> Arc<SiteCells> {
        let mut named = self.named();
        let row = named.entry(name.into()).or_insert_with(|| row(self.workers));
        row.get(worker).cloned().unwrap_or_default()
    }

    pub(crate) fn keep_only(&self, names: &[&str]) {
        self.named().retain(|name, _| names.contains(&name.as_ref()));
    }

    pub(crate) fn read(&self) -> Vec<(Arc<str>, Responses)> {
        let all = self.named().iter().map(|(name, row)| (name.clone(), row.clone())).collect::<Vec<_>>();
        let none = (Arc::from(NO_SITE), self.none.clone());
        all.into_iter().chain([none]).map(|(name, row)| (name, sum(&row))).collect()
    }

    // No code panics while it holds the lock.
    fn named(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, SiteRow>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name that stands for a missing site: the input was no valid request, or no site serves its host.
pub const NO_SITE: &str = "(none)";

fn row(workers: usize) -> SiteRow {
    (0..workers).map(|_| Arc::default()).collect()
}

fn sum(row: &[Arc<SiteCells>]) -> Responses {
    let mut sum = Responses::default();
    row.iter().for_each(|cells| cells.add_to(&mut sum));
    sum
}

/// One worker's cells of reasons.
#[derive(Debug)]
pub(crate) struct Reasons(Box<[AtomicU64]>);

impl Reasons {
    pub(crate) fn new() -> Self {
        Self((0..Outcome::ALL.len() * places()).map(|_| AtomicU64::new(0)).collect())
    }

    pub(crate) fn count(&self, outcome: Outcome, reason: Option<Reason>) {
        let place = reason.map_or(0, |reason| reason as usize + 1);
        if let Some(cell) = self.0.get(outcome as usize * places() + place) {
            cell.store(cell.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
    }

    pub(crate) fn read(&self, outcome: Outcome, reason: Option<Reason>) -> u64 {
        let place = reason.map_or(0, |reason| reason as usize + 1);
        self.0.get(outcome as usize * places() + place).map_or(0, |cell| cell.load(Ordering::Relaxed))
    }
}

/// The number of cells for each result: one for each reason, and one for no reason.
fn places() -> usize {
    Reason::all().len() + 1
}

/// The number of requests that were no hits, for one result and reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotHits {
    /// The result of these requests.
    pub outcome: Outcome,
    /// The reason; `None`: Kasoku itself was asked, by PURGE or by OPTIONS that may go no further.
    pub reason: Option<Reason>,
    /// The number of requests.
    pub count: u64,
}

impl NotHits {
    /// The value of the label `reason`.
    pub fn reason_name(&self) -> &'static str {
        self.reason.map_or("none", Reason::id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_the_sum_of_its_workers_and_outlives_a_reload_that_names_it() {
        let sites = Sites::new(2);
        sites.of("a", 0).count(Outcome::Hit, StatusClass::Successful);
        sites.of("a", 1).count(Outcome::Hit, StatusClass::Successful);
        sites.of("a", 1).count(Outcome::Pass, StatusClass::of(503));
        sites.of("b", 0).count(Outcome::Miss, StatusClass::of(404));
        sites.of_none(1).count(Outcome::Error, StatusClass::of(400));
        let counted = |sites: &Sites| {
            let told = |(name, numbers): (Arc<str>, Responses)| {
                let counted: Vec<_> = numbers.each().filter(|(.., count)| *count > 0).collect();
                (name.to_string(), counted)
            };
            sites.read().into_iter().map(told).collect::<Vec<_>>()
        };
        let a = vec![(Outcome::Hit, StatusClass::Successful, 2), (Outcome::Pass, StatusClass::ServerError, 1)];
        let none = (NO_SITE.to_owned(), vec![(Outcome::Error, StatusClass::ClientError, 1)]);
        let b = ("b".to_owned(), vec![(Outcome::Miss, StatusClass::ClientError, 1)]);
        assert_eq!(counted(&sites), [("a".to_owned(), a.clone()), b, none.clone()]);
        sites.keep_only(&["a", "c"]);
        sites.of("a", 0);
        assert_eq!(counted(&sites), [("a".to_owned(), a), none]);
    }

    #[test]
    fn each_result_and_class_has_a_cell_and_a_name_of_its_own() {
        let cells = SiteCells::default();
        for (outcome, class, _) in Responses::default().each() {
            cells.count(outcome, class);
        }
        assert_eq!(sum(&[Arc::new(cells)]).each().map(|(.., count)| count).collect::<Vec<_>>(), [1; 24]);
        let mut names: Vec<_> = StatusClass::ALL.map(StatusClass::name).to_vec();
        names.extend(Outcome::ALL.map(Outcome::name));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), StatusClass::ALL.len() + Outcome::ALL.len());
    }

    #[test]
    fn a_reason_is_counted_where_it_is_read() {
        let reasons = Reasons::new();
        let all = || {
            Outcome::ALL.into_iter().flat_map(|outcome| {
                let none = [(outcome, None)].into_iter();
                none.chain(Reason::all().iter().map(move |reason| (outcome, Some(*reason))))
            })
        };
        for (number, (outcome, reason)) in all().enumerate() {
            (0..number % 7).for_each(|_| reasons.count(outcome, reason));
        }
        for (number, (outcome, reason)) in all().enumerate() {
            assert_eq!(reasons.read(outcome, reason), number as u64 % 7, "{outcome:?} {reason:?}");
        }
    }
}
