"""Measures the table of misses: each request has a new path, and the answer is stored.

A miss is two requests, the client's and the one to the origin over a kept connection, and the storing of the answer. The limit's row is the
fixed response again, which is what the client's half alone would cost. The caches store all answers, so they may fill up during the
measurement; a miss then includes an eviction, as in production (Apache never evicts by itself).
"""

import itertools
from functools import partial

import hits
import measure
from processes import Programs
from steady import Steady

SIZE = 4096


def measure_misses(cores, names, rounds, seconds, progress):
    """Rows in the order of `names`."""
    found = {}
    with Programs() as programs:
        origin = hits.start_origin(programs, cores.client)
        started = {name: hits.start(programs, name, origin, cores.server, [SIZE])[SIZE] for name in names}
        steady = Steady(rounds)
        turns = itertools.count()

        def turn(name):
            server = started[name]
            if name == "limit":
                return measure.fixed(server.program, server.port, seconds, cores.client)
            return measure.misses(server.program, server.port, f"/o/{SIZE}/{next(turns)}-", origin, seconds, cores.client)

        for number in range(rounds + 1):
            block = steady.block({name: partial(turn, name) for name in names}, lambda one: one.cpu)
            # The first round warms up connections to the origin, memory and threads, and is not counted.
            for name, one in block.items() if number else ():
                found.setdefault((SIZE, name), []).append(one)
                progress(f"round {number}: misses, {name}: {one.cpu:.2f} us")
        return hits.rows(found, started, steady.said())
