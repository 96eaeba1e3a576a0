//! A piece of a response's body.

use bytes::Bytes;
use kasoku_wire::Fields;

/// A piece of a response's body.
#[derive(Debug)]
pub enum BodyPiece {
    /// Bytes, never none.
    Data(Bytes),
    /// The end, with trailer fields if there are some.
    End(Option<Fields>),
}
