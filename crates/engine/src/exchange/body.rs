//! Reads a request's body from the client, to be sent to an origin.
//!
//! **Taken in** ([`ClientBody::take_in`]), where an origin is a program or a setting says so: the whole body is read before an
//! origin is asked. So no client holds a place at an origin by sending slowly, and the body's length is known then. What a request
//! may keep in memory is charged to the memory for responses. A longer body, and everything beyond 16 KiB while memory is short,
//! goes to disk (`spool`). docs/decisions/0019.
//!
//! **Streamed** otherwise: the beginning is read before an origin is asked ([`ClientBody::read_ahead`]). A small body is read
//! entirely, so that an origin never hears of a small body that breaks off. The rest is read only as the origin's connection takes
//! it, so a slow origin slows the client: back-pressure.
//!
//! In both cases the client must keep a minimum rate (`pace`).

use crate::door::Door;
use crate::exchange::form_body::FormBuffer;
use crate::exchange::pace::Pace;
use crate::runtime::spool::SpoolFile;
use crate::runtime::worker::Worker;
use bytes::{Bytes, BytesMut};
use kasoku_cache::SpareCharge;
use kasoku_options::{ClientLimits, RequestBuffer};
use kasoku_origin::error::UploadError;
use kasoku_origin::{Upload, UploadPiece};
use kasoku_semantics::hop_by_hop::forwardable_request_trailers;
use kasoku_wire::Fields;
use kasoku_wire::http1::BodyLength;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;
use tokio::time::Instant;

/// How much of a body is read before an origin is asked, in bytes. Most forms are shorter.
const BODY_AHEAD_BYTES: usize = 16 << 10;

/// What a body that is taken in may keep in memory, in bytes. It goes to disk in pieces of that size.
const MEMORY_BYTES_MAX: usize = 64 << 10;

/// The client's body, as an upload to an origin.
pub(crate) struct ClientBody {
    door: Rc<dyn Door>,
    length: BodyLength,
    received: u64,
    bytes_max: u64,
    pace: Pace,
    /// The request's fields, which say what its trailers may not be.
    head: Fields,
    /// What has been read already: `file` has its beginning, `ahead` what follows, however it came, and `end` its end.
    file: Option<SpoolFile>,
    ahead: BytesMut,
    memory_bytes_max: usize,
    charge: Option<SpareCharge>,
    end: Option<UploadPiece>,
    /// Keeps the beginning of the body, if it is a form that says what the request changes.
    form: Option<FormBuffer>,
}

impl ClientBody {
    pub(crate) fn new(door: Rc<dyn Door>, limits: &ClientLimits, length: BodyLength, head: Fields) -> Self {
        let bytes_max = limits.request_body_bytes_max;
        let pace = Pace::new(limits.body_timeout, limits.body_rate_min);
        let (file, ahead, charge, end, form) = Default::default();
        let (received, memory_bytes_max) = (0, BODY_AHEAD_BYTES);
        Self { door, length, received, bytes_max, pace, head, file, ahead, memory_bytes_max, charge, end, form }
    }

    /// Keeps the beginning of the body in `form` as it is read.
    pub(crate) fn keeping(self, form: Option<FormBuffer>) -> Self {
        Self { form, ..self }
    }

    /// Reads until the body is complete or [`BODY_AHEAD_BYTES`] of it are there.
    pub(crate) async fn read_ahead(&mut self) -> Result<(), UploadError> {
        while self.ahead.len() < BODY_AHEAD_BYTES && self.end.is_none() {
            match self.read().await? {
                UploadPiece::Data(data) => self.ahead.extend_from_slice(&data),
                end @ UploadPiece::End(_) => self.end = Some(end),
            }
        }
        Ok(())
    }

    /// Checks whether the body can be taken in, as far as that is known before it comes, and charges what it may keep in memory.
    ///
    /// # Errors
    /// [`UploadError::TooLarge`]: it never can. [`UploadError::NoRoom`]: it can't now.
    pub(crate) fn reserve(&mut self, worker: &Worker, buffer: &RequestBuffer) -> Result<(), UploadError> {
        self.charge(worker);
        match self.length {
            BodyLength::Length(bytes) if bytes <= self.memory_bytes_max as u64 => Ok(()),
            BodyLength::Length(bytes) if bytes > buffer.bytes_max => Err(UploadError::TooLarge),
            BodyLength::Length(bytes) if !worker.spool.has_room_for(bytes, buffer.bytes_max) => {
                Err(UploadError::NoRoom)
            }
            _ => Ok(()),
        }
    }

    /// Reads the whole body; returns its length in bytes.
    pub(crate) async fn take_in(&mut self, worker: &Worker, buffer: &RequestBuffer) -> Result<u64, UploadError> {
        while self.end.is_none() {
            match self.read().await? {
                UploadPiece::Data(data) => {
                    if self.ahead.len() + data.len() > self.memory_bytes_max {
                        self.write_down(worker, buffer).await?;
                    }
                    self.ahead.extend_from_slice(&data);
                }
                end @ UploadPiece::End(_) => self.end = Some(end),
            }
        }
        if self.ahead.len() <= BODY_AHEAD_BYTES {
            self.charge = None;
        }
        self.length = BodyLength::Length(self.received);
        Ok(self.received)
    }

    /// Charges what the body may keep in memory, as far as that is more than each connection may hold.
    fn charge(&mut self, worker: &Worker) {
        let bytes = match self.length {
            BodyLength::Length(bytes) => usize::try_from(bytes).unwrap_or(MEMORY_BYTES_MAX).min(MEMORY_BYTES_MAX),
            _ => MEMORY_BYTES_MAX,
        };
        if bytes > BODY_AHEAD_BYTES {
            self.charge = worker.cache.try_charge(bytes as u64);
        }
        if self.charge.is_some() {
            self.memory_bytes_max = bytes;
        }
    }

    /// Moves what is in memory to disk.
    async fn write_down(&mut self, worker: &Worker, buffer: &RequestBuffer) -> Result<(), UploadError> {
        let data = self.ahead.split().freeze();
        if data.is_empty() {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(SpoolFile::create(&worker.spool, buffer).await?),
        };
        file.write(data, buffer.bytes_max).await
    }

    /// The next piece from the client.
    async fn read(&mut self) -> Result<UploadPiece, UploadError> {
        let at_once = poll_fn(|cx| match self.door.poll_body(cx) {
            Poll::Ready(piece) => Poll::Ready(Some(piece)),
            Poll::Pending => Poll::Ready(None),
        });
        let (piece, waited) = match at_once.await {
            Some(piece) => (piece?, Duration::ZERO),
            None => self.wait().await?,
        };
        match piece {
            UploadPiece::Data(data) => {
                self.pace.waited(waited, data.len());
                self.received += data.len() as u64;
                if self.received > self.bytes_max {
                    return Err(UploadError::TooLarge);
                }
                if let Some(form) = &self.form {
                    form.goes_on(&data);
                }
                Ok(UploadPiece::Data(data))
            }
            UploadPiece::End(trailers) => {
                Ok(UploadPiece::End(trailers.and_then(|trailers| forwardable_request_trailers(trailers, &self.head))))
            }
        }
    }

    /// Waits until the client has sent more; returns how long that took as well.
    async fn wait(&self) -> Result<(UploadPiece, Duration), UploadError> {
        let begun = Instant::now();
        let next = poll_fn(|cx| self.door.poll_body(cx));
        let piece = tokio::time::timeout(self.pace.wait_max(), next).await.map_err(|_| UploadError::Timeout)??;
        Ok((piece, begun.elapsed()))
    }

    /// The next piece of what is on disk.
    async fn read_back(&mut self) -> Result<Option<Bytes>, UploadError> {
        let Some(file) = &mut self.file else { return Ok(None) };
        let piece = file.read().await?;
        if piece.is_none() {
            self.file = None;
        }
        Ok(piece)
    }
}

impl Upload for ClientBody {
    fn length(&self) -> BodyLength {
        self.length
    }

    async fn next(&mut self) -> Result<UploadPiece, UploadError> {
        if let Some(data) = self.read_back().await? {
            return Ok(UploadPiece::Data(data));
        }
        if !self.ahead.is_empty() {
            return Ok(UploadPiece::Data(self.ahead.split().freeze()));
        }
        match self.end.take() {
            Some(end) => Ok(end),
            None => self.read().await,
        }
    }
}
