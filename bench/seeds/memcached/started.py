"""Starts the origin and the set-ups of the memcached bench, and checks that each has the images where it claims to have them.

All return the same bytes. A set-up with memcached asks it once for each image, and asks the origin again once an item was deleted; a set-up
with memory asks neither.
"""

import itertools
import os
from dataclasses import dataclass

import client
import setups
from experiment import eventually
from processes import BenchError, free_port
from redis_servers import Redis
from ring import Ring

# Kasoku reads the counter of purges of each server four times a second, which memcached counts as hits.
POLLS_PART_MAX = 0.01
# Kasoku asks once for requests for the same image that come together. With 8 at a time and 40 images, the other 7 are for the image of a
# request in less than 7 of 40 cases.
TOGETHER_PART_MAX = 0.2


@dataclass
class Images:
    """The images in their directory, and the origin that has them."""

    directory: object
    bodies: list
    origin: int = 0  # its port
    log: object = None  # of the origin

    def asked(self):
        """The number of requests that the origin has answered so far."""
        return self.log.read_bytes().count(b"\n")


@dataclass
class Server:
    """A set-up that runs."""

    name: str
    setup: setups.Setup
    program: object
    port: int
    ring: Ring | Redis | None

    def get(self, number, query=""):
        return client.get(self.port, f"{setups.PREFIX}{number}{query}")


@dataclass
class Counts:
    """What the origin and the set-up's memcached servers have counted."""

    origin: int
    memcached: list

    @classmethod
    def now(cls, server, images):
        return cls(images.asked(), server.ring.hits() if server.ring else [])


def make_images(programs, cores):
    """Writes the images, each with other bytes, and starts the origin."""
    images = Images(programs.directory("images"), [os.urandom(setups.IMAGE_BYTES) for _ in range(setups.IMAGES)])
    for number, body in enumerate(images.bodies):
        path = images.directory / f"{setups.PREFIX[1:]}{number}"
        path.write_bytes(body)
        path.chmod(0o644)
        # The files are old, as most are: a file that was just written might change again within the same second.
        os.utime(path, (1_700_000_000, 1_700_000_000))
    place = setups.Place(free_port(), programs.directory("origin"), images.directory, 0)
    programs.start("origin", setups.origin(place), cores).until_listening(place.port)
    images.origin, images.log = place.port, place.directory / "access.log"
    return images


def start(programs, name, count, images, front, back, under=()):
    """Starts a set-up with `count` memcached servers, if it has any: the front end on the cores `front`, memcached on `back`. The words
    `under` stand before the front end's command."""
    setup = setups.ALL[name]
    called = f"{name}-{count}" if setup.ring == "memcached" else name
    ring = _ring(programs, called, setup.ring, count, back)
    place = setups.Place(free_port(), programs.directory(called), images.directory, images.origin, ring.addresses if ring else [])
    program = programs.start(called, [*under, *setup.command(place)], front).until_listening(place.port)
    server = Server(name, setup, program, place.port, ring)
    if name != "limit":
        _fill(server, images)
        _check(server, images)
    return server


def _ring(programs, called, kind, count, cores):
    if kind == "memcached":
        return Ring(programs, called, count, cores)
    return Redis(programs, called, kind == "redis-cluster", cores) if kind else None


def check_served(server, images, before, requests):
    """Checks after `requests` requests that none of them reached the origin, and that memcached was asked for them, or for none. Returns how
    often memcached had an item."""
    now = Counts.now(server, images)
    if now.origin != before.origin:
        raise BenchError(f"{server.program.name}: {now.origin - before.origin} of {requests} requests reached the origin\n{server.program.said()}")
    asked = sum(now.memcached) - sum(before.memcached)
    part = 1 - TOGETHER_PART_MAX if server.name.startswith("kasoku") else 1
    if server.setup.kind in ("memcached", "redis") and asked < part * requests:
        raise BenchError(f"{server.program.name}: memcached had an item for only {asked} of {requests} requests")
    if server.setup.kind == "memory" and asked > max(POLLS_PART_MAX * requests, 10 * setups.IMAGES):
        raise BenchError(f"{server.program.name}: memcached had an item for {asked} of {requests} requests that memory should answer")
    return asked


def _fill(server, images):
    """Has the set-up store all images, and checks that memcached has them if the names of the items are known."""
    if server.name.startswith("kasoku") and server.ring:
        _until_all_are_used(server)
    if server.name == "nginx-memcached":
        for number, body in enumerate(images.bodies):
            server.ring.put(server.setup.key(number), body)
    for number in range(setups.IMAGES):
        server.get(number)
    for number, body in enumerate(images.bodies) if server.setup.key else ():
        values = eventually(f"an item of {server.program.name}", lambda: server.ring.values(server.setup.key(number)))
        if not all(value.endswith(body) for value in values.values()):
            raise BenchError(f"{server.program.name}: image {number} has other bytes in memcached")


def _until_all_are_used(server):
    """Kasoku uses a server once it has read that server's log of purges. So other items are stored until all have one."""
    numbers, using = itertools.count(), set()

    def all_are_used():
        query = f"?before={next(numbers)}"
        server.get(0, query)
        using.update(server.ring.values(setups.kasoku_key(0, query)))
        return len(using) == len(server.ring.ports)

    eventually(f"{server.program.name} to use all its memcached servers", all_are_used)


def _check(server, images):
    before = Counts.now(server, images)
    for number in range(setups.IMAGES):
        fields = _image(server, images, number)
        _check_fields(server, fields)
    check_served(server, images, before, setups.IMAGES)
    if server.setup.kind in ("memcached", "redis"):
        asked = [now - then for now, then in zip(Counts.now(server, images).memcached, before.memcached)]
        # More than what polls may count meanwhile.
        if len(asked) > 1 and sum(one > 2 for one in asked) < 2:
            raise BenchError(f"{server.program.name}: not several of its memcached servers are asked: {asked}")
        _check_miss(server, images)


def _check_miss(server, images):
    """Deletes an item, and checks that the origin is asked then."""
    asked = images.asked()
    if server.setup.key:
        server.ring.delete(server.setup.key(0))
    else:
        server.ring.flush()
    _image(server, images, 0)
    eventually(f"{server.program.name} to ask the origin for what memcached no longer has", lambda: images.asked() == asked + 1)
    _fill(server, images)


def _check_fields(server, fields):
    """Kasoku says itself where a response comes from."""
    said = fields.get("cache-status", "")
    kinds = [kind for kind in ("memcached", "redis") if f"detail={kind}" in said]
    expected = [server.setup.kind] if server.setup.kind in ("memcached", "redis") else []
    if server.name.startswith("kasoku") and not ("hit" in said and kinds == expected):
        raise BenchError(f"{server.program.name}: a response from elsewhere than {server.setup.kind}: {said}")


def _image(server, images, number):
    """Requests an image, and checks its bytes; returns the fields of the answer."""
    fields, body = server.get(number)
    if body != images.bodies[number]:
        raise BenchError(f"{server.program.name} gives other bytes for image {number}: {body[:200]!r}\n{server.program.said()}")
    return fields
