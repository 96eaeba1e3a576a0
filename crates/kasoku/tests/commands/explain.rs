//! Tests docs/explain.md: it runs each command of the page against the `kasoku` program with the page's own configuration, and each must
//! print what the page shows.
//!
//! `KASOKU_REWRITE_EXPLANATIONS=1 cargo test -p kasoku --test commands explain` rewrites the page; read the difference.

use crate::operating::eventually;
use crate::support::{PATIENCE, Program, exchange, file, kasoku};
#[allow(dead_code, reason = "the blog of the page takes the place of its origin")]
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};

/// The page's example blog: for each path the status and the fields of its answer.
const BLOG: [(&str, &str, &[&str]); 14] = [
    (
        "/",
        "200 OK",
        &[
            "Expires: Thu, 19 Nov 1981 08:52:00 GMT",
            "Cache-Control: no-store, no-cache, must-revalidate",
            "Pragma: no-cache",
            "Set-Cookie: PHPSESSID=8f2c; path=/",
        ],
    ),
    ("/news", "200 OK", &["Cache-Control: no-store"]),
    ("/feed", "200 OK", &["Cache-Control: max-age=300", "Vary: *"]),
    ("/about", "200 OK", &["Cache-Control: max-age=300", "Vary: User-Agent"]),
    ("/greeting", "200 OK", &["Cache-Control: public, max-age=300"]),
    ("/reports", "200 OK", &["Cache-Control: max-age=300"]),
    ("/search?q=boats", "200 OK", &[]),
    ("/find?q=boats", "200 OK", &[]),
    ("/archive", "200 OK", &["Expires: Thu, 01 Jan 1970 00:00:00 GMT"]),
    ("/account", "200 OK", &["Cache-Control: private, max-age=300"]),
    ("/latest", "302 Found", &["Location: /2026/11/boats"]),
    ("/gone", "404 Not Found", &[]),
    ("/2026/11/boats", "200 OK", &["Cache-Control: max-age=300", "ETag: \"b7\""]),
    ("/shop", "200 OK", &["Cache-Control: max-age=300"]),
];

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/explain.md")
}

/// Serves the blog until the process ends.
fn blog() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || answer(&stream));
        }
    });
    address
}

fn answer(stream: &TcpStream) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let first = lines.next().unwrap_or_default();
    let _ = lines.take_while(|line| !line.is_empty()).count();
    let path = first.split(' ').nth(1).unwrap_or_default();
    let known = BLOG.iter().find(|(known, ..)| *known == path);
    let (status, fields) = known.map_or(("500 Internal Server Error", &[][..]), |(_, status, fields)| (status, fields));
    let fields: String = fields.iter().map(|line| format!("{line}\r\n")).collect();
    let _ = write!(&*stream, "HTTP/1.1 {status}\r\n{fields}Content-Length: 4\r\nConnection: close\r\n\r\nblog");
}

/// The words of a command line, as a shell reads them: quotes keep blanks.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in command.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, ' ') => words.push(std::mem::take(&mut word)),
            (_, c) => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// The program with the page's configuration, and its token.
struct Tried {
    program: Program,
    token: PathBuf,
}

impl Tried {
    /// Starts the program with the page's configuration. The page shows the file name `kasoku.toml`, so each test has its own folder
    /// instead of its own file name.
    fn start(folder: &str, page: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
        std::fs::create_dir_all(&path).unwrap();
        let token = path.join("admin.token");
        let _ = std::fs::remove_file(&token);
        let written = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
        let config = written
            .replace("127.0.0.1:8080", "127.0.0.1:0")
            .replace("127.0.0.1:8081", "127.0.0.1:0")
            .replace("127.0.0.1:8000", &blog().to_string())
            .replace("/etc/kasoku/admin.token", token.to_str().unwrap());
        let config = file(&format!("{folder}/kasoku.toml"), &config);
        Self { program: Program::serve(&["--config", config.to_str().unwrap()]), token }
    }

    /// What a command of the page prints.
    fn run(&self, command: &str) -> String {
        let words = words(command);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["kasoku", "explain", arguments @ ..] => {
                let admin = self.program.admin.to_string();
                let operator = ["--admin", &admin, "--admin-token-file", self.token.to_str().unwrap()];
                let explain = || {
                    let output = kasoku(&[&["explain"], arguments, &operator].concat());
                    String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
                };
                // The guard compares the page of the command before.
                let mut printed = String::new();
                eventually("the page is there", || {
                    printed = explain();
                    !printed.contains("it is being fetched right now")
                });
                printed
            }
            ["curl", "-so", "/dev/null", arguments @ ..] => {
                let url = arguments.iter().find(|word| word.starts_with("http://")).unwrap();
                let (host, path) = url.trim_start_matches("http://").split_once('/').unwrap();
                let fields = arguments.windows(2).filter(|pair| pair[0] == "-H").map(|pair| format!("{}\r\n", pair[1]));
                let fields: String = fields.collect();
                let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n{fields}Connection: close\r\n\r\n");
                assert!(exchange(self.program.clients, &request).status < 500, "{command}");
                String::new()
            }
            other => panic!("the page has a command that this test does not know: {other:?}"),
        }
    }
}

/// The text without ages and remaining lifetimes, which may differ from run to run.
fn without_ages(text: &str) -> String {
    let level = |text: &str, before: &str, after: &str| {
        let mut pieces = text.split(before);
        let mut level = pieces.next().unwrap().to_owned();
        for piece in pieces {
            let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit());
            let shown = if rest.starts_with(after) { rest } else { piece };
            level.push_str(before);
            level.push_str(shown);
        }
        level
    };
    let text = level(text, "compared ", " s ago");
    // Of a lifetime of minutes, one may have begun.
    let text = level(&text, " s old, fresh for ", " min");
    level(&level(&text, "bytes, ", " s old"), "ttl=", "; detail")
}

#[test]
fn each_explanation_of_the_page_is_what_the_program_prints() {
    let written = std::fs::read_to_string(page()).unwrap();
    let tried = Tried::start("explain-page", &written);
    let mut now = String::new();
    let mut commands = 0;
    for (number, piece) in written.split("```").enumerate() {
        if number > 0 {
            now.push_str("```");
        }
        let Some(block) = piece.strip_prefix("console\n").filter(|_| number % 2 == 1) else {
            now.push_str(piece);
            continue;
        };
        now.push_str("console\n");
        for command in block.lines().filter_map(|line| line.strip_prefix("$ ")) {
            commands += 1;
            now.push_str(&format!("$ {command}\n{}", tried.run(command)));
        }
    }
    assert!(commands > 10, "{commands}");
    if std::env::var_os("KASOKU_REWRITE_EXPLANATIONS").is_some() {
        return std::fs::write(page(), &now).unwrap();
    }
    assert_eq!(without_ages(&written), without_ages(&now), "the page is not what the program prints");
}

/// Applies the settings that `kasoku explain` suggests: with them each page must be a hit, whatever its application says. It suggests none
/// for /account, where visitors log in.
#[test]
fn what_is_suggested_for_the_configuration_works_as_it_is_printed() {
    let tried = Tried::start("explain-advice", &std::fs::read_to_string(page()).unwrap());
    let mut advised = Vec::new();
    for (path, ..) in BLOG {
        let said = tried.run(&format!("kasoku explain http://blog.example{path} --live --json"));
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        let lists = ["changes", "instead"].map(|list| said["advice"][list].as_array().cloned().unwrap_or_default());
        let are_ours =
            |list: &Vec<serde_json::Value>| list.iter().all(|one| one["change"] == "set") && !list.is_empty();
        for list in lists.iter().filter(|list| are_ours(list)) {
            let is_overruling = list.iter().any(|one| one["name"] == "ignore");
            let says_so = list.iter().any(|one| one["dangers"].as_array().is_some_and(|dangers| !dangers.is_empty()));
            assert_eq!(is_overruling, says_so, "{path}: {list:?}");
            let line = |one: &serde_json::Value| {
                format!("{} = {}\n", one["name"].as_str().unwrap(), one["value"].as_str().unwrap())
            };
            let settings: String = list.iter().map(line).collect();
            let origin = blog();
            let config = format!("[[site]]\norigin = \"http://{origin}\"\n{settings}");
            let name = format!("explain-advice/{}.toml", advised.len());
            let config = file(&name, &config);
            let any = "127.0.0.1:0";
            let program = Program::serve(&[
                "--config",
                config.to_str().unwrap(),
                "--listen",
                any,
                "--admin",
                any,
                "--workers",
                "1",
            ]);
            let request = format!("GET {path} HTTP/1.1\r\nHost: blog.example\r\nConnection: close\r\n\r\n");
            // The first client passes, while the leak guard looks at the page.
            eventually(&format!("{path}: {settings}"), || exchange(program.clients, &request).is_hit());
            advised.push(path);
        }
    }
    let expected = ["/", "/news", "/search?q=boats", "/archive", "/latest", "/gone"];
    assert_eq!(advised, expected);
}

#[test]
fn json_is_for_programs_and_who_is_away_is_named() {
    let written = std::fs::read_to_string(page()).unwrap();
    let tried = Tried::start("explain-json", &written);
    let said: serde_json::Value =
        serde_json::from_str(&tried.run("kasoku explain http://blog.example/news --json")).unwrap();
    assert_eq!((&said["outcome"], &said["advice"]["kind"]), (&"ask".into(), &"ask-live".into()));
    let other = tried.run("kasoku explain http://other.example/");
    assert_eq!(other, "kasoku explain: No site is configured for this host (421)\n");
    let away = kasoku(&["explain", "http://blog.example/", "--admin", "unix:/nonexistent/admin.sock"]);
    let said = String::from_utf8(away.stderr).unwrap();
    assert_eq!(away.status.code(), Some(1));
    assert!(said.contains("is the program running, and does it listen there?"), "{said}");
    let nowhere = kasoku(&["explain", "http://blog.example/", "--config", "/nonexistent/kasoku.toml"]);
    assert!(String::from_utf8(nowhere.stderr).unwrap().contains("there is no such file"));
}

#[test]
fn a_command_that_reaches_no_program_names_the_place_and_what_would_help() {
    let missing = "/nonexistent/kasoku.sock";
    let site = "listen = [\"127.0.0.1:0\"]\n[[site]]\norigin = \"http://127.0.0.1:1\"\n";
    let with = |name: &str, setting: &str| {
        let config = file(&format!("explain-away-{name}.toml"), &format!("control-socket = \"{setting}\"\n{site}"));
        config.to_str().unwrap().to_owned()
    };
    let (gone, off) = (with("gone", missing), with("off", "off"));
    for command in [&["explain", "http://a.example/"][..], &["purge", "http://a.example/"], &["doctor"], &["reload"]] {
        let said = |config: &str| {
            let output = kasoku(&[command, &["--config", config]].concat());
            assert!(!output.status.success(), "{command:?}");
            String::from_utf8(output.stderr).unwrap()
        };
        let said_of_gone = said(&gone);
        for part in [missing, "is the program running", "`control-socket`", "--admin ADDRESS"] {
            assert!(said_of_gone.contains(part), "{command:?}: {said_of_gone}");
        }
        let said_of_off = said(&off);
        assert!(said_of_off.contains(&off) && said_of_off.contains("set `admin`"), "{command:?}: {said_of_off}");
    }
}
