//! Tests the command `kasoku check`: what it reads, what it warns of, and its output for programs.

use crate::support::{file, kasoku};
#[allow(dead_code, reason = "this test needs a part of it")]
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// `kasoku check` with this text on its standard input.
fn check_of_input(arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kasoku"));
    command.arg("check").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn standard_input_is_checked_like_a_file() {
    let good = check_of_input(&["-"], "[[site]]\norigin = \"http://127.0.0.1:8000\"\n");
    assert!(text(&good.stdout).starts_with("standard input: ok, 1 site\n"), "{good:?}");
    assert!(good.status.success() && good.stderr.is_empty(), "{good:?}");
    let bad = check_of_input(&["-"], "workers = 0\n[[site]]\norigin = \"http://127.0.0.1:8000\"\n");
    let said = text(&bad.stderr);
    assert_eq!(bad.status.code(), Some(1));
    assert!(said.contains("--> standard input:1:11\n"), "{said}");
}

#[test]
fn what_a_configuration_comes_to_is_told_in_a_few_lines() {
    let settings = "listen = [\"127.0.0.1:8080\", \"unix:/run/k.sock\"]\nadmin = \"127.0.0.1:8081\"\nadmin-token-file = \"/etc/k.token\"\n\
                    control-socket = \"off\"\nworkers = 2\nmemory.size = \"256MiB\"\nrequest-buffer.directory = \"/var\"\n";
    let sites = "[[site]]\nhosts = [\"a.org\", \"*.a.org\"]\norigin = \"http://127.0.0.1:8000\"\n\
                 [[site.rule]]\npath = \"/old/*\"\norigin = \"file:///var\"\n\
                 [[site]]\norigin = [\"http://127.0.0.1:8001\", \"http://127.0.0.1:8002\"]\n";
    let fine = check_of_input(&["-"], &format!("{settings}{sites}"));
    let expected = "\
standard input: ok, 2 sites
  listens at       127.0.0.1:8080, unix:/run/k.sock
  admin            127.0.0.1:8081 with a token
  control socket   none
  memory           256 MiB for responses
  disk             4 GiB for bodies of requests, in /var
  workers          2
  site a.org       a.org, *.a.org from http://127.0.0.1:8000 (a server of HTTP), file:///var (files); 1 rule
  site default     any host from http://127.0.0.1:8001 (a server of HTTP), http://127.0.0.1:8002 (a server of HTTP)
";
    assert_eq!((fine.status.code(), text(&fine.stdout).as_str(), text(&fine.stderr).as_str()), (Some(0), expected, ""));
}

#[test]
fn the_shared_tier_has_a_line_where_there_is_one() {
    let line = |shared: &str| {
        let site = "[[site]]\norigin = \"http://127.0.0.1:8000\"\n";
        let checked = check_of_input(&["-"], &format!("[shared]\n{shared}{site}"));
        let said = text(&checked.stdout);
        said.lines().find(|line| line.starts_with("  shared ")).unwrap_or_else(|| panic!("{checked:?}")).to_owned()
    };
    assert_eq!(
        line("memcached = [\"10.0.0.1\", \"[::1]:11212 3\", \"unix:/run/m.sock\"]\n"),
        "  shared           memcached at 10.0.0.1:11211, [::1]:11212 (weight 3), unix:/run/m.sock; \
         ring ketama-weighted, namespace kasoku, no secret"
    );
    assert_eq!(
        line("memcached = [\"a:1\"]\nring = \"ketama\"\nnamespace = \"staging\"\nsecret-file = \"/etc/kasoku/s\"\n"),
        "  shared           memcached at a:1; ring ketama, namespace staging, the secret in /etc/kasoku/s"
    );
}

#[test]
fn the_peers_have_a_line_where_there_are_any() {
    let peers = "peers = [\"10.0.0.2:6082\", \"[fd00::3]:6082\"]\npeers-listen = \"10.0.0.1:6082\"\n\
                 peers-token-file = \"/etc/kasoku/peers.token\"\n";
    let checked = check_of_input(&["-"], &format!("{peers}[[site]]\norigin = \"http://127.0.0.1:8000\"\n"));
    let said = text(&checked.stdout);
    let line = "\n  peers            purges go to 10.0.0.2:6082, [fd00::3]:6082; listens at 10.0.0.1:6082, the token in \
                /etc/kasoku/peers.token\n";
    assert!(said.contains(line), "{said}");
}

#[test]
fn warnings_are_counted_and_many_sites_are_cut_short() {
    let sites = (0..22).map(|number| format!("[[site]]\nhosts = \"{number}.org\"\norigin = \"file:///nonexistent\"\n"));
    let warned = check_of_input(&["-"], &sites.collect::<String>());
    let said = text(&warned.stdout);
    assert!(said.starts_with("standard input: ok, 22 sites, 22 warnings\n"), "{said}");
    assert!(said.ends_with("\n  and 2 more sites\n"), "{said}");
    assert_eq!(warned.status.code(), Some(0));
    let help = text(&kasoku(&["check", "--help"]).stdout);
    assert!(help.contains("Exit status: 0 if the program can start with the file, also with warnings; 1 "), "{help}");
}

#[test]
fn json_says_the_same_for_programs() {
    let output = check_of_input(&["-", "--json"], "listn = 1\n[[site]]\norigin = \"http://127.0.0.1:8000\"\n");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&said["ok"], &said["errors"], &said["warnings"]), (&false.into(), &1.into(), &0.into()), "{said}");
    let issue = &said["issues"][0];
    assert_eq!(issue["message"], "unknown key `listn`: did you mean `listen`?", "{said}");
    assert_eq!((&issue["severity"], &issue["place"]["line"]), (&"error".into(), &1.into()), "{said}");

    let missing = kasoku(&["check", "--json", "/nonexistent/kasoku.toml"]);
    let said: Value = serde_json::from_slice(&missing.stdout).unwrap();
    assert_eq!((missing.status.code(), &said["ok"]), (Some(1), &false.into()), "{said}");
    assert_eq!(said["issues"][0]["help"], "there is no such file", "{said}");

    let fine = check_of_input(&["-", "--json"], "[[site]]\norigin = \"file:///nonexistent/html\"\n");
    let said: Value = serde_json::from_slice(&fine.stdout).unwrap();
    assert_eq!((fine.status.code(), &said["ok"]), (Some(0), &true.into()), "{said}");
    assert_eq!(said["issues"][0]["message"], "`/nonexistent/html` does not exist", "{said}");
}

#[test]
fn a_user_and_a_directory_of_the_log_that_this_machine_does_not_have_are_warned_of() {
    let text_of = |user: &str, log: &str| {
        format!("user = \"{user}\"\naccess-log.path = \"{log}\"\n[[site]]\norigin = \"http://127.0.0.1:8000\"\n")
    };
    let wrong = file("wrong_machine.toml", &text_of("nobody-is-called-so", "/nonexistent/kasoku/access.log"));
    let checked = kasoku(&["check", wrong.to_str().unwrap()]);
    let said = text(&checked.stderr);
    assert_eq!(checked.status.code(), Some(0), "{said}");
    assert!(said.contains("warning: this machine has no user `nobody-is-called-so`\n"), "{said}");
    assert!(
        said.contains("warning: `/nonexistent/kasoku` does not exist\n") && said.contains(".toml:2:19\n"),
        "{said}"
    );
    let log = std::env::temp_dir().join("access.log");
    let right = file("right_machine.toml", &text_of("root:root", log.to_str().unwrap()));
    let checked = kasoku(&["check", right.to_str().unwrap()]);
    assert_eq!((checked.status.code(), text(&checked.stderr)), (Some(0), String::new()));
}

#[test]
fn an_admin_listener_without_a_token_is_warned_of() {
    let site = "[[site]]\norigin = \"http://127.0.0.1:8000\"\n";
    let warning = "warning: without a token, `admin` answers only `/healthz`, `/metrics` and `/stats` here\n";
    for (lines, expected) in [
        ("admin = \"127.0.0.1:8081\"\n", true),
        ("admin = \"127.0.0.1:8081\"\nadmin-token-file = \"/etc/kasoku/admin.token\"\n", false),
        ("admin = \"unix:/run/kasoku/admin.sock\"\n", false),
        ("", false),
    ] {
        let checked = check_of_input(&["-"], &format!("{lines}{site}"));
        let said = text(&checked.stderr);
        assert_eq!((checked.status.code(), said.contains(warning)), (Some(0), expected), "{lines}{said}");
        assert!(expected || said.is_empty(), "{said}");
    }
}

#[test]
fn the_name_of_an_application_that_was_meant_is_told() {
    for (name, meant) in [("wordpres", "wordpress"), ("gnuboard", "gnuboard5")] {
        let shown = kasoku(&["application", name]);
        let said = text(&shown.stderr);
        assert!(!shown.status.success() && said.contains(&format!("did you mean `{meant}`?")), "{said}");
    }
    assert!(!text(&kasoku(&["application", "joomla"]).stderr).contains("did you mean"));
}
