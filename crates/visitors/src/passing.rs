//! Decides which requests pass because of their sender, on routes that grant lifetimes.
//!
//! A granted lifetime is right only where the answer does not depend on the visitor (see `semantics::grant`). A request identifies
//! its visitor by Authorization, or by a cookie that is neither in the route's key nor noise. A request may also ask for something
//! else than the page, by a field that only its application knows ([`kasoku_semantics::request_fields`]). Such a
//! request passes: it goes to the origin unchanged, and neither reads nor changes what is stored. Any other request is sent to the
//! origin with only those client fields that are in the key. This is a list of what is sent, not of what is removed (as `unkeyed`
//! is), so no other field can change an answer.
//!
//! The operator can list cookies that make a request pass in any case (`cookies.pass`), even if they are in the key or noise. With
//! `cookies.others = "remove"`, a cookie in no list is removed instead of making the request pass.
//!
//! In place of the client's own description the origin gets the fields of every anonymous request
//! ([`ANONYMOUS_FIELDS`](kasoku_semantics::anonymous_request::ANONYMOUS_FIELDS)), since applications and filters refuse requests
//! without them. A range is not forwarded: the cache fetches the whole and sends the client its part. If the whole is known to be
//! too large to be stored, the request passes. Cache directives of the client are for this cache, and are not forwarded.

use crate::RouteRules;
use crate::pattern::is_guarded;
use kasoku_options::{OtherCookies, SessionRules};
use kasoku_semantics::anonymous_request::is_cache_field;
use kasoku_semantics::grant::{Grant, GrantRefusal};
use kasoku_semantics::ground::Ground;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::{cookies, request_fields, set_cookies};
use kasoku_wire::Fields;

/// Fields that need no mention among those that are kept back: they describe the message, are in the URL, or are listed by cookie.
const HANDLED: [&str; 6] = ["host", "connection", "cookie", "content-length", "transfer-encoding", "te"];

/// Why a request passes, if it identifies its visitor. `is_anonymous`: the session that it carries, if any, is known to be
/// anonymous.
pub fn passes(request: &Fields, route: RouteRules<'_>, is_anonymous: bool) -> Option<Reason> {
    refusal(request, route, is_anonymous).map(|refusal| match refusal {
        GrantRefusal::Authorization => Reason::PassAuthorization,
        GrantRefusal::Cookie(_) => Reason::PassCookie,
        GrantRefusal::Session(_) => Reason::PassSession,
        GrantRefusal::Field(_) => Reason::PassField,
    })
}

/// The same as [`passes`], with the name of the cookie or field.
pub fn refusal<'r>(request: &'r Fields, route: RouteRules<'_>, is_anonymous: bool) -> Option<GrantRefusal<'r>> {
    if !may_pass_by_sender(route) {
        // A request with a session passes even on a route that says nothing else of visitors.
        return session(request, &route.declared.session);
    }
    if let Some(name) = listed(request, route)
        && !request.contains("authorization")
    {
        return Some(GrantRefusal::Cookie(name));
    }
    let is_granting = route.policy.grant.is_granting();
    // Without a granted lifetime, the origin gets all cookies, so the session can't be set aside.
    let is_set_aside = is_anonymous && is_granting;
    if !is_set_aside
        && !request.contains("authorization")
        && let Some(refusal) = session(request, &route.declared.session)
    {
        return Some(refusal);
    }
    let others_pass = others_pass(route);
    let is_sessions = |name: &[u8]| is_set_aside && route.declared.session.is_about(name);
    let may_be_taken = |name: &[u8]| {
        !others_pass
            || cookies::is_any(&route.declared.cookies.noise, name)
            || is_sessions(name)
            || is_of_forms(name, route)
    };
    match &route.policy.grant {
        grant if is_granting => grant
            .refuses(request, may_be_taken)
            .or_else(|| request_fields::passing(request, grant).next().map(GrantRefusal::Field)),
        // Without a granted lifetime, no cookie is in the key.
        _ => Grant::default().refuses(request, may_be_taken),
    }
}

/// Whether a cookie is read where a form is sent, by its name: such a request passes, and so does a page that has the cookie's token,
/// where the leak guard reads pages. A browser keeps Django's `csrftoken` for a year after one form.
fn is_of_forms(name: &[u8], route: RouteRules<'_>) -> bool {
    is_guarded(route) && set_cookies::names_forgery_token(name)
}

/// The first cookie that belongs to a session, or by which the application says that the visitor is known.
fn session<'r>(request: &'r Fields, rules: &SessionRules) -> Option<GrantRefusal<'r>> {
    if rules.cookies.is_empty() {
        return None;
    }
    let is_identified = |pair: &&[u8]| {
        let name = cookies::name(pair);
        cookies::is_any(&rules.cookies, name) || rules.says_anonymous(pair) == Some(false)
    };
    cookies::pairs(request).find(is_identified).map(|pair| GrantRefusal::Session(cookies::name(pair)))
}

/// The first cookie that makes a request pass by configuration (`cookies.pass`), even if it is in the key or noise.
pub fn listed<'r>(request: &'r Fields, route: RouteRules<'_>) -> Option<&'r [u8]> {
    if route.declared.cookies.pass.is_empty() {
        return None;
    }
    cookies::pairs(request).map(cookies::name).find(|name| cookies::is_any(&route.declared.cookies.pass, name))
}

/// Whether requests of the route may pass because of their sender: a lifetime is granted, or the operator has set which cookies
/// pass.
pub fn may_pass_by_sender(route: RouteRules<'_>) -> bool {
    let is_said = route.declared.cookies.others == Some(OtherCookies::Pass) || !route.declared.cookies.pass.is_empty();
    route.policy.grant.is_granting() || is_said
}

/// Whether a cookie in no list makes a request pass: as `cookies.others` says, or by default where a lifetime is granted. If it does
/// not, it is removed where a lifetime is granted, and reaches the origin elsewhere.
fn others_pass(route: RouteRules<'_>) -> bool {
    match route.declared.cookies.others {
        Some(others) => others == OtherCookies::Pass,
        None => route.policy.grant.is_granting(),
    }
}

/// Whether an answer is one visitor's: the request identifies its visitor, or the answer begins or ends a session. Noise and
/// cookies in the key identify no visitor.
pub fn is_of_a_visitor(request: &Fields, response: &Fields, route: RouteRules<'_>) -> bool {
    let says_nothing = |name: &[u8]| {
        cookies::is_any(&route.declared.cookies.noise, name) || cookies::is_any(&route.policy.grant.key_cookies, name)
    };
    let names_visitor = |name: &[u8]| !says_nothing(name);
    route.declared.knows_visitors()
        && (request.contains("authorization")
            || cookies::pairs(request).map(cookies::name).any(names_visitor)
            || set_cookies::names(response).any(names_visitor))
}

/// The parts of a received request that are in the key or kept back: each field line (for Cookie, each cookie), and the reason.
pub fn keyed_and_withheld<'r>(
    received: &'r Fields,
    route: RouteRules<'r>,
) -> impl Iterator<Item = (&'r [u8], &'r [u8], Ground)> {
    let grant = &route.policy.grant;
    let of_cookie = move |pair| match cookies::name(pair) {
        name if cookies::is_any(&grant.key_cookies, name) => Ground::CookieInKey,
        name if cookies::is_any(&route.declared.cookies.noise, name) => Ground::CookieNoise,
        name if route.declared.session.is_about(name) => Ground::CookieOfAnonymous,
        name if is_of_forms(name, route) => Ground::CookieOfForms,
        _ => Ground::CookieRemoved,
    };
    let cookies = cookies::pairs(received).map(move |pair| (&b"Cookie"[..], pair, of_cookie(pair)));
    let is_about_the_visitor =
        |name: &[u8]| !is_cache_field(name) && !HANDLED.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()));
    let others = received.iter().filter(move |(name, _)| is_about_the_visitor(name));
    let of_field = |name: &[u8]| match () {
        () if grant.reaches_origin(name) => Ground::FieldInKey,
        () if name.eq_ignore_ascii_case(b"accept") => Ground::AcceptClass,
        () => Ground::NotSentOn,
    };
    cookies.chain(others.map(move |(name, value)| (name, value, of_field(name))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kasoku_options as options;
    use kasoku_semantics::policy::Profile;
    use std::sync::Arc;

    fn route(change: impl FnOnce(&mut options::Route)) -> options::Route {
        let mut route = options::Route::new(Profile::Safe, Vec::new());
        Arc::make_mut(&mut route.policy).grant.ttl_seconds = 60;
        change(&mut route);
        route
    }

    fn fields(lines: &[(&str, &str)]) -> Fields {
        lines.iter().copied().collect()
    }

    fn key_cookies(route: &mut options::Route, names: &[&str]) {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Arc::make_mut(&mut route.policy).grant.key_cookies = names;
    }

    #[test]
    fn who_says_who_they_are_passes() {
        let plain = route(|_| {});
        let passing = |name, value| passes(&fields(&[(name, value)]), RouteRules::of(&plain), false);
        assert_eq!(passing("Authorization", "Basic x"), Some(Reason::PassAuthorization));
        assert_eq!(passing("Cookie", "sid=1"), Some(Reason::PassCookie));
        assert_eq!(passing("Cookie", "_ga=1; sid=1"), Some(Reason::PassCookie));
        assert_eq!(passing("Cookie", "_ga=1; _gid=2"), None);
        assert_eq!(passing("Accept-Language", "de"), None);
        assert_eq!(passing("HX-Request", "true"), Some(Reason::PassField));
        let none = || options::Route::new(Profile::Safe, Vec::new());
        assert_eq!(passes(&fields(&[("Cookie", "sid=1")]), RouteRules::of(&none()), false), None, "nothing is granted");
        let mut told = none();
        told.cookies.others = Some(OtherCookies::Pass);
        Arc::make_mut(&mut told.policy).grant.key_cookies = vec!["sid".to_owned()];
        let passing = |name, value| passes(&fields(&[(name, value)]), RouteRules::of(&told), false);
        assert_eq!(passing("Cookie", "sid=1"), Some(Reason::PassCookie), "no cookie is in the key here");
        assert_eq!(passing("Authorization", "Basic x"), Some(Reason::PassAuthorization));
        assert_eq!(passing("Cookie", "_ga=1"), None);
        assert_eq!(passing("HX-Request", "true"), None, "nothing is granted");
    }

    #[test]
    fn a_cookie_for_forms_tells_nobody_where_pages_are_read_for_its_token() {
        let guarded =
            route(|route| route.guard = Arc::new(options::GuardRules { is_enabled: true, ..Default::default() }));
        let unguarded = route(|_| {});
        for name in ["csrftoken", "XSRF-TOKEN", "_csrf"] {
            let request = fields(&[("Cookie", &format!("{name}=1"))]);
            assert_eq!(passes(&request, RouteRules::of(&guarded), false), None, "{name}");
            assert_eq!(passes(&request, RouteRules::of(&unguarded), false), Some(Reason::PassCookie), "{name}");
        }
        let member = fields(&[("Cookie", "csrftoken=1; sessionid=2")]);
        assert_eq!(passes(&member, RouteRules::of(&guarded), false), Some(Reason::PassCookie));
    }

    #[test]
    fn a_cookie_in_no_list_makes_a_request_pass_unless_the_others_are_removed() {
        let other = fields(&[("Cookie", "lang=de; sid=1")]);
        let strict = route(|route| key_cookies(route, &["lang"]));
        assert_eq!(passes(&other, RouteRules::of(&strict), false), Some(Reason::PassCookie));
        assert_eq!(passes(&fields(&[("Cookie", "lang=de; _ga=1")]), RouteRules::of(&strict), false), None);
        let with_session = route(|route| {
            key_cookies(route, &["lang"]);
            route.session = Arc::new(SessionRules { cookies: vec!["sid".to_owned()], ..SessionRules::default() });
        });
        assert_eq!(passes(&fields(&[("Cookie", "lang=de")]), RouteRules::of(&with_session), false), None);
        let single_sign_on = fields(&[("Cookie", "lang=de; sso=ann")]);
        assert_eq!(
            passes(&single_sign_on, RouteRules::of(&with_session), false),
            Some(Reason::PassCookie),
            "a session counts as well"
        );
        let removing = route(|route| route.cookies.others = Some(OtherCookies::Remove));
        assert_eq!(passes(&other, RouteRules::of(&removing), false), None);
        assert_eq!(
            passes(&fields(&[("Authorization", "x")]), RouteRules::of(&removing), false),
            Some(Reason::PassAuthorization)
        );
    }

    #[test]
    fn who_has_a_listed_cookie_passes_where_all_other_cookies_are_removed() {
        let wordpress = |change: fn(&mut options::Route)| {
            route(|route| {
                route.cookies.others = Some(OtherCookies::Remove);
                route.cookies.pass = vec!["wordpress_logged_in_*".to_owned()];
                change(route);
            })
        };
        let passing =
            |route: &options::Route, cookies| passes(&fields(&[("Cookie", cookies)]), RouteRules::of(route), false);
        let plain = wordpress(|_| {});
        assert_eq!(passing(&plain, "a=1; wordpress_logged_in_5f=tom"), Some(Reason::PassCookie));
        assert_eq!(passing(&plain, "wordpress_test_cookie=1; theme=dark"), None);
        let authorized = fields(&[("Authorization", "x"), ("Cookie", "wordpress_logged_in_5f=tom")]);
        assert_eq!(passes(&authorized, RouteRules::of(&plain), false), Some(Reason::PassAuthorization));
        // It passes although it is in the key, or noise.
        let in_key = wordpress(|route| key_cookies(route, &["wordpress_*"]));
        assert_eq!(passing(&in_key, "wordpress_logged_in_5f=tom"), Some(Reason::PassCookie));
        assert_eq!(passing(&in_key, "wordpress_lang=de"), None);
        let noise = wordpress(|route| route.cookies.noise = vec!["*".to_owned()]);
        assert_eq!(passing(&noise, "wordpress_logged_in_5f=tom"), Some(Reason::PassCookie));
        let strict = wordpress(|route| route.cookies.others = None);
        assert_eq!(passing(&strict, "theme=dark"), Some(Reason::PassCookie), "no other is removed");
        let not_granting = wordpress(|route| {
            route.cookies.others = None;
            Arc::make_mut(&mut route.policy).grant.ttl_seconds = 0;
        });
        assert_eq!(passing(&not_granting, "wordpress_logged_in_5f=tom"), Some(Reason::PassCookie));
        assert_eq!(passing(&not_granting, "theme=dark"), None);
    }
}
