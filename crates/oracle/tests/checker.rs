//! Tests that the checker can fail: each mistake that it is there for is made on purpose.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use kasoku_oracle::ask::ClientRequest;
use kasoku_oracle::check::check;
use kasoku_oracle::claim::{Claim, FIELD, Representation};
use kasoku_oracle::coded_tags::coded_tag;
use kasoku_oracle::got::ClientResponse;
use kasoku_oracle::page::{Audience, Page, Validator, Variation};
use kasoku_oracle::ranges::Spec;
use kasoku_oracle::uncode::uncode;
use kasoku_oracle::wire::{Fields, ResponseHead};
use kasoku_oracle::world::World;
use kasoku_semantics::policy::Profile;
use std::io::Write;

/// Long enough for several blocks of 4 KiB and a shorter last one.
const LONG: std::ops::RangeInclusive<u64> = 9_000..=40_000;
const SECOND: u64 = 1_000_000;

/// A page and a request for it, with an answer that is right until a test spoils it.
struct Case<'w> {
    world: &'w World,
    ask: ClientRequest<'w>,
    of: Representation,
    /// Microseconds between the origin's answer and the request.
    age: u64,
    by: Option<u64>,
    status: u16,
    cache: &'static str,
    fields: Vec<(&'static str, String)>,
    body: Option<Vec<u8>>,
    is_whole: bool,
}

fn world() -> World {
    World::new(5000)
}

impl<'w> Case<'w> {
    /// A hit on a page that meets that condition.
    fn new(world: &'w World, is_wanted: impl Fn(&Page) -> bool) -> Self {
        let fits = |page: &&Page| LONG.contains(&page.length(1, 0)) && is_wanted(page);
        let page = world.pages.iter().find(fits).expect("there is such a page");
        let length = page.length(1, 0);
        let of = Representation { page: page.number, visitor: 0, variant: 0, version: 1, length };
        let ask = ClientRequest { sent_at: 100 * SECOND, ..ClientRequest::plain(world, page) };
        Self {
            world,
            ask,
            of,
            age: 500_000,
            by: None,
            status: 200,
            cache: "hit; detail=hit",
            fields: Vec::new(),
            body: None,
            is_whole: true,
        }
    }

    /// A plain hit on a page that all visitors share, and that is fresh for two seconds.
    fn shared(world: &'w World) -> Self {
        Self::new(world, |page| {
            let is_plain = page.caching.cache_control == "max-age=2" && page.variation == Variation::None;
            page.audience == Audience::Shared && is_plain && page.validator == Validator::StrongAndDate
        })
    }

    /// Makes it an answer that the origin made for this request.
    fn fetched(mut self) -> Self {
        (self.cache, self.by) = ("fwd=uri-miss; detail=uri-miss", Some(self.ask.id));
        self.age = 0;
        self
    }

    fn whole_body(&self) -> Vec<u8> {
        self.of.bytes(0, self.of.length)
    }

    fn mistakes(&self) -> Vec<String> {
        let at = self.ask.sent_at - self.age;
        let claim = Claim { of: self.of, at, by: self.by.unwrap_or(0), serial: 1, also: None };
        let mut fields = vec![
            (FIELD.to_owned(), claim.write()),
            ("Cache-Status".to_owned(), format!("kasoku; {}", self.cache)),
            ("Age".to_owned(), (self.age / SECOND).to_string()),
        ];
        fields.extend(self.fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        let head = ResponseHead { status: self.status, minor: 1, fields: Fields(fields) };
        let body = self.body.clone().unwrap_or_else(|| self.whole_body());
        match uncode(&self.ask, ClientResponse { head, body, is_whole: self.is_whole, ends_with_connection: false }) {
            Ok((got, _)) => check(self.world, &self.ask, &got),
            Err(wrong) => vec![wrong],
        }
    }

    #[track_caller]
    fn is_right(&self) {
        assert_eq!(self.mistakes(), [""; 0]);
    }

    #[track_caller]
    fn is_wrong(&self, expected: &str) {
        let mistakes = self.mistakes();
        assert!(mistakes.iter().any(|mistake| mistake.contains(expected)), "{expected} is not among {mistakes:?}");
    }
}

#[test]
fn what_is_right_is_right() {
    Case::shared(&world()).is_right();
    Case::shared(&world()).fetched().is_right();
}

impl Case<'_> {
    /// Makes it a response in gzip that decodes to these bytes.
    fn coded(mut self, body: &[u8]) -> Self {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(body).unwrap();
        self.body = Some(encoder.finish().unwrap());
        self.ask.takes_gzip = true;
        self.fields = vec![
            ("Content-Encoding", "gzip".to_owned()),
            ("Vary", "Accept-Encoding".to_owned()),
            ("ETag", coded_tag(&self.of.etag(), "gzip")),
        ];
        self
    }
}

#[test]
fn a_coding_is_right_where_all_of_it_is() {
    let world = world();
    let coded = || {
        let case = Case::shared(&world);
        let body = case.whole_body();
        case.coded(&body)
    };
    coded().is_right();
    let mut cut = coded();
    cut.body.as_mut().unwrap().truncate(100);
    cut.is_wrong("coding: 100 bytes that are no gzip");
    cut.is_whole = false;
    cut.is_right();
    let mut not_accepted = coded();
    not_accepted.ask.takes_gzip = false;
    not_accepted.is_wrong("coding: gzip with 200 to a client that accepts it not");
    for (name, wrong) in [("Vary", "Vary"), ("Content-Encoding", "the tag is of gzip")] {
        let mut without = coded();
        without.fields.retain(|(one, _)| *one != name);
        without.is_wrong(wrong);
    }
    let mut plain_tag = coded();
    plain_tag.fields[2].1 = plain_tag.of.etag();
    plain_tag.is_wrong("coding: gzip under the tag");
    let mut part = coded();
    part.status = 206;
    part.is_wrong("coding: gzip with 206");
}

#[test]
fn a_coding_of_other_bytes_is_seen() {
    let world = world();
    let case = Case::shared(&world);
    let other = Representation { version: case.of.version + 1, ..case.of };
    case.coded(&other.bytes(0, other.length)).is_wrong("mixed versions");
    let case = Case::shared(&world);
    let short = &case.whole_body()[..4096];
    case.coded(short).is_wrong("wrong length");
}

#[test]
fn a_304_may_name_a_form_that_the_client_accepts() {
    let world = world();
    let told = |takes_gzip| {
        let mut case = Case::shared(&world);
        let tag = coded_tag(&case.of.etag(), "br");
        (case.status, case.body, case.ask.takes_gzip) = (304, Some(Vec::new()), takes_gzip);
        case.ask.tags = vec![tag.clone()];
        case.fields = vec![("ETag", tag)];
        case
    };
    told(true).is_right();
    told(false).is_wrong("coding: the tag is of br");
    let mut plain = told(false);
    plain.fields[0].1 = plain.of.etag();
    plain.is_wrong("304, but the client has another version");
}

#[test]
fn a_block_of_another_object_is_seen() {
    let world = world();
    let mut case = Case::shared(&world);
    let mut body = case.whole_body();
    let other = Representation { page: case.of.page + 1, ..case.of };
    body[4096..8192].copy_from_slice(&other.bytes(4096, 4096));
    case.body = Some(body);
    case.is_wrong("mixed objects");
}

#[test]
fn a_head_of_another_object_is_seen() {
    let world = world();
    let mut case = Case::shared(&world);
    case.of.page += 1;
    case.is_wrong("mixed objects: the head");
}

#[test]
fn a_single_foreign_byte_is_seen() {
    let world = world();
    let mut case = Case::shared(&world);
    let mut body = case.whole_body();
    *body.last_mut().unwrap() ^= 1;
    case.body = Some(body);
    case.is_wrong("byte");
}

#[test]
fn a_foreign_visitor_is_seen_in_head_and_body() {
    let world = world();
    let mut case = Case::new(&world, |page| page.audience == Audience::Private).fetched();
    case.ask.visitor = 3;
    case.of.visitor = 3;
    case.is_right();
    let mut body = case.whole_body();
    let tail = Representation { visitor: 4, ..case.of }.bytes(8192, 512);
    body[8192..8192 + 512].copy_from_slice(&tail);
    case.body = Some(body);
    case.is_wrong("foreign visitor");
    case.body = None;
    case.of.visitor = 4;
    case.is_wrong("foreign visitor");
}

#[test]
fn a_private_page_from_the_cache_is_seen_even_if_it_is_the_visitors_own() {
    let world = world();
    let mut case = Case::new(&world, |page| page.audience == Audience::Private);
    case.is_wrong("was shared");
    case.cache = "fwd=uri-miss; collapsed; detail=collapsed";
    case.is_wrong("was shared");
    let mut case = case.fetched();
    case.cache = "fwd=uri-miss; stored; detail=uri-miss";
    case.is_wrong("was stored");
}

#[test]
fn a_personal_page_of_another_visitor_is_seen() {
    let world = world();
    let is_personal = |page: &Page| page.audience == Audience::Personal && page.profile == Profile::Safe;
    let mut case = Case::new(&world, is_personal);
    case.ask.visitor = 3;
    case.is_right();
    case.of.visitor = 3;
    case.is_wrong("foreign visitor");
}

#[test]
fn an_answer_to_another_request_is_seen() {
    let world = world();
    let mut case = Case::shared(&world).fetched();
    case.by = Some(case.ask.id + 1);
    case.is_wrong("an answer to request");
}

#[test]
fn a_version_that_changes_within_a_body_is_seen() {
    let world = world();
    let mut case = Case::shared(&world);
    let mut body = case.whole_body();
    let tail = Representation { version: 2, ..case.of }.bytes(4096, 100);
    body[4096..4196].copy_from_slice(&tail);
    case.body = Some(body);
    case.is_wrong("mixed versions");
}

#[test]
fn a_tag_of_another_version_is_seen() {
    let world = world();
    let mut case = Case::shared(&world);
    case.fields.push(("ETag", case.of.etag()));
    case.is_right();
    case.fields[0].1 = Representation { version: 2, ..case.of }.etag();
    case.is_wrong("the ETag is of another");
}

#[test]
fn another_variant_is_seen() {
    let world = world();
    let mut case = Case::new(&world, |page| page.variation == Variation::Language && page.caching.lifetime.is_some());
    case.is_right();
    case.ask.language = 2;
    case.is_wrong("mixed variants");
}

#[test]
fn a_short_body_that_looks_whole_is_seen_and_a_cut_one_is_in_order() {
    let world = world();
    let mut case = Case::shared(&world);
    let mut body = case.whole_body();
    body.truncate(body.len() - 1);
    case.body = Some(body);
    case.is_wrong("wrong length");
    case.is_whole = false;
    case.is_right();
}

#[test]
fn a_body_that_is_too_long_or_announces_another_length_is_seen() {
    let world = world();
    let mut case = Case::shared(&world);
    case.fields.push(("Content-Length", "1".to_owned()));
    case.is_wrong("Content-Length 1");
    let mut body = case.whole_body();
    body.push(b'.');
    case.body = Some(body);
    case.is_wrong("wrong length");
}

#[test]
fn too_stale_a_response_is_seen() {
    let world = world();
    let mut case = Case::shared(&world);
    let lifetime = case.ask.page.caching.lifetime.unwrap();
    case.age = (lifetime + 1) * SECOND;
    case.is_right();
    case.age = (lifetime + 1) * SECOND + SECOND / 2;
    case.is_wrong("too stale: made");
}

#[test]
fn too_stale_a_response_is_seen_to_the_second_where_its_receipt_is_known() {
    let world = world();
    let mut case = Case::shared(&world);
    world.hear(case.of.page, 1);
    let lifetime = case.ask.page.caching.lifetime.unwrap();
    case.age = 0;
    case.ask.sent_at = world.now() + lifetime * SECOND;
    case.is_right();
    case.ask.sent_at += SECOND / 2;
    case.is_wrong("too stale: received");
}

#[test]
fn a_version_that_ended_long_ago_is_seen_whatever_the_head_says() {
    let world = world();
    let case = Case::shared(&world);
    world.change(case.of.page);
    case.is_wrong("too stale: version 1 ended");
}

#[test]
fn stale_without_a_rule_that_allows_it_is_seen() {
    let world = world();
    for rule in ["hit-stale-while-revalidate", "hit-max-stale", "hit-stale-error", "hit-anything"] {
        let mut case = Case::shared(&world);
        case.cache = Box::leak(format!("hit; detail={rule}").into_boxed_str());
        case.is_wrong("neither page nor request permits");
    }
    let mut case = Case::new(&world, |page| page.caching.must_revalidate && page.audience == Audience::Shared);
    case.cache = "hit; detail=hit-stale-disconnected";
    case.is_wrong("neither page nor request permits");
    let mut case = Case::new(&world, |page| page.caching.cache_control == "no-cache");
    case.cache = "hit; detail=hit";
    case.is_wrong("no-cache response");
}

#[test]
fn a_client_that_may_ask_for_validation_gets_it() {
    let world = world();
    let is_rfc = |page: &Page| page.profile == Profile::Rfc && page.caching.cache_control == "max-age=3";
    let mut case = Case::new(&world, is_rfc);
    case.ask.directives.no_cache = true;
    case.is_wrong("request with no-cache");
    case.ask.directives.no_cache = false;
    case.ask.directives.max_age = Some(1);
    case.age = 3 * SECOND + SECOND / 2;
    case.is_wrong("too stale");
}

#[test]
fn what_was_invalidated_before_the_request_is_seen() {
    let world = world();
    let mut case = Case::shared(&world);
    case.ask.floor = 2;
    case.is_wrong("invalidated");
}

#[test]
fn an_age_that_is_too_low_is_seen() {
    let world = world();
    let mut case = Case::new(&world, |page| page.caching.stale_while_revalidate > 0);
    case.cache = "hit; detail=hit-stale-while-revalidate";
    case.age = 3 * SECOND + 900_000;
    case.is_right();
    case.fields.push(("Age", "0".to_owned()));
    case.is_wrong("hit without Age");
}

#[test]
fn a_304_for_another_version_is_seen() {
    let world = world();
    let mut case = Case::shared(&world);
    case.status = 304;
    case.body = Some(Vec::new());
    case.is_wrong("another version");
    case.ask.tags = vec![Representation { version: 2, ..case.of }.etag()];
    case.is_wrong("another version");
    case.ask.tags.push(case.of.etag());
    case.is_right();
}

#[test]
fn parts_are_the_bytes_that_were_asked_for() {
    let world = world();
    let mut case = Case::shared(&world);
    (case.status, case.ask.ranges) = (206, vec![Spec::FromTo(100, 299)]);
    let length = case.of.length;
    case.fields.push(("Content-Range", format!("bytes 100-299/{length}")));
    case.body = Some(case.of.bytes(100, 200));
    case.is_right();
    case.body = Some(case.of.bytes(164, 200));
    case.is_wrong("wrong place");
    case.body = Some(case.of.bytes(100, 199));
    case.is_wrong("wrong length");
    case.body = Some(case.of.bytes(100, 200));
    case.ask.ranges = vec![Spec::FromTo(100, 298)];
    case.is_wrong("asked for");
    case.ask.ranges = Vec::new();
    case.is_wrong("without Range");
    case.ask.ranges = vec![Spec::FromTo(100, 299)];
    case.ask.if_range = Some(Representation { version: 2, ..case.of }.etag());
    case.is_wrong("If-Range");
}

#[test]
fn each_part_of_several_is_checked() {
    let world = world();
    let mut case = Case::shared(&world);
    (case.status, case.ask.ranges) = (206, vec![Spec::FromTo(0, 99), Spec::Last(100)]);
    let length = case.of.length;
    let with = |first: u64, from: u64| {
        let mut body = Vec::new();
        for (first, from) in [(0, 0), (first, from)] {
            let last = first + 99;
            let head = format!("\r\n--b\r\nContent-Range: bytes {first}-{last}/{length}\r\n\r\n");
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(&case.of.bytes(from, 100));
        }
        body.extend_from_slice(b"\r\n--b--\r\n");
        Some(body)
    };
    let bodies = [with(length - 100, length - 100), with(length - 100, 0), with(200, 200)];
    case.fields.push(("Content-Type", "multipart/byteranges; boundary=b".to_owned()));
    let [right, foreign, other] = bodies;
    case.body = right;
    case.is_right();
    case.body = foreign;
    case.is_wrong("byte");
    case.body = other;
    case.is_wrong("asked for");
}

#[test]
fn a_body_without_a_length_is_for_http_1_0_only() {
    let world = world();
    let case = Case::shared(&world);
    let head = ResponseHead { status: 200, minor: 1, fields: Fields::default() };
    let got = ClientResponse { head, body: Vec::new(), is_whole: true, ends_with_connection: true };
    assert!(check(&world, &case.ask, &got).iter().any(|mistake| mistake.contains("without a length")));
}
