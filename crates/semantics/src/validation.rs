//! Validates stored responses with the origin (RFC 9111 section 4.3): makes the conditional request, and updates the stored
//! response from a 304 or a response to HEAD.
//!
//! This file has only the rules. `cache/src/verdict.rs` (`on_not_modified`) refreshes a stale response by them;
//! `engine/src/cache/fetch.rs` (`in_the_background`) starts a refresh that no client waits for.
//!
//! A 304 may carry what forbids to keep the response (`no-store`, `private`, in profile safe Set-Cookie). Then the entry is
//! dropped, and the stored response, which the 304 has just confirmed, answers this one request. Fields that describe the stored
//! bytes (Content-Encoding, Content-Length, Content-Range, ETag …) change only together with the bytes.

use crate::directives::directives;
use crate::effective::{effective_update, with_key};
use crate::set_cookies::sets_cookie;
use crate::storable::forbids;
use crate::stored_fields::{add_missing_date, storable_fields};
use crate::vary::{Vary, vary};
use crate::{Freshness, Now, Policy, Reason, corrected_initial_age, freshness};
use http::StatusCode;
use kasoku_wire::field::date;
use kasoku_wire::field::etag::EntityTag;
use kasoku_wire::{Fields, RequestHead, ResponseHead};

/// Replaces the client's conditions in `request` with those that validate `stored`. `false`: `stored` has no validator, and the
/// request is now unconditional.
///
/// A client's If-Range is removed together with its Range, since it may name another representation than `stored`. A Range without
/// If-Range stays.
pub fn make_conditional(request: &mut RequestHead, stored: &ResponseHead) -> bool {
    if request.fields.remove("if-range") > 0 {
        request.fields.remove("range");
    }
    for name in ["if-none-match", "if-modified-since", "if-match", "if-unmodified-since"] {
        request.fields.remove(name);
    }
    //= RFC 9111 section 4.3.1
    //# MUST send the relevant entity tags (using If-Match, If-None-Match, or If-Range) if the entity tags were provided in
    //# the stored response(s) being validated.
    let tag = EntityTag::of(&stored.fields);
    if let Some(tag) = tag {
        request.fields.push("If-None-Match", tag.write());
    }
    let modified = stored.fields.only("last-modified").filter(|value| date::parse(value, 0).is_some());
    if let Some(modified) = modified {
        request.fields.push("If-Modified-Since", modified);
    }
    tag.is_some() || modified.is_some()
}

/// The result of applying a 304 to a stored response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Freshened {
    /// The stored response with the 304's fields; status and body as stored.
    Updated(ResponseHead),
    /// The entry must be dropped; the stored response may still answer the request that was waiting for the 304.
    Drop(Reason),
}

/// Updates `stored` from the 304 that confirmed it. The caller computes its freshness anew, with
/// [`freshness_after_validation`], and asks [`may_share`](crate::credentials::may_share) whether the request that brought
/// the 304 may update a shared entry at all.
pub fn freshen(stored: &ResponseHead, not_modified: &ResponseHead, response_time: Now, policy: &Policy) -> Freshened {
    match refuses_update(stored, not_modified, policy) {
        Some(reason) => Freshened::Drop(reason),
        None => Freshened::Updated(updated(stored, not_modified, response_time, policy)),
    }
}

/// The freshness of a response that a 304 (or a response to HEAD) has just updated: its lifetime follows from the updated head, its
/// age from the update.
pub fn freshness_after_validation(
    request: &RequestHead,
    updated: &ResponseHead,
    update: &ResponseHead,
    request_time: Now,
    response_time: Now,
    policy: &Policy,
) -> Freshness {
    freshness(request, updated, request_time, response_time, policy).with_initial_age(corrected_initial_age(
        update,
        request_time,
        response_time,
    ))
}

/// What a response to HEAD says about a stored response to GET.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeadOutcome {
    /// Both heads are of the same representation: this is the stored response with the new fields.
    Update(ResponseHead),
    /// The response to HEAD is of another representation, or forbids to keep the stored response, which is now stale.
    Invalidate(Reason),
    /// The response to HEAD says nothing about the stored response.
    Ignore,
}

/// Compares a response to HEAD with what is stored for GET (RFC 9111 section 4.3.5). The caller asks
/// [`may_share`](crate::credentials::may_share) first, as for [`freshen`].
pub fn head_response(stored: &ResponseHead, head: &ResponseHead, response_time: Now, policy: &Policy) -> HeadOutcome {
    if head.status != StatusCode::OK {
        return HeadOutcome::Ignore;
    }
    if stored.status != StatusCode::OK || !same_representation(stored, head) {
        return HeadOutcome::Invalidate(Reason::HeadMismatch);
    }
    if let Some(reason) = refuses_update(stored, head, policy) {
        return HeadOutcome::Invalidate(reason);
    }
    //= RFC 9111 section 4.3.5
    //# If a cache updates a stored response with the metadata provided in a HEAD response, the cache MUST use the header
    //# fields provided in the HEAD response to update the stored response (see Section 3.2).
    HeadOutcome::Update(updated(stored, head, response_time, policy))
}

/// Whether the validators and the length in the response to HEAD, as far as it has them, are those of the stored response.
fn same_representation(stored: &ResponseHead, head: &ResponseHead) -> bool {
    let same = |name| head.fields.first(name).is_none() || head.fields.only(name) == stored.fields.only(name);
    same("etag") && same("last-modified") && same("content-length")
}

/// Why `stored` may not be kept after this update, if it may not.
fn refuses_update(stored: &ResponseHead, update: &ResponseHead, policy: &Policy) -> Option<Reason> {
    let (stored, update) = (&*effective_update(stored, policy), &*effective_update(update, policy));
    if let Some(reason) = forbids(update, &directives(update, policy), policy) {
        return Some(reason);
    }
    if policy.protects_visitors() && sets_cookie(&update.fields) {
        return Some(Reason::SetCookie);
    }
    match vary(&update.fields) {
        // A missing Vary changes nothing; an empty one says that no field selects the response any more.
        Vary::None if !update.fields.contains("vary") => None,
        Vary::Star => Some(Reason::VaryStar),
        // The entry is keyed by the fields of the stored Vary; under another Vary it would answer the wrong requests.
        fields => {
            let before = vary(&stored.fields);
            let is_same = before != Vary::Star && selecting(fields, policy) == selecting(before, policy);
            (!is_same).then_some(Reason::VaryChanged)
        }
    }
}

/// The fields by which a Vary tells variants apart. Where a lifetime is granted, a field that the origin does not get selects no variant, and Kasoku
/// itself tells clients that the response varies by such fields.
fn selecting(vary: Vary, policy: &Policy) -> Vec<String> {
    let mut names = with_key(vary, policy);
    if policy.grant.is_granting() {
        names.retain(|name| policy.grant.reaches_origin(name.as_bytes()));
    }
    names
}

/// The head of the stored response after the part of `new` is added to it. The caller has checked
/// [`combinable`](crate::combinable).
//= RFC 9111 section 3.4
//# When combining the new response with one or more stored responses, a cache MUST update the stored response header
//# fields using the header fields provided in the new response, as per Section 3.2.
pub fn combined_head(stored: &ResponseHead, new: &ResponseHead, response_time: Now, policy: &Policy) -> ResponseHead {
    updated(stored, new, response_time, policy)
}

/// `stored` with the fields of `update`, or with its Date alone where the validators of `update` are another representation's.
//= RFC 9111 section 4.3.4
//# For each stored response identified, the cache MUST update its header fields with the header fields provided in the
//# 304 (Not Modified) response, as per Section 3.2.
pub(crate) fn updated(
    stored: &ResponseHead,
    update: &ResponseHead,
    response_time: Now,
    policy: &Policy,
) -> ResponseHead {
    let mut result = stored.clone();
    let mut new = storable_fields(update, policy);
    add_missing_date(&mut new, response_time);
    if identifies(stored, update) {
        new.retain(|name, _| !describes_content(name));
    } else {
        //= RFC 9111 section 4.3.4
        //# If none of the initial set contains at least one of the same strong validators, then the cache MUST NOT use
        //# the new response to update any stored responses.
        // The status still answers Kasoku's If-None-Match (RFC 9110 section 15.4.5), so the stored response is current as of now.
        new.retain(|name, _| name.eq_ignore_ascii_case(b"date"));
    }
    replace(&mut result.fields, &new);
    // The new no-cache or private may name fields that were stored before.
    result.fields = storable_fields(&result, policy);
    result
}

/// Whether the update's validators are those of the stored response (RFC 9111 section 4.3.4). An update without validators counts
/// as matching, since Kasoku asked about one response only.
fn identifies(stored: &ResponseHead, update: &ResponseHead) -> bool {
    match (EntityTag::of(&update.fields), EntityTag::of(&stored.fields)) {
        (Some(new), Some(old)) if new.weak => new.weak_eq(&old),
        (Some(new), Some(old)) => new.strong_eq(&old),
        (Some(_), None) => false,
        (None, _) => match update.fields.only("last-modified") {
            Some(new) => stored.fields.only("last-modified").is_none_or(|old| old == new),
            None => true,
        },
    }
}

/// Whether the field describes the stored bytes, and so changes only together with them (RFC 9111 section 3.2: "Header fields that
/// the cache's stored response depends upon", "and the Content-Length header field").
fn describes_content(name: &[u8]) -> bool {
    const NAMES: [&str; 6] =
        ["content-encoding", "content-length", "content-md5", "content-range", "etag", "content-digest"];
    NAMES.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()))
}

//= RFC 9111 section 3.2
//# When doing so, the cache MUST add each header field in the provided response to the stored response, replacing field
//# values that are already present, with the following exceptions:
fn replace(fields: &mut Fields, new: &Fields) {
    fields.retain(|name, _| !new.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)));
    fields.extend(new);
}

#[cfg(test)]
#[path = "validation_tests.rs"]
mod tests;
