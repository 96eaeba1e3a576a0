#!/usr/bin/env python3
"""Measures 40 images in memcached behind Apache, nginx and Kasoku: the experiment on the page of mod_libmemcached_cache.

    make bench-memcached                       everything, some 20 minutes; writes bench/reports/memcached.md and its charts
    make bench-memcached ARGS="--rounds 2 --no-write"
    make bench-memcached ARGS="--only servers"
    make bench-memcached ARGS="--only allocations"    some two minutes; counts, no times

Images of 3.5 KB, 8 requests at a time, four memcached servers on one machine. The set-ups are in setups.py; started.py checks that each has
the images where it claims to have them. A second table has 1 to 7 memcached servers, and the system calls of a request (calls.py). A third
has the calls of the allocator and the instructions of a request, with four memcached servers and without (allocations.py).
"""

import argparse
import math
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1])]

import allocations  # noqa: E402
import calls  # noqa: E402
import experiment  # noqa: E402
import measure as rounds  # noqa: E402
import setups  # noqa: E402
import shown  # noqa: E402
import started  # noqa: E402
from experiment import progress, two_cores  # noqa: E402
from processes import Programs  # noqa: E402
from ring import cpu_ns_since  # noqa: E402
from steady import Steady  # noqa: E402

CONNECTIONS = 8
# A turn takes a second, or as many as a set-up needs for so many fetches, within a limit.
FETCHES = 10_000
SECONDS_MAX = 5
TABLES = ["fetches", "servers", "allocations"]


@dataclass
class Turn:
    """A turn's result; times in microseconds."""

    rate: float  # requests per second
    cpu: float  # of the front end, for each request
    memcached: float  # CPU time of all its memcached servers, for each request
    asked: float  # items that memcached returned, for each request
    p50: float
    p99: float


def arguments():
    parser = argparse.ArgumentParser(prog="make bench-memcached", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15, help="rounds, in each of which every set-up has its turn (%(default)s)")
    parser.add_argument("--only", default=",".join(TABLES), help="of %(default)s; only these tables are written")
    parser.add_argument("--no-write", action="store_true", help="print only")
    given = parser.parse_args()
    given.only = given.only.split(",")
    if unknown := set(given.only) - set(TABLES):
        parser.error(f"{', '.join(unknown)}: not one of {', '.join(TABLES)}")
    return given


def measure(wanted):
    front, back = two_cores()
    results = shown.Results(wanted.rounds)
    if "fetches" in wanted.only or "servers" in wanted.only:
        measure_times(results, wanted.only, front, back)
    if "allocations" in wanted.only:
        measure_allocations(results, front, back)
    return results


def measure_times(results, only, front, back):
    with Programs() as programs:
        images = started.make_images(programs, back)
        servers = {}
        for name in setups.ALL:
            progress(f"starting {name}")
            servers[name] = started.start(programs, name, setups.SERVERS, images, front, back)
        if "fetches" in only:
            measure_fetches(results, servers, images, back)
        if "servers" in only:
            measure_servers(results, programs, servers, images, front, back)
        progress("")


def measure_fetches(results, servers, images, cores):
    steady = Steady(results.rounds * 2)
    turns = {closes: {name: warmed(server, images, closes, cores) for name, server in servers.items()} for closes in (False, True)}
    for number in range(results.rounds):
        for closes in (False, True):
            progress(f"round {number + 1} of {results.rounds}: fetches, {'a connection for each' if closes else 'connections stay open'}")
            for name, turn in steady.block(turns[closes], lambda turn: turn.cpu).items():
                results.fetches.setdefault((closes, name), []).append(turn)
    results.fetches_remark = steady.said()


def measure_servers(results, programs, servers, images, front, back):
    """Measures a block for each front end: without memcached, and with each number of memcached servers."""
    steady = Steady(results.rounds * len(setups.HOPS))
    blocks = {}
    for name, without in setups.HOPS.items():
        block = {0: servers[without]}
        for count in setups.COUNTS:
            progress(f"starting {name} with {count} memcached servers")
            block[count] = servers[name] if count == setups.SERVERS else started.start(programs, name, count, images, front, back)
        blocks[name] = {"limit": servers["limit"], **block}
    turns = {name: {key: warmed(server, images, False, back) for key, server in block.items()} for name, block in blocks.items()}
    for number in range(results.rounds):
        for name in blocks:
            progress(f"round {number + 1} of {results.rounds}: numbers of servers, {name}")
            for count, turn in steady.block(turns[name], lambda turn: turn.cpu).items():
                results.servers.setdefault((name, count), []).append(turn)
    for name, block in blocks.items():
        for count, server in block.items():
            progress(f"system calls of {name}, {count}")
            if count != "limit":
                before = started.Counts.now(server, images)
                results.calls[name, count] = calls.per_request(programs, server, CONNECTIONS, back)
                started.check_served(server, images, before, calls.REQUESTS)
    results.servers_remark = steady.said()


def measure_allocations(results, front, back):
    with Programs() as programs:
        images = started.make_images(programs, back)
        for pair in setups.HOPS.items():
            for name in pair:
                progress(f"allocations of {name}")
                results.allocations[name] = allocations.per_request(programs, name, images, CONNECTIONS, front, back)
        progress("")


def warmed(server, images, closes, cores):
    """A function that measures one turn of the set-up, after a turn that does not count and shows how long a turn has to be."""
    rate = turn_of(server, images, closes, 1, cores).rate
    seconds = min(max(1, math.ceil(FETCHES / rate)), SECONDS_MAX)
    return partial(turn_of, server, images, closes, seconds, cores)


def turn_of(server, images, closes, seconds, cores):
    before = started.Counts.now(server, images)
    spent = server.ring.cpu_times() if server.ring else []
    found = rounds.fetches(server.program, server.port, setups.PREFIX, setups.IMAGES, seconds, cores, CONNECTIONS, closes)
    memcached_ns = cpu_ns_since(spent, server.ring.cpu_times()) if server.ring else 0
    asked = started.check_served(server, images, before, found.requests)
    memcached = memcached_ns / 1_000 / found.requests
    return Turn(found.requests_per_second, found.cpu, memcached, asked / found.requests, found.p50, found.p99)


if __name__ == "__main__":
    experiment.run("memcached", arguments(), measure, shown)
