//! The fields by which a reflecting application can still be poisoned: they describe the visitor, or what the visitor's program
//! wants, and go to the origin although they are not in the key. An application that uses such a field has to name it in `Vary`;
//! then it is in the key. Where a lifetime is granted, none of these fields goes to the origin. The tests keep the list true.

use crate::poisoning::{before, granting, reflecting};
use kasoku_testkit::{BOTH, Setup};

/// Fields that change a stored answer of an application that uses them without `Vary`.
const OPEN: [&str; 31] = [
    "Accept",
    "Accept-Charset",
    "Accept-Encoding",
    "Accept-Language",
    "Access-Control-Request-Headers",
    "Any-Name-That-Is-Not-Known",
    "Cache-Control",
    "DNT",
    "Destination",
    "From",
    "HX-Request",
    "Last-Event-ID",
    "Origin",
    "Pragma",
    "Prefer",
    "Purpose",
    "RSC",
    "Range",
    "Referer",
    "Save-Data",
    "Sec-CH-UA",
    "Sec-Fetch-Site",
    "Upgrade-Insecure-Requests",
    "User-Agent",
    "X-Api-Key",
    "X-Device-User-Agent",
    "X-Nextjs-Data",
    "X-PJAX",
    "X-Remote-User",
    "X-Requested-With",
    "X-User-Agent",
];

/// Credentials: the answer is shared only if it says that it may be.
const OPEN_WHERE_SHARED: [&str; 2] = ["Authorization", "Cookie"];

/// Fields that RFC 9110 defines and that a proxy forwards: they change a stored answer in profile rfc only.
const OPEN_BY_THE_RFC: [&str; 2] = ["Content-Language", "Via"];

/// Fields by which proxies, CDNs and frameworks state another host, path, method, query or address.
const OF_NO_RFC: [&str; 40] = [
    "Base-Url",
    "CF-Connecting-IP",
    "Client-IP",
    "Fastly-Client-IP",
    "Front-End-Https",
    "Redirect-Url",
    "Remote-Addr",
    "Request-Uri",
    "True-Client-IP",
    "WL-Proxy-Client-IP",
    "X-Arr-SSL",
    "X-Astro-Locals",
    "X-Astro-Path",
    "X-Backend-Host",
    "X-Client-IP",
    "X-Cluster-Client-IP",
    "X-Custom-IP-Authorization",
    "X-Envoy-Original-Path",
    "X-Forwarded-Host",
    "X-Forwarded-Scheme",
    "X-Forwarded-Prefix",
    "X-HTTP-Host-Override",
    "X-HTTP-Method-Override",
    "X-Host",
    "X-Invoke-Path",
    "X-Matched-Path",
    "X-Method-Override",
    "X-Middleware-Subrequest",
    "X-Nitro-Prerender",
    "X-Nuxt-Error",
    "X-Nuxt-No-SSR",
    "X-Original-URL",
    "X_Original_URL",
    "X-Originating-IP",
    "X-Proxy-Url",
    "X-React-Router-Prerender-Data",
    "X-React-Router-SPA-Mode",
    "X-Real-IP",
    "X-Rewrite-URL",
    "X-SvelteKit-Error",
];

fn changes_the_answer(name: &str, mark: &'static str) -> bool {
    changes(Setup::safe(), name, mark)
}

fn changes(setup: Setup, name: &str, mark: &'static str) -> bool {
    let application = reflecting(mark);
    let scene = before(setup, &application);
    scene.client().get_with("/", &[&format!("{name}: evil")]);
    scene.client().get("/").text().contains("evil")
}

#[test]
fn what_visitors_say_of_themselves_still_changes_what_others_get() {
    for name in OPEN {
        assert!(changes_the_answer(name, "max-age=60"), "{name} is closed: take it out of the list");
    }
    for name in OPEN_WHERE_SHARED {
        assert!(!changes_the_answer(name, "max-age=60"), "{name}");
        assert!(changes_the_answer(name, "public, max-age=60"), "{name} is closed: take it out of the list");
    }
}

#[test]
fn what_no_rfc_speaks_for_changes_nothing_in_either_profile() {
    for name in OF_NO_RFC {
        for profile in BOTH {
            assert!(!changes(Setup::new(profile), name, "max-age=60"), "{profile:?}: {name}");
        }
    }
    for name in OPEN_BY_THE_RFC {
        assert!(changes(Setup::rfc(), name, "max-age=60"), "{name} is closed: take it out of the list");
        assert!(!changes(Setup::safe(), name, "max-age=60"), "{name}");
    }
}

#[test]
fn where_a_lifetime_is_granted_none_of_them_changes_what_others_get() {
    let shared = ["Cookie", "Authorization", "X-Forwarded-Host", "X-Original-URL", "CF-IPCountry"];
    for profile in BOTH {
        let application = reflecting("");
        let [attacked, cold] = [(); 2].map(|()| before(granting(Setup::new(profile)), &application));
        for (number, name) in OPEN.iter().chain(&shared).enumerate() {
            let page = format!("/{number}");
            attacked.client().get_with(&page, &[&format!("{name}: evil")]);
            let plain = cold.client().get(&page).text();
            assert_eq!(attacked.client().get(&page).text(), plain, "{name}");
            attacked.client().get_with(&page, &[&format!("{name}: evil")]);
            let hit = attacked.client().get(&page);
            assert!(hit.is_hit() && hit.text() == plain, "{name}: {hit:?}");
        }
    }
}

#[test]
fn where_the_application_names_it_in_vary_it_is_in_the_key() {
    for name in OPEN.iter().chain(&OPEN_WHERE_SHARED) {
        let application = crate::poisoning::Application::start(move |asked| {
            let fields = ["Cache-Control: public, max-age=60".to_owned(), format!("Vary: {name}")];
            crate::poisoning::Does::Answer(kasoku_testkit::ok(&fields.each_ref().map(String::as_str), asked.all()))
        });
        let scene = before(Setup::safe(), &application);
        scene.client().get_with("/", &[&format!("{name}: evil")]);
        assert!(!scene.client().get("/").text().contains("evil"), "{name}");
    }
}
