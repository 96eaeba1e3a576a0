//! One pipelined connection to one address, for one worker.
//!
//! The redis crate writes commands as they come, and gives the replies to them in their order. It keeps a place in that order for each command
//! that it has written, also where nobody waits any more (`PipelineSink::send_result` of its multiplexed connection takes the place off,
//! whether its receiver lives or not). And `framing` ends a connection that sends a reply too many. So a late reply is never taken for another
//! one's. Nevertheless:
//!
//! * A command without a reply in time closes the connection, and all commands on it fail. This is one failure of the server.
//! * Where a command is dropped after it was sent, a `PING` is sent behind it, and keeps its place in what may be in flight. So a server that
//!   does not answer is noticed, and what is in flight stays bounded, also if nobody waits.
//! * A connection that the server closes while nothing waits is no failure. The next command connects anew.
//! * So it does where the server's name has moved. Commands on the old connection still get their replies.

use super::commands::{self, failure};
use super::replication::{self, Replication};
use super::servers::{Primary, Redis};
use super::stream::BoundedStream;
use crate::dialer::Dialer;
use crate::failure::Failure;
use crate::load::{Admission, IN_FLIGHT_MAX, Load};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, Value};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Handle;
use tokio::sync;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

/// See the [module](self).
pub(super) struct Connection {
    redis: Arc<Redis>,
    node: usize,
    load: Arc<Load>,
    open: Mutex<Option<Arc<Open>>>,
    /// One command connects, and the others wait for it.
    dialer: sync::Mutex<Dialer>,
}

/// An open connection. It closes when this is dropped.
struct Open {
    pipeline: MultiplexedConnection,
    driver: OwnTask,
    /// Ends when the server's name has moved.
    moved: OwnTask,
    replication: Replication,
}

/// A task that ends with this, such as the one that writes and reads.
struct OwnTask(JoinHandle<()>);

impl Drop for OwnTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connection {
    /// A connection to this address. Nothing is connected before the first command.
    pub(super) fn new(redis: &Arc<Redis>, node: usize) -> Option<Arc<Self>> {
        let address = redis.addresses().get(node)?;
        let dialer = Dialer::new(address.endpoint.clone()).with_tls(address.tls.clone());
        let (load, open, dialer) = (Arc::default(), Mutex::default(), sync::Mutex::new(dialer));
        Some(Arc::new(Self { redis: redis.clone(), node, load, open, dialer }))
    }

    /// Sends a command to the primary that was found at this address.
    pub(super) async fn ask(
        self: &Arc<Self>,
        primary: Primary,
        command: &Cmd,
        value_bytes: usize,
        deadline: Instant,
    ) -> Result<Value, Failure> {
        let admission = self.load.admit(value_bytes).ok_or(Failure::Busy)?;
        let mut used = None;
        let asked = async {
            let open = self.open_to(primary).await?;
            self.send(used.insert(open), command, admission).await
        };
        let result = timeout_at(deadline, asked).await.unwrap_or(Err(Failure::Timeout));
        if let Err(failure) = &result
            && !failure.is_about_the_request()
        {
            used.iter().for_each(|open| self.close(open));
            self.redis.failed(primary, failure);
        }
        result
    }

    /// What the server at this address says of itself, whether it is the primary or not.
    pub(super) async fn replication(self: &Arc<Self>, deadline: Instant) -> Result<Replication, Failure> {
        let admission = self.load.admit(0).ok_or(Failure::Busy)?;
        let mut used = None;
        let asked = async {
            let open = match self.current() {
                Some(open) => open,
                None => {
                    let mut dialer = self.dialer.lock().await;
                    match self.current() {
                        Some(open) => open,
                        None => self.connect(&mut dialer).await?,
                    }
                }
            };
            replication::read(self.send(used.insert(open), &commands::info(), admission).await?)
        };
        let result = timeout_at(deadline, asked).await.unwrap_or(Err(Failure::Timeout));
        if result.is_err() {
            used.iter().for_each(|open| self.close(open));
        }
        result
    }

    /// A connection to this primary: one on which the server has said that it is the primary, with this history.
    async fn open_to(&self, primary: Primary) -> Result<Arc<Open>, Failure> {
        let expected = Replication { is_primary: true, history: primary.history };
        if let Some(open) = self.current()
            && open.replication == expected
        {
            return Ok(open);
        }
        let mut dialer = self.dialer.lock().await;
        if let Some(open) = self.current()
            && open.replication == expected
        {
            return Ok(open);
        }
        // If another command has failed to connect meanwhile, so would this one.
        if self.redis.primary() != Some(primary) {
            return Err(Failure::NoPrimary);
        }
        let opened = self.connect(&mut dialer).await.and_then(|open| {
            let is_expected = open.replication == expected;
            let other = || Failure::Unusable("it is no primary any more, or has another history".to_owned());
            if is_expected { Ok(open) } else { Err(other()) }
        });
        if let Err(failure) = &opened {
            self.redis.failed(primary, failure);
        }
        opened
    }

    async fn connect(&self, dialer: &mut Dialer) -> Result<Arc<Open>, Failure> {
        let address = self.redis.addresses().get(self.node).ok_or(Failure::NoSuchServer(self.node))?;
        // The caller's deadline comes first.
        let stream = dialer.dial(Instant::now() + self.redis.operation_timeout()).await?;
        let moved = dialer.moved(&stream);
        let stream = BoundedStream::new(stream, self.redis.clone());
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(None)
            .set_connection_timeout(None)
            .set_pipeline_buffer_size(IN_FLIGHT_MAX);
        let connected = MultiplexedConnection::new_with_config(&address.login, stream, config).await;
        let (mut pipeline, driver) = connected.map_err(|error| failure(&error))?;
        let (driver, moved) = (OwnTask(tokio::spawn(driver)), OwnTask(tokio::spawn(moved)));
        let reply = pipeline.send_packed_command(&commands::info()).await.map_err(|error| failure(&error))?;
        let open = Arc::new(Open { pipeline, driver, moved, replication: replication::read(reply)? });
        *self.lock() = Some(open.clone());
        Ok(open)
    }

    async fn send(self: &Arc<Self>, open: &Arc<Open>, command: &Cmd, admission: Admission) -> Result<Value, Failure> {
        let mut pipeline = open.pipeline.clone();
        let mut sent = Sent { connection: self, open: Some(open.clone()), admission: Some(admission) };
        let reply = pipeline.send_packed_command(command).await;
        sent.open = None;
        reply.map_err(|error| failure(&error))
    }

    /// The open connection, if it has not ended, and leads to where the server is.
    fn current(&self) -> Option<Arc<Open>> {
        let is_current = |open: &&Arc<Open>| !open.driver.0.is_finished() && !open.moved.0.is_finished();
        self.lock().as_ref().filter(is_current).cloned()
    }

    /// Closes an open connection. All commands on it fail at once.
    fn close(&self, open: &Arc<Open>) {
        self.lock().take_if(|current| Arc::ptr_eq(current, open));
        open.driver.0.abort();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<Open>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A command that was sent. If nobody waits for its reply any more, a `PING` behind it does.
struct Sent<'c> {
    connection: &'c Arc<Connection>,
    open: Option<Arc<Open>>,
    admission: Option<Admission>,
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        let (Some(open), Some(admission)) = (self.open.take(), self.admission.take()) else { return };
        let connection = self.connection.clone();
        let Ok(runtime) = Handle::try_current() else { return connection.close(&open) };
        let deadline = Instant::now() + connection.redis.operation_timeout();
        runtime.spawn(async move {
            let _admission = admission;
            let mut pipeline = open.pipeline.clone();
            let answered = timeout_at(deadline, pipeline.send_packed_command(&commands::ping())).await;
            // If the connection has ended meanwhile, somebody has noticed.
            if answered.is_err() && !open.driver.0.is_finished() {
                connection.close(&open);
                if let Some(primary) = connection.redis.primary().filter(|primary| primary.node == connection.node) {
                    connection.redis.failed(primary, &Failure::Timeout);
                }
            }
        });
    }
}
