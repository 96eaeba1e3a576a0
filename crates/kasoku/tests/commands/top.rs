//! Tests the command `kasoku top` with a running program: in a pipe, as JSON, and on a terminal.

use crate::support::{Origin, PATIENCE, Program, get, kasoku};
#[allow(dead_code, reason = "more than one test uses it, each its own part")]
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

const ANY_PORT: &str = "127.0.0.1:0";

/// A program with an admin token, and the flags by which commands reach it.
struct Scene {
    program: Program,
    _origin: Origin,
    flags: [String; 4],
}

impl Scene {
    fn start(name: &str) -> Self {
        let origin = Origin::start();
        let token = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("top-{name}.token"));
        let _ = std::fs::remove_file(&token);
        let token = token.to_str().unwrap().to_owned();
        let listeners = ["--listen", ANY_PORT, "--admin", ANY_PORT, "--admin-token-file", &token];
        let program = Program::serve(&[&["--origin", &origin.url(), "--workers", "2"][..], &listeners].concat());
        for path in ["/page", "/page", "/page", "/private?id=1", "/private?id=1"] {
            get(program.clients, path);
        }
        let flags = ["--admin".to_owned(), program.admin.to_string(), "--admin-token-file".to_owned(), token];
        Self { program, _origin: origin, flags }
    }

    fn top(&self, more: &[&str]) -> std::process::Output {
        let flags = self.flags.iter().map(String::as_str);
        kasoku(&["top"].into_iter().chain(flags).chain(more.iter().copied()).collect::<Vec<_>>())
    }
}

#[test]
fn in_a_pipe_it_is_written_once() {
    let scene = Scene::start("pipe");
    // A request is counted a moment after its answer.
    let text = loop {
        let output = scene.top(&[]);
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        if text.contains("no-store               http://localhost/private?id=1\n") && text.contains("uri-miss") {
            break text;
        }
    };
    let program = scene.program.admin;
    assert!(text.starts_with(&format!("kasoku {}   {program}   up ", env!("CARGO_PKG_VERSION"))), "{text}");
    assert!(text.contains("   2 workers\n"), "{text}");
    for words in ["\nstatus 2xx per second ", "\nmemory  ", " up, 0 connections in use", " of 1.0 GiB\n", "\nhits  "] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    assert!(!text.contains('\x1b'), "{text:?}");
}

#[test]
fn a_diagnosis_is_of_what_was_missed() {
    let scene = Scene::start("doctor");
    let flags: Vec<&str> = scene.flags.iter().map(String::as_str).collect();
    let doctor = |more: &[&str]| kasoku(&[&["doctor"], &flags[..], more].concat());
    let text = loop {
        let output = doctor(&[]);
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        if text.contains("2 requests") {
            break text;
        }
    };
    assert!(text.contains("Nothing to add: not tried: none of these URLs was requested by three visitors"), "{text}");
    assert!(text.contains("  localhost/private?id: 2 requests") && text.contains("(no-store)\n"), "{text}");
    let json = doctor(&["--json", "--site", "other.example"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["findings"].as_array().map(Vec::len), Some(0), "{json}");
}

#[test]
fn as_json_it_is_what_the_listener_says() {
    let scene = Scene::start("json");
    let output = scene.top(&["--json"]);
    let top: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((top["workers"].as_u64(), top["rates"].as_array().map(Vec::len)), (Some(2), Some(3)));
}

#[test]
fn what_is_in_its_way_is_said() {
    let scene = Scene::start("denied");
    let said = |arguments: &[&str]| {
        let output = kasoku(arguments);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let address = scene.program.admin.to_string();
    let denied = said(&["top", "--admin", &address]);
    assert!(denied.starts_with("kasoku top: ") && denied.contains("Bearer"), "{denied}");
    let nobody = said(&["top", "--admin", "unix:/nonexistent/admin.sock"]);
    assert!(nobody.contains("unix:/nonexistent/admin.sock: No such file"), "{nobody}");
}

/// A terminal of 24 lines, and `kasoku top` on it.
struct Screen {
    terminal: File,
    ours: File,
    shown: Receiver<Vec<u8>>,
    /// All output so far, and how many bytes of it [`Screen::shows`] has searched.
    text: String,
    seen: usize,
    child: Child,
}

impl Screen {
    fn of(scene: &Scene) -> Self {
        Self::with(scene, 80, &[])
    }

    /// A terminal of that width, and `kasoku top` with these environment variables.
    fn with(scene: &Scene, columns: u16, variables: &[(&str, &str)]) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let terminal = OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        tcsetwinsize(&terminal, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let side = || Stdio::from(terminal.try_clone().unwrap());
        let child = Command::new(env!("CARGO_BIN_EXE_kasoku"))
            .args(["top", "--interval", "100ms"])
            .args(&scene.flags)
            .env_remove("NO_COLOR")
            .envs([("LC_ALL", "C.UTF-8"), ("TERM", "xterm-256color")])
            .envs(variables.iter().copied())
            .stdin(side())
            .stdout(side())
            .spawn()
            .unwrap();
        let ours = File::from(ours);
        let (sender, shown) = channel();
        let mut reads = ours.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = reads.read(&mut piece) {
                if sender.send(piece[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { terminal, ours, shown, text: String::new(), seen: 0, child }
    }

    /// Waits until `words` appear after the words that were found last: `kasoku top` redraws only what changes.
    fn shows(&mut self, words: &str) {
        let until = Instant::now() + PATIENCE;
        let end = loop {
            if let Some(at) = self.text[self.seen..].find(words) {
                break self.seen + at + words.len();
            }
            assert!(Instant::now() < until, "{words:?} not in {:?}", self.text);
            let piece =
                self.shown.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{words:?} not in {:?}", self.text));
            self.text.push_str(&String::from_utf8_lossy(&piece));
        };
        self.seen = end;
    }

    fn echoes(&self) -> bool {
        tcgetattr(&self.terminal).unwrap().local_modes.contains(LocalModes::ECHO | LocalModes::ICANON)
    }

    /// Checks that `kasoku top` exits successfully and restores the terminal.
    fn ends(mut self) {
        self.shows("\x1b[?25h\x1b[?1049l");
        assert!(self.child.wait().unwrap().success());
        assert!(self.echoes());
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn on_a_terminal_it_is_drawn_again_and_again_until_q() {
    let scene = Scene::start("terminal");
    let mut screen = Screen::of(&scene);
    screen.shows("\x1b[?1049h");
    screen.shows("http://localhost/private?id=1");
    assert!(!screen.echoes(), "keys are not shown");
    get(scene.program.clients, "/private?later");
    screen.shows("/private?later");
    screen.ours.write_all(b"?").unwrap();
    screen.shows("sort by requests");
    screen.ours.write_all(b"x/later").unwrap();
    screen.shows("Enter keeps it");
    screen.ours.write_all(b"\rxq").unwrap();
    screen.ends();
}

#[test]
fn on_a_terminal_there_are_colours_unless_they_are_switched_off() {
    let scene = Scene::start("colours");
    let mut screen = Screen::of(&scene);
    screen.shows("http://localhost/private?id=1");
    // Passes are magenta.
    assert!(screen.text.contains("\x1b[38;5;5;"), "{:?}", screen.text);
    screen.ours.write_all(b"q").unwrap();
    screen.ends();
    for (columns, wanted) in [(60, "answers"), (80, "sent"), (140, "reason")] {
        let mut screen = Screen::with(&scene, columns, &[("NO_COLOR", "1"), ("LC_ALL", "C")]);
        screen.shows("http://localhost/priv");
        assert!(screen.text.contains(wanted) && screen.text.is_ascii(), "{:?}", screen.text);
        assert!(!screen.text.contains("38;5;"), "{:?}", screen.text);
        screen.ours.write_all(b"\x03").unwrap();
        screen.ends();
    }
}

#[test]
fn it_waits_for_a_program_that_is_away_and_a_signal_ends_it() {
    let scene = Scene::start("away");
    for signal in [Signal::INT, Signal::TERM] {
        let mut screen = Screen::of(&scene);
        screen.shows("memory");
        kill_process(Pid::from_child(&screen.child), signal).unwrap();
        screen.ends();
    }
    let mut screen = Screen::of(&scene);
    screen.shows("memory");
    drop(scene);
    screen.shows("no answer:");
    screen.ours.write_all(b"q").unwrap();
    screen.ends();
}
