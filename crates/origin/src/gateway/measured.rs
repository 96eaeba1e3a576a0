//! A request's body whose length is known.
//!
//! Programs are told CONTENT_LENGTH (RFC 3875 section 4.1.2) and read so many bytes: php-fpm, for one, takes a request without it
//! for one without a body. A client that sends in chunks does not say how many come, so such a body is read before the
//! program is asked, up to a bound; a longer one gets 411, and the client may send it again with its length.

use crate::error::{Error, UploadError};
use crate::upload::{Upload, UploadPiece};
use bytes::{Bytes, BytesMut};
use kasoku_wire::http1::BodyLength;

/// The most of a body of unknown length that is read ahead, in bytes. Each such request holds a place at its origin
/// meanwhile, so this times the places bounds the memory.
const READ_AHEAD_BYTES_MAX: usize = 256 << 10;

/// What is known of a request's body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Measured {
    /// There is none.
    None,
    /// So many bytes, still with the client.
    Told(u64),
    /// It was read to its end.
    Read(Bytes),
    /// It is too long to find out.
    TooLong,
}

impl Measured {
    /// Looks at `upload`; where nothing else tells its length, takes it and reads it.
    pub(crate) async fn of<U: Upload>(upload: &mut Option<U>) -> Result<Self, Error> {
        match upload.as_ref().map_or(BodyLength::None, Upload::length) {
            BodyLength::None => Ok(Self::None),
            BodyLength::Length(bytes) => Ok(Self::Told(bytes)),
            BodyLength::Chunked | BodyLength::UntilClose => Self::read(upload.take()).await.map_err(Error::Upload),
        }
    }

    async fn read(upload: Option<impl Upload>) -> Result<Self, UploadError> {
        let Some(mut upload) = upload else { return Ok(Self::None) };
        let mut body = BytesMut::new();
        loop {
            match upload.next().await? {
                UploadPiece::End(_) => return Ok(Self::Read(body.freeze())),
                UploadPiece::Data(data) if body.len() + data.len() > READ_AHEAD_BYTES_MAX => return Ok(Self::TooLong),
                UploadPiece::Data(data) => body.extend_from_slice(&data),
            }
        }
    }

    /// CONTENT_LENGTH; none without a body.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match self {
            Self::None | Self::TooLong => None,
            Self::Told(bytes) => Some(*bytes),
            Self::Read(body) => Some(body.len() as u64),
        }
    }

    /// The body to send: what was read, or `upload`, which is taken.
    pub(crate) fn pieces<U: Upload>(self, upload: &mut Option<U>) -> Option<Pieces<U>> {
        match self {
            Self::None | Self::TooLong => None,
            Self::Told(_) => upload.take().map(Pieces::Client),
            Self::Read(body) => Some(Pieces::Read(body)),
        }
    }
}

/// A body on its way to a program. Trailers are dropped: programs have no way to read them.
pub(crate) enum Pieces<U> {
    /// From the client.
    Client(U),
    /// What is left of what was read.
    Read(Bytes),
}

impl<U: Upload> Pieces<U> {
    /// The next piece, never empty; `None` after the last.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, UploadError> {
        match self {
            Self::Client(upload) => loop {
                match upload.next().await? {
                    UploadPiece::Data(data) if data.is_empty() => {}
                    UploadPiece::Data(data) => return Ok(Some(data)),
                    UploadPiece::End(_) => return Ok(None),
                }
            },
            Self::Read(body) => Ok(Some(std::mem::take(body)).filter(|body| !body.is_empty())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of one size, in chunks.
    struct Chunks {
        piece: Bytes,
        left: usize,
    }

    impl Upload for Chunks {
        fn length(&self) -> BodyLength {
            BodyLength::Chunked
        }

        async fn next(&mut self) -> Result<UploadPiece, UploadError> {
            if self.left == 0 {
                return Ok(UploadPiece::End(None));
            }
            self.left -= 1;
            Ok(UploadPiece::Data(self.piece.clone()))
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn what_comes_in_chunks_is_read_up_to_the_bound() {
        let piece = Bytes::from(vec![b'x'; READ_AHEAD_BYTES_MAX / 4]);
        let measured = async |left| Measured::of(&mut Some(Chunks { piece: piece.clone(), left })).await.unwrap();
        assert_eq!(measured(4).await.bytes(), Some(READ_AHEAD_BYTES_MAX as u64));
        assert_eq!(measured(0).await, Measured::Read(Bytes::new()));
        assert_eq!(measured(5).await, Measured::TooLong);
    }
}
