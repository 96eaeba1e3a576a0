//! What an answer is read as: units of text with the values in them, and places of tokens.

use super::DifferencePlace;

/// What an answer, or pieces of it, are read as.
#[derive(Default)]
pub(super) struct PieceParts {
    pub(super) units: Vec<Unit>,
    pub(super) values: Vec<Value>,
    pub(super) places: Vec<Place>,
    /// The ids of elements: a value that refers to one is no token.
    pub(super) ids: Vec<u64>,
}

/// A tag, or a line of text or of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) skeleton: u64,
    /// Where the unit begins, in the lines of the head with the body behind them.
    pub(super) at: usize,
    /// Where its values end, in all values of the page.
    pub(super) values_end: usize,
}

/// A value in a unit: a number, or the hash of any other word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Value {
    Number(u64),
    Word(u64),
}

/// A place whose value may be a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// What the place is: its kind, its name, and the form of its value.
    pub key: u64,
    /// Its value.
    pub value: u64,
    /// Whether a request sends the value back, by its name. If it does not change between two looks, it may be one that holds for a minute.
    pub is_sent_back: bool,
    /// Where it stands.
    pub(super) place: DifferencePlace,
    /// The first byte of the value in the body.
    pub(super) at: usize,
}
