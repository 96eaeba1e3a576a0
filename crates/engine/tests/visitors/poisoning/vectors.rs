//! Attack vectors from Kettle's "Practical Web Cache Poisoning" (2018), "Web Cache Entanglement" (2020) and "Gotta cache 'em all"
//! (2024); "Your Cache Has Fallen" (CPDoS, 2019); names from Param Miner's list; and advisories of frameworks that trusted their
//! own fields.

/// A request that tries to change what other clients get for `{page}`.
#[derive(Debug)]
pub(crate) struct Vector {
    /// The request line. `{page}` is the attacked page.
    line: &'static str,
    /// Field lines. Without a `Host` among them, the Host of the page is sent.
    fields: &'static [&'static str],
    body: &'static str,
    /// The victim's target.
    victim: &'static str,
    is_refused: bool,
}

const GET: &str = "GET {page} HTTP/1.1";

impl Vector {
    const PLAIN: Vector = Vector { line: GET, fields: &[], body: "", victim: "{page}", is_refused: false };

    const fn fields(fields: &'static [&'static str]) -> Self {
        Self { fields, ..Self::PLAIN }
    }

    const fn line(line: &'static str) -> Self {
        Self { line, ..Self::PLAIN }
    }

    /// A request line with fields.
    const fn with(line: &'static str, fields: &'static [&'static str]) -> Self {
        Self { line, fields, ..Self::PLAIN }
    }

    const fn body(line: &'static str, fields: &'static [&'static str], body: &'static str) -> Self {
        Self { line, fields, body, ..Self::PLAIN }
    }

    const fn refused(line: &'static str, fields: &'static [&'static str]) -> Self {
        Self { line, fields, is_refused: true, ..Self::PLAIN }
    }

    /// The attacker's request line, and the victim's target.
    const fn query(line: &'static str, victim: &'static str) -> Self {
        Self { line, victim, ..Self::PLAIN }
    }

    /// Whether Kasoku refuses the request, so that it never reaches the application.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused
    }

    pub(crate) fn is_head(&self) -> bool {
        self.line.starts_with("HEAD")
    }

    /// The victim's target for that page.
    pub(crate) fn victims(&self, page: &str) -> String {
        self.victim.replace("{page}", page)
    }

    /// The attacker's request for that page.
    pub(crate) fn request(&self, page: &str) -> String {
        let has_host = self.fields.iter().any(|line| line.to_ascii_lowercase().starts_with("host:"));
        let host = if has_host { "" } else { "Host: example.org\r\n" };
        let fields: String = self.fields.iter().map(|line| format!("{line}\r\n")).collect();
        format!("{}\r\n{host}{fields}\r\n{}", self.line.replace("{page}", page), self.body)
    }
}

/// All vectors.
pub(crate) fn all() -> impl Iterator<Item = &'static Vector> {
    [&HOSTS[..], &ADDRESSES, &OVERRIDES, &HOP_BY_HOP, &METHODS_AND_BODIES, &PATHS, &QUERIES, &MALFORMED]
        .into_iter()
        .flatten()
}

const fn field(field: &'static [&'static str; 1]) -> Vector {
    Vector::fields(field)
}

/// Claims about the host and the scheme.
const HOSTS: [Vector; 48] = [
    field(&["X-Forwarded-Host: evil.example"]),
    field(&["X-Forwarded-Host: example.org\", evil.example"]),
    Vector::fields(&["X-Forwarded-Host: example.org", "X-Forwarded-Host: evil.example"]),
    field(&["x_forwarded_host: evil.example"]),
    field(&["X.Forwarded.Host: evil.example"]),
    field(&["X-Forwarded-Server: evil.example"]),
    field(&["X-Forwarded-Scheme: evil"]),
    Vector::fields(&["X-Forwarded-Scheme: http", "X-Forwarded-Host: evil.example"]),
    field(&["X-Forwarded-Proto: https"]),
    field(&["X-Forwarded-Protocol: https"]),
    field(&["X-Forwarded-Ssl: on"]),
    field(&["X-Forwarded-Port: 666"]),
    field(&["X-Forwarded-Prefix: /evil"]),
    field(&["X-Forwarded-Path: /evil"]),
    field(&["X-Forwarded-By: evil"]),
    field(&["X-Forwarded: host=evil.example"]),
    field(&["X-Forward-Host: evil.example"]),
    field(&["X-Forward-Proto: https"]),
    field(&["Forwarded: host=evil.example;proto=https"]),
    field(&["Forwarded: for=\"evil\";host=\"evil.example:1\""]),
    field(&["Forwarded-Host: evil.example"]),
    field(&["Forwarded-Proto: https"]),
    field(&["X-Host: evil.example"]),
    field(&["X_Host: evil.example"]),
    field(&["X-Host-Override: evil.example"]),
    field(&["X-HTTP-Host-Override: evil.example"]),
    field(&["X-Original-Host: evil.example"]),
    field(&["X-Backend-Host: evil.example"]),
    field(&["X-Server-Name: evil.example"]),
    field(&["X-Server-Port: 666"]),
    field(&["Server-Name: evil.example"]),
    field(&["HTTP-Host: evil.example"]),
    field(&["X-Subdomain: evil"]),
    field(&["X-Scheme: evil"]),
    field(&["X-Url-Scheme: evil"]),
    field(&["X-Orchestra-Scheme: evil"]),
    field(&["X-ARR-SSL: evil"]),
    field(&["X-HTTPS: on"]),
    field(&["X-SSL: on"]),
    field(&["Front-End-Https: on"]),
    field(&["SSL-Offloaded: evil"]),
    field(&["Proxy-Host: evil.example"]),
    field(&["Base-Url: http://evil.example/"]),
    field(&["Host: example.org:80"]),
    field(&["Host: EXAMPLE.ORG"]),
    field(&["Host: example.org."]),
    field(&["Host: example.org:1337"]),
    field(&["Host: evil.example"]),
];

/// Claims about the client and its address.
const ADDRESSES: [Vector; 30] = [
    field(&["X-Forwarded-For: 6.6.6.6"]),
    field(&["X-Forwarded-For: evil, 127.0.0.1"]),
    field(&["Forwarded: for=6.6.6.6"]),
    field(&["Forwarded-For: evil"]),
    field(&["Forwarded-For-IP: evil"]),
    field(&["X-Forwarded-For-Original: evil"]),
    field(&["X-Originally-Forwarded-For: evil"]),
    field(&["X-Original-Forwarded-For: evil"]),
    field(&["X-Original-Remote-Addr: evil"]),
    field(&["X-Real-IP: evil"]),
    field(&["Real-IP: evil"]),
    field(&["X-Client-IP: evil"]),
    field(&["X-ClientIP: evil"]),
    field(&["Client-IP: evil"]),
    field(&["True-Client-IP: evil"]),
    field(&["X-Cluster-Client-IP: evil"]),
    field(&["X-Originating-IP: evil"]),
    field(&["X-Remote-IP: evil"]),
    field(&["X-Remote-Addr: evil"]),
    field(&["Remote-Addr: evil"]),
    field(&["X-Custom-IP-Authorization: 127.0.0.1 evil"]),
    field(&["X-ProxyUser-Ip: evil"]),
    field(&["WL-Proxy-Client-IP: evil"]),
    field(&["Fastly-Client-IP: evil"]),
    field(&["CF-Connecting-IP: evil"]),
    field(&["CF_Connecting_IP: evil"]),
    field(&["CF-IPCountry: evil"]),
    field(&["CloudFront-Viewer-Country: evil"]),
    field(&["X-Envoy-External-Address: evil"]),
    field(&["Via: 1.1 evil"]),
];

/// Claims about the target, and fields that applications send to themselves.
const OVERRIDES: [Vector; 38] = [
    field(&["X-Original-URL: /evil"]),
    field(&["x_original_url: /evil"]),
    field(&["X-Rewrite-URL: /evil"]),
    field(&["X-Original-URI: /evil"]),
    field(&["X-HTTP-DestinationURL: http://evil.example/"]),
    field(&["X-HTTP-Path-Override: /evil"]),
    field(&["X-Envoy-Original-Path: /evil"]),
    field(&["X-Replaced-Path: /evil"]),
    field(&["X-WAWS-Unencoded-URL: /evil"]),
    field(&["Unencoded-URL: /evil"]),
    field(&["Request-URI: /evil"]),
    field(&["Path-Info: /evil"]),
    field(&["ORIG_PATH_INFO: /evil"]),
    field(&["Script-Name: /evil"]),
    field(&["Query-String: evil=1"]),
    field(&["X-Cf-Url: http://evil.example/"]),
    field(&["X-Proxy-URL: http://evil.example/"]),
    field(&["X-HTTP-Method-Override: POST"]),
    field(&["X-HTTP-Method-Override: EVIL"]),
    field(&["X-HTTP-Method: PUT"]),
    field(&["X-Method-Override: DELETE"]),
    field(&["x_http_method_override: HEAD"]),
    field(&["X-Middleware-Subrequest: middleware:evil"]),
    field(&["X-Middleware-Prefetch: evil"]),
    field(&["X-Now-Route-Matches: evil"]),
    field(&["X-Invoke-Status: 666"]),
    field(&["X-Matched-Path: /evil"]),
    field(&["X-React-Router-SPA-Mode: evil"]),
    field(&["X-React-Router-Prerender-Data: evil"]),
    field(&["X-Nuxt-No-SSR: evil"]),
    field(&["X-Astro-Path: /evil"]),
    field(&["X-Wap-Profile: http://evil.example/"]),
    field(&["Surrogate-Capability: evil=\"ESI/1.0\""]),
    Vector::fields(&["X-Sendfile-Type: X-Accel-Redirect", "X-Accel-Mapping: /=/evil/"]),
    field(&["Translate: f"]),
    field(&["Content-Type: application/evil"]),
    field(&["Content-Encoding: evil"]),
    field(&["Max-Forwards: 666"]),
];

/// Hop-by-hop fields, and fields that a client wants to be removed as if they were.
const HOP_BY_HOP: [Vector; 14] = [
    field(&["Connection: close, X-Forwarded-Host, X-Forwarded-Proto, Forwarded"]),
    field(&["Connection: keep-alive, Host, Via"]),
    field(&["Connection: Cookie, Cache-Control"]),
    field(&["Connection: evil"]),
    field(&["Keep-Alive: evil"]),
    field(&["Proxy-Connection: evil"]),
    field(&["Proxy: http://evil.example/"]),
    field(&["Proxy-Authorization: evil"]),
    field(&["TE: evil"]),
    field(&["Trailer: evil"]),
    field(&["Upgrade: evil"]),
    Vector::fields(&["Connection: Upgrade", "Upgrade: evil"]),
    Vector::fields(&["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: evil"]),
    field(&["Expect: 100-continue"]),
];

/// Other methods, and GET with a body ("fat GET").
const METHODS_AND_BODIES: [Vector; 18] = [
    Vector::with("HEAD {page} HTTP/1.1", &["X-Forwarded-Host: evil.example"]),
    Vector::with("HEAD {page} HTTP/1.1", &["X-Original-URL: /evil"]),
    Vector::with("HEAD {page} HTTP/1.1", &["X-HTTP-Method-Override: POST"]),
    Vector::with("OPTIONS {page} HTTP/1.1", &["X-Forwarded-Host: evil.example"]),
    Vector::with("EVIL {page} HTTP/1.1", &["X-HTTP-Method-Override: GET"]),
    Vector::with("get {page} HTTP/1.1", &["X-Evil: evil"]),
    Vector::body(GET, &["Content-Length: 6"], "q=evil"),
    Vector::body(GET, &["Content-Length: 6", "Content-Type: application/x-www-form-urlencoded"], "q=evil"),
    Vector::body(GET, &["Content-Length: 6", "X-HTTP-Method-Override: POST"], "q=evil"),
    Vector::body(GET, &["Transfer-Encoding: chunked"], "6\r\nq=evil\r\n0\r\n\r\n"),
    Vector::body(GET, &["Content-Length: 0", "X-Forwarded-Host: evil.example"], ""),
    Vector::body(GET, &["Transfer-Encoding: chunked", "X-Original-URL: /evil"], "0\r\n\r\n"),
    Vector::body("POST {page} HTTP/1.1", &["Content-Length: 6"], "q=evil"),
    Vector::body("POST {page} HTTP/1.1", &["Content-Length: 6", "X-HTTP-Method-Override: GET"], "q=evil"),
    Vector::body("POST {page}?_method=GET HTTP/1.1", &["Content-Length: 6"], "q=evil"),
    Vector::body("PUT {page} HTTP/1.1", &["Content-Length: 4"], "evil"),
    Vector::body("PATCH {page} HTTP/1.1", &["Content-Length: 4", "X-Forwarded-Host: evil.example"], "evil"),
    Vector::with("DELETE {page} HTTP/1.1", &["X-HTTP-Method-Override: GET", "X-Evil: evil"]),
];

/// Other spellings of the target.
const PATHS: [Vector; 40] = [
    Vector::line("GET {page}/ HTTP/1.1"),
    Vector::line("GET /{page} HTTP/1.1"),
    Vector::line("GET /.{page} HTTP/1.1"),
    Vector::line("GET {page}/. HTTP/1.1"),
    Vector::line("GET /evil/..{page} HTTP/1.1"),
    Vector::line("GET /evil/..%2f{page} HTTP/1.1"),
    Vector::line("GET /%2e%2e{page} HTTP/1.1"),
    Vector::line("GET {page}/../evil HTTP/1.1"),
    Vector::line("GET {page}%2f..%2fevil HTTP/1.1"),
    Vector::line("GET {page}/%2e%2e/evil HTTP/1.1"),
    Vector::line("GET {page}%252f..%252fevil HTTP/1.1"),
    Vector::line("GET {page}%2f HTTP/1.1"),
    Vector::line("GET {page}%5cevil HTTP/1.1"),
    Vector::line("GET {page}\\evil HTTP/1.1"),
    Vector::line("GET {page};evil HTTP/1.1"),
    Vector::line("GET {page};jsessionid=evil HTTP/1.1"),
    Vector::line("GET {page}%3bevil HTTP/1.1"),
    Vector::line("GET {page}%0aevil HTTP/1.1"),
    Vector::line("GET {page}%0d%0aX-Evil:%201 HTTP/1.1"),
    Vector::line("GET {page}%00evil HTTP/1.1"),
    Vector::line("GET {page}%20 HTTP/1.1"),
    Vector::line("GET {page}%09 HTTP/1.1"),
    Vector::line("GET {page}%3fevil=1 HTTP/1.1"),
    Vector::line("GET {page}%23evil HTTP/1.1"),
    Vector::line("GET {page}/x.css HTTP/1.1"),
    Vector::line("GET {page}.css HTTP/1.1"),
    Vector::line("GET {page}.json HTTP/1.1"),
    Vector::line("GET {page}/account.php/x.css HTTP/1.1"),
    Vector::line("GET {page}% HTTP/1.1"),
    Vector::line("GET {page}%zz HTTP/1.1"),
    Vector::line("GET {page}%c0%af..%c0%afevil HTTP/1.1"),
    Vector::line("GET {page}\"><script>evil()</script> HTTP/1.1"),
    Vector::line("GET http://example.org{page} HTTP/1.1"),
    Vector::line("GET HTTP://EXAMPLE.ORG:80{page} HTTP/1.1"),
    Vector::with("GET http://example.org{page} HTTP/1.1", &["Host: evil.example"]),
    Vector::with("GET http://evil.example{page} HTTP/1.1", &["Host: example.org"]),
    Vector::line("GET {page} HTTP/1.0"),
    Vector::with("GET {page} HTTP/1.0", &["X-Forwarded-Host: evil.example", "Via: 1.0 evil"]),
    Vector::line("GET {page} HTTP/1.9"),
    Vector::with("HEAD {page}/../evil HTTP/1.1", &["X-Rewrite-URL: /evil"]),
];

/// Odd and repeated parameters.
pub(crate) const QUERIES: [Vector; 34] = [
    Vector::query("GET {page}? HTTP/1.1", "{page}"),
    Vector::query("GET {page}?evil HTTP/1.1", "{page}"),
    Vector::query("GET {page}?evil=1 HTTP/1.1", "{page}"),
    Vector::query("GET {page}?utm_source=evil HTTP/1.1", "{page}"),
    Vector::query("GET {page}?utm_content=1&evil=1 HTTP/1.1", "{page}"),
    Vector::query("GET {page}?utm_content=1;a=evil HTTP/1.1", "{page}"),
    Vector::query("GET {page}?a=1&utm_content=1;a=evil HTTP/1.1", "{page}?a=1"),
    Vector::query("GET {page}?a=1&utm_content=1%26a=evil HTTP/1.1", "{page}?a=1"),
    Vector::query("GET {page}?fbclid=1;a=evil&a=1 HTTP/1.1", "{page}?a=1"),
    Vector::query("GET {page}?utm_source=1?a=evil&a=1 HTTP/1.1", "{page}?a=1"),
    Vector::query("GET {page}??utm_source=evil HTTP/1.1", "{page}"),
    Vector::query("GET {page}?a=1&a=evil HTTP/1.1", "{page}?a=1"),
    Vector::query("GET {page}?a=evil&a=1 HTTP/1.1", "{page}?a=1"),
    Vector::query("GET {page}?a[]=evil&a=1 HTTP/1.1", "{page}?a=1"),
    Vector::query("GET {page}?a=1&A=evil HTTP/1.1", "{page}?a=1"),
    Vector::query("GET {page}?a=1&%61=evil HTTP/1.1", "{page}?a=1"),
    Vector::query("GET {page}?a=1&a%00=evil HTTP/1.1", "{page}?a=1"),
    Vector::query("GET {page}?a=1;a=evil HTTP/1.1", "{page}?a=1"),
    Vector::query("GET {page}?a=1%26a=evil HTTP/1.1", "{page}?a=1"),
    Vector::query("GET {page}?a=1&&a=evil HTTP/1.1", "{page}?a=1"),
    Vector::query("GET {page}?a=1&=evil HTTP/1.1", "{page}?a=1"),
    Vector::query("GET {page}?&a=1 HTTP/1.1", "{page}?a=1"),
    Vector::query("GET {page}?a=1& HTTP/1.1", "{page}?a=1"),
    Vector::query("GET {page}?b=2&a=1 HTTP/1.1", "{page}?a=1&b=2"),
    Vector::query("GET {page}?_method=POST HTTP/1.1", "{page}"),
    Vector::query("GET {page}?__nextDataReq=1 HTTP/1.1", "{page}"),
    Vector::query("GET {page}?_=evil HTTP/1.1", "{page}"),
    Vector::query("GET {page}?callback=evil HTTP/1.1", "{page}"),
    Vector::query("GET {page}?%0d%0aX-Evil:%201 HTTP/1.1", "{page}"),
    Vector::query("GET {page}?a=1%23evil HTTP/1.1", "{page}?a=1"),
    Vector::query("GET {page}?% HTTP/1.1", "{page}"),
    Vector::query("GET {page}?a=%c0%ae HTTP/1.1", "{page}"),
    Vector::query("GET {page}%3fa=evil?a=1 HTTP/1.1", "{page}?a=1"),
    Vector::query("GET {page};a=evil?a=1 HTTP/1.1", "{page}?a=1"),
];

/// Requests that Kasoku refuses: meta-characters (CPDoS' HMC), and messages that two parsers could read in two ways.
const MALFORMED: [Vector; 26] = [
    Vector::refused(GET, &["X-Meta: evil\x01"]),
    Vector::refused(GET, &["X-Meta: evil\x00"]),
    Vector::refused(GET, &["X-Meta: evil\x07"]),
    Vector::refused(GET, &["X-Meta: evil\x1b[2J"]),
    Vector::refused(GET, &["X-Meta: evil\x7f"]),
    Vector::refused(GET, &["X-Meta: evil\rX-Evil: 1"]),
    Vector::refused(GET, &["X-Meta: evil\nX-Evil: 1"]),
    Vector::refused(GET, &["X-Meta\x01: evil"]),
    Vector::refused(GET, &["X Meta: evil"]),
    Vector::refused(GET, &["X-Meta : evil"]),
    Vector::refused(GET, &[": evil"]),
    Vector::refused(GET, &["X-Meta"]),
    Vector::refused(GET, &["X-Meta: a", " evil"]),
    Vector::refused(GET, &["Host: example.org", "Host: evil.example"]),
    Vector::refused(GET, &["Host: example.org, evil.example"]),
    Vector::refused(GET, &["Host: example.org:evil"]),
    Vector::refused(GET, &["Host: evil@example.org"]),
    Vector::refused(GET, &["Host: example.org/evil"]),
    Vector::refused(GET, &["Host: "]),
    Vector::refused(GET, &["Content-Length: 6", "Transfer-Encoding: chunked"]),
    Vector::refused("GET {page}#evil HTTP/1.1", &[]),
    Vector::refused("GET {page}\x01 HTTP/1.1", &[]),
    Vector::refused("GET {page} evil HTTP/1.1", &[]),
    Vector::refused("GET http://evil@example.org{page} HTTP/1.1", &[]),
    Vector::refused("GET https://example.org{page} HTTP/1.1", &[]),
    Vector::refused("TRACE {page} HTTP/1.1", &["X-Evil: evil"]),
];
