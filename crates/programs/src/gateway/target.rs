//! What the path of a request leads to where scripts run elsewhere (FastCGI, SCGI), and what the script is told.
//!
//! With a document root, the path is looked for below it: a script's file is named to the application server, any other file is
//! served from here, and what isn't there is 404 without asking anybody. So PATH_INFO begins only behind a script that exists:
//! `/a.jpg/x.php` is nothing, whatever php.ini says of cgi.fix_pathinfo. The application server has to see the files under the
//! same names.
//!
//! Without one, the application is all there is: SCRIPT_NAME is what the route says stands before it, mostly nothing, and
//! PATH_INFO is the whole rest of the path, decoded.

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
    /// What is to be run.
    Program(GatewayProgram),
    /// What is answered from here.
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
    match document_root::in_time(limits, document_root::find(root, &head.target, &rules)).await? {
        ResolvedPath::Script(Script { file, script_name, path_info, path_translated, query }) => {
            Ok(GatewayTarget::Program(GatewayProgram {
                script_name,
                path_info,
                path_translated,
                file: Some(file),
                query,
            }))
        }
        // It takes none of the places: they are the application server's.
        found => files::answer(root, request, found, None).await.map(GatewayTarget::Answer),
    }
}

/// The same for a check of the application server's health: what is no file below the root is asked for by its name alone, since
/// that may be for the server itself, as php-fpm's ping.path is.
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
/// The status for a path that is none of its.
fn application(path: &str, gateway: &Gateway) -> Result<GatewayProgram, StatusCode> {
    let path = UrlPath::read(path).ok_or(StatusCode::NOT_FOUND)?;
    let below = path.below(&gateway.url_prefix).ok_or(StatusCode::NOT_FOUND)?;
    // No script is known whose path would count, so all of the URL's does.
    if PathGlob::is_any(&gateway.no_programs, path.text()) {
        return Err(StatusCode::FORBIDDEN);
    }
    Ok(GatewayProgram {
        script_name: gateway.url_prefix.trim_end_matches('/').to_owned(),
        // Variables are text here; a path that is none in UTF-8 names nothing.
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
    /// What it is told of the request: the meta-variables, then what application servers expect beyond them, then what the
    /// route adds.
    ///
    /// REDIRECT_STATUS is what a PHP with cgi.force_redirect wants to see, DOCUMENT_URI what nginx tells.
    pub(crate) fn variables<'a>(&'a self, request: &Request<'a>, body_bytes: Option<u64>) -> MetaVariables<'a> {
        let circumstances = request.circumstances;
        let bytes = |path: &'a Option<PathBuf>| path.as_deref().map(|path| path.as_os_str().as_bytes());
        let mut variables = MetaVariables::of(&ScriptRequest {
            head: request.head,
            is_https: circumstances.is_https,
            local: circumstances.local,
            remote: circumstances.remote,
            body_bytes,
            // It travels through a socket; no other user of a machine sees it.
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
