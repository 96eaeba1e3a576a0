//! Alters items in all ways that the format rules out: with damage, with lines that lie, with fields that no shared page has, with chunks of
//! other pages.

use crate::item::{Response, Seal, content};
use crate::page::uri;
use kasoku_oracle::random::Random;

/// What the forger has to work with.
pub(crate) struct Genuine<'g> {
    /// The page, and the item of its URI, which is a response or a manifest.
    pub(crate) target: &'g str,
    pub(crate) name: &'g str,
    pub(crate) item: &'g [u8],
    /// The chunks in their order, by name.
    pub(crate) chunks: &'g [(String, Vec<u8>)],
    /// The item of another page, sealed as it should be.
    pub(crate) other: &'g [u8],
    /// What the forger seals with.
    pub(crate) seal: Seal,
}

/// What the forger has written.
pub(crate) struct Forgery {
    pub(crate) how: &'static str,
    /// Items by name.
    pub(crate) items: Vec<(String, Vec<u8>)>,
    /// Whether somebody who may write could mean it. Then the page may be served, if it keeps the rules.
    pub(crate) may_be_meant: bool,
}

/// Fields that no shared response has.
pub(crate) const FORBIDDEN: [&str; 16] = [
    "Set-Cookie: session=secret",
    "set-cookie: a=b; Path=/",
    "Set-Cookie2: a=b",
    "X-Accel-Redirect: /protected/passwd",
    "X-Accel-Expires: 10000",
    "x-accel-anything: 1",
    "X-Sendfile: /etc/passwd",
    "X-SENDFILE-Temporary: /etc/passwd",
    "X-LIGHTTPD-send-file: /etc/passwd",
    "Transfer-Encoding: chunked",
    "Connection: X-Other",
    "Keep-Alive: timeout=5",
    "Upgrade: h2c",
    "Proxy-Authenticate: Basic",
    "Age: 5",
    "X_Sendfile: /etc/passwd",
];

/// Lines without which no response is read.
const NECESSARY: [&str; 9] =
    ["Kind", "Key", "Generation", "Received", "Initial-Age", "Lifetime", "Lifetime-Source", "Rules", "Body-Length"];

/// Makes one forgery.
pub(crate) fn forge(genuine: &Genuine<'_>, random: &mut Random) -> Forgery {
    let (how, items, may_be_meant) = match (random.below(3), genuine.chunks.is_empty()) {
        (0, _) => unsealed(genuine, random),
        (_, false) => in_chunks(genuine, random),
        (_, true) => {
            let mut response = Response::of(content(genuine.item));
            let (how, may_be_meant) = lie(&mut response, genuine.target, random);
            let item = genuine.seal.sealed("whole", &response.content());
            (how, vec![(genuine.name.to_owned(), item)], may_be_meant)
        }
    };
    Forgery { how, items, may_be_meant }
}

type Made = (&'static str, Vec<(String, Vec<u8>)>, bool);

/// Alters the bytes of an item, and leaves its first line as it is, or makes one that says something else.
fn unsealed(genuine: &Genuine<'_>, random: &mut Random) -> Made {
    let mut item = genuine.item.to_vec();
    let at = random.below(item.len() as u64) as usize;
    let words = |words: &str| {
        let rest = item.iter().position(|byte| *byte == b'\n').map_or(0, |end| end);
        let digest = item[..rest].rsplit(|byte| *byte == b' ').next().unwrap_or_default();
        [words.as_bytes(), b" ", digest, &item[rest..]].concat()
    };
    let how = match random.below(10) {
        0..3 => {
            for _ in 0..=random.below(4) {
                let at = random.below(item.len() as u64) as usize;
                item[at] ^= 1 << random.below(8);
            }
            // Two flips of one bit would leave the item as it was.
            if item == genuine.item {
                item[at] ^= 1;
            }
            "flipped bits"
        }
        3 => {
            item.truncate(at);
            "cut"
        }
        4 => {
            item.extend((0..=random.below(100)).map(|_| random.any() as u8));
            "bytes at the end"
        }
        5 => {
            item.drain(at..(at + 1 + random.below(100) as usize).min(genuine.item.len()));
            "bytes are missing"
        }
        6 => {
            item = genuine.other.to_vec();
            "the item of another page"
        }
        7 => {
            item = words(random.of(&[
                "KASOKU/2 whole xxh3-128",
                "KASOKU/1 chunks xxh3-128",
                "KASOKU/1 whole hmac-sha256",
                "KASOKU/1 whole xxh3-64",
                "kasoku/1 whole xxh3-128",
                "KASOKU/1  whole xxh3-128",
                "KASOKU/1 part xxh3-128",
                "KASOKU/10 whole xxh3-128",
            ]));
            // The words of the item itself are none of these where its digest is over other ones.
            if item == genuine.item {
                item.clear();
            }
            "other words before the digest"
        }
        8 => {
            item = (0..random.below(300)).map(|_| random.any() as u8).collect();
            "anything"
        }
        _ => {
            let kind = if genuine.chunks.is_empty() { "chunks" } else { "whole" };
            item = genuine.seal.sealed(kind, content(genuine.item));
            "whole for chunks, or chunks for whole"
        }
    };
    (how, vec![(genuine.name.to_owned(), item)], false)
}

/// Makes a response say something that is not so, or that no front end has written. Returns what, and whether it may be meant.
fn lie(response: &mut Response, target: &str, random: &mut Random) -> (&'static str, bool) {
    let length = response.body.len();
    let how = match random.below(24) {
        0..4 => {
            response.head.push(random.of(&FORBIDDEN).to_owned());
            "a forbidden field"
        }
        4 => {
            let status = random.of(&[100, 101, 103, 206, 304, 407, 412, 416]);
            response.head[0] = format!("HTTP/1.1 {status} Anything");
            "a status that is not shared"
        }
        5 => {
            let value = random.of(&["no-store", "private", "no-cache", "must-revalidate", "max-age=600, private"]);
            response.set_field("Cache-Control", value);
            "Cache-Control that forbids it"
        }
        6 => {
            response.set_field("Vary", random.of(&["*", "User-Agent", "Cookie", "Accept-Language"]));
            "Vary that no line knows"
        }
        7 => {
            response.set("Key", format!("{}x", uri(target)));
            "the key of another page"
        }
        8 => {
            response.set("Kind", random.of(&["fields", "purge", "Response", "responses", ""]));
            "another kind"
        }
        9 => {
            let value = random.of(&[
                "00000000000000000000000000000000 1",
                "0 0",
                "",
                "5d9e8c1f0a3b47629fd0c4b1e6a27538 18446744073709551616",
                "x y",
            ]);
            response.set("Generation", value);
            "another log of purges"
        }
        10 => {
            response.set("Received", random.of(&["9223372036854775807", "99999999999999", "-1", "now", "0x10"]));
            "received at another time"
        }
        11 => {
            response.set("Initial-Age", random.of(&["601", "2147483648", "99999999999", "-1", "1.5"]));
            "too old, or of no age"
        }
        12 => {
            let wrong = random.of(&[length + 1, length.saturating_sub(1), 0, usize::MAX]);
            response.set("Body-Length", wrong);
            "a length that lies in the lines"
        }
        13 => {
            let wrong = random.of(&[length + 1, length.saturating_sub(1), 0, usize::MAX]);
            response.set_field("Content-Length", wrong);
            "a length that lies in the head"
        }
        14 => {
            if random.percent(50) {
                response.body.pop();
            } else {
                response.body.push(b'x');
            }
            "a body of another length"
        }
        15 => {
            response.set("Rules", random.of(&["0123456789abcdef", "0", "0123456789abcdef0", "rules"]));
            "other rules"
        }
        16 => {
            let at = response.at(random.of(&NECESSARY));
            response.lines.remove(at);
            "a line is missing"
        }
        17 => {
            let at = response.at(random.of(&NECESSARY));
            response.lines.push(response.lines[at].clone());
            "a line stands twice"
        }
        18 => {
            response.head.retain(|line| !line.to_lowercase().starts_with("date:"));
            if random.percent(50) {
                response.head.push("Date: today".to_owned());
            }
            "no date"
        }
        19 => {
            let line = random.of(&[
                "X-Folded: a\r\n b",
                "X-Bare: a\nSet-Cookie: b",
                "X Y: a",
                ": a",
                "X-Null: \0",
                "X-Cr: a\rb",
            ]);
            response.head.push(line.to_owned());
            "a malformed head"
        }
        20 => {
            response
                .set("Lifetime-Source", random.of(&["ttl", "ttl-override", "ttl-status", "negative-ttl", "mine", ""]));
            "a lifetime that nobody has granted"
        }
        21 => {
            let line = random.of(&[
                "Vary-On: accept-language",
                "Variant: 00",
                "Tags: 0123456789abcde",
                "Tags: 0123456789abcdef,",
                "Own-Tag: yes",
                "Own-Tag: no",
                "Withheld: ETag: \"a\"",
                "No-Cache: perhaps",
                "Vary-On: accept-language\r\nVariant: 0",
                "Vary-On: b,a\r\nVariant: 00",
                "Stale-If-Error: 5\r\nGrace: 5\r\nStale-If-Error: 5",
            ]);
            response.lines.push(line.to_owned());
            "a line without the one that it needs, or that can't be read"
        }
        22 => {
            let at = random.below(length as u64) as usize;
            response.body[at] ^= 1 << random.below(8);
            return ("another body", true);
        }
        _ => {
            // Any byte of the lines and the head.
            let at = random.below(response.lines.len() as u64) as usize;
            let mut line = std::mem::take(&mut response.lines[at]).into_bytes();
            let byte = random.below(line.len() as u64) as usize;
            line[byte] = random.below(128) as u8;
            response.lines[at] = String::from_utf8(line).unwrap();
            return ("another byte in a line", true);
        }
    };
    (how, false)
}

/// Alters a manifest or its chunks.
fn in_chunks(genuine: &Genuine<'_>, random: &mut Random) -> Made {
    let (name, chunks) = (genuine.name.to_owned(), genuine.chunks);
    let text = String::from_utf8(content(genuine.item).to_vec()).unwrap();
    let manifest = |text: String| vec![(name.clone(), genuine.seal.sealed("chunks", text.as_bytes()))];
    let number = random.below(chunks.len() as u64) as usize;
    let (chunk_name, chunk) = chunks[number].clone();
    let altered = |alter: &dyn Fn(&mut Vec<u8>)| {
        let mut chunk = chunk.clone();
        alter(&mut chunk);
        vec![(chunk_name.clone(), chunk)]
    };
    let at = random.below(chunk.len() as u64) as usize;
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    let other_number = |line: &str, random: &mut Random| {
        let number: u64 = line.rsplit(' ').next().unwrap().parse().unwrap();
        random.of(&[number + 1, number - 1, number * 2, 0, u64::MAX, number + 4096])
    };
    let (how, items) = match random.below(8) {
        0 => ("flipped bits in a chunk", altered(&|chunk| chunk[at] ^= 1)),
        1 => ("a cut chunk", altered(&|chunk| chunk.truncate(at))),
        2 => ("a long chunk", altered(&|chunk| chunk.push(0))),
        3 => {
            let other = (number + 1) % chunks.len();
            ("swapped chunks", vec![(chunk_name, chunks[other].1.clone()), (chunks[other].0.clone(), chunk)])
        }
        4 => {
            let line = line("Length: ");
            let wrong = format!("Length: {}", other_number(&line, random));
            ("a manifest of another length", manifest(text.replacen(&format!("\n{line}"), &format!("\n{wrong}"), 1)))
        }
        5 => {
            let line = line("Chunk-Length: ");
            let wrong = format!("Chunk-Length: {}", other_number(&line, random));
            ("a manifest of other chunks", manifest(text.replacen(&line, &wrong, 1)))
        }
        6 => {
            let mut lines: Vec<_> = text.split_inclusive("\r\n").collect();
            match random.below(3) {
                0 => drop(lines.pop()),
                1 => lines.push(lines[lines.len() - 1]),
                _ => {
                    let last = lines.len() - 1;
                    lines.swap(last, last - 1);
                }
            }
            ("a manifest with other digests", manifest(lines.concat()))
        }
        _ => {
            let line = line("Id: ");
            (
                "a manifest of chunks that are nowhere",
                manifest(text.replacen(&line, &format!("Id: {:032x}", random.any()), 1)),
            )
        }
    };
    (how, items, false)
}
