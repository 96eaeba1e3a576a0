//! Finds what the path of a request leads to where scripts run elsewhere (FastCGI, SCGI), and makes the variables for the script.
//!
//! With a document root, the path is looked up below it. For a script, the application server gets the name of the script's file.
//! Any other file is served from here, and a path that does not exist is 404; the application server is not asked. So PATH_INFO
//! begins only behind a script that exists: `/a.jpg/x.php` leads to nothing, whatever php.ini sets for cgi.fix_pathinfo. The
//! application server must see the files under the same names.
//!
//! Without a document root, the application answers for all paths: SCRIPT_NAME is the prefix that the configuration sets, mostly
//! empty, and PATH_INFO is the rest of the path, decoded.

use crate::document_root::{self, ResolvedPath, Rules, Script, Scripts};
use crate::files;
use crate::meta_variables::{MetaVariables, ScriptRequest};
use crate::request::Request;
use crate::response::{self, Response};
use http::{Method, StatusCode};
use kasoku_options::{Gateway, PathGlob};
use kasoku_origin::Error;
use kasoku_semantics::url_path::UrlPath;
use kasoku_wire::RequestHead;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// What the path leads to.
pub(crate) enum GatewayTarget {
    /// A program to run.
    Program(GatewayProgram),
    /// A response that needs no program.
    Answer(Response),
}

/// A script below a document root, or an application without one.
#[derive(Debug)]
pub(crate) struct GatewayProgram {
    script_name: String,
    path_info: String,
    path_translated: Option<PathBuf>,
    file: Option<PathBuf>,
    query: Option<String>,
}

/// What the path of the request leads to.
pub(crate) async fn find(request: &Request<'_>) -> Result<GatewayTarget, Error> {
    let Request { head, gateway, limits, open_files, .. } = *request;
    if matches!(head.method, Method::CONNECT | Method::TRACE) {
        return Ok(GatewayTarget::Answer(response::own(StatusCode::NOT_IMPLEMENTED, &head.method)));
    }
    let Some(root) = &gateway.root else {
        let answer = |status| GatewayTarget::Answer(response::own(status, &head.method));
        return Ok(application(path(head), gateway).map_or_else(answer, GatewayTarget::Program));
    };
    let rules = Rules { gateway, scripts: Scripts::BySuffix, open_files };
    match document_root::look_up_in_time(limits, document_root::find(root, &head.target, &rules)).await? {
        ResolvedPath::Script(Script { file, script_name, path_info, path_translated, query }) => {
            Ok(GatewayTarget::Program(GatewayProgram {
                script_name,
                path_info,
                path_translated,
                file: Some(file),
                query,
            }))
        }
        // A file takes no permit: permits are for connections to the application server.
        found => files::answer(root, request, found, None).await.map(GatewayTarget::Answer),
    }
}

/// The same for a health check. A path that is no file below the root is sent to the application server by its name alone, since
/// the server itself may answer it, as php-fpm does for its ping.path.
pub(crate) async fn find_for_check(request: &Request<'_>) -> Result<GatewayTarget, Error> {
    match find(request).await? {
        GatewayTarget::Answer(response) if response.head.status == StatusCode::NOT_FOUND => {
            let script_name = path(request.head).to_owned();
            // php-fpm looks at SCRIPT_NAME only where there is a SCRIPT_FILENAME.
            let file = request.gateway.root.as_ref().map(|root| root.join(script_name.trim_start_matches('/')));
            let program =
                GatewayProgram { script_name, path_info: String::new(), path_translated: None, file, query: None };
            Ok(GatewayTarget::Program(program))
        }
        target => Ok(target),
    }
}

/// An application that answers for all paths.
///
/// # Errors
/// The status for a path outside of the application's prefix, or where no program may run.
fn application(path: &str, gateway: &Gateway) -> Result<GatewayProgram, StatusCode> {
    let path = UrlPath::read(path).ok_or(StatusCode::NOT_FOUND)?;
    let below = path.below(&gateway.url_prefix).ok_or(StatusCode::NOT_FOUND)?;
    // There is no script whose path could be matched, so the whole path of the URL is.
    if PathGlob::is_any(&gateway.no_programs, path.text()) {
        return Err(StatusCode::FORBIDDEN);
    }
    Ok(GatewayProgram {
        script_name: gateway.url_prefix.trim_end_matches('/').to_owned(),
        // Variables are text here, so a path that is not UTF-8 names nothing.
        path_info: String::from_utf8(below.to_vec()).map_err(|_| StatusCode::NOT_FOUND)?,
        path_translated: None,
        file: None,
        query: None,
    })
}

/// The path of the request, as it was sent.
fn path(head: &RequestHead) -> &str {
    head.target.split('?').next().unwrap_or_default()
}

impl GatewayProgram {
    /// The variables for the program: the meta-variables, then those that application servers expect beyond them, then those of
    /// the configuration.
    ///
    /// A PHP with cgi.force_redirect requires REDIRECT_STATUS; DOCUMENT_URI is a variable of nginx.
    pub(crate) fn variables<'a>(&'a self, request: &Request<'a>, body_bytes: Option<u64>) -> MetaVariables<'a> {
        let connection = request.connection;
        let bytes = |path: &'a Option<PathBuf>| path.as_deref().map(|path| path.as_os_str().as_bytes());
        let mut variables = MetaVariables::of(&ScriptRequest {
            head: request.head,
            is_https: connection.is_https,
            local: connection.local,
            remote: connection.remote,
            stand_in: connection.stand_in,
            body_bytes,
            // The variables travel through a socket, where no other user of the machine sees them.
            passes_authorization: request.gateway.passes_authorization.unwrap_or(true),
            script_name: &self.script_name,
            path_info: &self.path_info,
            path_translated: bytes(&self.path_translated),
            query: self.query.as_deref(),
            script_filename: bytes(&self.file),
            document_root: bytes(&request.gateway.root),
        });
        variables.set("DOCUMENT_URI", [self.script_name.as_bytes(), self.path_info.as_bytes()].concat());
        variables.set("REDIRECT_STATUS", &b"200"[..]);
        variables.set_further(request.gateway);
        variables
    }
}
