#!/usr/bin/env python3
"""Measures the pages of a board that opens a session for each visitor: behind nginx, Varnish and Kasoku, as they are and patched.

    make bench-sessions                        everything, some 30 minutes; writes bench/reports/sessions.md and its charts
    make bench-sessions ARGS="--only real"     the real gnuboard5, at most ten minutes; the tables of the stand-in stay as they are
    make bench-sessions ARGS="--only stand-in --rounds 1 --quick --no-write"        two minutes

    python3 -B bench/seeds/sessions/run.py --serve                  the board with php-fpm, MariaDB and nginx, until Ctrl-C
    python3 -B bench/seeds/sessions/run.py --visit http://127.0.0.1:8080     300 visits by 60 visitors: hits, and why not

First come crowds of visitors on the real gnuboard5, if its archive is there (real.py, gnuboard/). Then come the experiments that others
have made with XE, gnuboard5 and Varnish, on a stand-in: a board in PHP (board/) that calls session_start() on each page; a patch that makes
sessions start late (lazy.patch); ab with 3 to 500 clients, and wrk. Kasoku serves both boards without a patch. bench/reports/sessions.md
says what is measured. """

import argparse
import http.client
import re
import sys
import time
import urllib.parse
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1])]

import client  # noqa: E402
import experiment  # noqa: E402
import heads  # noqa: E402
import loads  # noqa: E402
import posts  # noqa: E402
import real  # noqa: E402
import setups  # noqa: E402
import shown  # noqa: E402
import stack  # noqa: E402
import visits  # noqa: E402
from cgroup import Group  # noqa: E402
from experiment import progress, two_cores  # noqa: E402
from processes import BenchError, Programs, free_port  # noqa: E402
from steady import Steady  # noqa: E402

PAGES = {"list": "/list.php?board=free", "view": "/view.php?no=4711"}
# The page of one post has fewer loads: it differs from the list only in how much PHP does.
VIEW_LOADS = ("ab-3", "ab-30", "wrk")
MEMBERS = 8


@dataclass
class Turn:
    """A turn's result: requests per second, CPU microseconds of one, and the percentage that PHP answered."""

    rate: float
    front: float  # of the servers in front
    board: float  # of php-fpm and the database
    asked: float


@dataclass
class Started:
    """A set-up in front of a board: its port, its programs, their CPU account, and the cookies of members who are logged in."""

    port: int
    programs: list
    group: Group
    members: list = field(default_factory=list)

    @property
    def program(self):
        return self.programs[-1]


def arguments():
    parser = argparse.ArgumentParser(prog="make bench-sessions", description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=("real", "stand-in"), help="the real gnuboard5, or the board in its manner")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, in each of which all have their turn (%(default)s)")
    parser.add_argument("--no-files", action="store_true", help="visitors of the real gnuboard5 load no files beside the pages")
    parser.add_argument("--quick", action="store_true", help="fewer requests of those that ask PHP for each page")
    parser.add_argument("--no-write", action="store_true", help="print only")
    parser.add_argument("--serve", action="store_true", help="the board alone, until Ctrl-C")
    parser.add_argument("--patched", action="store_true", help="with --serve: the board whose sessions start late")
    parser.add_argument("--visit", metavar="URL", help="visits to a board, and what became of them")
    return parser.parse_args()


def measure(wanted):
    server, ours = two_cores()
    results = shown.Results(wanted.rounds)
    with Programs() as programs, ExitStack() as groups:
        progress("a board with its posts")
        php, database = (groups.enter_context(Group(name)) for name in ("php", "database"))
        board = stack.start(programs, server, php.enter, database.enter)
        started = start_all(programs, groups, board, server)
        check_answers(started)
        results.heads = heads.seen(started)
        results.body_bytes = {page: started["limit", page][1] for page in PAGES}
        started = {name: found[0] if isinstance(found, tuple) else found for name, found in started.items()}
        turns = [("list", name) for name in loads.LOADS] + [("view", name) for name in VIEW_LOADS]
        steady = Steady(wanted.rounds * len(turns))
        for number in range(wanted.rounds):
            for page, load in turns:
                progress(f"round {number + 1} of {wanted.rounds}: {page}, {loads.LOADS[load].label}")
                one = partial(turn, started, board, (php, database), page, load, ours, wanted.quick)
                found = {name: one(name) for name in setups.SLOW}
                fast = [name for name in setups.FAST if name != "limit" or not loads.LOADS[load].members]
                found |= steady.block({name: partial(one, name) for name in fast}, lambda turn: turn.front)
                for name, of_turn in found.items():
                    results.turns.setdefault((page, load, name), []).append(of_turn)
        progress("")
        results.remark = steady.said()
    return results


def start_all(programs, groups, board, cores):
    """Starts all set-ups; returns them by name. The limit runs once for each page, with that page's length."""
    started = {}
    for name, setup in setups.SETUPS.items():
        if name == "limit":
            continue
        group = groups.enter_context(Group(name))
        root = board.lazy if setup.is_lazy else board.plain
        running = []

        def start(what, command, *more):
            place = setups.Place(free_port(), programs.directory(f"{name}-{what}"))
            program = programs.start(f"{name}-{what}", command(place, *more), cores, entered=group.enter)
            running.append(program.until_listening(place.port))
            return place.port

        port = start("server", setups.kasoku if name == "kasoku" else setups.nginx, root, board.php)
        if setup.has_varnish:
            port = start("varnish", setups.varnish, port)
        started[name] = Started(port, running, group, [log_in(port, f"member{number}") for number in range(MEMBERS)])
    for page, path in PAGES.items():
        group = groups.enter_context(Group(f"limit-{page}"))
        place = setups.Place(free_port(), programs.directory(f"limit-{page}"))
        length = len(client.get(started["nginx"].port, path)[1])
        program = programs.start(f"limit-{page}", setups.limit(place, length), cores, entered=group.enter)
        started["limit", page] = (Started(place.port, [program.until_listening(place.port)], group), length)
    return started


def log_in(port, member):
    """Logs a member in as a browser does, first the form, then its content; returns the session cookie."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/login.php", headers={"Host": client.HOST})
    response = connection.getresponse()
    response.read()
    form = urllib.parse.urlencode({"mb_id": member, "mb_password": posts.PASSWORD})
    fields = {"Host": client.HOST, "Content-Type": "application/x-www-form-urlencoded"}
    cookies = re.findall(r"PHPSESSID=\w+", str(response.headers.get_all("Set-Cookie")))
    connection.request("POST", "/login_check.php", form, {**fields, **({"Cookie": cookies[0]} if cookies else {})})
    response = connection.getresponse()
    response.read()
    cookies += re.findall(r"PHPSESSID=\w+", str(response.headers.get_all("Set-Cookie")))
    connection.close()
    if response.status != 302 or not cookies:
        raise BenchError(f"port {port}: no login for {member}: {response.status}")
    return cookies[-1]


def check_answers(started):
    """Checks that all set-ups return the board's pages, never a member's page to guests, always the own pages to members, and hits if they
    cache."""
    for name, setup in setups.SETUPS.items():
        if name == "limit":
            continue
        server = started[name]
        for path in PAGES.values():
            for _ in range(3):
                fields, body = client.get(server.port, path)
            if b"The harbour board" not in body or b"Welcome" in body:
                raise BenchError(f"{setup.label} gives a guest something else: {body[:500]!r}\n{server.program.said()}")
            is_hit = int(fields.get("age", 0)) > 0 or "hit" in fields.get("cache-status", "") or " " in fields.get("x-varnish", "")
            if is_hit != setup.caches:
                raise BenchError(f"{setup.label}: {'no' if setup.caches else 'an unexpected'} hit for {path}: {fields}")
            member = heads.ask(server.port, path, Cookie=server.members[3])
            if "Welcome, <b>Member 3</b>" not in member.body:
                raise BenchError(f"{setup.label} does not know a member: {member.head}")


def turn(started, board, accounts, page, load, cores, is_quick, name):
    """A turn of one set-up."""
    server = started[(name, page) if name == "limit" else name]
    before = [group.cpu_ns() for group in (server.group, *accounts)]
    asked = board.php_requests()
    requests, rate = loads.ask(server, loads.LOADS[load], PAGES[page], server.members, cores, name in setups.FAST, is_quick)
    after = [group.cpu_ns() for group in (server.group, *accounts)]
    asked = board.php_requests() - asked
    front, *behind = ((now - then) / 1_000 / requests for now, then in zip(after, before))
    if asked > 10:
        board.forget_sessions(but=[one.partition("=")[2] for other in started.values() for one in other.members])
    # PHP also answers requests for which wrk no longer waits, so the ratio could exceed 100 %.
    return Turn(rate, front, sum(behind) if name != "limit" else 0.0, min(100.0, 100 * asked / requests))


def serve(wanted):
    """Runs the board alone, for a user who wants to try a cache in front of it."""
    cores = set().union(*two_cores())
    with Programs() as programs:
        board = stack.start(programs, cores)
        root = board.lazy if wanted.patched else board.plain
        place = setups.Place(free_port(), programs.directory("nginx"))
        programs.start("nginx", setups.nginx(place, root, board.php), cores).until_listening(place.port)
        print(f"php-fpm   unix:{board.php}")
        print(f"root      {root}")
        print(f"nginx     http://127.0.0.1:{place.port}/")
        print(f"members   member0 to member{posts.MEMBERS - 1}, password {posts.PASSWORD}")
        print("until Ctrl-C", flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    given = arguments()
    if given.visit:
        sys.exit(visits.main(given.visit))
    if given.serve:
        experiment.run("sessions", given, serve, shown)
    if given.only != "stand-in":
        if real.archive_is_here() or given.only == "real":
            experiment.run("sessions", given, real.measure, real)
        else:
            print("sessions: gnuboard5 itself is left out, since its archive is not here (KASOKU_TEST_APPS)")
    if given.only != "real":
        experiment.run("sessions", given, measure, shown)
