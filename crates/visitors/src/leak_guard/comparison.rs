//! Looks at a page as two visitors and compares what they get.
//!
//! | look | as | with |
//! |---|---|---|
//! | A1 | anonymous: the fetch that fills the cache | |
//! | B1 | a made-up visitor, the opposite of A | |
//! | A2 | A again; from another address, if A1's is refused now | the cookies that A1 was given |
//! | B2 | B again, where three looks leave something open | the cookies that B1 was given |
//!
//! The second page of a pattern is compared itself, too, since the first one may have been "no such article". From then on, a verdict covers
//! pages that are made of the same kinds of elements. A page with other kinds is compared itself, a few times for a pattern.
//!
//! [`kasoku_semantics::difference`] says what the looks mean. Where the account of `guard-cookie` would not pass, its page is compared
//! with the anonymous one in the same way.
//!
//! All pages are in memory until the comparison has ended, and so is what is read of them. Both are charged to the memory budget. If it
//! has no room, the comparison has no result, as after a failed fetch.

use crate::RouteRules;
use crate::anonymous_cookies;
use crate::leak_guard::DifferenceReport;
use crate::leak_guard::synthetic_visitor::{CountryField, SyntheticVisitor, add_cookies, plain};
use crate::passing;
use crate::pattern::is_guarded;
use bytes::Bytes;
use http::StatusCode;
use kasoku_cache::HeldCharge;
use kasoku_options::FreshLink;
use kasoku_semantics::difference::{
    AnswerFacts, Difference, DifferencePlace, FoundPlace, KnownPieces, LooksVerdict, Outline, Place, compare,
    compare_places, line,
};
use kasoku_semantics::freshness::freshness;
use kasoku_semantics::is_named_file;
use kasoku_semantics::links;
use kasoku_semantics::query::path_and_query;
use kasoku_semantics::set_cookies::{cookies_after, dropped, sets_cookie};
use kasoku_semantics::time::Now;
use kasoku_wire::{Fields, RequestHead, ResponseHead};
use memchr::memmem;
use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// The longest time for one fetch.
pub const FETCH_MAX: Duration = Duration::from_secs(60);

/// The memory that reading a page takes at most, as a multiple of the page.
const OUTLINE_PER_PAGE: u64 = 4;

/// Fetches pages for comparison alone, not for a client.
#[allow(async_fn_in_trait, reason = "pages are fetched and compared in one task of one worker")]
pub trait Fetcher {
    /// Fetches as the visitor at `address`, or anonymously. `None`: the answer says nothing of the page, or none came.
    async fn fetch(&self, request: &RequestHead, address: Option<Ipv4Addr>) -> Option<FetchedPage>;
    /// A new account for what the comparison holds in memory besides its pages.
    fn hold(&self) -> HeldCharge;
    /// A number for the address of the next made-up visitor.
    fn next_visitor(&self) -> u64;
    /// The present time.
    fn now(&self) -> Now;
}

/// The page that is compared, and how it is fetched.
pub struct Comparison<'s, F> {
    /// Fetches its pages.
    pub fetcher: &'s F,
    /// What its route says of visitors.
    pub route: RouteRules<'s>,
    /// The page's URI.
    pub uri: &'s str,
    /// The anonymous request.
    pub request: &'s RequestHead,
    /// Makes the visitor of one pattern the same each time.
    pub pattern: u64,
    /// Fields in which a proxy names a client's country ([`countries`](crate::leak_guard::countries)).
    pub countries: &'s [CountryField],
}

/// An answer, read to its end.
pub struct FetchedPage {
    /// Its head.
    pub head: ResponseHead,
    /// Its body.
    pub body: Bytes,
    _charge: HeldCharge,
}

impl FetchedPage {
    /// `charge`: the memory account of the body, kept as long as the page. Empty where another account already has the body.
    pub fn new(head: ResponseHead, body: Bytes, charge: HeldCharge) -> Self {
        Self { head, body, _charge: charge }
    }
}

/// What a comparison has found.
#[derive(Debug, Default)]
pub struct ComparisonResult {
    /// What depends on who asks. No differences: nothing.
    pub report: DifferenceReport,
    /// What that is, by hashes: a second comparison finds one of these again, unless it was chance.
    pub things: Vec<u64>,
    /// Rows come in another order to each visitor: two more comparisons find that again, unless it was chance.
    pub has_order: bool,
    /// The places of the page.
    pub places: Vec<FoundPlace>,
    /// The kinds of its elements.
    pub kinds: Vec<u64>,
    /// The account of `guard-cookie` is not logged in any more.
    pub account_is_logged_out: bool,
}

impl ComparisonResult {
    /// What is known by now. `before`: the suspects of the comparison before, if there was one.
    pub fn finding(&self, before: &[u64]) -> Finding {
        let again = self.things.iter().any(|thing| before.contains(thing));
        if self.report.is_of_account || again || self.has_order && before.contains(&ORDER_TWICE) {
            return Finding::OfVisitors;
        }
        let order = match self.has_order {
            true if before.contains(&ORDER) => &[ORDER, ORDER_TWICE][..],
            true => &[ORDER],
            false => &[],
        };
        match before.is_empty() && !self.report.differences.is_empty() || order.len() > 1 {
            true => Finding::Open([&self.things[..], order].concat()),
            false => Finding::Nothing,
        }
    }
}

/// What comparisons say of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It is the same for all.
    Nothing,
    /// The next comparison has to find one of these again.
    Open(Vec<u64>),
    /// It depends on who asks.
    OfVisitors,
}

/// Suspects: an order of rows, and one that two comparisons have found.
const ORDER: u64 = u64::MAX - 1;
const ORDER_TWICE: u64 = u64::MAX - 2;

/// Compares an anonymous page with other looks at it. `is_first`: the pattern has not been compared before. `None`: a fetch failed, or
/// memory was full.
pub async fn check<F: Fetcher>(
    subject: Comparison<'_, F>,
    anonymous: FetchedPage,
    is_first: bool,
) -> Option<ComparisonResult> {
    let request = plain(subject.request);
    Comparison { request: &request, ..subject }.looks(anonymous, is_first).await
}

/// Compares certain places of an anonymous page with one more look.
pub async fn check_places<F: Fetcher>(
    subject: Comparison<'_, F>,
    anonymous: FetchedPage,
    unknown: &[u64],
) -> Option<Vec<FoundPlace>> {
    let request = plain(subject.request);
    let subject = Comparison { request: &request, ..subject };
    let visitor = subject.visitor(&anonymous);
    let other = subject.look(&visitor.request_as_visitor(&request), Some(&visitor), &anonymous).await?;
    let mut memory = LookMemory::new(subject.fetcher);
    let (one, other) = (subject.outline(&anonymous, &mut memory)?, subject.outline(&other, &mut memory)?);
    Some(compare_places(&one, &other, |key| unknown.contains(&key)))
}

/// The places of a page, and the kinds of its elements.
pub type Read = (Vec<Place>, Vec<u64>);

/// Reads the places of a page, and the kinds of its elements.
pub fn places_of(route: RouteRules<'_>, uri: &str, head: &ResponseHead, body: &[u8], now: Now) -> Read {
    let body = without_fresh_links(route, uri, body);
    Outline::places(head, &body, &AnswerFacts::of(uri, head, &body, now), &route.declared.guard.noise)
}

/// Whether a response that may be stored must be compared first: the application has not itself given it a lifetime, or one of its
/// cookies is dropped. `is_file`: Kasoku read the body from a file itself.
pub fn is_to_be_compared(
    route: RouteRules<'_>,
    request: &RequestHead,
    head: &ResponseHead,
    is_file: bool,
    now: Now,
) -> bool {
    if !is_guarded(route) || is_file || is_named_file(&request.target, head) {
        return false;
    }
    let freshness = freshness(request, head, now, now, route.policy);
    // What is validated before each use is shared, although its lifetime is 0.
    !freshness.is_explicit() || freshness.is_expired_at_once() || dropped(request, head, route.policy).next().is_some()
}

/// What the looks of a comparison have in memory besides their pages.
struct LookMemory {
    charge: HeldCharge,
    known: KnownPieces,
}

impl LookMemory {
    fn new(fetcher: &impl Fetcher) -> Self {
        Self { charge: fetcher.hold(), known: KnownPieces::default() }
    }
}

impl<F: Fetcher> Comparison<'_, F> {
    async fn looks(&self, a1: FetchedPage, is_first: bool) -> Option<ComparisonResult> {
        let mut visitor = self.visitor(&a1);
        let mut as_visitor = visitor.request_as_visitor(self.request);
        let mut b1 = self.look(&as_visitor, Some(&visitor), &a1).await;
        if b1.is_none() {
            // Some applications refuse robots that they do not know.
            visitor = visitor.no_robot();
            as_visitor = visitor.request_as_visitor(self.request);
            b1 = self.look(&as_visitor, Some(&visitor), &a1).await;
        }
        let b1 = b1?;
        let again = with_cookies(self.request, &a1.head);
        let a2 = self.look(&again, None, &a1).await;
        let (elsewhere, b2);
        let mut memory = LookMemory::new(self.fetcher);
        let mut looks = Vec::with_capacity(4);
        for page in [&a1, &b1] {
            looks.push(self.outline(page, &mut memory)?);
        }
        // An application that limits each address refuses the second look, or answers it in other words.
        let mut second = None;
        if let Some(a2) = &a2 {
            second = Some(self.outline(a2, &mut memory)?)
                .filter(|outline| looks.first().is_some_and(|a1| outline.is_like(a1)));
        }
        let is_limited = second.is_none();
        let a2 = match (second, &a2) {
            (Some(outline), Some(a2)) => {
                looks.push(outline);
                a2
            }
            _ => {
                elsewhere = self.fetcher.fetch(&again, Some(self.visitor(&a1).address())).await?;
                looks.push(self.outline(&elsewhere, &mut memory)?);
                &elsewhere
            }
        };
        let has_cookies = sets_cookie(&a1.head.fields);
        let mut verdict = compare(&looks, has_cookies);
        if verdict.is_undecided {
            if is_limited {
                visitor = self.visitor(&a1);
            }
            b2 = self.look(&with_cookies(&as_visitor, &b1.head), Some(&visitor), &a1).await?;
            looks.push(self.outline(&b2, &mut memory)?);
            verdict = compare(&looks, has_cookies);
        }
        let kinds = looks.iter().flat_map(|look| look.kinds.iter().copied()).collect();
        let LooksVerdict { places, mut differences, mut things, has_order, .. } = verdict;
        if let Some(told) = told_in_head(&b1.head, &visitor) {
            things.push(u64::MAX);
            differences.insert(0, told);
        }
        let report = DifferenceReport { is_of_account: false, differences };
        let mut found = ComparisonResult { report, things, has_order, places, kinds, account_is_logged_out: false };
        if is_first && found.report.differences.is_empty() {
            self.as_account(&a1, a2, &mut found).await?;
        }
        Some(found)
    }

    /// Finds out whether a member would get the guests' page, by the account of `guard-cookie`.
    async fn as_account(&self, a1: &FetchedPage, a2: &FetchedPage, found: &mut ComparisonResult) -> Option<()> {
        let Some(cookie) = self.route.declared.guard.cookie.as_ref() else { return Some(()) };
        let alone: Fields = [("Cookie", cookie.text())].into_iter().collect();
        if passing::passes(&alone, self.route, false).is_some() {
            return Some(());
        }
        let mut request = self.request.clone();
        add_cookies(&mut request.fields, cookie.text());
        let (m1, m2) = (self.fetcher.fetch(&request, None).await?, self.fetcher.fetch(&request, None).await?);
        let mut memory = LookMemory::new(self.fetcher);
        let mut looks = Vec::with_capacity(4);
        for page in [a1, &m1, a2, &m2] {
            looks.push(self.outline(page, &mut memory)?);
        }
        let mut differences = compare(&looks, true).differences;
        for one in &mut differences {
            (one.anonymous, one.visitors) = (cookie.mask(&one.anonymous), cookie.mask(&one.visitors));
        }
        found.account_is_logged_out = differences.is_empty();
        found.report = DifferenceReport { is_of_account: !differences.is_empty(), differences };
        Some(())
    }

    fn visitor(&self, anonymous: &FetchedPage) -> SyntheticVisitor {
        let address = self.fetcher.next_visitor();
        let grant = &self.route.policy.grant;
        SyntheticVisitor::new(self.pattern, address, grant, self.request, (&anonymous.head, &anonymous.body))
            .in_a_country(self.countries, grant)
    }

    /// Fetches the page once more; `None`: the fetch failed, or the answer says nothing of the page. Who is refused, or asked to log in,
    /// may be taken for a robot or may come from the wrong country.
    async fn look(
        &self,
        request: &RequestHead,
        visitor: Option<&SyntheticVisitor>,
        first: &FetchedPage,
    ) -> Option<FetchedPage> {
        let page = self.fetcher.fetch(request, visitor.map(SyntheticVisitor::address)).await?;
        let is_refused = matches!(page.head.status.as_u16(), 401 | 403 | 406) && page.head.status != first.head.status;
        (!is_refused).then_some(page)
    }

    /// Reads a page; `None`: memory is full.
    fn outline<'p>(&self, page: &'p FetchedPage, memory: &mut LookMemory) -> Option<Outline<'p>> {
        if !memory.charge.grows(OUTLINE_PER_PAGE.saturating_mul(page.body.len() as u64)) {
            return None;
        }
        let facts = AnswerFacts::of(self.uri, &page.head, &page.body, self.fetcher.now());
        let body = without_fresh_links(self.route, self.uri, &page.body);
        Some(Outline::of(&page.head, body, &facts, &self.route.declared.guard.noise, &mut memory.known))
    }
}

/// The next request of the visitor that got this answer.
fn with_cookies(request: &RequestHead, answer: &ResponseHead) -> RequestHead {
    let mut next = request.clone();
    if sets_cookie(&answer.fields)
        && let Some(cookies) = cookies_after(&request.fields, &answer.fields).first("cookie")
    {
        next.fields.set("Cookie", cookies);
    }
    next
}

/// Whether a status says nothing of a page.
pub fn says_nothing(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
}

/// The request as it goes out for the visitor at `address`, with the cookies that keep the application from counting a visit.
pub fn as_sent<'r>(request: &'r RequestHead, route: RouteRules<'_>, address: IpAddr) -> Cow<'r, RequestHead> {
    anonymous_cookies::sent(request, route, Some(address))
}

/// A page without the link parameters that differ for each visitor (`fresh-links`): a visitor who follows such a link gets a link
/// of their own.
fn without_fresh_links<'p>(route: RouteRules<'_>, page_uri: &str, page: &'p [u8]) -> Cow<'p, [u8]> {
    if route.declared.fresh_links.is_empty() {
        return Cow::Borrowed(page);
    }
    links::without_values(page_uri, page, |target| {
        let (path, query) = path_and_query(target);
        let is_it = |one: &&FreshLink| one.url.fits(path, query);
        route.declared.fresh_links.iter().find(is_it).map_or(&[], |one| &one.parameters)
    })
}

/// A field of the visitor's answer that holds a trait of that visitor.
fn told_in_head(answer: &ResponseHead, visitor: &SyntheticVisitor) -> Option<Difference> {
    visitor.traits().find_map(|told| {
        let tells = |(name, value): &(&[u8], &[u8])| {
            !name.eq_ignore_ascii_case(b"set-cookie") && memmem::find(value, told.as_bytes()).is_some()
        };
        let (name, value) = answer.fields.iter().find(tells)?;
        let visitors = line(&[name, b": ", value].concat());
        Some(Difference { place: DifferencePlace::Head, anonymous: String::new(), visitors })
    })
}
