//! Which site serves a host, which rule serves a path, which origin gets a request, and how the query enters the key.

use kasoku_options::{self as options, HostPattern, OriginAddress, QueryKey, Rule};
use kasoku_testkit::{BOTH, Client, Origin, Scenario, Setup, get, head, ok, on, post, reply};

const FRESH: &str = "Cache-Control: max-age=60";

fn exact(name: &str) -> HostPattern {
    HostPattern::Exact(name.into())
}

fn below(suffix: &str) -> HostPattern {
    HostPattern::Below(suffix.into())
}

#[test]
fn the_first_site_whose_hosts_match_serves() {
    let one = Origin::start([get("/").answers(ok(&[FRESH], "one")), get("/").answers(ok(&[FRESH], "one below"))]);
    let two = Origin::start([get("/").answers(ok(&[FRESH], "two"))]);
    let scene = Setup::safe()
        .site(&[exact("one.org"), below(".one.org")], |route| route.origins = vec![one.address()])
        .site(&[exact("one.org"), exact("two.org")], |route| route.origins = vec![two.address()])
        .run([]);
    let mut client = scene.client();
    assert_eq!(client.get_with("/", &["Host: one.org"]).text(), "one");
    assert_eq!(client.get_with("/", &["Host: www.ONE.org"]).text(), "one below");
    assert_eq!(client.get_with("/", &["Host: two.org:80"]).text(), "two");
    assert!(client.get_with("/", &["Host: one.org:80"]).is_hit());
}

#[test]
fn a_host_that_no_site_serves_is_421() {
    let scene =
        Setup::safe().site(&[exact("one.org"), below(".two.org")], |_| {}).run([get("/").answers(ok(&[], "a"))]);
    let mut client = scene.client();
    for host in ["other.org", "two.org", "xone.org", "one.org.evil.example"] {
        assert_eq!(client.get_with("/", &[&format!("Host: {host}")]).status, 421, "{host}");
    }
    assert_eq!(client.get_with("/", &["Host: a.b.two.org"]).status, 200);
}

#[test]
fn hosts_do_not_share_what_is_stored() {
    let scene = Scenario::safe([
        get("/").answers(ok(&[FRESH], "a")),
        get("/").answers(ok(&[FRESH], "b")),
        get("/").answers(ok(&[FRESH], "c")),
    ]);
    let mut client = scene.client();
    assert_eq!(client.get_with("/", &["Host: a.org"]).text(), "a");
    assert_eq!(client.get_with("/", &["Host: b.org"]).text(), "b");
    assert_eq!(client.get_with("/", &["Host: a.org:8080"]).text(), "c");
}

#[test]
fn two_sites_that_name_one_host_for_their_keys_do_not_share_what_is_stored() {
    let one = Origin::start([get("/").answers(ok(&[FRESH], "one"))]);
    let two = Origin::start([get("/").answers(ok(&[FRESH], "two"))]);
    let named = |route: &mut options::Route, origin: &Origin| {
        route.origins = vec![origin.address()];
        route.key.host = Some("shop.example".to_owned());
    };
    let scene = Setup::safe()
        .site(&[exact("one.org")], |route| named(route, &one))
        .site(&[exact("two.org")], |route| named(route, &two))
        .run_with_own_origins();
    let mut client = scene.client();
    assert_eq!(client.get_with("/", &["Host: one.org"]).text(), "one");
    assert_eq!(client.get_with("/", &["Host: two.org"]).text(), "two");
    assert!(client.get_with("/", &["Host: two.org"]).is_hit());
}

#[test]
fn a_rule_can_pass_by_the_cache() {
    let scene = Setup::safe().rule("/admin/*", |route| route.pass = true).run([
        get("/admin/a").answers(ok(&[FRESH], "1")),
        get("/admin/a").answers(ok(&[FRESH], "2")),
        get("/admin").answers(ok(&[FRESH], "3")),
    ]);
    let mut client = scene.client();
    assert_eq!(client.get("/admin/a").detail(), "pass-rule");
    assert_eq!(client.get("/admin/a").text(), "2");
    client.get("/admin");
    assert!(client.get("/admin").is_hit());
}

#[test]
fn a_post_under_a_pass_rule_still_invalidates() {
    let scene = Setup::safe().rule("/admin", |route| route.pass = true).run([
        get("/page").answers(ok(&[FRESH], "old")),
        post("/admin").answers(ok(&["Location: /page"], "")),
        get("/page").answers(ok(&[FRESH], "new")),
    ]);
    let mut client = scene.client();
    client.get("/page");
    client.send_body("POST", "/admin", &[], "x");
    assert_eq!(client.get("/page").text(), "new");
}

#[test]
fn a_rule_can_have_an_origin_of_its_own_and_the_first_that_matches_decides() {
    let files = Origin::start([get("/static/a.css").answers(ok(&[FRESH], "css"))]);
    let scene = Setup::safe()
        .rule("/static/*", |route| route.origins = vec![files.address()])
        .rule("*", |_| {})
        .run([get("/a").answers(ok(&[FRESH], "page"))]);
    let mut client = scene.client();
    assert_eq!(client.get("/static/a.css").text(), "css");
    assert_eq!(client.get("/a").text(), "page");
}

#[test]
fn a_rule_matches_the_path_without_the_query() {
    let scene = Setup::safe().rule("/a", |route| route.pass = true).run([get("/a?/b").answers(ok(&[FRESH], "x"))]);
    assert_eq!(scene.client().get("/a?/b").detail(), "pass-rule");
}

#[test]
fn a_rule_can_have_caching_rules_of_its_own() {
    let scene =
        Setup::safe().rule("/news/*", |route| std::sync::Arc::make_mut(&mut route.policy).grace_seconds = 100).run([
            get("/news/1").answers(ok(&["Cache-Control: max-age=10"], "old")),
            get("/news/1").answers(ok(&[FRESH], "new")),
        ]);
    let mut client = scene.client();
    client.get("/news/1");
    scene.advance(20);
    assert_eq!(client.get("/news/1").text(), "old");
    scene.eventually(|| client.get("/news/1").text() == "new");
}

#[test]
fn the_query_is_part_of_the_key_as_it_is() {
    let scene = Scenario::safe([
        get("/?b=2&a=1").answers(ok(&[FRESH], "1")),
        get("/?a=1&b=2").answers(ok(&[FRESH], "2")),
        get("/?").answers(ok(&[FRESH], "3")),
        get("/").answers(ok(&[FRESH], "4")),
    ]);
    let mut client = scene.client();
    for (target, body) in [("/?b=2&a=1", "1"), ("/?a=1&b=2", "2"), ("/?", "3"), ("/", "4"), ("/?b=2&a=1", "1")] {
        assert_eq!(client.get(target).text(), body, "{target}");
    }
}

#[test]
fn a_query_that_is_normalised_for_the_key_is_normalised_for_the_origin() {
    let query = QueryKey { sort: true, ignore: vec!["utm_*".into(), "fbclid".into()], ..QueryKey::default() };
    let scene = Setup::safe()
        .route(|route| route.query = query)
        .run([get("/?a=1&b=2").answers(ok(&[FRESH], "1")), get("/p").answers(ok(&[FRESH], "2"))]);
    let mut client = scene.client();
    assert_eq!(client.get("/?utm_source=x&b=2&a=1&fbclid=9").text(), "1");
    assert!(client.get("/?a=1&b=2").is_hit());
    assert_eq!(client.get("/p?utm_a=1").text(), "2");
    assert!(client.get("/p").is_hit());
}

#[test]
fn equivalent_targets_that_are_spelled_differently_are_not_confused() {
    // The origin gets the path as the client wrote it, so each spelling has its own key.
    let targets = ["/a/../b", "/b", "/%62", "//b", "/./b"];
    let scene = Scenario::safe(targets.map(|target| get(target).answers(ok(&[FRESH], target))));
    let mut client = scene.client();
    for target in targets {
        assert_eq!(client.get(target).text(), target);
        assert!(client.get(target).is_hit());
    }
}

/// An address on which no server listens: no test uses this loopback address.
fn nobody() -> options::OriginOptions {
    OriginAddress::http("127.0.0.77", 1).into()
}

#[test]
fn the_order_of_sites_decides_where_a_wildcard_and_a_name_overlap() {
    for is_name_first in [true, false] {
        let named = Origin::start(is_name_first.then(|| get("/").answers(ok(&[FRESH], "named"))));
        let below_org = Origin::start((!is_name_first).then(|| get("/").answers(ok(&[FRESH], "below"))));
        let sites = [(exact("shop.one.org"), named.address()), (below(".one.org"), below_org.address())];
        let order = if is_name_first { [0, 1] } else { [1, 0] };
        let setup = order.into_iter().fold(Setup::safe(), |setup, number| {
            let (host, origin) = sites[number].clone();
            setup.site(&[host], |route| route.origins = vec![origin])
        });
        let scene = setup.run([]);
        let expected = if is_name_first { "named" } else { "below" };
        assert_eq!(scene.client().get_with("/", &["Host: shop.one.org"]).text(), expected);
    }
}

#[test]
fn a_site_without_hosts_serves_every_host_that_comes_to_it() {
    let named = Origin::start([get("/").answers(ok(&[FRESH], "named"))]);
    let scene = Setup::safe()
        .site(&[exact("one.org")], |route| route.origins = vec![named.address()])
        .site(&[], |_| {})
        .run([get("/").answers(ok(&[FRESH], "any")), get("/").answers(ok(&[FRESH], "v6"))]);
    let mut client = scene.client();
    assert_eq!(client.get_with("/", &["Host: one.org"]).text(), "named");
    assert_eq!(client.get_with("/", &["Host: two.org"]).text(), "any");
    assert_eq!(client.get_with("/", &["Host: [::1]:8080"]).text(), "v6");
}

#[test]
fn a_wildcard_is_for_all_levels_below_and_not_for_the_name_itself() {
    let answers = ["a.one.org", "a.b.one.org", "xn--bcher-kva.one.org"];
    let scene =
        Setup::safe().site(&[below(".one.org")], |_| {}).run(answers.map(|host| get("/").answers(ok(&[FRESH], host))));
    let mut client = scene.client();
    for host in answers {
        assert_eq!(client.get_with("/", &[&format!("Host: {host}")]).text(), host);
    }
    for host in ["one.org", "aone.org", "a.one.org.evil.example", "one.org.", "a.one.orgs"] {
        let response = client.get_with("/", &[&format!("Host: {host}")]);
        assert_eq!((response.status, response.has("connection")), (421, false), "{host}: the connection goes on");
    }
}

#[test]
fn one_host_in_all_its_spellings_is_one_key_and_one_site() {
    let scene = Setup::safe().site(&[exact("example.org")], |_| {}).run([get("/").answers(ok(&[FRESH], "a"))]);
    let mut client = scene.client();
    client.get_with("/", &["Host: example.org"]);
    for host in ["EXAMPLE.org", "example.org.", "Example.Org.:80", "example.org:80", "example.org:"] {
        assert!(client.get_with("/", &[&format!("Host: {host}")]).is_hit(), "{host}");
    }
    // The host of an absolute target counts, and Host is ignored.
    for target in ["http://example.org/", "HTTP://EXAMPLE.ORG:80/", "http://example.org"] {
        assert!(client.get_with(target, &["Host: other.org"]).is_hit(), "{target}");
    }
}

#[test]
fn a_site_is_found_whatever_the_port_but_each_port_is_a_key() {
    let scene = Setup::safe()
        .site(&[exact("example.org")], |_| {})
        .run([get("/").answers(ok(&[FRESH], "80")), get("/").answers(ok(&[FRESH], "8080"))]);
    let mut client = scene.client();
    assert_eq!(client.get_with("/", &["Host: example.org"]).text(), "80");
    assert_eq!(client.get_with("/", &["Host: example.org:8080"]).text(), "8080");
    assert_eq!(scene.origin.request(1).field("host").as_deref(), Some("example.org:8080"));
}

#[test]
fn an_absolute_target_chooses_the_site_and_the_origin_sees_its_host() {
    //= RFC 9112 section 3.2.2
    //# When a proxy receives a request with an absolute-form of request-target, the proxy MUST ignore the received Host
    //# header field (if any) and instead replace it with the host information of the request-target.
    let scene = Setup::safe().site(&[exact("one.org")], |_| {}).run([get("/a?b").answers(ok(&[FRESH], "a"))]);
    let mut client = scene.client();
    assert_eq!(client.get_with("http://two.org/a?b", &["Host: one.org"]).status, 421);
    assert_eq!(client.get_with("http://one.org/a?b", &["Host: two.org"]).status, 200);
    assert_eq!(scene.origin.only_request().field("host").as_deref(), Some("one.org"));
}

#[test]
fn a_pass_rule_sends_everything_past_and_finds_nothing_that_is_stored() {
    for profile in BOTH {
        let scene = Setup::new(profile).rule("/admin/*", |route| route.pass = true).run([
            get("/admin/").answers(ok(&["Cache-Control: public, max-age=60", "ETag: \"1\""], "1")),
            get("/admin/").answers(reply("304 Not Modified", &["ETag: \"1\""], "")),
            head("/admin/").answers(ok(&[FRESH], "")),
        ]);
        let mut client = scene.client();
        client.get("/admin/");
        let response = client.get_with("/admin/", &["If-None-Match: \"1\""]);
        assert_eq!((response.status, response.detail().as_str()), (304, "pass-rule"), "the origin's own 304");
        assert_eq!(scene.origin.request(1).field("if-none-match").as_deref(), Some("\"1\""));
        assert_eq!(client.head("/admin/", &[]).detail(), "pass-rule");
        assert!(scene.engine.cache().is_empty());
    }
}

#[test]
fn a_glob_is_over_the_path_as_applications_see_it() {
    for (glob, passes, looks_up) in [
        (
            "/admin/*",
            &[
                "/admin/",
                "/admin/x",
                "/admin/x/y",
                "/admin//",
                "/admin/?q",
                "/admin/*",
                "//admin/",
                "/%61dmin/",
                "/admin%2fx",
                "/x/../admin/x",
                "/./admin/x",
                "/x/%2e%2e/admin/x",
                "/../admin/x",
                // Applications may read these in two ways, so both pass.
                "/admin/..",
                "/admin/../x",
                "/admin/..%2fx",
            ][..],
            &["/admin", "/admin?x=/admin/", "/Admin/", "/x/admin/", "/%2561dmin/"][..],
        ),
        ("/admin*", &["/admin", "/admin/x", "/administrator", "/admin?x"], &["/adm", "/x?/admin"]),
        ("*.php", &["/a.php", "/.php", "/x/y.php?a=b", "/a%2ephp"], &["/a.php/x", "/a.phps", "/a?b.php"]),
        ("/a/*/c", &["/a/b/c", "/a/b/b/c", "/a//c"], &["/a/c", "/a/b/c/", "/a/b/cc"]),
        ("*", &["/", "/x?y"], &[]),
        ("/", &["/", "/?x"], &["/x", "/x?/"]),
        ("**/wp-*.php*", &["/wp-login.php", "/blog/wp-cron.php/x"], &["/wp-login", "/wp-.ph"]),
        ("/a*a", &["/aa", "/a/a", "/aaa"], &["/a", "/ab"]),
        ("/q?", &[], &["/q?", "/q", "/qx"]),
    ] {
        let targets = || passes.iter().chain(looks_up);
        let script: Vec<_> = targets().map(|target| get(target).answers(ok(&[FRESH], *target))).collect();
        let scene = Setup::safe().rule(glob, |route| route.pass = true).run(script);
        let mut client = scene.client();
        for (number, target) in targets().enumerate() {
            let detail = if number < passes.len() { "pass-rule" } else { "uri-miss" };
            let response = client.get(target);
            // The origin gets the target as the client sent it.
            assert_eq!((response.detail().as_str(), response.text().as_str()), (detail, *target), "{glob}");
        }
    }
}

#[test]
fn the_first_rule_that_matches_decides_and_later_ones_add_nothing() {
    let scene = Setup::safe()
        .rule("/static/private/*", |route| route.pass = true)
        .rule("/static/*", |_| {})
        .rule("*", |route| route.pass = true)
        .run(["/static/private/a", "/static/a", "/a"].map(|target| get(target).answers(ok(&[FRESH], ""))));
    let mut client = scene.client();
    assert_eq!(client.get("/static/private/a").detail(), "pass-rule");
    assert_eq!(client.get("/static/a").detail(), "uri-miss");
    assert_eq!(client.get("/a").detail(), "pass-rule");
    assert!(client.get("/static/a").is_hit());
}

#[test]
fn rules_belong_to_their_site() {
    let two = Origin::start([get("/admin/").answers(ok(&[FRESH], "two"))]);
    let setup = Setup::safe()
        .site(&[exact("one.org")], |_| {})
        .site(&[exact("two.org")], |route| route.origins = vec![two.address()])
        .options(|options| {
            let mut route = (*options.sites[0].route).clone();
            route.pass = true;
            options.sites[0].rules.push(Rule { path: "/admin/*".into(), route: route.into() });
        });
    let scene = setup.run([get("/admin/").answers(ok(&[FRESH], "one"))]);
    let mut client = scene.client();
    assert_eq!(client.get_with("/admin/", &["Host: one.org"]).detail(), "pass-rule");
    assert_eq!(client.get_with("/admin/", &["Host: two.org"]).detail(), "uri-miss");
    assert!(client.get_with("/admin/", &["Host: two.org"]).is_hit());
}

#[test]
fn an_origin_host_of_its_own_is_for_the_origin_only() {
    let scene = Setup::safe().route(|route| route.origin_host = Some("inner.local:8000".into())).run([
        get("/").answers(ok(&[FRESH], "one")),
        get("/").answers(ok(&[FRESH], "two")),
        post("/").answers(ok(&[], "")),
        get("/").answers(ok(&[FRESH], "three")),
    ]);
    let mut client = scene.client();
    assert_eq!(client.get_with("/", &["Host: one.org"]).text(), "one");
    assert_eq!(client.get_with("/", &["Host: two.org"]).text(), "two", "the key has the client's host");
    client.send_body("POST", "/", &["Host: one.org"], "x");
    assert_eq!(client.get_with("/", &["Host: one.org"]).text(), "three");
    assert!(client.get_with("/", &["Host: two.org"]).is_hit());
    for (number, host) in ["one.org", "two.org", "one.org", "one.org"].into_iter().enumerate() {
        let request = scene.origin.request(number);
        assert_eq!(request.field("host").as_deref(), Some("inner.local:8000"));
        assert_eq!(request.field("x-forwarded-host").as_deref(), Some(host));
    }
}

#[test]
fn a_request_goes_to_the_next_origin_when_nothing_listens_at_the_first() {
    for profile in BOTH {
        let scene = Setup::new(profile)
            .route(|route| route.origins = vec![nobody(), nobody()])
            .rule("/pass", |route| route.pass = true)
            .run([
                get("/").answers(ok(&[FRESH], "a")),
                get("/pass").answers(ok(&[], "b")),
                post("/").answers(ok(&[], "c")),
            ]);
        let mut client = scene.client();
        assert_eq!(client.get("/").text(), "a");
        assert!(client.get("/").is_hit());
        assert_eq!(client.get("/pass").text(), "b");
        assert_eq!(client.send_body("POST", "/", &[], "hello").text(), "c");
        assert_eq!(scene.origin.request(2).text(), "hello", "nothing of the body was lost");
    }
}

#[test]
fn an_origin_that_has_taken_a_request_that_may_do_something_twice_is_not_passed_over() {
    let first = Origin::start([post("/").answers("").closes(), on("PATCH", "/").answers("").closes()]);
    let scene = Setup::safe().route(|route| route.origins = vec![first.address()]).run([]);
    assert_eq!(scene.client().send_body("POST", "/", &[], "x").status, 502);
    assert_eq!(scene.client().ask("PATCH", "/", &[]).response().status, 502);
}

#[test]
fn when_nothing_listens_at_any_origin_it_is_502() {
    let engine = Setup::safe().site(&[], |route| route.origins = vec![nobody(), nobody()]).run_without_origin();
    let response = Client::connect(engine.addresses()[0]).get("/");
    assert_eq!((response.status, response.detail().as_str()), (502, "origin-unreachable"));
}

#[test]
fn a_rule_may_sort_or_strip_alone() {
    let strip = QueryKey { sort: false, ignore: vec!["utm_*".into()], ..QueryKey::default() };
    let sort = QueryKey { sort: true, ignore: Vec::new(), ..QueryKey::default() };
    let scene =
        Setup::safe().rule("/strip", |route| route.query = strip).rule("/sort", |route| route.query = sort).run(
            ["/strip?b=2&a=1", "/strip?a=1&b=2", "/sort?a=1&utm_x=0", "/plain?utm_x=0&b&a"]
                .map(|target| get(target).answers(ok(&[FRESH], target))),
        );
    let mut client = scene.client();
    for (target, seen) in [
        ("/strip?b=2&utm_x=1&a=1", "/strip?b=2&a=1"),
        ("/strip?utm_=&a=1&b=2&utm_y", "/strip?a=1&b=2"),
        ("/sort?utm_x=0&a=1", "/sort?a=1&utm_x=0"),
        ("/plain?utm_x=0&b&a", "/plain?utm_x=0&b&a"),
    ] {
        assert_eq!(client.get(target).text(), seen, "{target}");
    }
    assert_eq!(scene.origin.count(), 4);
}

#[test]
fn sorting_keeps_the_order_of_values_of_one_name() {
    let sort = QueryKey { sort: true, ignore: Vec::new(), ..QueryKey::default() };
    let scene = Setup::safe().route(|route| route.query = sort).run(
        ["/?a=1&a=2&b=0", "/?a=2&a=1&b=0", "/?a[]=1&a[]=2"].map(|target| get(target).answers(ok(&[FRESH], target))),
    );
    let mut client = scene.client();
    assert_eq!(client.get("/?b=0&a=1&a=2").text(), "/?a=1&a=2&b=0");
    assert_eq!(client.get("/?a=2&b=0&a=1").text(), "/?a=2&a=1&b=0");
    assert_eq!(client.get("/?a[]=1&a[]=2").text(), "/?a[]=1&a[]=2");
}

#[test]
fn names_that_only_resemble_ignored_ones_stay() {
    let query = QueryKey { sort: false, ignore: vec!["fbclid".into(), "utm_*".into()], ..QueryKey::default() };
    let targets = ["/?xfbclid=1", "/?fbclid2=1", "/?xutm_a=1", "/?FBCLID=1", "/?x=fbclid", "/?fbcli%64=1"];
    let scene = Setup::safe()
        .route(|route| route.query = query)
        .run(targets.map(|target| get(target).answers(ok(&[FRESH], target))));
    let mut client = scene.client();
    for target in targets {
        assert_eq!(client.get(target).text(), target);
    }
}

#[test]
fn an_unsafe_method_drops_the_key_that_a_rule_makes_of_its_target() {
    let query = QueryKey { sort: true, ignore: vec!["utm_*".into()], ..QueryKey::default() };
    let scene = Setup::safe().route(|route| route.query = query).run([
        get("/?a=1&b=2").answers(ok(&[FRESH], "old")),
        post("/?a=1&b=2").answers(ok(&[], "")),
        get("/?a=1&b=2").answers(ok(&[FRESH], "new")),
    ]);
    let mut client = scene.client();
    client.get("/?b=2&a=1");
    client.send_body("POST", "/?utm_x=1&b=2&a=1", &[], "x");
    assert_eq!(client.get("/?a=1&b=2&utm_y=2").text(), "new");
}

#[test]
fn a_request_for_https_in_the_clear_shares_nothing_with_one_for_http() {
    let scene = Scenario::safe([get("/").answers(ok(&[FRESH], "http"))]);
    let mut client = scene.client();
    assert_eq!(client.get_with("https://example.org/", &[]).status, 421);
    assert!(!client.get("http://example.org/").is_hit());
    assert!(client.get("/").is_hit());
}

/// The response counters as `site result class` with their values, without those that are zero.
fn counted(scene: &Scenario) -> Vec<(String, u64)> {
    let told = |(site, responses): (std::sync::Arc<str>, kasoku_metrics::Responses)| {
        let all = responses.each().filter(|(.., count)| *count > 0);
        let line = |(outcome, class, count): (kasoku_metrics::Outcome, kasoku_metrics::StatusClass, u64)| {
            (format!("{site} {} {}", outcome.name(), class.name()), count)
        };
        all.map(line).collect::<Vec<_>>()
    };
    scene.engine.metrics().responses().into_iter().flat_map(told).collect()
}

fn pairs(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    expected.iter().map(|(what, count)| ((*what).to_owned(), *count)).collect()
}

#[test]
fn what_is_answered_is_counted_by_site_result_class_and_reason() {
    let script = [
        get("/").answers(ok(&[FRESH], "one")),
        post("/form").answers(ok(&[], "")),
        get("/own").answers(ok(&["Cache-Control: no-store"], "own")),
        get("/").answers("HTTP/1.1 404 Not Found\r\nCache-Control: max-age=60\r\nContent-Length: 0\r\n\r\n"),
    ];
    let mut scene = Setup::safe().site(&[exact("one.org")], |_| {}).site(&[exact("two.org")], |_| {}).run(script);
    let mut client = scene.client();
    client.get_with("/", &["Host: one.org"]);
    client.get_with("/", &["Host: one.org"]);
    client.get_with("/", &["Host: one.org", "Range: bytes=0-0"]);
    client.ask("POST", "/form", &["Host: one.org", "Content-Length: 0"]).response();
    client.get_with("/own", &["Host: one.org"]);
    client.get_with("/", &["Host: two.org"]);
    client.get_with("/", &["Host: three.org"]);
    assert_eq!(scene.client().send("GET / HTTP/9\r\n\r\n").response().status, 505);
    let [first, second, last] = [
        &[("site 0 hit 2xx", 2), ("site 0 miss 2xx", 1), ("site 0 pass 2xx", 2)][..],
        &[("site 1 miss 4xx", 1)][..],
        &[("(none) error 4xx", 1), ("(none) error 5xx", 1)][..],
    ];
    scene.counted(kasoku_metrics::Counter::Requests, 8);
    assert_eq!(counted(&scene), pairs(&[first, second, last].concat()));
    let not_hits = scene.engine.metrics().not_hits();
    let reasons: Vec<_> = not_hits.iter().map(|one| (one.outcome.name(), one.reason_name(), one.count)).collect();
    let misses = [("miss", "uri-miss", 2)];
    let passes = [("pass", "method", 1), ("pass", "no-store", 1)];
    let errors = [("error", "request-malformed", 1), ("error", "no-site", 1)];
    assert_eq!(reasons, [&misses[..], &passes, &errors].concat());

    // The metrics omit a site that a reload has removed, and the other sites count on.
    let mut options = options::Options::clone(&scene.engine.handle().options());
    options.sites.truncate(1);
    scene.engine.reload(options).unwrap();
    client.get_with("/", &["Host: one.org"]);
    let first = [("site 0 hit 2xx", 3), ("site 0 miss 2xx", 1), ("site 0 pass 2xx", 2)];
    scene.counted(kasoku_metrics::Counter::Requests, 9);
    assert_eq!(counted(&scene), pairs(&[&first[..], last].concat()));
}
