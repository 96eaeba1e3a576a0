//! Parts of large responses: they stay on disk, and what a request lacks is fetched and added while the client reads.

use crate::disk::{FRESH, again, folder, purge, status, written};
use crate::disk_large::{body, range, small_memory};
use kasoku_cache::Purge;
use kasoku_engine::purge::PurgeTarget;
use kasoku_testkit::{Client, Exchange, Gate, Response, Scenario, Setup, get, ok, post, reply};
use std::ops::RangeInclusive;

const BODY_BYTES: usize = 4_000_000;
const TAG: &str = "ETag: \"one\"";

/// A body of the same length, all bytes of which differ from those of [`body`].
fn other_body() -> String {
    body(BODY_BYTES).bytes().map(|byte| char::from(byte + 64)).collect()
}

/// The origin's answer with this part.
fn part(of: &str, tag: &str, range: RangeInclusive<usize>) -> Vec<u8> {
    let place = format!("Content-Range: bytes {}-{}/{}", range.start(), range.end(), of.len());
    reply("206 Partial Content", &[FRESH, tag, &place], &of[range])
}

/// The same, where the origin's body is this one, whatever its head says.
fn part_in_chunks(content: &str, range: RangeInclusive<usize>) -> Vec<u8> {
    let place = format!("Content-Range: bytes {}-{}/{BODY_BYTES}", range.start(), range.end());
    let head =
        format!("HTTP/1.1 206 Partial Content\r\n{FRESH}\r\n{TAG}\r\n{place}\r\nTransfer-Encoding: chunked\r\n\r\n");
    format!("{head}{:x}\r\n{content}\r\n0\r\n\r\n", content.len()).into_bytes()
}

fn is_part(response: &Response, of: &str, range: RangeInclusive<usize>) -> bool {
    let place = format!("bytes {}-{}/{}", range.start(), range.end(), of.len());
    response.status == 206 && response.field("Content-Range") == place && response.text() == of[range]
}

/// What the origin was asked for: Range and If-Range.
fn asked(scene: &Scenario) -> Vec<(String, String)> {
    let field = |field: Option<String>| field.unwrap_or_default();
    let of = |request: kasoku_testkit::Received| (field(request.field("range")), field(request.field("if-range")));
    scene.origin.requests().into_iter().map(of).collect()
}

fn verified(setup: Setup, verify: bool) -> Setup {
    setup.options(move |options| options.disk.iter_mut().for_each(|disk| disk.verify = verify))
}

/// Has the first megabyte stored.
fn has_first(scene: &Scenario, client: &mut Client, body: &str) {
    assert!(is_part(&range(client, 0, 999_999), body, 0..=999_999));
    written(scene, 1);
}

fn first(body: &str) -> Exchange {
    get("/").answers(part(body, TAG, 0..=999_999))
}

#[test]
fn what_was_seen_is_a_hit_and_what_is_missing_is_added() {
    for verify in [true, false] {
        let (folder, body) = (folder(), body(BODY_BYTES));
        let answer = |range| get("/").answers(part(&body, TAG, range));
        let scene = verified(small_memory(&folder), verify).run([
            answer(0..=999_999),
            answer(2_000_000..=2_999_999),
            answer(1_000_000..=1_999_999),
        ]);
        let mut client = scene.client();
        has_first(&scene, &mut client, &body);
        let hit = range(&mut client, 300_000, 999_999);
        assert!(hit.is_hit() && is_part(&hit, &body, 300_000..=999_999), "{}", hit.field("Cache-Status"));
        let seek = range(&mut client, 2_000_000, 2_999_999);
        assert!(is_part(&seek, &body, 2_000_000..=2_999_999), "{} {}", seek.status, seek.field("Content-Range"));
        assert!(!seek.has("Content-Length") || seek.field("Content-Length") == "1000000");
        written(&scene, 2);
        let around = range(&mut client, 500_000, 2_500_000);
        assert!(is_part(&around, &body, 500_000..=2_500_000));
        assert_eq!(around.cache_status("fwd").as_deref(), Some("partial"));
        written(&scene, 3);
        for (first, last) in [(0, 2_999_999), (999_999, 1_000_000), (1_500_000, 2_000_000)] {
            let hit = range(&mut client, first, last);
            assert!(hit.is_hit() && is_part(&hit, &body, first..=last), "{first} {last}");
        }
        let parts = client.get_with("/", &["Range: bytes=5-9,2600000-2600009"]);
        assert!(parts.is_hit() && parts.text().contains(&body[2_600_000..=2_600_009]));
        assert_eq!(range(&mut client, BODY_BYTES, BODY_BYTES).status, 416);
        drop((client, scene));
        let scene = again(verified(small_memory(&folder), verify), [answer(3_000_000..=3_999_999)]);
        let mut client = scene.client();
        let hit = range(&mut client, 900_000, 2_100_000);
        assert!(hit.is_hit() && is_part(&hit, &body, 900_000..=2_100_000));
        let whole = client.get("/");
        assert_eq!((whole.status, whole.field("Content-Length")), (200, BODY_BYTES.to_string()));
        assert!(whole.text() == body && !whole.has("Content-Range"));
        written(&scene, 1);
        let hit = client.get("/");
        assert!(hit.is_hit() && hit.status == 200 && hit.text() == body, "{}", hit.field("Cache-Status"));
        assert_eq!(client.head("/", &[]).field("Content-Length"), BODY_BYTES.to_string());
        assert_eq!(client.get_with("/", &["If-None-Match: \"one\""]).status, 304);
        assert_eq!(asked(&scene), [("bytes=3000000-".to_owned(), "\"one\"".to_owned())]);
        assert_eq!(status(&scene).objects, 1);
        drop((client, scene));
        let scene = again(verified(small_memory(&folder), verify), []);
        let hit = scene.client().get("/");
        assert!(hit.is_hit() && hit.text() == body);
        assert!(scene.engine.cache().used_bytes() < 30_000, "only its head came into memory");
    }
}

#[test]
fn the_origin_is_asked_for_no_byte_that_is_stored() {
    let (folder, body) = (folder(), body(BODY_BYTES));
    let answer = |range| get("/").answers(part(&body, TAG, range));
    let scene =
        small_memory(&folder).run([answer(0..=999_999), answer(1_000_000..=1_499_999), answer(1_500_000..=3_999_999)]);
    let mut client = scene.client();
    has_first(&scene, &mut client, &body);
    assert!(is_part(&range(&mut client, 400_000, 1_499_999), &body, 400_000..=1_499_999));
    written(&scene, 2);
    let open = client.get_with("/", &["Range: bytes=0-"]);
    assert!(is_part(&open, &body, 0..=3_999_999));
    written(&scene, 3);
    assert!(client.get("/").is_hit());
    let expected = [("bytes=0-999999", ""), ("bytes=1000000-1499999", "\"one\""), ("bytes=1500000-", "\"one\"")];
    assert_eq!(asked(&scene), expected.map(|(range, tag)| (range.to_owned(), tag.to_owned())));
}

#[test]
fn what_is_stored_goes_out_before_the_origin_answers_with_the_rest() {
    let (folder, body, gate) = (folder(), body(BODY_BYTES), Gate::new());
    let rest = part(&body, TAG, 1_000_000..=1_999_999);
    let (begin, end) = rest.split_at(600_000);
    let missing = get("/").sends(begin).waits(&gate).answers(end);
    let scene =
        small_memory(&folder).run([first(&body), get("/").answers(part(&body, TAG, 3_000_000..=3_999_999)), missing]);
    has_first(&scene, &mut scene.client(), &body);
    assert!(is_part(&range(&mut scene.client(), 3_000_000, 3_999_999), &body, 3_000_000..=3_999_999));
    written(&scene, 2);
    std::thread::scope(|scope| {
        let ask = |client: &mut Client| {
            client.ask("GET", "/", &["Range: bytes=200000-1999999"]);
            assert!(client.next_head().line.contains("206"));
            let bytes = client.take(1_200_000);
            assert!(bytes == body.as_bytes()[200_000..1_400_000]);
            bytes.len()
        };
        let (mut one, mut other) = (scene.client(), scene.client());
        let taken = [ask(&mut one), ask(&mut other)];
        assert_eq!(scene.origin.count(), 3, "the second one has joined");
        // One that wants something behind the part as well.
        let joined = scope.spawn(|| range(&mut scene.client(), 500_000, 1_999_999));
        gate.open();
        for (client, taken) in [&mut one, &mut other].into_iter().zip(taken) {
            assert!(client.take(1_800_000 - taken) == body.as_bytes()[1_400_000..2_000_000]);
        }
        assert!(is_part(&joined.join().unwrap(), &body, 500_000..=1_999_999));
    });
    written(&scene, 3);
    let hit = range(&mut scene.client(), 0, 1_999_999);
    assert!(hit.is_hit() && is_part(&hit, &body, 0..=1_999_999));
}

#[test]
fn while_a_part_is_added_another_one_is_fetched_and_not_stored() {
    let (folder, body, gate) = (folder(), body(BODY_BYTES), Gate::new());
    let added = part(&body, TAG, 1_000_000..=1_999_999);
    let (begin, end) = added.split_at(600_000);
    let scene = small_memory(&folder).run([
        first(&body),
        get("/").sends(begin).waits(&gate).answers(end),
        get("/").answers(part(&body, TAG, 3_000_000..=3_999_999)),
    ]);
    has_first(&scene, &mut scene.client(), &body);
    let mut client = scene.client();
    client.ask("GET", "/", &["Range: bytes=1000000-1999999"]);
    client.next_head();
    client.take(500_000);
    assert!(is_part(&range(&mut scene.client(), 3_000_000, 3_999_999), &body, 3_000_000..=3_999_999));
    gate.open();
    assert!(client.take(500_000) == body.as_bytes()[1_500_000..2_000_000]);
    written(&scene, 2);
    let hit = range(&mut scene.client(), 0, 1_999_999);
    assert!(hit.is_hit() && is_part(&hit, &body, 0..=1_999_999));
    scene.origin.then(get("/").answers(part(&body, TAG, 3_000_000..=3_999_999)));
    assert!(is_part(&range(&mut scene.client(), 3_000_000, 3_999_999), &body, 3_000_000..=3_999_999));
    written(&scene, 3);
    assert!(range(&mut scene.client(), 3_500_000, 3_999_999).is_hit());
}

#[test]
fn of_two_parts_that_came_at_a_time_the_larger_one_stays() {
    for ends_first in [0, 1] {
        let (folder, body) = (folder(), body(BODY_BYTES));
        let gates = [Gate::new(), Gate::new()];
        let answer = |range: RangeInclusive<usize>, gate: &Gate| {
            let answer = part(&body, TAG, range);
            let (begin, end) = answer.split_at(500_000);
            get("/").sends(begin).waits(gate).answers(end)
        };
        let scene =
            small_memory(&folder).run([answer(0..=2_999_999, &gates[0]), answer(2_000_000..=3_999_999, &gates[1])]);
        let mut clients = [scene.client(), scene.client()];
        for (client, asked) in clients.iter_mut().zip(["bytes=0-2999999", "bytes=2000000-"]) {
            client.ask("GET", "/", &[&format!("Range: {asked}")]);
            client.next_head();
            client.take(400_000);
        }
        let mut end = |number: usize| {
            gates[number].open();
            let range = [400_000..3_000_000, 2_400_000..4_000_000][number].clone();
            assert!(clients[number].take(range.len()) == body.as_bytes()[range]);
        };
        end(ends_first);
        written(&scene, 1);
        end(1 - ends_first);
        match ends_first {
            0 => scene.eventually(|| std::fs::read_dir(folder.path().join("segments")).unwrap().count() == 1),
            _ => written(&scene, 2),
        }
        let is_stored = |scene: &Scenario| {
            let hit = range(&mut scene.client(), 0, 2_999_999);
            assert!(hit.is_hit() && is_part(&hit, &body, 0..=2_999_999), "{ends_first}");
        };
        is_stored(&scene);
        drop(scene);
        is_stored(&again(small_memory(&folder), []));
    }
}

#[test]
fn bytes_of_two_representations_never_meet() {
    let two = "ETag: \"two\"";
    let (old, new) = (body(BODY_BYTES), other_body());
    // What the origin answers when it is asked for the rest, and then without a condition.
    let answers: [&[Vec<u8>]; 3] = [
        &[ok(&[FRESH, two], &new)],
        &[part(&new, two, 1_000_000..=1_999_999), part(&new, two, 500_000..=1_999_999)],
        &[part(&new[..3_999_999], TAG, 1_000_000..=1_999_999), part(&new, two, 500_000..=1_999_999)],
    ];
    for (number, answers) in answers.into_iter().enumerate() {
        let folder = folder();
        let script = std::iter::once(first(&old)).chain(answers.iter().map(|answer| get("/").answers(answer)));
        let scene = small_memory(&folder).run(script.collect::<Vec<_>>());
        let mut client = scene.client();
        has_first(&scene, &mut client, &old);
        assert!(is_part(&range(&mut client, 500_000, 1_999_999), &new, 500_000..=1_999_999), "{number}");
        written(&scene, 2);
        drop((client, scene));
        let scene = again(small_memory(&folder), []);
        let hit = range(&mut scene.client(), 600_000, 1_999_999);
        assert!(hit.is_hit() && is_part(&hit, &new, 600_000..=1_999_999), "{number}");
        let is_whole = number == 0;
        if !is_whole {
            scene.origin.then(get("/").answers(part(&new, two, 0..=499_999)));
        }
        let begin = range(&mut scene.client(), 0, 600_000);
        assert_eq!((begin.is_hit(), is_part(&begin, &new, 0..=600_000)), (is_whole, true), "{number}");
    }
}

#[test]
fn a_part_that_is_not_as_its_head_says_is_not_added() {
    let body = body(BODY_BYTES);
    let too_long = format!("{}x", &body[1_000_000..=1_999_999]);
    for (number, answer) in [
        part_in_chunks(&body[1_000_000..=1_899_999], 1_000_000..=1_999_999),
        part_in_chunks(&too_long, 1_000_000..=1_999_999),
    ]
    .into_iter()
    .enumerate()
    {
        let (folder, gate) = (folder(), Gate::new());
        let (begin, end) = answer.split_at(600_000);
        let scene = small_memory(&folder).run([first(&body), get("/").sends(begin).waits(&gate).answers(end)]);
        has_first(&scene, &mut scene.client(), &body);
        let used = status(&scene).used_bytes;
        let mut client = scene.client();
        client.ask("GET", "/", &["Range: bytes=500000-1999999"]);
        // The client reads before the part has ended: otherwise it may get an error instead.
        let head = client.next_head();
        gate.open();
        let response = client.rest_of(head);
        match number {
            // All that the client wants has come.
            1 => assert!(is_part(&response, &body, 500_000..=1_999_999)),
            _ => assert!(body[500_000..].starts_with(&response.text()), "{number}"),
        }
        // Its room is given back, and the back-off after the failure is over.
        scene.eventually(|| status(&scene).used_bytes == used);
        scene.advance(60);
        scene.origin.then(get("/").answers(part(&body, TAG, 1_000_000..=1_999_999)));
        let again = range(&mut scene.client(), 500_000, 1_999_999);
        assert!(!again.is_hit() && is_part(&again, &body, 500_000..=1_999_999), "{number}");
        written(&scene, 2);
        let hit = range(&mut scene.client(), 0, 1_999_999);
        assert!(hit.is_hit() && is_part(&hit, &body, 0..=1_999_999), "{number}");
    }
}

#[test]
fn what_came_before_the_origin_broke_off_is_kept() {
    let (folder, body) = (folder(), body(BODY_BYTES));
    let gates = [Gate::new(), Gate::new()];
    let broken = |range: RangeInclusive<usize>, gate: &Gate| {
        let whole = part(&body, TAG, range.clone());
        let head = whole.len() - range.count();
        get("/").sends(&whole[..whole.len().min(head + 500_000)]).waits(gate).closes()
    };
    let scene = small_memory(&folder).run([
        broken(1_000_000..=1_999_999, &gates[0]),
        broken(400_000..=999_999, &gates[1]),
        get("/").answers(part(&body, TAG, 900_000..=999_999)),
    ]);
    let is_cut = |first: usize, last: usize, gate: &Gate| {
        let mut client = scene.client();
        client.ask("GET", "/", &[&format!("Range: bytes={first}-{last}")]);
        // The client reads before the origin breaks off: otherwise it may get an error instead.
        let head = client.next_head();
        gate.open();
        assert!(body[first..].starts_with(&client.rest_of(head).text()), "{first}");
        scene.advance(60);
    };
    is_cut(1_000_000, 1_999_999, &gates[0]);
    written(&scene, 1);
    let hit = range(&mut scene.client(), 1_000_000, 1_499_999);
    assert!(hit.is_hit() && is_part(&hit, &body, 1_000_000..=1_499_999));
    // The same for what is added.
    is_cut(400_000, 1_499_999, &gates[1]);
    written(&scene, 2);
    assert!(is_part(&range(&mut scene.client(), 400_000, 1_499_999), &body, 400_000..=1_499_999));
    written(&scene, 3);
    let hit = range(&mut scene.client(), 400_000, 1_499_999);
    assert!(hit.is_hit() && is_part(&hit, &body, 400_000..=1_499_999));
}

#[test]
fn a_purge_or_a_write_meanwhile_outweighs_what_is_added() {
    let (old, new) = (body(BODY_BYTES), other_body());
    let url = PurgeTarget::Url("http://example.org/".to_owned());
    let prefix = PurgeTarget::Prefix("http://example.org/".to_owned());
    let changes: [&dyn Fn(&Scenario); 3] =
        [&|scene| purge(scene, &url, Purge::Hard), &|scene| purge(scene, &prefix, Purge::Hard), &|scene| {
            scene.origin.then(post("/").answers(ok(&[], "done")));
            scene.client().send_body("POST", "/", &[], "change");
        }];
    for (number, change) in changes.into_iter().enumerate() {
        let (folder, gate) = (folder(), Gate::new());
        let added = part(&old, TAG, 1_000_000..=1_999_999);
        let (begin, end) = added.split_at(600_000);
        let scene = small_memory(&folder).run([first(&old), get("/").sends(begin).waits(&gate).answers(end)]);
        has_first(&scene, &mut scene.client(), &old);
        let mut client = scene.client();
        client.ask("GET", "/", &["Range: bytes=900000-1999999"]);
        client.next_head();
        let mut taken = client.take(400_000);
        change(&scene);
        gate.open();
        taken.extend(client.take(700_000));
        assert!(taken == old.as_bytes()[900_000..2_000_000], "{number}: it was asked before the change");
        for count in 2..=3 {
            let two = "ETag: \"two\"";
            scene.origin.then(get("/").answers(part(&new, two, 0..=999_999)));
            assert!(is_part(&range(&mut scene.client(), 0, 999_999), &new, 0..=999_999), "{number}");
            written(&scene, count);
            let hit = range(&mut scene.client(), 0, 999_999);
            assert!(hit.is_hit() && is_part(&hit, &new, 0..=999_999), "{number}");
            purge(&scene, &url, Purge::Hard);
        }
    }
}

#[test]
fn a_stale_part_is_added_to_when_the_origin_sends_another_one_of_the_same_representation() {
    let (folder, body) = (folder(), body(BODY_BYTES));
    let scene = small_memory(&folder).run([first(&body), get("/").answers(part(&body, TAG, 500_000..=1_999_999))]);
    has_first(&scene, &mut scene.client(), &body);
    scene.advance(700);
    assert!(is_part(&range(&mut scene.client(), 500_000, 1_999_999), &body, 500_000..=1_999_999));
    written(&scene, 2);
    let hit = range(&mut scene.client(), 0, 1_999_999);
    assert!(hit.is_hit() && is_part(&hit, &body, 0..=1_999_999), "{}", hit.field("Cache-Status"));
    // A small part, which memory would take.
    scene.advance(700);
    scene.origin.then(get("/").answers(part(&body, TAG, 2_000_000..=2_000_009)));
    assert!(is_part(&range(&mut scene.client(), 2_000_000, 2_000_009), &body, 2_000_000..=2_000_009));
    written(&scene, 3);
    let hit = range(&mut scene.client(), 0, 2_000_009);
    assert!(hit.is_hit() && is_part(&hit, &body, 0..=2_000_009), "{}", hit.field("Cache-Status"));
}

#[test]
fn small_parts_are_in_memory_until_they_are_too_many() {
    let (folder, body) = (folder(), body(BODY_BYTES));
    let steps: Vec<_> = (0..4).map(|number| number * 100_000..=number * 100_000 + 99_999).collect();
    let script = steps.iter().map(|range| get("/").answers(part(&body, TAG, range.clone())));
    let scene = small_memory(&folder).run(script.collect::<Vec<_>>());
    for (number, step) in steps.iter().enumerate() {
        assert!(is_part(&range(&mut scene.client(), *step.start(), *step.end()), &body, step.clone()));
        written(&scene, number as u64 + 1);
    }
    // The third one went to disk alone, and the fourth one was added to it.
    let hit = range(&mut scene.client(), 200_000, 399_999);
    assert!(hit.is_hit() && is_part(&hit, &body, 200_000..=399_999), "{}", hit.field("Cache-Status"));
}

#[test]
fn a_part_of_a_whole_of_unknown_length_is_not_stored() {
    let (folder, body) = (folder(), body(BODY_BYTES));
    let unknown = || {
        let fields = [FRESH, TAG, "Content-Range: bytes 0-999999/*"];
        get("/").answers(reply("206 Partial Content", &fields, &body[..1_000_000]))
    };
    let scene = small_memory(&folder).run([unknown(), unknown()]);
    for _ in 0..2 {
        let response = range(&mut scene.client(), 0, 999_999);
        assert!(response.status == 206 && response.text() == body[..1_000_000] && !response.is_hit());
    }
}

#[test]
fn a_small_part_that_came_meanwhile_does_not_cost_a_large_one() {
    let (folder, body, gate) = (folder(), body(BODY_BYTES), Gate::new());
    let large = part(&body, TAG, 0..=2_999_999);
    let (begin, end) = large.split_at(500_000);
    let scene = small_memory(&folder).run([
        get("/").sends(begin).waits(&gate).answers(end),
        get("/").answers(part(&body, TAG, 3_900_000..=3_999_999)),
    ]);
    let mut client = scene.client();
    client.ask("GET", "/", &["Range: bytes=0-2999999"]);
    client.next_head();
    let mut taken = client.take(400_000);
    // A player looks for the index at the end of a video.
    scene.advance(1);
    assert!(is_part(&range(&mut scene.client(), 3_900_000, 3_999_999), &body, 3_900_000..=3_999_999));
    gate.open();
    taken.extend(client.take(2_600_000));
    assert!(taken == body.as_bytes()[..3_000_000]);
    scene.eventually(|| scene.engine.cache().fills_running() == 0);
    let hit = range(&mut scene.client(), 0, 2_999_999);
    assert!(hit.is_hit() && is_part(&hit, &body, 0..=2_999_999), "{}", hit.field("Cache-Status"));
}

#[test]
fn a_part_that_is_stored_already_takes_no_room_when_it_comes_again() {
    let (folder, body, gate) = (folder(), body(BODY_BYTES), Gate::new());
    let again = part(&body, TAG, 0..=1_199_999);
    let (begin, end) = again.split_at(600_000);
    let scene = small_memory(&folder).run([first(&body), get("/").sends(begin).waits(&gate).answers(end)]);
    has_first(&scene, &mut scene.client(), &body);
    let used = status(&scene).used_bytes;
    scene.advance(700);
    let mut client = scene.client();
    client.ask("GET", "/", &["Range: bytes=0-1199999"]);
    client.next_head();
    let mut taken = client.take(500_000);
    scene.eventually(|| status(&scene).used_bytes > used);
    assert!(status(&scene).used_bytes < used + 300_000, "only for what is new");
    gate.open();
    taken.extend(client.take(700_000));
    assert!(taken == body.as_bytes()[..1_200_000]);
    written(&scene, 2);
    let hit = range(&mut scene.client(), 0, 1_199_999);
    assert!(hit.is_hit() && is_part(&hit, &body, 0..=1_199_999), "{}", hit.field("Cache-Status"));
    // One that brings nothing new refreshes what is stored.
    scene.advance(700);
    scene.origin.then(get("/").answers(part(&body, TAG, 0..=999_999)));
    assert!(is_part(&range(&mut scene.client(), 0, 999_999), &body, 0..=999_999));
    written(&scene, 3);
    let hit = range(&mut scene.client(), 0, 1_199_999);
    assert!(hit.is_hit() && is_part(&hit, &body, 0..=1_199_999), "{}", hit.field("Cache-Status"));
}

#[test]
fn a_date_in_if_range_selects_the_same_bytes_for_the_look_up_and_for_the_answer() {
    let (folder, body) = (folder(), body(BODY_BYTES));
    let answer = |range: RangeInclusive<usize>| {
        let place = format!("Content-Range: bytes {}-{}/{BODY_BYTES}", range.start(), range.end());
        let fields = [FRESH, TAG, "Last-Modified: Mon, 01 Jan 2001 00:00:00 GMT", "Content-Type: text/css", &place];
        get("/").answers(reply("206 Partial Content", &fields, &body[range]))
    };
    let scene = small_memory(&folder).run([answer(0..=999_999), answer(1_000_000..=1_999_999)]);
    has_first(&scene, &mut scene.client(), &body);
    let fields = ["If-Range: Mon, 01 Jan 2001 00:00:00 GMT", "Accept-Encoding: gzip", "Range: bytes=500000-1999999"];
    let missing = scene.client().get_with("/", &fields);
    assert!(is_part(&missing, &body, 500_000..=1_999_999), "{} {}", missing.status, missing.field("Cache-Status"));
    written(&scene, 2);
    let hit = scene.client().get_with("/", &fields);
    assert!(hit.is_hit() && is_part(&hit, &body, 500_000..=1_999_999), "{}", hit.field("Cache-Status"));
}

#[test]
fn a_part_of_a_body_that_no_file_can_hold_is_not_stored() {
    let (folder, body) = (folder(), body(BODY_BYTES));
    let (first, last) = (u64::MAX - 1_000_001, u64::MAX - 2);
    let answer = || {
        let place = format!("Content-Range: bytes {first}-{last}/{}", u64::MAX - 1);
        get("/").answers(reply("206 Partial Content", &[FRESH, TAG, &place], &body[..1_000_000]))
    };
    let scene = small_memory(&folder).run([answer(), answer()]);
    for _ in 0..2 {
        let response = scene.client().get_with("/", &[&format!("Range: bytes={first}-{last}")]);
        assert!(response.status == 206 && response.text() == body[..1_000_000] && !response.is_hit());
        scene.eventually(|| scene.engine.cache().fills_running() == 0);
    }
}

#[test]
fn a_client_that_has_the_response_costs_no_byte_of_what_is_missing() {
    let (folder, body) = (folder(), body(BODY_BYTES));
    let scene = small_memory(&folder).run([first(&body)]);
    let mut client = scene.client();
    has_first(&scene, &mut client, &body);
    for fields in [&["If-None-Match: \"one\""][..], &["If-None-Match: \"one\"", "Range: bytes=500000-1999999"]] {
        let known = client.get_with("/", fields);
        assert_eq!((known.status, known.is_hit()), (304, true));
    }
    assert_eq!(scene.origin.count(), 1);
}

#[test]
fn what_is_too_much_to_be_added_is_asked_for_once() {
    let (folder, body) = (folder(), body(BODY_BYTES));
    let answer = |range: RangeInclusive<usize>| {
        // The store has 64 MiB, and takes a quarter of it for one response.
        let place = format!("Content-Range: bytes {}-{}/100000000", range.start(), range.end());
        get("/").answers(reply("206 Partial Content", &[FRESH, TAG, &place], &body[range]))
    };
    let scene = small_memory(&folder).run([answer(0..=999_999), answer(500_000..=1_999_999)]);
    let mut client = scene.client();
    assert_eq!(range(&mut client, 0, 999_999).status, 206);
    written(&scene, 1);
    // The origin sends less than it is asked for.
    let less = client.get_with("/", &["Range: bytes=500000-"]);
    assert!(less.status == 206 && less.text() == body[500_000..2_000_000]);
    written(&scene, 2);
    let hit = range(&mut client, 0, 1_999_999);
    assert!(hit.is_hit() && hit.text() == body[..2_000_000], "{}", hit.field("Cache-Status"));
    assert_eq!(asked(&scene), ["bytes=0-999999", "bytes=500000-"].map(|range| (range.to_owned(), String::new())));
}

#[test]
fn a_damaged_part_is_found_out_while_it_is_completed() {
    use std::os::unix::fs::FileExt;
    let (folder, body) = (folder(), body(BODY_BYTES));
    let (gate, missing) = (Gate::new(), part(&body, TAG, 1_000_000..=1_499_999));
    let (begin, end) = missing.split_at(300_000);
    let scene = small_memory(&folder).run([first(&body), get("/").sends(begin).waits(&gate).answers(end)]);
    has_first(&scene, &mut scene.client(), &body);
    let file = std::fs::read_dir(folder.path().join("segments")).unwrap().next().unwrap().unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(file.path()).unwrap();
    file.write_all_at(b"damage", 100).unwrap();
    let mut client = scene.client();
    client.ask("GET", "/", &["Range: bytes=0-1499999"]);
    let head = client.next_head();
    assert!(!client.rest_of(head).text().contains("damage"));
    gate.open();
    scene.eventually(|| scene.engine.cache().fills_running() == 0);
    scene.origin.then(get("/").answers(&missing));
    scene.origin.then(get("/").answers(part(&body, TAG, 0..=1_499_999)));
    assert!(is_part(&range(&mut scene.client(), 0, 1_499_999), &body, 0..=1_499_999));
    scene.eventually(|| scene.engine.cache().fills_running() == 0);
    let hit = range(&mut scene.client(), 0, 1_499_999);
    assert!(hit.is_hit() && is_part(&hit, &body, 0..=1_499_999), "{}", hit.field("Cache-Status"));
}
