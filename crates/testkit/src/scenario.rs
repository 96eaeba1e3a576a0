//! An engine in front of a scripted origin.

use crate::WAIT_MAX;
use crate::client::Client;
use crate::origin::Origin;
use crate::script::Exchange;
use kasoku_engine::clock::{Clock, SimulatedClock};
use kasoku_engine::{Engine, StartError};
use kasoku_metrics::Counter;
use kasoku_options::{
    AccessLogOptions, AddressRange, ClientLimits, ControlSocket, HitHeaders, HostPattern, ListenAddress, Listener,
    Options, OriginAddress, ProgramLog, RequestBuffer, Route, Rule, Site, Traces,
};
use kasoku_semantics::policy::{Policy, Profile};
use kasoku_wire::field::date;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Both profiles, for tests of what must hold in either.
pub const BOTH: [Profile; 2] = [Profile::Safe, Profile::Rfc];

/// The settings of a [`Scenario`] that has not started yet. One worker by default.
pub struct Setup {
    options: Options,
    route: Route,
    rules: Vec<Rule>,
    clock: Arc<SimulatedClock>,
}

/// A running engine, its origin and its clock. Dropping it stops the engine, then checks the origin's script.
pub struct Scenario {
    // The order matters: the engine is dropped first.
    /// The engine.
    pub engine: Engine,
    /// The origin behind it.
    pub origin: Origin,
    /// The time, as caching sees it.
    pub clock: Arc<SimulatedClock>,
}

impl Setup {
    /// The defaults of a profile.
    pub fn new(profile: Profile) -> Self {
        let listener = Listener::at(ListenAddress::Tcp(([127, 0, 0, 1], 0).into()));
        let limits = ClientLimits {
            drain_timeout: Duration::from_millis(500),
            drain_idle_timeout: Duration::ZERO,
            ..ClientLimits::default()
        };
        let options = Options {
            listeners: vec![listener],
            admin: None,
            admin_token_file: None,
            control_socket: ControlSocket::Off,
            user: None,
            pid_file: None,
            workers: 1,
            memory_bytes_max: 64 << 20,
            stores_in_memory: true,
            disk: None,
            shared: None,
            peers: None,
            object_bytes_max: 16 << 20,
            limits,
            request_buffer: RequestBuffer::default(),
            trusted_proxies: Vec::new(),
            purge_from: AddressRange::loopback(),
            hit_headers: HitHeaders::default(),
            access_log: AccessLogOptions::default(),
            program_log: ProgramLog::default(),
            traces: Traces::default(),
            sites: Vec::new(),
        };
        let route = Route::new(profile, Vec::new());
        Self { options, route, rules: Vec::new(), clock: Arc::new(SimulatedClock::new()) }
    }

    /// Profile safe.
    pub fn safe() -> Self {
        Self::new(Profile::Safe)
    }

    /// Profile rfc.
    pub fn rfc() -> Self {
        Self::new(Profile::Rfc)
    }

    /// Changes what is set for the whole program.
    #[must_use]
    pub fn options(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.options);
        self
    }

    /// Changes the route of requests that no rule matches. Rules and sites that are added later start from it.
    #[must_use]
    pub fn route(mut self, change: impl FnOnce(&mut Route)) -> Self {
        change(&mut self.route);
        self
    }

    /// Changes the caching policy of the route.
    #[must_use]
    pub fn policy(self, change: impl FnOnce(&mut Policy)) -> Self {
        self.route(|route| change(Arc::make_mut(&mut route.policy)))
    }

    /// Adds a rule: the route as it is now, with that change.
    #[must_use]
    pub fn rule(mut self, path: &str, change: impl FnOnce(&mut Route)) -> Self {
        let mut route = self.route.clone();
        change(&mut route);
        self.rules.push(Rule { path: path.into(), route: Arc::new(route) });
        self
    }

    /// Adds a site for these hosts: the route as it is now, with that change. Only if no site is added, [`Setup::run`] makes a
    /// default site, for all hosts.
    #[must_use]
    pub fn site(mut self, hosts: &[HostPattern], change: impl FnOnce(&mut Route)) -> Self {
        let mut route = self.route.clone();
        change(&mut route);
        let name = format!("site {}", self.options.sites.len());
        self.options.sites.push(Site { name, hosts: hosts.to_vec(), rules: Vec::new(), route: Arc::new(route) });
        self
    }

    /// The scenario's time, that many seconds from now, as a value of Date.
    pub fn date(&self, seconds_from_now: i64) -> String {
        text(&self.clock, seconds_from_now)
    }

    /// Starts the engine alone, with the origins that its routes name.
    pub fn run_without_origin(self) -> Engine {
        self.start_engine().unwrap()
    }

    /// The same as a scenario, whose scripted origin expects no request.
    pub fn run_with_own_origins(self) -> Scenario {
        let clock = self.clock.clone();
        Scenario { engine: self.run_without_origin(), origin: Origin::start([]), clock }
    }

    /// The same, for a start that may fail.
    pub fn start_engine(self) -> Result<Engine, StartError> {
        Engine::start(self.options, self.clock)
    }

    /// Starts the origin with that script, and the engine in front of it. If a route has origins already, the scripted one comes
    /// last.
    pub fn run(self, script: impl IntoIterator<Item = Exchange>) -> Scenario {
        let origin = Origin::start(script);
        let address = origin.address();
        let Self { options, clock, .. } = self.with_sites(|route| route.origins.push(address.clone()));
        let engine = Engine::start(options, clock.clone()).unwrap();
        Scenario { engine, origin, clock }
    }

    /// Starts the engine in front of that origin. A route that has origins of its own keeps those instead.
    pub fn run_before(self, origin: &OriginAddress) -> Scenario {
        self.with_sites(|route| {
            if route.origins.is_empty() {
                route.origins.push(origin.clone().into());
            }
        })
        .run_with_own_origins()
    }

    /// Adds the default site, if there is no other, and changes each route.
    fn with_sites(mut self, mut change: impl FnMut(&mut Route)) -> Self {
        if self.options.sites.is_empty() {
            let (rules, route) = (std::mem::take(&mut self.rules), Arc::new(self.route.clone()));
            self.options.sites.push(Site { name: "default".to_owned(), hosts: Vec::new(), rules, route });
        }
        for site in &mut self.options.sites {
            change(Arc::make_mut(&mut site.route));
            site.rules.iter_mut().for_each(|rule| change(Arc::make_mut(&mut rule.route)));
        }
        self
    }
}

impl Scenario {
    /// Profile safe with its defaults.
    pub fn safe(script: impl IntoIterator<Item = Exchange>) -> Self {
        Setup::safe().run(script)
    }

    /// Profile rfc with its defaults.
    pub fn rfc(script: impl IntoIterator<Item = Exchange>) -> Self {
        Setup::rfc().run(script)
    }

    /// A new connection to the first listener. With `KASOKU_DOOR=memory`, a client of doors in memory instead.
    pub fn client(&self) -> Client {
        match std::env::var("KASOKU_DOOR").as_deref() {
            Ok("memory") => Client::in_memory(self.engine.entrance()),
            Ok(door) => panic!("no such door: {door}"),
            Err(_) => Client::connect(self.engine.addresses()[0]),
        }
    }

    /// Moves the clock by that many seconds.
    pub fn advance(&self, seconds: i64) {
        self.clock.advance_seconds(seconds);
    }

    /// The scenario's time, that many seconds from now, as a value of Date.
    pub fn date(&self, seconds_from_now: i64) -> String {
        text(&self.clock, seconds_from_now)
    }

    /// Waits until that counter has reached that number, for events that no byte on a socket shows.
    #[track_caller]
    pub fn counted(&self, counter: Counter, number: u64) {
        let begun = Instant::now();
        while self.engine.metrics().total(counter) < number {
            assert!(begun.elapsed() < WAIT_MAX, "{} stays at {}", counter.name(), self.engine.metrics().total(counter));
            std::thread::yield_now();
        }
    }

    /// Repeats `attempt` until it succeeds, for what happens after the answer has gone out.
    #[track_caller]
    pub fn eventually(&self, mut attempt: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !attempt() {
            assert!(begun.elapsed() < WAIT_MAX, "it never happens");
            std::thread::yield_now();
        }
    }

    /// Waits until the only worker has seen everything that clients have sent before this call. It sends two requests that need no
    /// origin, on connections of their own: the worker reads bytes in the order in which they came.
    pub fn settled(&self) {
        for _ in 0..2 {
            let mut client = self.client();
            let response = client.ask("OPTIONS", "/settled", &["Max-Forwards: 0"]).response();
            assert_eq!(response.status, 200, "{response:?}");
        }
    }
}

fn text(clock: &SimulatedClock, seconds_from_now: i64) -> String {
    date::format(clock.now().unix_seconds() + seconds_from_now)
}
