//! Looks through a response before anybody gets any of it, where a cookie of it would be dropped.
//!
//! A response is kept without the cookie that it sets only if that cookie's value stands nowhere in it
//! ([`set_cookies`](kasoku_semantics::set_cookies)). Others may be reading a fill while it comes, so it is held until it has come to its
//! end, and only then begins to be one. What is longer than [`HELD_BYTES_MAX`], takes longer than [`HELD_MAX`] (a stream of events never ends), or
//! comes in a content coding or in UTF-16, can't be looked through, and is for the one client that asked, with its cookie. So is what comes while memory
//! is full: what is held is charged like a fill.

use bytes::{Bytes, BytesMut};
use kasoku_cache::HeldCharge;
use kasoku_origin::{Body, Error, Piece};
use kasoku_semantics::charset::{begins_wide, says_wide};
use kasoku_semantics::reason::Reason;
use kasoku_semantics::secrets::Secrets;
use kasoku_wire::{Fields, ResponseHead};
use std::mem;
use std::pin::pin;
use std::time::Duration;

/// The longest body that is looked through, in bytes.
const HELD_BYTES_MAX: usize = 1 << 20;

/// How long after its head a body may take to be looked through.
const HELD_MAX: Duration = Duration::from_secs(5);

/// Looks for `secrets` in a response, whose body goes on from where it was. `Ok(None)`: there are none in it; a reason: it is for the
/// client that asked alone. `charge`: the account of what is held.
///
/// # Errors
/// The body has broken off.
pub(crate) async fn look_through(
    secrets: &Secrets,
    head: &ResponseHead,
    body: &mut Body,
    charge: &mut HeldCharge,
) -> Result<Option<Reason>, Error> {
    if secrets.occur_in_head(head) {
        return Ok(Some(Reason::CookieValueInAnswer));
    }
    if body.is_none() {
        return Ok(None);
    }
    let is_stream = head.fields.first("content-type").is_some_and(|value| value.starts_with(b"text/event-stream"));
    let is_coded = head.fields.combined("content-encoding").is_some_and(|codings| codings != b"identity");
    if is_coded || is_stream || says_wide(head) || body.length() > Some(HELD_BYTES_MAX as u64) {
        return Ok(Some(Reason::CookieValueUnseen));
    }
    let mut read = BytesMut::new();
    let mut deadline = pin!(tokio::time::sleep(HELD_MAX));
    loop {
        // A piece that is not there yet stays with the body.
        let piece = tokio::select! {
            biased;
            piece = body.next() => piece?,
            () = &mut deadline => {
                put_back(body, read.freeze(), None);
                return Ok(Some(Reason::CookieValueUnseen));
            }
        };
        match piece {
            Piece::Data(data) => {
                let room = read.capacity();
                read.extend_from_slice(&data);
                let has_room = charge.grows(read.capacity().saturating_sub(room) as u64);
                if !has_room || read.len() > HELD_BYTES_MAX {
                    put_back(body, read.freeze(), None);
                    return Ok(Some(Reason::CookieValueUnseen));
                }
            }
            Piece::End(trailers) => {
                let read = read.freeze();
                let is_there =
                    secrets.occur_in(&read) || trailers.as_ref().is_some_and(|fields| secrets.occur_in_fields(fields));
                let is_unseen = begins_wide(&read);
                put_back(body, read, Some(trailers));
                let found = is_there.then_some(Reason::CookieValueInAnswer);
                return Ok(found.or(is_unseen.then_some(Reason::CookieValueUnseen)));
            }
        }
    }
}

/// Puts what was read in front of the rest.
fn put_back(body: &mut Body, read: Bytes, end: Option<Option<Fields>>) {
    let rest = mem::replace(body, Body::Whole(None));
    *body = Body::begun(read, rest, end);
}
