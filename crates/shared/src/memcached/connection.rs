//! One pipelined connection to one server.
//!
//! Operations hand their requests to a task by a bounded queue. The task connects when the first request comes, writes all requests that
//! wait at once, and gives each reply to its operation. Replies come in the order of the requests.
//!
//! * The task answers each request within the operation timeout, so operations need no timer of their own.
//! * A request without an answer in time closes the connection, and all requests on it fail. So do a reply that does not fit and a
//!   connection that breaks. This is one failure of the server, however many requests it hits.
//! * An operation that was dropped costs nothing: its reply is read and dropped, or its request is not even sent.
//! * A connection that the server closes while nothing waits is no failure. The next request connects anew.
//! * A connection whose server's name has moved takes no more requests, and ends when those on it are answered.
//!
//! What is in flight has a bound. Beyond it, an operation fails at once with [`Failure::Busy`], which says nothing about the server.

mod conversation;
mod outgoing;

use super::protocol::{Request, Status};
use super::servers::Memcached;
use crate::dialer::{Dialer, Stream};
use crate::failure::Failure;
use crate::load::{Admission, IN_FLIGHT_MAX, Load};
use crate::servers::Server;
use conversation::Conversation;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// The operations' end of a connection. The connection closes when it is dropped.
#[derive(Debug)]
pub(super) struct Connection {
    queue: mpsc::Sender<Queued>,
    load: Arc<Load>,
    operation_timeout: Duration,
}

/// A request on its way to the task.
#[derive(Debug)]
struct Queued {
    request: Request,
    deadline: Instant,
    answer: oneshot::Sender<Result<Status, Failure>>,
    admission: Admission,
}

impl Queued {
    /// The request, if it still makes sense to send it. Not if nobody waits, nor if its time is over, since then this worker was held up:
    /// it says nothing about the server.
    fn if_due(self) -> Option<Self> {
        if self.answer.is_closed() {
            return None;
        }
        if self.deadline <= Instant::now() {
            let _ = self.answer.send(Err(Failure::Timeout));
            return None;
        }
        Some(self)
    }
}

impl Connection {
    /// A connection to this server, whose task runs on the present runtime. Its operations end within that time.
    pub(super) fn open(memcached: &Arc<Memcached>, server: usize, operation_timeout: Duration) -> Self {
        let (sender, receiver) = mpsc::channel(IN_FLIGHT_MAX);
        tokio::spawn(run(memcached.clone(), server, receiver));
        Self { queue: sender, load: Arc::default(), operation_timeout }
    }

    /// How many requests wait.
    pub(super) fn in_flight(&self) -> usize {
        self.load.in_flight()
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn ask(&self, request: Request) -> Result<Status, Failure> {
        let admission = self.load.admit(request.value_bytes()).ok_or(Failure::Busy)?;
        let (answer, answered) = oneshot::channel();
        let deadline = Instant::now() + self.operation_timeout;
        // There is room for all that are admitted, so this fails only if the runtime has dropped the task.
        let sent = self.queue.try_send(Queued { request, deadline, answer, admission });
        sent.map_err(|_| Failure::Closed)?;
        answered.await.unwrap_or(Err(Failure::Closed))
    }
}

/// The task: connects whenever there is a request and no connection.
async fn run(memcached: Arc<Memcached>, server: usize, mut queue: mpsc::Receiver<Queued>) {
    let Some(endpoint) = memcached.endpoint(server) else { return };
    let Some(server) = memcached.servers().server(server) else { return };
    let mut dialer = Dialer::new(endpoint.clone());
    while let Some(queued) = queue.recv().await {
        let Some(first) = queued.if_due() else { continue };
        match dialer.dial(first.deadline).await {
            Ok(stream) => {
                let moved = dialer.moved(&stream);
                converse(stream, first, &mut queue, moved, &memcached, server).await;
            }
            Err(failure) => {
                failed(&memcached, server, &failure);
                let _ = first.answer.send(Err(failure.clone()));
                // The others have waited for the same connection.
                while let Ok(queued) = queue.try_recv() {
                    let _ = queued.answer.send(Err(failure.clone()));
                }
            }
        }
    }
}

/// Asks and answers on an open connection, until it ends.
async fn converse(
    stream: Stream,
    first: Queued,
    queue: &mut mpsc::Receiver<Queued>,
    moved: impl Future<Output = ()>,
    memcached: &Memcached,
    server: &Server,
) {
    let mut conversation = Conversation::new(server, memcached.options().item_bytes_max);
    conversation.take(first);
    let ended = match stream {
        Stream::Tcp(mut stream) => {
            let (reader, writer) = stream.split();
            conversation.run(reader, writer, queue, moved).await
        }
        Stream::Unix(mut stream) => {
            let (reader, writer) = stream.split();
            conversation.run(reader, writer, queue, moved).await
        }
        Stream::Tls(stream) => {
            let (reader, writer) = tokio::io::split(stream);
            conversation.run(reader, writer, queue, moved).await
        }
    };
    if let Err(failure) = ended {
        failed(memcached, server, &failure);
        conversation.fail(&failure);
    }
}

/// Makes the server unusable, before any operation hears of the failure.
fn failed(memcached: &Memcached, server: &Server, failure: &Failure) {
    tracing::debug!(server = %server.address, %failure, "a memcached server failed");
    server.health.failed(memcached.servers().now_ms());
}
