"""One round: wrk against one server for some seconds, and what that cost the server.

CPU time is that of all threads of all processes of the server, from /proc/PID/task/TID/schedstat (nanoseconds). It is read
before and after, so the 64 connects are in it and a server's idle housekeeping too. What the kernel does for the
server on the client's core (and the other way round) is charged to whom it interrupted: loopback hands
packets over within the sender's system call, so a request's arrival is the client's cost for all servers alike.
"""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import client
from processes import BenchError, descendants

CONNECTIONS = 64
LUA = Path(__file__).resolve().parent / "wrk"
_UNITS = {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000}
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass
class Round:
    """What one round gave; times in microseconds."""

    requests_per_second: float
    cpu: float  # of the server, for each request
    p50: float
    p99: float
    requests: int


def hits(program, port, path, origin, seconds, cores, threads=1):
    """A round of the same path again and again; an error unless each request was a hit."""
    asked = client.origin_count(origin)
    found = _round(program, port, path, seconds, cores, threads, [])
    now = client.origin_count(origin)
    if now != asked:
        raise BenchError(f"{program.name}: {now - asked} of {found.requests} requests for {path} were no hits")
    return found


def hot_keys(program, port, prefix, keys, origin, seconds, cores):
    """A round of `keys` paths in random order, all hits."""
    asked = client.origin_count(origin)
    found = _round(program, port, "/", seconds, cores, 1, ["-s", LUA / "hot.lua"], [prefix, keys])
    now = client.origin_count(origin)
    if now != asked:
        raise BenchError(f"{program.name}: {now - asked} of {found.requests} requests for {prefix}… were no hits")
    return found


def misses(program, port, prefix, origin, seconds, cores):
    """A round in which each path is new; `prefix` must be new as well."""
    asked = client.origin_count(origin)
    found = _round(program, port, "/", seconds, cores, 1, ["-s", LUA / "miss.lua"], [prefix])
    now = client.origin_count(origin)
    if now - asked < found.requests:
        raise BenchError(f"{program.name}: only {now - asked} of {found.requests} new paths reached the origin")
    return found


def _round(program, port, path, seconds, cores, threads, script, arguments=()):
    words = ["wrk", f"-t{threads}", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", *script]
    words += ["-H", f"Host: {client.HOST}", f"http://127.0.0.1:{port}{path}"]
    if arguments:
        words += ["--", *arguments]
    before = cpu_times(program.pid)
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    cpu_ns = cpu_since(before, cpu_times(program.pid))
    text = done.stdout
    if done.returncode != 0 or "Socket errors" in text or "Non-2xx" in text:
        raise BenchError(f"{program.name}: wrk met errors:\n{text}{done.stderr}\n{program.said()}")
    requests = int(_find(r"(\d+) requests in", text)[1])
    if requests == 0:
        raise BenchError(f"{program.name} answered nothing:\n{text}")
    return Round(
        requests_per_second=float(_find(r"Requests/sec:\s+([\d.]+)", text)[1]),
        cpu=cpu_ns / 1_000 / requests,
        p50=_microseconds(_find(r"50%\s+([\d.]+)([a-z]+)", text)),
        p99=_microseconds(_find(r"99%\s+([\d.]+)([a-z]+)", text)),
        requests=requests,
    )


def _find(pattern, text):
    found = re.search(pattern, text)
    if not found:
        raise BenchError(f"wrk said something unexpected:\n{text}")
    return found


def _microseconds(found):
    return float(found[1]) * _UNITS[found[2]]


def cpu_times(pid):
    """{process: ({thread: nanoseconds}, nanoseconds by the coarse clock)} for a program and its children."""
    times = {}
    for process in [pid, *descendants(pid)]:
        threads = {}
        try:
            for thread in os.listdir(f"/proc/{process}/task"):
                with open(f"/proc/{process}/task/{thread}/schedstat", encoding="ascii") as file:
                    threads[thread] = int(file.read().split()[0])
            with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        times[process] = (threads, (int(fields[11]) + int(fields[12])) * 1_000_000_000 // _TICK)
    return times


def cpu_since(before, after):
    """Nanoseconds between two readings. Where a thread ended in between, the process's coarse clock still has its time."""
    if before.keys() - after.keys():
        raise BenchError("a process of the server ended during the round")
    total = 0
    for process, (threads, coarse) in after.items():
        threads_before, coarse_before = before.get(process, ({}, 0))
        if threads_before.keys() <= threads.keys():
            total += sum(threads.values()) - sum(threads_before.values())
        else:
            total += coarse - coarse_before
    return total
