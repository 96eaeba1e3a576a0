//! What a call wants: a value, or a value or nothing.

/// The two types of answers: a value, and a value or nothing.
pub(super) trait Answer<V>: Clone + Send {
    /// The answer that a stored value gives, if it gives any.
    fn of(stored: Option<V>) -> Option<Self>;

    fn into_stored(self) -> Option<V>;
}

/// A value: "not found" is no answer.
#[derive(Clone)]
pub(super) struct Present<V>(pub(super) V);

impl<V: Clone + Send> Answer<V> for Present<V> {
    fn of(stored: Option<V>) -> Option<Self> {
        stored.map(Self)
    }

    fn into_stored(self) -> Option<V> {
        Some(self.0)
    }
}

impl<V: Clone + Send> Answer<V> for Option<V> {
    fn of(stored: Option<V>) -> Option<Self> {
        Some(stored)
    }

    fn into_stored(self) -> Option<V> {
        self
    }
}
