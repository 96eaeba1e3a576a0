"""Measures the table of hits: every server and every size, one worker on one core, in interleaved rounds.

In a round of one size all servers have their turn, with the limit at both ends (steady.py). Ratios are computed within a round, since the
machine has the same speed for both servers there. The table shows the median of the rounds' ratios.
"""

from dataclasses import dataclass
from functools import partial
from statistics import median

import client
import measure
from native import native
from processes import BenchError, Programs, free_port
from servers import ALL
from servers.place import Place
from steady import Steady

WARM_SECONDS = 1


@dataclass
class Started:
    """A running server, its port, and the port of its statistics if it has any."""

    program: object
    port: int
    admin: int | None


@dataclass
class Row:
    """Medians over the rounds; times in microseconds."""

    server: str
    size: int
    requests_per_second: float
    cpu: float
    p50: float
    p99: float
    of_limit: float | None = None  # CPU of a request over the limit's
    kasoku_ratio: float | None = None  # requests per CPU second, Kasoku's over this server's
    log_lines_lost: float | None = None  # share of the access log's lines, if the server counts them
    remark: str = ""  # about the whole table
    group: str = ""  # the table it stands in, where a size is not enough


def measure_hits(cores, names, sizes, rounds, seconds, progress):
    """Rows by size, then in the order of `names`."""
    found = {}
    with Programs() as programs:
        origin = start_origin(programs, cores.client)
        started = {}
        for name in names:
            started[name] = start(programs, name, origin, cores.server, sizes)
        for size in sizes:
            for name in names:
                warm(started[name][size], name, size, origin, cores.client)
        steady = Steady(rounds * len(sizes))
        for number in range(rounds):
            for size in sizes:

                def turn(name, size=size):
                    server = started[name][size]
                    return measure.hits(server.program, server.port, path(size), origin, seconds, cores.client)

                block = steady.block({name: partial(turn, name) for name in names}, lambda one: one.cpu)
                for name, one in block.items():
                    found.setdefault((size, name), []).append(one)
                prices = ", ".join(f"{name} {one.cpu:.2f}" for name, one in block.items())
                progress(f"round {number + 1}: {size} bytes: {prices} us")
        return rows(found, {name: servers[sizes[0]] for name, servers in started.items()}, steady.said())


def path(size):
    return f"/o/{size}/hot0"


def start_origin(programs, cores):
    port = free_port()
    programs.start("origin", [native(), "origin", port], cores).until_listening(port)
    return port


def start(programs, name, origin, cores, sizes, **place):
    """{size: Started}: one server for all sizes, except for the limit, which runs once for each size."""
    if name == "limit":
        return {size: start_one(programs, name, f"limit-{size}", origin, cores, body_bytes=size) for size in sizes}
    return dict.fromkeys(sizes, start_one(programs, name, name, origin, cores, **place))


def start_one(programs, module, name, origin, cores, **place):
    """Starts a server of the kind `module`; `name` is used for its directory and in messages."""
    port = free_port()
    if module == "kasoku":
        place.setdefault("admin", free_port())
    where = Place(port=port, origin=origin, directory=programs.directory(name), **place)
    program = programs.start(name, ALL[module].command(where), cores)
    return Started(program.until_listening(port), port, place.get("admin"))


def warm(server, name, size, origin, cores):
    """Fills the cache with the object, checks that the server returns the right bytes, and warms the server up."""
    body = client.get(origin, path(size))[1]
    for _ in range(2):
        got = client.get(server.port, path(size))[1]
        if got != body:
            raise BenchError(f"{name} answered {path(size)} with other bytes than the origin")
    measure.hits(server.program, server.port, path(size), origin, WARM_SECONDS, cores)


FIGURES = ("requests_per_second", "cpu", "p50", "p99")


def rows(found, started, remark=""):
    """Rows with the medians and ratios of {(size, name): [rounds]}; the servers must still run."""
    made = []
    for (size, name), runs in found.items():
        row = Row(name, size, *(median(getattr(run, what) for run in runs) for what in FIGURES))
        row.of_limit = _ratio(runs, found.get((size, "limit")))
        row.kasoku_ratio = _ratio(runs, found.get((size, "kasoku")))
        row.log_lines_lost = log_lines_lost(started[name])
        row.remark = remark
        made.append(row)
    return made


def _ratio(runs, others):
    return others and median(run.cpu / other.cpu for run, other in zip(runs, others))


def log_lines_lost(server):
    """The share of the access log's lines that the server dropped: a log that drops lines is cheaper than one that writes them."""
    stats = client.stats(server.admin) if server.admin else {}
    lost = stats.get("log_lines_dropped", 0)
    lines = stats.get("log_lines", 0) + lost
    return lost / lines if lines else None
