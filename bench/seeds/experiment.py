"""The common parts of the experiments in this folder: how they start and end, and how they run a client."""

import os
import re
import signal
import sys
import time

from processes import BenchError


def run(name, wanted, measure, shown):
    """Measures, prints, and writes the document if wanted."""
    # SIGTERM cleans up as Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        results = measure(wanted)
    except BenchError as error:
        sys.exit(f"{name}: {error}")
    except KeyboardInterrupt:
        sys.exit(f"{name}: stopped")
    print(shown.as_text(results))
    if not wanted.no_write:
        print("written: " + ", ".join(shown.write(results)))


def two_cores():
    """A core for the servers and one for the client."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise BenchError("two cores are needed: one for the servers, one for the client")
    return {cores[0]}, {cores[1]}


def asked_by_wrk(program, text):
    """The number of wrk's requests, and the rate per second; an error unless all answers were successful."""
    if "Non-2xx" in text:
        raise BenchError(f"{program.name}: wrk met errors:\n{text}\n{program.said()}")
    return int(find(r"(\d+) requests in", text)), float(find(r"Requests/sec:\s+([\d.]+)", text))


def find(pattern, text):
    found = re.search(pattern, text)
    if not found:
        raise BenchError(f"unexpected output:\n{text}")
    return found[1]


def eventually(what, attempt, seconds_max=10):
    """Repeats the attempt until its result is true; returns the result."""
    end = time.monotonic() + seconds_max
    while not (found := attempt()):
        if time.monotonic() > end:
            raise BenchError(f"waited in vain for {what}")
        time.sleep(0.01)
    return found


def progress(line):
    """Shows a line on a terminal, over the last one; does nothing elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="\r", file=sys.stderr, flush=True)
