//! Lists the request fields that could change a response without changing the key ("unkeyed inputs").
//!
//! Proxies, CDNs, application servers and frameworks take host, scheme, path, method, query or the client's address from these
//! fields, whichever client sent them. Kasoku removes the fields from a request whose response may be shared, since one visitor could choose
//! by them what others get: J. Kettle, "Practical Web Cache Poisoning" (2018) and "Web Cache Entanglement" (2020); the list of
//! Param Miner; Nguyen, Lo Iacono and Federrath, "Your Cache Has Fallen: Cache-Poisoned Denial-of-Service Attack" (2019). The
//! fields that Kasoku always writes itself (`Host`, `X-Forwarded-*`) are in `forward`.
//!
//! This is deliberately no list of everything that an application may read. Fields that describe the visitor or what the visitor's
//! program wants (`User-Agent`, `Accept*`, `Referer`, `X-Requested-With`, `Prefer` ...), and fields that only one application
//! knows, go to the origin, which has to name them in `Vary`; `engine/tests/visitors/poisoning/open.rs` lists them. Fields in which
//! a proxy in front of Kasoku names the visitor (`X-Remote-User`) are not listed either: an application that believes them must
//! answer `private`.

/// The longest name that is read, in bytes; of longer ones only the beginning counts.
const NAME_BYTES_MAX: usize = 48;

/// Prefixes of field names, folded as [`fold`] does it.
const FAMILIES: [&str; 25] = [
    // These fields describe a body, and a request whose response may be shared has none.
    "content-",
    "forwarded-",
    // CGI variables under their own names.
    "http-",
    "server-",
    "wl-proxy-",
    // IIS behind ARR.
    "x-arr-",
    // Astro's adapters believe another path and other locals in these fields.
    "x-astro-",
    // Traces (`x-b3-`, `x-datadog-`): see [`NAMES`].
    "x-b3-",
    "x-datadog-",
    "x-envoy-",
    "x-forward-",
    "x-forwarder-",
    "x-http-",
    // Next.js passes internal data to itself in these fields.
    "x-invoke-",
    "x-middleware-",
    // Nitro and Nuxt: a page as if it was made beforehand, or without rendering on the server.
    "x-nitro-",
    "x-nuxt-",
    "x-original-",
    "x-originally-",
    "x-originating-",
    "x-proxy",
    // React Router in framework mode: a page without its data, or with data of the client's (CVE-2025-43864, CVE-2025-43865).
    "x-react-router-",
    "x-real-",
    "x-rewrite-",
    "x-wap-",
];

/// Whole field names, folded and sorted.
const NAMES: [&str; 89] = [
    // Fields that continue a visitor's trace (W3C Trace Context, Zipkin, Jaeger, Sentry, Google's and others). Libraries write the
    // trace into pages so that scripts continue it: other visitors would get it from the cache, and continue it as well.
    "b3",
    "baggage",
    "base-url",
    "client-ip",
    "clientip",
    "elastic-apm-traceparent",
    "front-end-https",
    "grpc-trace-bin",
    "host-override",
    "https",
    "max-forwards",
    "method-override",
    "newrelic",
    "orig-path-info",
    "path-info",
    "path-translated",
    "proxy-authorization",
    "proxy-client-ip",
    "proxy-host",
    "proxy-port",
    "proxy-url",
    "query-string",
    "querystring",
    "real-ip",
    "real-method",
    "redirect-url",
    "remote-addr",
    "remote-host",
    "remote-ip",
    "request-method",
    "request-uri",
    "script-name",
    "sentry-trace",
    "ssl-offloaded",
    // A client that claims to assemble pages gets them in parts (ESI); Kasoku makes no such claim.
    "surrogate-capability",
    "traceparent",
    "tracestate",
    "trailer",
    // WebDAV's `Translate: f` asks IIS for the source of a page.
    "translate",
    "true-client-ip",
    "uber-trace-id",
    "unencoded-url",
    // Rack::Sendfile decides by this field and `x-sendfile-type` how to hand over a file.
    "x-accel-mapping",
    "x-ajax-real-method",
    "x-amzn-trace-id",
    "x-backend-host",
    "x-base-url",
    "x-cf-url",
    "x-client-host",
    "x-client-ip",
    "x-client-scheme",
    "x-clientip",
    "x-cloud-trace-context",
    "x-cluster-client-ip",
    "x-coming-from",
    "x-custom-ip-authorization",
    "x-forwarded",
    "x-host",
    "x-host-override",
    "x-https",
    "x-ip",
    "x-matched-path",
    "x-method",
    "x-method-override",
    "x-nfsn-https",
    "x-ning-request-uri",
    "x-now-route-matches",
    "x-orchestra-scheme",
    "x-orig-client",
    "x-ot-span-context",
    "x-path-info",
    "x-remote-addr",
    "x-remote-host",
    "x-remote-ip",
    "x-remote-port",
    "x-remote-protocol",
    "x-replaced-path",
    "x-request-uri",
    "x-sakura-forwarded-for",
    "x-scheme",
    "x-script-name",
    "x-sendfile-type",
    "x-server-name",
    "x-server-port",
    "x-ssl",
    "x-subdomain",
    // SvelteKit answers with its page for errors: it means that the server has asked itself.
    "x-sveltekit-error",
    "x-url-scheme",
    "x-waws-unencoded-url",
];

/// Prefixes of the fields in which a content delivery network in front of Kasoku describes the client. From a trusted proxy they go
/// to the origin, which may name them in `Vary`; from any other peer they are forged.
const FRONTS: [&str; 11] = [
    "akamai-",
    "cf-",
    "cloudfront-",
    "fastly-",
    "incap-",
    "x-akamai-",
    "x-amzn-",
    "x-appengine-",
    "x-azure-",
    "x-bluecoat-",
    "x-vercel-",
];

/// Whether a field of that name is removed from a request whose response may be shared.
pub fn is_unkeyed(name: &[u8], is_peer_trusted: bool) -> bool {
    let mut memory = [0; NAME_BYTES_MAX];
    let folded = fold(name, &mut memory);
    let begins_with = |start: &&str| folded.starts_with(start.as_bytes());
    let is_whole = name.len() == folded.len();
    (is_whole && NAMES.binary_search_by(|one| one.as_bytes().cmp(folded)).is_ok())
        || FAMILIES.iter().any(begins_with)
        || (!is_peer_trusted && FRONTS.iter().any(begins_with))
}

/// Prefixes and names from the lists above that RFC 9110 defines: in profile rfc these fields go to the origin.
const OF_RFC_9110: [&str; 4] = ["content-", "max-forwards", "proxy-authorization", "trailer"];

/// Whether a field of that name is removed in profile rfc as well, since RFC 9110 does not define it: a proxy may block fields that
/// it is "specifically configured to block" (RFC 9110 section 5.1).
pub fn is_unkeyed_in_profile_rfc(name: &[u8], is_peer_trusted: bool) -> bool {
    let mut memory = [0; NAME_BYTES_MAX];
    let folded = fold(name, &mut memory);
    is_unkeyed(name, is_peer_trusted) && !OF_RFC_9110.iter().any(|start| folded.starts_with(start.as_bytes()))
}

/// Whether both names are the same name to an application.
pub fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().map(folded).eq(other.iter().map(folded))
}

/// A name as applications read it, cut to [`NAME_BYTES_MAX`] bytes.
fn fold<'m>(name: &[u8], memory: &'m mut [u8; NAME_BYTES_MAX]) -> &'m [u8] {
    let length = name.len().min(NAME_BYTES_MAX);
    for (to, byte) in memory.iter_mut().zip(name) {
        *to = folded(byte);
    }
    memory.get(..length).unwrap_or_default()
}

/// CGI, WSGI and PHP fold case, `-` and `_` into one spelling, and some servers every other character that is no letter and no
/// digit.
fn folded(byte: &u8) -> u8 {
    if byte.is_ascii_alphanumeric() { byte.to_ascii_lowercase() } else { b'-' }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_kept_back(name: &str) -> bool {
        is_unkeyed(name.as_bytes(), false)
    }

    #[test]
    fn the_tables_are_folded_and_in_order() {
        assert!(NAMES.is_sorted() && FAMILIES.is_sorted() && FRONTS.is_sorted());
        for name in NAMES.iter().chain(&FAMILIES).chain(&FRONTS) {
            assert_eq!(fold(name.as_bytes(), &mut [0; NAME_BYTES_MAX]), name.as_bytes());
        }
        for name in NAMES {
            assert!(!FAMILIES.iter().any(|family| name.starts_with(family)), "{name} is there twice");
        }
    }

    #[test]
    fn what_rfc_9110_speaks_of_is_left_alone_in_profile_rfc() {
        for name in ["Content-Type", "Max-Forwards", "Proxy-Authorization", "Trailer"] {
            assert!(is_kept_back(name) && !is_unkeyed_in_profile_rfc(name.as_bytes(), false), "{name}");
        }
        for name in ["X-Original-URL", "X-HTTP-Method-Override", "Client-IP", "CF-IPCountry"] {
            assert!(is_unkeyed_in_profile_rfc(name.as_bytes(), false), "{name}");
        }
        assert!(!is_unkeyed_in_profile_rfc(b"CF-IPCountry", true) && !is_unkeyed_in_profile_rfc(b"Accept", false));
    }

    #[test]
    fn spellings_that_applications_take_for_one_are_one() {
        for name in ["X-Original-URL", "x_original_url", "X.ORIGINAL.URL", "X-Host", "x_host", "X!Host", "Client-IP"] {
            assert!(is_kept_back(name), "{name}");
        }
    }

    #[test]
    fn what_visitors_programs_say_of_themselves_goes_to_the_origin() {
        for name in [
            "Accept",
            "Accept-Encoding",
            "Accept-Language",
            "Authorization",
            "Cache-Control",
            "Cookie",
            "DNT",
            "HX-Request",
            "If-None-Match",
            "Origin",
            "Prefer",
            "Range",
            "Referer",
            "Sec-CH-UA",
            "Sec-Fetch-Mode",
            "User-Agent",
            "X-Hosting",
            "X-Requested-With",
        ] {
            assert!(!is_kept_back(name), "{name}");
        }
    }

    #[test]
    fn what_a_network_in_front_of_us_says_counts_when_it_is_trusted() {
        assert!(is_unkeyed(b"CF-IPCountry", false) && !is_unkeyed(b"CF-IPCountry", true));
        assert!(is_unkeyed(b"X-Original-URL", true));
    }

    #[test]
    fn a_name_that_is_longer_than_any_that_is_known_is_read_as_far_as_it_goes() {
        let long = |start: &str| format!("{start}{}", "a".repeat(2 * NAME_BYTES_MAX));
        assert!(is_kept_back(&long("X-Original-")));
        assert!(!is_kept_back(&long("X-")));
    }
}
