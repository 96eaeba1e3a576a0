#!/usr/bin/env python3
"""Runs visitors who download: each has a session and a connection, and requests the next file when one is complete.

    visitors.py PORT PATH DOWNLOADS BYTES_PER_SECOND SESSION...

There is a visitor for each session, and all share the downloads; 0 bytes a second means as fast as possible. Prints how many seconds all
downloads took together. The kernel counts and drops the received bytes (MSG_TRUNC), so that the client costs little.
"""

import socket
import sys
import threading
import time

PIECE_BYTES = 1 << 16
AT_ONCE_BYTES = 1 << 20
TIMEOUT_SECONDS = 120


class Visitor:
    def __init__(self, port, session, bytes_per_second):
        self.socket = socket.socket()
        self.socket.settimeout(TIMEOUT_SECONDS)
        self.pace = bytes_per_second
        if self.pace:
            # With a small buffer, the kernel does not accept for a slow visitor what they have not read yet.
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, PIECE_BYTES)
        self.socket.connect(("127.0.0.1", port))
        self.session = session
        self.buffer = bytearray(AT_ONCE_BYTES)

    def download(self, path):
        request = f"GET {path} HTTP/1.1\r\nHost: bench.test\r\nCookie: {self.session}\r\n\r\n"
        self.socket.sendall(request.encode())
        head = b""
        while b"\r\n\r\n" not in head:
            piece = self.socket.recv(PIECE_BYTES)
            if not piece:
                raise OSError(f"the connection ended in a head: {head[:300]!r}")
            head += piece
        head, _, body = head.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        if not head.startswith(b"HTTP/1.1 200 ") or b"content-length" not in fields:
            raise OSError(f"unexpected answer: {head!r}")
        self.drop(int(fields[b"content-length"]) - len(body))

    def drop(self, left):
        begun = time.monotonic()
        asked = 0
        while left > 0:
            count = self.socket.recv_into(self.buffer, PIECE_BYTES if self.pace else AT_ONCE_BYTES, socket.MSG_TRUNC)
            if count == 0:
                raise OSError(f"the connection ended {left} bytes before the file")
            left -= count
            asked += count
            if self.pace and (early := begun + asked / self.pace - time.monotonic()) > 0:
                time.sleep(early)


def main():
    port, path, downloads, pace, *sessions = sys.argv[1:]
    visitors = [Visitor(int(port), session, int(pace)) for session in sessions]
    left = iter(range(int(downloads)))
    lock = threading.Lock()
    failed = []

    def visit(visitor):
        try:
            while True:
                with lock:
                    if next(left, None) is None:
                        return
                visitor.download(path)
        except (OSError, ValueError) as error:
            failed.append(str(error))

    begun = time.monotonic()
    threads = [threading.Thread(target=visit, args=(visitor,)) for visitor in visitors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        sys.exit("\n".join(failed))
    print(time.monotonic() - begun)


if __name__ == "__main__":
    main()
