//! The request to an application server, for either protocol.

use super::target::GatewayProgram;
use crate::meta_variables::MetaVariables;
use crate::request::Request;
use kasoku_origin::NoUpload;

/// A request, and the program that is to answer it.
#[derive(Clone, Copy)]
pub(crate) struct GatewayRequest<'a> {
    pub(crate) request: &'a Request<'a>,
    /// The program to run.
    pub(crate) program: &'a GatewayProgram,
    /// Whether the request may be repeated on another connection.
    pub(crate) is_repeatable: bool,
    /// The length of the body in bytes; `None` without a body.
    pub(crate) body_bytes: Option<u64>,
}

impl GatewayRequest<'_> {
    /// The meta-variables for the program.
    pub(crate) fn variables(&self) -> MetaVariables<'_> {
        self.program.variables(self.request, self.body_bytes)
    }

    /// Takes the body to send; `None` without a body.
    pub(crate) fn body_of<U>(&self, upload: &mut Option<U>) -> Option<U> {
        self.body_bytes.and_then(|_| upload.take())
    }
}

pub(crate) const NO_BODY: Option<NoUpload> = None;
