//! Decodes a coded response as a client does, so that it can be checked like any other.
//!
//! The origin uses no content coding, so each coding is the cache's, and the response alone must show that it is right: the client
//! accepts it, Vary says that others may get something else, the entity tag is that of the coding, and the bytes decode to those that
//! the origin's tag and claim stand for. Of a cut response, the part that can be decoded is checked.

use crate::ask::ClientRequest;
use crate::coded_tags::ACCEPTED;
use crate::got::ClientResponse;
use std::io::Read;

/// The response without its coding, and whether it had one.
///
/// # Errors
/// What is wrong with the coding.
pub fn uncode(ask: &ClientRequest<'_>, mut got: ClientResponse) -> Result<(ClientResponse, bool), String> {
    let coding = got.head.fields.only("content-encoding").map(str::to_owned);
    let tag = got.head.fields.only("etag").map(str::to_owned);
    let of_tag = tag.as_deref().and_then(coding_of);
    let Some(coding) = coding else {
        if got.head.fields.has("content-encoding") {
            return Err("coding: two of them".to_owned());
        }
        // A 304 may name the coded form that the client is to keep.
        return match (of_tag, got.head.status) {
            (None, _) => Ok((got, false)),
            (Some(_), 304) if ask.takes_gzip => {
                uncode_tag(&mut got);
                Ok((got, false))
            }
            (Some(coding), status) => Err(format!("coding: the tag is of {coding}, the response with {status} is not")),
        };
    };
    if got.head.status != 200 || !ask.takes_gzip || !ACCEPTED.contains(&coding.as_str()) {
        return Err(format!("coding: {coding} with {} to a client that accepts it not", got.head.status));
    }
    if !got.head.fields.lists("vary", "accept-encoding") {
        return Err("coding: Vary does not say so".to_owned());
    }
    if tag.is_some() && of_tag != Some(coding.as_str()) {
        return Err(format!("coding: {coding} under the tag {}", tag.unwrap_or_default()));
    }
    uncode_tag(&mut got);
    let mut body = Vec::new();
    if ask.method != "HEAD" {
        let is_decoded = decode(&coding, &got.body, &mut body);
        if got.is_whole && !is_decoded {
            return Err(format!("coding: {} bytes that are no {coding}", got.body.len()));
        }
    }
    let length = body.len();
    got.body = body;
    got.head
        .fields
        .0
        .retain(|(name, _)| !["content-encoding", "content-length"].contains(&&*name.to_ascii_lowercase()));
    if got.is_whole && ask.method != "HEAD" {
        got.head.fields.0.push(("Content-Length".to_owned(), length.to_string()));
    }
    Ok((got, true))
}

/// Decodes as much as there is; returns whether that was all.
fn decode(coding: &str, bytes: &[u8], out: &mut Vec<u8>) -> bool {
    match coding {
        "gzip" => flate2::read::GzDecoder::new(bytes).read_to_end(out).is_ok(),
        _ => brotli::Decompressor::new(bytes, 4096).read_to_end(out).is_ok(),
    }
}

/// The coding that the tag's suffix names.
fn coding_of(tag: &str) -> Option<&'static str> {
    let opaque = tag.trim_end_matches('"');
    ["gzip", "br", "zstd"].into_iter().find(|coding| opaque.strip_suffix(coding).is_some_and(|it| it.ends_with('-')))
}

/// Restores the origin's tag.
fn uncode_tag(got: &mut ClientResponse) {
    for (_, tag) in got.head.fields.0.iter_mut().filter(|(name, _)| name.eq_ignore_ascii_case("etag")) {
        if let Some(coding) = coding_of(tag) {
            *tag = tag.replace(&format!("-{coding}"), "");
        }
    }
}
