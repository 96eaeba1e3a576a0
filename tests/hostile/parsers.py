#!/usr/bin/env python3
"""Checks that other parsers read Kasoku's requests to origins in the same way: Go's, Node's, Python's (h11), nginx's and Apache's.

crates/engine/tests/hostile.rs sends hostile and odd requests to a real engine and records, for each accepted one, every byte that the
origin received on its connection. This sends each of these streams over a socket to five other servers, with one more request after it.
Each server reports what it has read of every request: method, target and body. All must have read what the table says, in that order.

A server may refuse a request (Node knows no other methods than its own, nginx and Apache no `/../..`) or answer it by itself (`OPTIONS *`).
The end of the request is then still certain, as long as the server reads the following requests as in the table, or closes the connection.
At least MINIMUM servers must have read each stream whole, unless it is in FEWER.

nginx and Apache cannot report what they have read, so they pass it on to a listener here, with Content-Length, one request for each
connection.

    parsers.py [--record FILE] [--verbose]

`cargo test` makes the record unless one is given. Exits with 1 if servers read a stream in different ways.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import streams
from servers import SERVERS

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The number of servers that must have read a stream to its end.
MINIMUM = 4

# The streams that fewer servers read, by their first request: the number of servers, and what the others do.
FEWER = {
    "get /": (3, "Node and nginx know no such method"),
    "GET. /": (3, "Node and nginx know no such method"),
    "!#$%&'*+-.^_`|~ /": (3, "Node and nginx know no such method"),
    "OPTIONS *": (2, "Go and Apache answer it by themselves; nginx refuses it"),
    "GET /../../etc/passwd": (3, "nginx and Apache refuse to go above the root"),
    "GET /%00": (3, "nginx refuses it, Apache finds nothing there"),
    "GET /%zz%": (2, "Go, nginx and Apache refuse what does not decode"),
}

# The request after each stream, and what a server must report about it.
END = b"GET /end HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n"
END_REQUEST = ("GET /end", b"")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", type=pathlib.Path, help="a record made before")
    parser.add_argument("--verbose", action="store_true", help="who refused what")
    arguments = parser.parse_args()
    # SIGTERM also ends the processes that were started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="kasoku-parsers-") as scratch:
        scratch = pathlib.Path(scratch)
        # Workers of nginx and Apache run as another user.
        scratch.chmod(0o755)
        record = arguments.record or make_record(scratch / "record.jsonl")
        cases = read_record(record)
        answers = {name: ask(server, scratch, cases) for name, server in SERVERS.items()}
    passed, failed = judge(cases, answers, arguments.verbose)
    print(f"parsers: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def make_record(path):
    """Sends the tables of hostile requests; returns the path of the record of what origins received."""
    command = ["cargo", "test", "--locked", "--quiet", "--workspace", "--test", "hostile", "requests::"]
    environment = {**os.environ, "KASOKU_HOSTILE_RECORD": str(path)}
    played = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if played.returncode != 0:
        sys.exit(f"the tables of hostile requests failed:\n{played.stdout}{played.stderr}")
    return path


Case = collections.namedtuple("Case", "row requests stream")


def read_record(path):
    """The streams of the record, each once, with their requests."""
    cases = {}
    for line in path.read_text().splitlines():
        entry = json.loads(line)
        requests = [(line, bytes.fromhex(body)) for line, body in entry["requests"]]
        stream = bytes.fromhex(entry["bytes"])
        cases.setdefault(stream, Case(entry["row"], [*requests, END_REQUEST], stream + END))
    return list(cases.values())


def ask(server, scratch, cases):
    """What one server reports about each stream."""
    with server(scratch) as address, concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda case: streams.exchange(address, case.stream, case.requests), cases))


def judge(cases, answers, verbose):
    """Prints the streams that servers read in different ways; returns the numbers of passed and failed streams."""
    failed = 0
    whole = collections.Counter()
    for number, case in enumerate(cases):
        told = {name: all_answers[number] for name, all_answers in answers.items()}
        faults = [f"{name}: {fault}" for name, got in told.items() if (fault := streams.fault(case.requests, got))]
        readers = [name for name, got in told.items() if streams.is_whole(case.requests, got)]
        whole.update(readers)
        first = case.requests[0][0]
        minimum, _ = FEWER.get(first, (MINIMUM, ""))
        if len(readers) < minimum:
            faults.append(f"only {', '.join(readers) or 'nobody'} read it whole; {minimum} should")
        if verbose:
            for name in set(told) - set(readers):
                print(f"{case.row}: {name} answered {[answer.status for answer in told[name]]} to {first[:60]!r}")
        if faults:
            failed += 1
            print(f"{case.row}: {case.requests!r:.500}", *faults, f"sent {case.stream!r:.1500}", sep="\n    ")
    print(f"{len(cases)} streams; whole by", ", ".join(f"{name} {whole[name]}" for name in answers))
    return len(cases) - failed, failed


if __name__ == "__main__":
    sys.exit(main())
