//! Buffers and scans a response before any client gets a byte of it, where its content decides whether it may be shared.
//!
//! The scan looks for four things. A response is kept without the cookie that it sets only if that cookie's value stands nowhere in it
//! ([`set_cookies`](kasoku_semantics::set_cookies)). And where the configuration knows a page by a text ([`PageRules`]), an answer without
//! that text is no page, whatever its status: the application says in its place that a post is gone, is for members only, or that the
//! database is away. And some tags are those of pages without a text ([`TagRules`]): of a page that can't be looked through as well. And
//! the first page of a URL pattern is compared with another visitor's ([`guard`](crate::visitors::leak_guard)).
//!
//! Readers of a fill get bytes as they arrive, so a response that must be scanned becomes a fill only after its last byte. What is longer
//! than [`HELD_BYTES_MAX`], takes longer than [`HELD_MAX`] (a stream of events never ends), or comes in a content coding or in UTF-16,
//! can't be looked through, and is for the one client that asked, with its cookie. So is what comes while memory is full: what is held is
//! charged like a fill. A slow response or full memory says nothing about the page, so a stored response stays in use, as after a failure.

use crate::origin_client::Body;
use crate::sites::ActiveRoute;
use bytes::{Bytes, BytesMut};
use http::StatusCode;
use kasoku_cache::HeldCharge;
use kasoku_options::PageRules;
use kasoku_origin::{BodyPiece, Error};
use kasoku_semantics::charset::{begins_wide, says_wide};
use kasoku_semantics::is_named_file;
use kasoku_semantics::media_type::is_endless;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::secrets::Secrets;
use kasoku_semantics::tags::{Excepted, TagRules};
use kasoku_wire::{Fields, ResponseHead};
use memchr::memmem;
use std::mem;
use std::pin::pin;
use std::time::Duration;

/// The longest body that is looked through, in bytes.
const HELD_BYTES_MAX: usize = 1 << 20;

/// How long after its head a body may take to be looked through.
const HELD_MAX: Duration = Duration::from_secs(5);

/// What is looked for in one response.
pub(crate) struct ScanTargets<'s> {
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
pub(crate) struct ScanResult {
    /// Why the response may not be shared, if it may not.
    pub(crate) reason: Option<Reason>,
    /// The templates of tags that it does not get.
    pub(crate) excepted: Excepted,
    /// All of the body, where it could be looked through.
    pub(crate) body: Bytes,
    /// It could not be looked through this time, which says nothing of the page.
    pub(crate) is_late: bool,
}

/// Why a body was not read.
enum Unread {
    /// It is too long, coded, in UTF-16 or a stream: it will be the next time.
    Unreadable,
    /// It took too long, or memory was full.
    Late,
}

impl From<Reason> for ScanResult {
    fn from(reason: Reason) -> Self {
        Self { reason: Some(reason), ..Self::default() }
    }
}

impl<'s> ScanTargets<'s> {
    /// In the answer to a request for `target`. `is_file`: it is a file that this program has read itself, which is what it is.
    pub(crate) fn of(
        route: &'s ActiveRoute,
        target: &str,
        head: &ResponseHead,
        is_file: bool,
        secrets: &'s Secrets,
    ) -> Self {
        let has_texts = !route.page.texts.is_empty() || !route.page.privates.is_empty();
        let is_known = route.policy.grant.is_granting() && has_texts;
        let should_be_page = head.status == StatusCode::OK && !is_file && !is_named_file(target, head);
        let tags = Some(&route.policy.tags).filter(|tags| should_be_page && tags.need_the_page());
        Self { secrets, page: (is_known && should_be_page).then_some(&*route.page), tags, is_compared: false }
    }

    /// The same of a response that is compared with another visitor's.
    pub(crate) fn compared(self) -> Self {
        Self { is_compared: true, ..self }
    }

    /// Whether there is nothing to look for.
    pub(crate) fn is_empty(&self) -> bool {
        self.secrets.is_empty() && self.page.is_none() && self.tags.is_none() && !self.is_compared
    }

    /// What is known of a response that can't be looked through.
    fn unseen(&self) -> ScanResult {
        let reason = match self.page {
            _ if !self.secrets.is_empty() => Some(Reason::CookieValueUnchecked),
            Some(_) => Some(Reason::PageUnchecked),
            None => self.is_compared.then_some(Reason::PageUnchecked),
        };
        ScanResult { reason, ..ScanResult::default() }
    }

    /// What its bytes say, once all are there.
    pub(crate) fn judge(&self, body: &[u8], trailers: Option<&Fields>) -> ScanResult {
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

/// Looks through a response, whose body goes on from where it was. `charge`: the account of what is held.
///
/// # Errors
/// The body has broken off.
pub(crate) async fn look_through(
    targets: &ScanTargets<'_>,
    head: &ResponseHead,
    body: &mut Body,
    charge: &mut HeldCharge,
) -> Result<ScanResult, Error> {
    if targets.secrets.occur_in_head(head) {
        return Ok(Reason::CookieValueInResponse.into());
    }
    Ok(match read_or_why(head, body, charge).await? {
        Ok((body, trailers)) => ScanResult { body: body.clone(), ..targets.judge(&body, trailers.as_ref()) },
        Err(unread) => ScanResult { is_late: matches!(unread, Unread::Late), ..targets.unseen() },
    })
}

/// All of a body and its trailer fields, which goes on from where it was; `None`: it can't be looked through.
///
/// # Errors
/// The body has broken off.
pub(crate) async fn read(
    head: &ResponseHead,
    body: &mut Body,
    charge: &mut HeldCharge,
) -> Result<Option<Whole>, Error> {
    Ok(read_or_why(head, body, charge).await?.ok())
}

/// A body and its trailer fields.
type Whole = (Bytes, Option<Fields>);

async fn read_or_why(
    head: &ResponseHead,
    body: &mut Body,
    charge: &mut HeldCharge,
) -> Result<Result<Whole, Unread>, Error> {
    if body.is_none() {
        return Ok(Ok((Bytes::new(), None)));
    }
    let is_coded = head.fields.combined("content-encoding").is_some_and(|codings| codings != b"identity");
    if is_coded || is_endless(head) || says_wide(head) || body.length() > Some(HELD_BYTES_MAX as u64) {
        return Ok(Err(Unread::Unreadable));
    }
    let mut read = BytesMut::new();
    let mut deadline = pin!(tokio::time::sleep(HELD_MAX));
    loop {
        // A piece that is not there yet stays with the body.
        let piece = tokio::select! {
            biased;
            piece = body.next() => piece?,
            () = &mut deadline => {
                put_back(body, read.freeze(), None);
                return Ok(Err(Unread::Late));
            }
        };
        match piece {
            BodyPiece::Data(data) => {
                let room = read.capacity();
                read.extend_from_slice(&data);
                let has_room = charge.grows(read.capacity().saturating_sub(room) as u64);
                if !has_room || read.len() > HELD_BYTES_MAX {
                    put_back(body, read.freeze(), None);
                    return Ok(Err(if has_room { Unread::Unreadable } else { Unread::Late }));
                }
            }
            BodyPiece::End(trailers) => {
                let read = read.freeze();
                put_back(body, read.clone(), Some(trailers.clone()));
                return Ok(Ok((read, trailers)));
            }
        }
    }
}

/// Puts what was read in front of the rest.
fn put_back(body: &mut Body, read: Bytes, end: Option<Option<Fields>>) {
    let rest = mem::replace(body, Body::none());
    *body = Body::begun(read, rest, end);
}
