//! Cookies that answers set: which of them Kasoku drops so that it can store the page, and which prevent storing.

use super::{Row, answered, hold, row};
use crate::anonymous::grant;
use kasoku_semantics::grant::{Ignored, StatusTtl};

const ID: &str = "0123456789abcdef0123456789abcdef";

fn sets(name: &'static str, cookie: &str) -> Row {
    answered(name, &format!("Set-Cookie: {cookie}"))
}

#[test]
fn a_session_that_was_given_to_an_anonymous_request_is_dropped_however_it_is_written() {
    let id = |rest: &str| format!("PHPSESSID={ID}{rest}");
    let md5 = "Set-Cookie: 2a0d2363701f23f8a75028924a3af643=192.0.2.1; expires=Mon, 23 Nov 2026 00:00:00 GMT";
    hold(vec![
        sets("a session", &id("; path=/")).drops("PHPSESSID"),
        sets("no attributes", &id("")).drops("PHPSESSID"),
        sets("all attributes", &id("; Path=/; Domain=example.org; HttpOnly; Secure; SameSite=Lax")).drops("PHPSESSID"),
        sets("a quoted value", &format!("PHPSESSID=\"{ID}\"; path=/")).drops("PHPSESSID"),
        sets("spaces", &format!("  PHPSESSID  =  {ID} ; path=/")).drops("PHPSESSID"),
        sets("no value", "PHPSESSID=; path=/").drops("PHPSESSID"),
        sets("taken back", "PHPSESSID=deleted; expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=0").drops("PHPSESSID"),
        sets("a comma, which browsers take for the value", "PHPSESSID=1, remember=2").drops("PHPSESSID"),
        sets("a glob", "G5xyPHPSESSID=1; path=/").drops("G5xyPHPSESSID"),
        answered("a field name in lower case", &format!("set-cookie: PHPSESSID={ID}")).drops("PHPSESSID"),
        answered("a field name in upper case", &format!("SET-COOKIE: PHPSESSID={ID}")).drops("PHPSESSID"),
        sets("two of them", &id("")).line("Set-Cookie: PHPSESSID=fedcba9876543210").drops("PHPSESSID, PHPSESSID"),
        sets("with noise", &id("")).line(md5).drops("PHPSESSID, 2a0d2363701f23f8a75028924a3af643"),
        sets("noise alone", "_ga=GA1.2.3; path=/").drops("_ga"),
        sets("with all that session_start() says", &id("; path=/"))
            .line("Expires: Thu, 19 Nov 1981 08:52:00 GMT")
            .line("Cache-Control: no-store, no-cache, must-revalidate")
            .line("Pragma: no-cache")
            .drops("PHPSESSID"),
        sets("as XE has it", &id("; path=/")).line("Cache-Control: public, must-revalidate").drops("PHPSESSID"),
        sets("a lifetime of its own for networks", &id(""))
            .line("CDN-Cache-Control: s-maxage=60")
            .drops("PHPSESSID")
            .unruled(),
        sets("a permanent redirection", &id(""))
            .status("301 Moved Permanently")
            .line("Location: /next")
            .drops("PHPSESSID"),
        sets("nothing", &id("")).status("203 Non-Authoritative Information").drops("PHPSESSID"),
        sets("asked by analytics", &id("")).field("Cookie: _ga=1").drops("PHPSESSID"),
    ]);
}

#[test]
fn a_cookie_that_is_deleted_is_dropped_whatever_its_name() {
    hold(vec![
        sets("unknown and taken back", "remember=; Max-Age=0; path=/").drops("remember"),
        sets("by a time in the past", "remember=; path=/; expires=Thu, 01-Jan-1970 00:00:00 GMT").drops("remember"),
        sets("beside a session", "PHPSESSID=1; path=/")
            .line("Set-Cookie: remember=; Max-Age=0")
            .drops("PHPSESSID, remember"),
        sets("beside one that is set", "remember=; Max-Age=0").line("Set-Cookie: sso=1").own_by_cookie("sso"),
        sets("deleted and set", "remember=; Max-Age=0").line("Set-Cookie: remember=1").own_by_cookie("remember"),
    ]);
}

#[test]
fn a_cookie_of_another_name_keeps_the_page_and_is_named() {
    let with_session = |row: Row| row.line("Set-Cookie: PHPSESSID=0123456789abcdef; path=/");
    hold(vec![
        sets("unknown", "remember=tom; HttpOnly").own_by_cookie("remember"),
        with_session(sets("unknown before a session", "remember=tom")).own_by_cookie("remember"),
        with_session(row("unknown behind a session")).line("Set-Cookie: sso=1").own_by_cookie("sso"),
        sets("lower case", "phpsessid=1").own_by_cookie("phpsessid"),
        sets("a longer name", "PHPSESSID2=1").own_by_cookie("PHPSESSID2"),
        sets("something in front", "xPHPSESSID=1").own_by_cookie("xPHPSESSID"),
        sets("a prefix of browsers", "__Host-PHPSESSID=1; Secure; Path=/").own_by_cookie("__Host-PHPSESSID"),
        sets("a name without a value", "PHPSESSID").own_by_cookie(""),
        sets("a value without a name", "=PHPSESSID").own_by_cookie(""),
        sets("nothing", "").own_by_cookie(""),
        sets("attributes alone", "; PHPSESSID=1").own_by_cookie(""),
        sets("two in a line", "remember=1, PHPSESSID=2").own_by_cookie("remember"),
        sets("a login, an md5 name", "a3e94372a6379bc1ae3698dfdf38595b=1")
            .own_by_cookie("a3e94372a6379bc1ae3698dfdf38595b"),
        sets("public, and a lifetime", "remember=1")
            .line("Cache-Control: public, s-maxage=60")
            .own_by_cookie("remember"),
        sets("a lifetime for networks", "remember=1").line("CDN-Cache-Control: max-age=60").own_by_cookie("remember"),
        sets("percent-encoded", "PHPSESS%49D=1").own_by_cookie("PHPSESS%49D"),
        answered("its obsolete sibling", "Set-Cookie2: PHPSESSID=1; Version=1").own("set-cookie"),
    ]);
}

#[test]
fn where_something_else_keeps_the_page_its_visitor_gets_the_session() {
    let opens = |name| sets(name, "PHPSESSID=0123456789abcdef; path=/");
    hold(vec![
        opens("private").line("Cache-Control: private").own("private"),
        opens("private with a lifetime").line("Cache-Control: private, max-age=60").own("private"),
        opens("a redirection of the moment").status("302 Found").line("Location: /").own("not-cacheable"),
        opens("another").status("303 See Other").line("Location: /").own("not-cacheable"),
        opens("not found").status("404 Not Found").own("not-cacheable"),
        opens("forbidden").status("403 Forbidden").own("not-cacheable"),
        opens("credentials wanted").status("401 Unauthorized").line("WWW-Authenticate: Basic").own("not-cacheable"),
        opens("an error").status("500 Internal Server Error").own("not-cacheable"),
        opens("whatever").line("Vary: *").own("vary-star"),
        opens("no-store that holds")
            .line("Cache-Control: no-store")
            .rules(|route| grant(route).ignore.clear())
            .own("no-store"),
        opens("a session passes and may be given another").field("Cookie: PHPSESSID=1").passes_by_session("PHPSESSID"),
    ]);
}

#[test]
fn cookies_that_are_ignored_are_dropped_whatever_their_names() {
    let ignoring = |row: Row| row.rules(|route| grant(route).ignore.push(Ignored::SetCookie));
    hold(vec![
        ignoring(sets("unknown", "remember=tom")).drops("remember"),
        ignoring(sets("without a name", "tom")).drops(""),
        ignoring(sets("with a session", "remember=tom").line("Set-Cookie: PHPSESSID=1")).drops("remember, PHPSESSID"),
        ignoring(sets("its value in the page", "remember=tom-at-home").body("for tom-at-home"))
            .own("cookie-value-in-response"),
        ignoring(sets("who passes", "remember=tom").field("Cookie: sso=1")).passes_by_cookie("sso"),
    ]);
}

#[test]
fn where_a_status_is_granted_a_lifetime_its_session_is_dropped_too() {
    let granted = |row: Row| {
        row.rules(|route| grant(route).ttl_status = vec![StatusTtl { first: 302, last: 404, seconds: 60 }])
            .line("Set-Cookie: PHPSESSID=0123456789abcdef")
    };
    hold(vec![
        granted(row("a redirection")).status("302 Found").line("Location: /next").drops("PHPSESSID").unruled(),
        granted(row("not found")).status("404 Not Found").drops("PHPSESSID").unruled(),
        granted(row("a redirection with the session in it"))
            .status("302 Found")
            .line("Location: /next?s=0123456789abcdef")
            .own("cookie-value-in-response"),
        granted(row("another cookie as well")).status("404 Not Found").line("Set-Cookie: sso=1").own_by_cookie("sso"),
    ]);
}
