//! Keeps the beginning of a form while it is streamed to the origin, so that `changes` can read the form's parameters.

use crate::runtime::worker::Worker;
use bytes::BytesMut;
use kasoku_cache::SpareCharge;
use kasoku_semantics::tags::Parameters;
use kasoku_wire::form;
use std::cell::RefCell;
use std::rc::Rc;

/// How much of a form is kept, in bytes.
const FORM_BYTES_MAX: usize = 64 << 10;

/// The beginning of a form, as it was sent on.
#[derive(Clone)]
pub(crate) struct FormBuffer(Rc<RefCell<FormPrefix>>);

struct FormPrefix {
    bytes: BytesMut,
    is_cut: bool,
    /// The charge for these bytes.
    _charge: Option<SpareCharge>,
}

impl FormBuffer {
    pub(crate) fn new(worker: &Worker) -> Self {
        let charge = worker.cache.try_charge(FORM_BYTES_MAX as u64);
        // While memory is short, nothing of the form is kept.
        Self(Rc::new(RefCell::new(FormPrefix { bytes: BytesMut::new(), is_cut: charge.is_none(), _charge: charge })))
    }

    /// Keeps what fits of the next piece.
    pub(crate) fn goes_on(&self, data: &[u8]) {
        let mut begun = self.0.borrow_mut();
        if begun.is_cut {
            return;
        }
        let room = FORM_BYTES_MAX - begun.bytes.len();
        begun.is_cut = data.len() > room;
        begun.bytes.extend_from_slice(data.get(..room).unwrap_or(data));
    }

    /// The form, if it has the format of a query.
    pub(crate) fn as_query(&self, content_type: &[u8]) -> Option<String> {
        is_like_a_query(content_type).then(|| String::from_utf8_lossy(&self.0.borrow().bytes).into_owned())
    }

    /// Adds the form's fields to the parameters of a request.
    pub(crate) fn read(&self, content_type: &[u8], parameters: &mut Parameters) {
        let begun = self.0.borrow();
        let mut is_whole = !begun.is_cut;
        if is_like_a_query(content_type) {
            parameters.read(&String::from_utf8_lossy(&begun.bytes));
        } else if let Some(boundary) = form::boundary(content_type) {
            let form = form::read(&begun.bytes, &boundary);
            is_whole &= form.is_whole;
            form.fields.into_iter().for_each(|(name, value)| parameters.push(name, value));
        } else {
            is_whole = false;
        }
        if !is_whole {
            parameters.are_cut();
        }
    }
}

fn is_like_a_query(content_type: &[u8]) -> bool {
    let media_type = content_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    media_type.eq_ignore_ascii_case(b"application/x-www-form-urlencoded")
}
