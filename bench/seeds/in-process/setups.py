"""The choices of examples/blog as set-ups of the in-process bench: starts them, and checks that each has its pages where it claims to have
them."""

import hashlib
import http.client
import importlib.util
import math
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import client
import measure
from native import ROOT
from processes import BenchError

BLOG = ROOT / "examples" / "blog"
POSTS = 5_000
ABOUT = "/about"
# Longer than the bench takes: no page has to be made anew.
TTL_SECONDS = 86_400
# The query cache may drop a few results when it finds no room for one.
QUERY_CACHE_PART_MIN = 0.99
# The server's leak guard makes a page twice in the background, at most once a second (docs/guard.md).
GUARD_PAGES_A_SECOND = 2
MARIADB_COUNTERS = ("Com_stmt_execute", "Qcache_hits")


def _blog_servers():
    """examples/blog/servers.py, under another name than that of bench/servers."""
    spec = importlib.util.spec_from_file_location("blog_servers", BLOG / "servers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


blog_servers = _blog_servers()


@dataclass
class Choice:
    """A value of the blog's --cache."""

    label: str
    kind: str  # where its pages come from: "database", "query cache", "redis" or "memory"
    is_ours: bool = False
    says: str = ""  # what Cache-Status begins with, where the cache writes one


ALL = {
    "none": Choice("none: MariaDB", "database"),
    "mariadb": Choice("MariaDB's query cache", "query cache"),
    "redis": Choice("Redis", "redis"),
    "moka": Choice("moka", "memory"),
    "quick_cache": Choice("quick_cache", "memory"),
    "map": Choice("a map by hand (dashmap)", "memory"),
    "data": Choice("kasoku_cache::data", "memory", True),
    "layer": Choice("kasoku-tower, the layer", "memory", True, "kasoku; hit"),
    "kasoku": Choice("Kasoku in front", "memory", True, "kasoku; hit"),
}


@dataclass
class Counts:
    """What the stores have counted so far."""

    statements: int
    query_cache: int
    redis: int
    seconds: float = field(default_factory=time.monotonic)

    def since(self, before):
        return Counts(*(getattr(self, name) - getattr(before, name) for name in ("statements", "query_cache", "redis", "seconds")))


@dataclass
class Setup:
    """A choice that runs."""

    name: str
    choice: Choice
    address: str
    processes: list  # of the application, and of the server in front of it
    store: list = field(default_factory=list)  # those of the server that has its pages

    @property
    def port(self):
        return int(self.address.rstrip("/").rpartition(":")[2])

    @property
    def pid(self):
        return self.processes[0].pid

    def said(self):
        return "".join(process.log.read_text(errors="replace") for process in self.processes)


class Blogs:
    """All choices, with one MariaDB and one Redis."""

    def __init__(self, servers, kasoku, front, back):
        self.servers, self.program, self.front = servers, kasoku, front
        servers.cores = back
        self.database, self.redis = servers.database(), servers.redis()

    def start(self, name):
        """Starts a choice on the core of the servers."""
        self.servers.cores = self.front
        port = blog_servers.free_port()
        arguments = ["--listen", "127.0.0.1:0", "--cache", name, "--ttl", str(TTL_SECONDS), "--threads", "1"]
        arguments += ["--memory", str(blog_servers.MEMORY_MIB), "--kasoku", f"127.0.0.1:{port}", *self.redis]
        address, process = self.servers.blog(self.database, *arguments)
        setup = Setup(name, ALL[name], address, [process])
        if name == "kasoku":
            setup.address, server = self.servers.kasoku(self.program, address, port, TTL_SECONDS)
            setup.processes = [server, process]
        if setup.choice.kind in ("database", "query cache"):
            setup.store = [self.servers.mariadb]
        if setup.choice.kind == "redis":
            setup.store = [self.servers.redis_server]
        return setup

    def counts(self):
        names = ", ".join(f"'{name}'" for name in MARIADB_COUNTERS)
        lines = self.servers.sql(f"SHOW GLOBAL STATUS WHERE Variable_name IN ({names})").split("\n")
        mariadb = {name: int(value) for name, value in (line.split() for line in lines if line)}
        said = subprocess.run(["redis-cli", "-s", self.servers.redis_socket, "INFO", "stats"], check=True, capture_output=True, text=True)
        redis = next(int(line.split(":")[1]) for line in said.stdout.splitlines() if line.startswith("keyspace_hits:"))
        return Counts(*(mariadb[name] for name in MARIADB_COUNTERS), redis)

    def check_served(self, setup, before, requests, queries):
        """Checks after `requests` requests for pages of `queries` queries each that they came from where the choice claims to have its pages."""
        found, kind = self.counts().since(before), setup.choice.kind
        wanted = requests * queries
        if kind == "database" and (found.statements < wanted or found.query_cache):
            raise BenchError(f"{setup.name}: MariaDB executed {found.statements} statements of {wanted}, {found.query_cache} by its query cache")
        if kind == "query cache" and found.query_cache < wanted * QUERY_CACHE_PART_MIN:
            raise BenchError(f"{setup.name}: the query cache answered {found.query_cache} of {wanted} queries")
        if kind == "redis" and found.redis < requests:
            raise BenchError(f"{setup.name}: Redis had {found.redis} of {requests} pages")
        guard = GUARD_PAGES_A_SECOND * queries * math.ceil(found.seconds + 1) if setup.name == "kasoku" else 0
        if kind in ("redis", "memory") and (found.statements > guard or found.query_cache):
            raise BenchError(f"{setup.name}: {found.statements} statements reached MariaDB")
        if kind != "redis" and found.redis:
            raise BenchError(f"{setup.name}: Redis was asked for {found.redis} pages")
        return found

    def warm(self, setup, expected):
        """Requests all pages twice. Their bytes must be those in `expected`, by path, if it has them; the second time, they must come from
        the cache."""
        paths = [ABOUT, *(f"/post/{number}" for number in range(1, POSTS + 1))]
        for status, path, body in _answers(setup, paths):
            if expected.setdefault(path, digest := hashlib.sha256(body).digest()) != digest:
                raise BenchError(f"{setup.name}: {path} has other bytes than with {next(iter(ALL))}")
        before = self.counts()
        for status, path, body in _answers(setup, paths):
            if hashlib.sha256(body).digest() != expected[path]:
                raise BenchError(f"{setup.name}: {path} has other bytes the second time")
            if not status.startswith(setup.choice.says):
                raise BenchError(f"{setup.name}: {path} is no hit: {status}")
        self.check_served(setup, before, len(paths), 2 if setup.name == "kasoku" else 1)


def _answers(setup, paths):
    """Cache-Status, path and body of the answer to each path, over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", setup.port, timeout=20)
    try:
        for path in paths:
            connection.request("GET", path, headers={"Host": client.HOST})
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200:
                raise BenchError(f"{setup.name} answered {path} with {answer.status}")
            yield answer.headers.get("Cache-Status", ""), path, body
    except (OSError, http.client.HTTPException) as error:
        raise BenchError(f"{setup.name} did not answer: {error}") from None
    finally:
        connection.close()


def cpu_times(processes):
    return [measure.cpu_times(process.pid) for process in processes]


def cpu_us_since(before, processes):
    """CPU time of the processes since the readings, in microseconds."""
    return sum(measure.cpu_since(then, now) for then, now in zip(before, cpu_times(processes))) / 1_000


def make_paths(directory, count):
    """Writes the paths of the Zipf mix to a file, the same each time."""
    made = subprocess.run([BLOG / "zipf", str(count)], check=True, capture_output=True, text=True).stdout
    file = Path(directory) / "paths"
    file.write_text(made)
    return file
