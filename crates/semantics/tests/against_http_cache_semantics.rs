//! Compares storability and freshness with the crate http-cache-semantics, on random heads.
//!
//! Two implementations that agree on thousands of heads are less likely to share a misreading of the RFC. Where they differ, the difference
//! must belong to a class listed here, each with its reason: RFC 9111 differs from RFC 7234, or one of the two is stricter than necessary.
//! A difference outside the classes fails the test. The comparison uses profile rfc, since profile safe differs on purpose.

#![allow(clippy::unwrap_used, reason = "the heads are our own")]

use http::{Method, StatusCode};
use http_cache_semantics::{CacheOptions, CachePolicy};
use kasoku_semantics::{Freshness, LifetimeSource, Now, Policy, Profile, Reason, freshness, storable};
use kasoku_wire::field::age;
use kasoku_wire::field::cache_control::{CacheControl, DirectiveScope};
use kasoku_wire::field::date;
use kasoku_wire::{Fields, RequestHead, ResponseHead};
use proptest::prelude::*;
use std::time::{Duration, SystemTime};

const NOW: Now = Now { unix_ms: 1_795_000_000_000, mono_ms: 1_000_000_000 };

/// How long a response has been stored, in seconds. No value falls on the same second as a lifetime in the heads, so rounding decides
/// nothing.
const RESIDENT_SECONDS: [u64; 4] = [0, 7, 777, 70_007];

#[derive(Clone, Debug)]
struct Exchange {
    request: RequestHead,
    response: ResponseHead,
    resident: u64,
}

fn exchange() -> impl Strategy<Value = Exchange> {
    let methods = prop::sample::select(vec![
        Method::GET,
        Method::GET,
        Method::GET,
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
    ]);
    let request_fields = prop::collection::vec(
        prop::sample::select(vec![
            ("Authorization", "x"),
            ("Cookie", "a=b"),
            ("Cache-Control", "no-store"),
            ("Cache-Control", "max-age=0"),
        ]),
        0..2,
    );
    let statuses = prop_oneof![
        6 => Just(200_u16),
        4 => prop::sample::select(vec![203, 204, 206, 299, 300, 301, 302, 304, 307, 404, 410, 412, 416, 500, 503, 599]),
    ];
    let resident = prop::sample::select(RESIDENT_SECONDS.to_vec());
    (methods, request_fields, statuses, response_fields(), resident).prop_map(
        |(method, request_fields, status, response_fields, resident)| {
            let mut request = RequestHead::new(method, "/").with("Host", "example.org");
            request_fields.iter().for_each(|(name, value)| request.fields.push(name, value));
            let mut response = ResponseHead::new(StatusCode::from_u16(status).unwrap());
            response.fields = response_fields.iter().map(|(name, value)| (name, value)).collect();
            Exchange { request, response, resident }
        },
    )
}

fn response_fields() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let directives = vec![
        "max-age=0",
        "max-age=100",
        "max-age=5000",
        "max-age=99999999999",
        "max-age=x",
        "max-age=\"100\"",
        "max-age =100",
        "MAX-AGE=100",
        "s-maxage=0",
        "s-maxage=1000",
        "public",
        "private",
        "private=\"a\"",
        "no-cache",
        "no-cache=\"a\"",
        "no-store",
        "No-Store",
        "must-revalidate",
        "proxy-revalidate",
        "must-understand",
        "immutable",
        "x=\"no-store, max-age=100\"",
    ];
    let cache_control = prop::collection::vec(prop::sample::select(directives), 0..4).prop_map(|all| {
        let lines = (!all.is_empty()).then(|| ("Cache-Control", all.join(", ")));
        lines.into_iter().collect::<Vec<_>>()
    });
    let times = prop::sample::select(vec![-1_000_000_000_i64, -100_000, -1000, 0, 1000, 100_000]);
    let dated = |name: &'static str| {
        let valid = times.clone().prop_map(move |offset| (name, date::format(NOW.unix_seconds() + offset)));
        let invalid = Just((name, "0".to_owned()));
        prop::collection::vec(prop_oneof![9 => valid, 1 => invalid], 0..2)
    };
    let others = prop::collection::vec(
        prop::sample::select(vec![
            ("ETag", "\"a\""),
            ("Age", "50"),
            ("Age", "x"),
            ("Set-Cookie", "a=b"),
            ("Vary", "*"),
            ("Vary", "Foo"),
            ("Pragma", "no-cache"),
            ("Content-Location", "/"),
            ("Content-Range", "bytes 0-1/2"),
        ]),
        0..3,
    )
    .prop_map(|all| all.into_iter().map(|(name, value)| (name, value.to_owned())).collect::<Vec<_>>());
    (cache_control, dated("Expires"), dated("Last-Modified"), dated("Date"), others)
        .prop_map(|(one, two, three, four, five)| [one, two, three, four, five].concat())
}

impl Exchange {
    fn theirs(&self) -> CachePolicy {
        let request = http::Request::builder().method(self.request.method.clone()).uri("http://example.org/");
        let request =
            self.request.fields.iter().fold(request, |one, (name, value)| one.header(name, value)).body(()).unwrap();
        let response = http::Response::builder().status(self.response.status);
        let response =
            self.response.fields.iter().fold(response, |one, (name, value)| one.header(name, value)).body(()).unwrap();
        let response_time = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW.unix_seconds() as u64);
        CachePolicy::new_options(
            &request,
            &response,
            response_time,
            CacheOptions { shared: true, ..CacheOptions::default() },
        )
    }

    fn control(&self) -> CacheControl {
        CacheControl::parse(&self.response.fields)
    }

    /// `Cache-Control` as one string, to find directives that only one of the two parsers sees.
    fn text(&self) -> String {
        String::from_utf8(self.response.fields.combined("cache-control").unwrap_or_default()).unwrap()
    }

    fn has(&self, name: &str) -> bool {
        self.response.fields.contains(name)
    }

    /// Whether a directive occurs twice, perhaps with two values.
    fn contradicts_itself(&self) -> bool {
        let text = self.text();
        let same = |name: &str| text.split(", ").filter(|one| one.starts_with(name)).count() > 1;
        same("max-age") || same("s-maxage") || same("private") || same("no-cache")
    }

    /// Whether the crate misreads a directive: it compares names with case, splits at quoted commas, and accepts white space next to `=`.
    fn theirs_misreads(&self) -> bool {
        ["MAX-AGE", "No-Store", "x=\"no-store, max-age=100\"", "max-age =100"]
            .iter()
            .any(|one| self.text().contains(one))
    }
}

/// Why only the crate stores the response.
fn why_we_do_not(exchange: &Exchange, reason: Reason) -> Option<&'static str> {
    let Exchange { request, .. } = exchange;
    match reason {
        Reason::HeadOnly if request.method == Method::HEAD => Some("a response to HEAD has no content to store"),
        Reason::VaryStar => Some("theirs stores what Vary: * forbids to use, and never uses it"),
        Reason::NoExpiryNoValidator | Reason::NoCacheNoValidator | Reason::Expired => {
            Some("section 3 allows to leave out what is of no use")
        }
        Reason::Method if request.method == Method::POST => Some("a POST without Content-Location cannot answer a GET"),
        Reason::MustUnderstand => Some("must-understand is new in RFC 9111"),
        Reason::NoStore if exchange.text().contains("No-Store") => Some("theirs compares directives with case"),
        Reason::Authorization | Reason::NotCacheable if exchange.theirs_misreads() => {
            Some("theirs reads directives inside strings")
        }
        Reason::Authorization if exchange.contradicts_itself() => {
            Some("theirs reads a contradiction as must-revalidate")
        }
        _ => None,
    }
}

/// Why only Kasoku stores the response.
fn why_they_do_not(exchange: &Exchange) -> Option<&'static str> {
    let Exchange { response, .. } = exchange;
    let control = exchange.control();
    let understood = [200, 203, 204, 300, 301, 302, 303, 307, 308, 404, 405, 410, 414, 501];
    if !understood.contains(&response.status.as_u16()) {
        return Some("since RFC 9111 the status need not be understood, and 206 is");
    }
    if matches!(control.private, DirectiveScope::Fields(_)) {
        return Some("private with an argument is about fields");
    }
    if control.must_understand && control.no_store {
        return Some("must-understand lifts no-store");
    }
    exchange.theirs_misreads().then_some("theirs reads directives inside strings, and compares them with case")
}

/// Why the response is fresh only for Kasoku, or only for the crate.
fn why_freshness_differs(exchange: &Exchange, freshness: &Freshness, ours_is_fresh: bool) -> Option<&'static str> {
    let control = exchange.control();
    if exchange.theirs_misreads() {
        return Some("theirs reads directives inside strings, and compares them with case");
    }
    if exchange.contradicts_itself() {
        return Some("of contradicting directives we take the shortest, theirs the first");
    }
    if ours_is_fresh {
        if exchange.has("set-cookie") && !control.public && !control.immutable {
            return Some("theirs never serves Set-Cookie without public: an opinion, ours in profile safe");
        }
        if control.proxy_revalidate {
            return Some("theirs reads proxy-revalidate as no-cache");
        }
        if exchange.has("pragma") && !exchange.has("cache-control") {
            return Some("theirs reads Pragma in responses, which RFC 9111 section 5.4 calls unspecified");
        }
        if matches!(control.no_cache, DirectiveScope::Fields(_)) {
            return Some("no-cache with an argument is about fields");
        }
        return None;
    }
    let age = age::parse(&exchange.response.fields).unwrap_or(0);
    if exchange.has("date") && freshness.lifetime > age + exchange.resident {
        return Some("theirs leaves out the apparent age (section 4.2.3)");
    }
    if control.immutable && control.max_age.is_none() && control.s_maxage.is_none() {
        return Some("theirs grants immutable a lifetime of its own");
    }
    let is_capped = freshness.source == LifetimeSource::Heuristic && freshness.lifetime == 86_400;
    is_capped.then_some("we cap a heuristic lifetime at a day")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn storability_agrees(exchange in exchange()) {
        let policy = Policy::new(Profile::Rfc);
        let freshness = freshness(&exchange.request, &exchange.response, NOW, NOW, &policy);
        let ours = storable(&exchange.request, &exchange.response, &freshness, &policy);
        let theirs = exchange.theirs().is_storable();
        match ours {
            Ok(()) if !theirs => prop_assert!(why_they_do_not(&exchange).is_some(), "only we store {exchange:?}"),
            Err(reason) if theirs => {
                prop_assert!(why_we_do_not(&exchange, reason).is_some(), "{} hides {exchange:?}", reason.id());
            }
            _ => {}
        }
    }

    #[test]
    fn freshness_agrees(exchange in exchange()) {
        let policy = Policy::new(Profile::Rfc);
        let freshness = freshness(&exchange.request, &exchange.response, NOW, NOW, &policy);
        let theirs = exchange.theirs();
        let is_stored = storable(&exchange.request, &exchange.response, &freshness, &policy).is_ok();
        if !(is_stored && theirs.is_storable()) {
            return Ok(());
        }
        let ours_is_fresh = freshness.is_fresh(NOW.after(exchange.resident * 1000)) && !freshness.no_cache;
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW.unix_seconds() as u64 + exchange.resident);
        if ours_is_fresh == theirs.is_stale(then) {
            let class = why_freshness_differs(&exchange, &freshness, ours_is_fresh);
            prop_assert!(class.is_some(), "fresh to us: {ours_is_fresh}, {freshness:?}, {exchange:?}");
        }
    }

    #[test]
    fn nothing_is_stored_that_safe_forbids_but_rfc_would(exchange in exchange()) {
        // Profile safe stores no response that profile rfc would not store.
        let stores = |profile| {
            let policy = Policy::new(profile);
            let freshness = freshness(&exchange.request, &exchange.response, NOW, NOW, &policy);
            storable(&exchange.request, &exchange.response, &freshness, &policy).is_ok()
        };
        prop_assert!(!stores(Profile::Safe) || stores(Profile::Rfc));
        let holds_cookie = |fields: &Fields| fields.contains("set-cookie");
        prop_assert!(!stores(Profile::Safe) || !holds_cookie(&exchange.response.fields));
    }
}
