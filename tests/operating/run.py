#!/usr/bin/env python3
"""Tests that no request fails during a reload, a hand-over to a new process, and a drain, while wrk sends requests without a pause.

This starts an origin, the release program in front of it and wrk, all on free ports of 127.0.0.1, and sends the program signals meanwhile.
wrk counts broken connections, and answers that are not 2xx. At the end of the drain no process listens, so wrk cannot connect, which it
reports as failed writes; there only failed reads count. crates/kasoku/tests/commands/operating.rs tests what a client gets during a drain.

Prints `operating: N passed, M failed`, and exits with 1 if a part failed.
"""

import http.server
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "kasoku"
CONNECTIONS = 64
PATIENCE_SECONDS = 30

# Most requests are hits; private pages go to the origin each time.
SCRIPT = """
counter = 0
request = function()
    counter = counter + 1
    if counter % 50 == 0 then return wrk.format("GET", "/private") end
    return wrk.format("GET", "/page-" .. counter % 10)
end
"""


class Page(http.server.BaseHTTPRequestHandler):
    """An origin whose pages are fresh for an hour, except for private ones."""

    protocol_version = "HTTP/1.1"
    # Buffers the answer, so that head and body leave in one packet.
    wbufsize = -1

    def do_GET(self):
        body = b"x" * 1000
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "private" if self.path == "/private" else "max-age=3600")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class Origin(http.server.ThreadingHTTPServer):
    """The origin, with a long queue of connections: a new process opens all its connections at once, and the kernel would drop all but the
    default of five, which are then opened again only seconds later."""

    request_queue_size = 1024


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def eventually(what, attempt):
    end = time.monotonic() + PATIENCE_SECONDS
    while not attempt():
        if time.monotonic() > end:
            raise RuntimeError(f"{what}: it never happened")
        time.sleep(0.02)


class Kasoku:
    """The program, and the processes that take over from it."""

    def __init__(self, directory, origin_port):
        self.config = directory / "kasoku.toml"
        self.pid_file = directory / "kasoku.pid"
        self.log = directory / "kasoku.log"
        self.port = free_port()
        self.origin_port = origin_port
        self.configure(["Cache-Status"])
        with self.log.open("ab") as log:
            self.first = subprocess.Popen([PROGRAM, "serve", "--config", self.config], stderr=log)
        eventually("the first process serves", lambda: self.pid_file.exists() and self.pid_file.read_text())

    def configure(self, hit_headers):
        self.config.write_text(
            f'listen = "127.0.0.1:{self.port}"\n'
            f'pid-file = "{self.pid_file}"\n'
            f"hit-headers = {hit_headers}\n"
            'limits.drain-idle-timeout = "5s"\n'
            f'[[site]]\norigin = "http://127.0.0.1:{self.origin_port}"\n'
        )

    def pid(self):
        return int(self.pid_file.read_text())

    def said(self, words):
        return self.log.read_text(errors="replace").count(words)

    def reload(self):
        before = self.said("the configuration was read again")
        os.kill(self.pid(), signal.SIGHUP)
        eventually("a reload", lambda: self.said("the configuration was read again") > before)

    def upgrade(self):
        before = self.pid()
        os.kill(before, signal.SIGUSR2)
        eventually("a new process", lambda: self.pid() != before)
        eventually("the end of the old one", lambda: not is_alive(before, self.first))

    def stop(self):
        if not self.pid_file.exists():
            return
        last = self.pid()
        os.kill(last, signal.SIGTERM)
        eventually("the end", lambda: not is_alive(last, self.first))


def is_alive(pid, child):
    if pid == child.pid:
        return child.poll() is None
    try:
        os.kill(pid, 0)
        return True
    except ProcessLookupError:
        return False


def load(port, directory, seconds):
    script = directory / "mix.lua"
    script.write_text(SCRIPT)
    command = ["wrk", "-t", "1", "-c", str(CONNECTIONS), "-d", f"{seconds}s", "-s", script, f"http://127.0.0.1:{port}/"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def judge(output, may_not_connect=False):
    """The number of answered requests, and the faults as text; None if there were none."""
    answered = int(re.search(r"(\d+) requests in", output).group(1))
    errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
    connect, read, write, timeout = map(int, errors.groups()) if errors else (0, 0, 0, 0)
    others = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    wrong = {
        "connections that could not be made": 0 if may_not_connect else connect,
        "reads that failed": read,
        "writes that failed": 0 if may_not_connect else write,
        # Failed connects count as timeouts as well.
        "timeouts": 0 if may_not_connect else timeout,
        "answers that are not 2xx": int(others.group(1)) if others else 0,
    }
    faults = ", ".join(f"{count} {what}" for what, count in wrong.items() if count)
    if answered < 1000:
        faults = faults or f"only {answered} requests were answered"
    return answered, faults or None


def under_load(name, kasoku, directory, seconds, act, may_not_connect=False):
    wrk = load(kasoku.port, directory, seconds)
    try:
        time.sleep(1)
        done = act(kasoku)
        output, _ = wrk.communicate(timeout=seconds + PATIENCE_SECONDS)
    finally:
        if wrk.poll() is None:
            wrk.kill()
            wrk.wait()
    answered, wrong = judge(output, may_not_connect)
    print(f"{name}: {done}; {answered} requests answered; {wrong or 'none failed'}")
    return wrong is None


def reloads(kasoku):
    for number in range(20):
        kasoku.configure(["Cache-Status", "X-Cache-Hit"] if number % 2 else ["Cache-Status"])
        kasoku.reload()
        time.sleep(0.1)
    return "20 reloads"


def upgrades(kasoku):
    for _ in range(4):
        kasoku.upgrade()
        time.sleep(0.5)
    return "4 hand-overs to a new process"


def drain(kasoku):
    kasoku.stop()
    return "one drain"


def main():
    origin = Origin(("127.0.0.1", 0), Page)
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    results = []
    with tempfile.TemporaryDirectory(prefix="kasoku-operating-") as name:
        directory = Path(name)
        kasoku = Kasoku(directory, origin.server_address[1])
        try:
            results.append(under_load("reload", kasoku, directory, 6, reloads))
            results.append(under_load("upgrade", kasoku, directory, 8, upgrades))
            results.append(under_load("drain", kasoku, directory, 4, drain, may_not_connect=True))
        except Exception as error:  # a part that could not be carried out has failed
            print(f"{type(error).__name__}: {error}")
            print(kasoku.log.read_text(errors="replace")[-2000:])
            results.append(False)
        finally:
            kasoku.stop()
            if kasoku.first.poll() is None:
                kasoku.first.kill()
            kasoku.first.wait()
    failed = results.count(False)
    print(f"operating: {len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
