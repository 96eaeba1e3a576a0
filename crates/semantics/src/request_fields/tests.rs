use super::table::KINDS;
use super::*;
use crate::hop_by_hop::is_never_forwarded;
use crate::our_fields::is_ours;

fn request(lines: &[(&str, &str)]) -> Fields {
    lines.iter().copied().collect()
}

/// The name of the field by which a request passes, if it does.
fn passes_by(lines: &[(&str, &str)]) -> Option<String> {
    passing(&request(lines), &Grant::default()).next().map(|name| String::from_utf8_lossy(name).into_owned())
}

fn class(accept: &str) -> AcceptClass {
    accept_class(&request(&[("Accept", accept)]))
}

#[test]
fn the_table_has_each_name_once_and_in_lower_case() {
    let all: Vec<&str> = KINDS.iter().flat_map(|kind| kind.names.iter().chain(kind.families)).copied().collect();
    for (place, name) in all.iter().enumerate() {
        assert_eq!(*name, name.to_ascii_lowercase());
        assert!(!all[..place].contains(name), "{name} is there twice");
    }
    for kind in &KINDS {
        for name in kind.names {
            assert_eq!(granted(name.to_ascii_uppercase().as_bytes()), kind.granted, "{name}");
        }
        for family in kind.families {
            assert_eq!(granted(format!("{family}zz").as_bytes()), kind.granted, "{family}");
        }
    }
}

#[test]
fn the_second_column_is_what_happens_to_the_fields_of_a_request_whose_response_says_that_it_may_be_shared() {
    let stated = |name: &str| match name.as_bytes() {
        name if is_ours(name) || is_never_forwarded(name) => Stated::Own,
        name if is_unkeyed(name, false) => Stated::Removed,
        _ => Stated::SentOn,
    };
    for kind in &KINDS {
        for name in kind.names {
            assert_eq!(stated(name), kind.stated, "{name}");
        }
        for family in kind.families {
            assert_eq!(stated(&format!("{family}zz")), kind.stated, "{family}");
        }
    }
}

#[test]
fn a_field_that_no_list_knows_makes_a_request_pass() {
    for name in [
        "Accept-Datetime",
        "Accept-Version",
        "Any-Name",
        "Api-Version",
        "Depth",
        "Destination",
        "Faces-Request",
        "Git-Protocol",
        "HX-Request",
        "HX-Target",
        "If",
        "Last-Event-ID",
        "Lock-Token",
        "Next-Action",
        "Next-Router-State-Tree",
        "PRIVATE-TOKEN",
        "Prefer",
        "RSC",
        "SOAPAction",
        "Service-Worker-Navigation-Preload",
        "Translate",
        "Turbo-Frame",
        "Want-Content-Digest",
        "X-Amzn-Oidc-Identity",
        "X-Api-Key",
        "X-CSRF-Token",
        "X-HgArg-1",
        "X-Inertia",
        "X-Livewire",
        "X-Nextjs-Data",
        "X-Nuxt-No-SSR",
        "X-PJAX",
        "X-React-Router-SPA-Mode",
        "X-Redmine-API-Key",
        "X-Remote-User",
        "X-Up-Target",
        "X-WP-Nonce",
        "X_Api_Key",
        "Content-Type",
        "CF-Access-Jwt-Assertion",
        "A",
        "0",
        "_",
    ] {
        assert_eq!(passes_by(&[("Host", "a"), (name, "1")]).as_deref(), Some(name));
    }
    assert!(passes_by(&[("X-Unheard-Of-And-Longer-Than-Any-Name-That-The-Table-Has", "")]).is_some());
}

#[test]
fn fields_of_proxies_networks_and_traces_pass_nothing_whatever_their_prefix() {
    for name in [
        "X-Forwarded-For",
        "X-Forwarded-Anything",
        "Forwarded",
        "CF-Ray",
        "CF-IPCountry",
        "True-Client-IP",
        "X-Acme-Client-IP",
        "X-Acme-Request-ID",
        "x-acme-trace-id",
        "X-Original-URL",
        "X_Original_URL",
        "X-HTTP-Method-Override",
        "Traceparent",
        "X-B3-TraceId",
        "X-Datadog-Parent-Id",
        "Surrogate-Capability",
        "Client-IP",
        "Proxy",
        "Proxy-Authorization",
        "CDN-Loop",
        "sw8",
    ] {
        assert_eq!(passes_by(&[(name, "x")]), None, "{name}");
    }
}

#[test]
fn a_field_in_the_key_passes_nothing() {
    let grant =
        Grant { ttl_seconds: 1, key_fields: vec!["hx-request".to_owned(), "accept".to_owned()], ..Grant::default() };
    let asked = request(&[("HX-Request", "true"), ("Accept", "application/json")]);
    assert_eq!(passing(&asked, &grant).next(), None);
    let asked = request(&[("HX-Request", "true"), ("HX-Target", "list")]);
    assert_eq!(passing(&asked, &grant).next(), Some(&b"HX-Target"[..]));
}

#[test]
fn x_requested_with_names_a_package_or_a_script() {
    for package in ["com.example.app", "org.mozilla.focus", "a.b", "com.Tencent.mm_2.v3"] {
        assert_eq!(passes_by(&[("X-Requested-With", package)]), None, "{package}");
    }
    for script in ["XMLHttpRequest", "fetch", "", "com.", ".app", "com..app", "1.2", "com.app/1", "com.app x"] {
        assert!(passes_by(&[("X-Requested-With", script)]).is_some(), "{script}");
    }
}

#[test]
fn an_origin_of_another_site_needs_an_answer_of_its_own() {
    let passes = |origin| passes_by(&[("Host", "a.example:8080"), ("Origin", origin)]).is_some();
    assert!(!passes("http://a.example:8080") && !passes("https://A.example:8080"));
    for other in ["http://a.example", "http://b.example:8080", "null", "", "http://", "ftp://a.example:8080"] {
        assert!(passes(other), "{other}");
    }
    assert!(passes_by(&[("Origin", "http://")]).is_some(), "without a Host");
}

#[test]
fn what_programs_say_of_themselves_is_no_wish_for_a_type() {
    for accept in [
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7",
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "text/html, application/xhtml+xml, image/jxr, */*",
        "text/html, application/xhtml+xml",
        "text/html",
        "text/*,image/*,*/*;q=0.2",
        "text/html, */*; q=0.01",
        "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2",
        "TEXT/HTML;Q=1.0, */*;q=0.1",
    ] {
        assert_eq!(class(accept), AcceptClass::Document, "{accept}");
    }
    for accept in ["*/*", "", "*/*;q=0.8", "text/plain, */*"] {
        assert_eq!(class(accept), AcceptClass::Any, "{accept}");
    }
    for accept in [
        "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8",
        "image/webp,*/*",
        "text/css,*/*;q=0.1",
        "application/javascript, */*;q=0.8",
        "video/webm,video/ogg,video/*;q=0.9,application/ogg;q=0.7,audio/*;q=0.6,*/*;q=0.5",
        "application/font-woff2;q=1.0,application/font-woff;q=0.9,*/*;q=0.8",
        "image/gif, image/jpeg, image/pjpeg, application/x-ms-application, application/vnd.ms-excel, application/msword, */*",
    ] {
        assert_eq!(class(accept), AcceptClass::Resource, "{accept}");
    }
    for accept in [
        "application/atom+xml, application/rss+xml, application/rdf+xml;q=0.9, application/xml;q=0.8, text/xml;q=0.8, text/html;q=0.7, unknown/unknown;q=0.1, application/unknown;q=0.1, */*;q=0.1",
        "application/xml, application/atom+xml, application/rss+xml, application/rdf+xml, application/feed+json, text/html, */*;q=0.9",
        "application/atom+xml,application/xml;q=0.9,text/xml;q=0.8,*/*;q=0.7",
    ] {
        assert_eq!(class(accept), AcceptClass::Feed, "{accept}");
    }
    assert_eq!(accept_class(&Fields::new()), AcceptClass::Any);
}

#[test]
fn a_wish_for_a_type_makes_a_request_pass() {
    for accept in [
        "application/json",
        "application/json, text/plain, */*",
        "application/json, text/javascript, */*; q=0.01",
        "text/html, application/json;q=0.1",
        "text/turtle",
        "text/turtle,application/rdf+xml,*/*;q=0.1",
        "application/activity+json, application/ld+json",
        "text/vnd.turbo-stream.html, text/html, application/xhtml+xml",
        "text/event-stream",
        "text/x-component",
        "text/markdown, text/html;q=0.9",
        "text/html;fragment=1, text/html",
        "application/xhtml+xml",
        "application/xml",
        "text/plain, */*; q=0.01",
        "text/html;q=0.5, application/xml",
        "application/rss+xml",
        "image/webp",
        "text/css",
        "\"text/html\"",
    ] {
        assert_eq!(class(accept), AcceptClass::Other, "{accept}");
        assert_eq!(passes_by(&[("Accept", accept)]).as_deref(), Some("Accept"), "{accept}");
    }
    let lines = request(&[("Accept", "text/html"), ("Accept", "application/json")]);
    assert_eq!(accept_class(&lines), AcceptClass::Other);
}

#[test]
fn what_stands_for_a_class_reads_as_that_class() {
    for one in [AcceptClass::Any, AcceptClass::Document, AcceptClass::Resource, AcceptClass::Feed] {
        assert_eq!(class(one.accept()).accept(), one.accept());
    }
}

#[test]
fn a_vary_may_name_what_the_application_saw_and_what_no_sharing_request_has() {
    let of = |names: &[&str], grant: &Grant| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        unseen(&names, grant).cloned()
    };
    let plain = Grant { ttl_seconds: 1, ..Grant::default() };
    let fine = ["accept", "accept-encoding", "authorization", "cookie", "hx-request", "origin", "x-forwarded-proto"];
    assert_eq!(of(&[&fine[..], &["rsc", "x-requested-with", "negotiate"]].concat(), &plain), None);
    for name in
        ["accept-language", "user-agent", "referer", "sec-fetch-dest", "save-data", "x-forwarded-for", "cf-ipcountry"]
    {
        assert_eq!(of(&["accept", name], &plain).as_deref(), Some(name));
        let keyed = Grant { key_fields: vec![name.to_owned()], ..plain.clone() };
        assert_eq!(of(&[name], &keyed), None, "{name}");
    }
    let classes = Grant { key_device: true, key_languages: vec!["de".to_owned()], ..plain };
    assert_eq!(of(&["accept-language", "user-agent"], &classes), None);
}

#[test]
fn names_of_credentials_are_known_by_their_words() {
    for name in ["X-Api-Key", "X-Redmine-API-Key", "PRIVATE-TOKEN", "X-Auth", "X-WP-Nonce", "X-Remote-User", "DPoP"] {
        assert!(names_credential(name.as_bytes()), "{name}");
    }
    for name in ["HX-Request", "Turbo-Frame", "RSC", "Accept", "Depth", "X-Requested-With"] {
        assert!(!names_credential(name.as_bytes()), "{name}");
    }
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(name in "[!-9;-~]{0,80}", value in "[\t -~\u{80}-\u{ff}]*") {
        let _ = granted(name.as_bytes());
        let fields = request(&[("X-Requested-With", &value), ("Origin", &value), ("Accept", &value), ("Host", &value)]);
        let _ = passing(&fields, &Grant::default()).count();
    }
}
