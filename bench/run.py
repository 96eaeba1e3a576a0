"""`make bench`: Kasoku, the caches that people run today, and the limit, measured side by side.

This file reads the arguments and calls the tables, one file each: instructions.py, …. README.md in this folder says
what they measure and which traps they avoid.

  make bench                                 all tables; writes docs/benchmarks.md and its charts
  make bench ARGS=--callgrind                only the instructions per hit, with the dearest functions
"""

import argparse
import os
import signal
import sys
from dataclasses import dataclass

import hits
import instructions
from processes import BenchError
from servers import ALL

LINES_SHOWN = 25
TABLES = ("hits",)


@dataclass
class Cores:
    """Servers run on one core, the client and the origin on another, so that neither waits for the other's turn."""

    server: set
    client: set


def arguments():
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__.split("\n")[0])
    parser.add_argument("--callgrind", action="store_true", help="only the instructions per hit, with the dearest functions")
    parser.add_argument("--only", default=",".join(TABLES), help=f"tables, of {', '.join(TABLES)} (all)")
    parser.add_argument("--sizes", default="1024,4096,102400", help="bodies of the hits, in bytes (%(default)s)")
    parser.add_argument("--servers", default=",".join(ALL), help="of %(default)s (all)")
    parser.add_argument("--rounds", type=int, default=5, help="(%(default)s)")
    parser.add_argument("--seconds", type=int, default=3, help="of each round (%(default)s)")
    parser.add_argument("--no-write", action="store_true", help="print only; leave docs/benchmarks.md as it is")
    return parser.parse_args()


def two_cores():
    """The first two cores that this process may use."""
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        raise BenchError("the bench needs two cores: one for the server, one for the client")
    return Cores(server={usable[0]}, client={usable[1]})


def show_callgrind(cores):
    rows = instructions.measure(cores)
    for name, lines in rows[-1].lists.items():
        print(f"{name}, {rows[-1].connections} connections")
        print("\n".join(lines[: LINES_SHOWN + 1]), end="\n\n")
    for row in rows:
        print(f"{row.connections:>2} connections: {row.per_hit:,.0f} instructions per hit of {instructions.BODY_BYTES} bytes")
    print(f"all lines: {instructions.OUTPUT}/callgrind-*.txt")


def main():
    # An end by SIGTERM cleans up as Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    wanted = arguments()
    try:
        cores = two_cores()
        if wanted.callgrind:
            show_callgrind(cores)
            return
        sizes = [int(size) for size in wanted.sizes.split(",")]
        for row in hits.measure_hits(cores, wanted.servers.split(","), sizes, wanted.rounds, wanted.seconds, print):
            print(row)
    except BenchError as error:
        sys.exit(f"bench: {error}")


if __name__ == "__main__":
    main()
