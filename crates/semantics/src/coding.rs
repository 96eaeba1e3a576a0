//! Decides which stored responses get content codings that are made here, for which requests, and what of a head changes with a
//! coding (RFC 9110 sections 7.7, 8.4.1 and 12.5.3).
//!
//! A coded body is a representation of its own, so its head has an entity tag of its own: the origin's with the coding's name
//! appended. The origin does not know that tag. Nothing is decoded here: a response that the origin has coded is sent as it came.

pub use crate::coding_levels::{CodingLevels, ZSTD_LEVEL_MAX};
use crate::precondition::{Precondition, precondition};
use crate::{Now, Policy, Validators};
use http::{Method, StatusCode};
use kasoku_wire::field::cache_control;
use kasoku_wire::field::etag::{EntityTag, ListedTag, tags};
use kasoku_wire::field::list;
use kasoku_wire::field::quality_list::preferences;
use kasoku_wire::field::targeted;
use kasoku_wire::{Fields, RequestHead, ResponseHead};
use smallvec::SmallVec;

/// A content coding that can be made here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coding {
    /// RFC 1952.
    Gzip,
    /// Brotli, RFC 7932.
    Br,
    /// Zstandard, RFC 8878, with a window of at most 8 MiB (RFC 9659).
    Zstd,
}

impl Coding {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Gzip, Self::Br, Self::Zstd];

    /// Its name in Content-Encoding, Accept-Encoding and the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Br => "br",
            Self::Zstd => "zstd",
        }
    }

    /// The coding of that name, in whatever case.
    pub fn named(name: &[u8]) -> Option<Self> {
        //= RFC 9110 section 8.4.1.3
        //# A recipient SHOULD consider "x-gzip" to be equivalent to "gzip".
        let is_old_gzip = name.eq_ignore_ascii_case(b"x-gzip");
        let is_named = |one: &Self| name.eq_ignore_ascii_case(one.name().as_bytes());
        if is_old_gzip { Some(Self::Gzip) } else { Self::ALL.into_iter().find(is_named) }
    }
}

/// The codings that a request accepts. Qualities are in thousandths; 0: not accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceptedCodings {
    /// In the order of [`Coding::ALL`].
    codings: [u16; Coding::ALL.len()],
    /// `None`: accepted, without a stated quality.
    identity: Option<u16>,
}

/// Reads Accept-Encoding. Of a coding that is named twice the lower quality counts. By the letter of the RFC, a request without the
/// field accepts any coding; it gets none here, because programs that leave the field out can't decode.
//= RFC 9110 section 12.5.3
//# If the representation has no content coding, then it is acceptable by default unless specifically excluded by the
//# Accept-Encoding header field stating either "identity;q=0" or "*;q=0" without a more specific entry for "identity".
pub fn accepted(request: &Fields) -> AcceptedCodings {
    // Reading the field costs a hit four times as much as seeing that it is missing.
    if !request.contains("accept-encoding") {
        return AcceptedCodings::default();
    }
    let mut named: [Option<u16>; Coding::ALL.len()] = [None; Coding::ALL.len()];
    let (mut identity, mut any) = (None, None);
    for one in request.all("accept-encoding").flat_map(preferences) {
        let place = match Coding::named(one.value) {
            Some(coding) => named.get_mut(coding as usize),
            None if one.value.eq_ignore_ascii_case(b"identity") => Some(&mut identity),
            None if one.value == b"*" => Some(&mut any),
            None => None,
        };
        if let Some(place) = place {
            *place = Some(place.map_or(one.quality, |other: u16| other.min(one.quality)));
        }
    }
    let is_all_excluded = any == Some(0);
    AcceptedCodings {
        codings: named.map(|quality| quality.or(any).unwrap_or(0)),
        identity: identity.or(is_all_excluded.then_some(0)),
    }
}

impl AcceptedCodings {
    /// Whether the request accepts that coding.
    pub fn accepts(&self, coding: Coding) -> bool {
        self.quality(coding) > 0
    }

    /// Whether the request accepts a body without a coding.
    pub fn accepts_identity(&self) -> bool {
        self.identity != Some(0)
    }

    /// The coding that the request likes best among these; the first of equals. `None`: the request gets the body without a coding,
    /// because it accepts none of these or prefers the uncoded body.
    pub fn best(&self, among: impl Iterator<Item = Coding>) -> Option<Coding> {
        let mut best: Option<Coding> = None;
        for coding in among.filter(|coding| self.accepts(*coding)) {
            if best.is_none_or(|other| self.quality(other) < self.quality(coding)) {
                best = Some(coding);
            }
        }
        best.filter(|best| self.identity.is_none_or(|identity| identity <= self.quality(*best)))
    }

    fn quality(&self, coding: Coding) -> u16 {
        self.codings.get(coding as usize).copied().unwrap_or(0)
    }
}

/// Whether a request may get a coded body at all: its client has not sent `no-transform`.
//= RFC 9111 section 5.2.1.6
//# The no-transform request directive indicates that the client is asking for intermediaries to avoid transforming the
//# content, as defined in Section 7.7 of [HTTP].
pub fn allows_coding(request: &Fields) -> bool {
    !cache_control::directives(request, "cache-control").any(|directive| directive.is("no-transform"))
}

/// Whether codings may be made of a response, as far as its head tells. `is_type` says whether codings are made of a media type,
/// which it gets as it was sent, without parameters.
///
/// No codings are made of a response that varies by Cookie or Authorization. A page for one visitor may hold a secret, and the
/// length of a compressed page reveals a secret that stands beside text of an attacker (BREACH, 2013). Where the operator names the
/// cookies that choose a page, these cookies do not identify a visitor.
//= RFC 9110 section 7.7
//# A proxy MUST NOT transform the content (Section 6.4) of a response message that contains a no-transform cache directive
//# (Section 5.2.2.6 of [CACHING]).
pub fn may_be_coded(
    response: &ResponseHead,
    nominated: &[String],
    policy: &Policy,
    is_type: impl FnOnce(&[u8]) -> bool,
) -> bool {
    let fields = &response.fields;
    let is_for_a_visitor = nominated.iter().any(|name| match name.as_str() {
        "cookie" => !policy.grant.is_granting(),
        name => name == "authorization",
    });
    let is_plain = response.status == StatusCode::OK && !is_for_a_visitor;
    is_plain
        && !["content-encoding", "content-range"].iter().any(|name| fields.contains(name))
        && fields.only("content-type").is_some_and(|value| is_type(media_type(value)))
        && !cache_control::directives(fields, "cache-control").any(|directive| directive.is("no-transform"))
        && !targeted::parse(fields, &policy.targeted_fields).is_some_and(|control| control.no_transform)
}

/// The media type that a Content-Type names, without parameters.
pub fn media_type(value: &[u8]) -> &[u8] {
    list::trim(value.split(|byte| *byte == b';').next().unwrap_or_default())
}

/// Whether a response needs a Vary by Accept-Encoding of ours, where codings may be made of it.
pub fn lacks_vary(response: &Fields) -> bool {
    !list::members(response, "vary").any(|member| member == b"*" || member.eq_ignore_ascii_case(b"accept-encoding"))
}

/// Whether a stored field goes out with a coded body as it is. Fields about the uncoded bytes do not. [`coded_tag`] makes the
/// entity tag.
pub fn goes_with_coded(name: &[u8]) -> bool {
    // Ranges are served of the uncoded bytes alone, so no coded response offers them.
    const NAMES: [&str; 7] =
        ["content-length", "content-md5", "content-digest", "repr-digest", "digest", "accept-ranges", "etag"];
    !NAMES.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()))
}

/// The entity tag of a coded body: the stored tag with the coding's name, weak where the stored tag is weak. A tag of usual length
/// needs no allocation.
//= RFC 9110 section 8.8.3.3
//# Content codings are a property of the representation data, so a strong entity tag for a content-encoded representation
//# has to be distinct from the entity tag of an unencoded representation
pub fn coded_tag(stored: &[u8], coding: Coding) -> SmallVec<[u8; 64]> {
    let (start, end) = match list::trim(stored) {
        [start @ .., b'"'] => (start, &b"\""[..]),
        unquoted => (unquoted, &b""[..]),
    };
    let mut tag = SmallVec::new();
    for part in [start, b"-", coding.name().as_bytes(), end] {
        tag.extend_from_slice(part);
    }
    tag
}

/// The origin's own tag and the coding, of the tag of a coded body; `None`: the tag is not one that was made here.
pub fn uncoded_tag<'a>(tag: &EntityTag<'a>) -> Option<(EntityTag<'a>, Coding)> {
    Coding::ALL.into_iter().find_map(|coding| {
        let opaque = tag.opaque.strip_suffix(coding.name().as_bytes())?.strip_suffix(b"-")?;
        Some((EntityTag { opaque, ..*tag }, coding))
    })
}

/// A representation of a response: `None` as it is stored, otherwise in a coding.
pub type Representation = Option<Coding>;

/// Which representation of `stored` the client already has, by its If-None-Match or If-Modified-Since; `None`: none. Any that the
/// client accepts will do, even one that has not been made here yet, because all have the same content: a client that has one need
/// not get another only because that is smaller. `selected`: the representation that the client would get.
pub fn known_representation(
    request: &RequestHead,
    stored: &ResponseHead,
    validators: Validators,
    (response_time, now): (Now, Now),
    selected: Representation,
    accepted: &AcceptedCodings,
) -> Option<Representation> {
    let is_known = precondition(request, stored, validators, response_time, now) == Precondition::NotModified;
    // Nearly all requests have no If-None-Match: a hit pays for no more than this.
    if !request.fields.contains("if-none-match") {
        return is_known.then_some(selected);
    }
    let may_be_known = stored.status == StatusCode::OK && matches!(request.method, Method::GET | Method::HEAD);
    let own = EntityTag::of(&stored.fields);
    let names = |wanted: &EntityTag<'_>| {
        tags(&request.fields, "if-none-match").any(|tag| matches!(tag, ListedTag::One(one) if one.weak_eq(wanted)))
    };
    match own {
        // A cache behind us must not be told to use an uncoded body that its client does not accept.
        Some(own) if is_known && names(&own) => (accepted.accepts_identity() || selected.is_none()).then_some(None),
        _ if is_known => Some(selected),
        Some(own) if may_be_known => tags(&request.fields, "if-none-match").find_map(|tag| {
            let ListedTag::One(tag) = tag else { return None };
            let (uncoded, coding) = uncoded_tag(&tag)?;
            (uncoded.weak_eq(&own) && accepted.accepts(coding)).then_some(Some(coding))
        }),
        _ => None,
    }
}

#[cfg(test)]
#[path = "coding_tests.rs"]
mod tests;
