//! Tests the options to which a configuration resolves.

use kasoku_config::check_text;
use kasoku_options::{
    AddressRange, AnonymousCookie, Balance, ClientLimits, CookieRules, Gateway, HitHeaders, HostPattern, ListenAddress,
    Listener, NOISE_COOKIES, Options, OriginAddress, OriginEndpoint, OriginHealth, OriginLimits, OriginOptions,
    OtherCookies, PathGlob, PeerAddress, Peers, ProgramLimits, RedisAddress, RedisClientCertificate, RedisServers,
    Rewrite, Route, SendfileRules, ServerDown, SessionProbe, SharedEndpoint, SharedRing, SharedServer, SharedServers,
    SharedTier, Symlinks, UrlKey, UrlPattern,
};
use kasoku_semantics::coding::CodingLevels;
use kasoku_semantics::grant::{Grant, Ignored, StatusTtl};
use kasoku_semantics::policy::{Policy, Profile};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The options of a configuration, which must have no errors or warnings.
fn options(text: &str) -> Options {
    let (options, issues) = check_text(text);
    assert!(issues.is_empty(), "{issues:#?}");
    options.unwrap()
}

fn tcp(text: &str) -> ListenAddress {
    ListenAddress::Tcp(text.parse().unwrap())
}

fn origin(port: u16) -> OriginOptions {
    OriginAddress::http("127.0.0.1".to_owned(), port).into()
}

#[test]
fn a_site_with_an_origin_is_all_that_is_needed() {
    let options = options("[[site]]\norigin = \"http://127.0.0.1:8000\"");
    assert_eq!(options.listeners, [Listener::at(tcp("127.0.0.1:8080"))]);
    assert_eq!(options.admin, None);
    assert_eq!(options.workers, std::thread::available_parallelism().unwrap().get());
    assert_eq!(options.memory_bytes_max, 1 << 30);
    assert_eq!(options.object_bytes_max, 64 << 20);
    assert_eq!(options.limits, ClientLimits::default());
    assert_eq!(options.trusted_proxies, []);
    assert_eq!(options.hit_headers, HitHeaders::default());
    let [site] = options.sites.as_slice() else { panic!("one site") };
    assert_eq!((site.name.as_str(), site.hosts.len(), site.rules.len()), ("default", 0, 0));
    assert_eq!(site.route.origins, [origin(8000)]);
    assert_eq!(site.route.origin, OriginLimits::default());
    assert_eq!(*site.route.policy, Policy::new(Profile::Safe));
    assert_eq!(site.route.upgrades, ["websocket"]);
    assert!(!site.route.pass && site.route.origin_host.is_none());
}

#[test]
fn the_configuration_of_a_small_site() {
    let options = options(
        r#"
listen  = ["127.0.0.1:8080"]            # also "unix:/run/kasoku.sock", "fd:3"
admin   = "127.0.0.1:8081"
profile = "safe"                        # or "rfc"

[memory]
size = "1GiB"

[[site]]                                # first whose hosts match; no hosts: any
hosts  = ["example.org", "*.example.org"]
origin = "http://127.0.0.1:8000"        # or a list

[[site.rule]]                           # first that matches
path = "/admin/*"
pass = true

[[site.rule]]
path = "/static/*"
origin = "http://127.0.0.1:8001"
"#,
    );
    assert_eq!(options.admin, Some(tcp("127.0.0.1:8081")));
    let [site] = options.sites.as_slice() else { panic!("one site") };
    assert_eq!(site.name, "example.org");
    let hosts = [HostPattern::Exact("example.org".to_owned()), HostPattern::Below(".example.org".to_owned())];
    assert_eq!(site.hosts, hosts);
    let [admin, assets] = site.rules.as_slice() else { panic!("two rules") };
    assert_eq!((admin.path.as_str(), admin.route.pass), ("/admin/*", true));
    assert_eq!(admin.route.origins, [origin(8000)]);
    assert_eq!((assets.path.as_str(), assets.route.pass), ("/static/*", false));
    assert_eq!(assets.route.origins, [origin(8001)]);
}

#[test]
fn each_kind_of_listener() {
    let options = options(
        r#"
listen = ["[::1]:8080", "unix:/run/k.sock", "fd:3", { address = "0.0.0.0:80", proxy-protocol = true }, { address = "0.0.0.0:81", defer-accept = false }]
trusted-proxies = ["10.0.0.0/8", "unix"]
site = [{ origin = "http://unix:/run/app.sock" }]
"#,
    );
    let expected = [
        Listener::at(tcp("[::1]:8080")),
        Listener::at(ListenAddress::Unix("/run/k.sock".into())),
        Listener::at(ListenAddress::Descriptor(3)),
        Listener { proxy_protocol: true, ..Listener::at(tcp("0.0.0.0:80")) },
        Listener { defer_accept: false, ..Listener::at(tcp("0.0.0.0:81")) },
    ];
    assert_eq!(options.listeners, expected);
    let range = AddressRange::Ip { address: "10.0.0.0".parse().unwrap(), prefix_bits: 8 };
    assert_eq!(options.trusted_proxies, [range, AddressRange::Unix]);
    assert_eq!(
        options.sites[0].route.origins,
        [OriginAddress::Http(OriginEndpoint::Unix("/run/app.sock".into())).into()]
    );
}

#[test]
fn what_a_site_ignores_adds_to_what_its_application_ignores() {
    let (options, _) = check_text(
        r#"
[[site]]
origin      = "http://127.0.0.1:8000"
application = "movable-type"
ignore      = ["private"]

[[site.rule]]
path   = "/own/*"
ttl    = "1m"
ignore = ["expires"]
"#,
    );
    let ignored = |path: &str| {
        let rule = options.as_ref().unwrap().sites[0].rules.iter().find(|rule| rule.path.as_str() == path).unwrap();
        rule.route.policy.grant.ignore.clone()
    };
    let search = ignored("*/mt-search.cgi");
    assert!(search.contains(&Ignored::Private) && search.contains(&Ignored::NoStore), "{search:?}");
    assert_eq!(ignored("/own/*"), [Ignored::Expires], "a rule of the site's own says itself what it ignores");
}

#[test]
fn the_innermost_that_is_written_wins_key_by_key() {
    let options = options(
        r#"
[cache]
negative-ttl = "1s"
stale-disconnected = "1s"
heuristic-percent = 1

[[site]]
origin = "http://app"
cache = { stale-disconnected = "2s", heuristic-percent = 2 }
query = { sort = true }
origin-limits = { connect-timeout = "2s" }

[[site.rule]]
path = "/a"
cache = { heuristic-percent = 3 }
query = { ignore = ["utm_*"] }
origin-limits = { idle-timeout = "3s", keepalive-time = "4s", keepalive-requests-max = 5, dns-ttl = "6s" }
"#,
    );
    let site = &options.sites[0];
    let (outer, inner) = (&site.route, &site.rules[0].route);
    assert_eq!((outer.policy.negative_ttl_seconds, outer.policy.stale_disconnected_seconds), (1, 2));
    assert_eq!((inner.policy.negative_ttl_seconds, inner.policy.stale_disconnected_seconds), (1, 2));
    assert_eq!((outer.policy.heuristic_percent, inner.policy.heuristic_percent), (2, 3));
    assert!(inner.query.sort && inner.query.ignore == ["utm_*"] && outer.query.ignore.is_empty());
    let timeouts = (inner.origin.connect_timeout, inner.origin.idle_timeout);
    assert_eq!(timeouts, (Duration::from_secs(2), Duration::from_secs(3)));
    let reuse = &inner.origin;
    assert_eq!((reuse.keepalive_time, reuse.dns_ttl), (Duration::from_secs(4), Duration::from_secs(6)));
    assert_eq!((reuse.keepalive_requests_max, outer.origin.keepalive_requests_max), (5, 1000));
}

#[test]
fn a_rule_without_caching_rules_of_its_own_shares_those_of_its_site() {
    let options = options("[[site]]\norigin = \"http://app\"\n[[site.rule]]\npath = \"/a\"\npass = true");
    assert!(Arc::ptr_eq(&options.sites[0].route.policy, &options.sites[0].rules[0].route.policy));
}

#[test]
fn a_sites_profile_brings_its_own_defaults() {
    let options = options(
        "[[site]]\nhosts = [\"a\"]\norigin = \"http://app\"\nprofile = \"rfc\"\n[[site]]\norigin = \"http://app\"",
    );
    assert_eq!(*options.sites[0].route.policy, Policy::new(Profile::Rfc));
    assert_eq!(*options.sites[1].route.policy, Policy::new(Profile::Safe));
}

#[test]
fn defaults_give_way_to_what_they_depend_on() {
    let options = options(
        "memory = { size = \"100MiB\" }\nlimits = { head-bytes-max = \"8KiB\" }\n[[site]]\norigin = \"http://app\"",
    );
    assert_eq!(options.object_bytes_max, (100 << 20) / 8);
    assert_eq!(options.limits.head.target_bytes_max, 8 << 10);
}

#[test]
fn several_origins_with_weights_backups_limits_and_health() {
    let options = options(
        r#"
        [origin-health]
        failures = 5
        back-off = "2s"

        [[site]]
        balance = "round-robin"
        origin = ["http://127.0.0.1:8000", { url = "http://127.0.0.1:8001", weight = 3, connections-max = 16 }]
        [site.origin-health]
        path = "/up?full=1"
        expect = 204
        "#,
    );
    let route = &options.sites[0].route;
    let second = OriginOptions { weight: 3, connections_max: Some(16), ..origin(8001) };
    assert_eq!(route.origins, [origin(8000), second]);
    assert_eq!(route.balance, Balance::RoundRobin);
    let health = OriginHealth {
        failures: 5,
        back_off: Duration::from_secs(2),
        path: Some("/up?full=1".to_owned()),
        expect: (204, 204),
        ..OriginHealth::default()
    };
    assert_eq!(route.health, health);
}

#[test]
fn a_rule_has_origins_and_a_balance_of_its_own() {
    let options = options(
        r#"
        [[site]]
        origin = "http://127.0.0.1:8000"
        [[site.rule]]
        path = "/api/*"
        balance = "hash"
        [[site.rule.origin]]
        url = "http://127.0.0.1:8001"
        [[site.rule.origin]]
        url = "http://127.0.0.1:8002"
        backup = true
        "#,
    );
    let [site] = options.sites.as_slice() else { panic!("one site") };
    assert_eq!((site.route.origins.as_slice(), site.route.balance), ([origin(8000)].as_slice(), Balance::First));
    let rule = &site.rules[0].route;
    assert_eq!(rule.origins, [origin(8001), OriginOptions { is_backup: true, ..origin(8002) }]);
    assert_eq!(rule.balance, Balance::Hash);
}

#[test]
fn a_search_script_is_granted_a_lifetime_in_three_lines() {
    let options = options(
        r#"
[[site]]
hosts  = ["example.org"]
origin = "http://127.0.0.1:8000"
grace  = "1m"
cookies.noise = ["_ga"]
anonymous-request-cookies = ["counted={address}"]

[[site.rule]]
path = "/mt/*.cgi"
origin = "http://127.0.0.1:8001"
ttl = "1h"
ttl-status = { 404 = "1m", 3xx = "10m" }
cookies.key = ["lang"]
key-fields = ["Accept-Language"]
cookies.others = "pass"
keep = "1d"
"#,
    );
    let site = &options.sites[0];
    assert!(!site.route.policy.grant.is_granting() && site.route.policy.grace_seconds == 60);
    let route = &site.rules[0].route;
    let of = |first, last, seconds| StatusTtl { first, last, seconds };
    let grant = Grant {
        ttl_seconds: 3600,
        ttl_status: vec![of(300, 399, 600), of(404, 404, 60)],
        key_cookies: vec!["lang".to_owned()],
        key_fields: vec!["accept-language".to_owned()],
        ..Grant::default()
    };
    assert_eq!((route.policy.grace_seconds, route.policy.keep_seconds), (60, Some(86_400)));
    let mut found = route.policy.grant.clone();
    found.ttl_status.sort_by_key(|one| one.first);
    assert_eq!(found, grant);
    let cookies = CookieRules {
        others: Some(OtherCookies::Pass),
        noise: vec!["_ga".to_owned()],
        pass: Vec::new(),
        anonymous: vec![AnonymousCookie::parse("counted={address}").unwrap()],
    };
    assert_eq!(route.cookies, cookies);
}

#[test]
fn who_has_a_session_may_pass_where_no_lifetime_is_granted() {
    let text = "[[site]]\norigin = \"http://a\"\ncookies.others = \"pass\"\ncookies.noise = [\"_ga\"]\n";
    let (options, issues) = check_text(text);
    assert!(issues.is_empty(), "{issues:#?}");
    assert_eq!(options.unwrap().sites[0].route.cookies.others, Some(OtherCookies::Pass));
    let (_, issues) = check_text(&text.replace("pass", "remove"));
    assert_eq!(issues.len(), 2, "neither does anything: {issues:#?}");
}

#[test]
fn own_noise_may_be_added_to_the_default_one_and_cookies_that_pass_are_listed() {
    let text = "cookies.noise = [\"default\", \"seen_banner\"]\n[[site]]\norigin = \"http://a\"\nttl = \"1h\"\n\
        cookies.pass = [\"wordpress_logged_in_*\"]\ncookies.others = \"remove\"\n";
    let (options, issues) = check_text(text);
    let site = &options.unwrap_or_else(|| panic!("{issues:#?}")).sites[0];
    let noise = &site.route.cookies.noise;
    assert_eq!(noise.len(), NOISE_COOKIES.len() + 1);
    assert!(["_ga", "_cfuvid", "seen_banner"].iter().all(|one| noise.iter().any(|other| other == one)), "{noise:?}");
    assert_eq!(site.route.cookies.pass, ["wordpress_logged_in_*"]);
    let [issue] = issues.as_slice() else { panic!("one warning: {issues:#?}") };
    assert!(
        issue.message.contains("a visitor who is known by another cookie gets the page for all visitors"),
        "{issue:?}"
    );
}

#[test]
fn what_is_overruled_is_listed_and_the_innermost_list_holds() {
    let text = "ttl = \"1m\"\nignore = [\"No-Store\"]\nkeep = \"0s\"\nstrip-path-parameters = \"jsessionid\"\n[[site]]\n\
        origin = \"http://a\"\nkey-host = \"WWW.example.org\"\n[[site.rule]]\npath = \"/a\"\nttl-override = \"2m\"\n\
        ignore = [\"set-cookie\", \"expires\"]\nttl = \"0s\"\nstrip-fields = [\"X-A\"]\n";
    let (options, issues) = check_text(text);
    assert!(issues.iter().all(|issue| issue.message.contains("is ignored: ")) && issues.len() == 3, "{issues:#?}");
    let site = &options.unwrap().sites[0];
    assert_eq!(site.route.policy.grant.ignore, [Ignored::NoStore]);
    assert_eq!(site.route.policy.keep_seconds, Some(0));
    let key = UrlKey { host: Some("www.example.org".to_owned()), path_parameters: vec!["jsessionid".to_owned()] };
    assert_eq!((&site.route.key, &site.rules[0].route.key), (&key, &key));
    let policy = &site.rules[0].route.policy;
    assert_eq!((policy.grant.ttl_seconds, policy.grant.ttl_override_seconds), (0, 120));
    assert_eq!(policy.grant.ignore, [Ignored::SetCookie, Ignored::Expires]);
    assert_eq!(policy.strip_fields, ["x-a"]);
}

#[test]
fn short_addresses_and_what_is_not_run_or_refused_take_in_the_lists_around() {
    let options = options(
        r#"
refuse-urls = ["*.sql"]
no-programs = ["/data/*"]

[[site]]
origin      = "fastcgi://127.0.0.1:9000"
root        = "/var/www/html"
rewrite     = ["/{board:word} => /bbs/board.php?bo_table={board}"]
refuse-urls = ["default", "/install/*"]

[[site.rule]]
path        = "/shop/*"
rewrite     = ["/shop/{id:id} => /shop/item.php?it_id={id}", "default"]
no-programs = ["default", "/shop/cache"]
refuse-urls = []
"#,
    );
    let [site] = options.sites.as_slice() else { panic!("one site") };
    let [shop] = site.rules.as_slice() else { panic!("one rule") };
    let shown = |rewrites: &[Rewrite]| rewrites.iter().map(Rewrite::to_string).collect::<Vec<_>>();
    let board = "/{board:word} => /bbs/board.php?bo_table={board}";
    assert_eq!(shown(&site.route.gateway.rewrites), [board]);
    assert_eq!(shown(&shop.route.gateway.rewrites), ["/shop/{id:id} => /shop/item.php?it_id={id}", board]);
    assert_eq!(site.route.gateway.no_programs, [PathGlob::new("/data/*")]);
    assert_eq!(shop.route.gateway.no_programs, ["/data/*", "/shop/cache"].map(PathGlob::new));
    let urls = |route: &Route| route.refuse_urls.iter().map(UrlPattern::to_string).collect::<Vec<_>>();
    assert_eq!((urls(&site.route), urls(&shop.route)), (vec!["*.sql".to_owned(), "/install/*".to_owned()], Vec::new()));
}

#[test]
fn a_list_of_short_addresses_has_a_bound() {
    let of = |count: usize| {
        let lines: String = (0..count).map(|number| format!("\"/a{number} => /b\", ")).collect();
        check_text(&format!("[[site]]\norigin = \"file:///srv\"\nrewrite = [\"default\", {lines}]\n"))
    };
    assert!(of(64).0.is_some());
    let (refused, issues) = of(65);
    assert!(refused.is_none() && issues[0].message.contains("more than 64 lines in `rewrite`"), "{issues:?}");
}

#[test]
fn files_below_a_directory_are_an_origin() {
    let options = options(
        r#"
index = ["index.php", "index.html"]

[[site]]
origin   = "file:///var/www/html/"
symlinks = "never"

[site.files]
charset  = ""
rate-max = "2MiB"

[[site.rule]]
path       = "/assets/*"
origin     = "file:///srv/assets"
url-prefix = "/assets/"
symlinks   = "anywhere"

[[site.rule]]
path      = "/blog/*"
root      = "/srv/blog"
try-files = ["{path}", "{path}/", "/index.php"]
"#,
    );
    let [site] = options.sites.as_slice() else { panic!("one site") };
    let [assets, blog] = site.rules.as_slice() else { panic!("two rules") };
    assert_eq!(site.route.origins, [OriginAddress::Files("/var/www/html".into()).into()]);
    let gateway = &site.route.gateway;
    assert_eq!(gateway.index, ["index.php", "index.html"]);
    assert_eq!([site.route.file_rate_max, blog.route.file_rate_max], [2 << 20; 2]);
    assert_eq!((gateway.files.symlinks, gateway.files.charset.as_str()), (Symlinks::Never, ""));
    assert_eq!(
        assets.route.gateway,
        Gateway {
            url_prefix: "/assets".to_owned(),
            files: kasoku_options::FileRules { symlinks: Symlinks::Anywhere, ..gateway.files.clone() },
            ..gateway.clone()
        }
    );
    assert_eq!(blog.route.gateway.root.as_deref(), Some("/srv/blog".as_ref()));
    assert_eq!(blog.route.gateway.try_files, ["{path}", "{path}/", "/index.php"]);
}

#[test]
fn a_shared_tier_is_its_servers_in_the_order_of_the_file() {
    let tier = |lines: &str| options(&format!("{lines}\n[[site]]\norigin = \"http://app\"\n")).shared;
    assert_eq!(tier(""), None);
    let tcp = |host: &str, port| SharedEndpoint::Tcp { host: host.to_owned(), port };
    let server = |endpoint, weight| SharedServer { endpoint, weight };
    assert_eq!(
        tier("shared.memcached = \"A\""),
        Some(SharedTier::of(SharedServers::memcached(vec![server(tcp("A", 11211), 1)])))
    );
    let written = tier(
        "[shared]\nmemcached = [\"b:1 3\", \"unix:/run/m.sock\", \"a:1\"]\nring = \"ketama\"\nnamespace = \"x_1\"\n\
         secret-file = \"/etc/s\"\ntimeout = \"9ms\"\nitem-bytes-max = \"8MiB\"\nserver-down = \"origin\"",
    );
    let socket = SharedEndpoint::Unix("/run/m.sock".into());
    let expected = SharedTier {
        servers: SharedServers::Memcached {
            servers: vec![server(tcp("b", 1), 3), server(socket, 1), server(tcp("a", 1), 1)],
            ring: SharedRing::Ketama,
            server_down: ServerDown::Origin,
        },
        namespace: "x_1".to_owned(),
        secret_file: Some("/etc/s".into()),
        timeout: Duration::from_millis(9),
        item_bytes_max: 8 << 20,
    };
    assert_eq!(written, Some(expected));
}

#[test]
fn a_shared_tier_may_be_redis_or_a_cluster() {
    let servers = |lines: &str| {
        let tier = options(&format!("[shared]\n{lines}\n[[site]]\norigin = \"http://app\"\n")).shared;
        tier.map(|tier| tier.servers)
    };
    let address = |host: &str, port, database| RedisAddress {
        endpoint: SharedEndpoint::Tcp { host: host.to_owned(), port },
        database,
        is_tls: false,
    };
    let redis = |addresses: Vec<RedisAddress>, is_cluster| RedisServers {
        addresses,
        is_cluster,
        user: None,
        password_file: None,
        ca_file: None,
        client_certificate: None,
    };
    let single = redis(vec![address("a", 6379, 0)], false);
    assert_eq!(servers("redis = \"redis://a\""), Some(SharedServers::Redis(single)));
    let written = servers(
        "redis = [\"redis://A:1/3\", \"redis://[::1]/3\"]\nredis-user = \"kasoku\"\nredis-password-file = \"/etc/p\"",
    );
    let expected = RedisServers {
        user: Some("kasoku".to_owned()),
        password_file: Some("/etc/p".into()),
        ..redis(vec![address("a", 1, 3), address("::1", 6379, 3)], false)
    };
    assert_eq!(written, Some(SharedServers::Redis(expected)));
    let cluster = redis(vec![address("a", 7000, 0), address("b", 6379, 0)], true);
    let written = servers("redis-cluster = [\"redis://a:7000/\", \"redis://b\"]");
    assert_eq!(written, Some(SharedServers::Redis(cluster)));
    let socket = RedisAddress { endpoint: SharedEndpoint::Unix("/run/r.sock".into()), database: 0, is_tls: false };
    let written = servers("redis = \"unix:/run/r.sock\"");
    assert_eq!(written, Some(SharedServers::Redis(redis(vec![socket.clone()], false))));
    let by_tls = |host: &str, port, database| RedisAddress { is_tls: true, ..address(host, port, database) };
    let written = servers("redis = [\"unix:/run/r.sock\", \"rediss://a:6380\"]");
    assert_eq!(written, Some(SharedServers::Redis(redis(vec![socket, by_tls("a", 6380, 0)], false))));
    let written = servers(
        "redis-cluster = \"rediss://[::1]\"\nredis-ca-file = \"/etc/ca\"\n\
         redis-client-certificate-file = \"/etc/c\"\nredis-client-key-file = \"/etc/k\"",
    );
    let expected = RedisServers {
        ca_file: Some("/etc/ca".into()),
        client_certificate: Some(RedisClientCertificate {
            certificate_file: "/etc/c".into(),
            key_file: "/etc/k".into(),
        }),
        ..redis(vec![by_tls("::1", 6379, 0)], true)
    };
    assert_eq!(written, Some(SharedServers::Redis(expected)));
}

#[test]
fn peers_are_the_other_front_ends() {
    let peers = |lines: &str| options(&format!("{lines}\n[[site]]\norigin = \"http://app\"\n")).peers;
    assert_eq!(peers(""), None);
    let address = |host: &str| PeerAddress { host: host.to_owned(), port: 6082 };
    let written = "peers = [\"Front-2.example:6082\", \"[fd00::3]:6082\"]\npeers-listen = \"[fd00::1]:6082\"\n\
                   peers-token-file = \"/etc/t\"";
    let expected = Peers {
        addresses: vec![address("front-2.example"), address("fd00::3")],
        listen: "[fd00::1]:6082".parse().unwrap(),
        token_file: "/etc/t".into(),
    };
    assert_eq!(peers(written), Some(expected));
}

#[test]
fn a_ring_has_servers_and_not_too_many() {
    let message = |servers: &str| {
        let (options, issues) =
            check_text(&format!("shared.memcached = {servers}\n[[site]]\norigin = \"http://app\"\n"));
        let message = issues.into_iter().next().map(|issue| issue.message);
        assert_eq!(options.is_none(), message.is_some());
        message
    };
    let servers = |count: usize| format!("{:?}", (0..count).map(|n| format!("h{n}:1")).collect::<Vec<_>>());
    assert_eq!(message("[]").as_deref(), Some("`shared.memcached` has no server"));
    assert_eq!(message(&servers(100)), None);
    assert_eq!(message(&servers(101)).as_deref(), Some("`shared.memcached` has 101 servers"));
}

#[test]
fn files_are_asked_about_once_a_second_unless_something_else_is_written() {
    let lifetimes = |top: &str, site: &str, rule: &str| {
        let text = format!(
            "{top}\n[[site]]\norigin = \"file:///srv\"\n{site}\n[[site.rule]]\npath = \"/x\"\n{rule}\n\
             [[site.rule]]\npath = \"/y\"\norigin = \"http://app\"\n"
        );
        let options = options(&text);
        let site = &options.sites[0];
        let routes = [&site.route, &site.rules[0].route, &site.rules[1].route];
        // Files on disk contain nothing that a program made for one visitor.
        assert_eq!(routes.map(|route| route.policy.is_of_files), [true, true, false]);
        routes.map(|route| route.policy.heuristic_max_seconds)
    };
    let day = 86_400;
    assert_eq!(lifetimes("", "", ""), [1, 1, day]);
    assert_eq!(lifetimes("", "cache.heuristic-percent = 20", ""), [day; 3]);
    assert_eq!(lifetimes("", "", "cache.heuristic-percent = 10"), [1, day, day]);
}

#[test]
fn programs_and_what_they_get() {
    let options = options(
        r#"
environment = ["TZ=UTC"]

[cgi]
processes-max = 4
run-timeout   = "30s"

[[site]]
origin = "file:///var/www/html"

[[site.rule]]
path               = "/mt/*.cgi"
origin             = "cgi:///usr/lib/cgi-bin"
environment        = ["MT_CONFIG=/etc/mt=a.cfg", "HOME"]
pass-authorization = true

[site.rule.cgi]
memory-bytes-max = "256MiB"
umask            = "0002"
"#,
    );
    let site = &options.sites[0];
    let rule = &site.rules[0].route;
    assert_eq!(rule.origins, [OriginOptions::from(OriginAddress::Cgi("/usr/lib/cgi-bin".into()))]);
    let gateway = Gateway {
        url_prefix: "/mt".to_owned(),
        environment: vec![("MT_CONFIG".to_owned(), "/etc/mt=a.cfg".to_owned())],
        inherited_environment: vec!["HOME".to_owned()],
        passes_authorization: Some(true),
        ..Gateway::default()
    };
    assert_eq!(rule.gateway, gateway);
    let programs = ProgramLimits { processes_max: 4, run_timeout: Duration::from_secs(30), ..ProgramLimits::default() };
    assert_eq!(site.route.origin.programs, programs);
    let bounded = ProgramLimits { memory_bytes_max: Some(256 << 20), umask: 0o002, ..programs };
    assert_eq!(rule.origin.programs, bounded);
    assert_eq!(site.route.gateway.environment, [("TZ".to_owned(), "UTC".to_owned())]);
}

#[test]
fn where_files_lie_that_an_application_names() {
    let options = options(
        r#"
[sendfile]
roots = ["/srv/private/", "/srv//media"]

[[site]]
origin = "http://app"

[site.sendfile]
internal = { "/protected/" = "/srv/private/a/", "/media/" = "/srv/media" }

[[site.rule]]
path = "/none"
sendfile = { roots = [], internal = {} }

[[site.rule]]
path = "/other"
sendfile = { roots = ["/srv/other"], internal = {}, symlinks = "anywhere", unescape = false }
"#,
    );
    let site = &options.sites[0];
    let internal = vec![
        ("/media/".to_owned(), PathBuf::from("/srv/media")),
        ("/protected/".to_owned(), PathBuf::from("/srv/private/a")),
    ];
    let roots = vec![PathBuf::from("/srv/private"), PathBuf::from("/srv/media")];
    let of_site = SendfileRules { roots, internal, ..SendfileRules::default() };
    assert_eq!(*site.route.sendfile, of_site);
    let none = SendfileRules::default();
    assert_eq!(*site.rules[0].route.sendfile, none);
    let other = SendfileRules {
        roots: vec![PathBuf::from("/srv/other")],
        symlinks: Symlinks::Anywhere,
        unescape: false,
        ..none
    };
    assert_eq!(*site.rules[1].route.sendfile, other);
}

#[test]
fn the_charset_of_files_has_an_effect_where_an_http_server_may_name_them() {
    let text = |sendfile: &str| {
        format!("[[site]]\norigin = \"http://app\"\nindex = [\"a.html\"]\nfiles.charset = \"koi8-r\"\n{sendfile}")
    };
    let warnings =
        |sendfile: &str| check_text(&text(sendfile)).1.iter().map(|one| one.message.clone()).collect::<Vec<_>>();
    assert_eq!(warnings("").len(), 2);
    let left = warnings("sendfile.roots = [\"/srv/private\"]");
    assert!(left.len() == 1 && left[0].starts_with("`index`"), "{left:?}");
}

#[test]
fn the_fields_that_tell_about_the_cache_are_those_of_the_list() {
    let of = |text: &str| options(&format!("{text}\n[[site]]\norigin = \"http://app\"\n")).hit_headers;
    assert_eq!(of(""), HitHeaders::default());
    let none = HitHeaders { cache_status: false, ..HitHeaders::default() };
    assert_eq!(of("hit-headers = []"), none);
    assert_eq!(of("hit-headers = [\"X-Cache-Status\"]"), HitHeaders { x_cache_status: true, ..none });
    let all = "hit-headers = [\"cache-status\", \"x-cache-hit\", \"x-cache-status\", \"x-request-id\"]";
    assert_eq!(of(all), HitHeaders { cache_status: true, x_cache_hit: true, x_cache_status: true, request_id: true });
}

#[test]
fn a_guard_may_only_warn() {
    let of = |text: &str| {
        let options = options(&format!("{text}\n[[site]]\norigin = \"http://app\"\nttl = \"1h\"\n"));
        let guard = &options.sites[0].route.guard;
        (guard.is_enabled, guard.only_warns)
    };
    assert_eq!(
        ["", "guard = true", "guard = \"warn\"", "guard = false"].map(of),
        [(true, false), (true, false), (true, true), (false, false)]
    );
}

#[test]
fn a_level_of_compression_is_one_word_and_no_codings_are_none() {
    let of = |text: &str| {
        let site = format!(
            "[[site]]\norigin = \"http://app\"\n{text}\n[[site.rule]]\npath = \"/x\"\ncompress.codings = [\"gzip\"]\n"
        );
        let options = options(&site);
        let [site, rule] = [&options.sites[0].route, &options.sites[0].rules[0].route];
        (site.compression.is_enabled, rule.compression.is_enabled, site.compression.levels)
    };
    let levels = CodingLevels::default();
    assert_eq!(of(""), (true, true, levels));
    assert_eq!(of("compress.level = \"default\""), (true, true, levels));
    assert_eq!(of("compress.codings = []"), (false, true, levels));
    assert_eq!(of("compress.level = \"fast\"").2, CodingLevels { gzip: 1, br: 2, zstd: 3 });
    assert_eq!(of("compress.level = \"best\"").2, CodingLevels { gzip: 9, br: 9, zstd: 19 });
}

#[test]
fn what_is_asked_about_a_session_is_one_line_and_a_path_alone_keeps_the_answer_around() {
    let text = "[[site]]\norigin = \"http://app\"\ncookies.session = [\"sid\"]\nsession.probe = \"/login => 302 a => b\"\n\
        [[site.rule]]\npath = \"/a\"\nsession.probe = \"/b/login\"\n[[site.rule]]\npath = \"/b\"\nsession.probe = \"\"\n\
        [[site.rule]]\npath = \"/c\"\nsession.probe = \"/c => 200\"\n";
    let options = options(text);
    let probe = |target: &str, status, text: &str| {
        Some(SessionProbe { target: target.to_owned(), status, text: text.to_owned() })
    };
    let site = &options.sites[0];
    assert_eq!(site.route.session.probe, probe("/login", 302, "a => b"));
    let of_rules: Vec<_> = site.rules.iter().map(|rule| rule.route.session.probe.clone()).collect();
    assert_eq!(of_rules, [probe("/b/login", 302, "a => b"), None, probe("/c", 200, "")]);
}

#[test]
fn lists_of_cookies_do_not_decide_about_cookies_in_no_list() {
    let text = "[[site]]\norigin = \"http://a\"\nttl = \"1h\"\ncookies = { pass = [\"login\"], key = [\"lang\"], session = [\"sid\"] }\n\
        [[site.rule]]\npath = \"/feed\"\ncookies.pass = [\"default\", \"cart\"]\n";
    let options = options(text);
    let [site, rule] = [&options.sites[0].route, &options.sites[0].rules[0].route];
    assert_eq!((site.cookies.others, rule.cookies.others), (None, None));
    assert_eq!(
        (&site.cookies.pass[..], &rule.cookies.pass[..]),
        (&["login".to_owned()][..], &["login".to_owned(), "cart".to_owned()][..])
    );
    assert_eq!(
        (rule.policy.grant.key_cookies.as_slice(), rule.session.cookies.as_slice()),
        (&["lang".to_owned()][..], &["sid".to_owned()][..])
    );
}
