//! Which responses PURGE and the operator's purges drop, which clients may purge, and what stays stored.

use kasoku_cache::Purge;
use kasoku_engine::purge::{PurgeError, PurgeTarget, Purged};
use kasoku_metrics::Counter;
use kasoku_options::{AddressRange, HostPattern, ListenAddress, Listener};
use kasoku_testkit::{Client, Gate, Scenario, Setup, get, ok};

const FRESH: &str = "Cache-Control: max-age=60";

fn url(url: &str) -> PurgeTarget {
    PurgeTarget::Url(url.to_owned())
}

fn prefix(prefix: &str) -> PurgeTarget {
    PurgeTarget::Prefix(prefix.to_owned())
}

#[test]
fn purge_drops_all_variants_of_its_url_and_nothing_else() {
    let vary = [FRESH, "Vary: Accept-Language"];
    let scene = Scenario::safe([
        get("/a").answers(ok(&vary, "de")),
        get("/a").answers(ok(&vary, "fr")),
        get("/a?q").answers(ok(&[FRESH], "query")),
        get("/a").answers(ok(&vary, "de again")),
        get("/a").answers(ok(&vary, "fr again")),
    ]);
    let mut client = scene.client();
    client.get_with("/a", &["Accept-Language: de"]);
    client.get_with("/a", &["Accept-Language: fr"]);
    client.get("/a?q");
    let purged = client.ask("PURGE", "/a", &[]).response();
    assert_eq!((purged.status, purged.text().as_str()), (200, "Purged http://example.org/a\n"));
    assert_eq!(client.get_with("/a", &["Accept-Language: de"]).text(), "de again");
    assert_eq!(client.get_with("/a", &["Accept-Language: fr"]).text(), "fr again");
    assert!(client.get("/a?q").is_hit());
    assert_eq!(scene.engine.metrics().total(Counter::Purges), 1);
}

#[test]
fn what_was_not_stored_is_purged_all_the_same() {
    let scene = Scenario::safe([]);
    let purged = scene.client().ask("PURGE", "/a", &[]).response();
    assert_eq!(purged.status, 200);
    assert_eq!(purged.text(), "Purged http://example.org/a: nothing was stored for it\n");
}

#[test]
fn a_purge_that_is_carried_out_is_no_error() {
    let scene = Scenario::safe([]);
    let mut client = scene.client();
    let total = |counter| scene.engine.metrics().total(counter);
    client.ask("PURGE", "/", &[]).response();
    scene.eventually(|| total(Counter::Requests) == 1);
    scene.eventually(|| total(Counter::Passes) == 1);
    assert_eq!((total(Counter::Errors), total(Counter::Purges)), (0, 1));
}

#[test]
fn purge_is_obeyed_from_listed_addresses_only() {
    let elsewhere = AddressRange::Ip { address: [192, 0, 2, 0].into(), prefix_bits: 24 };
    let scene = Setup::safe()
        .options(|options| options.purge_from = vec![elsewhere])
        .run([get("/").answers(ok(&[FRESH], "stored"))]);
    let mut client = scene.client();
    client.get("/");
    let refused = client.ask("PURGE", "/", &[]).response();
    assert_eq!(refused.status, 403);
    assert!(refused.text().contains("purge-from"), "{}", refused.text());
    assert!(client.get("/").is_hit());
    assert_eq!(scene.engine.metrics().total(Counter::Purges), 0);
}

#[test]
fn a_web_page_purges_nothing_in_any_browser() {
    for field in ["Origin: http://example.org", "Origin: null", "Sec-Fetch-Site: same-origin", "sec-fetch-mode: cors"] {
        for method in ["PURGE", "BAN"] {
            let scene = Scenario::safe([get("/").answers(ok(&[FRESH], "stored"))]);
            let mut client = scene.client();
            client.get("/");
            let refused = client.ask(method, "/", &[field]).response();
            assert_eq!(refused.status, 403, "{method} {field}");
            assert!(client.get("/").is_hit(), "{method} {field}");
        }
    }
}

#[test]
fn a_visitor_behind_a_proxy_on_this_machine_does_not_purge() {
    for field in ["X-Forwarded-For: 198.51.100.7", "Via: 1.1 nginx", "X-Real-IP: 127.0.0.1", "Forwarded: for=127.0.0.1"]
    {
        let scene = Scenario::safe([get("/").answers(ok(&[FRESH], "stored"))]);
        let mut client = scene.client();
        client.get("/");
        assert_eq!(client.ask("PURGE", "/", &[field]).response().status, 403, "{field}");
        assert!(client.get("/").is_hit(), "{field}");
    }
}

#[test]
fn behind_a_trusted_proxy_the_address_that_it_names_counts() {
    let scene = Setup::safe()
        .options(|options| options.trusted_proxies = AddressRange::loopback())
        .run([get("/").answers(ok(&[FRESH], "stored")), get("/").answers(ok(&[FRESH], "again"))]);
    let mut client = scene.client();
    client.get("/");
    for visitor in ["198.51.100.7", "127.0.0.1, 198.51.100.7"] {
        let field = format!("X-Forwarded-For: {visitor}");
        assert_eq!(client.ask("PURGE", "/", &[&field]).response().status, 403, "{visitor}");
    }
    assert!(client.get("/").is_hit());
    let allowed = client.ask("PURGE", "/", &["X-Forwarded-For: 198.51.100.7, 127.0.0.1"]).response();
    assert_eq!(allowed.status, 200);
    assert_eq!(client.get("/").text(), "again");
}

#[test]
fn behind_a_trusted_proxy_that_names_no_client_no_client_purges() {
    for field in ["X-Forwarded-For: unknown", "Forwarded: for=_hidden", "X-Real-IP: 127.0.0.1", "Via: 1.1 nginx"] {
        let scene = Setup::safe()
            .options(|options| options.trusted_proxies = AddressRange::loopback())
            .run([get("/").answers(ok(&[FRESH], "stored"))]);
        let mut client = scene.client();
        client.get("/");
        assert_eq!(client.ask("PURGE", "/", &[field]).response().status, 403, "{field}");
        assert!(client.get("/").is_hit(), "{field}");
    }
}

#[test]
fn a_soft_purge_makes_stale_and_keeps_what_may_be_served_meanwhile() {
    let gate = Gate::new();
    let kept = ["Cache-Control: max-age=60, stale-while-revalidate=60", "ETag: \"1\""];
    let scene = Scenario::safe([get("/").answers(ok(&kept, "old")), get("/").waits(&gate).answers(ok(&kept, "new"))]);
    let mut client = scene.client();
    client.get("/");
    assert_eq!(client.ask("PURGE", "/", &["Soft-Purge: 1"]).response().status, 200);
    let stale = client.get("/");
    assert_eq!((stale.text().as_str(), stale.detail().as_str()), ("old", "hit-stale-while-revalidate"));
    gate.open();
    scene.eventually(|| client.get("/").text() == "new");
}

#[test]
fn a_soft_purge_is_validated_where_nothing_may_be_served_stale() {
    let scene = Scenario::safe([
        get("/").answers(ok(&[FRESH, "ETag: \"1\""], "page")),
        get("/").answers("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nCache-Control: max-age=60\r\n\r\n"),
    ]);
    let mut client = scene.client();
    client.get("/");
    scene.engine.handle().purge(&PurgeTarget::Site("example.org".to_owned()), Purge::Soft).unwrap();
    assert_eq!(client.get("/").detail(), "revalidated");
    assert!(client.get("/").is_hit());
}

#[test]
fn a_prefix_drops_all_below_it_and_a_site_all_of_a_host() {
    let page = |path| get(path).answers(ok(&[FRESH], path));
    let scene = Scenario::safe([page("/blog/1"), page("/blog/2?x"), page("/about"), page("/blog/1"), page("/about")]);
    let mut client = scene.client();
    for path in ["/blog/1", "/blog/2?x", "/about"] {
        client.get(path);
    }
    scene.engine.handle().purge(&prefix("http://example.org/blog/"), Purge::Hard).unwrap();
    let again = client.get("/blog/1");
    assert_eq!((again.is_hit(), again.detail().as_str()), (false, "purged"));
    assert!(client.get("/about").is_hit());
    assert!(client.get("/blog/1").is_hit());
    scene.engine.handle().purge(&PurgeTarget::Site("Example.Org".to_owned()), Purge::Hard).unwrap();
    assert!(!client.get("/about").is_hit());
}

#[test]
fn a_purge_of_one_site_leaves_the_other() {
    let scene = Scenario::safe([
        get("/").answers(ok(&[FRESH], "a")),
        get("/").answers(ok(&[FRESH], "b")),
        get("/").answers(ok(&[FRESH], "a again")),
    ]);
    let ask = |host: &str| {
        let mut client = scene.client();
        client.send(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        client.response()
    };
    ask("a.example");
    ask("b.example");
    scene.engine.handle().purge(&PurgeTarget::Site("a.example".to_owned()), Purge::Hard).unwrap();
    assert_eq!(ask("b.example").text(), "b");
    assert_eq!(ask("a.example").text(), "a again");
}

#[test]
fn plugins_purge_a_prefix_with_a_regular_expression() {
    let page = |path| get(path).answers(ok(&[FRESH], path));
    let scene = Scenario::safe([page("/blog/1"), page("/blog/1")]);
    let mut client = scene.client();
    client.get("/blog/1");
    let regex = |client: &mut kasoku_testkit::Client, path: &str| {
        client.ask("PURGE", path, &["X-Purge-Method: regex"]).response().short()
    };
    assert_eq!(regex(&mut client, "/blog/(a|b).*").0, 501);
    assert_eq!(regex(&mut client, "/blog/[0-9]").0, 501);
    assert_eq!(regex(&mut client, "/blog/?.*").0, 501, "an optional slash, or a query?");
    assert!(client.get("/blog/1").is_hit());
    let purged = regex(&mut client, "/.*");
    assert_eq!(purged, (200, "Purged all URLs that begin with http://example.org/\n".to_owned()));
    assert!(!client.get("/blog/1").is_hit());
}

/// W3 Total Cache (Varnish_Flush.php, do_flush) sends no `X-Purge-Method`: its purge of the URL `/.*` was once answered with 200
/// and dropped nothing.
#[test]
fn a_plugin_that_names_no_method_empties_the_site_by_a_path() {
    let page = |path| get(path).answers(ok(&[FRESH], path));
    let scene = Scenario::safe([page("/blog/1"), page("/other"), page("/blog/1")]);
    let mut client = scene.client();
    client.get("/blog/1");
    client.get("/other");
    // The plugin's settings have this pattern for sitemaps; the plugin sends it as a URL.
    assert_eq!(client.ask("PURGE", r"/sitemap(_index)?\.xml(\.gz)?", &[]).response().status, 501);
    let purged = client.ask("PURGE", "/blog/.*", &[]).response().short();
    assert_eq!(purged, (200, "Purged all URLs that begin with http://example.org/blog/\n".to_owned()));
    assert!(client.get("/other").is_hit());
    assert!(!client.get("/blog/1").is_hit());
}

#[test]
fn a_page_of_https_is_purged_by_who_knows_it_as_http() {
    let scene = Setup::safe()
        .options(|options| options.trusted_proxies = AddressRange::loopback())
        .run([get("/").answers(ok(&[FRESH], "one")), get("/").answers(ok(&[FRESH], "two"))]);
    let mut client = scene.client();
    let https = ["X-Forwarded-Proto: https"];
    client.get_with("/", &https);
    let purged = scene.engine.handle().purge(&url("example.org/"), Purge::Hard).unwrap();
    assert_eq!(purged.was_stored, Some(true));
    assert_eq!(client.get_with("/", &https).text(), "two");
}

#[test]
fn a_url_is_purged_as_its_rule_spells_the_query() {
    let scene = Setup::safe()
        .route(|route| {
            route.query.sort = true;
            route.query.ignore = vec!["utm_*".to_owned()];
        })
        .site(&[HostPattern::Exact("example.org".to_owned())], |_| {})
        .run([get("/?a=1&b=2").answers(ok(&[FRESH], "one")), get("/?a=1&b=2").answers(ok(&[FRESH], "two"))]);
    scene.client().get("/?b=2&a=1&utm_x=3");
    let purged = scene.engine.handle().purge(&url("http://example.org/?b=2&a=1&utm_y=4"), Purge::Hard).unwrap();
    assert_eq!(purged.was_stored, Some(true));
    // The URL as a browser shows it, with a fragment.
    scene.client().get("/?b=2&a=1");
    let purged = scene.engine.handle().purge(&url("http://example.org/?b=2&a=1#top"), Purge::Hard).unwrap();
    assert_eq!(purged.was_stored, Some(true));
}

#[test]
fn what_is_fetched_during_a_purge_is_answered_and_not_stored() {
    for target in [url("http://example.org/"), prefix("http://example.org/"), PurgeTarget::All] {
        for purge in [Purge::Hard, Purge::Soft] {
            let gate = Gate::new();
            let scene = Scenario::safe([
                get("/").waits(&gate).answers(ok(&[FRESH], "before")),
                get("/").answers(ok(&[FRESH], "after")),
            ]);
            let mut early = scene.client();
            early.ask("GET", "/", &[]);
            scene.origin.arrived(1);
            scene.engine.handle().purge(&target, purge).unwrap();
            // This request does not join the fill that began before the purge.
            assert_eq!(scene.client().get("/").text(), "after", "{target:?}");
            gate.open();
            assert_eq!(early.response().text(), "before", "{target:?}");
            let hit = scene.client().get("/");
            assert_eq!((hit.is_hit(), hit.text().as_str()), (true, "after"), "{target:?}");
        }
    }
}

#[test]
fn what_is_no_url_purges_nothing() {
    let scene = Scenario::safe([]);
    let handle = scene.engine.handle();
    for target in ["", "nonsense", "a.org", "//a.org/", "ftp://a.org/", "http:///"] {
        assert!(matches!(handle.purge(&url(target), Purge::Hard), Err(PurgeError::Url(_))), "{target}");
        assert!(handle.purge(&prefix(target), Purge::Hard).is_err(), "{target}");
    }
    for host in ["", "a b", "a.org/x"] {
        assert!(handle.purge(&PurgeTarget::Site(host.to_owned()), Purge::Hard).is_err(), "{host}");
    }
}

#[test]
fn what_lacks_a_host_or_a_path_says_how_it_is_written() {
    let scene = Setup::safe().site(&[HostPattern::Exact("a.org".to_owned())], |_| {}).run([]);
    let handle = scene.engine.handle();
    let without_host =
        "/blog/ has no host: write http://HOST/blog/ as visitors write it, a port included (sites: a.org)";
    let without_path =
        "not an http or https URL: a.org (write a page like http://a.org/page, or --site a.org for the whole host)";
    for (target, said) in [
        (url("/blog/"), without_host),
        (prefix("/blog/"), without_host),
        (url("a.org"), without_path),
        (prefix("a.org"), without_path),
    ] {
        assert_eq!(handle.purge(&target, Purge::Hard).unwrap_err().to_string(), said, "{target:?}");
    }
    handle.purge(&url("a.org/blog/"), Purge::Hard).unwrap();
}

#[test]
fn a_site_of_many_hosts_is_purged_by_its_name_where_it_is_the_only_one() {
    for (hosts, name) in [(vec![], "default"), (vec![HostPattern::Below(".example.org".to_owned())], "*.example.org")] {
        let named = |site: &str| PurgeTarget::Site(site.to_owned());
        let scene = Setup::safe()
            .site(&hosts, |_| {})
            .options(|options| options.sites.iter_mut().for_each(|site| site.name = name.to_owned()))
            .run([get("/").answers(ok(&[FRESH], "before")), get("/").answers(ok(&[FRESH], "after"))]);
        let mut client = scene.client();
        let of_host = ["Host: www.example.org"];
        client.get_with("/", &of_host);
        assert!(client.get_with("/", &of_host).is_hit(), "{name}");
        assert_eq!(
            scene.engine.handle().purge(&named(name), Purge::Hard),
            Ok(Purged { was_stored: None, reach: None }),
            "{name}"
        );
        assert_eq!(client.get_with("/", &of_host).text(), "after", "{name}");
    }
}

#[test]
fn a_site_of_many_hosts_beside_others_is_not_purged_by_its_name() {
    let scene = Setup::safe()
        .site(&[HostPattern::Exact("a.org".to_owned())], |_| {})
        .site(&[HostPattern::Below(".b.org".to_owned())], |_| {})
        .run([]);
    let handle = scene.engine.handle();
    let refused = handle.purge(&PurgeTarget::Site("*.b.org".to_owned()), Purge::Hard).unwrap_err().to_string();
    assert!(refused.starts_with("the site *.b.org serves many hosts") && refused.contains("--all"), "{refused}");
    handle.purge(&PurgeTarget::Site("www.b.org".to_owned()), Purge::Hard).unwrap();
}

#[test]
fn a_host_that_no_site_serves_is_an_error() {
    let hosts = [HostPattern::Exact("a.org".to_owned()), HostPattern::Below(".a.org".to_owned())];
    let scene = Setup::safe().site(&hosts, |route| route.key.host = Some("keys.org".to_owned())).run([]);
    let handle = scene.engine.handle();
    for target in [url("http://nohost/"), prefix("http://nohost/x"), PurgeTarget::Site("nohost".to_owned())] {
        let refused = handle.purge(&target, Purge::Hard).unwrap_err().to_string();
        assert_eq!(refused, "no site is configured for the host nohost (sites: a.org, *.a.org)", "{target:?}");
    }
    for host in ["a.org", "A.org", "www.a.org", "keys.org"] {
        handle.purge(&PurgeTarget::Site(host.to_owned()), Purge::Hard).unwrap();
        handle.purge(&url(&format!("http://{host}:8080/")), Purge::Hard).unwrap();
    }
}

#[test]
fn what_is_no_purge_of_ours_is_refused_and_never_asked_of_the_application() {
    let scene = Scenario::safe([get("/").answers(ok(&[FRESH], "stored"))]);
    let mut client = scene.client();
    client.get("/");
    for (method, field) in [
        ("PURGE", "Surrogate-Key: a"),
        ("PURGE", "Xkey-Purge: a"),
        ("PURGE", "X-Magento-Tags-Pattern: .*"),
        ("PURGE", "Cache-Tags: node:1"),
        ("PURGE", "X-Purge-Method: guess"),
        ("PURGE", "X-Purge-Regex: .*"),
        ("BAN", "Cache-Tags: node:1"),
        ("BAN", "X-Url: /.*"),
        ("BAN", "Accept: */*"),
    ] {
        let refused = client.ask(method, "/", &[field]).response();
        assert_eq!(refused.status, 501, "{field}");
        assert!(refused.text().starts_with("Nothing was purged: "), "{}", refused.text());
    }
    assert!(client.get("/").is_hit());
    assert_eq!(scene.engine.metrics().total(Counter::Purges), 0);
    assert_eq!(client.ask("BAN", "/", &["X-Forwarded-For: 192.0.2.1"]).response().status, 403);
}

#[test]
fn the_machines_own_other_addresses_purge_as_its_loopback_does() {
    let only = |address: [u8; 4]| vec![AddressRange::Ip { address: address.into(), prefix_bits: 32 }];
    let listening = |from: Vec<AddressRange>| {
        Setup::safe().options(|options| {
            options.purge_from = from;
            options.listeners = vec![Listener::at(ListenAddress::Tcp(([127, 0, 0, 9], 0).into()))];
        })
    };
    let asks = |scene: &Scenario, from: [u8; 4]| {
        let mut client = Client::connect_from(from.into(), scene.engine.addresses()[0]);
        client.ask("PURGE", "/", &[]).response().status
    };
    let scene = listening(only([127, 0, 0, 1])).run([]);
    assert_eq!(asks(&scene, [127, 0, 0, 9]), 200, "the address that was asked is the machine's own");
    assert_eq!(asks(&scene, [127, 0, 0, 8]), 403);
    assert_eq!(asks(&listening(only([192, 0, 2, 1])).run([]), [127, 0, 0, 9]), 403, "this machine is not listed");
}
