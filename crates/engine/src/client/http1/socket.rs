//! Reads and writes the bytes of one client's connection.
//!
//! Reading and writing share the connection by reference: while a response goes out, the request's body may still come in. Bytes
//! that were read ahead stay here, so that a pipelined request is found where the last one ended.

use crate::client::http1::read_ahead::{FREE_BYTES, ReadAhead};
use crate::client::http1::socket_buffer::Eagerness;
use crate::request::message::Request;
use crate::runtime::kept_connections::KeptConnection;
use crate::runtime::worker::{READ_BYTES, Worker};
use bytes::BytesMut;
use http::Version;
use kasoku_options::ClientLimits;
use kasoku_sys::Stream;
use kasoku_wire::http1::{BodyDecoder, BodyLength};
use kasoku_wire::proxy_protocol::parse_proxy_header;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// How many bytes are read and thrown away after the last answer, so that a reset does not overtake it.
const LINGER_BYTES_MAX: usize = 1 << 20;

/// How long that may take.
const LINGER_TIMEOUT: Duration = Duration::from_secs(2);

/// A client's connection.
pub(crate) struct ClientConnection {
    pub(super) worker: Rc<Worker>,
    pub(super) stream: Stream,
    pub(super) read_ahead: RefCell<ReadAhead>,
    pub(super) address: Option<SocketAddr>,
    pub(super) eagerness: Eagerness,
    pub(super) limits: Rc<ClientLimits>,
    pub(super) request: RequestState,
    /// Whether it waits for a request of which nothing has come.
    pub(super) is_idle: Cell<bool>,
    /// When it was accepted, or its last request was answered, in milliseconds of the monotonic clock.
    pub(super) used_ms: Cell<u64>,
}

/// The state of the current request and its answer.
pub(super) struct RequestState {
    pub(super) version: Cell<Version>,
    /// Whether another request may follow, as far as the client and the number of requests go.
    pub(super) keeps_alive: Cell<bool>,
    /// Finds the end of the request's body; `None`: the body has been read, and the next request begins where reading stands.
    /// Boxed, since an idle connection has none.
    pub(super) body: RefCell<Option<Box<BodyDecoder>>>,
    /// Whether the answer goes out in chunks.
    pub(super) is_chunked: Cell<bool>,
    /// Bytes that are still to end the current chunk; 0: no chunk is begun.
    pub(super) chunk_end: Cell<usize>,
}

/// The result of a read.
pub(crate) struct Read {
    /// How many bytes came; 0: the client has closed its side.
    pub(crate) bytes: usize,
    /// Whether there is room for all that the connection holds now.
    pub(crate) has_room: bool,
}

impl ClientConnection {
    /// A connection that has just been accepted from `address`. With `proxy_protocol`, waits for its header.
    pub(crate) async fn open(
        worker: &Rc<Worker>,
        stream: Stream,
        mut address: Option<SocketAddr>,
        proxy_protocol: bool,
    ) -> io::Result<Self> {
        let limits = worker.settings().limits.clone();
        let mut read_ahead = ReadAhead::new(&worker.cache);
        if proxy_protocol {
            let header = proxied_address(&stream, &mut read_ahead, &worker.read_buffer);
            if let Some(source) = tokio::time::timeout(limits.head_timeout, header).await?? {
                address = Some(source);
            }
        }
        let (worker, read_ahead, eagerness) = (worker.clone(), RefCell::new(read_ahead), Eagerness::default());
        let request = RequestState {
            version: Cell::new(Version::HTTP_11),
            keeps_alive: Cell::new(false),
            body: RefCell::new(None),
            is_chunked: Cell::new(false),
            chunk_end: Cell::new(0),
        };
        let used_ms = Cell::new(worker.now().mono_ms);
        let is_idle = Cell::new(false);
        Ok(Self { worker, stream, read_ahead, address, eagerness, limits, request, is_idle, used_ms })
    }

    /// The client's address, as far as the connection tells.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Prepares for a request, whose answer is next.
    pub(crate) fn begin(&self, request: &Request, keeps_alive: bool) {
        let state = &self.request;
        state.version.set(request.head.version);
        state.keeps_alive.set(keeps_alive);
        let has_body = !matches!(request.body, BodyLength::None);
        if has_body || state.body.borrow().is_some() {
            state.body.replace(has_body.then(|| Box::new(BodyDecoder::new(request.body, &self.limits.body))));
        }
        state.is_chunked.set(false);
        state.chunk_end.set(0);
    }

    /// Whether all of the request's body has been read.
    pub(crate) fn is_body_read(&self) -> bool {
        self.request.body.borrow().is_none()
    }

    /// Reads more bytes behind those that were read ahead. Nothing is lost when the future is dropped.
    pub(super) async fn read_more(&self) -> io::Result<Read> {
        poll_fn(|cx| self.poll_read_ahead(cx, READ_BYTES)).await
    }

    pub(super) fn poll_read_ahead(&self, cx: &mut Context<'_>, bytes_max: usize) -> Poll<io::Result<Read>> {
        let mut buf = self.worker.read_buffer.borrow_mut();
        buf.clear();
        let bytes = ready!(self.poll_read(cx, &mut buf, bytes_max))?;
        Poll::Ready(Ok(Read { bytes, has_room: self.read_ahead.borrow_mut().append(&buf) }))
    }

    /// Appends the next bytes to `buf`; 0: the client has closed its side.
    pub(crate) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        buf: &mut BytesMut,
        bytes_max: usize,
    ) -> Poll<io::Result<usize>> {
        use io::ErrorKind::{OutOfMemory, StorageFull};
        self.stream.poll_read(cx, buf, bytes_max).map_err(|error| {
            // The client did not cause this: the kernel watches no more sockets (`fs.epoll.max_user_watches`).
            if matches!(error.kind(), OutOfMemory | StorageFull) {
                tracing::warn!(%error, "a connection could not be served");
            }
            error
        })
    }

    /// Ready when the client has reset the connection. A client that has only ended its sending side still waits for its answer.
    /// Bytes that come meanwhile are read ahead, once and only where there are none yet; after that, only writing notices a
    /// reset.
    pub(super) fn poll_reset(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.read_ahead.borrow().is_empty() && ready!(self.poll_read_ahead(cx, FREE_BYTES)).is_err() {
            return Poll::Ready(());
        }
        Poll::Pending
    }

    /// Ends the connection so that the last answer reaches the client even if the client still sends: closes this side, and reads
    /// what comes for a moment (RFC 9112 section 9.6).
    pub(crate) async fn linger(&self) {
        if self.stream.shutdown_write().is_err() {
            return;
        }
        // These bytes will not be read as a request.
        self.read_ahead.borrow_mut().take();
        let drained = async {
            let mut left = LINGER_BYTES_MAX;
            // Thousands of connections may end at the same time, so none has a buffer for this.
            let drop_some = |cx: &mut Context<'_>| {
                let mut buf = self.worker.read_buffer.borrow_mut();
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

impl KeptConnection for ClientConnection {
    fn idle_since_ms(&self) -> Option<u64> {
        self.is_idle.get().then(|| self.used_ms.get())
    }

    fn close_idle(&self) {
        self.is_idle.set(false);
        // Its task then reads the end. An error means that the client has left.
        let _ = self.stream.shutdown_read();
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
