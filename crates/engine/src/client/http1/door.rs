//! An HTTP/1.1 connection as a [`Door`]: converts bodies and answers between the connection's bytes and the path of a request.

use crate::client::http1::socket::{ClientConnection, Read};
use crate::client::http1::tunnel;
use crate::door::{BODY_PIECES_PER_SEND, Door, Follows, HeadWriter};
use crate::runtime::worker::READ_BYTES;
use http::Version;
use kasoku_cache::represent::HeadSink;
use kasoku_origin::error::UploadError;
use kasoku_origin::{Tunnel, UploadPiece};
use kasoku_wire::Fields;
use kasoku_wire::http1::{DecodedBody, encode_chunk_head, encode_last_chunk};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Up to this length a head and what follows it are copied into one piece, in bytes: the kernel takes one piece some 0.15 µs
/// faster than a list of two, which is more than the copy costs.
const COPIED_BYTES_MAX: usize = 12 << 10;

/// Up to this length, in bytes, the part of a file behind a head begins in the head's packet. In front of a longer part the head
/// has a packet of its own, which is cheaper: the file's pages then begin at the beginning of packets (docs/decisions/0020).
const SHARED_PACKET_BYTES_MAX: usize = 256 << 10;

/// The most pieces in one system call: a head, pieces of a body, and the end of a chunk.
const PIECES_PER_WRITE: usize = 1 + BODY_PIECES_PER_SEND + 1;

/// The bytes that end a chunk.
const CHUNK_END: &[u8] = b"\r\n";

impl ClientConnection {
    /// Writes what is left of a head, of `body` and of the end of a chunk, and takes the written bytes from them.
    fn poll_write(
        &self,
        cx: &mut Context<'_>,
        head: &mut Vec<u8>,
        body: &mut &mut [IoSlice<'_>],
    ) -> Poll<io::Result<()>> {
        let chunk_end = CHUNK_END.get(CHUNK_END.len() - self.request.chunk_end.get()..).unwrap_or_default();
        loop {
            let before = self.stream.sent_bytes();
            let taken = body.len().min(BODY_PIECES_PER_SEND);
            let (now, later) = body.split_at(taken);
            let end = if later.is_empty() { chunk_end } else { &[] };
            let polled = self.poll_write_once(cx, head, now, end);
            let written = usize::try_from(self.stream.sent_bytes() - before).unwrap_or(usize::MAX);
            let is_last = later.is_empty();
            let of_head = written.min(head.len());
            self.has_sent_head(head, of_head);
            let of_body = (written - of_head).min(now.iter().map(|piece| piece.len()).sum());
            IoSlice::advance_slices(body, of_body);
            self.request.chunk_end.set(self.request.chunk_end.get().saturating_sub(written - of_head - of_body));
            ready!(polled)?;
            if is_last {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Writes what is left of a head, and of the bytes that were appended to it.
    fn poll_write_head(&self, cx: &mut Context<'_>, head: &mut Vec<u8>) -> Poll<io::Result<()>> {
        let before = self.stream.sent_bytes();
        let polled = self.stream.poll_write_all(cx, &mut &mut [IoSlice::new(head)][..]);
        self.has_sent_head(head, usize::try_from(self.stream.sent_bytes() - before).unwrap_or(usize::MAX));
        polled
    }

    fn poll_write_once(
        &self,
        cx: &mut Context<'_>,
        head: &[u8],
        body: &[IoSlice<'_>],
        end: &[u8],
    ) -> Poll<io::Result<()>> {
        let mut parts = [IoSlice::new(&[]); PIECES_PER_WRITE];
        let pieces = [IoSlice::new(head)].into_iter().chain(body.iter().copied()).chain([IoSlice::new(end)]);
        let mut count = 0;
        for (place, piece) in parts.iter_mut().zip(pieces.filter(|piece| !piece.is_empty())) {
            *place = piece;
            count += 1;
        }
        self.stream.poll_write_all(cx, &mut parts.get_mut(..count).unwrap_or_default())
    }

    fn has_sent_head(&self, head: &mut Vec<u8>, bytes: usize) {
        if bytes == head.len() {
            self.worker.buffers.give(std::mem::take(head));
        } else {
            head.drain(..bytes);
        }
    }

    /// Gives a head a buffer, if its own has gone out.
    fn buffer(&self, head: &mut Vec<u8>) {
        if head.capacity() == 0 {
            *head = self.worker.buffers.take();
        }
    }
}

/// Appends pieces of a body to its head, as long as both together are small.
fn append_small(head: &mut Vec<u8>, body: &mut &mut [IoSlice<'_>]) {
    let mut count = 0;
    for piece in body.iter() {
        if head.len() + piece.len() > COPIED_BYTES_MAX {
            break;
        }
        // Reserves enough for any small body, so that the buffer grows once and not with each longer answer.
        head.reserve(COPIED_BYTES_MAX - head.len());
        head.extend_from_slice(piece);
        count += 1;
    }
    *body = std::mem::take(body).get_mut(count..).unwrap_or_default();
}

impl Door for ClientConnection {
    fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    fn local_address(&self) -> Option<SocketAddr> {
        self.stream.local_address()
    }

    fn poll_body(&self, cx: &mut Context<'_>) -> Poll<Result<UploadPiece, UploadError>> {
        loop {
            let mut body = self.request.body.borrow_mut();
            let Some(decoder) = &mut *body else { return Poll::Ready(Ok(UploadPiece::End(None))) };
            match self.read_ahead.borrow_mut().decode(|bytes| decoder.decode(bytes)) {
                Err(_) => return Poll::Ready(Err(UploadError::Malformed)),
                Ok(DecodedBody::Data(data)) => return Poll::Ready(Ok(UploadPiece::Data(data))),
                Ok(DecodedBody::End(trailers)) => {
                    *body = None;
                    return Poll::Ready(Ok(UploadPiece::End(trailers)));
                }
                Ok(DecodedBody::NeedMore) => {}
            }
            if !matches!(ready!(self.poll_read_ahead(cx, READ_BYTES)), Ok(Read { bytes: 1.., .. })) {
                return Poll::Ready(Err(UploadError::Closed));
            }
        }
    }

    fn poll_gone(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.poll_reset(cx)
    }

    fn head(&self) -> HeadWriter {
        HeadWriter::bytes(self.worker.buffers.take())
    }

    fn complete(&self, head: &mut HeadWriter, follows: Follows, may_go_on: bool) -> bool {
        let version = self.request.version.get();
        let is_chunked = follows == Follows::Unknown && version == Version::HTTP_11;
        match follows {
            //= RFC 9112 section 6.1
            //# A server MUST NOT send a Transfer-Encoding header field in any response with a status code of 1xx
            //# (Informational) or 204 (No Content).
            Follows::Nothing | Follows::InHead | Follows::Head | Follows::Protocol => {}
            //= RFC 9112 section 6.2
            //# A sender MUST NOT send a Content-Length header field in any message that contains a Transfer-Encoding header
            //# field.
            Follows::Length(length) => head.number("Content-Length", length),
            //= RFC 9112 section 6.1
            //# A server MUST NOT send a response containing Transfer-Encoding unless the corresponding request indicates HTTP/1.1 (or later minor revisions).
            Follows::Unknown if is_chunked => head.field("Transfer-Encoding", "chunked"),
            // The end of the connection is the end of the body.
            Follows::Unknown => {}
        }
        self.request.is_chunked.set(is_chunked);
        // No request can follow one whose body was not read, so the head says that.
        let ends = follows == Follows::Unknown && !is_chunked;
        let keeps_alive = self.request.keeps_alive.get() && may_go_on && !ends && self.is_body_read();
        match (follows, keeps_alive) {
            (Follows::Head, _) => {}
            (Follows::Protocol, _) => head.field("Connection", "upgrade"),
            //= RFC 9112 section 9.6
            //# A server that receives a "close" connection option MUST initiate closure of the connection
            (_, false) => head.field("Connection", "close"),
            (_, true) if version == Version::HTTP_10 => head.field("Connection", "keep-alive"),
            (_, true) => {}
        }
        if let Some(bytes) = head.bytes_mut() {
            bytes.extend_from_slice(b"\r\n");
        }
        keeps_alive
    }

    fn poll_send(
        &self,
        cx: &mut Context<'_>,
        head: &mut HeadWriter,
        body: &mut &mut [IoSlice<'_>],
    ) -> Poll<io::Result<()>> {
        let Some(head) = head.bytes_mut() else { return Poll::Ready(Err(io::ErrorKind::InvalidInput.into())) };
        if !body.is_empty() {
            // These bytes are not a file's.
            self.eagerness.ends(&self.stream);
        }
        if self.request.is_chunked.get() {
            let bytes: usize = body.iter().map(|piece| piece.len()).sum();
            if bytes > 0 && self.request.chunk_end.get() == 0 {
                self.buffer(head);
                encode_chunk_head(bytes, head);
                self.request.chunk_end.set(CHUNK_END.len());
            }
        } else if !head.is_empty() {
            append_small(head, body);
            if body.is_empty() {
                return self.poll_write_head(cx, head);
            }
        }
        self.poll_write(cx, head, body)
    }

    fn poll_end(&self, cx: &mut Context<'_>, head: &mut HeadWriter, trailers: Option<&Fields>) -> Poll<io::Result<()>> {
        let Some(head) = head.bytes_mut() else { return Poll::Ready(Err(io::ErrorKind::InvalidInput.into())) };
        if self.request.is_chunked.replace(false) {
            self.buffer(head);
            encode_last_chunk(trailers, head);
        }
        if head.is_empty() { Poll::Ready(Ok(())) } else { self.poll_write_head(cx, head) }
    }

    fn poll_send_file(
        &self,
        cx: &mut Context<'_>,
        head: &mut HeadWriter,
        file: BorrowedFd<'_>,
        position: u64,
        length: usize,
    ) -> Poll<io::Result<usize>> {
        if let Some(head) = head.bytes_mut().filter(|head| !head.is_empty()) {
            if length <= SHARED_PACKET_BYTES_MAX {
                let written = ready!(self.stream.poll_write_start(cx, head))?;
                self.has_sent_head(head, written);
            }
            if !head.is_empty() {
                ready!(self.poll_write_head(cx, head))?;
            }
        }
        let sent = ready!(self.stream.poll_send_file(cx, file, position, length))?;
        self.eagerness.has_taken(&self.stream, sent);
        Poll::Ready(Ok(sent))
    }

    fn poll_room(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_room(cx)
    }

    fn has_paused(&self, pause: Duration) {
        self.eagerness.has_waited(&self.stream, pause);
    }

    fn is_eager(&self) -> bool {
        self.eagerness.is_eager()
    }

    fn sent_bytes(&self) -> u64 {
        self.stream.sent_bytes()
    }

    fn taken_bytes(&self) -> u64 {
        self.stream.taken_bytes()
    }

    fn carry(&self, tunnel: Tunnel) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        let from_client = self.read_ahead.borrow_mut().take();
        Box::pin(tunnel::run(&self.stream, from_client, tunnel))
    }
}
