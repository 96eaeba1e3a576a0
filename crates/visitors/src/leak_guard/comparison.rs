//! Fetches a page anonymously and as made-up visitors, and compares the results.
//!
//! | fetched | as | where |
//! |---|---|---|
//! | 1 | nobody | by the fill |
//! | 2 | a visitor | it equals 1: the page is the same for everybody |
//! | 3 | nobody | 2 equals 3: something was changed between 1 and 2 |
//! | 4 | that visitor, at another address nearby | 4 equals 1 or 3: something was changed again |
//! | 5, 6 | once more, at another address; nobody | any page of a visitor equals any of nobody's: the page has several forms, whoever asks; else it differs by visitor |
//! | 7 | the account of `guard-cookie`, where such a request would not pass | it differs from nobody's page: members would get the guests' page |
//!
//! The last two are for rows that a database sorts by equal values: which connection is next decides their order, and which of them are in a list that is cut.
//! Where no two pages are equal, and a visitor's has nothing but what comes and goes in nobody's own pages (`Rendering`; twelve more of those are fetched if need be),
//! what differs says nothing of who asks.
//!
//! A page that changes with each look (a clock, a counter, a token) differs each time, so it counts as one that differs by visitor unless it is
//! listed as noise. No answer, or an error of the server, says nothing.
//!
//! All of these pages are in memory until the comparison has ended, and so are the copies in which noise is left out, for as long as two pages are
//! compared. The memory budget is charged for both. Where it has no room, nothing is known of the page, as without an answer.

use crate::RouteRules;
use crate::anonymous_cookies;
use crate::leak_guard::DifferenceReport;
use crate::leak_guard::synthetic_visitor::{SyntheticVisitor, add_cookies, plain};
use crate::passing;
use crate::pattern::is_guarded;
use bytes::Bytes;
use http::StatusCode;
use kasoku_cache::HeldCharge;
use kasoku_options::FreshLink;
use kasoku_semantics::anonymous_request::ANONYMOUS_ADDRESS;
use kasoku_semantics::difference::{
    Difference, DifferencePlace, Fit, Markup, Rendering, TooManyLines, differences, line, names_token,
};
use kasoku_semantics::directives::is_made_public;
use kasoku_semantics::freshness::freshness;
use kasoku_semantics::is_named_file;
use kasoku_semantics::links;
use kasoku_semantics::query::path_and_query;
use kasoku_semantics::time::Now;
use kasoku_wire::{Fields, RequestHead, ResponseHead};
use memchr::memmem;
use std::borrow::Cow;
use std::hash::RandomState;
use std::net::Ipv4Addr;
use std::time::Duration;

/// The longest time for one of the fetches.
pub const FETCH_MAX: Duration = Duration::from_secs(10);

/// Fields of an answer's head by which it must not differ, besides those whose names say that they hold a token.
const COMPARED: [&str; 5] = ["content-type", "content-language", "content-encoding", "content-disposition", "location"];

/// Fetches pages that no client gets.
#[allow(async_fn_in_trait, reason = "pages are fetched and compared in one task of one worker")]
pub trait Fetcher {
    /// As whoever is at `address`, or as nobody; `None`: there was no answer that says anything.
    async fn fetch(&self, request: &RequestHead, address: Option<Ipv4Addr>) -> Option<FetchedPage>;
    /// The account of what is in memory for the comparison besides its pages.
    fn hold(&self) -> HeldCharge;
    /// A number for the next made-up visitor.
    fn next_visitor(&self) -> u64;
}

/// How the page is fetched after the first anonymous fetch.
const ORDER: [RequestedAs; 5] =
    [RequestedAs::Visitor, RequestedAs::Anonymous, RequestedAs::Visitor, RequestedAs::Visitor, RequestedAs::Anonymous];

/// Copies of a page that are in memory while it is compared with another: one without the links that are made for each visitor, one without noise, and
/// places of what is in it.
const COPIES: u64 = 3;

/// How often nobody asks once more, where a visitor's page may be one of those that nobody gets. With ten of forty rows, any ten that follow each other, four
/// leave 10 of 100 pages unseen, eight 2, and twelve 0.5.
const FURTHER_MAX: usize = 12;

#[derive(Clone, Copy)]
enum RequestedAs {
    Visitor,
    Anonymous,
}

/// What is looked at, and how it is fetched.
pub struct Comparison<'s, F> {
    /// Fetches its pages.
    pub fetcher: &'s F,
    /// What its route says of visitors.
    pub route: RouteRules<'s>,
    /// The page's.
    pub uri: &'s str,
    /// The request anonymously.
    pub request: &'s RequestHead,
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
    /// `charge`: the account of the body, which is kept for as long as the page. Empty where somebody else has charged it.
    pub fn new(head: ResponseHead, body: Bytes, charge: HeldCharge) -> Self {
        Self { head, body, _charge: charge }
    }
}

/// What came of it.
pub enum ComparisonResult {
    /// The page is the same for everybody.
    Same {
        /// The account of `guard-cookie` is not logged in any more.
        account_is_logged_out: bool,
    },
    /// It differs by visitor.
    Differs(DifferenceReport),
    /// Nobody knows: there was no answer.
    Unknown,
}

/// Looks whether the page that nobody got is what others get. `is_first`: nobody has looked at the pattern before.
pub async fn check<F: Fetcher>(subject: Comparison<'_, F>, anonymous: FetchedPage, is_first: bool) -> ComparisonResult {
    let request = plain(subject.request);
    let checking = Comparison { request: &request, ..subject };
    match checking.as_visitors(anonymous).await {
        Some(Ok(anonymous)) => match checking.as_account(anonymous, is_first).await {
            Some(found) => found,
            None => ComparisonResult::Unknown,
        },
        Some(Err(differences)) => ComparisonResult::Differs(DifferenceReport { is_of_account: false, differences }),
        None => ComparisonResult::Unknown,
    }
}

/// Whether a response that may be stored has to be compared first: a text of which the application has not said itself that it may be shared.
/// `is_file`: it is a file that this program has read itself.
pub fn is_to_be_compared(
    route: RouteRules<'_>,
    request: &RequestHead,
    head: &ResponseHead,
    is_file: bool,
    now: Now,
) -> bool {
    if !is_guarded(route) || head.status != StatusCode::OK || Markup::of(head).is_none() {
        return false;
    }
    if is_file || is_named_file(&request.target, head) {
        return false;
    }
    let freshness = freshness(request, head, now, now, route.policy);
    !(freshness.is_explicit() && is_made_public(head, route.policy))
}

impl<F: Fetcher> Comparison<'_, F> {
    /// Nobody's page, or where it differs from a visitor's; `None`: there was no answer.
    async fn as_visitors(&self, anonymous: FetchedPage) -> Option<Result<FetchedPage, Vec<Difference>>> {
        let mut visitor =
            SyntheticVisitor::new(self.fetcher.next_visitor(), &self.route.policy.grant, self.request, &anonymous.body);
        let (mut anonymous, mut visitors) = (vec![anonymous], Vec::<(SyntheticVisitor, FetchedPage)>::new());
        let mut differing = Vec::new();
        for who in ORDER {
            match who {
                RequestedAs::Visitor => {
                    let page = self.fetch_as(&visitor).await?;
                    visitors.push((visitor.clone(), page));
                    visitor = visitor.elsewhere(self.fetcher.next_visitor());
                }
                RequestedAs::Anonymous => {
                    let page = self.fetch_page(anonymous.first()?).await?;
                    anonymous.push(page);
                }
            }
            // The pairs that have the page that has come last.
            let begin = |is_new: bool, count: usize| if is_new { count.saturating_sub(1) } else { 0 };
            let from_nobody = begin(matches!(who, RequestedAs::Anonymous), anonymous.len());
            let from_visitor = begin(matches!(who, RequestedAs::Visitor), visitors.len());
            for at in from_nobody..anonymous.len() {
                for (visitor, page) in visitors.iter().skip(from_visitor) {
                    differing = self.compare(anonymous.get(at)?, page, Some(visitor))?;
                    if differing.is_empty() {
                        return Some(Ok(anonymous.swap_remove(at)));
                    }
                }
            }
        }
        match self.is_anonymous_page(&anonymous, visitors).await? {
            true => anonymous.pop().map(Ok),
            false => Some(Err(differing)),
        }
    }

    /// Whether one of the visitors' pages has only what nobody gets as well, now and then.
    async fn is_anonymous_page(
        &self,
        anonymous: &[FetchedPage],
        mut visitors: Vec<(SyntheticVisitor, FetchedPage)>,
    ) -> Option<bool> {
        let (first, keys) = (anonymous.first()?, RandomState::new());
        visitors.retain(|(visitor, page)| head_difference(&first.head, &page.head, Some(visitor)).is_none());
        let mut charge = self.fetcher.hold();
        let mut own = Vec::with_capacity(anonymous.len() + FURTHER_MAX);
        for page in anonymous {
            let Ok(rendering) = self.rendering(page, &keys, &mut charge)? else { return Some(false) };
            own.push(rendering);
        }
        let mut others = Vec::with_capacity(visitors.len());
        for (_, page) in visitors {
            let Ok(rendering) = self.rendering(&page, &keys, &mut charge)? else { return Some(false) };
            others.push(rendering);
        }
        let mut further = 0;
        loop {
            match others.iter().map(|one| one.fit(&own)).max() {
                Some(Fit::Fits) => return Some(true),
                Some(Fit::Unseen) if further < FURTHER_MAX => further += 1,
                _ => return Some(false),
            }
            let page = self.fetch_page(first).await?;
            if head_difference(&first.head, &page.head, None).is_some() {
                return Some(false);
            }
            let Ok(rendering) = self.rendering(&page, &keys, &mut charge)? else { return Some(false) };
            own.push(rendering);
        }
    }

    /// The lines of a page; an error: there are too many; `None`: there is no memory for them.
    fn rendering(
        &self,
        page: &FetchedPage,
        keys: &RandomState,
        charge: &mut HeldCharge,
    ) -> Option<Result<Rendering, TooManyLines>> {
        let _copies = self.copies(&[page])?;
        let markup = Markup::of(&page.head).unwrap_or(Markup::Html);
        let text = without_fresh_links(self.route, self.uri, &page.body);
        let rendering = Rendering::of(&text, markup, &self.route.declared.guard.noise, keys);
        if rendering.as_ref().is_ok_and(|rendering| !charge.grows(rendering.memory_bytes())) {
            return None;
        }
        Some(rendering)
    }

    /// Whether a member would get a page that is not theirs.
    async fn as_account(&self, anonymous: FetchedPage, is_first: bool) -> Option<ComparisonResult> {
        let Some(cookie) = self.route.declared.guard.cookie.as_ref().filter(|_| is_first) else {
            return Some(ComparisonResult::Same { account_is_logged_out: false });
        };
        let alone: Fields = [("Cookie", cookie.text())].into_iter().collect();
        if passing::passes(&alone, self.route, false).is_some() {
            return Some(ComparisonResult::Same { account_is_logged_out: false });
        }
        let mut request = self.request.clone();
        add_cookies(&mut request.fields, cookie.text());
        let members = self.fetch(&request, None).await?;
        if self.compare(&anonymous, &members, None)?.is_empty() {
            return Some(ComparisonResult::Same { account_is_logged_out: true });
        }
        let anonymous = self.fetch_page(&anonymous).await?;
        let mut found = self.compare(&anonymous, &members, None)?;
        if found.is_empty() {
            return Some(ComparisonResult::Same { account_is_logged_out: true });
        }
        for one in &mut found {
            (one.anonymous, one.visitors) = (cookie.mask(&one.anonymous), cookie.mask(&one.visitors));
        }
        Some(ComparisonResult::Differs(DifferenceReport { is_of_account: true, differences: found }))
    }

    async fn fetch_as(&self, visitor: &SyntheticVisitor) -> Option<FetchedPage> {
        self.fetch(&visitor.dress(self.request), Some(visitor.address())).await
    }

    /// Nobody's page once more; one that is none by now says nothing.
    async fn fetch_page(&self, before: &FetchedPage) -> Option<FetchedPage> {
        self.fetch(self.request, None).await.filter(|page| page.head.status == before.head.status)
    }

    async fn fetch(&self, request: &RequestHead, address: Option<Ipv4Addr>) -> Option<FetchedPage> {
        self.fetcher.fetch(request, address).await
    }

    /// Where two pages differ; `None`: there is no memory to look.
    fn compare(
        &self,
        anonymous: &FetchedPage,
        visitors: &FetchedPage,
        visitor: Option<&SyntheticVisitor>,
    ) -> Option<Vec<Difference>> {
        if let Some(found) = head_difference(&anonymous.head, &visitors.head, visitor) {
            return Some(vec![found]);
        }
        let _copies = self.copies(&[anonymous, visitors])?;
        let markup = Markup::of(&anonymous.head).unwrap_or(Markup::Html);
        let [anonymous, visitors] =
            [anonymous, visitors].map(|page| without_fresh_links(self.route, self.uri, &page.body));
        Some(differences(&anonymous, &visitors, markup, &self.route.declared.guard.noise))
    }

    /// The account of the copies of pages that are made to compare them; `None`: there is no room.
    fn copies(&self, pages: &[&FetchedPage]) -> Option<HeldCharge> {
        let mut charge = self.fetcher.hold();
        let bytes = pages.iter().map(|page| COPIES.saturating_mul(page.body.len() as u64)).sum();
        charge.grows(bytes).then_some(charge)
    }
}

/// Whether a status says nothing of a page.
pub fn says_nothing(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
}

/// The request as it goes out, for whoever is told to be at `address`: no visit is counted of it.
pub fn as_sent<'r>(request: &'r RequestHead, route: RouteRules<'_>, address: Option<Ipv4Addr>) -> Cow<'r, RequestHead> {
    let address = address.map_or_else(|| ANONYMOUS_ADDRESS.to_owned(), |address| address.to_string());
    anonymous_cookies::sent(request, route, &address)
}

/// A page without what its links have for each visitor (`fresh-links`): who follows one is led by a link of their own.
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

/// Where what is said before the bodies differs, or tells of the visitor.
fn head_difference(
    anonymous: &ResponseHead,
    visitors: &ResponseHead,
    visitor: Option<&SyntheticVisitor>,
) -> Option<Difference> {
    let differs = |anonymous: &[u8], visitors: &[u8]| Difference {
        place: DifferencePlace::Head,
        anonymous: line(anonymous),
        visitors: line(visitors),
    };
    if anonymous.status != visitors.status {
        let status = |head: &ResponseHead| format!("HTTP {}", head.status.as_u16()).into_bytes();
        return Some(differs(&status(anonymous), &status(visitors)));
    }
    let is_compared = |name: &[u8]| {
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        // Set-Cookie has rules of its own, and is kept for nobody.
        name != "set-cookie" && (COMPARED.contains(&&*name) || names_token(&name))
    };
    let lines = |head: &ResponseHead| -> Vec<Vec<u8>> {
        let own = head.fields.iter().filter(|(name, _)| is_compared(name));
        let mut lines: Vec<Vec<u8>> = own.map(|(name, value)| [name, b": ", value].concat()).collect();
        lines.sort_unstable();
        lines
    };
    let (own, others) = (lines(anonymous), lines(visitors));
    if own != others {
        let other_than = |these: &[Vec<u8>], those: &[Vec<u8>]| {
            these.iter().find(|line| !those.contains(line)).cloned().unwrap_or_default()
        };
        return Some(differs(&other_than(&own, &others), &other_than(&others, &own)));
    }
    for told in visitor.into_iter().flat_map(SyntheticVisitor::traits) {
        let tells = |(name, value): &(&[u8], &[u8])| {
            !name.eq_ignore_ascii_case(b"set-cookie") && memmem::find(value, told.as_bytes()).is_some()
        };
        if let Some((name, value)) = visitors.fields.iter().find(tells) {
            return Some(differs(b"", &[name, b": ", value].concat()));
        }
    }
    None
}
