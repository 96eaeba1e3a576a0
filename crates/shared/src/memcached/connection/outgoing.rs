//! What is to be written: lines of requests, and values, which are not copied.

use crate::memcached::protocol::Request;
use bytes::{Buf, Bytes, BytesMut};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use tokio::io::{AsyncWrite, AsyncWriteExt};

/// A part of a value up to this length is copied between the lines: a piece of its own costs as much.
const COPIED_BYTES_MAX: usize = 512;

/// Pieces of one write.
const PIECES_MAX: usize = 64;

/// The bytes that wait to be written.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    pieces: VecDeque<Bytes>,
    /// The end, to which the next line is added.
    tail: BytesMut,
    /// Bytes that were written since the connection began.
    written: u64,
    /// Bytes of all requests since then.
    queued: u64,
}

impl Outgoing {
    /// Whether all is written.
    pub(super) fn is_empty(&self) -> bool {
        self.written == self.queued
    }

    /// Adds a request, and returns where it begins: how many bytes are written before it.
    pub(super) fn push(&mut self, request: &Request, opaque: u32) -> u64 {
        let begin = self.queued;
        let line_begin = self.tail.len();
        request.write_line(opaque, &mut self.tail);
        self.queued += (self.tail.len() - line_begin) as u64;
        if let Some(parts) = request.value() {
            for part in parts {
                self.push_part(part);
            }
            self.tail.extend_from_slice(b"\r\n");
            self.queued += 2;
        }
        begin
    }

    fn push_part(&mut self, part: &Bytes) {
        self.queued += part.len() as u64;
        if part.len() <= COPIED_BYTES_MAX {
            self.tail.extend_from_slice(part);
        } else {
            self.end_tail();
            self.pieces.push_back(part.clone());
        }
    }

    fn end_tail(&mut self) {
        if !self.tail.is_empty() {
            self.pieces.push_back(self.tail.split().freeze());
        }
    }

    /// Whether something of the request that begins there has been written.
    pub(super) fn has_begun(&self, begin: u64) -> bool {
        begin < self.written
    }

    /// Writes as much as the socket takes, and returns how much that was. Nothing is lost if this is dropped.
    pub(super) async fn write_some(&mut self, writer: &mut (impl AsyncWrite + Unpin)) -> io::Result<usize> {
        self.end_tail();
        let mut slices = [IoSlice::new(&[]); PIECES_MAX];
        let count = self.pieces.len().min(PIECES_MAX);
        for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
            *slice = IoSlice::new(piece);
        }
        let written = writer.write_vectored(slices.get(..count).unwrap_or_default()).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.advance(written);
        Ok(written)
    }

    fn advance(&mut self, mut written: usize) {
        self.written += written as u64;
        while let Some(piece) = self.pieces.front_mut() {
            if written < piece.len() {
                piece.advance(written);
                return;
            }
            written -= piece.len();
            self.pieces.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memcached::protocol::{Operation, StoreMode};
    use std::pin::Pin;
    use std::task::{Context, Poll};

    /// A socket that takes few bytes at a time.
    struct Slow {
        bytes_max: usize,
        taken: Vec<u8>,
    }

    impl AsyncWrite for Slow {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            let count = bytes.len().min(self.bytes_max);
            self.taken.extend_from_slice(&bytes[..count]);
            Poll::Ready(Ok(count))
        }

        fn poll_write_vectored(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
            slices: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            let all: Vec<u8> = slices.iter().flat_map(|slice| slice.to_vec()).collect();
            self.poll_write(context, &all)
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn store(value: Vec<Bytes>) -> Request {
        Request { name: "a".into(), operation: Operation::Store { mode: StoreMode::Set, value, exptime: 0 } }
    }

    #[tokio::test]
    async fn what_is_written_does_not_depend_on_what_the_socket_takes() {
        let long = Bytes::from(vec![b'x'; COPIED_BYTES_MAX + 1]);
        let get = Request { name: "b".into(), operation: Operation::Get };
        let requests = [get, store(vec!["short".into(), long.clone(), long.clone()]), store(vec![]), store(vec![long])];
        let x = "x".repeat(513);
        let expected =
            format!("mg b v O0\r\nms a 1031 T0 O1\r\nshort{x}{x}\r\nms a 0 T0 O2\r\n\r\nms a 513 T0 O3\r\n{x}\r\n");
        for bytes_max in [1, 7, 100, 5000] {
            let mut outgoing = Outgoing::default();
            let begins: Vec<u64> =
                (0..).zip(&requests).map(|(opaque, request)| outgoing.push(request, opaque)).collect();
            assert!(!outgoing.has_begun(0));
            let mut socket = Slow { bytes_max, taken: vec![] };
            while !outgoing.is_empty() {
                outgoing.write_some(&mut socket).await.unwrap();
            }
            assert_eq!(String::from_utf8(socket.taken).unwrap(), expected);
            assert!(begins.iter().all(|&begin| outgoing.has_begun(begin)));
            assert!(outgoing.pieces.is_empty());
        }
    }

    #[test]
    fn long_values_are_not_copied() {
        let long = Bytes::from(vec![b'x'; COPIED_BYTES_MAX + 1]);
        let mut outgoing = Outgoing::default();
        outgoing.push(&store(vec![long.clone()]), 0);
        assert!(outgoing.pieces.iter().any(|piece| piece.as_ptr() == long.as_ptr()));
    }
}
