//! Operations as commands of Redis, and what the replies mean.
//!
//! Redis 6.2 is the first that has `GETEX` and `SET … EXAT`.

use crate::expiry::Expiry;
use crate::failure::Failure;
use crate::history::History;
use bytes::Bytes;
use redis::{Cmd, ErrorKind, RedisError, RedisWrite, ServerError, Value};
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The longest lifetime, in seconds: a century. Redis counts in milliseconds of 64 bits, and refuses what is beyond.
const LIFETIME_MAX: u64 = 100 * 366 * 24 * 60 * 60;

/// Bytes of a server's message that are kept.
const MESSAGE_BYTES_MAX: usize = 200;

/// Adds 1, where there is a number, and where its history is the one that is known here (`master_replid`). After a failover, numbers that the
/// new primary lacks would be used again before anybody has noticed.
const INCREMENT: &[u8] = b"\
if redis.call('EXISTS', KEYS[1]) == 0 then return false end
if not string.find(redis.call('INFO', 'replication'), 'master_replid:' .. ARGV[1], 1, true) then
  return redis.error_reply('HISTORY it is another one')
end
return redis.call('INCR', KEYS[1])";

/// The role and the history of the node that has a key: `INFO` itself has no key, so any node would answer it.
const INFO_OF_KEY: &[u8] = b"return redis.call('INFO', 'replication')";

fn command(arguments: &[&[u8]]) -> Cmd {
    let mut command = Cmd::with_capacity(arguments.len(), arguments.iter().map(|argument| argument.len()).sum());
    arguments.iter().for_each(|argument| command.write_arg(argument));
    command
}

pub(super) fn get(name: &[u8]) -> Cmd {
    command(&[b"GET", name])
}

/// The value of an item, which from now on has this expiry. One that is over changes nothing.
pub(super) fn get_and_touch(name: &[u8], expiry: Expiry) -> Cmd {
    match lifetime(expiry, unix_seconds()) {
        Some(Some((unit, seconds))) => command(&[b"GETEX", name, unit, seconds.to_string().as_bytes()]),
        Some(None) => command(&[b"GETEX", name, b"PERSIST"]),
        None => get(name),
    }
}

/// Stores a value; `None` where it is over already. `is_new`: only if there is none.
pub(super) fn set(name: &[u8], value: &[Bytes], expiry: Expiry, is_new: bool) -> Option<Cmd> {
    let lifetime = lifetime(expiry, unix_seconds())?;
    let length: usize = value.iter().map(Bytes::len).sum();
    let mut command = Cmd::with_capacity(6, name.len() + length + 32);
    command.write_arg(b"SET");
    command.write_arg(name);
    {
        use io::Write;
        let mut argument = command.writer_for_next_arg();
        for part in value {
            // It is memory, which takes all.
            let _ = argument.write_all(part);
        }
    }
    if let Some((unit, seconds)) = lifetime {
        command.write_arg(unit);
        command.write_arg(seconds.to_string().as_bytes());
    }
    if is_new {
        command.write_arg(b"NX");
    }
    Some(command)
}

pub(super) fn delete(name: &[u8]) -> Cmd {
    command(&[b"DEL", name])
}

pub(super) fn increment(name: &[u8], history: History) -> Cmd {
    command(&[b"EVAL", INCREMENT, b"1", name, history.to_string().as_bytes()])
}

pub(super) fn info() -> Cmd {
    command(&[b"INFO", b"replication"])
}

pub(super) fn info_of(name: &[u8]) -> Cmd {
    command(&[b"EVAL", INFO_OF_KEY, b"1", name])
}

pub(super) fn ping() -> Cmd {
    command(&[b"PING"])
}

/// A lifetime as Redis writes it: none for ever. `None`: it is over.
fn lifetime(expiry: Expiry, now: u64) -> Option<Option<(&'static [u8], u64)>> {
    match expiry {
        Expiry::Never => Some(None),
        Expiry::After(0) => None,
        Expiry::After(seconds) => Some(Some((b"EX", seconds.min(LIFETIME_MAX)))),
        Expiry::At(time) if time <= now => None,
        Expiry::At(time) => Some(Some((b"EXAT", time.min(now.saturating_add(LIFETIME_MAX))))),
    }
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// The value in a reply, if there is one.
pub(super) fn value(reply: Value, item_bytes_max: usize) -> Result<Option<Bytes>, Failure> {
    match reply {
        Value::Nil => Ok(None),
        Value::BulkString(value) if value.len() > item_bytes_max => Err(too_long(value.len() as u64)),
        Value::BulkString(value) => Ok(Some(value.into())),
        other => Err(unexpected(other)),
    }
}

/// Whether a value was stored.
pub(super) fn is_stored(reply: Value) -> Result<bool, Failure> {
    match reply {
        Value::Okay => Ok(true),
        Value::Nil => Ok(false),
        other => Err(unexpected(other)),
    }
}

/// Whether an item was removed.
pub(super) fn is_removed(reply: Value) -> Result<bool, Failure> {
    match reply {
        Value::Int(count) => Ok(count > 0),
        other => Err(unexpected(other)),
    }
}

/// The number that was counted, if there was one.
pub(super) fn counted(reply: Value) -> Result<Option<u64>, Failure> {
    match reply {
        Value::Nil => Ok(None),
        Value::Int(number) => u64::try_from(number).map(Some).map_err(|_| Failure::NotANumber),
        Value::ServerError(error) if error.details().is_some_and(|text| text.contains("not an integer")) => {
            Err(Failure::NotANumber)
        }
        other => Err(unexpected(other)),
    }
}

/// Why a reply of this kind is none: the server says so, or it is no server of Redis.
pub(super) fn unexpected(reply: Value) -> Failure {
    match reply {
        Value::ServerError(error) => refused(&error),
        _ => Failure::Protocol("the reply does not belong to the command".into()),
    }
}

/// A value that a server has announced, or sent.
pub(super) fn too_long(bytes: u64) -> Failure {
    Failure::Protocol(format!("the value of {bytes} bytes is longer than an item may be").into())
}

/// What the server says. Some of it makes the server useless: it is no primary now, or does not let us in.
fn refused(error: &ServerError) -> Failure {
    let said = message(error.code(), error.details());
    match error.code() {
        "READONLY" | "LOADING" | "MASTERDOWN" | "CLUSTERDOWN" | "MOVED" | "ASK" | "TRYAGAIN" | "NOAUTH"
        | "WRONGPASS" | "HISTORY" => Failure::Unusable(said),
        _ => Failure::Refused(said),
    }
}

/// Why a command has no reply.
pub(super) fn failure(error: &RedisError) -> Failure {
    if error.is_timeout() {
        return Failure::Timeout;
    }
    match error.kind() {
        ErrorKind::Io => match io_error(error) {
            Some(io) if io.kind() == io::ErrorKind::InvalidData => Failure::Protocol(io.to_string().into()),
            // So the crate says that the connection has ended.
            Some(io) if !matches!(io.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe) => {
                Failure::Broken(Arc::new(io::Error::new(io.kind(), io.to_string())))
            }
            Some(_) => Failure::Closed,
            // No node of a cluster was reached. The crate has kept only the words.
            None => error.detail().map_or(Failure::Closed, |why| {
                Failure::Connect(Arc::new(io::Error::other(message("", Some(why)).trim_start().to_owned())))
            }),
        },
        ErrorKind::Parse => Failure::Protocol("the reply is none of Redis".into()),
        ErrorKind::AuthenticationFailed => Failure::Unusable("it does not take the password".to_owned()),
        ErrorKind::Server(_) | ErrorKind::Extension => match ServerError::try_from(error.clone()) {
            Ok(error) => refused(&error),
            // It refuses what is said on a new connection.
            Err(error) => Failure::Unusable(message("", Some(&error.to_string())).trim_start().to_owned()),
        },
        _ => Failure::Unusable(message("", Some(&error.to_string())).trim_start().to_owned()),
    }
}

fn io_error(error: &RedisError) -> Option<&io::Error> {
    let source = error.source()?;
    let shared = source.downcast_ref::<Arc<dyn Error + Send + Sync>>().and_then(|shared| shared.downcast_ref());
    shared.or_else(|| source.downcast_ref())
}

/// What a server said, for a log: printable and not long.
fn message(code: &str, details: Option<&str>) -> String {
    let printable = |byte: u8| if byte.is_ascii_graphic() || byte == b' ' { char::from(byte) } else { '?' };
    let text = code.bytes().chain(details.is_some().then_some(b' ')).chain(details.unwrap_or_default().bytes());
    text.take(MESSAGE_BYTES_MAX).map(printable).collect()
}

#[cfg(test)]
mod tests {
    use super::Expiry::*;
    use super::*;

    #[test]
    fn a_lifetime_is_written_as_redis_understands_it() {
        const NOW: u64 = 1_795_000_000;
        for (expiry, written) in [
            (Never, Some(None)),
            (After(0), None),
            (After(1), Some(Some((&b"EX"[..], 1)))),
            (After(31 * 86_400), Some(Some((b"EX", 2_678_400)))),
            (After(u64::MAX), Some(Some((b"EX", LIFETIME_MAX)))),
            (At(0), None),
            (At(NOW), None),
            (At(NOW + 1), Some(Some((b"EXAT", NOW + 1)))),
            (At(u64::MAX), Some(Some((b"EXAT", NOW + LIFETIME_MAX)))),
        ] {
            assert_eq!(lifetime(expiry, NOW), written, "{expiry:?}");
        }
    }

    fn said(line: &str) -> Failure {
        unexpected(redis::parse_redis_value(line.as_bytes()).unwrap())
    }

    #[test]
    fn what_a_server_says_is_about_it_or_about_the_item() {
        for line in [
            "READONLY You can't write",
            "LOADING Redis is loading",
            "NOAUTH Authentication required.",
            "MOVED 1 a:1",
            "MASTERDOWN x",
        ] {
            assert!(matches!(said(&format!("-{line}\r\n")), Failure::Unusable(text) if text == line), "{line}");
        }
        for line in ["OOM command not allowed", "WRONGTYPE Operation", "ERR syntax", "NOPERM no", "NOREPLICAS x"] {
            assert!(matches!(said(&format!("-{line}\r\n")), Failure::Refused(text) if text == line), "{line}");
        }
        assert!(matches!(said(":5\r\n"), Failure::Protocol(_)));
        let long = said(&format!("-ERR {}\u{7}\r\n", "x".repeat(1000)));
        assert!(long.to_string().len() < 300);
    }
}
