//! Identifies a fill among those of its key: the variant or range that it fetches, and for whom the origin is asked.

use crate::Entry;
use kasoku_semantics::range::ByteRange;
use kasoku_store::KeyHash;
use std::sync::Arc;

/// What one fill can bring of a key: a variant, or a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    /// The values of the fields that select it, normalised; empty: none does, or none is known yet.
    pub(crate) variant: Vec<u8>,
    pub(crate) portion: Portion,
}

/// Which of its bytes.
#[derive(Clone, Debug, Default)]
pub(crate) enum Portion {
    /// All of them.
    #[default]
    Whole,
    /// Those that a Range field asks for, of a response that is not stored: the field's value.
    Range(Box<[u8]>),
    /// Those that this stored response lacks. Only who has found the same one lacks the same bytes of the same whole.
    Missing(ByteRange, Arc<Entry>),
}

/// On whose behalf the origin is asked: a fill on behalf of others is not joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestedFor {
    /// All who may have a shared response.
    Everybody,
    /// Visitors with credentials: what they get is hardly ever for others.
    Visitors,
    /// Nobody: a probe has nothing of the client that caused it.
    Anonymous,
}

/// Which fill: of which key, what of it, on whose behalf, by which rules.
#[derive(Clone, Copy)]
pub(crate) struct FillId<'a> {
    pub(crate) hash: KeyHash,
    pub(crate) key: &'a [u8],
    pub(crate) selection: &'a Selection,
    pub(crate) requested_for: RequestedFor,
    /// The fingerprint of the rules that it is begun under: requests by others do not join it.
    pub(crate) rules: u64,
}

impl Selection {
    /// All of a variant.
    pub(crate) fn whole(variant: &[u8]) -> Self {
        Self { variant: variant.to_vec(), portion: Portion::Whole }
    }

    /// What of a variant a request asks for whose Range field has this value.
    pub(crate) fn of_request(variant: &[u8], range: Option<&[u8]>) -> Self {
        let portion = range.map_or(Portion::Whole, |range| Portion::Range(range.into()));
        Self { variant: variant.to_vec(), portion }
    }

    /// The bytes of a stored response that are missing.
    pub(crate) fn missing(bytes: ByteRange, of: &Arc<Entry>) -> Self {
        Self { variant: of.meta.variant.clone(), portion: Portion::Missing(bytes, of.clone()) }
    }

    /// Appends what tells it from others of its key.
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
                out.extend_from_slice(&Arc::as_ptr(of).addr().to_ne_bytes());
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
