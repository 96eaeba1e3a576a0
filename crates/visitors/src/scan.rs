//! What is looked for in a response before any client gets a byte of it, where its content decides whether it may be shared.
//!
//! - The value of a cookie that would be dropped: a response is kept without the cookie that it sets only if the cookie's value stands nowhere
//!   in the response ([`set_cookies`](kasoku_semantics::set_cookies)).
//! - A text by which the configuration knows a page ([`PageRules`]): an answer without that text is no page, whatever its status. The application
//!   says in its place that a post is gone, is for members only, or that the database is away.
//! - A text that a page with certain tags does not have ([`TagRules`]): a page that can't be looked through has those tags as well.
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

/// What is looked for in one response.
pub struct ScanTargets<'s> {
    /// Values of cookies that would be dropped.
    secrets: &'s Secrets,
    /// By what a page is known, where the response should be one.
    page: Option<&'s PageRules>,
    /// Where some tags depend on what stands in the page.
    tags: Option<&'s TagRules>,
    /// All of it is wanted, to be compared with another visitor's.
    is_compared: bool,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct ScanResult {
    /// Why the response may not be shared, if it may not.
    pub reason: Option<Reason>,
    /// The templates of tags that it does not get.
    pub excepted: Excepted,
    /// All of the body, where it could be looked through.
    pub body: Bytes,
    /// It could not be looked through this time, which says nothing of the page.
    pub is_late: bool,
}

impl From<Reason> for ScanResult {
    fn from(reason: Reason) -> Self {
        Self { reason: Some(reason), ..Self::default() }
    }
}

impl<'s> ScanTargets<'s> {
    /// In the answer to a request for `target`. `is_file`: it is a file that this program has read itself, which is what it is.
    pub fn of(route: RouteRules<'s>, target: &str, head: &ResponseHead, is_file: bool, secrets: &'s Secrets) -> Self {
        let has_texts = !route.declared.page.texts.is_empty() || !route.declared.page.privates.is_empty();
        let is_known = route.policy.grant.is_granting() && has_texts;
        let should_be_page = head.status == StatusCode::OK && !is_file && !is_named_file(target, head);
        let tags = Some(&route.policy.tags).filter(|tags| should_be_page && tags.need_the_page());
        Self { secrets, page: (is_known && should_be_page).then_some(&*route.declared.page), tags, is_compared: false }
    }

    /// The same of a response that is compared with another visitor's.
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

    /// What is known of a response that can't be looked through.
    pub fn unseen(&self) -> ScanResult {
        let reason = match self.page {
            _ if !self.secrets.is_empty() => Some(Reason::CookieValueUnchecked),
            Some(_) => Some(Reason::PageUnchecked),
            None => self.is_compared.then_some(Reason::PageUnchecked),
        };
        ScanResult { reason, ..ScanResult::default() }
    }

    /// What its bytes say, once all are there.
    pub fn judge(&self, body: &[u8], trailers: Option<&Fields>) -> ScanResult {
        if self.secrets.occur_in(body) || trailers.is_some_and(|fields| self.secrets.occur_in_fields(fields)) {
            return Reason::CookieValueInResponse.into();
        }
        if begins_wide(body) {
            return self.unseen();
        }
        let has_any = |texts: &[String]| texts.iter().any(|text| memmem::find(body, text.as_bytes()).is_some());
        let reason = match self.page {
            // A token of a session, for one: who writes the words into a page has it kept for nobody.
            Some(page) if has_any(&page.privates) => Some(Reason::PersonalPage),
            Some(page) if page.texts.is_empty() => None,
            // A visitor may have written the words of an outage into a page.
            Some(page) if has_any(&page.texts) => None,
            Some(page) if has_any(&page.outages) => Some(Reason::Outage),
            Some(_) => Some(Reason::PageTextMissing),
            None => None,
        };
        let excepted = self.tags.map(|tags| tags.excepted_by(body)).unwrap_or_default();
        ScanResult { reason, excepted, ..ScanResult::default() }
    }
}
