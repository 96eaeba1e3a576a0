//! A directory of CGI programs, and an engine in front of it.
#![allow(dead_code, reason = "shared by tests, each of which uses a part")]

use kasoku_options::{OriginAddress, Route};
use kasoku_testkit::{Client, Scenario, Setup};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory below the system's temporary one. It is removed when the test ends.
pub(crate) struct Programs(PathBuf);

/// The beginning of each page's script in these tests.
pub(crate) const PAGE: &str = "printf 'Content-Type: text/plain\\n\\n'; ";

/// The same for a page that may be stored.
pub(crate) const KEPT: &str = "printf 'Content-Type: text/plain\\nCache-Control: max-age=60\\n\\n'; ";

impl Programs {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("kasoku-programs-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// A directory with these programs, each a name and a script of /bin/sh.
    pub(crate) fn with(scripts: &[(&str, &str)]) -> Self {
        let programs = Self::new();
        for (name, script) in scripts {
            programs.write(name, &format!("#!/bin/sh\n{script}\n"));
        }
        programs
    }

    /// Writes a program, by another process. If this process had the file open for writing while it starts a program, the new
    /// process would hold it open for a moment too, and the kernel would refuse to execute it (ETXTBSY).
    pub(crate) fn write(&self, name: &str, text: &str) {
        let mut writer = Command::new("/bin/sh");
        writer.args(["-c", "cat > \"$0\" && chmod 755 \"$0\""]).arg(self.path(name)).stdin(Stdio::piped());
        let mut writer = writer.spawn().unwrap();
        writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(writer.wait().unwrap().success());
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The number of lines that programs have written into this file.
    pub(crate) fn lines(&self, name: &str) -> usize {
        fs::read_to_string(self.path(name)).map_or(0, |text| text.lines().count())
    }

    /// A named pipe that programs read from, or write into.
    pub(crate) fn fifo(&self, name: &str) -> Fifo {
        assert!(Command::new("mkfifo").arg(self.path(name)).status().unwrap().success());
        Fifo(fs::File::options().read(true).write(true).open(self.path(name)).unwrap())
    }

    /// An engine in front of these programs.
    pub(crate) fn serve(&self, change: impl FnOnce(&mut Route)) -> Served {
        Served::new(Setup::safe(), &self.0, change)
    }

    pub(crate) fn serve_by(&self, setup: Setup, change: impl FnOnce(&mut Route)) -> Served {
        Served::new(setup, &self.0, change)
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) struct Fifo(fs::File);

impl Fifo {
    /// Releases one program that reads a line of the pipe.
    pub(crate) fn tell(&mut self) {
        self.0.write_all(b"go\n").unwrap();
    }

    /// Waits until a program has written into the pipe.
    pub(crate) fn hear(&mut self) {
        let _ = self.0.read(&mut [0; 64]).unwrap();
    }
}

pub(crate) struct Served(pub(crate) Scenario);

impl Served {
    fn new(setup: Setup, programs: &Path, change: impl FnOnce(&mut Route)) -> Self {
        let setup = setup.site(&[], |route| {
            route.origins = vec![OriginAddress::Cgi(programs.to_owned()).into()];
            change(route);
        });
        Self(setup.run_with_own_origins())
    }

    pub(crate) fn client(&self) -> Client {
        self.0.client()
    }

    /// Waits until no program runs.
    pub(crate) fn is_idle(&self) {
        self.0.eventually(|| {
            let origins = self.0.engine.handle().origins().numbers();
            origins.iter().all(|origin| (origin.connections, origin.queue) == (0, 0))
        });
    }
}

/// The child processes of this process that have not been waited for, of all threads.
pub(crate) fn children() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let of = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
    let texts: Vec<String> = tasks.filter_map(Result::ok).map(of).collect();
    texts.iter().flat_map(|text| text.split_ascii_whitespace()).map(str::to_owned).collect()
}
