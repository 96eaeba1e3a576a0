#!/usr/bin/env python3
"""Measures a board's downloads: PHP reads and prints the file, or names it to the server in one line.

    make bench-downloads                       everything, some 5 minutes; writes bench/reports/downloads.md and the table of README.md
    make bench-downloads ARGS="--rounds 2 --no-write"

The board is that of the tests (board/), behind Kasoku, nginx and Apache, each with its own php-fpm of two processes. The bench measures how
long a download occupies a PHP process, by php-fpm's own account, the CPU time of the server and of PHP, and the rate of downloads with two
processes.
"""

import argparse
import http.client
import json
import os
import re
import sys
import urllib.parse
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1])]

import client  # noqa: E402
import experiment  # noqa: E402
import setups  # noqa: E402
import shown  # noqa: E402
from cgroup import Group  # noqa: E402
from experiment import progress, two_cores  # noqa: E402
from processes import BenchError, Programs, free_port, run_client  # noqa: E402

VISITORS = 8
# Enough downloads for a turn of some seconds if PHP reads the file, and for a large part of a second if not.
DOWNLOADS = {("1 MB", True): 32, ("10 MB", True): 8, ("1 MB", False): 1000, ("10 MB", False): 200}
SLOW_BYTES_PER_SECOND = 4_000_000


@dataclass
class Turn:
    """A turn's result: downloads per second, milliseconds for which one occupied a PHP process, and CPU milliseconds of one."""

    rate: float
    held: float
    server: float
    php: float


@dataclass
class Started:
    """A server, its php-fpm, their CPU accounts, and the sessions of visitors who may download."""

    place: setups.Place
    programs: tuple
    groups: tuple
    sessions: list

    def said(self):
        return "\n".join(program.said() for program in self.programs)


def arguments():
    parser = argparse.ArgumentParser(prog="make bench-downloads", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="rounds, in each of which all have their turn (%(default)s)")
    parser.add_argument("--no-write", action="store_true", help="print only")
    return parser.parse_args()


def measure(wanted):
    server, ours = two_cores()
    results = shown.Results(wanted.rounds)
    with Programs() as programs, ExitStack() as groups:
        data = make_board(programs.directory("data"))
        started = {name: start(programs, groups, name, data, server) for name in setups.SERVERS}
        limits = {size: start_limit(programs, groups, data, size, server) for size in setups.SIZES}
        check_answers(started, data)
        for number in range(wanted.rounds):
            for size in setups.SIZES:
                progress(f"round {number + 1} of {wanted.rounds}: {size}, the limit")
                results.limit.setdefault(size, []).append(fast(limits[size], None, size, ours))
                for name, row in setups.ROWS.items():
                    progress(f"round {number + 1} of {wanted.rounds}: {size}, {row.label}")
                    results.fast.setdefault((size, name), []).append(fast(started[row.server], row, size, ours))
                    results.slow.setdefault((size, name), []).append(slow(started[row.server], row, size, ours))
        progress("")
    return results


def make_board(directory):
    """Makes a post with a file for each size; the size's position is the post's number."""
    (directory / "file").mkdir()
    for size, length in setups.SIZES.items():
        path = directory / "file" / setups.name_of(size)
        path.write_bytes(os.urandom(length))
        # The file is old, as most are: a file that was just written might change again within the same second.
        os.utime(path, (1_700_000_000, 1_700_000_000))
    posts = {post_of(size): {"bf_file": setups.name_of(size), "bf_source": f"{size}.bin"} for size in setups.SIZES}
    (directory / "posts.json").write_text(json.dumps(posts))
    return directory


def post_of(size):
    return list(setups.SIZES).index(size) + 1


def start(programs, groups, name, data, cores):
    place = setups.Place(free_port(), programs.directory(name), data, programs.scratch / f"{name}.sock")
    accounts = tuple(groups.enter_context(Group(f"{name}-{part}")) for part in ("server", "php"))
    php = programs.start(f"{name}-php", setups.php_fpm(place), cores, entered=accounts[1].enter)
    php.until_listening(place.php)
    server = programs.start(name, setups.SERVERS[name](place), cores, entered=accounts[0].enter)
    server.until_listening(place.port)
    return Started(place, (server, php), accounts, [log_in(place.port) for _ in range(VISITORS)])


def start_limit(programs, groups, data, size, cores):
    """Starts the limit, a loop of sendfile in C: its cost shows the speed of the machine in a round."""
    name = f"limit-{setups.SIZES[size]}"
    place = setups.Place(free_port(), programs.directory(name), data, Path())
    account = groups.enter_context(Group(name))
    program = programs.start(name, setups.limit(place.port, data, size), cores, entered=account.enter)
    return Started(place, (program.until_listening(place.port),), (account,), ["none"] * VISITORS)


def log_in(port):
    """A visitor's session, in which all posts have been opened."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def ask(method, path, body=None, **fields):
        connection.request(method, path, body, {"Host": client.HOST, **fields})
        response = connection.getresponse()
        response.read()
        return response

    form = urllib.parse.urlencode({"mb_id": "visitor", "mb_password": "board"})
    answer = ask("POST", "/login.php", form, **{"Content-Type": "application/x-www-form-urlencoded"})
    found = re.findall(r"PHPSESSID=\w+", answer.getheader("Set-Cookie") or "")
    if answer.status != 302 or not found:
        raise BenchError(f"port {port}: no login: {answer.status}")
    for size in setups.SIZES:
        if (status := ask("GET", f"/view.php?wr_id={post_of(size)}", Cookie=found[-1]).status) != 200:
            raise BenchError(f"port {port}: a post gives {status}")
    connection.close()
    return found[-1]


def path_of(row, size):
    return f"/{row.script}?wr_id={post_of(size)}" if row else "/"


def check_answers(started, data):
    """Checks that all servers send the same bytes, and only to members."""
    for row in setups.ROWS.values():
        server = started[row.server]
        for size in setups.SIZES:
            expected = (data / "file" / setups.name_of(size)).read_bytes()
            for session, status, body in ((server.sessions[0], 200, expected), ("none", 403, None)):
                connection = http.client.HTTPConnection("127.0.0.1", server.place.port, timeout=20)
                connection.request("GET", path_of(row, size), headers={"Host": client.HOST, "Cookie": session})
                response = connection.getresponse()
                came = response.read()
                if response.status != status or body not in (None, came) or response.getheader("X-Sendfile"):
                    raise BenchError(f"{row.label}, {size}: {response.status}, {len(came)} bytes\n{server.said()}")
                connection.close()


def fast(server, row, size, cores):
    """A turn of eight visitors who read as fast as they can."""
    return turn(server, row, size, DOWNLOADS[size, bool(row and row.reads)], VISITORS, 0, cores)


def slow(server, row, size, cores):
    """A turn of one visitor who reads slowly."""
    return turn(server, row, size, 1, 1, SLOW_BYTES_PER_SECOND, cores)


def turn(server, row, size, downloads, visitors, pace, cores):
    log = server.place.php_log
    begin = log.stat().st_size if row else 0
    before = [account.cpu_ns() for account in server.groups]
    words = [sys.executable, HERE / "visitors.py", server.place.port, path_of(row, size), downloads, pace, *server.sessions[:visitors]]
    seconds = float(run_client(words, cores))
    after = [account.cpu_ns() for account in server.groups]
    spent = [(now - then) / 1e6 / downloads for now, then in zip(after, before)]
    held = median(held_ms(log, begin, row.script, downloads)) if row else 0.0
    return Turn(downloads / seconds, held, spent[0], spent[1] if row else 0.0)


def held_ms(log, begin, script, downloads):
    """Milliseconds for which a download occupied a PHP process, from php-fpm's log. The line may come a moment after the file's last
    byte."""

    def lines():
        with open(log, "rb") as file:
            file.seek(begin)
            return [line.split() for line in file.read().decode().splitlines()]

    found = experiment.eventually("php-fpm's log", lambda: (lambda all: all if len(all) >= downloads else None)(lines()))
    if len(found) != downloads or any(path != f"/{script}" for _, path in found):
        raise BenchError(f"php-fpm's log has other requests than the {downloads} for {script}: {found[:5]}")
    return [int(micro) / 1000 for micro, _ in found]


if __name__ == "__main__":
    experiment.run("downloads", arguments(), measure, shown)
