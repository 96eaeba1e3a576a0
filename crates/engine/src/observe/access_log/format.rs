//! Formats a record as a line of the access log: `common` and `combined` as Apache and nginx write them, `combined-cache`
//! (`combined`, followed by what the cache did), or a JSON object.
//!
//! Tools that read `combined` (GoAccess, AWStats, fail2ban) expect it to the byte, so nothing is added to it. The third field,
//! the user, is always `-`: only the application knows who has logged in. As in nginx, and unlike in Apache, 0 bytes are `0`.

use crate::observe::access_log::record::{LoggedRequest, Record};
use crate::observe::access_log::stamp::Stamp;
use crate::observe::access_log::text::Text;
use crate::observe::timing::OriginTime;
use crate::request::request_id::RequestIdDigits;
use http::Version;
use kasoku_options::LogFormat;
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::our_name::NAME;

/// Bounds of the values that clients send, in bytes as written: together less than `LINE_BYTES_MAX`.
const METHOD_BYTES_MAX: usize = 64;
const TARGET_BYTES_MAX: usize = 8 << 10;
const HOST_BYTES_MAX: usize = 512;
const REFERER_BYTES_MAX: usize = 3 << 10;
const USER_AGENT_BYTES_MAX: usize = 2 << 10;

/// Bounds of the values that Kasoku writes itself, in bytes.
const ORIGIN_BYTES_MAX: usize = 512;
const CACHE_STATUS_BYTES_MAX: usize = 256;

/// The longest line, in bytes.
#[cfg(test)]
pub(crate) const LINE_BYTES_MAX: usize = 16 << 10;

/// Writes the line and its line feed.
pub(crate) fn line(format: LogFormat, record: &Record<'_>, stamp: &Stamp, text: &mut Text<'_>) {
    match format {
        LogFormat::Common => common(record, stamp, text),
        LogFormat::Combined => combined(record, stamp, text),
        LogFormat::CombinedCache => {
            combined(record, stamp, text);
            of_the_cache(record, text);
        }
        LogFormat::Json => json(record, stamp, text),
    }
    text.put(b"\n");
}

fn combined(record: &Record<'_>, stamp: &Stamp, text: &mut Text<'_>) {
    common(record, stamp, text);
    for (value, bytes_max) in [
        (record.asked.and_then(|asked| asked.referer), REFERER_BYTES_MAX),
        (record.asked.and_then(|asked| asked.user_agent), USER_AGENT_BYTES_MAX),
    ] {
        match value {
            Some(value) => {
                text.put(b" \"");
                text.quoted(value, bytes_max);
                text.put(b"\"");
            }
            None => text.put(b" \"-\""),
        }
    }
}

/// ` "kasoku; hit; ttl=50; detail=hit" 0.000000 - 0123456789abcdef0123456789abcdef`
fn of_the_cache(record: &Record<'_>, text: &mut Text<'_>) {
    let status = CacheStatus { detail: record.reason, ..record.cache.copied().unwrap_or_default() };
    text.put(b" \"");
    text.written(CACHE_STATUS_BYTES_MAX, |out| status.write(NAME, out));
    text.put(b"\"");
    for seconds in [record.duration_us, record.origin.and_then(OriginTime::head)] {
        text.put(b" ");
        match seconds {
            Some(us) => text.seconds(us),
            None => text.put(b"-"),
        }
    }
    text.put(b" ");
    text.put(record.id.text(&mut RequestIdDigits::default()));
}

fn common(record: &Record<'_>, stamp: &Stamp, text: &mut Text<'_>) {
    match record.client {
        Some(ip) => text.ip(ip),
        None => text.put(b"-"),
    }
    text.put(b" - - [");
    text.put(stamp.clf());
    text.put(b"] \"");
    match record.asked {
        Some(asked) => {
            text.quoted(asked.method.as_bytes(), METHOD_BYTES_MAX);
            text.put(b" ");
            text.quoted(asked.target.as_bytes(), TARGET_BYTES_MAX);
            text.put(b" ");
            text.put(protocol(asked.version));
        }
        None => text.put(b"-"),
    }
    text.put(b"\" ");
    text.number(u64::from(record.status.as_u16()));
    text.put(b" ");
    text.number(record.body_bytes);
}

/// Keys that don't apply are left out. Names and values are those of `Cache-Status` where it has them.
fn json(record: &Record<'_>, stamp: &Stamp, text: &mut Text<'_>) {
    text.put(b"{\"time\":\"");
    text.put(stamp.rfc3339_seconds());
    text.put(b".");
    text.three_digits(stamp.ms());
    text.put(b"Z\",\"id\":\"");
    text.put(record.id.text(&mut RequestIdDigits::default()));
    text.put(b"\"");
    if let Some(ip) = record.client {
        text.put(b",\"client\":\"");
        text.ip(ip);
        text.put(b"\"");
    }
    if let Some(asked) = &record.asked {
        json_asked(asked, text);
    }
    text.put(b",\"status\":");
    text.number(u64::from(record.status.as_u16()));
    text.put(b",\"bytes\":");
    text.number(record.body_bytes);
    text.put(if record.is_whole { b",\"aborted\":false" } else { b",\"aborted\":true" });
    text.put(b",\"result\":\"");
    text.put(record.result.as_bytes());
    text.put(b"\"");
    if let Some(status) = record.cache {
        json_cache(status, text);
    }
    if let Some(reason) = record.reason {
        text.put(b",\"reason\":\"");
        text.put(reason.id().as_bytes());
        text.put(b"\"");
    }
    json_seconds(b",\"duration\":", record.duration_us, text);
    if let Some(origin) = record.origin {
        json_origin(origin, text);
    }
    if let Some(asked) = &record.asked {
        json_text(b",\"referer\":\"", asked.referer, REFERER_BYTES_MAX, text);
        json_text(b",\"user_agent\":\"", asked.user_agent, USER_AGENT_BYTES_MAX, text);
    }
    text.put(b"}");
}

fn json_asked(asked: &LoggedRequest<'_>, text: &mut Text<'_>) {
    json_text(b",\"method\":\"", Some(asked.method.as_bytes()), METHOD_BYTES_MAX, text);
    json_text(b",\"uri\":\"", Some(asked.uri.as_bytes()), TARGET_BYTES_MAX, text);
    json_text(b",\"scheme\":\"", asked.scheme().map(str::as_bytes), METHOD_BYTES_MAX, text);
    json_text(b",\"host\":\"", asked.authority(), HOST_BYTES_MAX, text);
    text.put(b",\"protocol\":\"");
    text.put(protocol(asked.version));
    text.put(b"\"");
}

fn json_cache(status: &CacheStatus, text: &mut Text<'_>) {
    let flag = |text: &mut Text<'_>, name: &[u8], value| {
        text.put(name);
        text.put(if value { b"true" } else { b"false" });
    };
    flag(text, b",\"hit\":", status.hit);
    if let Some(fwd) = status.fwd.filter(|_| !status.hit) {
        text.put(b",\"fwd\":\"");
        text.put(fwd.token().as_bytes());
        text.put(b"\"");
    }
    if let Some(code) = status.fwd_status {
        text.put(b",\"fwd_status\":");
        text.number(u64::from(code));
    }
    flag(text, b",\"stored\":", status.stored);
    flag(text, b",\"collapsed\":", status.collapsed);
    if let Some(ttl) = status.ttl {
        text.put(b",\"ttl\":");
        text.signed(ttl);
    }
}

fn json_origin(origin: &OriginTime, text: &mut Text<'_>) {
    if let Some(who) = origin.who() {
        text.put(b",\"origin\":\"");
        // The operator wrote the address, and the configuration was checked. A path may have odd characters all the same.
        text.json(who.address.to_string().as_bytes(), ORIGIN_BYTES_MAX);
        text.put(b"\"");
    }
    json_seconds(b",\"origin_head_time\":", origin.head(), text);
    json_seconds(b",\"origin_time\":", origin.whole(), text);
}

fn json_seconds(before: &[u8], us: Option<u64>, text: &mut Text<'_>) {
    if let Some(us) = us {
        text.put(before);
        text.seconds(us);
    }
}

fn json_text(before: &[u8], value: Option<&[u8]>, bytes_max: usize, text: &mut Text<'_>) {
    if let Some(value) = value {
        text.put(before);
        text.json(value, bytes_max);
        text.put(b"\"");
    }
}

fn protocol(version: Version) -> &'static [u8] {
    match version {
        Version::HTTP_10 => b"HTTP/1.0",
        Version::HTTP_2 => b"HTTP/2.0",
        _ => b"HTTP/1.1",
    }
}
