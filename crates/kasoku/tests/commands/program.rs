//! Tests the `kasoku` program from its arguments to its exit status.

use crate::operating::eventually;
use crate::support::{Origin, Program, connect, exchange, file, get, kasoku, read_until};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;

const ANY_PORT: &str = "127.0.0.1:0";

fn serve(origin: &Origin) -> Program {
    Program::serve(&["--origin", &origin.url(), "--listen", ANY_PORT, "--admin", ANY_PORT, "--workers", "2"])
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn started_with_flags_it_answers_the_second_request_from_memory() {
    let origin = Origin::start();
    let program = serve(&origin);
    let first = get(program.clients, "/page");
    let second = get(program.clients, "/page");
    assert_eq!((first.status, first.body.as_str(), first.is_hit()), (200, "abcdef", false));
    assert_eq!((second.status, second.body.as_str(), second.is_hit()), (200, "abcdef", true));
    assert_eq!(origin.asked(), ["/page"]);
    let health = get(program.admin, "/healthz");
    assert_eq!((health.status, health.body.as_str()), (200, "ok\n"));
}

#[test]
fn one_flag_makes_a_site_of_the_files_below_a_directory() {
    let page = file("a_page_of_files.html", "<h1>A page</h1>");
    file("a_script_of_files.php", "<?php secret");
    let origin = format!("file://{}", page.parent().unwrap().display());
    let program = Program::serve(&["--origin", &origin, "--listen", ANY_PORT, "--admin", ANY_PORT, "--workers", "2"]);
    let answer = get(program.clients, "/a_page_of_files.html");
    assert_eq!((answer.status, answer.body.as_str()), (200, "<h1>A page</h1>"));
    let refused = get(program.clients, "/a_script_of_files.php");
    assert_eq!((refused.status, refused.body.as_str()), (403, "403 Forbidden\n"));
    assert_eq!(get(program.clients, "/").status, 403);
}

#[test]
fn a_front_controller_is_given_by_flags() {
    let page = file("a_page_by_flags.html", "<h1>By flags</h1>");
    let root = page.parent().unwrap().to_str().unwrap();
    // No application listens at the origin, so only files below the root can be served.
    let origin = ["--origin", "fastcgi://unix:/nonexistent/php.sock", "--root", root];
    let tried = ["--index", "none.html", "--try-files", "{path} /a_page_by_flags.html"];
    let rest = ["--listen", ANY_PORT, "--admin", ANY_PORT, "--workers", "1"];
    let program = Program::serve(&[&origin[..], &tried, &rest].concat());
    for path in ["/a_page_by_flags.html", "/any/other", "/"] {
        let answer = get(program.clients, path);
        assert_eq!((answer.status, answer.body.as_str()), (200, "<h1>By flags</h1>"), "{path}");
    }
}

#[test]
fn one_flag_grants_a_lifetime_to_what_states_none() {
    let origin = Origin::start();
    let plain = serve(&origin);
    let granting =
        Program::serve(&["--origin", &origin.url(), "--listen", ANY_PORT, "--admin", ANY_PORT, "--ttl", "1h"]);
    for (program, is_hit) in [(&plain, false), (&granting, true)] {
        // The first client passes, while the leak guard looks at the page.
        let asked = || get(program.clients, "/silent?tag=x").is_hit();
        match is_hit {
            true => eventually("a hit", asked),
            false => assert!(!asked() && !asked()),
        }
        assert!(!get(program.clients, "/private").is_hit());
    }
}

#[test]
fn started_with_a_file_it_keeps_the_files_rules() {
    let origin = Origin::start();
    let config = file(
        "rules.toml",
        &format!(
            "listen = [\"{ANY_PORT}\"]\nadmin = \"{ANY_PORT}\"\nworkers = 1\n\n[[site]]\norigin = \"{}\"\n\n\
             [[site.rule]]\npath = \"/editor/*\"\npass = true\n",
            origin.url()
        ),
    );
    let program = Program::serve(&["--config", config.to_str().unwrap()]);
    let answers = ["/page", "/page", "/editor/page", "/editor/page"].map(|path| get(program.clients, path).is_hit());
    assert_eq!(answers, [false, true, false, false]);
    assert_eq!(origin.asked(), ["/page", "/editor/page", "/editor/page"]);
}

#[test]
fn each_request_is_a_hit_a_miss_a_pass_or_an_error() {
    let origin = Origin::start();
    let config = file(
        "counters.toml",
        &format!(
            "listen = [\"{ANY_PORT}\"]\nadmin = \"{ANY_PORT}\"\nworkers = 2\n\n[[site]]\norigin = \"{}\"\n\n\
             [[site.rule]]\npath = \"/dead/*\"\norigin = \"http://unix:/nonexistent/app.sock\"\n",
            origin.url()
        ),
    );
    let program = Program::serve(&["--config", config.to_str().unwrap()]);
    // For the POST, which waits for it.
    origin.release();
    let statuses: Vec<u16> = [
        "GET /one HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "GET /one HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "HEAD /one HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "GET /two HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "GET /private HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "POST /form HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        "GET /dead/page HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "GET /three HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nCache-Control: only-if-cached\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "this is no request\r\n\r\n",
    ]
    .iter()
    .map(|request| exchange(program.clients, request).status)
    .collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 502, 504, 400, 400]);

    let metrics = program.metrics_after(10);
    let of = |name: &str| metrics.get(name).copied().unwrap_or_else(|| panic!("{name} is not in {metrics:#?}"));
    assert_eq!(of("requests_total"), 10);
    assert_eq!(of("hits_total"), 2, "the second GET and the HEAD");
    assert_eq!(of("misses_total"), 2, "/one and /two");
    assert_eq!(of("passes_total"), 2, "/private and the POST");
    assert_eq!(of("errors_total"), 4, "502, 504, 400, 400");
    assert_eq!(of("connections_total"), 10);
    assert_eq!(of("stored_total"), 2);
    assert_eq!((of("stored_objects"), of("fills_running"), of("workers")), (2, 0, 2));
    assert!(of("stored_bytes") > 0);
    assert_eq!(of("origin_requests_total"), origin.asked().len() as u64);

    let stats: serde_json::Value = serde_json::from_str(&get(program.admin, "/stats").body).unwrap();
    assert_eq!((&stats["requests"], &stats["hits"]), (&10.into(), &2.into()));
    assert_eq!(stats["hit_ratio"], 0.3333);
}

#[test]
fn sigterm_lets_a_response_in_flight_end_and_the_exit_status_is_0() {
    let origin = Origin::start();
    let program = serve(&origin);
    let mut client = connect(program.clients);
    client.write_all(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    read_until(&mut client, "\r\n\r\nabc");

    program.signal(Signal::TERM);
    program.says("SIGTERM: finishing running requests");
    assert_eq!(get(program.admin, "/healthz").status, 200, "the operator can still look");
    origin.release();

    let mut rest = String::new();
    client.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "def");
    assert_eq!(program.exit_code(), Some(0));
}

#[test]
fn each_signal_that_means_stop_is_heeded_from_the_first_moment() {
    let origin = Origin::start();
    for signal in [Signal::TERM, Signal::INT, Signal::QUIT] {
        let program = serve(&origin);
        program.signal(signal);
        assert_eq!(program.exit_code(), Some(0), "{signal:?}");
    }
}

#[test]
fn the_access_log_on_standard_output_has_a_line_for_each_request_after_a_stop() {
    let origin = Origin::start();
    let path = file("access.log", "");
    let stdout = std::fs::File::create(&path).unwrap().into();
    let url = origin.url();
    let listen = ["--origin", &url, "--listen", ANY_PORT, "--admin", ANY_PORT, "--workers", "2"];
    let program = Program::serve_printing_to(stdout, &[&listen[..], &["--access-log", "-"]].concat());
    get(program.clients, "/page");
    get(program.clients, "/page");
    exchange(program.clients, "this is no request\r\n\r\n");
    program.metrics_after(3);
    program.signal(Signal::TERM);
    assert_eq!(program.exit_code(), Some(0));
    let log = std::fs::read_to_string(path).unwrap();
    let behind_the_time = |line: &str| line.split_once(" +0000] ").unwrap().1.to_owned();
    let mut lines: Vec<String> = log.lines().map(behind_the_time).collect();
    lines.sort();
    assert_eq!(lines.len(), 3, "{log}");
    assert!(lines[0].starts_with("\"-\" 400 "), "{log}");
    let page = "\"GET /page HTTP/1.1\" 200 6 \"-\" \"-\"";
    assert_eq!((lines[1].as_str(), lines[2].as_str()), (page, page));
}

#[test]
fn an_access_log_that_cannot_be_opened_is_exit_status_1_and_says_why() {
    let output =
        kasoku(&["serve", "--origin", "http://127.0.0.1:9", "--listen", ANY_PORT, "--access-log", "/nowhere/a.log"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("kasoku: the access log /nowhere/a.log: No such file or directory"), "{said}");
}

#[test]
fn a_port_in_use_is_exit_status_1_and_says_which() {
    let taken = TcpListener::bind(ANY_PORT).unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let origin = ["serve", "--origin", "http://127.0.0.1:9"];
    for (flags, words) in [
        (
            ["--listen", &address, "--admin", ANY_PORT],
            format!("kasoku: {address}: another process listens there already\n"),
        ),
        (
            ["--listen", ANY_PORT, "--admin", &address],
            format!("kasoku: the admin listener can't use {address}: another process listens there already\n"),
        ),
    ] {
        let output = kasoku(&[&origin[..], &flags[..]].concat());
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), words));
    }
}

#[test]
fn an_admin_address_that_others_can_reach_is_refused() {
    let output = kasoku(&["serve", "--origin", "http://127.0.0.1:9", "--listen", ANY_PORT, "--admin", "0.0.0.0:8081"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("other machines could connect to it"), "{}", text(&output.stderr));
}

#[test]
fn check_says_ok_of_a_good_file() {
    let path = file("good.toml", "[[site]]\norigin = \"http://127.0.0.1:8000\"\n");
    let output = kasoku(&["check", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("good.toml: ok, 1 site\n"), "{}", text(&output.stdout));
}

#[test]
fn check_shows_line_column_and_fix_of_each_fault() {
    let path = file("bad.toml", "workers = 0\n\n[[site]]\n  orign = \"http://127.0.0.1:8000\"\n");
    let output = kasoku(&["check", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("bad.toml:1:11"), "{said}");
    assert!(said.contains("bad.toml:4:3") && said.contains("did you mean `origin`"), "{said}");
    assert!(!said.contains('\u{1b}'), "no colours into a pipe: {said}");
}

#[test]
fn check_and_serve_name_a_directory_that_is_not_there() {
    let path = file("nowhere.toml", "[[site]]\norigin = \"file:///nonexistent/html\"\n");
    let checked = kasoku(&["check", path.to_str().unwrap()]);
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked.stderr));
    // The program ends at once, because no machine has this address (RFC 5737).
    let served = kasoku(&["serve", "--config", path.to_str().unwrap(), "--listen", "192.0.2.1:1"]);
    for said in [text(&checked.stderr), text(&served.stderr)] {
        assert!(said.contains("warning: `/nonexistent/html` does not exist") && said.contains(".toml:2:10"), "{said}");
    }
}

#[test]
fn check_names_a_directory_of_uploads_where_programs_run() {
    let root = std::env::temp_dir().join(format!("kasoku-uploads-{}", std::process::id()));
    std::fs::create_dir_all(root.join("data")).unwrap();
    for (directory, mode) in [(root.clone(), 0o755), (root.join("data"), 0o777)] {
        std::fs::set_permissions(directory, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }
    let site =
        format!("user = \"nobody\"\n[[site]]\norigin = \"fastcgi://127.0.0.1:9\"\nroot = \"{}\"\n", root.display());
    let checked = kasoku(&["check", file("uploads.toml", &site).to_str().unwrap()]);
    let mended =
        kasoku(&["check", file("uploads.toml", &format!("{site}no-programs = \"/data\"\n")).to_str().unwrap()]);
    std::fs::remove_dir_all(&root).unwrap();
    let (said, expected) = (text(&checked.stderr), format!("warning: any user may write to `{}/data`", root.display()));
    assert!(checked.status.success() && said.contains(&expected) && said.contains("[\"/data/*\"]"), "{said}");
    assert_eq!(text(&mended.stderr), "");
}

#[test]
fn what_is_known_of_an_application_can_be_read_without_the_source() {
    let listed = kasoku(&["application"]);
    let names = text(&listed.stdout);
    assert!(listed.status.success() && names.lines().any(|name| name == "wordpress"), "{names}");
    for name in names.lines() {
        let shown = kasoku(&["application", name]);
        assert!(shown.status.success() && text(&shown.stdout).starts_with("# "), "{name}: {shown:?}");
    }
    let unknown = kasoku(&["application", "wordpres"]);
    assert!(!unknown.status.success() && text(&unknown.stderr).contains("`wordpres`"), "{unknown:?}");
}

#[test]
fn check_of_no_file_is_exit_status_1() {
    let output = kasoku(&["check", "/nonexistent/kasoku.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("there is no such file"), "{}", text(&output.stderr));
}

#[test]
fn the_version_names_the_commit() {
    let said = text(&kasoku(&["--version"]).stdout);
    let version = concat!("kasoku ", env!("CARGO_PKG_VERSION"));
    let git = |arguments: &[&str]| std::process::Command::new("git").args(arguments).output().ok();
    if git(&["rev-parse", "HEAD"]).is_none_or(|head| !head.status.success()) {
        // Built from an archive: there is no commit to name.
        return assert_eq!(said, format!("{version}\n"));
    }
    let commit = said.strip_prefix(version).and_then(|rest| rest.strip_prefix(" (")?.strip_suffix(")\n"));
    let commit = commit.unwrap_or_else(|| panic!("{said}"));
    // The program may have been built from an earlier commit than the one that is checked out now.
    let is_known = git(&["cat-file", "-e", &format!("{commit}^{{commit}}")]).unwrap().status.success();
    assert!(commit.len() == 12 && is_known, "{said}");
}

#[test]
fn help_names_the_commands_and_flags() {
    let help = kasoku(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    for word in ["serve", "check", "--version"] {
        assert!(text(&help.stdout).contains(word), "{word}: {}", text(&help.stdout));
    }
    let help = kasoku(&["serve", "--help"]);
    assert_eq!(help.status.code(), Some(0));
    for flag in ["--config", "--origin", "--listen", "--admin", "--memory", "--workers", "--profile", "--access-log"] {
        assert!(text(&help.stdout).contains(flag), "{flag}: {}", text(&help.stdout));
    }
}

#[test]
fn without_a_command_it_shows_its_help_and_the_exit_status_is_2() {
    let output = kasoku(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("Usage: kasoku"), "{}", text(&output.stderr));
}

#[test]
fn each_command_has_a_manual_page_and_completions() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("manual");
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir(&directory).unwrap();
    let made = kasoku(&["generate", "man", directory.to_str().unwrap()]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let help = String::from_utf8(kasoku(&["--help"]).stdout).unwrap();
    let commands = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let commands: Vec<&str> = commands
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.contains(&"reload") && !commands.contains(&"generate"), "{commands:?}");
    for command in &commands {
        let page = std::fs::read_to_string(directory.join(format!("kasoku-{command}.1"))).unwrap();
        assert!(page.contains(&format!("kasoku\\-{command}")) && page.contains("SYNOPSIS"), "{command}: {page}");
    }
    // One of all, and one for each command of `kasoku disk`.
    let disk = ["stat", "list", "verify", "export"].map(|command| format!("kasoku-disk-{command}.1"));
    assert!(disk.iter().all(|page| directory.join(page).exists()));
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), commands.len() + 1 + disk.len());
    for shell in ["bash", "zsh", "fish"] {
        let text = String::from_utf8(kasoku(&["generate", "completions", shell]).stdout).unwrap();
        assert!(commands.iter().all(|command| text.contains(command)) && text.contains("control-socket"), "{shell}");
    }
    let nowhere = kasoku(&["generate", "man", "/nowhere/man"]);
    assert_eq!(nowhere.status.code(), Some(1));
}
