//! The script of an origin: the requests that it expects, and what it does with them.
//!
//! An [`Exchange`] expects one request (method and target) and lists acts: bytes to send, gates to wait for, a close. Requests may
//! come on any connection; each takes the first unused exchange of its method and target. The connection stays open for the next
//! request, unless an act says otherwise.

use crate::Gate;

/// One expected request, and the acts that follow.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) acts: Vec<Act>,
}

#[derive(Clone, Debug)]
pub(crate) enum Act {
    ReadBody,
    Send(Vec<u8>),
    SendHeldUp(Vec<u8>),
    Wait(Gate),
    Read(Vec<u8>),
    NothingToRead,
    AwaitEnd,
    ShutdownWrite,
    Close,
    Reset,
}

/// Expects a request of that method for that target.
pub fn on(method: &str, target: &str) -> Exchange {
    Exchange { method: method.to_owned(), target: target.to_owned(), acts: Vec::new() }
}

/// Expects a GET.
pub fn get(target: &str) -> Exchange {
    on("GET", target)
}

/// Expects a HEAD.
pub fn head(target: &str) -> Exchange {
    on("HEAD", target)
}

/// Expects a POST.
pub fn post(target: &str) -> Exchange {
    on("POST", target)
}

impl Exchange {
    /// Reads the request's body, if there is one, to its end.
    #[must_use]
    pub fn reads_body(self) -> Self {
        self.act(Act::ReadBody)
    }

    /// Reads the request's body if there is one, then sends these bytes.
    #[must_use]
    pub fn answers(self, bytes: impl AsRef<[u8]>) -> Self {
        self.reads_body().sends(bytes)
    }

    /// Sends these bytes.
    #[must_use]
    pub fn sends(self, bytes: impl AsRef<[u8]>) -> Self {
        self.act(Act::Send(bytes.as_ref().to_vec()))
    }

    /// Sends these bytes, and expects that the other side does not take them all at once.
    /// [`Origin::is_held_up`](crate::Origin::is_held_up) waits for that; the script then goes on.
    #[must_use]
    pub fn sends_held_up(self, bytes: impl AsRef<[u8]>) -> Self {
        self.act(Act::SendHeldUp(bytes.as_ref().to_vec()))
    }

    /// Waits until the test opens the gate.
    #[must_use]
    pub fn waits(self, gate: &Gate) -> Self {
        self.act(Act::Wait(gate.clone()))
    }

    /// Reads exactly these bytes, as a tunnel brings them.
    #[must_use]
    pub fn reads(self, bytes: impl AsRef<[u8]>) -> Self {
        self.act(Act::Read(bytes.as_ref().to_vec()))
    }

    /// Expects that nothing has come after the head by now.
    #[must_use]
    pub fn has_nothing_to_read(self) -> Self {
        self.act(Act::NothingToRead)
    }

    /// Waits until the other side has closed or reset the connection.
    #[must_use]
    pub fn awaits_end(self) -> Self {
        self.act(Act::AwaitEnd)
    }

    /// Ends the sending side of the connection.
    #[must_use]
    pub fn shuts_down_write(self) -> Self {
        self.act(Act::ShutdownWrite)
    }

    /// Closes the connection.
    #[must_use]
    pub fn closes(self) -> Self {
        self.act(Act::Close)
    }

    /// Resets the connection.
    #[must_use]
    pub fn resets(self) -> Self {
        self.act(Act::Reset)
    }

    fn act(mut self, act: Act) -> Self {
        self.acts.push(act);
        self
    }
}

/// The bytes of a response with that status line (`"404 Not Found"`), those field lines, and Content-Length.
pub fn reply(status: &str, fields: &[&str], body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut lines: Vec<String> = fields.iter().map(|line| (*line).to_owned()).collect();
    if !status.starts_with("304") && !status.starts_with('1') && !status.starts_with("204") {
        lines.push(format!("Content-Length: {}", body.len()));
    }
    let head: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
    [format!("HTTP/1.1 {status}\r\n{head}\r\n").as_bytes(), body].concat()
}

/// A `200 OK`, as [`reply`].
pub fn ok(fields: &[&str], body: impl AsRef<[u8]>) -> Vec<u8> {
    reply("200 OK", fields, body)
}
