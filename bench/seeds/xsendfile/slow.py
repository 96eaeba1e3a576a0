"""Measures the effect of slow downloads: how long other visitors' pages take, and the memory of a download in the server and in the kernel.

One connection requests pages at a fixed rate that takes a small part of a core, so no request waits for the one before; the client's log
has each request's time. The application names the downloads (X-Accel-Redirect). """

import os
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import client
import setups
from processes import BenchError, descendants, run_client

DOWNLOADS = 2000
BYTES_PER_SECOND = 8192
PAGES = {"a hit": ("/page/", 1000), "of the application": ("/made/", 200)}
SERVERS = {"nginx": "nginx", "kasoku": "Kasoku"}
SECONDS = 3
BEGIN_SECONDS_MAX = 60
# The least share of the bytes that are due in a turn which slow visitors must have read.
READ_SHARE_MIN = 0.8
# The least share of a turn's requests that must have been answered: a client that waits for an answer sends its next request later.
ANSWERED_SHARE_MIN = 0.1

READERS = Path(__file__).with_name("slow_readers.py")


@dataclass
class Waits:
    """The times of answers, in microseconds."""

    p50: float
    p99: float


@dataclass
class Beside:
    """A turn of one server."""

    alone: dict  # by page
    beside: dict
    bytes_each: float  # memory of the server for each download
    kernel_bytes_each: float  # memory that the kernel counts for its socket, most of it pages of the file


def check(started):
    """Checks that the stored page is a hit, the other is none, and all servers return the same content."""
    seen = set()
    for name in SERVERS:
        port = started[name].port
        # The host that h2load sends.
        get = partial(client.get, port, host=f"127.0.0.1:{port}")
        for path, _ in PAGES.values():
            get(path)
            fields, body = get(path)
            seen.add(body)
            is_hit = "hit" in (fields.get("x-cache", "") + fields.get("cache-status", "")).lower()
            if is_hit != (path == "/page/"):
                raise BenchError(f"{name} gives {path} with {fields}")
    if len(seen) != 1:
        raise BenchError("pages differ")


def turn(programs, server, before, cores):
    """Measures pages without downloads, then with them. `before` is the server's memory before its first downloads, since a server keeps
    memory."""
    log = programs.scratch / "waits.log"
    alone = {page: waits(server, *PAGES[page], log, cores) for page in PAGES}
    kernel_before = kernel_bytes()
    words = [READERS, server.port, f"/accel/{setups.name_of(setups.SLOW)}", client.HOST, DOWNLOADS, BYTES_PER_SECOND]
    readers = programs.start("slow-readers", words, cores)
    until_begun(readers, server)
    began = time.monotonic()
    bytes_each = (resident(server.program.pid) - before) / DOWNLOADS
    beside = {page: waits(server, *PAGES[page], log, cores) for page in PAGES}
    seconds = time.monotonic() - began
    kernel_bytes_each = (kernel_bytes() - kernel_before) / DOWNLOADS
    programs.stop(readers)
    check_readers(readers.said(), seconds, server)
    return Beside(alone, beside, bytes_each, kernel_bytes_each)


def until_begun(readers, server):
    deadline = time.monotonic() + BEGIN_SECONDS_MAX
    while "begun" not in readers.said():
        if readers.child.poll() is not None or time.monotonic() > deadline:
            raise BenchError(f"{server.program.name}: downloads do not begin:\n{readers.said()}\n{server.program.said()}")
        time.sleep(0.05)


def check_readers(said, seconds, server):
    words = said.split()
    standing, taken = (int(words[words.index(word) + 1]) for word in ("standing", "bytes"))
    if standing < DOWNLOADS or taken < READ_SHARE_MIN * DOWNLOADS * BYTES_PER_SECOND * seconds:
        raise BenchError(f"{server.program.name}: {standing} of {DOWNLOADS} downloads, {taken} bytes in {seconds:.1f} s")


def waits(server, path, rate, log, cores):
    """The times that a client measures at that many requests per second."""
    log.unlink(missing_ok=True)
    words = ["h2load", "--h1", "-t1", "-c1", f"--rps={rate}", f"-D{SECONDS}", f"--log-file={log}"]
    run_client([*words, f"http://127.0.0.1:{server.port}{path}"], cores)
    lines = [line.split("\t") for line in log.read_text(encoding="ascii").splitlines()]
    if len(lines) < ANSWERED_SHARE_MIN * rate * SECONDS or any(line[1] != "200" for line in lines):
        raise BenchError(f"{server.program.name}: {len(lines)} answers of {path}, not all of them 200")
    took = sorted(int(line[2]) for line in lines)
    return Waits(took[len(took) // 2], took[len(took) * 99 // 100])


def resident(pid):
    """The resident memory of a process and its descendants, without pages of files, in bytes."""
    return sum(anonymous(one) for one in [pid, *descendants(pid)])


def anonymous(pid):
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon:"))


def kernel_bytes():
    """The memory that the kernel counts for all TCP sockets, in bytes. `net.ipv4.tcp_mem` bounds it."""
    line = next(line for line in Path("/proc/net/sockstat").read_text(encoding="ascii").splitlines() if line.startswith("TCP:"))
    words = line.split()
    return int(words[words.index("mem") + 1]) * os.sysconf("SC_PAGE_SIZE")
