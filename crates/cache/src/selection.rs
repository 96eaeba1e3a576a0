//! Tells the fills of one key apart: by the variant or range that they fetch, and by the kind of client for which the origin is asked.

use crate::Entry;
use kasoku_semantics::range::ByteRange;
use kasoku_store::KeyHash;
use std::sync::Arc;

/// What of a key a fill fetches: a variant, or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    /// The normalised values of the fields that select the variant. Empty: no fields do, or they are not known yet.
    pub(crate) variant: Vec<u8>,
    pub(crate) portion: Portion,
}

/// Which bytes of a variant a fill fetches.
#[derive(Clone, Debug, Default)]
pub(crate) enum Portion {
    /// All of them.
    #[default]
    Whole,
    /// The bytes that a Range field asks for, of a response that is not stored. Holds the field's value.
    Range(Box<[u8]>),
    /// The bytes that this stored response lacks. Only a request that found the same entry lacks the same bytes of the same whole.
    Missing(ByteRange, Arc<Entry>),
}

/// The kind of client for which the origin is asked. A request joins only a fill of its own kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestedFor {
    /// All clients that may get a shared response.
    Everybody,
    /// Visitors with credentials: the answer to such a request can rarely be shared.
    Visitors,
    /// No client: a probe, which carries nothing of the client that caused it.
    Anonymous,
}

/// Identifies a fill: its key, its selection, the kind of client, and the rules.
#[derive(Clone, Copy)]
pub(crate) struct FillId<'a> {
    pub(crate) hash: KeyHash,
    pub(crate) key: &'a [u8],
    pub(crate) selection: &'a Selection,
    pub(crate) requested_for: RequestedFor,
    /// The fingerprint of the rules under which the fill begins. Requests under other rules do not join it.
    pub(crate) rules: u64,
}

impl Selection {
    /// The whole of a variant.
    pub(crate) fn whole(variant: &[u8]) -> Self {
        Self { variant: variant.to_vec(), portion: Portion::Whole }
    }

    /// The part of a variant that a request asks for by a Range field of this value.
    pub(crate) fn of_request(variant: &[u8], range: Option<&[u8]>) -> Self {
        let portion = range.map_or(Portion::Whole, |range| Portion::Range(range.into()));
        Self { variant: variant.to_vec(), portion }
    }

    /// The missing bytes of a stored response.
    pub(crate) fn missing(bytes: ByteRange, of: &Arc<Entry>) -> Self {
        Self { variant: of.meta.variant.clone(), portion: Portion::Missing(bytes, of.clone()) }
    }

    /// Appends bytes that tell this selection from others of its key.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.variant);
        // No field's value, and so no variant, holds a NUL.
        match &self.portion {
            Portion::Whole => {}
            Portion::Range(value) => {
                out.extend_from_slice(b"\0range");
                out.extend_from_slice(value);
            }
            Portion::Missing(range, of) => {
                out.extend_from_slice(b"\0missing");
                out.extend_from_slice(&range.first.to_ne_bytes());
                out.extend_from_slice(&range.last.to_ne_bytes());
                out.extend_from_slice(&of.meta.freshness.response_time.mono_ms.to_ne_bytes());
            }
        }
    }
}

impl PartialEq for Portion {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Whole, Self::Whole) => true,
            (Self::Range(one), Self::Range(two)) => one == two,
            (Self::Missing(one, of), Self::Missing(two, as_well)) => one == two && Arc::ptr_eq(of, as_well),
            _ => false,
        }
    }
}

impl Eq for Portion {}
