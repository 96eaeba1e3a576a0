//! Sends the file that an origin's answer names in the place of its body: X-Sendfile, X-LIGHTTPD-send-file, X-Accel-Redirect.
//!
//! An application that has checked whether the client may have a file leaves the sending to Kasoku. Its head stays, its body is
//! dropped, and the application is free at once. `kasoku_programs` knows which names lead to which files; this module decides what
//! the answer means:
//!
//! | the answer | the client gets |
//! |---|---|
//! | names one file | that file, by the client's own conditions and range |
//! | names a file by a field for which nothing is set up | 502: the body that comes with it is not the content |
//! | names several files, or names one in a way that can't be understood | 502 |
//! | is a 204, 205 or 304 | that answer, as it is: it has no body to replace |
//! | is a 206 | the same as for a 200: frameworks evaluate the range and name the file all the same, without a body |
//! | has another status | the file as the page of that status |
//!
//! None of these fields, nor those that go with them, reaches a client, whatever is set up: they tell where files lie.
//!
//! Such an answer is for the client that asked. What the application has said, and the file that it has named, go to the fill
//! beside the answer ([`ApplicationHead`]): where the application says for how long its decision holds, the decision is stored,
//! without the file (`stored`). Downstream caches get what the application says as well. Where it says nothing they are told that
//! the answer is private, since the file's validators would suggest a heuristic lifetime.

mod stored;

use crate::origin::fetch_context::FetchContext;
use crate::origin::origin_answer::{ApplicationHead, OriginAnswer};
use crate::origin_client::{Body, Response, refused};
use crate::runtime::worker::Worker;
use crate::sites::ActiveRoute;
use http::StatusCode;
use kasoku_cache::ExternalBody;
use kasoku_origin::Error;
use kasoku_programs::{
    OpenFile, SendfileContext, SendfileName, SendfileTarget, find_named, respond_named, tags_no_content,
};
use kasoku_semantics::accel_expires;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use kasoku_wire::field::{date, list};
use kasoku_wire::{Fields, RequestHead, ResponseHead};
pub(crate) use stored::{Lost, SendfileOutcome, find_again, open};

/// Fields that name a file by a path of the file system: Apache's mod_xsendfile, and lighttpd's older name for the same.
const PATHS: [&str; 2] = ["X-Sendfile", "X-LIGHTTPD-send-file"];

/// nginx's field, which names a file by an internal URI.
const URI: &str = "X-Accel-Redirect";

/// Related fields that are not served: for a file that is to be deleted afterwards (mod_xsendfile), and for parts of several files
/// (lighttpd). The names in them are as secret.
const UNSERVED: [&str; 2] = ["X-Sendfile-Temporary", "X-Sendfile2"];

/// Fields that go with a name. Buffering changes nothing, since nothing here waits for a buffer to fill; Expires is for the cache.
const CHARSET: &str = "X-Accel-Charset";
const RATE: &str = "X-Accel-Limit-Rate";
const BESIDE: [&str; 4] = ["X-Accel-Buffering", CHARSET, accel_expires::NAME, RATE];

/// Room for what the file adds to the application's head: type, length, validators.
const COMPLETED_BYTES: usize = 256;
const COMPLETED_LINES: usize = 8;

/// Removes all fields that name files, and those that go with a name.
pub(crate) fn strip(fields: &mut Fields) {
    if has_any(fields) {
        fields.retain(|name, _| !is_ours(name));
    }
}

/// Whether an answer names a file in the place of its body.
pub(crate) fn names_a_file(head: &ResponseHead) -> bool {
    may_be_replaced(head.status) && namings(&head.fields).next().is_some()
}

/// Why an answer that names a file fails here, whatever the file; `None`: it does not.
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

/// Puts the file that an answer names in the place of its body; any other answer stays as it is.
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
        // A 304 may validate a decision that is stored.
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

/// The answer with the file that an application's head names by that field.
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
            let said = is_ok.then(|| ApplicationHead {
                head,
                file: Some(ExternalBody { field: field.into(), name: name.into(), identity }),
            });
            (Reason::Sendfile, said, response)
        }
        Ok(SendfileTarget::Malformed(why)) => {
            tracing::warn!(
                uri,
                named = shown(&name),
                "the application names a file in a form that can't be read: {why}"
            );
            return Error::SendfileMalformed(why).into();
        }
        Ok(SendfileTarget::Missing) => {
            tracing::info!(uri, named = shown(&name), "the file that the application names does not exist");
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

/// The name of the file and its field, if the answer has exactly one name and its field is set up.
fn named<'f>(route: &ActiveRoute, fields: &'f Fields) -> Result<(&'static str, &'f [u8]), Error> {
    let mut namings = namings(fields);
    let Some((field, value)) = namings.next() else { return Err(Error::SendfileMalformed("nothing is named")) };
    if namings.next().is_some() {
        return Err(Error::SendfileMalformed("several fields name a file"));
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

/// The head as the cache gets it: without the fields that name files, without an entity tag of an empty body, and with a Date, from
/// which the cache may count.
pub(crate) fn for_the_cache(mut head: ResponseHead, now: Now) -> ResponseHead {
    let is_kept = |name: &[u8]| BESIDE.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()));
    head.fields.retain(|name, _| is_kept(name) || !is_ours(name));
    // By such a tag, the application would confirm any file as unchanged.
    if tags_no_content(&head.fields) {
        head.fields.remove("etag");
    }
    if !head.fields.contains("date") {
        head.fields.push("Date", date::format(now.unix_seconds()));
    }
    head
}

/// Makes the head of a 206 that of the whole; other heads stay.
fn of_the_whole(head: ResponseHead) -> ResponseHead {
    if head.status != StatusCode::PARTIAL_CONTENT {
        return head;
    }
    let mut head = ResponseHead { fields: head.fields, ..ResponseHead::new(StatusCode::OK) };
    let is_of_parts = |value: &[u8]| value.to_ascii_lowercase().starts_with(b"multipart/byteranges");
    // This was the type of the dropped body, which had a part for each range.
    if head.fields.only("content-type").is_some_and(is_of_parts) {
        head.fields.remove("content-type");
    }
    head
}

/// The answer with the file, by the conditions and range of `asked`. Of the fields in [`BESIDE`], none goes out.
fn respond(route: &ActiveRoute, file: OpenFile, said: &ResponseHead, asked: &RequestHead, uri: &str) -> Response {
    let rate_max = rate_max(&said.fields, uri);
    let by_tag;
    let asked = if route.knows_visitors() {
        by_tag = without_dates(asked);
        &by_tag
    } else {
        asked
    };
    let context = SendfileContext { asked, charset: &route.gateway.files.charset, limits: &route.origin, rate_max };
    respond_named(file, completed(said), context).with_body(Body::Local)
}

/// The request with entity tags as its only conditions. An application that knows visitors may name another file for each of them,
/// and the date of one file says nothing of another. An entity tag belongs to one file.
fn without_dates(asked: &RequestHead) -> RequestHead {
    let mut asked = asked.clone();
    asked.fields.remove("if-modified-since");
    if asked.fields.only("if-range").is_some_and(|value| date::parse(value, 0).is_some()) {
        asked.fields.remove("if-range");
        asked.fields.remove("range");
    }
    asked
}

/// The application's head as it goes out: with the charset that it wants for the file, and `private` where it tells downstream
/// caches nothing.
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

/// The rate at which the application wants the file to be sent, in bytes per second. As in nginx, only digits count; 0 and `off`:
/// as fast as the client takes it. `None`: it does not say, or says nothing that can be understood.
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
