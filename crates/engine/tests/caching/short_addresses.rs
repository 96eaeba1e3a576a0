//! Short addresses of scripts, and directories whose scripts do not run: which requests an application server gets, and which it
//! does not.

use kasoku_options::{Gateway, OriginAddress, PathGlob, Rewrite, Route};
use kasoku_testkit::application::{prints, turn};
use kasoku_testkit::{Application, Folder, Scenario, Setup};

const HTML: &str = "Content-Type: text/html\r\nCache-Control: max-age=60\r\n\r\n";
const PRIVATE: &str = "Content-Type: text/html\r\nCache-Control: private\r\n\r\n";

/// The files of a gnuboard5 board, with uploads.
fn board() -> Folder {
    let folder = Folder::new();
    for file in ["index.php", "bbs/board.php", "data/file/x.php", "data/file/x.PHP", "data/file/x.phtml"] {
        folder.write(file, "SOURCE");
    }
    folder.write("about.html", "about us");
    folder.write("data/file/a.jpg", "a picture");
    folder
}

fn rules(gateway: &mut Gateway, folder: &Folder) {
    gateway.root = Some(folder.path().to_owned());
    gateway.index = vec!["index.php".to_owned()];
    gateway.no_programs = vec![PathGlob::new("/data/*")];
    gateway.rewrites = [
        "/{bo_table:word} => /bbs/board.php?bo_table={bo_table}&rewrite=1",
        "/{bo_table:word}/{wr_id:digits} => /bbs/board.php?bo_table={bo_table}&wr_id={wr_id}&rewrite=1",
        "/{bo_table:word}/{title}/ => /bbs/board.php?bo_table={bo_table}&wr_seo_title={title}&rewrite=1",
        "/file/{name:word} => /data/file/{name}.php",
    ]
    .map(|line| Rewrite::parse(line).unwrap())
    .to_vec();
}

/// Kasoku in front of that application server, with the rules of the board.
fn serve(folder: &Folder, application: &Application, change: impl FnOnce(&mut Route)) -> Scenario {
    let setup = Setup::safe().site(&[], |route| {
        route.origins = vec![application.address()];
        rules(&mut route.gateway, folder);
        change(route);
    });
    setup.run_with_own_origins()
}

#[test]
fn a_script_is_asked_by_its_own_name_and_told_the_address_as_it_was_sent() {
    for application in [Application::fastcgi([prints(HTML)]), Application::scgi([turn().sends(HTML).closes()])] {
        let folder = board();
        let scene = serve(&folder, &application, |_| {});
        assert_eq!(scene.client().get("/free/%31%32?page=2&x=%26").status, 200);
        let call = application.call(0);
        let root = folder.path().display();
        for (name, value) in [
            ("SCRIPT_NAME", "/bbs/board.php".to_owned()),
            ("SCRIPT_FILENAME", format!("{root}/bbs/board.php")),
            ("QUERY_STRING", "bo_table=free&wr_id=%31%32&rewrite=1&page=2&x=%26".to_owned()),
            ("REQUEST_URI", "/free/%31%32?page=2&x=%26".to_owned()),
            ("DOCUMENT_URI", "/bbs/board.php".to_owned()),
            ("PATH_INFO", "-".to_owned()),
        ] {
            assert_eq!(call.param(name), value, "{name}");
        }
    }
}

#[test]
fn a_title_stays_one_parameter_whatever_stands_in_it() {
    let folder = board();
    let application = Application::fastcgi([prints(PRIVATE), prints(PRIVATE)]);
    let scene = serve(&folder, &application, |_| {});
    let mut client = scene.client();
    for (number, (title, value)) in
        [("a&rewrite=0;b=c+d", "a%26rewrite%3D0%3Bb%3Dc%2Bd"), ("%EA%B0%80%26b%3d", "%EA%B0%80%26b%3d")]
            .iter()
            .enumerate()
    {
        client.get(&format!("/free/{title}/"));
        let expected = format!("bo_table=free&wr_seo_title={value}&rewrite=1");
        assert_eq!(application.call(number).param("QUERY_STRING"), expected);
    }
}

#[test]
fn a_short_address_is_stored_as_itself_and_takes_a_form() {
    let folder = board();
    let script = [prints(&format!("{HTML}page")), prints(&format!("{PRIVATE}sent"))];
    let application = Application::fastcgi(script);
    let scene = serve(&folder, &application, |_| {});
    let mut client = scene.client();
    assert_eq!(client.get("/free/12").text(), "page");
    assert!(client.get("/free/12").is_hit());
    assert_eq!(client.send_body("POST", "/free?a", &[], "b=c").text(), "sent");
    let call = application.call(1);
    assert_eq!((call.param("QUERY_STRING"), &call.stdin[..]), ("bo_table=free&rewrite=1&a", &b"b=c"[..]));
}

#[test]
fn what_is_there_comes_first_and_the_front_controller_last() {
    let folder = board();
    let application = Application::fastcgi([prints(PRIVATE), prints(PRIVATE), prints(PRIVATE)]);
    let scene = serve(&folder, &application, |route| {
        route.gateway.try_files = ["{path}", "{path}/", "/index.php"].map(str::to_owned).to_vec();
    });
    let mut client = scene.client();
    assert_eq!(client.get("/about.html").text(), "about us");
    for (number, (target, script)) in
        [("/bbs/", "/index.php"), ("/free", "/bbs/board.php"), ("/free/a-b", "/index.php")].iter().enumerate()
    {
        client.get(target);
        assert_eq!(application.call(number).param("SCRIPT_NAME"), *script, "{target}");
    }
}

#[test]
fn an_uploaded_script_does_not_run_however_it_is_asked_for() {
    let folder = board();
    let application = Application::fastcgi([]);
    let scene = serve(&folder, &application, |_| {});
    let mut client = scene.client();
    for target in [
        "/data/file/x.php",
        "/data/file/x.php/y",
        "/data/file/x.php/a.jpg",
        "/data/file/x.PHP",
        "/data/file/x.phtml",
        "/data/file/x.%70hp",
        "/%64ata/file/x.php",
        "//data//file/./x.php",
        "/bbs/%2e%2e/data/file/x.php",
        "/file/x",
    ] {
        let refused = client.get(target);
        assert_eq!(refused.status, 403, "{target}");
        assert!(!refused.text().contains("SOURCE"), "{target}");
        assert_eq!(scene.client().send_body("POST", target, &[], "x=y").status, 403, "{target}");
    }
    assert_eq!(client.get("/data/file/a.jpg").text(), "a picture");
    assert_eq!(client.get("/data/file/a.jpg/x.php").status, 404);
    assert_eq!(application.count(), 0);
}

#[test]
fn no_program_leads_to_an_uploaded_script() {
    let folder = board();
    let application = Application::fastcgi([prints("Location: /data/file/x.php\n\n"), prints("Location: /file/x\n\n")]);
    let scene = serve(&folder, &application, |_| {});
    let mut client = scene.client();
    assert_eq!((client.get("/free").status, client.get("/notice").status), (403, 403));
    assert_eq!(application.count(), 2);
}

#[test]
fn an_application_without_a_root_is_not_asked_for_such_a_path() {
    let application = Application::fastcgi([prints(PRIVATE)]);
    let folder = board();
    let scene = serve(&folder, &application, |route| route.gateway.root = None);
    let mut client = scene.client();
    assert_eq!((client.get("/data/x").status, client.get("/d%61ta/x?y").status), (403, 403));
    assert_eq!(client.get("/free/12").status, 200);
    // Without a root Kasoku has no files to look at, so it cannot tell that a path is a short address.
    let call = application.call(0);
    assert_eq!((call.param("PATH_INFO"), call.param("QUERY_STRING")), ("/free/12", ""));
}

#[test]
fn files_have_short_addresses_as_well() {
    let folder = board();
    let scene = Setup::safe()
        .site(&[], |route| {
            rules(&mut route.gateway, &folder);
            route.origins = vec![OriginAddress::Files(folder.path().to_owned()).into()];
            route.gateway.rewrites = vec![Rewrite::parse("/{page:word} => /{page}.html?a={page}").unwrap()];
        })
        .run_with_own_origins();
    let mut client = scene.client();
    assert_eq!(client.get("/about?b").text(), "about us");
    assert_eq!((client.get("/none").status, client.get("/data").status), (404, 403));
}
