//! `kasoku serve`: starts the engine and waits for a signal.

use crate::wants_colour;
use kasoku_config::ServeFlags;
use kasoku_engine::Engine;
use kasoku_engine::clock::SystemClock;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
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
    let engine = match Engine::start(loaded.options, Arc::new(SystemClock::new())) {
        Ok(engine) => engine,
        Err(error) => {
            eprintln!("kasoku: {error}");
            return ExitCode::FAILURE;
        }
    };
    for address in engine.addresses() {
        tracing::info!("listening on http://{address}");
    }
    match wait_for_signal() {
        Ok(name) => tracing::info!("{name}: finishing what runs"),
        Err(error) => tracing::error!(%error, "signals can't be received"),
    }
    engine.stop();
    ExitCode::SUCCESS
}

/// Waits for SIGTERM, SIGINT or SIGQUIT.
fn wait_for_signal() -> io::Result<&'static str> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut quit = signal(SignalKind::quit())?;
        Ok(tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
            _ = quit.recv() => "SIGQUIT",
        })
    })
}
