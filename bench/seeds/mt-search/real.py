"""Measures the search of the real Movable Type, in each version whose archive is there: without a cache that may keep it, behind Apache's
cache with the Expires patch, and behind Kasoku without a patch.

tests/movable_type/install.py installs a version; all set-ups of it share its programs and its database. SQLite serves all versions here: what
is measured are hits, in which no database has a part.

Clients accept gzip, as all browsers do, and both servers keep the page compressed: Apache by mod_deflate, Kasoku by itself.
"""

import gzip
import sys
from dataclasses import dataclass, field

import client
import native
import setups
from cgroup import Group
from experiment import asked_by_wrk, eventually, find, progress
from native import ROOT
from processes import BenchError, free_port, run_client
from servers import apache as apache_server
from servers.apache import basics

sys.path.extend([str(ROOT / "tests" / "movable_type"), str(ROOT / "tests" / "browsing")])

import install  # noqa: E402

OWNER = "www-data"
CONNECTIONS = 32
ACCEPTED = {"Accept-Encoding": "gzip"}
HITS_SECONDS = 1
AB_REQUESTS = {True: 100, False: 10}
ACCEPTED_WORDS = [word for name, value in ACCEPTED.items() for word in ("-H", f"{name}: {value}")]
# From version 8.4 on, a search says `no-store`; the others say `Pragma: no-cache`, which means nothing in a response.
SAYS_NO_STORE = ("9.2.1",)


@dataclass
class Setup:
    label: str
    command: object
    caches: bool
    environment: dict = field(default_factory=dict)


@dataclass
class Row:
    """The results of one set-up and version; the rates are per second, CPU in microseconds of all processes for a hit."""

    version: str
    setup: str
    body_bytes: int = 0
    sent_bytes: int = 0
    rates: list = field(default_factory=list)
    cpu: list = field(default_factory=list)


def apache(kind):
    """Apache with mod_cache_disk, as in setups.py."""

    def command(port, directory, installed):
        script = "mt-search.cgi" if kind == "cgid" else "mt-search.fcgi"
        served = f"ScriptSock {directory}/cgid.sock" if kind == "cgid" else f"""
FcgidIPCDir {directory}/fcgid
FcgidProcessTableFile {directory}/fcgid.shm
FcgidMaxProcesses {setups.FASTCGI_PROCESSES}
FcgidMaxRequestsPerProcess 0
FcgidInitialEnv SEARCH_EXPIRES +1h
"""
        store = directory / "cache"
        store.mkdir()
        store.chmod(0o777)
        passed = "PassEnv SEARCH_EXPIRES" if kind == "cgid" else ""
        config = directory / "apache.conf"
        config.write_text(f"""
{basics(directory, port, ["mpm_event", "authz_core", "env", "alias", "filter", "deflate", kind, "cache", "cache_disk"])}
{served}
ScriptAlias /mt/mt-search.cgi {installed.programs}/{script}
<Directory {installed.programs}>
Options +ExecCGI
SetHandler {"cgi-script" if kind == "cgid" else "fcgid-script"}
{passed}
Require all granted
</Directory>
AddOutputFilterByType DEFLATE text/html
CacheQuickHandler on
CacheRoot {store}
CacheEnable disk /
""")
        return [apache_server.PROGRAM, "-DFOREGROUND", "-f", config]

    return command


def kasoku(origin):
    def command(port, directory, installed):
        ignore = 'ignore = ["no-store"]' if installed.version in SAYS_NO_STORE else ""
        config = directory / "kasoku.toml"
        config.write_text(f"""
listen = ["127.0.0.1:{port}"]
workers = 1
user = "{OWNER}"

[access-log]
path = "{directory}/access.log"

[[site]]
origin = "{origin(installed)}"
url-prefix = "/mt"
ttl = "1h"
{ignore}
""")
        return [native.kasoku(), "serve", "--config", config]

    return command


def spawned(installed):
    return f"fastcgi+spawn://{installed.programs}/mt-search.fcgi?processes={setups.FASTCGI_PROCESSES}"


PATCHED = {"SEARCH_EXPIRES": "+1h"}
ALL = {
    "apache-cgi": Setup("Apache, mod_cgid, mod_cache_disk", apache("cgid"), caches=False),
    "apache-cgi-patched": Setup("Apache, mod_cgid, mod_cache_disk, the search patched", apache("cgid"), caches=True, environment=PATCHED),
    "apache-fastcgi-patched": Setup("Apache, mod_fcgid, mod_cache_disk, the search patched", apache("fcgid"), caches=True, environment=PATCHED),
    "kasoku-cgi": Setup("Kasoku, CGI", kasoku(lambda installed: f"cgi://{installed.programs}"), caches=True),
    "kasoku-fastcgi": Setup("Kasoku, FastCGI", kasoku(spawned), caches=True),
}
CACHED = [name for name, setup in ALL.items() if setup.caches]
CACHED_APACHE = [name for name in CACHED if name.startswith("apache")]


def versions():
    """The versions whose archives are there; says which are not."""
    if missing := install.missing_modules():
        print(f"Movable Type: skipped, since Perl lacks {', '.join(missing)}", file=sys.stderr)
        return []
    for version in install.VERSIONS:
        if install.archive(version) is None:
            print(f"Movable Type {version}: skipped, since its archive is missing", file=sys.stderr)
    return [version for version in install.VERSIONS if install.archive(version)]


def measure(programs, rounds, server_cores, client_cores):
    """The rows of each version, by set-up."""
    return {version: of_version(version, programs, rounds, server_cores, client_cores) for version in versions()}


def of_version(version, programs, rounds, server_cores, client_cores):
    progress(f"Movable Type {version}: it is installed")
    installed = install.Installed(version, programs.directory(f"mt-{version}"), f"http://{client.HOST}", OWNER)
    installed.patch_expires()
    path = f"/mt/mt-search.cgi?tag=x&blog_id={installed.blog}"
    rows = {name: Row(version, name) for name in ALL}
    groups, started = [], {}
    try:
        for name, setup in ALL.items():
            group = Group(f"{name}-{version}")
            groups.append(group)
            port, directory = free_port(), programs.directory(f"{name}-{version}")
            program = programs.start(f"{name}-{version}", setup.command(port, directory, installed), server_cores, entered=group.enter, **setup.environment)
            program.until_listening(port)
            started[name] = (program, port, group)
        check_answers(started, path, rows)
        for number in range(rounds):
            progress(f"Movable Type {version}: round {number + 1} of {rounds}")
            for name, row in rows.items():
                row.rates.append(one_after_the_other(started[name][1], path, ALL[name].caches, client_cores))
            for name in CACHED:
                rows[name].cpu.append(cpu_of_a_hit(started[name], path, client_cores))
    finally:
        for program, _, _ in started.values():
            programs.stop(program)
        for group in groups:
            group.__exit__()
    return rows


def check_answers(started, path, rows):
    """Checks that all set-ups return the same results, and that those that may keep them return a hit."""
    expected = None
    for name, (program, port, _) in started.items():
        caches = ALL[name].caches

        def answer(port=port, caches=caches):
            fields, body = client.get(port, path, **ACCEPTED)
            is_hit = "age" in fields or "; hit" in fields.get("cache-status", "")
            # Kasoku compresses a page when it is a hit for the first time.
            return body if is_hit == caches and fields.get("content-encoding") == "gzip" else None

        sent = eventually(f"{'a hit' if caches else 'no hit'} of {name}: {program.said()}", answer, 30)
        body = gzip.decompress(sent)
        page = install.content(body.decode())
        if expected is None:
            expected = page
        if page != expected or "</html>" not in page:
            raise BenchError(f"{name} gives another page:\n{body[:200]!r}\n{program.said()}")
        rows[name].body_bytes, rows[name].sent_bytes = len(body), len(sent)


def one_after_the_other(port, path, caches, cores):
    """Requests per second, one after the other, a connection each."""
    words = ["ab", "-q", "-n", AB_REQUESTS[caches], "-c", "1", "-H", f"Host: {client.HOST}", *ACCEPTED_WORDS, f"http://127.0.0.1:{port}{path}"]
    text = run_client(words, cores)
    if "Non-2xx" in text:
        raise BenchError(f"not all answers were 200:\n{text}")
    return float(find(r"Requests per second:\s+([\d.]+)", text))


def cpu_of_a_hit(started, path, cores):
    """CPU microseconds of all processes for a hit, over connections that stay open."""
    program, port, group = started
    before = group.cpu_ns()
    words = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{HITS_SECONDS}s", "-H", f"Host: {client.HOST}", *ACCEPTED_WORDS, f"http://127.0.0.1:{port}{path}"]
    text = run_client(words, cores)
    requests, _ = asked_by_wrk(program, text)
    return (group.cpu_ns() - before) / 1_000 / requests
