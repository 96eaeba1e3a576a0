//! A second door of the engine: requests and answers as values, over channels in memory.
//!
//! It shows that the path of a request knows nothing of HTTP/1.1. Tests are written in bytes, so a thread stands between: it reads a
//! client's requests from a pair of sockets, hands each one to the engine with a [`MemoryDoor`], and writes the answer as bytes
//! again. Tests of framing, pipelining or connections say nothing about this door; all else must come out as it does through the door
//! of HTTP/1.1. `KASOKU_DOOR=memory` makes every [`Scenario::client`](crate::Scenario::client) use this door.

use crate::WAIT_MAX;
use crate::message::{Framing, Head as ClientsHead};
use crate::socket::{BytesInTransit, Socket, Stopped, Stream};
use bytes::Bytes;
use kasoku_engine::Entrance;
use kasoku_engine::door::{Door, Follows, HeadWriter, Tunnel, UploadError, UploadPiece, Visit};
use kasoku_wire::http1::{BodyLength, encode_chunk_head, encode_last_chunk, encode_status_line};
use kasoku_wire::{Fields, RequestHead, ResponseHead};
use std::cell::Cell;
use std::collections::VecDeque;
use std::io::{self, IoSlice, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// The most bytes that wait in a channel.
const WAITING_MAX: usize = 64 << 10;

/// A bounded channel between a thread that blocks and a task that is polled.
struct Channel<T> {
    state: Mutex<Waiting<T>>,
    changed: Condvar,
}

struct Waiting<T> {
    items: VecDeque<(T, usize)>,
    bytes: usize,
    taken: u64,
    is_closed: bool,
    waker: Option<Waker>,
}

impl<T> Channel<T> {
    fn new() -> Arc<Self> {
        let (items, waker) = Default::default();
        let state = Waiting { items, bytes: 0, taken: 0, is_closed: false, waker };
        Arc::new(Self { state: Mutex::new(state), changed: Condvar::new() })
    }

    fn change<R>(&self, change: impl FnOnce(&mut Waiting<T>) -> R) -> R {
        let mut state: MutexGuard<'_, _> = self.state.lock().unwrap();
        let result = change(&mut state);
        self.changed.notify_all();
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        result
    }

    /// Closes the channel: no more items come, or no more are taken.
    fn close(&self) {
        self.change(|state| state.is_closed = true);
    }

    /// Puts an item in as soon as there is room; `false`: the channel is closed.
    fn put(&self, item: T, bytes: usize) -> bool {
        let full = |state: &mut Waiting<T>| state.bytes >= WAITING_MAX && !state.is_closed;
        let mut state = self.changed.wait_timeout_while(self.state.lock().unwrap(), WAIT_MAX, full).unwrap().0;
        let is_taken = !state.is_closed;
        state.items.push_back((item, bytes));
        state.bytes += bytes;
        drop(state);
        self.change(|_| is_taken)
    }

    /// Takes the next item; `None`: no more items come.
    fn take(&self) -> Option<T> {
        let empty = |state: &mut Waiting<T>| state.items.is_empty() && !state.is_closed;
        drop(self.changed.wait_timeout_while(self.state.lock().unwrap(), 4 * WAIT_MAX, empty).unwrap());
        self.change(Waiting::pop)
    }

    /// The room in bytes. If there is none, the task is woken when there is some.
    fn poll_room(&self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut state = self.state.lock().unwrap();
        if state.is_closed {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if state.bytes >= WAITING_MAX {
            state.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(Ok(WAITING_MAX - state.bytes))
    }

    fn poll_take(&self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        {
            let mut state = self.state.lock().unwrap();
            if state.items.is_empty() && !state.is_closed {
                state.waker = Some(cx.waker().clone());
                return Poll::Pending;
            }
        }
        Poll::Ready(self.change(Waiting::pop))
    }
}

impl<T> Waiting<T> {
    fn pop(&mut self) -> Option<T> {
        let (item, bytes) = self.items.pop_front()?;
        self.bytes -= bytes;
        self.taken += bytes as u64;
        Some(item)
    }
}

/// What the engine sends through a door.
enum Out {
    Head(Box<ResponseHead>, Follows),
    Data(Bytes),
    End(Option<Fields>),
}

/// Whether the client has gone, and the task that waits for that.
#[derive(Default)]
struct Gone(Mutex<(bool, Option<Waker>)>);

impl Gone {
    fn tell(&self) {
        let mut gone = self.0.lock().unwrap();
        gone.0 = true;
        if let Some(waker) = gone.1.take() {
            waker.wake();
        }
    }
}

/// Brings one request's body to the engine, and takes its answer.
pub struct MemoryDoor {
    body: Arc<Channel<Result<UploadPiece, UploadError>>>,
    out: Arc<Channel<Out>>,
    gone: Arc<Gone>,
    follows: Cell<Follows>,
    sent: Cell<u64>,
}

impl Door for MemoryDoor {
    fn address(&self) -> Option<SocketAddr> {
        Some((Ipv4Addr::LOCALHOST, 1).into())
    }

    fn local_address(&self) -> Option<SocketAddr> {
        Some((Ipv4Addr::LOCALHOST, 2).into())
    }

    fn poll_body(&self, cx: &mut Context<'_>) -> Poll<Result<UploadPiece, UploadError>> {
        self.body.poll_take(cx).map(|piece| piece.unwrap_or(Err(UploadError::Closed)))
    }

    fn poll_gone(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut gone = self.gone.0.lock().unwrap();
        if gone.0 {
            return Poll::Ready(());
        }
        gone.1 = Some(cx.waker().clone());
        Poll::Pending
    }

    fn head(&self) -> HeadWriter {
        HeadWriter::message()
    }

    fn complete(&self, _: &mut HeadWriter, follows: Follows, may_go_on: bool) -> bool {
        self.follows.set(follows);
        may_go_on
    }

    fn poll_send(
        &self,
        cx: &mut Context<'_>,
        head: &mut HeadWriter,
        body: &mut &mut [IoSlice<'_>],
    ) -> Poll<io::Result<()>> {
        loop {
            let room = match self.out.poll_room(cx) {
                Poll::Ready(Ok(room)) => room,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            };
            if let Some(head) = head.take_message() {
                self.out.put(Out::Head(Box::new(head), self.follows.get()), 0);
            }
            let Some(piece) = body.iter().find(|piece| !piece.is_empty()) else { return Poll::Ready(Ok(())) };
            let taken = Bytes::copy_from_slice(&piece[..piece.len().min(room)]);
            let bytes = taken.len();
            IoSlice::advance_slices(body, bytes);
            self.sent.set(self.sent.get() + bytes as u64);
            self.out.put(Out::Data(taken), bytes);
        }
    }

    fn poll_end(&self, cx: &mut Context<'_>, head: &mut HeadWriter, trailers: Option<&Fields>) -> Poll<io::Result<()>> {
        let sent = self.poll_send(cx, head, &mut &mut [][..]);
        if matches!(sent, Poll::Ready(Ok(()))) {
            self.out.put(Out::End(trailers.cloned()), 0);
        }
        sent
    }

    fn sent_bytes(&self) -> u64 {
        self.sent.get()
    }

    fn taken_bytes(&self) -> u64 {
        self.out.state.lock().unwrap().taken
    }

    fn carry(&self, _: Tunnel) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        panic!("nothing is spoken in memory but HTTP")
    }
}

impl Drop for MemoryDoor {
    fn drop(&mut self) {
        self.out.close();
        self.body.close();
    }
}

/// A client whose requests go through doors in memory.
pub(crate) fn connect(entrance: Entrance) -> Socket {
    let (client, ours) = UnixStream::pair().unwrap();
    let sent = BytesInTransit::default();
    let received = sent.clone();
    thread::spawn(move || {
        let mut socket = Socket::new(Stream::Unix(ours.try_clone().unwrap())).receiving(received.clone());
        while serve_next(&entrance, &mut socket, &ours, &received) {}
        // The thread reads no more, so the client must not wait for it.
        received.answering(true);
    });
    Socket::new(Stream::Unix(client)).sending(sent)
}

/// Serves the next request; `false`: there is none, or the client does not take its answer.
fn serve_next(entrance: &Entrance, socket: &mut Socket, stream: &UnixStream, received: &BytesInTransit) -> bool {
    let asked = loop {
        match socket.head() {
            Ok(asked) => break asked,
            Err(Stopped::Hangs) => {}
            Err(_) => return false,
        }
    };
    let (body, out, gone) = (Channel::new(), Channel::new(), Arc::new(Gone::default()));
    let begun = Instant::now();
    loop {
        let (body, out, gone) = (body.clone(), out.clone(), gone.clone());
        let (head, length) = request_of(&asked);
        let visit = move || {
            let (follows, sent) = (Cell::new(Follows::Nothing), Cell::new(0));
            Visit { door: Rc::new(MemoryDoor { body, out, gone, follows, sent }), head, body: length }
        };
        if entrance.visit(visit) {
            break;
        }
        // The worker has reached its limit, or the engine has ended.
        if begun.elapsed() > WAIT_MAX || socket.has_left() {
            return false;
        }
        thread::yield_now();
    }
    received.answering(true);
    let is_head = asked.word(0) == "HEAD";
    let answering = {
        let mut stream = stream.try_clone().unwrap();
        let (out, gone) = (out.clone(), gone.clone());
        thread::spawn(move || {
            let is_whole = write_answer(&out, &mut stream, is_head).unwrap_or(false);
            out.close();
            if !is_whole {
                gone.tell();
                let _ = stream.shutdown(std::net::Shutdown::Both);
            }
            is_whole
        })
    };
    send_body(&asked, socket, &body);
    // Until the answer is complete, the client may leave.
    while !answering.is_finished() {
        if socket.has_left() {
            gone.tell();
        }
        thread::sleep(Duration::from_millis(1));
    }
    let is_whole = answering.join().unwrap();
    received.answering(!is_whole);
    is_whole
}

fn request_of(asked: &ClientsHead) -> (RequestHead, BodyLength) {
    let method = http::Method::from_bytes(asked.word(0).as_bytes()).unwrap();
    let mut head = RequestHead::new(method, asked.word(1).to_owned());
    if asked.word(2) == "HTTP/1.0" {
        head.version = http::Version::HTTP_10;
    }
    let is_framing = |name: &str| name.eq_ignore_ascii_case("transfer-encoding");
    for (name, value) in asked.fields.iter().filter(|(name, _)| !is_framing(name)) {
        head.fields.push(name, value);
    }
    let length = match asked.framing() {
        Framing::Nothing => BodyLength::None,
        Framing::Length(length) => BodyLength::Length(length as u64),
        Framing::Chunked => BodyLength::Chunked,
    };
    (head, length)
}

/// Passes the request's body on as it comes.
fn send_body(asked: &ClientsHead, socket: &mut Socket, body: &Channel<Result<UploadPiece, UploadError>>) {
    if asked.framing() == Framing::Nothing {
        body.put(Ok(UploadPiece::End(None)), 0);
        return;
    }
    let content = socket.content(asked.framing());
    for piece in content.body.chunks(16 << 10) {
        if !body.put(Ok(UploadPiece::Data(Bytes::copy_from_slice(piece))), piece.len()) {
            return;
        }
    }
    let end = match content.stopped {
        None => {
            let mut trailers = Fields::new();
            content.trailers.iter().for_each(|(name, value)| trailers.push(name, value));
            Ok(UploadPiece::End(Some(trailers).filter(|_| !content.trailers.is_empty())))
        }
        Some(_) => Err(UploadError::Closed),
    };
    body.put(end, 0);
}

/// Writes an answer as it comes; returns whether it came to its end.
fn write_answer(out: &Channel<Out>, stream: &mut UnixStream, is_head: bool) -> io::Result<bool> {
    let mut is_chunked = false;
    while let Some(item) = out.take() {
        let mut bytes = Vec::new();
        match item {
            Out::Head(head, follows) => {
                encode_status_line(
                    head.status,
                    head.status.canonical_reason().unwrap_or_default().as_bytes(),
                    &mut bytes,
                );
                for (name, value) in head.fields.iter() {
                    bytes.extend([name, b": ", value, b"\r\n"].concat());
                }
                match follows {
                    Follows::Length(length) => bytes.extend(format!("Content-Length: {length}\r\n").into_bytes()),
                    Follows::Unknown => {
                        is_chunked = !is_head;
                        bytes.extend(b"Transfer-Encoding: chunked\r\n");
                    }
                    _ => {}
                }
                bytes.extend(b"\r\n");
            }
            Out::Data(data) if is_chunked => {
                encode_chunk_head(data.len(), &mut bytes);
                bytes.extend_from_slice(&data);
                bytes.extend(b"\r\n");
            }
            Out::Data(data) => bytes.extend_from_slice(&data),
            Out::End(trailers) => {
                if is_chunked {
                    encode_last_chunk(trailers.as_ref(), &mut bytes);
                }
                stream.write_all(&bytes)?;
                return Ok(true);
            }
        }
        stream.write_all(&bytes)?;
    }
    Ok(false)
}
