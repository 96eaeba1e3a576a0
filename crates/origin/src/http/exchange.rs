//! One exchange with an HTTP origin: sends a request and waits for its final head.
//!
//! If the origin closes before its head, `FillTask::fail` in `engine/src/cache/fetch/fill_task.rs` goes on (a stale response where one
//! may be served, else 502). If it closes within the body, `pump` in `engine/src/cache/fetch/fill_body.rs` ends the writer, so nothing is
//! stored and readers are cut (`engine/src/deliver/mod.rs`).

use super::body::ResponseBody;
use super::connection::{ConnectionRoute, OriginConnection, with_deadline};
use super::pool::ConnectionPool;
use super::response::response;
use super::upload as sending;
use super::upload_task::UploadTask;
use crate::error::Error;
use crate::group::ChosenOrigin;
use crate::interim::{Interim, NoInterim};
use crate::limits::{INTERIM_RESPONSES_MAX, UNREPEATABLE_IDLE_MAX};
use crate::request::Request;
use crate::response::Response;
use crate::upload::{NoUpload, Upload, expects_continue, is_repeatable};
use crate::{Endpoint, Limits};
use http::StatusCode;
use kasoku_wire::http1::{BodyLength, encode_request_head};
use kasoku_wire::{RequestHead, ResponseHead};
use std::io::IoSlice;
use std::rc::Rc;

impl ConnectionPool {
    /// Sends a request and waits for the final head. `upload` is taken once the head is written. If it is still there after an error, the
    /// origin has got no complete head, and the request can be sent again.
    ///
    /// `head` must carry the fields that frame `upload`.
    pub async fn send<U: Upload + 'static>(
        self: &Rc<Self>,
        choice: &ChosenOrigin,
        endpoint: &Endpoint,
        request: &Request<'_>,
        upload: &mut Option<U>,
        interim: &mut impl Interim,
    ) -> Result<Response<Box<ResponseBody>>, Error> {
        let Request { head, limits } = *request;
        let is_repeatable = is_repeatable(head, upload);
        // The origin may close a kept connection at the moment in which this request uses it. A request that can't be repeated only uses
        // a connection that was in use a moment ago.
        let idle_max = if is_repeatable { limits.idle_timeout } else { limits.idle_timeout.min(UNREPEATABLE_IDLE_MAX) };
        let mut permit = Some(choice.take_permit(limits).await?);
        let route = ConnectionRoute::of(choice, endpoint, limits).await;
        // A trial is to find out whether a new connection can be made.
        let idle = if choice.is_trial() { None } else { self.take_idle(endpoint, &route, idle_max) };
        if let Some(mut connection) = idle {
            connection.permit = permit.take();
            match self.exchange(connection, endpoint, request, upload, interim).await {
                //= RFC 9110 section 9.2.2
                //# A proxy MUST NOT automatically retry non-idempotent requests.
                // Where `upload` is still there, writing the head failed: the origin has no complete request.
                Err(Error::ClosedBeforeResponse | Error::Io(_)) if is_repeatable || upload.is_some() => {
                    self.counters.retry();
                }
                done => return done,
            }
        }
        let permit = match permit {
            Some(permit) => permit,
            None => choice.take_permit(limits).await?,
        };
        let connection = OriginConnection::open_along(route, choice, endpoint, permit, &self.counters).await?;
        self.exchange(connection, endpoint, request, upload, interim).await
    }

    /// Sends a check on a connection of its own, which takes no permit and is not kept: an origin without a free permit must be checked
    /// as well. The body is not read.
    pub async fn check(self: &Rc<Self>, endpoint: &Endpoint, request: &Request<'_>) -> Result<ResponseHead, Error> {
        let connection = OriginConnection::open(endpoint, request.limits.connect_timeout).await?;
        let asked = self.exchange(connection, endpoint, request, &mut Some(NoUpload), &mut NoInterim).await;
        asked.map(|response| response.head)
    }

    async fn exchange<U: Upload + 'static>(
        self: &Rc<Self>,
        mut connection: OriginConnection,
        endpoint: &Endpoint,
        request: &Request<'_>,
        upload: &mut Option<U>,
        interim: &mut impl Interim,
    ) -> Result<Response<Box<ResponseBody>>, Error> {
        let Request { head, limits } = *request;
        self.counters.request();
        let mut block = Vec::with_capacity(head.fields.block().len() + head.target.len() + 32);
        encode_request_head(head, &mut block);
        let mut parts = [IoSlice::new(&block)];
        let written = connection.stream.write_all(&mut parts, limits.between_bytes_timeout).await;
        written.map_err(Error::from_write)?;

        let mut upload = match upload.take() {
            None => UploadTask::none(),
            Some(body) if matches!(body.length(), BodyLength::None) => UploadTask::none(),
            Some(body) => {
                let stream = connection.stream.clone();
                let sending = sending::send(body, stream, limits.between_bytes_timeout);
                match wait_for_continue(&mut connection, head, limits, interim).await? {
                    Some(refusal) => {
                        return self.response(connection, endpoint, head, refusal, UploadTask::unsent(), limits);
                    }
                    None => UploadTask::spawn(sending),
                }
            }
        };
        let final_head = final_head(&mut connection, head, &mut upload, limits, interim).await?;
        self.response(connection, endpoint, head, final_head, upload, limits)
    }

    fn response(
        self: &Rc<Self>,
        connection: OriginConnection,
        endpoint: &Endpoint,
        request: &RequestHead,
        head: ResponseHead,
        upload: UploadTask,
        limits: &Limits,
    ) -> Result<Response<Box<ResponseBody>>, Error> {
        response(self.clone(), connection, endpoint.clone(), request, head, upload, limits.clone())
    }
}

/// With `Expect: 100-continue`, holds the body until the origin answers 100 or a final status. Returns a final head: then the body is not
/// sent. If the origin does not answer in time, the body is sent anyway, and the client gets a 100 from Kasoku.
//= RFC 9110 section 10.1.1
//# A proxy MUST, upon receiving an HTTP/1.1 (or later) request that has a valid method, target URI, and complete header section that contains a 100-continue expectation and indicates a request message body will follow, either
//# send an immediate final status code
//# or
async fn wait_for_continue(
    connection: &mut OriginConnection,
    request: &RequestHead,
    limits: &Limits,
    interim: &mut impl Interim,
) -> Result<Option<ResponseHead>, Error> {
    if !expects_continue(request) {
        return Ok(None);
    }
    for _ in 0..INTERIM_RESPONSES_MAX {
        let head = connection.read_head(limits);
        match tokio::time::timeout(limits.continue_timeout, head).await {
            Err(_) => {
                interim.interim(ResponseHead::new(StatusCode::CONTINUE)).await;
                return Ok(None);
            }
            Ok(head) => match head? {
                head if head.status == StatusCode::SWITCHING_PROTOCOLS => return switched(request, head).map(Some),
                head if head.status.is_informational() => {
                    let goes_on = head.status == StatusCode::CONTINUE;
                    interim.interim(head).await;
                    if goes_on {
                        return Ok(None);
                    }
                }
                head => return Ok(Some(head)),
            },
        }
    }
    Err(Error::UnexpectedInterim)
}

/// Reads heads until the final one, while the request's body may still be on its way.
async fn final_head(
    connection: &mut OriginConnection,
    request: &RequestHead,
    upload: &mut UploadTask,
    limits: &Limits,
    interim: &mut impl Interim,
) -> Result<ResponseHead, Error> {
    for _ in 0..INTERIM_RESPONSES_MAX {
        let head = next_head(connection, upload, limits).await?;
        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            return switched(request, head);
        }
        if !head.status.is_informational() {
            return Ok(head);
        }
        interim.interim(head).await;
    }
    Err(Error::UnexpectedInterim)
}

/// A 101 is valid only if it switches to the protocol that the request asked for.
//= RFC 9110 section 7.8
//# A server MUST NOT switch to a protocol that was not indicated by the client in the corresponding request's Upgrade header field.
fn switched(request: &RequestHead, head: ResponseHead) -> Result<ResponseHead, Error> {
    let asked = request.fields.first("upgrade");
    let is_asked = asked.zip(head.fields.only("upgrade")).is_some_and(|(asked, got)| asked.eq_ignore_ascii_case(got));
    if is_asked { Ok(head) } else { Err(Error::UnexpectedInterim) }
}

async fn next_head(
    connection: &mut OriginConnection,
    upload: &mut UploadTask,
    limits: &Limits,
) -> Result<ResponseHead, Error> {
    // The time for the first byte counts from the end of the request. While the body is on its way, the body's own limits hold.
    if upload.is_running() {
        tokio::select! {
            biased;
            head = connection.read_head(limits) => return head,
            sent = upload.ended() => match sent {
                Ok(()) => {}
                // The origin may have answered and closed before it read the whole body: its answer counts.
                Err(Error::Io(_)) => {}
                Err(error) => return Err(error),
            },
        }
    }
    with_deadline(limits.first_byte_timeout, Error::FirstByteTimeout, connection.read_head(limits)).await
}
