//! The requests and replies of one open connection.

use super::Queued;
use super::outgoing::Outgoing;
use crate::failure::Failure;
use crate::load::Admission;
use crate::memcached::protocol::{ProtocolError, ReplyParser, Request, Status};
use crate::servers::Server;
use bytes::BytesMut;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

/// What is read at once, if no large value comes.
const READ_BYTES: usize = 16 << 10;

/// What the read buffer may keep after a large value.
const READ_BUFFER_BYTES_MAX: usize = 64 << 10;

/// How much memory a server gets in advance for a value that it has announced.
const VALUE_BYTES_IN_ADVANCE: usize = 1 << 20;

/// What is under way on one connection.
pub(super) struct Conversation<'s> {
    server: &'s Server,
    waiting: VecDeque<Waiting>,
    outgoing: Outgoing,
    input: BytesMut,
    parser: ReplyParser,
    next_opaque: u32,
    /// When the last request that was taken has to be answered.
    last_deadline: Instant,
}

/// A request without a reply yet.
struct Waiting {
    request: Request,
    opaque: u32,
    /// Where it begins in what is written.
    begin: u64,
    deadline: Instant,
    answer: oneshot::Sender<Result<Status, Failure>>,
    _admission: Admission,
}

impl<'s> Conversation<'s> {
    pub(super) fn new(server: &'s Server, item_bytes_max: usize) -> Self {
        Self {
            server,
            waiting: VecDeque::new(),
            outgoing: Outgoing::default(),
            input: BytesMut::new(),
            parser: ReplyParser::new(item_bytes_max),
            next_opaque: fastrand::u32(..),
            last_deadline: Instant::now(),
        }
    }

    /// Adds a request.
    pub(super) fn take(&mut self, queued: Queued) {
        let Some(Queued { request, deadline, answer, admission }) = queued.if_due() else { return };
        let opaque = self.next_opaque;
        self.next_opaque = opaque.wrapping_add(1);
        let begin = self.outgoing.push(&request, opaque);
        self.last_deadline = deadline;
        self.waiting.push_back(Waiting { request, opaque, begin, deadline, answer, _admission: admission });
    }

    /// Writes requests and reads replies. Ends without a failure when the connection is idle, and the server closes it, nobody can send
    /// requests any more, or the server has moved.
    pub(super) async fn run(
        &mut self,
        mut reader: impl AsyncRead + Unpin,
        mut writer: impl AsyncWrite + Unpin,
        queue: &mut mpsc::Receiver<Queued>,
        moved: impl Future<Output = ()>,
    ) -> Result<(), Failure> {
        let mut moved = std::pin::pin!(moved);
        let mut has_moved = false;
        let mut timer = std::pin::pin!(sleep_until(self.last_deadline));
        let mut is_open = true;
        loop {
            self.make_room();
            if self.waiting.is_empty() && self.outgoing.is_empty() {
                if has_moved {
                    return Ok(());
                }
                // A connection that the server has closed is noticed before a request is written to it.
                tokio::select! {
                    biased;
                    read = reader.read_buf(&mut self.input) => return match read {
                        Ok(0) | Err(_) => Ok(()),
                        Ok(_) => Err(ProtocolError::Foreign.into()),
                    },
                    queued = queue.recv() => match queued {
                        Some(queued) => self.take(queued),
                        None => return Ok(()),
                    },
                    () = &mut moved => has_moved = true,
                }
                continue;
            }
            tokio::select! {
                () = timer.as_mut() => {
                    // The timer is not moved with each reply; it finds out when it is over.
                    if self.deadline() <= Instant::now() {
                        self.last_chance(&mut reader).await?;
                    }
                    timer.as_mut().reset(self.deadline());
                }
                read = reader.read_buf(&mut self.input) => self.received(read)?,
                written = self.outgoing.write_some(&mut writer), if !self.outgoing.is_empty() => {
                    self.server.counters.bytes_out.add(written.map_err(broken)? as u64);
                }
                () = &mut moved, if !has_moved => has_moved = true,
                queued = queue.recv(), if is_open && !has_moved => match queued {
                    Some(queued) => {
                        self.take(queued);
                        // All that wait are written at once.
                        while let Ok(queued) = queue.try_recv() {
                            self.take(queued);
                        }
                    }
                    None => is_open = false,
                },
            }
        }
    }

    /// Tells all that wait that the connection failed.
    pub(super) fn fail(self, failure: &Failure) {
        for waiting in self.waiting {
            let _ = waiting.answer.send(Err(failure.clone()));
        }
    }

    /// When the next reply has to be there.
    fn deadline(&self) -> Instant {
        self.waiting.front().map_or(self.last_deadline, |front| front.deadline)
    }

    /// Reads once more after the deadline: if this worker was held up, the reply is in the socket.
    async fn last_chance(&mut self, reader: &mut (impl AsyncRead + Unpin)) -> Result<(), Failure> {
        let late = self.waiting.len();
        tokio::select! {
            biased;
            read = reader.read_buf(&mut self.input) => self.received(read)?,
            () = std::future::ready(()) => {}
        }
        if self.waiting.len() < late { Ok(()) } else { Err(Failure::Timeout) }
    }

    fn received(&mut self, read: io::Result<usize>) -> Result<(), Failure> {
        match read.map_err(broken)? {
            0 => Err(Failure::Closed),
            bytes => {
                self.server.counters.bytes_in.add(bytes as u64);
                self.deliver()
            }
        }
    }

    /// Gives the replies that have arrived to their operations.
    fn deliver(&mut self) -> Result<(), Failure> {
        while let Some(reply) = self.parser.next(&mut self.input)? {
            let fits = self.waiting.front().is_some_and(|front| {
                reply.opaque.is_none_or(|opaque| opaque == front.opaque)
                    && front.request.expects(&reply.status)
                    // An early reply is possible: a server refuses a value before it has read it. One to what it can't know is not.
                    && self.outgoing.has_begun(front.begin)
            });
            let Some(front) = self.waiting.pop_front_if(|_| fits) else { return Err(ProtocolError::Foreign.into()) };
            self.server.health.succeeded();
            let _ = front.answer.send(Ok(reply.status));
        }
        Ok(())
    }

    /// Makes room for the next read, and gives back what a large value needed.
    fn make_room(&mut self) {
        let missing = self.parser.missing_bytes(self.input.len());
        if missing == 0 && self.input.len() < READ_BYTES && self.input.capacity() > READ_BUFFER_BYTES_MAX {
            let mut small = BytesMut::with_capacity(READ_BYTES);
            small.extend_from_slice(&self.input);
            self.input = small;
        }
        let free = self.input.capacity() - self.input.len();
        if free < missing.clamp(READ_BYTES / 4, VALUE_BYTES_IN_ADVANCE) {
            self.input.reserve(missing.clamp(READ_BYTES, VALUE_BYTES_IN_ADVANCE));
        }
    }
}

fn broken(error: io::Error) -> Failure {
    Failure::Broken(Arc::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Endpoint;
    use crate::memcached::options::{MemcachedOptions, ServerAddress};
    use crate::memcached::servers::Memcached;
    use crate::placement::Distribution;
    use std::time::Duration;

    #[tokio::test]
    async fn a_large_value_leaves_no_large_buffer() {
        let address = ServerAddress { endpoint: Endpoint::Unix("/nowhere".into()), weight: 1 };
        let memcached = Memcached::new(MemcachedOptions {
            servers: vec![address],
            distribution: Distribution::Ketama,
            operation_timeout: Duration::from_secs(1),
            item_bytes_max: 8 << 20,
            connections_max: 1,
        });
        let memcached = memcached.unwrap();
        let mut conversation = Conversation::new(&memcached.servers().all()[0], 8 << 20);
        conversation.make_room();
        assert!((READ_BYTES..=READ_BUFFER_BYTES_MAX).contains(&conversation.input.capacity()));

        conversation.input.extend_from_slice(b"VA 8000000 O1\r\n");
        assert_eq!(conversation.parser.next(&mut conversation.input), Ok(None));
        conversation.make_room();
        let room = conversation.input.capacity();
        assert!((VALUE_BYTES_IN_ADVANCE..2 << 20).contains(&room), "an announced value gets {room} bytes in advance");

        conversation.input.extend_from_slice(&vec![b'x'; 8_000_000]);
        conversation.input.extend_from_slice(b"\r\nHD");
        let reply = conversation.parser.next(&mut conversation.input).unwrap();
        assert!(matches!(reply.unwrap().status, Status::Value(value) if value.len() == 8_000_000));
        // Nobody holds the value any more, so its memory would be used again.
        conversation.input.reserve(1 << 20);
        conversation.make_room();
        assert!(conversation.input.capacity() <= READ_BUFFER_BYTES_MAX);
        assert_eq!(&conversation.input[..], b"HD");
    }
}
