//! Servers that are asked by TLS: those that prove who they are, and those that can't.

use crate::certificates::{Authority, Certificate};
use crate::cluster;
use crate::front_end::FrontEnd;
use crate::server::{LOG, PATIENCE, Redis, found, options};
use kasoku_shared::redis::{RedisClusterOptions, RedisOptions};
use kasoku_shared::tls::{ClientFiles, Tls, TlsFiles};
use kasoku_shared::{Backend, Failure};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// What all servers of a test and their clients need.
struct Certificates {
    folder: TempDir,
    authority: Authority,
    server: Certificate,
}

impl Certificates {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let authority = Authority::new(folder.path(), "authority");
        let server = authority.certifies("server", "IP:127.0.0.1");
        Self { folder, authority, server }
    }

    /// Options of a server that takes clients without a certificate.
    fn server_options(&self) -> Vec<String> {
        [self.authority.server_options(&self.server), vec!["--tls-auth-clients".to_owned(), "no".to_owned()]].concat()
    }

    fn trusted(&self) -> TlsFiles {
        TlsFiles { ca: Some(self.authority.certificate()), client: None }
    }

    /// The same with a certificate that this authority has made for a client.
    fn known_as(&self, Certificate { certificate, key }: Certificate) -> TlsFiles {
        TlsFiles { client: Some(ClientFiles { certificate, key }), ..self.trusted() }
    }
}

fn by(tls: &TlsFiles, servers: &[&Redis]) -> RedisOptions {
    let options = options(servers.iter().map(|server| server.url()));
    RedisOptions { tls: Some(Tls::read(tls).unwrap()), item_bytes_max: 100_000, ..options }
}

/// Why the primary was not found. No other operation asks anything then, and nothing is in the server.
async fn refusal(options: &RedisOptions, server: &Redis) -> String {
    let client = found(options).await;
    let failure = client.history(0, LOG).await.unwrap_err();
    assert!(matches!(client.get(0, b"a").await, Err(Failure::NoPrimary)));
    let known = &client.servers().all()[0];
    assert!(!known.health.is_usable(client.servers().now_ms()));
    assert_eq!(known.counters.errors.value(), 3, "two readings and one get");
    assert_eq!(server.ask("DBSIZE"), ":0");
    failure.to_string()
}

#[tokio::test]
async fn items_and_purges_go_by_tls_also_after_a_failover() {
    let certificates = Certificates::new();
    let mut primary = Redis::with(&certificates.server_options());
    let replica = Redis::replica_of(&primary);
    let front_end = || {
        let options = by(&certificates.trusted(), &[&primary, &replica]);
        FrontEnd::new(Backend::redis(&RedisOptions { operation_timeout: Duration::from_secs(2), ..options }).unwrap())
    };
    let (one, other) = (front_end(), front_end());
    assert!(one.follow().await && other.follow().await);
    for length in [0, 3500, 99_000, 1_000_000] {
        let (uri, content) = (format!("http://a.example/{length}"), "x".repeat(length));
        assert!(one.put(&uri, &content).await);
        assert!(other.get(&uri).await == Some(content), "{length}");
    }
    let counters = &one.items.tier().servers().all()[0].counters;
    assert!(counters.bytes_out.value() > 1_000_000, "without the bytes of TLS, or with them");
    one.purge("before").await;
    other.hears_of("before").await;
    replica.catches_up_with(&primary);
    primary.kill();
    one.purges_here("during");
    replica.is_promoted();
    one.follow_until("the new primary", async |_| true).await;
    other.hears_of("during").await;
    assert_eq!(other.purges(), ["before", "during"]);
}

#[tokio::test]
async fn a_server_that_can_not_prove_who_it_is_gets_nothing() {
    let certificates = Certificates::new();
    let server = Redis::with(&certificates.server_options());
    let stranger = Authority::new(certificates.folder.path(), "stranger");
    let wrong = TlsFiles { ca: Some(stranger.certificate()), client: None };
    let refused = refusal(&by(&wrong, &[&server]), &server).await;
    assert!(refused.contains("invalid peer certificate: UnknownIssuer"), "{refused}");
    // The certificate names the address, and not this name of it.
    let url = server.url().replace("127.0.0.1", "localhost");
    let misnamed = RedisOptions { urls: vec![url], ..by(&certificates.trusted(), &[]) };
    let refused = refusal(&misnamed, &server).await;
    assert!(refused.contains("certificate not valid for name \"localhost\""), "{refused}");
}

#[tokio::test]
async fn a_server_that_asks_for_a_certificate_gets_one() {
    let certificates = Certificates::new();
    let server = Redis::with(&certificates.authority.server_options(&certificates.server));
    let refused = refusal(&by(&certificates.trusted(), &[&server]), &server).await;
    assert!(refused.contains("CertificateRequired"), "{refused}");
    let stranger = Authority::new(certificates.folder.path(), "stranger").certifies("unknown", "DNS:kasoku");
    let refused = refusal(&by(&certificates.known_as(stranger), &[&server]), &server).await;
    assert!(refused.contains("UnknownCA"), "{refused}");
    let known = certificates.known_as(certificates.authority.certifies("client", "DNS:kasoku"));
    let client = found(&by(&known, &[&server])).await;
    assert_eq!(client.get(0, b"a").await.unwrap(), None);
}

#[tokio::test]
async fn a_handshake_without_an_end_is_a_timeout() {
    let certificates = Certificates::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("rediss://127.0.0.1:{}", silent.local_addr().unwrap().port());
    let options = RedisOptions {
        urls: vec![url],
        operation_timeout: Duration::from_millis(100),
        ..by(&certificates.trusted(), &[])
    };
    let client = found(&options).await;
    assert!(matches!(client.history(0, LOG).await, Err(Failure::Timeout)));
    assert_eq!(client.servers().all()[0].counters.timeouts.value(), 2);
}

/// Each node asks for a certificate, ours and that of the other nodes.
#[tokio::test]
async fn the_nodes_of_a_cluster_are_asked_by_tls() {
    let certificates = Certificates::new();
    let mut nodes = certificates.authority.server_options(&certificates.server);
    nodes.extend(["--tls-cluster", "yes", "--tls-replication", "yes"].map(str::to_owned));
    let client = certificates.authority.certifies("client", "DNS:kasoku");
    let files = [certificates.authority.certificate(), client.certificate.clone(), client.key.clone()];
    let mut cli = vec!["--tls".to_owned()];
    for (name, file) in ["--cacert", "--cert", "--key"].into_iter().zip(files) {
        cli.extend([name.to_owned(), file.display().to_string()]);
    }
    let nodes = cluster::cluster_with(0, &nodes, &cli);
    let by = |tls: &TlsFiles| RedisClusterOptions {
        tls: Some(Tls::read(tls).unwrap()),
        operation_timeout: PATIENCE,
        ..cluster::options(&nodes[..1])
    };
    let stranger = Authority::new(certificates.folder.path(), "stranger");
    for (files, why) in [
        (TlsFiles { ca: Some(stranger.certificate()), client: None }, "UnknownIssuer"),
        (certificates.trusted(), "CertificateRequired"),
    ] {
        let client = Backend::redis_cluster(&by(&files)).unwrap().client();
        let failure = client.history(0, LOG).await.unwrap_err();
        assert!(failure.to_string().contains(why), "{failure}");
        assert!(matches!(client.get(0, b"a").await, Err(Failure::NoPrimary)));
        assert!(client.servers().all()[0].counters.errors.value() > 0);
    }
    let known = certificates.known_as(client);
    let front_end = || FrontEnd::new(Backend::redis_cluster(&by(&known)).unwrap());
    let (one, other) = (front_end(), front_end());
    one.is_usable().await;
    other.is_usable().await;
    for number in 0..30 {
        let (uri, content) = (format!("http://a.example/{number}"), "x".repeat(number * 5000));
        assert!(one.put(&uri, &content).await, "{number}");
        assert!(other.get(&uri).await == Some(content), "{number}");
    }
    for node in &nodes {
        assert!(node.ask("DBSIZE").trim_start_matches(':').parse::<usize>().unwrap() > 5);
    }
    one.purge("a page").await;
    other.hears_of("a page").await;
    // The nodes name each other by a name that their certificate has not. That of the first one is asked by its address.
    for node in &nodes {
        assert_eq!(node.ask("CONFIG SET cluster-announce-hostname localhost"), "+OK");
        assert_eq!(node.ask("CONFIG SET cluster-preferred-endpoint-type hostname"), "+OK");
    }
    let begun = Instant::now();
    while nodes[0].ask("CLUSTER NODES").matches(",localhost").count() < nodes.len() {
        assert!(begun.elapsed() < PATIENCE, "{}", nodes[0].ask("CLUSTER NODES"));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let client = Backend::redis_cluster(&by(&known)).unwrap().client();
    let failure = client.history(0, LOG).await.unwrap_err();
    assert!(matches!(failure, Failure::Unusable(_)), "{failure}");
    assert!(matches!(client.get(0, b"a").await, Err(Failure::NoPrimary)));
}

#[test]
fn addresses_with_tls_and_others_do_not_go_together_in_a_cluster() {
    let certificates = Certificates::new();
    let tls = Some(Tls::read(&certificates.trusted()).unwrap());
    let of = |seeds: &[&str], tls| {
        let seeds = seeds.iter().map(|seed| (*seed).to_owned()).collect();
        Backend::redis_cluster(&RedisClusterOptions { seeds, tls, ..cluster::options(&[]) })
    };
    assert!(of(&["rediss://a", "rediss://b"], tls.clone()).is_ok());
    assert!(of(&["rediss://a", "redis://b"], tls.clone()).is_err());
    assert!(of(&["rediss://a#insecure"], tls).is_err());
    assert!(of(&["rediss://a"], None).is_err());
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_name() {
    let certificates = Certificates::new();
    let folder = certificates.folder.path();
    let written = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let refused = |files: &TlsFiles| Tls::read(files).unwrap_err().to_string();
    let ca = |path: PathBuf| refused(&TlsFiles { ca: Some(path), client: None });
    let begin = "-----BEGIN CERTIFICATE-----";
    for (path, why) in [
        (folder.join("none"), "none: No such file or directory"),
        (folder.to_owned(), ": Is a directory"),
        (written("empty", b""), "empty: there is no certificate in PEM in it"),
        (certificates.server.key.clone(), "server.key: there is no certificate in PEM in it"),
        (written("cut", format!("{begin}\nMIIB\n").as_bytes()), "cut: "),
        (written("nonsense", format!("{begin}\nMIIB\n-----END CERTIFICATE-----\n").as_bytes()), "certificate 1 can't"),
        (written("long", &vec![b'\n'; 5 << 20]), "long: it has more than 4194304 bytes"),
    ] {
        let refused = ca(path);
        assert!(refused.contains(why), "{refused}");
    }
    let client = |certificate: &PathBuf, key: &PathBuf| {
        let (certificate, key) = (certificate.clone(), key.clone());
        refused(&certificates.known_as(Certificate { certificate, key }))
    };
    let Certificate { certificate, key } = &certificates.server;
    let other = certificates.authority.certifies("other", "DNS:kasoku");
    let refused = client(certificate, &other.key);
    assert!(refused.contains("other.key: it is not the key of ") && refused.contains("server.pem"), "{refused}");
    assert!(client(certificate, certificate).contains("server.pem: other users may open it"));
    assert!(client(key, key).contains("server.key: there is no certificate in PEM in it"));
    let unreadable = written("no-key", &fs::read(certificate).unwrap());
    fs::set_permissions(&unreadable, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(client(certificate, &unreadable).contains("no-key: there is no private key in PEM in it"));
    fs::set_permissions(key, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(client(certificate, key).contains("server.key: other users may open it"));
}
