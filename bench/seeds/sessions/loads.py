"""The loads of the sessions bench: those of the original experiments with ab, a connection for each request, and wrk with kept
connections."""

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import client
from experiment import asked_by_wrk, find
from processes import BenchError, run_client

HERE = Path(__file__).resolve().parent
WRK_CONNECTIONS = 32
# A cache answers 1,000 requests in a moment, so a turn repeats them until there are at least this many.
REQUESTS_FAST_MIN = 10_000
# With `--quick`, set-ups without a cache get only a part of the requests.
QUICK_PART = 20
QUICK_REQUESTS_MIN = 500


@dataclass
class Load:
    """The client of a turn: ab with `requests` in all, or wrk for `seconds`."""

    label: str
    clients: int
    requests: int = 0
    seconds: int = 0
    members: bool = False  # every tenth request is a member's


LOADS = {
    "ab-3": Load("ab -n 1000 -c 3", 3, requests=1000),
    "ab-30": Load("ab -n 1000 -c 30", 30, requests=1000),
    "ab-50": Load("ab -n 10000 -c 50", 50, requests=10_000),
    "ab-300": Load("ab -n 10000 -c 300", 300, requests=10_000),
    "ab-200": Load("ab -n 20000 -c 200", 200, requests=20_000),
    "ab-500": Load("ab -n 20000 -c 500", 500, requests=20_000),
    "wrk": Load(f"wrk -c {WRK_CONNECTIONS}", WRK_CONNECTIONS, seconds=2),
    "mixed": Load(f"wrk -c {WRK_CONNECTIONS}, one in ten a member", WRK_CONNECTIONS, seconds=2, members=True),
}


def ask(server, load, path, members, cores, is_fast, is_quick):
    """Runs the load; returns the number of answered requests, and the rate per second."""
    url = f"http://127.0.0.1:{server.port}{path}"
    if load.requests:
        return ab(server, load, url, cores, is_fast, is_quick)
    words = ["wrk", "-t1", f"-c{load.clients}", f"-d{load.seconds}s", "-H", f"Host: {client.HOST}"]
    if load.members:
        return asked_by_wrk(server.program, run_client([*words, "-s", HERE / "mixed.lua", url, "--", *members], cores))
    return asked_by_wrk(server.program, run_client([*words, url], cores))


def ab(server, load, url, cores, is_fast, is_quick):
    requests, turns = load.requests, 1
    if is_fast:
        turns = max(1, REQUESTS_FAST_MIN // requests)
    elif is_quick:
        requests = max(requests // QUICK_PART, QUICK_REQUESTS_MIN, load.clients)
    # The limit needs `Connection: close`; for the others it is the default of HTTP/1.0. `-l`: the board's counters change the length.
    words = ["ab", "-q", "-l", "-n", requests, "-c", load.clients, "-H", f"Host: {client.HOST}", "-H", "Connection: close", url]
    turn = partial(ab_said, server, words, cores)
    seconds = sum(turn() for _ in range(turns))
    return turns * requests, turns * requests / seconds


def ab_said(server, words, cores):
    """The seconds that ab took; an error unless each answer was a 200."""
    text = run_client(words, cores)
    if re.search(r"Non-2xx responses", text) or find(r"Failed requests:\s+(\d+)", text) != "0":
        raise BenchError(f"{server.program.name}: not all were answered:\n{text}\n{server.program.said()}")
    return float(find(r"Time taken for tests:\s+([\d.]+)", text))
