//! Starts a CGI program: its environment, its pipes, the call.

use crate::document_root::{Script, may_wait};
use crate::meta_variables::{MetaVariables, ScriptRequest};
use crate::request::Request;
use crate::upload::content_length;
use kasoku_options::ProgramLimits;
use kasoku_origin::Error;
use kasoku_origin::permits::Permit;
use kasoku_sys::process::{Bounds, ProgramSpec, Started, start};
use kasoku_wire::http1::BodyLength;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// PATH, unless the configuration sets another.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A program that has been started, and Kasoku's ends of its pipes.
pub(super) struct Launched {
    /// Its file, for the log.
    pub(super) program: String,
    pub(super) started: Started,
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) permit: Permit,
}

/// Runs a script. If the request is dropped meanwhile, the program is ended as soon as it has started.
pub(super) async fn launch(
    script: &Script,
    root: &Path,
    request: &Request<'_>,
    body: BodyLength,
    permit: Permit,
) -> Result<Launched, Error> {
    let plan = LaunchPlan::new(script, root, request, body)?;
    // A disk that hangs must not block the worker, nor the request for ever.
    let launched = tokio::time::timeout(request.limits.first_byte_timeout, may_wait(move || plan.carry_out(permit)));
    launched.await.map_err(|_| Error::FirstByteTimeout)?.map_err(|error| not_started(script, request, error))
}

fn not_started(script: &Script, request: &Request<'_>, error: io::Error) -> Error {
    let (file, id) = (script.file.display(), &request.connection.request_id);
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        // The machine's resources, or this process's share of them, are used up for the moment.
        Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => {
            tracing::warn!(%error, "no program can be started");
            Error::Busy
        }
        _ => {
            tracing::warn!(request = %id, %error, "{file} can't be run");
            Error::NotStarted(error)
        }
    }
}

struct LaunchPlan {
    file: CString,
    name: CString,
    directory: CString,
    environment: Vec<CString>,
    has_input: bool,
    umask: u32,
    bounds: Bounds,
}

impl LaunchPlan {
    fn new(script: &Script, root: &Path, request: &Request<'_>, body: BodyLength) -> Result<Self, Error> {
        let file = script.file.as_os_str().as_encoded_bytes();
        let directory = script.file.parent().unwrap_or(Path::new("/")).as_os_str().as_encoded_bytes();
        let name = script.file.file_name().unwrap_or_default().as_encoded_bytes();
        let ProgramLimits { memory_bytes_max, cpu_max, umask, .. } = request.limits.programs;
        Ok(Self {
            file: text(file)?,
            name: text(name)?,
            directory: text(directory)?,
            environment: environment(script, root, request, body)?,
            has_input: !matches!(body, BodyLength::None),
            umask,
            bounds: Bounds { memory_bytes_max, cpu_max },
        })
    }

    fn carry_out(self, permit: Permit) -> io::Result<Launched> {
        let pipe = || pipe_with(PipeFlags::CLOEXEC);
        let (stdin, to_it) = if self.has_input {
            let (reads, writes) = pipe()?;
            (reads, Some(writes))
        } else {
            (File::open("/dev/null")?.into(), None)
        };
        let (stdout, its_stdout) = pipe()?;
        let (stderr, its_stderr) = pipe()?;
        let started = start(&ProgramSpec {
            file: &self.file,
            arguments: &[self.name],
            environment: &self.environment,
            directory: &self.directory,
            stdin: stdin.as_fd(),
            stdout: its_stdout.as_fd(),
            stderr: its_stderr.as_fd(),
            umask: self.umask,
            bounds: self.bounds,
        })?;
        let program = self.file.to_string_lossy().into_owned();
        Ok(Launched { program, started, stdin: to_it, stdout, stderr, permit })
    }
}

/// The meta-variables, PATH, and the variables of the configuration, which win.
fn environment(script: &Script, root: &Path, request: &Request<'_>, body: BodyLength) -> Result<Vec<CString>, Error> {
    let gateway = request.gateway;
    let document_root = gateway.root.as_deref().unwrap_or(root);
    let mut variables = MetaVariables::of(&ScriptRequest {
        head: request.head,
        is_https: request.connection.is_https,
        local: request.connection.local,
        remote: request.connection.remote,
        stand_in: request.connection.stand_in,
        body_bytes: content_length(body),
        passes_authorization: gateway.passes_authorization.unwrap_or(false),
        script_name: &script.script_name,
        path_info: &script.path_info,
        path_translated: script.path_translated.as_ref().map(|path| path.as_os_str().as_encoded_bytes()),
        query: script.query.as_deref(),
        script_filename: Some(script.file.as_os_str().as_encoded_bytes()),
        document_root: Some(document_root.as_os_str().as_encoded_bytes()),
    });
    variables.set("PATH", PATH.as_bytes());
    variables.set_further(gateway);
    variables.iter().map(|(name, value)| text(&[name.as_bytes(), b"=", value].concat())).collect()
}

fn text(bytes: &[u8]) -> Result<CString, Error> {
    CString::new(bytes).map_err(|error| Error::NotStarted(error.into()))
}
