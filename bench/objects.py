"""Measures the table of objects: hits on the same 1,000 keys while 1,000 objects are stored, and while a million are.

Only the size of the index and the distance of objects in memory differ; the work is the same. The keys are requested in random order. Two
Kasokus run side by side in interleaved rounds; /stats shows that none has evicted an object.
"""

import subprocess
from dataclasses import dataclass
from statistics import median

import client
import hits
import measure
from native import native
from processes import BenchError, Programs, free_port

SIZE = 1024
HOT_KEYS = 1_000
OBJECTS = (1_000, 1_000_000)
MEMORY_MIB = 6 * 1024
FILL_CONNECTIONS = 64
FILL_SECONDS_MAX = 300


@dataclass
class Row:
    """Medians over the rounds."""

    objects: int
    requests_per_second: float
    cpu: float  # microseconds of a request
    growth: float  # CPU time relative to that with the fewest objects
    memory_mib: float  # resident


def measure_objects(cores, rounds, seconds, progress):
    """A row for each number of objects."""
    found = {objects: [] for objects in OBJECTS}
    with Programs() as programs:
        origin = hits.start_origin(programs, cores.client)
        started = {}
        for objects in OBJECTS:
            admin = free_port()
            server = hits.start_one(
                programs, "kasoku", f"kasoku-{objects}", origin, cores.server, memory_mib=MEMORY_MIB, admin=admin
            )
            progress(f"filling with {objects} objects: {_fill(server.port, objects)}")
            _check_stored(admin, objects)
            started[objects] = server
        for number in range(rounds + 1):
            for objects, server in started.items():
                length = seconds if number else 1
                one = measure.hot_keys(server.program, server.port, f"/o/{SIZE}/k", HOT_KEYS, origin, length, cores.client)
                # The first round warms up and is not counted.
                if number:
                    found[objects].append(one)
                    progress(f"round {number}: {objects} objects: {one.cpu:.2f} us")
        return [_row(objects, found, started[objects].program.pid) for objects in OBJECTS]


def _fill(port, objects):
    command = [native(), "load", port, FILL_CONNECTIONS, objects, objects, f"/o/{SIZE}/k"]
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=FILL_SECONDS_MAX)
    if done.returncode != 0:
        raise BenchError(f"the cache could not be filled: {done.stderr}")
    return done.stdout.strip()


def _check_stored(admin, objects):
    stored = client.stats(admin)["stored_objects"]
    if stored < objects:
        raise BenchError(f"only {stored} of {objects} objects are stored: give the cache more memory")


def _row(objects, found, pid):
    runs, fewest = found[objects], found[OBJECTS[0]]
    return Row(
        objects,
        median(run.requests_per_second for run in runs),
        median(run.cpu for run in runs),
        median(run.cpu / other.cpu for run, other in zip(runs, fewest)),
        _resident_mib(pid),
    )


def _resident_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024
