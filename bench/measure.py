"""Measures one round: wrk against one server for some seconds, and the CPU time of the server.

CPU time is that of all threads of all processes of the server, from /proc/PID/task/TID/schedstat (nanoseconds). It is read before and
after, so it includes the 64 connects and a server's idle housekeeping. Work that the kernel does for the server on the client's core (and
the other way round) is charged to the process that it interrupts. Loopback delivers packets within the sender's system call, so the arrival
of a request costs the client, for all servers alike. """

import os
import re
from dataclasses import dataclass
from pathlib import Path

import client
from processes import BenchError, descendants, run_client

CONNECTIONS = 64
# Apache closes idle connections when many are open; wrk counts that as an error and connects again.
SOCKET_ERRORS_PART_MAX = 0.001
LUA = Path(__file__).resolve().parent / "wrk"
_UNITS = {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000}
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass
class Round:
    """The result of one round; times in microseconds."""

    requests_per_second: float
    cpu: float  # of the server, for each request
    p50: float
    p99: float
    requests: int


def hits(program, port, path, origin, seconds, cores, threads=1):
    """A round of requests for one path; an error unless each request was a hit."""
    asked = client.origin_count(origin)
    found = _round(program, port, path, seconds, cores, threads, [])
    now = client.origin_count(origin)
    if now != asked:
        raise BenchError(f"{program.name}: {now - asked} of {found.requests} requests for {path} were no hits")
    return found


def fixed(program, port, seconds, cores, connections=CONNECTIONS):
    """A round against the limit, which has no origin."""
    return _round(program, port, "/", seconds, cores, 1, [], connections=connections)


def hot_keys(program, port, prefix, keys, origin, seconds, cores):
    """A round of `keys` paths in random order, all hits."""
    asked = client.origin_count(origin)
    found = _round(program, port, "/", seconds, cores, 1, ["-s", LUA / "hot.lua"], [prefix, keys])
    now = client.origin_count(origin)
    if now != asked:
        raise BenchError(f"{program.name}: {now - asked} of {found.requests} requests for {prefix}… were no hits")
    return found


def fetches(program, port, prefix, keys, seconds, cores, connections, closes):
    """A round of `keys` paths in random order; the caller checks who has answered. With `closes`, each request has a connection of its
    own."""
    arguments = [prefix, keys, *(["close"] if closes else [])]
    return _round(program, port, "/", seconds, cores, 1, ["-s", LUA / "hot.lua"], arguments, connections=connections)


def paths(program, port, file, first, origin, seconds, cores, connections=CONNECTIONS):
    """A round of the paths in a file, one after the other from the one with the number `first` on, all hits."""
    asked = client.origin_count(origin)
    found = _round(program, port, "/", seconds, cores, 1, ["-s", LUA / "paths.lua"], [file, first], connections=connections)
    now = client.origin_count(origin)
    if now != asked:
        raise BenchError(f"{program.name}: {now - asked} of {found.requests} requests for the paths in {file.name} were no hits")
    return found


def visits(program, port, file, seconds, cores, connections):
    """A round of the paths in a file, from the first one on; the caller checks who has answered."""
    return _round(program, port, "/", seconds, cores, 1, ["-s", LUA / "paths.lua"], [file, 0], connections=connections)


def misses(program, port, prefix, origin, seconds, cores, settled=None):
    """A round in which each path is new; `prefix` must be new as well. `settled` waits for what the server still does afterwards, which
    counts as well."""
    asked = client.origin_count(origin)
    found = _round(program, port, "/", seconds, cores, 1, ["-s", LUA / "miss.lua"], [prefix], settled=settled)
    now = client.origin_count(origin)
    if now - asked < found.requests:
        raise BenchError(f"{program.name}: only {now - asked} of {found.requests} new paths reached the origin")
    return found


def _round(program, port, path, seconds, cores, threads, script, arguments=(), connections=CONNECTIONS, settled=None):
    words = ["wrk", f"-t{threads}", f"-c{connections}", f"-d{seconds}s", "--latency", *script]
    words += ["-H", f"Host: {client.HOST}", f"http://127.0.0.1:{port}{path}"]
    if arguments:
        words += ["--", *arguments]
    before = cpu_times(program.pid)
    text = run_client(words, cores)
    if settled:
        settled()
    cpu_ns = cpu_since(before, cpu_times(program.pid))
    requests = int(_find(r"(\d+) requests in", text)[1])
    if requests == 0 or "Non-2xx" in text or _socket_errors(text) > requests * SOCKET_ERRORS_PART_MAX:
        raise BenchError(f"{program.name}: wrk met errors:\n{text}\n{program.said()}")
    return Round(
        requests_per_second=float(_find(r"Requests/sec:\s+([\d.]+)", text)[1]),
        cpu=cpu_ns / 1_000 / requests,
        p50=_microseconds(_find(r"50%\s+([\d.]+)([a-z]+)", text)),
        p99=_microseconds(_find(r"99%\s+([\d.]+)([a-z]+)", text)),
        requests=requests,
    )


def _socket_errors(text):
    found = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    return sum(map(int, found.groups())) if found else 0


def _find(pattern, text):
    found = re.search(pattern, text)
    if not found:
        raise BenchError(f"wrk said something unexpected:\n{text}")
    return found


def _microseconds(found):
    return float(found[1]) * _UNITS[found[2]]


@dataclass
class CpuTimes:
    """CPU time that a program and its children have used so far, in nanoseconds."""

    threads: dict  # by (process, thread), exact
    coarse: int  # the sum by the clock of 10 ms, which includes threads and children that have ended


def cpu_times(pid):
    """Reads both clocks."""
    times = CpuTimes({}, 0)
    for process in [pid, *descendants(pid)]:
        try:
            for thread in os.listdir(f"/proc/{process}/task"):
                with open(f"/proc/{process}/task/{thread}/schedstat", encoding="ascii") as file:
                    times.threads[process, thread] = int(file.read().split()[0])
            with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
                # User and system time of the process and of children that it has waited for: fields 14 to 17 of proc(5).
                fields = file.read().rpartition(")")[2].split()[11:15]
        except (FileNotFoundError, ProcessLookupError):
            continue
        times.coarse += sum(map(int, fields)) * 1_000_000_000 // _TICK
    return times


def cpu_since(before, after):
    """CPU time between two readings, in nanoseconds; by the coarse clock if a thread or process ended in between."""
    if before.threads.keys() <= after.threads.keys():
        return sum(after.threads.values()) - sum(before.threads.values())
    return after.coarse - before.coarse
