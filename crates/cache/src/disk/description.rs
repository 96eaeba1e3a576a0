//! What is written on disk beside the body of a response, and how a response is made of it again.
//!
//! The first byte is the kind of the object: a response, a response whose body is a file outside the cache, or a compressed form of a
//! response's body. A description of another kind is none, so its object is a miss: a form that changes gets another number. The disk tier
//! has compared the bytes with their checksum before they come here.

use crate::entry::Meta;
use crate::tags::Tags;
use crate::{Body, ExternalBody};
use http::{StatusCode, Version};
use kasoku_semantics::coding::Coding;
use kasoku_semantics::freshness::{Freshness, LifetimeSource};
use kasoku_semantics::time::Now;
use kasoku_wire::{Fields, ResponseHead};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

const RESPONSE: u8 = 1;
const EXTERNAL: u8 = 2;
const CODED: u8 = 3;

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
const SOURCES: [LifetimeSource; 12] = [
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
    LifetimeSource::SoftError,
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

/// A file outside the cache, as it is written.
#[derive(Serialize, Deserialize)]
struct StoredExternal<'a> {
    #[serde(borrow)]
    field: &'a str,
    #[serde(borrow)]
    name: &'a [u8],
    identity: [u64; 7],
}

/// A compressed form of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CodedForm {
    /// The number of the variant whose body it is a form of.
    pub(super) of: u64,
    /// The hash of that body: a later body of the same variant is another one.
    pub(super) body_hash: u64,
    coding: u8,
}

impl CodedForm {
    pub(super) fn new(meta: &Meta, body: &Body, coding: Coding) -> Self {
        Self { of: variant_number(meta), body_hash: body_hash(body), coding: coding as u8 }
    }

    pub(super) fn coding(&self) -> Option<Coding> {
        Coding::ALL.into_iter().find(|coding| *coding as u8 == self.coding)
    }

    /// The number by which the disk tier tells this form from the other objects of its key.
    pub(super) fn variant_number(&self) -> u64 {
        let mut hash = Xxh3::new();
        hash.update(b"coded");
        hash.update(&self.of.to_le_bytes());
        hash.update(&[self.coding]);
        hash.digest()
    }

    pub(super) fn write(&self) -> Option<Box<[u8]>> {
        Some(postcard::to_extend(self, vec![CODED]).ok()?.into())
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (CODED, rest) = bytes.split_first().map(|(kind, rest)| (*kind, rest))? else { return None };
        postcard::from_bytes(rest).ok()
    }
}

/// The hash of a body in memory.
pub(super) fn body_hash(body: &Body) -> u64 {
    let mut hash = Xxh3::new();
    body.chunks().for_each(|chunk| hash.update(chunk));
    hash.digest()
}

/// The description of a stored response with that complete length, or with that external body.
pub(super) fn write(
    meta: &Meta,
    complete_length: Option<u64>,
    external_body: Option<&ExternalBody>,
) -> Option<Box<[u8]>> {
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
    let Some(ExternalBody { field, name, identity }) = external_body else {
        return Some(postcard::to_extend(&described, vec![RESPONSE]).ok()?.into());
    };
    let external = StoredExternal { field, name, identity: *identity };
    Some(postcard::to_extend(&(described, external), vec![EXTERNAL]).ok()?.into())
}

fn lines(fields: &Fields) -> Vec<Line<'_>> {
    fields.iter().collect()
}

/// A response as it was described.
pub(super) struct Described {
    pub(super) meta: Meta,
    /// The complete length of the body.
    pub(super) complete_length: Option<u64>,
    pub(super) external_body: Option<ExternalBody>,
}

/// The response that is described. With `is_unconfirmed`, the origin must confirm it before it is used.
pub(super) fn read(bytes: &[u8], is_unconfirmed: bool, now: Now) -> Option<Described> {
    let (kind, rest) = bytes.split_first()?;
    let (described, external): (Description<'_>, _) = match *kind {
        RESPONSE => (postcard::from_bytes(rest).ok()?, None),
        EXTERNAL => postcard::from_bytes(rest).ok().map(|(described, external)| (described, Some(external)))?,
        _ => return None,
    };
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
    let external_body = external.map(|StoredExternal { field, name, identity }| ExternalBody {
        field: field.into(),
        name: name.into(),
        identity,
    });
    Some(Described { meta, complete_length: described.complete_length, external_body })
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
