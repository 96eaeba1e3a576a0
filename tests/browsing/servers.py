"""Starts the servers of a PHP application for a test: a database, php-fpm, and Kasoku in front, in one scratch directory.

They listen on Unix sockets in that directory, except for Kasoku, which has a free port of 127.0.0.1. All of them, including their children,
end with the context. A subclass stands for an application: its `_install` puts the application into `root`.
"""

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = Path(os.environ.get("KASOKU_TEST_PROGRAM", Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "kasoku"))
PATIENCE_SECONDS = 60
WEB_USER = "www-data"

FPM = """[global]
error_log = {directory}/php-fpm.log
daemonize = no
[www]
user = {user}
group = {user}
listen = {socket}
listen.mode = 0666
listen.backlog = 511
pm = static
pm.max_children = 4
access.log = {directory}/php-access.log
access.format = "%m %r%Q%q %s"
catch_workers_output = yes
; A file of settings that a test changes counts at once.
php_admin_value[opcache.revalidate_freq] = 0
"""


class Servers:
    """A context with the application's servers, and Kasoku."""

    name = "application"

    def __init__(self):
        self.directory = Path(tempfile.mkdtemp(prefix=f"kasoku-{self.name}-"))
        self.directory.chmod(0o755)
        self.root = self.directory / "www"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.php_socket = self.directory / "php.sock"
        self.admin = self.directory / "admin.sock"
        self.database_socket = self.directory / "run" / "database.sock"
        self._config = self.directory / "kasoku.toml"
        self._kasoku = None
        self._children = []

    def _install(self):
        raise NotImplementedError

    def _environment(self):
        """Variables that PHP gets in addition to those of the request."""
        return {}

    def __enter__(self):
        try:
            self._database()
            self._install()
            self._php()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for child in reversed(self._children):
            end(child)
        shutil.rmtree(self.directory, ignore_errors=True)

    def serve(self, rules):
        """Writes these lines into Kasoku's configuration, and starts it or makes it reload."""
        self._config.write_text(f'listen = ["127.0.0.1:{self.port}"]\nadmin = "unix:{self.admin}"\n{rules}')
        if self._kasoku is None:
            log = self.directory / "kasoku.log"
            self._kasoku = self._start([PROGRAM, "serve", "--config", self._config], log)
            until("Kasoku serves", lambda: can_connect(self.port), self._kasoku, log)
            return
        self.reload()

    def reload(self):
        """Makes Kasoku reload its configuration."""
        before = self.said().count("the configuration was read again")
        self._kasoku.send_signal(signal.SIGHUP)
        until("a reload", lambda: self.said().count("the configuration was read again") > before, self._kasoku, self.directory / "kasoku.log")

    def said(self):
        """Kasoku's log so far."""
        return (self.directory / "kasoku.log").read_text(errors="replace")

    def php_requests(self):
        """The number of requests that PHP has answered so far."""
        return (self.directory / "php-access.log").read_bytes().count(b"\n")

    def settle(self):
        """Waits until PHP has had no request for half a second."""
        before = None
        while before != (before := self.php_requests()):
            time.sleep(0.5)

    def kasoku(self, *words):
        """Runs a `kasoku` command against the running program; returns its output."""
        words = [PROGRAM, words[0], "--admin", f"unix:{self.admin}", *words[1:]]
        return run(words)

    def kasoku_metrics(self):
        """The program's metrics, as Prometheus reads them."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE_SECONDS)
            connection.connect(str(self.admin))
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return b"".join(iter(lambda: connection.recv(65536), b"")).decode()

    def sql(self, statement):
        """Executes a statement in the application's database."""
        run(["mariadb", "--no-defaults", f"--socket={self.database_socket}", "--user=root", self.name, "-e", statement])

    def _database(self):
        data = self.directory / "database"
        log = self.directory / "database.log"
        data.mkdir()
        shutil.chown(data, "mysql", "mysql")
        run(["mariadb-install-db", f"--datadir={data}", "--user=mysql", "--skip-test-db", "--auth-root-authentication-method=normal"],
            env={**os.environ, "TMPDIR": str(data)})
        self.database_socket.parent.mkdir()
        shutil.chown(self.database_socket.parent, "mysql", "mysql")
        # The data need not survive a loss of power.
        server = ["/usr/sbin/mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={self.database_socket}", "--skip-networking", f"--tmpdir={data}",
                  "--user=mysql", "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M", "--skip-log-bin"]
        child = self._start(server, log)
        until("the database serves", self.database_socket.exists, child, log)
        create = f"CREATE DATABASE {self.name} CHARACTER SET utf8mb4"
        run(["mariadb", "--no-defaults", f"--socket={self.database_socket}", "--user=root", "-e", create])

    def _php(self):
        config = self.directory / "php-fpm.conf"
        environment = "".join(f"env[{name}] = {value}\n" for name, value in self._environment().items())
        config.write_text(FPM.format(directory=self.directory, socket=self.php_socket, user=WEB_USER) + environment)
        programs = sorted(Path("/usr/sbin").glob("php-fpm*"))
        if not programs:
            raise RuntimeError("php-fpm is not installed")
        log = self.directory / "php-fpm.out"
        child = self._start([programs[-1], "--nodaemonize", "--fpm-config", config], log)
        until("php-fpm serves", self.php_socket.exists, child, log)

    def _start(self, words, log):
        with open(log, "ab") as out:
            child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        self._children.append(child)
        return child


def end(child):
    """Ends a child and the processes that it has started."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


def run(words, **more):
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def until(what, is_so, child, log=None):
    """Waits until `is_so()`; an error if the child ends before."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        if child.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{what}: it never happened. {log.read_text(errors='replace') if log else ''}")
        time.sleep(0.05)


def can_connect(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def free_port():
    """A free port. It is outside of the kernel's range of ephemeral ports, since seconds may pass until a server listens there."""
    while True:
        port = random.randrange(15000, 32000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def counted(site, name):
    """The value of Kasoku's counter with that name."""
    lines = [line for line in site.kasoku_metrics().splitlines() if line.startswith(f"kasoku_{name}_total ")]
    return int(lines[0].split()[1])


@contextlib.contextmanager
def away(path):
    """A context in which the path does not exist."""
    elsewhere = path.with_name(f"away-{path.name}")
    path.rename(elsewhere)
    try:
        yield
    finally:
        elsewhere.rename(path)
