//! Tests that no decision panics on any heads of requests and responses.

use http::{Method, StatusCode};
use kasoku_semantics::downstream::{announce_lifetime, without_announcement};
use kasoku_semantics::effective::nominated;
use kasoku_semantics::grant::{Grant, Ignored, StatusTtl};
use kasoku_semantics::secrets::Secrets;
use kasoku_semantics::set_cookies::not_dropped;
use kasoku_semantics::*;
use kasoku_wire::{Fields, RequestHead, ResponseHead};
use proptest::prelude::*;

const NAMES: [&str; 24] = [
    "Age",
    "Authorization",
    "Cache-Control",
    "CDN-Cache-Control",
    "Connection",
    "Content-Language",
    "Content-Length",
    "Content-Location",
    "Content-Range",
    "Content-Type",
    "Cookie",
    "Date",
    "ETag",
    "Expires",
    "If-Modified-Since",
    "If-None-Match",
    "If-Range",
    "Last-Modified",
    "Location",
    "Pragma",
    "Range",
    "Set-Cookie",
    "Vary",
    "Accept-Language",
];

fn fields() -> impl Strategy<Value = Fields> {
    let values = prop_oneof![
        "[\t -~\u{80}-\u{ff}]{0,40}",
        "(bytes[= ])?[0-9]{0,22}-[0-9]{0,22}(/[0-9]{0,22})?",
        "(max-age|s-maxage|stale-if-error)=\"?[0-9]{0,30}\"?",
        "(Sun|Sunday), [0-9]{2}[ -](Nov|Feb)[ -][0-9]{2,4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT",
        "(W/)?\"[a-z,]{0,3}\"(, \\*)?",
        "((a|ab|b| c) ?(=[a-z]{0,3})?(; ?|;;)){0,4}",
        "((no-store|private|no-cache|max-age=[0-9]|must-revalidate), ){0,4}",
    ];
    let lines = prop::collection::vec((prop::sample::select(NAMES.to_vec()), values), 0..10);
    lines.prop_map(|lines| lines.into_iter().collect())
}

fn response() -> impl Strategy<Value = ResponseHead> {
    (100_u16..1000, fields()).prop_map(|(status, fields)| ResponseHead {
        fields,
        ..ResponseHead::new(StatusCode::from_u16(status).unwrap_or(StatusCode::OK))
    })
}

fn request() -> impl Strategy<Value = RequestHead> {
    let methods = vec![Method::GET, Method::HEAD, Method::POST];
    (prop::sample::select(methods), "[!-~]{1,20}", fields())
        .prop_map(|(method, target, fields)| RequestHead { fields, ..RequestHead::new(method, target) })
}

fn moments() -> impl Strategy<Value = Now> {
    (any::<i64>(), any::<u64>()).prop_map(|(unix_ms, mono_ms)| Now { unix_ms, mono_ms })
}

/// Both profiles, each without grants and with all possible grants.
fn policies() -> Vec<Policy> {
    let plain = [Profile::Safe, Profile::Rfc].map(Policy::new);
    let granting = plain.clone().map(|policy| {
        let grant = Grant {
            ttl_seconds: 60,
            ttl_override_seconds: 90,
            ignore: Ignored::ALL.to_vec(),
            ttl_status: vec![StatusTtl { first: 200, last: 599, seconds: 5 }],
            announce_ttl: true,
            key_cookies: vec!["a*".to_owned()],
            key_fields: vec!["accept".to_owned()],
            key_device: true,
            key_languages: vec!["de".to_owned(), "en".to_owned()],
            dropped_cookies: vec!["s*".to_owned()],
            session_cookies: vec!["s".to_owned()],
        };
        let strip_fields = vec!["server".to_owned()];
        Policy { grant, strip_fields, ttl_max_seconds: 30, grace_seconds: 5, keep_seconds: Some(1), ..policy }
    });
    plain.into_iter().chain(granting).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_decision_is_made(
        request in request(),
        stored in response(),
        update in response(),
        one in moments(),
        two in moments(),
        length in any::<u64>(),
    ) {
        for policy in policies() {
            let freshness = freshness(&request, &stored, one, two, &policy);
            let asked = request_directives(&request.fields);
            let _ = (freshness.age(one), freshness.remaining(one), reuse(&freshness, &asked, &policy, one));
            let _ = stale_on_failure(&freshness, &asked, OriginFailure::Disconnected, &policy, one);
            let _ = (may_look_up(&request), storable(&request, &stored, &freshness, &policy));
            let _ = (freshen(&stored, &update, one, &policy), head_response(&stored, &update, one, &policy));
            let _ = precondition(&request, &stored, Validators::Any, one, two);
            let _ = stored.fields.iter().all(|(name, _)| goes_into_not_modified(name, true));
            let _ = (range(&request, &stored, length), part(&stored, Some(length)), combinable(&stored, Some(length), &update, Some(length)));
            let _ = invalidated_uris(&format!("http://h{}", request.target), &stored.fields);
            let _ = make_conditional(&mut request.clone(), &stored);
            if let Vary::Fields(nominated) = vary(&stored.fields) {
                variant_key(&nominated, &request.fields, &policy, &mut Vec::new());
            }
            let mut named = Vec::new();
            cookies::write(&policy.grant.key_cookies, &request.fields, &mut named);
            let once: Fields = [("Cookie", &named)].into_iter().collect();
            let mut twice = Vec::new();
            cookies::write(&policy.grant.key_cookies, &once, &mut twice);
            prop_assert_eq!(&named, &twice, "what goes to the origin is what is in the key");
            let mut told = stored.clone();
            announce_lifetime(&request, &mut told, &freshness, &policy);
            let _ = without_announcement(&told, &freshness, &policy);
            let secrets = Secrets::of(&request, &stored, &policy);
            let _ = (secrets.occur_in_head(&stored), not_dropped(&request, &stored, &policy).count());
            let _ = (nominated(&request, &stored, &policy), freshness.is_past_keeping(&policy, two));
            prop_assert!(!freshness.is_granted() || !request.fields.contains("authorization"));
            let kept = fields_to_store(&stored, one, &policy);
            prop_assert!(kept.contains("date") && !kept.contains("age") && !kept.contains("connection"));
        }
    }
}
