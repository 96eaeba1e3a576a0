//! Parts of a body that stays on disk, driven by a host whose origin answers ranges of one large body.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use bytes::Bytes;
use http::{Method, StatusCode};
use kasoku_cache::disk::{Admission, DiskContents, DiskOptions, DiskState, Read};
use kasoku_cache::verdict::OriginExchange;
use kasoku_cache::{
    BodyWriter, Cache, CacheLimits, CacheRoute, Entry, FillEvent, FillReader, Lookup, SharedRequest, Verdict,
};
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::policy::{Policy, Profile};
use kasoku_semantics::range::ByteRange;
use kasoku_semantics::time::Now;
use kasoku_wire::{RequestHead, ResponseHead};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const NOW: Now = Now { unix_ms: 1_700_000_000_000, mono_ms: 0 };
const MIB: u64 = 1 << 20;
const BODY_BYTES: usize = 3_000_000;

struct Host {
    cache: Cache,
    policy: Arc<Policy>,
    body: Vec<u8>,
}

/// The bytes that readers get, and whether each piece came from disk.
type Pieces = (Vec<u8>, Vec<bool>);

impl Host {
    /// Memory takes bodies up to 256 KiB.
    fn start(path: &Path) -> Self {
        let limits = CacheLimits { memory_bytes_max: 8 * MIB, object_bytes_max: MIB / 4 };
        let options = DiskOptions { path: path.to_owned(), size_bytes: 64 * MIB, admission: Admission::Always };
        let host = Self {
            cache: Cache::with_disk(limits, options, Arc::new(|| NOW)).unwrap(),
            policy: Arc::new(Policy::new(Profile::Safe)),
            body: (0..BODY_BYTES).map(|at| (at % 251) as u8).collect(),
        };
        until(|| host.cache.disk_status().unwrap().state == DiskState::Serving { is_loading: false, paused: None });
        host
    }

    async fn look_up(&self, target: &str, range: &Range<usize>) -> Lookup {
        let value = format!("bytes={}-{}", range.start, range.end - 1);
        let received = RequestHead::new(Method::GET, target).with("Host", "a.example").with("Range", value);
        let key = self.cache.key(format!("http://a.example{target}"));
        let request = SharedRequest::new(&received, &CacheRoute::new(&key, &self.policy), &Peer::UNKNOWN);
        match self.cache.look_up(&request, NOW) {
            Lookup::Recall(recall) => {
                recall.wait().await;
                self.cache.look_up_recalled(&request, &recall, NOW)
            }
            found => found,
        }
    }

    /// Whether a stored response answers the request.
    async fn hit(&self, target: &str, range: Range<usize>) -> Option<Arc<Entry>> {
        match self.look_up(target, &range).await {
            Lookup::Hit(entry, ..) => Some(entry),
            _ => None,
        }
    }

    /// Begins to ask the origin; returns the range that it was asked for.
    async fn ask(&self, target: &str, range: Range<usize>) -> (Range<usize>, Verdict) {
        let Lookup::Fill(mut writer, _) = self.look_up(target, &range).await else { panic!("it is not stored") };
        let sent = writer.prepare();
        let asked = std::str::from_utf8(sent.fields.only("range").unwrap()).unwrap().strip_prefix("bytes=").unwrap();
        let (first, last) = asked.split_once('-').unwrap();
        let asked = first.parse().unwrap()..last.parse::<usize>().map_or(BODY_BYTES, |last| last + 1);
        let head = ResponseHead::new(StatusCode::PARTIAL_CONTENT)
            .with("Cache-Control", "public, max-age=3600")
            .with("Content-Range", format!("bytes {}-{}/{BODY_BYTES}", asked.start, asked.end - 1))
            .with("ETag", "\"one\"");
        let verdict = writer.on_response(&OriginExchange {
            response: &head,
            request_time: NOW,
            response_time: NOW,
            body_length: Some(asked.len() as u64),
            is_file: false,
        });
        (asked, verdict)
    }

    /// Fetches what the request lacks; returns what the origin was asked for, and whether it was stored.
    async fn get(&self, target: &str, range: Range<usize>) -> (Range<usize>, bool) {
        let (asked, Verdict::Write(mut writer)) = self.ask(target, range).await else { panic!("it may be stored") };
        write(&mut writer, &self.body[asked.clone()]).await;
        (asked, finish(writer).await)
    }
}

async fn write(writer: &mut BodyWriter, bytes: &[u8]) {
    for piece in bytes.chunks(50_000) {
        writer.push(Bytes::copy_from_slice(piece)).await.unwrap();
        if writer.has_to_spool() {
            writer.spool().await;
        }
    }
}

async fn finish(mut writer: BodyWriter) -> bool {
    if writer.has_to_spool() {
        writer.complete_spooling().await;
    }
    writer.finish(None)
}

/// So many bytes from the reader.
async fn read(reader: &mut FillReader, count: usize) -> Pieces {
    let (mut bytes, mut from_disk) = (Vec::new(), Vec::new());
    while bytes.len() < count {
        match reader.next().await {
            FillEvent::Chunk(piece) => {
                bytes.extend_from_slice(&piece);
                from_disk.push(false);
            }
            FillEvent::Spooled(piece) => {
                bytes.extend_from_slice(&piece.bytes().await.unwrap());
                from_disk.push(true);
            }
            FillEvent::End(_) | FillEvent::Cut => break,
        }
    }
    (bytes, from_disk)
}

fn until(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "it never happened");
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// What `kasoku disk` sees of the only response: whether it is complete, and how many bytes are stored.
fn inspected(path: &Path) -> (bool, u64) {
    let contents = DiskContents::open(path, NOW.unix_ms).unwrap();
    let (mut reader, places) = (contents.reader(), contents.places().collect::<Vec<_>>());
    assert_eq!(places.len(), 1);
    let Read::Response(response) = contents.read(&mut reader, places[0]) else { panic!("it is a response") };
    let mut end = 0;
    for (first, bytes) in reader.chunks(&response.object) {
        assert!(first >= end, "the chunks are in order");
        let bytes = bytes.unwrap();
        assert!(bytes.iter().enumerate().all(|(number, byte)| *byte == ((first as usize + number) % 251) as u8));
        end = first + bytes.len() as u64;
    }
    (response.is_complete(), response.object.body_bytes())
}

#[tokio::test]
async fn a_reader_gets_what_is_stored_then_what_comes_and_then_what_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::start(folder.path());
    assert_eq!(host.get("/", 0..1_000_000).await, (0..1_000_000, true));
    assert_eq!(host.get("/", 2_000_000..3_000_000).await, (2_000_000..3_000_000, true));
    let (asked, Verdict::Write(mut writer)) = host.ask("/", 0..BODY_BYTES).await else { panic!("it may be stored") };
    assert_eq!(asked, 1_000_000..2_000_000);
    let head = &writer.meta().head;
    assert_eq!((head.status, head.fields.only("content-length")), (StatusCode::OK, Some(&b"3000000"[..])));
    assert!(!head.fields.contains("content-range"));
    let (mut reader, mut late, mut last) = (writer.reader(), writer.reader(), writer.reader());
    let (before, from_disk) = read(&mut reader, 1_000_000).await;
    assert!(before == host.body[..1_000_000] && from_disk.iter().all(|is_so| *is_so));
    last.skip(2_500_000);
    assert!(read(&mut last, 500_000).await.0 == host.body[2_500_000..], "it waits for nothing");
    writer.push(Bytes::copy_from_slice(&host.body[1_000_000..1_050_000])).await.unwrap();
    assert_eq!(read(&mut reader, 50_000).await, (host.body[1_000_000..1_050_000].to_vec(), vec![false]));
    write(&mut writer, &host.body[1_050_000..2_000_000]).await;
    assert!(finish(writer).await);
    assert!(read(&mut reader, usize::MAX).await.0 == host.body[1_050_000..]);
    assert!(read(&mut late, usize::MAX).await.0 == host.body);
    let entry = host.hit("/", 0..BODY_BYTES).await.unwrap();
    assert!(entry.body.is_complete() && !entry.body.is_in_memory());
}

#[tokio::test]
async fn what_is_stored_of_a_body_outlives_the_process_and_is_shown_as_a_part() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::start(folder.path());
    host.get("/", 1_000_000..2_000_000).await;
    host.get("/", 0..500_000).await;
    drop(host);
    assert_eq!(inspected(folder.path()), (false, 1_500_000));
    let host = Host::start(folder.path());
    let entry = host.hit("/", 1_200_000..1_300_000).await.unwrap();
    let ranges = [ByteRange { first: 0, last: 499_999 }, ByteRange { first: 1_000_000, last: 1_999_999 }];
    assert_eq!((entry.body.ranges(), entry.body.is_complete()), (ranges.to_vec(), false));
    // What lies in the middle is stored already, and comes once more.
    assert_eq!(host.get("/", 0..BODY_BYTES).await, (500_000..BODY_BYTES, true));
    drop(host);
    assert_eq!(inspected(folder.path()), (true, BODY_BYTES as u64));
}

#[tokio::test]
async fn a_part_of_a_body_that_was_evicted_is_asked_for_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::start(folder.path());
    host.get("/", 0..1_000_000).await;
    let Lookup::Fill(mut writer, _) = host.look_up("/", &(500_000..1_500_000)).await else { panic!("a part lacks") };
    writer.prepare();
    let entry = host.hit("/", 0..1).await.unwrap();
    for number in 0..30 {
        assert_eq!(host.get(&format!("/{number}"), 0..BODY_BYTES).await, (0..BODY_BYTES, true));
    }
    assert!(!entry.body.stored_body().unwrap().is_there());
    let head = ResponseHead::new(StatusCode::PARTIAL_CONTENT)
        .with("Cache-Control", "public, max-age=3600")
        .with("Content-Range", format!("bytes 1000000-1499999/{BODY_BYTES}"))
        .with("ETag", "\"one\"");
    let exchange = OriginExchange {
        response: &head,
        request_time: NOW,
        response_time: NOW,
        body_length: Some(500_000),
        is_file: false,
    };
    let Verdict::AskAgain(mut again) = writer.on_response(&exchange) else { panic!("the other bytes are gone") };
    assert_eq!(again.prepare().fields.only("range"), Some(&b"bytes=500000-1499999"[..]));
}

#[tokio::test]
async fn clients_that_want_single_bytes_wear_no_body_out() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::start(folder.path());
    host.get("/", 0..300_000).await;
    let mut asked = Vec::new();
    for at in (300_000..BODY_BYTES).step_by(1000) {
        if host.hit("/", at..at + 1).await.is_none() {
            let (range, is_stored) = host.get("/", at..at + 1).await;
            assert!(is_stored && range.contains(&at), "{at}: {range:?}");
            asked.push(range);
        }
    }
    let bytes: usize = asked.iter().map(Range::len).sum();
    assert!(
        asked.len() < 256 && asked.iter().all(|range| range.len() >= 60_000 || range.end == BODY_BYTES),
        "{asked:?}"
    );
    assert!(bytes <= BODY_BYTES - 300_000, "nothing is fetched twice: {asked:?}");
    assert!(host.hit("/", 0..300_000).await.is_some());
}

#[tokio::test]
async fn a_body_of_too_many_small_parts_is_dropped_and_fetched_anew() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::start(folder.path());
    host.get("/", 0..300_000).await;
    let mut count = 0;
    // An origin that breaks off after each 20 bytes.
    while let (asked, Verdict::Write(mut writer)) = host.ask("/", 300_000..BODY_BYTES).await
        && asked.start > 0
    {
        write(&mut writer, &host.body[asked.start..asked.start + 20]).await;
        if !writer.keep_what_came().await {
            break;
        }
        count += 1;
    }
    assert!((100..400).contains(&count), "{count}");
    assert!(host.hit("/", 0..300_000).await.is_none());
    assert_eq!(host.get("/", 0..BODY_BYTES).await, (0..BODY_BYTES, true));
    assert!(host.hit("/", 0..BODY_BYTES).await.is_some());
}
