//! Runs the active health checks of origins, on one thread for the whole process. The thread exists only while a route has a check.
//!
//! An origin is checked once for the whole process, as the first route says that names it and has a check. Each check is a GET on a
//! connection of its own, which takes none of the permits for connections: an origin without a free permit does not fail its check
//! for that. The next check begins `interval` after the end of the last. The results go into the origin's health
//! ([`kasoku_origin::health`]), where the workers find them. While an origin is not up, the pause is no longer than its `back_off`.
//!
//! Until the first checks have failed, an origin counts as up.

use crate::origin::outages;
use crate::origin_client::Client;
use crate::runtime::clock::Clock;
use http::Method;
use kasoku_options::{Gateway, OriginAddress, OriginEndpoint};
use kasoku_options::{Options, OriginHealth, OriginLimits};
use kasoku_origin::health::{Blame, CheckResult, HealthChange};
use kasoku_origin::{OriginRegistry, OriginState};
use kasoku_programs::{ConnectionFacts, OpenFiles, Request};
use kasoku_wire::RequestHead;
use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::watch;

/// The running checks. Dropping this ends them, and waits for their thread.
pub(crate) struct HealthChecks {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// One origin and how it is checked.
struct HealthCheck {
    origin: Arc<OriginState>,
    rules: OriginHealth,
    limits: OriginLimits,
    gateway: Gateway,
    request: RequestHead,
    clock: Arc<dyn Clock>,
}

impl HealthChecks {
    /// Starts the checks that the options ask for; `None`: they ask for none. An origin that is not checked (any more) is up, as
    /// far as checks can say.
    pub(crate) fn start(
        options: &Options,
        registry: &OriginRegistry,
        clock: &Arc<dyn Clock>,
    ) -> io::Result<Option<Self>> {
        let checks = checks(options, registry, clock);
        registry.for_each(|origin| {
            if !checks.contains_key(&origin.address) {
                origin.health.is_unchecked();
            }
        });
        if checks.is_empty() {
            return Ok(None);
        }
        let (stop, mut stopping) = watch::channel(false);
        let run = move || {
            let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => return tracing::error!(%error, "the checks of origins could not be started"),
            };
            // The end must not wait for a look-up of a name that is still under way.
            runtime.block_on(async {
                let client = Rc::new(Client::new());
                for check in checks.into_values() {
                    tokio::task::spawn_local(check.run(client.clone()));
                }
                // An error means that the sender is gone, which is a stop as well.
                let _ = stopping.wait_for(|stop| *stop).await;
            });
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("checks".to_owned()).spawn(run)?;
        Ok(Some(Self { stop, thread: Some(thread) }))
    }
}

impl Drop for HealthChecks {
    fn drop(&mut self) {
        // The receiver is gone only when the thread has ended already.
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn checks(options: &Options, registry: &OriginRegistry, clock: &Arc<dyn Clock>) -> HashMap<OriginAddress, HealthCheck> {
    let mut checks = HashMap::new();
    for route in options.routes() {
        let Some(path) = &route.health.path else { continue };
        // Whether our own processes are alive is known without a check.
        for origin in route.origins.iter().filter(|origin| !matches!(origin.address, OriginAddress::Spawned(_))) {
            checks.entry(origin.address.clone()).or_insert_with(|| HealthCheck {
                origin: registry.of(&origin.address),
                rules: route.health.clone(),
                limits: route.origin.clone(),
                gateway: route.gateway.clone(),
                request: request(path, route.origin_host.as_deref(), &origin.address),
                clock: clock.clone(),
            });
        }
    }
    checks
}

fn request(path: &str, host: Option<&str>, address: &OriginAddress) -> RequestHead {
    let own = || match address.endpoint() {
        Some(endpoint @ OriginEndpoint::Tcp { .. }) => endpoint.to_string(),
        Some(OriginEndpoint::Unix(_)) | None => "localhost".to_owned(),
    };
    let agent = concat!("kasoku/", env!("CARGO_PKG_VERSION"), " (check)");
    RequestHead::new(Method::GET, path)
        .with("Host", host.map_or_else(own, str::to_owned))
        .with("User-Agent", agent)
        .with("Accept", "*/*")
        .with("Connection", "close")
}

impl HealthCheck {
    /// Checks for as long as the thread runs.
    async fn run(self, client: Rc<Client>) {
        loop {
            let health = &self.origin.health;
            let sent = health.mark();
            let found = self.find_out(&client).await;
            let address = &self.origin.address;
            match health.checked(found, sent, &self.rules, self.clock.now().mono_ms) {
                Some(HealthChange::Up(recovery)) => outages::tell_end(address, "passes its checks again", recovery),
                Some(HealthChange::Down) => {
                    tracing::warn!("{address} is down: {} checks in a row failed", self.rules.fall)
                }
                None => {}
            }
            // While the origin is not up, checks come as often as trials would, so that its return is noticed as soon.
            let is_waited_for = !health.is_up();
            let pause = if is_waited_for { self.rules.interval.min(self.rules.back_off) } else { self.rules.interval };
            tokio::time::sleep(pause).await;
        }
    }

    async fn find_out(&self, client: &Rc<Client>) -> CheckResult {
        let connection = ConnectionFacts::default();
        let (head, gateway, limits) = (&self.request, &self.gateway, &self.limits);
        let request = Request { head, connection: &connection, gateway, limits, open_files: &OpenFiles::default() };
        let check = client.check(&self.origin.address, &request);
        match tokio::time::timeout(self.rules.timeout, check).await {
            Ok(Ok(head)) => {
                let (first, last) = self.rules.expect;
                if (first..=last).contains(&head.status.as_u16()) { CheckResult::Passed } else { CheckResult::Failed }
            }
            Ok(Err(error)) => {
                tracing::debug!(%error, "check of {}", self.origin.address);
                if error.blame() == Blame::Connection { CheckResult::Unreachable } else { CheckResult::Unanswered }
            }
            Err(_) => CheckResult::Unanswered,
        }
    }
}
