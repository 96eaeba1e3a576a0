//! The checker: says what is wrong with the response to a request.
//!
//! Everything follows from the page's properties, the claim in the head, the bytes, and the history of versions. The checker believes
//! the program under test in one thing only: in Cache-Status it says *by which rule* it used a stored response. The page and the
//! request must allow that rule, and the checker applies the rule's bound.
//!
//! **How stale is too stale.** The origin made a response with lifetime L at a time that is in the claim, and its version was current
//! then. A cache counts the age in two spans, before and after it received the response, each rounded down to whole seconds (RFC 9111
//! section 4.2.3; the resolution of Age). So `age < L` means less than L + 1 s between the claim and the decision to serve, and
//! `age <= L` (max-age, max-stale, min-fresh) less than L + 2 s. If a client is known to have had the head that the origin made for
//! it, the cache had it by then: only the second span counts from there, and the bound is a second lower. The decision comes after
//! the request was sent, however late threads are scheduled, so a bound from the time of *sending* needs no allowance for load.
//! [`SLACK_MICROS`] covers the rest: clocks that count milliseconds, and a worker that reads its clock once for a turn of its event
//! loop, of which one may last this long.
//!
//! A response that was made for this very request must have been made after the request was sent: no slack at all.

use crate::ask::ClientRequest;
use crate::cache_status::CacheStatus;
use crate::claim::Claim;
use crate::content;
use crate::got::ClientResponse;
use crate::page::{Audience, DISCONNECTED_SECONDS, Validator};
use crate::world::World;
use kasoku_semantics::policy::Profile;

/// The slack in microseconds; see the [module](self).
pub const SLACK_MICROS: u64 = 250_000;

/// What is wrong with the response; empty: nothing.
pub fn check(world: &World, ask: &ClientRequest<'_>, got: &ClientResponse) -> Vec<String> {
    let mut wrong = Vec::new();
    if got.ends_with_connection && ask.minor == 1 {
        wrong.push("framing: a body without a length in HTTP/1.1".to_owned());
    }
    let Some(claim) = got.claim() else {
        wrong.extend(own_answer(ask, got));
        return wrong;
    };
    if claim.of.page != ask.page.number {
        wrong.push(format!("mixed objects: the head is of page {}", claim.of.page));
        return wrong;
    }
    wrong.extend(identity(ask, got, &claim).err());
    wrong.extend(visitor(ask, got, &claim).err());
    wrong.extend(age(world, ask, got, &claim).err());
    wrong.extend(content::check(ask, got, &claim).err());
    wrong
}

/// Checks an answer without a claim. It is the program's own, and few of these are in order here.
fn own_answer(ask: &ClientRequest<'_>, got: &ClientResponse) -> Option<String> {
    let cache = got.cache();
    match got.head.status {
        // The origin does close connections without an answer.
        502 => None,
        504 if ask.directives.only_if_cached && !cache.hit && cache.fwd.is_none() => None,
        416 if !ask.ranges.is_empty() => content::unsatisfiable(ask, got).err(),
        status => Some(format!("an unexpected answer of Kasoku itself: {status}")),
    }
}

/// Checks that version, variant and validators agree.
fn identity(ask: &ClientRequest<'_>, got: &ClientResponse, claim: &Claim) -> Result<(), String> {
    if claim.of.variant != ask.variant() {
        return Err(format!("mixed variants: variant {} to a request for {}", claim.of.variant, ask.variant()));
    }
    if claim.of.version < ask.floor {
        let (version, floor) = (claim.of.version, ask.floor);
        return Err(format!("invalidated: version {version} after version {floor} was known to be the oldest allowed"));
    }
    let weak = if ask.page.validator == Validator::Weak { "W/" } else { "" };
    if let Some(tag) = got.head.fields.only("etag")
        && tag != format!("{weak}{}", claim.of.etag())
    {
        return Err(format!("the ETag is of another representation: {tag}, not {}", claim.of.etag()));
    }
    let modified = got.head.fields.only("last-modified");
    if modified.is_some() && modified != ask.page.last_modified(claim.of.version).map(crate::origin::date).as_deref() {
        return Err(format!("Last-Modified is of another version: {modified:?}"));
    }
    Ok(())
}

/// Checks that a personal page is the asking visitor's own, and that a shared page has no visitor.
fn visitor(ask: &ClientRequest<'_>, got: &ClientResponse, claim: &Claim) -> Result<(), String> {
    let (page, cache) = (ask.page, got.cache());
    let own = page.label(ask.visitor);
    let is_reused = cache.hit || cache.collapsed;
    if !is_reused && claim.by != ask.id {
        return Err(format!("an answer to request {} that is marked as made for this one, {}", claim.by, ask.id));
    }
    if is_reused && !page.is_shareable() {
        return Err("a private or no-store page was shared".to_owned());
    }
    if cache.stored && !page.is_shareable() {
        return Err("a private or no-store page was stored".to_owned());
    }
    let expected = if is_reused && page.audience == Audience::Personal { 0 } else { own };
    if claim.of.visitor != expected {
        return Err(format!("foreign visitor: the page of {} for {}", claim.of.visitor, ask.visitor));
    }
    // A 304 in profile rfc may keep the cookie of an earlier response; in profile safe, no stored response has a cookie.
    let cookie = got.head.fields.only("set-cookie");
    if page.profile == Profile::Safe && cookie.is_some_and(|cookie| cookie != format!("s={}", ask.id)) {
        return Err(format!("a cookie for another visitor: {cookie:?}"));
    }
    Ok(())
}

/// Checks that the response is no staler than allowed.
fn age(world: &World, ask: &ClientRequest<'_>, got: &ClientResponse, claim: &Claim) -> Result<(), String> {
    let cache = got.cache();
    if ask.directives.only_if_cached && !cache.hit {
        return Err("only-if-cached went to the origin".to_owned());
    }
    let is_reused = cache.hit || cache.collapsed;
    let allowed = if is_reused { allowed_micros(ask, &cache)? } else { 0 };
    let age = ask.sent_at.saturating_sub(claim.at);
    if age > allowed {
        return Err(format!("too stale: made {age} µs before it was asked for, {allowed} are allowed"));
    }
    let allowed_since_heard = allowed.saturating_sub(1_000_000);
    let heard = world.heard(claim.of.page, claim.serial).filter(|_| is_reused);
    if let Some(since) = heard.map(|heard| ask.sent_at.saturating_sub(heard)).filter(|it| *it > allowed_since_heard) {
        return Err(format!("too stale: received {since} µs before, {allowed_since_heard} are allowed"));
    }
    // The same check by the history alone, independent of the time in the head.
    let ended = world.ended(claim.of.page, claim.of.version);
    if let Some(ended) = ended.filter(|ended| ended.saturating_add(allowed) < ask.sent_at) {
        let ago = ask.sent_at - ended;
        return Err(format!("too stale: version {} ended {ago} µs before, {allowed} are allowed", claim.of.version));
    }
    if cache.hit {
        let said: u64 = got.head.fields.only("age").and_then(|age| age.parse().ok()).ok_or("a hit without Age")?;
        if (said + 2) * 1_000_000 + SLACK_MICROS < age {
            return Err(format!("Age: {said}, but made {age} µs before it was asked for"));
        }
    }
    Ok(())
}

/// By how many microseconds a reused response may be older than the request.
fn allowed_micros(ask: &ClientRequest<'_>, cache: &CacheStatus) -> Result<u64, String> {
    let caching = &ask.page.caching;
    let lifetime = caching.lifetime.ok_or("a no-cache response was used without validation")?;
    let detail = cache.detail.as_deref().unwrap_or_default();
    let may_be_stale = !caching.must_revalidate;
    let max_stale = ask.directives.max_stale.filter(|_| may_be_stale);
    let seconds = match detail {
        "hit" if cache.hit => Some(lifetime + 1),
        "hit-stale-while-revalidate" if caching.stale_while_revalidate > 0 => {
            Some(lifetime + caching.stale_while_revalidate + 1)
        }
        "hit-max-stale" => max_stale.map(|seconds| lifetime + seconds + 2),
        "hit-stale-error" => caching.stale_if_error.map(|seconds| lifetime + seconds + 1),
        "hit-stale-disconnected" if may_be_stale && caching.stale_if_error.is_none() => {
            Some(lifetime + DISCONNECTED_SECONDS + 1)
        }
        // A request that has joined another's fill gets what a look-up would have given at that moment.
        _ if cache.collapsed => {
            let stale = caching.stale_while_revalidate.max(max_stale.map_or(0, |seconds| seconds + 1));
            Some(lifetime + stale + 1)
        }
        _ => None,
    };
    let mut seconds = seconds.ok_or_else(|| format!("served as {detail}, which neither page nor request permits"))?;
    if ask.page.profile == Profile::Rfc && detail != "hit-stale-error" {
        if ask.directives.no_cache || ask.directives.max_age == Some(0) {
            return Err("a stored response to a request with no-cache".to_owned());
        }
        seconds = seconds.min(ask.directives.max_age.map_or(u64::MAX, |seconds| seconds + 2));
        let min_fresh = ask.directives.min_fresh.unwrap_or(0);
        if min_fresh > lifetime {
            return Err("a stored response that cannot stay fresh that long".to_owned());
        }
        seconds = seconds.min(if min_fresh > 0 { lifetime - min_fresh + 2 } else { u64::MAX });
    }
    Ok(seconds * 1_000_000 + SLACK_MICROS)
}
