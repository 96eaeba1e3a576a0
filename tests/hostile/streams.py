"""Sends one stream of requests to one server, and checks that the server has read it as intended.

A server reports each request in a field of its answer, `X-Read: <SHA-256>`, over the method, a space, the target, LF and the body. It is a
field, since an answer to HEAD has no body. An answer without it is a refusal, or one that the server made by itself.
"""

import collections
import hashlib
import re
import socket

# The longest wait for bytes of a server, in seconds.
WAIT_MAX = 10

Answer = collections.namedtuple("Answer", "status read")


def digest(line, body):
    """The X-Read of a request; `line` is method and target."""
    return hashlib.sha256(line.encode("latin-1") + b"\n" + body).hexdigest()


def exchange(address, stream, requests):
    """Sends a stream; returns the final answers until the server closed the connection."""
    with socket.create_connection(address, WAIT_MAX) as client:
        came = b""
        try:
            client.sendall(stream)
            while piece := client.recv(1 << 16):
                came += piece
        except (ConnectionResetError, BrokenPipeError):
            pass  # a refusal, with bytes left unread; the answers before it count
    return answers(came, requests)


def answers(came, requests):
    """Parses answers one after the other. A reset may have cut the last."""
    found = []
    while came:
        head, _, rest = came.partition(b"\r\n\r\n")
        status = int(re.match(rb"HTTP/1\.[01] (\d{3})", head).group(1))
        if status < 200:
            came = rest
            continue
        method = requests[len(found)][0].split(" ")[0] if len(found) < len(requests) else ""
        read = field(head, b"x-read")
        found.append(Answer(status, read and read.decode()))
        came = b"" if method == "HEAD" and read is None and not rest else behind(head, rest, method, status)
    return found


def behind(head, rest, method, status):
    """The bytes after the body."""
    if method == "HEAD" or status in (204, 304):
        return rest
    if (length := field(head, b"content-length")) is not None:
        return rest[int(length):]
    if field(head, b"transfer-encoding") == b"chunked":
        while True:
            size, _, rest = rest.partition(b"\r\n")
            if int(size or b"0", 16) == 0:
                return rest.partition(b"\r\n")[2]
            rest = rest[int(size, 16) + 2:]
    return b""


def field(head, name):
    """The value of a field, or None."""
    found = re.search(rb"\r\n" + name + rb":[ \t]*([^\r]*)", head, re.IGNORECASE)
    return found and found.group(1)


def is_whole(requests, got):
    """Whether the server has read each request, to the last."""
    return [answer.read for answer in got] == [digest(*request) for request in requests]


def fault(requests, got):
    """What the server has read differently; None if the stream was read as intended."""
    if len(got) > len(requests):
        return f"{len(got)} answers to {len(requests)} requests: {got}"
    for number, (request, answer) in enumerate(zip(requests, got)):
        if answer.read not in (None, digest(*request)):
            return f"request {number} was not read as {request!r:.200}"
        if answer.read is None and answer.status < 400 and request[0] != "OPTIONS *":
            return f"request {number} was answered {answer.status} without being read"
    if len(got) < len(requests) and (not got or got[-1].read is not None):
        return f"{len(got)} answers to {len(requests)} requests, and none of them a refusal: {got}"
    return None
