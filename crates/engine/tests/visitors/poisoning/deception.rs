//! Web cache deception: a visitor with a session is led to a path that the application reads as the account, and that looks like
//! a file. A client that asks for it afterwards must not get the visitor's page.

use crate::poisoning::application::{Application, Asked, Does};
use crate::poisoning::before;
use kasoku_testkit::{Gate, Setup, ok};

const VICTIM: &str = "Cookie: session=victim";

/// Spellings of `/account` that applications read as such, while a cache in front of them sees a file.
const NAMED_AS_FILES: [&str; 45] = [
    "/account.php/x.css",
    "/account.php/.css",
    "/account.php/x.js",
    "/account/x.png",
    "/account/x.JPG",
    "/account/x.jpeg",
    "/account/x.gif",
    "/account/x.webp",
    "/account/x.avif",
    "/account/x.svg",
    "/account/x.ico",
    "/account/favicon.ico",
    "/account/x.woff2",
    "/account/x.ttf",
    "/account/x.mp4",
    "/account/x.pdf",
    "/account/x.zip",
    "/account/x.csv",
    "/account/x.swf",
    "/account/x%2ecss",
    "/account/../account/x.css",
    "/account/%2e%2e/x.css",
    "/account%2fx.css",
    "/account%2f..%2fx.css",
    "/account;x.css",
    "/account;jsessionid=1/x.css",
    "/account%3bx.css",
    "/account%0ax.css",
    "/account%0d%0ax.css",
    "/account%00x.css",
    "/account%09x.css",
    "/account%20x.css",
    "/account%3fx.css",
    "/account%23x.css",
    "/account%26x.css",
    "/account%5cx.css",
    "/account!x.css",
    "/account$x.css",
    "/account'x.css",
    "/account,x.css",
    "/account:x.css",
    "/account@x.css",
    "/account~x.css",
    "/account|x.css",
    "/account\\x.css",
];

/// Spellings without a suffix of a file: a folder, a parameter, or no addition.
const NOT_NAMED_AS_FILES: [&str; 8] = [
    "/account",
    "/account.php?x.css",
    "/account.php?/x.css",
    "/static/..%2faccount",
    "/static/../account",
    "/robots.txt/..%2f..%2faccount",
    "/account%2f",
    "/wp-content/%2e%2e%2faccount",
];

/// Fields of pages whose application forgot to mark them as private, or marked them for browsers only.
const UNMARKED: [&[&str]; 5] = [
    &[],
    &["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"],
    &["ETag: \"1\""],
    &["Cache-Control: max-age=600"],
    &["Expires: Thu, 31 Dec 2099 23:59:59 GMT"],
];

/// Fields that a rule for static files in front of the application adds to all pages.
const CALLED_PUBLIC: [&[&str]; 4] = [
    &["Cache-Control: public, max-age=600"],
    &["Cache-Control: s-maxage=600"],
    &["Cache-Control: public", "Expires: Thu, 31 Dec 2099 23:59:59 GMT"],
    &["Cache-Control: public, max-age=600", "ETag: \"1\""],
];

fn account(asked: &Asked, marks: &[&'static str]) -> Does {
    let name = asked.field("cookie").map_or("nobody".to_owned(), |cookie| format!("secret of {cookie}"));
    let fields: Vec<&str> = marks.iter().copied().chain(["Content-Type: text/html; charset=utf-8"]).collect();
    Does::Answer(ok(&fields, name))
}

/// The visitor asks, then the attacker does. And the attacker asks while the application holds the visitor's request.
fn attackers_learn_nothing(path: &str, marks: &'static [&'static str]) {
    let application = Application::start(move |asked| account(asked, marks));
    let scene = before(Setup::safe(), &application);
    let visitors = || scene.client().get_with(path, &[VICTIM]).text();
    assert_eq!(visitors(), "secret of session=victim", "{path} {marks:?}");
    assert_eq!(scene.client().get(path).text(), "nobody", "{path} {marks:?}");

    let application = Application::start(move |asked| account(asked, marks));
    let scene = before(Setup::safe(), &application);
    let gate = Gate::new();
    application.holds_next(&gate);
    let [mut visitor, mut attacker, mut other] = [(); 3].map(|()| scene.client());
    visitor.ask("GET", path, &[VICTIM]);
    application.arrived(1);
    attacker.ask("GET", path, &[]);
    other.ask("GET", path, &["Cookie: session=attacker"]);
    scene.settled();
    gate.open();
    assert_eq!(visitor.response().text(), "secret of session=victim", "{path} {marks:?}");
    for attacker in [&mut attacker, &mut other] {
        let got = attacker.response().text();
        assert!(!got.contains("victim"), "{path} {marks:?}: {got}");
    }
}

#[test]
fn what_an_application_forgot_to_mark_stays_the_visitors_own() {
    for path in NAMED_AS_FILES.iter().chain(&NOT_NAMED_AS_FILES) {
        for marks in UNMARKED {
            attackers_learn_nothing(path, marks);
        }
    }
}

#[test]
fn what_a_rule_for_files_calls_public_stays_the_visitors_own_when_it_is_no_such_file() {
    for path in NAMED_AS_FILES {
        for marks in CALLED_PUBLIC {
            attackers_learn_nothing(path, marks);
        }
    }
}

#[test]
fn credentials_count_like_cookies() {
    for marks in CALLED_PUBLIC {
        let application = Application::start(move |asked| {
            let body = asked.field("authorization").unwrap_or("nobody").to_owned();
            let fields: Vec<&str> = marks.iter().copied().chain(["Content-Type: text/html"]).collect();
            Does::Answer(ok(&fields, body))
        });
        let scene = before(Setup::safe(), &application);
        assert_eq!(scene.client().get_with("/account/x.css", &["Authorization: Basic secret"]).text(), "Basic secret");
        assert_eq!(scene.client().get("/account/x.css").text(), "nobody");
    }
}

#[test]
fn a_file_is_shared_also_when_a_visitor_asked_for_it_first() {
    let application = Application::start(|_| {
        Does::Answer(ok(&["Cache-Control: public, max-age=600", "Content-Type: text/css"], "p { color: red }"))
    });
    let scene = before(Setup::safe(), &application);
    scene.client().get_with("/x.css", &[VICTIM]);
    assert!(scene.client().get("/x.css").is_hit());
}
