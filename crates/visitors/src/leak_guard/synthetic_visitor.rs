//! Makes up a visitor, so that a page which depends on address, browser, language or referring page differs from the anonymous page.
//!
//! The visitor is the opposite of an anonymous request: a telephone rather than a program, from another address, in another language
//! than the page's, sent by a search. The address differs each time, the rest with the pattern. The class of
//! visitors and everything else in the key stay. Addresses are from the ranges for documentation (RFC 5737), so no real visitor has
//! them. The visitor has no cookies but those in the key, as on a first visit.

use kasoku_semantics::anonymous_request::ANONYMOUS_ADDRESS;
use kasoku_semantics::classes;
use kasoku_semantics::grant::Grant;
use kasoku_semantics::vary::{Vary, vary};
use kasoku_wire::{Fields, RequestHead, ResponseHead};
use memchr::memmem;
use std::net::Ipv4Addr;

/// The first three numbers of the visitors' addresses.
const RANGES: [[u8; 3]; 2] = [[203, 0, 113], [198, 51, 100]];

/// Browsers on small devices, and others.
const MOBILE: [&str; 3] = [
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (Android 14; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0",
];
const DESKTOP: [&str; 3] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36",
];

/// A robot that looks at pages as a telephone does, as Google's does.
const ROBOT: &str = "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Mobile Safari/537.36 (compatible; Pagebot/1.0)";

/// Languages to ask for, best first: all but the page's own, so that a page which has any of them comes in another language.
pub const LANGUAGES: [&str; 10] = ["en", "de", "ja", "ko", "fr", "es", "zh", "pt", "it", "ru"];

/// How far into a page its language is looked for, in bytes.
const LANGUAGE_BYTES: usize = 2048;

/// See the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct SyntheticVisitor {
    range: [u8; 3],
    host: u8,
    user_agent: Option<&'static str>,
    languages: Option<String>,
    referer: Option<String>,
    accept: Option<&'static str>,
    /// Fields in which a proxy names the visitor's country.
    countries: Vec<CountryField>,
}

/// A field in which a proxy names the visitor's country, and that country.
pub type CountryField = (&'static str, String);

/// Fields in which proxies name the country of a client: Cloudflare, CloudFront, Vercel, App Engine, Fastly and nginx' GeoIP by their
/// documentation.
const COUNTRY_FIELDS: [&str; 8] = [
    "cf-ipcountry",
    "cloudfront-viewer-country",
    "x-vercel-ip-country",
    "x-appengine-country",
    "fastly-geo-country",
    "x-geoip-country-code",
    "x-geo-country",
    "x-country-code",
];

/// Those of a request's fields in which its proxy names the client's country, with a country to look from: the client's own, unless it is
/// the one that most pages are made for.
pub fn countries(request: &Fields) -> Vec<CountryField> {
    let country = |value: &[u8]| match value.to_ascii_uppercase()[..] {
        [b'U', b'S'] | [b'X', b'X'] => OTHER_COUNTRY.to_owned(),
        [one, other] if one.is_ascii_uppercase() && other.is_ascii_uppercase() => {
            [char::from(one), char::from(other)].iter().collect()
        }
        _ => OTHER_COUNTRY.to_owned(),
    };
    COUNTRY_FIELDS.into_iter().filter_map(|name| Some((name, country(request.only(name)?)))).collect()
}

/// The country of a visitor whose client's says nothing.
const OTHER_COUNTRY: &str = "DE";

/// What a browser accepts that follows a link, where an anonymous request accepts anything.
const NAVIGATION: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";

impl SyntheticVisitor {
    /// The visitor of that number, at an address by another number. It sends the `anonymous` request, and asks for another language
    /// than that of the page.
    pub(crate) fn new(
        number: u64,
        address: u64,
        grant: &Grant,
        anonymous: &RequestHead,
        (head, page): (&ResponseHead, &[u8]),
    ) -> Self {
        // Fields that are in the key stay as they are.
        let is_own = |name: &str| grant.reaches_origin(name.as_bytes()) && !grant.keys_by_class(name.as_bytes());
        // So does what the page varies by: each class of Accept has a variant of its own then.
        let varies = matches!(vary(&head.fields), Vary::Fields(names) if names.iter().any(|name| name == "accept"));
        let has_accept = is_own("accept") || varies;
        let devices: &[&[&'static str]] = match grant.key_device {
            true if classes::device_name(&anonymous.fields) == "mobile" => &[&MOBILE],
            true => &[&DESKTOP],
            // Both a telephone and a robot.
            false => &[&[ROBOT]],
        };
        let agents = *pick(devices, number >> 8).unwrap_or(&&MOBILE[..]);
        let languages = match grant.key_languages.is_empty() {
            true => other_languages(page),
            false => {
                let class = classes::language(&anonymous.fields, &grant.key_languages);
                format!("{class};q=0.9, {class};q=0.8")
            }
        };
        let referer = format!("https://www.google.com/search?q=visitor+{:x}", number >> 40);
        Self {
            range: *pick(&RANGES, address >> 24).unwrap_or(&RANGES[0]),
            host: host(address),
            user_agent: pick(agents, number >> 32).copied().filter(|_| !is_own(classes::DEVICE_FIELD)),
            languages: Some(languages).filter(|_| !is_own(classes::LANGUAGE_FIELD)),
            referer: Some(referer).filter(|_| !is_own("referer")),
            accept: Some(NAVIGATION).filter(|_| !has_accept),
            countries: Vec::new(),
        }
    }

    /// The same visitor, whose country these fields name.
    pub(crate) fn in_a_country(self, fields: &[CountryField], grant: &Grant) -> Self {
        let countries = fields.iter().filter(|(name, _)| !grant.reaches_origin(name.as_bytes())).cloned().collect();
        Self { countries, ..self }
    }

    /// The same visitor as a plain telephone, where robots are refused.
    pub(crate) fn no_robot(self) -> Self {
        let user_agent = self.user_agent.map(|agent| if agent == ROBOT { MOBILE[0] } else { agent });
        Self { user_agent, ..self }
    }

    pub(crate) fn address(&self) -> Ipv4Addr {
        let [a, b, c] = self.range;
        Ipv4Addr::new(a, b, c, self.host)
    }

    /// The anonymous request, sent as this visitor.
    pub(crate) fn request_as_visitor(&self, anonymous: &RequestHead) -> RequestHead {
        let mut head = anonymous.clone();
        let address = self.address().to_string();
        for name in ["Forwarded", "X-Forwarded-For", "X-Real-IP"] {
            let told: Vec<Vec<u8>> = head.fields.all(name).map(|value| replaced(value, &address)).collect();
            head.fields.remove(name);
            told.into_iter().for_each(|value| head.fields.push(name, value));
        }
        let own = [
            ("User-Agent", self.user_agent),
            ("Accept-Language", self.languages.as_deref()),
            ("Referer", self.referer.as_deref()),
            ("Accept", self.accept),
        ];
        self.countries.iter().for_each(|(name, country)| head.fields.set(name, country.as_str()));
        for (name, value) in own.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            head.fields.set(name, value);
        }
        head
    }

    /// What the head of a shared answer must not say of this visitor.
    pub(crate) fn traits(&self) -> impl Iterator<Item = String> {
        let own = [self.user_agent.map(str::to_owned), self.referer.clone()];
        own.into_iter().flatten().chain([self.address().to_string()])
    }
}

/// The last number of the last address.
const LAST_HOST: u8 = 254;

fn host(number: u64) -> u8 {
    u8::try_from(number % u64::from(LAST_HOST)).unwrap_or(0) + 1
}

fn pick<T>(all: &[T], number: u64) -> Option<&T> {
    let count = all.len().max(1) as u64;
    all.get(usize::try_from(number % count).unwrap_or(0))
}

/// The value of a field that tells an address, with `address` in place of the anonymous one.
fn replaced(value: &[u8], address: &str) -> Vec<u8> {
    match memmem::find(value, ANONYMOUS_ADDRESS.as_bytes()) {
        Some(at) => {
            let behind = value.get(at + ANONYMOUS_ADDRESS.len()..).unwrap_or_default();
            [value.get(..at).unwrap_or_default(), address.as_bytes(), behind].concat()
        }
        None => value.to_vec(),
    }
}

/// Languages to ask for that the page, by its `lang`, is not in. A page that names none counts as English.
fn other_languages(page: &[u8]) -> String {
    let said = page_language(page).unwrap_or_else(|| "en".to_owned());
    let others = LANGUAGES.iter().filter(|language| **language != said).zip((1..10).rev());
    others.map(|(language, weight)| format!("{language};q=0.{weight}")).collect::<Vec<_>>().join(",")
}

/// The language that a page, or a line of one, names by its `lang`: two small letters.
pub fn page_language(page: &[u8]) -> Option<String> {
    let begin = page.get(..LANGUAGE_BYTES).unwrap_or(page);
    let at = memmem::find(begin, b"lang=")? + b"lang=".len();
    let said = begin.get(at..)?.trim_ascii_start();
    let said = said.strip_prefix(b"\"").or_else(|| said.strip_prefix(b"'")).unwrap_or(said);
    let letters = said.get(..2).filter(|letters| letters.iter().all(u8::is_ascii_alphabetic))?;
    String::from_utf8(letters.to_ascii_lowercase()).ok()
}

/// The anonymous request without the fields that would change the answer: conditions, ranges, and cache directives.
pub fn plain(anonymous: &RequestHead) -> RequestHead {
    let mut head = anonymous.clone();
    for name in NOT_SENT {
        head.fields.remove(name);
    }
    head
}

const NOT_SENT: [&str; 8] = [
    "cache-control",
    "pragma",
    "if-match",
    "if-none-match",
    "if-modified-since",
    "if-unmodified-since",
    "range",
    "if-range",
];

/// Adds cookies to those in the key.
pub(crate) fn add_cookies(fields: &mut Fields, cookies: &str) {
    let value = match fields.combined("cookie") {
        Some(own) => [&own[..], b"; ", cookies.as_bytes()].concat(),
        None => cookies.as_bytes().to_vec(),
    };
    fields.set("Cookie", value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn grant(change: impl FnOnce(&mut Grant)) -> Grant {
        let mut grant = Grant { ttl_seconds: 60, ..Grant::default() };
        change(&mut grant);
        grant
    }

    fn anonymous(lines: &[(&str, &str)]) -> RequestHead {
        let mut head = RequestHead::new(http::Method::GET, "/");
        head.fields = lines.iter().copied().collect();
        head
    }

    const TOLD: [(&str, &str); 3] = [
        ("Forwarded", "for=0.0.0.0;host=a.org;proto=http"),
        ("X-Forwarded-For", "0.0.0.0"),
        ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Kasoku"),
    ];

    fn said(lines: &[(&str, &str)]) -> ResponseHead {
        ResponseHead { fields: lines.iter().copied().collect(), ..ResponseHead::new(http::StatusCode::OK) }
    }

    #[test]
    fn a_visitor_accepts_the_same_where_the_page_varies_by_that() {
        let (plain, asked) = (grant(|_| {}), anonymous(&[("Accept", "*/*")]));
        for (varies, accepts) in [("Accept-Encoding", NAVIGATION), ("Accept-Encoding, Accept", "*/*")] {
            let visitor = SyntheticVisitor::new(1, 1, &plain, &asked, (&said(&[("Vary", varies)]), b"{}"));
            assert_eq!(visitor.request_as_visitor(&asked).fields.only("accept"), Some(accepts.as_bytes()));
        }
    }

    /// Numbers as they come: well mixed.
    fn numbers() -> impl Iterator<Item = u64> {
        (1_u64..300).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    #[test]
    fn a_visitor_differs_from_the_anonymous_request_in_all_that_is_not_in_the_key() {
        let (plain, asked) = (grant(|_| {}), anonymous(&TOLD));
        let mut addresses = HashSet::new();
        for number in numbers() {
            let visitor = SyntheticVisitor::new(number, number, &plain, &asked, (&said(&[]), b"<html lang=\"fr\">"));
            let sent = visitor.request_as_visitor(&asked);
            let address = visitor.address().to_string();
            assert!(address.starts_with("203.0.113.") || address.starts_with("198.51.100."), "{address}");
            let field = |name: &str| String::from_utf8(sent.fields.only(name).unwrap().to_vec()).unwrap();
            assert_eq!(field("x-forwarded-for"), address);
            assert_eq!(field("forwarded"), format!("for={address};host=a.org;proto=http"));
            assert!(field("user-agent").contains("Mozilla/5.0 (") && !field("user-agent").contains("Kasoku"));
            assert!(!field("accept-language").starts_with("fr") && field("referer").contains("google.com"));
            assert!(sent.fields.only("cookie").is_none());
            addresses.insert(address);
        }
        assert!(addresses.len() > 100, "{}", addresses.len());
    }

    #[test]
    fn a_visitor_stays_in_the_class_of_the_key() {
        let keyed = grant(|grant| {
            grant.key_device = true;
            grant.key_languages = ["ko", "en"].map(str::to_owned).to_vec();
            grant.key_fields = vec!["referer".to_owned()];
        });
        for (agent, language) in [("iPhone", "en"), ("Firefox", "ko"), ("Firefox", "en")] {
            let class = |fields: &Fields| {
                let languages = &keyed.key_languages;
                (classes::device(fields), classes::language(fields, languages).to_owned())
            };
            let mut asked = anonymous(&[("Accept-Language", language), ("Referer", "http://a/")]);
            asked.fields.set("User-Agent", classes::device(&anonymous(&[("User-Agent", agent)]).fields));
            for number in numbers() {
                let sent =
                    SyntheticVisitor::new(number, number, &keyed, &asked, (&said(&[]), b"")).request_as_visitor(&asked);
                assert_eq!(class(&sent.fields), class(&asked.fields));
                assert_ne!(sent.fields.only("user-agent"), asked.fields.only("user-agent"));
                assert_eq!(sent.fields.only("referer"), Some(&b"http://a/"[..]));
            }
        }
    }

    #[test]
    fn what_is_asked_again_is_asked_plainly_and_cookies_stand_beside_those_of_the_key() {
        let mut asked = anonymous(&[("If-None-Match", "\"a\""), ("Cache-Control", "no-cache"), ("Cookie", "lang=de")]);
        asked = plain(&asked);
        assert_eq!(asked.fields.iter().count(), 1);
        add_cookies(&mut asked.fields, "sid=1");
        assert_eq!(asked.fields.only("cookie"), Some(&b"lang=de; sid=1"[..]));
        let mut without = Fields::new();
        add_cookies(&mut without, "sid=1");
        assert_eq!(without.only("cookie"), Some(&b"sid=1"[..]));
    }
}
