//! Whatever the heads hold, each decision is made, and none panics.

use http::{Method, StatusCode};
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
        for policy in [Policy::new(Profile::Safe), Policy::new(Profile::Rfc)] {
            let freshness = freshness(&request, &stored, one, two, &policy);
            let asked = request_directives(&request.fields);
            let _ = (freshness.age(one), freshness.remaining(one), reuse(&freshness, &asked, &policy, one));
            let _ = stale_on_failure(&freshness, &asked, Failure::Disconnected, &policy, one);
            let _ = (may_look_up(&request), storable(&request, &stored, &freshness, &policy));
            let _ = (freshen(&stored, &update, one, &policy), head_response(&stored, &update, one, &policy));
            let _ = precondition(&request, &stored, one, two);
            let _ = stored.fields.iter().all(|(name, _)| goes_into_not_modified(name, true));
            let _ = (range(&request, &stored, length), part(&stored, Some(length)), combinable(&stored, Some(length), &update, Some(length)));
            let _ = invalidated_uris(&format!("http://h{}", request.target), &stored.fields);
            let _ = make_conditional(&mut request.clone(), &stored);
            if let Vary::Fields(nominated) = vary(&stored.fields) {
                variant_key(&nominated, &request.fields, &policy, &mut Vec::new());
            }
            let kept = fields_to_store(&stored, one, &policy);
            prop_assert!(kept.contains("date") && !kept.contains("age") && !kept.contains("connection"));
        }
    }
}
