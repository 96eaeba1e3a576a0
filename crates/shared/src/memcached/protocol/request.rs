//! Writes requests.

use super::reply::Status;
use bytes::{BufMut, Bytes, BytesMut};
use std::fmt::Write;

/// What is asked of a server.
#[derive(Clone, Debug)]
pub struct Request {
    /// What the item is called ([`is_name`](crate::names::is_name)).
    pub name: Bytes,
    /// What is asked of it.
    pub operation: Operation,
}

/// What is asked.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Its value.
    Get,
    /// The value of an item, which from now on has this expiry.
    GetAndTouch {
        /// As in [`Operation::Store`].
        exptime: u32,
    },
    /// To keep a value.
    Store {
        /// Where it depends on what is there.
        mode: StoreMode,
        /// The value, in parts.
        value: Vec<Bytes>,
        /// When to forget it, as memcached writes it; 0 for never.
        exptime: u32,
    },
    /// To forget it.
    Delete,
    /// To add 1 to it, which is a number.
    Increment,
}

/// When a value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreMode {
    /// In any case.
    Set,
    /// If there is none.
    Add,
}

impl Request {
    /// The parts of the value that follows the line, and then a line end. None if nothing follows.
    pub fn value(&self) -> Option<&[Bytes]> {
        match &self.operation {
            Operation::Store { value, .. } => Some(value),
            _ => None,
        }
    }

    /// How many bytes that value has.
    pub fn value_bytes(&self) -> usize {
        self.value().into_iter().flatten().map(Bytes::len).sum()
    }

    /// Writes the line of this request.
    pub fn write_line(&self, opaque: u32, out: &mut BytesMut) {
        let command: &[u8] = match self.operation {
            Operation::Get | Operation::GetAndTouch { .. } => b"mg ",
            Operation::Store { .. } => b"ms ",
            Operation::Delete => b"md ",
            Operation::Increment => b"ma ",
        };
        out.put_slice(command);
        out.put_slice(&self.name);
        // Writing into a BytesMut does not fail: it grows.
        let _ = match &self.operation {
            Operation::Get | Operation::Increment => write!(out, " v O{opaque}\r\n"),
            Operation::GetAndTouch { exptime } => write!(out, " v T{exptime} O{opaque}\r\n"),
            Operation::Store { mode, exptime, .. } => {
                let mode = match mode {
                    StoreMode::Set => "",
                    StoreMode::Add => " ME",
                };
                write!(out, " {} T{exptime}{mode} O{opaque}\r\n", self.value_bytes())
            }
            _ => write!(out, " O{opaque}\r\n"),
        };
    }

    fn gets(&self) -> bool {
        matches!(self.operation, Operation::Get | Operation::GetAndTouch { .. })
    }

    /// Whether a reply of this status can answer this request.
    pub fn expects(&self, status: &Status) -> bool {
        match status {
            Status::Value(_) => self.gets() || matches!(self.operation, Operation::Increment),
            Status::Done => matches!(self.operation, Operation::Store { .. } | Operation::Delete),
            Status::Miss => self.gets(),
            Status::NotFound => !self.gets(),
            Status::NotStored => matches!(self.operation, Operation::Store { .. }),
            Status::Exists => matches!(self.operation, Operation::Store { .. } | Operation::Delete),
            Status::ServerError(_) => true,
            // Of our requests, only this one can be wrong by what the server has.
            Status::ClientError(_) => matches!(self.operation, Operation::Increment),
        }
    }
}
