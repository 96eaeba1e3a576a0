//! Fetches a page anonymously and as made-up visitors, and compares the results.
//!
//! | fetch | as | outcome |
//! |---|---|---|
//! | 1 | anonymous | by the fill |
//! | 2 | a made-up visitor | equals 1: the page is the same for all visitors |
//! | 3 | anonymous | equals 2: the page changed between 1 and 2 |
//! | 4 | that visitor, from a nearby address | equals 1 or 3: the page changed again |
//! | 5, 6 | that visitor, at a third address; anonymous | any visitor's page equals any anonymous one: all visitors get several forms |
//! | 7 | the account of `guard-cookie`, if its request would not pass | differs from the anonymous page: members get the guests' page |
//!
//! If none is equal, the page differs by visitor. Fetches 5 and 6 are for rows that a database sorts by equal values: their order,
//! and which of them appear in a cut list, depend on the database connection. If no two pages are equal, a visitor's page may still
//! have only lines that come and go in anonymous pages ([`Rendering`], with up to twelve further anonymous fetches). Then the
//! difference does not come from the visitor.
//!
//! A page that changes with each fetch (a clock, a counter, a token) counts as one that differs by visitor unless the changing part
//! is listed as noise. A failed fetch, or an error of the server, says nothing.
//!
//! All of these pages are in memory until the comparison has ended. While two pages are compared, so are their copies without
//! noise. Both are charged to the memory budget. If it has no room, the comparison has no result, as after a failed fetch.

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
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// The longest time for one fetch.
pub const FETCH_MAX: Duration = Duration::from_secs(10);

/// Response fields that must not differ, besides those whose names say that they hold a token.
const COMPARED: [&str; 5] = ["content-type", "content-language", "content-encoding", "content-disposition", "location"];

/// Fetches pages for comparison alone, not for a client.
#[allow(async_fn_in_trait, reason = "pages are fetched and compared in one task of one worker")]
pub trait Fetcher {
    /// Fetches as the visitor at `address`, or anonymously. `None`: the answer says nothing of the page, or none came.
    async fn fetch(&self, request: &RequestHead, address: Option<Ipv4Addr>) -> Option<FetchedPage>;
    /// A new account for what the comparison holds in memory besides its pages.
    fn hold(&self) -> HeldCharge;
    /// A number for the next made-up visitor.
    fn next_visitor(&self) -> u64;
}

/// How the page is fetched after the first anonymous fetch.
const ORDER: [RequestedAs; 5] =
    [RequestedAs::Visitor, RequestedAs::Anonymous, RequestedAs::Visitor, RequestedAs::Visitor, RequestedAs::Anonymous];

/// Copies of a page that are in memory while it is compared: one without the links that are made for each visitor, one without
/// noise, and the positions of its parts.
const COPIES: u64 = 3;

/// The most further anonymous fetches, while a visitor's page may be a form that no anonymous fetch has shown. If a page shows ten
/// consecutive rows of forty, four fetches leave 10 % of the pages unseen, eight 2 %, and twelve 0.5 %.
const FURTHER_MAX: usize = 12;

#[derive(Clone, Copy)]
enum RequestedAs {
    Visitor,
    Anonymous,
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

/// The result of a comparison.
pub enum ComparisonResult {
    /// The page is the same for all visitors.
    Same {
        /// The account of `guard-cookie` is not logged in any more.
        account_is_logged_out: bool,
    },
    /// It differs by visitor.
    Differs(DifferenceReport),
    /// A fetch failed, or memory was full.
    Unknown,
}

/// Compares the anonymous page with the pages of visitors. `is_first`: the pattern has not been compared before.
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

/// Whether a response that may be stored must be compared first: it is text, and the application has not itself said that it may be
/// shared. `is_file`: Kasoku read the body from a file itself.
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
    /// An anonymous page that equals a visitor's, or the differences; `None`: a fetch failed, or memory was full.
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
                    visitor = visitor.at_another_address(self.fetcher.next_visitor());
                }
                RequestedAs::Anonymous => {
                    let page = self.fetch_page(anonymous.first()?).await?;
                    anonymous.push(page);
                }
            }
            // Compares only the pairs that include the newest page.
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

    /// Whether one of the visitors' pages has only lines that anonymous pages have as well, now and then.
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

    /// The lines of a page; an error: there are too many; `None`: memory is full.
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

    /// Whether a member would get the guests' page, by the account of `guard-cookie`.
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
        self.fetch(&visitor.request_as_visitor(self.request), Some(visitor.address())).await
    }

    /// Fetches the anonymous page again; `None`: the fetch failed, or the status has changed.
    async fn fetch_page(&self, before: &FetchedPage) -> Option<FetchedPage> {
        self.fetch(self.request, None).await.filter(|page| page.head.status == before.head.status)
    }

    async fn fetch(&self, request: &RequestHead, address: Option<Ipv4Addr>) -> Option<FetchedPage> {
        self.fetcher.fetch(request, address).await
    }

    /// Where two pages differ; `None`: memory is full.
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

    /// The account of the copies that are made of pages to compare them; `None`: memory is full.
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

/// Where the status or the compared fields differ, or a field of the visitor's answer holds a trait of that visitor.
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
        // Set-Cookie has rules of its own, and no other client gets it.
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
