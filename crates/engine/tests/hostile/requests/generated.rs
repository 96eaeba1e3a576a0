//! Requests that combine all allowed variations: Kasoku must accept each, and the test knows what the origin gets from its parts.
//!
//! A fixed sequence of numbers makes the choices, so each run plays the same requests.

use super::Outcome::GetsAll;
use super::Row;

const COUNT: usize = 300;

const METHODS: [&str; 8] = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "REPORT"];
/// A target as the client writes it, and as the origin gets it.
const TARGETS: [(&str, &str); 6] = [
    ("/g", "/g"),
    ("http://example.org/g", "/g"),
    ("HTTP://EXAMPLE.ORG:80/g?q=1", "/g?q=1"),
    ("http://example.org?q", "/?q"),
    ("//g//../g/./?&&=", "//g//../g/./?&&="),
    ("/%2f%0d%0a%23?%00%0d%0a", "/%2f%0d%0a%23?%00%0d%0a"),
];
const HOSTS: [&str; 4] = ["Host: example.org", "HOST:EXAMPLE.ORG:80", "host: \t example.org. ", "Host:example.org:"];
const EMPTY_LINES: [&str; 3] = ["", "\r\n", "\r\n\r\n\r\n"];
const EXTRAS: [&str; 16] = [
    "",
    "Connection: content-length, transfer-encoding, host\r\n",
    "Connection: keep-alive,\r\n",
    "Connection: upgrade, x\r\nUpgrade: h2c\r\nX: y\r\n",
    "Transfer_Encoding: chunked\r\n",
    "Content_Length: 3\r\n",
    "TE: trailers, chunked;q=0\r\n",
    "Content-Encoding: chunked\r\n",
    "Expect: 100-continue\r\n",
    "Trailer: Content-Length, Host\r\n",
    "X:\r\nX: \r\nx:\t\r\n",
    "X: \"unfinished\r\n",
    "X-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n",
    "!#$%&'*+-.^_`|~: Transfer-Encoding: chunked\r\n",
    "Keep-Alive: timeout=1, max=1\r\nProxy-Connection: close\r\n",
    "Max-Forwards: 3\r\nVia: 1.0 a, 1.1 b\r\n",
];
const BODIES: [&str; 7] = [
    "",
    "hello",
    "\r\n",
    "0\r\n\r\n",
    "GET /evil HTTP/1.1\r\nHost: example.org\r\n\r\n",
    "0\r\n\r\nGET /evil HTTP/1.1\r\nHost: example.org\r\nContent-Length: 99\r\n\r\n",
    "\u{0}\u{1}\u{7f}\n\r\n\r",
];

/// The framing of a body.
type Frame = fn(&str) -> String;

const FRAMES: [Frame; 7] = [
    |body| format!("Content-Length: {}\r\n\r\n{body}", body.len()),
    |body| format!("cOnTeNt-LeNgTh:000{} \t\r\n\r\n{body}", body.len()),
    |body| format!("Transfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n", chunk(body, "")),
    |body| format!("tRANSFER-eNCODING:\t CHUNKED \r\n\r\n{}000;x=\"y\\\"\"\r\n\r\n", chunk(body, ";a;b=c")),
    |body| {
        let chunks: String = body.chars().map(|one| chunk(&one.to_string(), " ; a = \";\"")).collect();
        format!("Transfer-Encoding: ,chunked\r\n\r\n{chunks}0\r\n\r\n")
    },
    |body| {
        let trailers = "X: y\r\nContent-Length: 5\r\nTransfer-Encoding: identity\r\nHost: evil\r\n";
        format!("Transfer-Encoding: chunked,\r\n\r\n{}0\r\n{trailers}\r\n", chunk(body, ""))
    },
    |body| {
        let (half, rest) = body.split_at(body.len() / 2);
        format!("Transfer-Encoding: chunked\r\n\r\n{}{}0;last\r\nX:\r\n\r\n", chunk(half, ""), chunk(rest, ";half"))
    },
];

fn chunk(data: &str, extension: &str) -> String {
    if data.is_empty() { String::new() } else { format!("{:04X}{extension}\r\n{data}\r\n", data.len()) }
}

/// A sequence of pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        from[(self.0 >> 33) as usize % from.len()]
    }
}

pub(crate) fn topic() -> Vec<Row> {
    let mut dice = Dice(1);
    (0..COUNT)
        .map(|_| {
            let (method, (target, forwarded)) = (dice.pick(&METHODS), dice.pick(&TARGETS));
            let (host, extra, before) = (dice.pick(&HOSTS), dice.pick(&EXTRAS), dice.pick(&EMPTY_LINES));
            let (body, frame) = (dice.pick(&BODIES), dice.pick(&FRAMES));
            let version = dice.pick(&["1.1", "1.1", "1.9"]);
            // Whether the request has a body.
            let (end, body) =
                if dice.pick(&[true, true, true, false]) { (frame(body), body) } else { ("\r\n".to_owned(), "") };
            let text = format!("{before}{method} {target} HTTP/{version}\r\n{host}\r\n{extra}{end}");
            let outcome = GetsAll(vec![(format!("{method} {forwarded}"), body.as_bytes().to_vec())]);
            Row { section: "9112 6.3", bytes: text.into_bytes(), outcome }
        })
        .collect()
}
