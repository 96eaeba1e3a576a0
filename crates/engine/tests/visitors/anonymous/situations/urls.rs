//! URLs: credentials in them, and patterns whose requests pass.

use super::{Row, hold, row};
use crate::anonymous::{names, policy};

fn at(target: &'static str) -> Row {
    row(target).target(target)
}

#[test]
fn a_parameter_that_is_named_like_a_credential_passes() {
    let targets = [
        "/page?PHPSESSID=0123",
        "/page?phpsessid=0123",
        "/page?a=1&PHPSESSID=0123",
        "/page?sid=1",
        "/page?SID=1&a=2",
        "/page?token=x",
        "/page?access_token=x",
        "/page?id_token=x",
        "/page?password=x",
        "/page?api_key=x",
        "/page?jwt=x",
        "/page?_wpnonce=x",
        "/page?sessionid=",
        "/page?sid",
        "/page?&&sid=1&",
        "/page?%73id=1",
        "/page?%50HPSESS%49D=1",
        "/page?s%69d",
        "/page?a=1;sid=2",
        "/page?sid=1;a=2",
        "/page?a=%26&token=2",
        "/page?sid[]=1",
        "/page?PHPSESSID%5B0%5D=1",
        "/page?+sid=1",
        "/page?%20PHPSESSID=1",
        "/page;jsessionid=1",
        "/page;JSESSIONID=1?a=2",
        "/a;jsessionid=1/page",
        "/page;v=1;jsessionid=2",
        "/page;jsessioni%64=1",
        "/page?G5PHPSESSID=1",
        "/page?ASPSESSIONIDABCD=1",
        "/page?ticket=ST-12-abc",
        "/page?a=?sid=1&sid=2",
        "/page?reset_password_token=x",
        "/page?user_token=x",
        "/(S(lit3py55t21z5v55vlm25s55))/page",
        "/shop/(X(1)S(lit3py55)F(x))/page?a=1",
    ];
    hold(targets.map(|target| at(target).passes("pass-credential-in-url")).into());
}

#[test]
fn a_parameter_that_only_looks_like_one_is_no_credential() {
    let targets = [
        "/page?a=1",
        "/page?side=1",
        "/page?a=sid",
        "/page?a=PHPSESSID",
        "/page?outsid=1",
        "/page?tokens=1",
        "/page?session=5",
        "/page?key=2",
        "/page?ticket=12",
        "/sid/page",
        "/page;v=1",
        "/jsessionid=1",
        "/a(S(b))/page",
        "/(b)/page",
        "/page?",
        "/page?=sid",
        "/page?a==&b",
    ];
    hold(targets.map(|target| at(target).shared()).into());
}

#[test]
fn what_is_taken_from_key_and_request_is_no_credential_any_more() {
    let without = |target| {
        at(target)
            .rules(|route| route.query.ignore = names(&["sid", "utm_*"]))
            .rules(|route| route.key.path_parameters = names(&["jsessionid"]))
    };
    hold(vec![
        without("/page?sid=1").shared(),
        without("/page?a=1&sid=1&utm_source=x").shared(),
        without("/page;jsessionid=1").shared(),
        without("/a;jsessionid=1/page;v=2?sid=3").shared(),
        without("/page?SID=1").passes("pass-credential-in-url"),
        without("/page?%73id=1").passes("pass-credential-in-url"),
        without("/page?sid=1&token=2").passes("pass-credential-in-url"),
        without("/page;JSESSIONID=1").passes("pass-credential-in-url"),
    ]);
}

#[test]
fn urls_of_the_list_pass_however_they_are_written() {
    let targets = [
        "/login.php",
        "/login_check.php?url=x",
        "/%6cogin.php",
        "/l%6Fgin%2ephp",
        "//login.php",
        "/./login.php",
        "/a/../login.php",
        "/a/%2e%2e/login.php",
        "/page?preview",
        "/page?preview=true",
        "/page?a=1&preview=true",
        "/page?a=1&%70review",
        "/page?p=1;preview=true",
        "/page?act=dispMemberForm",
        "/page?mid=x&act=dispBoardWriteForm",
        "/page?act=disp%4demberForm",
        "/page?act=x&act=dispMemberForm",
    ];
    hold(targets.map(|target| at(target).passes("pass-url").by_line(3)).into());
}

#[test]
fn urls_that_only_look_like_those_of_the_list_do_not_pass() {
    let targets = [
        "/page",
        "/Login.php",
        "/x/login.php",
        "/login.html",
        "/page?previews=1",
        "/page?xpreview",
        "/page?a=preview",
        "/page?act=dispBoard",
        "/page?act=dispMemberForms",
        "/page?xact=dispMemberForm",
        "/page?act",
    ];
    hold(targets.map(|target| at(target).shared()).into());
}

#[test]
fn what_passes_for_its_url_passes_for_everybody_whatever_it_brings_and_gets() {
    hold(vec![
        at("/login.php").field("Cookie: PHPSESSID=1").passes("pass-url").by_line(3),
        at("/login.php").field("Cookie: _ga=1").passes("pass-url").by_line(3),
        at("/login.php").field("Authorization: Basic x").passes("pass-url").by_line(3),
        at("/login.php").line("Set-Cookie: PHPSESSID=0123456789abcdef").passes("pass-url").by_line(3),
        at("/login.php").line("Cache-Control: public, s-maxage=600").passes("pass-url").by_line(3),
        at("/login.php?sid=1").passes("pass-url").by_line(3),
        at("/logout.php").passes("pass-url").by_line(7),
        at("/logout.php?url=x").field("Cookie: PHPSESSID=1").passes("pass-url").by_line(7),
        at("/page").rules(|route| route.pass = true).passes("pass-rule").by_line(9),
        at("/login.php").rules(|route| route.pass = true).passes("pass-rule").by_line(9),
    ]);
}

#[test]
fn where_nothing_is_granted_credentials_and_sessions_pass_all_the_same() {
    let plain = |row: Row| {
        row.rules(|route| policy(route).grant.ttl_override_seconds = 0)
            .line("Cache-Control: public, max-age=60, s-maxage=60")
    };
    hold(vec![
        plain(at("/page?PHPSESSID=1")).passes("pass-credential-in-url"),
        plain(at("/login.php")).passes("pass-url").by_line(3),
        plain(row("a session").field("Cookie: PHPSESSID=1")).passes_by_session("PHPSESSID"),
        plain(row("unknown").field("Cookie: sso=1")).passes_by_cookie("sso"),
        plain(row("nobody")).shared().unruled(),
        plain(row("a session is set").line("Set-Cookie: PHPSESSID=1")).own_by_cookie("PHPSESSID"),
    ]);
}
