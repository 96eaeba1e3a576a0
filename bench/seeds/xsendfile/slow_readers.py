#!/usr/bin/env python3
"""Simulates visitors with slow lines: each downloads the same file and reads a little now and then.

    slow_readers.py PORT PATH HOST COUNT BYTES_PER_SECOND

Prints `begun` when each visitor has an answer, and reads on until SIGTERM. Then it prints how many still download, and how many bytes all
have read together. Reads are spread evenly over time, at a low priority, so that a measurement at the same time does not wait for them.
"""

import resource
import signal
import socket
import sys
import time

SIP_BYTES = 4096
# The receive buffer is small, so that unread bytes stay with the sender.
BUFFER_BYTES = 8192
# The downloads that begin at the same time.
BATCH = 50
WAIT_SECONDS_MAX = 20
TICK_SECONDS = 0.002


class Ended(Exception):
    """Raised on SIGTERM, to end."""


def main():
    port, path, host, count, rate = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
    signal.signal(signal.SIGTERM, end)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    readers = []
    while len(readers) < count:
        batch = [begin(port, request) for _ in range(min(BATCH, count - len(readers)))]
        for reader in batch:
            head = reader.recv(SIP_BYTES, socket.MSG_PEEK)
            if not head.startswith(b"HTTP/1.1 200 "):
                sys.exit(f"not a download: {head[:100]}")
            reader.setblocking(False)
        readers += batch
    print("begun", flush=True)
    standing, taken = read_on(readers, rate)
    print(f"standing {standing} bytes {taken}", flush=True)


def end(*_):
    raise Ended


def begin(port, request):
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    reader.settimeout(WAIT_SECONDS_MAX)
    reader.connect(("127.0.0.1", port))
    reader.sendall(request)
    return reader


def read_on(readers, rate):
    """Reads until SIGTERM; returns the number of readers that are left, and the bytes that all have read."""
    taken = 0
    gone = set()
    sips_per_second = len(readers) * rate / SIP_BYTES
    began, sips = time.monotonic(), 0
    try:
        while True:
            due = int((time.monotonic() - began) * sips_per_second)
            # After a pause it skips reads that are overdue, which would be a burst.
            for count in range(max(sips, due - len(readers) // 20), due):
                number = count % len(readers)
                if number not in gone:
                    read = sip(readers[number])
                    taken += read or 0
                    if read is None:
                        gone.add(number)
            sips = due
            time.sleep(TICK_SECONDS)
    except Ended:
        return len(readers) - len(gone), taken


def sip(reader):
    """The number of bytes that were read; None at the end of the connection."""
    try:
        return len(reader.recv(SIP_BYTES)) or None
    except BlockingIOError:
        return 0
    except OSError:
        return None


if __name__ == "__main__":
    main()
