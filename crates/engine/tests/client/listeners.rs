//! Where clients connect: TCP, Unix sockets, inherited descriptors; several listeners at once, with several workers.

use kasoku_metrics::Counter;
use kasoku_options::{AddressRange, ListenAddress, Listener, Options};
use kasoku_testkit::{Client, Scenario, Setup, get, ok, post};
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

fn socket_path(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("kasoku-scenario-{name}-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

#[test]
fn a_unix_socket_serves_like_tcp() {
    let path = socket_path("serves");
    let scene = Setup::safe()
        .options(|options| options.listeners.push(Listener::at(ListenAddress::Unix(path.clone()))))
        .run([get("/").answers(ok(&["Cache-Control: max-age=60"], "a")), post("/").answers(ok(&[], "b"))]);
    let mut client = Client::connect_unix(&path);
    assert_eq!(client.get("/").text(), "a");
    assert!(scene.client().get("/").is_hit(), "the same cache behind both");
    client.ask("POST", "/", &["X-Forwarded-Proto: https"]).response();
    let request = scene.origin.request(1);
    assert_eq!(request.field("x-forwarded-for"), None);
    assert_eq!(request.field("x-forwarded-proto").as_deref(), Some("http"));
    assert!(request.field("forwarded").is_some_and(|value| value.starts_with("for=unknown;")));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_client_that_connects_through_a_unix_socket_can_be_trusted() {
    let path = socket_path("trusted");
    let scene = Setup::safe()
        .options(|options| {
            options.listeners.push(Listener::at(ListenAddress::Unix(path.clone())));
            options.trusted_proxies = vec![AddressRange::Unix];
        })
        .run([post("/").answers(ok(&[], "b")), post("/").answers(ok(&[], "b"))]);
    let fields = ["X-Forwarded-Proto: https", "X-Forwarded-For: 1.2.3.4"];
    Client::connect_unix(&path).ask("POST", "/", &fields).response();
    scene.client().ask("POST", "/", &fields).response();
    let through_unix = scene.origin.request(0);
    assert_eq!(through_unix.field("x-forwarded-proto").as_deref(), Some("https"));
    assert_eq!(through_unix.field("x-forwarded-for").as_deref(), Some("1.2.3.4"));
    assert_eq!(scene.origin.request(1).field("x-forwarded-proto").as_deref(), Some("http"));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn an_inherited_descriptor_is_served() {
    let inherited = TcpListener::bind("127.0.0.1:0").unwrap();
    let scene = Setup::safe()
        .options(|options| options.listeners = vec![Listener::at(ListenAddress::Descriptor(inherited.as_raw_fd()))])
        .run([get("/").answers(ok(&[], "a"))]);
    assert_eq!(scene.engine.addresses(), [inherited.local_addr().unwrap()]);
    assert_eq!(Client::connect(inherited.local_addr().unwrap()).get("/").text(), "a");
}

#[test]
fn a_connection_that_waited_in_an_inherited_descriptor_is_served() {
    let inherited = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut early = Client::connect(inherited.local_addr().unwrap());
    early.ask("GET", "/", &[]);
    let _scene = Setup::safe()
        .options(|options| options.listeners = vec![Listener::at(ListenAddress::Descriptor(inherited.as_raw_fd()))])
        .run([get("/").answers(ok(&[], "a"))]);
    assert_eq!(early.response().text(), "a");
}

#[test]
fn an_address_that_another_program_serves_is_an_error_at_start() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let scene = Scenario::safe([]);
    for taken in [other.local_addr().unwrap(), scene.engine.addresses()[0]] {
        let result = Setup::safe()
            .options(|options| options.listeners = vec![Listener::at(ListenAddress::Tcp(taken))])
            .start_engine();
        assert!(result.err().is_some_and(|error| error.to_string().contains("listens there already")));
    }
}

#[test]
fn several_workers_share_addresses_and_cache() {
    let scene = Setup::safe()
        .options(|options| {
            options.workers = 3;
            options.listeners.push(options.listeners[0].clone());
        })
        .run([get("/").answers(ok(&["Cache-Control: max-age=60"], "a"))]);
    let addresses = scene.engine.addresses();
    let [first, second] = addresses.as_slice() else { panic!("two addresses") };
    assert_ne!(first, second);
    assert_eq!(scene.client().get("/").text(), "a");
    for number in 0..24 {
        let address = if number % 2 == 0 { first } else { second };
        assert!(Client::connect(*address).get("/").is_hit());
    }
}

#[test]
fn a_worker_with_all_its_connections_lets_others_wait() {
    let scene = Setup::safe()
        .options(|options| options.limits.connections_max = 1)
        .run([get("/").answers(ok(&["Cache-Control: max-age=60"], "a"))]);
    let mut first = scene.client();
    first.get("/");
    let mut second = scene.client();
    second.ask("GET", "/", &[]);
    assert!(first.get("/").is_hit(), "the first is still served");
    drop(first);
    assert!(second.response().is_hit());
}

const PLACES: usize = 4;

/// Clients that have taken all places with one request each, two seconds apart.
fn full(setup: Setup) -> (Scenario, Vec<Client>) {
    let setup = setup.options(|options| options.limits.connections_max = PLACES);
    let scene = setup.run([get("/").answers(ok(&["Cache-Control: max-age=600"], "a"))]);
    // Who left long ago has left no room.
    assert_eq!(scene.client().ask("GET", "/", &["Connection: close"]).response().text(), "a");
    let clients = (0..PLACES).map(|_| {
        scene.advance(2);
        let mut client = scene.client();
        assert_eq!(client.get("/").text(), "a");
        client
    });
    let clients = clients.collect();
    (scene, clients)
}

#[test]
fn who_waits_longest_for_nothing_gives_its_place_to_a_new_client() {
    let (scene, mut clients) = full(Setup::safe());
    scene.advance(2);
    assert!(clients[0].get("/").is_hit(), "it has waited longest, until now");
    scene.advance(2);
    for (number, closed) in [1, 2, 3, 0].into_iter().enumerate() {
        let mut late = scene.client();
        assert!(late.get("/").is_hit());
        clients[closed].is_closed();
        assert_eq!(scene.engine.metrics().total(Counter::IdleClosed), number as u64 + 1, "one for each new client");
        clients.push(late);
    }
}

#[test]
fn a_client_that_has_sent_nothing_yet_and_one_behind_a_proxy_wait_for_nothing_as_well() {
    let proxied = |options: &mut Options| options.listeners.iter_mut().for_each(|one| one.proxy_protocol = true);
    for (setup, header) in
        [(Setup::safe(), ""), (Setup::safe().options(proxied), "PROXY TCP4 192.0.2.7 192.0.2.1 4000 80\r\n")]
    {
        let setup = setup.options(|options| options.limits.connections_max = PLACES);
        let scene = setup.run([get("/").answers(ok(&["Cache-Control: max-age=600"], "a"))]);
        let mut silent: Vec<Client> = (0..PLACES).map(|_| scene.client()).collect();
        for client in &mut silent {
            client.send(header);
        }
        let mut late = scene.client();
        late.send(header).ask("GET", "/", &[]);
        scene.eventually(|| {
            scene.advance(1);
            scene.engine.metrics().total(Counter::IdleClosed) == 1
        });
        assert_eq!(late.response().text(), "a");
    }
}

#[test]
fn a_request_in_part_and_one_without_its_answer_keep_their_places() {
    let gate = kasoku_testkit::Gate::new();
    let setup = Setup::safe().options(|options| options.limits.connections_max = 3);
    let slow = get("/slow").answers("").waits(&gate).sends(ok(&[], "slow"));
    let scene = setup.run([get("/").answers(ok(&["Cache-Control: max-age=600"], "a")), slow]);
    let (mut partial, mut waiting, mut idle) = (scene.client(), scene.client(), scene.client());
    idle.get("/");
    partial.get("/");
    partial.send("GET / HTTP/1.1\r\nHo");
    waiting.ask("GET", "/slow", &[]);
    scene.origin.arrived(2);
    scene.advance(5);
    let mut late = scene.client();
    assert!(late.get("/").is_hit());
    idle.is_closed();
    // The place of who is served again is not to be had either.
    let mut later = scene.client();
    later.ask("GET", "/", &[]);
    gate.open();
    assert_eq!(waiting.response().text(), "slow");
    partial.send("st: example.org\r\n\r\n");
    assert!(partial.response().is_hit());
    scene.advance(5);
    assert!(later.response().is_hit());
}

#[test]
fn an_address_has_at_most_so_many_connections() {
    let setup = Setup::safe().options(|options| options.limits.connections_per_address = Some(2));
    let scene = setup.run([get("/").answers(ok(&["Cache-Control: max-age=600"], "a"))]);
    let from = |last: u8| Client::connect_from([127, 0, 0, last].into(), scene.engine.addresses()[0]);
    let (mut one, mut other) = (from(1), from(1));
    assert_eq!(one.get("/").text(), "a");
    assert!(other.get("/").is_hit());
    assert_eq!(from(1).ask("GET", "/", &[]).rest(), "");
    scene.counted(Counter::ConnectionsRefused, 1);
    assert!(from(2).get("/").is_hit(), "another address");
    drop(one);
    scene.eventually(|| from(1).ask("GET", "/", &["Connection: close"]).rest().starts_with("HTTP/1.1 200"));
}

#[test]
fn a_trusted_proxy_has_any_number_of_connections() {
    let setup = Setup::safe().options(|options| {
        options.limits.connections_per_address = Some(1);
        options.trusted_proxies = AddressRange::loopback();
    });
    let scene = setup.run([get("/").answers(ok(&["Cache-Control: max-age=600"], "a"))]);
    let mut clients: Vec<Client> = (0..3).map(|_| scene.client()).collect();
    clients.iter_mut().for_each(|client| assert_eq!(client.get("/").text(), "a"));
}

#[test]
fn a_stop_lets_running_requests_end_and_closes_idle_connections() {
    let gate = kasoku_testkit::Gate::new();
    let script = [get("/slow").answers("").waits(&gate).sends(ok(&[], "slow")), get("/").answers(ok(&[], "a"))];
    let scene =
        Setup::safe().options(|options| options.limits.drain_timeout = std::time::Duration::from_secs(10)).run(script);
    let mut idle = scene.client();
    idle.get("/");
    let mut running = scene.client();
    running.ask("GET", "/slow", &[]);
    scene.origin.arrived(2);
    let Scenario { engine, origin, .. } = scene;
    let stopping = std::thread::spawn(move || engine.stop());
    idle.is_closed();
    gate.open();
    let response = running.response();
    assert_eq!((response.text().as_str(), response.field("connection").as_str()), ("slow", "close"));
    running.is_closed();
    stopping.join().unwrap();
    drop(origin);
}

#[test]
fn connections_are_spread_evenly_over_the_workers() {
    const WORKERS: usize = 4;
    const EACH: u64 = 10;
    let scene = Setup::safe()
        .options(|options| options.workers = WORKERS)
        .run([get("/").answers(ok(&["Cache-Control: max-age=60"], "a"))]);
    let mut clients = vec![scene.client()];
    clients[0].get("/");
    // The kernel spreads connections by a hash of their ports, which alone would give one worker 14 and another 6.
    while clients.len() < WORKERS * EACH as usize {
        let mut client = scene.client();
        assert!(client.get("/").is_hit());
        clients.push(client);
    }
    scene.counted(Counter::Requests, WORKERS as u64 * EACH);
    let served = [0, 1, 2, 3].map(|worker| scene.engine.metrics().of_worker(worker, Counter::Requests));
    // One more or less, since connections may be counted at the same time.
    assert!(served.iter().all(|count| count.abs_diff(EACH) <= 1), "{served:?}");
}
