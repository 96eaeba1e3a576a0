//! Runs one page: an origin that renders it for each request, Kasoku in front, and visitors one after the other.

use crate::corpus::memory::Memory;
use crate::corpus::pages::Page;
use crate::corpus::rendering::{Rendering, Values};
use crate::corpus::traits::Traits;
use crate::corpus::values::clock;
use crate::corpus::visitors::{ORDER, Visitor};
use crate::poisoning::application::{Application, Asked, Does};
use kasoku_engine::clock::{Clock, SimulatedClock};
use kasoku_metrics::Counter;
use kasoku_options::{AddressRange, GuardRules};
use kasoku_semantics::grant::Ignored;
use kasoku_testkit::{Response, Scenario, Setup, WAIT_MAX, reply};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

/// The seconds between two visitors: every third one comes in another minute.
const BETWEEN_VISITORS_SECONDS: i64 = 25;

/// How far the origin's clock goes on with each request.
const REQUEST_MS: i64 = 430;

/// So often the worker has to be through with all its work while the origin gets no request: then no look is on its way.
const QUIET_POLLS: usize = 6;

/// How a page is run.
#[derive(Clone, Copy)]
pub(crate) struct Manner {
    pub(crate) values: Values,
    /// Whether a page of its pattern that says "no such item" is asked first, until it is shared.
    pub(crate) after_harmless: bool,
    /// Whether the rule ignores Set-Cookie as well. Otherwise a page with a cookie passes whatever it says.
    pub(crate) drops_cookies: bool,
}

/// One rendering, by which an answer is recognized.
pub(crate) struct Rendered {
    pub(crate) body: String,
    pub(crate) location: Option<String>,
    /// What was chosen by who asks: class, alternatives, text.
    pub(crate) chosen: Vec<(String, String, String)>,
    /// The session that it was made for, if that is new.
    pub(crate) new_session: Option<String>,
}

/// An answer to a visitor.
pub(crate) struct Given {
    pub(crate) response: Response,
    pub(crate) traits: Traits,
    pub(crate) had_cookies: bool,
    /// The renderings that were made after the visitor asked and before the answer had come.
    pub(crate) during: std::ops::Range<usize>,
}

/// All that came of a page.
pub(crate) struct Course {
    pub(crate) given: Vec<Given>,
    pub(crate) rendered: Vec<Rendered>,
    /// The requests that the origin got for the page.
    pub(crate) requests: usize,
}

struct Program {
    memory: Mutex<Memory>,
    rendered: Mutex<Vec<Rendered>>,
    /// Kasoku's clock, as soon as there is one: the origin has the same time, and goes a little on with each request.
    clock: OnceLock<Arc<SimulatedClock>>,
}

/// Runs a page.
pub(crate) fn run(page: &Arc<Page>, manner: Manner) -> Course {
    let memory = Mutex::new(Memory::new(&page.name, SimulatedClock::new().now().unix_ms));
    let program = Arc::new(Program { memory, rendered: Mutex::default(), clock: OnceLock::new() });
    let (own, served) = (program.clone(), page.clone());
    let origin = Application::start(move |asked| Does::Answer(own.answers(&served, asked, manner.values)));
    let scene = setup(manner).run_before(&origin.address());
    program.clock.set(scene.clock.clone()).unwrap();
    let visit = |visitor: &mut Visitor, target: &str| {
        let (begins, traits, had_cookies) = (program.count(), visitor.traits(), visitor.has_cookies());
        let lines = visitor.request();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let response = scene.client().get_with(target, &lines);
        let during = begins..program.count();
        visitor.got(&response);
        is_quiet(&scene, &origin);
        scene.advance(BETWEEN_VISITORS_SECONDS);
        Given { response, traits, had_cookies, during }
    };
    if manner.after_harmless {
        Visitor::earlier().iter_mut().for_each(|visitor| drop(visit(visitor, &page.harmless_target())));
    }
    let before = program.count();
    let mut visitors = Visitor::all();
    let given = ORDER.map(|number| visit(&mut visitors[number], &page.target)).into_iter().collect();
    let requests = program.count() - before;
    drop(scene);
    let rendered = std::mem::take(&mut *program.rendered.lock().unwrap());
    Course { given, rendered, requests }
}

/// One rule: `ttl = "1h"`, in profile safe.
fn setup(manner: Manner) -> Setup {
    let guard = Arc::new(GuardRules { is_enabled: true, ..GuardRules::default() });
    let proxy = AddressRange::Ip { address: [127, 0, 0, 1].into(), prefix_bits: 32 };
    Setup::safe().options(|options| options.trusted_proxies = vec![proxy]).route(move |route| {
        let grant = &mut Arc::make_mut(&mut route.policy).grant;
        grant.ttl_seconds = 3600;
        if manner.drops_cookies {
            grant.ignore = vec![Ignored::SetCookie];
        }
        route.guard = guard;
    })
}

/// Waits until the origin has answered everything, and nothing more comes.
fn is_quiet(scene: &Scenario, origin: &Application) {
    let begun = Instant::now();
    let (mut count, mut polls) = (origin.count(), 0);
    while polls < QUIET_POLLS {
        assert!(begun.elapsed() < WAIT_MAX, "the origin is asked again and again");
        scene.settled();
        let sent = scene.engine.metrics().total(Counter::OriginRequests);
        let is_busy = origin.count() != count || origin.answered() != count || (count as u64) < sent;
        polls = if is_busy { 0 } else { polls + 1 };
        count = origin.count();
    }
}

impl Program {
    fn count(&self) -> usize {
        self.rendered.lock().unwrap().len()
    }

    fn answers(&self, page: &Page, asked: &Asked, values: Values) -> Vec<u8> {
        let is_harmless = asked.target() != page.target;
        let mut memory = self.memory.lock().unwrap();
        let kasokus = self.clock.get().map_or(0, |clock| clock.now().unix_ms);
        memory.now_ms = kasokus.max(memory.now_ms) + REQUEST_MS;
        let address = Traits::of(|name| asked.field(name), false).address;
        let first = memory.visit(&address);
        let traits = Traits::of(|name| asked.field(name), first);
        let brought = page.session_cookie().and_then(|name| cookie(asked, name));
        let date = clock(memory.now_ms / 1000, "en", "Date: %a, %d %b %Y %H:%M:%S GMT");
        let mut rendering = Rendering::new(&mut memory, &traits, values, is_harmless, brought);
        let mut fields = rendering.fields(page);
        let body = rendering.text(&page.body);
        let (chosen, new_session) = (std::mem::take(&mut rendering.chosen), rendering.new_session().map(str::to_owned));
        // A page that is nothing but its item (a redirect) is another page without it.
        let is_other = is_harmless && !page.body.contains("@{item}");
        let (status, body) = if is_other {
            fields.retain(|line| !line.starts_with("Location"));
            ("200 OK", "<!DOCTYPE html>\n<title>404</title><p>No such item.</p>\n".to_owned())
        } else {
            (page.status.as_str(), body)
        };
        let location = fields.iter().find_map(|line| line.strip_prefix("Location: ")).map(str::to_owned);
        fields.push(date);
        let lines: Vec<&str> = fields.iter().map(String::as_str).collect();
        let bytes = reply(status, &lines, &body);
        self.rendered.lock().unwrap().push(Rendered { body, location, chosen, new_session });
        bytes
    }
}

fn cookie(asked: &Asked, name: &str) -> Option<String> {
    let mut pairs = asked.field("cookie")?.split(';').filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, _)| *found == name).map(|(_, value)| value.to_owned())
}
