#!/usr/bin/env python3
"""Starts the blog and Kasoku in front of it, and shows what a visitor sees without and with the cache.

    python3 demo/run.py [--program target/release/kasoku]

One client asks for the same search over one kept connection, one request after another: first the blog itself, then
through Kasoku. The first request of each row is shown apart, since the first one through Kasoku is a miss and costs what
the blog costs. With DEMO_ONCE=1 in the environment it ends after the table, with 1 if the last answer was no hit; else it
serves until Ctrl-C.
"""

import argparse
import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time

REQUESTS = 100
START_SECONDS_MAX = 30
PATH = "/search?tag=boats"

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(HERE, "..", "target"))


def main():
    arguments = argparse.ArgumentParser(description="The demo: a slow blog, and Kasoku in front of it.")
    arguments.add_argument("--program", default=os.path.normpath(os.path.join(TARGET, "release", "kasoku")))
    program = arguments.parse_args().program
    once = os.environ.get("DEMO_ONCE", "") not in ("", "0")

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # Also where a shell started us with the signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with contextlib.ExitStack() as cleanup:
        blog_port, kasoku_port = free_port(8000), free_port(8080)
        blog = start(cleanup, [sys.executable, "-B", os.path.join(HERE, "blog.py"), "--port", str(blog_port)])
        wait_for(blog_port, blog)
        kasoku = start(cleanup, [program, "serve", "--origin", f"http://127.0.0.1:{blog_port}",
                                 "--listen", f"127.0.0.1:{kasoku_port}"])
        wait_for(kasoku_port, kasoku)

        print(f"asking for {PATH}, a search through 3,000 entries: {REQUESTS} requests without Kasoku, {REQUESTS} with it\n",
              flush=True)
        without, _ = measure(blog_port)
        with_kasoku, status = measure(kasoku_port)
        ratio = print_table(without, with_kasoku)
        print_status(status)

        if once:
            print(f"\nratio of the medians: {ratio:.0f}")
            # How fast it is depends on the machine; that it was a hit does not.
            if "hit" not in (status or ""):
                sys.exit("the last answer should have been a hit")
            return
        print(f"\nNow look for yourself:   http://127.0.0.1:{kasoku_port}/    through Kasoku"
              f"\n                         http://127.0.0.1:{blog_port}/    the blog alone"
              "\nCtrl-C ends both.", flush=True)
        ended = wait_for_either(blog, kasoku)
        sys.exit(f"{ended.args[0]} ended by itself ({ended.returncode})")


def free_port(preferred):
    """The preferred port if nobody has it, else one that the kernel picks."""
    for port in (preferred, 0):
        with contextlib.suppress(OSError), socket.socket() as probe:
            # Without SO_REUSEADDR a connection that lingers from the last run would count as taken.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return probe.getsockname()[1]
    raise SystemExit("no free port on 127.0.0.1")


def start(cleanup, command):
    """Starts a child that ends when `cleanup` does; Ctrl-C reaches only us."""
    try:
        child = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise SystemExit(f"{command[0]}: {error.strerror}")
    cleanup.callback(stop, child)
    return child


def stop(child):
    """Ends a child by its id."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def wait_for(port, child):
    """Waits until the child answers a request for a page that no measurement asks for."""
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline:
        if child.poll() is not None:
            raise SystemExit(f"{' '.join(child.args)}\nended at once ({child.returncode})")
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/entry/1")
            connection.getresponse().read()
            connection.close()
            return
        time.sleep(0.02)
    raise SystemExit(f"{child.args[0]} did not answer within {START_SECONDS_MAX} s")


def wait_for_either(*children):
    """Returns the child that ended."""
    while True:
        for child in children:
            if child.poll() is not None:
                return child
        time.sleep(0.2)


def measure(port):
    """Seconds of the first request and of REQUESTS more, and the last answer's Cache-Status."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    times = []
    for _ in range(1 + REQUESTS):
        begin = time.perf_counter()
        connection.request("GET", PATH)
        response = connection.getresponse()
        body = response.read()
        times.append(time.perf_counter() - begin)
        if response.status != 200 or b"Entries about boats" not in body:
            raise SystemExit(f"port {port} answered {response.status}: {body[:200]!r}")
    connection.close()
    return times, response.headers.get("Cache-Status")


def print_table(without, with_kasoku):
    """Prints both rows and their ratio; returns the ratio of the medians."""
    rows = {"the blog alone": summary(without), "through Kasoku": summary(with_kasoku)}
    print(f"{'':16}{'first':>11}{'mean':>11}{'median':>11}{'p99':>11}")
    for name, figures in rows.items():
        print(f"{name:16}" + "".join(f"{milliseconds(figure):>11}" for figure in figures))
    ratios = [before / after for before, after in zip(*rows.values())]
    print(f"{'times faster':16}{'':>11}" + "".join(f"{ratio:>11,.0f}" for ratio in ratios[1:]))
    return ratios[2]


def summary(times):
    """First, mean, median and 99th percentile; the first request counts only for itself."""
    first, *rest = times
    rest.sort()
    return first, sum(rest) / len(rest), (rest[len(rest) // 2 - 1] + rest[len(rest) // 2]) / 2, rest[len(rest) * 99 // 100 - 1]


def milliseconds(seconds):
    return f"{seconds * 1000:.1f} ms" if seconds >= 0.01 else f"{seconds * 1000:.3f} ms"


def print_status(status):
    """Prints the Cache-Status of a hit (RFC 9211) and says in words what it says."""
    print(f"\nCache-Status: {status}")
    ttl = re.search(r"\bttl=(-?\d+)", status or "")
    if status is None or not re.search(r";\s*hit\b", status):
        print("which is not a hit: the cache did not answer by itself.")
    elif ttl:
        print("A hit, since the blog sends `Cache-Control: max-age=60`: a shared cache may answer for a minute without asking"
              f"\nagain (RFC 9111 section 4.2), and {ttl[1]} s of it are left.")
    else:
        print("A hit, since the blog sends `Cache-Control: max-age=60`: a shared cache may answer for a minute without asking"
              "\nagain (RFC 9111 section 4.2).")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print()
