//! Makes the response as caching decisions read it: without what the operator overrules
//! ([`Grant::ignore`](crate::grant::Grant::ignore)), and without the cookies that are dropped.

use crate::Policy;
use crate::deleted_cookies::DeletedCookies;
use crate::grant::Ignored;
use crate::set_cookies::{is_dropped, is_set_cookie};
use crate::vary::{Vary, vary};
use kasoku_wire::field::list;
use kasoku_wire::{Fields, RequestHead, ResponseHead};
use std::borrow::Cow;
use std::ops::Deref;

/// The response as caching decisions read it: without what the operator overrules and without dropped cookies.
pub(crate) struct EffectiveResponse<'r> {
    head: Cow<'r, ResponseHead>,
    /// Whether the operator overruled a part of it; dropping a cookie overrules nothing.
    pub is_overruled: bool,
}

impl Deref for EffectiveResponse<'_> {
    type Target = ResponseHead;

    fn deref(&self) -> &ResponseHead {
        &self.head
    }
}

/// `response` without what the operator overrules and without dropped cookies, where the grant holds for the answer to `request`.
pub(crate) fn effective<'r>(
    request: &RequestHead,
    response: &'r ResponseHead,
    policy: &Policy,
) -> EffectiveResponse<'r> {
    let deleted = DeletedCookies::of(request, response, policy);
    let drops =
        |name: &[u8], value: &[u8]| is_dropped(name, value, policy) || deleted.have(name, value, &response.fields);
    without_ignored(response, policy, policy.grant.holds_for(request), drops)
}

/// The same for an update (a 304 or a response to HEAD) of a response that was stored under a grant. A cookie that the update sets
/// is not dropped: an origin that begins a session with its update has not confirmed the stored response, which belongs to no
/// session.
pub(crate) fn effective_update<'r>(update: &'r ResponseHead, policy: &Policy) -> EffectiveResponse<'r> {
    without_ignored(update, policy, policy.grant.is_granting(), |_, _| false)
}

/// Removes what the operator overrules and what `drops` names, if the grant holds. Clones the head only where it removes something.
fn without_ignored<'r>(
    response: &'r ResponseHead,
    policy: &Policy,
    holds: bool,
    drops: impl Fn(&[u8], &[u8]) -> bool,
) -> EffectiveResponse<'r> {
    let ignore = &policy.grant.ignore;
    let is_overruled = holds && response.fields.iter().any(|(name, value)| is_overruled(name, value, policy));
    let drops_some = || response.fields.iter().any(|(name, value)| drops(name, value));
    if !(is_overruled || (holds && drops_some())) {
        return EffectiveResponse { head: Cow::Borrowed(response), is_overruled: false };
    }
    let mut effective = response.clone();
    effective.fields = Fields::new();
    for (name, value) in response.fields.iter() {
        if is_ignored_field(name, ignore) || drops(name, value) {
            continue;
        }
        if !is_control(name, policy) || !has_ignored(value, ignore) {
            effective.fields.push(name, value);
            continue;
        }
        let kept: Vec<&[u8]> = list::split(value).map(list::trim).filter(|one| !is_ignored(one, ignore)).collect();
        if !kept.is_empty() {
            effective.fields.push(name, kept.join(&b", "[..]));
        }
    }
    EffectiveResponse { head: Cow::Owned(effective), is_overruled }
}

/// Whether a line is overruled or dropped, or holds a directive that is overruled.
pub(crate) fn is_overruled_or_dropped(name: &[u8], value: &[u8], policy: &Policy) -> bool {
    is_overruled(name, value, policy) || is_dropped(name, value, policy)
}

fn is_overruled(name: &[u8], value: &[u8], policy: &Policy) -> bool {
    let ignore = &policy.grant.ignore;
    is_ignored_field(name, ignore) || (is_control(name, policy) && has_ignored(value, ignore))
}

fn is_ignored_field(name: &[u8], ignore: &[Ignored]) -> bool {
    ignore.iter().any(|one| match one {
        Ignored::Expires | Ignored::Vary => name.eq_ignore_ascii_case(one.word().as_bytes()),
        Ignored::SetCookie => is_set_cookie(name),
        _ => false,
    })
}

fn is_control(name: &[u8], policy: &Policy) -> bool {
    let is = |one: &str| name.eq_ignore_ascii_case(one.as_bytes());
    is("cache-control") || policy.targeted_fields.iter().any(|one| is(one))
}

fn has_ignored(value: &[u8], ignore: &[Ignored]) -> bool {
    list::split(value).any(|member| is_ignored(list::trim(member), ignore))
}

/// Whether the operator overrules a directive.
pub(crate) fn is_ignored(member: &[u8], ignore: &[Ignored]) -> bool {
    let name = directive_name(member);
    ignore.iter().any(|one| match one {
        Ignored::MustRevalidate if name.eq_ignore_ascii_case(b"proxy-revalidate") => true,
        Ignored::NoStore
        | Ignored::Private
        | Ignored::NoCache
        | Ignored::MaxAge
        | Ignored::SMaxage
        | Ignored::MustRevalidate => name.eq_ignore_ascii_case(one.word().as_bytes()),
        Ignored::Expires | Ignored::SetCookie | Ignored::Vary => false,
    })
}

pub(crate) fn directive_name(member: &[u8]) -> &[u8] {
    list::trim(member.split(|byte| matches!(byte, b'=' | b';')).next().unwrap_or_default())
}

/// What tells the variants of this response apart: the request fields that its Vary nominates, those that are in the key anyway, and the
/// cookies that it deletes ([`deleted_cookies`](crate::deleted_cookies)). Lower case, sorted, unique. Of a `Vary` that can't be followed,
/// nothing: such a response is not stored.
pub fn nominated(request: &RequestHead, response: &ResponseHead, policy: &Policy) -> Vec<String> {
    let mut names = with_key(vary(&effective(request, response, policy).fields), policy);
    let deleted = DeletedCookies::of(request, response, policy).into_names();
    if !deleted.is_empty() {
        names.extend(deleted);
        names.sort_unstable();
    }
    names
}

/// The fields that a `Vary` nominates, and those that are in the key anyway.
pub(crate) fn with_key(vary: Vary, policy: &Policy) -> Vec<String> {
    let mut names = match vary {
        Vary::Fields(names) => names,
        Vary::None | Vary::Star => Vec::new(),
    };
    names.append(&mut policy.grant.key());
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
#[path = "effective_tests.rs"]
mod tests;
