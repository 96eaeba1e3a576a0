"""Measures the tables of the disk tier: hits that come from disk, and misses that are written there, beside nginx and Apache.

All servers keep their files in the same file system, and what they read is in the page cache. Hits rotate over more objects than Kasoku's
memory has room for, so that memory does not answer them: `disk_hits` of /stats says how many the disk has answered, and too few end the bench
with an error. The limit sends a fixed response of that size from memory.

A miss is over when its response is written: Kasoku writes on a thread of its own, whose time counts, also that after the round. /stats shows
that each response was written. The kernel writes the files to the device later; that time counts for no server.
"""

import itertools
import time
from dataclasses import dataclass
from functools import partial

import client
import hits
import measure
from native import native
from processes import BenchError, Programs, run_client
from servers import kasoku
from steady import Steady

NAMES = ("limit", "kasoku", "kasoku-unverified", "nginx", "apache")
# Sends from the page cache what it has not compared with its checksum.
UNVERIFIED = "[disk]\nverify = false"


@dataclass(frozen=True)
class Objects:
    """What is stored for the hits of one size."""

    size: int
    count: int
    connections: int
    memory_mib: int  # Kasoku's memory, which has room for a small part of them
    keeps_open: bool = True  # whether nginx may keep all files open
    from_disk_min: float = 0.9  # the share of Kasoku's hits that the disk must have answered

    @property
    def name(self):
        size = f"{self.size >> 20} MiB" if self.size >= 2**20 else f"{self.size >> 10} KiB"
        return f"{size}, {self.count:,} objects"

    @property
    def paths(self):
        return [f"/o/{self.size}/k{number}" for number in range(self.count)]


HITS = (
    # nginx keeps all files open; a process may often have 20,000.
    Objects(4096, 15_000, measure.CONNECTIONS, 2),
    # A disk tier has more objects than that.
    Objects(4096, 100_000, measure.CONNECTIONS, 2, keeps_open=False),
    Objects(102_400, 3_000, measure.CONNECTIONS, 16),
    Objects(10_485_760, 60, 16, 16),
)
HITS_STORE_MIB = 1024
MISS_SIZE = 4096
# Less than a whole run writes, so that each server makes room as well.
MISSES_STORE_MIB = 512
SETTLE_SECONDS_MAX = 60
# So many times, all is asked for: Kasoku does not write what comes faster than the disk takes it.
FILLS_MAX = 5


def members(names):
    """Those of `NAMES` that are wanted and that this build has."""
    return [name for name in NAMES if name.partition("-")[0] in names and (name != "kasoku-unverified" or has_unverified())]


def has_unverified():
    return kasoku.knows(f'{UNVERIFIED}\npath = "/var/tmp"')


def measure_hits(cores, names, rounds, seconds, progress):
    """Rows by size, in the order of `NAMES`."""
    rows = []
    names = members(names)
    for objects in HITS:
        found = {}
        with Programs() as programs:
            origin = hits.start_origin(programs, cores.client)
            listed = programs.scratch / "paths"
            listed.write_text("".join(f"{path}\n" for path in objects.paths))
            started = {name: _start(programs, name, origin, cores, objects, HITS_STORE_MIB) for name in names}
            for name in names:
                if name != "limit":
                    progress(f"filling {name} with {objects.count} objects of {objects.size} bytes")
                    _fill(started[name], name, objects, origin, cores.server | cores.client)
            steady = Steady(rounds)
            from_disk = {}

            def turn(name, first, started=started, objects=objects, listed=listed, origin=origin, from_disk=from_disk):
                server = started[name]
                if name == "limit":
                    return measure.fixed(server.program, server.port, seconds, cores.client, objects.connections)
                before = _disk_hits(server)
                one = measure.paths(
                    server.program, server.port, listed, first, origin, seconds, cores.client, objects.connections
                )
                if server.admin:
                    from_disk.setdefault(name, []).append((_disk_hits(server) - before) / one.requests)
                return one

            for number in range(rounds + 1):
                first = number * 7919 % objects.count
                block = steady.block({name: partial(turn, name, first) for name in names}, lambda one: one.cpu)
                # The first round warms up and is not counted.
                for name, one in block.items() if number else ():
                    found.setdefault((objects.size, name), []).append(one)
                prices = ", ".join(f"{name} {one.cpu:.1f}" for name, one in block.items())
                progress(f"round {number}: {objects.size} bytes from disk: {prices} us")
            for name, shares in from_disk.items():
                if min(shares) < objects.from_disk_min:
                    raise BenchError(f"{name}: only {min(shares):.1%} of the hits of {objects.size} bytes came from disk")
            of_these = hits.rows(found, started, _said(objects, from_disk, steady))
            for row in of_these:
                row.group = objects.name
            rows += of_these
    return rows


def _said(objects, from_disk, steady):
    shares = [share for all_shares in from_disk.values() for share in all_shares]
    said = f"{objects.name}: {objects.connections} connections"
    if shares:
        # Above 1, it also answered requests that were not over at the end of a turn.
        said += f"; of Kasoku's hits, the disk answered at least {min(1, *shares):.1%}"
    return " ".join(filter(None, [said + ".", steady.said()]))


def measure_misses(cores, names, rounds, seconds, progress):
    """Rows in the order of `NAMES`."""
    found = {}
    names = [name for name in members(names) if name != "kasoku-unverified"]
    with Programs() as programs:
        origin = hits.start_origin(programs, cores.client)
        objects = Objects(MISS_SIZE, 0, measure.CONNECTIONS, 256)
        started = {name: _start(programs, name, origin, cores, objects, MISSES_STORE_MIB) for name in names}
        steady = Steady(rounds)
        turns = itertools.count()

        def turn(name):
            server = started[name]
            if name == "limit":
                return measure.fixed(server.program, server.port, seconds, cores.client)
            before = client.stats(server.admin)["disk_stored"] if server.admin else 0
            wait = partial(settled, server) if server.admin else None
            prefix = f"/o/{MISS_SIZE}/{next(turns)}-"
            one = measure.misses(server.program, server.port, prefix, origin, seconds, cores.client, wait)
            if server.admin and (stored := client.stats(server.admin)["disk_stored"] - before) < one.requests:
                raise BenchError(f"{name}: only {stored} of {one.requests} responses were written to disk")
            return one

        for number in range(rounds + 1):
            block = steady.block({name: partial(turn, name) for name in names}, lambda one: one.cpu)
            # The first round warms up and is not counted.
            for name, one in block.items() if number else ():
                found.setdefault((MISS_SIZE, name), []).append(one)
                progress(f"round {number}: misses onto disk, {name}: {one.cpu:.2f} us")
        return hits.rows(found, started, steady.said())


def _start(programs, name, origin, cores, objects, store_mib):
    module = name.partition("-")[0]
    if module == "limit":
        return hits.start_one(programs, module, name, origin, cores.server, body_bytes=objects.size)
    place = {"store": programs.disk_directory(name), "store_mib": store_mib, "keeps_open": objects.keeps_open}
    if module == "kasoku":
        place |= {"memory_mib": objects.memory_mib, "settings": UNVERIFIED if name == "kasoku-unverified" else ""}
    return hits.start_one(programs, module, name, origin, cores.server, **place)


def _fill(server, name, objects, origin, cores):
    """Stores all objects, compares one of them with the origin's bytes, and waits until all are on disk."""
    command = [native(), "load", server.port, objects.connections, objects.count, objects.count, f"/o/{objects.size}/k"]
    for _ in range(FILLS_MAX):
        run_client(command, cores)
        if not server.admin:
            break
        settled(server)
        if (stored := client.stats(server.admin)["disk_objects"]) == objects.count:
            break
    else:
        raise BenchError(f"{name}: only {stored} of {objects.count} objects are on disk")
    path = objects.paths[0]
    if client.get(server.port, path)[1] != client.get(origin, path)[1]:
        raise BenchError(f"{name} answered {path} with other bytes than the origin")


def _disk_hits(server):
    return client.stats(server.admin)["disk_hits"] if server.admin else 0


def settled(server):
    """Waits until Kasoku has written what waited."""
    end = time.monotonic() + SETTLE_SECONDS_MAX
    before = None
    while (now := client.stats(server.admin)["disk_stored"]) != before:
        if time.monotonic() > end:
            raise BenchError(f"{server.program.name} does not cease to write")
        before = now
        time.sleep(0.1)
