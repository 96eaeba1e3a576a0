//! Tests CGI programs behind the `kasoku` program: the user that they run as, the log of their errors, and their end when it stops.

use crate::support;
use crate::support::{PATIENCE, Program, file, get, kasoku, read_until, try_get};
use rustix::process::Signal;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// A directory with a program that any user may run; it is removed on drop.
struct Programs(PathBuf);

impl Programs {
    fn new(name: &str, script: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("kasoku-{name}-{}", std::process::id()));
        fs::create_dir(&directory).unwrap();
        let path = directory.join("a.cgi");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        for path in [&directory, &path] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self(directory)
    }

    fn url(&self) -> String {
        format!("cgi://{}", self.0.display())
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// Serves the programs with the flags `more`. If root runs the test, Kasoku switches to the user `nobody`.
fn serve(programs: &Programs, more: &[&str]) -> Program {
    serve_under(None, programs, more)
}

/// The same as [`serve`], started by the command `around`, such as env(1).
fn serve_under(around: Option<Command>, programs: &Programs, more: &[&str]) -> Program {
    let url = programs.url();
    let mut arguments = vec!["--origin", &url, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    arguments.extend(more);
    if is_root() {
        arguments.extend(["--user", "nobody"]);
    }
    match around {
        Some(around) => Program::serve_under(around, &arguments),
        None => Program::serve(&arguments),
    }
}

#[test]
fn a_page_whose_program_was_killed_is_not_kept_either_where_a_supervisor_ignores_the_ends_of_its_children() {
    let programs = Programs::new("ignored", "printf 'Content-Type: text/plain\\n\\nhalf'; kill -9 $$");
    let mut env = Command::new("env");
    env.arg("--ignore-signal=CHLD");
    let program = serve_under(Some(env), &programs, &["--ttl", "1h"]);
    for _ in 0..2 {
        // Kasoku cuts the connection, because the program died before the end of its page.
        assert!(try_get(program.clients, "/a.cgi").is_none_or(|answer| !answer.is_hit()));
    }
}

#[test]
fn one_flag_makes_a_site_of_a_directory_of_programs() {
    let programs = Programs::new(
        "program",
        "echo 'it says: a word' >&2; printf 'Content-Type: text/plain\\nCache-Control: max-age=60\\n\\n'; echo \"uid $(id -u)\"; env",
    );
    let program = serve(&programs, &[]);
    let answer = get(program.clients, "/a.cgi");
    assert_eq!(answer.status, 200);
    assert!(!is_root() || answer.body.contains("uid 65534\n"), "{}", answer.body);
    // The program gets the variables of the standard (RFC 3875), and none of Kasoku's environment.
    let has = |words| answer.body.contains(words);
    assert!(has("GATEWAY_INTERFACE=CGI/1.1\n") && !has("CARGO"), "{}", answer.body);
    assert!(get(program.clients, "/a.cgi").is_hit());
    let rest = program.says("/a.cgi: it says: a word");
    assert!(rest.contains("request="), "{rest}");
}

#[test]
fn the_operator_is_told_why_there_is_no_answer() {
    let programs = Programs::new("failing", "kill -SEGV $$");
    let program = serve(&programs, &[]);
    assert_eq!(get(program.clients, "/a.cgi").status, 502);
    let rest = program.says("/a.cgi: the program was ended by signal 11");
    assert!(rest.contains("request="), "{rest}");
}

#[test]
fn as_root_no_program_is_run_and_the_start_says_why() {
    if !is_root() {
        eprintln!("not shown: only root is refused");
        return;
    }
    let programs = Programs::new("root", "id -u > ran");
    let output = kasoku(&["serve", "--origin", &programs.url(), "--listen", "127.0.0.1:0"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("would run as root") && said.contains("--user"), "{said}");
}

#[test]
fn as_root_a_reload_brings_no_programs_either() {
    if !is_root() {
        eprintln!("not shown: only root is refused");
        return;
    }
    let programs = Programs::new("reload", "true");
    let text = |origin: &str| {
        format!("listen = [\"127.0.0.1:0\"]\nadmin = \"127.0.0.1:0\"\n[[site]]\norigin = \"{origin}\"\n")
    };
    let config = file("cgi-reload.toml", &text("http://127.0.0.1:9"));
    let program = Program::serve(&["--config", config.to_str().unwrap()]);
    fs::write(&config, text(&programs.url())).unwrap();
    program.signal(Signal::HUP);
    program.says("would run as root");
    assert_eq!(get(program.clients, "/a.cgi").status, 502, "the old configuration stays");
}

#[test]
fn at_its_end_no_program_is_left() {
    let programs = Programs::new("end", "printf 'Content-Type: text/plain\\n\\n'; echo \"number $$#\"; sleep 30");
    // Kasoku does not wait long for a client that is still reading an endless page.
    let config = file("cgi-end.toml", "[limits]\ndrain-timeout = \"100ms\"\n");
    let program = serve(&programs, &["--config", config.to_str().unwrap()]);
    let mut client = support::connect(program.clients);
    client.write_all(b"GET /a.cgi HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let answer = read_until(&mut client, "#");
    let number: u32 = answer.rsplit_once("number ").unwrap().1.split('#').next().unwrap().parse().unwrap();
    assert!(fs::exists(format!("/proc/{number}")).unwrap());
    program.signal(Signal::TERM);
    assert_eq!(program.exit_code(), Some(0));
    let begun = Instant::now();
    // The program's parent is gone, and the process that adopts it may leave it a zombie for a while.
    let is_gone = || {
        fs::read_to_string(format!("/proc/{number}/stat")).map_or(true, |stat| {
            let state = stat.rsplit(')').next().unwrap_or_default();
            state.trim_start().starts_with('Z')
        })
    };
    while !is_gone() {
        assert!(begun.elapsed() < PATIENCE, "it runs on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// git-http-backend is a widely used CGI program that exercises most of the interface: long paths, queries, chunked and compressed
/// request bodies, and answers of several megabytes.
#[test]
fn git_clones_and_pushes_through_its_own_cgi_program() {
    const BACKEND: &str = "/usr/lib/git-core/git-http-backend";
    let scratch = Programs::new("git", "true");
    let run = |directory: &str, arguments: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(scratch.0.join(directory)).args(["-c", "user.name=a", "-c", "user.email=a@example.org"]);
        let output = git.args(arguments).env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", &scratch.0).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "git {arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    run("", &["init", "--quiet", "--bare", "all.git"]);
    run("all.git", &["config", "http.receivepack", "true"]);
    // The user as whom the program runs may write to the repository.
    assert!(Command::new("chmod").args(["-R", "a+rwX"]).arg(scratch.0.join("all.git")).status().unwrap().success());
    let config = file(
        "cgi-git.toml",
        &format!(
            "environment = [\"GIT_PROJECT_ROOT={}\", \"GIT_HTTP_EXPORT_ALL=1\", \"GIT_CONFIG_COUNT=1\", \
             \"GIT_CONFIG_KEY_0=safe.directory\", \"GIT_CONFIG_VALUE_0=*\"]\n[[site]]\norigin = \"cgi://{BACKEND}\"\n",
            scratch.0.display()
        ),
    );
    let mut arguments = vec!["--config", config.to_str().unwrap(), "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    if is_root() {
        arguments.extend(["--user", "nobody"]);
    }
    let program = Program::serve(&arguments);
    let url = format!("http://{}/all.git", program.clients);
    run("", &["clone", "--quiet", &url, "first"]);
    // Longer than http.postBuffer (1 MiB), so git sends the body in chunks; and random, so compression does not shorten it.
    let mut random = vec![0; 3 << 20];
    File::open("/dev/urandom").unwrap().read_exact(&mut random).unwrap();
    fs::write(scratch.0.join("first/large"), &random).unwrap();
    run("first", &["add", "large"]);
    run("first", &["commit", "--quiet", "--message", "large"]);
    run("first", &["push", "--quiet", "origin", "HEAD:main"]);
    run("", &["clone", "--quiet", "--branch", "main", &url, "second"]);
    assert!(fs::read(scratch.0.join("second/large")).unwrap() == random);
    assert_eq!(run("second", &["rev-parse", "HEAD"]), run("first", &["rev-parse", "HEAD"]));
}
