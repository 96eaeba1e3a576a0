//! Searches a response whose content decides whether it may be shared, before any client gets a byte of it. It looks for:
//!
//! - The value of a cookie that would be dropped. A response is stored without the cookie that it sets only if the cookie's value
//!   stands nowhere in the response ([`set_cookies`](kasoku_semantics::set_cookies)).
//! - A text that marks a page ([`PageRules`]). An answer without that text is no page, whatever its status: the application says
//!   instead that a post is gone, is for members only, or that the database is down.
//! - A text that exempts a page from certain tags ([`TagRules`]). A page that can't be searched gets those tags as well.
//! - Tokens that the page is stored without ([`EmptyToken`]). A page that can't be searched is not shared.
//! - The client address that the anonymous request had ([`stand_in`]): a page that prints it is made for one visitor, and no visitor
//!   has that address. Only text is searched for it. A text that can't be searched is not refused for that: what it could show of
//!   this address is no client's.
//! - The whole page, where the leak guard compares it with another visitor's.

use crate::RouteRules;
use bytes::Bytes;
use http::StatusCode;
use kasoku_options::{EmptyToken, PageRules};
use kasoku_semantics::charset::begins_wide;
use kasoku_semantics::difference::Markup;
use kasoku_semantics::directives::is_made_public;
use kasoku_semantics::freshness::freshness;
use kasoku_semantics::is_named_file;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::secrets::Secrets;
use kasoku_semantics::stand_in;
use kasoku_semantics::tags::{Excepted, TagRules};
use kasoku_semantics::time::Now;
use kasoku_wire::{Fields, RequestHead, ResponseHead};
use memchr::memmem;
use std::net::IpAddr;

/// What to look for in one response.
pub struct ScanTargets<'s> {
    /// Values of cookies that would be dropped.
    secrets: &'s Secrets,
    /// The texts that mark a page, where the response should be one.
    page: Option<&'s PageRules>,
    /// The rules of tags, where some tags depend on the text of the page.
    tags: Option<&'s TagRules>,
    /// The client address that the request had, where the response is shared by the operator's grant.
    stand_in: Option<IpAddr>,
    /// Whether the body is searched for that address.
    is_text: bool,
    /// The caller needs the whole body, to compare it with another visitor's page.
    is_compared: bool,
}

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub struct ScanResult {
    /// Why the response may not be shared, if it may not.
    pub reason: Option<Reason>,
    /// The templates of tags that the response does not get.
    pub excepted: Excepted,
    /// The whole body, if it could be searched.
    pub body: Bytes,
    /// The response could not be searched this time, which says nothing of the page.
    pub is_late: bool,
}

impl From<Reason> for ScanResult {
    fn from(reason: Reason) -> Self {
        Self { reason: Some(reason), ..Self::default() }
    }
}

impl<'s> ScanTargets<'s> {
    /// What to look for in the answer to a request for `target`. `is_file`: Kasoku read the body from a file itself, so it can't be
    /// an error page.
    pub fn of(route: RouteRules<'s>, target: &str, head: &ResponseHead, is_file: bool, secrets: &'s Secrets) -> Self {
        let PageRules { texts, privates, empty_tokens, .. } = &*route.declared.page;
        let has_texts = !texts.is_empty() || !privates.is_empty() || !empty_tokens.is_empty();
        let is_known = route.policy.grant.is_granting() && has_texts;
        let should_be_page = head.status == StatusCode::OK && !is_file && !is_named_file(target, head);
        let tags = Some(&route.policy.tags).filter(|tags| should_be_page && tags.need_the_page());
        let page = (is_known && should_be_page).then_some(&*route.declared.page);
        Self { secrets, page, tags, stand_in: None, is_text: Markup::of(head).is_some(), is_compared: false }
    }

    /// The same, for the answer to a `request` that had `stand_in` in the place of its client's address.
    pub fn of_stand_in(
        self,
        stand_in: Option<IpAddr>,
        route: RouteRules<'_>,
        (request, head): (&RequestHead, &ResponseHead),
        now: Now,
    ) -> Self {
        let policy = route.policy;
        // What the application itself says is for all is its own business.
        let is_own_word = || freshness(request, head, now, now, policy).is_explicit() && is_made_public(head, policy);
        let grants_error =
            || policy.negative_ttl_seconds > 0 && (head.status.is_client_error() || head.status.is_server_error());
        let is_granted = || (policy.grant.is_granting() || grants_error()) && !is_own_word();
        Self { stand_in: stand_in.filter(|_| is_granted()), ..self }
    }

    /// The same, for a response that is compared with another visitor's.
    pub fn compared(self) -> Self {
        Self { is_compared: true, ..self }
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.stand_in.is_none() && !self.need_body()
    }

    /// Whether the body has to be read for what is looked for.
    pub fn need_body(&self) -> bool {
        let is_searched_for_address = self.stand_in.is_some() && self.is_text;
        !self.secrets.is_empty()
            || self.page.is_some()
            || self.tags.is_some()
            || is_searched_for_address
            || self.is_compared
    }

    /// Tokens that the page is stored without.
    pub fn empty_tokens(&self) -> &'s [EmptyToken] {
        self.page.filter(|_| self.is_text).map_or(&[], |page| &page.empty_tokens)
    }

    /// Why the head shows that the response may not be shared, if it does.
    pub fn judge_head(&self, head: &ResponseHead) -> Option<Reason> {
        if self.secrets.occur_in_head(head) {
            return Some(Reason::CookieValueInResponse);
        }
        // Cookies have rules of their own, and no other client gets them.
        let told = |(name, value): (&[u8], &[u8])| !names_cookie(name) && self.is_stand_in_in(value);
        head.fields.iter().any(told).then_some(Reason::AddressInResponse)
    }

    fn is_stand_in_in(&self, text: &[u8]) -> bool {
        self.stand_in.is_some_and(|stand_in| stand_in::is_in(stand_in, text))
    }

    /// The result for a response that can't be searched.
    pub fn unsearched(&self) -> ScanResult {
        let reason = match self.page {
            _ if !self.secrets.is_empty() => Some(Reason::CookieValueUnchecked),
            Some(_) => Some(Reason::PageUnchecked),
            None => self.is_compared.then_some(Reason::PageUnchecked),
        };
        ScanResult { reason, ..ScanResult::default() }
    }

    /// The result for a whole body.
    pub fn judge(&self, body: &[u8], trailers: Option<&Fields>) -> ScanResult {
        if self.secrets.occur_in(body) || trailers.is_some_and(|fields| self.secrets.occur_in_fields(fields)) {
            return Reason::CookieValueInResponse.into();
        }
        if begins_wide(body) {
            return self.unsearched();
        }
        let has_any = |texts: &[String]| texts.iter().any(|text| memmem::find(body, text.as_bytes()).is_some());
        let reason = match self.page {
            // Such as a session's token. A visitor who writes the text into a page only keeps that page from being shared.
            Some(page) if has_any(&page.privates) => Some(Reason::PersonalPage),
            Some(page) if page.texts.is_empty() => None,
            // The page's own text decides first: a visitor may have written the words of an outage into a page.
            Some(page) if has_any(&page.texts) => None,
            Some(page) if has_any(&page.outages) => Some(Reason::Outage),
            Some(_) => Some(Reason::PageTextMissing),
            None => None,
        };
        let tells_address = || (self.is_text && self.is_stand_in_in(body)).then_some(Reason::AddressInResponse);
        let reason = reason.or_else(tells_address);
        let excepted = self.tags.map(|tags| tags.excepted_by(body)).unwrap_or_default();
        ScanResult { reason, excepted, ..ScanResult::default() }
    }
}

fn names_cookie(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"set-cookie") || name.eq_ignore_ascii_case(b"set-cookie2")
}
