"""Starts Redis for a set-up, alone or as a cluster of three, and reads its counters and its CPU time, as ring.py does with memcached.

The servers run on the client's core and keep nothing on disk. The cluster has no replicas: they would only cost time on the same core.
"""

import subprocess

import measure
from experiment import eventually
from processes import BenchError, free_port
from ring import ask

PROGRAM = "/usr/bin/redis-server"
NODES = 3
# A node of a cluster listens at its port and 10,000 as well.
PORT_MAX = 55_535


class Redis:
    """The servers of one set-up: one, or a cluster."""

    def __init__(self, programs, name, is_cluster, cores):
        self.ports = [_free_port() for _ in range(NODES if is_cluster else 1)]
        self.programs = []
        for number, port in enumerate(self.ports):
            directory = programs.directory(f"{name}-redis-{number}")
            program = programs.start(f"{name}-redis-{number}", _command(port, directory, is_cluster), cores)
            self.programs.append(program.until_listening(port))
        if is_cluster:
            self._join()

    @property
    def addresses(self):
        return [f"redis://127.0.0.1:{port}" for port in self.ports]

    def values(self, key):
        """The values of an item, by the ports of the servers that have it."""
        return {port: value for port in self.ports if (value := _value(_ask(port, f"GET {key}")))}

    def delete(self, key):
        for port in self.ports:
            _ask(port, f"DEL {key}")

    def hits(self):
        """How often each server has returned an item."""
        return [_counter(port, "stats", "keyspace_hits") for port in self.ports]

    def cpu_times(self):
        return [measure.cpu_times(program.pid) for program in self.programs]

    def _join(self):
        nodes = [f"127.0.0.1:{port}" for port in self.ports]
        joined = subprocess.run(["redis-cli", "--cluster", "create", *nodes, "--cluster-yes"], capture_output=True, text=True)
        if joined.returncode:
            raise BenchError(f"no Redis Cluster: {joined.stdout}{joined.stderr}")
        for port in self.ports:
            eventually("a complete Redis Cluster", lambda port=port: b"cluster_state:ok" in _ask(port, "CLUSTER INFO"))


def _command(port, directory, is_cluster):
    cluster = ["--cluster-enabled", "yes"] if is_cluster else []
    return [PROGRAM, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", directory, *cluster]


def _free_port():
    while (port := free_port()) > PORT_MAX:
        pass
    return port


def _counter(port, section, name):
    for line in _ask(port, f"INFO {section}").decode().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split(":")[1])
    raise BenchError(f"Redis has no counter {name}")


def _ask(port, command):
    return ask(port, command.encode(), b"QUIT")


def _value(answer):
    """The value in the answer to GET; none if the server does not have the item."""
    head, _, rest = answer.partition(b"\r\n")
    if not head.startswith(b"$") or head == b"$-1":
        return None
    return rest[: int(head[1:])]
