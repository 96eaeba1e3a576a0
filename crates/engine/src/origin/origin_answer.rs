//! The origin's response, with what the cache has to know and the client must not see.

use crate::origin_client::Response;
use http::StatusCode;
use kasoku_cache::ExternalBody;
use kasoku_origin::Error;
use kasoku_semantics::reason::Reason;
use kasoku_wire::ResponseHead;

/// The result of asking an origin.
pub(crate) struct OriginAnswer {
    /// What goes to the client, or why there is nothing.
    pub(crate) response: Result<Response, Error>,
    /// Why the answer is for the client that asked alone, whatever the answer says and whatever of that the rule of the request
    /// ignores: it came by a local redirect to a target whose requests pass, or it is a file that the application has named.
    pub(crate) one_client: Option<Reason>,
    /// The status of the application's answer, where another answer or a failure takes its place: the application has done its
    /// work, whatever became of the file that it named.
    pub(crate) replaced: Option<StatusCode>,
    /// What the application has said, where that is more than `response` tells.
    pub(crate) said: Option<ApplicationHead>,
}

/// The head of an application's answer as the cache gets it, with the fields about the file that it names (X-Accel-Expires and its like).
pub(crate) struct ApplicationHead {
    pub(crate) head: ResponseHead,
    /// The file that the application has named, where that decision may be stored.
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
