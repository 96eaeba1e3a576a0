//! A piece of a response's body.

use bytes::Bytes;
use kasoku_wire::Fields;

/// A piece of a response's body.
#[derive(Debug)]
pub enum BodyPiece {
    /// Bytes, at least one.
    Data(Bytes),
    /// The end of the body. Holds trailer fields, if there are any.
    End(Option<Fields>),
}
