"""`make bench`: measures Kasoku, other common caches, and the limit side by side.

This file reads the arguments and runs the tables, which have a file each: hits.py, misses.py, workers.py, objects.py, disk.py (two tables),
scale.py, instructions.py.
README.md in this folder says what they measure, how, and which traps they avoid.

  make bench                                   all tables, some 35 minutes; writes docs/benchmarks.md and its charts
  make bench ARGS=--callgrind                  only the instructions per request, with the most expensive functions of a hit: a minute
  make bench ARGS="--only hits --sizes 4096 --servers limit,kasoku --rounds 5"
"""

import argparse
import os
import signal
import sys
import time
from dataclasses import dataclass

import disk
import hits
import instructions
import misses
import objects
import report
import scale
import workers
from processes import BenchError
from servers import ALL

LINES_SHOWN = 25
TABLES = ("hits", "misses", "workers", "objects", "disk-hits", "disk-misses", "scale", "instructions")
SIZES = (1024, 4096, 102400)


@dataclass
class Cores:
    """The core of the servers, and the core of the client and the origin: server and client must not compete for a core."""

    server: set
    client: set


def main():
    # SIGTERM cleans up as Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    wanted = arguments()
    try:
        cores = two_cores()
        if wanted.callgrind:
            show_callgrind(cores)
        else:
            run(wanted, cores)
    except BenchError as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit("bench: stopped")


def run(wanted, cores):
    started = time.monotonic()
    if busy := busy_cores():
        print(f"bench: other programs use {busy:.1f} cores; only ratios mean anything, and little", file=sys.stderr)
    found = {}
    for table in wanted.only:
        found[table] = MEASURES[table](wanted, cores)
        print("\n" + report.as_text(table, found[table]))
    print(f"{time.monotonic() - started:.0f} s")
    # The document has only places for runs with all servers and sizes.
    whole = wanted.servers == list(ALL) and wanted.sizes == list(SIZES)
    if whole and not wanted.no_write:
        print("written: " + ", ".join(report.write(found, wanted)))


MEASURES = {
    "hits": lambda w, cores: hits.measure_hits(cores, w.servers, w.sizes, w.rounds, w.seconds, progress),
    "misses": lambda w, cores: misses.measure_misses(cores, w.servers, w.rounds, w.seconds, progress),
    "workers": lambda w, cores: workers.measure_workers(cores, w.servers, w.rounds, w.seconds, progress),
    "objects": lambda w, cores: objects.measure_objects(cores, w.rounds, w.seconds, progress),
    "disk-hits": lambda w, cores: disk.measure_hits(cores, w.servers, w.rounds, w.seconds, progress),
    "disk-misses": lambda w, cores: disk.measure_misses(cores, w.servers, w.rounds, w.seconds, progress),
    "scale": lambda w, cores: scale.measure_scale(cores, w.rounds, w.seconds, progress),
    "instructions": lambda w, cores: instructions.measure(cores),
}


def progress(line):
    """Shows a line on a terminal, over the last one; does nothing elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="\r", file=sys.stderr, flush=True)


def arguments():
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__.split("\n")[0])
    parser.add_argument("--callgrind", action="store_true", help="only the instructions per request, with the dearest functions of a hit")
    parser.add_argument("--only", type=names_of(TABLES), default=list(TABLES), help=f"of {','.join(TABLES)}")
    parser.add_argument("--servers", type=names_of(ALL), default=list(ALL), help=f"of {','.join(ALL)}")
    parser.add_argument("--sizes", type=sizes, default=list(SIZES), help="bodies of the hits in bytes, 1024,4096,102400")
    parser.add_argument("--rounds", type=int, default=15, help="rounds for each table (%(default)s)")
    parser.add_argument("--seconds", type=int, default=1, help="of each server's turn in a round (%(default)s)")
    parser.add_argument("--no-write", action="store_true", help="print only; leave docs/benchmarks.md as it is")
    return parser.parse_args()


def names_of(known):
    """A reader of names with commas between, which returns them in the order of `known`."""

    def names(text):
        given = text.split(",")
        if unknown := set(given) - set(known):
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: not one of {', '.join(known)}")
        return [name for name in known if name in given]

    return names


def sizes(text):
    return [int(size) for size in text.split(",")]


def two_cores():
    """The first two cores that this process may use."""
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        raise BenchError("the bench needs two cores: one for the server, one for the client")
    return Cores(server={usable[0]}, client={usable[1]})


def busy_cores():
    """The number of cores that other programs kept busy during one second, if it is worth a remark."""

    def times():
        with open("/proc/stat", encoding="ascii") as file:
            fields = [int(field) for field in file.readline().split()[1:9]]
        return sum(fields), fields[3] + fields[4]

    before, idle_before = times()
    time.sleep(1)
    after, idle_after = times()
    busy = (1 - (idle_after - idle_before) / (after - before)) * (os.cpu_count() or 1)
    return busy if busy > 0.2 else 0


def show_callgrind(cores):
    rows = instructions.measure(cores)
    hit = next(row for row in rows if row.connections > 1)
    for name, lines in hit.lists.items():
        print(f"{name}, a {hit.kind}, {hit.connections} connections")
        print("\n".join(lines[: LINES_SHOWN + 1]), end="\n\n")
    print(report.as_text("instructions", rows))
    print(f"all lines: {instructions.OUTPUT}/callgrind-*.txt")


if __name__ == "__main__":
    main()
