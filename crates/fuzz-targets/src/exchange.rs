//! Fuzz target for whole exchanges under the rules of the cache. Input: a request, an empty line, the response to it, an empty
//! line, a later response (of a validation, or of a HEAD). The first line of a request is `METHOD target`, of a response its
//! status; fields follow as `Name: value`.
//!
//! Each rule has its own tests; this target combines fields that no test combines. It checks what must never happen, whatever the
//! origin and the client send: the cache stores a response that it must not store, shares a private one, or changes a field that
//! describes the stored bytes.

use crate::input::{blocks, fields};
use http::{Method, StatusCode};
use kasoku_semantics::credentials::{has_credentials, may_share};
use kasoku_semantics::directives::directives;
use kasoku_semantics::grant::{Grant, Ignored};
use kasoku_semantics::set_cookies::sets_cookie;
use kasoku_semantics::{
    Freshened, Freshness, HeadOutcome, Now, OriginFailure, Policy, Profile, Reuse, Vary, cookies, fields_to_store,
    freshen, freshness, goes_into_not_modified, head_response, invalidated_uris, invalidates, may_look_up, part,
    precondition, range, request_directives, reuse, stale_on_failure, storable, vary,
};
use kasoku_wire::{Fields, RequestHead, ResponseHead};
use url::Url;

const ASKED: Now = Now { unix_ms: 1_795_000_000_000, mono_ms: 5_000_000 };

pub(crate) fn run(data: &[u8]) {
    let [request, response, update] = &blocks(data, 3)[..] else { return };
    let (request, response, update) = (request_of(request), response_of(response), response_of(update));
    for policy in policies() {
        let answered = ASKED.after(2_000);
        let freshness = freshness(&request, &response, ASKED, answered, &policy);
        if storable(&request, &response, &freshness, &policy).is_ok() {
            kept(&request, &response, &freshness, &policy);
        }
        let stored = ResponseHead { fields: fields_to_store(&response, answered, &policy), ..response.clone() };
        stored_fields(&stored, answered, &policy);
        for seconds in [0, 1, 60, 86_400, 4_000_000_000] {
            used(&request, &freshness, &policy, answered.after(seconds * 1000));
        }
        updated(&stored, &update, answered, &policy);
        delivered(&request, &stored, answered);
    }
    for policy in policies().filter(|policy| policy.grant.is_granting()) {
        overruled(&request, &response, &update, policy);
    }
    invalidated(&request, &response);
}

/// Both profiles, each without a grant and with a lifetime for responses that state none: a grant must not permit what is
/// forbidden.
fn policies() -> impl Iterator<Item = Policy> {
    let of = |ttl_seconds| {
        [Profile::Safe, Profile::Rfc].map(|profile| {
            let grant = Grant { ttl_seconds, ..Grant::default() };
            Policy { grant, ..Policy::new(profile) }
        })
    };
    of(0).into_iter().chain(of(60))
}

/// Whatever the operator overrules, a request with Authorization or cookies gets no granted lifetime, and no stored response sets a
/// cookie.
fn overruled(request: &RequestHead, response: &ResponseHead, update: &ResponseHead, mut policy: Policy) {
    policy.grant.ignore = Ignored::ALL.to_vec();
    policy.grant.ttl_override_seconds = 60;
    let freshness = freshness(request, response, ASKED, ASKED, &policy);
    if freshness.is_granted() {
        assert!(matches!(request.method, Method::GET | Method::HEAD));
        assert!(!request.fields.contains("authorization") && cookies::pairs(&request.fields).next().is_none());
    }
    if storable(request, response, &freshness, &policy).is_ok() {
        let stored = ResponseHead { fields: fields_to_store(response, ASKED, &policy), ..response.clone() };
        assert!(!sets_cookie(&stored.fields));
        if let Freshened::Updated(new) = freshen(&stored, update, ASKED, &policy) {
            assert!(!sets_cookie(&new.fields));
        }
    }
}

fn request_of(lines: &[Vec<u8>]) -> RequestHead {
    let Some((first, rest)) = lines.split_first() else { return RequestHead::new(Method::GET, "/") };
    let first = String::from_utf8_lossy(first).into_owned();
    let (method, target) = first.split_once(' ').unwrap_or(("GET", &first));
    let target: String = target.chars().filter(|c| c.is_ascii_graphic() && *c != '#').collect();
    let method = Method::from_bytes(method.as_bytes()).unwrap_or(Method::GET);
    RequestHead { fields: fields(rest), ..RequestHead::new(method, format!("/{}", target.trim_start_matches('/'))) }
}

fn response_of(lines: &[Vec<u8>]) -> ResponseHead {
    let Some((first, rest)) = lines.split_first() else { return ResponseHead::new(StatusCode::OK) };
    let status = StatusCode::from_bytes(first).unwrap_or(StatusCode::OK);
    ResponseHead { fields: fields(rest), ..ResponseHead::new(status) }
}

/// The cache stores no response whose storage the client, the origin or the profile forbids.
fn kept(request: &RequestHead, response: &ResponseHead, freshness: &Freshness, policy: &Policy) {
    let control = directives(response, policy).control;
    assert!(!request_directives(&request.fields).no_store && !control.private.is_all());
    assert!(!control.no_store || control.must_understand);
    assert!(matches!(request.method, Method::GET | Method::POST) && !response.status.is_informational());
    assert!(request.method == Method::GET || freshness.lifetime > 0 || freshness.is_explicit());
    assert_ne!(vary(&response.fields), Vary::Star);
    assert!(response.status != StatusCode::NOT_MODIFIED);
    assert!(response.status != StatusCode::PARTIAL_CONTENT || part(response, None).is_ok());
    assert_eq!(may_share(request, response, policy), Ok(()));
    let says_so = control.public || control.s_maxage.is_some() || control.must_revalidate;
    assert!(says_so || !request.fields.contains("authorization"), "shared although it answers Authorization");
    if policy.profile == Profile::Safe {
        assert!(!sets_cookie(&response.fields), "a visitor's cookie is shared");
        let says_so = control.public || control.s_maxage.is_some();
        // An empty Cookie field identifies no visitor.
        let has_cookies = cookies::pairs(&request.fields).next().is_some();
        assert!(says_so || !has_credentials(&request.fields) || !has_cookies);
    }
}

/// Stored fields contain nothing of a connection or a visitor, and storing them again changes nothing.
fn stored_fields(stored: &ResponseHead, answered: Now, policy: &Policy) {
    for name in ["connection", "transfer-encoding", "age", "proxy-authenticate", "upgrade"] {
        assert!(!stored.fields.contains(name), "{name} is stored");
    }
    assert!(policy.profile == Profile::Rfc || !sets_cookie(&stored.fields));
    assert_eq!(fields_to_store(stored, answered, policy), stored.fields);
    assert_eq!(stored.fields.count("date"), 1);
}

/// A response is served as fresh only if it is fresh, and never stale if it must be validated.
fn used(request: &RequestHead, freshness: &Freshness, policy: &Policy, now: Now) {
    let asked = request_directives(&request.fields);
    let age = freshness.age(now);
    assert!(age >= freshness.initial_age);
    assert_eq!(freshness.is_fresh(now), age < freshness.lifetime);
    let may_be_stale = !freshness.no_cache && !freshness.must_revalidate;
    match reuse(freshness, &asked, policy, now) {
        Reuse::Fresh => assert!(freshness.is_fresh(now) && !freshness.no_cache),
        Reuse::Stale(_) | Reuse::StaleWhileRevalidate => assert!(may_be_stale && !freshness.is_fresh(now)),
        Reuse::Validate(reason) => assert!(!reason.id().is_empty()),
    }
    for failure in [OriginFailure::Disconnected, OriginFailure::ServerError(StatusCode::BAD_GATEWAY)] {
        let allowed = stale_on_failure(freshness, &asked, failure, policy, now);
        assert!(allowed.is_err() || may_be_stale, "served stale although it must be validated");
    }
    let _ = may_look_up(request);
}

/// An update never changes a field that describes the stored bytes, and adds no field that must not be stored.
fn updated(stored: &ResponseHead, update: &ResponseHead, answered: Now, policy: &Policy) {
    let new = match freshen(stored, update, answered, policy) {
        Freshened::Updated(new) => Some(new),
        Freshened::Drop(reason) => {
            assert!(!reason.id().is_empty());
            None
        }
    };
    let by_head = match head_response(stored, update, answered, policy) {
        HeadOutcome::Update(new) => Some(new),
        HeadOutcome::Invalidate(_) | HeadOutcome::Ignore => None,
    };
    for new in [new, by_head].into_iter().flatten() {
        assert_eq!(new.status, stored.status);
        let describing = ["etag", "content-length", "content-encoding", "content-range", "content-md5"];
        let withheld = withheld(update, policy);
        for name in describing.into_iter().filter(|name| !withheld.iter().any(|one| one == name)) {
            assert_eq!(new.fields.combined(name), stored.fields.combined(name), "{name} changed without the bytes");
        }
        assert!(!new.fields.contains("connection") && !new.fields.contains("age"));
        assert!(policy.profile == Profile::Rfc || !sets_cookie(&new.fields));
        assert!(
            update.fields.count("vary") == 0 || selecting(&new.fields, policy) == selecting(&stored.fields, policy)
        );
    }
}

/// What a Vary tells variants apart by. Where a lifetime is granted, fields that the origin does not get, or that are in the key anyway, tell
/// nothing apart.
fn selecting(fields: &Fields, policy: &Policy) -> Vary {
    match vary(fields) {
        Vary::Fields(_) if policy.grant.is_granting() => Vary::None,
        other => other,
    }
}

/// The fields that `private` or `no-cache` of an update name. The cache removes them, even those that describe the stored bytes.
fn withheld(update: &ResponseHead, policy: &Policy) -> Vec<String> {
    let control = directives(update, policy).control;
    [control.private.fields(), control.no_cache.fields()].concat()
}

/// A 304 carries no field that describes content, and each range lies within the whole.
fn delivered(request: &RequestHead, stored: &ResponseHead, now: Now) {
    let _ = precondition(request, stored, kasoku_semantics::Validators::Any, now, now.after(1_000));
    let sent: Fields = stored.fields.iter().filter(|(name, _)| goes_into_not_modified(name, true)).collect();
    assert!(!["content-length", "content-type", "content-range"].iter().any(|name| sent.contains(name)));
    if let kasoku_semantics::RangeOutcome::Ranges(ranges) = range(request, stored, 1000) {
        assert!(request.method == Method::GET && ranges.iter().all(|one| one.last < 1000));
    }
}

/// Only an unsafe method invalidates, and never a URI of another origin.
fn invalidated(request: &RequestHead, response: &ResponseHead) {
    if request.method.is_safe() {
        assert!(!invalidates(&request.method, response.status));
    }
    let uri = format!("http://example.org{}", request.target);
    let Ok(target) = Url::parse(&uri) else { return };
    let named = invalidated_uris(&uri, &response.fields);
    assert!(named.len() <= kasoku_semantics::invalidation::URIS_MAX);
    for one in named {
        let url = Url::parse(&one).expect("an absolute URI");
        assert_eq!(url.origin(), target.origin(), "{one} is of another origin");
        assert!(url.fragment().is_none());
    }
}
