//! Answers from a stored sendfile decision: the application's decision is stored, and the file is opened again for each request.
//!
//! The stored decision says which requests may have which file (`kasoku_cache::external_body`). What is sent is the file that lies
//! there now. It is found by the name as it was received and by the route's present rules, so that a reload that takes a root away
//! takes effect at once. It is sent only while it is the file that the application has seen; for any other file, the application is
//! asked again.
//!
//! The head is the application's as it was stored, completed by the file as always; conditions and ranges are this client's. Age
//! and Date are those of the decision.

use crate::exchange::Exchange;
use crate::exchange::answer::{Answer, ConditionEvaluator};
use crate::origin::fetch_context::asked;
use crate::origin::sendfile::{as_named, respond, shown};
use crate::request::route::Routed;
use crate::sites::ActiveRoute;
use http::StatusCode;
use kasoku_cache::{Entry, ExternalBody};
use kasoku_origin::Error;
use kasoku_programs::{OpenFile, OpenFiles, SendfileTarget, find_named, is_shortage};
use kasoku_semantics::cache_status::CacheStatus;
use std::io;

/// What has become of a file that a stored response names.
pub(crate) enum SendfileOutcome {
    /// The file is as it was.
    Answer(Answer),
    /// The file is not what it was, or can't be had.
    Changed,
    /// Unknown: the disk takes too long, or descriptors or memory are short.
    Failed(Error),
}

/// Opens the file that a stored response names, and makes the answer.
pub(crate) async fn open(
    exchange: &Exchange,
    routed: &Routed,
    entry: &Entry,
    file: &ExternalBody,
    status: CacheStatus,
) -> SendfileOutcome {
    let (route, open_files) = (&*routed.route, &exchange.worker.open_files);
    let found = match tokio::time::timeout(route.origin.first_byte_timeout, find_again(route, file, open_files)).await {
        Ok(Ok(found)) => found,
        Ok(Err(Lost::ByUs(error))) => return SendfileOutcome::Failed(Error::Unreachable(error)),
        Ok(Err(Lost::Changed(why))) => {
            tracing::info!(
                uri = routed.key.uri(),
                named = shown(&file.name),
                "the application is asked again, since the file that it named can't be sent: {why}"
            );
            return SendfileOutcome::Changed;
        }
        Err(_) => return SendfileOutcome::Failed(Error::FirstByteTimeout),
    };
    let head = &entry.meta.head;
    let mut response = respond(route, found, head, &asked(&exchange.request.head), routed.key.uri());
    if matches!(response.head.status, StatusCode::OK | StatusCode::PARTIAL_CONTENT | StatusCode::NOT_MODIFIED) {
        let fields = &mut response.head.fields;
        if let Some(date) = head.fields.only("date") {
            fields.set("Date", date);
        }
        if let Some(age) = entry.meta.freshness.age_field(&CacheStatus { collapsed: false, ..status }, exchange.now()) {
            fields.set("Age", age.to_string());
        }
    }
    SendfileOutcome::Answer(Answer::Origin(Box::new(response), ConditionEvaluator::Cache, status))
}

/// Why a file that was seen before can't be sent.
#[derive(Debug)]
pub(crate) enum Lost {
    /// It is another file, or the name leads to nothing that may be sent.
    Changed(&'static str),
    /// Descriptors or memory are short: that says nothing about the file, and the application could send nothing either.
    ByUs(io::Error),
}

/// Finds the file, if it is the one that was seen.
pub(crate) async fn find_again(
    route: &ActiveRoute,
    file: &ExternalBody,
    open_files: &OpenFiles,
) -> Result<OpenFile, Lost> {
    match find_named(&route.sendfile, as_named(&file.field, &file.name), open_files).await {
        Ok(SendfileTarget::File(found)) if found.identity() == file.identity => Ok(found),
        Ok(SendfileTarget::File(_)) => Err(Lost::Changed("it is another file now")),
        Ok(SendfileTarget::Missing) => Err(Lost::Changed("it does not exist")),
        Ok(SendfileTarget::Denied(why) | SendfileTarget::Malformed(why)) => Err(Lost::Changed(why)),
        Ok(SendfileTarget::Broken(_)) => Err(Lost::Changed("it can't be read")),
        Err(error) if is_shortage(&error) => Err(Lost::ByUs(error)),
        Err(_) => Err(Lost::Changed("it can't be read")),
    }
}
