//! Reads a response before any client gets a byte of it, where its content decides whether it may be shared ([`kasoku_visitors::scan`]).
//!
//! Clients get the bytes of a fill as they arrive, so a response that must be scanned becomes a fill only after its last byte. A
//! response that is longer than [`HELD_BYTES_MAX`], takes longer than [`HELD_MAX`] (a stream of events never ends), or comes in a
//! content coding or in UTF-16, can't be scanned: only the client that asked gets it, with its cookie. The same holds for a
//! response that comes while memory is full, since the held bytes are charged like those of a fill. A slow response or full
//! memory says nothing about the page, so a stored response stays in use, as after a failure.

use crate::origin_client::Body;
use bytes::{Bytes, BytesMut};
use kasoku_cache::HeldCharge;
use kasoku_options::EmptyToken;
use kasoku_origin::{BodyPiece, Error};
use kasoku_semantics::charset::says_wide;
use kasoku_semantics::media_type::is_endless;
pub(crate) use kasoku_visitors::scan::{ScanResult, ScanTargets};
use kasoku_wire::{Fields, ResponseHead};
use std::mem;
use std::pin::pin;
use std::time::Duration;

/// The longest body that is scanned, in bytes.
const HELD_BYTES_MAX: usize = 4 << 20;

/// How long a body may take after its head, if it is to be scanned.
const HELD_MAX: Duration = Duration::from_secs(30);

/// Why a body was not read.
enum Unread {
    /// It is too long, coded, in UTF-16 or a stream, and will be so the next time.
    Unreadable,
    /// It took too long, or memory was full.
    Late,
}

/// Scans a response, whose body goes on from where it was. `charge`: the account of the held bytes.
///
/// # Errors
/// The body has broken off.
pub(crate) async fn look_through(
    targets: &ScanTargets<'_>,
    head: &ResponseHead,
    body: &mut Body,
    charge: &mut HeldCharge,
) -> Result<ScanResult, Error> {
    if let Some(reason) = targets.judge_head(head) {
        return Ok(reason.into());
    }
    if !targets.need_body() {
        return Ok(ScanResult::default());
    }
    Ok(match read_or_why(head, body, charge, targets.empty_tokens()).await? {
        Ok((body, trailers)) => ScanResult { body: body.clone(), ..targets.judge(&body, trailers.as_ref()) },
        Err(unread) => ScanResult { is_late: matches!(unread, Unread::Late), ..targets.unsearched() },
    })
}

/// Reads all of a body and its trailer fields, and empties these tokens in it. The body goes on from where it was. `None`: it can't be
/// scanned.
///
/// # Errors
/// The body has broken off.
pub(crate) async fn read(
    head: &ResponseHead,
    body: &mut Body,
    charge: &mut HeldCharge,
    tokens: &[EmptyToken],
) -> Result<Option<Whole>, Error> {
    Ok(read_or_why(head, body, charge, tokens).await?.ok())
}

/// A body and its trailer fields.
type Whole = (Bytes, Option<Fields>);

async fn read_or_why(
    head: &ResponseHead,
    body: &mut Body,
    charge: &mut HeldCharge,
    tokens: &[EmptyToken],
) -> Result<Result<Whole, Unread>, Error> {
    if body.is_none() {
        return Ok(Ok((Bytes::new(), None)));
    }
    let is_coded = head.fields.combined("content-encoding").is_some_and(|codings| codings != b"identity");
    if is_coded || is_endless(head) || says_wide(head) || body.length() > Some(HELD_BYTES_MAX as u64) {
        return Ok(Err(Unread::Unreadable));
    }
    let mut read = BytesMut::new();
    let mut deadline = pin!(tokio::time::sleep(HELD_MAX));
    loop {
        // A piece that has not arrived yet stays with the body.
        let piece = tokio::select! {
            biased;
            piece = body.next() => piece?,
            () = &mut deadline => {
                put_back(body, read.freeze(), None);
                return Ok(Err(Unread::Late));
            }
        };
        match piece {
            BodyPiece::Data(data) => {
                let room = read.capacity();
                read.extend_from_slice(&data);
                let has_room = charge.grows(read.capacity().saturating_sub(room) as u64);
                if !has_room || read.len() > HELD_BYTES_MAX {
                    put_back(body, read.freeze(), None);
                    return Ok(Err(if has_room { Unread::Unreadable } else { Unread::Late }));
                }
            }
            BodyPiece::End(trailers) => {
                tokens.iter().for_each(|token| token.empty_in(&mut read));
                let read = read.freeze();
                put_back(body, read.clone(), Some(trailers.clone()));
                return Ok(Ok((read, trailers)));
            }
        }
    }
}

/// How much [`beginning`] reads, in bytes, and for how long.
const BEGINNING_BYTES: usize = 4 << 10;
const BEGINNING_MAX: Duration = Duration::from_secs(1);

/// The beginning of a body, which goes on from where it was. Empty where it comes in a content coding or not at once.
///
/// # Errors
/// The body has broken off.
pub(crate) async fn beginning(head: &ResponseHead, body: &mut Body) -> Result<Bytes, Error> {
    let is_coded = head.fields.combined("content-encoding").is_some_and(|codings| codings != b"identity");
    if body.is_none() || is_coded {
        return Ok(Bytes::new());
    }
    let mut read = BytesMut::new();
    let mut deadline = pin!(tokio::time::sleep(BEGINNING_MAX));
    let end = loop {
        let piece = tokio::select! {
            biased;
            piece = body.next() => piece?,
            () = &mut deadline => break None,
        };
        match piece {
            BodyPiece::Data(data) => read.extend_from_slice(&data),
            BodyPiece::End(trailers) => break Some(trailers),
        }
        if read.len() >= BEGINNING_BYTES {
            break None;
        }
    };
    let read = read.freeze();
    put_back(body, read.clone(), end);
    Ok(read.slice(..read.len().min(BEGINNING_BYTES)))
}

/// Puts the bytes that were read in front of the rest of the body.
fn put_back(body: &mut Body, read: Bytes, end: Option<Option<Fields>>) {
    let rest = mem::replace(body, Body::none());
    *body = Body::begun(read, rest, end);
}
