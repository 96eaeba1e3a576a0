"""What answers say: their heads, as they come, for the document."""

import socket
from dataclasses import dataclass

import client
from processes import BenchError

TIMEOUT_SECONDS = 20
# Who asks, in the order of the document: the set-up, what is asked for, and whether a member does.
ASKED = {
    "nginx: the board as it is": ("nginx", 1, False),
    "Varnish in front of it, the second time": ("varnish", 2, False),
    "Varnish, the board patched, the second time": ("varnish-lazy", 2, False),
    "Kasoku, the board as it is, the second time": ("kasoku", 2, False),
    "Kasoku, a member": ("kasoku", 1, True),
}


@dataclass
class Answer:
    """A head as it came, and the body as text."""

    head: str
    body: str


def ask(port, path, **fields):
    """One request on a connection of its own."""
    lines = [f"GET {path} HTTP/1.1", f"Host: {client.HOST}", *(f"{name}: {value}" for name, value in fields.items()), "Connection: close"]
    with socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS) as connection:
        connection.sendall("".join(f"{line}\r\n" for line in [*lines, ""]).encode())
        came = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    head, _, body = came.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 "):
        raise BenchError(f"port {port}: no answer: {came[:200]!r}")
    return Answer(head.decode("latin-1").replace("\r\n", "\n"), body.decode(errors="replace"))


def seen(started, path):
    """Heads by title."""
    found = {}
    for title, (name, times, is_member) in ASKED.items():
        server = started[name]
        for _ in range(times):
            answer = ask(server.port, path, **({"Cookie": server.members[0]} if is_member else {}))
        found[title] = answer.head
    return found
