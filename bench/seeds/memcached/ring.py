"""Starts the memcached servers of a set-up, puts items into them, and reads their counters and their CPU time.

Each set-up has servers of its own, so that a counter which moves tells which set-up has asked. They run on the client's core, one thread
each: the price of a request is that of the front end alone.
"""

import socket

import measure
from processes import BenchError, free_port

PROGRAM = "/usr/bin/memcached"
MEMORY_MIB = 64


class Ring:
    """The servers of one set-up."""

    def __init__(self, programs, name, count, cores):
        self.ports = [free_port() for _ in range(count)]
        self.programs = [programs.start(f"{name}-memcached-{number}", _command(port), cores) for number, port in enumerate(self.ports)]
        for program, port in zip(self.programs, self.ports):
            program.until_listening(port)

    @property
    def addresses(self):
        return [f"127.0.0.1:{port}" for port in self.ports]

    def put(self, key, value):
        """Puts an item into all servers: which of them a front end asks for it depends on the ring of that front end."""
        for port in self.ports:
            _expect(b"STORED", ask(port, f"set {key} 0 0 {len(value)}\r\n".encode() + value))

    def values(self, key):
        """The values of an item, by the ports of the servers that have it."""
        return {port: value for port in self.ports if (value := _value(ask(port, f"get {key}".encode())))}

    def delete(self, key):
        for port in self.ports:
            ask(port, f"delete {key}".encode())

    def flush(self):
        for port in self.ports:
            _expect(b"OK", ask(port, b"flush_all"))

    def hits(self):
        """How often each server has returned an item."""
        return [_counter(port, "get_hits") for port in self.ports]

    def cpu_times(self):
        return [measure.cpu_times(program.pid) for program in self.programs]


def cpu_ns_since(before, after):
    return sum(measure.cpu_since(one, other) for one, other in zip(before, after))


def _command(port):
    return [PROGRAM, "-l", "127.0.0.1", "-p", port, "-U", "0", "-u", "www-data", "-t", "1", "-m", MEMORY_MIB]


def _counter(port, name):
    for line in ask(port, b"stats").decode().splitlines():
        words = line.split()
        if words[:2] == ["STAT", name]:
            return int(words[2])
    raise BenchError(f"memcached has no counter {name}")


def ask(port, command, end=b"quit"):
    """Sends one command, and returns all that the server answers before it closes the connection."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(command + b"\r\n" + end + b"\r\n")
            answer = b""
            while got := connection.recv(65536):
                answer += got
    except OSError as error:
        raise BenchError(f"the server on port {port}: {error}") from None
    return answer


def _value(answer):
    """The value in the answer to `get`; none if the server does not have the item."""
    head, _, rest = answer.partition(b"\r\n")
    if not head.startswith(b"VALUE "):
        return None
    return rest[: int(head.split()[3])]


def _expect(wanted, answer):
    if answer.strip() != wanted:
        raise BenchError(f"memcached answered {answer[:200]!r} instead of {wanted!r}")
