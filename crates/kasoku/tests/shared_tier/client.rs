//! A client of a front end, which keeps its connection.

use crate::page::{self, HOST};
use crate::support::PATIENCE;
use kasoku_oracle::cache_status::CacheStatus;
use kasoku_oracle::wire::{Fields, Length, Reader, Trouble};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) fields: Fields,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Whether it comes from the shared tier.
    pub(crate) fn is_shared(&self) -> bool {
        let status = CacheStatus::of(&self.fields);
        status.hit && is_of_the_shared_tier(status.detail.as_deref())
    }

    /// Whether it comes from the front end's own memory or disk.
    pub(crate) fn is_from_own_tiers(&self) -> bool {
        let status = CacheStatus::of(&self.fields);
        status.hit && !is_of_the_shared_tier(status.detail.as_deref())
    }

    pub(crate) fn cache_status(&self) -> &str {
        self.fields.only("cache-status").unwrap_or_default()
    }

    /// The version of that page, of which it must be the whole.
    pub(crate) fn version(&self, target: &str, language: &str) -> u64 {
        assert_eq!(self.status, 200, "{target}: {:?}", self.fields);
        page::version_of(&self.body, target, language).unwrap_or_else(|wrong| panic!("{wrong}: {:?}", self.fields))
    }
}

/// See the [module](self).
pub(crate) struct Client {
    address: SocketAddr,
    stream: Option<TcpStream>,
}

impl Client {
    pub(crate) fn of(address: SocketAddr) -> Self {
        Self { address, stream: None }
    }

    /// Sends a request; `fields` are whole lines. The error says what went wrong.
    pub(crate) fn ask(&mut self, method: &str, target: &str, fields: &str) -> Result<Answer, String> {
        let answer = self.try_ask(method, target, fields);
        if answer.as_ref().map_or(true, |answer| answer.fields.lists("connection", "close")) {
            self.stream = None;
        }
        answer.map_err(|trouble| format!("{method} {target}: {trouble:?}"))
    }

    fn try_ask(&mut self, method: &str, target: &str, fields: &str) -> Result<Answer, Trouble> {
        let broken = |error: std::io::Error| Trouble::Broken(error.to_string());
        let stream = match self.stream.take() {
            Some(stream) => stream,
            None => TcpStream::connect(self.address).map_err(broken)?,
        };
        stream.set_read_timeout(Some(PATIENCE)).map_err(broken)?;
        stream.set_nodelay(true).map_err(broken)?;
        let request = format!("{method} {target} HTTP/1.1\r\nHost: {HOST}\r\n{fields}\r\n");
        (&stream).write_all(request.as_bytes()).map_err(broken)?;
        let mut reader = Reader::new(&stream);
        let head = reader.response()?.ok_or(Trouble::Cut)?;
        let length = match method == "HEAD" || head.status == 304 || head.status == 204 {
            true => Length::Bytes(0),
            false => head.fields.framing()?.unwrap_or(Length::Close),
        };
        let mut body = Vec::new();
        reader.body(length, &mut body, &mut |_| true)?;
        self.stream = Some(stream);
        Ok(Answer { status: head.status, fields: head.fields, body })
    }
}

/// Sends one request on a connection of its own.
pub(crate) fn ask(address: SocketAddr, method: &str, target: &str, fields: &str) -> Answer {
    let fields = format!("{fields}Connection: close\r\n");
    Client::of(address).ask(method, target, &fields).unwrap_or_else(|wrong| panic!("{wrong}"))
}

/// The fields of a request for a page in that language.
pub(crate) fn in_language(language: &str) -> String {
    format!("Accept-Language: {language}\r\n")
}

fn is_of_the_shared_tier(detail: Option<&str>) -> bool {
    detail.is_some_and(|detail| ["memcached", "redis"].contains(&detail))
}
