//! What answers state and contain: the value of a dropped session, cache directives, and types of files.

use super::{Row, answered, hold, row};
use crate::anonymous::{grant, session};
use kasoku_testkit::ok;

const ID: &str = "0123456789abcdef0123456789abcdef";
const SETS: &str = "Set-Cookie: PHPSESSID=0123456789abcdef0123456789abcdef; path=/";
const UUID: &str = "3f2504e0-4f89-11d3-9a0c-0305e82c3301";
const MIB: usize = 1 << 20;

/// An answer that opens a session.
fn opens(name: &'static str) -> Row {
    answered(name, SETS)
}

/// An answer that sets a session of that value, with that body.
fn holds(name: &'static str, value: &str, body: &str) -> Row {
    answered(name, &format!("Set-Cookie: PHPSESSID={value}; path=/")).body(body)
}

/// The same with a noise cookie, which does not keep the page from being stored.
fn noise(name: &'static str, value: &str, body: &str) -> Row {
    answered(name, &format!("Set-Cookie: ck_font_resize_1={value}; path=/")).body(body).drops("ck_font_resize_1")
}

/// A text in UTF-16LE.
fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// A whole answer that opens a session, in chunks.
fn chunked(name: &'static str, chunks: &[&str], trailer: &str) -> Row {
    let chunks: String = chunks.iter().map(|chunk| format!("{:x}\r\n{chunk}\r\n", chunk.len())).collect();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{SETS}\r\nTransfer-Encoding: chunked\r\n\r\n");
    opens(name).bytes(format!("{head}{chunks}0\r\n{trailer}\r\n"))
}

#[test]
fn the_value_of_a_session_makes_a_page_its_visitors_wherever_it_stands() {
    const IN: &str = "cookie-value-in-response";
    let end = [" ".repeat(MIB - ID.len()), ID.to_owned()].concat();
    hold(vec![
        opens("in a link").body(format!("<a href=\"/list.php?PHPSESSID={ID}\">")).own(IN),
        opens("in a form").body(format!("<input type=hidden name=PHPSESSID value={ID}>")).own(IN),
        opens("in a script").body(format!("var s='{ID}';")).typed("application/javascript").own(IN),
        opens("in the middle of a word").body(format!("x{ID}x")).own(IN),
        opens("at the very end of a mebibyte").body(end).own(IN),
        chunked("split over chunks", &["<a href=\"?s=0123456789abc", "def0123456789abcdef\">"], "").own(IN),
        chunked("a chunk for each byte", &ID.split("").filter(|one| !one.is_empty()).collect::<Vec<_>>(), "").own(IN),
        chunked("in a trailer", &["page"], &format!("X-Session: {ID}\r\n")).own(IN),
        opens("in Location").status("301 Moved Permanently").line(&format!("Location: /?PHPSESSID={ID}")).own(IN),
        opens("in Link").line(&format!("Link: </a.css?s={ID}>; rel=preload")).own(IN),
        opens("in Refresh").line(&format!("Refresh: 5; url=/?s={ID}")).own(IN),
        opens("in an unknown field").line(&format!("X-Session: {ID}")).own(IN),
        opens("in an ETag").line(&format!("ETag: \"{ID}\"")).own(IN),
        holds("seven bytes", "1234567", "<a href=\"/x?id=1234567&a=1\">").own(IN),
        holds("seven bytes, encoded", "1234567", "?u=%2F%3Fid%3D1234567").own(IN),
        holds("three bytes, with their name", "123", "/?PHPSESSID=123").own(IN),
        holds("eight bytes", "abcd1234", "x abcd1234 x").own(IN),
        holds("a session that is a number", "1732000000", "x 1732000000 x").own(IN),
        answered("a number, of a name that only the operator knows", "Set-Cookie: portal=123456789012")
            .rules(|route| session(route).cookies.push("portal".to_owned()))
            .body("<a href=\"/x?p=123456789012\">")
            .own(IN),
        holds("sixteen digits", "1732000000173200", "x 1732000000173200 x").own(IN),
        holds("quoted in the cookie", "\"abcd1234efgh\"", "x abcd1234efgh x").own(IN),
        holds("signed, a UUID", &format!("s%3A{UUID}.Q2b%2FaB3dE6gH9"), &format!("var id='{UUID}'")).own(IN),
        holds(
            "signed, in the letters of URLs",
            "s%3AaB3-cD4_eF5gH6-iJ7kL8_mN9oP0-qR1.Q2b",
            "x aB3-cD4_eF5gH6-iJ7kL8_mN9oP0-qR1 x",
        )
        .own(IN),
        holds("with its server", "AbCd/EfGh+IjKl/MnOp!1234567890!NONE", "x AbCd/EfGh+IjKl/MnOp!1234567890 x").own(IN),
        holds("in base64 in the cookie", "M2YyNTA0ZTAtNGY4OS0xMWQzLTlhMGMtMDMwNWU4MmMzMzAx", UUID).own(IN),
        holds("behind a word", "u1:aB3dE6gH9jK2", "?p=aB3dE6gH9jK2").own(IN),
        holds("encoded in the cookie", "ab%2Ccd%2Cef01", "x ab,cd,ef01 x").own(IN),
        holds("encoded in both", "ab%2Ccd%2Cef01", "x ab%2Ccd%2Cef01 x").own(IN),
        holds("encoded in the page", "ab/cd+ef01==", "?s=ab%2Fcd%2Bef01%3D%3D").own(IN),
        holds("encoded in the page, in lower case", "ab/cd+ef01==", "?s=ab%2fcd%2bef01%3d%3d").own(IN),
        holds("encoded by another hand", "ab/cd+ef01==", "?s=ab/cd%2Bef01==").own(IN),
        holds("as JSON has it", "ab/cd+ef01==", "{\"s\":\"ab\\/cd+ef01==\"}").own(IN),
        answered("of noise", "Set-Cookie: _ga=GA1.2.3456").body("GA1.2.3456").own(IN),
        opens("of the second of two").line("Set-Cookie: G5PHPSESSID=fedcba98").body("fedcba98").own(IN),
    ]);
}

#[test]
fn what_is_no_session_does_not_make_a_page_its_visitors() {
    let full = " ".repeat(MIB);
    hold(vec![
        opens("a page without it").drops("PHPSESSID"),
        opens("half of it").body("0123456789abcdef 0123456789abcde").drops("PHPSESSID"),
        opens("a mebibyte").body(&full).drops("PHPSESSID"),
        opens("no body").body("").drops("PHPSESSID"),
        holds("seven bytes in a word", "abc1234", "xabc1234 abc12345").drops("PHPSESSID"),
        holds("three bytes", "123", "x 123 x").drops("PHPSESSID"),
        holds("a word", "none", "display:none").drops("PHPSESSID"),
        noise("seven bytes of noise", "abc1234", "x abc1234 x"),
        holds("what browsers are told to forget", "deleted", "this was deleted").drops("PHPSESSID"),
        holds("nothing", "", "x").drops("PHPSESSID"),
        holds("another UUID", &format!("s%3A{UUID}.Q2b"), "3f2504e0-4f89-11d3-9a0c-0305e82c3302").drops("PHPSESSID"),
        noise("a date", "2026-11-22", "on 2026-11-22"),
        noise("a moment", "2026-11-22T10%3A00%3A00.000Z", "<time datetime=2026-11-22T10:00:00.000Z>"),
        noise("a language", "zh-Hant-TW", "<html lang=zh-Hant-TW>"),
        noise("a choice in base64", "eyJsYW5nIjoia28ifQ==", "{\"lang\":\"ko\"}"),
        opens("the value of another with the same")
            .line("Set-Cookie: G5PHPSESSID=0123456789abcdef0123456789abcdef")
            .drops("PHPSESSID, G5PHPSESSID"),
        chunked("in chunks", &["<a href=\"?s=0123456789abc", "not\">"], "").drops("PHPSESSID"),
        opens("UTF-8").typed("text/html; charset=UTF-8").body("\u{feff}page").drops("PHPSESSID"),
        opens("another of a byte each").typed("text/html; charset=euc-kr").drops("PHPSESSID"),
        opens("a coding that is none").line("Content-Encoding: identity").drops("PHPSESSID"),
    ]);
}

#[test]
fn what_cannot_be_looked_through_is_its_visitors() {
    const UNSEEN: &str = "cookie-value-unchecked";
    let long = " ".repeat(4 * MIB + 1);
    let pieces = [&*long];
    hold(vec![
        opens("longer than 4 mebibytes").body(&long).own(UNSEEN),
        chunked("longer than 4 mebibytes, as it turns out", &pieces, "").own(UNSEEN),
        opens("gzip").line("Content-Encoding: gzip").body([0x1f, 0x8b, 8, 0]).own(UNSEEN),
        opens("br").line("Content-Encoding: br").body([0x0b]).own(UNSEEN),
        opens("two codings").line("Content-Encoding: identity, gzip").body([0x1f, 0x8b]).own(UNSEEN),
        opens("UTF-16").typed("text/html; charset=UTF-16LE").body(wide(ID)).own(UNSEEN),
        opens("UTF-16, quoted").typed("text/html; Charset=\"utf-16\"").body(wide(ID)).own(UNSEEN),
        opens("UTF-32").typed("text/html;charset=utf-32").own(UNSEEN),
        opens("an older name of it").typed("text/html; charset=ISO-10646-UCS-2").own(UNSEEN),
        opens("UTF-16 by its mark alone").body([&[0xff, 0xfe], &*wide(ID)].concat()).own(UNSEEN),
        opens("the other way round").body([0xfe, 0xff, 0, b'x']).own(UNSEEN),
        opens("XML without a mark").typed("application/xml").body(wide("<?xml")).own(UNSEEN),
        row("UTF-16, and no session").typed("text/html; charset=utf-16le").body(wide(ID)).shared(),
        row("longer, and no session").body(&long).shared(),
        row("gzip, and no session").line("Content-Encoding: gzip").body([0x1f, 0x8b, 8, 0]).shared(),
    ]);
}

#[test]
fn words_about_keeping_count_but_for_those_that_are_overruled() {
    let strict = |row: Row| row.rules(|route| grant(route).ignore.clear());
    let says = |name, line: &str| answered(name, line);
    hold(vec![
        says("no-store", "Cache-Control: no-store").shared(),
        says("no-cache", "Cache-Control: No-Cache").shared(),
        says("max-age=0", "Cache-Control: max-age=0, must-revalidate").shared(),
        says("in two lines", "Cache-Control: no-store")
            .line("Cache-Control: no-cache, post-check=0, pre-check=0")
            .shared(),
        says("Expires: 0", "Expires: 0").shared(),
        says("Expires: -1", "Expires: -1").shared(),
        says("Pragma alone", "Pragma: no-cache").shared(),
        says("no-store for networks", "CDN-Cache-Control: no-store").shared(),
        says("private", "Cache-Control: private").own("private"),
        says("private beside what is overruled", "Cache-Control: no-store, PRIVATE").own("private"),
        says("private in a second line", "Cache-Control: no-store").line("Cache-Control: private").own("private"),
        says("private for networks", "CDN-Cache-Control: private").own("private"),
        says("s-maxage=0", "Cache-Control: s-maxage=0").own("expired"),
        strict(says("no-store that holds", "Cache-Control: no-store")).own("no-store"),
        strict(says("no-cache that holds", "Cache-Control: no-cache")).own("no-cache-no-validator"),
        strict(says("Expires that holds", "Expires: 0")).own("expired"),
        says("Vary: Cookie", "Vary: Cookie").shared(),
        says("Vary by what no shared request has", "Vary: HX-Request, X-Anything, Accept-Encoding").shared(),
        says("Vary: *", "Vary: *").own("vary-star"),
        says("Vary: * among others", "Vary: Cookie, *").own("vary-star"),
        says("Vary by a class", "Vary: User-Agent").rules(|route| grant(route).key_device = true).shared(),
        says("an edge's own words", "Surrogate-Control: content=\"ESI/1.0\"")
            .body("<esi:include src=\"/cart\"/>")
            .shared(),
    ]);
}

#[test]
fn a_page_is_not_kept_under_the_name_of_a_file() {
    const NOT: &str = "content-type-mismatch";
    let at = |target: &'static str, media_type| row(target).target(target).typed(media_type);
    let untyped = || row("no type").target("/x.css").bytes(ok(&[], "page"));
    hold(vec![
        at("/account.php/x.css", "text/html").own(NOT),
        at("/account.php/x.CSS?v=1", "text/html; charset=utf-8").own(NOT),
        at("/account;x.js", "text/html").own(NOT),
        at("/account%2fx.png", "text/html").own(NOT),
        at("/account/x%2ejpg", "text/html").own(NOT),
        at("/account/x.js", "application/json").own(NOT),
        at("/account/x.png", "application/xhtml+xml").own(NOT),
        at("/account/x.woff2", "text/plain").own(NOT),
        untyped().own(NOT),
        at("/x.css", "text/css").shared(),
        at("/x.js", "application/javascript; charset=utf-8").shared(),
        at("/x.jpg", "image/webp").shared(),
        // Programs make pages of downloads, and an anonymous request holds nothing of a visitor.
        at("/man/bash.1.gz?type=man", "text/html").shared(),
        at("/boats.csv?_stream=on", "text/plain").shared(),
        at("/x.html", "text/html").shared(),
        at("/x.php", "text/html").shared(),
        at("/a.css/", "text/html").shared(),
        at("/x?file=y.css", "text/html").shared(),
        at("/account.php/x.css", "text/html").field("Cookie: PHPSESSID=1").passes_by_session("PHPSESSID"),
    ]);
}
