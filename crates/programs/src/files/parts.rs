//! Sends several ranges of a file in one body: multipart/byteranges (RFC 9110 section 14.6).
//!
//! Each range is a [`FileBody`], so the same holds as for a single one: a file that changes meanwhile is an error, never an end.

use super::body::FileBody;
use crate::Limits;
use crate::document_root::OpenFile;
use bytes::Bytes;
use http::StatusCode;
use kasoku_origin::permits::Permit;
use kasoku_origin::{BodyPiece, Error};
use kasoku_semantics::range::ByteRange;
use kasoku_wire::ResponseHead;
use kasoku_wire::field::content_range::ContentRange;
use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Ranges of a file that are still to be read.
pub struct FileParts {
    file: OpenFile,
    limits: Limits,
    waiting: VecDeque<MultipartPiece>,
    current: Option<FileBody>,
    length: u64,
    left: u64,
    /// Kept until all is read.
    permit: Option<Permit>,
    rate_max: Option<u64>,
}

enum MultipartPiece {
    /// The text between two ranges.
    Text(Bytes),
    /// A range of the file.
    Range(ByteRange),
}

impl FileParts {
    /// The body with these ranges, each with the media type of the whole; and the head of the 206, made of the whole's.
    pub(super) fn new(
        file: OpenFile,
        ranges: &[ByteRange],
        whole: ResponseHead,
        limits: &Limits,
        permit: Option<Permit>,
    ) -> (ResponseHead, Self) {
        // Random, so that no file can be prepared to contain it.
        let random = || RandomState::new().build_hasher().finish();
        let boundary = format!("{:016x}{:016x}", random(), random());
        let complete = Some(file.length());
        let mut waiting = VecDeque::new();
        for range in ranges {
            let mut head = format!("\r\n--{boundary}\r\n").into_bytes();
            if let Some(content_type) = whole.fields.only("content-type") {
                head.extend_from_slice(&[b"Content-Type: ", content_type, b"\r\n"].concat());
            }
            let content_range = ContentRange::Part { first: range.first, last: range.last, complete };
            head.extend_from_slice(format!("Content-Range: {content_range}\r\n\r\n").as_bytes());
            waiting.extend([MultipartPiece::Text(head.into()), MultipartPiece::Range(*range)]);
        }
        waiting.push_back(MultipartPiece::Text(format!("\r\n--{boundary}--\r\n").into()));
        let length = waiting.iter().map(MultipartPiece::length).sum::<u64>();
        let mut head = ResponseHead::new(StatusCode::PARTIAL_CONTENT);
        head.version = whole.version;
        head.fields = whole.fields;
        head.fields.set("Content-Type", format!("multipart/byteranges; boundary={boundary}"));
        head.fields.set("Content-Length", length.to_string());
        (
            head,
            Self { file, limits: limits.clone(), waiting, current: None, length, left: length, permit, rate_max: None },
        )
    }

    /// As [`FileBody::at_rate`].
    pub(super) fn at_rate(self, rate_max: Option<u64>) -> Self {
        Self { rate_max, ..self }
    }

    /// As [`FileBody::rate_max`].
    pub fn rate_max(&self) -> Option<u64> {
        self.rate_max
    }

    /// The length of the whole body, in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// How much of it is still to be read, in bytes.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// The next piece. Cancel safe: dropping the future loses no bytes.
    ///
    /// # Errors
    /// As those of [`FileBody::next`].
    pub async fn next(&mut self) -> Result<BodyPiece, Error> {
        let piece = self.read().await?;
        if let BodyPiece::Data(data) = &piece {
            self.left = self.left.saturating_sub(data.len() as u64);
        }
        Ok(piece)
    }

    async fn read(&mut self) -> Result<BodyPiece, Error> {
        loop {
            if let Some(current) = &mut self.current {
                if let BodyPiece::Data(data) = current.next().await? {
                    return Ok(BodyPiece::Data(data));
                }
                self.current = None;
            }
            match self.waiting.pop_front() {
                None => {
                    self.permit = None;
                    return Ok(BodyPiece::End(None));
                }
                Some(MultipartPiece::Text(text)) => return Ok(BodyPiece::Data(text)),
                Some(MultipartPiece::Range(range)) => {
                    let part = range.first..range.last.saturating_add(1);
                    self.current = Some(FileBody::new(&self.file, part, &self.limits, None));
                }
            }
        }
    }
}

impl MultipartPiece {
    fn length(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Range(range) => range.length(),
        }
    }
}
