//! Beacons: the application hears of visitors who are served from memory, and counts them, each one once and by their own
//! address. No request waits for a beacon.

use crate::anonymous::application::{Application, Asked, Does};
use crate::anonymous::{grant, is_found_anonymous, names, of_a_board, session, urls, with_probe};
use kasoku_metrics::Counter;
use kasoku_options::{
    AddressRange, BeaconRules, ChangeProof, ChangeRule, ChangeRules, HostPattern, ListenAddress, Listener, Rewrite,
    Route, TagTemplate, UrlTemplate,
};
use kasoku_testkit::application::{Application as Program, prints};
use kasoku_testkit::unreachable::dead_address;
use kasoku_testkit::{Client, Folder, Gate, Response, Scenario, Setup, is_stand_in, reply};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The number of beacons of one worker that may be on their way at a time, and the number of those that may wait.
const SENT_MAX: usize = 4;
const WAITING_MAX: usize = 256;

/// An application that counts visitors at `/count.php`, and views at `/view.php`. Each page opens a session.
struct Site {
    application: Application,
    /// The gate that `/count.php` and `/view.php` wait for before they answer.
    gate: Arc<Mutex<Option<Gate>>>,
}

impl Site {
    fn start() -> Self {
        let gate = Arc::new(Mutex::new(None::<Gate>));
        let own = gate.clone();
        let application = Application::start(move |asked| {
            let gate = own.lock().unwrap().clone().filter(|_| is_beacon(asked));
            if let Some(gate) = gate {
                assert!(gate.wait());
            }
            Does::Answer(answer(asked))
        });
        Self { application, gate }
    }

    fn behind(&self, setup: Setup) -> Scenario {
        setup.run_before(&self.application.address())
    }

    /// The beacons so far.
    fn beacons(&self) -> Vec<Asked> {
        self.application.asked().into_iter().filter(is_beacon).collect()
    }

    /// Waits until that many beacons have come, and checks that there are no more.
    #[track_caller]
    fn is_told(&self, scene: &Scenario, count: usize) -> Vec<Asked> {
        scene.eventually(|| self.beacons().len() >= count);
        scene.eventually(|| self.application.answered() == self.application.count());
        scene.settled();
        let beacons = self.beacons();
        assert_eq!(beacons.len(), count, "{beacons:#?}");
        assert_eq!(scene.engine.metrics().total(Counter::Beacons), count as u64);
        beacons
    }
}

fn is_beacon(asked: &Asked) -> bool {
    asked.target().starts_with("/count.php") || asked.target().starts_with("/view.php")
}

fn answer(asked: &Asked) -> Vec<u8> {
    let kind = match asked.target() {
        target if target.ends_with(".css") => "Content-Type: text/css",
        target if target.ends_with(".json") => "Content-Type: application/json",
        target if target.contains("XHTML") => "Content-Type: Text/HTML ; charset=utf-8",
        _ => "Content-Type: text/html",
    };
    let lifetime =
        if asked.target() == "/shared.php" { "Cache-Control: s-maxage=60" } else { "Cache-Control: no-store" };
    let lines = [kind, lifetime, "Set-Cookie: PHPSESSID=0123456789abcdef0123456789abcdef"];
    let status = if asked.target().starts_with("/gone") { "404 Not Found" } else { "200 OK" };
    let is_page = kind == "Content-Type: text/html" && asked.target() != "/shared.php";
    let lines = if is_page { &lines[..] } else { &lines[..2] };
    reply(status, lines, if asked.lines[0].starts_with("HEAD ") { "" } else { "<html>page</html>" })
}

fn beacons(route: &mut Route) -> &mut BeaconRules {
    Arc::make_mut(&mut route.beacons)
}

fn rules(route: &mut Route) {
    of_a_board(route);
    grant(route).ttl_override_seconds = 10_000;
    beacons(route).visitor = Some("/count.php?from=cache".to_owned());
}

/// A setup that trusts a proxy, which states the client's address.
fn setup() -> Setup {
    Setup::safe().route(rules).options(|options| options.trusted_proxies = AddressRange::loopback())
}

/// Sends a request as the visitor of that number.
fn visit(client: &mut Client, number: usize, method: &str, target: &str, fields: &[&str]) -> Response {
    let own = [format!("X-Forwarded-For: {}", address(number)), format!("User-Agent: browser {number}")];
    let fields: Vec<&str> = own.iter().map(String::as_str).chain(fields.iter().copied()).collect();
    client.ask(method, target, &fields);
    if method == "HEAD" { client.response_to_head() } else { client.response() }
}

fn see(scene: &Scenario, number: usize, target: &str) -> Response {
    visit(&mut scene.client(), number, "GET", target, &[])
}

fn address(number: usize) -> String {
    format!("198.51.{}.{}", number / 200, number % 200 + 1)
}

#[test]
fn forty_visitors_are_forty_visits() {
    let site = Site::start();
    let scene = site.behind(setup());
    for page in 0..4 {
        for number in 0..40 {
            let referer = format!("Referer: http://search.example/?q={number}");
            let fields = [
                &referer,
                "Accept-Language: ko",
                "Cookie: _ga=7",
                "If-None-Match: \"1\"",
                "Cache-Control: max-age=60",
                "X-Requested-With: com.example.them",
                "Accept: text/html",
            ];
            visit(&mut scene.client(), number, "GET", &format!("/board.php?page={page}"), &fields);
        }
    }
    let mut beacons = site.is_told(&scene, 40);
    beacons.sort_by_key(|asked| asked.field("user-agent").unwrap()[8..].parse::<usize>().unwrap());
    for (number, asked) in beacons.iter().enumerate() {
        assert_eq!(asked.lines[0], "GET /count.php?from=cache HTTP/1.1");
        let told = format!("{}, 127.0.0.1", address(number));
        assert_eq!(asked.field("x-forwarded-for"), Some(told.as_str()));
        assert_eq!(asked.field("user-agent"), Some(format!("browser {number}").as_str()));
        assert_eq!(asked.field("referer"), Some(format!("http://search.example/?q={number}").as_str()));
        assert_eq!((asked.field("accept-language"), asked.field("host")), (Some("ko"), Some("example.org")));
        for name in ["cookie", "if-none-match", "cache-control", "x-requested-with", "accept", "range"] {
            assert_eq!(asked.field(name), None, "{asked:?}");
        }
    }
    let pages = site.application.count() - 40;
    assert_eq!(pages, 4, "each page was made once");
    // Included are the requests by which the test waits for the beacons.
    scene.counted(Counter::Requests, 162);
    assert_eq!(scene.engine.metrics().total(Counter::Requests), 162, "beacons are no requests of clients");
    assert_eq!(scene.engine.metrics().total(Counter::BeaconsDropped), 0);
}

#[test]
fn a_visitor_is_told_of_again_after_a_while() {
    let site = Site::start();
    let scene = site.behind(setup().route(|route| beacons(route).every = Duration::from_secs(60)));
    see(&scene, 1, "/a.php");
    site.is_told(&scene, 1);
    scene.advance(59);
    see(&scene, 1, "/b.php");
    site.is_told(&scene, 1);
    scene.advance(1);
    see(&scene, 1, "/b.php");
    site.is_told(&scene, 2);
}

#[test]
fn a_visitor_who_passes_has_been_counted_by_that() {
    let site = Site::start();
    let scene = site.behind(setup().rule("/own.php", |route| grant(route).ttl_override_seconds = 0));
    see(&scene, 9, "/page.php");
    site.is_told(&scene, 1);
    let mut client = scene.client();
    visit(&mut client, 4, "GET", "/own.php", &[]);
    visit(&mut client, 1, "GET", "/page.php", &["Cookie: PHPSESSID=1"]);
    visit(&mut client, 2, "GET", "/login.php", &[]);
    client.send(format!("POST /x HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: {}\r\nContent-Length: 0\r\n\r\n", address(3)));
    client.response();
    for number in 1..5 {
        assert!(visit(&mut client, number, "GET", "/page.php", &[]).is_hit());
    }
    site.is_told(&scene, 1);
    scene.advance(600);
    assert!(see(&scene, 1, "/page.php").is_hit());
    site.is_told(&scene, 2);
}

#[test]
fn a_failed_answer_and_a_file_count_no_visitor() {
    let folder = Folder::new();
    folder.write("a.txt", "text");
    folder.write("page.php", "");
    let html = "Content-Type: text/html\n\npage";
    let program = Program::fastcgi([
        prints("Status: 404\nContent-Type: text/html\n\nno"),
        prints("Status: 500\nContent-Type: text/html\n\nno"),
        prints(html),
        prints(html),
    ]);
    let setup = setup().route(|route| {
        route.origins = vec![program.address()];
        route.gateway.root = Some(folder.path().to_owned());
        beacons(route).visitor = Some("/page.php?count".to_owned());
    });
    let scene = setup.run_before(&program.address().address);
    let with_session = ["Cookie: PHPSESSID=1"];
    let mut client = scene.client();
    assert_eq!(visit(&mut client, 1, "GET", "/page.php", &with_session).status, 404);
    assert_eq!(visit(&mut client, 1, "GET", "/page.php", &with_session).status, 500);
    assert_eq!(visit(&mut client, 1, "GET", "/a.txt", &with_session).text(), "text");
    assert_eq!(visit(&mut client, 1, "GET", "/page.php", &["Referer: http://x/"]).text(), "page");
    program.done(4);
    let beacon = program.call(3);
    assert_eq!((beacon.param("REQUEST_URI"), beacon.param("REMOTE_ADDR")), ("/page.php?count", address(1).as_str()));
    assert_eq!((beacon.param("HTTP_REFERER"), beacon.param("HTTP_COOKIE")), ("http://x/", "-"));
    assert!(is_stand_in(program.call(2).param("REMOTE_ADDR")), "the page is for an anonymous request");
}

#[test]
fn a_page_is_counted_when_a_visitor_looks_at_it() {
    let site = Site::start();
    let scene = site.behind(setup());
    let tag = see(&scene, 0, "/page.php").field("etag");
    let tag = if tag.is_empty() { see(&scene, 0, "/page.php").field("etag") } else { tag };
    see(&scene, 0, "/XHTML.php");
    see(&scene, 0, "/a.css");
    see(&scene, 0, "/a.json");
    see(&scene, 0, "/gone.php");
    site.is_told(&scene, 1);
    let has_it = format!("If-None-Match: {tag}");
    let mut client = scene.client();
    for (number, (method, target, field)) in [
        ("HEAD", "/page.php", "DNT: 1"),
        ("GET", "/a.css", "DNT: 1"),
        ("GET", "/a.json", "DNT: 1"),
        ("GET", "/gone.php", "DNT: 1"),
        ("GET", "/page.php", "Range: bytes=0-3"),
        ("GET", "/page.php", "Sec-Purpose: prefetch"),
        ("GET", "/page.php", "Sec-Purpose: prefetch;prerender"),
        ("GET", "/page.php", "Purpose: Prefetch"),
        ("GET", "/page.php", "Sec-Fetch-Dest: iframe"),
        ("GET", "/page.php", "Sec-Fetch-Dest: empty"),
        ("POST", "/form.php", "Content-Length: 0"),
        ("GET", "/none", "Content-Length: x"),
    ]
    .into_iter()
    .enumerate()
    {
        if field == "Content-Length: x" {
            client = scene.client();
        }
        visit(&mut client, 1 + number, method, target, &[field]);
    }
    for (number, (target, field)) in [
        ("/page.php", has_it.as_str()),
        ("/page.php", "Sec-Fetch-Dest: document"),
        ("/page.php", "Sec-Purpose: other"),
        ("/XHTML.php", "DNT: 1"),
        ("/new.php", "DNT: 1"),
    ]
    .into_iter()
    .enumerate()
    {
        let response = visit(&mut scene.client(), 101 + number, "GET", target, &[field]);
        assert_eq!(response.status, if field == has_it { 304 } else { 200 }, "{response:?}");
    }
    let told = site.is_told(&scene, 6);
    let mut addresses: Vec<String> =
        told.iter().map(|asked| asked.field("x-forwarded-for").unwrap().to_owned()).collect();
    addresses.sort();
    let expected = [0, 101, 102, 103, 104, 105].map(|number| format!("{}, 127.0.0.1", address(number)));
    assert_eq!(addresses, expected);
}

#[test]
fn no_client_waits_for_beacons_and_their_number_is_bounded() {
    let site = Site::start();
    let scene = site.behind(setup());
    see(&scene, 999, "/page.php");
    site.is_told(&scene, 1);
    let gate = Gate::new();
    *site.gate.lock().unwrap() = Some(gate.clone());
    let (most, dropped) = (SENT_MAX + WAITING_MAX, 40);
    let mut client = scene.client();
    for number in 0..most + dropped {
        assert!(visit(&mut client, number, "GET", "/page.php", &[]).is_hit());
    }
    scene.counted(Counter::BeaconsDropped, dropped as u64);
    scene.eventually(|| site.beacons().len() == 1 + SENT_MAX);
    scene.settled();
    assert_eq!(site.beacons().len(), 1 + SENT_MAX);
    assert_eq!(scene.engine.metrics().total(Counter::Beacons), 1 + SENT_MAX as u64);
    gate.open();
    site.is_told(&scene, 1 + most);
    assert_eq!(scene.engine.metrics().total(Counter::BeaconsDropped), dropped as u64);
    for number in most..most + dropped {
        visit(&mut client, number, "GET", "/page.php", &[]);
    }
    site.is_told(&scene, 1 + most + dropped);
}

#[test]
fn while_the_origin_is_down_beacons_are_dropped() {
    let site = Site::start();
    let setup = setup().route(|route| route.health.failures = 2);
    let scene = site.behind(setup.rule("/count.php", |route| route.origins = vec![dead_address()]));
    let mut client = scene.client();
    for number in 1..3 {
        visit(&mut client, number, "GET", "/page.php", &[]);
        scene.counted(Counter::OriginErrors, number as u64);
    }
    for number in 3..8 {
        assert!(visit(&mut client, number, "GET", "/page.php", &[]).is_hit());
    }
    scene.counted(Counter::BeaconsDropped, 5);
    scene.settled();
    assert_eq!(scene.engine.metrics().total(Counter::Beacons), 2, "none is sent once more");
    assert_eq!(scene.engine.metrics().total(Counter::BeaconsDropped), 5);
}

#[test]
fn a_visitor_of_two_workers_is_one() {
    let site = Site::start();
    let scene = site.behind(setup().options(|options| options.workers = 2));
    let mut clients: Vec<Client> = (0..16).map(|_| scene.client()).collect();
    for _ in 0..4 {
        for client in &mut clients {
            visit(client, 1, "GET", "/page.php", &[]);
        }
    }
    let handled = |worker| scene.engine.metrics().of_worker(worker, Counter::Hits);
    assert!(handled(0) > 0 && handled(1) > 0, "both have served the page");
    scene.eventually(|| site.beacons().len() == 1);
    drop(clients);
    visit(&mut scene.client(), 2, "GET", "/page.php", &[]);
    scene.eventually(|| site.beacons().len() >= 2);
    assert_eq!(site.beacons().len(), 2);
    assert_eq!(scene.engine.metrics().total(Counter::Beacons), 2);
}

#[test]
fn nothing_follows_from_a_beacon() {
    let site = Site::start();
    let scene = site.behind(setup().route(|route| {
        with_probe(route);
        session(route).anonymous_for = Duration::from_secs(3600);
        grant(route).ttl_override_seconds = 10_000;
        Arc::make_mut(&mut route.policy).tags.templates = vec![TagTemplate::parse("all").unwrap()];
        let all = ChangeRule {
            method: None,
            url: urls(&["/count.php"]).remove(0),
            answer: None,
            proof: ChangeProof::default(),
            tags: Vec::new(),
            is_all: true,
        };
        route.changes = Arc::new(ChangeRules { list: vec![all], ..ChangeRules::default() });
    }));
    let cookies = "PHPSESSID=0123456789abcdef0123456789abcdef";
    scene.engine.handle().explain(&kasoku_engine::explain::Question::get("http://example.org/")).unwrap();
    visit(&mut scene.client(), 1, "GET", "/page.php", &[]);
    site.is_told(&scene, 1);
    assert!(visit(&mut scene.client(), 2, "GET", "/page.php", &[]).is_hit(), "no tag was dropped");
    let told = site.is_told(&scene, 2);
    assert!(told.iter().all(|asked| asked.field("cookie").is_none()));
    assert_eq!(scene.engine.metrics().total(Counter::Changes), 0);
    assert_eq!(scene.engine.metrics().total(Counter::PossibleChanges), 0);
    assert!(!crate::anonymous::is_anonymous(&scene, cookies), "the session that it opened reaches no client");
}

#[test]
fn a_visitor_with_an_anonymous_session_is_told_of_without_it() {
    let board = crate::anonymous::board::Board::start();
    let scene = board.behind(Setup::safe().route(|route| {
        with_probe(route);
        beacons(route).visitor = Some("/seen.php".to_owned());
        beacons(route).every = Duration::from_secs(1);
        grant(route).ttl_override_seconds = 600;
    }));
    let cookies = format!("PHPSESSID={}", board.session(None));
    crate::anonymous::states::asks(&scene, &cookies);
    is_found_anonymous(&scene, &cookies);
    scene.advance(2);
    assert_eq!(crate::anonymous::states::asks(&scene, &cookies).cache_status("session").as_deref(), Some("anonymous"));
    scene.eventually(|| board.count_of("/seen.php") == 1);
    assert_eq!(board.last("/seen.php").field("cookie"), None);
    scene.eventually(|| board.all_is_answered());
    scene.settled();
    assert!(crate::anonymous::is_anonymous(&scene, &cookies));
}

#[test]
fn a_visitor_with_no_address_or_the_unspecified_one_is_not_told_of() {
    let folder = Folder::new();
    let path = folder.path().join("socket");
    let site = Site::start();
    let unix = path.clone();
    let scene = site.behind(setup().options(|options| options.listeners.push(Listener::at(ListenAddress::Unix(unix)))));
    assert_eq!(Client::connect_unix(&path).get("/page.php").status, 200);
    for address in ["0.0.0.0", "::"] {
        scene.client().get_with("/page.php", &[&format!("X-Forwarded-For: {address}")]);
    }
    let mut through_the_socket = Client::connect_unix(&path);
    visit(&mut through_the_socket, 7, "GET", "/page.php", &[]);
    let told = site.is_told(&scene, 1);
    assert_eq!(told[0].field("x-forwarded-for"), Some(address(7).as_str()), "unless a proxy tells one");
}

#[test]
fn an_address_from_an_untrusted_client_is_not_told() {
    let site = Site::start();
    let scene = site.behind(Setup::safe().route(rules));
    for number in 1..4 {
        see(&scene, number, "/page.php");
    }
    let told = site.is_told(&scene, 1);
    assert_eq!(told[0].field("x-forwarded-for"), Some("127.0.0.1"));
}

#[test]
fn what_goes_along_has_a_bound() {
    let site = Site::start();
    let scene = site.behind(setup());
    let long = |name: &str| format!("{name}: {}", "x".repeat(5000));
    let (agent, language, referer) = (long("User-Agent"), long("Accept-Language"), long("Referer"));
    let own = format!("X-Forwarded-For: {}", address(1));
    scene.client().get_with("/page.php", &[&own, &agent, &language, &referer]);
    let told = site.is_told(&scene, 1);
    for name in ["user-agent", "accept-language", "referer"] {
        assert_eq!(told[0].field(name).map(str::len), Some(1024), "{name}");
    }
    // The last address of the list counts, so a long list can't be shortened: the beacon is dropped.
    let list = format!("X-Forwarded-For: {}{}", "192.0.2.1, ".repeat(500), address(2));
    scene.client().get_with("/page.php", &[&list]);
    scene.counted(Counter::BeaconsDropped, 1);
    site.is_told(&scene, 1);
}

#[test]
fn what_the_application_itself_shares_it_has_told_to_a_visitor() {
    let site = Site::start();
    let setup = setup().rule("/shared.php", |route| grant(route).ttl_override_seconds = 0);
    let scene = site.behind(setup);
    see(&scene, 1, "/shared.php");
    assert!(see(&scene, 2, "/shared.php").is_hit(), "by its own word, which knows that it will not be asked again");
    site.is_told(&scene, 0);
    see(&scene, 3, "/page.php");
    site.is_told(&scene, 1);
}

#[test]
fn a_rule_and_a_refused_url_may_turn_it_off() {
    let site = Site::start();
    let scene = site.behind(
        setup()
            .rule("/quiet/*", |route| beacons(route).visitor = None)
            .rule("/odd/*", |route| beacons(route).visitor = Some("/refused.php".to_owned()))
            .rule("/refused.php", |route| route.refuse_urls = urls(&["/refused.php"])),
    );
    for (number, target) in ["/quiet/page.php", "/odd/page.php", "/page.php"].into_iter().enumerate() {
        see(&scene, number, target);
    }
    let told = site.is_told(&scene, 1);
    assert_eq!(told[0].field("user-agent"), Some("browser 2"));
    assert!(site.application.asked().iter().all(|asked| asked.target() != "/refused.php"));
}

#[test]
fn visitors_of_two_sites_are_two() {
    let site = Site::start();
    let hosts = |name: &str| vec![HostPattern::Exact(name.to_owned())];
    let setup = setup().site(&hosts("a.example"), |_| {}).site(&hosts("b.example"), |_| {});
    // Sites that a test makes have numbers as names.
    let scene = site.behind(setup);
    for host in ["a.example", "b.example", "a.example"] {
        visit(&mut scene.client(), 1, "GET", "/page.php", &[&format!("Host: {host}")]);
    }
    scene.eventually(|| site.beacons().len() == 2);
    let mut hosts: Vec<_> = site.beacons().iter().map(|asked| asked.field("host").unwrap().to_owned()).collect();
    hosts.sort();
    assert_eq!(hosts, ["a.example", "b.example"]);
    assert_eq!(scene.engine.metrics().total(Counter::Beacons), 2);
}

#[test]
fn each_view_of_a_page_is_told_by_its_parameters() {
    let site = Site::start();
    let scene = site.behind(
        setup()
            .route(|route| {
                beacons(route).visitor = None;
                route.query.ignore = names(&["utm_*"]);
                route.gateway.rewrites =
                    vec![Rewrite::parse("/{b:word}/{id:digits} => /board.php?b={b}&id={id}").unwrap()];
            })
            .rule("/board.php", |route| {
                beacons(route).view = Some(UrlTemplate::parse("/view.php?b={b}&id={id}").unwrap())
            }),
    );
    for (number, target) in [
        "/board.php?b=free&id=5",
        "/board.php?id=5&b=free&utm_source=x",
        "/free/5",
        "/free/5?page=2",
        "/board.php?b=%EC%9E%90&id=6",
        "/board.php?b=free",
        "/other.php?b=free&id=5",
    ]
    .into_iter()
    .enumerate()
    {
        see(&scene, number, target);
        see(&scene, number, target);
    }
    let told = site.is_told(&scene, 10);
    // Several beacons are on their way at a time, so they come in any order.
    let mut targets: Vec<&str> = told.iter().map(Asked::target).collect();
    targets.sort_by_key(|target| target.ends_with("id=6"));
    let five = "/view.php?b=free&id=5";
    let six = "/view.php?b=%EC%9E%90&id=6";
    assert_eq!(targets, [five, five, five, five, five, five, five, five, six, six]);
    assert!(told.iter().all(|asked| asked.field("x-forwarded-for").is_some() && asked.field("cookie").is_none()));
}
