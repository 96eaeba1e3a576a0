//! Programs that name files: CGI and FastCGI, and when they give back their places.

use super::kept::is_free;
use crate::sendfile::{NEVER, allow, with_large_file};
use kasoku_options::{OriginAddress, OriginEndpoint};
use kasoku_testkit::application::{prints, turn};
use kasoku_testkit::{Application, Client, Folder, Gate, Scenario, Setup};
use std::io::Write;
use std::process::{Command, Stdio};

/// Writes a CGI program, by another process: the kernel would not execute a file that this process has open for writing.
fn program(folder: &Folder, name: &str, script: &str) {
    let mut writer = Command::new("/bin/sh");
    writer.args(["-c", "cat > \"$0\" && chmod 755 \"$0\""]).arg(folder.join(name)).stdin(Stdio::piped());
    let mut writer = writer.spawn().unwrap();
    writer.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{script}\n").as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
}

fn cgi(programs: &Folder, files: &Folder) -> Scenario {
    let setup = Setup::safe().site(&[], |route| {
        route.origins = vec![OriginAddress::Cgi(programs.path().to_owned()).into()];
        route.origin.programs.processes_max = 1;
        allow(files, route);
    });
    setup.run_with_own_origins()
}

fn fastcgi(application: &Application, files: &Folder) -> Scenario {
    let setup = Setup::safe().site(&[], |route| {
        route.origins = vec![application.address()];
        route.origin.connections_max = 1;
        allow(files, route);
    });
    setup.run_with_own_origins()
}

#[test]
fn a_cgi_program_names_a_file_and_works_on_without_its_client() {
    let (files, line) = with_large_file();
    let programs = Folder::new();
    let fifo = programs.join("work");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // Its output behind the head is dropped, and the program may run on.
    let script = format!("printf '{line}\\n\\nhalf'; read line < work; echo done > noted");
    program(&programs, "a.cgi", &script);
    program(&programs, "b.cgi", "printf 'Content-Type: text/plain\\n\\npage'");
    let scene = cgi(&programs, &files);
    let mut slow = Client::connect_slow(scene.engine.addresses()[0]);
    let head = slow.ask("GET", "/a.cgi", &[]).next_head();
    assert_eq!((head.word(1), head.field("content-length").as_deref()), ("200", Some("33554432")));
    assert!(NEVER.iter().all(|name| !head.has(name)), "{head:?}");
    std::fs::write(&fifo, "go\n").unwrap();
    is_free(&scene);
    assert_eq!(std::fs::read_to_string(programs.join("noted")).unwrap(), "done\n");
    // Another program gets its place before the file has been sent.
    assert_eq!(scene.client().get("/b.cgi").text(), "page");
    assert_eq!(slow.rest_of(head).body.len(), 32 << 20);
}

#[test]
fn an_application_server_is_free_while_the_file_is_on_its_way() {
    let (files, line) = with_large_file();
    let named = format!("{line}\r\nContent-type: application/zip\r\n\r\n");
    let page = "Content-type: text/plain\r\nCache-Control: private\r\n\r\npage";
    // The application server ends its request, prints a body as well, or goes on printing until it is cut off.
    for first in [prints(&named), prints(&format!("{named}half")), turn().stdout(&named).stdout("more").closes()] {
        let application = Application::fastcgi([first, prints(page)]);
        let scene = fastcgi(&application, &files);
        let mut slow = Client::connect_slow(scene.engine.addresses()[0]);
        let head = slow.ask("GET", "/a.php", &[]).next_head();
        assert_eq!((head.word(1), head.field("content-type").as_deref()), ("200", Some("application/zip")));
        application.done(1);
        is_free(&scene);
        assert_eq!(scene.client().get("/b.php").text(), "page");
        assert_eq!(slow.rest_of(head).body.len(), 32 << 20);
    }
}

#[test]
fn a_script_that_never_ends_holds_its_own_connection_and_nothing_of_the_client() {
    let files = Folder::new();
    files.write("a.txt", "the file");
    let gate = Gate::new();
    let application = Application::fastcgi([turn().stdout("X-Sendfile: a.txt\r\n\r\n").waits(&gate).ends()]);
    let scene = fastcgi(&application, &files);
    assert_eq!(scene.client().get("/a.php").short(), (200, "the file".to_owned()));
    is_free(&scene);
    gate.open();
}

#[test]
fn a_program_behind_scgi_names_a_file_as_well() {
    let files = Folder::new();
    files.write("a.txt", "the file");
    let application = Application::scgi([turn().sends("X-Accel-Redirect: /protected/a.txt\r\n\r\nhalf").closes()]);
    let setup = Setup::safe().site(&[], |route| {
        route.origins = vec![application.address()];
        allow(&files, route);
    });
    let scene = setup.run_with_own_origins();
    assert_eq!(scene.client().get("/a").short(), (200, "the file".to_owned()));
}

#[test]
fn where_a_local_redirect_leads_the_rules_of_that_path_decide() {
    let (programs, files) = (Folder::new(), Folder::new());
    files.write("a.txt", "the file");
    program(&programs, "to.cgi", "printf 'Location: /named/a\\n\\n'");
    let named = || prints("X-Sendfile: a.txt\r\nCache-Control: private\r\n\r\n");
    let application = Application::fastcgi([named(), named()]);
    let endpoint = OriginEndpoint::Tcp { host: "127.0.0.1".to_owned(), port: application.port() };
    let setup = Setup::safe()
        .rule("/named/*", |route| {
            route.origins = vec![OriginAddress::FastCgi(endpoint).into()];
            allow(&files, route);
        })
        .route(|route| route.origins = vec![OriginAddress::Cgi(programs.path().to_owned()).into()]);
    let scene = setup.run([]);
    // Both origins are asked each time, also after an earlier redirect.
    for number in 1..=2 {
        let response = scene.client().get("/to.cgi");
        assert_eq!((response.short(), response.detail().as_str()), ((200, "the file".to_owned()), "sendfile"));
        application.done(number);
    }
}
