//! The table of failures: who is at fault, which status the client gets, and which reason `Cache-Status` and the log name.

use http::StatusCode;
use kasoku_origin::error::{Error as OriginError, UploadError};
use kasoku_semantics::reason::Reason;
use kasoku_wire::http1::RequestError;

/// Why Kasoku answers a request with an error of its own.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The client sent something that is not a request, or more than is allowed.
    Request(RequestError),
    /// The client did not send the whole head in time.
    HeadTimeout,
    /// The head is longer than most, and memory for such heads is short.
    HeadMemory,
    /// The body is longer than allowed.
    BodyTooLarge,
    /// The body broke off, was malformed, came too slowly, or could not be kept.
    Body(UploadError),
    /// No site for this host.
    NoSite,
    /// The request-target says https, but the client's connection is not https.
    WrongScheme,
    /// CONNECT or TRACE.
    MethodRefused,
    /// The configuration refuses the URL.
    RefusedUrl,
    /// The client expects something other than 100-continue.
    Expectation,
    /// The request has come through this cache too often (`Via`).
    Loop,
    /// The client wanted a stored response only (`only-if-cached`), and none may be used.
    OnlyIfCached(Reason),
    /// The client's address has begun too many fetches.
    ClientMisses,
    /// The origin gave no response.
    Origin(Reason),
}

/// The party that has to change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guilty {
    Client,
    Operator,
    Origin,
}

impl Fault {
    /// The fault for a request to the origin that failed with `error`.
    pub(crate) fn from_origin(error: &OriginError) -> Self {
        match error {
            OriginError::Upload(UploadError::TooLarge) => Self::BodyTooLarge,
            OriginError::Upload(error) => Self::Body(*error),
            other => Self::Origin(reason(other)),
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Request(error) => error.status(),
            Self::HeadTimeout | Self::Body(UploadError::Timeout) => StatusCode::REQUEST_TIMEOUT,
            Self::BodyTooLarge | Self::Body(UploadError::TooLarge) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::HeadMemory | Self::Body(UploadError::NoRoom | UploadError::NotKept) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Body(UploadError::Closed | UploadError::Malformed) => StatusCode::BAD_REQUEST,
            Self::NoSite | Self::WrongScheme => StatusCode::MISDIRECTED_REQUEST,
            Self::MethodRefused => StatusCode::METHOD_NOT_ALLOWED,
            Self::RefusedUrl => StatusCode::FORBIDDEN,
            Self::Expectation => StatusCode::EXPECTATION_FAILED,
            Self::Loop => StatusCode::LOOP_DETECTED,
            Self::ClientMisses => StatusCode::TOO_MANY_REQUESTS,
            //= RFC 9111 section 5.2.1.7
            //# Caches that honor this request directive SHOULD, upon receiving
            //# it, respond with either a stored response consistent with the other
            //# constraints of the request or a 504 (Gateway Timeout) status code.
            Self::OnlyIfCached(_) => StatusCode::GATEWAY_TIMEOUT,
            Self::Origin(
                Reason::OriginTimeoutConnect
                | Reason::OriginTimeoutFirstByte
                | Reason::OriginTimeoutBetweenBytes
                | Reason::ProgramTimeout,
            ) => StatusCode::GATEWAY_TIMEOUT,
            Self::Origin(
                Reason::OriginDown
                | Reason::OriginQueueFull
                | Reason::OriginBusy
                | Reason::OriginOverloaded
                | Reason::MemoryFull,
            ) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Origin(_) => StatusCode::BAD_GATEWAY,
        }
    }

    pub(crate) fn guilty(&self) -> Guilty {
        match self {
            Self::Origin(_) => Guilty::Origin,
            Self::NoSite | Self::Loop | Self::HeadMemory | Self::Body(UploadError::NoRoom | UploadError::NotKept) => {
                Guilty::Operator
            }
            _ => Guilty::Client,
        }
    }

    /// One sentence for the page and the log.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Request(error) => error.to_string(),
            // The client may have ended only its sending side, and then reads this.
            Self::Body(UploadError::Closed) => {
                "The client stopped sending before the end of the request's body.".to_owned()
            }
            other => other.reason().text().to_owned(),
        }
    }

    /// The reason that the log names, and `Cache-Status` where the cache or the origin had a part in the answer.
    pub(crate) fn reason(&self) -> Reason {
        match self {
            Self::Request(_) => Reason::RequestMalformed,
            Self::HeadTimeout => Reason::HeadTimeout,
            Self::HeadMemory => Reason::HeadMemory,
            Self::BodyTooLarge => Reason::BodyTooLarge,
            Self::Body(error) => of_upload(*error),
            Self::NoSite => Reason::NoSite,
            Self::WrongScheme => Reason::WrongScheme,
            Self::MethodRefused => Reason::MethodRefused,
            Self::RefusedUrl => Reason::RefusedUrl,
            Self::Expectation => Reason::Expectation,
            Self::Loop => Reason::Loop,
            Self::ClientMisses => Reason::ClientMisses,
            Self::OnlyIfCached(reason) | Self::Origin(reason) => *reason,
        }
    }

    /// Whether the connection can carry another request after this answer: only where it is known where the next request begins.
    pub(crate) fn keeps_connection(&self) -> bool {
        matches!(
            self,
            Self::OnlyIfCached(_)
                | Self::Origin(_)
                | Self::NoSite
                | Self::WrongScheme
                | Self::MethodRefused
                | Self::RefusedUrl
                | Self::Loop
                | Self::ClientMisses
        )
    }
}

/// The reason for an origin's failure.
pub(crate) fn reason(error: &OriginError) -> Reason {
    match error {
        OriginError::Down => Reason::OriginDown,
        OriginError::QueueFull => Reason::OriginQueueFull,
        OriginError::Busy => Reason::OriginBusy,
        OriginError::Overloaded => Reason::OriginOverloaded,
        OriginError::Unreachable(_) => Reason::OriginUnreachable,
        OriginError::ConnectTimeout => Reason::OriginTimeoutConnect,
        OriginError::FirstByteTimeout => Reason::OriginTimeoutFirstByte,
        OriginError::BetweenBytesTimeout => Reason::OriginTimeoutBetweenBytes,
        OriginError::ClosedBeforeResponse
        | OriginError::ClosedEarly
        | OriginError::FileChanged
        | OriginError::Io(_) => Reason::OriginClosedEarly,
        OriginError::MalformedCgi(_) => Reason::ProgramMalformed,
        OriginError::EndedBeforeHead | OriginError::ProgramEnded(_) => Reason::ProgramEnded,
        OriginError::MalformedHead(_)
        | OriginError::MalformedRecords(_)
        | OriginError::Refused
        | OriginError::MalformedBody(_)
        | OriginError::UnexpectedInterim
        | OriginError::NothingToConfirm
        | OriginError::RedirectsForEver => Reason::OriginMalformed,
        OriginError::SendfileOff(_) => Reason::SendfileOff,
        OriginError::SendfileMalformed(_) => Reason::SendfileMalformed,
        OriginError::NotStarted(_) => Reason::ProgramNotStarted,
        OriginError::ProgramTimeout => Reason::ProgramTimeout,
        OriginError::Upload(error) => of_upload(*error),
    }
}

fn of_upload(error: UploadError) -> Reason {
    match error {
        UploadError::TooLarge => Reason::BodyTooLarge,
        UploadError::Timeout => Reason::BodyTimeout,
        UploadError::Malformed => Reason::BodyMalformed,
        UploadError::Closed => Reason::ClientClosed,
        UploadError::NoRoom => Reason::RequestBufferFull,
        UploadError::NotKept => Reason::RequestBufferFailed,
    }
}
