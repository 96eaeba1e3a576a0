//! `kasoku serve`: starts the engine and the admin listener, and waits for a signal.
//!
//! Signals are caught before anything is served, so a stop that comes right after the start still lets requests end.
//! The admin listener answers until the last request has ended.

use crate::wants_colour;
use kasoku_admin::{Admin, Handle};
use kasoku_config::{Loaded, ServeFlags};
use kasoku_engine::Engine;
use kasoku_engine::clock::SystemClock;
use kasoku_engine::options::ListenAddress;
use std::error::Error;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::EnvFilter;

pub(crate) fn serve(flags: &ServeFlags) -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(wants_colour()).init();
    let loaded = match kasoku_config::load(flags) {
        Ok(loaded) => loaded,
        Err(report) => {
            eprint!("{}", report.render(wants_colour()));
            return ExitCode::FAILURE;
        }
    };
    eprint!("{}", loaded.warnings.render(wants_colour()));
    match run(loaded) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kasoku: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until a signal says stop.
fn run(loaded: Loaded) -> Result<(), Box<dyn Error>> {
    let mut signals = Signals::catch()?;
    let (workers, admin_address) = (loaded.options.workers.max(1), loaded.options.admin.clone());
    let listeners: Vec<_> = loaded.options.listeners.iter().map(|listener| listener.address.clone()).collect();
    let engine = Engine::start(loaded.options, Arc::new(SystemClock::new()))?;
    let handle = Handle::new(engine.cache().clone(), engine.metrics().clone(), workers);
    let admin = admin_address.as_ref().map(|address| Admin::start(address, handle)).transpose()?;
    for address in engine.addresses() {
        tracing::info!("listening on http://{address}");
    }
    for address in listeners.iter().filter(|address| !matches!(address, ListenAddress::Tcp(_))) {
        tracing::info!("listening on {address}");
    }
    if let Some(written) = &admin_address {
        let address = admin.as_ref().and_then(Admin::address).map(|address| format!("http://{address}"));
        tracing::info!("admin listener on {}", address.unwrap_or_else(|| written.to_string()));
    }
    tracing::info!("{}: finishing what runs", signals.wait());
    engine.stop();
    drop(admin);
    Ok(())
}

/// SIGTERM, SIGINT and SIGQUIT, caught from the moment that this exists.
struct Signals {
    runtime: Runtime,
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
}

impl Signals {
    fn catch() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (terminate, interrupt, quit) = {
            let _registers_with = runtime.enter();
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?, signal(SignalKind::quit())?)
        };
        Ok(Self { runtime, terminate, interrupt, quit })
    }

    /// Waits for the first; its name.
    fn wait(&mut self) -> &'static str {
        let Self { runtime, terminate, interrupt, quit } = self;
        runtime.block_on(async {
            tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
                _ = quit.recv() => "SIGQUIT",
            }
        })
    }
}
