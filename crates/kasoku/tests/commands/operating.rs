//! Tests what an operator does with the running program under load: reload, hand over to a new process, stop, purge, and switch the user.

use crate::support;
use crate::support::{Foreign, Origin, PATIENCE, Program, connect, exchange, file, get, kasoku, read_until};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::io::{BufRead, BufReader, IoSliceMut, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Clients that send requests without a pause.
const CLIENTS: usize = 16;

/// A configuration with two listeners on free ports, and `more` at the top.
fn configuration(name: &str, origin: &Origin, more: &str) -> PathBuf {
    let text = format!(
        "listen = [\"127.0.0.1:0\"]\nadmin = \"127.0.0.1:0\"\nworkers = 2\n{more}\n\n[[site]]\norigin = \"{}\"\n",
        origin.url()
    );
    file(name, &text)
}

fn serve(config: &Path) -> Program {
    Program::serve(&["--config", config.to_str().unwrap()])
}

fn temporary(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

pub(crate) fn eventually(what: &str, mut attempt: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !attempt() {
        assert!(begun.elapsed() < PATIENCE, "{what}: it never happens");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Visitors on kept connections, each with a list of its failures. It is no failure if the program closes a connection after an answer
/// with `Connection: close`, or no longer accepts connections.
struct Visitors {
    is_over: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    threads: Vec<JoinHandle<Vec<String>>>,
}

impl Visitors {
    fn of(address: SocketAddr) -> Self {
        let (is_over, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let visit = |number: usize| {
            let (is_over, answered) = (is_over.clone(), answered.clone());
            std::thread::spawn(move || visit(address, number, &is_over, &answered))
        };
        let threads = (0..CLIENTS).map(visit).collect();
        Self { is_over, answered, threads }
    }

    /// Waits until `count` more requests have been answered.
    fn go_on(&self, count: usize) {
        let goal = self.answered.load(Ordering::Relaxed) + count;
        eventually("answers", || self.answered.load(Ordering::Relaxed) >= goal);
    }

    /// Stops the visitors and returns all failures.
    fn leave(self) -> Vec<String> {
        self.is_over.store(true, Ordering::Relaxed);
        self.threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    }
}

fn visit(address: SocketAddr, number: usize, is_over: &AtomicBool, answered: &AtomicUsize) -> Vec<String> {
    let mut wrong = Vec::new();
    while !is_over.load(Ordering::Relaxed) && wrong.len() < 10 {
        let Ok(mut stream) = TcpStream::connect(address) else {
            // The program no longer listens.
            return wrong;
        };
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        for round in 0.. {
            // Pages are hits after the first time; private ones go to the origin each time.
            let path = if round % 8 == 0 { format!("/private-{number}") } else { format!("/page-{}", round % 4) };
            match ask(&mut stream, &path) {
                Ok(is_last) => {
                    answered.fetch_add(1, Ordering::Relaxed);
                    if is_last || is_over.load(Ordering::Relaxed) {
                        break;
                    }
                }
                Err(why) => {
                    wrong.push(format!("client {number}, request {round} of its connection: {why}"));
                    break;
                }
            }
        }
    }
    wrong
}

/// Sends one request and returns whether the answer announces the end of the connection.
fn ask(stream: &mut TcpStream, path: &str) -> Result<bool, String> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(|error| format!("not sent: {error}"))?;
    let mut text = String::new();
    loop {
        let mut piece = [0; 4096];
        match stream.read(&mut piece) {
            Ok(0) => return Err(format!("closed after {text:?}")),
            Ok(read) => text.push_str(&String::from_utf8_lossy(&piece[..read])),
            Err(error) => return Err(format!("{error} after {text:?}")),
        }
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && body.len() >= 6
        {
            return match (head.starts_with("HTTP/1.1 200 "), body) {
                (true, "abcdef") => Ok(head.to_ascii_lowercase().contains("\r\nconnection: close")),
                _ => Err(format!("an answer that is none: {text:?}")),
            };
        }
    }
}

#[test]
fn a_reload_says_what_it_changes_and_keeps_what_is_stored() {
    let origin = Origin::start();
    let config = configuration("reload.toml", &origin, "");
    let program = serve(&config);
    get(program.clients, "/page");
    configuration(
        "reload.toml",
        &origin,
        "hit-headers = [\"Cache-Status\", \"X-Cache-Hit\"]\npid-file = \"/nowhere/at/all\"",
    );
    program.signal(Signal::HUP);
    assert_eq!(
        program.says("SIGHUP: hit-headers: "),
        "[\"Cache-Status\"] (default) -> [\"Cache-Status\", \"X-Cache-Hit\"]"
    );
    assert_eq!(program.says("SIGHUP: pid-file: "), "(none) -> \"/nowhere/at/all\" (at the next start)");
    program.says("the configuration was read again");
    let hit = get(program.clients, "/page");
    assert_eq!((hit.is_hit(), hit.field("x-cache-hit")), (true, Some("1")));
}

#[test]
fn a_reload_of_a_wrong_configuration_leaves_the_old_one() {
    let origin = Origin::start();
    let config = configuration("wrong.toml", &origin, "");
    let program = serve(&config);
    get(program.clients, "/page");
    std::fs::write(&config, "workers = \"many\"\n").unwrap();
    program.signal(Signal::HUP);
    program.says("the configuration is wrong; the old one stays");
    assert!(get(program.clients, "/page").is_hit());
    std::fs::remove_file(&config).unwrap();
    program.signal(Signal::HUP);
    program.says("the configuration is wrong; the old one stays");
    assert!(get(program.clients, "/page").is_hit());
}

#[test]
fn no_request_fails_while_settings_change() {
    let origin = Origin::start();
    let config = configuration("reload-load.toml", &origin, "");
    let program = serve(&config);
    let visitors = Visitors::of(program.clients);
    for round in 0..8 {
        visitors.go_on(200);
        let more = if round % 2 == 0 { "hit-headers = [\"Cache-Status\", \"X-Cache-Hit\"]" } else { "" };
        configuration("reload-load.toml", &origin, more);
        program.signal(Signal::HUP);
        program.says("the configuration was read again");
    }
    visitors.go_on(200);
    assert_eq!(visitors.leave(), [""; 0]);
}

#[test]
fn no_request_fails_while_a_new_process_takes_over() {
    let origin = Origin::start();
    let pid_file = temporary("upgrade.pid");
    let more = format!("pid-file = \"{}\"\nlimits.drain-idle-timeout = \"5s\"", pid_file.display());
    let program = serve(&configuration("upgrade.toml", &origin, &more));
    let first = program.id();
    let clients = program.clients;
    let visitors = Visitors::of(clients);
    visitors.go_on(500);
    program.signal(Signal::USR2);
    let second: u32 = program.says("a new process serves; finishing running requests process=").parse().unwrap();
    assert_ne!(first, second);
    let _second = Foreign::written_in(&pid_file);
    assert_eq!(program.exit_code(), Some(0), "the old process");
    visitors.go_on(500);
    assert_eq!(visitors.leave(), [""; 0]);
    assert_eq!(get(clients, "/page-1").status, 200);
    // The new process can hand over as well.
    let visitors = Visitors::of(clients);
    kill_process(Pid::from_raw(second.try_into().unwrap()).unwrap(), Signal::USR2).unwrap();
    eventually("a third process", || {
        std::fs::read_to_string(&pid_file).is_ok_and(|text| !text.is_empty() && text.trim() != second.to_string())
    });
    let _third = Foreign::written_in(&pid_file);
    visitors.go_on(500);
    assert_eq!(visitors.leave(), [""; 0]);
}

#[test]
fn the_operator_speaks_to_the_new_process_while_the_old_one_finishes() {
    let origin = Origin::start();
    let (pid_file, token) = (temporary("purged.pid"), temporary("purged.token"));
    let more = format!("pid-file = \"{}\"\nadmin-token-file = \"{}\"", pid_file.display(), token.display());
    let program = serve(&configuration("upgrade-purge.toml", &origin, &more));
    let admin = program.admin.to_string();
    let mut slow = connect(program.clients);
    slow.write_all(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    read_until(&mut slow, "abc");
    program.signal(Signal::USR2);
    program.says("a new process serves; finishing running requests");
    let _second = Foreign::written_in(&pid_file);
    eventually("the old process listens no more", || !listens(program.id(), program.clients));
    for round in 0..16 {
        get(program.clients, "/page");
        assert!(get(program.clients, "/page").is_hit(), "{round}");
        let purged = purge(&["--admin", &admin, "--admin-token-file", token.to_str().unwrap(), "--all"]);
        assert_eq!(purged, (Some(0), "purged: everything\n".to_owned(), String::new()));
        assert!(!get(program.clients, "/page").is_hit(), "purged in the process that ends: {round}");
    }
    origin.release();
    assert_eq!(program.exit_code(), Some(0), "the old process");
}

#[test]
fn a_new_process_has_what_is_on_disk_while_the_old_one_finishes() {
    const PAGES: usize = 200;
    let origin = Origin::start();
    let (pid_file, folder) = (temporary("upgrade-disk.pid"), temporary("upgrade-disk"));
    let _ = std::fs::remove_dir_all(&folder);
    let (pid, path) = (pid_file.display(), folder.display());
    let more = format!("pid-file = \"{pid}\"\ndisk.path = \"{path}\"\ndisk.size = \"64MiB\"");
    let program = serve(&configuration("upgrade-disk.toml", &origin, &more));
    let clients = program.clients;
    (0..PAGES).for_each(|number| assert_eq!(get(clients, &format!("/page-{number}")).status, 200));
    get(clients, "/changed");
    let written = format!("kasoku_disk_stored_total {}", PAGES + 1);
    eventually("all is on disk", || get(program.admin, "/metrics").body.contains(&written));
    // A request that the old process answers only after the new one has taken over.
    let mut change = connect(clients);
    change.write_all(b"POST /changed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx").unwrap();
    eventually("the origin has it", || origin.asked().iter().filter(|path| *path == "/changed").count() == 2);
    program.signal(Signal::USR2);
    program.says("a new process serves; finishing running requests");
    let _second = Foreign::written_in(&pid_file);
    eventually("the old process listens no more", || !listens(program.id(), clients));
    let mut pages = (0..PAGES).map(|number| format!("/page-{number}"));
    eventually("a page that the new process has not asked for", || get(clients, &pages.next().unwrap()).is_hit());
    assert!(get(clients, "/changed").is_hit());
    origin.release();
    read_until(&mut change, "abcdef");
    assert!(!get(clients, "/changed").is_hit(), "what the old process has changed is gone in the new one");
    assert_eq!(program.exit_code(), Some(0), "the old process");
    assert!(get(clients, &pages.next_back().unwrap()).is_hit());
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Whether the process has a socket open that listens at that port.
fn listens(process: u32, address: SocketAddr) -> bool {
    let port = format!(":{:04X}", address.port());
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let listening = lines.filter(|words| words[1].ends_with(&port) && words[3] == "0A");
    let sockets: Vec<_> = listening.map(|words| format!("socket:[{}]", words[9])).collect();
    let open = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    // A descriptor that was closed since the directory was read has no link any more.
    let mut open = open.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
    open.any(|link| sockets.iter().any(|socket| link == Path::new(socket)))
}

#[test]
fn a_new_process_listens_for_its_operator_where_the_configuration_says_now() {
    let origin = Origin::start();
    let (pid_file, socket) = (temporary("moved.pid"), temporary("moved.sock"));
    let config = configuration("upgrade-admin.toml", &origin, &format!("pid-file = \"{}\"", pid_file.display()));
    let program = serve(&config);
    let old_admin = program.admin;
    let text = std::fs::read_to_string(&config).unwrap();
    let moved = text.replace("admin = \"127.0.0.1:0\"", &format!("admin = \"unix:{}\"", socket.display()));
    std::fs::write(&config, moved).unwrap();
    program.signal(Signal::USR2);
    program.says("a new process serves; finishing running requests");
    let _second = Foreign::written_in(&pid_file);
    assert_eq!(program.exit_code(), Some(0), "the old process");
    let purged = purge(&["--config", config.to_str().unwrap(), "--all"]);
    assert_eq!(purged, (Some(0), "purged: everything\n".to_owned(), String::new()));
    assert!(TcpStream::connect(old_admin).is_err(), "the old address is served still");
}

#[test]
fn a_new_process_that_cannot_serve_changes_nothing() {
    let origin = Origin::start();
    let config = configuration("upgrade-wrong.toml", &origin, "");
    let program = serve(&config);
    get(program.clients, "/page");
    let visitors = Visitors::of(program.clients);
    std::fs::write(&config, "workers = \"many\"\n").unwrap();
    program.signal(Signal::USR2);
    assert!(program.says("this process goes on: ").contains("ended before it served"));
    visitors.go_on(200);
    assert_eq!(visitors.leave(), [""; 0]);
    assert!(get(program.clients, "/page").is_hit());
}

#[test]
fn a_stop_does_not_wait_for_a_new_process_that_hangs() {
    let origin = Origin::start();
    let config = configuration("upgrade-hangs.toml", &origin, "");
    let program = serve(&config);
    // The new process hangs: it reads its configuration from a FIFO without a writer.
    std::fs::remove_file(&config).unwrap();
    let made = Command::new("mkfifo").arg(&config).status().unwrap();
    assert!(made.success());
    program.signal(Signal::USR2);
    let successor: i32 = program.says("a new process starts process=").parse().unwrap();
    program.signal(Signal::TERM);
    program.says("SIGTERM: no new process; finishing running requests");
    assert_eq!(program.exit_code(), Some(0));
    assert!(test_kill_process(Pid::from_raw(successor).unwrap()).is_err(), "it is gone as well");
    std::fs::remove_file(&config).unwrap();
}

#[test]
fn no_request_fails_while_the_program_ends() {
    let origin = Origin::start();
    let program = serve(&configuration("drain.toml", &origin, "limits.drain-idle-timeout = \"5s\""));
    let visitors = Visitors::of(program.clients);
    visitors.go_on(500);
    program.signal(Signal::TERM);
    assert_eq!(program.exit_code(), Some(0));
    assert_eq!(visitors.leave(), [""; 0]);
}

#[test]
fn a_second_signal_ends_at_once() {
    let origin = Origin::start();
    let program = serve(&configuration("twice.toml", &origin, "limits.drain-timeout = \"1h\""));
    let mut slow = connect(program.clients);
    slow.write_all(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    read_until(&mut slow, "abc");
    program.signal(Signal::TERM);
    program.says("SIGTERM: finishing running requests");
    program.signal(Signal::INT);
    program.says("SIGINT once more: ending at once");
    assert_eq!(program.exit_code(), Some(1));
    origin.release();
}

#[test]
fn the_access_log_is_opened_anew_where_logrotate_says_so() {
    let origin = Origin::start();
    let log = temporary("rotated.log");
    let more = format!("access-log = {{ path = \"{}\", format = \"common\" }}", log.display());
    let program = serve(&configuration("rotate.toml", &origin, &more));
    get(program.clients, "/before");
    let moved = log.with_extension("1");
    eventually("the first line", || std::fs::read_to_string(&log).is_ok_and(|text| text.contains("/before")));
    std::fs::rename(&log, &moved).unwrap();
    program.signal(Signal::USR1);
    eventually("a new file", || log.exists());
    get(program.clients, "/after");
    eventually("the second line", || std::fs::read_to_string(&log).is_ok_and(|text| text.contains("/after")));
    assert!(!std::fs::read_to_string(&moved).unwrap().contains("/after"));
}

#[test]
fn once_it_listens_it_runs_as_its_user() {
    if !rustix::process::getuid().is_root() {
        eprintln!("not shown: only root can become another user");
        return;
    }
    let origin = Origin::start();
    let pid_file = temporary("nobody.pid");
    let more = format!("user = \"nobody:nogroup\"\npid-file = \"{}\"", pid_file.display());
    let program = serve(&configuration("nobody.toml", &origin, &more));
    assert_eq!(get(program.clients, "/page").status, 200);
    for task in std::fs::read_dir(format!("/proc/{}/task", program.id())).unwrap() {
        let status = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        let line = |name: &str| status.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
        assert_eq!(line("Uid:").split_whitespace().collect::<Vec<_>>(), ["Uid:", "65534", "65534", "65534", "65534"]);
        assert_eq!(line("Gid:").split_whitespace().collect::<Vec<_>>(), ["Gid:", "65534", "65534", "65534", "65534"]);
        assert_eq!(line("Groups:").split_whitespace().collect::<Vec<_>>(), ["Groups:", "65534"]);
        assert_eq!(line("CapEff:").split_whitespace().last(), Some("0000000000000000"));
    }
}

#[test]
fn a_process_with_its_own_user_hands_over_with_the_token_that_was_made_for_it() {
    if !rustix::process::getuid().is_root() {
        eprintln!("not shown: only root can become another user");
        return;
    }
    let origin = Origin::start();
    let (pid_file, token) = (temporary("nobody-again.pid"), temporary("nobody.token"));
    let (pid, secret) = (pid_file.display(), token.display());
    let more = format!("user = \"nobody:nogroup\"\npid-file = \"{pid}\"\nadmin-token-file = \"{secret}\"");
    let program = serve(&configuration("nobody-again.toml", &origin, &more));
    let clients = program.clients;
    program.signal(Signal::USR2);
    program.says("a new process serves; finishing running requests");
    let _second = Foreign::written_in(&pid_file);
    assert_eq!(program.exit_code(), Some(0), "the old process");
    assert_eq!(get(clients, "/page").status, 200);
}

/// If root followed the link, a user who may write to the directory of the pid file could have root overwrite any file or change its owner.
#[test]
fn root_follows_no_link_to_the_pid_file() {
    if !rustix::process::getuid().is_root() {
        eprintln!("not shown: only root can give files away");
        return;
    }
    let origin = Origin::start();
    let (link, secret) = (temporary("link.pid"), temporary("secret"));
    std::fs::write(&secret, "root's own\n").unwrap();
    std::os::unix::fs::symlink(&secret, &link).unwrap();
    for user in ["user = \"nobody\"\n", ""] {
        let config = configuration("link.toml", &origin, &format!("{user}pid-file = \"{}\"", link.display()));
        // Ends the program if it wrongly starts to serve.
        let mut bounded = Command::new("timeout");
        bounded.args([
            "10",
            env!("CARGO_BIN_EXE_kasoku"),
            "serve",
            "--control-socket",
            "off",
            "--config",
            config.to_str().unwrap(),
        ]);
        let output = bounded.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("the pid file"), "{said}");
        let owner = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(&secret).unwrap());
        assert_eq!((owner, std::fs::read_to_string(&secret).unwrap().as_str()), (0, "root's own\n"));
    }
    std::fs::remove_file(&link).unwrap();
}

#[test]
fn a_user_that_does_not_exist_is_exit_status_1() {
    if !rustix::process::getuid().is_root() {
        eprintln!("not shown: only root can become another user");
        return;
    }
    let flags = ["--origin", "http://127.0.0.1:9", "--listen", "127.0.0.1:0"];
    for (user, words) in
        [("no-such-user", "there is no user no-such-user"), ("nobody:no-such", "there is no group no-such")]
    {
        let output = kasoku(&[&["serve"], &flags[..], &["--user", user]].concat());
        assert_eq!(output.status.code(), Some(1), "{user}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn the_pid_file_is_there_as_long_as_the_program_is() {
    let origin = Origin::start();
    let pid_file = temporary("served.pid");
    let program = serve(&configuration("pid.toml", &origin, &format!("pid-file = \"{}\"", pid_file.display())));
    assert_eq!(std::fs::read_to_string(&pid_file).unwrap(), format!("{}\n", program.id()));
    program.signal(Signal::TERM);
    assert_eq!(program.exit_code(), Some(0));
    assert!(!pid_file.exists());
}

#[test]
fn systemd_is_told_that_it_serves_and_that_it_ends() {
    let origin = Origin::start();
    let path = temporary("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let told = || {
        let mut text = [0; 64];
        let length = socket.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..length]).into_owned()
    };
    let mut around = Command::new("env");
    around.arg(format!("NOTIFY_SOCKET={}", path.display()));
    let config = configuration("systemd.toml", &origin, "");
    let program = Program::serve_under(around, &["--config", config.to_str().unwrap()]);
    assert_eq!(told(), "READY=1");
    program.signal(Signal::TERM);
    assert_eq!(told(), "STOPPING=1");
    assert_eq!(program.exit_code(), Some(0));
}

/// With `NotifyAccess=main`, systemd listens to the main process alone. The new process becomes the main process only once the old one
/// has said so.
#[test]
fn systemd_hears_of_a_process_that_takes_over_from_the_one_before_it() {
    let origin = Origin::start();
    let (path, pid_file) = (temporary("notify-upgrade"), temporary("notify-upgrade.pid"));
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    // The kernel adds the sender's process id to each message.
    socket2::SockRef::from(&socket).set_passcred(true).unwrap();
    let told = || {
        let (mut text, mut space) = ([0; 64], [std::mem::MaybeUninit::uninit(); 128]);
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut text)];
        let length = recvmsg(&socket, &mut parts, &mut control, RecvFlags::empty()).unwrap().bytes;
        let sender = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmCredentials(sender) => Some(sender.pid.as_raw_pid() as u32),
            _ => None,
        });
        (sender.unwrap(), String::from_utf8_lossy(&text[..length]).into_owned())
    };
    let mut around = Command::new("env");
    around.arg(format!("NOTIFY_SOCKET={}", path.display()));
    let more = format!("pid-file = \"{}\"", pid_file.display());
    let config = configuration("systemd-upgrade.toml", &origin, &more);
    let program = Program::serve_under(around, &["--config", config.to_str().unwrap()]);
    let first = program.id();
    assert_eq!(told(), (first, "READY=1".to_owned()));
    program.signal(Signal::USR2);
    let (sender, text) = told();
    let second: u32 = text.strip_prefix("MAINPID=").unwrap().parse().unwrap();
    assert_eq!(sender, first, "{text}");
    let new = Foreign::written_in(&pid_file);
    assert_eq!(program.exit_code(), Some(0), "the old process");
    new.signal(Signal::TERM);
    assert_eq!(told(), (second, "STOPPING=1".to_owned()));
}

fn purge(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = kasoku(&[&["purge"], arguments].concat());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn kasoku_purge_drops_what_is_stored() {
    let origin = Origin::start();
    let socket = temporary("admin.sock");
    let token = temporary("admin.token");
    let more = format!("admin-token-file = \"{}\"", token.display());
    let program = serve(&configuration("purge.toml", &origin, &more));
    let admin = program.admin.to_string();
    let url = format!("http://localhost:{}/page", program.clients.port());
    // The key holds the host that the client sent, which has no port here.
    let url = url.replace(&format!(":{}", program.clients.port()), "");
    get(program.clients, "/page");
    let refused = purge(&["--admin", &admin, &url]);
    assert_eq!((refused.0, refused.1.as_str()), (Some(1), ""));
    assert!(refused.2.contains("Authorization: Bearer"), "{}", refused.2);
    assert!(get(program.clients, "/page").is_hit());
    let flags = ["--admin", &admin, "--admin-token-file", token.to_str().unwrap()];
    let with = |more: &[&str]| purge(&[&flags[..], more].concat());
    assert_eq!(with(&[&url]), (Some(0), format!("purged: {url}\n"), String::new()));
    assert_eq!(with(&[&url]), (Some(0), format!("nothing was stored for {url}\n"), String::new()));
    assert!(!get(program.clients, "/page").is_hit());
    for (arguments, said) in [
        (&["--prefix", "http://localhost/pa"][..], "purged: all URLs that begin with http://localhost/pa\n"),
        (&["--site", "localhost"], "purged: all of localhost\n"),
        (&["--all"], "purged: everything\n"),
        (&["--site", "default"], "purged: all of default\n"),
        (&["--site", "localhost", "--soft"], "made stale: all of localhost\n"),
    ] {
        assert!(get(program.clients, "/page").is_hit(), "{arguments:?}");
        assert_eq!(with(arguments), (Some(0), said.to_owned(), String::new()));
        assert!(!get(program.clients, "/page").is_hit(), "{arguments:?}");
    }
    assert_eq!(purge(&["--admin", &admin]).0, Some(2), "nothing to purge");
    let wrong = with(&["--prefix", "/page"]);
    let without_host =
        "/page has no host: write http://HOST/page as visitors write it, a port included (sites: default)";
    assert_eq!((wrong.0, wrong.2), (Some(1), format!("kasoku purge: {without_host}\n")));
    let nobody = purge(&["--admin", &format!("unix:{}", socket.display()), "--all"]);
    assert_eq!(nobody.0, Some(1));
    assert!(nobody.2.contains("No such file"), "{}", nobody.2);
}

#[test]
fn a_purge_of_what_no_site_serves_fails() {
    let origin = Origin::start();
    let token = temporary("purge-nobody.token");
    let more = format!("admin-token-file = \"{}\"", token.display());
    let config = configuration("purge-nobody.toml", &origin, &more);
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("[[site]]\n", "[[site]]\nhosts = [\"localhost\"]\n")).unwrap();
    let program = serve(&config);
    let admin = program.admin.to_string();
    let flags = ["--admin", &admin, "--admin-token-file", token.to_str().unwrap()];
    for (arguments, error) in [
        (
            &["nonsense"][..],
            "not an http or https URL: nonsense (write a page like http://nonsense/page, or --site nonsense for the whole host)",
        ),
        (&["http://nohost/"], "no site is configured for the host nohost (sites: localhost)"),
        (&["--prefix", "http://nohost/"], "no site is configured for the host nohost (sites: localhost)"),
        (&["--site", "nohost"], "no site is configured for the host nohost (sites: localhost)"),
        (
            &["--tag", "a"],
            "no such site has tags: `tags` in the configuration of a site says which tags its responses get",
        ),
    ] {
        let (code, out, said) = purge(&[&flags[..], arguments].concat());
        assert_eq!((code, out.as_str(), said), (Some(1), "", format!("kasoku purge: {error}\n")), "{arguments:?}");
    }
    assert_eq!(purge(&[&flags[..], &["--site", "localhost"]].concat()).0, Some(0));
}

#[test]
fn who_may_connect_to_a_unix_socket_may_purge() {
    let origin = Origin::start();
    let socket = temporary("operator.sock");
    let config = file(
        "unix-admin.toml",
        &format!(
            "listen = [\"127.0.0.1:0\"]\nadmin = \"unix:{}\"\n\n[[site]]\norigin = \"{}\"\n",
            socket.display(),
            origin.url()
        ),
    );
    let config = config.to_str().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_kasoku"));
    let mut child = command.args(["serve", "--control-socket", "off", "--config", config]).spawn().unwrap();
    eventually("the operator's socket", || std::os::unix::net::UnixStream::connect(&socket).is_ok());
    let purged = purge(&["--config", config, "--all"]);
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&socket).unwrap());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(purged, (Some(0), "purged: everything\n".to_owned(), String::new()));
    assert_eq!(mode & 0o777, 0o660);
}

#[test]
fn plugins_purge_through_the_sites_own_listener() {
    let origin = Origin::start();
    let program = serve(&configuration("plugin.toml", &origin, ""));
    get(program.clients, "/page");
    let purged = exchange(
        program.clients,
        "PURGE /.* HTTP/1.1\r\nHost: localhost\r\nX-Purge-Method: regex\r\nConnection: close\r\n\r\n",
    );
    assert_eq!((purged.status, purged.body.as_str()), (200, "Purged all URLs that begin with http://localhost/\n"));
    assert!(!get(program.clients, "/page").is_hit());
    assert_eq!(program.metrics_after(3)["purges_total"], 1);
}

#[test]
fn it_may_have_as_many_connections_as_the_administrator_lets_it() {
    let origin = Origin::start();
    let mut around = Command::new("sh");
    around.args(["-c", "ulimit -S -n 100; exec \"$@\"", "sh"]);
    let config = configuration("descriptors.toml", &origin, "");
    let program = Program::serve_under(around, &["--config", config.to_str().unwrap()]);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", program.id())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let [soft, hard] = line.split_whitespace().skip(3).take(2).collect::<Vec<_>>()[..] else { panic!("{line}") };
    assert_eq!(soft, hard);
    assert_ne!(soft, "100");
}

/// The kernel assigns clients to a worker as soon as its socket exists, so a worker that cannot serve would leave its clients hanging.
#[test]
fn with_too_few_descriptors_for_all_workers_it_does_not_start() {
    let config = file(
        "few-descriptors.toml",
        "listen = [\"127.0.0.1:0\"]\nworkers = 4\n\n[[site]]\norigin = \"http://127.0.0.1:9\"\n",
    );
    let (mut refused, mut served) = (0, 0);
    for descriptors in (12..=60).step_by(4) {
        let mut around = Command::new("sh");
        around.args(["-c", &format!("ulimit -n {descriptors}; exec \"$@\""), "sh", env!("CARGO_BIN_EXE_kasoku")]);
        around.args(["serve", "--control-socket", "off", "--config", config.to_str().unwrap()]).stderr(Stdio::piped());
        let mut child = Ended(around.spawn().unwrap());
        let lines = BufReader::new(child.0.stderr.take().unwrap()).lines();
        let address = lines.map_while(Result::ok).find_map(|line| {
            let (_, address) = line.split_once(" listening on http://")?;
            Some(address.parse().unwrap())
        });
        let Some(address) = address else {
            assert!(!child.0.wait().unwrap().success(), "{descriptors} descriptors");
            refused += 1;
            continue;
        };
        for _ in 0..8 {
            let request = "OPTIONS * HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\nConnection: close\r\n\r\n";
            assert_eq!(exchange(address, request).status, 200, "{descriptors} descriptors");
        }
        served += 1;
    }
    assert!(refused > 1 && served > 1, "{refused} {served}");
}

#[test]
fn with_few_descriptors_connections_that_wait_for_nothing_keep_no_visitor_and_no_operator_out() {
    const DESCRIPTORS: usize = 120;
    const IDLE: usize = 2 * DESCRIPTORS;
    let origin = Origin::start();
    let text = format!(
        "listen = [\"127.0.0.1:0\"]\nadmin = \"127.0.0.1:0\"\nworkers = 1\n\n[[site]]\norigin = \"{}\"\n",
        origin.url()
    );
    let config = file("idle-clients.toml", &text);
    let mut around = Command::new("sh");
    around.args(["-c", &format!("ulimit -n {DESCRIPTORS}; exec \"$@\""), "sh"]);
    let program = Program::serve_under(around, &["--config", config.to_str().unwrap()]);
    let ask = |connection: &mut TcpStream| {
        connection.write_all(b"GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        read_until(connection, "abcdef");
    };
    // Who comes when all places are taken waits until others have been idle for a second.
    let idle: Vec<TcpStream> = (0..IDLE)
        .map(|_| {
            let mut connection = connect(program.clients);
            ask(&mut connection);
            connection
        })
        .collect();
    assert_eq!(get(program.admin, "/healthz").status, 200);
    // A page that is not stored needs a connection to the origin.
    assert_eq!(get(program.clients, "/private").status, 200);
    let closed = program.metrics_after(IDLE as u64 + 1)["idle_closed_total"];
    assert!((DESCRIPTORS as u64..IDLE as u64).contains(&closed), "{closed}");
    drop(idle);
}

/// A child process that is killed on drop.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A program with a control socket in the directory that `environment` names, in which commands look for it as well.
struct Controlled {
    program: Program,
    environment: [(&'static str, PathBuf); 1],
}

impl Controlled {
    fn start(name: &'static str, directory: &Path, config: &Path) -> Self {
        let environment = [(name, directory.to_owned())];
        let mut around = Command::new("env");
        around.envs(environment.iter().map(|(name, path)| (name, path)));
        let program = Program::serve_under(around, &["--control-socket", "auto", "--config", config.to_str().unwrap()]);
        Self { program, environment }
    }

    /// Runs a command that finds the program by the environment alone: its exit status, output and messages.
    fn command(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = support::command(arguments);
        let output = command.envs(self.environment.iter().map(|(name, path)| (name, path))).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }
}

fn directory(name: &str) -> PathBuf {
    let path = temporary(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir(&path).unwrap();
    path
}

#[test]
fn commands_without_an_option_and_without_a_token_ask_no_server() {
    let origin = Origin::start();
    let runtime = directory("runtime");
    let config = configuration("control.toml", &origin, "");
    let controlled = Controlled::start("RUNTIME_DIRECTORY", &runtime, &config);
    let socket = runtime.join("control.sock");
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    get(controlled.program.clients, "/page");
    assert!(get(controlled.program.clients, "/page").is_hit());
    let purged = controlled.command(&["purge", "http://localhost/page"]);
    assert_eq!(purged, (Some(0), "purged: http://localhost/page\n".to_owned(), String::new()));
    assert!(!get(controlled.program.clients, "/page").is_hit());
    // With a configuration that names neither an admin listener nor a control socket, the command uses the default socket as well.
    let plain = support::file("control-plain.toml", "[[site]]\norigin = \"http://127.0.0.1:9\"\n");
    let purged = controlled.command(&["purge", "--config", plain.to_str().unwrap(), "http://localhost/page"]);
    assert_eq!(purged, (Some(0), "purged: http://localhost/page\n".to_owned(), String::new()));
    for (arguments, words) in [
        (&["explain", "http://localhost/page"][..], "detail"),
        (&["top", "--once"], "requests per second"),
        (&["doctor"], "requests"),
    ] {
        let (status, said, wrong) = controlled.command(arguments);
        assert_eq!((status, wrong.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    let program = controlled.program;
    program.signal(Signal::TERM);
    assert_eq!(program.exit_code(), Some(0));
    assert!(!socket.exists(), "it goes with the program");
}

#[test]
fn kasoku_reload_says_what_changed_and_what_is_wrong() {
    let origin = Origin::start();
    let runtime = directory("reload");
    let config = configuration("control-reload.toml", &origin, "");
    let controlled = Controlled::start("RUNTIME_DIRECTORY", &runtime, &config);
    let unchanged = "the configuration was read again: nothing has changed\n".to_owned();
    assert_eq!(controlled.command(&["reload"]), (Some(0), unchanged, String::new()));
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{text}ttl = \"1m\"\ncookies.others = \"remove\"\n")).unwrap();
    let (status, said, warned) = controlled.command(&["reload"]);
    assert_eq!(status, Some(0), "{warned}");
    assert!(said.starts_with("the configuration was read again:\n"), "{said}");
    assert!(said.contains("site default: ttl: \"0s\" (default) -> \"1m\"\n"), "{said}");
    assert!(warned.starts_with("warning: "), "{warned}");
    std::fs::write(&config, "workers = \"many\"\n").unwrap();
    let (status, said, wrong) = controlled.command(&["reload"]);
    assert_eq!((status, said.as_str()), (Some(1), ""));
    let report = "kasoku reload: the configuration is wrong; the old one stays\nerror: `workers` can't be `many`";
    assert!(wrong.starts_with(report), "{wrong}");
    assert_eq!(get(controlled.program.clients, "/page").status, 200, "it goes on");
}

#[test]
fn the_control_socket_goes_to_the_process_that_takes_over() {
    let origin = Origin::start();
    let (runtime, pid_file) = (directory("control-upgrade"), temporary("control-upgrade.pid"));
    let config = configuration("control-upgrade.toml", &origin, &format!("pid-file = \"{}\"", pid_file.display()));
    let controlled = Controlled::start("RUNTIME_DIRECTORY", &runtime, &config);
    controlled.program.signal(Signal::USR2);
    controlled.program.says("a new process serves; finishing running requests");
    let second = Foreign::written_in(&pid_file);
    let purged = (Some(0), "purged: everything\n".to_owned(), String::new());
    let clients = controlled.program.clients;
    eventually("the old process listens no more", || !listens(controlled.program.id(), clients));
    for round in 0..8 {
        get(clients, "/page");
        assert!(get(clients, "/page").is_hit(), "{round}");
        assert_eq!(controlled.command(&["purge", "--all"]), purged);
        assert!(!get(clients, "/page").is_hit(), "purged in the process that ends: {round}");
    }
    drop(second);
    assert!(!runtime.join("control.sock").exists(), "it goes with the last of them");
    let nobody = controlled.command(&["purge", "--config", config.to_str().unwrap(), "--all"]);
    assert_eq!(nobody.0, Some(1), "and no server answers any more");
}

#[test]
fn a_second_program_leaves_the_control_socket_to_the_first_and_says_which_setting_helps() {
    let origin = Origin::start();
    let runtime = directory("control-second");
    let config = configuration("control-first.toml", &origin, "");
    let first = Controlled::start("RUNTIME_DIRECTORY", &runtime, &config);
    get(first.program.clients, "/page");
    let arguments = ["--control-socket", "auto", "--config", config.to_str().unwrap()];
    let mut second = support::command(&["serve"]);
    let mut second = second.args(arguments).env("RUNTIME_DIRECTORY", &runtime).stderr(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(second.stderr.take().unwrap()).lines().map_while(Result::ok);
    let warning = said.into_iter().find(|line| line.contains("WARN")).unwrap();
    let _ = second.kill();
    let _ = second.wait();
    assert!(
        warning.contains("another program listens there") && warning.ends_with("set `control-socket`"),
        "{warning}"
    );
    assert!(get(first.program.clients, "/page").is_hit());
    assert_eq!(first.command(&["purge", "--all"]).0, Some(0));
    assert!(!get(first.program.clients, "/page").is_hit(), "the first one was asked");
}

/// `--config` addresses the program of that configuration, even if another program listens at the default socket.
#[test]
fn a_program_with_a_control_socket_elsewhere_is_found_by_its_configuration() {
    let origin = Origin::start();
    let directory = directory("control-elsewhere");
    let socket = directory.join("blog.sock");
    let config = configuration("control-elsewhere.toml", &origin, "");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("control-socket = \"{}\"\n{text}", socket.display())).unwrap();
    let mut served = support::command(&["serve", "--config", config.to_str().unwrap()]);
    let mut served = served.stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(served.stderr.take().unwrap()).lines().map_while(Result::ok);
    let named = lines.into_iter().find(|line| line.ends_with(&format!("control socket {}", socket.display())));
    let reloaded = kasoku(&["reload", "--config", config.to_str().unwrap()]);
    let _ = served.kill();
    let _ = served.wait();
    assert!(named.is_some());
    assert_eq!(reloaded.status.code(), Some(0), "{}", String::from_utf8_lossy(&reloaded.stderr));
}
