//! The visitors who ask for a page: different addresses, browsers, languages and countries, and one who comes again.

use crate::corpus::traits::Traits;
use kasoku_testkit::Response;

/// A browser and where it stands. A trusted proxy in front of Kasoku names address and country.
pub(crate) struct Visitor {
    pub(crate) address: &'static str,
    fields: &'static [&'static str],
    /// The cookies that it holds, and those that it was given.
    cookies: Vec<String>,
    visits: usize,
}

const NAVIGATION: [&str; 5] = [
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "Sec-Fetch-Dest: document",
    "Sec-Fetch-Mode: navigate",
    "Sec-Fetch-User: ?1",
    "Upgrade-Insecure-Requests: 1",
];

/// The visitors, each with the fields that others do not have.
const ALL: [(&str, &[&str]); 5] = [
    (
        "192.0.2.11",
        &[
            "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
            "Accept-Language: de-DE,de;q=0.9,en;q=0.8",
            "CF-IPCountry: DE",
        ],
    ),
    (
        "192.0.2.77",
        &[
            "User-Agent: Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
            "Accept-Language: en-US,en;q=0.9",
            "Referer: https://www.google.com/search?q=knots+for+beginners",
            "CF-IPCountry: US",
        ],
    ),
    (
        "192.0.2.130",
        &["User-Agent: Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "CF-IPCountry: US"],
    ),
    (
        "2001:db8:7::15",
        &[
            "User-Agent: Mozilla/5.0 (Linux; Android 15; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36",
            "Accept-Language: ja-JP,ja;q=0.9",
            "Referer: https://www.bing.com/search?q=bowline&form=QBLH",
            "CF-IPCountry: JP",
        ],
    ),
    (
        "192.0.2.201",
        &[
            "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
            "Accept-Language: fr-FR,fr;q=0.8,en;q=0.5",
            "CF-IPCountry: FR",
        ],
    ),
];

/// The order of the requests: the third is the first visitor's second, with the cookies of the first.
pub(crate) const ORDER: [usize; 6] = [0, 1, 0, 2, 3, 4];

/// Those who ask for the harmless page: none of them asks for the other page.
const EARLIER: [&str; 3] = ["192.0.2.31", "198.18.4.9", "192.0.2.34"];

impl Visitor {
    pub(crate) fn all() -> Vec<Self> {
        ALL.iter().map(|(address, fields)| Self { address, fields, cookies: Vec::new(), visits: 0 }).collect()
    }

    /// Browsers like the others, at other addresses.
    pub(crate) fn earlier() -> Vec<Self> {
        let mut all = Self::all();
        all.iter_mut().zip(EARLIER).for_each(|(visitor, address)| visitor.address = address);
        all.truncate(EARLIER.len());
        all
    }

    /// The field lines of its request.
    pub(crate) fn request(&self) -> Vec<String> {
        let mut lines: Vec<String> = NAVIGATION.iter().chain(self.fields).map(|line| (*line).to_owned()).collect();
        lines.push(format!("X-Forwarded-For: {}", self.address));
        if !self.cookies.is_empty() {
            lines.push(format!("Cookie: {}", self.cookies.join("; ")));
        }
        lines
    }

    /// The traits of its next request, which the right page has.
    pub(crate) fn traits(&self) -> Traits {
        let request = self.request();
        let field = |name: &str| {
            let mut pairs = request.iter().filter_map(|line| line.split_once(": "));
            pairs.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
        };
        Traits::of(field, self.visits == 0)
    }

    pub(crate) fn has_cookies(&self) -> bool {
        !self.cookies.is_empty()
    }

    /// Keeps the cookies that an answer sets, as a browser does.
    pub(crate) fn got(&mut self, response: &Response) {
        self.visits += 1;
        for line in response.head.all("set-cookie") {
            let pair = line.split(';').next().unwrap_or_default().to_owned();
            let name = format!("{}=", pair.split('=').next().unwrap_or_default());
            self.cookies.retain(|cookie| !cookie.starts_with(&name));
            self.cookies.extend((!pair.ends_with('=')).then_some(pair));
        }
    }
}
