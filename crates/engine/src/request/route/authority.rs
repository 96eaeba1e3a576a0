//! Keeps the authority that a worker has read last, and its normalised form.

use crate::error::Fault;
use kasoku_wire::target::write_authority;

/// The authority that a worker has read last: most requests of a site spell it in the same way.
#[derive(Default)]
pub(crate) struct KnownAuthority {
    as_sent: Vec<u8>,
    default_port: u16,
    normalised: String,
}

impl KnownAuthority {
    /// The authority as the client sent it, which is valid; empty before the first request.
    pub(crate) fn as_sent(&self) -> &[u8] {
        &self.as_sent
    }

    /// Appends `value` as keys spell it.
    pub(super) fn write(&mut self, value: &[u8], default_port: u16, out: &mut String) -> Result<(), Fault> {
        if self.as_sent != value || self.default_port != default_port {
            self.as_sent.clear();
            self.normalised.clear();
            write_authority(value, default_port, &mut self.normalised).map_err(Fault::Request)?;
            self.as_sent.extend_from_slice(value);
            self.default_port = default_port;
        }
        out.push_str(&self.normalised);
        Ok(())
    }
}
