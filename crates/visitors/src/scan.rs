//! Searches a response whose content decides whether it may be shared, before any client gets a byte of it. It looks for:
//!
//! - The value of a cookie that would be dropped. A response is stored without the cookie that it sets only if the cookie's value
//!   stands nowhere in the response ([`set_cookies`](kasoku_semantics::set_cookies)).
//! - A text that marks a page ([`PageRules`]). An answer without that text is no page, whatever its status: the application says
//!   instead that a post is gone, is for members only, or that the database is down.
//! - A text that exempts a page from certain tags ([`TagRules`]). A page that can't be searched gets those tags as well.
//! - The whole page, where the leak guard compares it with another visitor's.

use crate::RouteRules;
use bytes::Bytes;
use http::StatusCode;
use kasoku_options::PageRules;
use kasoku_semantics::charset::begins_wide;
use kasoku_semantics::is_named_file;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::secrets::Secrets;
use kasoku_semantics::tags::{Excepted, TagRules};
use kasoku_wire::{Fields, ResponseHead};
use memchr::memmem;

/// What to look for in one response.
pub struct ScanTargets<'s> {
    /// Values of cookies that would be dropped.
    secrets: &'s Secrets,
    /// The texts that mark a page, where the response should be one.
    page: Option<&'s PageRules>,
    /// The rules of tags, where some tags depend on the text of the page.
    tags: Option<&'s TagRules>,
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
        let has_texts = !route.declared.page.texts.is_empty() || !route.declared.page.privates.is_empty();
        let is_known = route.policy.grant.is_granting() && has_texts;
        let should_be_page = head.status == StatusCode::OK && !is_file && !is_named_file(target, head);
        let tags = Some(&route.policy.tags).filter(|tags| should_be_page && tags.need_the_page());
        Self { secrets, page: (is_known && should_be_page).then_some(&*route.declared.page), tags, is_compared: false }
    }

    /// The same, for a response that is compared with another visitor's.
    pub fn compared(self) -> Self {
        Self { is_compared: true, ..self }
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty() && self.page.is_none() && self.tags.is_none() && !self.is_compared
    }

    /// Whether the head has the value of a cookie that would be dropped.
    pub fn occur_in_head(&self, head: &ResponseHead) -> bool {
        self.secrets.occur_in_head(head)
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
        let excepted = self.tags.map(|tags| tags.excepted_by(body)).unwrap_or_default();
        ScanResult { reason, excepted, ..ScanResult::default() }
    }
}
