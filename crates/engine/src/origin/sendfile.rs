//! The file that an origin's answer names, in the place of its body: X-Sendfile, X-LIGHTTPD-send-file, X-Accel-Redirect.
//!
//! An application that has checked who asks leaves the sending to us. Its head stays, its body is dropped, and it is free at once.
//! Which names lead to which files is `kasoku_programs`' matter; here is what the answer means:
//!
//! | the answer | the client gets |
//! |---|---|
//! | names one file | that, by its own conditions and range |
//! | names a file where nothing is set up for that field | 502: the body that comes with it is none |
//! | names several, or in a way that can't be understood | 502 |
//! | is a 204, 205 or 304 | that, as it is: it has no body to replace |
//! | is a 206 | as if it were the 200: frameworks evaluate the range and name the file all the same, without a body |
//! | has another status | the file as the page of that status |
//!
//! None of these fields, nor those that go with them, reaches a client, whatever is set up: they tell where files lie.
//!
//! Such an answer is for who asked. What the application has said, and which file that led to, goes to the fill beside it ([`ApplicationHead`]):
//! where the application says for how long its decision holds, that is stored, without the file (`stored`). What it says is told to the
//! caches behind us as well; where it says nothing they are told that it is private, since a file's validators would suggest a lifetime.

mod stored;

use crate::origin::fetch_context::FetchContext;
use crate::origin::origin_answer::{ApplicationHead, OriginAnswer};
use crate::origin_client::{Body, Response, refused};
use crate::runtime::worker::Worker;
use crate::sites::ActiveRoute;
use http::StatusCode;
use kasoku_cache::ExternalBody;
use kasoku_origin::Error;
use kasoku_programs::{OpenFile, SendfileName, SendfileTarget, Telling, find_named, respond_named, tags_no_content};
use kasoku_semantics::accel_expires;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use kasoku_wire::field::{date, list};
use kasoku_wire::{Fields, RequestHead, ResponseHead};
pub(crate) use stored::{Lost, SendfileOutcome, find_again, open};

/// Fields that name a file by a path of the file system: Apache's mod_xsendfile, and lighttpd's older name for the same.
const PATHS: [&str; 2] = ["X-Sendfile", "X-LIGHTTPD-send-file"];

/// nginx's, which names one by an internal URI.
const URI: &str = "X-Accel-Redirect";

/// Relatives that are not served: a file that is to be deleted behind it (mod_xsendfile), parts of several (lighttpd). What they name is
/// as secret.
const UNSERVED: [&str; 2] = ["X-Sendfile-Temporary", "X-Sendfile2"];

/// What goes with it. Buffering changes nothing, since nothing here waits for a buffer to fill; Expires is for the cache.
const CHARSET: &str = "X-Accel-Charset";
const RATE: &str = "X-Accel-Limit-Rate";
const BESIDE: [&str; 4] = ["X-Accel-Buffering", CHARSET, accel_expires::NAME, RATE];

/// Room for what the file adds to the application's head: type, length, validators.
const COMPLETED_BYTES: usize = 256;
const COMPLETED_LINES: usize = 8;

/// Removes all fields of this kind.
pub(crate) fn strip(fields: &mut Fields) {
    if has_any(fields) {
        fields.retain(|name, _| !is_ours(name));
    }
}

/// Whether an answer names a file in the place of its body.
pub(crate) fn names_a_file(head: &ResponseHead) -> bool {
    may_be_replaced(head.status) && namings(&head.fields).next().is_some()
}

/// Why such an answer would be a failure here, whatever the file.
pub(crate) fn fault(route: &ActiveRoute, head: &ResponseHead) -> Option<Error> {
    if names_a_file(head) { named(route, &head.fields).err() } else { None }
}

fn has_any(fields: &Fields) -> bool {
    names().any(|name| fields.contains(name))
}

fn is_ours(name: &[u8]) -> bool {
    names().any(|one| name.eq_ignore_ascii_case(one.as_bytes()))
}

fn names() -> impl Iterator<Item = &'static str> {
    PATHS.into_iter().chain([URI]).chain(UNSERVED).chain(BESIDE)
}

fn namings(fields: &Fields) -> impl Iterator<Item = (&'static str, &[u8])> {
    PATHS.into_iter().chain([URI]).chain(UNSERVED).flat_map(|name| fields.all(name).map(move |value| (name, value)))
}

fn may_be_replaced(status: StatusCode) -> bool {
    !status.is_informational() && !matches!(status.as_u16(), 204 | 205 | 304)
}

/// The file that an answer names, or the answer itself.
pub(crate) async fn instead(
    worker: &Worker,
    route: &ActiveRoute,
    fetch_context: &FetchContext,
    mut response: Response,
) -> OriginAnswer {
    if !has_any(&response.head.fields) {
        return response.into();
    }
    if !names_a_file(&response.head) {
        // A 304 may be about a file that was named before.
        let said = (response.head.status == StatusCode::NOT_MODIFIED)
            .then(|| ApplicationHead { head: for_the_cache(response.head.clone(), worker.now()), file: None });
        strip(&mut response.head.fields);
        return OriginAnswer { said, ..response.into() };
    }
    let Response { head, body } = response;
    body.discard();
    let replaced = Some(head.status);
    let now_us = worker.moment().mono_us;
    fetch_context.time.has_head(now_us);
    fetch_context.time.has_ended(now_us);
    let answer = match named(route, &head.fields) {
        Ok((field, name)) => {
            let name = name.to_vec();
            file_instead(worker, route, fetch_context, head, (field, name)).await
        }
        Err(error) => {
            tracing::warn!(uri = &*fetch_context.uri, "{error}");
            error.into()
        }
    };
    OriginAnswer { replaced, ..answer }
}

/// The file of that name, which an application's head names by that field.
async fn file_instead(
    worker: &Worker,
    route: &ActiveRoute,
    fetch_context: &FetchContext,
    head: ResponseHead,
    (field, name): (&'static str, Vec<u8>),
) -> OriginAnswer {
    let (rules, asked, uri) = (&*route.sendfile, &fetch_context.asked, &*fetch_context.uri);
    // A disk that hangs must not hold a request for ever.
    let looking = find_named(rules, as_named(field, &name), &worker.open_files);
    let Ok(found) = tokio::time::timeout(route.origin.first_byte_timeout, looking).await else {
        return Error::FirstByteTimeout.into();
    };
    let (reason, said, response) = match found {
        Ok(SendfileTarget::File(file)) => {
            let head = of_the_whole(for_the_cache(head, worker.now()));
            let identity = file.identity();
            let response = respond(route, file, &head, asked, uri);
            let is_ok = head.status == StatusCode::OK;
            let said = is_ok
                .then(|| ApplicationHead { head, file: Some(ExternalBody { field, name: name.into(), identity }) });
            (Reason::Sendfile, said, response)
        }
        Ok(SendfileTarget::Malformed(why)) => {
            tracing::warn!(uri, named = shown(&name), "the application names a file: {why}");
            return Error::SendfileMalformed(why).into();
        }
        Ok(SendfileTarget::Missing) => {
            tracing::info!(uri, named = shown(&name), "the file that the application names is not there");
            (Reason::SendfileMissing, None, refused(rules.missing, &asked.method))
        }
        Ok(SendfileTarget::Denied(why)) => {
            tracing::warn!(uri, named = shown(&name), "the file that the application names is not sent: {why}");
            (Reason::SendfileDenied, None, refused(rules.denied, &asked.method))
        }
        Ok(SendfileTarget::Broken(error)) | Err(error) => {
            tracing::warn!(uri, named = shown(&name), %error, "the file that the application names can't be read");
            (Reason::SendfileFailed, None, refused(StatusCode::INTERNAL_SERVER_ERROR, &asked.method))
        }
    };
    OriginAnswer { one_client: Some(reason), said, ..response.into() }
}

/// What the answer names, and by which field, if that is one thing and set up.
fn named<'f>(route: &ActiveRoute, fields: &'f Fields) -> Result<(&'static str, &'f [u8]), Error> {
    let mut namings = namings(fields);
    let Some((field, value)) = namings.next() else { return Err(Error::SendfileMalformed("nothing is named")) };
    if namings.next().is_some() {
        return Err(Error::SendfileMalformed("it is named more than once"));
    }
    let is_set_up = if field == URI {
        !route.sendfile.internal.is_empty()
    } else {
        !route.sendfile.roots.is_empty() && !UNSERVED.contains(&field)
    };
    match list::trim(value) {
        _ if !is_set_up => Err(Error::SendfileOff(field)),
        b"" => Err(Error::SendfileMalformed("the name is empty")),
        name => Ok((field, name)),
    }
}

fn as_named<'n>(field: &str, name: &'n [u8]) -> SendfileName<'n> {
    if field == URI { SendfileName::Uri(name) } else { SendfileName::Path(name) }
}

/// The head as the cache hears it: without what names files, without a tag of the body that is not there, and with a Date, which it may
/// count from.
pub(crate) fn for_the_cache(mut head: ResponseHead, now: Now) -> ResponseHead {
    let is_kept = |name: &[u8]| BESIDE.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()));
    head.fields.retain(|name, _| is_kept(name) || !is_ours(name));
    // By such a tag the application would confirm any file.
    if tags_no_content(&head.fields) {
        head.fields.remove("etag");
    }
    if !head.fields.contains("date") {
        head.fields.push("Date", date::format(now.unix_seconds()));
    }
    head
}

/// Of a 206, the head of the whole that it is a part of.
fn of_the_whole(head: ResponseHead) -> ResponseHead {
    if head.status != StatusCode::PARTIAL_CONTENT {
        return head;
    }
    let mut head = ResponseHead { fields: head.fields, ..ResponseHead::new(StatusCode::OK) };
    let is_of_parts = |value: &[u8]| value.to_ascii_lowercase().starts_with(b"multipart/byteranges");
    // Of a body that is dropped, which had a part of the file for each of its own.
    if head.fields.only("content-type").is_some_and(is_of_parts) {
        head.fields.remove("content-type");
    }
    head
}

/// The file as the answer to what was asked, by the words of the application: of all [`BESIDE`], none goes out.
fn respond(route: &ActiveRoute, file: OpenFile, said: &ResponseHead, asked: &RequestHead, uri: &str) -> Response {
    let rate_max = rate_max(&said.fields, uri);
    let by_tag;
    let asked = if route.knows_visitors() {
        by_tag = without_dates(asked);
        &by_tag
    } else {
        asked
    };
    let telling = Telling { asked, charset: &route.gateway.files.charset, limits: &route.origin, rate_max };
    respond_named(file, completed(said), telling).with_body(Body::Program)
}

/// What was asked, with entity tags alone as conditions. An application that knows visitors may name another file to each of them, and the
/// date of one says nothing of another. The tag is of the one file.
fn without_dates(asked: &RequestHead) -> RequestHead {
    let mut asked = asked.clone();
    asked.fields.remove("if-modified-since");
    if asked.fields.only("if-range").is_some_and(|value| date::parse(value, 0).is_some()) {
        asked.fields.remove("if-range");
        asked.fields.remove("range");
    }
    asked
}

/// The application's head, with what else it has said about the file, and to the caches behind us.
fn completed(said: &ResponseHead) -> ResponseHead {
    let mut fields =
        Fields::with_capacity(said.fields.block().len() + COMPLETED_BYTES, said.fields.len() + COMPLETED_LINES);
    for (name, value) in said.fields.iter().filter(|(name, _)| !is_ours(name)) {
        fields.push(name, value);
    }
    if let (Some(media_type), Some(charset)) = (fields.only("content-type"), said.fields.only(CHARSET))
        && list::is_token(charset)
        && !charset.eq_ignore_ascii_case(b"off")
    {
        let media_type = list::parameters(media_type).next().unwrap_or_default();
        let with_charset = [list::trim(media_type), b"; charset=", charset].concat();
        fields.set("Content-Type", with_charset);
    }
    if !fields.contains("cache-control") && !fields.contains("expires") {
        fields.push("Cache-Control", "private");
    }
    ResponseHead { fields, reason: said.reason.clone(), ..*said }
}

/// How fast the application wants the file to go out, in bytes per second, as nginx hears it: digits alone; 0 and `off`: as fast as the
/// client takes it. `None`: it does not say, or nothing that can be understood.
fn rate_max(received: &Fields, uri: &str) -> Option<u64> {
    let value = list::trim(received.all(RATE).next()?);
    let rate = match received.only(RATE).is_some() {
        true if value.eq_ignore_ascii_case(b"off") => Some(0),
        true if value.iter().all(u8::is_ascii_digit) => {
            std::str::from_utf8(value).ok().and_then(|text| text.parse().ok())
        }
        _ => None,
    };
    if rate.is_none() {
        tracing::warn!(uri, value = &*String::from_utf8_lossy(value), "{RATE} is no number of bytes per second");
    }
    rate
}

/// A name as it goes to the log.
fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_of_bytes_or_off() {
        let rate = |values: &[&str]| {
            let mut fields = Fields::default();
            values.iter().for_each(|value| fields.push(RATE, value));
            rate_max(&fields, "http://a.test/")
        };
        let understood = [("1024", 1024), (" 1 ", 1), ("007", 7), ("0", 0), ("off", 0), ("OFF", 0)];
        understood.iter().for_each(|(value, expected)| assert_eq!(rate(&[value]), Some(*expected), "{value}"));
        assert_eq!(rate(&["18446744073709551615"]), Some(u64::MAX));
        for value in ["", "1k", "1.5", "-1", "+1", "0x10", "1 2", "1,2", "on", "\u{663}", "18446744073709551616"] {
            assert_eq!(rate(&[value]), None, "{value}");
        }
        assert_eq!((rate(&[]), rate(&["1", "1"])), (None, None));
    }
}
