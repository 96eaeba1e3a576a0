"""Measures what is left of the search's pages after a restart: behind Apache with mod_cache_disk, and behind Kasoku with a disk tier.

Both keep their pages in the same file system. Each page is requested four times, one after the other over one connection: it is stored; it is a
hit; it is requested again after the server was started anew (Kasoku after `kill -9`, Apache after its regular end); and after another start with
an empty page cache, when all of it must come from the disk.
"""

import json
import os
import socket
import sys
import time
from dataclasses import dataclass, field

import client
import page_cache
import setups
from experiment import eventually
from processes import BenchError, descendants, free_port, run_client

PAGES = 40
QUERY = "/mt-search.cgi?tag=x&blog_id=1"
# Kasoku promises that what was stored a second before survives `kill -9`.
STORED_SECONDS = 1.2
MOMENTS = ("hit", "restarted", "cold")
# Prints for each page how many milliseconds it took, and whether it was a hit.
_CLIENT = """
import http.client, json, sys, time
port, host, paths = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
found = []
for path in paths:
    begin = time.perf_counter()
    connection.request("GET", path, headers={"Host": host})
    response = connection.getresponse()
    body = response.read()
    took = (time.perf_counter() - begin) * 1000
    assert response.status == 200 and b"entries about x" in body, (response.status, body[:200])
    is_hit = response.getheader("Age") is not None or "; hit" in (response.getheader("Cache-Status") or "")
    found.append((took, is_hit))
print(json.dumps(found))
"""


@dataclass
class Restarts:
    """The results of one set-up: milliseconds of each request, and the number of hits of each round, by moment."""

    setup: str
    times: dict = field(default_factory=lambda: {moment: [] for moment in MOMENTS})
    hits: dict = field(default_factory=lambda: {moment: [] for moment in MOMENTS})


def measure(rows, programs, entries, blog, number, server_cores, client_cores):
    """One round: each set-up with a store of its own."""
    for name, row in rows.items():
        place = setups.Place(free_port(), programs.directory(f"{name}-{number}"), entries, blog, 0, programs.disk_directory(f"{name}-{number}"))

        def started(name=name, place=place):
            setup = setups.ALL[name]
            environment = setups.environment(setup, place)
            program = programs.start(f"{name}-restarts", setup.command(place), server_cores, **environment)
            return program.until_listening(place.port)

        def ask(moment, row=row, place=place):
            paths = [f"{QUERY}&n={number}-{page}" for page in range(PAGES)]
            found = json.loads(run_client([sys.executable, "-c", _CLIENT, place.port, client.HOST, *paths], client_cores))
            if moment:
                row.times[moment] += [took for took, _ in found]
                row.hits[moment].append(sum(is_hit for _, is_hit in found))

        program = started()
        ask(None)
        ask("hit")
        time.sleep(STORED_SECONDS)
        _end(programs, program, name, place)
        program = started()
        ask("restarted")
        _end(programs, program, name, place)
        page_cache.drop(place.store)
        program = started()
        before = _read(program)
        ask("cold")
        if _read(program) == before:
            raise BenchError(f"{name}: nothing was read from the disk, so its cold hits were not cold")
        _end(programs, program, name, place)


def _end(programs, program, name, place):
    if name in setups.CACHED_KASOKU:
        program.kill()
    programs.stop(program)
    # Programs that the killed one has started end by themselves.
    eventually(f"the end of {name}", lambda: not _is_listening(place.port))
    for file in ("pid", "fcgid.shm", "cgid.sock"):
        if (place.directory / file).exists():
            os.unlink(place.directory / file)


def _is_listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _read(program):
    return page_cache.read_bytes([program.pid, *descendants(program.pid)])
