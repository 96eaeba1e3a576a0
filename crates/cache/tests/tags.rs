//! Tests of tags: a change of a tag drops all responses with it, and a fill that began before the change is not stored.

#![allow(clippy::unwrap_used, clippy::panic)]

use bytes::Bytes;
use http::{Method, StatusCode};
use kasoku_cache::verdict::OriginExchange;
use kasoku_cache::{
    BodyWriter, Cache, CacheLimits, CacheRoute, FillWriter, Lookup, Purge, PurgeScope, SharedRequest, Verdict,
};
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::policy::{Policy, Profile};
use kasoku_semantics::reason::Reason;
use kasoku_semantics::tags::{TagTemplate, Tagged};
use kasoku_semantics::time::Now;
use kasoku_wire::{RequestHead, ResponseHead};
use std::sync::Arc;

const NOW: Now = Now { unix_ms: 1_700_000_000_000, mono_ms: 0 };
const SITE: &str = "a.example";

struct Board {
    cache: Cache,
    policy: Arc<Policy>,
}

impl Board {
    fn new() -> Self {
        let cache = Cache::new(CacheLimits { memory_bytes_max: 256 << 20, object_bytes_max: 16 << 20 });
        let mut policy = Policy::new(Profile::Safe);
        policy.tags.site = SITE.to_owned();
        policy.tags.templates =
            ["board-{b}", "post-{b}-{id:digits}"].map(|text| TagTemplate::parse(text).unwrap()).to_vec();
        Self { cache, policy: Arc::new(policy) }
    }

    fn look_up(&self, target: &str, read: Option<&str>) -> Lookup {
        let key = self.cache.key(format!("http://{SITE}{target}"));
        let route = CacheRoute { read_target: read, ..CacheRoute::new(&key, &self.policy) };
        let request = RequestHead::new(Method::GET, target);
        self.cache.look_up(&SharedRequest::new(&request, &route, &Peer::UNKNOWN), NOW)
    }

    fn begin(&self, target: &str, read: Option<&str>) -> BodyWriter {
        let Lookup::Fill(writer, _) = self.look_up(target, read) else { panic!("no fill: {target}") };
        Self::answered(writer, target)
    }

    fn answered(writer: FillWriter, target: &str) -> BodyWriter {
        let response = ResponseHead::new(StatusCode::OK).with("Cache-Control", "max-age=60");
        let (request_time, response_time, body_length) = (NOW, NOW, None);
        let exchange = OriginExchange { response: &response, request_time, response_time, body_length, is_file: false };
        match writer.on_response(&exchange) {
            Verdict::Write(body) => body,
            _ => panic!("not written: {target}"),
        }
    }

    async fn store(&self, target: &str, read: Option<&str>) {
        let mut body = self.begin(target, read);
        body.push(Bytes::from_static(b"page")).await.unwrap();
        assert!(body.finish(None), "not stored: {target}");
    }

    fn is_hit(&self, target: &str) -> bool {
        matches!(self.look_up(target, None), Lookup::Hit(..))
    }

    fn changes(&self, tags: &[&str]) {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        let _ = self.cache.drop_changed_tags(SITE, &Tagged { tags, is_all_known: true }, NOW);
    }
}

#[tokio::test]
async fn what_has_a_tag_is_dropped_with_it_whatever_its_url() {
    let board = Board::new();
    let (list, post, other) = ("/b?b=free", "/b?page=1&b=free&id=5", "/b?b=qa");
    for target in [list, post, other] {
        board.store(target, None).await;
    }
    board.store("/free/5", Some("/b?b=free&id=5")).await;
    board.changes(&["post-free-5", "anonymous"]);
    assert!(board.is_hit(list) && board.is_hit(other) && !board.is_hit("/free/5"));
    assert!(matches!(board.look_up(post, None), Lookup::Fill(_, Reason::Invalidated)));
    board.changes(&["board-free"]);
    assert!(!board.is_hit(list) && board.is_hit(other));
    for site in ["b.example", ""] {
        let _ = board.cache.purge_all_of(PurgeScope::Tagged(site), Purge::Hard, NOW).unwrap();
    }
    assert!(board.is_hit(other), "another site's");
    let _ = board.cache.purge_all_of(PurgeScope::Tag(SITE, "board-qa"), Purge::Hard, NOW).unwrap();
    assert!(matches!(board.look_up(other, None), Lookup::Fill(_, Reason::Purged)));
}

#[tokio::test]
async fn a_response_with_unknown_tags_is_dropped_with_each() {
    let board = Board::new();
    board.store("/b?b=fr%20ee", None).await;
    board.store("/b?b=free", None).await;
    board.changes(&["board-qa"]);
    assert!(!board.is_hit("/b?b=fr%20ee") && board.is_hit("/b?b=free"));
    let _ = board.cache.drop_changed_tags(SITE, &Tagged { tags: Vec::new(), is_all_known: false }, NOW);
    assert!(!board.is_hit("/b?b=free"));
}

#[tokio::test]
async fn a_fill_that_began_before_a_change_is_joined_by_no_request_and_not_stored() {
    let board = Board::new();
    let target = "/b?b=free&id=5";
    let mut body = board.begin(target, None);
    assert!(matches!(board.look_up(target, None), Lookup::Join(..)));
    board.changes(&["post-free-5"]);
    let Lookup::Fill(newer, _) = board.look_up(target, None) else { panic!("it joined a fill from before") };
    drop(newer);
    body.push(Bytes::from_static(b"old")).await.unwrap();
    assert!(!body.finish(None) && !board.is_hit(target));
    board.store(target, None).await;
    assert!(board.is_hit(target));
}

#[tokio::test]
async fn what_has_a_tag_of_no_template_is_dropped_with_it_in_any_site() {
    for site in [SITE, ""] {
        let mut board = Board::new();
        let policy = Arc::make_mut(&mut board.policy);
        policy.tags.site = site.to_owned();
        policy.tags.templates.truncate(if site.is_empty() { 0 } else { 1 });
        let key = board.cache.key(format!("http://{SITE}/b?b=free"));
        let (request, also) = (RequestHead::new(Method::GET, "/b?b=free"), ["guarded /b".to_owned()]);
        let without = CacheRoute::new(&key, &board.policy);
        let shared = |route| SharedRequest::new(&request, &route, &Peer::UNKNOWN);
        let tagged = shared(CacheRoute { tags: &also, ..without });
        let Lookup::Fill(writer, _) = board.cache.look_up(&tagged, NOW) else { panic!("no fill") };
        let mut body = Board::answered(writer, "/b?b=free");
        body.push(Bytes::from_static(b"page")).await.unwrap();
        assert!(body.finish(None));
        for other in ["guarded /c", "board-qa"] {
            let _ = board.cache.purge_all_of(PurgeScope::Tag(site, other), Purge::Hard, NOW).unwrap();
        }
        assert!(matches!(board.cache.look_up(&tagged, NOW), Lookup::Hit(..)));
        let Lookup::Hit(..) = board.cache.look_up(&shared(without), NOW) else { panic!("it is found without") };
        let _ = board.cache.purge_all_of(PurgeScope::Tag(site, "guarded /b"), Purge::Hard, NOW).unwrap();
        assert!(matches!(board.cache.look_up(&tagged, NOW), Lookup::Fill(_, Reason::Purged)), "{site}");
    }
}
