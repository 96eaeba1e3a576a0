//! The request's body, read from the client's connection.
//!
//! **Taken in** ([`ClientBody::take_in`]), where an origin is a program or a setting says so: all of it is read before an origin is
//! asked, so that no client holds a place at an origin by sending slowly, and its length is known then. What a request may keep
//! in memory is charged to the account of responses; what is longer, and everything beyond 16 KiB while memory is short, goes
//! to disk (`spool`). docs/decisions/0019.
//!
//! **Streamed** else: its beginning is read before an origin is asked ([`ClientBody::read_ahead`]): a small body entirely, so that an
//! origin never hears of a small body that breaks. Of the rest nothing is read before the origin's connection takes it, so a
//! slow origin slows the client: back-pressure.
//!
//! Either way, the client has to keep a pace (`pace`).

use crate::connection::{Connection, Read};
use crate::form::Form;
use crate::pace::Pace;
use crate::read_ahead::READ_BYTES;
use crate::request::message::BodyState;
use crate::spool::SpoolFile;
use crate::worker::Worker;
use bytes::{Bytes, BytesMut};
use kasoku_cache::SpareCharge;
use kasoku_options::RequestBuffer;
use kasoku_origin::error::UploadError;
use kasoku_origin::{Upload, UploadPiece};
use kasoku_semantics::hop_by_hop::forwardable_trailers;
use kasoku_wire::Fields;
use kasoku_wire::http1::{BodyDecoder, BodyLength, Decoded};
use std::rc::Rc;
use tokio::time::Instant;

/// How much of a body is read before an origin is asked, in bytes: what one read of a client's socket gives at most. Most
/// forms are shorter.
const BODY_AHEAD_BYTES: usize = READ_BYTES;

/// What a body that is taken in may keep in memory, in bytes. What goes to disk goes there in pieces of that size.
const MEMORY_BYTES_MAX: usize = 64 << 10;

/// The body as something to send.
pub(crate) struct ClientBody {
    connection: Rc<Connection>,
    decoder: BodyDecoder,
    length: BodyLength,
    received: u64,
    pace: Pace,
    state: BodyState,
    /// The request's own fields, which say what its trailers may not be.
    head: Fields,
    /// What has been read already: its front on disk, what follows in one piece however it came, and its end.
    file: Option<SpoolFile>,
    ahead: BytesMut,
    memory_bytes_max: usize,
    charge: Option<SpareCharge>,
    end: Option<UploadPiece>,
    /// What of it is kept for whoever has to know what the request changes.
    form: Option<Form>,
}

impl ClientBody {
    pub(crate) fn new(connection: Rc<Connection>, length: BodyLength, state: BodyState, head: Fields) -> Self {
        let limits = &connection.limits;
        let decoder = BodyDecoder::new(length, &limits.body);
        let pace = Pace::new(limits.body_timeout, limits.body_rate_min);
        let (file, ahead, charge, end, form) = Default::default();
        let (received, memory_bytes_max) = (0, BODY_AHEAD_BYTES);
        Self {
            connection,
            decoder,
            length,
            received,
            pace,
            state,
            head,
            file,
            ahead,
            memory_bytes_max,
            charge,
            end,
            form,
        }
    }

    /// Keeps its beginning as it goes on.
    pub(crate) fn keeping(self, form: Option<Form>) -> Self {
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

    /// Sees whether it could be taken in, as far as that is known before it comes, and charges what it may keep in memory.
    ///
    /// # Errors
    /// [`UploadError::TooLarge`]: never. [`UploadError::NoRoom`]: not now.
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

    /// Reads all of it: so many bytes.
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

    /// What any body may keep in memory is part of what a connection takes; what is more, is charged.
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

    /// Puts what is in memory on disk.
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

    /// The next piece from the connection.
    async fn read(&mut self) -> Result<UploadPiece, UploadError> {
        loop {
            let decoded = self.connection.read_ahead.borrow_mut().decode(|bytes| self.decoder.decode(bytes));
            match decoded.map_err(|_| UploadError::Malformed)? {
                Decoded::Data(data) => {
                    self.received += data.len() as u64;
                    if self.received > self.connection.limits.request_body_bytes_max {
                        return Err(UploadError::TooLarge);
                    }
                    if let Some(form) = &self.form {
                        form.goes_on(&data);
                    }
                    return Ok(UploadPiece::Data(data));
                }
                Decoded::End(trailers) => {
                    self.state.complete();
                    return Ok(UploadPiece::End(
                        trailers.and_then(|trailers| forwardable_trailers(trailers, &self.head)),
                    ));
                }
                Decoded::NeedMore => self.wait().await?,
            }
        }
    }

    /// Waits until the client has sent more.
    async fn wait(&mut self) -> Result<(), UploadError> {
        let begun = Instant::now();
        match tokio::time::timeout(self.pace.wait_max(), self.connection.read_more()).await {
            Err(_) => Err(UploadError::Timeout),
            Ok(Ok(Read { bytes: bytes @ 1.., .. })) => {
                self.pace.waited(begun.elapsed(), bytes);
                Ok(())
            }
            Ok(_) => Err(UploadError::Closed),
        }
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
