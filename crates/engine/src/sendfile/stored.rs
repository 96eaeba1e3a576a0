//! A file that an application has named before: its decision is stored, and the file is opened anew.
//!
//! What is stored says who may have what (`kasoku_cache::elsewhere`). What is sent is what lies there now: found by the name as it was
//! received and by the route's present rules, so that a reload that takes a root away takes effect at once, and only while it is the
//! file that the application has seen. Any other file is another question, and the application is asked it.
//!
//! The head is the application's as it was stored, completed by the file as ever; conditions and ranges are this client's. Age and
//! Date are the decision's.

use crate::answer::{Answer, Conditions};
use crate::errand::asked;
use crate::exchange::Exchange;
use crate::request::route::Routed;
use crate::sendfile::{as_named, respond, shown};
use crate::sites::Route;
use crate::stored::meta_age;
use http::StatusCode;
use kasoku_cache::{Elsewhere, Entry};
use kasoku_origin::{Error, NamedFile, OpenFile, OpenFiles, find_named, is_shortage};
use kasoku_semantics::cache_status::CacheStatus;
use std::io;

/// What has become of a file.
pub(crate) enum Opened {
    /// It is as it was.
    Answer(Answer),
    /// It is not what it was, or can't be had.
    Changed,
    /// Nobody knows: the disk takes too long.
    Failed(Error),
}

/// Opens the file that a stored answer names.
pub(crate) async fn open(
    exchange: &Exchange,
    routed: &Routed,
    entry: &Entry,
    file: &Elsewhere,
    status: CacheStatus,
) -> Opened {
    let (route, open_files) = (&*routed.route, &exchange.worker.open_files);
    let found = match tokio::time::timeout(route.origin.first_byte_timeout, find_again(route, file, open_files)).await {
        Ok(Ok(found)) => found,
        Ok(Err(Lost::ByUs(error))) => return Opened::Failed(Error::Unreachable(error)),
        Ok(Err(Lost::Changed(why))) => {
            tracing::info!(uri = routed.key.uri(), named = shown(&file.name), "the application is asked anew: {why}");
            return Opened::Changed;
        }
        Err(_) => return Opened::Failed(Error::FirstByteTimeout),
    };
    let head = &entry.meta.head;
    let mut response = respond(route, found, head, &asked(&exchange.request.head), routed.key.uri());
    if matches!(response.head.status, StatusCode::OK | StatusCode::PARTIAL_CONTENT | StatusCode::NOT_MODIFIED) {
        let fields = &mut response.head.fields;
        if let Some(date) = head.fields.only("date") {
            fields.set("Date", date);
        }
        if let Some(age) = meta_age(exchange, &entry.meta, &CacheStatus { collapsed: false, ..status }) {
            fields.set("Age", age.to_string());
        }
    }
    Opened::Answer(Answer::Origin(Box::new(response), Conditions::Ours, status))
}

/// Why a file that was seen before is not to be had.
#[derive(Debug)]
pub(crate) enum Lost {
    /// It is another one, or nothing that may be sent.
    Changed(&'static str),
    /// There are no descriptors left, or no memory: that says nothing about the file, and the application could send nothing either.
    ByUs(io::Error),
}

/// The file, if it is the one that was seen.
pub(crate) async fn find_again(route: &Route, file: &Elsewhere, open_files: &OpenFiles) -> Result<OpenFile, Lost> {
    match find_named(&route.sendfile, as_named(file.field, &file.name), open_files).await {
        Ok(NamedFile::File(found)) if found.identity() == file.identity => Ok(found),
        Ok(NamedFile::File(_)) => Err(Lost::Changed("it is another file")),
        Ok(NamedFile::Missing) => Err(Lost::Changed("it is not there")),
        Ok(NamedFile::Denied(why) | NamedFile::Malformed(why)) => Err(Lost::Changed(why)),
        Ok(NamedFile::Broken(_)) => Err(Lost::Changed("it can't be read")),
        Err(error) if is_shortage(&error) => Err(Lost::ByUs(error)),
        Err(_) => Err(Lost::Changed("it can't be read")),
    }
}
