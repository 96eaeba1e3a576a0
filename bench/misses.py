"""The table of misses: each request asks for a path that nobody asked for before, and the answer is stored.

A miss is two requests, the client's and the one to the origin over a kept connection, and what is stored. The limit's row
is the fixed response again: what the client's half alone would cost. The caches keep what they got, so the table may run
them full; then a miss includes an eviction, as it does in production (Apache never evicts by itself).
"""

import hits
import measure
from processes import Programs

SIZE = 4096


def measure_misses(cores, names, rounds, seconds, progress):
    """Rows in the order of `names`."""
    found = {}
    with Programs() as programs:
        origin = hits.start_origin(programs, cores.client)
        started = {name: hits.start(programs, name, origin, cores.server, [SIZE])[SIZE] for name in names}
        for number in range(rounds + 1):
            for name, server in started.items():
                one = _round(server, name, number, origin, seconds if number else 1, cores.client)
                # The first round warms: connections to the origin, memory, threads.
                if number:
                    found.setdefault((SIZE, name), []).append(one)
                    progress(f"round {number}: misses, {name}: {one.cpu:.2f} us")
        return hits.rows(found, started)


def _round(server, name, number, origin, seconds, cores):
    if name == "limit":
        return measure.fixed(server.program, server.port, seconds, cores)
    return measure.misses(server.program, server.port, f"/o/{SIZE}/{number}-", origin, seconds, cores)
