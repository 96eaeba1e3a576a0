//! Tests of the examples in Python and PHP: each finds a page that a front end has stored, with the ordinary client of its language, replaces
//! it for all front ends, and purges it.

use crate::client::in_language;
use crate::fleet::{Fleet, Kind, PURGE_BOUND, Setup, name_of};
use crate::page::{self, LANGUAGES, uri};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How often a page is tried: on a machine with much to do, a server may not be usable just then.
const TRIES: usize = 5;

/// A program and the file that it runs.
const PROGRAMS: [(&str, &str); 2] = [("/usr/bin/python3", "python/shared_tier.py"), ("php", "php/shared_tier.php")];

struct Example<'f> {
    program: &'static str,
    file: PathBuf,
    fleet: &'f Fleet,
    has_secret: bool,
}

impl Example<'_> {
    /// Runs it to its end; returns what it prints.
    fn run(&self, command: &str, target: &str, fields: &[&str], input: &[u8]) -> Vec<u8> {
        let mut run = Command::new(self.program);
        run.arg(&self.file).arg(self.fleet.servers_for_programs()).args([command, &uri(target)]).args(fields);
        if self.has_secret {
            run.env("KASOKU_SECRET_FILE", self.fleet.secret_file());
        }
        run.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = run.spawn().expect("it is installed (scripts/install-test-deps --only cargo)");
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // A program that ends early is told of by its status.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        let [said, wrong] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        assert!(output.status.success() && wrong.is_empty(), "{}: {said}\n{wrong}", self.file.display());
        output.stdout
    }

    fn is_of_use(&self) {
        for (kind, bytes) in [("page", 300), ("page", 1_200_000), ("vary", 300)] {
            let replaced = [format!("replaced {bytes}\n").as_bytes(), &vec![b'x'; bytes]].concat();
            assert!((0..TRIES).any(|_| self.shows_and_replaces(kind, bytes, &replaced)), "{kind} {bytes}");
        }
        self.purges();
    }

    fn shows_and_replaces(&self, kind: &str, bytes: usize, replaced: &[u8]) -> bool {
        let [language, _] = LANGUAGES;
        let (target, asked) = (self.fleet.fresh(kind, bytes), in_language(language));
        let fields = [asked.trim_end()];
        let ask = |front_end: usize| self.fleet.front_ends[front_end].ask("GET", &target, &asked);
        for front_end in [0, 1] {
            ask(front_end).version(&target, language);
            if self.fleet.holder(&name_of(&uri(&target)), PURGE_BOUND).is_none() {
                return false;
            }
        }
        let shown = self.run("show", &target, &fields, b"");
        let text = String::from_utf8_lossy(&shown[..shown.len().min(2000)]).into_owned();
        assert!(kind == "vary" || text.starts_with(&name_of(&uri(&target))), "{text}");
        assert!(text.contains(&format!("\r\nKey: {}\r\n", uri(&target))), "{text}");
        let body = page::body(&target, if kind == "vary" { language } else { "" }, 1);
        assert!(shown.ends_with(&[b"\r\n\r\n", &body[..]].concat()), "{text}");
        self.run("replace", &target, &fields, replaced);
        std::thread::sleep(PURGE_BOUND);
        (0..3).all(|front_end| {
            let answer = ask(front_end);
            answer.status == 200 && answer.is_shared() && answer.body == replaced
        })
    }

    fn purges(&self) {
        let target = self.fleet.fresh("page", 300);
        for front_end in &self.fleet.front_ends {
            front_end.get(&target).version(&target, "");
        }
        self.fleet.origin.change(&target);
        self.run("purge", &target, &[], b"");
        std::thread::sleep(PURGE_BOUND);
        for front_end in &self.fleet.front_ends {
            assert_eq!(front_end.get(&target).version(&target, ""), 2);
        }
    }
}

fn are_of_use(has_secret: bool) {
    let fleet = Fleet::start(Setup { servers: 3, has_secret, ..Setup::PATIENT });
    for (program, file) in PROGRAMS {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/shared-tier").join(file);
        Example { program, file, fleet: &fleet, has_secret }.is_of_use();
    }
}

#[test]
fn programs_in_python_and_php_show_replace_and_purge_pages() {
    are_of_use(false);
}

#[test]
fn a_program_in_python_shows_replaces_and_purges_pages_in_redis() {
    let [(program, file), _] = PROGRAMS;
    for kind in [Kind::Redis, Kind::Cluster] {
        let fleet = Fleet::start(Setup { kind, servers: 1, ..Setup::PATIENT });
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/shared-tier").join(file);
        Example { program, file, fleet: &fleet, has_secret: false }.is_of_use();
    }
}

#[test]
fn programs_that_know_the_secret_show_replace_and_purge_pages() {
    are_of_use(true);
}
