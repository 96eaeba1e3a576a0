//! Bytes from and to one client.
//!
//! Reading and writing share the connection by reference: while a response goes out, the request's body may still come
//! in. What was read ahead stays here, so that a pipelined request is found where the last one ended.

use crate::outgoing::Eagerness;
use crate::read_ahead::{FREE_BYTES, READ_BYTES, ReadAhead};
use crate::request::peer::Peer;
use bytes::BytesMut;
use kasoku_cache::Cache;
use kasoku_options::{AddressRange, Limits};
use kasoku_sys::Stream;
use kasoku_wire::proxy_protocol::parse_proxy_header;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// What is read and thrown away after the last answer, in bytes, so that a reset does not overtake it.
const LINGER_BYTES_MAX: usize = 1 << 20;

/// How long that may take.
const LINGER_TIMEOUT: Duration = Duration::from_secs(2);

/// A client's connection.
pub(crate) struct Connection {
    pub(crate) stream: Rc<Stream>,
    pub(crate) read_ahead: RefCell<ReadAhead>,
    /// Where its bytes are read; all connections of a worker share it.
    read_buffer: Rc<RefCell<BytesMut>>,
    address: Option<SocketAddr>,
    /// Whether it came through a Unix socket.
    is_unix: bool,
    is_trusted: Cell<bool>,
    pub(crate) eagerness: Eagerness,
    pub(crate) limits: Rc<Limits>,
}

/// What came next.
pub(crate) struct Read {
    /// How much; 0: the client has closed its side.
    pub(crate) bytes: usize,
    /// Whether there is room for all that the connection holds now.
    pub(crate) has_room: bool,
}

impl Connection {
    /// A connection that has just been accepted from `address`. With `proxy_protocol`, waits for its header.
    pub(crate) async fn open(
        stream: Stream,
        mut address: Option<SocketAddr>,
        proxy_protocol: bool,
        limits: &Rc<Limits>,
        trusted: &[AddressRange],
        cache: &Cache,
        read_buffer: &Rc<RefCell<BytesMut>>,
    ) -> io::Result<Self> {
        let limits = limits.clone();
        let mut read_ahead = ReadAhead::new(cache);
        let is_unix = address.is_none();
        if proxy_protocol {
            let header = proxied_address(&stream, &mut read_ahead, read_buffer);
            if let Some(source) = tokio::time::timeout(limits.head_timeout, header).await?? {
                address = Some(source);
            }
        }
        let (read_ahead, is_trusted, eagerness) = (RefCell::new(read_ahead), Cell::new(false), Eagerness::default());
        let (stream, read_buffer) = (Rc::new(stream), read_buffer.clone());
        let opened = Self { stream, read_ahead, read_buffer, address, is_unix, is_trusted, eagerness, limits };
        opened.trust(trusted);
        Ok(opened)
    }

    /// Who is at the other end, as far as it was trusted last.
    pub(crate) fn peer(&self) -> Peer {
        Peer { address: self.address, is_trusted: self.is_trusted.get() }
    }

    /// Trusts the peer from now on if it is one of these.
    pub(crate) fn trust(&self, trusted: &[AddressRange]) {
        self.is_trusted.set(match self.address {
            Some(address) => trusted.iter().any(|range| range.contains(address.ip())),
            None => self.is_unix && trusted.contains(&AddressRange::Unix),
        });
    }

    /// Reads more behind what was read ahead; 0: the client has closed its side. Nothing is lost when it is dropped.
    pub(crate) async fn read_more(&self) -> io::Result<Read> {
        self.read_at_most(READ_BYTES).await
    }

    async fn read_at_most(&self, bytes_max: usize) -> io::Result<Read> {
        let read = |cx: &mut Context<'_>| {
            let mut buf = self.read_buffer.borrow_mut();
            buf.clear();
            let bytes = ready!(self.poll_read(cx, &mut buf, bytes_max))?;
            Poll::Ready(Ok(Read { bytes, has_room: self.read_ahead.borrow_mut().append(&buf) }))
        };
        poll_fn(read).await
    }

    /// Reads what comes next to the end of `buf`; 0: the client has closed its side.
    pub(crate) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        buf: &mut BytesMut,
        bytes_max: usize,
    ) -> Poll<io::Result<usize>> {
        use io::ErrorKind::{OutOfMemory, StorageFull};
        self.stream.poll_read(cx, buf, bytes_max).map_err(|error| {
            // That is not the client's doing: the kernel watches no more sockets (`fs.epoll.max_user_watches`).
            if matches!(error.kind(), OutOfMemory | StorageFull) {
                tracing::warn!(%error, "a connection could not be served");
            }
            error
        })
    }

    /// Returns when the client has reset the connection. A client that has only ended its sending side still waits for
    /// its answer. What comes meanwhile is read ahead, once and only where nothing is yet; then only writing tells.
    pub(crate) async fn gone(&self) {
        if !self.read_ahead.borrow().is_empty() || self.read_at_most(FREE_BYTES).await.is_ok() {
            std::future::pending().await
        }
    }

    /// Writes what finds room of `parts` at once, which become the rest; whether that was all.
    pub(crate) async fn write_at_once(&self, parts: &mut &mut [IoSlice<'_>]) -> io::Result<bool> {
        let at_once = poll_fn(|cx| {
            Poll::Ready(match self.stream.poll_write_all(cx, parts) {
                Poll::Ready(written) => written.map(|()| true),
                Poll::Pending => Ok(false),
            })
        });
        // The reads see to it that others have their turn. A turn that is over must not look like a client that takes nothing.
        tokio::task::unconstrained(at_once).await
    }

    /// Writes all of `parts`; `TimedOut` when the client takes nothing for too long.
    pub(crate) async fn write(&self, parts: &mut [IoSlice<'_>]) -> io::Result<()> {
        self.stream.write_all(parts, self.limits.send_timeout).await
    }

    /// Ends the connection so that the last answer reaches the client even if it still sends: closes our side, and reads
    /// what comes for a moment (RFC 9112 section 9.6).
    pub(crate) async fn linger(&self) {
        if self.stream.shutdown_write().is_err() {
            return;
        }
        // It is not going to be read as a request.
        self.read_ahead.borrow_mut().take();
        let drained = async {
            let mut left = LINGER_BYTES_MAX;
            // Thousands of connections may end at the same time: none of them has a buffer for it.
            let drop_some = |cx: &mut Context<'_>| {
                let mut buf = self.read_buffer.borrow_mut();
                buf.clear();
                self.stream.poll_read(cx, &mut buf, READ_BYTES)
            };
            while let Ok(read @ 1..) = poll_fn(drop_some).await {
                left = left.saturating_sub(read);
                if left == 0 {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(LINGER_TIMEOUT, drained).await;
    }

    /// Ends the connection so that the client notices that the response was cut.
    pub(crate) fn cut(&self) {
        let _ = self.stream.reset_on_close();
    }
}

/// Ends the wait for a next request. One timer serves all waits of a connection, and runs on whatever happens: it rings
/// some times within the timeout, and the connection has been idle for too long when nothing came between
/// that many rings. So a request sets no timer and reads no clock for it, and an idle connection is closed at most one
/// step late. It is set when the first wait begins: who is answered at once, and leaves, has none.
pub(crate) struct IdleTimer {
    sleep: Option<Pin<Box<Sleep>>>,
    /// Whom it wakes when it rings next.
    wakes: Option<Waker>,
    step: Duration,
    /// Rings since the present wait began.
    rings: u32,
}

impl IdleTimer {
    const STEPS: u32 = 8;

    pub(crate) fn new(timeout: Duration) -> Self {
        Self { sleep: None, wakes: None, step: timeout / Self::STEPS, rings: 0 }
    }

    /// A wait begins.
    pub(crate) fn begin(&mut self) {
        self.rings = 0;
    }

    /// Ready when the present wait has taken for as long as a connection may be idle.
    pub(crate) fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.step)));
        // Each poll would register the waker anew, under tokio's locks.
        if !sleep.is_elapsed() && self.wakes.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            return Poll::Pending;
        }
        loop {
            // A task whose turn is over would be told to wait without being registered.
            if pin!(tokio::task::unconstrained(sleep.as_mut())).poll(cx).is_pending() {
                self.wakes = Some(cx.waker().clone());
                return Poll::Pending;
            }
            // The first ring of a wait comes somewhere within its first step.
            if self.rings >= Self::STEPS {
                return Poll::Ready(());
            }
            self.rings += 1;
            sleep.as_mut().reset(Instant::now() + self.step);
        }
    }
}

/// Reads the PROXY protocol's header; `None`: the connection is the proxy's own (a health check).
async fn proxied_address(
    stream: &Stream,
    read_ahead: &mut ReadAhead,
    read_buffer: &RefCell<BytesMut>,
) -> io::Result<Option<SocketAddr>> {
    loop {
        match parse_proxy_header(read_ahead.bytes()) {
            Err(_) => return Err(io::ErrorKind::InvalidData.into()),
            Ok(Some((header, length))) => {
                read_ahead.advance(length);
                return Ok(header.source);
            }
            Ok(None) => {
                let mut read = |cx: &mut Context<'_>| {
                    let mut buf = read_buffer.borrow_mut();
                    buf.clear();
                    let read = ready!(stream.poll_read(cx, &mut buf, READ_BYTES))?;
                    Poll::Ready(Ok::<_, io::Error>((read, read_ahead.append(&buf))))
                };
                match poll_fn(&mut read).await? {
                    (0, _) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    (_, false) => return Err(io::ErrorKind::OutOfMemory.into()),
                    _ => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn a_wait_expires_however_often_it_is_polled_and_in_whatever_task() {
        let timeout = Duration::from_millis(80);
        let mut idle = IdleTimer::new(timeout);
        // Another task begins to wait, and what wakes it later wakes nobody here.
        assert!(idle.poll_expired(&mut Context::from_waker(Waker::noop())).is_pending());
        idle.begin();
        let began = Instant::now();
        let mut ticks = tokio::time::interval(timeout / 20);
        let mut polls = 0;
        poll_fn(|cx| {
            polls += 1;
            let is_woken_for_something_else = polls < 40 && ticks.poll_tick(cx).is_ready();
            if is_woken_for_something_else {
                cx.waker().wake_by_ref();
            }
            idle.poll_expired(cx)
        })
        .await;
        assert!(began.elapsed() >= timeout, "{:?}", began.elapsed());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_task_whose_turn_is_over_waits_as_well() {
        let mut idle = IdleTimer::new(Duration::from_millis(8));
        poll_fn(|cx| {
            while tokio::task::coop::has_budget_remaining() {
                let _ = pin!(tokio::task::consume_budget()).poll(cx);
            }
            idle.poll_expired(cx)
        })
        .await;
    }

    #[tokio::test(flavor = "current_thread")]
    async fn what_a_client_sends_while_it_waits_is_read_ahead_once() {
        let (client, ours) = tokio::net::UnixStream::pair().unwrap();
        let stream = Stream::unix(ours).unwrap();
        let cache = Cache::new(kasoku_cache::Limits { memory_bytes_max: 1 << 20, object_bytes_max: 1 << 16 });
        let connection =
            Connection::open(stream, None, false, &Rc::default(), &[], &cache, &Rc::default()).await.unwrap();
        let client = Stream::unix(client).unwrap();
        for _ in 0..4 {
            // One request after the other waits for its answer, and the client goes on sending.
            let _ = client.write_all(&mut [IoSlice::new(&[b'x'; READ_BYTES])], Duration::from_secs(5)).await;
            let wait = tokio::time::timeout(Duration::from_millis(1), connection.gone());
            assert!(wait.await.is_err(), "it is not gone");
        }
        let ahead = connection.read_ahead.borrow().bytes().len();
        assert!((1..=FREE_BYTES).contains(&ahead), "{ahead} bytes");
    }
}
