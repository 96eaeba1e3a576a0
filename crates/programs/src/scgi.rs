//! Asks application servers over SCGI: one request on a connection, which ends with the answer.
//!
//! So only a Content-Length can tell whether an answer is complete: without it, a program that dies in the middle of its answer
//! looks like one that has finished. That is a limit of SCGI; FastCGI and HTTP don't have it.

mod connected;

use crate::Endpoint;
use crate::gateway::body::OutputSource;
use crate::gateway::output;
use crate::gateway::request::{GatewayRequest, NO_BODY};
use crate::response::Reply;
pub(crate) use connected::Connected;
use kasoku_origin::counters::Counters;
use kasoku_origin::group::ChosenOrigin;
use kasoku_origin::http::{OriginConnection, UploadTask};
use kasoku_origin::permits::Permit;
use kasoku_origin::{Error, Upload, UploadPiece};
use kasoku_sys::Stream;
use kasoku_wire::scgi::encode_scgi_request;
use std::io::IoSlice;
use std::rc::Rc;
use std::time::Duration;

/// One worker's client for all SCGI origins.
pub(crate) struct Scgi {
    counters: Rc<Counters>,
}

impl Scgi {
    /// SCGI keeps no connections between requests.
    pub(crate) fn new(counters: Rc<Counters>) -> Self {
        Self { counters }
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
        let connection = OriginConnection::open_for(choice, endpoint, limits, permit, &self.counters).await?;
        self.exchange(connection, gateway_request, gateway_request.body_of(upload)).await
    }

    /// Sends a health check on a connection of its own, which needs no permit.
    pub(crate) async fn check(&self, endpoint: &Endpoint, gateway_request: GatewayRequest<'_>) -> Result<Reply, Error> {
        let connection = OriginConnection::open(endpoint, gateway_request.request.limits.connect_timeout).await?;
        self.exchange(connection, gateway_request, NO_BODY).await
    }

    async fn exchange<U: Upload + 'static>(
        &self,
        connection: OriginConnection,
        gateway_request: GatewayRequest<'_>,
        body: Option<U>,
    ) -> Result<Reply, Error> {
        self.counters.request();
        let pause_max = gateway_request.request.limits.between_bytes_timeout;
        write(&connection.stream, &encoded(gateway_request), pause_max).await?;
        let upload = match body {
            None => UploadTask::none(),
            Some(body) => UploadTask::spawn(send_body(body, connection.stream.clone(), pause_max)),
        };
        let connected = Connected { connection, has_begun: false };
        output::reply(OutputSource::Scgi(Box::new(connected)), upload, gateway_request.request).await
    }
}

fn encoded(gateway_request: GatewayRequest<'_>) -> Vec<u8> {
    let variables = gateway_request.variables();
    // `encode_scgi_request` writes it, always and as the first variable.
    let others = variables.iter().filter(|(name, _)| *name != "CONTENT_LENGTH");
    let mut head = Vec::with_capacity(4096);
    let others = others.map(|(name, value)| (name.as_bytes(), value));
    encode_scgi_request(gateway_request.body_bytes.unwrap_or(0), others, &mut head);
    head
}

async fn send_body(mut body: impl Upload, stream: Rc<Stream>, pause_max: Duration) -> Result<(), Error> {
    while let UploadPiece::Data(piece) = body.next().await.map_err(Error::Upload)? {
        write(&stream, &piece, pause_max).await?;
    }
    Ok(())
}

async fn write(stream: &Stream, data: &[u8], pause_max: Duration) -> Result<(), Error> {
    stream.write_all(&mut [IoSlice::new(data)], pause_max).await.map_err(Error::from_write)
}
