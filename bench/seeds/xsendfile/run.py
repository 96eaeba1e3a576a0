#!/usr/bin/env python3
"""Measures the cost of a download: sent by a server alone, by a server to which the application names the file, or by the application.

    make bench-xsendfile                       everything, some 10 minutes; writes bench/reports/xsendfile.md and its charts
    make bench-xsendfile ARGS="--rounds 2 --no-write"

    make bench-xsendfile ARGS="--parts slow"   the effect of 2,000 slow downloads on other visitors, a minute and a half

This repeats the experiment of mod_xsendfile's page on one machine and in one run: files of 10 KB to 10 MB, by nginx, Apache and Kasoku, at
full speed and at a fixed rate. It measures user and system time of the server and of the application, each in its own control group, and
how long other visitors wait while many download slowly (slow.py). """

import argparse
import os
import re
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1])]

import client  # noqa: E402
import experiment  # noqa: E402
import setups  # noqa: E402
import shown  # noqa: E402
import slow  # noqa: E402
from cgroup import Group  # noqa: E402
from experiment import asked_by_wrk, progress, two_cores  # noqa: E402
from processes import BenchError, Programs, free_port, run_client  # noqa: E402
from steady import Steady  # noqa: E402

CONNECTIONS = 8
SECONDS = {"10 MB": 3}
SECONDS_USUAL = 1
# Rates well below those that the slowest set-up can reach.
FIXED_RATES = {"10 KB": 1200, "100 KB": 600, "1 MB": 80, "10 MB": 8}
FIXED_SECONDS = 1
PARTS = ["costs", "slow"]


@dataclass
class Cost:
    """CPU time of a request, in microseconds. User and system time of a single turn are not exact (cgroup.py)."""

    whole: float
    user: float
    system: float


@dataclass
class Turn:
    """A turn's result: requests per second, and what one cost the server, the application and the client, in microseconds."""

    rate: float
    server: Cost
    application: Cost
    client: float


@dataclass
class Started:
    """A server, its port, and the CPU accounts of the server and its application."""

    program: object
    port: int
    groups: tuple


def arguments():
    parser = argparse.ArgumentParser(prog="make bench-xsendfile", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="rounds, in each of which all have their turn (%(default)s)")
    parser.add_argument("--sizes", default=",".join(setups.SIZES), help="of %(default)s")
    parser.add_argument("--parts", default=",".join(PARTS), help="of %(default)s")
    parser.add_argument("--no-write", action="store_true", help="print only")
    given = parser.parse_args()
    given.parts = given.parts.split(",")
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"{', '.join(unknown)}: not one of {', '.join(PARTS)}")
    given.sizes = given.sizes.split(",")
    if unknown := set(given.sizes) - set(setups.SIZES):
        parser.error(f"{', '.join(unknown)}: not one of {', '.join(setups.SIZES)}")
    return given


def measure(wanted):
    server, ours = two_cores()
    results = shown.Results(rounds=wanted.rounds)
    with Programs() as programs, ExitStack() as groups:
        files = make_files(programs.directory("files"))
        started = start_all(programs, groups, files, server, wanted.sizes)
        check_answers(started, files, wanted.sizes)
        if "costs" in wanted.parts:
            measure_costs(results, started, wanted, ours)
        if "slow" in wanted.parts:
            measure_slow(results, programs, started, ours)
        progress("")
    return results


def measure_costs(results, started, wanted, ours):
    steady = Steady(wanted.rounds * len(wanted.sizes))
    for number in range(wanted.rounds):
        for size in wanted.sizes:
            progress(f"round {number + 1} of {wanted.rounds}: {size}")
            turns = {
                name: partial(full_speed, started_for(started, row, size), path_of(row, size), ours, SECONDS.get(size, SECONDS_USUAL))
                for name, row in setups.ROWS.items()
            }
            turns |= {name: partial(full_speed, started[row.server], row.path, ours) for name, row in setups.EMPTY.items()}
            for name, turn in steady.block(turns, lambda turn: turn.server.whole).items():
                results.full.setdefault((size, name), []).append(turn)
            for name, row in setups.ROWS.items():
                turn = fixed_rate(started_for(started, row, size), path_of(row, size), FIXED_RATES[size], ours)
                results.fixed.setdefault((size, name), []).append(turn)
    results.remark = steady.said()


def measure_slow(results, programs, started, ours):
    slow.check(started)
    before = {name: slow.resident(started[name].program.pid) for name in slow.SERVERS}
    for number in range(results.rounds):
        # The order is reversed in each round.
        for name in list(slow.SERVERS)[:: -1 if number % 2 else 1]:
            progress(f"round {number + 1} of {results.rounds}: slow downloads, {name}")
            results.slow.setdefault(name, []).append(slow.turn(programs, started[name], before[name], ours))


def make_files(directory):
    (directory / "empty_file").write_bytes(b"")
    for size, length in [*setups.SIZES.items(), (setups.SLOW, setups.SLOW_BYTES)]:
        (directory / setups.name_of(size)).write_bytes(os.urandom(length))
    # The files are old, as most are: a file that was just written might change again within the same second.
    for path in directory.iterdir():
        os.utime(path, (1_700_000_000, 1_700_000_000))
        path.chmod(0o644)
    return directory


def start_all(programs, groups, files, cores, sizes):
    """Starts all servers; returns them by name. The limit runs once for each size."""
    started = {}
    for name, command in setups.SERVERS.items():
        place = setups.Place(free_port(), programs.directory(name), files, programs.scratch / f"{name}.sock")
        accounts = tuple(groups.enter_context(Group(f"{name}-{part}")) for part in ("server", "application"))
        listener = setups.application_socket(place.application)

        def enter(account=accounts[1], descriptor=listener.fileno()):
            account.enter()
            os.dup2(descriptor, 0)

        for number in range(setups.APPLICATION_PROCESSES):
            programs.start(f"{name}-application-{number}", setups.APPLICATION, cores, entered=enter, DOWNLOADS=str(files))
        listener.close()
        program = programs.start(name, command(place), cores, entered=accounts[0].enter)
        started[name] = Started(program.until_listening(place.port), place.port, accounts)
    for size in sizes:
        name = f"limit-{setups.SIZES[size]}"
        place = setups.Place(free_port(), programs.directory(name), files, Path())
        account = groups.enter_context(Group(name))
        program = programs.start(name, setups.limit(place, size), cores, entered=account.enter)
        started[name] = Started(program.until_listening(place.port), place.port, (account, None))
    return started


def started_for(started, row, size):
    return started[f"limit-{setups.SIZES[size]}" if row.server == "limit" else row.server]


def path_of(row, size):
    return row.path.format(name=setups.name_of(size))


def check_answers(started, files, sizes):
    """Checks that all set-ups return the same bytes."""
    for size in sizes:
        expected = (files / setups.name_of(size)).read_bytes()
        for row in setups.ROWS.values():
            server = started_for(started, row, size)
            fields, body = client.get(server.port, path_of(row, size))
            if body != expected or "x-sendfile" in fields or "x-accel-redirect" in fields:
                raise BenchError(f"{row.label} gives something else for {size}: {len(body)} bytes, {fields}\n{server.program.said()}")


def full_speed(server, path, cores, seconds=SECONDS_USUAL):
    words = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-H", f"Host: {client.HOST}"]
    return turn(server, [*words, f"http://127.0.0.1:{server.port}{path}"], cores, partial(asked_by_wrk, server.program))


def fixed_rate(server, path, rate, cores):
    # A client sends its first request after its first interval, so clients must be few at low rates.
    clients = min(CONNECTIONS, max(1, int(rate * FIXED_SECONDS / 8)))
    words = ["h2load", "--h1", "-t1", f"-c{clients}", f"--rps={rate / clients}", f"-D{FIXED_SECONDS}"]

    def asked(text):
        total, succeeded = re.search(r"requests: (\d+) total.* (\d+) succeeded", text).groups()
        if int(succeeded) == 0 or int(succeeded) < int(total) * 0.99:
            raise BenchError(f"{server.program.name}: h2load met errors:\n{text}\n{server.program.said()}")
        return int(succeeded), int(succeeded) / FIXED_SECONDS

    return turn(server, [*words, f"http://127.0.0.1:{server.port}{path}"], cores, asked)


def turn(server, words, cores, asked):
    """Runs a client, and divides the CPU time of the turn by its requests. `asked` reads their number and rate from the client's output."""
    before, client_before = [account and account.times_ns() for account in server.groups], os.times()
    text = run_client(words, cores)
    after, client_after = [account and account.times_ns() for account in server.groups], os.times()
    requests, rate = asked(text)
    if requests == 0:
        raise BenchError(f"{server.program.name}: not one answer came to its end: {' '.join(map(str, words))}")
    spent = [
        Cost(*((now - then) / 1_000 / requests for now, then in zip(ends, begins))) if ends else Cost(0.0, 0.0, 0.0)
        for ends, begins in zip(after, before)
    ]
    seconds = client_after.children_user + client_after.children_system - client_before.children_user - client_before.children_system
    return Turn(rate, *spent, seconds * 1_000_000 / requests)


if __name__ == "__main__":
    experiment.run("xsendfile", arguments(), measure, shown)
