//! Sends a file that an application names, instead of the body that the application doesn't send: X-Sendfile and its like.
//!
//! The application decides which clients may have the file; the operator decides in which directories it may lie ([`SendfileRules`]).
//! So the document root's rules for hidden names and sources don't apply. Only regular files below a directory that the operator has
//! named are sent, which the kernel enforces (`document_root/open.rs`).
//!
//! A name is normalized before the kernel gets it: it is decoded once, and empty and dot segments are removed. Like all servers, this
//! looks at the text alone. If a directory before `..` is a link, the text and the kernel disagree on what is meant; what is opened
//! lies below a root in either case.
//!
//! | name | where it is looked up |
//! |---|---|
//! | an absolute path | below the longest root that it begins with |
//! | a relative path | below each root in turn; the first where something is |
//! | a URI | below the directory of the longest prefix that it begins with |
//!
//! The response has the application's head, completed by the file's ([`respond`]); conditions and ranges are evaluated against the
//! result. No look-up and no read here waits for a disk on the worker's thread.

use super::FileSending;
use super::head::{self, ContentChoice, FileRepresentation};
use crate::Limits;
use crate::document_root::{DocumentRoot, OpenFile, OpenFiles, OpenResult, may_wait};
use crate::response::{self, Response};
use http::{Method, StatusCode};
use kasoku_options::{SendfileRules, Symlinks};
use kasoku_semantics::Now;
use kasoku_semantics::url_path::{PlainPath, UrlPath, percent_decode};
use kasoku_wire::field::date;
use kasoku_wire::field::etag::EntityTag;
use kasoku_wire::{Fields, RequestHead, ResponseHead};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The name of a file, as it was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendfileName<'a> {
    /// A path of the file system.
    Path(&'a [u8]),
    /// A path of internal URIs; a query behind it is ignored.
    Uri(&'a [u8]),
}

/// What a name leads to.
#[derive(Debug)]
pub enum SendfileTarget {
    /// This file.
    File(OpenFile),
    /// Nothing is there.
    Missing,
    /// It may not be sent, and why: it is no regular file, is not readable, or lies elsewhere.
    Denied(&'static str),
    /// It exists, and can't be read from the disk.
    Broken(io::Error),
    /// The name is malformed, and how.
    Malformed(&'static str),
}

/// Why a name is not even looked up.
#[derive(Clone, Copy, Debug)]
enum SendfileNameError {
    /// It lies in no directory that the operator has named.
    OutsideDirectories,
    /// See [`SendfileTarget::Malformed`].
    Malformed(&'static str),
}

impl From<SendfileNameError> for SendfileTarget {
    fn from(unfit: SendfileNameError) -> Self {
        match unfit {
            SendfileNameError::OutsideDirectories => {
                Self::Denied("it is not below `sendfile.roots` or `sendfile.internal`")
            }
            SendfileNameError::Malformed(why) => Self::Malformed(why),
        }
    }
}

/// A place to look: a directory, and a name below it.
type Candidate = (PathBuf, Vec<u8>);

/// Finds what that name leads to.
///
/// # Errors
/// Failures that don't come from the name: a root is missing or can't be read, or no descriptors are left.
pub async fn find(
    rules: &SendfileRules,
    named: SendfileName<'_>,
    open_files: &OpenFiles,
) -> io::Result<SendfileTarget> {
    let candidates = match candidates(rules, named) {
        Ok(candidates) => candidates,
        Err(unfit) => return Ok(unfit.into()),
    };
    let symlinks = rules.symlinks;
    match look(&candidates, symlinks, |root| DocumentRoot::new(root, open_files)) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
        found => return found,
    }
    let waited = may_wait(move || Ok((look(&candidates, symlinks, DocumentRoot::waiting)?, candidates)));
    let (found, candidates) = waited.await?;
    // The kernel now has the names in memory: this look-up does not wait, and keeps the file open for later requests.
    Ok(look(&candidates, symlinks, |root| DocumentRoot::new(root, open_files)).unwrap_or(found))
}

fn look<'c>(
    candidates: &'c [Candidate],
    symlinks: Symlinks,
    root_at: impl Fn(&'c Path) -> DocumentRoot<'c>,
) -> io::Result<SendfileTarget> {
    for (root, name) in candidates {
        match root_at(root).named(name, symlinks)? {
            OpenResult::Absent | OpenResult::BeyondFile => {}
            OpenResult::File(file) => return Ok(SendfileTarget::File(file.named(name.clone()))),
            OpenResult::Directory => return Ok(SendfileTarget::Denied("a directory")),
            OpenResult::Denied(why) => return Ok(SendfileTarget::Denied(why)),
            OpenResult::Broken(error) => return Ok(SendfileTarget::Broken(error.into())),
        }
    }
    Ok(SendfileTarget::Missing)
}

/// The places to look for what is named, in order; or why it is not looked up.
fn candidates(rules: &SendfileRules, named: SendfileName<'_>) -> Result<Vec<Candidate>, SendfileNameError> {
    match named {
        SendfileName::Uri(uri) => {
            let path = uri.split(|byte| *byte == b'?').next().unwrap_or_default();
            let path = std::str::from_utf8(path).map_err(|_| SendfileNameError::Malformed("the URI is not UTF-8"))?;
            if !path.starts_with('/') {
                return Err(SendfileNameError::Malformed("the URI must be a path that begins with a slash"));
            }
            // A path that leads above the root or that can be read in two ways is refused; nginx calls it unsafe.
            let path =
                UrlPath::read(path).filter(|path| !path.is_ambiguous()).ok_or(SendfileNameError::OutsideDirectories)?;
            let below = |(prefix, directory): &(String, PathBuf)| {
                let rest = path.text().strip_prefix(prefix.as_bytes())?;
                Some((directory.clone(), [b"/", rest].concat()))
            };
            let fitting = rules.internal.iter().filter_map(|one| Some((one.0.len(), below(one)?)));
            let longest = fitting.max_by_key(|(length, _)| *length).ok_or(SendfileNameError::OutsideDirectories)?;
            let (directory, name) = longest.1;
            let is_ours = rules.roots.is_empty() || rules.roots.iter().any(|root| directory.starts_with(root));
            if is_ours { Ok(vec![(directory, name)]) } else { Err(SendfileNameError::OutsideDirectories) }
        }
        SendfileName::Path(path) => {
            let decoded = if rules.unescape { decoded(path)? } else { path.to_vec() };
            if decoded.iter().any(u8::is_ascii_control) {
                return Err(SendfileNameError::Malformed("the path has a control character in it"));
            }
            let name = plain(&decoded).ok_or(SendfileNameError::OutsideDirectories)?;
            if !decoded.starts_with(b"/") {
                return Ok(rules.roots.iter().map(|root| (root.clone(), name.clone())).collect());
            }
            let below = |root: &PathBuf| Some((root.clone(), below(root, &name)?.to_vec()));
            let longest = rules.roots.iter().filter_map(below).max_by_key(|(root, _)| root.as_os_str().len());
            Ok(vec![longest.ok_or(SendfileNameError::OutsideDirectories)?])
        }
    }
}

/// The part of an absolute name behind a root; it begins with a slash.
fn below<'n>(root: &Path, name: &'n [u8]) -> Option<&'n [u8]> {
    let rest = name.strip_prefix(root.as_os_str().as_bytes())?;
    rest.starts_with(b"/").then_some(rest)
}

/// Removes percent-encoding.
fn decoded(path: &[u8]) -> Result<Vec<u8>, SendfileNameError> {
    const MALFORMED: SendfileNameError =
        SendfileNameError::Malformed("the path is not percent-encoded; `unescape = false` takes it as it is");
    let mut bytes = Vec::with_capacity(path.len());
    percent_decode(path, &mut bytes).map(|()| bytes).ok_or(MALFORMED)
}

/// The path without empty and dot segments: it begins with `/`, and ends with one where a directory is meant. `None`: it leads above
/// its beginning.
fn plain(path: &[u8]) -> Option<Vec<u8>> {
    let mut plain = PlainPath::with_capacity(path.len());
    path.split(|byte| *byte == b'/').try_for_each(|segment| plain.push(segment))?;
    Some(plain.into_text())
}

/// The request, and how the file is sent.
#[derive(Clone, Copy, Debug)]
pub struct SendfileContext<'a> {
    /// The client's request: its method, conditions and range.
    pub asked: &'a RequestHead,
    /// The charset of texts if the application sends no Content-Type; empty: none is said.
    pub charset: &'a str,
    /// Deadlines.
    pub limits: &'a Limits,
    /// The rate that the application asked for ([`crate::FileBody::rate_max`]); `None`: it asked for none.
    pub rate_max: Option<u64>,
}

/// Fields of the application's head that are about the body that is dropped, or that are set anew.
const REPLACED: [&str; 11] = [
    "accept-ranges",
    "content-digest",
    "content-encoding",
    "content-length",
    "content-md5",
    "content-range",
    "date",
    "digest",
    "repr-digest",
    "trailer",
    "transfer-encoding",
];

/// The file as the response to a request, under the application's head.
///
/// If the application's status is not 200, the file is the page of that status: it is sent whole, without validators.
pub fn respond(file: OpenFile, application: ResponseHead, context: SendfileContext<'_>) -> Response {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Now { unix_ms: i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX), mono_ms: 0 };
    let SendfileContext { asked, charset, limits, rate_max } = context;
    let mut whole = completed(application, &file, charset, now);
    let is_evaluated = whole.status == StatusCode::OK && matches!(asked.method, Method::GET | Method::HEAD);
    // Whether Last-Modified is a strong validator depends on the time of the answer. The sender of the response adds Date itself.
    whole.fields.push("Date", date::format(now.unix_seconds()));
    let (mut head, outcome) = match is_evaluated {
        true => head::evaluated(asked, whole, file.length(), now),
        false if asked.method == Method::HEAD => (whole, ContentChoice::Nothing),
        false => (whole, ContentChoice::Part(0..file.length())),
    };
    head.fields.remove("date");
    FileSending { file, method: &asked.method, limits, permit: None, rate_max }.response(head, outcome)
}

/// The application's head, with the file's fields where the application has none.
fn completed(mut head: ResponseHead, file: &OpenFile, charset: &str, now: Now) -> ResponseHead {
    let fields = &mut head.fields;
    if REPLACED.iter().any(|name| fields.contains(name)) {
        fields.retain(|name, _| !REPLACED.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes())));
    }
    // Invalid validators would keep the file's own out.
    if EntityTag::of(fields).is_none() || tags_no_content(fields) {
        fields.remove("etag");
    }
    if fields.only("last-modified").and_then(|value| date::parse(value, now.unix_seconds())).is_none() {
        fields.remove("last-modified");
    }
    let (name, modified) = (&file.name, file.modified_seconds());
    let of_file = head::whole(&FileRepresentation { file, name, modified, coding: None, varies: false, charset }, now);
    let is_ok = head.status == StatusCode::OK;
    for (name, value) in of_file.fields.iter() {
        let text = std::str::from_utf8(name).unwrap_or_default();
        let goes = is_ok || ["Content-Type", "Content-Length"].contains(&text);
        if goes && !head.fields.contains(text) {
            head.fields.push(name, value);
        }
    }
    head
}

/// The beginnings of digests of an empty body: MD5, SHA-1 and SHA-256, in hexadecimal digits and in base64. Frameworks (Rack::ETag,
/// Express) make tags of those even if the body is left to the server, so all files would have the same tag.
const DIGESTS_OF_NO_CONTENT: [&[u8]; 6] = [
    b"d41d8cd98f00b204",
    b"1B2M2Y8AsgTpgAmY",
    b"da39a3ee5e6b4b0d",
    b"2jmj7l5rSw0yVb/v",
    b"e3b0c44298fc1c14",
    b"47DEQpj8HBSa+/TI",
];

/// Whether the application's ETag is that of an empty body, and so says nothing about the file.
pub fn tags_no_content(fields: &Fields) -> bool {
    let is_in = |digest: &[u8], tag: &[u8]| tag.windows(digest.len()).any(|part| part == digest);
    EntityTag::of(fields).is_some_and(|tag| DIGESTS_OF_NO_CONTENT.iter().any(|digest| is_in(digest, tag.opaque)))
}

/// A short response instead of a file, which no cache may store.
pub fn refused(status: StatusCode, method: &Method) -> Response {
    let mut response = response::own(status, method);
    response.head.fields.push("Cache-Control", "no-store");
    response
}

#[cfg(test)]
mod tests;
