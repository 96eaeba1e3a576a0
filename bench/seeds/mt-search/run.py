#!/usr/bin/env python3
"""Measures a slow search script without a cache and behind caches: the experiment with which Kasoku began.

    make bench-mt-search                       everything, some 6 minutes; writes bench/reports/mt-search.md and its charts
    make bench-mt-search ARGS="--rounds 2 --no-write"
    make bench-mt-search ARGS=--only-restarts
    make bench-mt-search ARGS=--only-real

A Perl program searches 3,000 entries for a tag. It runs as CGI and as FastCGI: without a cache; behind Apache with mod_cache and
mod_cache_disk, patched to send Expires, since no cache may store it otherwise; and unpatched behind Kasoku, with a rule that grants it an
hour. The same is done with the real Movable Type, where its archives are (real.py). Then both
are started anew, and the kernel's page cache is emptied (restarts.py). bench/reports/mt-search.md says what is measured and what is not.
"""

import argparse
import os
import re
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1])]

import client  # noqa: E402
import experiment  # noqa: E402
import real  # noqa: E402
import restarts  # noqa: E402
import setups  # noqa: E402
import shown  # noqa: E402
from cgroup import Group  # noqa: E402
from experiment import asked_by_wrk, find, progress, two_cores  # noqa: E402
from processes import BenchError, Programs, free_port, run_client  # noqa: E402
from steady import Steady  # noqa: E402

QUERY = "/mt-search.cgi?tag=x&blog_id=1"
AB_REQUESTS = 100
CONNECTIONS = 32
# Turns are short, since the machine changes its speed within seconds.
HITS_SECONDS = 1
HITS_BLOCKS = 3
MISSES = 10
MISS_TURNS = 8


@dataclass
class Alone:
    """The results of `ab -n 100 -c 1`, in milliseconds; the rates are per second."""

    setup: str
    rates: list = field(default_factory=list)
    means: list = field(default_factory=list)
    p50s: list = field(default_factory=list)
    p99s: list = field(default_factory=list)


@dataclass
class Many:
    """The results of hits by 32 connections, or of misses one after the other: CPU microseconds of all processes for a request."""

    setup: str
    rates: list = field(default_factory=list)
    cpu: list = field(default_factory=list)


def arguments():
    parser = argparse.ArgumentParser(prog="make bench-mt-search", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="rounds, in each of which every set-up has its turn (%(default)s)")
    parser.add_argument("--only-restarts", action="store_true", help="only what is left after a restart, and only that table is written")
    parser.add_argument("--only-real", action="store_true", help="only the real Movable Type, and only that table is written")
    parser.add_argument("--no-write", action="store_true", help="print only")
    return parser.parse_args()


def measure(wanted):
    server, ours = two_cores()
    results = shown.Results(
        alone={name: Alone(name) for name in setups.ALONE},
        hits={name: Many(name) for name in setups.HITS},
        hits_anew={name: Many(name) for name in setups.HITS},
        misses={name: Many(name) for name in setups.MISSES},
        restarts={name: restarts.Restarts(name) for name in setups.RESTARTED},
    )
    with Programs() as programs, ExitStack() as groups:
        if not wanted.only_restarts:
            results.real = real.measure(programs, wanted.rounds, server, ours)
        if wanted.only_real:
            progress("")
            return results
        entries = programs.scratch / "entries.txt"
        entries.write_bytes(subprocess.run([HERE / "blog" / "make-entries"], check=True, capture_output=True).stdout)
        results.body_bytes = len(page_of(HERE / "blog" / "mt-search.cgi", entries))
        for number in range(wanted.rounds):
            progress(f"round {number + 1} of {wanted.rounds}: restarts")
            restarts.measure(results.restarts, programs, entries, HERE / "blog", number, server, ours)
        if wanted.only_restarts:
            progress("")
            return results
        started = {}
        for name, setup in setups.ALL.items():
            group = groups.enter_context(Group(name))
            place = setups.Place(free_port(), programs.directory(name), entries, HERE / "blog", results.body_bytes)
            command = setup.command(place)
            program = programs.start(name, command, server, entered=group.enter, **setups.environment(setup, place))
            program.until_listening(place.port)
            started[name] = (program, place, group)
        check_answers(started)
        steady = Steady(wanted.rounds * HITS_BLOCKS * 2)
        for number in range(wanted.rounds):
            for name, row in results.alone.items():
                progress(f"round {number + 1} of {wanted.rounds}: ab, {name}")
                one_after_the_other(row, started[name][1], ours)
            for keeps_alive, rows in ((True, results.hits), (False, results.hits_anew)):
                turns = {name: partial(many, started[name], keeps_alive, ours) for name in rows}
                for block in range(HITS_BLOCKS):
                    progress(f"round {number + 1} of {wanted.rounds}: hits, block {block + 1}")
                    for name, (rate, cpu) in steady.block(turns, lambda one: one[1]).items():
                        rows[name].rates.append(rate)
                        rows[name].cpu.append(cpu)
            progress(f"round {number + 1} of {wanted.rounds}: misses")
            all_misses(results.misses, started, number, ours)
        progress("")
        results.remark = steady.said()
    return results


def check_answers(started):
    """Checks that all set-ups return the same page, and that those with a cache return a hit once it is stored."""
    expected = None
    for name, (program, place, _) in started.items():
        if name == "limit":
            continue
        for _ in range(3):
            fields, body = client.get(place.port, QUERY)
        if expected is None:
            expected = body
        if body != expected or b"entries about x" not in body:
            raise BenchError(f"{name} gives another page:\n{body[:200]!r}\n{program.said()}")
        is_hit = "age" in fields or "hit" in fields.get("cache-status", "")
        if is_hit != setups.ALL[name].caches:
            raise BenchError(f"{name}: {'no' if setups.ALL[name].caches else 'an unexpected'} hit: {fields}")


def page_of(program, entries):
    """The page that the program prints, run directly as a CGI server would run it."""
    environment = {"SEARCH_ENTRIES": str(entries), "REQUEST_METHOD": "GET", "QUERY_STRING": QUERY.partition("?")[2]}
    done = subprocess.run([program], env=environment, check=True, capture_output=True)
    return re.split(rb"\r?\n\r?\n", done.stdout, maxsplit=1)[1]


def one_after_the_other(row, place, cores):
    table = place.directory / "ab.csv"
    words = ["ab", "-q", "-n", AB_REQUESTS, "-c", "1", "-e", table, "-H", f"Host: {client.HOST}"]
    text = run_client([*words, f"http://127.0.0.1:{place.port}{QUERY}"], cores)
    if found := re.search(r"Non-2xx responses:\s+(\d+)", text):
        raise BenchError(f"{row.setup}: {found[1]} answers were no 200")
    row.rates.append(float(find(r"Requests per second:\s+([\d.]+)", text)))
    row.means.append(float(find(r"Time per request:\s+([\d.]+) \[ms\] \(mean\)", text)))
    # The percentiles come from ab's table, since its output has whole milliseconds, in which a hit would be 0.
    served = dict(line.split(",") for line in table.read_text().splitlines()[1:])
    row.p50s.append(float(served["50"]))
    row.p99s.append(float(served["99"]))


def many(started, keeps_alive, cores):
    """Hits over connections that stay open, or over a new one for each request: hits per second, and CPU microseconds of a hit."""
    program, place, group = started
    before = group.cpu_ns()
    words = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{HITS_SECONDS}s", "-H", f"Host: {client.HOST}"]
    words += [] if keeps_alive else ["-H", "Connection: close"]
    text = run_client([*words, f"http://127.0.0.1:{place.port}{QUERY}"], cores)
    spent = group.cpu_ns() - before
    requests, rate = asked_by_wrk(program, text)
    return rate, spent / 1_000 / requests


def all_misses(rows, started, number, cores):
    """Measures the misses of each set-up in several short turns, since the machine changes its speed within seconds."""
    spent = dict.fromkeys(rows, 0)
    for turn in range(MISS_TURNS):
        # Another set-up comes first in each turn.
        names = list(rows)[turn % len(rows) :] + list(rows)[: turn % len(rows)]
        for name in names:
            spent[name] += misses(started[name], f"{number}-{turn}", cores)
    for name, row in rows.items():
        row.cpu.append(spent[name] / 1_000 / (MISS_TURNS * MISSES))


def misses(started, turn, cores):
    """CPU nanoseconds of requests for new pages, each of which starts the program or calls it."""
    _, place, group = started
    code = (
        "import http.client,sys\n"
        "for n in range(int(sys.argv[3])):\n"
        " c=http.client.HTTPConnection('127.0.0.1',int(sys.argv[1]),timeout=20)\n"
        " c.request('GET',f'{sys.argv[2]}&n={sys.argv[5]}-{n}',headers={'Host':sys.argv[4]})\n"
        " r=c.getresponse();r.read();c.close()\n"
        " assert r.status==200,r.status\n"
    )
    before = group.cpu_ns()
    run_client([sys.executable, "-c", code, place.port, QUERY, MISSES, client.HOST, f"{os.getpid()}-{turn}"], cores)
    return group.cpu_ns() - before


if __name__ == "__main__":
    experiment.run("mt-search", arguments(), measure, shown)
