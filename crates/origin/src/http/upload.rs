//! Sends the request's body, framed as its head says.

use crate::error::Error;
use crate::upload::{Upload, UploadPiece};
use kasoku_sys::Stream;
use kasoku_wire::http1::{BodyLength, encode_chunk_head, encode_last_chunk};
use std::io::IoSlice;
use std::rc::Rc;
use std::time::Duration;

/// Sends all of `upload`; each piece must be taken within `pause_max`.
pub(super) async fn send(mut upload: impl Upload, stream: Rc<Stream>, pause_max: Duration) -> Result<(), Error> {
    let is_chunked = matches!(upload.length(), BodyLength::Chunked);
    let mut frame = Vec::with_capacity(32);
    loop {
        frame.clear();
        match upload.next().await.map_err(Error::Upload)? {
            UploadPiece::Data(data) if data.is_empty() => {}
            UploadPiece::Data(data) if is_chunked => {
                encode_chunk_head(data.len(), &mut frame);
                write(&stream, &mut [IoSlice::new(&frame), IoSlice::new(&data), IoSlice::new(b"\r\n")], pause_max)
                    .await?;
            }
            UploadPiece::Data(data) => write(&stream, &mut [IoSlice::new(&data)], pause_max).await?,
            UploadPiece::End(trailers) => {
                if is_chunked {
                    encode_last_chunk(trailers.as_ref(), &mut frame);
                    write(&stream, &mut [IoSlice::new(&frame)], pause_max).await?;
                }
                return Ok(());
            }
        }
    }
}

async fn write(stream: &Stream, parts: &mut [IoSlice<'_>], pause_max: Duration) -> Result<(), Error> {
    stream.write_all(parts, pause_max).await.map_err(Error::from_write)
}
