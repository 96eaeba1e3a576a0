"""Measures the table of workers: one worker against two, on two cores that the client uses as well.

Since the client shares the cores, the CPU time of a request tells more than requests per second: it shows the cost of locks and shared
cache lines with a second worker. The table has only servers with a configured number of workers; Varnish and Apache spread their threads
over both cores in any case. """

from dataclasses import dataclass
from statistics import median

import hits
import measure
from processes import Programs

SIZE = 4096
NAMES = ("kasoku", "haproxy", "nginx")
WORKERS = (1, 2)


@dataclass
class Row:
    """Medians over the rounds, for one worker and for two."""

    server: str
    requests_per_second: tuple
    cpu: tuple  # microseconds
    growth: float  # CPU time of a request with two workers over that with one


def measure_workers(cores, names, rounds, seconds, progress):
    """Rows in the order of the table of hits."""
    both = cores.server | cores.client
    found = {}
    with Programs() as programs:
        origin = hits.start_origin(programs, both)
        started = {}
        names = [name for name in names if name in NAMES]
        for name in names:
            for workers in WORKERS:
                directory = f"{name}-{workers}"
                started[name, workers] = hits.start_one(programs, name, directory, origin, both, workers=workers)
                hits.warm(started[name, workers], name, SIZE, origin, both)
        for number in range(rounds):
            for (name, workers), server in started.items():
                path = hits.path(SIZE)
                one = measure.hits(server.program, server.port, path, origin, seconds, both, threads=len(both))
                found.setdefault((name, workers), []).append(one)
                progress(f"round {number + 1}: {name} with {workers} workers: {one.cpu:.2f} us")
    return [_row(name, *(found[name, workers] for workers in WORKERS)) for name in names]


def _row(name, one, two):
    return Row(
        name,
        tuple(median(run.requests_per_second for run in runs) for runs in (one, two)),
        tuple(median(run.cpu for run in runs) for runs in (one, two)),
        median(b.cpu / a.cpu for a, b in zip(one, two)),
    )
