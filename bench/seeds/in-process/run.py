#!/usr/bin/env python3
"""Measures the pages of a blog from MariaDB, Redis, caches inside the application, and Kasoku in front of it.

    make bench-in-process                       everything, some 15 minutes; writes bench/reports/in-process.md, its charts and docs/embedding.md
    make bench-in-process ARGS="--rounds 1 --requests 500 --seconds 1 --no-write"
    make bench-in-process ARGS="--only layer,map --no-write"

The blog is examples/blog, and its flag --cache makes the set-ups. ab requests the page /about as in the first experiment, with a connection
for each request and over connections that stay open (-k); wrk requests posts by Zipf's law. setups.py checks that each choice has its pages
where it claims to have them.
"""

import argparse
import csv
import math
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1])]

import client  # noqa: E402
import experiment  # noqa: E402
import measure as rounds  # noqa: E402
import native  # noqa: E402
import setups  # noqa: E402
import shown  # noqa: E402
from experiment import find, progress, two_cores  # noqa: E402
from processes import BenchError, Programs, free_port, run_client  # noqa: E402
from steady import Steady  # noqa: E402

CONNECTIONS = 12
PATHS = 100_000
# What the limit answers: as many bytes as the page that ab requests, some 4 KB.
LIMIT_BYTES = 4096
# Queries of a page.
QUERIES = {"ab": 1, "ab-kept": 1, "zipf": 2}


@dataclass
class Turn:
    """A turn's result; times in microseconds."""

    rate: float  # requests per second
    cpu: float  # of the application, and of Kasoku where it is in front, for each request
    store: float  # of Redis or MariaDB, for each request
    p50: float
    p99: float

    @property
    def both(self):
        return self.cpu + self.store


def arguments():
    parser = argparse.ArgumentParser(prog="make bench-in-process", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="rounds, in each of which every choice has its turns (%(default)s)")
    parser.add_argument("--requests", type=int, default=10_000, help="of one run of ab (%(default)s)")
    parser.add_argument("--seconds", type=int, default=3, help="of one run of wrk (%(default)s)")
    parser.add_argument("--only", default=",".join(setups.ALL), help="choices of %(default)s")
    parser.add_argument("--no-write", action="store_true", help="print only; so it is with --only")
    given = parser.parse_args()
    given.only = given.only.split(",")
    if unknown := set(given.only) - set(setups.ALL):
        parser.error(f"{', '.join(unknown)}: not one of {', '.join(setups.ALL)}")
    given.no_write |= len(given.only) < len(setups.ALL)
    return given


def measure(wanted):
    front, back = two_cores()
    results = shown.Results(wanted.rounds, wanted.requests)
    with Programs() as programs, setups.blog_servers.Servers(setups.blog_servers.build("release")) as servers:
        paths = setups.make_paths(programs.scratch, PATHS)
        progress("starting MariaDB and Redis")
        blogs = setups.Blogs(servers, native.kasoku(), front, back)
        running, expected = {}, {}
        for name in wanted.only:
            progress(f"starting {name}")
            running[name] = blogs.start(name)
            blogs.warm(running[name], expected)
        results.about_bytes = len(client.get(next(iter(running.values())).port, setups.ABOUT)[1])
        limit = start_limit(programs, front)
        turns = {kind: turns_of(kind, wanted, blogs, running, paths, limit, back) for kind in shown.KINDS}
        steady = Steady(wanted.rounds * len(turns))
        for number in range(wanted.rounds):
            for kind in turns:
                progress(f"round {number + 1} of {wanted.rounds}: {shown.KINDS[kind]}")
                for name, turn in steady.block(turns[kind], lambda turn: turn.cpu).items():
                    results.turns.setdefault((kind, name), []).append(turn)
        results.remark = steady.said()
        progress("")
    return results


def start_limit(programs, cores):
    port = free_port()
    return port, programs.start("limit", [native.native(), "limit", port, LIMIT_BYTES], cores).until_listening(port)


def turns_of(kind, wanted, blogs, running, paths, limit, cores):
    """Functions that measure a turn, by choice; the limit's is one of wrk for each kind, since it doesn't speak ab's HTTP/1.0."""
    port, program = limit
    found = {"limit": lambda: of_limit(rounds.fixed(program, port, 1, cores, CONNECTIONS))}
    for name, setup in running.items():
        if kind == "zipf":
            asked = partial(by_wrk, setup, paths, wanted.seconds, cores)
        else:
            asked = partial(by_ab, setup, blogs.servers.directory, wanted.requests, kind == "ab-kept", cores)
        found[name] = partial(turn_of, blogs, setup, QUERIES[kind], asked)
    return found


def of_limit(found):
    return Turn(found.requests_per_second, found.cpu, 0, found.p50, found.p99)


def turn_of(blogs, setup, queries, asked):
    """A turn: `asked` runs the client, and returns its requests, their rate, and p50 and p99 in microseconds."""
    before = blogs.counts()
    own, store = setups.cpu_times(setup.processes), setups.cpu_times(setup.store)
    requests, rate, p50, p99 = asked()
    own_us, store_us = setups.cpu_us_since(own, setup.processes), setups.cpu_us_since(store, setup.store)
    blogs.check_served(setup, before, requests, queries)
    return Turn(rate, own_us / requests, store_us / requests, p50, p99)


def by_wrk(setup, paths, seconds, cores):
    found = rounds.visits(setup, setup.port, paths, seconds, cores, CONNECTIONS)
    return found.requests, found.requests_per_second, found.p50, found.p99


def by_ab(setup, directory, requests, is_kept, cores):
    times = Path(directory) / "ab.csv"
    words = ["ab", "-q", "-n", requests, "-c", CONNECTIONS, "-e", times, "-H", f"Host: {client.HOST}"]
    text = run_client([*words, *(["-k"] if is_kept else []), f"http://127.0.0.1:{setup.port}{setups.ABOUT}"], cores)
    counted = {name: int(find(rf"{name}:\s+(\d+)", text)) for name in ("Complete requests", "Failed requests")}
    kept = int(find(r"Keep-Alive requests:\s+(\d+)", text)) if is_kept else 0
    if counted != {"Complete requests": requests, "Failed requests": 0} or "Non-2xx" in text or kept != (requests if is_kept else 0):
        raise BenchError(f"{setup.name}: ab met errors:\n{text}")
    with open(times, encoding="ascii") as file:
        milliseconds = {row[0]: float(row[1]) for row in list(csv.reader(file))[1:]}
    if not all(math.isfinite(time) for time in milliseconds.values()):
        raise BenchError(f"{setup.name}: ab wrote no times")
    return requests, float(find(r"Requests per second:\s+([\d.]+)", text)), milliseconds["50"] * 1_000, milliseconds["99"] * 1_000


if __name__ == "__main__":
    experiment.run("in-process", arguments(), measure, shown)
