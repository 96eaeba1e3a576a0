//! A request as its client has sent it, and how far its body has been read.

use kasoku_wire::RequestHead;
use kasoku_wire::http1::BodyLength;
use std::cell::Cell;
use std::rc::Rc;

/// A request whose head is complete and sound.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) head: RequestHead,
    pub(crate) body: BodyLength,
    /// Whether the client wants to go on with this connection.
    pub(crate) keeps_alive: bool,
}

/// How far a request's body has been read; nothing for a request without one.
#[derive(Clone, Debug)]
pub(crate) struct BodyState(Option<Rc<Cell<Progress>>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Unread,
    Complete,
}

impl BodyState {
    /// Of a request without a body when `length` is none, else of one that nobody has read.
    pub(crate) fn new(length: BodyLength) -> Self {
        let has_body = !matches!(length, BodyLength::None);
        Self(has_body.then(|| Rc::new(Cell::new(Progress::Unread))))
    }

    /// Whether the next request begins where reading stands.
    pub(crate) fn is_complete(&self) -> bool {
        self.0.as_ref().is_none_or(|progress| progress.get() == Progress::Complete)
    }

    /// All of it has been read.
    pub(crate) fn complete(&self) {
        if let Some(progress) = &self.0 {
            progress.set(Progress::Complete);
        }
    }
}
