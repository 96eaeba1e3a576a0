//! Kept connections to origins have an end: an age, a number of requests, and the name's other address. A name that moves is followed.

use kasoku_options::{Options, OriginAddress, OriginEndpoint, OriginOptions, Route};
use kasoku_testkit::application::prints;
use kasoku_testkit::unreachable::dead_address;
use kasoku_testkit::{Application, Origin, Scenario, Setup, get, ok};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the resolver of a scenario answers.
#[derive(Clone, Default)]
struct Dns(Arc<Mutex<Vec<SocketAddr>>>);

impl Dns {
    fn says(&self, addresses: &[SocketAddr]) {
        *self.0.lock().unwrap() = addresses.to_vec();
    }

    /// A scenario with one origin, `http://app.example`, whose addresses this says.
    fn before(&self, change: impl FnOnce(&mut Route)) -> Scenario {
        self.before_origin(OriginAddress::Http, change)
    }

    fn before_origin(
        &self,
        origin: impl FnOnce(OriginEndpoint) -> OriginAddress,
        change: impl FnOnce(&mut Route),
    ) -> Scenario {
        let host = OriginEndpoint::Tcp { host: "app.example".to_owned(), port: 80 };
        let scene = Setup::safe()
            .site(&[], |route| {
                route.origins = vec![OriginOptions::from(origin(host))];
                route.origin.dns_ttl = Duration::ZERO;
                change(route);
            })
            .run_with_own_origins();
        let addresses = self.0.clone();
        scene.engine.origins().resolver().set(move |_, _| match &addresses.lock().unwrap()[..] {
            [] => Err(io::Error::new(io::ErrorKind::NotFound, "no such host")),
            found => Ok(found.to_vec()),
        });
        scene
    }
}

fn origin(answers: usize, text: &str) -> Origin {
    Origin::start((0..answers).map(|_| get("/").answers(ok(&["Cache-Control: no-store"], text))))
}

/// An address at which nothing listens.
fn refusing() -> SocketAddr {
    let OriginAddress::Http(OriginEndpoint::Tcp { host, port }) = dead_address().address else { panic!("of TCP") };
    SocketAddr::new(host.parse().unwrap(), port)
}

fn at(origin: &Origin) -> SocketAddr {
    ([127, 0, 0, 1], origin.port()).into()
}

#[test]
fn a_kept_connection_follows_a_name_that_moves() {
    let (old, new) = (origin(2, "old"), origin(2, "new"));
    let dns = Dns::default();
    dns.says(&[at(&old)]);
    let scene = dns.before(|_| {});
    let mut client = scene.client();
    assert_eq!([client.get("/").text(), client.get("/").text()], ["old", "old"]);
    assert_eq!(old.connections(), 1, "it is kept while the name stays");
    dns.says(&[at(&new)]);
    assert_eq!([client.get("/").text(), client.get("/").text()], ["new", "new"]);
    assert_eq!((old.connections(), new.connections()), (1, 1));
}

#[test]
fn a_reload_resolves_names_anew_whatever_their_age() {
    let (old, new) = (origin(2, "old"), origin(1, "new"));
    let dns = Dns::default();
    dns.says(&[at(&old)]);
    let mut scene = dns.before(|route| route.origin.dns_ttl = Duration::from_secs(3600));
    let mut client = scene.client();
    assert_eq!(client.get("/").text(), "old");
    dns.says(&[at(&new)]);
    assert_eq!(client.get("/").text(), "old", "the addresses hold");
    let options = Options::clone(&scene.engine.handle().options());
    scene.engine.reload(options).unwrap();
    assert_eq!(scene.client().get("/").text(), "new");
}

#[test]
fn a_kept_connection_of_fastcgi_follows_a_name_that_moves() {
    let page = |text: &str| prints(&format!("Content-Type: text/plain\nCache-Control: private\n\n{text}"));
    let (old, new) = (Application::fastcgi([page("old"), page("old")]), Application::fastcgi([page("new")]));
    let place = |application: &Application| SocketAddr::from(([127, 0, 0, 1], application.port()));
    let dns = Dns::default();
    dns.says(&[place(&old)]);
    let scene = dns.before_origin(OriginAddress::FastCgi, |route| route.origin.kept_connections_max = 8);
    let mut client = scene.client();
    assert_eq!([client.get("/").text(), client.get("/").text()], ["old", "old"]);
    dns.says(&[place(&new)]);
    assert_eq!(client.get("/").text(), "new");
}

#[test]
fn requests_take_turns_among_all_addresses_of_a_name() {
    let origins = [origin(3, "a"), origin(3, "b"), origin(3, "c")];
    let dns = Dns::default();
    dns.says(&origins.each_ref().map(at));
    let scene = dns.before(|_| {});
    let mut client = scene.client();
    for _ in 0..3 {
        let mut round = [(); 3].map(|()| client.get("/").text());
        round.sort();
        assert_eq!(round, ["a", "b", "c"]);
    }
    assert_eq!(origins.each_ref().map(Origin::connections), [1, 1, 1], "one kept connection to each");
}

#[test]
fn an_address_that_refuses_costs_no_request() {
    let works = origin(4, "a");
    let dns = Dns::default();
    dns.says(&[refusing(), at(&works)]);
    let scene = dns.before(|_| {});
    let mut client = scene.client();
    for _ in 0..4 {
        assert_eq!(client.get("/").text(), "a");
    }
}

#[test]
fn a_name_that_moved_a_moment_ago_is_resolved_anew_when_its_old_addresses_refuse() {
    let new = origin(1, "new");
    let dns = Dns::default();
    dns.says(&[refusing()]);
    let scene = dns.before(|route| route.origin.dns_ttl = Duration::from_secs(3600));
    let mut client = scene.client();
    assert_eq!(client.get("/").status, 502);
    dns.says(&[at(&new)]);
    assert_eq!(client.get("/").text(), "new");
}

#[test]
fn a_name_that_is_not_found_any_more_keeps_its_last_addresses() {
    let origin = origin(2, "a");
    let dns = Dns::default();
    dns.says(&[at(&origin)]);
    let scene = dns.before(|_| {});
    assert_eq!(scene.client().get("/").text(), "a");
    dns.says(&[]);
    assert_eq!(scene.client().get("/").text(), "a");
    let nowhere = Dns::default().before(|_| {});
    assert_eq!(nowhere.client().get("/").status, 502);
}

#[test]
fn a_connection_ends_after_its_last_request() {
    let answer = || get("/").answers(ok(&["Cache-Control: no-store"], "a"));
    let scene = Setup::safe().route(|route| route.origin.keepalive_requests_max = 2).run([(); 5].map(|()| answer()));
    let mut client = scene.client();
    for _ in 0..5 {
        client.get("/");
    }
    let connections: Vec<_> = (0..5).map(|number| scene.origin.request(number).connection).collect();
    assert_eq!(connections, [0, 0, 1, 1, 2]);
}

#[test]
fn a_connection_ends_after_its_lifetime() {
    let answer = || get("/").answers(ok(&["Cache-Control: no-store"], "a"));
    let scene = Setup::safe().route(|route| route.origin.keepalive_time = Duration::ZERO).run([answer(), answer()]);
    let mut client = scene.client();
    client.get("/");
    client.get("/");
    assert_eq!(scene.origin.connections(), 2);
}
