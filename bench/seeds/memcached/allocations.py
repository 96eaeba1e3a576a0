"""Counts the calls of the allocator and the instructions of a request: callgrind at the front end, during an exact number of requests.

A call counts if the program or a library makes it, and not if the allocator does so itself. nginx and Apache allocate from pools, which
call the allocator only for their blocks.
"""

import re
from dataclasses import dataclass

import callgrind
import setups
import started
from native import native
from processes import descendants, run_client

REQUESTS = 2_000
WARM_REQUESTS = 500
REPEATS = 5
# glibc's functions that return new memory, and those of Kasoku's jemalloc, whose names have a prefix.
ALLOCATOR = re.compile(r"(_rjem_|__libc_)?(malloc|calloc|realloc|posix_memalign|aligned_alloc|memalign|mallocx|rallocx)")
# Those functions that call one of these are the allocator itself.
WITHIN = re.compile(rf"{ALLOCATOR.pattern}|_mid_memalign(\..*)?")


@dataclass
class Counted:
    """What a front end does for a request in user space."""

    allocations: float  # calls of the allocator
    instructions: float


def per_request(programs, name, images, connections, front, back):
    """Starts the set-up under callgrind, and counts what those of its processes do that answer requests."""
    server = started.start(programs, name, setups.SERVERS, images, front, back, callgrind.under(programs.scratch / "callgrind.%p"))
    # nginx and Apache answer in children of the first process.
    answering = descendants(server.program.pid) or [server.program.pid]
    counts = {process: programs.scratch / f"callgrind.{process}" for process in answering}
    _requests(server, images, connections, WARM_REQUESTS, back)
    for process in answering:
        callgrind.dump(process, counts[process])
    batches = []
    for _ in range(REPEATS):
        _requests(server, images, connections, REQUESTS, back)
        batches.append(_counted([callgrind.measured(process, counts[process])[0] for process in answering]))
    programs.stop(server.program)
    # Timers add to a batch with the time that it takes, so the smallest is closest to the requests' own.
    return min(batches, key=lambda batch: batch.instructions)


def _requests(server, images, connections, requests, cores):
    before = started.Counts.now(server, images)
    run_client([native(), "load", server.port, connections, requests, setups.IMAGES, setups.PREFIX], cores)
    started.check_served(server, images, before, requests)


def _counted(profiles):
    return Counted(sum(map(_allocations, profiles)) / REQUESTS, sum(profile.total for profile in profiles) / REQUESTS)


def _allocations(profile):
    return sum(
        times
        for (caller, callee), times in profile.calls.items()
        if ALLOCATOR.fullmatch(callee) and not WITHIN.fullmatch(caller)
    )
