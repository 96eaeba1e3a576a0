//! The origin's response, with what the cache has to know and the client must not see.

use crate::origin_client::Response;
use http::StatusCode;
use kasoku_cache::ExternalBody;
use kasoku_origin::Error;
use kasoku_semantics::reason::Reason;
use kasoku_wire::ResponseHead;

/// What has come of asking.
pub(crate) struct OriginAnswer {
    /// What goes to the client, or why there is nothing.
    pub(crate) response: Result<Response, Error>,
    /// Why the answer is for who asked alone, whatever it says, and whatever of that the rule ignores by which it was asked for: it
    /// has come from where requests pass, by a local redirect, or it is a file that the application has named.
    pub(crate) one_client: Option<Reason>,
    /// The status of the application's answer where another one, or a failure, stands in its place: what it has done, it has
    /// done, whatever became of the file that it named.
    pub(crate) replaced: Option<StatusCode>,
    /// What the application has said, where that is more than the answer tells.
    pub(crate) said: Option<ApplicationHead>,
}

/// What an application has said in an answer, for the cache: its own words, those about the file among them (X-Accel-Expires and its like).
pub(crate) struct ApplicationHead {
    pub(crate) head: ResponseHead,
    /// The file that it has named, where its decision may be stored.
    pub(crate) file: Option<ExternalBody>,
}

impl From<Result<Response, Error>> for OriginAnswer {
    fn from(response: Result<Response, Error>) -> Self {
        Self { response, one_client: None, replaced: None, said: None }
    }
}

impl From<Error> for OriginAnswer {
    fn from(error: Error) -> Self {
        Err(error).into()
    }
}

impl From<Response> for OriginAnswer {
    fn from(response: Response) -> Self {
        Ok(response).into()
    }
}
