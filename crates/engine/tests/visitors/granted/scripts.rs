//! The visitors of `visitors.rs` in front of CGI programs, which learn about a visitor from their environment, including the
//! address of the connection.

use super::programs::{PAGE, Programs};
use super::visitors::{each_gets, passes, visitors};
use super::{grant, names, removing, ttl};
use kasoku_options::{OriginAddress, Rule};
use kasoku_semantics::grant::Ignored;
use kasoku_testkit::{BOTH, Setup};
use std::sync::Arc;

/// A script that prints one variable of its environment.
fn printing(variable: &str) -> Programs {
    Programs::with(&[("a.cgi", &format!("{PAGE} echo run >> runs; printf %s \"${{{variable}-nothing}}\""))])
}

#[test]
fn a_script_that_greets_by_cookie() {
    for profile in BOTH {
        let programs = printing("HTTP_COOKIE");
        let served = programs.serve_by(ttl(Setup::new(profile)), |_| ());
        each_gets(&served.0, "/a.cgi", |visitor| {
            visitor.value("Cookie").filter(|_| passes(visitor)).unwrap_or("nothing").to_owned()
        });
    }
}

#[test]
fn a_script_that_greets_by_a_cookie_in_the_key() {
    let programs = printing("HTTP_COOKIE");
    let by_name = |setup| grant(setup, |grant| grant.key_cookies = names(&["name"]));
    let served = programs.serve_by(by_name(removing(ttl(Setup::safe()))), |_| ());
    each_gets(&served.0, "/a.cgi", |visitor| {
        let cookies = visitor.value("Cookie").unwrap_or_default();
        cookies.split("; ").find(|pair| pair.starts_with("name=")).unwrap_or("nothing").to_owned()
    });
}

#[test]
fn a_script_that_reads_a_language() {
    for profile in BOTH {
        let programs = printing("HTTP_ACCEPT_LANGUAGE");
        let served = programs.serve_by(ttl(Setup::new(profile)), |_| ());
        each_gets(&served.0, "/a.cgi", |visitor| {
            visitor.value("Accept-Language").filter(|_| passes(visitor)).unwrap_or("nothing").to_owned()
        });
    }
}

#[test]
fn a_script_that_prints_the_clients_address() {
    for profile in BOTH {
        let programs = printing("REMOTE_ADDR");
        let served = programs.serve_by(ttl(Setup::new(profile)), |_| ());
        each_gets(&served.0, "/a.cgi", |visitor| format!("127.0.0.{}", visitor.host));
    }
}

#[test]
fn a_script_that_echoes_a_referer() {
    for profile in BOTH {
        let programs = printing("HTTP_REFERER");
        let served = programs.serve_by(ttl(Setup::new(profile)), |_| ());
        each_gets(&served.0, "/a.cgi", |visitor| {
            visitor.value("Referer").filter(|_| passes(visitor)).unwrap_or("nothing").to_owned()
        });
    }
}

#[test]
fn a_script_that_prints_its_whole_environment() {
    for profile in BOTH {
        // Without the addresses: a page with an anonymous request's own address is not stored.
        let script = format!("{PAGE} env | grep -v -e ^REMOTE_ADDR= -e ^HTTP_X_REAL_IP= -e ^HTTP_.*FORWARDED | sort");
        let programs = Programs::with(&[("a.cgi", &script)]);
        let [served, cold] = [(); 2].map(|()| programs.serve_by(ttl(Setup::new(profile)), |_| ()));
        let port = |served: &super::programs::Served| served.0.engine.addresses()[0].port().to_string();
        let plain = cold.client().get("/a.cgi").text().replace(&port(&cold), "PORT");
        for visitor in visitors().iter().filter(|visitor| !passes(visitor)) {
            let got = visitor.get(&served.0, "/a.cgi").text().replace(&port(&served), "PORT");
            assert_eq!(got, plain, "{:?}", visitor.fields);
            served.0.advance(100);
        }
    }
}

#[test]
fn a_search_is_run_once_for_all_who_may_share_it() {
    let programs = printing("QUERY_STRING");
    let served = programs.serve_by(ttl(Setup::safe()), |_| ());
    for visitor in visitors().iter().filter(|visitor| !passes(visitor)) {
        assert_eq!(visitor.get(&served.0, "/a.cgi?tag=x&blog_id=1").text(), "tag=x&blog_id=1");
    }
    assert_eq!(programs.lines("runs"), 1);
}

/// A rule says that requests pass. A program that redirects there must not make the page shareable under its own URL: neither by
/// what the granting rule ignores, nor by a targeted field, which overrides Cache-Control.
#[test]
fn a_local_redirect_to_where_requests_pass_is_not_stored() {
    let programs = Programs::with(&[
        ("a.cgi", "printf 'Location: /own/page.cgi\\n\\n'"),
        (
            "page.cgi",
            "echo run >> runs; printf 'Content-Type: text/plain\\nCDN-Cache-Control: max-age=60\\n\\n'; wc -l < runs",
        ),
    ]);
    let setup = grant(Setup::safe(), |grant| {
        grant.ttl_override_seconds = 60;
        grant.ignore = vec![Ignored::Private];
    });
    let origins = vec![OriginAddress::Cgi(programs.path("")).into()];
    let mut own = kasoku_options::Route::new(kasoku_semantics::policy::Profile::Safe, origins.clone());
    own.pass = true;
    "/own".clone_into(&mut own.gateway.url_prefix);
    let scene = setup
        .site(&[], |route| route.origins = origins)
        .options(|options| {
            options.sites[0].rules.push(Rule { path: "/own/*".into(), route: Arc::new(own) });
        })
        .run_with_own_origins();
    let mut client = scene.client();
    for run in ["1", "2"] {
        let response = client.get("/a.cgi");
        assert_eq!((response.text().trim(), response.detail().as_str()), (run, "pass-rule"), "{response:?}");
        assert!(response.field("cache-control").contains("private"));
    }
}

/// The same, where the visitor's cookie makes the request pass, and not the rule.
#[test]
fn a_local_redirect_to_where_the_visitor_would_pass_is_not_stored() {
    let programs = Programs::with(&[
        ("a.cgi", "printf 'Location: /own/page.cgi\\n\\n'"),
        (
            "page.cgi",
            "printf 'Content-Type: text/plain\\nCache-Control: public, max-age=60\\n\\n%s' \"${HTTP_COOKIE-nobody}\"",
        ),
    ]);
    let origins = vec![OriginAddress::Cgi(programs.path("")).into()];
    let mut own = kasoku_options::Route::new(kasoku_semantics::policy::Profile::Safe, origins.clone());
    own.cookies.pass = names(&["sid"]);
    "/own".clone_into(&mut own.gateway.url_prefix);
    let scene = Setup::safe()
        .site(&[], |route| route.origins = origins)
        .options(|options| {
            options.sites[0].rules.push(Rule { path: "/own/*".into(), route: Arc::new(own) });
        })
        .run_with_own_origins();
    let mut client = scene.client();
    let tom = client.get_with("/a.cgi", &["Cookie: sid=tom"]);
    assert_eq!((tom.text().as_str(), tom.detail().as_str()), ("sid=tom", "pass-rule"), "{tom:?}");
    assert_eq!(client.get_with("/a.cgi", &["Cookie: sid=ann"]).text(), "sid=ann");
    assert_eq!(client.get("/a.cgi").text(), "nobody");
    assert!(client.get("/a.cgi").is_hit(), "the answer to an anonymous request is for all");
}
