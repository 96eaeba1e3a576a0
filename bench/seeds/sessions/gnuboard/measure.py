#!/usr/bin/env python3
"""Sends crowds of visitors to the real gnuboard5 through each front, and prints the crowds and their costs as JSON.

bench/seeds/sessions/real.py starts this program and shows its results. It runs as a separate process, because the modules of tests/ that
install gnuboard5 and simulate its visitors have the same names as modules of the bench.

The servers run on one core and the visitors on another. In a round each front gets the same crowd, on the same content, with empty caches;
the order of the fronts differs in each round. The single cost of a cold start is not included: before, PHP has compiled the pages, and
Kasoku's leak guard, which compares each kind of page once for a configuration, has done so (guard.look_at). Then the cache is purged.
"""

import argparse
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parents[3] / "tests"
sys.path[:0] = [str(HERE), str(TESTS / "gnuboard"), str(TESTS / "browsing")]

import cpu  # noqa: E402
import fronts  # noqa: E402
import guard  # noqa: E402
import works  # noqa: E402
from counters import counted  # noqa: E402
from crowd import Crowd  # noqa: E402
from guest import PHONE, Guest  # noqa: E402
from site_under_test import MEMBER_PASSWORD, archive  # noqa: E402
from visitors import made_for  # noqa: E402
from window import DESKTOP, NAVIGATION  # noqa: E402

# The crowd of each round. The first is that of tests/gnuboard/relief.py.
SEEDS = (17, 18, 19, 20, 21, 22)
MEMBER = "member1"
MEMBERS_PAGES = ("/bbs/board.php?bo_table=free", "/")
MEMBERS_WARM_UP = 10
MEMBERS_SECONDS_MAX = 60
# After this time without requests, PHP has also answered those that Kasoku sends in the background.
QUIET_SECONDS = 0.3
COUNTERS = {"beacons": "beacons", "beacons_dropped": "beacons_dropped", "questions": "session_probes", "comparisons": "guard_checks"}


@dataclass
class Turn:
    """One crowd: its requests by kind, and their costs. CPU time is in seconds."""

    seed: int
    seconds: float
    php_requests: int
    must_pass: int
    anonymous: int
    hits: int
    shop: int
    shop_hits: int
    refused: int
    visits: int  # visitors whom gnuboard5 has counted
    php: float
    database: float
    nginx: float
    cache: float
    told: dict  # Kasoku's counters of its own requests


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=200, help="looks at a member's page, by each way (%(default)s)")
    parser.add_argument("--seconds", type=int, default=540, help="no round begins that would not be done by then (%(default)s)")
    parser.add_argument("--no-files", action="store_true", help="visitors load no style sheets, scripts and pictures, but captchas")
    parser.add_argument("--is-there", action="store_true", help="only tell, by the exit status, whether the archive of gnuboard5 is")
    wanted = parser.parse_args()
    if archive() is None:
        sys.exit("the archive of gnuboard5 is not here (tests/browsing/archives.py)")
    if wanted.is_there:
        return
    # SIGTERM ends the servers, as Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(json.dumps(measure(wanted, time.monotonic() + wanted.seconds)))


def measure(wanted, deadline):
    # Files are in memory, so that no server waits for a disk.
    if os.access("/dev/shm", os.W_OK):
        tempfile.tempdir = "/dev/shm"
    servers, ours = two_cores()
    # Each program inherits the cores of this process.
    os.sched_setaffinity(0, servers)
    progress("gnuboard5 is installed")
    with fronts.Board() as board:
        compared = fronts.start(board)
        os.sched_setaffinity(0, ours)
        for front in compared:
            progress(f"all pages once: {front.name}")
            look_around(front)
            board.restore()
        members = members_pages(board, compared, wanted.pairs)
        working = {}
        for front in compared:
            progress(f"what works: {front.name}")
            board.restore()
            front.empty()
            working[front.name] = works.found(front.site)
        turns = crowds(board, compared, wanted, deadline)
    return {"turns": turns, "members": members, "works": working}


def crowds(board, compared, wanted, deadline):
    """Turns by the name of the front, one for each round. The first round always takes place; a round that would end too late does not
    begin."""
    turns, longest = {front.name: [] for front in compared}, 0
    rounds = min(wanted.rounds, len(SEEDS))
    for number in range(rounds):
        begun = time.monotonic()
        if number and begun + longest > deadline:
            break
        for front in compared[number % len(compared) :] + compared[: number % len(compared)]:
            progress(f"round {number + 1} of {rounds}: {front.name}")
            turns[front.name].append(asdict(crowd(board, front, number, not wanted.no_files)))
        longest = max(longest, time.monotonic() - begun)
    return turns


def two_cores():
    """A core for the servers and one for the visitors."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        sys.exit("two cores are needed: one for the servers, one for the visitors")
    return {cores[0]}, {cores[1]}


def look_around(front):
    """Requests some pages of each kind, as desktop and as telephone."""
    for agent in (DESKTOP, PHONE):
        if front.is_kasoku:
            guard.look_at(front.site, agent)
        else:
            for path in guard.pages(front.site):
                Guest(front.site, address="127.0.0.91", user_agent=agent).ask("GET", path)
    if front.is_kasoku:
        guard.look_at_news(front.site)


def crowd(board, front, number, with_files):
    board.restore()
    front.empty()
    quiet(board)
    accounts = {"php": board.pids("php-fpm"), "database": board.pids("mariadbd"), "nginx": front.nginx, "cache": front.cache}
    used = {name: cpu.seconds(pids) for name, pids in accounts.items()}
    asked, told, begun = board.php_requests(), counters(front), time.monotonic()
    sums = Crowd(front.site, seed=SEEDS[number], made=made_for(number, with_files)).run()
    seconds = time.monotonic() - begun
    quiet(board)
    used = {name: cpu.seconds(pids) - used[name] for name, pids in accounts.items()}
    return Turn(
        seed=SEEDS[number],
        seconds=seconds,
        php_requests=board.php_requests() - asked,
        **{name: getattr(sums, name) for name in ("must_pass", "anonymous", "hits", "shop", "shop_hits", "refused")},
        visits=works.visits(board),
        **used,
        told={name: now - told[name] for name, now in counters(front).items()},
    )


def counters(front):
    return {name: counted(front.site, counter) for name, counter in COUNTERS.items()} if front.is_kasoku else {}


def quiet(board):
    """Waits until PHP answers no more requests."""
    seen, since = board.php_requests(), time.monotonic()
    while time.monotonic() - since < QUIET_SECONDS:
        time.sleep(0.02)
        if (now := board.php_requests()) != seen:
            seen, since = now, time.monotonic()


def members_pages(board, compared, pairs):
    """Milliseconds of a member's page through each front. The fronts have their turns in random order, so other load of the machine affects
    all alike.

    `ratio` is the median of the ratios to the first front's answer in the same turn.
    """
    progress("members' pages")
    board.restore()
    members = {}
    for place, front in enumerate(compared):
        front.empty()
        members[front.name] = Guest(front.site, address=f"127.0.3.{place + 1}")
        members[front.name].log_in(MEMBER, MEMBER_PASSWORD)
    taken, order, chance = {name: [] for name in members}, list(members), random.Random(5)
    deadline = time.monotonic() + MEMBERS_SECONDS_MAX
    for number in range(MEMBERS_WARM_UP + pairs):
        chance.shuffle(order)
        for name in order:
            milliseconds = member_looks(members[name], MEMBERS_PAGES[number % len(MEMBERS_PAGES)])
            if number >= MEMBERS_WARM_UP:
                taken[name].append(milliseconds)
        if taken[order[0]] and time.monotonic() > deadline:
            break
    first = taken[compared[0].name]
    return {
        name: {"pairs": len(each), "median": statistics.median(each), "ratio": statistics.median(own / other for own, other in zip(each, first))}
        for name, each in taken.items()
    }


def member_looks(member, path):
    begun = time.perf_counter()
    answer = member.ask("GET", path, NAVIGATION)
    taken = (time.perf_counter() - begun) * 1000
    if "/bbs/logout.php" not in answer.text:
        raise AssertionError(f"{path} is no member's page: {answer.decision} {answer.text[:300]}")
    return taken


def progress(line):
    """Shows a line on a terminal, over the last one; does nothing elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="\r", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
