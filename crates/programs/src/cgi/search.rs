//! Finds the program that answers for a path, or the response where no program does.
//!
//! The origin's address may be a directory, below which the path is searched as files are ([`crate::document_root`]): a file that
//! isn't executable is 403, a missing one 404, and no byte of a file is ever sent. Or the address is one program, which answers for
//! all paths: SCRIPT_NAME is the prefix that is configured, PATH_INFO all that follows.

use crate::document_root::{self, OpenFiles, ResolvedPath, Rules, Script, Scripts};
use crate::request::Request;
use crate::response::{self, Response};
use http::{Method, StatusCode};
use kasoku_options::{Gateway, PathGlob};
use kasoku_origin::Error;
use kasoku_semantics::url_path::UrlPath;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

/// What a path leads to.
pub(super) enum ScriptSearch {
    /// A program, and the directory of programs.
    Script(Script, PathBuf),
    /// No program, but this response.
    Answer(Response),
}

/// Searches below `programs`; if that is no directory, it is the program itself.
pub(super) async fn search(programs: &Path, request: &Request<'_>) -> Result<ScriptSearch, Error> {
    let method = &request.head.method;
    let target = &*request.head.target;
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let (found, root) =
        document_root::look_up_in_time(request.limits, below_or_itself(programs, target, request.gateway)).await?;
    Ok(match found {
        ResolvedPath::Script(script) => ScriptSearch::Script(script, root),
        ResolvedPath::Redirect(path) => ScriptSearch::Answer(moved(path, query, method)),
        ResolvedPath::Missing => ScriptSearch::Answer(response::own(StatusCode::NOT_FOUND, method)),
        ResolvedPath::Broken => ScriptSearch::Answer(response::own(StatusCode::INTERNAL_SERVER_ERROR, method)),
        ResolvedPath::Forbidden | ResolvedPath::File(_) => {
            ScriptSearch::Answer(response::own(StatusCode::FORBIDDEN, method))
        }
    })
}

/// What is below the directory of programs; or the program, if `programs` is one.
async fn below_or_itself(programs: &Path, target: &str, gateway: &Gateway) -> io::Result<(ResolvedPath, PathBuf)> {
    match find(programs, target, gateway).await {
        Ok(found) => Ok((found, programs.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            itself(programs, target.split('?').next().unwrap_or_default(), gateway).await
        }
        Err(error) => Err(error),
    }
}

async fn find(root: &Path, target: &str, gateway: &Gateway) -> io::Result<ResolvedPath> {
    let open_files = &OpenFiles::default();
    document_root::find(root, target, &Rules { gateway, scripts: Scripts::Programs, open_files }).await
}

/// One program for all paths: it is searched for by its own name, with the path behind it.
async fn itself(program: &Path, path: &str, gateway: &Gateway) -> io::Result<(ResolvedPath, PathBuf)> {
    let (Some(root), Some(name)) = (program.parent(), program.file_name()) else {
        return Ok((ResolvedPath::Missing, PathBuf::new()));
    };
    let prefix = gateway.url_prefix.trim_end_matches('/');
    let Some(rest) = path.strip_prefix(prefix).filter(|rest| rest.is_empty() || rest.starts_with('/')) else {
        return Ok((ResolvedPath::Missing, root.to_owned()));
    };
    // The URL does not hold the program's path, so all of the URL's path counts.
    if UrlPath::read(path).is_some_and(|path| PathGlob::is_any(&gateway.no_programs, path.text())) {
        return Ok((ResolvedPath::Forbidden, root.to_owned()));
    }
    let mut url = String::from("/");
    for byte in name.as_encoded_bytes() {
        let _ = write!(url, "%{byte:02X}");
    }
    url.push_str(rest);
    let plain = Gateway { files: gateway.files.clone(), ..Gateway::default() };
    let found = match find(root, &url, &plain).await? {
        // Dot segments in the rest of the path must not lead to the program's neighbours.
        ResolvedPath::Script(script) if script.file == program => {
            ResolvedPath::Script(Script { script_name: prefix.to_owned(), path_translated: None, ..script })
        }
        found @ (ResolvedPath::Forbidden | ResolvedPath::Broken) => found,
        _ => ResolvedPath::Missing,
    };
    Ok((found, root.to_owned()))
}

fn moved(mut path: String, query: &str, method: &Method) -> Response {
    if !query.is_empty() {
        path.push('?');
        path.push_str(query);
    }
    let mut response = response::own(StatusCode::MOVED_PERMANENTLY, method);
    response.head.fields.push("Location", path);
    response
}
