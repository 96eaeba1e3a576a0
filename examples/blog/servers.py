"""Starts what the blog needs, in a directory of its own that goes away with it: MariaDB, Redis, the blog itself, and a
Kasoku server in front of it."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CHOICES = ["none", "mariadb", "redis", "moka", "quick_cache", "map", "data", "layer", "kasoku"]
MEMORY_MIB = 256
# The blog's own defaults.
TTL_SECONDS = 60
NOT_FOUND_TTL_SECONDS = 5
ADMIN_PASSWORD = "admin"
PATIENCE_SECONDS = 60


def build(profile):
    """Builds the blog in the profile `dev` or `release`. Returns the program."""
    return _build(HERE, "blog", profile)


def build_kasoku(profile):
    """The same for the server, in the profile `dev` or `release`."""
    return _build(ROOT, "kasoku", profile)


def _build(workspace, package, profile):
    subprocess.run(["cargo", "build", "--profile", profile, "--locked", "--package", package], cwd=workspace, check=True)
    folder = "debug" if profile == "dev" else profile
    return Path(os.environ.get("CARGO_TARGET_DIR", workspace / "target")) / folder / package


class Servers(contextlib.ExitStack):
    """A context: what is started in it ends with it. `cores`: where what is started next runs; none: anywhere."""

    def __init__(self, program):
        super().__init__()
        self.program = program
        self.cores = None
        self.blogs = 0

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
        self.mariadb = self._start(words, home / "log", lambda: succeeds(["mariadb", "--no-defaults", f"--socket={socket}", "--user=root", "--execute=SELECT 1"]))
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
        self.redis_socket = self.directory / "redis.sock"
        words = ["redis-server", "--port", "0", "--unixsocket", self.redis_socket, "--save", "", "--appendonly", "no"]
        words += ["--maxmemory", f"{MEMORY_MIB}mb", "--maxmemory-policy", "allkeys-lfu"]
        is_ready = lambda: succeeds(["redis-cli", "-s", self.redis_socket, "ping"])
        self.redis_server = self._start(words, self.directory / "redis.log", is_ready)
        return ["--redis", f"unix://{self.redis_socket}"]

    def blog(self, database, *arguments):
        """Starts the blog. Returns its address and its process."""
        self.blogs += 1
        log = self.directory / f"blog-{self.blogs}.log"
        words = [self.program, *database, "serve", *arguments]
        process = self._start(words, log, lambda: b"serving on" in log.read_bytes(), {"BLOG_ADMIN_PASSWORD": ADMIN_PASSWORD})
        return log.read_text().split("serving on ")[1].split()[0], process

    def kasoku(self, program, blog, port, ttl_seconds=TTL_SECONDS):
        """Starts a Kasoku server at the port, in front of the blog at that address, with the rules of the other choices. Returns its address
        and its process."""
        config = self.directory / f"kasoku-{port}.toml"
        config.write_text(f"""
listen = ["127.0.0.1:{port}"]
control-socket = "off"
workers = 1

[memory]
size = "{MEMORY_MIB}MiB"

[[site]]
origin = "{blog.rstrip("/")}"
ttl = "{ttl_seconds}s"
ttl-status = {{ 404 = "{NOT_FOUND_TTL_SECONDS}s" }}
query.ignore = ["*"]                     # no page depends on the query

[[site.rule]]
path = "/admin/*"
pass = true

[[site.rule]]
path = "*%*"                             # another spelling of an address, which no purge names
pass = true

[[site.rule]]
path = "/"
tags = ["lists"]

[[site.rule]]
path = "/page/*"
tags = ["lists"]
""")
        process = self._start([program, "serve", "--config", config], config.with_suffix(".log"), lambda: is_listening(port))
        return f"http://127.0.0.1:{port}/", process

    def _start(self, words, log, is_ready, environment=None):
        with open(log, "wb") as output:
            process = subprocess.Popen(
                [str(word) for word in words], stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env={**os.environ, **(environment or {})}, start_new_session=True, preexec_fn=self._pin,
            )
        process.log = log
        self.callback(end, process)
        until = time.monotonic() + PATIENCE_SECONDS
        while not is_ready():
            if process.poll() is not None or time.monotonic() > until:
                sys.exit(f"{words[0]} does not start:\n{log.read_text(errors='replace')}")
            time.sleep(0.1)
        return process


    def _pin(self):
        if self.cores:
            os.sched_setaffinity(0, self.cores)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def is_listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


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
