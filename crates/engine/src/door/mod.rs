//! The interface through which requests come and answers go: one door for each protocol.
//!
//! The rest of the engine knows no socket and no protocol's bytes. It gets the head of a request, asks the request's door for the
//! body, and gives the door the answer: a head, pieces of a body, ranges of a file. HTTP/1.1 is one door (`client/http1`). A
//! program with another door hands its requests over with [`Entrance::visit`](crate::Entrance::visit).
//!
//! A door carries one request at a time. Its methods are polled from one task of one worker; after `Pending`, the door wakes the task.

mod head;

pub(crate) use head::content_length;
pub use head::{Follows, HeadWriter};
pub use kasoku_origin::Tunnel;
pub use kasoku_origin::UploadPiece;
pub use kasoku_origin::error::UploadError;
use kasoku_wire::Fields;
use kasoku_wire::RequestHead;
use kasoku_wire::http1::BodyLength;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

/// The most pieces of a body that a door is given at once, and that HTTP/1.1 puts into one system call.
pub(crate) const BODY_PIECES_PER_SEND: usize = 8;

/// See the [module](self).
pub trait Door {
    /// The peer's address; `None`: a process of this machine, as through a Unix socket.
    fn address(&self) -> Option<SocketAddr>;

    /// The address that the client has connected to, where there is one.
    fn local_address(&self) -> Option<SocketAddr>;

    /// The next piece of the request's body. The caller bounds the body's length and its pace.
    fn poll_body(&self, cx: &mut Context<'_>) -> Poll<Result<UploadPiece, UploadError>>;

    /// Ready when the client has gone and takes no answer.
    fn poll_gone(&self, cx: &mut Context<'_>) -> Poll<()>;

    /// An empty head, in the form in which this door takes heads.
    fn head(&self) -> HeadWriter;

    /// Completes a head with the fields that say where the answer ends. `may_go_on`: whether another request may follow. Returns
    /// whether one can.
    fn complete(&self, head: &mut HeadWriter, follows: Follows, may_go_on: bool) -> bool;

    /// Sends the head, unless it is [gone](HeadWriter::is_gone), then the bytes of `body`. The door removes from `body` what it has
    /// taken. Ready when it has taken all of both.
    fn poll_send(
        &self,
        cx: &mut Context<'_>,
        head: &mut HeadWriter,
        body: &mut &mut [IoSlice<'_>],
    ) -> Poll<io::Result<()>>;

    /// Ends the answer; sends the head first, as above.
    fn poll_end(&self, cx: &mut Context<'_>, head: &mut HeadWriter, trailers: Option<&Fields>) -> Poll<io::Result<()>>;

    /// Sends a range of a file without reading it, the head first; returns how many bytes went. [`io::ErrorKind::Unsupported`]:
    /// this door can't send files, and the caller sends the bytes.
    fn poll_send_file(
        &self,
        _cx: &mut Context<'_>,
        _head: &mut HeadWriter,
        _file: BorrowedFd<'_>,
        _position: u64,
        _length: usize,
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Err(io::ErrorKind::Unsupported.into()))
    }

    /// Ready when the client may take more of the answer.
    fn poll_room(&self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Tells the door that the client has taken nothing for that long.
    fn has_paused(&self, _pause: Duration) {}

    /// Whether the client takes bytes as fast as they come, so that a large part of a file may be on its way to it.
    fn is_eager(&self) -> bool {
        false
    }

    /// How many bytes were sent since the door was opened.
    fn sent_bytes(&self) -> u64;

    /// How many of these bytes have reached the client, as far as this is known.
    fn taken_bytes(&self) -> u64;

    /// Carries bytes between the client and an origin that has switched protocols, until both have ended.
    fn carry(&self, tunnel: Tunnel) -> Pin<Box<dyn Future<Output = ()> + '_>>;
}

/// A request that has come through a door.
pub struct Visit {
    /// The door to which the answer goes.
    pub door: Rc<dyn Door>,
    /// Its head.
    pub head: RequestHead,
    /// Whether it has a body, and how long that is.
    pub body: BodyLength,
}
