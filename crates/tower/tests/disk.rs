//! The disk tier of the layer, as scenarios: what outlives the layer, what is sent from disk, and what becomes of a disk that fails.

#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "not all of it is needed here")]
mod support;

use axum::body::{Body, Bytes};
use axum::response::IntoResponse;
use http::header::{ACCEPT_LANGUAGE, AGE, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, ETAG, RANGE, VARY};
use http::{Method, Response, StatusCode};
use http_body::Frame;
use http_body_util::BodyExt;
use kasoku_tower::{Admission, BuildError, CacheBuilder, CacheHandle, DiskState, DiskTier, PurgeError};
use std::convert::Infallible;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Command;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;
use support::{Asked, Site, builder, cached, count, counter, next, page, request};
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tower::{Layer, ServiceExt, service_fn};

const MIB: usize = 1 << 20;

/// 64 MiB in this directory.
fn tier(path: impl Into<PathBuf>) -> DiskTier {
    DiskTier::new(path).size_bytes(64 << 20)
}

fn site(path: &Path, answer: impl Fn(&Asked) -> Response<Body> + Clone + Send + Sync + 'static) -> Site {
    loaded(builder().disk(tier(path)), answer)
}

/// A site that knows all that an earlier process has left.
fn loaded(builder: CacheBuilder, answer: impl Fn(&Asked) -> Response<Body> + Clone + Send + Sync + 'static) -> Site {
    let site = Site::named(builder, None, answer).unwrap();
    is_loaded(&site.handle);
    site
}

fn is_loaded(handle: &CacheHandle) {
    while handle.disk_status().unwrap().state != (DiskState::Serving { is_loading: false, paused: None }) {
        thread::yield_now();
    }
}

/// Ends a process in an orderly way: what waits is written.
fn end(site: Site) {
    site.handle.stop_disk();
}

/// A process that finds what an earlier one has left, and whose application has other pages.
fn next_process(path: &Path) -> Site {
    site(path, |asked| page("max-age=60", &format!("new {}", asked.uri)))
}

/// Bytes that tell their place.
fn bytes(length: usize) -> Bytes {
    (0..length).map(|at| b'a' + (at / 7 % 26) as u8).collect::<Vec<_>>().into()
}

/// A large file.
fn download(length: usize) -> Response<Body> {
    ([(CACHE_CONTROL, "max-age=600"), (ETAG, "\"1\"")], bytes(length)).into_response()
}

fn text(bytes: &Bytes) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The files of a directory, with those in its folders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Changes one byte behind this text, wherever it is in the directory. Returns how often it was there.
fn damage(folder: &Path, text: &[u8]) -> usize {
    let mut found = 0;
    for file in files(folder) {
        let content = fs::read(&file).unwrap();
        for (at, window) in content.windows(text.len()).enumerate() {
            if window == text {
                let file = fs::OpenOptions::new().write(true).open(&file).unwrap();
                file.write_all_at(&[window.first().unwrap() ^ 1], at as u64).unwrap();
                found += 1;
            }
        }
    }
    found
}

/// What another process would find if this one were killed now.
fn copy(folder: &Path) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in files(folder) {
        let place = copy.path().join(file.strip_prefix(folder).unwrap());
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::copy(&file, place).unwrap();
    }
    copy
}

/// Waits until so many responses have been written.
async fn are_written(site: &Site, objects: u64) {
    while site.handle.disk_status().unwrap().counts.stored_objects < objects {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_page_outlives_the_layer() {
    let folder = tempfile::tempdir().unwrap();
    let before = site(folder.path(), |_| page("max-age=60", "hello"));
    before.get("/").await;
    before.settled().await;
    end(before);
    let after = next_process(folder.path());
    after.later(10);
    let hit = after.get("/").await;
    assert_eq!((&*hit.body, hit.field(AGE)), ("hello", Some("10")));
    assert_eq!(hit.cache_status(), "kasoku; hit; ttl=50; detail=hit");
    assert_eq!(after.get("/").await.body, "hello");
    assert_eq!((after.asked(), after.handle.statistics().hits), (0, 2));
    after.later(51);
    assert_eq!(after.get("/").await.body, "new /");
}

#[tokio::test]
async fn what_waits_is_written_when_the_last_handle_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let before = site(folder.path(), |_| page("max-age=60", "hello"));
    before.get("/").await;
    before.settled().await;
    // The task of the fill has the cache as well.
    while tokio::runtime::Handle::current().metrics().num_alive_tasks() > 0 {
        tokio::task::yield_now().await;
    }
    drop(before);
    assert_eq!(next_process(folder.path()).get("/").await.body, "hello");
}

#[tokio::test]
async fn a_page_that_the_page_cache_does_not_have_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let before = site(folder.path(), |_| page("max-age=60", "hello"));
    before.get("/").await;
    before.settled().await;
    end(before);
    let after = next_process(folder.path());
    for file in files(folder.path()) {
        // Drops the file from the page cache, where the file system can.
        let of = format!("of={}", file.display());
        let dropped = Command::new("dd").args([&of, "oflag=nocache", "conv=notrunc,fdatasync", "count=0"]).output();
        assert!(dropped.unwrap().status.success());
    }
    let hit = after.get("/").await;
    assert_eq!((&*hit.body, hit.cache_status()), ("hello", "kasoku; hit; ttl=60; detail=hit"));
    assert_eq!(after.asked(), 0);
    let kind = Command::new("stat").args(["--file-system", "--format=%T"]).arg(folder.path()).output().unwrap();
    if kind.stdout != b"tmpfs\n" {
        assert!(after.handle.disk_status().unwrap().counts.waited_reads > 0);
    }
}

#[tokio::test]
async fn variants_outlive_the_layer() {
    let folder = tempfile::tempdir().unwrap();
    let before = site(folder.path(), |asked| {
        let mut page = page("max-age=60", asked.headers[ACCEPT_LANGUAGE].to_str().unwrap());
        page.headers_mut().insert(VARY, "Accept-Language".parse().unwrap());
        page
    });
    for language in ["de", "fr"] {
        before.send(request("/").header(ACCEPT_LANGUAGE, language)).await;
        before.settled().await;
    }
    end(before);
    let after = next_process(folder.path());
    for language in ["fr", "de"] {
        assert_eq!(after.send(request("/").header(ACCEPT_LANGUAGE, language)).await.body, language);
    }
    assert_eq!(after.asked(), 0);
    assert_eq!(after.send(request("/").header(ACCEPT_LANGUAGE, "it")).await.body, "new /");
}

/// With a memory that takes no response above 256 KiB.
fn with_little_memory(path: &Path) -> CacheBuilder {
    builder().memory_bytes(8 << 20).object_bytes_max(256 << 10).disk(tier(path))
}

#[tokio::test]
async fn a_body_that_memory_does_not_take_is_sent_from_disk() {
    let folder = tempfile::tempdir().unwrap();
    let length = 3 * MIB + 5;
    let before = loaded(with_little_memory(folder.path()), move |_| download(length));
    assert_eq!(before.get("/").await.body, text(&bytes(length)));
    before.settled().await;
    assert_eq!(before.handle.statistics().stored, 1);
    async fn is_sent_from_disk(site: &Site, length: usize) {
        let whole = site.get("/").await;
        assert!(whole.cache_status().starts_with("kasoku; hit"), "{}", whole.cache_status());
        assert_eq!(whole.field(CONTENT_LENGTH), Some(&*length.to_string()));
        assert!(whole.body == text(&bytes(length)), "other bytes");
        let part = site.send(request("/").header(RANGE, "bytes=1048570-1048580")).await;
        assert_eq!((part.status, &*part.body), (StatusCode::PARTIAL_CONTENT, &text(&bytes(length))[1048570..=1048580]));
        assert_eq!(part.field(CONTENT_RANGE), Some(&*format!("bytes 1048570-1048580/{length}")));
        let parts = site.send(request("/").header(RANGE, "bytes=0-2,2000000-2000002")).await;
        assert_eq!(parts.status, StatusCode::PARTIAL_CONTENT);
        let stated: usize = parts.field(CONTENT_LENGTH).unwrap().parse().unwrap();
        assert_eq!(parts.body.len(), stated);
        for first in [0, 2_000_000] {
            let head = format!("Content-Range: bytes {first}-{}/{length}\r\n\r\n", first + 2);
            let wanted = head + &text(&bytes(length))[first..first + 3];
            assert!(parts.body.contains(&wanted), "{}", parts.body);
        }
        let head = site.send(request("/").method(Method::HEAD)).await;
        assert_eq!((head.field(CONTENT_LENGTH), &*head.body), (Some(&*length.to_string()), ""));
        let known = site.send(request("/").header("If-None-Match", "\"1\"")).await;
        assert_eq!((known.status, &*known.body), (StatusCode::NOT_MODIFIED, ""));
        let none = site.send(request("/").header(RANGE, "bytes=99999999-")).await;
        assert_eq!(none.status, StatusCode::RANGE_NOT_SATISFIABLE);
    }
    is_sent_from_disk(&before, length).await;
    assert_eq!(before.asked(), 1);
    end(before);
    let after = loaded(with_little_memory(folder.path()), |_| page("max-age=60", "new"));
    is_sent_from_disk(&after, length).await;
    assert_eq!(after.asked(), 0);
}

/// Its body comes in pieces of 64 KiB, as far as permits allow.
fn in_pieces(permits: Arc<Semaphore>, length: usize) -> Response<Body> {
    let (pieces, piece) = tokio::sync::mpsc::channel::<Bytes>(1);
    tokio::spawn(async move {
        let all = bytes(length);
        for at in (0..length).step_by(64 << 10) {
            permits.acquire().await.unwrap().forget();
            if pieces.send(all.slice(at..(at + (64 << 10)).min(length))).await.is_err() {
                return;
            }
        }
    });
    ([(CACHE_CONTROL, "max-age=600")], Body::new(Pieces(piece))).into_response()
}

struct Pieces(tokio::sync::mpsc::Receiver<Bytes>);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_joins_late_reads_from_disk_what_has_left_memory() {
    let (folder, permits, length) = (tempfile::tempdir().unwrap(), Arc::new(Semaphore::new(0)), 6 * MIB);
    let gate = permits.clone();
    let site = loaded(with_little_memory(folder.path()), move |_| in_pieces(gate.clone(), length));
    let first = site.begin(request("/"));
    permits.add_permits(5 * 16);
    // Memory has the latest MiB only.
    while site.handle.disk_status().unwrap().used_bytes < 4 << 20 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let second = site.begin(request("/"));
    while site.handle.statistics().collapsed == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    permits.add_permits(1000);
    for visitor in [first, second] {
        assert!(visitor.await.unwrap().body == text(&bytes(length)), "other bytes");
    }
    site.settled().await;
    assert_eq!((site.asked(), site.handle.statistics().stored), (1, 1));
    assert!(site.get("/").await.body == text(&bytes(length)), "other bytes");
    assert_eq!(site.asked(), 1);
}

#[tokio::test]
async fn a_damaged_page_is_never_sent() {
    let folder = tempfile::tempdir().unwrap();
    let before = site(folder.path(), |_| page("max-age=60", "a page that is damaged"));
    before.get("/").await;
    before.settled().await;
    end(before);
    assert!(damage(folder.path(), b"a page that is damaged") > 0);
    let after = next_process(folder.path());
    assert_eq!(after.get("/").await.body, "new /");
    after.settled().await;
    assert_eq!((&*after.get("/").await.body, after.asked()), ("new /", 1));
    assert!(after.handle.disk_status().unwrap().counts.damaged_objects > 0);
}

/// The text of a large body with a mark at this place.
fn marked(length: usize, place: usize) -> Bytes {
    let mut all = bytes(length).to_vec();
    all.splice(place..place + 8, *b"<<mark>>");
    all.into()
}

fn marked_site(folder: &Path, length: usize, place: usize) -> Site {
    loaded(with_little_memory(folder), move |asked| {
        let body = if asked.number == 1 { marked(length, place) } else { Bytes::from_static(b"new") };
        ([(CACHE_CONTROL, "max-age=600")], body).into_response()
    })
}

#[tokio::test]
async fn a_large_body_whose_first_chunk_is_damaged_is_a_miss() {
    let folder = tempfile::tempdir().unwrap();
    let site = marked_site(folder.path(), 3 * MIB, 1000);
    site.get("/").await;
    site.settled().await;
    assert!(damage(folder.path(), b"<<mark>>") > 0);
    let answer = site.get("/").await;
    assert_eq!((&*answer.body, answer.cache_status()), ("new", "kasoku; fwd=uri-miss; stored; detail=uri-miss"));
    assert_eq!(site.asked(), 2);
}

#[tokio::test]
async fn a_large_body_that_is_damaged_later_ends_with_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (length, place) = (3 * MIB, 2 * MIB);
    let site = marked_site(folder.path(), length, place);
    site.get("/").await;
    site.settled().await;
    assert!(damage(folder.path(), b"<<mark>>") > 0);
    let answer = site.service.clone().oneshot(request("/").body(Body::empty()).unwrap()).await.unwrap();
    assert!(cached(&answer).starts_with("kasoku; hit"), "{}", cached(&answer));
    let (mut body, mut came) = (answer.into_body(), Vec::new());
    let error = loop {
        match body.frame().await.unwrap() {
            Ok(frame) => came.extend_from_slice(frame.data_ref().unwrap()),
            Err(error) => break error,
        }
    };
    assert_eq!(error.to_string(), "the response has been cut");
    assert!(came.len() <= place && came == marked(length, place)[..came.len()], "a damaged chunk was sent");
    assert!(body.frame().await.is_none());
    // It is known by now.
    assert_eq!((&*site.get("/").await.body, site.asked()), ("new", 2));
}

#[tokio::test]
async fn a_purge_that_has_returned_outlives_a_killed_process() {
    let folder = tempfile::tempdir().unwrap();
    let tagged = |builder: CacheBuilder| {
        builder.tags(|request| request.uri.path().strip_prefix("/tagged/").map(str::to_owned).into_iter().collect())
    };
    let pages = ["/kept", "/one", "/tagged/red", "/below/1", "/posted"];
    let before = loaded(tagged(builder().disk(tier(folder.path()))), |_| page("max-age=60", "old"));
    for target in pages {
        before.get(target).await;
        before.settled().await;
    }
    are_written(&before, pages.len() as u64).await;
    let in_order = copy(folder.path());
    before.handle.purge("/one").await.unwrap();
    before.handle.purge_tag("red").await.unwrap();
    before.handle.purge_prefix("/below/").await.unwrap();
    before.send(request("/posted").method(Method::POST)).await;
    let purged = copy(folder.path());
    before.handle.purge_all().await.unwrap();
    let emptied = copy(folder.path());
    end(before);
    for (folder, old) in [(&in_order, 5), (&purged, 1), (&emptied, 0)] {
        let answer = |asked: &Asked| page("max-age=60", &format!("new {}", asked.uri));
        let after = loaded(tagged(builder().disk(tier(folder.path()))), answer);
        let mut came = Vec::new();
        for target in pages {
            came.push(after.get(target).await.body);
        }
        assert_eq!(came.iter().filter(|body| *body == "old").count(), old, "{came:?}");
        assert_eq!(after.asked(), pages.len() - old);
        assert!(old == 0 || came[0] == "old", "{came:?}");
    }
}

#[tokio::test]
async fn a_purge_that_the_disk_cannot_note_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let site = site(folder.path(), |asked| page("max-age=60", &asked.number.to_string()));
    site.get("/").await;
    site.settled().await;
    site.handle.stop_disk();
    assert_eq!(site.handle.disk_status().unwrap().state, DiskState::Stopped);
    assert_eq!(site.get("/").await.body, "1", "memory still has it");
    for purged in [site.handle.purge("/").await, site.handle.purge_tag("red").await, site.handle.purge_all().await] {
        assert!(
            matches!(&purged, Err(PurgeError::Uncertain(why)) if why.contains("empty the directory")),
            "{purged:?}"
        );
    }
    assert_eq!(site.get("/").await.body, "2", "it was purged here all the same");
}

#[tokio::test]
async fn a_directory_is_for_one_layer_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let first = site(folder.path(), |_| page("max-age=60", "hello"));
    let second = || builder().disk(tier(folder.path())).build();
    let Err(BuildError::Disk(why)) = second() else { panic!("the directory is in use") };
    assert_eq!(why, format!("{} is in use by another process", folder.path().display()));
    first.get("/").await;
    first.settled().await;
    assert_eq!((&*first.get("/").await.body, first.asked()), ("hello", 1), "it goes on");
    end(first);
    assert!(second().is_ok());
}

#[test]
fn a_directory_that_cannot_be_used_is_an_error_of_the_builder() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |tier: DiskTier| builder().disk(tier).build().err().unwrap();
    assert_eq!(refused(DiskTier::new(folder.path()).size_bytes(1 << 20)), BuildError::TooLittleDisk);
    let file = folder.path().join("notes.txt");
    fs::write(&file, "mine").unwrap();
    assert!(matches!(refused(tier(folder.path())), BuildError::Disk(why) if why.contains("notes.txt")));
    assert!(matches!(refused(tier(&file)), BuildError::Disk(_)));
    assert_eq!(fs::read(&file).unwrap(), b"mine");
}

#[tokio::test]
async fn a_directory_that_is_lost_costs_no_visitor_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache");
    let length = 3 * MIB;
    let site = loaded(with_little_memory(&path), move |asked| match asked.uri.path() {
        "/large" => download(length),
        _ => page("max-age=60", "hello"),
    });
    site.get("/large").await;
    site.settled().await;
    fs::remove_dir_all(&path).unwrap();
    fs::write(&path, "no directory").unwrap();
    for target in ["/", "/", "/other", "/large", "/large"] {
        let answer = site.get(target).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert!(answer.body == if target == "/large" { text(&bytes(length)).to_owned() } else { "hello".to_owned() });
        site.settled().await;
    }
    assert_eq!(site.send(request("/").method(Method::POST)).await.status, StatusCode::OK);
}

#[tokio::test]
async fn what_other_rules_have_stored_is_not_used() {
    type Change = fn(CacheBuilder) -> CacheBuilder;
    let folder = tempfile::tempdir().unwrap();
    let start = |rules: Change, version: &str| {
        let tier = tier(folder.path());
        loaded(rules(builder().disk(tier).version(version)), |_| page("max-age=600", "hello"))
    };
    let starts: [(Change, &str, usize); 6] = [
        (|builder| builder, "1", 1),
        (|builder| builder, "1", 0),
        (|builder| builder, "2", 1),
        (|builder| builder.tags(|_| vec!["all".to_owned()]), "2", 1),
        (|builder| builder.tags(|_| vec!["all".to_owned()]), "2", 0),
        (|builder| builder.tags(|_| vec!["all".to_owned()]).ttl(Duration::from_secs(60)), "2", 1),
    ];
    for (number, (rules, version, asked)) in starts.into_iter().enumerate() {
        let site = start(rules, version);
        site.get("/").await;
        site.settled().await;
        assert_eq!(site.asked(), asked, "start {number}");
        end(site);
    }
}

/// Two applications with the same URI take turns in one place of the cache, so in each process one of them is asked. It has to answer itself
/// unless an earlier process has left the response of the very same application.
#[tokio::test]
async fn only_an_application_with_its_name_finds_its_responses_again() {
    let folder = tempfile::tempdir().unwrap();
    // The names of the applications that are layered, the one that is asked, and whether it finds its response.
    let processes = [
        (vec![None, None], 0, false),
        (vec![None, None], 1, false),
        (vec![None, Some("")], 1, false),
        (vec![Some(""), None], 0, true),
        (vec![Some(""), None], 1, false),
        (vec![Some("shop"), Some("blog")], 0, false),
        (vec![Some("blog"), Some("shop")], 1, true),
        (vec![Some("blog"), Some("shop")], 0, false),
    ];
    for (process, (names, asked, is_found)) in processes.into_iter().enumerate() {
        let (cache, handle) = builder().disk(tier(folder.path())).build().unwrap();
        is_loaded(&handle);
        let calls = counter();
        let services: Vec<_> = names
            .iter()
            .map(|name| {
                let (calls, body) = (calls.clone(), format!("of {name:?} in any process"));
                let application = service_fn(move |_: http::Request<Body>| {
                    next(&calls);
                    let answer = page("max-age=60", &body);
                    async move { Ok::<_, Infallible>(answer) }
                });
                name.map_or_else(|| cache.application(), |name| cache.named_application(name)).layer(application)
            })
            .collect();
        let answer = support::ask(services[asked].clone(), request("/").body(Body::empty()).unwrap()).await;
        assert_eq!(answer.body, format!("of {:?} in any process", names[asked]), "process {process}");
        assert_eq!(count(&calls), usize::from(!is_found), "process {process}");
        support::settled(&handle).await;
        handle.stop_disk();
    }
}

#[tokio::test]
async fn what_is_admitted_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let proven = tier(folder.path()).admission(Admission::SecondRequest);
    let site = loaded(builder().disk(proven), |_| page("max-age=60", "hello"));
    site.get("/").await;
    site.settled().await;
    while site.handle.disk_status().unwrap().counts.unproven_objects == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(site.handle.disk_status().unwrap().counts.stored_objects, 0);
    site.later(61);
    site.get("/").await;
    are_written(&site, 1).await;
}

#[test]
fn without_a_timer_pages_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let site = site(folder.path(), |_| page("max-age=60", "hello"));
        for _ in 0..2 {
            assert_eq!(site.get("/").await.body, "hello");
            site.settled().await;
        }
        assert_eq!(site.asked(), 1);
        end(site);
        let after = next_process(folder.path());
        assert_eq!(after.get("/").await.body, "hello");
    });
}
