//! The disk tier: what survives the end of the engine, what does not fit into memory, and what must not come back.

use kasoku_cache::Purge;
use kasoku_cache::disk::{DiskState, DiskStatus};
use kasoku_engine::purge::PurgeTarget;
use kasoku_metrics::Counter;
use kasoku_options::{DiskAdmission, DiskTier, Options, SendfileRules};
use kasoku_testkit::{Exchange, Folder, Scenario, Setup, get, ok, post, reply};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

pub(crate) const FRESH: &str = "Cache-Control: max-age=600";

pub(crate) fn not_modified(fields: &[&str]) -> Vec<u8> {
    reply("304 Not Modified", fields, "")
}

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn on_disk(path: &Path) -> impl FnOnce(&mut Options) {
    move |options| {
        let (path, admission) = (path.to_owned(), DiskAdmission::Always);
        options.disk = Some(DiskTier { path, size_bytes: 64 << 20, admission, verify: true });
    }
}

pub(crate) fn setup(folder: &TempDir) -> Setup {
    Setup::safe().options(on_disk(folder.path()))
}

pub(crate) fn status(scene: &Scenario) -> DiskStatus {
    scene.engine.cache().disk_status().unwrap()
}

/// Waits until so many responses have been written.
pub(crate) fn written(scene: &Scenario, count: u64) {
    scene.eventually(|| status(scene).counts.stored_objects >= count);
}

/// A scenario with what the one before has left.
pub(crate) fn again(setup: Setup, script: impl IntoIterator<Item = Exchange>) -> Scenario {
    let scene = setup.run(script);
    scene.eventually(|| status(&scene).state == DiskState::Serving { is_loading: false, paused: None });
    scene
}

#[test]
fn a_stored_response_is_a_hit_after_a_restart_and_its_age_goes_on() {
    let folder = folder();
    let fields = [FRESH, "Age: 5", "ETag: \"one\"", "X-Made-By: the application"];
    let scene = setup(&folder).run([get("/").answers(ok(&fields, "kept"))]);
    scene.client().get("/");
    written(&scene, 1);
    drop(scene);
    let scene = again(setup(&folder), []);
    scene.advance(100);
    let mut client = scene.client();
    let hit = client.get("/");
    assert!(hit.is_hit(), "{}", hit.field("Cache-Status"));
    assert_eq!((hit.text().as_str(), hit.field("X-Made-By").as_str()), ("kept", "the application"));
    assert!(hit.field("Age").parse::<u64>().unwrap() >= 105, "{}", hit.field("Age"));
    assert!(client.get("/").is_hit(), "now it is in memory");
    assert_eq!(client.get_with("/", &["If-None-Match: \"one\""]).status, 304);
    assert_eq!(client.get_with("/", &["Range: bytes=1-2"]).text(), "ep");
    assert!(client.head("/", &[]).is_hit());
    scene.advance(500);
    scene.origin.then(get("/").answers(ok(&[FRESH], "new")));
    assert_eq!(client.get("/").text(), "new", "its lifetime did not begin anew");
}

#[test]
fn the_first_request_after_a_restart_may_be_any() {
    for (ask, status) in [
        ("HEAD", 200),
        ("GET Range: bytes=0-1", 206),
        ("GET If-None-Match: \"one\"", 304),
        ("GET Range: bytes=9-", 416),
    ] {
        let folder = folder();
        let scene = setup(&folder).run([get("/").answers(ok(&[FRESH, "ETag: \"one\""], "kept"))]);
        scene.client().get("/");
        written(&scene, 1);
        drop(scene);
        let scene = again(setup(&folder), []);
        let (method, field) = ask.split_once(' ').unwrap_or((ask, "Accept: */*"));
        let response = match method {
            "HEAD" => scene.client().head("/", &[]),
            _ => scene.client().get_with("/", &[field]),
        };
        assert_eq!(response.status, status, "{ask}");
    }
}

#[test]
fn what_memory_has_no_room_for_comes_from_the_disk() {
    let folder = folder();
    let page = |number: usize| format!("{number}").repeat(100_000 / format!("{number}").len());
    let script = (0..60).map(|number| get(&format!("/{number}")).answers(ok(&[FRESH], page(number))));
    let scene = setup(&folder).options(|options| options.memory_bytes_max = 2 << 20).run(script.collect::<Vec<_>>());
    let mut client = scene.client();
    for number in 0..60 {
        client.get(&format!("/{number}"));
        written(&scene, number as u64 + 1);
    }
    assert!(scene.engine.cache().len() < 30, "{}", scene.engine.cache().len());
    for number in 0..60 {
        let hit = client.get(&format!("/{number}"));
        assert!(hit.is_hit() && hit.text() == page(number), "{number}");
    }
}

#[test]
fn what_the_page_cache_does_not_have_is_waited_for() {
    let folder = folder();
    let page = "page ".repeat(60_000);
    let scene = setup(&folder).run([get("/").answers(ok(&[FRESH], &page))]);
    scene.client().get("/");
    written(&scene, 1);
    drop(scene);
    for file in std::fs::read_dir(folder.path().join("segments")).unwrap() {
        let file = File::open(file.unwrap().path()).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    }
    let scene = again(setup(&folder), []);
    let answers = std::thread::scope(|scope| {
        let ask = || (0..8).map(|_| scope.spawn(|| scene.client().get("/"))).collect::<Vec<_>>();
        ask().into_iter().map(|asked| asked.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(answers.iter().all(|answer| answer.is_hit() && answer.text() == page));
    assert!(status(&scene).counts.waited_reads > 0);
}

#[test]
fn all_variants_come_back() {
    let folder = folder();
    let fields = [FRESH, "Vary: Accept-Language"];
    let scene = setup(&folder).run([
        get("/").answers(ok(&fields, "de")),
        get("/").answers(ok(&fields, "fr")),
        get("/").answers(ok(&fields, "ko")),
    ]);
    let mut client = scene.client();
    ["de", "fr"].iter().for_each(|language| drop(client.get_with("/", &[&format!("Accept-Language: {language}")])));
    written(&scene, 2);
    client.get_with("/", &["Accept-Language: ko"]);
    written(&scene, 3);
    drop((client, scene));
    let scene = again(setup(&folder), []);
    let mut client = scene.client();
    for language in ["fr", "ko", "de"] {
        let hit = client.get_with("/", &[&format!("Accept-Language: {language}")]);
        assert!(hit.is_hit() && hit.text() == language, "{language}: {}", hit.text());
    }
}

/// The directory as it is now: what a process that is killed at this moment leaves.
fn killed(scene: &Scenario, from: &TempDir) -> TempDir {
    // Each response has a frame of 64 bytes in the log.
    let logged = || {
        let files = std::fs::read_dir(from.path()).unwrap().map(|file| file.unwrap());
        let logs = files.filter(|file| file.file_name().to_string_lossy().starts_with("log-"));
        logs.map(|log| log.metadata().unwrap().len()).sum::<u64>()
    };
    scene.eventually(|| logged() >= 64 * status(scene).counts.stored_objects);
    let left = folder();
    copy(from.path(), left.path());
    left
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir_all(&to).unwrap();
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

pub(crate) fn purge(scene: &Scenario, target: &PurgeTarget, purge: Purge) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(scene.engine.handle().purge_durably(target, purge)).unwrap();
}

#[test]
fn a_purge_holds_after_a_restart_and_after_a_kill() {
    let url = |target: &str| PurgeTarget::Url(format!("http://example.org{target}"));
    let prefix = |target: &str| PurgeTarget::Prefix(format!("http://example.org{target}"));
    for (target, kind) in [
        (url("/a/1"), Purge::Hard),
        (prefix("/a/"), Purge::Hard),
        (PurgeTarget::Site("example.org".to_owned()), Purge::Hard),
        (PurgeTarget::All, Purge::Hard),
        (url("/a/1"), Purge::Soft),
        (prefix("/a/"), Purge::Soft),
    ] {
        // With the response in memory, and only on disk.
        for is_in_memory in [true, false] {
            let folder = folder();
            let pages = ["/a/1", "/b"].map(|page| get(page).answers(ok(&[FRESH], "old")));
            let mut scene = setup(&folder).run(pages);
            ["/a/1", "/b"].iter().for_each(|page| drop(scene.client().get(page)));
            written(&scene, 2);
            if !is_in_memory {
                drop(scene);
                scene = again(setup(&folder), []);
            }
            purge(&scene, &target, kind);
            let left = killed(&scene, &folder);
            drop(scene);
            for folder in [&left, &folder] {
                // What was not purged is a hit.
                let is_narrow = matches!(target, PurgeTarget::Url(_) | PurgeTarget::Prefix(_));
                let asked = if is_narrow { &["/a/1"][..] } else { &["/a/1", "/b"] };
                let script: Vec<_> = asked.iter().map(|page| get(page).answers(ok(&[FRESH], "new"))).collect();
                let scene = again(setup(folder), script);
                let texts = ["/a/1", "/b"].map(|page| scene.client().get(page).text());
                let expected = ["new", if is_narrow { "old" } else { "new" }];
                assert_eq!(texts, expected, "{target:?} {kind:?}, in memory: {is_in_memory}");
            }
        }
    }
}

#[test]
fn an_unsafe_request_invalidates_on_disk() {
    for is_in_memory in [true, false] {
        let folder = folder();
        let scene = setup(&folder).run([get("/a").answers(ok(&[FRESH], "old"))]);
        scene.client().get("/a");
        written(&scene, 1);
        let scene = if is_in_memory {
            scene
        } else {
            drop(scene);
            again(setup(&folder), [])
        };
        scene.origin.then(post("/a").answers(ok(&[], "done")));
        assert_eq!(scene.client().send_body("POST", "/a", &[], "x").text(), "done");
        let left = killed(&scene, &folder);
        drop(scene);
        for folder in [&left, &folder] {
            let scene = again(setup(folder), [get("/a").answers(ok(&[FRESH], "new"))]);
            assert_eq!(scene.client().get("/a").text(), "new");
        }
    }
}

#[test]
fn a_response_that_a_304_refreshed_is_fresh_after_a_restart() {
    let folder = folder();
    let scene = setup(&folder).run([
        get("/").answers(ok(&["Cache-Control: max-age=0", "ETag: \"one\""], "kept")),
        get("/").answers(not_modified(&[FRESH, "ETag: \"one\""])),
    ]);
    let mut client = scene.client();
    client.get("/");
    client.get("/");
    written(&scene, 2);
    drop((client, scene));
    let scene = again(setup(&folder), []);
    assert!(scene.client().get("/").is_hit());
}

#[test]
fn where_the_clock_was_set_back_the_origin_confirms_each_response() {
    let folder = folder();
    let scene = setup(&folder).run([get("/").answers(ok(&[FRESH, "ETag: \"one\""], "kept"))]);
    scene.advance(60);
    scene.client().get("/");
    written(&scene, 1);
    drop(scene);
    // The clock of this scenario begins at the present time, which is before the last time that was written.
    let scene = again(setup(&folder), [get("/").answers(not_modified(&[FRESH, "ETag: \"one\""]))]);
    let mut client = scene.client();
    assert_eq!(client.get("/").text(), "kept");
    assert_eq!(scene.origin.only_request().field("If-None-Match").as_deref(), Some("\"one\""));
    assert!(client.get("/").is_hit());
}

#[test]
fn what_other_rules_stored_is_a_miss() {
    let folder = folder();
    let scene = setup(&folder).run([get("/?b&a").answers(ok(&[FRESH], "old"))]);
    scene.client().get("/?b&a");
    written(&scene, 1);
    drop(scene);
    let other = setup(&folder).policy(|policy| policy.strip_fields.push("x-secret".to_owned()));
    let scene = again(other, [get("/?b&a").answers(ok(&[FRESH], "new"))]);
    assert_eq!(scene.client().get("/?b&a").text(), "new");
}

#[test]
fn a_directory_that_can_t_be_used_costs_no_request() {
    let folder = folder();
    std::fs::write(folder.path().join("thesis.txt"), "x").unwrap();
    let scene = setup(&folder).run([get("/").answers(ok(&[FRESH], "page"))]);
    let DiskState::Failed(message) = status(&scene).state else { panic!("{:?}", status(&scene)) };
    assert!(message.contains("thesis.txt"), "{message}");
    let mut client = scene.client();
    assert_eq!(client.get("/").text(), "page");
    assert!(client.get("/").is_hit());
    assert_eq!(std::fs::read_to_string(folder.path().join("thesis.txt")).unwrap(), "x");
}

#[test]
fn a_compressed_form_is_made_once_and_not_again_after_a_restart() {
    let folder = folder();
    let page: String = (0..400).map(|line| format!("<p>Line {line} of a page.</p>\n")).collect();
    let fields = [FRESH, "Content-Type: text/html", "ETag: \"one\""];
    let accepts = ["Accept-Encoding: gzip"];
    let setup = || Setup::rfc().options(on_disk(folder.path()));
    let scene = setup().run([get("/").answers(ok(&fields, &page))]);
    let mut client = scene.client();
    client.get_with("/", &accepts);
    client.get_with("/", &accepts);
    scene.counted(Counter::Compressions, 1);
    written(&scene, 2);
    let compressed = client.get_with("/", &accepts);
    assert_eq!(compressed.field("Content-Encoding"), "gzip");
    drop((client, scene));
    let other = "<p>Another page.</p>".repeat(400);
    let scene = again(setup(), [get("/").answers(ok(&fields, &other))]);
    let mut client = scene.client();
    let hit = client.get_with("/", &accepts);
    assert!(hit.is_hit() && hit.field("Content-Encoding") == "gzip" && hit.body == compressed.body);
    assert_eq!(client.get("/").text(), page);
    scene.counted(Counter::Compressions, 0);
    // Another body of the same variant has no use for it.
    assert_eq!(client.get_with("/", &["Cache-Control: no-cache"]).text(), other);
    written(&scene, 1);
    drop((client, scene));
    let scene = again(setup(), []);
    let hit = scene.client().get_with("/", &accepts);
    assert!(hit.is_hit() && hit.text() == other, "{:?}", hit.head);
}

#[test]
fn a_decision_about_a_file_is_known_after_a_restart() {
    let (folder, files) = (folder(), Folder::new());
    let path = files.write("a.txt", "the file").display().to_string();
    let setup = || {
        setup(&folder).route(|route| {
            let roots = vec![files.path().to_owned()];
            route.sendfile = Arc::new(SendfileRules { roots, ..SendfileRules::default() });
        })
    };
    let decision = ok(&[FRESH, &format!("X-Sendfile: {path}"), "X-Made-By: the application"], "");
    let scene = setup().run([get("/").answers(&decision)]);
    assert_eq!(scene.client().get("/").text(), "the file");
    written(&scene, 1);
    drop(scene);
    let scene = again(setup(), []);
    let hit = scene.client().get("/");
    assert!(hit.is_hit() && hit.text() == "the file" && hit.field("X-Made-By") == "the application");
    drop(scene);
    // Another file of that name is not what the application has allowed.
    files.write("a.txt", "another file");
    let scene = again(setup(), [get("/").answers(ok(&[FRESH], "no"))]);
    assert_eq!(scene.client().get("/").text(), "no");
}
