//! The table of request fields, and the search in it.

use super::{FieldKind, Granted, Stated, ValueRule};

/// All kinds. A name counts before a family, and a longer family before a shorter one. Fields in no row: see
/// [`granted`](super::granted).
pub(super) const KINDS: [FieldKind; 16] = [
    // The message and its connection (RFC 9110 section 7, RFC 9112, RFC 9113 for HTTP2-Settings of a client that offers h2c).
    FieldKind {
        granted: Granted::Aside,
        stated: Stated::Own,
        names: &[
            "connection",
            "content-length",
            "host",
            "keep-alive",
            "proxy-connection",
            "te",
            "transfer-encoding",
            "upgrade",
        ],
        families: &[],
    },
    // The same, and what is for caches: conditions and ranges (RFC 9110 sections 13 and 14), directives (RFC 9111 section 5), codings
    // (RFC 9110 section 12.5.3, RFC 9842), a difference to what the client has (RFC 3229: feed readers send A-IM, and the whole feed
    // is a right answer). A Cookie2 only names the version of a standard (RFC 2965). Cookies and credentials have rules of their own.
    FieldKind {
        granted: Granted::Aside,
        stated: Stated::SentOn,
        names: &[
            "a-im",
            "accept-encoding",
            "alt-used",
            "authorization",
            "available-dictionary",
            "cache-control",
            "cookie",
            "cookie2",
            "date",
            "dictionary-id",
            "early-data",
            "expect",
            "http2-settings",
            "if-match",
            "if-modified-since",
            "if-none-match",
            "if-range",
            "if-unmodified-since",
            "pragma",
            "range",
            "via",
            "warning",
        ],
        families: &[],
    },
    // Two of them that a proxy does not send on without a reason (RFC 9110 sections 6.6.2 and 7.6.2).
    FieldKind { granted: Granted::Aside, stated: Stated::Removed, names: &["max-forwards", "trailer"], families: &[] },
    // RFC 9110 section 12.5.1.
    FieldKind {
        granted: Granted::ByValue(ValueRule::Accept),
        stated: Stated::SentOn,
        names: &["accept"],
        families: &[],
    },
    // Fetch Standard section 3.1: browsers send it with requests of another site's scripts, for its fonts, and with unsafe methods.
    FieldKind {
        granted: Granted::ByValue(ValueRule::Origin),
        stated: Stated::SentOn,
        names: &["origin"],
        families: &[],
    },
    // jQuery and other libraries say `XMLHttpRequest`; Android's WebView names its package.
    FieldKind {
        granted: Granted::ByValue(ValueRule::RequestedWith),
        stated: Stated::SentOn,
        names: &["x-requested-with"],
        families: &[],
    },
    // Browsers' own, whatever they request: RFC 9110 sections 10.1 and 12.5, Fetch and its neighbours (all of `Sec-`), client hints
    // (RFC 8942) under their first names, RFC 9218 for Priority, prefetching (Purpose, X-Moz, X-Purpose), the request of a service
    // worker's script, reporting for advertisements; Apple's players; Chrome's fields for Google; IE on telephones (`UA-`).
    FieldKind {
        granted: Granted::Withheld,
        stated: Stated::SentOn,
        names: &[
            "accept-charset",
            "accept-language",
            "attribution-reporting-eligible",
            "attribution-reporting-support",
            "device-memory",
            "dnt",
            "downlink",
            "dpr",
            "ect",
            "intervention",
            "priority",
            "purpose",
            "referer",
            "rtt",
            "save-data",
            "service-worker",
            "upgrade-insecure-requests",
            "user-agent",
            "viewport-width",
            "width",
            "x-client-data",
            "x-do-not-track",
            "x-moz",
            "x-playback-session-id",
            "x-purpose",
        ],
        families: &["sec-", "ua-", "x-chrome-"],
    },
    // Robots' and players' own: From (RFC 9110 section 10.1.2: Googlebot, bingbot), AMP's crawler, what players tell networks (CTA-5004),
    // MIME-Version of libraries that write mails as well, the fetcher of Facebook's programs.
    FieldKind {
        granted: Granted::Withheld,
        stated: Stated::SentOn,
        names: &["amp-cache-transform", "from", "mime-version"],
        families: &["cmcd-", "x-fb-"],
    },
    // What proxies, load balancers and networks write that `unkeyed` knows too (RFC 7239, vendors' manuals): the ones that each
    // request has behind them. The rest of that list is found by `granted`.
    FieldKind {
        granted: Granted::Withheld,
        stated: Stated::Removed,
        names: &["true-client-ip", "x-client-ip", "x-cluster-client-ip", "x-scheme", "x-appengine-user-ip"],
        families: &[
            "akamai-",
            "cf-",
            "cloudfront-",
            "fastly-",
            "x-akamai-",
            "x-amzn-",
            "x-appengine-",
            "x-arr-",
            "x-azure-",
            "x-envoy-",
            "x-original-",
            "x-vercel-",
        ],
    },
    // Fields that Kasoku writes itself (see `our_fields`).
    FieldKind {
        granted: Granted::Withheld,
        stated: Stated::Own,
        names: &["forwarded", "proxy", "x-real-ip"],
        families: &["x-forwarded-"],
    },
    // More of them, which an application may name in `Vary`: RFC 8586 (CDN-Loop), Amazon, Alibaba, Bunny, DigitalOcean, Fly, Netlify,
    // Sucuri, Varnish; nginx' and Apache's modules for countries; filters of firms and of anti-virus programs (Zscaler, Kaspersky,
    // IronPort); proxies of telephones' networks and browsers (AT&T, Nokia, Opera Mini, UC Browser).
    FieldKind {
        granted: Granted::Withheld,
        stated: Stated::SentOn,
        names: &[
            "cdn-loop",
            "device-stock-ua",
            "x-att-deviceid",
            "x-cdn",
            "x-device-user-agent",
            "x-iinfo",
            "x-imforwards",
            "x-mcproxyfilter",
            "x-puffin-ua",
            "x-queue-start",
            "x-request-start",
            "x-varnish",
        ],
        families: &[
            "ali-cdn-",
            "cdn-",
            "fly-",
            "geoip-",
            "x-amz-cf-",
            "x-geoip-",
            "x-kl-",
            "x-nf-",
            "x-nokia-",
            "x-operamini-",
            "x-sucuri-",
            "x-ucbrowser-",
            "x-zscaler-",
            "z-forwarded-",
        ],
    },
    // Traces that `unkeyed` knows too: W3C Trace Context and Baggage, Zipkin, Jaeger, Amazon's, Google's, Sentry's, New Relic's.
    FieldKind {
        granted: Granted::Withheld,
        stated: Stated::Removed,
        names: &[
            "b3",
            "baggage",
            "newrelic",
            "sentry-trace",
            "traceparent",
            "tracestate",
            "uber-trace-id",
            "x-cloud-trace-context",
        ],
        families: &["x-b3-", "x-datadog-"],
    },
    // The number of the request, which Kasoku writes itself.
    FieldKind { granted: Granted::Withheld, stated: Stated::Own, names: &["x-request-id"], families: &[] },
    // More numbers and traces: Azure, AppDynamics (ADRUM), Dynatrace, Instana, Honeycomb, Jaeger, Lightstep, New Relic, SkyWalking.
    FieldKind {
        granted: Granted::Withheld,
        stated: Stated::SentOn,
        names: &[
            "adrum",
            "correlation-context",
            "correlation-id",
            "request-context",
            "request-id",
            "singularityheader",
            "trace-id",
            "x-dtpc",
            "x-dynatrace",
            "x-honeycomb-trace",
        ],
        families: &["eagleeye-", "jaeger-", "ot-tracer-", "sw8", "uberctx-", "x-instana-", "x-newrelic-", "x-ot-"],
    },
    // Fields that a network in front writes, or that `unkeyed` lists, and by which a client still gets an answer of its own: the
    // identity that the network has found (Cloudflare Access, AWS ALB, App Engine), the source of a page (WebDAV's Translate), and
    // the type of a body, by which some programs choose the type of their answer.
    FieldKind {
        granted: Granted::Passes,
        stated: Stated::Removed,
        names: &["translate"],
        families: &["cf-access-", "content-", "x-amzn-oidc-", "x-appengine-user-"],
    },
    // What frameworks send to themselves while they build pages, and what their servers believe of any client: the page comes without
    // its data, with other data, of another path, or as an error. Clients' own fields of frameworks (`RSC`, `X-Nextjs-Data`) are in no
    // row: an application names those in `Vary`.
    FieldKind {
        granted: Granted::Passes,
        stated: Stated::Removed,
        names: &["x-sveltekit-error"],
        families: &["x-astro-", "x-nitro-", "x-nuxt-", "x-react-router-"],
    },
];

/// The longest name in the table, in bytes.
const NAME_BYTES_MAX: usize = 32;

/// What the table says of a name, if it has it.
pub(super) fn find(name: &[u8]) -> Option<Granted> {
    // Half of the fields that a browser sends.
    if let [b's' | b'S', b'e' | b'E', b'c' | b'C', b'-', ..] = name {
        return Some(Granted::Withheld);
    }
    let first = name.first()?.to_ascii_lowercase();
    let is_name = |row: &&(&str, Granted)| {
        row.0.as_bytes().first() == Some(&first) && name.eq_ignore_ascii_case(row.0.as_bytes())
    };
    let of_length = BY_LENGTH.starts.get(name.len()).zip(BY_LENGTH.starts.get(name.len() + 1));
    let names = of_length.and_then(|(start, end)| BY_LENGTH.rows.get(usize::from(*start)..usize::from(*end)));
    if let Some(row) = names.unwrap_or_default().iter().find(is_name) {
        return Some(row.1);
    }
    let begins = |row: &&(&str, Granted)| {
        name.get(..row.0.len()).is_some_and(|start| start.eq_ignore_ascii_case(row.0.as_bytes()))
    };
    let letter = usize::from(first.checked_sub(b'a')?);
    let of_letter = BY_LETTER.starts.get(letter).zip(BY_LETTER.starts.get(letter + 1));
    let families = of_letter.and_then(|(start, end)| BY_LETTER.rows.get(usize::from(*start)..usize::from(*end)));
    families.unwrap_or_default().iter().find(begins).map(|row| row.1)
}

/// Rows in groups: group `n` is `starts[n]..starts[n + 1]`.
struct Grouped<const ROWS: usize, const STARTS: usize> {
    rows: [(&'static str, Granted); ROWS],
    starts: [u8; STARTS],
}

/// All names, grouped by length.
static BY_LENGTH: Grouped<{ count(false) }, { NAME_BYTES_MAX + 2 }> = grouped(false);

/// All families, grouped by first letter; in a group the longest comes first.
static BY_LETTER: Grouped<{ count(true) }, 27> = grouped(true);

/// The families of a kind, or its names.
const fn spellings(kind: &FieldKind, families: bool) -> &'static [&'static str] {
    if families { kind.families } else { kind.names }
}

#[expect(clippy::indexing_slicing, reason = "an index beyond the end does not compile")]
const fn count(families: bool) -> usize {
    let (mut count, mut kind) = (0, 0);
    while kind < KINDS.len() {
        count += spellings(&KINDS[kind], families).len();
        kind += 1;
    }
    count
}

#[expect(clippy::indexing_slicing, reason = "an index beyond the end does not compile")]
const fn group(spelling: &str, families: bool) -> usize {
    if families { (spelling.as_bytes()[0] - b'a') as usize } else { spelling.len() }
}

/// Sorts the rows of the table into their groups.
#[expect(clippy::indexing_slicing, reason = "an index beyond the end does not compile")]
const fn grouped<const ROWS: usize, const STARTS: usize>(families: bool) -> Grouped<ROWS, STARTS> {
    let mut all = Grouped { rows: [("", Granted::Aside); ROWS], starts: [0; STARTS] };
    let (mut filled, mut one, mut length) = (0, 0, NAME_BYTES_MAX);
    while one + 1 < STARTS {
        all.starts[one] = filled as u8;
        while length > 0 {
            let mut kind = 0;
            while kind < KINDS.len() {
                let spellings = spellings(&KINDS[kind], families);
                let mut place = 0;
                while place < spellings.len() {
                    if group(spellings[place], families) == one && spellings[place].len() == length {
                        all.rows[filled] = (spellings[place], KINDS[kind].granted);
                        filled += 1;
                    }
                    place += 1;
                }
                kind += 1;
            }
            length -= 1;
        }
        length = NAME_BYTES_MAX;
        one += 1;
    }
    all.starts[one] = filled as u8;
    assert!(filled == ROWS && ROWS < u8::MAX as usize, "a name is too long, or there are too many");
    all
}
