//! Cookies of requests: odd ones, and ones that resemble others.

use super::{Row, hold, row, with_cookie};
use crate::anonymous::{cookie, names, session};
use kasoku_options::OtherCookies;

#[test]
fn cookies_that_change_no_page_are_set_aside() {
    let long = format!("_ga={}", "a".repeat(4000));
    let many: Vec<String> = (0..60).map(|number| format!("_ga_{number}=GS1.1.{number}")).collect();
    hold(vec![
        row("no cookie at all").shared(),
        with_cookie("analytics", "_ga=GA1.2.3.4").shared(),
        with_cookie("several of them", "_ga=1; _gid=2; _fbp=fb.1.2").shared(),
        with_cookie("no equals sign", "_ga").shared(),
        with_cookie("no value", "_ga=").shared(),
        with_cookie("a quoted value", "_ga=\"a b\"").shared(),
        with_cookie("spaces in the value", "_ga=a b c").shared(),
        with_cookie("spaces around everything", "   _ga = 1 ;   _gid  =2  ").shared(),
        with_cookie("semicolons and nothing between", ";;; ; _ga=1;;").shared(),
        with_cookie("a line with nothing in it", "").shared(),
        with_cookie("a line with a semicolon in it", ";").shared(),
        with_cookie("one in each of two lines", "_ga=1").field("Cookie: _gid=2").shared(),
        row("a field name in lower case").field("cookie: _ga=1").shared(),
        with_cookie("a long one", &long).shared(),
        with_cookie("sixty", &many.join("; ")).shared(),
        with_cookie("the name of a session in a value", "_ga=PHPSESSID=1234").shared(),
        with_cookie("a comma, as in RFC 2965: one cookie, which is taken away", "_ga=1, PHPSESSID=1234").shared(),
        with_cookie("an md5 name of the list", "2a0d2363701f23f8a75028924a3af643=192.0.2.1").shared(),
        with_cookie("a name that a glob fits", "ck_font_resize_class=ts_up").shared(),
        with_cookie("bytes beyond ASCII in a value", "_ga=caf\u{e9}").shared(),
    ]);
}

#[test]
fn a_session_passes_however_it_is_written() {
    let long = format!("PHPSESSID={}", "a".repeat(4000));
    let is = |name, cookies: &str| with_cookie(name, cookies).passes_by_session("PHPSESSID");
    hold(vec![
        is("a session", "PHPSESSID=0123456789abcdef"),
        is("no equals sign", "PHPSESSID"),
        is("no value", "PHPSESSID="),
        is("a quoted value", "PHPSESSID=\"0123\""),
        is("equals signs in the value", "PHPSESSID=a=b=c"),
        is("spaces around everything", "   PHPSESSID = 1"),
        is("a tab before it", "_ga=1;\tPHPSESSID=1"),
        is("nothing between", "_ga=1;PHPSESSID=1"),
        is("behind noise", "_ga=1; _gid=2; PHPSESSID=1"),
        is("before noise", "PHPSESSID=1; _ga=1"),
        is("twice", "PHPSESSID=1; PHPSESSID=2"),
        is("behind an unknown cookie", "sso=1; PHPSESSID=1"),
        is("a value as logged-out browsers have it", "PHPSESSID=deleted"),
        is("a long one", &long),
        with_cookie("in a second line", "_ga=1").field("Cookie: PHPSESSID=1").passes_by_session("PHPSESSID"),
        row("a field name in upper case").field("COOKIE: PHPSESSID=1").passes_by_session("PHPSESSID"),
        with_cookie("a glob with nothing in its place", "G5PHPSESSID=1").passes_by_session("G5PHPSESSID"),
        with_cookie("a glob", "G5abcPHPSESSID=1").passes_by_session("G5abcPHPSESSID"),
        with_cookie("two names", "G5PHPSESSID=1; PHPSESSID=2").passes_by_session("G5PHPSESSID"),
    ]);
}

#[test]
fn what_looks_like_a_listed_name_is_not_it() {
    let is = |name, cookies: &str, which| with_cookie(name, cookies).passes_by_cookie(which);
    let many: Vec<String> = (0..40).map(|number| format!("_ga_{number}=1")).chain(["last=1".to_owned()]).collect();
    hold(vec![
        is("single sign-on", "sso=1", "sso"),
        is("another session", "session=0123", "session"),
        is("a name without a value", "remember_me", "remember_me"),
        is("a value without a name", "=abc", ""),
        is("lower case", "phpsessid=1", "phpsessid"),
        is("a longer name", "PHPSESSID2=1", "PHPSESSID2"),
        is("something in front", "xPHPSESSID=1", "xPHPSESSID"),
        is("a shorter name", "PHPSESSI=1", "PHPSESSI"),
        is("percent-encoded, which PHP undoes", "PHPSESS%49D=1", "PHPSESS%49D"),
        is("a prefix of browsers", "__Host-session=1", "__Host-session"),
        is("another prefix of browsers", "__Secure-PHPSESSID=1", "__Secure-PHPSESSID"),
        is("noise in upper case", "_GA=1", "_GA"),
        is("a name that noise begins", "_gax=1", "_gax"),
        is("something before noise", "x_ga=1", "x_ga"),
        is("noise with something behind it", "_ga-x=1", "_ga-x"),
        is("a glob's beginning alone", "ck_font_resize=1", "ck_font_resize"),
        is("automatic login, an md5 name", "a3e94372a6379bc1ae3698dfdf38595b=1", "a3e94372a6379bc1ae3698dfdf38595b"),
        is("an md5 name in upper case", "2A0D2363701F23F8A75028924A3AF643=1", "2A0D2363701F23F8A75028924A3AF643"),
        is("an md5 name cut short", "2a0d2363701f23f8a75028924a3af64=1", "2a0d2363701f23f8a75028924a3af64"),
        is("the version of RFC 2965", "$Version=1; _ga=1", "$Version"),
        is("WordPress", "_ga=1; wordpress_logged_in_5f=tom%7C1", "wordpress_logged_in_5f"),
        is("a comma in a name", "a,PHPSESSID=1", "a,PHPSESSID"),
        is("the last of many", &many.join("; "), "last"),
        is("a name that can't stand in a String", "caf\u{e9}=1", "caf??"),
        is("in a second line", "_ga=1", "sso").field("Cookie: sso=1"),
        with_cookie("in the first line", "sso=1").field("Cookie: _ga=1").passes_by_cookie("sso"),
    ]);
}

#[test]
fn credentials_of_http_pass_whatever_stands_beside_them() {
    let basic = || row("Basic").field("Authorization: Basic dG9tOng=");
    hold(vec![
        basic().passes("pass-authorization"),
        basic().field("Cookie: _ga=1").passes("pass-authorization"),
        basic().field("Cookie: PHPSESSID=1").passes("pass-authorization"),
        basic().field("Cookie: sso=1").passes("pass-authorization"),
        row("a token").field("authorization: Bearer x").passes("pass-authorization"),
        row("nothing").field("Authorization:").passes("pass-authorization"),
        row("where cookies are taken away")
            .field("Authorization: Negotiate x")
            .rules(|route| route.cookies.others = Some(OtherCookies::Remove))
            .passes("pass-authorization"),
    ]);
}

#[test]
fn what_becomes_of_an_unknown_cookie_is_as_the_rules_say() {
    let removing = |row: Row| row.rules(|route| route.cookies.others = Some(OtherCookies::Remove));
    let listing = |row: Row| removing(row).rules(|route| route.cookies.pass = names(&["member_*", "_ga"]));
    hold(vec![
        removing(with_cookie("removed", "sso=1")).shared(),
        removing(with_cookie("a session all the same", "sso=1; PHPSESSID=1")).passes_by_session("PHPSESSID"),
        listing(with_cookie("one of the list", "sso=1; member_1=x")).passes("pass-cookie").by("member_1", 5),
        listing(with_cookie("one of the list, though it is noise", "_ga=1")).passes("pass-cookie").by("_ga", 5),
        listing(with_cookie("one of the list before a session", "PHPSESSID=1; member_1=x"))
            .passes("pass-cookie")
            .by("member_1", 5),
        listing(with_cookie("none of the list", "sso=1; _gid=2")).shared(),
        listing(with_cookie("none of the list, and a session", "PHPSESSID=1")).passes_by_session("PHPSESSID"),
        listing(with_cookie("nearly one of the list", "member=1; Member_1=x")).shared(),
        with_cookie("nothing is noise", "_ga=1").rules(|route| route.cookies.noise.clear()).passes_by_cookie("_ga"),
        with_cookie("everything is noise, but sessions", "sso=1; PHPSESSID=1")
            .rules(|route| route.cookies.noise = names(&["*"]))
            .passes_by_session("PHPSESSID"),
    ]);
}

#[test]
fn a_cookie_says_who_is_anonymous_by_its_value_alone() {
    let telling = |name, cookies: &str| {
        with_cookie(name, cookies).rules(|route| {
            session(route).anonymous_cookies = vec![cookie("rx_login_status", "none"), cookie("g", "0*")]
        })
    };
    hold(vec![
        telling("with a session", "PHPSESSID=1; rx_login_status=none").shared(),
        telling("before it, and noise", "rx_login_status=none; _ga=1; PHPSESSID=1").shared(),
        telling("without a session", "rx_login_status=none").shared(),
        telling("a glob", "PHPSESSID=1; g=0.5").shared(),
        telling("another value", "PHPSESSID=1; rx_login_status=1f").passes_by_session("PHPSESSID"),
        telling("another value, and no session", "rx_login_status=1f").passes_by_session("rx_login_status"),
        telling("no value", "rx_login_status=").passes_by_session("rx_login_status"),
        telling("upper case", "rx_login_status=NONE").passes_by_session("rx_login_status"),
        telling("quoted", "PHPSESSID=1; rx_login_status=\"none\"").passes_by_session("PHPSESSID"),
        telling("longer", "PHPSESSID=1; rx_login_status=nonesuch").passes_by_session("PHPSESSID"),
        telling("both values", "PHPSESSID=1; rx_login_status=none; rx_login_status=1f").passes_by_session("PHPSESSID"),
        telling("two that disagree", "PHPSESSID=1; rx_login_status=none; g=1").passes_by_session("PHPSESSID"),
        telling("another name", "PHPSESSID=1; Rx_login_status=none").passes_by_session("PHPSESSID"),
        telling("an unknown cookie beside it", "PHPSESSID=1; rx_login_status=none; sso=1").passes_by_cookie("sso"),
    ]);
}
