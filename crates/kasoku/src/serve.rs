//! `kasoku serve`: starts the engine and the admin listener, and acts on signals.
//!
//! The order is: take over the predecessor's sockets, listen, become another user, open everything else, serve. So the program has
//! root's rights, which ports below 1024 need, only for a moment. It catches signals before it serves, so that a stop right after the
//! start still lets requests finish. The admin listener answers until the last request has ended or a successor serves.

use crate::control::Control;
use crate::identity::{self, PidFile};
use crate::signals::{SignalAction, Signals};
use crate::upgrade::removals::{RemovalSender, follow};
use crate::upgrade::{self, Predecessor, Successor};
use crate::{log, systemd};
use kasoku_admin::reload::{self, Reloaded, Reloads};
use kasoku_admin::{Admin, AdminHandle, AdminSocket, AdminToken};
use kasoku_config::{CHANGES_MAX, Loaded, ServeFlags};
use kasoku_engine::Engine;
use kasoku_engine::clock::SystemClock;
use kasoku_engine::listening::Listening;
use kasoku_options::ListenAddress;
use kasoku_sys::listen::ListeningSocket;
use kasoku_sys::process::reset_sigchld;
use kasoku_traces::Exporter;
use rustix::process::{Resource, getrlimit, setrlimit};
use std::error::Error;
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::runtime::Runtime;

pub(crate) fn serve(flags: &ServeFlags) -> ExitCode {
    reset_sigchld();
    let predecessor = match Predecessor::adopt() {
        Ok(predecessor) => predecessor,
        Err(error) => {
            log::failed(&format!("the sockets of the process before this one can't be taken over: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let loaded = match kasoku_config::load(flags) {
        Ok(loaded) => loaded,
        Err(report) => {
            log::report(&report);
            return ExitCode::FAILURE;
        }
    };
    log::start(loaded.options.program_log);
    log::report(&loaded.warnings);
    match Service::start(flags, loaded, predecessor) {
        Ok(program) => {
            program.run();
            ExitCode::SUCCESS
        }
        Err(error) => {
            log::failed(&error);
            ExitCode::FAILURE
        }
    }
}

/// Raises the limit of open descriptors to the hard limit, which is the administrator's: each connection needs a descriptor, and the
/// 1,024 that shells give are few.
fn raise_descriptor_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "the limit of open descriptors can't be raised");
    }
}

/// Descriptors that must be left for clients and origins when everything is open. With fewer, the program would start and answer no
/// client.
const DESCRIPTORS_SPARE_MIN: usize = 8;

fn check_spare_descriptors() -> Result<(), String> {
    let spare: Result<Vec<File>, io::Error> = (0..DESCRIPTORS_SPARE_MIN).map(|_| File::open("/dev/null")).collect();
    spare.map(drop).map_err(|error| format!("no descriptors are left for clients: {error}"))
}

/// What the main thread waits for.
enum ControlEvent {
    Signal(SignalAction),
    /// A command that asks for a reload, and waits for the outcome.
    Command(tokio::sync::oneshot::Sender<reload::ReloadResult>),
}

/// Why no successor has taken over.
enum UpgradeFailure {
    Failed(String),
    /// A stop signal of that name came first.
    Stop(&'static str),
}

/// The running program.
struct Service<'f> {
    flags: &'f ServeFlags,
    loaded: Loaded,
    runtime: Runtime,
    signals: Signals,
    engine: Engine,
    /// Sends spans, if a collector is set.
    exporter: Option<Exporter>,
    admin: Option<Admin>,
    /// The admin listener's address and socket, for a successor.
    admin_socket: Option<(ListenAddress, ListeningSocket)>,
    control: Option<Control>,
    /// Reloads that commands ask for.
    reloads: kasoku_admin::reload::ReloadReceiver,
    _pid_file: Option<PidFile>,
}

impl<'f> Service<'f> {
    fn start(flags: &'f ServeFlags, loaded: Loaded, mut predecessor: Predecessor) -> Result<Self, Box<dyn Error>> {
        raise_descriptor_limit();
        let options = loaded.options.clone();
        let workers = options.workers.max(1);
        let admin_socket = match &options.admin {
            Some(address) => {
                let left = predecessor.sockets.0.remove(&upgrade::admin(address)).and_then(|mut sockets| sockets.pop());
                let socket = left.map_or_else(|| kasoku_admin::open(address), Ok)?;
                Some((address.clone(), socket))
            }
            None => None,
        };
        // What root creates belongs to the user that it becomes, since a successor is not root.
        let owner = options.user.as_deref().map(identity::future_owner).transpose()?.flatten();
        let listening = Listening::open(&options.listeners, workers, &mut predecessor.sockets)?;
        let listening =
            listening.and_for_peers(options.peers.as_ref().map(|peers| peers.listen), &mut predecessor.sockets)?;
        let control = Control::open(&options.control_socket, &mut predecessor.sockets, owner)?;
        // Closes inherited sockets on which nothing listens any more.
        predecessor.sockets.0.clear();
        let token = options.admin_token_file.as_deref().map(|path| {
            AdminToken::load(path, owner).map_err(|error| format!("the admin token {}: {error}", path.display()))
        });
        let token = token.transpose()?;
        let wrong_pid_file = |path: &Path| {
            let path = path.display().to_string();
            move |error: io::Error| format!("the pid file {path}: {error}")
        };
        if let Some(user) = &options.user {
            if let (Some(path), Some(owner)) = (&options.pid_file, owner) {
                PidFile::make_for(path, owner).map_err(wrong_pid_file(path))?;
            }
            identity::become_user(user)?;
        }
        identity::may_run_programs(&options)?;
        // From here on there are threads.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let signals = {
            let _registers_with = runtime.enter();
            Signals::catch()?
        };
        let mut engine = Engine::serve(options.clone(), listening, Arc::new(SystemClock::new()))?;
        let spans = engine.take_spans().map(|spans| Exporter::start(&options.traces, spans, engine.handle().cells()));
        let exporter = spans.transpose().map_err(|error| format!("the collector of spans: {error}"))?.flatten();
        let mut doors = Vec::new();
        if let Some((address, socket)) = &admin_socket {
            doors.push(AdminSocket::admin(socket.duplicate()?, address));
        }
        if let Some(Control { path, socket, .. }) = &control {
            doors.push(AdminSocket::control(socket.duplicate()?, path));
        }
        let (asks, reloads) = Reloads::new();
        let admin = match doors.is_empty() {
            true => None,
            false => Some(Admin::serve(doors, AdminHandle::new(engine.handle().clone(), token).with_reloads(asks))?),
        };
        check_spare_descriptors()?;
        let pid_file = options.pid_file.as_deref();
        let _pid_file = pid_file.map(|path| PidFile::write(path).map_err(wrong_pid_file(path))).transpose()?;
        let mut program = Self {
            flags,
            loaded,
            runtime,
            signals,
            engine,
            exporter,
            admin,
            admin_socket,
            control,
            reloads,
            _pid_file,
        };
        program.say_where();
        if let Some(stream) = predecessor.removals.take() {
            follow(stream, program.engine.handle().clone())?;
        }
        // The predecessor announces its successor to systemd, which listens to no other process until then.
        let takes_over = predecessor.notify_ready();
        program.control.iter_mut().for_each(|control| control.share(false));
        if !takes_over {
            systemd::tell(systemd::READY);
        }
        Ok(program)
    }

    fn say_where(&self) {
        let options = &self.loaded.options;
        for address in self.engine.addresses() {
            tracing::info!("listening on http://{address}");
        }
        let others = options.listeners.iter().map(|listener| &listener.address);
        for address in others.filter(|address| !matches!(address, ListenAddress::Tcp(_))) {
            tracing::info!("listening on {address}");
        }
        if let Some(peers) = &options.peers {
            tracing::info!("listener for peers on {}", peers.listen);
        }
        if let Some(written) = &options.admin {
            let address = self.admin.as_ref().and_then(Admin::address).map(|address| format!("http://{address}"));
            tracing::info!("admin listener on {}", address.unwrap_or_else(|| written.to_string()));
        }
        if let Some(control) = &self.control {
            tracing::info!("control socket {}", control.path.display());
        }
    }

    /// Serves until a stop signal comes or a successor has taken over.
    fn run(mut self) {
        loop {
            match self.next() {
                ControlEvent::Command(outcome) => {
                    // The command may have ended by now.
                    let _ = outcome.send(self.reload("kasoku reload"));
                }
                ControlEvent::Signal(SignalAction::Stop(name)) => {
                    tracing::info!("{name}: finishing running requests");
                    break;
                }
                ControlEvent::Signal(SignalAction::Reload) => drop(self.reload("SIGHUP")),
                ControlEvent::Signal(SignalAction::ReopenLog) => {
                    tracing::info!("SIGUSR1: opening the access log anew");
                    self.engine.reopen_log();
                }
                ControlEvent::Signal(SignalAction::Upgrade) => match self.hand_over() {
                    Ok(process) => {
                        // This process stops answering commands: what the operator purges from now on must be gone in the new
                        // process.
                        self.admin = None;
                        self.control.iter_mut().for_each(|control| control.share(true));
                        tracing::info!(process, "SIGUSR2: a new process serves; finishing running requests");
                        systemd::tell(&format!("MAINPID={process}"));
                        return self.finish(Engine::leave);
                    }
                    Err(UpgradeFailure::Failed(error)) => tracing::error!("SIGUSR2: this process goes on: {error}"),
                    Err(UpgradeFailure::Stop(name)) => {
                        tracing::info!("{name}: no new process; finishing running requests");
                        break;
                    }
                },
            }
        }
        systemd::tell(systemd::STOPPING);
        self.finish(Engine::stop);
    }

    /// Waits for the next event.
    fn next(&mut self) -> ControlEvent {
        let Self { runtime, signals, reloads, .. } = self;
        runtime.block_on(async {
            tokio::select! {
                asked = signals.next() => ControlEvent::Signal(asked),
                Some(outcome) = reloads.recv() => ControlEvent::Command(outcome),
            }
        })
    }

    /// Waits until the running requests have ended. A second stop signal ends the program at once.
    fn finish(self, end: fn(Engine)) {
        let Self { engine, exporter, admin, admin_socket, control, runtime, mut signals, _pid_file, .. } = self;
        drop((admin_socket, control));
        std::thread::scope(|scope| {
            let (ended, until_ended) = tokio::sync::oneshot::channel();
            scope.spawn(move || {
                end(engine);
                // The receiver exists until this message arrives.
                let _ = ended.send(());
            });
            let hurried = runtime.block_on(async {
                tokio::select! {
                    _ = until_ended => None,
                    name = signals.next_stop() => Some(name),
                }
            });
            if let Some(name) = hurried {
                tracing::warn!("{name} once more: ending at once");
                drop(_pid_file);
                std::process::exit(1);
            }
        });
        // Sends the spans of the last requests.
        drop(exporter);
        drop(admin);
    }

    /// Reads the configuration again and applies it; a wrong one changes nothing. `by` names the cause for the log.
    fn reload(&mut self, by: &str) -> reload::ReloadResult {
        let loaded = kasoku_config::load(self.flags).map_err(|report| {
            log::report(&report);
            tracing::error!("{by}: the configuration is wrong; the old one stays");
            format!("the configuration is wrong; the old one stays\n{}", report.render(false))
        })?;
        log::report(&loaded.warnings);
        let refused = |error: String| {
            tracing::error!("{by}: the old configuration stays: {error}");
            format!("the old configuration stays: {error}")
        };
        identity::may_run_programs(&loaded.options).map_err(refused)?;
        self.engine.reload(loaded.options.clone()).map_err(|error| refused(error.to_string()))?;
        let changes = kasoku_config::changes(&self.loaded, &loaded);
        let more = changes.len().saturating_sub(CHANGES_MAX);
        let changes: Vec<String> = changes.iter().take(CHANGES_MAX).map(ToString::to_string).collect();
        for change in &changes {
            tracing::info!("{by}: {change}");
        }
        if more > 0 {
            tracing::info!("{by}: and {more} more");
        }
        tracing::info!(changes = changes.len() + more, "{by}: the configuration was read again");
        let warnings = loaded.warnings.render(false);
        self.loaded = loaded;
        Ok(Reloaded { changes, more, warnings })
    }

    /// Starts a successor on the same sockets, and waits until it serves. Returns its process number.
    fn hand_over(&mut self) -> Result<u32, UpgradeFailure> {
        let admin = self.admin_socket.iter().map(|(address, socket)| (upgrade::admin(address), socket));
        let control = self.control.iter().map(|control| (control.name(), &control.socket));
        let sockets = self.engine.listening().sockets().chain(admin).chain(control);
        let failed = |error: io::Error| UpgradeFailure::Failed(format!("no new process could be started: {error}"));
        let (successor, removals) = {
            let _registers_with = self.runtime.enter();
            Successor::start(sockets).map_err(failed)?
        };
        let cache = self.engine.cache().clone();
        cache.tell(RemovalSender::start(removals).map_err(failed)?);
        tracing::info!(process = successor.id(), "SIGUSR2: a new process starts");
        let signals = &mut self.signals;
        let served = self.runtime.block_on(async {
            tokio::select! {
                served = successor.serves() => served.map_err(UpgradeFailure::Failed),
                // Dropping `serves` ends the new process.
                name = signals.next_stop() => Err(UpgradeFailure::Stop(name)),
            }
        });
        if served.is_err() {
            cache.tell_nobody();
        }
        served
    }
}
