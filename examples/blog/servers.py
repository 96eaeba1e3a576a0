"""Starts what the blog needs, in a directory of its own that goes away with it: MariaDB, Redis, and the blog itself."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHOICES = ["none", "mariadb", "redis", "moka", "quick_cache", "map", "data"]
ADMIN_PASSWORD = "admin"
PATIENCE_SECONDS = 60


def build(profile):
    """Builds the blog in the profile `dev` or `release`. Returns the program."""
    subprocess.run(["cargo", "build", "--profile", profile, "--locked"], cwd=HERE, check=True)
    folder = "debug" if profile == "dev" else profile
    return Path(os.environ.get("CARGO_TARGET_DIR", HERE / "target")) / folder / "blog"


class Servers(contextlib.ExitStack):
    """A context: what is started in it ends with it."""

    def __init__(self, program):
        super().__init__()
        self.program = program

    def __enter__(self):
        super().__enter__()
        self.directory = Path(tempfile.mkdtemp(prefix="blog-"))
        self.callback(shutil.rmtree, self.directory, ignore_errors=True)
        self.directory.chmod(0o755)
        return self

    def database(self):
        """Starts MariaDB on a Unix socket, with a query cache, and seeds it. Returns the blog's arguments for it."""
        home = self.directory / "mariadb"
        home.mkdir()
        data, socket = home / "data", home / "socket"
        data.mkdir()
        user = []
        if os.geteuid() == 0:
            shutil.chown(home, "mysql", "mysql")
            shutil.chown(data, "mysql", "mysql")
            user = ["--user=mysql"]
        install = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db", "--auth-root-authentication-method=normal", *user]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
        server = shutil.which("mariadbd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        words = [server, "--no-defaults", f"--datadir={data}", f"--socket={socket}", "--skip-networking", "--skip-log-bin", *user]
        # With type 0 at the start, no session could switch the cache on.
        words += ["--query-cache-type=1", "--query-cache-size=64M", "--innodb-buffer-pool-size=128M", "--skip-name-resolve"]
        self._start(words, home / "log", lambda: succeeds(["mariadb", "--no-defaults", f"--socket={socket}", "--user=root", "--execute=SELECT 1"]))
        create = "CREATE DATABASE blog CHARACTER SET utf8mb4"
        subprocess.run(["mariadb", "--no-defaults", f"--socket={socket}", "--user=root", f"--execute={create}"], check=True)
        database = ["--database", f"mysql://root@localhost/blog?socket={socket}"]
        subprocess.run([self.program, *database, "seed"], check=True)
        self.socket = socket
        return database

    def sql(self, statement):
        """The output of a statement."""
        words = ["mariadb", "--no-defaults", f"--socket={self.socket}", "--user=root", "--skip-column-names", f"--execute={statement}", "blog"]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    def redis(self):
        """Starts Redis on a Unix socket, without a file. Returns the blog's arguments for it."""
        socket = self.directory / "redis.sock"
        words = ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no"]
        words += ["--maxmemory", "256mb", "--maxmemory-policy", "allkeys-lfu"]
        self._start(words, self.directory / "redis.log", lambda: succeeds(["redis-cli", "-s", socket, "ping"]))
        return ["--redis", f"unix://{socket}"]

    def blog(self, database, *arguments):
        """Starts the blog on a free port. Returns its address and its process."""
        log = self.directory / "blog.log"
        log.unlink(missing_ok=True)
        words = [self.program, *database, "serve", *arguments]
        process = self._start(words, log, lambda: b"serving on" in log.read_bytes(), {"BLOG_ADMIN_PASSWORD": ADMIN_PASSWORD})
        return log.read_text().split("serving on ")[1].split()[0], process

    def _start(self, words, log, is_ready, environment=None):
        with open(log, "wb") as output:
            process = subprocess.Popen(
                [str(word) for word in words], stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env={**os.environ, **(environment or {})}, start_new_session=True,
            )
        self.callback(end, process)
        until = time.monotonic() + PATIENCE_SECONDS
        while not is_ready():
            if process.poll() is not None or time.monotonic() > until:
                sys.exit(f"{words[0]} does not start:\n{log.read_text(errors='replace')}")
            time.sleep(0.1)
        return process


def succeeds(words):
    return subprocess.run([str(word) for word in words], capture_output=True, check=False).returncode == 0


def end(process):
    """Ends a process that this program started."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def fetch(url, **request):
    """The status, the fields but Date, and the body of an answer."""
    try:
        answer = urllib.request.urlopen(urllib.request.Request(url, **request), timeout=PATIENCE_SECONDS)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        fields = sorted((name.lower(), value) for name, value in answer.headers.items() if name.lower() != "date")
        return answer.status, fields, answer.read()
