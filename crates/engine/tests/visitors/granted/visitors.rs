//! Scripts that use the fields of their visitors, under a granted lifetime, and visitors of all kinds: none gets another
//! visitor's page.

use super::{grant, names, policy, removing, scripts, ttl};
use crate::granted::application::Application;
use kasoku_options::{CookiePattern, OtherCookies, Route, SessionRules, StatefulUrl, UrlPattern};
use kasoku_testkit::{BOTH, Client, Gate, Response, Scenario, Setup, get, head, ok, post};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// A visitor with an address of their own.
pub(crate) struct Visitor {
    pub(crate) host: u8,
    pub(crate) fields: Vec<String>,
}

impl Visitor {
    fn new(host: u8, fields: &[&str]) -> Self {
        Self { host, fields: names(fields) }
    }

    fn client(&self, scene: &Scenario) -> Client {
        let own = IpAddr::V4(Ipv4Addr::new(127, 0, 0, self.host));
        Client::connect_from(own, scene.engine.addresses()[0])
    }

    pub(crate) fn get(&self, scene: &Scenario, target: &str) -> Response {
        let fields: Vec<&str> = self.fields.iter().map(String::as_str).collect();
        self.client(scene).get_with(target, &fields)
    }

    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let values = self.fields.iter().filter_map(|line| line.split_once(": "));
        values.into_iter().find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    /// The name by which `/greet` should greet the visitor.
    fn name(&self) -> &str {
        let cookies = self.value("Cookie").unwrap_or_default();
        cookies.split("; ").find_map(|pair| pair.strip_prefix("name=")).unwrap_or("whoever you are")
    }
}

/// Visitors with names and without, from several countries. Some of them lie about their address.
pub(crate) fn visitors() -> Vec<Visitor> {
    vec![
        Visitor::new(11, &[]),
        Visitor::new(12, &["Cookie: name=ann", "Accept-Language: de", "Referer: http://ann.example/"]),
        Visitor::new(13, &["Cookie: name=bob; _ga=GA1.2.3", "Accept-Language: fr", "X-Forwarded-For: 192.0.2.1"]),
        Visitor::new(14, &["Cookie: _ga=GA1.9.9", "Accept-Language: en", "Referer: http://carl.example/?q=secret"]),
        Visitor::new(15, &["Authorization: Basic ZGF2ZTpk", "Accept-Language: da", "Forwarded: for=192.0.2.2"]),
        Visitor::new(16, &["Cookie: theme=dark", "User-Agent: Other/1.0", "X-Real-IP: 192.0.2.3"]),
        Visitor::new(17, &["Accept-Language: de", "Client-IP: 192.0.2.4", "Accept-Encoding: gzip, br"]),
    ]
}

fn before(setup: Setup, application: &Application) -> Scenario {
    setup.site(&[], |route| route.origins = vec![application.address().into()]).run_with_own_origins()
}

/// All visitors ask for the page in turns, each twice. This repeats whenever the page has become stale, so that each visitor is
/// once the first to ask.
pub(crate) fn each_gets(scene: &Scenario, target: &str, page_of: impl Fn(&Visitor) -> String) {
    let mut visitors = visitors();
    for round in 0..visitors.len() {
        for visitor in visitors.iter().chain(visitors.iter().rev()) {
            let got = visitor.get(scene, target);
            assert_eq!(got.text(), page_of(visitor), "{target}, round {round}, {:?}: {got:?}", visitor.fields);
        }
        visitors.rotate_left(1);
        scene.advance(100);
    }
}

/// Whether the visitor sends credentials, by the rules of a route without cookies in its key.
pub(crate) fn passes(visitor: &Visitor) -> bool {
    visitor.value("Authorization").is_some()
        || visitor.value("Cookie").is_some_and(|cookies| cookies.split("; ").any(|pair| !pair.starts_with("_ga=")))
}

#[test]
fn a_page_that_deletes_a_cookie_is_shared_and_who_brings_the_cookie_reaches_the_application() {
    // Movable Type 3.35 does so with each answer, in CGI.pm's words and without a Date.
    let deletes = &["Set-Cookie: mt_user=; path=/; expires=Fri, 27-Nov-2020 20:00:00 GMT"];
    for setup in [ttl(Setup::safe()), removing(ttl(Setup::safe()))] {
        let scene = setup.run([get("/").answers(ok(deletes, "1")), get("/").answers(ok(deletes, "2"))]);
        let mut client = scene.client();
        let first = client.get("/");
        assert!(!first.has("set-cookie"), "the deletion changes nothing for a client without the cookie: {first:?}");
        assert!(client.get("/").is_hit());
        let member = client.get_with("/", &["Cookie: mt_user=ann"]);
        assert_eq!((member.detail().as_str(), member.text().as_str()), ("pass-cookie", "2"), "{member:?}");
        assert!(member.has("set-cookie"), "{member:?}");
        assert_eq!(scene.origin.request(1).field("cookie").as_deref(), Some("mt_user=ann"));
        assert!(client.get("/").is_hit());
    }
}

#[test]
fn the_first_client_that_brings_a_cookie_gets_it_deleted_where_all_others_are_removed() {
    let deletes = &["Set-Cookie: mt_user=; Max-Age=0"];
    let scene =
        removing(ttl(Setup::safe())).run([get("/").answers(ok(deletes, "1")), get("/").answers(ok(deletes, "2"))]);
    let first = scene.client().get_with("/", &["Cookie: mt_user=ann"]);
    assert_eq!((first.detail().as_str(), first.text().as_str()), ("pass-cookie", "2"), "{first:?}");
    assert!(first.has("set-cookie") && scene.client().get("/").is_hit(), "{first:?}");
}

#[test]
fn a_script_that_greets_by_cookie_greets_no_visitor_by_anothers_name() {
    for profile in BOTH {
        let application = scripts();
        let scene = before(ttl(Setup::new(profile)), &application);
        each_gets(&scene, "/greet", |visitor| format!("Hello, {}!", visitor.name()));
        assert!(scene.client().get("/greet").text().contains("whoever"));
    }
}

#[test]
fn with_the_cookie_in_the_key_each_name_has_a_page_of_its_own_that_is_kept() {
    for profile in BOTH {
        let application = scripts();
        let setup = grant(removing(ttl(Setup::new(profile))), |grant| grant.key_cookies = names(&["name"]));
        let scene = before(setup, &application);
        each_gets(&scene, "/greet", |visitor| format!("Hello, {}!", visitor.name()));
        for visitor in visitors().iter().filter(|visitor| visitor.value("Authorization").is_none()) {
            visitor.get(&scene, "/greet");
            assert!(visitor.get(&scene, "/greet").is_hit(), "{:?}", visitor.fields);
        }
        // Cookies that are not in the key are removed; the others reach the key in one order and spelling.
        let count = application.count();
        let mut client = scene.client();
        for cookies in ["name=ann; x=1", "x=2; _ga=1; name=ann", "name=ann"] {
            let got = client.get_with("/greet", &[&format!("Cookie: {cookies}")]);
            assert!(got.is_hit() && got.text() == "Hello, ann!", "{cookies}: {got:?}");
        }
        assert_eq!(application.count(), count);
    }
}

#[test]
fn cookies_that_are_removed_greet_no_visitor() {
    let application = scripts();
    let remove = |route: &mut Route| route.cookies.others = Some(OtherCookies::Remove);
    let scene = before(ttl(Setup::safe()).route(remove), &application);
    each_gets(&scene, "/greet", |_| "Hello, whoever you are!".to_owned());
    let ann = Visitor::new(12, &["Cookie: name=ann"]);
    assert!(ann.get(&scene, "/greet").is_hit() || ann.get(&scene, "/greet").is_hit());
}

#[test]
fn who_is_logged_in_passes_and_all_others_share_a_page_whatever_cookies_they_have() {
    for profile in BOTH {
        let application = scripts();
        let pass = |route: &mut Route| route.cookies.pass = names(&["wordpress_logged_in_*"]);
        let scene = before(removing(ttl(Setup::new(profile))).route(pass), &application);
        let tom = Visitor::new(18, &["Cookie: theme=dark; wordpress_logged_in_5f=tom; name=tom"]);
        for _ in 0..3 {
            // The logged-in visitor asks first, and the answer is not stored.
            let own = tom.get(&scene, "/all");
            assert!(own.detail() == "pass-cookie" && own.text().contains(tom.value("Cookie").unwrap()), "{own:?}");
            each_gets(&scene, "/greet", |visitor| match visitor.value("Authorization") {
                Some(_) => format!("Hello, {}!", visitor.name()),
                None => "Hello, whoever you are!".to_owned(),
            });
            assert_eq!(tom.get(&scene, "/greet").text(), "Hello, tom!");
        }
        // The first of the other visitors, with a cookie of its own, fetches the page for all.
        scene.client().get_with("/all", &["Cookie: sid=7"]);
        for cookie in ["Cookie: name=ann", "Cookie: wordpress_test_cookie=1; sid=8", "Cookie: _ga=1"] {
            let page = scene.client().get_with("/all", &[cookie]);
            assert!(page.is_hit() && !page.text().to_ascii_lowercase().contains("cookie"), "{cookie}: {page:?}");
        }
    }
}

#[test]
fn a_cookie_that_is_in_the_key_and_makes_a_request_pass_makes_it_pass() {
    let application = scripts();
    let setup = grant(removing(ttl(Setup::safe())), |grant| grant.key_cookies = names(&["n*"]));
    let scene = before(setup.route(|route| route.cookies.pass = names(&["name"])), &application);
    let greeted = |cookies: &str| scene.client().get_with("/greet", &[&format!("Cookie: {cookies}")]);
    for _ in 0..2 {
        let ann = greeted("night=1; name=ann");
        assert_eq!((ann.text().as_str(), ann.detail().as_str()), ("Hello, ann!", "pass-cookie"));
    }
    assert_eq!(greeted("night=1; sid=4").text(), "Hello, whoever you are!");
    assert!(greeted("sid=5; night=1").is_hit(), "what is neither is removed, what is in the key is not");
    assert!(!greeted("night=2").is_hit());
}

#[test]
fn a_script_that_reads_a_language_speaks_to_no_visitor_in_anothers() {
    for profile in BOTH {
        let application = scripts();
        let scene = before(ttl(Setup::new(profile)), &application);
        each_gets(&scene, "/language", |visitor| {
            let language = visitor.value("Accept-Language").filter(|_| passes(visitor));
            format!("In: {}", language.unwrap_or("nothing"))
        });
        let application = scripts();
        let setup = grant(ttl(Setup::new(profile)), |grant| grant.key_fields = names(&["accept-language"]));
        let scene = before(setup, &application);
        each_gets(&scene, "/language", |visitor| {
            format!("In: {}", visitor.value("Accept-Language").unwrap_or("nothing"))
        });
        let german = Visitor::new(17, &["Accept-Language: de"]);
        german.get(&scene, "/language");
        assert!(german.get(&scene, "/language").is_hit());
    }
}

#[test]
fn where_the_operator_says_so_who_has_a_session_passes_with_the_own_address_though_nothing_is_granted() {
    for (others, pass) in [(None, &[][..]), (Some(OtherCookies::Pass), &[]), (None, &["sid"])] {
        let application = scripts();
        let setup = Setup::safe().route(move |route: &mut Route| {
            route.cookies.others = others;
            route.cookies.pass = names(pass);
        });
        let scene = before(setup, &application);
        let (session, noise) = (Visitor::new(21, &["Cookie: sid=1"]), Visitor::new(22, &["Cookie: _ga=1"]));
        let told = |visitor: &Visitor| visitor.get(&scene, "/address").text().contains("x-forwarded-for: 127.0.0.2");
        assert!(told(&session) && told(&noise), "{others:?} {pass:?}");
        let is_said = others.is_some() || !pass.is_empty();
        let passes = |visitor: &Visitor| visitor.get(&scene, "/address").detail() == "pass-cookie";
        assert_eq!((passes(&session), passes(&noise)), (is_said, false), "{others:?} {pass:?}");
    }
}

#[test]
fn what_a_visitor_who_passes_is_told_by_a_head_or_a_post_changes_nothing_for_others() {
    const OF_TOM: &str = "HTTP/1.1 200 OK\r\nCache-Control: public, max-age=60\r\nETag: \"1\"\r\nContent-Length: 4\r\nX-User: tom\r\n\r\n";
    for profile in BOTH {
        let kept = ["Cache-Control: public, max-age=60", "ETag: \"1\""];
        let setup = Setup::new(profile).route(|route| route.cookies.pass = names(&["sid"]));
        let scene = setup.run([
            get("/").answers(ok(&kept, "page")),
            head("/").answers(OF_TOM),
            post("/").answers(ok(&["Cache-Control: public, max-age=60", "Content-Location: /"], "Tom's")),
            get("/").answers(ok(&kept, "page")),
        ]);
        let mut client = scene.client();
        client.get("/");
        assert_eq!(client.head("/", &["Cookie: sid=1"]).field("x-user"), "tom");
        let hit = client.get("/");
        assert_eq!((hit.is_hit(), hit.field("x-user").as_str()), (true, ""), "{profile:?}: {hit:?}");
        assert!(scene.origin.request(1).field("x-forwarded-for").is_some(), "{profile:?}: who passes is told of");
        // The POST drops the stored page, as each POST does, and its answer is not stored instead.
        assert_eq!(client.send_body("POST", "/", &["Cookie: sid=1"], "x").text(), "Tom's");
        assert_eq!(client.get("/").text(), "page", "{profile:?}");
    }
}

#[test]
fn a_script_that_prints_an_address_prints_it_only_to_its_own_client() {
    for profile in BOTH {
        let application = scripts();
        let scene = before(ttl(Setup::new(profile)), &application);
        each_gets(&scene, "/address", |visitor| {
            // The answer to an anonymous request has that request's address in it, so each request passes with the real one. The
            // claims of an untrusted client are dropped, except for a field that Kasoku does not write itself.
            let own = format!("127.0.0.{}", visitor.host);
            format!(
                "x-forwarded-for: {own}; forwarded: for={own};host=example.org;proto=http; x-real-ip: {own}; client-ip: {}",
                visitor.value("Client-IP").unwrap_or("nothing"),
            )
        });
    }
}

#[test]
fn a_script_that_echoes_a_referer_tells_no_visitor_where_another_came_from() {
    for profile in BOTH {
        let application = scripts();
        let scene = before(ttl(Setup::new(profile)), &application);
        each_gets(&scene, "/referer", |visitor| {
            let referer = visitor.value("Referer").filter(|_| passes(visitor));
            format!("You come from {}", referer.unwrap_or("nothing"))
        });
    }
}

#[test]
fn a_script_that_echoes_all_it_gets_tells_all_who_do_not_pass_the_same() {
    for profile in BOTH {
        let application = scripts();
        let scene = before(ttl(Setup::new(profile)), &application);
        let cold = before(ttl(Setup::new(profile)), &application).client().get("/all").text();
        for visitor in visitors().iter().filter(|visitor| !passes(visitor)) {
            assert_eq!(visitor.get(&scene, "/all").text(), cold, "{:?}", visitor.fields);
            scene.advance(100);
        }
    }
}

#[test]
fn visitors_who_ask_while_the_script_still_thinks_get_their_own_page_too() {
    for key_cookies in [&[][..], &["name"]] {
        let application = scripts();
        let scene = before(grant(ttl(Setup::safe()), |grant| grant.key_cookies = names(key_cookies)), &application);
        let gate = Gate::new();
        application.holds_next(&gate);
        let visitors = visitors();
        let mut waiting: Vec<(&Visitor, Client)> = Vec::new();
        for visitor in &visitors {
            let mut client = visitor.client(&scene);
            let fields: Vec<&str> = visitor.fields.iter().map(String::as_str).collect();
            client.ask("GET", "/greet", &fields);
            if waiting.is_empty() {
                application.arrived(1);
            }
            waiting.push((visitor, client));
        }
        scene.settled();
        gate.open();
        for (visitor, mut client) in waiting {
            assert_eq!(client.response().text(), format!("Hello, {}!", visitor.name()), "{:?}", visitor.fields);
        }
    }
}

#[test]
fn what_a_passing_request_gets_is_never_kept_and_changes_nothing_that_is() {
    for fields in [&["Cookie: name=eve"][..], &["Authorization: Basic eDp5"]] {
        let application = scripts();
        let scene = before(ttl(Setup::safe()), &application);
        let eve = scene.client().get_with("/all", fields);
        assert!(eve.text().contains(fields[0]) && !eve.is_hit(), "{eve:?}");
        assert!(["pass-cookie", "pass-authorization"].contains(&eve.detail().as_str()), "{eve:?}");
        assert_eq!(eve.cache_status("fwd").as_deref(), Some("bypass"));
        assert!(scene.engine.cache().is_empty());
        let page = scene.client().get("/all");
        assert!(!page.text().contains(fields[0]) && !page.is_hit());
        scene.client().get_with("/all", fields);
        let again = scene.client().get("/all");
        assert!(again.is_hit() && again.text() == page.text(), "{again:?}");
    }
}

#[test]
fn a_site_may_grant_a_lifetime_to_one_rule_and_leave_the_rest_as_it_is() {
    let application = scripts();
    let origins = vec![application.address().into()];
    let scene = Setup::safe()
        .route(|route| route.origins.clone_from(&origins))
        .rule("/language", |route| policy(route).grant.ttl_seconds = 60)
        .run([]);
    let german = ["Accept-Language: de"];
    assert_eq!(scene.client().get_with("/language", &german).text(), "In: nothing");
    assert!(scene.client().get("/language").is_hit());
    assert!(scene.client().get_with("/all", &german).text().contains("Accept-Language: de"));
    assert!(!scene.client().get_with("/all", &german).is_hit());
}

#[test]
fn pages_in_two_languages_are_asked_for_at_once_when_nothing_is_stored() {
    let gate = Gate::new();
    let setup = grant(ttl(Setup::safe()), |grant| grant.key_fields = names(&["accept-language"]));
    let page = |text| get("/").waits(&gate).answers(ok(&[], text));
    let scene = setup.run([page("one"), page("two")]);
    let [mut german, mut french, mut second_german] = [(); 3].map(|()| scene.client());
    german.ask("GET", "/", &["Accept-Language: de"]);
    scene.origin.arrived(1);
    french.ask("GET", "/", &["Accept-Language: fr"]);
    scene.origin.arrived(2);
    second_german.ask("GET", "/", &["Accept-Language: de"]);
    scene.settled();
    gate.open();
    assert_eq!((german.response().text(), french.response().text()), ("one".to_owned(), "two".to_owned()));
    let joined = second_german.response();
    assert!(joined.text() == "one" && joined.cache_status("collapsed").is_some(), "{joined:?}");
}

/// The cookie `sid` is the session. A session that has asked for `/logout` is anonymous from then on.
fn with_sessions(setup: Setup) -> Setup {
    ttl(setup).route(|route| {
        let rules = SessionRules {
            cookies: names(&["sid"]),
            logout: UrlPattern::parse("/logout").into_iter().collect(),
            stateful_urls: vec![StatefulUrl { url: UrlPattern::parse("/open").unwrap(), shown_by: None }],
            anonymous_cookies: vec![CookiePattern { name: "status".to_owned(), value: "none".to_owned() }],
            ..SessionRules::default()
        };
        route.session = Arc::new(rules);
    })
}

/// A session may have been logged in without a request that Kasoku saw, so each log-out has to reach the application.
#[test]
fn a_log_out_reaches_the_application_although_the_session_is_known_to_be_anonymous() {
    let scene = with_sessions(Setup::safe()).run([
        get("/logout").answers(ok(&[], "good bye")),
        get("/").answers(ok(&[], "nobody's")),
        get("/logout").answers(ok(&[], "good bye again")),
    ]);
    let mut client = scene.client();
    let mut get = |target| client.get_with(target, &["Cookie: sid=1"]);
    assert_eq!(get("/logout").detail(), "pass-url");
    let read = get("/");
    assert_eq!((read.text().as_str(), read.field("Cache-Status").contains("session=anonymous")), ("nobody's", true));
    let again = get("/logout");
    assert_eq!((again.text().as_str(), again.detail().as_str()), ("good bye again", "pass-url"));
    assert_eq!(requests_with_cookies(&scene), [true, false, true]);
}

/// Whether each request reached the origin with cookies.
fn requests_with_cookies(scene: &Scenario) -> Vec<bool> {
    scene.origin.requests().iter().map(|request| request.field("cookie").is_some()).collect()
}

/// An anonymous session may hold data that its visitor needs, such as a cart or the password of a post.
#[test]
fn a_304_that_opens_a_session_does_not_take_the_place_of_the_one_that_was_set_aside() {
    let scene = with_sessions(Setup::safe()).run([
        get("/logout").answers(ok(&[], "good bye")),
        get("/").answers(ok(&["ETag: \"1\""], "nobody's")),
        get("/").answers("HTTP/1.1 304 Not Modified\r\nSet-Cookie: sid=2\r\nCache-Control: private\r\n\r\n"),
        get("/").answers(ok(&["Cache-Control: private"], "yours")),
    ]);
    let mut client = scene.client();
    let mut get = |target| client.get_with(target, &["Cookie: sid=1"]);
    get("/logout");
    assert_eq!(get("/").text(), "nobody's");
    scene.advance(61);
    let own = get("/");
    assert_eq!((own.text().as_str(), own.detail().as_str(), own.has("Set-Cookie")), ("yours", "pass-session", false));
    assert_eq!(requests_with_cookies(&scene), [true, false, false, true]);
}

/// A visitor may type the password of a post without a session, or get a new session for it.
#[test]
fn what_is_left_in_a_session_that_the_answer_opens_is_shown() {
    let opens = ok(&["Set-Cookie: sid=2; path=/", "Set-Cookie: status=none"], "opened");
    let renews = ok(&["Set-Cookie: sid=3; HttpOnly"], "opened, and another session");
    let scene = with_sessions(Setup::safe()).run([
        get("/").answers(ok(&[], "nobody's")),
        post("/open").answers(opens),
        get("/").answers(ok(&[], "with the post")),
        post("/other").answers(renews),
        get("/").answers(ok(&[], "with the post still")),
        get("/").answers(ok(&[], "nobody's again")),
    ]);
    let mut client = scene.client();
    assert_eq!(client.get("/").text(), "nobody's");
    client.ask("POST", "/open", &["Content-Length: 0"]);
    assert_eq!(client.response().text(), "opened");
    assert_eq!(client.get_with("/", &["Cookie: sid=2; status=none"]).text(), "with the post");
    client.ask("POST", "/other", &["Content-Length: 0", "Cookie: sid=2; status=none"]);
    assert_eq!(client.response().text(), "opened, and another session");
    let cookies = ["Cookie: sid=3; status=none"];
    assert_eq!(client.get_with("/", &cookies).text(), "with the post still");
    scene.advance(601);
    assert_eq!(client.get_with("/", &cookies).text(), "nobody's again");
    assert_eq!(requests_with_cookies(&scene), [false, false, true, true, true, false]);
}

/// A visitor who is logged in by another application's cookie has a session here as well, and nothing in the session says so.
#[test]
fn an_unknown_cookie_beside_an_anonymous_session_is_the_one_that_is_named() {
    let setup = ttl(Setup::safe()).route(|route| {
        let rules = SessionRules {
            cookies: names(&["sid"]),
            logout: UrlPattern::parse("/logout").into_iter().collect(),
            ..SessionRules::default()
        };
        route.session = Arc::new(rules);
    });
    let scene = setup.run([get("/logout").answers(ok(&[], "good bye")), get("/").answers(ok(&[], "good day, Ann"))]);
    let mut client = scene.client();
    client.get_with("/logout", &["Cookie: sid=1"]);
    let single_sign_on = client.get_with("/", &["Cookie: sid=1; sso=ann"]);
    assert_eq!(single_sign_on.detail(), "pass-cookie");
    assert_eq!(single_sign_on.cache_status("cookie").as_deref(), Some("\"sso\""), "{single_sign_on:?}");
    assert_eq!(scene.origin.requests()[1].field("cookie").as_deref(), Some("sid=1; sso=ann"));
}
