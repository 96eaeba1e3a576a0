//! What an application server is asked, whichever protocol it speaks.

use super::target::GatewayProgram;
use crate::meta_variables::MetaVariables;
use crate::request::Request;
use kasoku_origin::NoUpload;

/// What an application server is asked.
#[derive(Clone, Copy)]
pub(crate) struct GatewayRequest<'a> {
    /// The request.
    pub(crate) request: &'a Request<'a>,
    /// What is to be run.
    pub(crate) program: &'a GatewayProgram,
    /// Whether it may be sent once more.
    pub(crate) is_repeatable: bool,
    /// The bytes of its body; none without one.
    pub(crate) body_bytes: Option<u64>,
}

impl GatewayRequest<'_> {
    /// What the program is told.
    pub(crate) fn variables(&self) -> MetaVariables<'_> {
        self.program.variables(self.request, self.body_bytes)
    }

    /// The body to send, which is taken; none where there is none.
    pub(crate) fn body_of<U>(&self, upload: &mut Option<U>) -> Option<U> {
        self.body_bytes.and_then(|_| upload.take())
    }
}

/// No body.
pub(crate) const NO_BODY: Option<NoUpload> = None;
