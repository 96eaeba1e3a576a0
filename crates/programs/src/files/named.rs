//! A file that an application names, in the place of the body that it doesn't send: X-Sendfile and its like.
//!
//! The application decides which clients may have the file; the operator decides in which directories it may lie ([`SendfileRules`]). So
//! the rules of document roots for what hides and for sources don't apply, and nothing is sent but regular files below a directory that the
//! operator has named, which the kernel sees to (`document_root/open.rs`).
//!
//! A name is made plain before the kernel gets it: decoded once, without empty and dot segments, in the way in which all servers
//! read such names, which is by the text alone. Where a directory before `..` is a link, the text and the kernel disagree on what
//! is meant; what is opened lies below a root in either case.
//!
//! | named | where it is looked for |
//! |---|---|
//! | an absolute path | below the longest root that it begins with |
//! | a relative path | below each root in turn; the first where something is |
//! | a URI | below the directory of the longest prefix that it begins with |
//!
//! The answer's head is the application's, completed by the file's ([`respond`]); conditions and ranges are evaluated against what
//! comes of that. No answer here waits for a disk on the worker's thread.

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
    /// A path of internal URIs, maybe with a query, which means nothing.
    Uri(&'a [u8]),
}

/// What a name leads to.
#[derive(Debug)]
pub enum SendfileTarget {
    /// This file.
    File(OpenFile),
    /// Nothing.
    Missing,
    /// Nothing that may be sent, and why: something else than a file, not readable, or elsewhere.
    Denied(&'static str),
    /// Something that the disk does not give.
    Broken(io::Error),
    /// It is no name, and why.
    Malformed(&'static str),
}

/// Why a name is not even looked for.
#[derive(Clone, Copy, Debug)]
enum SendfileNameError {
    /// No directory is set for it.
    OutsideDirectories,
    /// See [`SendfileTarget::Malformed`].
    Malformed(&'static str),
}

impl From<SendfileNameError> for SendfileTarget {
    fn from(unfit: SendfileNameError) -> Self {
        match unfit {
            SendfileNameError::OutsideDirectories => Self::Denied("in no directory that is set for it"),
            SendfileNameError::Malformed(why) => Self::Malformed(why),
        }
    }
}

/// Where something may lie: a directory, and a name below it.
type Candidate = (PathBuf, Vec<u8>);

/// What that name leads to.
///
/// # Errors
/// A root isn't there or can't be read, there are no descriptors left: nothing that the name is to blame for.
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
    // Now that it is in memory, it is found again without a wait, and stays open.
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

/// Where what is named may lie, in the order in which it is looked for; or what it is without a look.
fn candidates(rules: &SendfileRules, named: SendfileName<'_>) -> Result<Vec<Candidate>, SendfileNameError> {
    match named {
        SendfileName::Uri(uri) => {
            let path = uri.split(|byte| *byte == b'?').next().unwrap_or_default();
            let path = std::str::from_utf8(path).map_err(|_| SendfileNameError::Malformed("the URI is not UTF-8"))?;
            if !path.starts_with('/') {
                return Err(SendfileNameError::Malformed("the URI must be a path that begins with a slash"));
            }
            // What leads above the root, or reads in two ways: nginx calls it unsafe.
            let path =
                UrlPath::read(path).filter(|path| !path.is_odd()).ok_or(SendfileNameError::OutsideDirectories)?;
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

/// What of an absolute name follows a root; it begins with a slash.
fn below<'n>(root: &Path, name: &'n [u8]) -> Option<&'n [u8]> {
    let rest = name.strip_prefix(root.as_os_str().as_bytes())?;
    rest.starts_with(b"/").then_some(rest)
}

/// Without percent-encoding.
fn decoded(path: &[u8]) -> Result<Vec<u8>, SendfileNameError> {
    const MALFORMED: SendfileNameError =
        SendfileNameError::Malformed("the path is not percent-encoded; `unescape = false` takes it as it is");
    let mut bytes = Vec::with_capacity(path.len());
    percent_decode(path, &mut bytes).map(|()| bytes).ok_or(MALFORMED)
}

/// The path without empty and dot segments: it begins with `/`, and ends with one where a directory is meant. `None`: it leads above
/// where it begins.
fn plain(path: &[u8]) -> Option<Vec<u8>> {
    let mut plain = PlainPath::with_capacity(path.len());
    path.split(|byte| *byte == b'/').try_for_each(|segment| plain.push(segment))?;
    Some(plain.into_text())
}

/// What else goes into the answer.
#[derive(Clone, Copy, Debug)]
pub struct Telling<'a> {
    /// The client's request, as far as it has conditions and a range.
    pub asked: &'a RequestHead,
    /// The charset of texts whose type the application does not say; empty: none is said.
    pub charset: &'a str,
    /// Deadlines.
    pub limits: &'a Limits,
    /// How fast the application wants it to go out ([`crate::FileBody::rate_max`]); none: it does not say.
    pub rate_max: Option<u64>,
}

/// What of the application's head speaks of the body that is dropped, or is said anew.
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

/// The file as the answer to a request, with what the application has said of it.
///
/// With another status than 200 the file is the page of that status: whole, without validators.
pub fn respond(file: OpenFile, application: ResponseHead, telling: Telling<'_>) -> Response {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Now { unix_ms: i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX), mono_ms: 0 };
    let Telling { asked, charset, limits, rate_max } = telling;
    let mut whole = completed(application, &file, charset, now);
    let is_evaluated = whole.status == StatusCode::OK && matches!(asked.method, Method::GET | Method::HEAD);
    // Whether Last-Modified is a strong validator depends on the time of the answer; Date itself is left to who sends it.
    whole.fields.push("Date", date::format(now.unix_seconds()));
    let (mut head, outcome) = match is_evaluated {
        true => head::evaluated(asked, whole, file.length(), now),
        false if asked.method == Method::HEAD => (whole, ContentChoice::Nothing),
        false => (whole, ContentChoice::Part(0..file.length())),
    };
    head.fields.remove("date");
    FileSending { file, method: &asked.method, limits, place: None, rate_max }.response(head, outcome)
}

/// The application's head with what the file says where the application says nothing.
fn completed(mut head: ResponseHead, file: &OpenFile, charset: &str, now: Now) -> ResponseHead {
    let fields = &mut head.fields;
    if REPLACED.iter().any(|name| fields.contains(name)) {
        fields.retain(|name, _| !REPLACED.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes())));
    }
    // Validators that are none would keep the file's own out.
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

/// What digests of no content begin with: MD5, SHA-1 and SHA-256, in hexadecimal digits and in base64. Frameworks make tags of those
/// (Rack::ETag, Express), also of the body that is not theirs to send; and all files would have the same.
const DIGESTS_OF_NO_CONTENT: [&[u8]; 6] = [
    b"d41d8cd98f00b204",
    b"1B2M2Y8AsgTpgAmY",
    b"da39a3ee5e6b4b0d",
    b"2jmj7l5rSw0yVb/v",
    b"e3b0c44298fc1c14",
    b"47DEQpj8HBSa+/TI",
];

/// Whether the ETag of an application is one of the body that it does not send: it says nothing about the file.
pub fn tags_no_content(fields: &Fields) -> bool {
    let is_in = |digest: &[u8], tag: &[u8]| tag.windows(digest.len()).any(|part| part == digest);
    EntityTag::of(fields).is_some_and(|tag| DIGESTS_OF_NO_CONTENT.iter().any(|digest| is_in(digest, tag.opaque)))
}

/// The short answer that stands for a file, to be kept by nobody.
pub fn refused(status: StatusCode, method: &Method) -> Response {
    let mut response = response::own(status, method);
    response.head.fields.push("Cache-Control", "no-store");
    response
}

#[cfg(test)]
mod tests;
