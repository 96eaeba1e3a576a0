//! Makes of an anonymous request what is sent: adds the configured cookies (`anonymous-request-cookies`) and the address that the
//! application is told. Takes the cookies out again.

use crate::RouteRules;
use kasoku_semantics::cookies;
use kasoku_semantics::forward::tell_stand_in;
use kasoku_wire::{Fields, RequestHead};
use std::borrow::Cow;
use std::net::IpAddr;

/// The cookies of a request that tells `address`, as a value of Cookie; empty: there are none.
fn of_address(route: RouteRules<'_>, address: &str) -> String {
    let pairs: Vec<String> = route.declared.cookies.anonymous.iter().map(|cookie| cookie.pair(address)).collect();
    pairs.join("; ")
}

/// A request as it is sent, where it tells `address` in the place of its client's: with that address and those cookies. The cache
/// goes on deciding by the original. `None`: it tells its client's own address, and goes out as it is.
pub fn sent<'r>(request: &'r RequestHead, route: RouteRules<'_>, address: Option<IpAddr>) -> Cow<'r, RequestHead> {
    let Some(address) = address else { return Cow::Borrowed(request) };
    let mut sent = request.clone();
    tell_stand_in(&mut sent.fields, address);
    if route.declared.cookies.anonymous.is_empty() || !route.policy.grant.is_granting() {
        return Cow::Owned(sent);
    }
    let mut cookies = sent.fields.combined("cookie").unwrap_or_default();
    if !cookies.is_empty() {
        cookies.extend_from_slice(b"; ");
    }
    cookies.extend_from_slice(of_address(route, &address.to_string()).as_bytes());
    sent.fields.set("Cookie", cookies);
    Cow::Owned(sent)
}

/// The fields of a request without the cookies that [`sent`] may have added, since those say nothing of a visitor.
pub fn without<'r>(request: &'r Fields, route: RouteRules<'_>) -> Cow<'r, Fields> {
    let is_added =
        |pair: &[u8]| route.declared.cookies.anonymous.iter().any(|one| one.name().as_bytes() == cookies::name(pair));
    // Without a granted lifetime, such a cookie is the visitor's own.
    if !route.policy.grant.is_granting() || !cookies::pairs(request).any(is_added) {
        return Cow::Borrowed(request);
    }
    let others: Vec<&[u8]> = cookies::pairs(request).filter(|pair| !is_added(pair)).collect();
    let mut without = request.clone();
    without.remove("cookie");
    if !others.is_empty() {
        without.push("Cookie", others.join(&b"; "[..]));
    }
    Cow::Owned(without)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kasoku_options::{self as options, AnonymousCookie};
    use kasoku_semantics::policy::Profile;
    use std::sync::Arc;

    fn route(cookies: &[&str]) -> options::Route {
        let mut route = options::Route::new(Profile::Safe, Vec::new());
        Arc::make_mut(&mut route.policy).grant.ttl_seconds = 60;
        route.cookies.anonymous = cookies.iter().map(|text| AnonymousCookie::parse(text).unwrap()).collect();
        route
    }

    #[test]
    fn the_address_stands_where_it_is_wanted() {
        let route = route(&["a={address}", "b=x{address:base64}y{address}", "c=1"]);
        assert_eq!(of_address(RouteRules::of(&route), "240.1.2.3"), "a=240.1.2.3; b=xMjQwLjEuMi4zy240.1.2.3; c=1");
        assert_eq!(of_address(RouteRules::of(&route), "198.51.100.7").split("; ").next(), Some("a=198.51.100.7"));
    }

    #[test]
    fn they_stand_behind_the_cookies_of_the_key_in_one_field() {
        let mut route = route(&["c=1"]);
        let mut request = RequestHead::new(http::Method::GET, "/".to_owned());
        let cookie = |route: &options::Route, request: &RequestHead| {
            let sent = sent(request, RouteRules::of(route), Some([240, 1, 2, 3].into()));
            let lines: Vec<_> =
                sent.fields.all("cookie").map(|line| String::from_utf8_lossy(line).into_owned()).collect();
            lines.join(" | ")
        };
        assert_eq!(cookie(&route, &request), "c=1");
        request.fields.push("Cookie", "lang=de");
        assert_eq!(cookie(&route, &request), "lang=de; c=1");
        Arc::make_mut(&mut route.policy).grant.ttl_seconds = 0;
        assert_eq!(cookie(&route, &request), "lang=de", "where nothing is granted, no request is anonymous");
    }
}
