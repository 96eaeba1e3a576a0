//! Accepts connections, up to the worker's limit, and spreads them over the workers.
//!
//! The kernel spreads connections over the workers' sockets by a hash and does not look at their load: with few or long connections, one
//! worker may get nearly all of them. So a worker with more connections than the mean hands a new one to the worker with the fewest, before
//! the connection is registered with an event loop.

use crate::client::http1::connection;
use crate::client::http1::socket::ClientConnection;
use crate::door::Visit;
use crate::pipeline::Handling;
use crate::request::message::{Request, check};
use crate::runtime::connection_tasks::ConnectionTask;
use crate::runtime::worker::{ConnectionSlot, TooMany, Worker};
use crate::runtime::worker_loads::{HandedOverConnection, NewConnection};
use kasoku_metrics::Counter;
use kasoku_options::{ListenAddress, Listener};
use kasoku_sys::listen::BACKLOG;
use kasoku_sys::{AcceptedSocket, Acceptor, Stream};
use std::io;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// How long accepting pauses when there is no place, or when the process or the machine has no descriptors left.
const PAUSE: Duration = Duration::from_millis(100);

/// How long a connection that has begun may take until it can be accepted: a round trip, and the kernel's time.
const HANDSHAKE_TIME: Duration = Duration::from_millis(250);

/// How a listener ends.
pub(crate) enum Closed {
    /// Nothing listens there any more.
    ForGood,
    /// Another listener takes its socket over.
    Replaced,
}

/// Accepts until the worker stops or the listener is `closed`. Then accepts the clients that had connected before, where no other
/// process or listener will.
pub(crate) async fn run(
    worker: Rc<Worker>,
    acceptor: Acceptor,
    listener: Listener,
    mut closed: oneshot::Receiver<Closed>,
) {
    let proxy_protocol = listener.proxy_protocol;
    let mut stopped = std::pin::pin!(worker.stopped());
    let is_over = loop {
        let next = async {
            make_room(&worker, &acceptor).await?;
            acceptor.accept().await
        };
        let accepted = tokio::select! {
            accepted = next => accepted,
            () = &mut stopped => break worker.is_listening_ended(),
            closed = &mut closed => break matches!(closed, Ok(Closed::ForGood)),
        };
        match accepted {
            Ok(accepted) => take(&worker, accepted, proxy_protocol),
            // A connection that was reset before it was accepted needs no attention.
            Err(error) if is_about_one_connection(&error) => {}
            // A lack of descriptors or memory is temporary.
            Err(error) => {
                let closed = worker.close_idle();
                tracing::warn!(%error, closed, "accept");
                tokio::time::sleep(PAUSE).await;
            }
        }
    };
    // A descriptor that was handed over is another process's as well.
    if is_over && !matches!(listener.address, ListenAddress::Descriptor(_)) {
        finish(&worker, &acceptor, proxy_protocol).await;
    }
}

/// Waits until the worker may have another connection. Where a client waits for one, connections close that wait for nothing.
async fn make_room(worker: &Worker, acceptor: &Acceptor) -> io::Result<()> {
    while !worker.has_room() {
        acceptor.waiting().await?;
        worker.close_idle();
        wait_for_room(worker).await;
    }
    Ok(())
}

/// Waits for room, but no longer than a moment, after which others may have waited for long enough to be closed. (That a connection has left
/// may be said of one that left long ago.)
async fn wait_for_room(worker: &Worker) {
    let has_room = async {
        while !worker.has_room() {
            worker.one_has_left().await;
        }
    };
    let _ = tokio::time::timeout(PAUSE, has_room).await;
}

/// Accepts the clients that have begun to connect, as there is room. The socket is closed after this, which resets all that still
/// wait.
async fn finish(worker: &Rc<Worker>, acceptor: &Acceptor, proxy_protocol: bool) {
    let time = HANDSHAKE_TIME.min(worker.settings().limits.drain_idle_timeout);
    let has_no_more = acceptor.refuse_new().is_ok();
    for _ in 0..BACKLOG {
        while !worker.has_room() {
            worker.close_idle();
            wait_for_room(worker).await;
        }
        let accepted = match acceptor.try_accept() {
            // Waiting for more has an end only where the kernel lets no new connection begin.
            Ok(None) if has_no_more => match tokio::time::timeout(time, acceptor.accept()).await {
                Ok(Ok(accepted)) => accepted,
                _ => return,
            },
            Ok(Some(accepted)) => accepted,
            _ => return,
        };
        take(worker, accepted, proxy_protocol);
    }
}

/// Counts an accepted connection, and gives it to a worker.
fn take(worker: &Rc<Worker>, accepted: AcceptedSocket, proxy_protocol: bool) {
    worker.cells.count(Counter::Connections);
    place(worker, NewConnection::Connection(accepted, proxy_protocol));
}

/// Serves the connections that other workers hand over; once the worker stops, only those that are here already.
pub(crate) async fn take_over(worker: Rc<Worker>, mut inbox: mpsc::Receiver<HandedOverConnection>) {
    let mut stopped = std::pin::pin!(worker.stopped());
    loop {
        let handed_over = tokio::select! {
            handed_over = inbox.recv() => handed_over,
            () = &mut stopped, if !inbox.is_closed() => {
                inbox.close();
                continue;
            }
        };
        let Some(HandedOverConnection { fresh, counted }) = handed_over else { return };
        let place = worker.serves(counted);
        serve_in_a_task(&worker, fresh, place);
    }
}

/// Gives a fresh connection to the worker that should have it.
fn place(worker: &Rc<Worker>, mut fresh: NewConnection) {
    if let Some((inbox, counted)) = worker.least_loaded() {
        match inbox.try_send(HandedOverConnection { fresh, counted }) {
            Ok(()) => return,
            // That worker has as many on their way as it can take; or it stops, and so does this one.
            Err(refused) => fresh = refused.into_inner().fresh,
        }
    }
    let place = worker.enter();
    serve_in_a_task(worker, fresh, place);
}

fn is_about_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionAborted, ConnectionReset, Interrupted, InvalidInput, NotConnected, PermissionDenied,
    };
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionReset | Interrupted | InvalidInput | NotConnected | PermissionDenied
    )
}

/// Serves a connection to its end.
pub(crate) async fn serve(worker: Rc<Worker>, fresh: NewConnection, place: ConnectionSlot) {
    match fresh {
        NewConnection::Connection(accepted, proxy_protocol) => {
            let address = accepted.peer;
            let stream = Stream::accepted(accepted);
            // In an Rc at once, so that the task has no room for the connection itself.
            let opened = Box::pin(ClientConnection::open(&worker, stream, address, proxy_protocol)).await.map(Rc::new);
            match opened {
                Ok(connection) => match worker.count_address(connection.address()) {
                    Ok(_counted) => connection::serve(worker.clone(), connection).await,
                    Err(TooMany) => worker.cells.count(Counter::ConnectionsRefused),
                },
                Err(error) => tracing::debug!(%error, "no PROXY protocol header"),
            }
        }
        NewConnection::Visit(visit) => Box::pin(visited(&worker, visit())).await,
    }
    drop(place);
}

/// Serves a request that came through a door of the embedding program.
async fn visited(worker: &Rc<Worker>, visit: Visit) {
    let Visit { door, mut head, body } = visit;
    let body_bytes_max = worker.settings().limits.request_body_bytes_max;
    let checked = check(&mut head, body, body_bytes_max);
    let request = Request { head, body: *checked.as_ref().unwrap_or(&body) };
    let mut handling = Handling::begin(worker, door, request);
    if let Err(fault) = checked {
        handling = handling.refused(fault);
    }
    // The door has seen how it ended.
    let _ = handling.run().await;
}

/// Serves a connection in a task that waits, or in a new one.
fn serve_in_a_task(worker: &Rc<Worker>, fresh: NewConnection, place: ConnectionSlot) {
    if let Some(server) = worker.servers.give((fresh, place)) {
        // Boxed: a task is moved several times until it runs.
        tokio::task::spawn_local(Box::pin(serve_each(worker.clone(), server)));
    }
}

async fn serve_each(worker: Rc<Worker>, server: Rc<ConnectionTask<(NewConnection, ConnectionSlot)>>) {
    loop {
        let (fresh, place) = server.next().await;
        serve(worker.clone(), fresh, place).await;
        if !worker.servers.wait(&server) {
            return;
        }
    }
}
