//! What is written on disk beside the body of a response, and how a response is made of it again.
//!
//! The first byte is the version of this form. A description of another version is no response, so its object is a miss. The disk tier
//! has compared the bytes with their checksum before they come here.

use crate::Body;
use crate::entry::Meta;
use crate::tags::Tags;
use http::{StatusCode, Version};
use kasoku_semantics::freshness::{Freshness, LifetimeSource};
use kasoku_semantics::time::Now;
use kasoku_wire::{Fields, ResponseHead};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

const VERSION: u8 = 1;

/// A field's name and value.
type Line<'a> = (&'a [u8], &'a [u8]);

#[derive(Serialize, Deserialize)]
struct Description<'a> {
    status: u16,
    is_http_10: bool,
    #[serde(borrow)]
    reason: &'a [u8],
    #[serde(borrow)]
    fields: Vec<Line<'a>>,
    freshness: StoredFreshness,
    #[serde(borrow)]
    nominated: Vec<&'a str>,
    #[serde(borrow)]
    variant: &'a [u8],
    #[serde(borrow)]
    withheld: Option<Vec<Line<'a>>>,
    tags: Option<StoredTags>,
    epoch: u64,
    rules: u64,
    complete_length: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct StoredFreshness {
    response_unix_ms: i64,
    initial_age: u64,
    lifetime: u64,
    source: u8,
    stale_while_revalidate: u64,
    stale_if_error: u64,
    has_stale_if_error: bool,
    no_cache: bool,
    must_revalidate: bool,
}

#[derive(Serialize, Deserialize)]
struct StoredTags {
    site: u64,
    each: Vec<u64>,
    if_absent: Vec<(u32, u64)>,
    has_unknown: bool,
}

/// The sources of a lifetime, in the order of their numbers. Numbers that were written must keep their meaning.
const SOURCES: [LifetimeSource; 11] = [
    LifetimeSource::Targeted,
    LifetimeSource::SMaxage,
    LifetimeSource::MaxAge,
    LifetimeSource::AccelExpires,
    LifetimeSource::Expires,
    LifetimeSource::Heuristic,
    LifetimeSource::Negative,
    LifetimeSource::Ttl,
    LifetimeSource::Override,
    LifetimeSource::Status,
    LifetimeSource::None,
];

/// The number by which the disk tier tells the variants of a key apart.
pub(super) fn variant_number(meta: &Meta) -> u64 {
    let mut hash = Xxh3::new();
    let names = meta.nominated.iter().map(String::as_bytes);
    for part in names.chain([&meta.variant[..]]) {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.digest()
}

/// The description of a stored response.
pub(super) fn write(meta: &Meta, complete_length: Option<u64>) -> Option<Box<[u8]>> {
    let Meta { head, freshness, nominated, variant, withheld, tags, epoch, rules } = meta;
    let described = Description {
        status: head.status.as_u16(),
        is_http_10: head.version == Version::HTTP_10,
        reason: &head.reason,
        fields: lines(&head.fields),
        freshness: StoredFreshness::of(freshness)?,
        nominated: nominated.iter().map(String::as_str).collect(),
        variant,
        withheld: withheld.as_deref().map(lines),
        tags: tags.as_deref().map(StoredTags::of),
        epoch: *epoch,
        rules: *rules,
        complete_length,
    };
    let bytes = postcard::to_extend(&described, vec![VERSION]).ok()?;
    Some(bytes.into())
}

fn lines(fields: &Fields) -> Vec<Line<'_>> {
    fields.iter().collect()
}

/// The head of a response, and the complete length of its body. With `is_unconfirmed`, the origin must confirm it before it is used.
pub(super) fn read(bytes: &[u8], is_unconfirmed: bool, now: Now) -> Option<(Meta, Option<u64>)> {
    let (VERSION, rest) = bytes.split_first().map(|(version, rest)| (*version, rest))? else { return None };
    let described: Description<'_> = postcard::from_bytes(rest).ok()?;
    let fields = |lines: &[Line<'_>]| {
        let mut fields = Fields::with_capacity(rest.len(), lines.len());
        lines.iter().for_each(|(name, value)| fields.push(name, value));
        fields
    };
    let head = ResponseHead {
        status: StatusCode::from_u16(described.status).ok()?,
        reason: described.reason.to_vec(),
        version: if described.is_http_10 { Version::HTTP_10 } else { Version::HTTP_11 },
        fields: fields(&described.fields),
    };
    let freshness = described.freshness.read(now)?;
    let meta = Meta {
        head,
        freshness: if is_unconfirmed { unconfirmed(freshness) } else { freshness },
        nominated: described.nominated.iter().map(|name| (*name).to_owned()).collect(),
        variant: described.variant.to_vec(),
        withheld: described.withheld.map(|lines| Box::new(fields(&lines))),
        tags: described.tags.map(|tags| Arc::new(tags.read())),
        // The purges of all time cover what is unconfirmed.
        epoch: if is_unconfirmed { 0 } else { described.epoch },
        rules: described.rules,
    };
    Some((meta, described.complete_length))
}

/// What is needed of a response whose removal may have been lost: it is used only after the origin has confirmed it.
fn unconfirmed(freshness: Freshness) -> Freshness {
    Freshness { no_cache: true, must_revalidate: true, stale_while_revalidate: 0, stale_if_error: 0, ..freshness }
}

impl StoredFreshness {
    fn of(freshness: &Freshness) -> Option<Self> {
        let source = SOURCES.iter().position(|source| *source == freshness.source)?;
        Some(Self {
            response_unix_ms: freshness.response_time.unix_ms,
            initial_age: freshness.initial_age,
            lifetime: freshness.lifetime,
            source: u8::try_from(source).ok()?,
            stale_while_revalidate: freshness.stale_while_revalidate,
            stale_if_error: freshness.stale_if_error,
            has_stale_if_error: freshness.has_stale_if_error,
            no_cache: freshness.no_cache,
            must_revalidate: freshness.must_revalidate,
        })
    }

    fn read(&self, now: Now) -> Option<Freshness> {
        Some(Freshness {
            response_time: now.when(self.response_unix_ms),
            initial_age: self.initial_age,
            lifetime: self.lifetime,
            source: *SOURCES.get(usize::from(self.source))?,
            stale_while_revalidate: self.stale_while_revalidate,
            stale_if_error: self.stale_if_error,
            has_stale_if_error: self.has_stale_if_error,
            no_cache: self.no_cache,
            must_revalidate: self.must_revalidate,
        })
    }
}

impl StoredTags {
    fn of(tags: &Tags) -> Self {
        let if_absent = tags.if_absent().iter().map(|(place, tag)| (*place as u32, *tag)).collect();
        Self { site: tags.site, each: tags.each.to_vec(), if_absent, has_unknown: tags.has_unknown }
    }

    fn read(self) -> Tags {
        let if_absent = self.if_absent.into_iter().map(|(place, tag)| (place as usize, tag)).collect();
        Tags::of_hashes(self.site, self.each.into(), self.has_unknown).with_if_absent(if_absent)
    }
}

/// The chunks of a body, each with the offset of its first byte.
pub(super) fn chunks(body: &Body) -> Vec<(u64, bytes::Bytes)> {
    body.placed_chunks().map(|(first, chunk)| (first, chunk.clone())).collect()
}
