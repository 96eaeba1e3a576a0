#!/usr/bin/env python3
"""Starts Kasoku with a slow CGI program behind it, and shows what a visitor sees without and with one line of configuration.

    python3 demo/run.py [--program target/release/kasoku]

Two sites run the same program: one as it is, and one with `ttl = "1m"`, since the program says nothing about caching. One client
asks each for the same search over one kept connection, one request after another. The first request of each row is shown
apart, since the first one with the rule costs what the program costs; Kasoku then looks at the page, and the next ones are hits. The pages say when they were made, and the script in them whether
that was before their visitor asked. With DEMO_ONCE=1 in the environment it
ends after the table, with 1 if the last answer was no hit; else it serves until Ctrl-C.
"""

import argparse
import contextlib
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

# How long Kasoku may look at the page: three or four runs of the program.
COMPARED_SECONDS_MAX = 20
REQUESTS = 100
START_SECONDS_MAX = 30
PATH = "/search?tag=boats"
# Both names are this machine's, in browsers as well.
PLAIN, CACHED = "plain.localhost", "localhost"

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
        port = free_port(8080)
        directory = cleanup.enter_context(tempfile.TemporaryDirectory(prefix="harbour-notes-"))
        shown = os.path.relpath(program) if not os.path.relpath(program).startswith("..") else program
        config = set_up(directory, port, shown)
        log = os.path.join(directory, "kasoku.log")
        kasoku = start(cleanup, [program, "serve", "--config", config], log)
        wait_for(port, kasoku, log)

        print(f"asking for {PATH}, a CGI program's search through 3,000 entries: {REQUESTS} requests without a rule, {REQUESTS} with it\n",
              flush=True)
        without, made_without, _ = measure(port, PLAIN)
        with_rule, made_with, status = measure(port, CACHED)
        ratio = print_table(without, with_rule)
        print_status(status)

        if once:
            print(f"\nratio of the medians: {ratio:.0f}")
            # How fast it is depends on the machine; that it was a hit does not.
            if "hit" not in (status or ""):
                sys.exit("the last answer should have been a hit")
            if made_without != 1 + REQUESTS or made_with == made_without:
                sys.exit(f"pages should say when they were made: {made_without} times without the rule, {made_with} with it")
            print_next()
            return
        print(f"\nNow look for yourself; each page says when it was made, and whether that was for you:"
              f"\n  http://{CACHED}:{port}{PATH}         with the rule"
              f"\n  http://{PLAIN}:{port}{PATH}   without it: the program runs each time"
              f"\n\nAsk what happens, in another terminal:"
              f"\n  {shown} explain --config {config} http://{CACHED}:{port}{PATH}"
              f"\n  {shown} top --config {config}"
              f"\n\nThe configuration: {config}"
              f"\nWhat Kasoku logs:  {log}"
              "\nCtrl-C ends it.", flush=True)
        kasoku.wait()
        sys.exit(f"{kasoku.args[0]} ended by itself ({kasoku.returncode}):\n{last_lines(log)}")


def print_next():
    """What to do after a demo that does not go on."""
    print("\nNext:"
          "\n  make run                                            the same, and it keeps serving, with pages to look at"
          "\n  make build && sudo make install                     the command kasoku; more ways: README.md, Install"
          "\n  kasoku serve --origin http://127.0.0.1:8000         in front of your own application, on port 8080"
          "\n  kasoku explain http://127.0.0.1:8080/               why a page is no hit, and what would make it one")


def set_up(directory, port, program):
    """The program, its entries and Kasoku's configuration below `directory`; gives the configuration's path."""
    # The program runs as another user, who may be allowed to read none of our own directories.
    os.chmod(directory, 0o755)
    for name in ("blog.cgi", "entries.py", "pages.py", "style.css"):
        shutil.copy(os.path.join(HERE, name), directory)
    notes = os.path.join(directory, "notes")
    os.mkdir(notes)
    sys.dont_write_bytecode = True
    import entries  # only here: it is the program's, not ours

    entries.write_all(notes)
    # Root starts no programs for visitors.
    user = 'user = "nobody"\n' if os.geteuid() == 0 else ""
    path = os.path.join(directory, "kasoku.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""listen = ["127.0.0.1:{port}"]
control-socket = "{directory}/control.sock"
{user}environment = ["HARBOUR_NOTES={notes}", "HARBOUR_NOTES_ASK={program} {{}} --config {path}"]

[[site]]
hosts = ["{PLAIN}"]
origin = "cgi://{directory}/blog.cgi"

[[site]]
origin = "cgi://{directory}/blog.cgi"
ttl = "1m"                              # granted: the program says nothing about caching
""")
    return path


def free_port(preferred):
    """The preferred port if it is free, else one that the kernel picks."""
    for port in (preferred, 0):
        with contextlib.suppress(OSError), socket.socket() as probe:
            # Without SO_REUSEADDR a connection that lingers from the last run would count as taken.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return probe.getsockname()[1]
    raise SystemExit("no free port on 127.0.0.1")


def start(cleanup, command, log):
    """Starts a child that ends when `cleanup` does, and writes to a file; Ctrl-C reaches only us."""
    try:
        with open(log, "w", encoding="utf-8") as file:
            child = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL, stderr=file)
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


def last_lines(log):
    """What it said last."""
    with open(log, encoding="utf-8", errors="replace") as file:
        return "".join(file.readlines()[-10:]).rstrip()


def wait_for(port, child, log):
    """Waits until the child answers a request for a page that no measurement asks for."""
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline:
        if child.poll() is not None:
            raise SystemExit(f"{' '.join(child.args)}\nended at once ({child.returncode}):\n{last_lines(log)}")
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/entry/1")
            connection.getresponse().read()
            connection.close()
            return
        time.sleep(0.02)
    raise SystemExit(f"{child.args[0]} did not answer within {START_SECONDS_MAX} s")


def measure(port, host):
    """Seconds of the first request and of REQUESTS more, how many times the pages were made, and the last answer's Cache-Status."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    times, made = [], set()
    for number in range(1 + REQUESTS):
        if sys.stdout.isatty():
            print(f"\r\033[K{host}: {number} of {REQUESTS}", end="", flush=True)
        begin = time.perf_counter()
        connection.request("GET", PATH, headers={"Host": f"{host}:{port}"})
        response = connection.getresponse()
        body = response.read()
        times.append(time.perf_counter() - begin)
        if len(times) == 1 and host == CACHED:
            until_compared(connection, f"{host}:{port}")
        if response.status != 200 or b"Entries about boats" not in body:
            raise SystemExit(f"{host} answered {response.status}: {body[:200]!r}")
        made.update(re.findall(rb'id="made">([^<]+)', body))
    connection.close()
    if sys.stdout.isatty():
        print("\r\033[K", end="")
    return times, len(made), response.headers.get("Cache-Status")


def until_compared(connection, host):
    """Waits until Kasoku has looked at the page as two visitors, beside the first request: from then on it is a hit."""
    end = time.monotonic() + COMPARED_SECONDS_MAX
    while time.monotonic() < end:
        connection.request("GET", PATH, headers={"Host": host})
        response = connection.getresponse()
        response.read()
        if "hit" in response.headers.get("Cache-Status", ""):
            return


def print_table(without, with_rule):
    """Prints both rows and their ratio; returns the ratio of the medians."""
    rows = {"without the rule": summary(without), "with it": summary(with_rule)}
    print(f"{'':18}{'first':>11}{'mean':>11}{'median':>11}{'p99':>11}")
    for name, figures in rows.items():
        print(f"{name:18}" + "".join(f"{milliseconds(figure):>11}" for figure in figures))
    ratios = [before / after for before, after in zip(*rows.values())]
    print(f"{'times faster':18}{'':>11}" + "".join(f"{ratio:>11,.0f}" for ratio in ratios[1:]))
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
    else:
        left = f", and {ttl[1]} s of it are left" if ttl else ""
        print(f"A hit. The program says nothing about how long its page is good for; the rule grants it a minute{left}."
              "\nA visitor with a cookie that the rule does not know would get a page of their own.")



if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print()
