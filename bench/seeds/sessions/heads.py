"""Fetches the heads of typical answers, unchanged, for the document."""

import socket
from dataclasses import dataclass

import client
from processes import BenchError

TIMEOUT_SECONDS = 20
# A page that has not been requested before.
PATH = "/list.php?board=market"
# In the order of the document: the set-up, whether the request is a member's, and the number of requests; the last answer is shown.
SHOWN = {
    "nginx, the board as it is": ("nginx", False, 1),
    "Varnish in front of that, the second time": ("varnish", False, 2),
    "Varnish, the board patched, the second time": ("varnish-lazy", False, 2),
    "Kasoku, the board as it is, the first time": ("kasoku", False, 1),
    "Kasoku, the second time": ("kasoku", False, 1),
    "Kasoku, a member": ("kasoku", True, 1),
}


@dataclass
class Answer:
    """The unchanged head of an answer, and the body as text."""

    head: str
    body: str


def ask(port, path, **fields):
    """Sends one request on a new connection."""
    lines = [f"GET {path} HTTP/1.1", f"Host: {client.HOST}", *(f"{name}: {value}" for name, value in fields.items()), "Connection: close"]
    with socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS) as connection:
        connection.sendall("".join(f"{line}\r\n" for line in [*lines, ""]).encode())
        came = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    head, _, body = came.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 "):
        raise BenchError(f"port {port}: no answer: {came[:200]!r}")
    return Answer(head.decode("latin-1").replace("\r\n", "\n"), body.decode(errors="replace"))


def seen(started):
    """The heads by title."""
    found = {}
    for title, (name, is_member, times) in SHOWN.items():
        server = started[name]
        for _ in range(times):
            answer = ask(server.port, PATH, **({"Cookie": server.members[0]} if is_member else {}))
        found[title] = answer.head
    return found
