//! Document roots in front of application servers, and SCGI: which file answers for which path, with either protocol.

use kasoku_engine::Engine;
use kasoku_testkit::application::{prints, turn};
use kasoku_testkit::{Application, Client, Ending, Setup, Turn};
use std::fs;
use std::path::{Path, PathBuf};

const HTML: &str = "Content-Type: text/html\n\n";

/// A directory that is removed when it is dropped.
struct Root(PathBuf);

impl Root {
    /// A directory with these files. Names that end in `/` are directories.
    fn new(name: &str, files: &[&str]) -> Self {
        let root = std::env::temp_dir().join(format!("kasoku-root-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("file {file}")).unwrap();
        }
        Self(root.canonicalize().unwrap())
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The settings for WordPress and similar applications.
fn php(root: &Path, try_files: &[&str]) -> Setup {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    Setup::safe().route(|route| {
        route.gateway.root = Some(root.to_owned());
        route.gateway.index = texts(&["index.php", "index.html"]);
        route.gateway.script_suffixes = texts(&[".php"]);
        route.gateway.try_files = texts(try_files);
    })
}

fn start(setup: Setup, application: &Application) -> (Engine, Client) {
    let engine = setup.site(&[], |route| route.origins = vec![application.address()]).run_without_origin();
    let client = Client::connect(engine.addresses()[0]);
    (engine, client)
}

fn turns(count: usize) -> Vec<Turn> {
    vec![prints(HTML); count]
}

#[test]
fn a_script_is_named_by_its_file_and_path_info_is_what_follows_it() {
    let root = Root::new("script", &["index.php", "blog/index.php", "blog/post.php"]);
    let application = Application::fastcgi(turns(4));
    let (_engine, mut client) = start(php(&root.0, &[]), &application);
    for (number, (target, script, file, info)) in [
        ("/", "/index.php", "index.php", "-"),
        ("/blog/?p=1", "/blog/index.php", "blog/index.php", "-"),
        ("/blog/post.php", "/blog/post.php", "blog/post.php", "-"),
        ("/blog/post.php/2024/a%20b?c", "/blog/post.php", "blog/post.php", "/2024/a b"),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(client.get(target).status, 200, "{target}");
        let call = application.call(number);
        assert_eq!(call.param("SCRIPT_NAME"), script, "{target}");
        assert_eq!(call.param("SCRIPT_FILENAME"), root.file(file));
        assert_eq!(call.param("DOCUMENT_ROOT"), root.0.to_str().unwrap());
        assert_eq!((call.param("PATH_INFO"), call.param("REQUEST_URI")), (info, target));
        let document_uri = if info == "-" { script.to_owned() } else { [script, info].concat() };
        assert_eq!(call.param("DOCUMENT_URI"), document_uri);
    }
}

#[test]
fn other_files_are_served_from_here_and_no_source_is() {
    let root = Root::new("static", &["a.css", "a.jpg", "config.inc.php~", ".env", "dir/b.txt", "A.PHP"]);
    let application = Application::fastcgi([]);
    let (_engine, mut client) = start(php(&root.0, &[]), &application);
    let css = client.get("/a.css");
    assert_eq!((css.status, css.text().as_str()), (200, "file a.css"));
    assert!(css.field("content-type").starts_with("text/css"));
    assert_eq!(client.get("/dir/b.txt").status, 200);
    for target in ["/none.php", "/a.jpg/x.php", "/a.css/x.php/y", "/config.inc.php~", "/.env", "/A.PHP", "/dir/none"] {
        let response = client.get(target);
        assert!(matches!(response.status, 403 | 404), "{target}: {response:?}");
        assert!(!response.text().contains("file"));
    }
    assert_eq!(application.count(), 0);
}

#[test]
fn a_front_controller_answers_for_what_is_no_file() {
    let root = Root::new("front", &["index.php", "a.css", "wp-admin/index.php"]);
    let application = Application::fastcgi(turns(2));
    let (_engine, mut client) = start(php(&root.0, &["{path}", "{path}/", "/index.php"]), &application);
    assert_eq!(client.get("/a.css").text(), "file a.css");
    client.get("/2024/hello?x=y");
    let call = application.call(0);
    assert_eq!((call.param("SCRIPT_NAME"), call.param("REQUEST_URI")), ("/index.php", "/2024/hello?x=y"));
    assert_eq!((call.param("QUERY_STRING"), call.param("PATH_INFO")), ("x=y", "-"));
    client.get("/wp-admin/");
    assert_eq!(application.call(1).param("SCRIPT_NAME"), "/wp-admin/index.php");
    let redirect = client.get("/wp-admin?a=b");
    assert_eq!((redirect.status, redirect.field("location").as_str()), (301, "/wp-admin/?a=b"));
}

#[test]
fn an_application_without_a_root_gets_the_whole_path_below_its_prefix() {
    let application = Application::fastcgi(turns(3));
    let setup = Setup::safe().route(|route| route.gateway.url_prefix = "/app".to_owned());
    let (_engine, mut client) = start(setup, &application);
    for (number, (target, info)) in
        [("/app/x%20y/../z", "/z"), ("/app", "-"), ("/app/%E2%82%AC", "/\u{20ac}")].into_iter().enumerate()
    {
        assert_eq!(client.get(target).status, 200, "{target}");
        let call = application.call(number);
        assert_eq!((call.param("SCRIPT_NAME"), call.param("PATH_INFO")), ("/app", info));
    }
    for target in ["/other", "/app/%00", "/app/%ff", "/../app"] {
        assert_eq!(client.get(target).status, 404, "{target}");
    }
}

#[test]
fn scgi_is_told_the_same_and_its_answer_ends_with_the_connection() {
    let root = Root::new("scgi", &["index.php"]);
    let answer = || turn().sends("Status: 201 Made\r\nContent-Type: text/plain\r\n\r\nhel").sends("lo");
    let application = Application::scgi([answer(), answer()]);
    let (_engine, mut client) = start(php(&root.0, &[]), &application);
    assert_eq!(client.get("/index.php/a?b").short(), (201, "hello".to_owned()));
    assert_eq!(client.send_body("POST", "/", &["Content-Type: text/plain"], "body").status, 201);
    let (get, post) = (application.call(0), application.call(1));
    assert_eq!((get.param("SCGI"), get.param("CONTENT_LENGTH"), get.param("REQUEST_METHOD")), ("1", "0", "GET"));
    assert_eq!(get.param("SCRIPT_FILENAME"), root.file("index.php"));
    assert_eq!((get.param("PATH_INFO"), get.param("QUERY_STRING")), ("/a", "b"));
    assert_eq!((post.param("CONTENT_LENGTH"), &post.stdin[..]), ("4", &b"body"[..]));
}

#[test]
fn what_scgi_can_tell_of_a_cut_answer_it_tells() {
    let failures = [
        (turn(), 502, "origin-closed-early"),
        (turn().sends("Content-Type: a/b\n"), 502, "program-ended"),
        (turn().sends("nonsense\n\n"), 502, "program-malformed"),
    ];
    for (turn, status, reason) in failures {
        let application = Application::scgi([turn]);
        let (_engine, mut client) = start(Setup::safe(), &application);
        let response = client.get("/");
        assert_eq!((response.status, response.detail().as_str()), (status, reason));
    }
    let application = Application::scgi([turn().sends("Content-Type: a/b\nContent-Length: 9\n\nhalf")]);
    let (_engine, mut client) = start(Setup::safe().route(|route| route.pass = true), &application);
    assert_eq!(client.ask("GET", "/", &[]).cut_response().ending, Ending::Cut);
}
