#!/usr/bin/env python3
"""Tests that other visitors are served during 1,000 slow connections of slowhttptest.

There are four attacks on the program with its default settings: heads that never end (-H, Slowloris), bodies that trickle (-B), Range with
a thousand ranges (-R, Apache killer), and readers that take a few bytes at a time (-X). During each, visitors request a stored page and a
new one, and send a small form, on new connections, from the moment at which the attack is established until it ends. Each request must get
the right answer within DEADLINE seconds; the test does not judge the speed otherwise.

Slow clients must not occupy the origin's connections either: at most ORIGIN_CONNECTIONS_MAX at one time.

An attack is established when the kernel's table has STANDING of its connections at one time. The connections of -R end with their answers,
so there that many in all count, and the attack is repeated until its time is over.

    slow.py [--program PATH] [--seconds N] [MODE...]

Exits with 1 if a visitor was not served, or an attack was not established.
"""

import argparse
import contextlib
import http.client
import itertools
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import threading
import time

from servers import program
from slow_origin import LARGE, Origin, content

ROOT = pathlib.Path(__file__).resolve().parents[2]

CONNECTIONS = 1000
STANDING = 950
# The longest start of the program, the longest time until an attack is established, and until it ends after its time, in seconds.
START_MAX = 10
STANDING_WAIT_MAX = 10
END_WAIT_MAX = 30

# The longest wait of a visitor for an answer, in seconds.
DEADLINE = 10
VISITORS = 4
# The fewest rounds of visitors during each attack.
ROUNDS_MIN = 20

# slowhttptest's options, the path that it requests, and whether its connections last.
MODES = {
    "H": (["-H", "-i", "3"], "/page", True),
    "B": (["-B", "-i", "3", "-s", "8192"], "/form", True),
    "R": (["-R", "-a", "1", "-b", "3000"], LARGE, False),
    "X": (["-X", "-w", "8", "-y", "64", "-n", "3", "-z", "8"], LARGE, True),
}

# More connections than visitors and a few slow clients need, and far fewer than those of the attack.
ORIGIN_CONNECTIONS_MAX = 100

# The most files that the program, slowhttptest or this origin may have open, with room to spare.
FILES = 4096


class NotServed(Exception):
    """A visitor was not served, or the attack was not established."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("--program", type=pathlib.Path, default=target / "release" / "kasoku")
    parser.add_argument("--seconds", type=int, default=15, help="how long each attack lasts")
    parser.add_argument("modes", nargs="*", default=list(MODES), metavar="MODE", help="H, B, R, X; all by default")
    arguments = parser.parse_args()
    # SIGTERM also ends the processes that were started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    raise_limit_of_files()
    passed = 0
    for mode in arguments.modes:
        try:
            with Origin() as origin, kasoku(arguments.program, origin.url) as (clients, admin):
                print(f"-{mode}: {attack(mode, arguments.seconds, clients, admin, origin)}", flush=True)
                passed += 1
        except NotServed as error:
            print(f"-{mode}: {error}", flush=True)
    failed = len(arguments.modes) - passed
    print(f"slow clients: {passed} passed, {failed} failed")
    return 1 if failed else 0


def raise_limit_of_files():
    """Raises the limit of open files, for this process and those that it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < FILES:
        sys.exit(f"slow clients need {FILES} open files; the limit here is {hard}")
    if soft != resource.RLIM_INFINITY and soft < FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, hard))


@contextlib.contextmanager
def kasoku(path, origin):
    """A context with the program in front of an origin; its value are the addresses for clients and for the operator."""
    command = [path, "serve", "--origin", origin, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    too_late = threading.Timer(START_MAX, process.kill)
    too_late.start()
    try:
        log = ""
        addresses = {}
        while len(addresses) < 2:
            line = process.stderr.readline()
            log += line
            if not line:
                raise NotServed(f"the program did not start: {log}")
            if found := re.search(r" (listening|admin listener) on http://([\d.]+):(\d+)", line):
                addresses[found[1]] = (found[2], int(found[3]))
        too_late.cancel()
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield addresses["listening"], addresses["admin listener"]
    finally:
        too_late.cancel()
        process.kill()
        process.wait()


def attack(mode, seconds, clients, admin, origin):
    """Runs one attack with visitors at the same time; returns a report."""
    options, path, lasts = MODES[mode]
    visit(clients, "warm")
    ask(clients, "GET", LARGE)
    before = stats(admin)["connections"]
    command = [program("slowhttptest"), *options, "-c", CONNECTIONS, "-r", CONNECTIONS, "-l", seconds, "-p", DEADLINE,
               "-u", f"http://{clients[0]}:{clients[1]}{path}"]
    with Attacker(command, seconds, repeats=not lasts) as attacker:
        peak = wait_until_it_stands(attacker, clients, admin, before, lasts)
        rounds = visits(attacker, clients, mode)
    if rounds < ROUNDS_MIN:
        raise NotServed(f"only {rounds} rounds of visitors while the attack lasted")
    if origin.most > ORIGIN_CONNECTIONS_MAX:
        raise NotServed(f"the origin had {origin.most} connections at one time")
    return f"{rounds} rounds of visitors beside {peak} connections; {origin.most} at most to the origin"


class Attacker:
    """Runs slowhttptest for `seconds`; with `repeats`, starts it again if it ends before."""

    def __init__(self, command, seconds, repeats):
        self.command = [str(word) for word in command]
        self.repeats = repeats
        self.end = time.monotonic() + seconds
        self.lock = threading.Lock()

    def __enter__(self):
        self.process = self.start()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def start(self):
        return subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def is_over(self):
        """Whether the attack has finally ended."""
        with self.lock:
            now = time.monotonic()
            if self.repeats and self.process.poll() is not None and now < self.end:
                self.process = self.start()
            return self.process.poll() is not None or now > self.end + END_WAIT_MAX


def wait_until_it_stands(attacker, clients, admin, before, lasts):
    """Waits until an attack is established; returns the number of its connections."""
    deadline = time.monotonic() + STANDING_WAIT_MAX
    there = 0
    while time.monotonic() < deadline and not attacker.is_over():
        there = established(clients) if lasts else stats(admin)["connections"] - before
        if there >= STANDING:
            return there
        time.sleep(0.05)
    raise NotServed(f"the attack has no more than {there} connections")


def visits(attacker, clients, mode):
    """Runs visitors until the attack is over; returns the number of their rounds."""
    numbers = itertools.count()
    faults = []

    def visitor():
        try:
            while not attacker.is_over() and not faults:
                visit(clients, f"{mode}{next(numbers)}")
        except (OSError, http.client.HTTPException, NotServed) as error:
            faults.append(f"a visitor was not served: {error!r}")

    threads = [threading.Thread(target=visitor) for _ in range(VISITORS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise NotServed(faults[0])
    return next(numbers)


def visit(clients, name):
    """One round of a visitor: a stored page, a new page, a form, each on a new connection."""
    status, body = ask(clients, "GET", "/page")
    if name != "warm" and "; hit" not in status:
        raise NotServed(f"/page should be stored: {status}")
    expect(body, content("GET", "/page"))
    status, body = ask(clients, "GET", f"/miss/{name}")
    if "; hit" in status:
        raise NotServed(f"/miss/{name} was asked for the first time: {status}")
    expect(body, content("GET", f"/miss/{name}"))
    _, body = ask(clients, "POST", "/form", f"name={name}".encode())
    expect(body, content("POST", "/form", f"name={name}".encode()))


def ask(clients, method, path, body=None):
    """Sends one request; returns the answer's Cache-Status and content."""
    connection = http.client.HTTPConnection(*clients, timeout=DEADLINE)
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise NotServed(f"{method} {path}: {response.status} {answer[:200]}")
        return response.getheader("Cache-Status", ""), answer
    finally:
        connection.close()


def expect(body, expected):
    """Checks that an answer is the right one."""
    if body != expected:
        raise NotServed(f"{body[:100]} instead of {expected[:100]}")


def stats(admin):
    """The program's counters and gauges."""
    connection = http.client.HTTPConnection(*admin, timeout=DEADLINE)
    try:
        connection.request("GET", "/stats")
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def established(address):
    """The number of established connections to that port, by the kernel's table."""
    ours = re.compile(rf"^\s*\d+: [0-9A-F]+:{address[1]:04X} [0-9A-F]+:[0-9A-F]+ 01 ")
    return sum(1 for line in pathlib.Path("/proc/net/tcp").read_text().splitlines() if ours.match(line))


if __name__ == "__main__":
    sys.exit(main())
