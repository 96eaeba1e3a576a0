"""Counts the system calls of a request: strace at all threads of the front end, during an exact number of requests."""

import os
import re
from pathlib import Path

import setups
from experiment import eventually
from native import native
from processes import BenchError, descendants, run_client

REQUESTS = 2_000


def per_request(programs, server, connections, cores):
    """System calls of the front end for a request, and what it does meanwhile besides."""
    processes = [server.program.pid, *descendants(server.program.pid)]
    table = programs.scratch / f"{server.program.name}.strace"
    attached = [word for process in processes for word in ("-p", process)]
    tracer = programs.start(f"strace-{server.program.name}", ["strace", "-f", "-c", "-U", "calls,name", "-o", table, *attached], cores)
    eventually(f"strace at {server.program.name}: {tracer.said()}", lambda: all(map(_is_traced, processes)))
    run_client([native(), "load", server.port, connections, REQUESTS, setups.IMAGES, setups.PREFIX], cores)
    programs.stop(tracer)
    return _calls(table.read_text()) / REQUESTS


def _is_traced(process):
    """Whether all threads have a tracer."""
    for thread in os.listdir(f"/proc/{process}/task"):
        if "TracerPid:\t0\n" in Path(f"/proc/{process}/task/{thread}/status").read_text():
            return False
    return True


def _calls(table):
    """The sum in strace's table."""
    found = re.search(r"^ *(\d+) total$", table, re.MULTILINE)
    if not found:
        raise BenchError(f"strace said something unexpected:\n{table}")
    return int(found[1])
