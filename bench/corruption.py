#!/usr/bin/env python3
"""Damages what caches have on disk, and counts what they serve then: right bytes, wrong bytes, or a page fetched anew.

    make bench-corruption                          10,000 faults for each server, some 10 minutes; writes bench/reports/corruption.md
    make bench-corruption ARGS="--faults 500 --no-write"

Each server stores the same pages. Half of them change then and are stored anew; the directory before that is kept, for blocks that are old.
In each trial, a copy of the directory is damaged, the server starts with it, and each page is requested once. The origin says in each page
which page and which version it is, and counts requests, so a hit is told from a fetch.
"""

import argparse
import hashlib
import http.client
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import repeat
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

import machine  # noqa: E402
import native  # noqa: E402
from processes import BenchError, Programs, free_port  # noqa: E402
from report import aligned, markdown, replaced  # noqa: E402
from servers import ALL, apache  # noqa: E402

REPORT = HERE / "reports" / "corruption.md"
SERVERS = ("kasoku", "nginx", "apache")
PAGES = 200
# After this time without a byte, an answer is cut: nginx announces the whole length of a file that was cut, and keeps the connection.
SILENCE_SECONDS_MAX = 1
BLOCK = 4096
# In one trial the pages are damaged, in the next the files that say where they are. A server that has a file for each page has no such
# files: then both are the same.
FAULTS_OF_PAGES = 80
FAULTS_OF_INDEX = 10
KINDS = ("bit flip", "zeroed block", "swapped blocks", "stale block", "truncation")
OUTCOMES = ("right, from disk", "right, fetched anew", "cut or an error", "wrong bytes")
CORES = {0, 1}


def body(page, version):
    """The bytes of a page: from 1 to 40 KB, no two blocks alike."""
    parts, length = [f"{page} {version} ".encode()], 1000 + int(hashlib.md5(b"%d" % page).hexdigest(), 16) % 40000
    for number in range(length // 64):
        parts.append(hashlib.sha256(b"%d %d %d" % (page, version, number)).hexdigest().encode())
    return b"".join(parts)


class Origin:
    """Answers /N with the present version of page N, and counts requests."""

    def __init__(self):
        self.versions = [0] * PAGES
        self.bodies = {(page, version): body(page, version) for page in range(PAGES) for version in (0, 1)}
        self.asked = Counter()
        origin = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body in one write, which no acknowledgement delays.
            wbufsize = 1 << 17

            def do_GET(self):
                page = int(self.path[1:])
                origin.asked[page] += 1
                content = origin.bodies[page, origin.versions[page]]
                self.send_response(200)
                self.send_header("Content-Type", "text/plain")
                self.send_header("Cache-Control", "max-age=86400")
                self.send_header("X-Page", f"{page}-{origin.versions[page]}")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port, self.port_of_cache = self.server.server_address[1], free_port()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def kasoku_command(directory, port, origin):
    return [native.kasoku(), "serve", "--listen", f"127.0.0.1:{port}", "--origin", f"http://127.0.0.1:{origin}", "--workers", 1,
            "--memory", "64MiB", "--control-socket", "off", "--disk", f"{directory}/cache:64MiB"]


def nginx_command(directory, port, origin):
    config = directory / "nginx.conf"
    config.write_text(f"""
daemon off; user root; pid {directory}/pid; error_log {directory}/error.log;
events {{ }}
http {{
  access_log off;
  proxy_cache_path {directory}/cache levels=1:2 keys_zone=all:8m inactive=1d use_temp_path=off;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/temp;
  fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://127.0.0.1:{origin}; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_cache all; proxy_cache_bypass $http_x_anew;
    }}
  }}
}}
""")
    return ["/usr/sbin/nginx", "-c", config]


def apache_command(directory, port, origin):
    (directory / "cache").mkdir(exist_ok=True)
    (directory / "cache").chmod(0o777)
    config = directory / "apache.conf"
    config.write_text(f"""
{apache.basics(directory, port, apache.LOADED)}
CacheQuickHandler on
CacheRoot {directory}/cache
CacheEnable disk /
ProxyPass / http://127.0.0.1:{origin}/
""")
    return ["/usr/sbin/apache2", "-DFOREGROUND", "-f", config]


COMMANDS = {"kasoku": kasoku_command, "nginx": nginx_command, "apache": apache_command}


class Client:
    """One connection, opened anew where it ends."""

    def __init__(self, port):
        self.port, self.connection = port, None

    def ask(self, method, page, **fields):
        """Status, X-Page and body; None where the answer is not whole."""
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SILENCE_SECONDS_MAX)
            self.connection.request(method, f"/{page}", headers={"Host": "bench.test", **fields})
            answer = self.connection.getresponse()
            said = answer.read()
            if answer.will_close:
                self.close()
            return answer.status, answer.getheader("X-Page"), said
        except (OSError, http.client.HTTPException):
            self.close()
            return None

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


def start(programs, name, directory, origin):
    """Starts a server; returns it and its client. Kasoku answers before it knows all that it has: the trial waits for that."""
    # The same for each start: Apache has it in its keys.
    port = origin.port_of_cache
    program = programs.start(name, COMMANDS[name](directory, port, origin.port), CORES, NO_COLOR="1").until_listening(port)
    deadline = time.monotonic() + 20
    while name == "kasoku" and "the disk cache is loaded" not in program.said():
        if time.monotonic() > deadline:
            raise BenchError(f"the disk cache is not in use:\n{program.said()}")
        time.sleep(0.005)
    return program, Client(port)


def copy(source, target, links=False):
    """Copies a directory, or makes links to its files."""
    subprocess.run(["rm", "-rf", target], check=True)
    subprocess.run(["cp", "-al" if links else "-a", source, target], check=True)


def fill(programs, name, directory, origin):
    """Has the server store all pages, and half of them anew. Leaves directory/early and directory/left."""
    origin.versions = [0] * PAGES
    program, client = start(programs, name, directory, origin)
    for page in range(PAGES):
        client.ask("GET", page)
    time.sleep(1)
    client.close()
    programs.stop(program)
    copy(directory / "cache", directory / "early")
    program, client = start(programs, name, directory, origin)
    for page in range(0, PAGES, 2):
        origin.versions[page] = 1
        if name == "kasoku":
            client.ask("PURGE", page)
        anew = {"nginx": {"X-Anew": "1"}, "apache": {"Cache-Control": "no-cache"}}
        client.ask("GET", page, **anew.get(name, {}))
    time.sleep(1)
    # As it is in the middle of its work.
    copy(directory / "cache", directory / "left", name == "apache")
    client.close()
    programs.stop(program)


def used(data):
    """The bytes up to the last that is not zero."""
    return len(data.rstrip(b"\0")) or len(data)


def damage(rng, contents, early, folder, kinds):
    """One fault in one of these files; returns its kind."""
    path = rng.choice(sorted(contents))
    data, end, kind = contents[path], used(contents[path]), rng.choice(kinds)
    if not data:
        return damage(rng, contents, early, folder, kinds)
    at = rng.randrange((end + BLOCK - 1) // BLOCK) * BLOCK
    block = slice(at, min(at + BLOCK, len(data)))
    if kind == "bit flip":
        bit = rng.randrange(end * 8)
        data[bit // 8] ^= 1 << bit % 8
    elif kind == "zeroed block":
        data[block] = bytes(block.stop - at)
    elif kind == "truncation":
        del data[rng.randrange(end):]
    elif kind == "stale block":
        then = early / path.relative_to(folder)
        old = then.read_bytes()[block] if then.exists() else b""
        data[block] = old.ljust(block.stop - at, b"\0")
    else:
        theirs = contents[rng.choice(sorted(contents))]
        if theirs:
            there = rng.randrange((used(theirs) + BLOCK - 1) // BLOCK) * BLOCK
            length = min(BLOCK, len(data) - at, len(theirs) - there)
            mine = bytes(data[at:at + length])
            data[at:at + length] = theirs[there:there + length]
            theirs[there:there + length] = mine
    return kind


def damaged(rng, folder, early, count, of_pages):
    """Damages a directory so many times. At most one file is cut: what is behind the cut can't be damaged any more."""
    everything = [path for path in folder.rglob("*") if path.is_file() and path.name != "lock" and path.stat().st_size]
    segments = [path for path in everything if path.parent.name == "segments"]
    index = [path for path in everything if path.parent.name != "segments"]
    files = (segments if of_pages else index) if segments else everything
    contents = {path: bytearray(path.read_bytes()) for path in files}
    kinds, said = KINDS, Counter()
    for _ in range(count):
        kind = damage(rng, contents, early, folder, kinds)
        said[kind] += 1
        kinds = KINDS[:-1] if kind == "truncation" else kinds
    for path, data in contents.items():
        path.write_bytes(data)
    return said


def request_all(client, origin, outcomes, examples):
    for page in range(PAGES):
        before = origin.asked[page]
        answer = client.ask("GET", page)
        was_fetched = origin.asked[page] > before
        version = origin.versions[page]
        if answer is None or answer[0] != 200:
            outcomes["cut or an error"] += 1
        elif answer[1:] == (f"{page}-{version}", origin.bodies[page, version]):
            outcomes["right, fetched anew" if was_fetched else "right, from disk"] += 1
        else:
            outcomes["wrong bytes"] += 1
            examples.append(f"page {page}, version {version}: said to be {answer[1]}, {len(answer[2])} bytes")


def measure(name, faults, seed):
    """Returns what happened: of faults by kind, of starts, of responses."""
    origin, rng = Origin(), random.Random(seed)
    kinds, outcomes, starts, examples = Counter(), Counter(), Counter(), []
    with Programs() as programs:
        directory = programs.directory(name)
        fill(programs, name, directory, origin)
        # Apache knows a file by its inode, so there each trial has the same files, with the bytes that they had. Apache writes no file twice.
        is_linked = name == "apache"
        files = {path: path.read_bytes() for path in (directory / "left").rglob("*") if path.is_file()} if is_linked else {}
        while kinds.total() < faults:
            of_pages = starts.total() % 2 == 0
            count = min(FAULTS_OF_PAGES if of_pages else FAULTS_OF_INDEX, faults - kinds.total())
            for path, data in files.items():
                path.write_bytes(data)
            copy(directory / "left", directory / "cache", is_linked)
            kinds += damaged(rng, directory / "cache", directory / "early", count, of_pages)
            try:
                program, client = start(programs, name, directory, origin)
            except BenchError as error:
                starts["failed"] += 1
                print(f"{name} does not start: {error}", file=sys.stderr)
                continue
            starts["worked"] += 1
            request_all(client, origin, outcomes, examples)
            client.close()
            programs.stop(program)
            if starts.total() % 20 == 0:
                print(f"{name}: {kinds.total()} faults, {dict(outcomes)}", file=sys.stderr)
    for example in examples[:5]:
        print(f"{name}, wrong: {example}", file=sys.stderr)
    return kinds, starts, outcomes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=10_000, help="faults for each server (10000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--servers", default=",".join(SERVERS), help="a part of them")
    parser.add_argument("--no-write", action="store_true", help="only print")
    wanted = parser.parse_args()
    header = ("", "faults", "starts", "starts that failed", *OUTCOMES)
    names, lines, mix = wanted.servers.split(","), [], Counter()
    # No time is measured, so all may run at once.
    with ProcessPoolExecutor(len(names)) as pool:
        measured = list(pool.map(measure, names, repeat(wanted.faults), repeat(wanted.seed)))
    for name, (kinds, starts, outcomes) in zip(names, measured):
        mix = kinds
        counts = [kinds.total(), starts.total(), starts["failed"], *(outcomes[outcome] for outcome in OUTCOMES)]
        lines.append((ALL[name].LABEL, *(f"{count:,}" for count in counts)))
        if name == "kasoku":
            is_right = outcomes["wrong bytes"] == outcomes["cut or an error"] == starts["failed"] == 0
            has_hits = outcomes["right, from disk"] > 0 < outcomes["right, fetched anew"]
    print(aligned(header, lines))
    if not wanted.no_write:
        said = "Faults of the last row: " + ", ".join(f"{count:,} {kind}" for kind, count in sorted(mix.items())) + "."
        text = REPORT.read_text(encoding="utf-8")
        text = replaced(text, "machine", machine.description(SERVERS, {}))
        text = replaced(text, "faults", f"{markdown(header, lines)}\n\n{said}")
        REPORT.write_text(text, encoding="utf-8")
    if "kasoku" in names:
        passed = is_right and has_hits
        print(f"corruption: {int(passed)} passed, {int(not passed)} failed")
        sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
