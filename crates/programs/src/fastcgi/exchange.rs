//! Sends one request over FastCGI, on a kept connection or a new one.

use super::keeper::Keeper;
use super::records::{After, Records};
use crate::gateway::body::OutputSource;
use crate::gateway::log::ErrorLog;
use crate::gateway::output;
use crate::gateway::request::{GatewayRequest, NO_BODY};
use crate::response::Reply;
use crate::spawned::Supervisor;
use crate::{Endpoint, Limits};
use kasoku_options::SpawnedProgram;
use kasoku_origin::counters::Counters;
use kasoku_origin::group::ChosenOrigin;
use kasoku_origin::http::{ConnectionPool, ConnectionRoute, OriginConnection, UploadTask};
use kasoku_origin::limits::UNREPEATABLE_IDLE_MAX;
use kasoku_origin::permits::Permit;
use kasoku_origin::{Error, OriginState, Upload, UploadPiece};
use kasoku_sys::Stream;
use kasoku_wire::fastcgi::CONTENT_BYTES_MAX;
use kasoku_wire::fastcgi::encode::{encode_begin_request, encode_params, encode_stdin_end, encode_stdin_header};
use std::io::IoSlice;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// A connection carries one request at a time, so all requests may have the same number.
const REQUEST_ID: u16 = 1;

/// One worker's client for all FastCGI origins.
pub(crate) struct FastCgi {
    pool: Rc<ConnectionPool>,
    counters: Rc<Counters>,
}

impl FastCgi {
    /// No connection is opened yet.
    pub(crate) fn new(counters: Rc<Counters>) -> Self {
        Self { pool: Rc::new(ConnectionPool::new(counters.clone())), counters }
    }

    /// Asks a program, and waits for the head of its answer. `upload` is taken when there is a connection for it.
    pub(crate) async fn send<U: Upload + 'static>(
        &self,
        endpoint: &Endpoint,
        choice: &ChosenOrigin,
        permit: Permit,
        gateway_request: GatewayRequest<'_>,
        upload: &mut Option<U>,
    ) -> Result<Reply, Error> {
        let limits = gateway_request.request.limits;
        let idle_max = if gateway_request.is_repeatable {
            limits.idle_timeout
        } else {
            limits.idle_timeout.min(UNREPEATABLE_IDLE_MAX)
        };
        let after = || self.after(endpoint, limits, &choice.origin);
        let mut permit = Some(permit);
        // A trial finds out whether the origin accepts connections, so it needs a new one.
        let route = ConnectionRoute::of(choice, endpoint, limits).await;
        let idle = if choice.is_trial() { None } else { self.pool.take_idle(endpoint, &route, idle_max) };
        if let Some(mut connection) = idle {
            connection.kept = None;
            connection.permit = permit.take();
            if !gateway_request.is_repeatable {
                return self
                    .exchange(connection, endpoint, gateway_request, gateway_request.body_of(upload), after())
                    .await;
            }
            // The application server may close a kept connection at the moment in which Kasoku uses it.
            match self.exchange(connection, endpoint, gateway_request, NO_BODY, after()).await {
                Err(Error::ClosedBeforeResponse | Error::Io(_)) => self.counters.retry(),
                done => return done,
            }
        }
        let permit = match permit {
            Some(permit) => permit,
            None => choice.take_permit(limits).await?,
        };
        let connection = OriginConnection::open_along(route, choice, endpoint, permit, &self.counters).await?;
        self.exchange(connection, endpoint, gateway_request, gateway_request.body_of(upload), after()).await
    }

    /// The same for a program that Kasoku has started itself.
    pub(crate) async fn send_spawned<U: Upload + 'static>(
        &self,
        spawned: &SpawnedProgram,
        choice: &ChosenOrigin,
        permit: Permit,
        gateway_request: GatewayRequest<'_>,
        upload: &mut Option<U>,
    ) -> Result<Reply, Error> {
        let lease = Supervisor::lease(&choice.origin, spawned, gateway_request.request.limits.queue_timeout).await?;
        let (endpoint, limits) = (lease.endpoint(), gateway_request.request.limits);
        let connection = OriginConnection::open_for(choice, &endpoint, limits, permit, &self.counters).await?;
        let body = gateway_request.body_of(upload);
        self.exchange(connection, &endpoint, gateway_request, body, After::GiveBack(lease)).await
    }

    /// Sends a health check on a connection of its own, which needs no permit and is not kept.
    pub(crate) async fn check(&self, endpoint: &Endpoint, gateway_request: GatewayRequest<'_>) -> Result<Reply, Error> {
        let connection = OriginConnection::open(endpoint, gateway_request.request.limits.connect_timeout).await?;
        self.exchange(connection, endpoint, gateway_request, NO_BODY, After::Close).await
    }

    /// Closes connections that were idle for too long, or that the server has closed. To be called from time to time.
    pub(crate) fn sweep(&self) {
        self.pool.sweep();
    }

    /// What to do with a connection after an answer.
    fn after(&self, endpoint: &Endpoint, limits: &Limits, origin: &Arc<OriginState>) -> After {
        if limits.kept_connections_max == 0 {
            return After::Close;
        }
        After::Keep(Box::new(Keeper {
            pool: self.pool.clone(),
            endpoint: endpoint.clone(),
            limits: limits.clone(),
            origin: origin.clone(),
        }))
    }

    async fn exchange<U: Upload + 'static>(
        &self,
        connection: OriginConnection,
        endpoint: &Endpoint,
        gateway_request: GatewayRequest<'_>,
        body: Option<U>,
        after: After,
    ) -> Result<Reply, Error> {
        self.counters.request();
        let pause_max = gateway_request.request.limits.between_bytes_timeout;
        let params = encoded(gateway_request);
        let (mut begin, mut end) = (Vec::with_capacity(16), Vec::with_capacity(8));
        encode_begin_request(REQUEST_ID, matches!(after, After::Keep(_)), &mut begin);
        if body.is_none() {
            encode_stdin_end(REQUEST_ID, &mut end);
        }
        let mut head = [IoSlice::new(&begin), IoSlice::new(&params), IoSlice::new(&end)];
        write(&connection.stream, &mut head, pause_max).await?;
        let upload = match body {
            None => UploadTask::none(),
            Some(body) => UploadTask::spawn(send_stdin(body, connection.stream.clone(), pause_max)),
        };
        let log = ErrorLog::new(format!("fastcgi://{endpoint}"), &gateway_request.request.connection.request_id);
        let records = Records::new(connection, REQUEST_ID, log, after);
        output::reply(OutputSource::FastCgi(Box::new(records)), upload, gateway_request.request).await
    }
}

/// The encoded stream PARAMS.
fn encoded(gateway_request: GatewayRequest<'_>) -> Vec<u8> {
    let variables = gateway_request.variables();
    let mut params = Vec::with_capacity(4096);
    encode_params(REQUEST_ID, variables.iter().map(|(name, value)| (name.as_bytes(), value)), &mut params);
    params
}

/// Sends a body as the stream STDIN; each piece must be taken within `pause_max`. Trailers are dropped: programs have no way
/// to read them.
async fn send_stdin(mut body: impl Upload, stream: Rc<Stream>, pause_max: Duration) -> Result<(), Error> {
    let mut header = Vec::with_capacity(16);
    while let UploadPiece::Data(piece) = body.next().await.map_err(Error::Upload)? {
        for content in piece.chunks(CONTENT_BYTES_MAX) {
            header.clear();
            encode_stdin_header(REQUEST_ID, content.len(), &mut header);
            write(&stream, &mut [IoSlice::new(&header), IoSlice::new(content)], pause_max).await?;
        }
    }
    header.clear();
    encode_stdin_end(REQUEST_ID, &mut header);
    write(&stream, &mut [IoSlice::new(&header)], pause_max).await
}

async fn write(stream: &Stream, parts: &mut [IoSlice<'_>], pause_max: Duration) -> Result<(), Error> {
    stream.write_all(parts, pause_max).await.map_err(Error::from_write)
}
